"""Names in files are a table of their own: modules move, and files stay."""

import json
import re
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import auclid
from auclid import SPAM, RankSVM
from auclid.io import ModelFileError, _names, load, save
from auclid.io._wire import Estimator, Struct, estimators, structs, was

SOURCE = Path(auclid.__file__).parent
KEPT = sorted((Path(__file__).parent / "data").glob("*/*.auclid"))


def test_every_exported_estimator_has_a_line():
    public = (getattr(auclid, name) for name in auclid.__all__)
    exported = {cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    assert {entry.cls for entry in _names.ESTIMATORS.values()} == exported


def test_no_file_is_found_through_the_list_of_loaded_modules():
    looks = [path for path in SOURCE.rglob("*.py") if re.search(r"sys\.modules\[.auclid", path.read_text("utf-8"))]
    assert looks == []


def structs_in(tree):
    if isinstance(tree, list):
        return set().union(*map(structs_in, tree))
    if not isinstance(tree, dict):
        return set()
    own = {tree["struct"][0]} if "struct" in tree else set()
    return own.union(*map(structs_in, tree.values()))


def test_a_new_file_names_no_module(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    save(tmp_path / "a", SPAM(random_state=0).partial_fit(X, y))
    with zipfile.ZipFile(tmp_path / "a") as archive:
        text = archive.read("model.json")
    named = {"SPAM state", "iterate", "scale factors", "running class means", "SPAM shrinkage", "Power"}
    assert structs_in(json.loads(text)) == named and b"square." not in text and b"solvers." not in text


def test_the_table_knows_every_struct_of_every_kept_file():
    names = set()
    for path in KEPT:
        with zipfile.ZipFile(path) as archive:
            names |= structs_in(json.loads(archive.read("model.json")))
    assert len(names) > 20 and names <= set(_names.STRUCTS)


class State(NamedTuple):
    w: float
    behind: float
    n: int = 7


def test_an_older_name_says_how_its_fields_became_todays():
    table = structs(
        Struct(
            "state",
            State,
            was("a", renamed={"lag": "behind"}, added={"n": 0}),
            was("b", build=lambda u, v: State(u + v, u - v, 1)),
        )
    )
    assert table["state"]({"n": 1, "w": 2.0, "behind": 3.0}) == State(2.0, 3.0, 1)
    assert table["a"]({"w": 2.0, "lag": 3.0}) == State(2.0, 3.0, 0)
    assert table["b"]({"u": 2.0, "v": 3.0}) == State(5.0, -1.0, 1)
    wrong = ("state", {"w": 1.0, "behind": 1.0}), ("a", {"w": 1.0}), ("a", {"w": 1.0, "x": 1.0, "lag": 1})
    for name, fields in wrong:
        with pytest.raises(ModelFileError, match="fields"):
            table[name](fields)
    with pytest.raises(TypeError):
        table["b"]({"u": 2.0})


def test_one_name_means_one_class():
    with pytest.raises(ValueError, match="'a' means two"):
        structs(Struct("a", State), Struct("b", State, was("a")))
    with pytest.raises(ValueError, match="'SPAM' means two"):
        estimators(Estimator(SPAM), Estimator(RankSVM, older=("SPAM",)))


def test_a_parameter_that_came_later_is_what_the_table_says(tmp_path, monkeypatch):
    """An estimator of a later release, with one parameter more and another attribute, reads a file of this one."""

    class Later(RankSVM):
        def __init__(self, alpha=1e-4, *, loss="squared_hinge", tol=1e-3, max_iter=100, late=5):
            super().__init__(alpha, loss=loss, tol=tol, max_iter=max_iter)
            self.late = late

    rows = np.random.default_rng(0).standard_normal((20, 2))
    save(tmp_path / "a", RankSVM(alpha=0.5).fit(rows, np.arange(20) % 2))
    monkeypatch.setitem(_names.ESTIMATORS, "RankSVM", Estimator(Later))
    with pytest.raises(ModelFileError, match="lacks some: \\['late'\\]"):
        load(tmp_path / "a")
    monkeypatch.setitem(
        _names.ESTIMATORS, "RankSVM", Estimator(Later, {"late": 6}, lambda state: {**state, "tol": state["tol"] / 2})
    )
    loaded = load(tmp_path / "a")
    assert (loaded.alpha, loaded.late, loaded.tol) == (0.5, 6, RankSVM().tol / 2)
