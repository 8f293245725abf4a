"""The same rows give the same model in memory, in files and on Dask: every fitted attribute, every prediction.

Iterating solvers are run to a tolerance far below the one asked for here, so that only rounding differs.
"""

import numbers
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline

import auclid
from auclid import (
    ASAM,
    CBR,
    FSAUC,
    OAM,
    OPAUC,
    PNUAUC,
    PSAM,
    SAMULT,
    SOLAM,
    SPAM,
    AdaOAM,
    AUCClassifier,
    Calibrated,
    Columns,
    FactorizationRanker,
    Kernelized,
    KMeansNystroem,
    LeastSquaresAUC,
    LeastSquaresAUCCV,
    MulticlassAUC,
    OrderedRanker,
    RandomFourier,
    RankBoost,
    RankSVM,
    Scorecard,
    SurvivalRanker,
    UniExp,
    _sizes,
)
from auclid.losses import curvature, hinges, slope, value

da = pytest.importorskip("dask.array")


class Softplus(NamedTuple):
    """log(1 + exp(-2 m)) / 2: a loss of one's own, with no closed sums."""

    rate: float = 2.0


@value.implement(Softplus)
def _(loss, m):
    return np.log1p(np.exp(-loss.rate * m)) / loss.rate


@slope.implement(Softplus)
def _(loss, m):
    return -1.0 / (1.0 + np.exp(loss.rate * m))


@curvature.implement(Softplus)
def _(loss, m):
    return loss.rate / (2.0 + np.exp(loss.rate * m) + np.exp(-loss.rate * m))


class TwoHinges(NamedTuple):
    """(1 - m)_+^2 + (2 - m)_+^2 / 4."""

    weight: float = 0.25


@hinges.implement(TwoHinges)
def _(loss):
    return ((1.0, 1.0), (loss.weight, 2.0))


STREAMS = [
    SPAM(random_state=0),
    SPAM(l1=0.01, average=False, random_state=0),
    SPAM(schedule="constant", shuffle=False),
    SPAM(variance_reduction="saga", random_state=0),
    SOLAM(random_state=0),
    SOLAM(radius=0.5, random_state=0),
    FSAUC(random_state=0),
    OPAUC(random_state=0),
    AdaOAM(delta=0.1, random_state=0),
    ASAM(random_state=0),
    ASAM(loss="logistic", random_state=0),
    PSAM(random_state=0),
    PSAM(alpha="cv", loss="squared_hinge", random_state=0),
    OAM(random_state=0),
    OAM(buffer="reservoir", random_state=0),
    CBR(random_state=0),
    UniExp(random_state=0),
    FactorizationRanker(4, random_state=0),
    FactorizationRanker("auto", n_epochs=3, random_state=0),
    Kernelized(RandomFourier(20, random_state=0), SPAM(random_state=0)),
    Kernelized(KMeansNystroem(20, random_state=0), PSAM(random_state=0)),
]
"""Methods that learn a row or a pair at a time, in a random order."""

WEIGHTED = [True, pytest.param(False, marks=pytest.mark.long)]
"""Weights are the harder case; rows without them are asked by `make test-long`."""

