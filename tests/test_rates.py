"""Points of the curve, lists and tables, several models, several classes, groups, folds and the size of a study."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit
from scipy.stats import binomtest, false_discovery_control, ks_2samp, multivariate_normal, norm, t
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import fbeta_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import reference_metrics as reference
from auclid import LeastSquaresAUC
from auclid.metrics import (
    auc_by_group,
    auc_interval,
    auc_power,
    auc_test,
    compare_auc,
    compare_auc_unpaired,
    compare_cross_val_auc,
    compare_many,
    cross_val_auc,
    gini,
    ks,
    lift_table,
    multiclass_auc,
    operating_point,
    operating_point_interval,
    partial_auc,
    partial_auc_scorer,
    precision_at_k,
    rates_at,
    roc_auc,
    sample_size,
)
from auclid.metrics._compare import corrected
from auclid.metrics._points import Aim, _best
from auclid.metrics._power import _both, _variance_of_difference, normal_variance
from auclid.metrics._scorer import scores_of


def rows(n=60, share=0.4, digits=1, seed=0, rises=1.0):
    rng = np.random.default_rng(seed)
    is_pos = rng.random(n) < share
    is_pos[:4] = True, True, False, False
    return is_pos, np.round(rng.normal(size=n) + rises * is_pos, digits)


@st.composite
def tables(draw, low=1):
    score = st.integers(-4, 4).map(float)
    pos, neg = (draw(st.lists(score, min_size=low, max_size=9)) for _ in range(2))
    return np.arange(len(pos) + len(neg)) < len(pos), np.array(pos + neg)


# rates_at

METHODS = "wilson", "bootstrap"


@given(tables(), st.sampled_from(["fpr", "tpr", "alerts"]), st.floats(0.05, 1.0))
@settings(max_examples=150, deadline=None)
def test_the_point_is_the_one_of_a_search_over_all_sets(table, wish, value):
    is_pos, score = table
    value = max(1, int(value * len(score))) if wish == "alerts" else round(value, 3)
    got = rates_at(is_pos, score, **{wish: value})
    flagged = reference.point(is_pos, score, wish, value)
    np.testing.assert_array_equal(score > got.threshold, flagged)
    assert (got.tpr, got.fpr) == (flagged[is_pos].mean(), flagged[~is_pos].mean())
    assert got.precision == pytest.approx(is_pos[flagged].mean() if flagged.any() else 0.0)
    assert got.tpr_low <= got.tpr <= got.tpr_high and got.fpr_low <= got.fpr <= got.fpr_high


def test_infinite_scores_have_no_threshold_between_them():
    with pytest.raises(ValueError, match=r"'y_score' parameter of rates_at must hold finite numbers. Got an infinity"):
        rates_at([0, 1, 0, 1], [np.inf, 1.0, 0.0, 2.0], fpr=0.1)


def test_intervals_of_rates_are_wilsons():
    is_pos, score = rows(200)
    got = rates_at(is_pos, score, threshold=0.7, level=0.9)
    for rate, low, high, of in ((*got[1:4], is_pos), (*got[4:7], ~is_pos)):
        k = int((score[of] > 0.7).sum())
        want = binomtest(k, int(of.sum())).proportion_ci(0.9, method="wilson")
        assert (rate, low, high) == pytest.approx((k / of.sum(), want.low, want.high), abs=1e-12)


def test_groups_widen_an_interval_that_correlated_rows_make_too_short():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(100), 8)
    is_pos = rng.random(800) < 0.4
    score = rng.normal(size=100)[group] + 0.3 * rng.normal(size=800) + is_pos
    plain, grouped = (rates_at(is_pos, score, threshold=1.0, groups=g) for g in (None, group))
    assert grouped.tpr == plain.tpr and grouped.tpr_high - grouped.tpr_low > 1.5 * (plain.tpr_high - plain.tpr_low)
    alone = rates_at(is_pos, score, threshold=1.0, groups=np.arange(800))
    assert alone == pytest.approx(plain, abs=1e-3)


def test_a_rate_without_a_mistake_keeps_an_interval_in_groups():
    y, s = np.arange(40) >= 20, np.arange(40.0)
    got = rates_at(y, s, threshold=19.5, groups=np.arange(40) // 4)
    assert got.tpr == 1.0 and got.tpr_low < 0.7 and got.fpr == 0.0 and got.fpr_high > 0.3
    assert rates_at(y, s, threshold=99.0).precision == 0.0


def test_weights_of_rates_count_like_repeated_rows():
    is_pos, score = rows()
    weight = np.random.default_rng(1).integers(1, 4, len(score))
    for wish in ({"fpr": 0.2}, {"tpr": 0.7}, {"threshold": 0.4}):
        got = rates_at(is_pos, score, sample_weight=weight, **wish)
        want = rates_at(np.repeat(is_pos, weight), np.repeat(score, weight), **wish)
        assert (got[0], got[1], got[4], got[7]) == pytest.approx((want[0], want[1], want[4], want[7]))
        assert got.tpr_high - got.tpr_low > want.tpr_high - want.tpr_low  # fewer independent rows


def test_one_weighted_row_has_the_interval_of_one_row():
    y, s = [0, 0, 0, 1], [1, 2, 3, 4]
    got = rates_at(y, s, threshold=3.5, sample_weight=[1, 2, 1, 5])
    assert got[1:4] == pytest.approx(rates_at(y, s, threshold=3.5)[1:4])


def test_draws_that_are_all_alike_do_not_make_a_rate_sure():
    is_pos = np.arange(40) < 15
    plain, drawn = (rates_at(is_pos, is_pos * 1.0, fpr=0.1, method=how, n_bootstrap=100) for how in METHODS)
    assert drawn == plain and drawn.tpr_low < drawn.tpr == 1.0


def test_the_bootstrap_finds_the_point_anew():
    is_pos, score = rows(400, digits=6)
    found = rates_at(is_pos, score, fpr=0.1)
    drawn = rates_at(is_pos, score, fpr=0.1, method="bootstrap", n_bootstrap=300, random_state=0)
    assert (drawn.threshold, drawn.tpr, drawn.precision) == (found.threshold, found.tpr, found.precision)
    assert drawn.tpr_low < drawn.tpr < drawn.tpr_high and drawn.fpr_high <= 0.1 + 1e-12
    assert drawn.tpr_high - drawn.tpr_low > found.tpr_high - found.tpr_low
    fixed = rates_at(is_pos, score, threshold=0.5, method="bootstrap", n_bootstrap=500, random_state=0)
    assert fixed[2:4] == pytest.approx(rates_at(is_pos, score, threshold=0.5)[2:4], abs=0.02)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({}, "exactly one of fpr, tpr, specificity, threshold and alerts. Got none instead"),
        ({"fpr": 0.1, "alerts": 3}, "Got fpr, alerts instead"),
        ({"fpr": 1.1}, r"'fpr' parameter of rates_at must be a float in \[0.0, 1.0\]"),
        ({"tpr": 0.0}, r"'tpr' parameter of rates_at must be a float in \(0.0, 1.0\]"),
        ({"alerts": 61}, r"'alerts' parameter of rates_at must be an int in \[1, 60\]"),
        ({"alerts": 2.5}, "must be an int"),
        ({"threshold": np.inf}, "must be a float"),
    ],
)
def test_wishes_that_make_no_sense(wish, words):
    with pytest.raises(ValueError, match=words):
        rates_at(*rows(), **wish)


# operating_point


@given(tables(), st.sampled_from(["fscore", "corner", "cost"]), st.sampled_from([0.5, 1.0, 3.0]))
@settings(max_examples=120, deadline=None)
def test_criteria_are_best_over_all_sets(table, criterion, number):
    is_pos, score = table
    prevalence = number / 4.0
    got = operating_point(is_pos, score, criterion=criterion, beta=number, cost_ratio=number, prevalence=prevalence)

    def worth(flagged):
        tpr, fpr = flagged[is_pos].mean(), flagged[~is_pos].mean()
        if criterion == "fscore":
            return fbeta_score(is_pos, flagged, beta=number, zero_division=0.0)
        if criterion == "corner":
            return -np.hypot(1.0 - tpr, fpr)
        return -(prevalence * (1.0 - tpr) + number * (1.0 - prevalence) * fpr)

    flagged = score > got.threshold
    assert (got.tpr, got.fpr) == (flagged[is_pos].mean(), flagged[~is_pos].mean())
    assert worth(flagged) >= max(worth(other) for other in reference.predicted_sets(score)) - 1e-12


def test_cost_at_the_samples_own_prevalence_is_accuracy():
    is_pos, score = rows(100)
    for ratio in (0.2, 1.0, 4.0):
        want = operating_point(is_pos, score, criterion="accuracy", cost_ratio=ratio)
        assert operating_point(is_pos, score, criterion="cost", cost_ratio=ratio) == want
        given_share = operating_point(
            is_pos, score, criterion="cost", cost_ratio=ratio, prevalence=float(is_pos.mean())
        )
        assert given_share == pytest.approx(want)


@pytest.mark.parametrize("criterion", ["youden", "accuracy", "cost", "fscore", "corner"])
def test_points_of_weights_and_of_repeated_rows_are_one(criterion):
    is_pos, score = rows(80)
    weight = np.random.default_rng(2).integers(0, 4, 80)
    got = operating_point(is_pos, score, criterion=criterion, sample_weight=weight)
    want = operating_point(np.repeat(is_pos, weight), np.repeat(score, weight), criterion=criterion)
    assert got == pytest.approx(want)
    y = np.where(is_pos, "a", "b")
    assert operating_point(y, score, criterion=criterion, pos_label="a") == operating_point(
        is_pos, score, criterion=criterion
    )


@pytest.mark.parametrize("criterion", ["youden", "accuracy", "cost", "fscore", "corner"])
def test_the_interval_of_a_point_holds_it(criterion):
    is_pos, score = rows(300, digits=6)
    groups = np.arange(300) // 3
    for given_groups in (None, groups):
        got = operating_point_interval(
            is_pos, score, criterion=criterion, n_bootstrap=200, random_state=0, groups=given_groups
        )
        assert (got.threshold, got.tpr, got.fpr) == operating_point(is_pos, score, criterion=criterion)
        assert got.threshold_low <= got.threshold <= got.threshold_high
        assert 0.0 <= got.tpr_low < got.tpr_high <= 1.0 and 0.0 <= got.fpr_low < got.fpr_high <= 1.0


RANKED = (roc_auc, partial_auc, gini, ks, operating_point)
HOW_SURE = {
    "auc_interval": auc_interval,
    "compare_auc": lambda y, s: compare_auc(y, np.zeros(len(s)), s),
    "compare_auc_unpaired": lambda y, s: compare_auc_unpaired(y, np.zeros(len(s)), y, s),
    "compare_many": lambda y, s: compare_many(y, {"a": s, "b": np.zeros(len(s))}),
    "auc_by_group": lambda y, s: auc_by_group(y, s, np.arange(len(s)) // 4),
    "multiclass_auc": lambda y, s: multiclass_auc(y, np.stack([s, s], axis=1)),
    "rates_at": lambda y, s: rates_at(y, s, fpr=0.5),
    "operating_point_interval": operating_point_interval,
    "lift_table": lambda y, s: lift_table(y, s, n_bins=2),
    "precision_at_k": lambda y, s: precision_at_k(y, s, 2),
}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_ranks_takes_infinities_and_what_tells_how_sure_refuses_them(sign):
    y, s = np.array([0, 1, 0, 1, 1, 0, 0, 1]), np.array([1.0, sign * np.inf, 3.0, 2.0, 5.0, 4.0, 0.0, 6.0])
    for measure in RANKED:
        assert np.isfinite(measure(y, s)).all()
    for name, call in HOW_SURE.items():
        with pytest.raises(ValueError, match=rf"{name} must hold finite numbers. Got an infinity in 1 of 8 rows"):
            call(y, s)
        with pytest.raises(ValueError, match=rf"{name} must hold numbers that can be ordered. Got NaN in 1 of 8"):
            call(y, np.where(np.isinf(s), np.nan, s))


def test_infinite_scores_have_finite_thresholds():
    y, s = [0, 1, 0, 1], [-np.inf, np.inf, 0.0, 1.0]
    for criterion in ("fscore", "corner"):
        assert operating_point(y, s, criterion=criterion) == (0.5, 1.0, 0.0)


# Lists


@given(tables(), st.data())
@settings(max_examples=80, deadline=None)
def test_precision_at_k_is_the_expected_share(table, data):
    is_pos, score = table
    k = data.draw(st.integers(1, len(score)))
    assert precision_at_k(is_pos, score, k) == pytest.approx(reference.expected_hits(is_pos, score, k) / k)


@given(tables())
@settings(max_examples=80, deadline=None)
def test_gini_and_ks_are_what_others_call_them(table):
    is_pos, score = table
    assert gini(is_pos, score) == pytest.approx(2.0 * reference.auc(is_pos, score) - 1.0, abs=1e-12)
    assert ks(is_pos, score) == pytest.approx(ks_2samp(score[is_pos], score[~is_pos]).statistic, abs=1e-12)


def test_weighted_gini_and_ks_are_those_of_repeated_rows():
    is_pos, score = rows()
    weight = np.random.default_rng(1).integers(0, 4, len(score))
    for measure in (gini, ks):
        want = measure(np.repeat(is_pos, weight), np.repeat(score, weight))
        assert measure(is_pos, score, sample_weight=weight) == pytest.approx(want, abs=1e-12)
        assert measure(np.where(is_pos, 0, 1), score, pos_label=0) == pytest.approx(measure(is_pos, score))


@pytest.mark.parametrize("n_bins", [1, 3, 10])
def test_the_lift_table_adds_up(n_bins):
    is_pos, score = rows(97)
    table = lift_table(is_pos, score, n_bins=n_bins)
    assert table.rows.sum() == pytest.approx(97) and table.positives.sum() == pytest.approx(is_pos.sum())
    assert table.top[-1] == table.gain[-1] == pytest.approx(1.0) and table.cumulative_lift[-1] == pytest.approx(1.0)
    for k in range(n_bins):
        hits = reference.expected_hits(is_pos, score, 97 * (k + 1) / n_bins)
        assert table.gain[k] == pytest.approx(hits / is_pos.sum())
    np.testing.assert_allclose(table.lift, table.positives / table.rows / is_pos.mean())
    assert np.all(np.diff(table.threshold) <= 0.0)


# compare_many


@pytest.mark.parametrize("groups", [None, np.arange(120) // 2])
def test_many_pairs_are_pairs(groups):
    is_pos, a = rows(120)
    rng = np.random.default_rng(1)
    models = {"a": a, "b": a + rng.normal(size=120), "c": rng.normal(size=120)}
    for region in ({}, {"max_fpr": 0.4}):
        got = compare_many(is_pos, models, groups=groups, **region)
        assert got.intervals["b"] == pytest.approx(auc_interval(is_pos, models["b"], groups=groups, **region))
        for pair in got.pairs:
            want = compare_auc(is_pos, models[pair.a], models[pair.b], groups=groups, **region)
            assert pair[2:6] == pytest.approx(want, abs=1e-10)
        assert [(pair.a, pair.b) for pair in got.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_holms_correction_by_hand():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    assert corrected(p, "holm").tolist() == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert corrected(p, "bonferroni").tolist() == pytest.approx([0.04, 0.16, 0.12, 1.0])
    assert corrected(p, "none") is p
    assert np.all(corrected(p, "holm") >= false_discovery_control(p) - 1e-12)


def test_the_global_test_of_two_is_their_own():
    is_pos, a = rows(4000)
    b = a + np.random.default_rng(1).normal(size=4000)
    got = compare_many(is_pos, {"a": a, "b": b})
    z = norm.isf(got.pairs[0].pvalue / 2)
    assert got.statistic == pytest.approx(z**2, rel=1e-6)
    assert got.pvalue == pytest.approx(got.pairs[0].pvalue, rel=0.2)


def test_models_that_rank_alike_are_equal():
    is_pos, a = rows(100)
    got = compare_many(is_pos, {"a": a, "b": 2 * a + 1, "c": np.exp(a)})
    assert (got.statistic, got.pvalue) == (0.0, 1.0)
    assert all(pair[2:] == (0.0, 0.0, 0.0, 1.0, 1.0) for pair in got.pairs)
    with pytest.raises(ValueError, match=r"must be a dict of two or more models' scores by name. Got 1"):
        compare_many(is_pos, {"a": a})
    with pytest.raises(ValueError, match=r"'scores\['b'\]' parameter of compare_many .* Got NaN"):
        compare_many(is_pos, {"a": a, "b": np.full(100, np.nan)})


def test_differences_without_variance_are_seen_by_the_global_test():
    is_pos, noise = rows(60)
    perfect = is_pos * 1.0
    got = compare_many(is_pos, {"a": perfect, "b": -perfect})
    assert got.pvalue == got.pairs[0].pvalue < 1e-5
    assert compare_many(is_pos, {"a": perfect, "b": -perfect}, method="bootstrap", random_state=0).pvalue == got.pvalue
    assert compare_many(is_pos, {"a": perfect, "b": -perfect, "c": noise}).pvalue <= 2 * got.pvalue
    assert compare_many(is_pos, {"a": perfect, "b": perfect, "c": noise}).pvalue == pytest.approx(
        compare_many(is_pos, {"a": perfect, "c": noise}).pvalue
    )


def test_models_have_names_that_differ():
    is_pos, score = rows()
    with pytest.raises(ValueError, match=r"must have names that differ as texts. Got \['1', '1'\]"):
        compare_many(is_pos, {1: score, "1": -score})


# Several classes


@pytest.mark.parametrize("seed", range(4))
def test_m_is_hand_and_tills(seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 4, 40)
    scores = np.round(rng.normal(size=(40, 4)) + (label[:, None] == np.arange(4)), 1)
    auc, variance = reference.hand_till(label, scores)
    got = multiclass_auc(label, scores)
    assert got.auc == pytest.approx(auc, abs=1e-12) and got.se == pytest.approx(np.sqrt(variance), abs=1e-12)
    assert got.low < got.auc < got.high


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_averages_are_scikit_learns(multi_class, average):
    rng = np.random.default_rng(0)
    label = rng.choice(3, 200, p=[0.5, 0.3, 0.2])
    proba = rng.dirichlet(np.ones(3), 200) + 0.3 * (label[:, None] == np.arange(3))
    proba /= proba.sum(axis=1, keepdims=True)
    got = multiclass_auc(label, proba, multi_class=multi_class, average=average)
    assert got.auc == pytest.approx(roc_auc_score(label, proba, multi_class=multi_class, average=average), abs=1e-12)


def test_two_classes_are_the_mean_of_both_views():
    is_pos, score = rows(80)
    got = multiclass_auc(is_pos, np.stack([-score, score], axis=1))
    assert got == pytest.approx(auc_interval(is_pos, score), abs=1e-12)


def test_columns_in_another_order_are_named():
    rng = np.random.default_rng(0)
    y = np.repeat(["u", "v", "w"], 10)
    scores = rng.normal(size=(30, 3)) + (y[:, None] == np.array(["u", "v", "w"]))
    want = multiclass_auc(y, scores)
    assert multiclass_auc(y, scores[:, [2, 0, 1]], labels=["w", "u", "v"]) == want
    for keywords, words in (
        ({"labels": ["u", "v"]}, "a column for each of the 2 classes. Got 3"),
        ({"labels": ["u", "v", "x"]}, "only the given labels. Got w too"),
    ):
        with pytest.raises(ValueError, match=words):
            multiclass_auc(y, scores, **keywords)
    with pytest.raises(ValueError, match=r"at least 2 rows of each. Got 1 of the label w"):
        multiclass_auc(y[:21], scores[:21])
    with pytest.raises(ValueError, match=r"shape \(n, K\)"):
        multiclass_auc(y, scores[:, 0])
    with pytest.raises(ValueError, match=r"must hold finite numbers. Got an infinity"):
        multiclass_auc(y, np.where(scores > 2, np.inf, scores))


# Groups


def test_groups_have_their_own_aucs_and_the_worst_pair_is_the_lowest():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], 300)
    is_pos = rng.random(300) < 0.4
    score = rng.normal(size=300) + is_pos + 1.5 * (group == "c")
    got = auc_by_group(is_pos, score, group)
    for g, name in enumerate("abc"):
        own = group == name
        assert got.intervals[name] == auc_interval(is_pos[own], score[own])
        for h, other in enumerate("abc"):
            cell = reference.wins(score[own & is_pos], score[(group == other) & ~is_pos]).mean()
            assert got.table[g, h] == pytest.approx(cell, abs=1e-12)
    assert got.worst.second == "c" and got.worst.first in "ab" and got.worst.auc == got.table.min()
    assert got.worst.comparison.difference == pytest.approx(got.table.min() - roc_auc(is_pos, score))
    assert got.worst.comparison.pvalue < 0.01
    first, second = (group == name for name in (got.gap.first, got.gap.second))
    want = compare_auc_unpaired(is_pos[first], score[first], is_pos[second], score[second])
    assert got.gap.comparison[:3] == want[:3] and got.gap.comparison.difference <= 0.0
    se = (want.high - want.low) / 2.0 / norm.ppf(0.975)
    students = 2.0 * t.sf(abs(want.difference) / se, 10)  # groups are small, but not as small as that
    assert want.pvalue <= got.gap.comparison.pvalue <= min(1.0, 3 * students)


def test_the_test_of_the_worst_pair_agrees_with_a_bootstrap():
    rng = np.random.default_rng(1)
    group, is_pos = rng.integers(0, 2, 600), rng.random(600) < 0.5
    score = rng.normal(size=600) + is_pos + 0.5 * group
    worst = auc_by_group(is_pos, score, group).worst
    drawn = []
    for _ in range(400):
        at = np.concatenate([rng.choice(np.flatnonzero(of), of.sum()) for of in (is_pos, ~is_pos)])
        p, s, g = is_pos[at], score[at], group[at]
        cell = reference.wins(s[p & (g == worst.first)], s[~p & (g == worst.second)]).mean()
        drawn.append(cell - roc_auc(p, s))
    reach = (worst.comparison.high - worst.comparison.low) / 2 / norm.ppf(0.975)
    assert reach == pytest.approx(np.std(drawn), rel=0.12)


def test_of_two_groups_the_gap_is_theirs_and_the_same_rows_give_the_same_bits():
    is_pos, score = rows(200)
    group = np.arange(200) % 2
    got, again = auc_by_group(is_pos, score, group), auc_by_group(is_pos, score, group)
    first, second = (group == name for name in (got.gap.first, got.gap.second))
    assert got.gap.comparison == compare_auc_unpaired(is_pos[first], score[first], is_pos[second], score[second])
    assert got.worst == again.worst and 0.0 < got.worst.comparison.pvalue <= 1.0


def test_many_groups_take_memory_of_rows_times_groups():
    rng = np.random.default_rng(0)
    n, groups = 5_000, 40
    is_pos, member = rng.random(n) < 0.3, rng.integers(0, groups, n)
    tracemalloc.start()
    got = auc_by_group(is_pos, rng.normal(size=n) + is_pos, member)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert got.table.shape == (groups, groups)
    assert peak < 100e6  # terms of every pair of groups for every row would take several times as much


def test_groups_that_cannot_be_measured_are_named():
    y, s = [0, 0, 1, 1, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(ValueError, match=r"Got 0 positive and 3 negative in group 'b' instead. Leave it out"):
        auc_by_group(y, s, list("aaaabbb"))
    assert auc_by_group(y * 2, s * 2, list("aaaabbb" + "bbbbaaa"), sample_weight=[1] * 4 + [0] * 3 + [1] * 7)
    with pytest.raises(ValueError, match="two groups or more"):
        auc_by_group(y, s, ["a"] * 7)
    with pytest.raises(ValueError, match="7 rows in y_true, 6 in groups"):
        auc_by_group(y, s, ["a"] * 6)


@pytest.mark.parametrize("method", ["bootstrap", "bca"])
@pytest.mark.parametrize("region", [{}, {"max_fpr": 0.4}])
def test_many_models_by_the_bootstrap_are_pairs_drawn_together(method, region):
    is_pos, a = rows(150)
    rng = np.random.default_rng(3)
    models = {"a": a, "b": a + rng.normal(size=150), "c": rng.normal(size=150)}
    how = {"method": method, "n_bootstrap": 300, "random_state": 4, **region}
    got = compare_many(is_pos, models, **how)
    assert got.intervals["a"] == pytest.approx(auc_interval(is_pos, a, **how))
    first = got.pairs[0]
    assert first[2:6] == pytest.approx(compare_auc(is_pos, a, models["b"], **how), abs=1e-12)
    assert got.statistic == pytest.approx(compare_many(is_pos, models, **region).statistic, rel=0.4)
    assert 0.0 < got.pvalue < 1.0
    grouped = compare_many(is_pos, models, groups=np.arange(150) // 3, **how)
    assert grouped == compare_many(is_pos, models, groups=np.arange(150) // 3, **how) and grouped != got


def test_several_classes_in_groups():
    rng = np.random.default_rng(0)
    label, group = rng.integers(0, 3, 90), np.arange(90) // 3
    scores = rng.normal(size=(90, 3)) + (label[:, None] == np.arange(3)) + rng.normal(size=(30, 3))[group]
    for how in ({"multi_class": "ovo"}, {"multi_class": "ovr", "average": "weighted"}):
        plain = multiclass_auc(label, scores, **how)
        assert multiclass_auc(label, scores, groups=np.arange(90), **how) == pytest.approx(plain, rel=1e-12)
        assert multiclass_auc(label, scores, groups=group, **how).se != pytest.approx(plain.se, rel=1e-3)
    two = label < 2
    both = np.stack([-scores[two, 1], scores[two, 1]], axis=1)
    want = auc_interval(label[two], scores[two, 1], groups=group[two])
    assert multiclass_auc(label[two], both, groups=group[two]) == pytest.approx(want, rel=1e-12)
    weight = rng.integers(0, 3, 90)
    kept = weight > 0
    some = {"groups": group[kept], "sample_weight": weight[kept]}
    assert multiclass_auc(label, scores, groups=group, sample_weight=weight) == multiclass_auc(
        label[kept], scores[kept], **some
    )
    with pytest.raises(ValueError, match=r"at least 2 groups of each class. Got 1 of one"):
        multiclass_auc([0, 0, 1, 1, 1], np.zeros((5, 2)), groups=[1, 1, 2, 3, 1])


def test_folds_of_weighted_rows():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4 == 0
    X = rng.normal(size=(200, 3)) + y[:, None]
    weight = rng.integers(0, 3, 200)
    kept = weight > 0
    got = cross_val_auc(LeastSquaresAUC(), X, y, sample_weight=weight)
    assert got[:4] == pytest.approx(cross_val_auc(LeastSquaresAUC(), X[kept], y[kept], sample_weight=weight[kept])[:4])
    cv = StratifiedKFold(5)
    areas = []
    for train, test in cv.split(X[kept], y[kept]):
        w = weight[kept]
        model = LeastSquaresAUC().fit(X[kept][train], y[kept][train], sample_weight=w[train])
        areas.append(auc_interval(y[kept][test], model.decision_function(X[kept][test]), sample_weight=w[test]))
    np.testing.assert_allclose(got.folds, [area.auc for area in areas])
    assert got.se == pytest.approx(np.sqrt(np.sum([area.se**2 for area in areas])) / 5, rel=1e-12)
    ones = cross_val_auc(LeastSquaresAUC(), X, y, sample_weight=np.full(200, 2.0))
    assert ones[:4] == pytest.approx(cross_val_auc(LeastSquaresAUC(), X, y)[:4])
    pair = compare_cross_val_auc(LeastSquaresAUC(), GaussianNB(), X, y, sample_weight=weight)
    assert pair.low < pair.difference < pair.high
    with pytest.raises(ValueError, match="200 rows in y, 3 in sample_weight"):
        cross_val_auc(LeastSquaresAUC(), X, y, sample_weight=[1, 2, 3])


# Folds


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), (rng.random(400) < 0.25).astype(int)
    X[:, 0] += y
    return X, y


def test_cross_validated_auc_is_the_mean_of_folds_with_their_variances(table):
    X, y = table
    cv = StratifiedKFold(4)
    got = cross_val_auc(LeastSquaresAUC(), X, y, cv=cv)
    np.testing.assert_allclose(got.folds, cross_val_score(LeastSquaresAUC(), X, y, cv=cv))
    errors = []
    for train, test in cv.split(X, y):
        model = LeastSquaresAUC().fit(X[train], y[train])
        errors.append(auc_interval(y[test], model.decision_function(X[test])).se)
    assert got.auc == pytest.approx(got.folds.mean())
    assert got.se == pytest.approx(np.sqrt(np.sum(np.square(errors))) / 4, rel=1e-12)
    assert got.se < logit_error(got) < np.sqrt(2) * got.se  # wider by the share of the training rows
    alone = cross_val_auc(LeastSquaresAUC(), X, y, cv=[next(cv.split(X, y))])
    assert logit_error(alone) == pytest.approx(alone.se)  # no other model shares its rows


def logit_error(interval):
    """The standard error that an interval was made of."""
    reach = (logit(interval.high) - logit(interval.low)) / 2
    return reach * interval.auc * (1 - interval.auc) / t.ppf(0.975, interval.df)


@pytest.mark.parametrize("cv", [StratifiedKFold(2), RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)])
def test_the_comparison_of_ways_to_learn_is_nadeau_and_bengios(table, cv):
    X, y = table
    got = compare_cross_val_auc(LeastSquaresAUC(), GaussianNB(), X, y, cv=cv)
    ratio = np.mean([len(test) / len(train) for train, test in cv.split(X, y)])
    se = np.sqrt((1 / len(got.folds) + ratio) * np.var(got.folds, ddof=1))
    assert (got.se, got.df) == (pytest.approx(se), len(got.folds) - 1)
    assert got.pvalue == pytest.approx(2 * t.sf(abs(got.difference) / se, got.df))
    assert got.high - got.difference == pytest.approx(t.ppf(0.975, got.df) * se)


def test_one_split_is_no_sample_of_splits(table):
    X, y = table
    split = [(np.arange(0, len(y), 2), np.arange(1, len(y), 2))]
    with pytest.raises(ValueError, match="'cv' parameter of compare_cross_val_auc must give two splits"):
        compare_cross_val_auc(LeastSquaresAUC(), GaussianNB(), X, y, cv=split)


def test_folds_take_the_weights_of_pipelines_another_positive_label_and_a_part_of_the_curve(table):
    X, y = table
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    alone = cross_val_auc(LeastSquaresAUC(), X, y, sample_weight=weight)
    piped = make_pipeline(FunctionTransformer(), make_pipeline(FunctionTransformer(), LeastSquaresAUC()))
    assert cross_val_auc(piped, X, y, sample_weight=weight) == alone
    named = np.where(y == 1, "case", "control")
    for model in (LeastSquaresAUC(), GaussianNB()):
        want = cross_val_auc(model, X, y)
        assert cross_val_auc(model, X, named, pos_label="case")[:4] == pytest.approx(want[:4])
        part = cross_val_auc(model, X, y, max_fpr=0.3)
        areas = []
        for train, test in StratifiedKFold(5).split(X, y):
            score = scores_of("f", clone(model).fit(X[train], y[train]), X[test])
            areas.append(partial_auc(y[test], score, max_fpr=0.3))
        assert part.auc == pytest.approx(np.mean(areas))
        assert list(part.folds) == pytest.approx(areas)
        assert part.low < part.auc < part.high
    gap = compare_cross_val_auc(LeastSquaresAUC(), GaussianNB(), X, named, pos_label="case", max_fpr=0.3)
    assert gap.estimate_b == pytest.approx(part.auc)


def slow_cross_validated_error(models, X, y, cv):
    """LeDell's standard error of a difference, the jackknife share of the training rows, and Welch's degrees."""
    splits = list(cv.split(X, y))
    terms = np.zeros((len(splits), len(y)))  # of each row, by the models of each fold
    for k, (train, _) in enumerate(splits):
        fitted = [clone(model).fit(X[train], y[train]) for model in models]
        for _, test in splits:
            a, b = (reference.placements(y[test] == 1, scores_of("f", model, X[test])) for model in fitted)
            for label, of_a, of_b in zip((1, 0), a, b, strict=True):
                apart = np.asarray(of_a) - np.asarray(of_b)
                size = len(splits) * np.sqrt(len(apart) * (len(apart) - 1))
                terms[k, test[y[test] == label]] = (apart - apart.mean()) / size
    own = sum(terms[k] * np.isin(np.arange(len(y)), test) for k, (_, test) in enumerate(splits))
    squares = [np.sum(own[y == label] ** 2) for label in (0, 1)]
    share = (len(splits) - 1) * terms.var(axis=0, ddof=1).sum() / sum(squares)
    df = sum(squares) ** 2 / sum(v**2 / (np.sum(y == k) - 1) for k, v in enumerate(squares))
    return np.sqrt(sum(squares)), min(1.0, share), df


def test_the_comparison_on_folds_is_paired(table):
    X, y = table
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    models = LeastSquaresAUC(), GaussianNB()
    got = compare_cross_val_auc(*models, X, y, cv=cv, method="ledell")
    np.testing.assert_allclose(
        got.folds, [a - b for a, b in zip(*(cross_val_auc(m, X, y, cv=cv).folds for m in models), strict=True)]
    )
    se, share, df = slow_cross_validated_error(models, X, y, cv)
    assert (got.se, got.df) == (pytest.approx(np.sqrt(1 + share) * se), pytest.approx(df))
    assert (got.high - got.low) / 2 == pytest.approx(t.ppf(0.975, df) * got.se)
    mirrored = compare_cross_val_auc(*models[::-1], X, y, cv=cv, method="ledell")
    assert mirrored[:4] == pytest.approx((-got.difference, -got.high, -got.low, got.pvalue))
    same = compare_cross_val_auc(models[0], models[0], X, y)
    assert same[:4] == (0.0, 0.0, 0.0, 1.0)


def test_folds_of_any_kind(table):
    X, y = table
    groups = np.arange(400) // 4
    whole = cross_val_auc(LeastSquaresAUC(), X, y, groups=groups)
    assert len(whole.folds) == 5 and whole.se > 0.0
    assert cross_val_auc(LeastSquaresAUC(), X, y, groups=groups, cv=GroupKFold(4)).folds.shape == (4,)
    alone = cross_val_auc(LeastSquaresAUC(), X, y, groups=np.arange(400), cv=StratifiedKFold(5))
    assert alone.se == pytest.approx(cross_val_auc(LeastSquaresAUC(), X, y).se)
    weight = np.where(np.arange(400) < 380, 1.0, 0.0)
    kept = cross_val_auc(LeastSquaresAUC(), X[:380], y[:380], groups=groups[:380])
    assert cross_val_auc(LeastSquaresAUC(), X, y, groups=groups, sample_weight=weight)[:4] == pytest.approx(kept[:4])
    thrice = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=0)
    repeated = cross_val_auc(LeastSquaresAUC(), X, y, cv=thrice)
    assert len(repeated.folds) == 12 and repeated.se == pytest.approx(alone.se, rel=0.15)
    by_mask = [(np.arange(400) % 2 == k, np.arange(400) % 2 != k) for k in range(2)]
    assert len(cross_val_auc(LeastSquaresAUC(), X, y, cv=by_mask).folds) == 2
    many = cross_val_auc(LeastSquaresAUC(), X, np.where(y, "yes", "no"), n_jobs=2)
    np.testing.assert_array_equal(many.folds, cross_val_auc(LeastSquaresAUC(), X, y).folds)


def test_folds_that_cannot_be_measured(table):
    X, y = table
    with pytest.raises(ValueError, match=r"at least 2 rows of each class among the test rows of every fold"):
        cross_val_auc(LeastSquaresAUC(), X[:40], (np.arange(40) < 3).astype(int), cv=3)
    with pytest.raises(ValueError, match="both classes"):
        cross_val_auc(LeastSquaresAUC(), X, np.zeros(400))
    with pytest.raises(ValueError, match="400 rows in sample_weight, 7 in groups"):
        cross_val_auc(LeastSquaresAUC(), X, y, groups=np.arange(7), sample_weight=np.ones(400))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[7, 400\]"):
        cross_val_auc(LeastSquaresAUC(), X[:7], y, sample_weight=np.ones(400))
    from sklearn.linear_model import Ridge

    with pytest.raises(TypeError, match=r"decision_function or predict_proba. Got a Ridge"):
        cross_val_auc(Ridge(), X, y)


# The size of a study


@pytest.mark.parametrize("correlation", [0.0, 0.5, -0.4, 0.95])
def test_the_probability_of_both_is_the_bivariate_normal(correlation):
    for a, b in ((0.8, 0.7), (0.5, 0.5), (0.95, 0.6)):
        want = multivariate_normal.cdf(norm.ppf([a, b]), cov=[[1, correlation], [correlation, 1]])
        assert _both(a, b, correlation) == pytest.approx(want, abs=1e-6)


def test_variances_of_a_design_are_those_of_simulated_studies():
    rng = np.random.default_rng(0)
    n_pos, n_neg, r = 20, 40, 0.6
    is_pos = np.arange(60) < n_pos
    aucs = []
    for _ in range(3000):
        common = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=60)
        a, b = common[:, 0] + np.sqrt(2) * norm.ppf(0.85) * is_pos, common[:, 1] + np.sqrt(2) * norm.ppf(0.75) * is_pos
        aucs.append((roc_auc(is_pos, a), roc_auc(is_pos, b)))
    aucs = np.array(aucs)
    assert aucs[:, 0].var() == pytest.approx(normal_variance(0.85, n_pos, n_neg), rel=0.1)
    assert (aucs[:, 0] - aucs[:, 1]).var() == pytest.approx(
        _variance_of_difference(0.85, 0.75, r, n_pos, n_neg), rel=0.1
    )
    assert normal_variance(0.5, n_pos, n_neg) == pytest.approx((n_pos + n_neg + 1) / (12 * n_pos * n_neg))


@pytest.mark.parametrize("keywords", [{}, {"correlation": 0.5}, {"alternative": "greater"}, {"ratio": 4.0}])
def test_the_size_is_the_smallest_with_the_power(keywords):
    n_pos, n_neg = sample_size(0.75, null=0.65, power=0.8, **keywords)
    ratio = keywords.pop("ratio", 1.0)
    assert n_neg == int(np.ceil(ratio * n_pos))
    assert auc_power(0.75, n_pos, n_neg, null=0.65, **keywords) >= 0.8
    assert auc_power(0.75, n_pos - 1, int(np.ceil(ratio * (n_pos - 1))), null=0.65, **keywords) < 0.8


def test_designs_that_make_no_sense():
    with pytest.raises(ValueError, match=r"must differ from null. Got 0.7 for both"):
        sample_size(0.7, null=0.7)
    with pytest.raises(ValueError, match="on the alternative's side"):
        sample_size(0.6, null=0.7, alternative="greater")
    with pytest.raises(ValueError, match=r"'auc' parameter of sample_size must be a float in \(0.0, 1.0\)"):
        sample_size(1.0)
    with pytest.raises(ValueError, match="rows can see"):
        sample_size(0.7000001, null=0.7)
    with pytest.raises(ValueError, match=r"'n_pos' parameter of auc_power must be an int in \[2, inf\)"):
        auc_power(0.7, 1, 30)


# Scorers


def test_a_scorer_of_partial_auc_for_any_model(table):
    X, y = table
    scorer = partial_auc_scorer(0.2, min_tpr=0.1)
    for model in (LeastSquaresAUC(), GaussianNB(), LogisticRegression()):
        model.fit(X, y)
        score = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]
        assert scorer(model, X, y) == pytest.approx(partial_auc(y, score, max_fpr=0.2, min_tpr=0.1))
    weight = np.random.default_rng(0).random(400)
    assert scorer(model, X, y, sample_weight=weight) == pytest.approx(
        partial_auc(y, score, max_fpr=0.2, min_tpr=0.1, sample_weight=weight)
    )
    search = GridSearchCV(LeastSquaresAUC(), {"alpha": [1e-3, 1.0]}, scoring=scorer).fit(X, np.where(y, "b", "a"))
    assert search.best_score_ > 0.5
    with pytest.raises(ValueError, match="'max_fpr' parameter of partial_auc_scorer"):
        partial_auc_scorer(0.0)


def test_scores_of_a_constant_are_not_noisy():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ks([0, 1, 0, 1], [1, 1, 1, 1]) == 0.0 and gini([0, 1, 0, 1], [1, 1, 1, 1]) == 0.0


# More models than rows


def test_more_models_than_positives_are_still_told_apart():
    rng = np.random.default_rng(0)
    y = np.arange(200) < 10
    models = {"perfect": y + 0.0} | {f"random {k}": rng.normal(size=200) for k in range(10)}
    got = compare_many(y, models)
    assert np.isnan(got.statistic)
    pairs = [compare_auc(y, models["perfect"], models[f"random {k}"]).pvalue for k in range(10)]
    assert got.pvalue == pytest.approx(min(pairs) * 55)
    assert got.pvalue < 0.01
    alike = compare_many(y, {name: rng.normal(size=200) for name in map(str, range(11))})
    assert alike.pvalue > 0.05
    by_group = compare_many(y, dict(list(models.items())[:5]), groups=np.arange(200) % 4)
    assert np.isnan(by_group.statistic)


# Thresholds that were chosen


def test_a_drawn_threshold_lies_midway_between_drawn_scores():
    y = np.arange(40) >= 20
    s = np.where(y, 100.0, 0.0) + np.random.default_rng(0).random(40)
    got = operating_point_interval(y, s, random_state=0, n_bootstrap=500)
    assert got.threshold == pytest.approx(50.5, abs=0.2)
    assert 50.2 < got.threshold_low <= got.threshold_high < 50.8
    assert got.tpr == 1.0 and 0.7 < got.tpr_low < got.tpr_high == 1.0
    assert got.fpr == 0.0 and 0.0 == got.fpr_low < got.fpr_high < 0.3


def test_thresholds_that_differ_by_rounding_are_equally_good():
    # TPR - FPR is 1/3 - 0/3, 2/3 - 1/3 and 3/3 - 2/3: equal, but not in floating point.
    tp, fp = np.array([0, 1, 1, 2, 2, 3, 3]), np.array([0, 0, 1, 1, 2, 2, 3])
    assert _best(tp, fp, Aim(), np.arange(6.0)) == 1


@pytest.mark.long
@pytest.mark.parametrize(("n_pos", "ratio", "auc"), [(30, 20, 0.8), (30, 1, 0.95), (100, 5, 0.95)])
def test_intervals_cover_the_true_rates_of_the_threshold_that_was_chosen(n_pos, ratio, auc):
    rng, apart = np.random.default_rng(0), np.sqrt(2) * norm.ppf(auc)
    y, covered = np.arange(n_pos * (1 + ratio)) < n_pos, []
    for _ in range(300):
        got = operating_point_interval(y, rng.normal(size=len(y)) + apart * y, n_bootstrap=200, random_state=rng)
        tpr, fpr = norm.sf(got.threshold - apart), norm.sf(got.threshold)
        covered.append((got.tpr_low <= tpr <= got.tpr_high, got.fpr_low <= fpr <= got.fpr_high))
    assert np.mean(covered, axis=0) == pytest.approx(0.95, abs=0.035)


# The test of one AUC, and planning for it


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("keywords", [{}, {"sample_weight": np.linspace(0.5, 1.5, 60)}, {"groups": np.arange(60) % 35}])
def test_the_test_of_an_auc_agrees_with_its_interval(alternative, keywords):
    is_pos, score = rows(60)
    for null in (0.4, 0.6, 0.7, 0.75, 0.8):
        got = auc_test(is_pos, score, null=null, alternative=alternative, **keywords)
        assert (got.low > null or got.high < null) == (got.pvalue < 0.05)
        edge = auc_test(is_pos, score, null=null, alternative=alternative, level=1 - got.pvalue, **keywords)
        assert min(abs(edge.low - null), abs(edge.high - null)) < 1e-9
    two = auc_test(is_pos, score, **keywords)
    assert two[:3] == pytest.approx(auc_interval(is_pos, score, **keywords)[:3])


def test_the_test_of_a_perfect_ranking_is_binomial():
    y = np.arange(20) >= 12
    assert auc_test(y, y + 0.0).pvalue == pytest.approx(2 * 0.5**8)
    assert auc_test(y, y + 0.0, null=0.9, alternative="greater").pvalue == pytest.approx(0.9**8)
    assert auc_test(y, -1.0 * y, alternative="greater").pvalue == 1.0
    assert auc_test(y, np.zeros(20)).pvalue == 1.0


@pytest.mark.parametrize(("auc", "null", "ratio"), [(0.95, 0.5, 1.0), (0.8, 0.7, 1.0), (0.65, 0.5, 20.0)])
def test_a_planned_study_has_the_power_that_was_asked_for(auc, null, ratio):
    n_pos, n_neg = sample_size(auc, null=null, power=0.8, ratio=ratio)
    rng, y = np.random.default_rng(0), np.arange(n_pos + n_neg) < n_pos
    apart = np.sqrt(2) * norm.ppf(auc) * y
    seen = [auc_test(y, rng.normal(size=len(y)) + apart, null=null).pvalue < 0.05 for _ in range(400)]
    assert 0.74 < np.mean(seen) < 0.92


@pytest.mark.parametrize("region", [{"max_fpr": 0.2}, {"min_tpr": 0.5}])
def test_a_region_of_cross_validated_strings_needs_the_positive_label(region):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4 == 0
    X, label = rng.normal(size=(120, 2)) + y[:, None], np.where(y, "case", "control")
    model = LogisticRegression()
    with pytest.raises(ValueError, match="'pos_label' parameter of cross_val_auc must name the positive label"):
        cross_val_auc(model, X, label, **region)
    with pytest.raises(ValueError, match="'pos_label' parameter of compare_cross_val_auc must name"):
        compare_cross_val_auc(model, GaussianNB(), X, label, **region)
    named = cross_val_auc(model, X, label, pos_label="case", **region)
    assert named[:4] == pytest.approx(cross_val_auc(model, X, y, **region)[:4], abs=1e-6)
    assert cross_val_auc(model, X, label).n_positive == 90
