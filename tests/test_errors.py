"""Errors carry their parts, and each interface words them."""

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest

import auclid
from auclid import errors
from auclid.cli.wording import COMMAND, LEAVE_OUT, remarks, sentence
from auclid.errors import AuclidError, DataError, IdentifierWarning, Setting
from auclid.metrics import roc_auc

SOURCE = Path(__file__).parent.parent / "src" / "auclid"

KINDS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AuclidError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_goes_to_another_process_and_back(kind):
    hint = ("Use ", Setting("a", "1"))
    error = kind(owner="scan", parameter="target", expected="name a column", got="'Y'", hint=hint)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) and again.args == error.args
    assert vars(again) == vars(error)
    assert str(error) == "The 'target' parameter of scan must name a column. Got 'Y' instead. Use a=1"
    assert str(kind("A sentence.")) == "A sentence."


def test_errors_are_what_callers_of_python_catch():
    for kind, base in (("InvalidValueError", ValueError), ("InvalidTypeError", TypeError), ("DataError", ValueError)):
        assert issubclass(getattr(errors, kind), base)
    assert issubclass(errors.SourceNotFoundError, FileNotFoundError) and DataError is auclid.datasets.DataError


def test_an_estimator_is_named_by_its_class():
    error = errors.invalid_value(auclid.SPAM(), "alpha", "be a float in [0.0, inf)", -1)
    assert (error.owner, error.parameter, error.got) == ("SPAM", "alpha", "-1")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DataError(owner="SPAM", expected="see two classes", got="one"), "SPAM must see two classes; got one."),
        (DataError(parameter="y", expected="be whole", got="1.5"), "The 'y' parameter must be whole. Got 1.5 instead."),
        (DataError(subject="The table", parameter="path", expected="hold rows"), "The table must hold rows."),
    ],
)
def test_parts_that_are_missing_are_not_said(error, said):
    assert str(error) == said


def raised(call):
    with pytest.raises(AuclidError) as found:
        call()
    return found.value


def test_the_command_words_errors_of_readers_by_its_options(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n1,x,0\n2,z,1\n")
    where = repr(str(path))
    scan, read = auclid.scan, auclid.datasets.read_table
    for call, said in (
        (lambda: scan(path, target="Y"), f"--target must name a column of {where}; got 'Y'. Did you mean 'y'?"),
        (lambda: scan(path, columns=["a", "c"]), "the columns the model was fitted with; there is no 'c'."),
        (lambda: scan(path, memory="much"), "--memory must be a number of bytes or a text such as '500MB' or '2GB';"),
        (lambda: scan(tmp_path / "no"), "DATA must be a file, folder or glob that exists; got "),
        (
            lambda: scan(path).require_numeric(),
            f"The columns of {where} must be numbers; got string in 'b'. {LEAVE_OUT}",
        ),
        (lambda: read(path, "Y"), f"--target must name a column of {where}; got 'Y'."),
        (lambda: read(path, drop=["z"]), f"--drop must name a column of {where}; got 'z'."),
        (lambda: auclid.make("spamm"), "A method must be one that `auclid methods` lists; got 'spamm'. Did you mean"),
    ):
        error = raised(call)
        assert said in COMMAND.sentence(error) == sentence(error)
        assert "--" not in str(error) and "DATA" not in str(error)


def test_other_errors_are_said_as_they_are():
    assert sentence(ValueError("one\n  line")) == "one line" and sentence(KeyError()) == "KeyError"
    error = errors.invalid_value("RankSVM", "target", "be something", 1)
    assert sentence(error) == "The 'target' parameter of RankSVM must be something; got 1."


def test_warnings_about_identifiers_name_the_option_once():
    with pytest.warns(IdentifierWarning) as heard:
        auclid.Columns().fit(np.column_stack([np.arange(50.0), np.arange(50) % 3]))
    (warning,) = heard
    assert warning.message.columns == ["x0"] and str(warning.message).startswith("'x0' has a different value")
    assert remarks([warning.message, warning.message, str(warning.message)]) == [str(warning.message), LEAVE_OUT]
    again = pickle.loads(pickle.dumps(warning.message))
    assert str(again) == str(warning.message) and again.columns == ["x0"]


@pytest.mark.parametrize(
    ("power", "said"),
    [(60, "the integer 1152921504606846977"), (1400, f"integer {2**1400}"[:20]), (20_000, "integer of 20,001 bits")],
)
def test_numbers_beyond_floats_are_named(power, said):
    number = 2**power + 1
    for scores in ([None, number, 1, 2], [number, 1, 2, 3]):
        with pytest.raises(ValueError, match="numbers that float64 holds exactly") as error:
            roc_auc([0, 1, 0, 1], np.array(scores, dtype=object))
        assert said in str(error.value)


@pytest.mark.parametrize("cls", [auclid.LeastSquaresAUC, auclid.RankSVM, auclid.SPAM, auclid.OrderedRanker])
def test_a_frame_without_columns_is_refused_as_an_array_is(cls):
    pd = pytest.importorskip("pandas")
    fitted = cls().fit(np.arange(10.0).reshape(5, 2), [0, 1, 0, 1, 1])
    for X in (pd.DataFrame(index=range(5)), np.empty((5, 0))):
        with pytest.raises(ValueError, match=r"0 feature\(s\).*minimum of 1 is required"):
            cls().fit(X, [0, 1, 0, 1, 1])
        with pytest.raises(ValueError, match=r"0 feature\(s\).*minimum of 1 is required|X has 0 features, but"):
            fitted.decision_function(X)


def test_no_code_of_the_command_reads_a_sentence():
    """`str(error).replace`, `"words" in str(error)` and the like: an error's fields are there for that."""
    for path in [*(SOURCE / "cli").glob("*.py"), *(SOURCE / "validation").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            handles = isinstance(node, ast.ExceptHandler) and node.name
            if not handles:
                continue
            for inner in ast.walk(node):
                compared = isinstance(inner, ast.Compare) and "str(" in ast.unparse(inner)
                changed = isinstance(inner, ast.Attribute) and inner.attr in ("replace", "startswith", "partition")
                assert not (compared or changed), f"{path.name}:{inner.lineno} looks into a sentence"


def test_what_came_is_quoted_only_where_it_is_a_value():
    """A description such as ``"one class in each"`` is `Described`; `invalid_value` puts other texts between quotes."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "invalid_value" and len(node.args) > 3:
                got = node.args[3]
                is_text = isinstance(getattr(got, "value", None), str) or isinstance(got, ast.JoinedStr)
                assert not is_text, f"{path.name}:{node.lineno} quotes {ast.unparse(got)}"
