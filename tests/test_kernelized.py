"""Kernelized: any ranker on rows that are embedded only when asked for is that ranker on the embedded table."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import auclid
from auclid import (
    PSAM,
    QSGS2AUC,
    SAMULT,
    SPAM,
    Kernelized,
    KMeansNystroem,
    LeastSquaresAUC,
    LeastSquaresAUCCV,
    RandomFourier,
    RankSVM,
    _sizes,
    algorithms,
    make,
)
from auclid.base import LinearRanker
from auclid.data import as_table
from auclid.data.embedded import ByteLimits, Embedded
from auclid.io import ModelFileError
from auclid.stats.moments import class_moments

EXPORTED = [getattr(auclid, name) for name in auclid.__all__]
RANKERS = [one for one in EXPORTED if isinstance(one, type) and issubclass(one, LinearRanker)]
MAPS = [KMeansNystroem(25, random_state=0), RandomFourier(25, random_state=0)]
EACH_RANKER = pytest.mark.parametrize("ranker", RANKERS, ids=lambda one: one.__name__)
EACH_MAP = pytest.mark.parametrize("feature_map", MAPS, ids=lambda one: type(one).__name__)


def table(n=240, d=3, seed=0):
    """Positives inside a ring of negatives: no line tells them apart."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, d))
    X *= ((1.0 + 2.0 * (1 - y) + rng.normal(size=n) ** 2) / np.linalg.norm(X, axis=1))[:, None]
    return X, y


def ready(ranker):
    """The ranker with a seed, and few passes where it makes any."""
    made = ranker()
    wanted = {"random_state": 0, "n_epochs": 2}
    return made.set_params(**{key: value for key, value in wanted.items() if key in made.get_params()})


@EACH_MAP
@EACH_RANKER
def test_a_ranker_does_not_know_that_its_rows_are_embedded(feature_map, ranker):
    X, y = table()
    model = Kernelized(feature_map, ready(ranker)).fit(X, y)
    Z = clone(feature_map).fit(X).transform(X)
    explicit = ready(ranker).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), explicit.decision_function(Z), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), explicit.predict(Z))
    assert model.score(X, y) == pytest.approx(explicit.score(Z, y))


@EACH_RANKER
def test_memory_limits_change_nothing(ranker, monkeypatch):
    X, y = table()
    expected = Kernelized(MAPS[0], ready(ranker)).fit(X, y).decision_function(X)
    monkeypatch.setattr(_sizes, "KEPT_VALUE_BYTES", 0)
    monkeypatch.setattr(_sizes, "KEPT_ROW_BYTES", 0)
    monkeypatch.setattr(_sizes, "EXACT_BYTES", 8 * 25 * 240 - 1)
    monkeypatch.setattr(_sizes, "SWEPT_ROW_BYTES", 4 * 25 * 50)
    monkeypatch.setattr(_sizes, "BLOCK_BYTES", 8 * 25 * 7)
    frozen = FrozenEstimator(clone(MAPS[0]).fit(X))
    scores = Kernelized(frozen, ready(ranker)).fit(X, y).decision_function(X)
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("ranker", [LeastSquaresAUC, SPAM, RankSVM], ids=lambda one: one.__name__)
def test_float32_is_near(ranker, monkeypatch):
    X, y = table()
    model = Kernelized(KMeansNystroem(25, gamma=0.3, random_state=0), ready(ranker))
    expected = model.fit(X, y).score(X, y)
    monkeypatch.setattr(_sizes, "EXACT_BYTES", 0)
    narrow = model.fit(X, y)
    assert narrow.feature_map_._dtype == np.float32
    assert narrow.decision_function(X).dtype == np.float64
    assert narrow.score(X, y) == pytest.approx(expected, abs=5e-3)


