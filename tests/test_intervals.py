"""Intervals and tests of areas: against slow definitions, laws, and the bootstrap against itself done slowly."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import norm, t

import reference_metrics as reference
from auclid.metrics import auc_interval, compare_auc, compare_auc_unpaired, compare_many, partial_auc, roc_auc
from auclid.metrics._bootstrap import Errors, Plan, area_of, ends, replicates, runs
from auclid.metrics._interval import delong
from auclid.metrics._placements import area_terms
from auclid.metrics._sample import Region, checked_sample
from auclid.metrics._variance import degrees

REGIONS = [(1.0, 0.0), (0.3, 0.0), (0.25, 0.5), (1.0, 0.4), (0.5, 0.25), (0.07, 0.0), (0.01, 0.9)]


def rows(n=40, share=0.4, digits=1, seed=0, rises=1.0):
    """Labels with both classes, and scores with ties."""
    rng = np.random.default_rng(seed)
    is_pos = rng.random(n) < share
    is_pos[:4] = True, True, False, False
    return is_pos, np.round(rng.normal(size=n) + rises * is_pos, digits)


def quietly(call, *args, **keywords):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Only .* positives lie in the two-way region")
        return call(*args, **keywords)


@st.composite
def tied_tables(draw, weights=False):
    """Few rows with many ties, at least two of each class; and weights."""
    score = st.integers(-3, 3).map(float)
    pos = draw(st.lists(score, min_size=2, max_size=7))
    neg = draw(st.lists(score, min_size=2, max_size=7))
    is_pos = np.arange(len(pos) + len(neg)) < len(pos)
    weight = draw(st.lists(st.sampled_from([0.25, 0.5, 1.0, 3.0]), min_size=len(is_pos), max_size=len(is_pos)))
    return is_pos, np.array(pos + neg), np.array(weight) if weights else None


# The terms of the error


@given(tied_tables(), st.sampled_from(REGIONS))
@settings(max_examples=60, deadline=None)
def test_terms_of_the_error_are_the_derivatives_of_the_area(table, region):
    check_terms(table, region)


@given(tied_tables(weights=True), st.sampled_from(REGIONS))
@settings(max_examples=60, deadline=None)
def test_terms_of_the_error_with_weights(table, region):
    check_terms(table, region)


def check_terms(table, region):
    is_pos, score, weight = table
    sample = checked_sample("f", is_pos, {"s": score}, sample_weight=weight)
    got = area_terms(sample, score, Region(*region))
    weights = np.ones(len(score)) if weight is None else weight
    want = reference.exact_area(is_pos, score, *region, weights.tolist())
    assert got.area == pytest.approx(float(want), abs=1e-12)
    terms = np.empty(len(score))
    terms[is_pos], terms[~is_pos] = got.pos, got.neg
    np.testing.assert_allclose(terms, reference.error_terms(is_pos, score, *region, weight), rtol=0, atol=1e-12)


@given(tied_tables(weights=True))
@settings(max_examples=40, deadline=None)
def test_terms_of_the_whole_area_are_placements_of_a_double_loop(table):
    is_pos, score, weight = table
    of_pos, of_neg = reference.placements(is_pos, score, weight)
    sample = checked_sample("f", is_pos, {"s": score}, sample_weight=weight)
    got = area_terms(sample, score)
    w = weight[is_pos] / weight[is_pos].sum()
    assert got.area == pytest.approx(w @ of_pos, abs=1e-14)
    np.testing.assert_allclose(got.pos, w * (of_pos - got.area), rtol=0, atol=1e-14)
    w = weight[~is_pos] / weight[~is_pos].sum()
    np.testing.assert_allclose(got.neg, w * (of_neg - got.area), rtol=0, atol=1e-14)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
@pytest.mark.parametrize("digits", [1, 8])
def test_counting_places_gives_the_error_that_rows_give(share, digits):
    is_pos, score = rows(5000, share, digits)
    sample = checked_sample("f", is_pos, {"s": score})
    size = area_terms(sample, score)
    auc, se, df = delong(is_pos, score)
    assert auc == roc_auc(is_pos, score) == size.area
    cov = np.sum(size.pos**2) * is_pos.sum() / (is_pos.sum() - 1)
    cov += np.sum(size.neg**2) * (~is_pos).sum() / ((~is_pos).sum() - 1)
    assert se == pytest.approx(np.sqrt(cov), rel=1e-12)
    assert df == pytest.approx(Errors.of(sample, size).freedom, rel=1e-9)


# Groups and weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_clustered_error_is_obuchowskis(seed, weighted):
    is_pos, score = rows(seed=seed)
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 12, len(score))
    weight = rng.random(len(score)) + 0.1 if weighted else None
    of_pos, of_neg = reference.placements(is_pos, score, weight)
    want = reference.obuchowski_variance(is_pos, of_pos, of_neg, groups, weight)
    named = np.array([f"patient {g}" for g in groups])
    for given_groups in (groups, named, groups * 10**9):
        got = auc_interval(is_pos, score, groups=given_groups, sample_weight=weight)
        assert got.se == pytest.approx(np.sqrt(want), abs=1e-12)
        assert got.auc == pytest.approx(reference.auc(is_pos, score, weight), abs=1e-13)


@pytest.mark.parametrize("region", REGIONS[:5])
def test_each_row_its_own_group_is_delong(region):
    is_pos, score = rows(60)
    keywords = {"max_fpr": region[0], "min_tpr": region[1]}
    alone = quietly(auc_interval, is_pos, score, groups=np.arange(60) * 7, **keywords)
    assert alone == pytest.approx(quietly(auc_interval, is_pos, score, **keywords), abs=1e-12)
    a, b = score, score[::-1]
    assert compare_auc(is_pos, a, b, groups=np.arange(60), **keywords) == pytest.approx(
        compare_auc(is_pos, a, b, **keywords), abs=1e-12
    )


def test_comparison_in_groups_is_the_variance_of_differences():
    is_pos, a = rows(seed=3)
    b, groups = np.random.default_rng(4).permutation(a), np.random.default_rng(5).integers(0, 9, len(a))
    va, vb = reference.placements(is_pos, a), reference.placements(is_pos, b)
    se = np.sqrt(reference.obuchowski_variance(is_pos, va[0] - vb[0], va[1] - vb[1], groups))
    got = quietly(compare_auc, is_pos, a, b, groups=groups)
    assert got.se == pytest.approx(se, abs=1e-12)
    assert (got.high - got.low) / 2 == pytest.approx(t.ppf(0.975, got.df) * se, abs=1e-12)
    assert got.pvalue == pytest.approx(2 * t.sf(abs(got.difference) / se, got.df), abs=1e-12)


def test_weights_of_one_change_nothing_and_weights_have_no_scale():
    is_pos, score = rows(80)
    plain = auc_interval(is_pos, score)
    assert auc_interval(is_pos, score, sample_weight=np.ones(80)) == pytest.approx(plain, abs=1e-12)
    weight = np.random.default_rng(1).random(80)
    got = auc_interval(is_pos, score, sample_weight=weight)
    assert auc_interval(is_pos, score, sample_weight=1e6 * weight) == pytest.approx(got, abs=1e-12)
    assert got.auc == pytest.approx(roc_auc(is_pos, score, sample_weight=weight), abs=1e-13)


def test_rows_of_weight_zero_are_not_there():
    is_pos, score = rows(60)
    weight = (np.arange(60) % 3 > 0).astype(float)
    kept = weight > 0
    groups = np.arange(60) // 2
    assert auc_interval(is_pos, score, sample_weight=weight) == pytest.approx(auc_interval(is_pos[kept], score[kept]))
    got = auc_interval(is_pos, score, sample_weight=weight, groups=groups)
    assert got == pytest.approx(auc_interval(is_pos[kept], score[kept], groups=groups[kept]))


def test_the_other_label_can_be_positive():
    is_pos, score = rows(50)
    y = np.where(is_pos, "ill", "well")
    assert auc_interval(y, score, pos_label="ill") == auc_interval(is_pos, score)
    assert compare_auc(y, score, -score, pos_label="ill") == compare_auc(is_pos, score, -score)
    assert partial_auc(y, score, max_fpr=0.2, pos_label="ill") == partial_auc(is_pos, score, max_fpr=0.2)


# Partial areas


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("method", ["delong", "bootstrap", "bca"])
def test_a_partial_interval_is_about_partial_auc(region, method):
    is_pos, score = rows(120, rises=0.5)
    keywords = {"max_fpr": region[0], "min_tpr": region[1]}
    got = quietly(auc_interval, is_pos, score, method=method, n_bootstrap=200, random_state=0, **keywords)
    assert got.auc == pytest.approx(partial_auc(is_pos, score, **keywords), abs=1e-12)
    assert got.low <= got.auc <= got.high <= 1.0 and got.low < got.high and got.se >= 0.0


@pytest.mark.parametrize("region", [(1.0, 0.0), (0.3, 0.0), (0.5, 0.4)])
@pytest.mark.parametrize("in_groups", [False, True])
def test_delong_and_the_bootstrap_agree_on_many_rows(region, in_groups):
    rng = np.random.default_rng(7)
    is_pos = np.arange(3000) % 6 == 0
    groups = rng.permutation(3000) // 4 if in_groups else None
    a = rng.normal(size=3000) + is_pos
    if in_groups:
        a = a + rng.normal(size=750)[groups]
    keywords = {"max_fpr": region[0], "min_tpr": region[1], "groups": groups}
    drawn = auc_interval(is_pos, a, method="bootstrap", random_state=0, n_bootstrap=1000, **keywords)
    assert auc_interval(is_pos, a, **keywords) == pytest.approx(drawn, rel=0.1, abs=0.003)
    b = a + rng.normal(size=3000)
    by_rank, by_draw = (
        compare_auc(is_pos, a, b, method=method, random_state=0, n_bootstrap=1000, **keywords)
        for method in ("delong", "bca")
    )
    assert by_rank[:3] == pytest.approx(by_draw[:3], rel=0.1, abs=0.006)


def test_weighted_partial_auc_is_that_of_repeated_rows():
    is_pos, score = rows(50)
    weight = np.random.default_rng(2).integers(1, 4, 50)
    for max_fpr, min_tpr in REGIONS:
        got = partial_auc(is_pos, score, max_fpr=max_fpr, min_tpr=min_tpr, sample_weight=weight)
        want = partial_auc(np.repeat(is_pos, weight), np.repeat(score, weight), max_fpr=max_fpr, min_tpr=min_tpr)
        assert got == pytest.approx(want, abs=1e-12)


def test_few_positives_in_a_two_way_region_are_said():
    is_pos, score = rows(30)
    with pytest.warns(UserWarning, match=r"positives lie in the two-way region.*method='bootstrap'"):
        auc_interval(is_pos, score, max_fpr=0.2, min_tpr=0.6)
    region, other = {"max_fpr": 0.2, "min_tpr": 0.6}, score[::-1]
    for test in (
        lambda: compare_auc(is_pos, score, other, **region),
        lambda: compare_auc_unpaired(is_pos, score, is_pos, other, **region),
        lambda: compare_many(is_pos, {"a": score, "b": other}, **region),
    ):
        with pytest.warns(UserWarning, match=r"positives lie in the two-way region") as told:
            test()
        assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        auc_interval(*rows(2000), max_fpr=0.5, min_tpr=0.2)
        auc_interval(is_pos, score, max_fpr=0.2)


@pytest.mark.parametrize("method", ["delong", "bootstrap", "bca"])
def test_a_perfect_ranking_has_an_interval_whatever_the_method(method):
    y, s = np.arange(40) >= 30, np.arange(40)
    for region in REGIONS[:5]:
        got = quietly(auc_interval, y, s, method=method, random_state=0, max_fpr=region[0], min_tpr=region[1])
        assert (got.auc, got.high, got.se) == pytest.approx((1.0, 1.0, 0.0)) and 0.0 < got.low < 0.99


# The bootstrap


def slow_bootstrap(is_pos, score, n_bootstrap, seed):
    """Draws of rows within the classes, each with a sort."""
    rng = np.random.default_rng(seed)
    pos, neg = np.flatnonzero(is_pos), np.flatnonzero(~is_pos)
    drawn = []
    for _ in range(n_bootstrap):
        at_pos = pos[rng.integers(len(pos), size=len(pos), dtype=np.int32)]
        at_neg = neg[rng.integers(len(neg), size=len(neg), dtype=np.int32)]
        drawn.append(reference.wins(score[at_pos], score[at_neg]).mean())
    return np.array(drawn)


def test_the_bootstrap_is_the_slow_one_draw_by_draw():
    is_pos, score = rows(60)
    drawn = slow_bootstrap(is_pos, score, 300, 5)
    got = auc_interval(is_pos, score, method="bootstrap", n_bootstrap=300, random_state=5)
    assert got.se == pytest.approx(drawn.std(ddof=1), abs=1e-12)
    n = min(is_pos.sum(), (~is_pos).sum())
    tail = norm.cdf(-t.ppf(0.975, reference_freedom(is_pos, score)) * np.sqrt(n / (n - 1)))
    assert [got.low, got.high] == pytest.approx(np.quantile(drawn, [tail, 1 - tail]), abs=1e-12)


def reference_freedom(is_pos, score):
    """Degrees of freedom of DeLong's variance of an AUC."""
    of_pos, of_neg = reference.placements(is_pos, score)
    terms = np.concatenate([(np.asarray(of) - np.mean(of)) / len(of) for of in (of_pos, of_neg)])
    strata = [1] * len(of_pos) + [0] * len(of_neg)
    return reference.satterthwaite(terms, strata)


