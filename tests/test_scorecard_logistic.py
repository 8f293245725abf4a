"""From the square loss to the logistic one: its optimum against slow code, free and monotone, and when it is taken."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit
from scipy.stats import norm
from sklearn.base import clone

from auclid import LeastSquaresAUCCV, RankSVM, Scorecard, _sizes, load, save
from auclid.additive import _fit, _interactions, _logistic
from auclid.additive._basis import basis_rows
from auclid.additive._logistic import LogisticModels, newton_iterates
from auclid.additive._solve import penalised


def problem(n=800, seed=0):
    """A score that saturates: most rows are ranked well by far."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 1] = np.exp(2.0 * X[:, 1])
    score = 3.0 * X[:, 0] + np.sin(X[:, 2]) + np.log(X[:, 1]) + rng.logistic(size=n)
    X[rng.random(n) < 0.1, 2] = np.nan
    return X, score > 2.0


@pytest.fixture
def seen(monkeypatch):
    """What `logistic_weights` was given, and what it gave, in the last fit, by the number of pairs of columns."""
    found = {}

    def watch(plan, *args):
        found[len(plan.pairs)] = (plan, *args), _logistic.logistic_weights(plan, *args)
        return found[len(plan.pairs)][1]

    monkeypatch.setattr(_fit, "logistic_weights", watch)
    return found


def slow_loss(plan, rows):
    """L(w, b) and its slope, by dense rows."""
    cells, (is_pos, weight, _) = rows.cells, rows.target
    Z = basis_rows(plan.basis, np.ascontiguousarray(cells)).toarray()
    mass = np.ones(len(is_pos)) if weight is None else weight
    mass = np.where(is_pos, 0.5 * mass / mass[is_pos].sum(), 0.5 * mass / mass[~is_pos].sum())
    S, delta = plan.moments.within, plan.moments.delta
    K = 2.0 * (penalised(S, delta, plan.terms, plan.penalty) - S)
    K = 0.03 * K

    def value(v):
        z = Z @ v[:-1] + v[-1]
        return -float(mass @ np.where(is_pos, log_expit(z), log_expit(-z))) + 0.5 * float(v[:-1] @ K @ v[:-1])

    def slope(v):
        z = Z @ v[:-1] + v[-1]
        r = mass * (1.0 / (1.0 + np.exp(-z)) - is_pos)
        return np.append(Z.T @ r + K @ v[:-1], r.sum())

    return value, slope, Z


