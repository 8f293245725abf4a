"""Scorecards of levels, numbers, groups and censored times: moments by double loops, and the laws of cards."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score

import auclid
import reference_order as slow
from auclid import LeastSquaresAUCCV, OrderedRanker, Scorecard, SurvivalRanker, _sizes
from auclid.additive._basis import basis_rows, make_basis
from auclid.additive._columns import ColumnSpec
from auclid.additive._features import learn_features
from auclid.additive._interactions import ClassGains, OrderGains
from auclid.additive._order_moments import OrderSums
from auclid.additive._targets import CardRows, ClassTarget, OrderTarget
from auclid.metrics import concordance
from auclid.ordered._rows import Outcome
from auclid.stats.pair_order import level_order, survival_order

CASES = ("levels", "groups", "censored", "censored groups")


def rows(case="censored", n=400, seed=0):
    """X with a missing cell and a category, y as the ranker takes it, (values, event) and groups."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["kind"] = rng.choice(["u", "v", "w"], size=n)
    score = 1.5 * X["a"].abs() + X["b"] + 1.0 * (X["kind"] == "v")
    X.loc[X.index % 17 == 0, "c"] = np.nan
    groups = np.arange(n) // 10 if "groups" in case else None
    if "censored" not in case:
        y = np.digitize(score + rng.normal(size=n), [-1.0, 0.0, 1.0, 2.0])
        return X, y, (y.astype(float), None), groups
    time, end = np.round(rng.exponential(np.exp(-score)), 2), rng.exponential(1.0, size=n)
    event, time = time <= end, np.minimum(time, end)
    y = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    return X, y, (time, event), groups


def ranker(case, *args, **params):
    return (SurvivalRanker if "censored" in case else OrderedRanker)(*args, **params)


def target_of(columns, groups, weight=None):
    values, event = columns
    order = level_order(values, groups, weight) if event is None else survival_order(values, event, groups, weight)
    return OrderTarget(order, Outcome(values, event), groups, weight)


@pytest.mark.parametrize("case", CASES)
def test_moments_of_pairs_are_the_double_loop(case):
    X, _, columns, groups = rows(case, n=120)
    cells, rng = X[["a", "b", "c"]].to_numpy(), np.random.default_rng(1)
    weight = rng.integers(0, 3, len(X)).astype(float)
    specs = [ColumnSpec(name, "number", None) for name in "abc"]
    basis = make_basis(learn_features(specs, cells, None, 5, {}, rng, False), [(0, 1)])
    fold = np.where(weight > 0.0, np.arange(len(X)) % 3, -1)
    Z = basis_rows(basis, np.ascontiguousarray(cells)).toarray()
    sums = OrderSums(basis, cells, target_of(columns, groups, weight).order, weight, fold)
    for k in (-1, 1):
        used = np.flatnonzero((fold >= 0) & (fold != k))
        part = [None if each is None else each[used] for each in (*columns, groups, weight)]
        A, b, total = slow.square_system(Z[used], *part)
        found = sums.outside(k)
        np.testing.assert_allclose(found.delta, b / total, atol=1e-10)
        np.testing.assert_allclose(found.S + np.outer(found.delta, found.delta), A / total, atol=1e-10)
        np.testing.assert_allclose(found.mean, np.average(Z[used], axis=0, weights=weight[used]), atol=1e-12)