def test_degrees_of_freedom_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    for size in (6, 40, 300):
        terms, strata = rng.standard_t(3, size), rng.integers(0, 3, size)
        assert degrees(terms, strata) == pytest.approx(reference.satterthwaite(terms, strata), rel=1e-9)
    even = np.tile([1.0, -1.0], 10)
    assert degrees(even, np.repeat([0, 2], 10)) == pytest.approx(18.0)  # squares without spread: Welch's
    assert degrees(rng.normal(size=10**5), np.zeros(10**5, int)) == pytest.approx(10**5, rel=0.05)


def test_a_few_badly_ranked_positives_make_the_bootstrap_wider():
    rng = np.random.default_rng(1)
    is_pos = np.arange(550) < 50
    score = rng.normal(size=550) + 4.0 * is_pos
    score[:3] = -3.0
    sample = checked_sample("x", is_pos, {"s": score})
    errors = Errors.of(sample, area_terms(sample, sample.scores[0]))
    assert errors.freedom < 10.0
    drawn = np.linspace(0.8, 1.0, 2001)
    low, high = ends(drawn, 0.95, 0.9, errors, "bootstrap")
    assert (high - low) > 1.02 * np.diff(np.quantile(drawn, [0.025, 0.975]))[0]


@given(tied_tables(weights=True), st.sampled_from(REGIONS))
@settings(max_examples=60, deadline=None)
def test_joining_neighbours_of_one_class_changes_no_area(table, region):
    is_pos, score, weight = table
    steps = runs(is_pos, score)
    masses = (
        np.bincount(steps.pos, weight[is_pos], steps.size),
        np.bincount(steps.neg, weight[~is_pos], steps.size),
    )
    want = reference.exact_area(is_pos, score, *region, weight.tolist())
    assert area_of(masses, Region(*region)) == pytest.approx(float(want), abs=1e-12)


