"""Comparisons and monitoring of rankers of ordered rows."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge

from auclid import OrderedRanker, SurvivalRanker, compare, compare_ordered
from auclid.metrics import compare_concordance, concordance, concordance_interval
from auclid.monitoring import monitor, profile


def rows(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.digitize(X[:, 0] + rng.normal(size=n), [-1, 0, 1]), np.arange(n) // 6


def times(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    time, end = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, size=n)
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= end, np.minimum(time, end)
    return X, y


MODELS = {"ranker": OrderedRanker(alpha=0.1), "ridge": Ridge()}


def test_folds_are_fitted_and_measured_within_groups():
    X, y, groups = rows()
    found = compare_ordered(MODELS, X, y, groups=groups, cv=3, repeats=2)
    assert found.how == "2 repeats of 3 folds" and len(found.splits) == 6
    by_hand = []
    for train, test in found.splits:
        assert not set(groups[train]) & set(groups[test])  # whole groups are held out
        model = clone(MODELS["ranker"]).fit(X[train], y[train], groups=groups[train])
        one = concordance_interval(y[test], model.predict(X[test]), groups=groups[test], clusters=groups[test])
        by_hand.append((one.concordance, one.se))
    (ranker,) = [model for model in found.models if model.name == "ranker"]
    np.testing.assert_allclose(ranker.folds, [value for value, _ in by_hand], rtol=1e-12)
    assert ranker.auc == pytest.approx(np.mean([value for value, _ in by_hand]))
    se = np.sqrt(np.mean([se**2 for _, se in by_hand]) * 2 / 6)  # each row is held out twice
    assert ranker.high - ranker.low == pytest.approx(2 * 1.96 * se, rel=0.15)
    assert np.isnan(ranker.ap) and ranker.ap_gap is None


class Column(BaseEstimator):
    """Scores that are a column: nothing is learnt, so the true concordance is that of the population."""

    def __init__(self, number=0):
        self.number = number

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, self.number]


def drawn(kind, rng, n=200):
    """Two columns that are equally good, and what they rank: levels, levels within groups, or censored times."""
    truth = rng.normal(size=n)
    groups = np.arange(n) // 5 if kind == "groups" else None
    if groups is not None:
        truth += rng.normal(size=n // 5)[groups]
    X = truth[:, None] + rng.normal(size=(n, 2))
    if kind == "times":
        end = 1.0 + 1.5 * rng.normal(size=n)
        y = np.empty(n, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = -truth <= end, np.exp(np.minimum(-truth, end))
        return X, y, None
    return X, np.digitize(truth + 0.5 * rng.normal(size=n), [-1.0, 0.0, 1.0]), groups


def true_concordance(kind):
    X, y, groups = drawn(kind, np.random.default_rng(1), 200_000)
    if kind == "times":
        return concordance(y["time"], X[:, 0], event=y["event"])
    return concordance(y, X[:, 0], groups=groups)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["levels", "groups", "times"])
@pytest.mark.parametrize("repeats", [1, 3])
def test_intervals_over_repeated_folds_cover_and_tests_keep_their_level(kind, repeats):
    rng, true, covered, rejected, times = np.random.default_rng(2), true_concordance(kind), 0, 0, 400
    for seed in range(times):
        X, y, groups = drawn(kind, rng)
        models = {"a": Column(0), "b": Column(1)}
        found = compare_ordered(models, X, y, groups=groups, cv=5, repeats=repeats, baseline="b", random_state=seed)
        (a,) = [model for model in found.models if model.name == "a"]
        covered += a.low <= true <= a.high
        rejected += found.pairs[0].pvalue < 0.05
    assert 0.93 <= covered / times <= 0.98, covered / times
    assert rejected / times <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / times), rejected / times


def test_one_split_has_the_paired_test_of_its_rows():
    X, y = times()
    models = {"a": SurvivalRanker(alpha=0.1), "b": SurvivalRanker(alpha=100.0, loss="logistic")}
    found = compare_ordered(models, X, y, test_size=0.4, baseline="b")
    at, scores = found.rows, {model.name: model.scores for model in found.models}
    expected = compare_concordance(y["time"][at], scores["a"], scores["b"], event=y["event"][at])
    (gap,) = found.pairs
    assert (gap.a, gap.b) == ("a", "b")
    assert (gap.difference, gap.pvalue) == pytest.approx((expected.difference, expected.pvalue))
    (a,) = [model for model in found.models if model.name == "a"]
    assert a.auc == pytest.approx(concordance(y["time"][at], a.scores, event=y["event"][at]))


def test_few_groups_are_split_by_rows():
    X, y, _ = rows()
    strata = np.arange(len(y)) % 2
    found = compare_ordered(MODELS, X, y, groups=strata, cv=4, repeats=1)
    assert all(set(strata[test]) == {0, 1} for _, test in found.splits)


@pytest.mark.parametrize(
    ("y", "groups", "sentence"),
    [
        (np.ones(240), None, "two levels or more"),
        (np.arange(240) // 6, np.arange(240) // 6, "two levels or more within a group"),
        (np.r_[np.zeros(238), 1, 1], None, "rows or more above and below its median"),
        (np.arange(7), None, "240 rows in X, 7 in y"),
    ],
)
def test_rows_that_cannot_be_compared_are_refused(y, groups, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare_ordered(MODELS, rows()[0], y, groups=groups)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [({"budget": -1.0}, "budget"), ({"level": 95}, "level"), ({"correction": "none of it"}, "correction")],
)
def test_parameters_are_checked_as_those_of_compare(wrong, sentence):
    X, y, _ = rows()
    for function, target in ((compare_ordered, y), (compare, y > np.median(y))):
        with pytest.raises(ValueError, match=f"The '{sentence}' parameter of {function.__name__} must"):
            function(MODELS, X, target, **wrong)


def test_any_random_state_draws_the_folds():
    X, y, _ = rows()
    first, again = (compare_ordered(MODELS, X, y, cv=2, repeats=1, random_state=np.random.default_rng(3)) for _ in "ab")
    assert [m.auc for m in first.models] == [m.auc for m in again.models]


def test_a_failure_is_kept():
    X, y, _ = rows()
    found = compare_ordered({**MODELS, "bad": OrderedRanker(alpha=-1.0)}, X, y, test_size=0.3, error="keep")
    assert [model.name for model in found.models if model.trouble] == ["bad"]


def test_censored_times_are_sent_to_their_ranker():
    X, y = times()
    with pytest.raises(ValueError, match="ranked by SurvivalRanker"):
        OrderedRanker().fit(X, y)
    with pytest.raises(ValueError, match="compare_ordered"):
        compare({"a": SurvivalRanker()}, X, y)


def test_monitor_finds_a_fall_of_the_concordance():
    X, y = times(3000)
    model, week = SurvivalRanker(alpha=0.1).fit(X[:1000], y[:1000]), np.arange(2000) // 200
    before = profile(model, X[:1000], y[:1000], held_out=True)
    at = concordance_interval(y["time"][:1000], model.predict(X[:1000]), event=y["event"][:1000])
    assert (before.auc, before.auc_se) == pytest.approx((at.concordance, at.se))
    assert monitor(model, X[1000:], y[1000:], reference=before, time=week).alarms == []
    late = y[1000:].copy()
    late[1000:] = late[1000:][::-1]
    report = monitor(model, X[1000:], late, reference=before, time=week)
    assert report.measure == "concordance" and report.alarms[0].startswith("The concordance has fallen below")
    fifth = slice(1000, 1200)
    one = concordance(late["time"][fifth], model.predict(X[1000:][fifth]), event=late["event"][fifth])
    assert report.periods[5].auc[0] == pytest.approx(one)


def test_monitor_compares_within_groups_and_waits_for_levels():
    X, y, groups = rows(1200)
    y = y.astype(float)
    y[::5] = np.nan
    model = OrderedRanker(alpha=0.1).fit(X, np.nan_to_num(y), groups=groups)
    report = monitor(model, X, y, reference=profile(model, X), groups=groups)
    known = ~np.isnan(y)
    expected = concordance(y[known], model.predict(X[known]), groups=groups[known])
    assert report.periods[0].auc[0] == pytest.approx(expected) and report.periods[0].labelled == known.sum()
    assert monitor(model, X, reference=profile(model, X)).chart is None
