"""load(save(x)) = x, for every estimator and composition; and a bad file does no more than be refused."""

import io
import json
import pickle
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import auclid
from auclid import SPAM, Columns, LeastSquaresAUC, LeastSquaresAUCCV, OrderedRanker, SurvivalRanker
from auclid.io import ModelFileError, about, load, replacing, save
from auclid.penalties import ElasticNet
from auclid.schedules import Power
from model_files import npy, opened, signed

ESTIMATORS = [
    cls
    for cls in (getattr(auclid, name) for name in auclid.__all__)
    if isinstance(cls, type) and issubclass(cls, BaseEstimator)
]
STREAMS = [cls for cls in ESTIMATORS if hasattr(cls(), "partial_fit")]


def sample(n=120, d=4, seed=0):
    """Rows of two classes that differ a little, with plain and sparse ones alike."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, d)) + y[:, None]
    return np.where(rng.random((n, d)) < 0.3, 0.0, X), y


def target(cls, y):
    """The labels as a class takes them: SurvivalRanker learns from times."""
    if cls is not SurvivalRanker:
        return y
    return np.array([(k % 3 > 0, 5.0 - 2.0 * label + k % 7) for k, label in enumerate(y)],
                    dtype=[("event", bool), ("time", float)])  # fmt: skip


def build(cls):
    model = cls()
    names = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(names, 0))


def scores(model, X):
    for name in ("decision_function", "predict_proba", "transform"):
        if hasattr(model, name):
            return getattr(model, name)(X)
    raise AssertionError(f"{model} gives no numbers")


def round_trip(model, folder):
    save(folder / "model.auclid", model)
    return load(folder / "model.auclid")


def same_bits(a, b):
    a, b = (x.toarray() if sparse.issparse(x) else np.asarray(x) for x in (a, b))
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_estimator_comes_back(cls, tmp_path):
    X, y = sample()
    for rows in (X, sparse.csr_matrix(X)):
        model = build(cls).fit(rows, target(cls, y))
        loaded = round_trip(model, tmp_path)
        assert type(loaded) is cls and vars(loaded).keys() == vars(model).keys()
        assert same_bits(scores(model, rows), scores(loaded, rows))
        if is_classifier(model):
            np.testing.assert_array_equal(model.predict(rows), loaded.predict(rows))


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_an_estimator_that_was_not_fitted_is_refused(cls, tmp_path):
    with pytest.raises(NotFittedError, match=f"must be given a fitted model; this {cls.__name__} has learnt nothing"):
        save(tmp_path / "model.auclid", build(cls))
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("cls", STREAMS, ids=lambda cls: cls.__name__)
def test_a_loaded_stream_goes_on_to_the_same_bits(cls, kind, tmp_path):
    X, y = sample()
    classes = {} if cls in (OrderedRanker, Columns) else {"classes": [0, 1]}
    model = build(cls).partial_fit(kind(X[:60]), y[:60], **classes)
    loaded = round_trip(model, tmp_path)
    for part in (slice(60, 61), slice(61, 120)):
        model.partial_fit(kind(X[part]), y[part])
        loaded.partial_fit(kind(X[part]), y[part])
    assert same_bits(scores(model, kind(X)), scores(loaded, kind(X)))


def test_a_fitted_stream_goes_on_to_the_same_bits(tmp_path):
    X, y = sample()
    model = SPAM(
        penalty=ElasticNet(0.01, 0.1), schedule=Power(0.1), random_state=np.random.default_rng(3)
    ).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert loaded.penalty == ElasticNet(0.01, 0.1) and type(loaded.penalty) is ElasticNet
    assert same_bits(model.partial_fit(X, y).coef_, loaded.partial_fit(X, y).coef_)


@pytest.mark.parametrize("random_state", [np.random.RandomState(3), np.random.Generator(np.random.Philox(5))])
def test_random_states_come_back_where_they_stood(random_state, tmp_path):
    random_state.random(7)
    loaded = round_trip(SPAM(random_state=random_state).fit(*sample()), tmp_path).random_state
    assert type(loaded) is type(random_state)
    assert same_bits(loaded.random(5), random_state.random(5))


def test_labels_names_and_merge_survive(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = sample()
    X, y = pandas.DataFrame(X, columns=list("abcd")), np.array(["no", "yes"], dtype=object)[y]
    model = LeastSquaresAUC().partial_fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert loaded.classes_.tolist() == ["no", "yes"] and loaded.feature_names_in_.tolist() == list("abcd")
    assert same_bits(loaded.merge(model).coef_, round_trip(model, tmp_path).merge(model).coef_)


COMPOSITIONS = [
    make_pipeline(SimpleImputer(), StandardScaler(), SPAM(random_state=0)),
    CalibratedClassifierCV(make_pipeline(StandardScaler(), LeastSquaresAUC())),
    CalibratedClassifierCV(LeastSquaresAUC(), method="isotonic"),
    CalibratedClassifierCV(LogisticRegression()),
    GridSearchCV(LeastSquaresAUC(), {"alpha": [0.1, 1.0]}, scoring="roc_auc"),
    GridSearchCV(make_pipeline(StandardScaler(), LeastSquaresAUC()), {"leastsquaresauc__alpha": [0.1, 1.0]}),
    BaggingClassifier(LeastSquaresAUC(), n_estimators=3, random_state=0),
    make_pipeline(make_union(StandardScaler(), FunctionTransformer(np.abs)), LeastSquaresAUCCV()),
    make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=5)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", COMPOSITIONS, ids=lambda model: type(model).__name__)
def test_compositions_with_scikit_learn_come_back(model, tmp_path):
    pytest.importorskip("skops")
    X, y = sample()
    loaded = round_trip(model.fit(X, y), tmp_path)
    assert same_bits(scores(model, X), scores(loaded, X))


def test_skops_is_needed_for_trusted_types_only(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"pip install 'auclid\[io\]'"):
        save(tmp_path / "a", make_pipeline(StandardScaler(), RandomForestClassifier(2)).fit(*sample()))
    assert list(tmp_path.iterdir()) == []
    save(tmp_path / "a", make_pipeline(StandardScaler(), LeastSquaresAUC()).fit(*sample()))


def test_what_is_told_about_a_model_comes_back(tmp_path):
    save(tmp_path / "a", LeastSquaresAUC().fit(*sample()), about={"columns": ["a", "ü"]})
    assert about(tmp_path / "a") == {"columns": ["a", "ü"]}


def test_the_same_model_is_the_same_bytes(tmp_path):
    X, y = sample()
    for name in "ab":
        save(tmp_path / name, LeastSquaresAUC().fit(X, y))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


class Mine(LeastSquaresAUC):
    pass


class MyPenalty(ElasticNet):
    pass


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Mine(), "Mine"),
        (SPAM(penalty=lambda w: 0.0), "penalty of SPAM is one"),
        (SPAM(penalty=MyPenalty(1.0, 1.0)), "MyPenalty"),
        (make_pipeline(FunctionTransformer(lambda X: X), SPAM()), "function"),
        (make_pipeline(FunctionTransformer(sample), SPAM()), "test_io.sample"),
        (RandomForestClassifier(2).fit(*sample()), "sklearn.tree._tree.Tree"),
    ],
    ids=["subclass", "function", "struct", "lambda", "other function", "forest"],
)
def test_code_and_strangers_are_refused_and_nothing_is_written(model, said, tmp_path):
    with pytest.raises(TypeError, match="save must be given") as error:
        save(tmp_path / "a", model)
    assert said in str(error.value) and str(error.value).count("\n") == 0
    assert list(tmp_path.iterdir()) == []


def test_two_models_are_no_path(tmp_path):
    model = LeastSquaresAUC().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="save must be given a path for the model; got another one, LeastSquaresAUC"):
        save(model, model)


def test_a_callable_kernel_is_refused(tmp_path):
    kernels = [cls for cls in ESTIMATORS if "kernel" in cls().get_params(deep=False)]
    assert kernels
    for cls in kernels:
        with pytest.raises(TypeError, match=f"kernel of {cls.__name__} is one"):
            save(tmp_path / "a", cls(kernel=lambda a, b: 0.0))


def test_a_failing_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path, "w") as file:
        file.write("new")
        raise ZeroDivisionError
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["a"]
    with pytest.raises(OSError, match="Cannot write"), replacing(tmp_path / "none" / "a"):
        pass
    with pytest.raises(IsADirectoryError, match="Cannot write"), replacing(tmp_path):
        pass


def forge(path, entries, compression=zipfile.ZIP_STORED, **head):
    path.write_bytes(signed(entries, compression, **head))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    X, y = sample(40)
    path = tmp_path_factory.mktemp("good") / "model.auclid"
    save(path, SPAM(random_state=0).partial_fit(X, y))
    return path


def refused(path):
    with pytest.raises(ModelFileError) as error:
        load(path)
    assert isinstance(error.value, ValueError) and str(error.value).startswith(repr(str(path)))
    return str(error.value)


class Boom:
    """What a pickle could do."""

    def __reduce__(self):
        return (pytest.fail, ("code from a file was run",))


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps(Boom()), b"PK\x05\x06" + 18 * b"\0"])
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "a").write_bytes(content)
    refused(tmp_path / "a")


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "a")


def test_newer_formats_compressed_and_doubled_members_are_refused(good, tmp_path):
    path, parts = tmp_path / "a", opened(good)
    forge(path, parts, version=2, auclid="9.9")
    assert "written by auclid 9.9 in format 2" in refused(path) and "Upgrade" in refused(path)
    forge(path, parts, format="other")
    assert "no such format" in refused(path)
    forge(path, {**parts, "bomb.npy": bytes(10**7)}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**5 and "compressed" in refused(path)
    forge(path, parts)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("model.json", b"{}")
    assert "two of one name" in refused(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", b"")
    assert "some other zip file" in refused(path)


def test_members_that_claim_more_than_the_file_holds_are_refused(good, tmp_path):
    """Sizes in the directory raised to 4 GB: nothing of that size may be read or allocated."""
    content = bytearray(good.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 20 : at + 28] = b"\xfe\xff\xff\xff" * 2
    (tmp_path / "a").write_bytes(content)
    assert "more than its own size" in refused(tmp_path / "a")


def test_a_changed_member_is_told_by_the_checksum(good, tmp_path):
    parts = opened(good)
    parts["model.json"] = parts["model.json"].replace(b"0.0001", b"0.0002")
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "checksum" in refused(tmp_path / "a")


def pickled(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=True)
    return file.getvalue()


def huge():
    content = npy(np.zeros(4))
    return content.replace(b"(4,)", b"(4000000000000,)").replace(b" " * 12 + b"\n", b"\n")


HOSTILE = {
    "unknown estimator": {"estimator": ["Popen", {}]},
    "module, not class": {"estimator": ["datasets", {}]},
    "struct elsewhere": {"struct": ["os.path", {}]},
    "struct of the command": {"struct": ["cli.main", {}]},
    "struct that is none": {"struct": ["SPAM", {}]},
    "struct of a module": {"struct": ["square.spam.Running", {}]},
    "struct without fields": {"struct": ["ElasticNet", {"l1": 1.0}]},
    "unknown tag": {"eval": "1"},
    "two tags": {"tuple": [], "dict": []},
    "unknown class of scikit-learn": {"sklearn": ["SVC", {}]},
    "a module for a class": {"sklearn": ["sklearn.svm", {}]},
    "an unknown function": {"function": "os.system"},
    "an unknown scorer": {"scorer": "os.system"},
    "an unknown type": {"type": "os.system"},
    "a dtype of fields": {"dtype": "f8,f8"},
    "an integer that is none": {"integer": "0x" + "f" * 10_000},
    "integers of one hash": {"dict": [[k * (2**61 - 1), 0] for k in range(16)]},
    "a tuple for a key": {"dict": [[{"tuple": [1, 2]}, 0]]},
    "no parameters": {"estimator": ["SPAM", {"alpha": 1.0}]},
    "hidden method": {"estimator": ["LeastSquaresAUC", {**vars(LeastSquaresAUC()), "fit": 1}]},
    "absent member": {"array": "9.npy"},
    "objects in an array": {"array": "pickled.npy"},
    "array of terabytes": {"array": "huge.npy"},
    "wild sparse matrix": {
        "sparse": ["csr_matrix", [2, 2], *({"array": f"{k}.npy"} for k in ("data", "wild", "ends"))]
    },
    "unknown generator": {"generator": {"dict": [["bit_generator", "system"]]}},
    "a list for a name": {"estimator": [[], {}]},
    "nothing at all": {},
    "skops of a stranger": {"skops": "stranger.skops"},
    "compressed skops": {"skops": "packed.skops"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_structures_are_refused_and_nothing_runs(name, good, tmp_path):
    skops = pytest.importorskip("skops.io")
    parts = {"head.json": opened(good)["head.json"], "model.json": json.dumps(HOSTILE[name]).encode()}
    parts |= {
        "pickled.npy": pickled(np.array([Boom()], dtype=object)),
        "huge.npy": huge(),
        "data.npy": npy(np.ones(2)),
    }
    parts |= {"wild.npy": npy(np.array([0, 1 << 20])), "ends.npy": npy(np.array([0, 1, 2]))}
    parts["stranger.skops"] = skops.dumps(FunctionTransformer(pytest.fail))
    parts["packed.skops"] = skops.dumps(StandardScaler(), compression=zipfile.ZIP_DEFLATED)
    forge(tmp_path / "a", parts)
    refused(tmp_path / "a")


def test_deep_nesting_is_refused(good, tmp_path):
    forge(tmp_path / "a", {**opened(good), "model.json": b"[" * 100_000 + b"]" * 100_000})
    refused(tmp_path / "a")


@pytest.mark.parametrize(
    "array", [np.zeros(3), np.zeros((4, 1)), np.zeros(4, int)], ids=["short", "tall", "whole"]
)
def test_a_state_that_kernels_could_not_trust_is_refused(array, good, tmp_path):
    parts = opened(good)
    state = json.loads(parts["model.json"])["estimator"][1]["_state"]["struct"][1]
    weights = state["iterate"]["struct"][1]["v"]
    forge(tmp_path / "a", {**parts, weights["array"]: npy(array)})
    assert "state of its SPAM" in refused(tmp_path / "a")


@given(st.data())
def test_flipped_bits_are_told_or_harmless(good, tmp_path_factory, data):
    content = bytearray(good.read_bytes())
    for at in data.draw(st.lists(st.integers(0, 8 * len(content) - 1), min_size=1, max_size=3, unique=True)):
        content[at // 8] ^= 1 << at % 8
    unharmed_or_refused(good, bytes(content), tmp_path_factory)


@given(st.data())
def test_truncated_files_are_told(good, tmp_path_factory, data):
    content = good.read_bytes()
    path = tmp_path_factory.mktemp("cut") / "a"
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    refused(path)


@given(st.data())
def test_spliced_files_are_told_or_harmless(good, tmp_path_factory, data):
    content = bytearray(good.read_bytes())
    at = data.draw(st.integers(0, len(content)))
    content[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=40))
    unharmed_or_refused(good, bytes(content), tmp_path_factory)


def unharmed_or_refused(good, content, tmp_path_factory):
    path = tmp_path_factory.mktemp("changed") / "a"
    path.write_bytes(content)
    try:
        loaded = load(path)
    except ModelFileError:
        return
    X, y = sample(20, seed=1)
    assert same_bits(loaded.partial_fit(X, y).coef_, load(good).partial_fit(X, y).coef_)


def test_the_path_may_come_first_or_second(tmp_path):
    X, y = np.random.default_rng(0).standard_normal((30, 2)), np.arange(30) % 3 == 0
    model = auclid.LeastSquaresAUC().fit(X, y)
    auclid.save(tmp_path / "a", model)
    auclid.save(model, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_has_learnt_nothing_is_refused(tmp_path):
    for model in (auclid.RankSVM(), auclid.Columns(), make_pipeline(StandardScaler(), auclid.SPAM())):
        with pytest.raises(NotFittedError, match=r"save must be given a fitted model; this .* Fit it first\."):
            auclid.save(tmp_path / "m", model)
    assert not (tmp_path / "m").exists()


def test_a_selector_of_columns_is_named_in_the_refusal(tmp_path):
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_selector, make_column_transformer

    X, y = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 2)), columns=["a", "b"]), np.arange(30) % 3 == 0
    parts = make_column_transformer((StandardScaler(), make_column_selector(dtype_include=float)))
    model = make_pipeline(parts, auclid.LeastSquaresAUC()).fit(X, y)
    with pytest.raises(TypeError, match=r"got .*make_column_selector in"):
        auclid.save(tmp_path / "m", model)
