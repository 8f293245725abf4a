"""Probabilities are calibrated: on both sides of every size that changes the path, and wherever rows are.

On fresh rows the mean probability is the base rate and the log-odds have slope 1 and intercept 0, within standard
errors; on training rows the mean is the base rate too. Probabilities rise with scores, and `predict` cuts where its
documentation says. The sizes are read from `auclid._sizes`: one without a case fails tests/test_sizes.py.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import auclid
from auclid import AUCClassifier, Calibrated, Columns, LeastSquaresAUC, RankSVM, Scorecard, _sizes
from auclid.auto._network import Networks
from auclid.trees.structs import Trees

CURVED = Scorecard(random_state=0)
SHAPES = Scorecard(n_knots=8, interactions=0, random_state=0)
SEARCH = AUCClassifier(random_state=0)
LINEAR = AUCClassifier(methods=["LeastSquaresAUC", "logistic"], random_state=0)
BOOSTED = AUCClassifier(methods=["logistic", "boosting"], random_state=0)
FOREST = AUCClassifier(methods=["logistic", "forest"], random_state=0)
BEST = AUCClassifier(quality="best", random_state=0)
NETWORK = AUCClassifier(methods=["logistic", "network"], random_state=0)
CALIBRATED = Calibrated(RankSVM(alpha=1e-2))
PIPELINE = Calibrated(make_pipeline(Columns(), LeastSquaresAUC()))


def simulated(n, rate, seed, d=4, product=0.0):
    """Rows of a logistic model whose base rate is ``rate``, and their labels; ``product``: of two more columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    eta = X[:, 0] + 0.5 * X[:, 1] + product * X[:, 2] * X[:, 3 % d]
    offset = logit(rate)
    for _ in range(50):
        offset -= np.log(expit(eta + offset).mean() / rate)
    return X, rng.random(n) < expit(eta + offset)


# --- the laws --------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Rows to score, their labels and weights."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None

    def mean(self, values):
        return np.average(values, weights=self.weight)


def rate_error(rows):
    """The standard error of the rate of positives, by the effective number of rows."""
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    rate = rows.mean(rows.y)
    return np.sqrt(rate * (1.0 - rate) * np.square(weight).sum()) / weight.sum()


def calibration_line(log_odds, rows):
    """Intercept and slope of the labels on log-odds, and the standard error of each (log-odds of mean zero)."""
    z = np.clip(log_odds, -15.0, 15.0)
    line = LogisticRegression(C=np.inf, tol=1e-8).fit(z[:, None], rows.y, sample_weight=rows.weight)
    slope, intercept = float(line.coef_[0, 0]), float(line.intercept_[0])
    p = expit(slope * z + intercept)
    mass = p * (1.0 - p) * (1.0 if rows.weight is None else rows.weight)
    centre = np.average(z, weights=mass)
    errors = 1.0 / np.sqrt(mass.sum()), 1.0 / np.sqrt((mass * np.square(z - centre)).sum())
    return intercept + (slope - 1.0) * centre, slope, errors


def assert_mean_is_the_rate(model, rows, other=None, errors=3.0):
    """The mean probability is the rate, within standard errors of these rows and of those that were learnt from."""
    error = rate_error(rows) if other is None else np.hypot(rate_error(rows), rate_error(other))
    mean, rate = rows.mean(model.predict_proba(rows.X)[:, 1]), rows.mean(rows.y)
    assert abs(mean - rate) <= errors * error, f"mean {mean:.5f}, rate {rate:.5f}, error {error:.5f}"


def assert_calibrated(model, train, fresh, learnt=None, errors=3.0):
    """All laws; ``learnt``: how many rows the sigmoid was fitted to, where not to all."""
    assert_mean_is_the_rate(model, train, errors=errors)
    assert_mean_is_the_rate(model, fresh, train, errors)
    p = model.predict_proba(fresh.X)[:, 1]
    intercept, slope, (intercept_error, slope_error) = calibration_line(logit(np.clip(p, 1e-9, 1 - 1e-9)), fresh)
    growth = np.sqrt(1.0 + len(fresh.y) / (learnt or len(train.y)))
    assert abs(slope - 1.0) <= (errors + 1.0) * growth * slope_error + 0.02, f"slope {slope:.3f}, error {slope_error}"
    assert abs(intercept) <= (errors + 1.0) * growth * intercept_error + 0.02, f"intercept {intercept:.3f}"
    assert_in_order(model, fresh.X, p)


