"""Names in files are a table of their own: classes move and change, and files stay readable."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import auclid
from auclid import SPAM, RankSVM
from auclid.io import ModelFileError, _names, load, save
from auclid.io._learnt import FIELD_CHECKS, check_attributes, fits, parse_spec, parse_specs
from auclid.io._names import ESTIMATORS, STRUCTS, Change, Entry, NameTable, class_path
from data.keep import KINDS, models, rows, seeded, tables
from model_files import forged

SOURCE = Path(auclid.__file__).parent
KEPT = sorted((Path(__file__).parent / "data").glob("*/*.auclid"))


def test_every_exported_estimator_has_an_entry():
    public = (getattr(auclid, name) for name in auclid.__all__)
    exported = {cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    assert {entry.cls for entry in ESTIMATORS} == exported


@pytest.mark.parametrize("entry", [*ESTIMATORS, *STRUCTS], ids=lambda entry: entry.path)
def test_a_path_is_where_the_class_is_defined(entry):
    """What is written is found by module and name of its class, so a class that moved must move here too."""
    assert class_path(entry.cls) == entry.path
    assert all(parse_spec(spec) for spec in parse_specs(entry.holds).values())


def class_names(specs):
    """The classes that specifications name."""
    own = {spec.kind for spec in specs if spec.kind.lstrip("_=")[:1].isupper()}
    return own.union(*(class_names(spec.items) for spec in specs))


def test_specifications_name_classes_of_the_tables():
    """A class that is renamed must be renamed in specifications too: no object would fit them any longer."""
    known = {entry.path.rpartition(".")[2] for entry in (*ESTIMATORS, *STRUCTS)}
    for entry in (*ESTIMATORS, *STRUCTS):
        for spec in parse_specs(entry.holds).values():
            assert class_names(parse_spec(spec)) <= known, entry.name
    assert set(FIELD_CHECKS) | {"buffers"} <= {entry.name for entry in STRUCTS}


def test_no_file_is_found_through_the_list_of_loaded_modules():
    looks = [path for path in SOURCE.rglob("*.py") if re.search(r"sys\.modules\[.auclid", path.read_text("utf-8"))]
    assert looks == []


TRIP = """
import sys, numpy as np, auclid
rows, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
model = auclid.LeastSquaresAUC().fit(rows, y)
before = set(sys.modules)
auclid.save(sys.argv[1], model)
auclid.load(sys.argv[1])
print(*sorted(name for name in set(sys.modules) - before if name.startswith(("auclid", "skops", "sklearn"))))
"""

LOADED = """
import sys, auclid
auclid.load(sys.argv[1])
print(*sorted(name for name in sys.modules if name.startswith("auclid.")))
"""


def printed(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_one_model_imports_what_it_needs_and_no_more(tmp_path):
    new = printed(TRIP, tmp_path / "a")
    assert [name for name in new if not name.startswith(("auclid.io", "sklearn"))] == []
    assert not {"skops", "sklearn.ensemble", "sklearn.linear_model", "sklearn.preprocessing"} & set(new)
    packages = {name.split(".")[1] for name in printed(LOADED, tmp_path / "a")}
    assert {"io", "square", "stats"} <= packages
    assert packages.isdisjoint({"additive", "auto", "boost", "columns", "kernels", "online", "pairwise", "semi"})


def structs_in(tree):
    if isinstance(tree, list):
        return set().union(*map(structs_in, tree))
    if not isinstance(tree, dict):
        return set()
    own = {tree["struct"][0]} if "struct" in tree else set()
    return own.union(*map(structs_in, tree.values()))


def described(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("model.json")


def test_a_new_file_names_no_module(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    save(tmp_path / "a", SPAM(random_state=0).partial_fit(X, y))
    text = described(tmp_path / "a")
    named = {"SPAM state", "iterate", "scale factors", "running class means", "SPAM shrinkage", "Power"}
    assert structs_in(json.loads(text)) == named and b"square." not in text and b"solvers." not in text


def test_the_table_knows_every_struct_of_every_kept_file():
    names = set().union(*(structs_in(json.loads(described(path))) for path in KEPT))
    known = {name for entry in STRUCTS for name in entry.changes()}
    assert len(names) > 20 and names <= known


# --- what older files say differently -------------------------------------------------------------------


class State(NamedTuple):
    w: float
    behind: float
    n: int = 7


def halves(fields):
    """An upgrade that is given the fields of today, too."""
    return {"w": fields["u"], "behind": fields["u"], "n": 1} if "u" in fields else fields


TABLE = NameTable(
    Entry(
        "state 2",
        "test_wire.State",
        older={"state": Change(renamed={"lag": "behind"}, added={"n": 0}), "State": Change(upgrade=halves)},
    )
)


@pytest.mark.parametrize(
    ("name", "fields", "state"),
    [
        ("state 2", {"n": 1, "w": 2.0, "behind": 3.0}, State(2.0, 3.0, 1)),
        ("state", {"w": 2.0, "lag": 3.0}, State(2.0, 3.0, 0)),
        ("State", {"u": 2.0}, State(2.0, 2.0, 1)),
    ],
)
def test_an_older_name_says_how_its_fields_became_todays(name, fields, state):
    entry, change = TABLE.find(name)
    assert entry.cls(**change.apply(fields)) == state


@pytest.mark.parametrize(
    ("name", "fields"), [("L2", {}), ("L2", {"l2": 1.0, "l1": 1.0}), ("ElasticNet", {"l1": 1.0}), ("L3", {"l2": 1.0})]
)
def test_other_fields_than_those_of_the_class_are_refused(name, fields, tmp_path):
    def change(tree, entries):
        tree["estimator"][1]["penalty"] = {"struct": [name, fields]}

    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ModelFileError, match=r"with the fields|does not have"):
        load(forged(tmp_path, SPAM().fit(X, y), change))


def test_one_name_means_one_class():
    with pytest.raises(ValueError, match="'a' means two"):
        NameTable(Entry("a", "x.A"), Entry("b", "x.B", older={"a": Change()}))


def test_a_parameter_that_came_later_is_what_the_table_says(tmp_path, monkeypatch):
    """An estimator of a later release, with one parameter more and another attribute, reads a file of this one."""

    class Later(RankSVM):
        def __init__(self, alpha=1e-4, *, loss="squared_hinge", tol=1e-3, max_iter=100, late=5):
            super().__init__(alpha, loss=loss, tol=tol, max_iter=max_iter)
            self.late = late

        _parameter_constraints: dict = {**RankSVM._parameter_constraints, "late": [int]}

    X, y = np.random.default_rng(0).standard_normal((20, 2)), np.arange(20) % 2
    save(tmp_path / "a", RankSVM(alpha=0.5).fit(X, y))
    entry, _ = ESTIMATORS.find("RankSVM")
    monkeypatch.setattr(_names, "find_class", lambda path: Later)
    # What this release has as parameters is no parameter of Later.
    more = " max_fpr:any min_tpr:any softness:any l1:any penalty:any metric:any"
    monkeypatch.setattr("auclid.io._model.ESTIMATORS", NameTable(entry._replace(holds=entry.holds + more)))
    with pytest.raises(ModelFileError, match=r"lacks some: \['late'\]"):
        load(tmp_path / "a")
    change = Change(added={"late": 6}, upgrade=lambda state: {**state, "tol": state["tol"] / 2})
    changed = entry._replace(holds=entry.holds + more, change=change)
    monkeypatch.setattr("auclid.io._model.ESTIMATORS", NameTable(changed))
    loaded = load(tmp_path / "a")
    assert (loaded.alpha, loaded.late, loaded.tol) == (0.5, 6, RankSVM().tol / 2)


# --- attributes of estimators ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    """Every kept model, fitted, with the estimators of auclid inside it."""
    X, y = rows()
    kinds = tables({"X": X, "y": y})
    kept = [(model, kinds[KINDS.get(name, ("dense",))[0]]) for name, model in models()]
    return [inner for model, of in kept for inner in inside(seeded(clone(model)).fit(*of))]


def inside(value):
    """The estimators of auclid in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [found for item in value for found in inside(item)]
    if not isinstance(value, BaseEstimator):
        return []
    return [*([value] if ESTIMATORS.of(value) else []), *inside(list(vars(value).values()))]