def test_whole_groups_are_drawn():
    """Two groups a class, with all scores alike within them: an area can only take few values."""
    is_pos = np.repeat([True, True, False, False], 25)
    score = np.repeat([0.0, 2.0, 1.0, -1.0], 25)
    heard = []
    auc_interval(is_pos, score, method="bootstrap", groups=score, n_bootstrap=100, random_state=0,
                 progress=lambda done, total: heard.append((done, total)))  # fmt: skip
    assert heard == [(k + 1, 100) for k in range(100)]
    sample = checked_sample("f", is_pos, {"s": score}, groups=score)
    plan = Plan("bootstrap", 400, 0)
    drawn = replicates(sample, [runs(is_pos, score)], lambda masses: area_of(masses[0], Region()), plan)
    assert set(np.round(drawn, 6)) == {0.0, 0.5, 0.75, 1.0}


def test_bca_is_scipys():
    """Two samples drawn apart: scipy's jackknife acceleration is close to ours from the terms of the error."""
    from scipy.stats import bootstrap

    is_pos, score = rows(90, rises=1.5, digits=6)
    got = auc_interval(is_pos, score, method="bca", n_bootstrap=4000, random_state=0)
    theirs = bootstrap(
        (score[is_pos], score[~is_pos]), lambda a, b, axis=-1: _auc_along(a, b), n_resamples=4000, method="BCa",
        rng=np.random.default_rng(0), vectorized=True, axis=-1,
    ).confidence_interval  # fmt: skip
    assert [got.low, got.high] == pytest.approx([theirs.low, theirs.high], abs=0.02)