def assert_in_order(model, X, p):
    """Probabilities rise with scores, and `predict` cuts where it says: at ``threshold_``, or else at zero."""
    scores = model.decision_function(X)
    np.testing.assert_array_equal(rankdata(p, "dense"), rankdata(scores, "dense"))
    above = scores > getattr(model, "threshold_", 0.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[above.astype(int)])
    if not isinstance(model, Scorecard):  # its zero is Youden's, not that of equal odds
        np.testing.assert_array_equal(scores > 0.0, p > 0.5)


# --- both sides of every size ----------------------------------------------------------------------


class Case(NamedTuple):
    """A model, and a value of a size that puts its table of 3,000 rows on the other side."""

    model: Any
    value: Any
    table: str = "dense"
    others: tuple = ()
    """Other sizes to be changed as well."""
    learnt: int | None = None
    """How many rows the sigmoid is fitted to, where not to all."""


SMALL_SEARCH = ("COMPARED_ROWS", 1000), ("MIN_COMPARED_CLASS_ROWS", 10)
CASES = {
    # Columns
    "COLUMN_SAMPLE": Case(PIPELINE, 500),
    "MIN_ROWS_FOR_IDENTIFIER": Case(PIPELINE, 10_000),
    "DENSE_COLUMNS": Case(PIPELINE, 1, "levels"),
    # Scorecard
    "MIN_SAMPLE_ROWS": Case(SHAPES, 1000, "files", learnt=1000),
    "MIN_CLASS_ROWS": Case(SHAPES, 40, "rare files", (("MIN_SAMPLE_ROWS", 1000),), 1000),
    "KNOT_SAMPLE": Case(CURVED, 500),
    "MAX_COEFFICIENTS": Case(CURVED, 20),
    "REFINED_COEFFICIENTS": Case(CURVED, 5),
    "ROW_FOLD_COEFFICIENTS": Case(CURVED, 5),
    "ROW_FOLD_ROWS": Case(CURVED, 0, others=(("ROW_FOLD_COEFFICIENTS", 5),)),
    "MIN_ROWS_FOR_CV": Case(CURVED, 10_000),
    "HELD_OUT_ROWS": Case(CURVED, 1000, learnt=1000),
    "JUDGE_ROWS": Case(CURVED, 500),
    "FOCUS_ROWS": Case(CURVED, 500),
    "MIN_LEFT_TO_GAIN": Case(CURVED, 1.0),
    "MIN_ROWS_FOR_PAIRS": Case(CURVED, 10_000),
    "PAIR_TRIAL_ROWS": Case(CURVED, 1000),
    "PAIR_MOMENT_ROWS": Case(CURVED, 1000),
    "MAX_PAIRED_COLUMNS": Case(CURVED, 2),
    "MAX_HISTOGRAM_CELLS": Case(CURVED, 2000),
    "NEWTON_STEP_WORK": Case(CURVED, 1.0),
    # Calibrated
    "CALIBRATION_CLASS_ROWS": Case(CALIBRATED, 300, "files", learnt=600),
    "MIN_ROWS_TO_CALIBRATE": Case(CALIBRATED, 10_000),
    # AUCClassifier
    "MIN_ROWS_TO_COMPARE": Case(LINEAR, 10_000),
    "COMPARED_ROWS": Case(SEARCH, 1000, others=SMALL_SEARCH[1:], learnt=1000),
    "MIN_COMPARED_CLASS_ROWS": Case(LINEAR, 400, others=SMALL_SEARCH[:1], learnt=1000),
    "MAX_COMPARED_FACTOR": Case(LINEAR, 1, others=(SMALL_SEARCH[0], ("MIN_COMPARED_CLASS_ROWS", 600)), learnt=1000),
    "MIN_DRAWN_ROWS": Case(LINEAR, 1000, "files", learnt=1000),
    "MAX_REPEATED_ROWS": Case(LINEAR, 10_000, "weighted"),
    "FOLD_REPEATS": Case(LINEAR, ((10_000, 3),)),
    "MIN_ROWS_HELD_OUT": Case(BOOSTED, 10_000),
    "RACE_ROWS": Case(AUCClassifier(methods=["logistic", "boosting", "kernel"], random_state=0), 300),
    "MIN_RACE_CLASS_ROWS": Case(BOOSTED, 10_000, others=(("RACE_ROWS", 300),)),
    "MAX_PATH_COLUMNS": Case(LINEAR, 1),
    "MAX_CURVED_COLUMNS": Case(SEARCH, 1),
    "MAX_SCORECARD_COLUMNS": Case(SEARCH, 1),
    "MIN_ROWS_TO_FACTOR": Case(SEARCH, 10_000, "sparse"),
    "MAX_NETWORK_COLUMNS": Case(BEST, 1),
    "MAX_SPARSE_TREE_COLUMNS": Case(SEARCH, 1, "sparse"),
    "MANY_ROWS": Case(BOOSTED, 1000),
    "MIN_ROWS_FOR_MANY_TREES": Case(BOOSTED, 10_000),
    "MIN_ROWS_FOR_LARGE_TREES": Case(BOOSTED, 10_000),
    "MIN_COLUMNS_TO_SAMPLE": Case(AUCClassifier(methods=["logistic", "slow boosting"], random_state=0), 1),
    "TREE_ROWS": Case(FOREST, 500),
    "MAX_NEWTON_COLUMNS": Case(LINEAR, 1),
    "MAX_NEWTON_ENTRIES": Case(LINEAR, 1),
}