MODELS = [
    *STREAMS,
    RankBoost(20),
    RankBoost(20, n_neighbors=3),
    LeastSquaresAUC(),
    LeastSquaresAUC(alpha=0.1, l1=0.01, tol=1e-10),
    LeastSquaresAUC(solver="products", tol=1e-12),
    LeastSquaresAUC(solver="products", l1=0.01, tol=1e-12, max_iter=20_000),
    LeastSquaresAUCCV(),
    LeastSquaresAUCCV(cv=3, alphas=[1e-4, 1e-2, 1.0]),
    LeastSquaresAUCCV(cv=ShuffleSplit(3, random_state=0)),
    LeastSquaresAUCCV(cv=KFold(4, shuffle=True, random_state=1)),
    RankSVM(tol=1e-9),
    RankSVM(alpha=0.01, l1=0.02, tol=1e-9),
    RankSVM(alpha=0.01, loss="hinge", tol=1e-7),
    RankSVM(alpha=0.01, loss="logistic", tol=1e-9),
    RankSVM(alpha=0.01, loss=Softplus(), tol=1e-9),
    RankSVM(alpha=0.01, loss=TwoHinges(), tol=1e-9),
    RankSVM(max_fpr=0.2, tol=1e-10),
    RankSVM(alpha=0.01, min_tpr=0.3, tol=1e-10),
    RankSVM(alpha=0.01, max_fpr=0.3, min_tpr=0.2, softness=1.0, tol=1e-10),
    RankSVM(max_fpr=0.2, softness="auto", tol=1e-10),
    MulticlassAUC(),
    SAMULT(unlabeled_weight=0.3, alpha=0.01),
    PNUAUC(unlabeled_weight=0.2, alpha=0.01, prior=0.3),
    Kernelized(RandomFourier(20, random_state=0), LeastSquaresAUC(alpha=0.1)),
    Kernelized(RandomFourier(20, random_state=0), RankSVM(alpha=0.1, tol=1e-9)),
    OrderedRanker(),
    OrderedRanker(alpha=0.01, l1=0.02, tol=1e-10),
    OrderedRanker("squared_hinge", tol=1e-9),
    OrderedRanker("squared_hinge", alpha=0.01, l1=0.02, tol=1e-9),
    OrderedRanker("hinge", alpha=0.01, tol=1e-7),
    SurvivalRanker(),
    SurvivalRanker(ipcw=True, tau=4.0),
    SurvivalRanker("logistic", alpha=0.01, tol=1e-9),
    Kernelized(RandomFourier(20, random_state=0), SurvivalRanker(alpha=0.1)),
]
UNWEIGHTED = (SAMULT, PNUAUC)


def ranks_times(model):
    return isinstance(getattr(model, "ranker", model), SurvivalRanker)


def named(model):
    return str(model).replace(" ", "").replace("\n", "")


def table(model, n=400, d=4):
    rng = np.random.default_rng(0)
    classes = 3 if isinstance(model, MulticlassAUC) else 2
    y = rng.integers(classes, size=n) if classes == 3 else (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None] * (np.arange(d) < 2)
    if isinstance(model, UNWEIGHTED) or getattr(model, "n_neighbors", 0):
        y = np.where(rng.random(n) < 0.4, -1, y)
    if isinstance(model, OrderedRanker):
        y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=n), [-1.0, 0.0, 1.0])
    if ranks_times(model):
        times = np.exp(-X[:, 0] + rng.normal(size=n))
        y = np.array(list(zip(rng.random(n) < 0.6, times, strict=True)), dtype=[("event", bool), ("time", float)])
    return X, y, rng.integers(1, 4, size=n).astype(float)


def blocks(X, y, weight=None, size=97, memory=None):
    def read():
        for k in range(0, len(y), size):
            part = slice(k, k + size)
            yield (X[part], y[part]) if weight is None else (X[part], y[part], weight[part])

    return auclid.scan(read, memory=memory)


def on_dask(X, y, weight=None, size=97):
    rows = da.from_array(X, chunks=(size, X.shape[1]), asarray=False)
    label = da.from_array(y, chunks=size)
    return rows, label, None if weight is None else da.from_array(weight, chunks=size)


def published(model):
    """The fitted attributes that are numbers or arrays of numbers, also of the ranker inside."""
    found = {}
    for name, attribute in vars(model).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        if isinstance(attribute, numbers.Real | np.ndarray) and np.asarray(attribute).dtype.kind in "biuf":
            found[name] = np.asarray(attribute, dtype=float)
        if name == "ranker_":
            found |= {f"ranker_.{key}": value for key, value in published(attribute).items()}
    return found


COUNTS = {"n_iter_", "ranker_.n_iter_", "gap_", "ranker_.gap_"}
"""How a solver got there may differ: rows in parts start from another sample."""


def assert_same(model, other, X):
    mine, theirs = published(model), published(other)
    assert mine.keys() == theirs.keys()
    close = 5e-3 if getattr(model, "loss", None) == "hinge" else 2e-5  # its gap of 1e-7 leaves the weights so much
    for name in mine.keys() - COUNTS:
        np.testing.assert_allclose(theirs[name], mine[name], rtol=close, atol=0.1 * close, err_msg=name)
    np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), rtol=5 * close, atol=close)
    if is_classifier(model):
        assert (other.predict(X) == model.predict(X)).mean() >= 1.0 - 1.0 / len(X)


