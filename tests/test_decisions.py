"""Metrics at a decision point, thresholds, groups at a threshold, equivalence and the size of comparisons."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest, norm
from sklearn.metrics import accuracy_score, f1_score, fbeta_score, precision_score, recall_score

from auclid.metrics import (
    auc_interval,
    choose_threshold,
    compare_at,
    compare_auc,
    comparison_power,
    comparison_sample_size,
    equivalence,
    interval_at,
    interval_sample_size,
    lift_table,
    partial_auc,
    precision_at_k,
    rates_at,
    rates_by_group,
    roc_auc,
    top_k,
)
from auclid.metrics._confusion import METRICS, Cut, Shares, measure, measure_counts, metric_terms
from auclid.metrics._sample import checked_sample


def rows(n=400, share=0.2, seed=0, rises=1.5, digits=6):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    y[:4] = True, True, False, False
    return y, (rng.normal(size=n) + rises * y).round(digits)


def wilson(hits, trials):
    return binomtest(int(hits), int(trials)).proportion_ci(method="wilson")


# Influence values


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("prevalence", [None, 0.05])
def test_terms_are_derivatives_by_the_weight_of_a_row(name, prevalence):
    y, s = rows(60, 0.4)
    weight = np.random.default_rng(1).random(60) + 0.2
    flagged = (s > 1.0).astype(float)

    def value(w):
        sample = checked_sample("test", y, {"s": s}, sample_weight=w)
        return float(Shares.of(sample, flagged, prevalence).value(METRICS[name]))

    sample = checked_sample("test", y, {"s": s}, sample_weight=weight)
    found = metric_terms(sample, Cut(s, 1.0, flagged), METRICS[name], prevalence)
    assert found.value == pytest.approx(value(weight))
    for i in range(0, 60, 7):
        up, down = weight.copy(), weight.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        slope = (value(up) - value(down)) / 2e-6
        assert found.terms[i] == pytest.approx(slope * weight[i], abs=1e-7)


def test_metrics_are_those_of_scikit_learn():
    y, s = rows()
    flagged = s > 0.8
    for name, function in (
        ("precision", precision_score),
        ("recall", recall_score),
        ("accuracy", accuracy_score),
        ("f1", f1_score),
    ):
        assert interval_at(y, s, name, at={"threshold": 0.8}).value == pytest.approx(function(y, flagged))
    found = interval_at(y, s, "f1", at={"threshold": 0.8}, beta=2.0)
    assert found.value == pytest.approx(fbeta_score(y, flagged, beta=2.0))


def test_shares_at_a_given_threshold_have_wilsons_interval():
    y, s = rows()
    flagged = s > 0.8
    for name, hit, of in (
        ("precision", y, flagged),
        ("tpr", flagged, y),
        ("fpr", flagged, ~y),
        ("npv", ~y, ~flagged),
        ("accuracy", flagged == y, np.ones(len(y), bool)),
    ):
        found = interval_at(y, s, name, at={"threshold": 0.8})
        assert found[1:3] == pytest.approx(tuple(wilson((hit & of).sum(), of.sum())), abs=1e-12)


@pytest.mark.parametrize("at", [{"recall": 0.5}, {"specificity": 0.9}, {"alert_rate": 0.2}, {"threshold": 0.7}])
@pytest.mark.parametrize("metric", ["precision", "f1", "npv", "tpr", "lift"])
def test_standard_errors_are_those_of_the_bootstrap(at, metric):
    y, s = rows(3000, 0.15)
    if (metric, *at) == ("tpr", "recall"):
        return
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(200):
        i = rng.integers(len(y), size=len(y))
        drawn.append(interval_at(y[i], s[i], metric, at=at).value)
    assert interval_at(y, s, metric, at=at).se == pytest.approx(np.std(drawn), rel=0.3)


def test_groups_of_one_row_change_next_to_nothing_and_copies_of_rows_widen():
    y, s = rows()
    plain = interval_at(y, s, "precision", at={"recall": 0.5})
    alone = interval_at(y, s, "precision", at={"recall": 0.5}, groups=np.arange(len(y)))
    assert alone.se == pytest.approx(plain.se, rel=0.01)
    twice = np.repeat(np.arange(len(y)), 2)
    pairs = interval_at(y[twice], s[twice], "precision", at={"recall": 0.5}, groups=twice)
    assert pairs.value == pytest.approx(plain.value)
    assert pairs.se == pytest.approx(plain.se, rel=0.05)


def test_weights_are_repeats_in_the_value():
    y, s = rows()
    times = np.random.default_rng(2).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), times)
    for at in ({"recall": 0.5}, {"specificity": 0.9}, {"threshold": 0.5}):
        weighed = interval_at(y, s, "f1", at=at, sample_weight=times)
        assert weighed.value == pytest.approx(interval_at(y[repeated], s[repeated], "f1", at=at).value)


def test_another_prevalence_is_what_more_negatives_show():
    y, s = rows(200, 0.3)
    more = np.r_[np.flatnonzero(y), np.tile(np.flatnonzero(~y), 6)]
    share = y[more].mean()
    for at in ({"recall": 0.5}, {"alert_rate": 0.1}, {"threshold": 0.5}):
        told = interval_at(y, s, "precision", at=at, prevalence=share)
        seen = interval_at(y[more], s[more], "precision", at=at)
        assert (told.value, told.threshold) == pytest.approx((seen.value, seen.threshold))


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"at": {}}, "must be a dict with one item"),
        ({"at": {"fpr": 0.1, "tpr": 0.2}}, "must be a dict with one item"),
        ({"at": {"rate": 0.1}}, "must be one of"),
        ({"at": {"fpr": 1.5}}, "must be a float in"),
        ({"at": {"alerts": 0}}, "must be an int in"),
        ({"at": {"fpr": 0.1}, "metric": "auc"}, "must be one of"),
        ({"at": {"fpr": 0.1}, "prevalence": 1.0}, "must be a float in"),
    ],
)
def test_points_that_make_no_sense(keywords, sentence):
    y, s = rows(50)
    with pytest.raises(ValueError, match=sentence):
        interval_at(y, s, **keywords)


# The top of the list


@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("k", [1, 7, 50, 400])
def test_top_k_is_precision_at_k(digits, k):
    y, s = rows(digits=digits)
    top = top_k(y, s, k)
    assert top.precision == pytest.approx(precision_at_k(y, s, k))
    assert top.low <= top.precision <= top.high
    assert top.recall == pytest.approx(top.positives / y.sum())
    assert top.lift == pytest.approx(top.precision / y.mean())


def test_top_k_unpacks_and_prints():
    y, s = rows()
    precision, low, high, se = top_k(y, s, 40)
    assert low < precision < high and se > 0.0
    assert str(top_k(y, s, 40)).startswith("precision ")
    assert list(top_k(y, s, 40).to_frame()["recall_low"]) == [top_k(y, s, 40).recall_low]


def test_lift_at_the_very_top():
    y, s = rows(1000)
    table = lift_table(y, s, top=[0.01, 0.001, 0.05])
    assert table.top.tolist() == [0.001, 0.01, 0.05, 1.0]
    assert table.rows.tolist() == pytest.approx([1, 9, 40, 950])
    assert table.gain[-1] == 1.0
    assert table.gain[2] / 0.05 == pytest.approx(top_k(y, s, 50).lift)


# rates_at


def test_specificity_is_one_less_the_false_positive_rate():
    y, s = rows()
    assert rates_at(y, s, specificity=0.9) == rates_at(y, s, fpr=1.0 - 0.9)


def test_rates_at_still_unpacks_to_eight():
    y, s = rows()
    threshold, tpr, tpr_low, tpr_high, fpr, fpr_low, fpr_high, precision = rates_at(y, s, fpr=0.1)
    assert tpr_low < tpr < tpr_high and fpr_low < fpr < fpr_high and 0.0 < precision < 1.0 and np.isfinite(threshold)


def test_likelihood_ratios_have_simels_interval():
    y, s = rows()
    point = rates_at(y, s, fpr=0.1)
    tp, fp = (s > point.threshold)[y].sum(), (s > point.threshold)[~y].sum()
    se = np.sqrt((1 - point.tpr) / tp + (1 - point.fpr) / fp)
    ends = np.log(point.tpr / point.fpr) + norm.ppf(0.975) * se * np.array([-1, 1])
    assert (point.lr_positive_low, point.lr_positive_high) == pytest.approx(tuple(np.exp(ends)))
    fn, tn = y.sum() - tp, (~y).sum() - fp
    se = np.sqrt(point.tpr / fn + point.fpr / tn)
    ends = np.log((1 - point.tpr) / (1 - point.fpr)) + norm.ppf(0.975) * se * np.array([-1, 1])
    assert (point.lr_negative_low, point.lr_negative_high) == pytest.approx(tuple(np.exp(ends)))


def test_predictive_values_at_a_known_prevalence_follow_bayes():
    y, s = rows()
    point = rates_at(y, s, fpr=0.1, prevalence=0.01)
    assert point.precision == pytest.approx(0.01 * point.tpr / (0.01 * point.tpr + 0.99 * point.fpr))
    assert point.npv == pytest.approx(0.99 * (1 - point.fpr) / (0.99 * (1 - point.fpr) + 0.01 * (1 - point.tpr)))
    assert point.precision_low < point.precision < point.precision_high
    assert point.npv_low < point.npv < point.npv_high
    assert point.accuracy == pytest.approx(0.01 * point.tpr + 0.99 * (1 - point.fpr))
    assert point.prevalence == 0.01


@pytest.mark.parametrize("threshold", [-99.0, 99.0])
@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_nothing_or_everything_flagged_has_intervals_without_warnings(threshold, prevalence, recwarn):
    y, s = rows(50)
    point = rates_at(y, s, threshold=threshold, prevalence=prevalence)
    assert 0.0 <= point.precision_low <= point.precision_high <= 1.0
    assert 0.0 <= point.npv_low <= point.npv_high <= 1.0
    assert point.lr_positive_low <= point.lr_positive_high and point.lr_negative_low <= point.lr_negative_high
    assert not recwarn.list


# Two models at a point


def test_the_same_scores_do_not_differ_and_the_sign_turns():
    y, a = rows()
    b = a + np.random.default_rng(3).normal(size=len(a))
    for metric, at in (("tpr", {"specificity": 0.9}), ("precision", {"alerts": 50}), ("f1", {"threshold": (0.5, 0.2)})):
        one = compare_at(y, a, b, metric, at=at)
        other = compare_at(y, b, a, metric, at={name: _turned(value) for name, value in at.items()})
        assert one.difference == pytest.approx(-other.difference)
        assert one.pvalue == pytest.approx(other.pvalue)
        assert one.difference == pytest.approx(one.estimate_a - one.estimate_b)
        same = compare_at(y, a, a, metric, at={"threshold": 0.5})
        assert (same.difference, same.pvalue) == (0.0, 1.0)


def _turned(value):
    return value[::-1] if isinstance(value, tuple) else value


def test_mcnemar_is_the_exact_binomial_test_of_the_disagreements():
    y, a = rows()
    b = a + np.random.default_rng(3).normal(size=len(a))
    found = compare_at(y, a, b, "accuracy", at={"threshold": (0.8, 0.9)}, method="mcnemar")
    right_a, right_b = (a > 0.8) == y, (b > 0.9) == y
    won, lost = (right_a & ~right_b).sum(), (~right_a & right_b).sum()
    assert found.difference == pytest.approx((won - lost) / len(y))
    assert found.pvalue == pytest.approx(binomtest(int(won), int(won + lost)).pvalue, abs=1e-9)
    greater = compare_at(y, a, b, "accuracy", at={"threshold": (0.8, 0.9)}, method="mcnemar", alternative="greater")
    assert greater.pvalue == pytest.approx(binomtest(int(won), int(won + lost), alternative="greater").pvalue)
    recall = compare_at(y, a, b, "tpr", at={"threshold": (0.8, 0.9)}, method="mcnemar")
    fpr = compare_at(y, a, b, "fpr", at={"threshold": (0.8, 0.9)}, method="mcnemar")
    assert recall.difference == pytest.approx((a > 0.8)[y].mean() - (b > 0.9)[y].mean())
    assert fpr.difference == pytest.approx((a > 0.8)[~y].mean() - (b > 0.9)[~y].mean())
    with pytest.raises(ValueError, match="McNemar"):
        compare_at(y, a, b, "precision", at={"threshold": 0.5}, method="mcnemar")
    with pytest.raises(ValueError, match="method='delta'"):
        compare_at(y, a, b, "tpr", at={"threshold": 0.5}, method="mcnemar", groups=y)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_mcnemar_has_a_one_sided_interval_that_agrees_with_its_test(alternative):
    y, a = rows()
    b = a + np.random.default_rng(3).normal(size=len(a))
    for level in (0.6, 0.8, 0.95, 0.99):
        asked = {"at": {"threshold": (0.8, 0.9)}, "method": "mcnemar", "alternative": alternative, "level": level}
        found = compare_at(y, a, b, "accuracy", **asked)
        assert (found.high == 1.0) if alternative == "greater" else (found.low == -1.0)
        excluded = found.low > 0.0 if alternative == "greater" else found.high < 0.0
        assert excluded == (found.pvalue < 1.0 - level)
    same = compare_at(y, a, a, "accuracy", **asked | {"at": {"threshold": 0.8}})
    assert (same.low, same.high) == ((0.0, 1.0) if alternative == "greater" else (-1.0, 0.0))


def test_equivalence_is_the_interval_within_the_margin():
    y, a = rows(2000)
    b = a + 0.1 * np.random.default_rng(4).normal(size=len(a))
    found = compare_auc(y, a, b)
    for margin in np.linspace(0.001, 0.02, 12):
        told = equivalence(found, margin)
        assert told.equivalent == (told.low > -margin and told.high < margin) == (told.pvalue < 0.05)
        assert told.level == pytest.approx(0.9)
    assert equivalence(compare_auc(y, a, a), 0.01).equivalent
    with pytest.raises(TypeError, match="standard error"):
        equivalence((0.1, 0.0, 0.2, 0.05), 0.1)


# Thresholds


def brute(y, s, purpose, value):
    """The best of all sets of highest rows."""
    best = None
    for t in np.r_[s.max() + 1, np.unique(s)[::-1] - 1e-9]:
        f = s > t
        precision = y[f].mean() if f.any() else 0.0
        rank = {
            "costs": lambda: -(value[0][1] * (f & ~y).sum() + value[1][0] * (~f & y).sum()),
            "alert_rate": lambda: f.sum() if f.mean() <= value else -1,
            "alerts": lambda: f.sum() if f.sum() <= value else -1,
            "min_precision": lambda: f.sum() if precision >= value else -1,
            "min_recall": lambda: -f.sum() if f[y].mean() >= value else -len(y) - 1,
        }[purpose]()
        if best is None or rank > best[0]:
            best = rank, f
    return best[1]


@pytest.mark.parametrize(
    ("purpose", "value"),
    [("costs", [[0, 1], [7, 0]]), ("alert_rate", 0.1), ("alerts", 33), ("min_precision", 0.5), ("min_recall", 0.8)],
)
def test_the_threshold_is_the_best_of_all(purpose, value):
    y, s = rows(200, digits=1)
    choice = choose_threshold(y, s, **{purpose: value}, random_state=0, n_bootstrap=100)
    flagged = s > choice.threshold
    np.testing.assert_array_equal(flagged, brute(y, s, purpose, value))
    assert choice.low <= choice.threshold <= choice.high
    cells = [(flagged & y).sum(), (flagged & ~y).sum(), (~flagged & y).sum(), (~flagged & ~y).sum()]
    assert [cell.rows for cell in choice[3:]] == pytest.approx([1000 * cell / len(y) for cell in cells])
    assert all(cell.low <= cell.rows <= cell.high for cell in choice[3:])
    assert choice.precision.value == pytest.approx(y[flagged].mean())
    assert choice.recall.value == pytest.approx(flagged[y].mean())


def test_a_precision_that_no_threshold_reaches_is_told():
    y = np.arange(200) % 4 == 0
    s = np.where(y, 0.0, np.random.default_rng(0).normal(size=200))
    with pytest.warns(UserWarning, match=r"No threshold reaches min_precision=0.9"):
        choice = choose_threshold(y, s, min_precision=0.9, random_state=0, n_bootstrap=100)
    assert choice.precision.value < 0.9


def test_the_cost_allows_for_the_choice():
    y, s = rows(200)
    choice = choose_threshold(y, s, costs=[[0, 1], [5, 0]], random_state=0, n_bootstrap=200)
    seen = (choice.fp.rows + 5 * choice.fn.rows) / 1000
    assert seen < choice.cost.value < 1.3 * seen
    assert choice.cost.low < choice.cost.value < choice.cost.high


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({}, "exactly one of"),
        ({"alerts": 5, "alert_rate": 0.1}, "exactly one of"),
        ({"costs": [1, 2]}, "must be a matrix"),
        ({"costs": [[1, 0], [5, 0]]}, "cost more than being right"),
        ({"min_recall": 0.0}, "must be a float in"),
        ({"alerts": 51}, "must be an int in"),
    ],
)
def test_purposes_that_make_no_sense(keywords, sentence):
    y, s = rows(50)
    with pytest.raises(ValueError, match=sentence):
        choose_threshold(y, s, **keywords)


# Groups


def test_rates_by_group_are_the_rates_of_the_groups_rows():
    y, s = rows(900)
    group = np.random.default_rng(5).choice(["a", "b", "c"], 900)
    found = rates_by_group(y, s, group, 0.8)
    assert found.groups == ["a", "b", "c"]
    for name in found.groups:
        rows_of = group == name
        point = rates_at(y[rows_of], s[rows_of], threshold=0.8)
        rates = found.rates[name]
        assert tuple(rates["tpr"])[:3] == pytest.approx((point.tpr, point.tpr_low, point.tpr_high))
        precision = point.precision, point.precision_low, point.precision_high
        assert tuple(rates["precision"])[:3] == pytest.approx(precision)
        assert rates["alert_rate"].value == pytest.approx((s > 0.8)[rows_of].mean())
    selected = {name: (s > 0.8)[group == name] for name in found.groups}
    best = max(selected, key=lambda name: selected[name].mean())
    assert found.reference == best and found.ratios[best].value == 1.0
    other = next(name for name in found.groups if name != best)
    ratio = selected[other].mean() / selected[best].mean()
    se = np.sqrt(sum((1 - x.mean()) / x.sum() for x in (selected[other], selected[best])))
    ends = np.exp(np.log(ratio) + norm.ppf(0.975) * se * np.array([-1, 1]))
    assert tuple(found.ratios[other])[:3] == pytest.approx((ratio, *ends))
    assert len(found.to_frame()) == 3
    assert rates_by_group(y, s, group, 0.8, reference="b").reference == "b"
    with pytest.raises(ValueError, match="one of the groups"):
        rates_by_group(y, s, group, 0.8, reference="d")


def test_a_group_may_lack_a_class_and_rows_of_no_weight():
    y, s = rows(100)
    group = np.where(y, "only positives", "others")
    found = rates_by_group(y, s, group, 0.5)
    assert np.isnan(found.rates["only positives"]["fpr"].value)
    assert (found.rates["only positives"]["fpr"].low, found.rates["only positives"]["fpr"].high) == (0.0, 1.0)
    assert rates_by_group(y, s, np.arange(100) % 5, 0.5, sample_weight=np.arange(100) % 5 != 2).groups == [0, 1, 3, 4]


# Bands of the false positive rate


def test_bands_add_up_to_the_whole_area():
    y, s = rows(digits=1)
    edges = [0.0, 0.05, 0.3, 0.62, 1.0]
    parts = [
        partial_auc(y, s, min_fpr=low, max_fpr=high, standardize=False)
        for low, high in pairwise(edges)
    ]
    assert sum(parts) == pytest.approx(roc_auc(y, s))
    assert partial_auc(y, y + 0.0, min_fpr=0.2, max_fpr=0.4) == pytest.approx(1.0)
    assert partial_auc(y, np.zeros(len(y)), min_fpr=0.2, max_fpr=0.4) == pytest.approx(0.5)


def test_the_interval_of_a_band_is_that_of_the_bootstrap():
    y, s = rows(1500)
    delong = auc_interval(y, s, min_fpr=0.1, max_fpr=0.4)
    drawn = auc_interval(y, s, min_fpr=0.1, max_fpr=0.4, method="bootstrap", random_state=0, n_bootstrap=500)
    assert delong.auc == partial_auc(y, s, min_fpr=0.1, max_fpr=0.4)
    assert delong.se == pytest.approx(drawn.se, rel=0.15)
    b = s + np.random.default_rng(0).normal(size=len(s))
    gap = compare_auc(y, s, b, min_fpr=0.1, max_fpr=0.4)
    assert gap.difference == pytest.approx(delong.auc - partial_auc(y, b, min_fpr=0.1, max_fpr=0.4))
    with pytest.raises(ValueError, match="min_fpr"):
        partial_auc(y, s, min_fpr=0.5, max_fpr=0.4)


# The size of comparisons


@pytest.mark.parametrize("design", ["paired", "unpaired"])
@pytest.mark.parametrize("keywords", [{}, {"alternative": "greater", "margin": 0.03}, {"cluster_size": 4, "icc": 0.3}])
def test_the_sample_size_is_the_smallest_with_the_power(design, keywords):
    found = comparison_sample_size(0.85, 0.8, power=0.8, ratio=3.0, design=design, **keywords)
    assert comparison_power(0.85, 0.8, *found, design=design, **keywords) >= 0.8
    fewer = found.n_pos - 1, 3 * (found.n_pos - 1)
    assert comparison_power(0.85, 0.8, *fewer, design=design, **keywords) < 0.8


def test_groups_raise_the_size_and_pairs_lower_it():
    plain = comparison_sample_size(0.85, 0.8, correlation=0.6).n_pos
    assert comparison_sample_size(0.85, 0.8, design="unpaired").n_pos > 2 * plain
    clustered = comparison_sample_size(0.85, 0.8, correlation=0.6, cluster_size=6, icc=0.2)
    assert clustered.n_pos == pytest.approx(2 * plain, rel=0.03)
    with pytest.raises(ValueError, match="differ, or a margin"):
        comparison_sample_size(0.8, 0.8)
    with pytest.raises(ValueError, match="alternative's side"):
        comparison_power(0.7, 0.8, 50, 50, alternative="greater")


def test_the_interval_is_as_wide_as_planned():
    n_pos, n_neg = interval_sample_size(0.85, 0.08, ratio=2.0)
    rng, shift = np.random.default_rng(0), np.sqrt(2) * norm.ppf(0.85)
    y = np.r_[np.ones(n_pos, bool), np.zeros(n_neg, bool)]
    widths = []
    for _ in range(60):
        found = auc_interval(y, rng.normal(size=len(y)) + shift * y)
        widths.append(found.high - found.low)
    assert np.mean(widths) == pytest.approx(0.08, rel=0.05)


# Coverage


@pytest.mark.long
@pytest.mark.parametrize(("n", "share"), [(600, 0.05), (2000, 0.05), (1000, 0.3)])
def test_intervals_at_points_cover(n, share):
    rng, shift, hits = np.random.default_rng(0), 1.5, {}

    def shares(t):
        return share * norm.sf(t - shift), (1 - share) * norm.sf(t), share

    points = [
        ({"alert_rate": share}, brentq(lambda t: sum(shares(t)[:2]) - share, -9, 9)),
        ({"tpr": 0.5}, shift),
        ({"specificity": 0.9}, norm.isf(0.1)),
        ({"threshold": 1.0}, 1.0),
    ]
    for _ in range(1000):
        y = rng.random(n) < share
        s = rng.normal(size=n) + shift * y
        for at, t in points:
            for name in ("precision", "f1", "npv", "lr_positive", "lift"):
                found, truth = interval_at(y, s, name, at=at), METRICS[name].value(*shares(t))
                hits.setdefault((name, *at), []).append(found.low <= truth <= found.high)
    covered = {key: np.mean(value) for key, value in hits.items()}
    least = 0.93 if n * share >= 100 else 0.915
    assert all(least <= share <= 0.98 for share in covered.values()), covered


@pytest.mark.long
def test_comparisons_at_a_point_keep_their_level_and_find_what_power_says():
    rng, rejected, found = np.random.default_rng(0), [], []
    for _ in range(1000):
        y = rng.random(800) < 0.2
        common = rng.normal(size=800) + 1.5 * y
        a, b = (common + 0.5 * rng.normal(size=800) for _ in range(2))
        rejected.append(compare_at(y, a, b, "tpr", at={"specificity": 0.9}).pvalue < 0.05)
    assert 0.03 <= np.mean(rejected) <= 0.065
    for _ in range(600):
        y = np.arange(400) < 80
        noise = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=400)
        a, b = noise[:, 0] + 1.466 * y, noise[:, 1] + 1.19 * y
        found.append(compare_auc(y, a, b).pvalue < 0.05)
    expected = comparison_power(norm.cdf(1.466 / 2**0.5), norm.cdf(1.19 / 2**0.5), 80, 320, correlation=0.5)
    assert np.mean(found) == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("name", METRICS)
def test_many_thresholds_at_once_are_each_by_itself(name):
    y, s = rows(120, 0.3, digits=1)
    at = np.r_[-9.0, np.unique(s)[::7], 9.0]
    tp, fp = (np.array([(s > t)[of].sum() for t in at]) for of in (y, ~y))
    found = measure_counts(tp, fp, int(y.sum()), int((~y).sum()), METRICS[name], 0.95)
    sample = checked_sample("test", y, {"s": s})
    for k, t in enumerate(at):
        one = measure(sample, Cut.at(s, t), METRICS[name], level=0.95)
        np.testing.assert_allclose([each[k] for each in found], one[:3], rtol=1e-9, equal_nan=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_ratio_to_no_row_at_all_is_not_a_number(weighted):
    rng = np.random.default_rng(0)
    for n_pos in range(1, 12):  # of some shares, 1 - p - (1 - p) is not 0 in floating point
        y, s = np.arange(12) < n_pos, rng.normal(size=12)
        weight = rng.uniform(0.1, 3.0, 12) if weighted else None
        for name, none_left in (("npv", -9.0), ("lr_negative", -9.0), ("precision", 9.0), ("lr_positive", 9.0)):
            found = interval_at(y, s, name, at={"threshold": none_left}, sample_weight=weight)
            assert np.isnan(found.value) and found[1:3] == (0.0, np.inf if name.startswith("lr") else 1.0)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # of constant scores every row is flagged, and nothing is divided by
                interval_at(y, np.zeros(12), name, at={"tpr": 0.6}, sample_weight=weight)
        counts = np.array([n_pos]), np.array([12 - n_pos]), n_pos, 12 - n_pos
        assert np.isnan(measure_counts(*counts, METRICS["npv"], 0.95)[0])


def test_scores_that_are_all_alike_have_a_threshold_without_an_error_of_its_own():
    rng = np.random.default_rng(0)
    y, weight, groups = np.arange(60) % 4 == 0, rng.uniform(0.1, 3.0, 60), np.arange(60) // 3
    with pytest.warns(UserWarning, match="No threshold reaches"):
        rows = {"groups": groups, "sample_weight": weight, "n_bootstrap": 100}
        found = choose_threshold(y, np.zeros(60), min_precision=0.5, **rows)
    assert found.recall.se < 1e-9 and found.alert_rate.se < 1e-9 and found.precision.se > 0.01
    assert 0.1 < found.precision.low < found.precision.high < 0.5