def with_offset(slope, w):
    """The weights with the offset that is best for them."""
    low, high = -50.0, 50.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(np.append(w, middle))[-1] < 0.0 else (low, middle)
    return np.append(w, low)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_weights_are_the_optimum_of_the_balanced_logistic_loss(monkeypatch, seen, weighted):
    monkeypatch.setattr(_logistic, "sure_gain", lambda gains: 1.0)  # whether it pays is not the question here
    X, y = problem()
    weight = np.random.default_rng(1).random(len(y)) if weighted else None
    model = Scorecard(interactions=1, n_knots=6, random_state=0).fit(X, y, weight)
    assert model.loss_ == "logistic"
    (plan, rows, _, _, rising), result = seen[len(model.interactions_)]
    assert not rising
    value, slope, Z = slow_loss(plan, rows)
    mine = with_offset(slope, result.w)
    best = minimize(value, np.zeros(len(mine)), jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    assert value(mine) <= best.fun + 1e-7
    assert np.abs(slope(mine)).max() < 1e-4
    assert np.abs(Z @ (mine - best.x)[:-1] + (mine - best.x)[-1]).max() < 1e-2
    scores = model.decision_function(X) - model.intercept_[0]  # the card is these weights, centred
    np.testing.assert_allclose(scores - scores[0], Z @ mine[:-1] - Z[0] @ mine[:-1], atol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_ones_rise_to_the_bit_and_are_the_constrained_optimum(seen, sign):
    X, y = problem()
    X[:, 0] *= sign
    model = Scorecard(interactions=0, n_knots=12, monotone={0: sign, 2: -sign}, random_state=0).fit(X, y)
    assert model.loss_ == "logistic"
    for column, rises in ((0, sign), (2, -sign)):
        assert (rises * np.diff(model.shapes_[column].values) >= 0.0).all()
    (plan, rows, _, _, rising), result = seen[0]
    assert len(rising) == 2
    _, slope, _ = slow_loss(plan, rows)
    found = result.w
    down = slope(with_offset(slope, found))[:-1]
    rng = np.random.default_rng(0)
    for _ in range(200):  # no way to weights that rise goes down
        v = found + rng.normal(size=len(found))
        for line in rising:
            u = np.append(rng.normal(), rng.exponential(size=len(line.place) - (line.reference < 0)))
            v[line.place] = np.delete(line.slots(u[1:]), line.reference) if line.reference >= 0 else line.slots(u)
        assert down @ (v - found) > -1e-3 * np.linalg.norm(v - found)


def test_a_weight_counts_rows(seen):
    X, y = problem(300)
    Scorecard(interactions=0, n_knots=5, random_state=0).fit(X, y)
    plan, rows, w, _, _ = seen[0][0]
    twice = np.random.default_rng(0).random(len(y)) < 0.5
    double = rows.take(np.concatenate([np.arange(len(y)), np.flatnonzero(twice)]))
    found = []
    for some, mass in ((rows, 1.0 + twice), (double, np.ones(double.target.size))):
        models = LogisticModels.of(plan, some, mass[:, None], 1.0)
        *_, (last, _) = newton_iterates(models, plan.basis, some, w[:, None], [])
        found.append(last)
    a, b = found
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_steps_end_after_two_where_held_out_rows_rank_no_better(monkeypatch):
    X, y = problem(400)
    steps, newton_step = [], _logistic._newton_step
    monkeypatch.setattr(_logistic, "_newton_step", lambda *args: steps.append(1) or newton_step(*args))
    assert Scorecard(interactions=0, n_knots=6).fit(X, y).loss_ == "logistic"
    assert len(steps) > 2
    steps.clear()
    monkeypatch.setattr(_logistic, "_held_out_aucs", lambda rows, scores: np.full(5, 0.8))
    assert Scorecard(interactions=0, n_knots=6).fit(X, y).loss_ == "square"
    assert len(steps) == 2


def test_a_loss_and_pairs_are_looked_at_only_where_something_is_left_to_gain(monkeypatch):
    looks = []
    for name in ("ranked_pairs", "_best_trial"):
        monkeypatch.setattr(_interactions, name, lambda *args, name=name: looks.append(name) or [[]])
    monkeypatch.setattr(_fit, "logistic_weights", lambda *args: looks.append("loss"))
    X, y = problem(400)
    model = Scorecard(n_knots=6).fit(X, X[:, 0] > 0.0)
    assert model.cv_auc_ > 0.9999
    assert (model.loss_, model.interactions_, looks) == ("square", [], [])
    monkeypatch.setattr(_interactions, "_best_trial", lambda *args: looks.append("trial"))
    assert Scorecard(n_knots=6).fit(X, y).cv_auc_ < 0.999
    assert looks == ["ranked_pairs", "trial", "loss"]


@pytest.mark.parametrize("seed", range(4))
def test_it_is_taken_only_where_held_out_rows_rank_better(seed):
    X, y = problem(400, seed)
    if seed % 2:  # two normal classes of one variance: the square loss is all that one can ask for
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 3)) + 0.7 * y[:, None]
    model, square = (Scorecard(ranker, random_state=0).fit(X, y) for ranker in (None, LeastSquaresAUCCV()))
    assert square.loss_ == "square"
    assert (model.alpha_, model.smooth_, model.focus_) == (square.alpha_, square.smooth_, square.focus_)
    if model.loss_ == "logistic":
        assert model.cv_auc_ > square.cv_auc_
    else:
        np.testing.assert_array_equal(model.decision_function(X), square.decision_function(X))
    assert abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.03


@pytest.mark.parametrize("seed", range(3))
def test_pairs_must_pay_beside_what_columns_alone_come_to(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 4))
    y = 2.0 * X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + rng.logistic(size=500) > 1.0
    free, plain = (Scorecard(interactions=k, n_knots=6, random_state=0).fit(X, y) for k in ("auto", 0))
    assert free.cv_auc_ >= plain.cv_auc_
    if not free.interactions_:
        np.testing.assert_array_equal(free.decision_function(X), plain.decision_function(X))


def test_where_a_step_is_dear_the_square_loss_it_is(monkeypatch):
    X, y = problem()
    assert Scorecard(interactions=0, n_knots=6, random_state=0).fit(X, y).loss_ == "logistic"
    assert Scorecard(RankSVM(1e-2), n_knots=4, interactions=0).fit(X, y).loss_ == "ranker"
    monkeypatch.setattr(_sizes, "NEWTON_STEP_WORK", 1e3)
    card = Scorecard(interactions=0, n_knots=6, random_state=0)
    model, square = (clone(card).set_params(ranker=ranker).fit(X, y) for ranker in (None, LeastSquaresAUCCV()))
    np.testing.assert_array_equal(model.decision_function(X), square.decision_function(X))
    assert model.loss_ == "square"