def tables(kind, n=3000, fresh=10_000):
    """Training rows as `fit` takes them, then training and fresh rows to score."""
    rate, product = 0.01 if "rare" in kind else 0.2, 0.0 if "files" in kind else 0.7
    pairs = [simulated(size, rate, seed, product=product) for seed, size in enumerate((n, fresh))]
    if kind == "sparse":
        pairs = [(sparse.csr_matrix(X * (np.abs(X) > 0.5)), y) for X, y in pairs]
    if kind == "levels":
        pd = pytest.importorskip("pandas")
        levels = [np.digitize(X[:, 0], np.linspace(-2.0, 2.0, 12)).astype(str) for X, _ in pairs]
        pairs = [(pd.DataFrame({"level": own, "b": X[:, 1]}), y) for own, (X, y) in zip(levels, pairs, strict=True)]
    weights = [1.0 + (np.arange(len(y)) % 3) if kind == "weighted" else None for _, y in pairs]
    train, new = (Rows(*pair, weight) for pair, weight in zip(pairs, weights, strict=True))
    if "files" in kind:
        return (auclid.scan(train.X, target=train.y, memory=0),), train, new
    return (train.X, train.y, *([] if train.weight is None else [train.weight])), train, new


def overfits(model):
    """Whether members have learnt labels of their rows by heart: then only fresh rows can tell."""
    return isinstance(model, AUCClassifier) and any(isinstance(each.model, Trees | Networks) for each in model.members_)


def assert_lawful(model, train, fresh, learnt=None, errors=3.0):
    if overfits(model):
        assert_mean_is_the_rate(model, fresh, train, errors + 1.0)
        assert_in_order(model, fresh.X, model.predict_proba(fresh.X)[:, 1])
    else:
        assert_calibrated(model, train, fresh, learnt, errors)


SLOW = {str(SEARCH), str(NETWORK), str(BEST)}
"""Models of seconds a fit: `make test` fits the first of them once in each place, `make test-long` fits all."""


def slow(*values, keep=False):
    """A case, for `make test-long` where its model is slow and it is not the one that is kept."""
    models = [value for value in values if hasattr(value, "fit")]
    is_long = not keep and any(str(model) in SLOW for model in models)
    names = "-".join(str(value)[:40] for value in values)
    return pytest.param(*values, marks=pytest.mark.long if is_long else (), id=names)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if case.model is BEST else ()) for name, case in CASES.items()]
)
def test_probabilities_are_calibrated_on_the_other_side_of_every_size(name, monkeypatch):
    case = CASES[name]
    for other, value in (*case.others, (name, case.value)):
        monkeypatch.setattr(_sizes, other, value)
    given, train, fresh = tables(case.table)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "AUCClassifier must see at least")
        model = clone(case.model).fit(*given)
    assert_lawful(model, train, fresh, case.learnt)