@pytest.mark.filterwarnings("ignore")
def test_the_table_knows_the_attributes_of_every_estimator_and_no_others(fitted):
    """An attribute that a method has learnt to set must be added to its entry in auclid.io._names."""
    optional = {"feature_names_in_", "_sklearn_output_config", "models_", "threshold_"}
    for entry in ESTIMATORS:
        mine = [model for model in fitted if type(model) is entry.cls]
        seen = {key for model in mine for key in vars(model)} - set(entry.cls._get_param_names())
        listed = set(parse_specs(entry.holds))
        assert mine and seen <= listed, f"{entry.name} has {seen - listed}"
        assert listed - seen <= optional, f"{entry.name} never has {listed - seen - optional}"


@pytest.mark.parametrize("stray", ["_doc_link_template", "__doc_link_template", "fit", "note_", "_repr_html_"])
def test_attributes_that_no_fit_leaves_are_refused(stray, tmp_path):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    model = auclid.LeastSquaresAUC().fit(X, y)
    path = forged(tmp_path, model, lambda tree, entries: tree["estimator"][1].update({stray: "<script>"}))
    with pytest.raises(ModelFileError, match=f"attributes that no LeastSquaresAUC has, or lacks some: .*{stray}"):
        load(path)
    model.note_ = 1
    with pytest.raises(TypeError, match=r"attributes that auclid.io._names lists; LeastSquaresAUC has \['note_'\]"):
        save(tmp_path / "a", model)