def _auc_along(a, b):
    return ((a[..., :, None] > b[..., None, :]) + 0.5 * (a[..., :, None] == b[..., None, :])).mean(axis=(-1, -2))


@pytest.mark.parametrize("method", ["bootstrap", "bca"])
def test_same_seed_same_bits(method):
    is_pos, score = rows(60)
    for groups in (None, np.arange(60) // 3):
        first, again, other = (
            auc_interval(is_pos, score, method=method, n_bootstrap=150, random_state=seed, groups=groups)
            for seed in (1, 1, 2)
        )
        assert first == again != other


def test_a_bar_can_be_shown(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, for rich
    auc_interval(*rows(30), method="bootstrap", n_bootstrap=100, progress=True, random_state=0)
    assert "bootstrap" in capsys.readouterr().err


# Two scores


def test_one_sided_p_values_are_halves_and_opposites():
    is_pos, a = rows(100)
    b = np.random.default_rng(1).permutation(a)
    both, up, down = (compare_auc(is_pos, a, b, alternative=side) for side in ("two-sided", "greater", "less"))
    assert up.pvalue == pytest.approx(both.pvalue / 2) and up.pvalue + down.pvalue == pytest.approx(1.0)
    assert both.difference == up.difference == down.difference
    se = (both.high - both.low) / 2 / norm.ppf(0.975)
    assert up[1:3] == pytest.approx((up.difference - norm.ppf(0.95) * se, 1.0))
    assert down[1:3] == pytest.approx((-1.0, up.difference + norm.ppf(0.95) * se))
    margin = compare_auc(is_pos, b, a, alternative="greater", margin=0.1)
    assert margin.pvalue == pytest.approx(norm.sf((margin.difference + 0.1) / se))
    mirrored = compare_auc(is_pos, a, b, alternative="less", margin=0.1)
    assert mirrored.pvalue == pytest.approx(margin.pvalue)


def test_one_sided_tests_without_variance():
    y, s = np.arange(20) >= 15, np.arange(20)
    assert compare_auc(y, s, -s, alternative="greater").pvalue == 0.5**5
    assert compare_auc(y, s, -s, alternative="less").pvalue == 1.0
    assert compare_auc(y, s, s, alternative="greater").pvalue == 1.0
    assert compare_auc(y, s, s, alternative="greater", margin=0.05).pvalue == 0.5**5


@pytest.mark.parametrize("method", ["delong", "bootstrap", "bca"])
def test_unpaired_adds_the_variances(method):
    (y_a, a), (y_b, b) = rows(200, seed=1), rows(300, seed=2, rises=0.5)
    of_a, of_b = auc_interval(y_a, a), auc_interval(y_b, b)
    got = compare_auc_unpaired(y_a, a, y_b, b, method=method, random_state=0)
    assert got.difference == pytest.approx(of_a.auc - of_b.auc)
    tolerance = 1e-12 if method == "delong" else 0.01
    reach = t.ppf(0.975, got.df) * np.hypot(of_a.se, of_b.se)
    assert [got.low, got.high] == pytest.approx([got.difference - reach, got.difference + reach], abs=tolerance)
    assert 0.0 < got.pvalue < 1.0


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("method", ["bootstrap", "bca"])
@pytest.mark.parametrize("seed", range(4))
def test_an_interval_leaves_the_null_out_exactly_where_p_is_below_one_minus_its_level(seed, method, alternative):
    is_pos, a = rows(60, digits=6, seed=seed)
    b = a + np.random.default_rng(seed).normal(size=60)
    asked = {"method": method, "alternative": alternative, "n_bootstrap": 500, "random_state": 0}
    asked |= {} if alternative == "two-sided" else {"margin": 0.0312}
    null = {"two-sided": 0.0, "greater": -0.0312, "less": 0.0312}[alternative]
    pvalue = compare_auc(is_pos, a, b, **asked).pvalue
    # Where no draw lies beyond the null, p may be smaller than the draws can tell.
    close = [pvalue - 1e-6, pvalue + 1e-6] if 0.02 < pvalue < 0.98 else []
    for level in [*close, 0.05, 0.1, 0.3, 0.6]:
        got = compare_auc(is_pos, a, b, level=1 - level, **asked)
        assert got.pvalue == pvalue
        assert (got.low > null or got.high < null) == (pvalue < level)


@pytest.mark.parametrize("method", ["bootstrap", "bca"])
def test_the_bootstrap_does_not_see_the_unit_of_weights(method):
    y, a, b = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8], [1, 2, 3, 6, 4, 5, 7, 8]
    weight, how = np.array([1.0, 2, 1, 3, 1, 2, 1, 1]), {"method": method, "n_bootstrap": 200, "random_state": 1}
    first = compare_auc(y, a, b, sample_weight=weight, **how)
    for unit in (0.1, 3.0, 7.0, 1e-200):  # many draws are no difference, or the same as in all rows, but for rounding
        assert compare_auc(y, a, b, sample_weight=unit * weight, **how) == pytest.approx(tuple(first), rel=1e-9)


def test_a_bootstrap_p_value_beyond_all_draws_is_students():
    is_pos = np.arange(200) < 80
    good = np.random.default_rng(0).normal(size=200) + 3 * is_pos
    got = compare_auc(is_pos, good, -good, method="bootstrap", n_bootstrap=200, random_state=0)
    assert got.pvalue < 1e-12
    assert got.low > 0.0


def test_unpaired_takes_groups_and_weights_of_each():
    (y_a, a), (y_b, b) = rows(60, seed=1), rows(80, seed=2)
    groups, weight = np.arange(60) // 2, np.random.default_rng(0).random(80)
    got = compare_auc_unpaired(y_a, a, y_b, b, groups_a=groups, sample_weight_b=weight)
    se = np.hypot(auc_interval(y_a, a, groups=groups).se, auc_interval(y_b, b, sample_weight=weight).se)
    assert (got.high - got.low) / 2 == pytest.approx(t.ppf(0.975, got.df) * se)


# Student's t where rows are few, weighted or grouped


def test_many_plain_rows_have_normal_quantiles_and_few_weighted_or_grouped_ones_students():
    is_pos, score = rows(250, share=0.5)
    other = np.random.default_rng(0).permutation(score)
    assert auc_interval(is_pos, score).df == compare_auc(is_pos, score, other).df == np.inf
    few = slice(0, 40)
    for keywords in ({"sample_weight": np.ones(250)}, {"groups": np.arange(250)}):
        assert auc_interval(is_pos, score, **keywords).df < 250
        assert compare_auc(is_pos, score, other, **keywords).df < 250
    got = auc_interval(is_pos[few], score[few])
    assert got.df < 40
    reach = t.ppf(0.975, got.df) * got.se / (got.auc * (1 - got.auc))
    assert (got.low, got.high) == pytest.approx(tuple(expit(logit(got.auc) + np.array([-reach, reach]))))
    sample = checked_sample("f", is_pos[few], {"s": score[few]})
    size = area_terms(sample, score[few])
    terms = np.concatenate([size.pos, size.neg])
    strata = np.repeat([0, 1], [len(size.pos), len(size.neg)])
    assert got.df == pytest.approx(reference.satterthwaite(terms, strata))


def test_welchs_degrees_of_a_difference():
    is_pos, a = rows(40)
    b = np.random.default_rng(0).permutation(a)
    (pa, na), (pb, nb) = reference.placements(is_pos, a), reference.placements(is_pos, b)
    v = [np.var(np.subtract(x, y), ddof=0) / len(x) for x, y in ((pa, pb), (na, nb))]
    want = sum(v) ** 2 / sum(part**2 / (n - 1) for part, n in zip(v, (len(pa), len(na)), strict=True))
    assert compare_auc(is_pos, a, b).df == pytest.approx(want)


def test_the_plain_interval_is_that_of_other_packages():
    is_pos, score = rows(40)
    got = auc_interval(is_pos, score, transform=None)
    reach = norm.ppf(0.975) * got.se
    assert got[1:3] == pytest.approx((max(got.auc - reach, 0.0), min(got.auc + reach, 1.0)))
    assert got.df == np.inf
    partial = auc_interval(is_pos, score, transform=None, max_fpr=0.5)
    assert partial.high - partial.auc == pytest.approx(norm.ppf(0.975) * partial.se)
    near = np.arange(30) >= 14
    assert auc_interval(near, np.r_[np.arange(14), 13, np.arange(15, 30)], transform=None).high == 1.0
    with pytest.raises(ValueError, match="'transform' parameter of auc_interval must be 'logit' or None"):
        auc_interval(is_pos, score, transform="probit")


def test_few_groups_are_told():
    is_pos, score = rows(80)
    with pytest.warns(UserWarning, match="Only 8 groups"):
        auc_interval(is_pos, score, groups=np.arange(80) % 8)
    with pytest.warns(UserWarning, match="Only 8 groups"):
        compare_auc(is_pos, score, -score, groups=np.arange(80) % 8)


# Bad input


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"method": "jackknife"}, r"'method' parameter of auc_interval must be one of \('delong', 'boot"),
        ({"n_bootstrap": 10}, r"'n_bootstrap' parameter of auc_interval must be an int in \[100, inf\)"),
        ({"max_fpr": 0.0}, r"'max_fpr' parameter of auc_interval must be a float in \(0.0, 1.0\]"),
        ({"groups": [1, 1, 1, 1, 1]}, "positives of 1 and negatives of 1 instead"),
        ({"groups": [1, 2, 3, 3, 3]}, "positives of 1 and negatives of 2 instead"),
        ({"groups": [1, 2]}, "5 rows in y_true, 2 in groups"),
        ({"groups": ["a", None, "b", "c", "d"]}, "'groups' parameter of auc_interval must have a label in each row"),
        ({"sample_weight": [0] * 5}, "sample_weight zero on every row"),
        ({"sample_weight": [1, 1, 0, 0, 0]}, "Got only 2 rows of the label 0"),
        ({"pos_label": 7}, "must be one of the labels 0 and 1. Got 7"),
        ({"progress": 3}, r"'progress' parameter of auc_interval must be a bool or a function"),
        ({"random_state": "dice"}, "'random_state' parameter of auc_interval must be"),
    ],
)  # fmt: skip
def test_bad_input_gets_a_sentence(keywords, words):
    keywords = {"method": "bootstrap", **keywords} if "random_state" in keywords else keywords
    with pytest.raises((ValueError, TypeError), match=words):
        auc_interval([0, 0, 1, 1, 1], [1, 2, 3, 4, 2], **keywords)


