"""The loader's threat model, a test for each class of value: see docs/saving.md."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, StackingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from attack_files import bytes_case, file_case, peak, reset_peak, used_case
from auclid import CBR, OAM, OPAUC, SPAM, Columns, LeastSquaresAUC, Scorecard
from auclid.io import ModelFileError, load, save
from auclid.io._container import _numpy_header, array_from_bytes, read_array_header
from model_files import forged, holders, npy
from sklearn_parts import LEVELS, NUMBERED, RECORDS, TEXTS

SEEDS = st.integers(0, 2**32)


def sample(n=40, d=4):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + y[:, None], y


def learnt(model):
    """The model, fitted: no other is saved."""
    return model.fit(*sample())


def refused(path):
    with pytest.raises(ModelFileError) as error:
        load(path)
    assert len(str(error.value)) < 1000 and "\n" not in str(error.value)
    return str(error.value)


def big(value):
    """An integer as a file holds it."""
    return {"integer": hex(value)}


def generators():
    for place in (625, 10**8, -(10**8), 2**31 - 1, -1, big(2**70), 1.5, None):
        yield np.random.MT19937, "pos", place
        yield np.random.Philox, "buffer_pos", place
    for bits in (np.random.PCG64, np.random.PCG64DXSM, np.random.SFC64, np.random.Philox):
        yield bits, "has_uint32", 7
        yield bits, "uinteger", -1
    yield np.random.PCG64, "inc", -1
    yield np.random.PCG64, "state", big(2**128)


def with_entry(tree, name, value):
    """JSON with another value for every entry of a dictionary that goes by this name."""
    if isinstance(tree, dict):
        return {key: with_entry(x, name, value) for key, x in tree.items()}
    if isinstance(tree, list):
        if len(tree) == 2 and tree[0] == name and not (isinstance(tree[1], dict) and "dict" in tree[1]):
            return [name, value]
        return [with_entry(x, name, value) for x in tree]
    return tree


@pytest.mark.parametrize(("bits", "name", "value"), list(generators()))
def test_a_generator_in_an_impossible_state_is_refused(bits, name, value, tmp_path):
    X, y = sample()
    model = SPAM(random_state=np.random.Generator(bits(0))).partial_fit(X, y)
    path = forged(tmp_path, model, lambda tree, parts: with_entry(tree, name, value))
    assert "in a state that none can be in" in refused(path)


def test_a_legacy_generator_in_an_impossible_state_is_refused(tmp_path):
    model = learnt(SPAM(random_state=np.random.RandomState(0)))
    path = forged(tmp_path, model, lambda tree, parts: with_entry(tree, "pos", 10**8))
    assert "none can be in" in refused(path)


@pytest.mark.parametrize("key", [np.zeros(10, np.uint32), np.zeros(624, np.uint64), np.zeros((624, 1), np.uint32)])
def test_a_generator_with_another_key_is_refused(key, tmp_path):
    def change(tree, parts):
        name = next(name for name in parts if name.endswith(".npy") and b"(624,)" in parts[name])
        parts[name] = npy(key)

    assert "none can be in" in refused(forged(tmp_path, learnt(SPAM(random_state=np.random.RandomState(0))), change))


def boosted():
    X, y = sample(200)
    return make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=2)).fit(X, y)


@pytest.mark.parametrize("field", ["left", "right", "feature_idx", "is_categorical"])
@pytest.mark.parametrize("wild", [0, 7, 10**6, 2**31 - 1])
def test_trees_that_lead_nowhere_are_refused(field, wild, tmp_path):
    """0 as a child leads back to the root: a walk without end."""

    def change(tree, parts):
        for name in [name for name in parts if name.endswith(".npy") and b"feature_idx" in parts[name]]:
            nodes = array_from_bytes(parts[name])
            own = np.flatnonzero(nodes["is_leaf"] == 0)
            nodes[field][own] = 1 if field == "is_categorical" else wild
            parts[name] = npy(nodes)

    if field == "feature_idx" and wild == 0:
        pytest.skip("column 0 is there")
    assert "lead nowhere" in refused(forged(tmp_path, boosted(), change))


def test_types_that_index_without_looking_need_trust(tmp_path):
    pytest.importorskip("skops")
    X, y = sample()
    model = make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X, y)
    with pytest.raises(TypeError, match="KNeighborsClassifier") as error:
        save(tmp_path / "a", model)
    trusted = str(error.value).split("trusted=[")[1].split("]")[0].replace("'", "").split(", ")
    save(tmp_path / "a", model, trusted=trusted)
    assert "loads from nobody it does not know" in refused(tmp_path / "a")
    np.testing.assert_array_equal(load(tmp_path / "a", trusted=trusted).predict(X), model.predict(X))


@pytest.mark.parametrize("ends", [[0, 10**8, 0], [0, -1, 2], [5, 1, 2], [0, 1, 3]])
def test_a_sparse_matrix_whose_rows_do_not_end_is_refused(ends, tmp_path):
    def change(tree, parts):
        parts.update({"d.npy": npy(np.ones(2)), "i.npy": npy(np.zeros(2, int)), "e.npy": npy(np.array(ends))})
        arrays = [{"array": f"{name}.npy"} for name in "die"]
        return {"estimator": ["SPAM", {**tree["estimator"][1], "stray": {"sparse": ["csr_matrix", [2, 3], *arrays]}}]}

    refused(forged(tmp_path, learnt(SPAM()), change))


@pytest.mark.parametrize(
    ("model", "name", "array"),
    [
        (SPAM(random_state=0), "coef_", np.zeros((0, 3 * 10**8))),
        (SPAM(random_state=0), "coef_", np.full((1, 4), np.nan)),
        (SPAM(random_state=0), "intercept_", np.array([np.inf])),
        (LeastSquaresAUC(), "coef_", np.zeros((1, 3))),
        (OPAUC(rank=2, random_state=0), "coef_", np.zeros((0, 3 * 10**8))),
    ],
    ids=["no rows", "nan", "endless threshold", "short", "sketch"],
)
def test_weights_that_do_not_fit_are_refused_and_nothing_is_allocated(model, name, array, tmp_path):
    def change(tree, parts):
        parts[tree["estimator"][1][name]["array"]] = npy(array)
        if array.size == 0:
            tree["estimator"][1]["n_features_in_"] = array.shape[1]

    path = forged(tmp_path, model.partial_fit(*sample()), change)
    start = reset_peak()
    refused(path)
    assert start is None or peak() - start < 50 << 20


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (OPAUC(rank=2, random_state=0), "rank", 3 * 10**8),
        (OAM(buffer_size=5, random_state=0), "buffer_size", 10**9),
        (OAM(buffer_size=5, random_state=0), "buffer_size", 1),
        (OAM(buffer_size=5, random_state=0), "buffer_size", -5),
        (CBR(buffer_size=5, random_state=0), "covariance", "diagonal"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_sizes_that_the_state_does_not_have_are_refused(model, name, value, tmp_path):
    def change(tree, parts):
        tree["estimator"][1][name] = value

    start = reset_peak()
    refused(forged(tmp_path, model.partial_fit(*sample()), change))
    assert start is None or peak() - start < 50 << 20


@pytest.mark.parametrize("held", [[9, -4], [5, 5], [0, 5], [10**6, 5]])
def test_buffers_that_count_wrongly_are_refused(held, tmp_path):
    def change(tree, parts):
        buffers = tree["estimator"][1]["_state"]["struct"][1]["buffers"]["struct"][1]
        parts[buffers["held"]["array"]] = npy(np.array(held))
        if held == [5, 5]:
            parts[buffers["seen"]["array"]] = npy(np.array([2, 2]))

    refused(forged(tmp_path, OAM(buffer_size=5, random_state=0).partial_fit(*sample()), change))


def wrong_counts(counts):
    """Counts of two columns of numbers, one of categories and a pair that would lead kernels astray."""
    x, _, level = counts.columns
    pair, bins = counts.pairs[0], level.rows.shape[1]
    few = [level._replace(rows=level.rows[:, :-1]), level._replace(missing=np.zeros(1)), x]
    few += [level._replace(edges=np.arange(bins - 1.0))]
    yield from (counts._replace(columns=[*counts.columns[:2], each]) for each in few)
    yield counts._replace(columns=[x._replace(edges=None), *counts.columns[1:]])
    yield counts._replace(columns=counts.columns[:2])
    yield counts._replace(pairs=[])
    a, b = pair.groups
    for groups in ((a + 1, b), (a - 1, b), (a[1:], b), (a, b + 0.5)):
        yield counts._replace(pairs=[pair._replace(groups=groups), *counts.pairs[1:]])
    yield counts._replace(pairs=[pair._replace(rows=pair.rows[:1]), *counts.pairs[1:]])
    other = counts.pairs[1]
    turned = tuple(side[::-1].copy() for side in other.groups)
    yield counts._replace(pairs=[pair, other._replace(groups=turned)])


def test_counts_of_a_scorecard_that_lead_nowhere_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    X = np.stack([*rng.normal(size=(2, 400)), rng.integers(0, 4, 400)], axis=1)
    pull = X[:, 0] * X[:, 1] + X[:, 1] * (X[:, 2] - 1.5)
    model = Scorecard(interactions=2, categories=[2], n_knots=4).fit(X, pull > 0.0)
    counts = model._counts
    assert len(counts.pairs) == 2 and load(save(tmp_path / "card", model) or tmp_path / "card").partial_fit(X, pull > 0)
    for model._counts in wrong_counts(counts):
        save(tmp_path / "card", model)
        assert "does not fit together" in refused(tmp_path / "card")


def test_an_endless_array_without_entries_is_refused(tmp_path):
    def change(tree, parts):
        parts["empty.npy"] = npy(np.zeros((0, 3 * 10**8)))
        tree["estimator"][1]["stray"] = {"array": "empty.npy"}

    assert "without an entry" in refused(forged(tmp_path, learnt(SPAM()), change))


def test_columns_that_nothing_was_learnt_about_are_refused(tmp_path):
    def change(tree, parts):
        tree["estimator"][1]["n_features_in_"] = 10**8

    assert "does not fit together" in refused(forged(tmp_path, learnt(Columns()), change))


def test_a_member_is_read_once(tmp_path):
    def change(tree, parts):
        parts["large.npy"] = npy(np.zeros(1000))
        tree["estimator"][1]["stray"] = [{"array": "large.npy"}] * 1000

    assert "second time" in refused(forged(tmp_path, learnt(SPAM()), change))


def test_more_values_than_any_model_has_are_refused_before_they_are_made(tmp_path):
    def change(tree, parts):
        tree["estimator"][1]["stray"] = [[]] * (1 << 22)

    path = forged(tmp_path, learnt(SPAM()), change)
    start = reset_peak()
    assert "values" in refused(path)
    assert start is None or peak() - start < 100 << 20


@pytest.mark.parametrize("tree", [5, None, "x", [], {"tuple": []}, {"dict": []}, {"struct": ["L2", {"l2": 1.0}]}])
def test_only_an_estimator_comes_out(tree, tmp_path):
    assert "no estimator" in refused(forged(tmp_path, learnt(SPAM()), lambda old, parts: tree or {"tuple": []}))
    with pytest.raises(TypeError, match="must be given an estimator"):
        save(tmp_path / "a", tree)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices by name")
def test_pipes_devices_and_loops_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "must be a file" in refused(tmp_path / "pipe")
    assert "must be a file" in refused(Path("/dev/zero"))
    assert "must be a file" in refused(tmp_path)
    with pytest.raises(OSError):
        load(tmp_path / "loop")


def test_bytes_of_the_other_order_are_turned(tmp_path):
    def change(tree, parts):
        name = tree["estimator"][1]["coef_"]["array"]
        parts[name] = npy(np.load(io.BytesIO(parts[name])).astype(">f8"))

    X, y = sample()
    model = LeastSquaresAUC().fit(X, y)
    turned = load(forged(tmp_path, model, change))
    assert turned.coef_.dtype.isnative
    np.testing.assert_array_equal(turned.coef_, model.coef_)


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i8", "|u1", "|b1", "<U5", "|S3", "<c16", "<M8[s]"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 7), (2, 1, 2)])
def test_the_short_way_to_read_a_header_agrees_with_numpy(dtype, shape):
    for order in "CF":
        array = np.zeros(shape, dtype, order=order)
        content = npy(array)
        again = array_from_bytes(content)
        assert read_array_header(content) == _numpy_header(content)
        assert again.shape == shape and again.dtype == np.dtype(dtype).newbyteorder("=")
        assert again.tobytes() == array.tobytes()


@given(SEEDS)
@settings(max_examples=40)
def test_changed_files_are_refused_or_harmless(seed):
    file_case(np.random.default_rng(seed))
    used_case(np.random.default_rng(seed))
    bytes_case(np.random.default_rng(seed))


@pytest.mark.long
@given(SEEDS)
@settings(max_examples=2000)
def test_many_changed_files_are_refused_or_harmless(seed):
    file_case(np.random.default_rng(seed))
    used_case(np.random.default_rng(seed))
    bytes_case(np.random.default_rng(seed))


# --- parts of scikit-learn that compiled code, a notebook or joblib would follow ------------------------

X, Y = sample(60)
LINEAR = LogisticRegression()


def objects(*items):
    """An array of Python objects as a file holds it."""
    return {"objects": [[len(items)], list(items)]}


def words(last, names=("plum", "pear", "red")):
    """The numbers of three words as a file holds them; ``last`` should be 2."""
    return {"dict": [[name, number] for name, number in zip(names, (0, 1, last), strict=True)]}


WILD = {"array": "wild.npy"}
"""Indices that are out of range."""

DROPPED = (OneHotEncoder(drop="first"), LEVELS, "OneHotEncoder", "_drop_idx_after_grouping", objects(9, 0))

CRASHES = {
    "one-hot widths": (OneHotEncoder(), LEVELS, "OneHotEncoder", "_n_features_outs", [1, 1]),
    "one-hot widths beyond": (OneHotEncoder(), LEVELS, "OneHotEncoder", "_n_features_outs", [3, 2]),
    "a dropped category": DROPPED,
    "unsorted categories": (OneHotEncoder(), NUMBERED, "OneHotEncoder", "categories_", [objects(2.0, 1.0, None)]),
    "bins": (KBinsDiscretizer(3), X, "OneHotEncoder", "_n_features_outs", [1, 1, 1, 1]),
    "words": (CountVectorizer(), TEXTS, "CountVectorizer", "vocabulary_", words(10**6)),
    "words below zero": (CountVectorizer(), TEXTS, "CountVectorizer", "vocabulary_", words(-1)),
    "weighted words": (TfidfVectorizer(use_idf=False), TEXTS, "TfidfVectorizer", "vocabulary_", words(10**6)),
    "records": (DictVectorizer(), RECORDS, "DictVectorizer", "vocabulary_", words(10**6, ("a", "b=x", "b=y"))),
    "a member's columns": (BaggingClassifier(LINEAR, 1), X, "BaggingClassifier", "estimators_features_", [WILD]),
}
"""A part, its rows, and an attribute of a class with a value that led compiled code out of its arrays."""

HANGS = {
    "a regular expression": (CountVectorizer(), TEXTS, "CountVectorizer", "token_pattern", r"(\w+\w+)+$"),
    "long n-grams": (CountVectorizer(), TEXTS, "CountVectorizer", "ngram_range", {"tuple": [1, 10**6]}),
    "files to open": (CountVectorizer(), TEXTS, "CountVectorizer", "input", "filename"),
    "an encoding": (CountVectorizer(), TEXTS, "CountVectorizer", "encoding", "idna"),
    "degrees": (PolynomialFeatures(), X, "PolynomialFeatures", "_max_degree", 10**8),
    "a degree": (PolynomialFeatures(), X, "PolynomialFeatures", "degree", 10**8),
    "columns to name": (Normalizer(), X, "Normalizer", "n_features_in_", 10**9),
    "columns to name, counted": (
        StandardScaler(with_mean=False, with_std=False),
        X,
        "StandardScaler",
        "n_features_in_",
        10**9,
    ),
    "components to name": (LinearDiscriminantAnalysis(), X, "LinearDiscriminantAnalysis", "_n_features_out", 10**9),
    "outputs to name": (StackingClassifier([("a", LINEAR)]), X, "StackingClassifier", "_n_feature_outs", [10**9]),
    "classes to sum over": (DummyClassifier(), X, "DummyClassifier", "n_classes_", 10**9),
    "jobs to prepare": (GridSearchCV(LINEAR, {"C": [1.0]}), X, "GridSearchCV", "pre_dispatch", "9**9**9**9"),
    "a method to call": (StackingClassifier([("a", LINEAR)]), X, "StackingClassifier", "stack_method_", ["fit"]),
    "an attribute to follow": (SelectFromModel(LINEAR), X, "SelectFromModel", "importance_getter", "__class__.mro"),
}
"""A part, its rows, and an attribute of a class with a value that took for ever, or had side effects."""


def tampered(folder, case):
    model, rows, name, attribute, value = case

    def change(tree, entries):
        entries["wild.npy"] = npy(np.array([0, 10**6]))
        (attributes,) = holders(tree, name)
        assert attribute in attributes
        attributes[attribute] = value

    return forged(folder, clone(model).fit(rows, Y), change)


@pytest.mark.parametrize("name", [*CRASHES, *HANGS])
def test_what_would_crash_or_hang_is_refused(name, tmp_path):
    refused(tampered(tmp_path, {**CRASHES, **HANGS}[name]))


USED = """
import json, sys
import numpy as np
import auclid
from sklearn_parts import LEVELS, NUMBERED, RECORDS, TEXTS, X
for name, rows in json.loads(sys.argv[1]):
    try:
        model = auclid.load(name)
        answer = (model.transform if hasattr(model, "transform") else model.predict)(globals()[rows])
        print("used", getattr(answer, "toarray", lambda: answer)().shape, flush=True)
    except ValueError:
        print("refused", flush=True)
