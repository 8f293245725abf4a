"""Concordance, Uno's C, AUC over time and mean AUC by group: equal to double loops; variances to derivatives."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_order as slow
from auclid.metrics import (
    auc_interval,
    auc_over_time,
    compare_concordance,
    concordance,
    concordance_interval,
    group_auc,
    roc_auc,
)

CASES = ("levels", "groups", "censored", "censored groups")


@st.composite
def ordered(draw):
    """Columns with many ties: y, s, event, groups, weight, of which a case uses some."""
    n = draw(st.integers(2, 40))
    few = draw(st.integers(1, 12))

    def column(low, high):
        return np.array(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), dtype=float)

    case = draw(st.sampled_from(CASES))
    y, s, weight = column(0, few), column(-3, 3), column(0, 3)
    event = column(0, 1) > 0 if "censored" in case else None
    groups = column(0, 2) if "groups" in case else None
    return y, s, event, groups, weight if draw(st.booleans()) else None


@settings(max_examples=300, deadline=None)
@given(ordered())
def test_concordance_is_the_double_loop(rows):
    y, s, event, groups, weight = rows
    expected = slow.concordance(y, s, event, groups, weight)
    if np.isnan(expected):
        with pytest.raises(ValueError, match="must"):
            concordance(y, s, event=event, groups=groups, sample_weight=weight)
    else:
        found = concordance(y, s, event=event, groups=groups, sample_weight=weight)
        assert found == pytest.approx(expected, abs=1e-12)


def many(seed, n=400):
    """More rows than the recursion forms pairs of one by one."""
    rng = np.random.default_rng(seed)
    time, event = np.round(rng.exponential(size=n), 2), rng.random(n) < 0.6
    return time, np.round(-time + rng.normal(size=n), 1), event, rng.integers(0, 5, n), rng.integers(0, 4, n) * 1.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
def test_many_rows(case, seed):
    y, s, event, groups, weight = many(seed)
    event, groups = event if "censored" in case else None, groups if "groups" in case else None
    found = concordance(y, s, event=event, groups=groups, sample_weight=weight)
    assert found == pytest.approx(slow.concordance(y, s, event, groups, weight), abs=1e-12)


def test_two_classes_are_the_auc():
    _, s, event, _, weight = many(5)
    assert concordance(event, s) == roc_auc(event, s)
    assert concordance(event, s, sample_weight=weight) == pytest.approx(roc_auc(event, s, sample_weight=weight))
    # The infinitesimal jackknife is DeLong's without n/(n - 1) of each class.
    delong, own = auc_interval(event, s).se, concordance_interval(event, s).se
    assert own == pytest.approx(delong, rel=0.01)
    assert own < delong


def derivative_error(statistic, weight):
    """The root of the sum over rows of (weight times the derivative by the weight of the row)², by differences."""
    terms = []
    for k in range(len(weight)):
        ends = []
        for step in (1e-4, -1e-4):
            moved = weight.copy()
            moved[k] *= 1.0 + step
            ends.append(statistic(moved))
        terms.append((ends[0] - ends[1]) / 2e-4)
    return float(np.sqrt(np.sum(np.square(terms)))), np.array(terms)


@pytest.mark.parametrize("case", [*CASES, "censored ipcw", "censored ipcw tau"])
def test_standard_error_is_the_derivative_by_the_weights(case):
    y, s, event, groups, _ = many(7, 120)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    options = {"event": event} if "censored" in case else {}
    if "groups" in case:
        options["groups"] = groups
    if "ipcw" in case:
        options["ipcw"] = True
    if "tau" in case:
        options["tau"] = 1.5
    se, terms = derivative_error(lambda w: concordance(y, s, sample_weight=w, **options), weight)
    assert concordance_interval(y, s, sample_weight=weight, **options).se == pytest.approx(se, rel=1e-4)
    clusters = np.arange(len(y)) // 3
    by_cluster = float(np.sqrt(np.sum(np.bincount(clusters, terms) ** 2)))
    clustered = concordance_interval(y, s, sample_weight=weight, clusters=clusters, **options)
    assert clustered.se == pytest.approx(by_cluster, rel=1e-4)


@pytest.mark.parametrize("coarse", [1, 2])
def test_groups_as_clusters_count_each_pair_once(coarse):
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(60), 8)
    y, s = rng.random(480) < 0.4, rng.normal(size=480)
    found = concordance_interval(y, s, groups=groups, clusters=groups // coarse)
    if coarse == 1:
        by_group = group_auc(y, s, groups, weight="pairs")
        assert found.concordance == pytest.approx(by_group.auc)
        assert found.se == pytest.approx(by_group.se, rel=0.02)
    repeats = []
    for _ in range(400):  # the bootstrap over clusters
        drawn = rng.integers(60 // coarse, size=60 // coarse)
        rows = np.concatenate([np.flatnonzero(groups // coarse == k) for k in drawn])
        copy = np.repeat(np.arange(len(drawn)), 8 * coarse) * 100 + groups[rows]
        repeats.append(concordance(y[rows], s[rows], groups=copy))
    assert found.se == pytest.approx(np.std(repeats), rel=0.15)


def test_comparison_speaks_of_concordances():
    y, s, event, _, _ = many(4)
    assert str(compare_concordance(y, s, -s, event=event)).startswith("difference of concordances ")


def test_uno_is_the_double_loop():
    time, s, event, groups, weight = many(2, 150)
    inverse = 1.0 / np.maximum(slow.censoring_before(time, event), 1e-12) ** 2
    expected = slow.concordance(time, s, event, None, None, inverse)
    assert concordance(time, s, event=event, ipcw=True) == pytest.approx(expected, abs=1e-10)
    inverse = np.where(time < 1.0, 1.0 / np.maximum(slow.censoring_before(time, event, weight), 1e-12) ** 2, 0.0)
    expected = slow.concordance(time, s, event, groups, weight, inverse)
    found = concordance(time, s, event=event, groups=groups, sample_weight=weight, ipcw=True, tau=1.0)
    assert found == pytest.approx(expected, abs=1e-10)


def test_uno_with_censoring_of_other_rows():
    time, s, event, _, _ = many(2, 150)
    train = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    own = concordance(time, s, event=event, ipcw=True)
    assert concordance(time, s, event=event, ipcw=True, train=train) == own
    frame = pd.DataFrame({"time": time, "event": event})
    assert concordance(time, s, event=event, ipcw=True, train=frame) == own


def test_auc_over_time_is_the_double_loop():
    time, s, event, _, weight = many(4, 150)
    weight += 0.5
    found = auc_over_time(time, s, event, [0.3, 1.0, 1.7], sample_weight=weight)
    for k, t in enumerate(found.times):
        assert found.auc[k] == pytest.approx(slow.auc_at(time, s, event, t, weight), abs=1e-10)
        se, _ = derivative_error(lambda w, t=t: auc_over_time(time, s, event, [t], sample_weight=w).auc[0], weight)
        assert found.se[k] == pytest.approx(se, rel=1e-4)
    assert (found.low < found.auc).all() and (found.auc < found.high).all()


def test_auc_over_time_chooses_times():
    time, s, event, _, _ = many(4)
    found = auc_over_time(time, s, event)
    assert len(found.times) == 10 and (np.diff(found.times) > 0).all()


def test_compare_concordance():
    y, a, event, groups, weight = many(3)
    b = a + np.random.default_rng(0).normal(size=len(a))
    options = {"event": event, "groups": groups, "sample_weight": weight}
    found = compare_concordance(y, a, b, **options)
    expected = concordance(y, a, **options) - concordance(y, b, **options)
    assert found.difference == pytest.approx(expected, abs=1e-14)
    assert found.low < found.difference < found.high
    assert 0.0 <= found.pvalue <= 1.0
    assert compare_concordance(y, a, 3.0 * a, **options).pvalue == 1.0
    opposite = compare_concordance(y, b, a, **options)
    assert (opposite.difference, opposite.pvalue) == (-found.difference, found.pvalue)


@pytest.mark.parametrize("weight", ["size", "pairs", "equal"])
def test_group_auc(weight):
    _, s, event, groups, _ = many(6)
    event = event & (groups != 4)  # a group of one class is left out
    aucs, share = [], []
    for g in range(4):
        at = groups == g
        aucs.append(roc_auc(event[at], s[at]))
        share.append({"size": at.sum(), "pairs": event[at].sum() * (~event[at]).sum(), "equal": 1}[weight])
    found = group_auc(event, s, groups, weight=weight)
    mean = np.average(aucs, weights=share)
    assert found.auc == pytest.approx(mean, abs=1e-12)
    share = np.array(share) / np.sum(share)
    assert found.se == pytest.approx(np.sqrt(4 / 3 * np.sum(share**2 * (aucs - mean) ** 2)))
    assert found.low < found.auc < found.high
    if weight == "pairs":
        assert found.auc == pytest.approx(concordance(event, s, groups=groups), abs=1e-12)


def test_ordered_categorical():
    levels = pd.Categorical(["low", "high", "mid", "low"], categories=["low", "mid", "high"], ordered=True)
    assert concordance(levels, [0.0, 3.0, 2.0, 1.0]) == 1.0
    assert concordance(pd.Series(levels), [0.0, 3.0, 2.0, 1.0]) == 1.0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: concordance([1, 1, 1], [1, 2, 3]), "two levels or more.*one level"),
        (lambda: concordance([1, 2, 1], [1, 2, 3], groups=[0, 1, 0]), "two levels or more within a group"),
        (lambda: concordance(["a", "b"], [1, 2]), "ordered categorical"),
        (lambda: concordance([1, -2.0], [1, 2], event=[1, 1]), r"times in \[0.0, inf\).*Got -2.0"),
        (lambda: concordance([1, 2.0], [1, 2], event=[0, 0]), "an event before the time of another row"),
        (lambda: concordance([1, 2.0], [1, 2], event=[0, 2]), "be True, or 1"),
        (lambda: concordance([1, 2.0], [1, np.nan]), "NaN"),
        (lambda: concordance([1, 2.0], [1, 2], ipcw=True), "'event' parameter"),
        (lambda: concordance([1, 2.0], [1, 2, 3]), "one length"),
        (lambda: auc_over_time([1, 2.0], [1, 2], [0, 0]), "at least one event. Got censored times only"),
        (lambda: concordance([1, 2.0], [1, 2], event=[1, 0], train=[1]), "come with ipcw=True. Got ipcw=False"),
        (lambda: concordance([1, 2.0], [1, 2], sample_weight=[1.0]), "Got 2 rows in y, 1 in sample_weight"),
        (lambda: auc_over_time([1, 2.0, 3], [1, 2, 3], [1, 1, 0], [9.0]), "between the first event and the last time"),
        (lambda: group_auc([0, 1], [1, 2], [0, 1]), "both classes in some group. Got one class in each"),
        (lambda: group_auc([0, 1], [1, 2], [0, 0], weight="rows"), "one of"),
    ],
)
def test_bad_input_is_said_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_dask_columns_are_gathered():
    da = pytest.importorskip("dask.array")
    y, s, event, groups, weight = many(8)
    lazy = [da.from_array(each, chunks=97) for each in (y, s, event, groups, weight)]
    names = ("event", "groups", "sample_weight")
    found = concordance_interval(*lazy[:2], **dict(zip(names, lazy[2:], strict=True)))
    assert found == concordance_interval(y, s, event=event, groups=groups, sample_weight=weight)


@pytest.mark.long
@pytest.mark.parametrize("censored", [False, True])
def test_intervals_cover(censored):
    """95 % intervals cover 93 to 97 % from 50 events on."""
    rng, covered, true, trials = np.random.default_rng(0), 0, 0.0, 1500

    def draw(n):
        s = rng.normal(size=n)
        time, end = rng.exponential(size=n) * np.exp(-s), rng.exponential(size=n) * 1.5
        return np.minimum(time, end), time <= end, s

    options = (lambda event: {"event": event}) if censored else (lambda event: {})
    time, event, s = draw(400_000)
    true = concordance(time, s if censored else -s, **options(event))
    for _ in range(trials):
        time, event, s = draw(90 if censored else 50)
        found = concordance_interval(time, s if censored else -s, **options(event))
        covered += found.low <= true <= found.high
    assert 0.93 <= covered / trials <= 0.97


# What R 4.2.2 with survival 3.5.3 prints for the rows below: concordance and standard error.
R_FACTS = {
    "levels": (0.344386271088, 0.038646748634),
    "levels weight": (0.330102516309, 0.041388882765),
    "levels groups": (0.324561403509, 0.038927343253),
    "event": (0.652906486942, 0.049699647011),
    "event weight": (0.691052488442, 0.045643969203),
    "event groups": (0.683116883117, 0.048877040824),
    "event clusters": (0.652906486942, 0.051720487302),
    "event ipcw": (0.613837173365, None),  # R takes the censoring distribution as known
    "two": (0.521990740741, 0.074918602910),
}
R_DIFFERENCE = (0.016006739680, 0.020496558744)


def r_rows():
    k = np.arange(60)
    time, event = (k * 37) % 23 + 1.0, (k * 7) % 5 < 3
    return k, time, event, ((k * 53) % 31) / 4.0 - time / 6.0


@pytest.mark.parametrize("case", R_FACTS)
def test_equal_to_r(case):
    k, time, event, s = r_rows()
    parts = {"event": event, "groups": (k * 11) % 3, "clusters": k // 4, "ipcw": True}
    options = {name: value for name, value in parts.items() if name in case}
    if "weight" in case:
        options["sample_weight"] = 1.0 + (k * 3) % 4
    found = concordance_interval(event if case == "two" else time, s, **options)
    value, se = R_FACTS[case]
    assert found.concordance == pytest.approx(value, abs=1e-11)
    assert se is None or found.se == pytest.approx(se, abs=1e-11)


def test_difference_equal_to_r():
    k, time, event, s = r_rows()
    found = compare_concordance(time, s, s + ((k + 1) % 7) / 2.0, event=event)
    assert found.difference == pytest.approx(R_DIFFERENCE[0], abs=1e-11)
    assert (found.high - found.low) / 2.0 == pytest.approx(1.959963984540054 * R_DIFFERENCE[1], abs=1e-11)