@pytest.mark.parametrize("model", MODELS, ids=named)
@pytest.mark.parametrize("weighted", WEIGHTED)
@pytest.mark.parametrize("where", ["files", "dask"])
def test_rows_give_the_same_model_wherever_they_are(model, weighted, where):
    X, y, weight = table(model)
    weight = weight if weighted else None
    more = {} if weight is None else {"sample_weight": weight}
    whole = clone(model).fit(X, y, **more)
    if where == "files" and ranks_times(model):  # whose two columns are given beside the files
        other = clone(model).fit(blocks(X, y["event"], weight), y)
    elif where == "files":
        other = clone(model).fit(blocks(X, y, weight))
    else:
        rows, label, mass = on_dask(X, y, weight)
        other = clone(model).fit(rows, label, **({} if mass is None else {"sample_weight": mass}))
    assert_same(whole, other, X)


@pytest.mark.parametrize("model", STREAMS, ids=named)
@pytest.mark.parametrize("weighted", [False, True])
def test_streams_have_the_bits_of_memory_where_memory_holds_the_rows(model, weighted):
    X, y, weight = table(model)
    weight = weight if weighted else None
    rows, label, mass = on_dask(X, y, weight)
    whole = clone(model).fit(X, y, sample_weight=weight).decision_function(X)
    for other in (clone(model).fit(blocks(X, y, weight)), clone(model).fit(rows, label, sample_weight=mass)):
        np.testing.assert_array_equal(other.decision_function(X), whole)


@pytest.mark.parametrize("model", [*STREAMS, RankBoost(20)], ids=named)
@pytest.mark.parametrize("kind", ["dense", pytest.param("csr", marks=pytest.mark.long)])
def test_streams_beyond_memory_have_one_order_of_parts(model, kind, monkeypatch):
    """Files and Dask cut in the same places: parts in random order, eight shuffled at a time; nearly as good."""
    monkeypatch.setattr(_sizes, "DEFAULT_MEMORY", 0)
    X, y, weight = table(model, n=1500)
    given = sparse.csr_matrix(np.where(X < -0.5, 0.0, X)) if kind == "csr" else X
    rows, label, mass = on_dask(given, y, weight)
    files = clone(model).fit(blocks(given, y, weight, memory=0))
    dask = clone(model).fit(rows, label, sample_weight=mass)
    np.testing.assert_array_equal(dask.decision_function(given), files.decision_function(given))
    whole = clone(model).fit(given, y, sample_weight=weight)
    assert files.score(given, y) > whole.score(given, y) - 0.02