@EACH_MAP
@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_scale_is_no_matter_even_in_float32(feature_map, scale, monkeypatch):
    monkeypatch.setattr(_sizes, "EXACT_BYTES", 0)
    X, y = table()
    model = Kernelized(feature_map, LeastSquaresAUC())
    expected = model.fit(X, y).decision_function(X)
    scores = model.fit(scale * X, y).decision_function(scale * X)
    assert model.feature_map_._dtype == np.float32
    np.testing.assert_allclose(scores, expected, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@EACH_MAP
def test_every_verb_of_a_table(feature_map, dtype, monkeypatch):
    X, y = table()
    X, y = X.astype(dtype), y == 1
    fitted = clone(feature_map).fit(X)
    Z, rng = fitted.transform(X).astype(np.float64), np.random.default_rng(1)
    W, U, u = rng.normal(size=(Z.shape[1], 3)), rng.normal(size=(len(Z), 3)), rng.random(len(Z))
    some = rng.permutation(len(Z))[:40]
    monkeypatch.setattr(_sizes, "BLOCK_BYTES", 8 * 25 * 7)
    close = {"rtol": 1e-9, "atol": 1e-9} if dtype == np.float64 else {"rtol": 1e-3, "atol": 1e-3}
    explicit = as_table(Z)
    for kept in (0, 1 << 30):
        rows = Embedded(X, fitted, ByteLimits.usual()._replace(values=kept))
        assert rows.shape == Z.shape and rows.dtype == X.dtype
        for _ in range(2):  # the third visit keeps values, those after it meet them
            np.testing.assert_allclose(rows.matmul(W), Z @ W, **close)
            np.testing.assert_allclose(rows.matmul(W[:, 0], some), Z[some] @ W[:, 0], **close)
            np.testing.assert_allclose(rows.rmatmul(U), Z.T @ U, **close)
        assert (rows._kept_values is not None) == (kept > 0 or dtype == np.float64)
        np.testing.assert_allclose(rows.rmatmul_squares(u), (Z * Z).T @ u, **close)
        np.testing.assert_allclose(rows.take(some), Z[some], **close)
        np.testing.assert_allclose(rows.centre(), explicit.centre(), **close)
        ours, theirs = class_moments(rows, y), class_moments(Z, y)
        np.testing.assert_allclose(ours.within, theirs.within, **close)
        np.testing.assert_allclose(ours.delta, theirs.delta, **close)
        assert rows.take(some).dtype == ours.within.dtype == np.float64


@pytest.mark.parametrize("kept", [0, 1 << 30])
def test_sweeps_meet_every_step_once(kept):
    X, _ = table()
    fitted = clone(MAPS[0]).fit(X)
    rng = np.random.default_rng(2)
    first, second = rng.integers(len(X), size=(2, 500))
    limits = ByteLimits(values=0, rows=kept, exact=kept, stretch=8 * 25 * 2 * 60)
    met, Z = [], fitted.transform(X)
    for rows, (i, j), steps in Embedded(X, fitted, limits).sweep(first, second):
        np.testing.assert_allclose(rows.X[i], Z[first[steps]], atol=1e-12)
        np.testing.assert_allclose(rows.X[j], Z[second[steps]], atol=1e-12)
        met += range(500)[steps]
        assert kept or len(rows.X) <= 120
    assert met == list(range(500))


MEMORY = [LeastSquaresAUC(), LeastSquaresAUCCV(), SPAM(n_epochs=1), PSAM(n_epochs=1), RankSVM()]


@pytest.mark.parametrize("ranker", MEMORY, ids=str)
def test_no_float64_table_of_all_embedded_rows_is_ever_made(ranker):
    X, y = table(60_000)
    Kernelized(KMeansNystroem(4), ranker).fit(X[:500], y[:500])
    for feature_map in (KMeansNystroem(256, random_state=0), RandomFourier(256, random_state=0)):
        tracemalloc.start()
        model = Kernelized(feature_map, ranker).fit(X, y)
        model.decision_function(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * 60_000 * 256
        if isinstance(ranker, LeastSquaresAUC):
            assert peak < 8 * 60_000 * 256 / 4  # one pass needs no table at all


@EACH_MAP
def test_sparse_rows_are_dense_rows(feature_map):
    X, y = table()
    X *= np.random.default_rng(0).random(X.shape) < 0.7
    expected = Kernelized(feature_map, LeastSquaresAUC()).fit(X, y).decision_function(X)
    for made in (sparse.csr_matrix(X), sparse.csr_array(X)):
        scores = Kernelized(feature_map, LeastSquaresAUC()).fit(made, y).decision_function(made)
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-9)


def test_a_stream_of_fourier_features_is_one_fit():
    X, y = table()
    model = Kernelized(RandomFourier(40, gamma=0.2, random_state=3), LeastSquaresAUC())
    stream = clone(model)
    for part in np.split(np.arange(240), [1, 9, 100, 101]):
        stream.partial_fit(X[part], y[part], classes=[0, 1])
    np.testing.assert_allclose(stream.ranker_.coef_, model.fit(X, y).ranker_.coef_, rtol=1e-6, atol=1e-9)


def test_a_stream_goes_on_with_its_ranker_and_its_map():
    X, y = table()
    model = Kernelized(RandomFourier(40, gamma=0.2, random_state=3), SPAM(random_state=0))
    Z = clone(model.feature_map).fit(X).transform(X)
    explicit = SPAM(random_state=0).partial_fit(Z[:100], y[:100]).partial_fit(Z[100:], y[100:])
    model.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    np.testing.assert_allclose(model.decision_function(X), explicit.decision_function(Z), rtol=1e-9)


def counted(model):
    """How often whitening meets a weight vector: a list that grows."""
    calls, fitted = [], model.feature_map_

    class Counted(np.ndarray):
        def __matmul__(self, other):
            calls.append(other)
            return np.asarray(self) @ other

    fitted.whitening_ = fitted.whitening_.view(Counted)
    return calls


@pytest.mark.parametrize("stream", [False, True], ids=["fit", "partial_fit"])
def test_weights_are_whitened_once_and_never_stale(stream):
    X, y = table()
    model = Kernelized(MAPS[0], LeastSquaresAUC())
    for part in (slice(120), slice(240)):
        model = model.partial_fit(X[part], y[part]) if stream else model.fit(X[part], y[part])
        explicit = model.ranker_.decision_function(model.feature_map_.transform(X))
        np.testing.assert_allclose(model.decision_function(X), explicit, rtol=1e-6, atol=1e-9)
    calls = counted(model)
    model.decision_function(X[:1]), model.predict(X), model.score(X, y)
    assert not calls
    model.ranker_.merge(LeastSquaresAUC().fit(model.feature_map_.transform(X[:100]), 1 - y[:100]))
    explicit = model.ranker_.decision_function(model.feature_map_.transform(X))
    np.testing.assert_allclose(model.decision_function(X), explicit, rtol=1e-6, atol=1e-9)
    assert calls


def test_a_failed_batch_leaves_all_scores():
    X, y = table()
    model = Kernelized(MAPS[1], LeastSquaresAUC()).partial_fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="must hold only the classes"):
        model.partial_fit(X, y + 1)
    np.testing.assert_array_equal(model.decision_function(X), before)