def test_one_class_is_not_taken_for_positive():
    with pytest.raises(ValueError, match=r"expects rows of both classes.* Got only 3 rows of the label 0 instead"):
        auc_interval([0, 0, 0], [1, 2, 3])
    with pytest.raises(ValueError, match=r"Got no row of pos_label=1 among 3 rows of the label 0 instead"):
        auc_interval([0, 0, 0], [1, 2, 3], pos_label=1)


@pytest.mark.parametrize(
    "score",
    [[2**53, 2**53 + 1, 1, 2], [2**63, 2**63 + 1, 1, 2], [2**70, 2**70 + 1, 1, 2], [10**400, 1, 2, 3]],
    ids=["int64", "uint64", "object", "no float"],
)
def test_integers_that_a_float_cannot_hold_are_refused(score):
    with pytest.raises(ValueError, match=r"numbers that float64 holds exactly. Got the integer"):
        auc_interval([0, 1, 0, 1], score)
    assert auc_interval([0, 1, 0, 1], [2**53, 2**53 - 1, 2**60, 2**62]).auc == 0.5


def test_a_margin_needs_a_side():
    with pytest.raises(ValueError, match="'margin' parameter of compare_auc must come with a one-sided alternative"):
        compare_auc([0, 0, 1, 1], [1, 2, 3, 4], [1, 3, 2, 4], margin=0.1)
    with pytest.raises(ValueError, match="'alternative' parameter of compare_auc must be one of"):
        compare_auc([0, 0, 1, 1], [1, 2, 3, 4], [1, 3, 2, 4], alternative="more")