"""

TABLES = {"X": X, "LEVELS": LEVELS, "NUMBERED": NUMBERED, "TEXTS": TEXTS, "RECORDS": RECORDS}


def test_no_file_of_a_part_ends_the_process_that_uses_it(tmp_path):
    """In a process of its own: without the checks, some of these files end it."""
    jobs = []
    for k, case in enumerate(CRASHES.values()):
        (tmp_path / str(k)).mkdir()
        rows = next(name for name, table in TABLES.items() if table is case[1])
        jobs.append((str(tampered(tmp_path / str(k), case)), rows))
    command = [sys.executable, "-c", USED, json.dumps(jobs)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.split() == ["refused"] * len(jobs), done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("stray", ["_doc_link_template", "__doc_link_template", "_doc_link_module", "_repr_html_"])
@pytest.mark.parametrize("name", ["StandardScaler", "LeastSquaresAUC"])
def test_no_file_brings_script_into_a_notebook(stray, name, tmp_path):
    def change(tree, entries):
        (attributes,) = holders(tree, name)
        attributes[stray] = '"><script>alert(1)</script>'

    model = make_pipeline(StandardScaler(), LeastSquaresAUC()).fit(X, Y)
    assert "<script>alert" not in model._repr_html_()
    assert stray in refused(forged(tmp_path, model, change))


def test_names_of_steps_that_would_act_in_a_notebook_are_refused(tmp_path):
    def change(tree, entries):
        tree["sklearn"][1]["steps"][0]["tuple"][0] = "');alert(1);('"

    assert "no plain text" in refused(forged(tmp_path, make_pipeline(StandardScaler()).fit(X), change))


def test_a_file_starts_no_processes_and_chooses_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", MinMaxScaler(), [2, 3])], n_jobs=2)
    model = Pipeline([("parts", parts), ("rank", LeastSquaresAUC())], memory=str(tmp_path / "cache"))
    model.set_params(memory=None, parts__n_jobs=None).fit(X, Y)
    save("a", model.set_params(memory=str(tmp_path / "cache"), parts__n_jobs=2))
    with pytest.warns(UserWarning, match="sets memory of Pipeline, n_jobs of ColumnTransformer; left at None") as heard:
        loaded = load("a")
    assert len(heard) == 1
    assert loaded.memory is None and loaded["parts"].n_jobs is None
    loaded.fit(X, Y).predict(X)
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(("field", "value"), [("spread", 0.0), ("size", np.inf), ("middle", 1.7e308)])
def test_columns_that_would_not_be_finite_are_refused(field, value, tmp_path):
    def change(tree, entries):
        (numbers,) = holders(tree, "numbers")
        entries[numbers[field]["array"]] = npy(np.full(4, value))

    assert "Columns has learnt does not fit together" in refused(forged(tmp_path, Columns().fit(X), change))