@EACH_MAP
def test_scores_do_not_depend_on_the_company_of_a_row(feature_map):
    X, y = table()
    model = Kernelized(feature_map, LeastSquaresAUC()).fit(X, y)
    alone = np.concatenate([model.decision_function(X[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, model.decision_function(X)[:20], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("feature_map", [*MAPS, FrozenEstimator(clone(MAPS[0]).fit(table()[0]))], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_loaded_model_scores_and_goes_on_to_the_same_bits(feature_map, dtype, tmp_path):
    X, y = table()
    X = X.astype(dtype)
    model = Kernelized(feature_map, LeastSquaresAUC()).partial_fit(X[:120], y[:120])
    auclid.save(tmp_path / "model", model)
    loaded = auclid.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    for one in (model, loaded):
        one.partial_fit(X[120:], y[120:])
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("part", ["coef_", "made of", "weights"])
def test_a_loaded_model_must_fit_together(part, tmp_path):
    X, y = table()
    model = Kernelized(MAPS[0], LeastSquaresAUC()).fit(X, y)
    made_of, weights = model._weights
    if part == "coef_":
        model.ranker_.coef_ = model.ranker_.coef_[:, :5]
    else:
        model._weights = (made_of[:5], weights) if part == "made of" else (made_of, weights[:5])
    auclid.save(tmp_path / "model", model)
    with pytest.raises(ModelFileError, match=r"what its \w+ has learnt does not fit|of its \w+ must be"):
        auclid.load(tmp_path / "model")


def test_first_batch_must_hold_the_landmarks():
    X, y = table()
    model = Kernelized(KMeansNystroem(50, random_state=0), LeastSquaresAUC())
    with pytest.raises(ValueError, match=r"n_components=50 landmarks .* got 20 rows.*FrozenEstimator"):
        model.partial_fit(X[:20], y[:20])
    assert not hasattr(model, "feature_map_") and not hasattr(model, "n_features_in_")
    model.partial_fit(X[:60], y[:60]).partial_fit(X[60:80], y[60:80])
    assert len(model.feature_map_.landmarks_) == 50


def test_a_frozen_map_is_used_as_it_is():
    X, y = table()
    fitted = KMeansNystroem(20, random_state=0).fit(X)
    stream = Kernelized(FrozenEstimator(fitted), LeastSquaresAUC())
    for start in range(0, 240, 10):
        stream.partial_fit(X[start : start + 10], y[start : start + 10], classes=[0, 1])
    assert stream.feature_map_.estimator is fitted
    explicit = LeastSquaresAUC().fit(fitted.transform(X), y)
    np.testing.assert_allclose(stream.ranker_.coef_, explicit.coef_, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match=r"frozen feature_map .* knows 3, X has 2"):
        Kernelized(FrozenEstimator(fitted), LeastSquaresAUC()).fit(X[:, :2], y)


@pytest.mark.parametrize(
    "transformer",
    [
        Nystroem(n_components=20, random_state=0),
        RBFSampler(n_components=20, random_state=0),
        make_pipeline(StandardScaler(), Nystroem(n_components=20, random_state=0)),
        KBinsDiscretizer(4, encode="onehot"),
        RandomTreesEmbedding(5, max_depth=3, random_state=0),
        ColumnTransformer([("all", StandardScaler(), [0, 1, 2])]).set_output(transform="pandas"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_any_transformer_is_a_map(transformer):
    X, y = table()
    model = Kernelized(transformer, PSAM(random_state=0)).fit(X, y)
    Z = transformer.fit(X).transform(X)
    Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
    explicit = PSAM(random_state=0).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), explicit.decision_function(Z), rtol=1e-6, atol=1e-9)


def test_partial_fit_only_where_the_ranker_has_it():
    assert hasattr(Kernelized(ranker=LeastSquaresAUC()), "partial_fit") and hasattr(Kernelized(), "partial_fit")
    assert not hasattr(Kernelized(ranker=LeastSquaresAUCCV()), "partial_fit")


def test_defaults_bend_where_a_line_cannot():
    X, y = table(400)
    model = Kernelized().fit(X, y)
    assert model.score(X, y) > 0.85 > LeastSquaresAUC().fit(X, y).score(X, y) + 0.2
    assert isinstance(model.ranker_, LeastSquaresAUCCV) and isinstance(model.feature_map_, KMeansNystroem)
    one = np.flatnonzero(y)[0]
    rare = np.r_[one, np.flatnonzero(y == 0)]
    assert np.isfinite(Kernelized().fit(X[rare], y[rare]).decision_function(X)).all()
    stream = Kernelized().partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert isinstance(stream.feature_map_, RandomFourier) and stream.score(X, y) > 0.85


def test_weights_reach_the_ranker():
    X, y = table()
    weight = np.random.default_rng(0).integers(0, 3, size=240).astype(float)
    model = Kernelized(MAPS[1], LeastSquaresAUC()).fit(X, y, sample_weight=weight)
    explicit = LeastSquaresAUC().fit(model.feature_map_.transform(X), y, sample_weight=weight)
    np.testing.assert_allclose(model.ranker_.coef_, explicit.coef_, rtol=1e-6, atol=1e-9)
    with pytest.raises(TypeError, match="sample_weight"):
        Kernelized(MAPS[1], QSGS2AUC()).fit(X, y, sample_weight=weight)


def test_unlabelled_rows_are_embedded_too():
    X, y = table()
    y[100:] = -1
    marked = Kernelized(MAPS[0], SAMULT()).fit(X, y)
    Z = clone(MAPS[0]).fit(X).transform(X)
    explicit = SAMULT().fit(Z, y)
    np.testing.assert_allclose(marked.decision_function(X), explicit.decision_function(Z), rtol=1e-6, atol=1e-9)
    apart = Kernelized(MAPS[0], SAMULT()).fit(X[:100], y[:100], X_unlabeled=X[100:])
    np.testing.assert_allclose(apart.decision_function(X), marked.decision_function(X), rtol=1e-6, atol=1e-9)


def test_labels_names_and_scores_are_as_everywhere():
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame, label = pandas.DataFrame(X, columns=["a", "b", "c"]), np.array(["no", "yes"])[y]
    model = Kernelized(MAPS[0], LeastSquaresAUC()).fit(frame, label)
    assert model.classes_.tolist() == ["no", "yes"] and model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert set(model.predict(frame)) == {"no", "yes"}
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    assert model.decision_function(frame.astype(np.float32)).dtype == np.float32


def test_parameters_of_both_can_be_searched():
    X, y = table()
    search = GridSearchCV(
        Kernelized(KMeansNystroem(20, random_state=0), LeastSquaresAUC()),
        {"feature_map__gamma": [1e-4, 0.3], "ranker__alpha": [1e-4, 1e-2]},
    ).fit(X, y)
    assert search.best_params_["feature_map__gamma"] == 0.3


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Kernelized(feature_map="rbf"), "'feature_map' parameter of Kernelized"),
        (Kernelized(ranker=LogisticRegression()), "'ranker' parameter of Kernelized"),
        (Kernelized(KMeansNystroem(gamma=-1.0)), "'gamma' parameter of KMeansNystroem"),
        (Kernelized(MAPS[0], LeastSquaresAUC(alpha=-1.0)), "'alpha' parameter of LeastSquaresAUC"),
    ],
)
def test_bad_parameters_are_named_and_nothing_changes(model, said):
    X, y = table(100)
    before = set(vars(model))
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)
    assert set(vars(model)) == before


def test_a_ranker_asks_for_the_columns_it_knows():
    X, y = table()
    few, many = (Embedded(X, RandomFourier(m, random_state=0).fit(X)) for m in (10, 12))
    ranker = LeastSquaresAUC().fit(few, y)
    with pytest.raises(ValueError, match="X has 12 features, but LeastSquaresAUC is expecting 10"):
        ranker.decision_function(many)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ranker.fit(few, y[:-1])


FAMILY = [method.name for method in algorithms() if isinstance(method.build(), Kernelized)]


def test_family_is_complete():
    assert set("NBAM FBAM NASAM FASAM NPSAM NSOLAM NOAMseq NOAMgra FOAM FCBR-RS FCBR-FIFO".split()) <= set(FAMILY)


@pytest.mark.parametrize("name", FAMILY)
def test_family_by_name(name):
    X, y = table(600)
    ranker = type(make(name).ranker).__name__
    own = {"C": 0.1} if ranker in ("OAM", "CBR") else {"alpha": 1e-3}
    model = make(name, n_components=60, gamma=0.3, random_state=0, **own).fit(X, y)
    assert isinstance(model.feature_map_, KMeansNystroem if name.startswith("N") else RandomFourier)
    assert model.feature_map_.n_components == 60 and model.feature_map_.gamma_ == 0.3
    assert own.items() <= model.ranker_.get_params().items()
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("name", ["NBAM", "FBAM"])
def test_batch_by_name_is_not_fooled_by_few_noisy_rows(name):
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(2, 300, 8))
    y, y_test = (rows[:, 0] + rng.normal(size=300) > 0.5 for rows in (X, X_test))
    aucs = [make(name, random_state=0, n_components=300, **own).fit(X, y).score(X_test, y_test)
            for own in ({}, {"alpha": 1e-5})]  # fmt: skip
    assert aucs[0] > 0.8 and aucs[0] > aucs[1] + 0.02


def test_a_seed_by_name_goes_to_both():
    model = make("NPSAM", random_state=5)
    assert model.feature_map.random_state == model.ranker.random_state == 5
    with pytest.raises(TypeError, match="breadth"):
        make("NPSAM", breadth=1)


def test_scikit_learn_checks():
    check_estimator(Kernelized())


def test_landmarks_of_sparse_rows_with_long_indices():
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 20), density=0.3, rng=rng, format="csr")
    y = rng.random(300) < 0.3
    wide = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    model = Kernelized(KMeansNystroem(25, random_state=0), LeastSquaresAUC())
    short, long = (clone(model).fit(each, y).decision_function(each) for each in (X, wide))
    np.testing.assert_array_equal(long, short)