def test_a_card_that_learns_on_is_that_of_the_square_loss_in_the_unit_of_its_fit(tmp_path):
    """Score = a + b·score of the square loss, with the b and a that keep spread and midpoint on the rows of the fit."""
    X, y = problem()
    cards = (Scorecard(ranker, interactions=0, random_state=0) for ranker in (None, LeastSquaresAUCCV()))
    model, square = (card.fit(X[:600], y[:600]) for card in cards)
    assert model.loss_ == "logistic"
    first, start = (each.decision_function(X[:600]) for each in (model, square))

    def centre_and_spread(scores):
        classes = [scores[y[:600] == label] for label in (False, True)]
        return np.mean([each.mean() for each in classes]), np.sqrt(sum(each.var() for each in classes))

    (a, b), (_, d) = centre_and_spread(first), centre_and_spread(start)
    save(tmp_path / "card.auclid", model)
    for card in (model, load(tmp_path / "card.auclid")):
        for batch in (slice(600, 700), slice(700, 800)):
            card.partial_fit(X[batch], y[batch])
        assert card.loss_ == "square"
    np.testing.assert_array_equal(card.decision_function(X), model.decision_function(X))
    square.partial_fit(X[600:], y[600:])
    expected = b / d * square.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected + a, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), square.predict_proba(X), atol=1e-12)
    again = model.decision_function(X[:600])
    assert abs(np.median(again) - np.median(first)) < 0.2 * b and 0.8 < again.std() / first.std() < 1.25


def test_edits_of_a_card_that_learns_on_keep_their_size():
    X, y = problem()
    model = Scorecard(interactions=0, random_state=0).fit(X[:600], y[:600])
    span = np.ptp(model.shapes_[0].values)
    model.edit("x0", "set", low=0.5, high=1.0, value=span, reason="a test")
    model.partial_fit(X[600:], y[600:])
    assert np.ptp(model._unedited[1][0].values) == pytest.approx(span, rel=0.25)
    assert model.contributions([[0.75, 1.0, 0.0]])[0, 0] == pytest.approx(span, abs=1e-9)


@pytest.mark.parametrize(("n_neg", "times"), [(400, 1), (4000, 10)])
@pytest.mark.parametrize(("share", "looked"), [(0.5, True), (2.0, False)])
def test_what_is_left_to_gain_counts_negatives_for_each_positive(monkeypatch, n_neg, times, share, looked):
    rng = np.random.default_rng(0)
    y = np.arange(400 + n_neg) < 400
    X = rng.normal(size=(len(y), 2))
    X[y, 0] += 3.0
    looks = []
    monkeypatch.setattr(_fit, "logistic_weights", lambda *args: looks.append("loss"))
    left = times * (1.0 - Scorecard(n_knots=6, interactions=0).fit(X, y).cv_auc_)
    assert looks == ["loss"] and left > _sizes.MIN_LEFT_TO_GAIN
    monkeypatch.setattr(_sizes, "MIN_LEFT_TO_GAIN", share * left)
    looks.clear()
    Scorecard(n_knots=6, interactions=0).fit(X, y)
    assert bool(looks) == looked


@pytest.mark.parametrize("limit", [100_000, 3000])
@pytest.mark.parametrize("n_pos", [400, 6000])
def test_the_threshold_maximises_the_true_youden_index_of_all_rows_and_of_a_sample(monkeypatch, limit, n_pos):
    monkeypatch.setattr(_sizes, "HELD_OUT_ROWS", limit)
    rng = np.random.default_rng(n_pos)
    y = np.arange(12_000) < n_pos
    X = rng.normal(size=(12_000, 1)) + 2.0 * y[:, None]
    model = Scorecard(interactions=0, random_state=0).fit(X, y)
    x = np.linspace(-6.0, 8.0, 14_001)
    chosen = model.decision_function(x[:, None]) > 0.0
    index = (norm.pdf(x[chosen], 2.0) - norm.pdf(x[chosen])).sum() * 1e-3
    assert index == pytest.approx(norm.cdf(1.0) - norm.cdf(-1.0), abs=0.01)  # the cut at 1; each index errs by .02
