"""Probabilities are calibrated: their mean is the base rate, on both sides of every size that changes the path."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import auclid
from auclid import AUCClassifier, Calibrated, RankSVM, Scorecard
from auclid._sizes import COMPARED_ROWS as SEARCHED
from auclid._sizes import HELD_OUT_ROWS as HELD_OUT


def simulated(n, rate, seed, d=3):
    """Rows of a logistic model whose base rate is ``rate``, and their probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    eta, offset = X[:, 0] + 0.5 * X[:, 1], np.log(rate / (1.0 - rate))
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-(eta + offset)))
        offset -= np.log(p.mean() / rate)
    return X, rng.random(n) < p


def assert_calibrated(model, X, y, fresh=None, errors=3.0):
    """Mean probability within so many standard errors of the rate, on these rows and on fresh ones."""
    n, rate = len(y), y.mean()
    error = np.sqrt(rate * (1.0 - rate) / n)
    assert abs(model.predict_proba(X)[:, 1].mean() - rate) <= errors * error
    if fresh is not None:
        other = fresh[1].mean()
        both = np.hypot(error, np.sqrt(other * (1.0 - other) / len(fresh[1])))
        assert abs(model.predict_proba(fresh[0])[:, 1].mean() - other) <= errors * both


@pytest.mark.parametrize("n", [2_000, SEARCHED - 1_000, 2 * SEARCHED])
@pytest.mark.parametrize("method", ["LeastSquaresAUC", "RankSVM", "logistic", "kernel", "Scorecard", "SPAM", "forest"])
def test_auc_classifier_is_calibrated_on_average(method, n):
    """Whatever the member, with all rows compared and with a sample of them."""
    X, y = simulated(n, 0.08, 0)
    model, fresh = AUCClassifier(methods=[method], random_state=0).fit(X, y), simulated(50_000, 0.08, 1)
    if method == "forest":  # it has seen the labels of its own rows: only fresh ones can tell
        X, y = simulated(n, 0.08, 2)
    assert_calibrated(model, X, y, fresh, errors=4.0 if method == "forest" else 3.0)


@pytest.mark.parametrize(("n", "d", "rate"), [(20_000, 3, 0.08), (60_000, 5, 0.0037), (2_000, 3, 0.3)])
def test_auc_classifier_with_defaults_is_calibrated(n, d, rate):
    """The blend's mean probability is the base rate, and its log-odds have slope 1 and offset 0 on fresh rows."""
    X, y = simulated(n, rate, 0, d)
    fresh = simulated(200_000, rate, 1, d)
    model = AUCClassifier(random_state=0).fit(X, y)
    assert_calibrated(model, X, y, fresh)
    line = LogisticRegression(C=np.inf).fit(model.decision_function(fresh[0])[:, None], fresh[1])
    compared = y.sum() * min(1.0, SEARCHED / n)  # the sigmoid is fitted to the rows that models are compared on
    assert abs(line.coef_[0, 0] - 1.0) < 4.0 / np.sqrt(compared)


def test_threshold_of_auc_classifier_is_near_youdens_on_fresh_rows():
    X, y = simulated(20_000, 0.08, 0)
    model = AUCClassifier(methods=["LeastSquaresAUC"], random_state=0).fit(X, y)
    fresh, label = simulated(100_000, 0.08, 1)
    scores = model.decision_function(fresh)

    def youden(cut):
        return (scores[label] > cut).mean() - (scores[~label] > cut).mean()

    best = max(youden(cut) for cut in np.quantile(scores, np.linspace(0.01, 0.99, 99)))
    assert youden(model.threshold_) > best - 0.02


@pytest.mark.parametrize("n", [HELD_OUT - 10_000, HELD_OUT + 10_000, 2 * HELD_OUT])
def test_scorecard_is_calibrated_on_both_sides_of_its_sample(n):
    """Above HELD_OUT rows the sigmoid is fitted to a sample with more positives, which must be weighted back."""
    X, y = simulated(n, 0.08, 0)
    model = Scorecard(n_knots=8, interactions=0).fit(X, y)
    assert_calibrated(model, X, y, simulated(50_000, 0.08, 1))


def test_scorecard_is_calibrated_where_rows_have_weights():
    X, y = simulated(HELD_OUT + 20_000, 0.08, 0)
    weight = np.where(y, 0.5, 1.0)
    model = Scorecard(n_knots=8, interactions=0).fit(X, y, sample_weight=weight)
    mean = np.average(model.predict_proba(X)[:, 1], weights=weight)
    assert mean == pytest.approx(np.average(y, weights=weight), rel=0.02)


def test_calibrated_is_calibrated():
    X, y = simulated(20_000, 0.08, 0)
    assert_calibrated(Calibrated(RankSVM()).fit(X, y), X, y, simulated(50_000, 0.08, 1))


@pytest.mark.parametrize("rate", [0.08, 4e-5])
def test_auc_classifier_is_calibrated_on_files(rate):
    """Linear members are fitted again on all rows, and of a very rare class more rows are drawn than its share."""
    X, y = simulated(400_000, rate, 0, 5)
    rows = auclid.scan(X, target=y.astype(int), memory="1MB")
    model = AUCClassifier(methods=["LeastSquaresAUC", "logistic"], random_state=0).fit(rows)
    mean = model.predict_proba(X)[:, 1].mean()
    assert abs(mean - y.mean()) <= 4.0 * np.sqrt(rate / len(y))