# --- the language of specifications ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "good", "bad"),
    [
        ("real", [1.0, 2, np.float32(1), np.nan], ["1", True, None, np.ones(1)]),
        ("finite", [1.0, 2], [np.nan, np.inf]),
        ("count", [0, 5, np.int64(3), 4.0], [-1, 1.5, 1 << 62, np.nan, True]),
        ("int", [-3, np.uint64(2**63)], [True, 1.0, 2**64]),
        ("label", ["a", None, True, 1.5, 2**63], [(1,), 2**64]),
        ("str?", ["a", None], [1]),
        ("finite[]|finite[2,2]", [np.ones(()), np.eye(2)], [np.ones(2), np.ones((2, 3)), 1.0]),
        ("double[d]", [np.ones(3)], [np.ones(2), np.ones(3, np.float32), np.array([1, np.nan, 1]), [1.0] * 3]),
        ("real[*,d]", [np.full((7, 3), np.nan, np.float32)], [np.ones((3, 7)), np.ones(3), np.ones((7, 3), int)]),
        ("str[d]", [np.array(list("abc")), np.array(list("abc"), object)], [np.array(["a", "b", 1], object)]),
        ("label[*]", [np.array([1, "a", None], object), np.arange(3)], [np.array([[1], (2,)], object)[:0:-1], [1]]),
        ("list<int[*]?>[d]", [[None, np.arange(2), None]], [[None], (None,) * 3, [1, 2, 3]]),
        ("tuple<str|list<str>>", [("a", ["b"]), ()], [["a"], (1,), ([1],)]),
        ("=d", [3, np.int64(3)], [4, 0, "3"]),
        ("State", [State(1.0, 2.0)], [(1.0, 2.0, 7), {"w": 1.0}]),
    ],
)
def test_a_specification_fits_what_it_says(spec, good, bad):
    for value in good:
        assert fits(parse_spec(spec), value, {"d": 3}), value
    for value in bad:
        assert not fits(parse_spec(spec), value, {"d": 3}), value


def test_a_letter_is_one_length():
    holds = "a:real[n] b:real[n,m] c:real[m]|real[n]"
    a, b = np.ones(2), np.ones((2, 5))
    check_attributes("X", holds, {"a": a, "b": b, "c": np.ones(5)})
    check_attributes("X", holds, {"b": b, "c": a})
    for wrong in ({"a": np.ones(3), "b": b}, {"a": a, "b": b, "c": np.ones(3)}):
        with pytest.raises(ModelFileError, match=r"X has learnt does not fit together: . must be real\[.* with n = "):
            check_attributes("X", holds, wrong)
    with pytest.raises(ValueError, match="got 'real\\[3'"):
        parse_spec("real[3")