MODELS = [CURVED, SHAPES, SEARCH, LINEAR, NETWORK, CALIBRATED, PIPELINE]


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        slow(model, kind, keep=model is SEARCH and kind == "dense")
        for model in MODELS
        for kind in ("dense", "files", "weighted", "sparse")
    ],
)
def test_probabilities_are_calibrated_on_this_side_of_every_size(model, kind):
    given, train, fresh = tables(kind)
    assert_lawful(clone(model).fit(*given), train, fresh)


def test_large_tables_are_calibrated_on_both_sides_of_their_samples():
    """The sizes as they are: held-out rows of a scorecard, and the rows that a search compares on."""
    fresh = Rows(*simulated(50_000, 0.08, 1))
    for n in (_sizes.HELD_OUT_ROWS - 10_000, _sizes.HELD_OUT_ROWS + 30_000):
        train = Rows(*simulated(n, 0.08, 0))
        assert_calibrated(clone(SHAPES).fit(*train[:2]), train, fresh, min(n, _sizes.HELD_OUT_ROWS))
    for n in (_sizes.COMPARED_ROWS - 1000, 2 * _sizes.COMPARED_ROWS):
        train = Rows(*simulated(n, 0.08, 0))
        assert_calibrated(clone(LINEAR).fit(*train[:2]), train, fresh, min(n, _sizes.COMPARED_ROWS))


# --- other tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [SHAPES, LINEAR, CALIBRATED], ids=lambda model: str(model)[:40])
@pytest.mark.parametrize("sampled", [False, True])
def test_probabilities_are_calibrated_on_dask(model, sampled, monkeypatch):
    da = pytest.importorskip("dask.array")
    if sampled:

        monkeypatch.setattr(_sizes, "DEFAULT_MEMORY", 0)
        for name in ("MIN_SAMPLE_ROWS", "MIN_DRAWN_ROWS", "CALIBRATION_CLASS_ROWS"):
            monkeypatch.setattr(_sizes, name, 500)
    _, train, fresh = tables("files")
    model = clone(model).fit(da.from_array(train.X, chunks=(700, 4)), da.from_array(train.y, chunks=700))
    assert_calibrated(model, train, fresh, 500 if sampled else None)


@pytest.mark.parametrize("model", [slow(model, keep=model is SEARCH) for model in MODELS])
@pytest.mark.parametrize("positives", [_sizes.MIN_ROWS_FOR_CV, _sizes.MIN_ROWS_FOR_PAIRS])
def test_few_positives_keep_their_rate(model, positives):
    X, y = simulated(4000, 0.5, 0)
    index = np.sort(np.concatenate([np.flatnonzero(~y)[:1500], np.flatnonzero(y)[:positives]]))
    train = Rows(X[index], y[index])
    model = clone(model).fit(*train[:2])
    if not overfits(model):
        assert_mean_is_the_rate(model, train)
    assert_in_order(model, X, model.predict_proba(X)[:, 1])


@pytest.mark.parametrize("model", [LINEAR, Calibrated(LeastSquaresAUC(alpha=0.1)), SHAPES], ids=lambda m: str(m)[:40])
@pytest.mark.parametrize("thin", [False, True])
def test_wide_tables_are_calibrated(model, thin):
    """A hundred columns of which two count, dense or sparse."""
    pairs = [simulated(n, 0.2, seed, 100) for seed, n in enumerate((2000, 20_000))]
    if thin:
        pairs = [(sparse.csr_matrix(X * (np.abs(X) > 1.0)), y) for X, y in pairs]
    train, fresh = (Rows(*pair) for pair in pairs)
    model = clone(model).fit(*train[:2])
    assert_mean_is_the_rate(model, fresh, train, 4.0)
    assert_in_order(model, fresh.X, model.predict_proba(fresh.X)[:, 1])


