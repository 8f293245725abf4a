"""Kinds of columns: the same table gives the same kinds and numbers, whichever library holds it."""

import datetime

import numpy as np
import pytest
from scipy import sparse

from auclid.data.encoding import (
    as_numbers,
    as_texts,
    column_indices,
    column_names,
    is_frame,
    level_codes,
    table_columns,
)

pd = pytest.importorskip("pandas")

DAYS = [datetime.datetime(2020, 1, 1), None, datetime.datetime(2021, 5, 5, 12)]


def frame():
    """One column of each kind, with a gap where its library knows gaps."""
    return pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "real": [1.5, np.nan, 2.0],
            "gaps": pd.array([1, None, 3], dtype="Int64"),
            "truth": [True, False, True],
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "level": pd.Categorical(["b", "a", None]),
            "text": ["x", None, "y"],
            "digits": ["1", " 2.5", ""],
            "day": pd.to_datetime(DAYS),
            "written": ["2020-01-01", None, "2021-05-05T12:00"],
            "nothing": [None, None, None],
        }
    )


EXPECTED = {
    "whole": ("number", [1.0, 2.0, 3.0]),
    "real": ("number", [1.5, np.nan, 2.0]),
    "gaps": ("number", [1.0, np.nan, 3.0]),
    "truth": ("bool", [1.0, 0.0, 1.0]),
    "maybe": ("bool", [1.0, np.nan, 0.0]),
    "level": ("category", ["b", "a", None]),
    "text": ("text", ["x", None, "y"]),
    "digits": ("number", [1.0, 2.5, np.nan]),
    "day": ("date", [18262.0, np.nan, 18752.5]),
    "written": ("date", [18262.0, np.nan, 18752.5]),
    "nothing": ("number", [np.nan, np.nan, np.nan]),
}


def as_polars(table):
    pl = pytest.importorskip("polars")
    return pl.from_pandas(table).with_columns(pl.col("level").cast(pl.Categorical))


def as_arrow(table):
    return pytest.importorskip("pyarrow").Table.from_pandas(table)


@pytest.mark.parametrize("library", [lambda table: table, as_polars, as_arrow], ids=["pandas", "polars", "pyarrow"])
def test_every_library_gives_the_same_kinds_and_values(library):
    table = library(frame())
    assert is_frame(table) and column_names(table) == list(EXPECTED)
    for column in table_columns("Model", table):
        kind, expected = EXPECTED[column.name]
        assert column.kind == kind
        if kind in ("category", "text"):
            assert as_texts(column).tolist() == expected
        else:
            np.testing.assert_array_equal(as_numbers("Model", column), expected)


def test_arrays_have_numbered_columns_and_objects_are_looked_at():
    mixed = np.array([[1, "a", 1], [None, "b", "z"], [2.5, "a", 2.0]], dtype=object)
    columns = table_columns("Model", mixed)
    assert [(c.name, c.kind) for c in columns] == [("x0", "number"), ("x1", "text"), ("x2", "category")]
    assert as_texts(columns[2]).tolist() == ["1", "z", "2"]
    for X in (np.eye(2), sparse.csr_array(np.eye(2))):
        np.testing.assert_array_equal(np.stack([as_numbers("Model", c) for c in table_columns("Model", X)]), np.eye(2))
    assert [c.kind for c in table_columns("Model", np.array([["1", "a"]]))] == ["number", "text"]


def test_codes_tell_known_unknown_and_missing_apart():
    assert level_codes(np.array(["b", None, "new", "a"], dtype=object), ["a", "b"]).tolist() == [1, -1, 2, 0]


def test_what_is_no_cell_gets_one_sentence():
    with pytest.raises(TypeError, match=r"Column 'x0' of Model holds a dict; the argument must be a string"):
        table_columns("Model", np.array([[{}]], dtype=object))
    with pytest.raises(ValueError, match=r"Column 'x0' of Model must hold finite numbers.*infinity"):
        as_numbers("Model", table_columns("Model", np.array([[np.inf]]))[0])
    column = table_columns("Model", np.array([["1"]], dtype=object))[0]
    with pytest.raises(ValueError, match=r"'x0' of Model must hold numbers, as it did when it was fitted; got 'one'"):
        as_numbers("Model", column._replace(values=np.array(["one"], dtype=object)))
    with pytest.raises(ValueError, match="Complex data not supported"):
        table_columns("Model", np.array([[1j]]))


def test_columns_are_named_or_numbered_and_a_near_name_is_suggested():
    assert column_indices("Model", "monotone", ["b", 0, -1], ["a", "b", "c"]) == [1, 0, 2]
    with pytest.raises(ValueError, match=r"'monotone' parameter of Model .* got 'inccome'. Did you mean 'income'\?"):
        column_indices("Model", "monotone", ["inccome"], ["income", "age"])
    with pytest.raises(ValueError, match=r"got 7. There are: 'a', 'b'."):
        column_indices("Model", "monotone", [7], ["a", "b"])
