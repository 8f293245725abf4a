"""auclid.metrics against slow definitions, scikit-learn and laws."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit
from scipy.stats import norm
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score

import reference_metrics as reference
from auclid import _sizes
from auclid.metrics import (
    StreamingAUC,
    auc_interval,
    average_precision,
    compare_auc,
    operating_point,
    partial_auc,
    roc_auc,
)
from auclid.metrics._auc import auc_from_parts, auc_of_two
from auclid.metrics._cells import Cells
from auclid.metrics._operating_point import best_threshold
from auclid.metrics._places import TOGETHER, in_order, sum_twice_below, twice_below

SCORES = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(allow_nan=False, width=64),
    st.floats(-1.0, 1.0, width=32),
    st.sampled_from(
        [0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 1e308, -1e308, 1.0, np.nextafter(1.0, 2.0)]
    ),
)


FINITE = SCORES.filter(np.isfinite)
"""Of functions that tell how sure they are."""


@st.composite
def tables(draw, low=1, most=30, scores=SCORES):
    """Labels with at least `low` rows of each class, and scores."""
    pos = draw(st.lists(scores, min_size=low, max_size=most))
    neg = draw(st.lists(scores, min_size=low, max_size=most))
    order = draw(st.permutations(range(len(pos) + len(neg))))
    is_pos = np.arange(len(order)) < len(pos)
    return is_pos[order], np.array(pos + neg)[order]


def normal_table(n, share, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    is_pos = rng.random(n) < share
    return is_pos, (rng.normal(size=n) + is_pos).astype(dtype)


SHAPES = {
    "normal": lambda s: s,
    "float32": lambda s: s.astype(np.float32),
    "ties": lambda s: np.round(s, 1),
    "two digits": lambda s: np.round(s, 3),
    "heavy tails": lambda s: s**7,
    "one side": lambda s: np.exp(20 * s),
    "tiny": lambda s: s * 1e-310,
    "huge": lambda s: s * 3e307,
    "shifted": lambda s: 1e9 + s,
    "an outlier": lambda s: np.where(np.arange(len(s)) == 7, 1e300, s),
    "infinities": lambda s: np.where(s > 2, np.inf, np.where(s < -2, -np.inf, s)),
    "mostly one value": lambda s: np.where(np.abs(s) < 1.5, 0.25, s),
    "constant": lambda s: np.full_like(s, 0.3),
}


# roc_auc


@given(tables())
@settings(max_examples=150, deadline=None)
def test_auc_is_the_mean_over_pairs(table):
    is_pos, score = table
    assert roc_auc_quietly(is_pos, score) == pytest.approx(reference.auc(is_pos, score), abs=1e-14)


@given(tables(), st.data())
@settings(max_examples=100, deadline=None)
def test_weighted_auc_is_the_weighted_mean_over_pairs(table, data):
    is_pos, score = table
    n = len(score)
    weights = st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e10])
    weight = np.array(data.draw(st.lists(weights, min_size=n, max_size=n)))
    if not (weight[is_pos].any() and weight[~is_pos].any()):
        with pytest.warns(UndefinedMetricWarning):
            assert np.isnan(roc_auc(is_pos, score, sample_weight=weight))
        return
    got = roc_auc_quietly(is_pos, score, sample_weight=weight)
    assert got == pytest.approx(reference.auc(is_pos, score, weight), abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.03, 0.5, 0.97])
def test_large_auc_equals_all_pairs_and_scikit_learn(shape, share):
    is_pos, score = normal_table(6000, share)
    with np.errstate(over="ignore"):
        score = SHAPES[shape](score)
    want = reference.wins(score[is_pos], score[~is_pos]).mean()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no overflow or cast may be noisy
        got = auc_from_parts(is_pos, score)
    assert got == pytest.approx(want, abs=1e-13)
    if float(np.abs(score).max()) < 1e300:
        assert got == pytest.approx(roc_auc_score(is_pos, score), abs=1e-12)
    assert auc_from_parts(is_pos, score, np.full(len(score), 2.0)) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_table_of_cells_counts_what_sorting_counts(shape):
    is_pos, score = normal_table(20_000, 0.1, seed=1)
    with np.errstate(over="ignore"):
        score = SHAPES[shape](score)
    few, many = np.sort(score[is_pos]), score[~is_pos]
    many[::50] = few[: len(many[::50])]  # ties
    many[:2] = np.inf, -np.inf
    with np.errstate(over="ignore"):
        pairs = [(few.astype(dtype), many.astype(dtype)) for dtype in (np.float64, np.float32)]
    for ranked, others in pairs:
        twice = np.searchsorted(ranked, others, side="left") + np.searchsorted(ranked, others, side="right")
        np.testing.assert_array_equal(twice_below(ranked, others), twice)
        assert sum_twice_below(ranked, others) == twice.sum()


@given(st.lists(SCORES, min_size=2, max_size=50), st.lists(SCORES, max_size=50), st.integers(2, 1000))
@settings(max_examples=200, deadline=None)
def test_cells_rise_with_the_score(some, others, count):
    cells = Cells.over(np.sort(np.array(some)), count)
    if cells is not None:
        cell = cells(np.sort(np.array(some + others)))
        assert np.all(np.diff(cell) >= 0)
        assert cell[0] >= 0 and cell[-1] < cells.size


def test_cells_spread_ordinary_scores():
    ranked = np.sort(normal_table(10_000, 0.5)[1])
    for power in (1, 3):
        cells = Cells.over(ranked**power, 16 * len(ranked))
        assert len(np.unique(cells(ranked**power))) > 0.7 * len(ranked)


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 0, 1, 1],
        [-1, 1, -1, 1, 1],
        [False, True, False, True, True],
        ["no", "yes", "no", "yes", "yes"],
        np.array(["a", "b", "a", "b", "b"], dtype=object),
        np.array([1, 2, 1, 2, 2], dtype=np.uint8),
        np.array([0.5, 2.5, 0.5, 2.5, 2.5]),
        pd.Series(["x", "y", "x", "y", "y"], dtype="category"),
        pl.Series([0, 1, 0, 1, 1]),
        np.array([[0], [1], [0], [1], [1]]),
    ],
)
@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
def test_any_two_labels_and_any_container(y, kind):
    keywords = {"pos_label": y[1]} if isinstance(y[1], str) else {}
    assert roc_auc(y, kind([0.1, 0.4, 0.4, 0.8, 0.0]), **keywords) == pytest.approx(3.5 / 6)


def test_pos_label_chooses_the_class():
    y, s = ["a", "b", "a"], [1, 2, 3]
    assert roc_auc(y, s, pos_label="a") == 0.5 and roc_auc([0, 1, 1], [1, 2, 3], pos_label=0) == 0.0
    assert roc_auc([True, False], [1, 0], pos_label=False) == 0.0
    with pytest.raises(ValueError, match="'pos_label' parameter of roc_auc must be one of the labels a"):
        roc_auc(y, s, pos_label="c")


def test_read_only_integer_and_float32_scores():
    y, s = np.array([0, 1, 0, 1]), np.array([1, 3, 2, 2])
    y.flags.writeable = s.flags.writeable = False
    assert roc_auc(y, s) == roc_auc(y, s.astype(np.float32)) == roc_auc(y, s.astype(">f8")) == 0.875


@pytest.mark.parametrize("y", [[1, 1, 1], ["a", "a", "a"], [0.0, 0.0, 0.0]])
def test_one_class_gives_nan_and_a_warning(y):
    with pytest.warns(UndefinedMetricWarning, match="both classes"):
        assert np.isnan(roc_auc(y, [1, 2, 3]))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(partial_auc(y, [1, 2, 3], max_fpr=0.1))


def test_predicted_labels_are_noticed():
    y = np.arange(40) % 2
    with pytest.warns(UserWarning, match="decision_function"):
        roc_auc(y, y)
    with pytest.warns(UserWarning, match="decision_function"):
        roc_auc(y, np.zeros(40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        roc_auc(y[:20], y[:20])
        roc_auc(y, y + 0.1 * (np.arange(40) == 3))
        late = np.zeros(400)
        late[300:302] = 1, 2
        roc_auc(np.arange(400) % 2, late)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (([0, 1], [0.1, np.nan]), "'y_score' parameter of roc_auc .* Got NaN in 1 of 2 rows"),
        (([0, 1, 2], [1, 2, 3]), "two labels. Got 3 instead: 0, 1, 2"),
        (([0, 1, np.nan], [1, 2, 3]), "must have a label in each row. Got a missing one in 1 of 3 rows instead"),
        ((["a", None, "b"], [1, 2, 3]), "must have a label in each row. Got a missing one in 1 of 3 rows instead"),
        ((np.array([0, "a", "b"], dtype=object), [1, 2, 3]), "labels of one kind.* Got int and str instead"),
        (([0, 1], [1, 2, 3]), "Got 2 rows in y_true, 3 in y_score instead"),
        (([0, 1], [[1, 2], [3, 4]]), r"Got shape \(2, 2\) instead. Pass one column"),
        (([0, 1], ["1", "2"]), "array of real numbers"),
        (([0, 1], [1 + 1j, 2]), "array of real numbers"),
        (([], []), "at least one row"),
        ((1, 2), r"Got shape \(\) instead"),
    ],
)
def test_bad_input_is_named(args, words):
    with pytest.raises(ValueError, match=words):
        roc_auc(*args)


@pytest.mark.parametrize("weight", [[-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0], [1.0]])
def test_bad_weights_are_refused(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        roc_auc([0, 1], [0, 1], sample_weight=weight)


def test_rows_of_weight_zero_count_for_nothing():
    got = roc_auc([0, 1, 0, 1, 2], [1, 2, 3, 4, 0], sample_weight=[1, 1, 1, 1, 0])
    assert got == roc_auc([0, 1, 0, 1], [1, 2, 3, 4]) == 0.75


def test_auc_of_two_and_parts_agree_and_leave_their_input_alone():
    is_pos, score = normal_table(5000, 0.2)
    pos, neg = score[is_pos], score[~is_pos]
    before = pos.copy(), neg.copy(), score.copy()
    assert auc_of_two(pos, neg) == auc_from_parts(is_pos, score) == 1.0 - auc_of_two(neg, pos)
    assert all(np.array_equal(a, b) for a, b in zip(before, (pos, neg, score), strict=True))
    assert np.isnan(auc_of_two(pos, neg[:0]))


# partial_auc


@given(tables())
@settings(max_examples=80, deadline=None)
def test_whole_square_is_the_auc(table):
    assert partial_auc(*table) == pytest.approx(roc_auc_quietly(*table), abs=1e-12)


@pytest.mark.parametrize("digits", [1, 8])
@pytest.mark.parametrize("max_fpr", [1e-4, 0.05, 0.1, 1 / 3, 0.5, 0.999, 1.0])
def test_one_way_is_scikit_learns_max_fpr(digits, max_fpr):
    is_pos, score = normal_table(300, 0.3, seed=digits)
    score = np.round(score, digits)
    assert partial_auc(is_pos, score, max_fpr=max_fpr) == pytest.approx(
        roc_auc_score(is_pos, score, max_fpr=max_fpr), abs=1e-12
    )


@pytest.mark.parametrize("digits", [0, 1, 8])
@pytest.mark.parametrize(
    ("max_fpr", "min_tpr"), [(0.3, 0.5), (0.5, 0.3), (0.05, 0.0), (1.0, 0.9), (0.25, 0.25)]
)
def test_two_way_is_the_integral(digits, max_fpr, min_tpr):
    is_pos, score = normal_table(120, 0.4, seed=digits)
    score = np.round(score, digits)
    got = partial_auc(is_pos, score, max_fpr=max_fpr, min_tpr=min_tpr, standardize=False)
    assert got == pytest.approx(reference.partial_area(is_pos, score, max_fpr, min_tpr), abs=2e-6)


@pytest.mark.parametrize(("max_fpr", "min_tpr"), [(0.3, 0.5), (0.5, 0.3), (1.0, 0.9), (0.25, 0.25)])
def test_standardised_chance_is_half_and_perfection_one(max_fpr, min_tpr):
    y = np.arange(100) % 2
    region = {"max_fpr": max_fpr, "min_tpr": min_tpr}
    assert partial_auc(y, y, **region) == pytest.approx(1.0)
    assert partial_auc(y, np.zeros(100), **region) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "region", [{"max_fpr": 0.0}, {"max_fpr": 1.1}, {"min_tpr": 1.0}, {"min_tpr": -0.1}, {"max_fpr": "a"}]
)
def test_regions_outside_the_square_are_refused(region):
    with pytest.raises(ValueError, match=r"parameter of partial_auc must be a float in"):
        partial_auc([0, 1], [0, 1], **region)


# DeLong


@given(tables(low=2, scores=FINITE))
@settings(max_examples=80, deadline=None)
def test_standard_error_is_delongs(table):
    is_pos, score = table
    got = auc_interval(is_pos, score)
    assert got.auc == pytest.approx(reference.auc(is_pos, score), abs=1e-14)
    assert got.se == pytest.approx(np.sqrt(reference.delong_covariance(is_pos, score)[0, 0]), abs=1e-12)
    assert 0.0 <= got.low <= got.auc <= got.high <= 1.0 and got.low < got.high


@given(tables(low=2, scores=FINITE), st.data())
@settings(max_examples=80, deadline=None)
def test_comparison_is_delongs(table, data):
    is_pos, a = table
    b = np.array(data.draw(st.lists(FINITE, min_size=len(a), max_size=len(a))))
    cov = reference.delong_covariance(is_pos, a, b)
    got = compare_auc(is_pos, a, b, level=0.9)
    assert got.difference == pytest.approx(reference.auc(is_pos, a) - reference.auc(is_pos, b), abs=1e-14)
    se = np.sqrt(max(cov[0, 0] + cov[1, 1] - 2.0 * cov[0, 1], 0.0))
    if se > 1e-6:
        assert got.high - got.low == pytest.approx(2 * stdtrit(got.df, 0.95) * se, rel=1e-6)
    mirrored = compare_auc(is_pos, b, a, level=0.9)
    assert mirrored == pytest.approx((-got.difference, -got.high, -got.low, got.pvalue))
    assert 0.0 <= got.pvalue <= 1.0


def test_delong_agrees_with_a_bootstrap():
    is_pos, a = normal_table(400, 0.3, seed=5)
    b = a + np.random.default_rng(6).normal(size=len(a))
    rng = np.random.default_rng(7)
    pos, neg = np.flatnonzero(is_pos), np.flatnonzero(~is_pos)
    draws = []
    for _ in range(2000):
        p, n = rng.choice(pos, len(pos)), rng.choice(neg, len(neg))
        draws.append((auc_of_two(a[p], a[n]), auc_of_two(b[p], b[n])))
    draws = np.array(draws)
    interval = auc_interval(is_pos, a)
    assert interval.se == pytest.approx(draws[:, 0].std(), rel=0.08)
    assert [interval.low, interval.high] == pytest.approx(np.quantile(draws[:, 0], [0.025, 0.975]), abs=0.006)
    gap = compare_auc(is_pos, a, b)
    se = (gap.high - gap.low) / (2 * 1.959963984540054)
    assert se == pytest.approx((draws[:, 0] - draws[:, 1]).std(), rel=0.08)
    assert gap.low > 0.0 and gap.pvalue == pytest.approx(2 * norm.sf(gap.difference / se))


def test_intervals_cover_and_p_values_are_uniform_under_no_difference():
    rng = np.random.default_rng(8)
    covered, pvalues = [], []
    for _ in range(400):
        is_pos = np.arange(150) < 50
        common = rng.normal(size=150) + is_pos
        a, b = common + rng.normal(size=150), common + rng.normal(size=150)
        truth = 0.6914624612740131  # Phi(1 / 2): a gap of 1 between classes of deviation sqrt(2) each
        got = auc_interval(is_pos, a, level=0.9)
        covered.append(got.low <= truth <= got.high)
        pvalues.append(compare_auc(is_pos, a, b).pvalue)
    assert 0.86 <= np.mean(covered) <= 0.94
    assert 0.02 <= np.mean(np.array(pvalues) < 0.05) <= 0.08
    assert 0.43 <= np.mean(pvalues) <= 0.57


def test_interval_of_a_perfect_ranking():
    y, s = np.arange(20) >= 15, np.arange(20)
    auc, low, high, se = auc_interval(y, s)
    assert (auc, high, se) == (1.0, 1.0, 0.0) and low == pytest.approx(0.025 ** (1 / 5))
    assert auc_interval(y, -s)[:3] == pytest.approx((0.0, 0.0, 1.0 - low))
    auc, low, high, se = auc_interval(y, np.zeros(20))
    assert auc == 0.5 and low < 0.5 < high and low == pytest.approx(1.0 - high)


def test_comparison_without_variance():
    y, s = np.arange(20) >= 15, np.arange(20)
    assert compare_auc(y, s, s) == (0.0, 0.0, 0.0, 1.0)
    assert compare_auc(y, s, np.exp(s / 7.0)) == (0.0, 0.0, 0.0, 1.0)
    difference, low, high, pvalue = compare_auc(y, s, -s)
    assert difference == 1.0 and -0.1 < low < 0.0 and high == pytest.approx(1.0) and pvalue == 2.0**-4
    assert compare_auc(y, s, np.zeros(20)).difference == 0.5


@pytest.mark.parametrize("measure", [auc_interval, lambda y, s: compare_auc(y, s, s)])
def test_a_variance_needs_two_rows_a_class(measure):
    with pytest.raises(ValueError, match=r"at least 2 rows of each class.* Got 1 positive and 2 negative"):
        measure([0, 0, 1], [1, 2, 3])


def test_level_is_checked():
    with pytest.raises(ValueError, match=r"'level' parameter of auc_interval .* \(0.0, 1.0\). Got 95"):
        auc_interval([0, 0, 1, 1], [1, 2, 3, 4], level=95)


# operating_point


def check_best(is_pos, score, criterion, cost_ratio=1.0, weight=None):
    """The threshold is finite, and its set of rows the smallest of the best sets."""
    threshold = best_threshold(is_pos, score, weight, criterion, cost_ratio)
    assert np.isfinite(threshold) and float(score.dtype.type(threshold)) == threshold
    if weight is not None:
        is_pos, score, weight = is_pos[weight > 0], score[weight > 0], weight[weight > 0]
    chosen = score > score.dtype.type(threshold)
    got = reference.criterion_value(is_pos, score, threshold, criterion, cost_ratio, weight)
    for rows in reference.predicted_sets(score):
        other = reference.criterion_value(is_pos, rows.astype(float), 0.5, criterion, cost_ratio, weight)
        assert other <= got + 1e-9 * max(1.0, abs(got))
        if weight is None and other >= got - 1e-12 and cost_ratio == 1.0:
            assert rows.sum() >= chosen.sum()
    return threshold


@given(tables(), st.sampled_from(["youden", "accuracy"]), st.sampled_from([1.0, 0.2, 7.5]))
@settings(max_examples=200, deadline=None)
def test_operating_point_is_the_best(table, criterion, cost_ratio):
    is_pos, score = table
    score = np.where(np.abs(score) == np.finfo(np.float64).max, 1e308, score)
    threshold = check_best(is_pos, score, criterion, cost_ratio)
    point = operating_point(is_pos, score, criterion=criterion, cost_ratio=cost_ratio)
    above = score > threshold
    assert point == (threshold, above[is_pos].mean(), above[~is_pos].mean())


@given(tables(low=2), st.sampled_from(["youden", "accuracy"]), st.data())
@settings(max_examples=100, deadline=None)
def test_weighted_threshold_ignores_rows_of_weight_zero(table, criterion, data):
    is_pos, score = table
    n = len(score)
    weight = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 4.0]), min_size=n, max_size=n)))
    weight[np.flatnonzero(is_pos)[0]] = weight[np.flatnonzero(~is_pos)[0]] = 1.0
    score = np.clip(score, -1e300, 1e300)
    threshold = check_best(is_pos, score, criterion, weight=weight)
    keep = weight > 0
    assert threshold == best_threshold(is_pos[keep], score[keep], weight[keep], criterion)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("criterion", ["youden", "accuracy"])
@pytest.mark.parametrize("share", [0.02, 0.6])
def test_cells_find_the_threshold_sorting_finds(shape, criterion, share, monkeypatch):
    is_pos, score = normal_table(30_000, share, seed=3)
    with np.errstate(over="ignore"):
        score = SHAPES[shape](score)
    weight = np.random.default_rng(4).integers(0, 4, len(score)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = [best_threshold(is_pos, score, w, criterion) for w in (None, weight)]
    monkeypatch.setattr("auclid._sizes.MAX_SORTED_SCORES", 1 << 62)
    assert fast == [best_threshold(is_pos, score, w, criterion) for w in (None, weight)]


@given(tables(), st.sampled_from(["youden", "accuracy"]), st.data())
@settings(max_examples=60, deadline=None)
def test_whole_weights_are_repeated_rows_to_the_bit(table, criterion, data):
    is_pos, score = table
    weight = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(score), max_size=len(score))))
    repeated = best_threshold(np.repeat(is_pos, weight), np.repeat(score, weight), None, criterion)
    assert best_threshold(is_pos, score, weight.astype(float), criterion) == repeated


def test_few_rows_are_sorted_when_there_are_cells(monkeypatch):
    from auclid.metrics import _operating_point

    sizes = []
    real = _operating_point.masses
    monkeypatch.setattr(_operating_point, "masses", lambda *rows: sizes.append(len(rows[0])) or real(*rows))
    best_threshold(*normal_table(200_000, 0.1))
    assert sizes[0] < 20_000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_floats_are_separated(dtype):
    for a in np.array([1.0, -1.0, 1e-44, 3e38, 0.0, 5.0], dtype):
        b = np.nextafter(a, dtype(np.inf))
        threshold, tpr, fpr = operating_point([0, 1], np.array([a, b]))
        assert (tpr, fpr) == (1.0, 0.0) and a <= threshold < b


def test_thresholds_are_midway_or_just_outside():
    assert operating_point([0, 1, 1], [1.0, 2.0, 4.0]).threshold == 1.5
    nobody = operating_point([1, 0, 0, 0], [1.0, 2.0, 3.0, 4.0], criterion="accuracy")
    assert 4.0 < nobody.threshold < 4.1 and nobody.tpr == nobody.fpr == 0.0
    everybody = operating_point([1, 1, 1, 0], [1.0, 2.0, 3.0, 4.0], criterion="accuracy")
    assert 0.9 < everybody.threshold < 1.0 and everybody.tpr == everybody.fpr == 1.0
    assert operating_point([0, 1], [-1.5e308, 1.7e308]).threshold == pytest.approx(1e307)
    assert operating_point([0, 1], [-np.inf, np.inf]) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    "bad", [{"criterion": "f1"}, {"cost_ratio": 0.0}, {"cost_ratio": np.inf}, {"cost_ratio": None}]
)
def test_operating_point_refuses(bad):
    with pytest.raises(ValueError, match="parameter of operating_point must be"):
        operating_point([0, 1], [0.0, 1.0], **bad)


def test_operating_point_needs_both_classes():
    with pytest.raises(ValueError, match="both classes"):
        operating_point([1, 1], [0.0, 1.0])


# StreamingAUC


def check_bounds(sketch, y, s, widest=1.0):
    """[low, high] holds the AUC and the sketch is within its capacity."""
    auc, low, high = sketch.result()
    exact = auc_of_two(s[y == 1], s[y != 1])
    assert 0.0 <= low <= exact <= high <= 1.0 and low <= auc <= high
    assert high - low <= widest
    assert len(sketch._bins.lo) <= sketch.capacity
    return high - low


@given(st.lists(tables(low=0), min_size=1, max_size=5), st.integers(16, 40), st.randoms())
@settings(max_examples=150, deadline=None)
def test_bounds_hold_after_any_updates_and_merges(batches, capacity, random):
    sketches = [StreamingAUC(capacity=capacity)]
    for is_pos, score in batches:
        if random.random() < 0.4:
            sketches.append(StreamingAUC(capacity=capacity))
        sketches[-1].update(is_pos, score)
    while len(sketches) > 1:
        sketches.append(sketches.pop(0) + sketches.pop(0))
    y, s = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    if 0 < y.sum() < len(y):
        width = check_bounds(sketches[0], y, s)
        if len(set(s)) <= capacity:
            assert width == 0.0
            assert sketches[0].result().auc == auc_of_two(s[y], s[~y])
    else:
        assert np.isnan(sketches[0].result()).all()


AFFINE = {
    "as is": (1.0, 0.0),
    "tiny": (1e-9, 0.0),
    "huge": (1e9, 0.0),
    "shifted": (1e-3, 1e3),
    "mirrored": (-1.0, 5.0),
}


@pytest.mark.parametrize("map_", AFFINE)
@pytest.mark.parametrize("order", ["mixed", "negatives first", "rising"])
def test_bounds_are_tight_at_any_scale_and_in_any_order(map_, order):
    is_pos, score = normal_table(50_000, 0.05, seed=9)
    scale, shift = AFFINE[map_]
    score = score * scale + shift
    row = {"mixed": slice(None), "negatives first": np.argsort(is_pos), "rising": np.argsort(score)}[order]
    y, s = is_pos[row], score[row]
    sketch = StreamingAUC(capacity=1024)
    for part in np.array_split(np.arange(len(s)), 7):
        sketch.update(y[part], s[part])
    check_bounds(sketch, y, s, widest=6.0 / 1024)


@pytest.mark.parametrize("spread", [0.0, 0.5, 30.0])
def test_merging_many_sketches_stays_tight(spread):
    total, ys, ss = StreamingAUC(capacity=512), [], []
    for seed in range(20):
        is_pos, score = normal_table(3000, 0.1, seed=seed)
        ys.append(is_pos)
        ss.append(score + spread * (seed % 3))
        total = total + StreamingAUC(capacity=512).update(ys[-1], ss[-1])
    check_bounds(total, np.concatenate(ys), np.concatenate(ss), widest=6.0 / 512)


def test_adding_leaves_both_alone_and_does_not_ask_for_order():
    parts = [StreamingAUC(capacity=64).update(*normal_table(1000, 0.3, seed=k)) for k in range(2)]
    before = [part.result() for part in parts]
    assert (parts[0] + parts[1]).result() == (parts[1] + parts[0]).result()
    assert [part.result() for part in parts] == before
    assert (parts[0] + StreamingAUC(capacity=64)).result() == before[0]


def test_rows_one_at_a_time_are_exact_and_pickle():
    is_pos, score = normal_table(300, 0.3)
    sketch = StreamingAUC()
    for y, s in zip(is_pos, score, strict=True):
        sketch.update([y], [s])
    sketch.update([], [])
    auc = roc_auc(is_pos, score)
    assert sketch.result() == pickle.loads(pickle.dumps(sketch)).result() == (auc, auc, auc)
    assert np.isnan(StreamingAUC().update([1], [0.5]).result().auc)


def test_memory_is_fixed():
    sketch = StreamingAUC(capacity=256)
    sizes = []
    for seed in range(6):
        sizes.append(len(pickle.dumps(sketch.update(*normal_table(20_000, 0.2, seed=seed)))))
    assert max(sizes) < 256 * 64


def test_more_pairs_than_an_int64_holds():
    sketch = StreamingAUC().update([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0])
    huge = np.int64(1 << 40)
    sketch._bins = sketch._merged()._replace(pos=sketch._bins.pos * huge, neg=sketch._bins.neg * huge)
    assert sketch.result() == (0.875, 0.875, 0.875)
    huge_weight = np.full(4, 1e150)
    assert roc_auc([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0], sample_weight=huge_weight) == pytest.approx(0.875)


def test_labels_of_a_stream():
    assert StreamingAUC().update([-1, 1], [0, 1]).result().auc == 1.0
    assert StreamingAUC(pos_label="bad").update(["bad", "good"], [0, 1]).result().auc == 0.0
    with pytest.raises(ValueError, match="Got both -1 and 0 beside it"):
        StreamingAUC().update([-1, 1], [0, 1]).update([0], [0])
    with pytest.raises(ValueError, match="Got both 0 and 2 beside it"):
        StreamingAUC().update([0, 1, 2], [0, 1, 2])
    with pytest.raises(ValueError, match="Got both -1 and 0 beside it"):
        StreamingAUC().update([-1], [0]) + StreamingAUC().update([0], [0])


def test_a_refused_batch_leaves_the_stream_as_it_was():
    sketch = StreamingAUC().update([1, 0], [1.0, 0.0])
    for y, s in (([0, 1, 2], [0, 1, 2]), ([0, 1], [0.0]), ([0, 1], [np.nan, 0.0])):
        with pytest.raises(ValueError, match="StreamingAUC"):
            sketch.update(y, s)
    fresh = StreamingAUC()
    with pytest.raises(ValueError, match="Got both"):
        fresh.update([5, 6], [0, 1])
    assert fresh.update([0, 1], [0, 1]).result() == sketch.result() == (1.0, 1.0, 1.0)


def test_unlike_sketches_are_not_added():
    with pytest.raises(ValueError, match="same pos_label and capacity"):
        StreamingAUC() + StreamingAUC(capacity=16)
    with pytest.raises(ValueError, match="'capacity' parameter of StreamingAUC"):
        StreamingAUC(capacity=3)
    with pytest.raises(TypeError):
        StreamingAUC() + 1


def roc_auc_quietly(*args, **keywords):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*at most two distinct values")
        return roc_auc(*args, **keywords)


def test_streaming_does_not_take_the_smaller_label_for_positive():
    with pytest.raises(ValueError, match=r"pos_label=2"):
        StreamingAUC().update([1, 2, 2], [0.1, 0.2, 0.3])
    assert StreamingAUC(pos_label=2).update([1, 2, 2], [0.1, 0.2, 0.3]).result().auc == 1.0


@pytest.mark.parametrize("digits", [1, 6])
def test_the_sampling_interval_of_an_exact_stream_is_that_of_its_rows(digits):
    is_pos, score = normal_table(400, 0.3)
    score = np.round(score, digits)
    sketch = StreamingAUC().update(is_pos[:150], score[:150]).update(is_pos[150:], score[150:])
    assert sketch.interval(level=0.9) == pytest.approx(auc_interval(is_pos, score, level=0.9), abs=1e-12)
    perfect = StreamingAUC().update(is_pos, is_pos * 1.0)
    assert perfect.interval() == pytest.approx(auc_interval(is_pos, is_pos * 1.0))


def test_the_sampling_interval_holds_the_bounds():
    is_pos, score = normal_table(20_000, 0.2)
    sketch = StreamingAUC(capacity=32).update(is_pos, score)
    bounds, got, exact = sketch.result(), sketch.interval(), auc_interval(is_pos, score)
    assert got.low < bounds.low <= bounds.high < got.high and got.auc == bounds.auc
    assert got.low < exact.low and exact.high < got.high and got.se == pytest.approx(exact.se, rel=0.05)
    with pytest.raises(ValueError, match=r"at least 2 rows of each class.* Got 1 positive and 2 negative"):
        StreamingAUC().update([0, 1, 0], [1, 2, 3]).interval()


@pytest.mark.parametrize("capacity", [16, 8192])
def test_a_stream_of_weighted_rows(capacity):
    is_pos, score = normal_table(3000, 0.3)
    weight = np.random.default_rng(1).integers(0, 4, 3000) / 2.0
    sketch = StreamingAUC(capacity=capacity)
    for part in np.array_split(np.arange(3000), 5):
        sketch.update(is_pos[part], score[part], weight[part])
    bounds, exact = sketch.result(), roc_auc(is_pos, score, sample_weight=weight)
    assert bounds.low <= exact <= bounds.high and bounds.low <= bounds.auc <= bounds.high
    got, want = sketch.interval(), auc_interval(is_pos, score, sample_weight=weight)
    assert got.se == pytest.approx(want.se, rel=1e-3 if capacity > 3000 else 0.1)
    mixed = StreamingAUC(capacity=capacity).update(is_pos, score) + sketch
    assert mixed.result().low <= roc_auc(is_pos, score, sample_weight=1.0 + weight) <= mixed.result().high
    with pytest.raises(ValueError, match="as many weights as scores"):
        sketch.update([0, 1], [0, 1], [1.0])


def test_an_adversarial_stream_stays_within_what_the_docs_say():
    """Rounds of ever finer scores around the middle, where the bins are already spent."""
    sketch = StreamingAUC(capacity=64)
    rng, ys, ss = np.random.default_rng(0), [], []
    for level in range(40):
        s = rng.normal(size=400) * 2.0 ** -(level % 20)
        ys.append(rng.random(400) < 0.5)
        ss.append(s)
        sketch.update(ys[-1], s)
    width = check_bounds(sketch, np.concatenate(ys), np.concatenate(ss))
    assert width / 2 <= 3.8 / 64


SPREADS = {
    "normal": lambda u: norm.ppf(u),
    "long tails": lambda u: np.tan(np.pi * (u - 0.5)),
    "over all magnitudes": lambda u: np.copysign(10.0 ** (600.0 * np.abs(u - 0.5)), u - 0.5),
    "ties": lambda u: np.floor(50.0 * u),
    "a lump": lambda u: np.where(u < 0.4, 0.25, u),
    "one value": lambda u: np.full(len(u), 7.0),
    "subnormal": lambda u: 5e-324 * np.floor(1e6 * u),
    "infinite": lambda u: np.where(u < 0.01, -np.inf, np.where(u > 0.99, np.inf, u)),
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_dealt_out_to_cells_are_sorted(spread, dtype):
    u = np.random.default_rng(0).uniform(1e-9, 1.0 - 1e-9, _sizes.MIN_COMPILED_SCORES + 5 * TOGETHER)
    with np.errstate(over="ignore"):
        scores = SPREADS[spread](u).astype(dtype)
    kept = scores.copy()
    np.testing.assert_array_equal(in_order(scores), np.sort(scores))
    np.testing.assert_array_equal(scores, kept)
    assert in_order(scores).dtype == dtype


def test_masked_arrays_are_refused():
    masked = np.ma.array([0, 1, 0, 1], mask=[0, 0, 1, 0])
    with pytest.raises(ValueError, match="'y_true' parameter of roc_auc must be an array without a mask"):
        roc_auc(masked, [1, 2, 3, 4])
    with pytest.raises(ValueError, match="'y_score' parameter of roc_auc must be an array without a mask"):
        roc_auc([0, 1, 0, 1], masked)


def test_longer_floats_are_refused_where_rounding_would_tie_them():
    one = np.longdouble(1)
    if np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps:
        pytest.skip("longdouble is float64 here")
    scores = np.array([one, one + np.finfo(np.longdouble).eps * 4, 0.5, 2.0])
    with pytest.raises(ValueError, match="hold numbers that float64 holds exactly"):
        roc_auc([0, 1, 0, 1], scores)
    assert roc_auc([0, 1, 0, 1], np.array([1, 2, 3, 4], np.longdouble)) == 0.75


# Which label is positive

OF_LABELS = {
    "roc_auc": roc_auc,
    "partial_auc": partial_auc,
    "auc_interval": auc_interval,
    "average_precision": average_precision,
    "operating_point": operating_point,
    "compare_auc": lambda y, s, **keywords: compare_auc(y, s, -np.asarray(s), **keywords),
}


@pytest.mark.parametrize("name", sorted(OF_LABELS))
def test_the_spelling_of_strings_does_not_make_one_positive(name):
    y, s = np.array(["case", "control", "case", "control", "control"]), np.array([3.0, 1, 2, 2.5, 0])
    want = OF_LABELS[name](y == "case", s)
    assert OF_LABELS[name](y, s, pos_label="case") == want
    for labels in (y, y.astype(object), pd.Series(y), pd.Categorical(y), pl.Series(y)):
        with pytest.raises(ValueError, match=f"'pos_label' parameter of {name} must name the positive label") as told:
            OF_LABELS[name](labels, s)
        assert "Got None with 'case' and 'control' instead. Pass pos_label='case'" in str(told.value)


@pytest.mark.parametrize("name", sorted(OF_LABELS))
def test_the_order_of_categories_is_honoured(name):
    y, s = np.array(["control", "case", "case", "control", "control"]), np.array([3.0, 1, 2, 2.5, 0])
    want = OF_LABELS[name](y == "case", s)
    for order in (["control", "case"], ["control", "unused", "case"]):
        ordered = pd.Categorical(y, categories=order, ordered=True)
        assert OF_LABELS[name](ordered, s) == OF_LABELS[name](pd.Series(ordered), s) == want
        assert OF_LABELS[name](pl.Series(y, dtype=pl.Enum(order)), s) == want
    assert OF_LABELS[name](ordered, s, pos_label="control") == OF_LABELS[name](y == "control", s)
    numbers = pd.Categorical((y == "case").astype(int), categories=[1, 0], ordered=True)
    assert OF_LABELS[name](numbers, s) == OF_LABELS[name](y == "control", s)


# --- streams that forget ---


def test_a_window_holds_the_latest_rows():
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 2, 500), rng.normal(size=500)
    stream = StreamingAUC(window=100)
    for part in np.split(np.arange(500), [3, 200, 201, 350, 480]):
        stream.update(y[part], s[part])
    assert stream.result().auc == pytest.approx(roc_auc(y[-100:], s[-100:]), abs=1e-12)
    assert StreamingAUC(window=50).update(y, s).result().auc == pytest.approx(roc_auc(y[-50:], s[-50:]), abs=1e-12)
    assert len(stream._waiting) <= 3


def test_decay_weighs_late_rows_more():
    rng = np.random.default_rng(1)
    y, s = rng.integers(0, 2, 400), rng.normal(size=400)
    stream = StreamingAUC(decay=0.98)
    for part in np.array_split(np.arange(400), 7):
        stream.update(y[part], s[part])
    weight = 0.98 ** np.arange(399, -1, -1)
    assert stream.result().auc == pytest.approx(roc_auc(y, s, sample_weight=weight), abs=1e-9)
    low, high = stream.interval()[1:3]
    assert low < stream.result().auc < high


@pytest.mark.parametrize("given", [{"window": 1}, {"decay": 1.5}, {"window": 5, "decay": 0.5}])
def test_what_a_stream_cannot_forget_by(given):
    with pytest.raises(ValueError, match="StreamingAUC"):
        StreamingAUC(**given)
    with pytest.raises(ValueError, match="cannot be added to"):
        StreamingAUC(window=5) + StreamingAUC()