def test_gains_of_pairs_of_two_levels_are_those_of_two_classes():
    rng = np.random.default_rng(0)
    cells, is_pos, weight = rng.normal(size=(90, 2)), rng.random(90) < 0.3, rng.integers(1, 4, 90).astype(float)
    score, fold, kept = cells[:, 0] + is_pos, rng.integers(0, 3, 90), 1.0 - np.eye(4, 3)
    codes = [tuple(rng.integers(-1, 3, size=(2, 90)).astype(np.int8))]
    two = ClassGains(CardRows(cells, ClassTarget(is_pos, weight), fold), score, kept)
    ordered = OrderGains(CardRows(cells, target_of((is_pos.astype(float), None), None, weight), fold), score, kept)
    np.testing.assert_allclose(ordered(codes, (3, 3)), two(codes, (3, 3)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_residuals_are_half_the_descent_of_the_square_loss(case):
    _, _, columns, groups = rows(case, n=80)
    target, score = target_of(columns, groups), np.random.default_rng(2).normal(size=80)
    found = target.residuals(score)
    pairs = slow.pairs(*columns, groups)

    def loss(s):
        return np.mean([(1.0 - (s[i] - s[j])) ** 2 for i, j in pairs])

    z = np.array([score[i] - score[j] for i, j in pairs])
    best = z.sum() / (z @ z) * score
    for row in (0, 7, 33):
        step = np.zeros(80)
        step[row] = 1e-5
        assert found.descent[row] == pytest.approx(-0.25e5 * (loss(best + step) - loss(best - step)), abs=1e-8)
    assert found.upper.sum() == pytest.approx(1.0) and found.lower.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("case", CASES)
def test_a_card_ranks_better_than_straight_lines(case):
    X, y, columns, groups = rows(case, n=800)
    train, test = np.arange(600), np.arange(600, 800)
    part = None if groups is None else groups[train]
    card = Scorecard(ranker(case), interactions=0).fit(X.iloc[train], y[train], groups=part)
    numbers = X[["a", "b"]].to_numpy()
    line = ranker(case).fit(numbers[train], y[train], groups=part)
    more = {"groups": None if groups is None else groups[test]}
    found = card.score(X.iloc[test], y[test], **more)
    assert found > line.score(numbers[test], y[test], **more) + 0.03
    event = None if columns[1] is None else columns[1][test]
    direct = concordance(columns[0][test], card.decision_function(X.iloc[test]), event=event, **more)
    assert found == direct == card.score(X.iloc[test], y[test], groups=more["groups"])
    assert 0.5 < card.cv_auc_ < 1.0 and abs(card.cv_auc_ - found) < 0.1


def test_two_levels_have_the_optimum_of_two_classes():
    """The same knots and penalties give the same shapes: the moments of pairs are those of two classes."""
    X, y, *_ = rows("levels")
    label = (y > 1).astype(int)
    two = Scorecard(LeastSquaresAUCCV(alphas=[0.01]), n_knots=6, smooth=0.1, interactions=0).fit(X, label)
    order = Scorecard(OrderedRanker(alpha=0.01), n_knots=6, smooth=0.1, interactions=0).fit(X, label)
    for a, b in zip(two.shapes_, order.shapes_, strict=True):
        np.testing.assert_allclose(a.values, b.values, atol=1e-9)


def test_shapes_are_those_of_hazards():
    """Scores times the slope of the odds are log hazards, where hazards are proportional."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(4000, 2))
    hazard = X[:, 0] ** 2 - X[:, 1]
    time, end = rng.exponential(np.exp(-hazard)), rng.exponential(1.0, size=4000)
    y = np.array(list(zip(time <= end, np.minimum(time, end), strict=True)), dtype=[("event", bool), ("time", float)])
    card = Scorecard(SurvivalRanker(), interactions=0).fit(X, y)
    log_hazard = card._odds.slope * card.decision_function(X)
    slope = np.polyfit(hazard, log_hazard, 1)[0]
    assert 0.75 < slope < 1.25 and np.corrcoef(hazard, log_hazard)[0, 1] > 0.97
    doubled = card.points(100, odds=1.0).attrs["auc_lost"]
    assert doubled < 0.01
    np.testing.assert_allclose(
        card.total_points(X[:50], 100, max_bins=None, whole=False),
        600.0 + 100.0 / np.log(2.0) * log_hazard[:50],
        atol=1e-6,
    )


def test_monotone_shapes():
    X, y, *_ = rows("censored")
    card = Scorecard(SurvivalRanker(), monotone={"a": -1, "b": 1}).fit(X, y)
    a, b = card.shapes_[0], card.shapes_[1]
    assert (np.diff(a.values) <= 0.0).all() and (np.diff(b.values) >= 0.0).all() and np.ptp(b.values) > 0.0
    with pytest.raises(ValueError, match="monotone"):
        Scorecard(SurvivalRanker("hinge"), monotone={"a": 1}).fit(X, y)


def test_pairs_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = np.round(2.0 * X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=1500), 1)
    card = Scorecard(OrderedRanker(), interactions=3).fit(X[:1000], y[:1000])
    assert card.interactions_[0] == ("x0", "x1")
    alone = Scorecard(OrderedRanker(), interactions=0).fit(X[:1000], y[:1000])
    assert card.score(X[1000:], y[1000:]) > alone.score(X[1000:], y[1000:]) + 0.05


@pytest.mark.parametrize("case", ["levels", "censored"])
def test_points_reasons_and_page(case):
    X, y, columns, _ = rows(case)
    card = Scorecard(ranker(case), interactions=0).fit(X, y)
    table = card.points()
    assert table["column"].iloc[0] == "(base)" and table["points"].iloc[0] == pytest.approx(600, abs=60)
    of_b = table[table["column"] == "b"]
    assert of_b["rows"].sum() == len(X) and (np.diff(of_b["points"]) >= 0.0).mean() > 0.8
    if case == "censored":
        assert of_b["positives"].sum() == columns[1].sum()
    points = card.total_points(X)
    assert np.corrcoef(points, card.predict(X))[0, 1] > 0.99
    assert abs(card.auc_lost(X, y)) < 0.02
    for row in card.reasons(X.head(), toward="higher"):
        assert all(reason.contribution > 0.0 for reason in row)
    with pytest.raises(ValueError, match=r"one of \['lower', 'higher'\]"):
        card.reasons(X.head(), toward=1)
    page = card.to_html()
    assert "mean score" in page and "Cross-validated concordance" in page
    assert card.edit("b", "remove", X=X, y=y).edits_[-1]["effect"]["difference"] < 0.0


def test_it_is_no_classifier():
    X, y, *_ = rows("censored")
    card = Scorecard(SurvivalRanker(), interactions=0)
    assert not is_classifier(card) and is_classifier(Scorecard())
    assert not hasattr(card, "predict_proba") and not hasattr(card, "partial_fit") and hasattr(Scorecard(), "merge")
    assert cross_val_score(card, X, y, cv=3).min() > 0.55
    np.testing.assert_array_equal(card.fit(X, y).predict(X), card.decision_function(X))
    assert not hasattr(card, "classes_")


@pytest.mark.parametrize("case", CASES)
def test_files_and_saved_models(case, tmp_path):
    X, y, _, groups = rows(case)
    card = Scorecard(ranker(case), interactions=2, n_knots=6).fit(X, y, groups=groups)
    X.to_csv(tmp_path / "rows.csv", index=False)
    other = clone(card).fit(auclid.scan(tmp_path / "rows.csv"), y, groups=groups)
    np.testing.assert_allclose(other.decision_function(X), card.decision_function(X), atol=1e-8)
    auclid.save(tmp_path / "card.auclid", card)
    np.testing.assert_array_equal(auclid.load(tmp_path / "card.auclid").predict(X), card.predict(X))


@pytest.mark.parametrize("case", CASES)
def test_many_rows_are_sampled_and_all_give_the_values(case, monkeypatch):
    X, y, _, groups = rows(case, n=1200)
    monkeypatch.setattr(_sizes, "ORDERED_CARD_ROWS", 700)
    card = Scorecard(ranker(case, alpha=0.01), n_knots=5, smooth=0.1, interactions=0).fit(X, y, groups=groups)
    given = Scorecard(
        ranker(case, alpha=0.01), n_knots={name: knots for name, knots in card.knots_.items() if name != "kind"},
        smooth=0.1, interactions=0,
    )  # fmt: skip
    monkeypatch.setattr(_sizes, "ORDERED_CARD_ROWS", 10_000)
    whole = given.fit(X, y, groups=groups)
    np.testing.assert_allclose(card.decision_function(X), whole.decision_function(X), atol=1e-8)
    assert card.points()["rows"].sum() == pytest.approx(4 * 1200, rel=0.01)


def test_many_levels_are_joined(monkeypatch):
    X, _, *_ = rows("levels", n=600)
    y = X["a"].abs() + 0.3 * X["b"]
    exact = Scorecard(OrderedRanker(), interactions=0, n_knots=6).fit(X, y)
    monkeypatch.setattr(_sizes, "MAX_ORDER_LEVELS", 50)
    joined = Scorecard(OrderedRanker(), interactions=0, n_knots=6).fit(X, y)
    assert joined.score(X, y) == pytest.approx(exact.score(X, y), abs=0.005)


@pytest.mark.parametrize("case", ["levels", "censored"])
def test_weights_are_repeats(case):
    X, y, *_ = rows(case, n=150)
    times = np.arange(150) % 3
    options = {"n_knots": {"a": [-1.0, 0.0, 1.0], "b": [-1.0, 0.0, 1.0], "c": [-1.0, 0.0, 1.0]}, "smooth": 0.1}
    model = Scorecard(ranker(case, alpha=0.1), interactions=0, **options)
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(X.loc[np.repeat(X.index, times)], np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-8)


def test_other_losses_and_l1():
    X, y, *_ = rows("censored")
    hinge = Scorecard(SurvivalRanker("squared_hinge", 0.01), interactions=0).fit(X, y)
    assert hinge.loss_ == "ranker" and hinge.score(X, y) > 0.7
    sparse = Scorecard(SurvivalRanker(l1=0.2), interactions=0).fit(X, y)
    zero = [shape.name for shape in sparse.shapes_ if not np.any(shape.values)]
    assert "c" in zero and "b" not in zero


def test_groups_need_an_order():
    X, y, *_ = rows("levels")
    with pytest.raises(ValueError, match=r"Scorecard\(OrderedRanker\(\)\)"):
        Scorecard().fit(X, y > 1, groups=np.arange(len(y)))
