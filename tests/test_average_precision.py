"""Average precision: scikit-learn's value, influence values by small changes of weight, intervals, comparisons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score

from auclid.metrics import average_precision, average_precision_interval, compare_average_precision
from auclid.metrics._average_precision import ap_terms
from auclid.metrics._sample import checked_sample


def normal_scores(n_pos, n_neg, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.r_[np.ones(n_pos, int), np.zeros(n_neg, int)]
    return y, np.r_[rng.normal(shift, 1.0, n_pos), rng.normal(0.0, 1.0, n_neg)]


rows = st.lists(
    st.tuples(st.booleans(), st.integers(-3, 3), st.sampled_from([0.0, 0.5, 1.0, 3.0])), min_size=2, max_size=30
)


@given(rows)
def test_it_is_scikit_learns_with_ties_and_weights(rows):
    y, s, w = (np.array(each) for each in zip(*rows, strict=True))
    if not (w[y].sum() > 0.0 and w[~y].sum() > 0.0):
        return
    assert average_precision(y, s, sample_weight=w) == pytest.approx(
        average_precision_score(y, s, sample_weight=w), abs=1e-12
    )


def test_one_class_is_undefined():
    with pytest.warns(UndefinedMetricWarning, match="both classes"):
        assert np.isnan(average_precision([1, 1], [1, 2]))


def test_another_prevalence_is_what_more_negatives_show():
    y, s = normal_scores(40, 200)
    repeated = np.r_[np.arange(40), np.tile(np.arange(40, 240), 5)]
    told = average_precision(y, s, prevalence=40 / 1040)
    assert told == pytest.approx(average_precision(y[repeated], s[repeated]), abs=1e-12)
    assert average_precision(y, s, prevalence=1 / 6) == pytest.approx(average_precision(y, s), abs=1e-12)


@pytest.mark.parametrize("prevalence", [None, 0.02])
@pytest.mark.parametrize("digits", [0, 6])
def test_influence_values_are_derivatives_by_the_weight_of_a_row(prevalence, digits):
    y, s = normal_scores(20, 60)
    s, weight = s.round(digits), np.random.default_rng(1).random(80) + 0.1
    sample = checked_sample("test", y, {"s": s}, sample_weight=weight)
    ratio = weight[20:].sum() / weight[:20].sum() if prevalence is None else (1 - prevalence) / prevalence
    terms = ap_terms(sample, s, ratio)
    every = np.r_[terms.pos, terms.neg]
    for i in range(0, 80, 7):
        up, down = weight.copy(), weight.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        ends = [average_precision(y, s, sample_weight=w, prevalence=1 / (1 + ratio)) for w in (up, down)]
        assert every[i] / weight[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)
    assert terms.pos.sum() == pytest.approx(0.0, abs=1e-12)
    assert terms.neg.sum() == pytest.approx(0.0, abs=1e-12)


def test_the_standard_error_is_the_bootstraps():
    y, s = normal_scores(50, 500)
    told, drawn = (average_precision_interval(y, s, method=m, random_state=0) for m in ("delta", "bootstrap"))
    assert told.se == pytest.approx(drawn.se, rel=0.06)
    assert 0.0 < told.low < told.ap < told.high < 1.0


def test_groups_of_copies_count_once():
    y, s = normal_scores(30, 150)
    twice = np.repeat(np.arange(180), 2)
    alone = average_precision_interval(y, s)
    together = average_precision_interval(y[twice], s[twice], groups=twice)
    assert together.se == pytest.approx(alone.se, rel=1e-9)
    assert average_precision_interval(y[twice], s[twice]).se < 0.75 * alone.se


def test_whole_weights_change_the_value_as_repeats_do():
    y, s = normal_scores(15, 60)
    weight = np.random.default_rng(0).integers(1, 4, 75)
    again = np.repeat(np.arange(75), weight)
    told = average_precision_interval(y, s, sample_weight=weight)
    assert told.ap == pytest.approx(average_precision(y[again], s[again]), abs=1e-12)


def test_a_perfect_ranking_has_an_interval_with_width():
    told = average_precision_interval([0] * 20 + [1] * 10, [*range(30)])
    assert told.ap == told.high == 1.0
    assert told.low == pytest.approx(0.025 ** (1 / 10))


def test_a_difference_is_that_of_both_and_its_test_is_paired():
    y, a = normal_scores(60, 600)
    rng = np.random.default_rng(1)
    b = a + rng.normal(0.0, 1.0, len(a))
    told = compare_average_precision(y, a, b)
    assert told.difference == pytest.approx(average_precision(y, a) - average_precision(y, b), abs=1e-12)
    assert told.low < told.difference < told.high
    drawn = compare_average_precision(y, a, b, method="bootstrap", random_state=0)
    assert (told.high - told.low) == pytest.approx(drawn.high - drawn.low, rel=0.15)
    same = compare_average_precision(y, a, a)
    assert (same.difference, same.pvalue) == (0.0, 1.0)
    back = compare_average_precision(y, b, a)
    assert back.difference == pytest.approx(-told.difference) and back.pvalue == pytest.approx(told.pvalue)


@pytest.mark.parametrize(
    ("parameter", "value", "said"),
    [
        ("prevalence", 1.5, "'prevalence' parameter of average_precision_interval must be a float in"),
        ("level", 2, "'level' parameter of average_precision_interval must be a float in"),
        ("method", "delong", "'method' parameter of average_precision_interval must be one of"),
    ],
)
def test_bad_parameters_get_a_sentence(parameter, value, said):
    with pytest.raises(ValueError, match=said):
        average_precision_interval([0, 0, 1, 1], [1, 2, 3, 4], **{parameter: value})


@pytest.mark.long
@pytest.mark.parametrize("n_pos", [100, 300])
@pytest.mark.parametrize("ratio", [5, 20])
def test_intervals_cover(n_pos, ratio):
    """The interval of 95 % holds the AP of a million rows in 93 to 97 % of samples, give or take its own noise."""
    y, s = normal_scores(60_000, 60_000 * ratio, seed=99)
    truth = average_precision(y, s)
    told = [average_precision_interval(*normal_scores(n_pos, n_pos * ratio, seed)) for seed in range(1500)]
    covered = np.mean([each.low <= truth <= each.high for each in told])
    assert 0.92 < covered < 0.98


@pytest.mark.parametrize(("n", "share", "digits"), [(60, 0.3, 0), (500, 0.1, 1), (500, 0.8, 1), (30_000, 0.02, 3)])
def test_counts_give_what_the_terms_of_each_row_give(n, share, digits):
    rng = np.random.default_rng(0)
    y = rng.random(n) < share
    s = (rng.normal(size=n) + y).round(digits)
    for prevalence in (None, 0.01):
        plain = average_precision_interval(y, s, prevalence=prevalence)
        alone = average_precision_interval(y, s, prevalence=prevalence, groups=np.arange(n))
        assert (plain.ap, plain.se) == pytest.approx((alone.ap, alone.se), rel=1e-9)
        assert plain.ap == pytest.approx(average_precision(y, s, prevalence=prevalence), abs=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_dask_collections_give_the_same(share):
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < share).astype(int)
    s = (rng.normal(size=2000) + y).round(2)
    lazy_y, lazy_s = (da.from_array(column, chunks=300) for column in (y, s))
    assert average_precision(lazy_y, lazy_s) == pytest.approx(average_precision(y, s), abs=1e-12)
    lazy, plain = average_precision_interval(lazy_y, lazy_s), average_precision_interval(y, s)
    assert tuple(lazy) == pytest.approx(tuple(plain), rel=1e-9)
    assert tuple(compare_average_precision(lazy_y, lazy_s, lazy_s + 1)) == tuple(compare_average_precision(y, s, s + 1))