@pytest.mark.parametrize(
    "feature_map", [RandomFourier(8, random_state=0), KMeansNystroem(8, random_state=0)], ids=named
)
def test_feature_maps_are_the_same_wherever_rows_are(feature_map, monkeypatch):
    X, y, _ = table(None)
    expected = clone(feature_map).fit(X).transform(X)
    for memory in (1 << 26, 0):
        monkeypatch.setattr(_sizes, "DEFAULT_MEMORY", memory)
        for other in (blocks(X, y, memory=memory), on_dask(X, y)[0]):
            np.testing.assert_allclose(clone(feature_map).fit(other).transform(X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [LeastSquaresAUC(), SPAM(), Scorecard(), AUCClassifier(), Calibrated(RankSVM())])
@pytest.mark.parametrize("kind", ["number", "text"])
def test_a_missing_label_gets_one_sentence_wherever_rows_are(model, kind):
    X, y, _ = table(None)
    y = y.astype(float) if kind == "number" else np.where(y, "yes", "no").astype(object)
    y[300] = np.nan if kind == "number" else None
    said = (
        rf"The 'y' parameter of {type(model).__name__} must have a label in each row\. Got a missing one in "
        r"(1 of 400 rows|block 3 of the function given to scan|partition 3 of y) instead\. Leave such rows out, or"
    )
    for given in ((X, y), (blocks(X, y),), on_dask(X, y)[:2]):
        with pytest.raises(ValueError, match=said):
            clone(model).fit(*given)


def test_partial_fit_takes_rows_of_files_and_dask_in_their_order():
    X, y, _ = table(None)
    expected = SPAM(random_state=0).partial_fit(X, y).coef_
    for rows, label in ((blocks(X, y), y), on_dask(X, y)[:2]):
        np.testing.assert_array_equal(SPAM(random_state=0).partial_fit(rows, label).coef_, expected)


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
@pytest.mark.parametrize("options", [{}, {"l1": 0.02}, {"alpha": 0.01}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_ordered_rows_of_two_levels_are_two_classes_wherever_they_are(loss, options, weighted):
    X, y, weight = table(LeastSquaresAUC())
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, weight) if weighted else None
    model = OrderedRanker(loss, tol=1e-9, **options)
    rows, label, mass = on_dask(X, y, weight)
    whole = clone(model).fit(X, y, sample_weight=weight)
    for other in (clone(model).fit(blocks(X, y, weight)), clone(model).fit(rows, label, sample_weight=mass)):
        assert_same(whole, other, X)


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_scores_are_the_same_wherever_rows_are(model):
    X, y, _ = table(model)
    fitted = clone(model).fit(X, y)
    scores, labels = fitted.decision_function(X), fitted.predict(X)
    files, dask = blocks(X, y["event"] if ranks_times(model) else y), on_dask(X, y)[0]
    for other in (fitted.decision_function(files), fitted.decision_function(dask).compute()):
        np.testing.assert_allclose(other, scores, rtol=1e-9, atol=1e-12)
    for other in (fitted.predict(files), fitted.predict(dask).compute()):
        np.testing.assert_allclose(other, labels, rtol=1e-9, atol=1e-12)
    if not isinstance(model, UNWEIGHTED) and not ranks_times(model):
        assert fitted.score(files) == pytest.approx(fitted.score(X, y), abs=1e-12)


# --- tables with columns of any type ---------------------------------------------------------------


TABLE_MODELS = [
    Scorecard(interactions=0),
    Scorecard(),
    Scorecard(monotone={0: 1}, interactions=0),
    Scorecard(interactions=1, n_knots=6),
    Scorecard(categories=[3], interactions=0),
    Scorecard(LeastSquaresAUC(alpha=0.01, l1=0.01, tol=1e-8, max_iter=20_000)),
    Scorecard(OrderedRanker(), interactions=1, n_knots=6),
    Columns(),
    Columns(scale="rank", categories=[3]),
    AUCClassifier(methods=["LeastSquaresAUC", "logistic"], random_state=0),
    AUCClassifier(methods=["Scorecard", "forest"], cv=3, random_state=0),
    Calibrated(make_pipeline(Columns(), LeastSquaresAUC())),
    Calibrated(Scorecard(interactions=0), cv=3),
]
NUMBERS = [Calibrated(RankSVM(alpha=0.01, tol=1e-10)), Calibrated(SPAM(random_state=0))]
TABLES = [(model, kind) for model in TABLE_MODELS for kind in ("array", "frame")]
TABLES += [(model, "numbers") for model in NUMBERS]
"""Models, and the tables that they take: an array with missing numbers, a frame of any columns, one of numbers only."""


def mixed_table(n=500, seed=0):
    """Numbers with missing ones and a heavy tail, few values, texts, categories, truths and dates."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    age, colour, known = rng.normal(size=n), rng.choice(["red", "green", "blue"], n), rng.random(n) < 0.4
    day = rng.integers(0, 900, n)
    frame = pd.DataFrame({
        "age": np.where(rng.random(n) < 0.1, np.nan, age),
        "tail": np.exp(3.0 * rng.normal(size=n)),
        "colour": np.where(rng.random(n) < 0.1, None, colour),
        "count": rng.integers(0, 5, n),
        "known": known,
        "day": pd.Timestamp("2020-02-29") + pd.to_timedelta(day, unit="D"),
        "size": pd.Categorical(rng.choice(list("SML"), n)),
        "code": rng.integers(0, 30, n).astype(str),
    })  # fmt: skip
    y = age + (colour == "red") + day / 500.0 + known + rng.normal(size=n) > 2.0
    return frame, y.astype(int), rng.integers(0, 4, size=n) + 0.5 * (rng.random(n) < 0.5)


def number_table(n=500):
    """The numbers of `mixed_table`, some missing."""
    frame, y, weight = mixed_table(n)
    return frame[["age", "tail", "known", "count"]].to_numpy(dtype=float), y, weight


def frame_parts(frame, y, weight, size=97):
    """The rows as blocks of a function, and as a dask frame with labels and weights."""
    dd = pytest.importorskip("dask.dataframe")
    cuts = [slice(k, k + size) for k in range(0, len(y), size)]

    def read():
        for cut in cuts:
            yield (frame[cut], y[cut]) if weight is None else (frame[cut], y[cut], weight[cut])

    both = frame.assign(label=y, mass=1.0 if weight is None else weight)
    lazy = dd.from_map(lambda cut: both.iloc[cut], cuts, meta=both.iloc[:0])
    return auclid.scan(read), (lazy[list(frame.columns)], lazy["label"], None if weight is None else lazy["mass"])


def fit_everywhere(model, kind, weighted):
    """The model fitted on memory, files and Dask; and the rows to score, as each has them."""
    X, y, weight = mixed_table() if kind == "frame" else number_table()
    if kind == "numbers":
        X = np.nan_to_num(X)
    weight = weight if weighted else None
    if kind == "frame":
        rows, (lazy, label, mass) = frame_parts(X, y, weight)
    else:
        rows, (lazy, label, mass) = blocks(X, y, weight), on_dask(X, y, weight)
    whole = clone(model).fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    files = clone(model).fit(rows)
    dask = clone(model).fit(lazy, label, **({} if mass is None else {"sample_weight": mass}))
    return (whole, files, dask), (X, rows, lazy)


def described(model):
    """What a fitted model publishes: numbers, names and records."""
    hidden = COUNTS | {"ranker_"}
    names = [name for name in vars(model) if name.endswith("_") and not name.startswith("_") and name not in hidden]
    found = {name: getattr(model, name) for name in names}
    if isinstance(model, AUCClassifier):
        found["leaderboard_"] = [line._replace(fit_seconds=0.0) for line in model.leaderboard_]
        found["members_"] = [(member.name, member.weight, member.middle, member.spread) for member in model.members_]
    return found


def assert_alike(mine, theirs, where):
    """Whether two values are equal, floats to rounding."""
    if isinstance(mine, dict):
        assert mine.keys() == theirs.keys(), where
        for key in mine:
            assert_alike(mine[key], theirs[key], f"{where}[{key}]")
    elif isinstance(mine, list | tuple):
        assert len(mine) == len(theirs), where
        for k, pair in enumerate(zip(mine, theirs, strict=True)):
            assert_alike(*pair, f"{where}[{k}]")
    elif isinstance(mine, np.ndarray) and mine.dtype.kind in "biuf":
        np.testing.assert_allclose(theirs, mine, rtol=1e-6, atol=1e-8, err_msg=where)
    elif isinstance(mine, np.ndarray):
        np.testing.assert_array_equal(theirs, mine, err_msg=where)
    elif isinstance(mine, float):
        assert theirs == pytest.approx(mine, rel=1e-6, abs=1e-8, nan_ok=True), where
    else:
        assert theirs == mine, where


def computed(values):
    return np.asarray(values.compute() if hasattr(values, "compute") else values)


METHODS = ["decision_function", "predict", "predict_proba", "contributions", "total_points"]


@pytest.mark.parametrize(("model", "kind"), TABLES, ids=lambda each: each if isinstance(each, str) else named(each))
@pytest.mark.parametrize("weighted", WEIGHTED)
def test_tables_give_the_same_model_wherever_they_are(model, weighted, kind):
    """Every published attribute, and every answer of every model for rows of every kind."""
    models, places = fit_everywhere(model, kind, weighted)
    whole, X = models[0], places[0]
    for other in models[1:]:
        assert_alike(described(whole), described(other), type(model).__name__)
    for name in METHODS if hasattr(whole, "decision_function") else ["transform"]:
        if hasattr(whole, name):
            answers = [computed(getattr(other, name)(rows)) for other in models for rows in places]
            expected = computed(getattr(whole, name)(X))
            for answer in answers:
                assert_alike(expected, answer, name)


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("toward", [None, 1])
def test_reasons_are_the_same_wherever_rows_are(kind, toward):
    models, places = fit_everywhere(Scorecard(interactions=1, n_knots=6), kind, False)
    expected = models[0].reasons(places[0], 3, toward=toward)
    assert len(expected) == 500 and max(map(len, expected)) == 3
    for model in models:
        for rows in places:
            assert_alike(expected, model.reasons(rows, 3, toward=toward), "reasons")


def test_points_are_the_same_wherever_rows_are():
    models, _ = fit_everywhere(Scorecard(interactions=0), "frame", False)
    expected = models[0].points()
    for model in models[1:]:
        points = model.points()
        assert points[["column", "bin", "points"]].equals(expected[["column", "bin", "points"]])