@pytest.mark.parametrize("model", [LINEAR, AUCClassifier(methods=["kernel", "Scorecard"], random_state=0)], ids=str)
@pytest.mark.parametrize("how", ["groups", "splitter", "repeats"])
def test_folds_that_are_given_do_not_move_probabilities(model, how):
    """Models of such folds are fitted one by one, and choose penalties of their own: scores have another scale."""
    _, train, fresh = tables("files", 900)
    more = {"groups": {"groups": np.arange(900) // 2}, "repeats": {"sample_weight": 1.0 + np.arange(900) % 2}}
    weight = more.get(how, {}).get("sample_weight")
    model = clone(model).set_params(cv=KFold(3) if how == "splitter" else 3)
    model.fit(train.X, train.y, **more.get(how, {}))
    assert_calibrated(model, train._replace(weight=weight), fresh)


@pytest.mark.parametrize("rate", [0.08, 4e-5])
def test_auc_classifier_is_calibrated_on_large_files(rate):
    """Linear members are fitted again on all rows, and of a very rare class more rows are drawn than its share."""
    X, y = simulated(400_000, rate, 0, 5)
    rows = auclid.scan(X, target=y.astype(int), memory="1MB")
    model = clone(LINEAR).fit(rows)
    mean = model.predict_proba(X)[:, 1].mean()
    assert abs(mean - y.mean()) <= 4.0 * np.sqrt(rate / len(y))


def test_threshold_of_auc_classifier_is_near_youdens_on_fresh_rows():
    X, y = simulated(20_000, 0.08, 0)
    model = AUCClassifier(methods=["LeastSquaresAUC"], random_state=0).fit(X, y)
    fresh, label = simulated(100_000, 0.08, 1)
    scores = model.decision_function(fresh)

    def youden(cut):
        return (scores[label] > cut).mean() - (scores[~label] > cut).mean()

    best = max(youden(cut) for cut in np.quantile(scores, np.linspace(0.01, 0.99, 99)))
    assert youden(model.threshold_) > best - 0.02


@pytest.mark.parametrize("factor", [1e-6, 0.01, 3.0, 1e5])
@pytest.mark.parametrize("model", [CURVED, LINEAR, CALIBRATED], ids=lambda model: str(model)[:40])
def test_only_the_ratios_of_weights_count(model, factor):
    X, y = simulated(2500, 0.3, 0)
    X[:, 2], X[:, 3] = np.exp(2.0 * X[:, 2]), np.round(2.0 * X[:, 3])
    weight = np.random.default_rng(1).exponential(size=len(y))
    one, other = (clone(model).fit(X, y, weight * scale) for scale in (1.0, factor))
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-308, 1e-310, 1e300])
def test_the_scale_of_a_column_changes_no_probability(scale):
    """Down to numbers that float64 holds with fewer digits, and slopes beyond it."""
    X, y = simulated(1500, 0.3, 0)
    scaled = X.copy()
    scaled[:, 0] *= scale
    one, other = (clone(CURVED).fit(Z, y) for Z in (X, scaled))
    np.testing.assert_allclose(other.predict_proba(scaled), one.predict_proba(X), atol=1e-5)


# --- two hundred tables ----------------------------------------------------------------------------


def random_tables(seed):
    """A table of some size, rate and width, dense or with missing numbers, and 20,000 fresh rows of its model."""
    rng = np.random.default_rng(seed)
    n, d, rate = int(10 ** rng.uniform(2.8, 4.3)), int(rng.integers(4, 12)), 10 ** rng.uniform(-1.6, -0.4)
    X, y = simulated(n + 20_000, rate, seed, d, rng.choice([0.0, 0.5]))
    X[rng.random(X.shape) < rng.choice([0.0, 0.1])] = np.nan
    return Rows(X[:n], y[:n]), Rows(X[n:], y[n:])


@pytest.mark.long
@pytest.mark.parametrize("model", [SHAPES, LINEAR, PIPELINE, SEARCH], ids=lambda model: str(model)[:40])
def test_mean_probability_is_the_rate_in_all_of_200_tables(model):
    """On training rows it is within 3 standard errors of the rate in all tables, but for blends that know them.

    On fresh rows 3 standard errors leave out 0.27 % by chance, so that 2 of 200 may lie beyond, and none beyond 4.
    """
    known, new = {}, {}
    for seed in range(200):
        rows, fresh = random_tables(seed)
        fitted = clone(model).fit(*rows[:2])
        off = [fitted.predict_proba(part.X)[:, 1].mean() - part.y.mean() for part in (rows, fresh)]
        new[seed] = abs(off[1]) / np.hypot(rate_error(rows), rate_error(fresh))
        if not overfits(fitted):
            known[seed] = abs(off[0]) / rate_error(rows)
    assert {seed: error for seed, error in known.items() if error > 3.0} == {}
    assert max(new.values()) <= 4.0 and sum(error > 3.0 for error in new.values()) <= 2, new
