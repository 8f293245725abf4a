"""Brier score, log loss, calibration intercept and slope, tests of calibration, and net benefit."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

from auclid.metrics import (
    brier_interval,
    calibration_slope,
    calibration_test,
    compare_brier,
    log_loss_interval,
    net_benefit,
    reliability,
)


def calibrated(n=500, seed=0, centre=-1.0, spread=1.2):
    rng = np.random.default_rng(seed)
    p = expit(centre + spread * rng.normal(size=n))
    return rng.random(n) < p, p


def test_scores_are_scikit_learns_with_weights():
    y, p = calibrated()
    w = np.random.default_rng(1).random(len(y))
    assert brier_interval(y, p).value == pytest.approx(brier_score_loss(y, p))
    assert brier_interval(y, p, sample_weight=w).value == pytest.approx(brier_score_loss(y, p, sample_weight=w))
    assert log_loss_interval(y, p).value == pytest.approx(log_loss(y, p))
    hard = np.r_[0.0, 1.0, p[2:]]
    assert log_loss_interval(y, hard).value == pytest.approx(log_loss(y, hard))
    base = np.full(len(y), y.mean())
    assert brier_interval(y, p).skill == pytest.approx(1 - brier_score_loss(y, p) / brier_score_loss(y, base))
    assert "Brier score" in str(brier_interval(y, p))


def test_the_standard_error_is_that_of_a_mean_and_of_group_means():
    y, p = calibrated()
    found = brier_interval(y, p)
    assert found.se == pytest.approx(np.std((p - y) ** 2, ddof=1) / np.sqrt(len(y)))
    twice = np.repeat(np.arange(len(y)), 2)
    assert brier_interval(y[twice], p[twice], groups=twice).se == pytest.approx(found.se, rel=1e-9)


def test_perfect_probabilities_are_not_certain():
    found = brier_interval([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0])
    assert found.value == 0.0 and 0.3 < found.high < 0.9


def test_two_models_are_compared_in_pairs():
    y, p = calibrated()
    blunt = expit(0.5 * logit(p))
    found = compare_brier(y, p, blunt)
    loss = (p - y) ** 2 - (blunt - y) ** 2
    assert found.difference == pytest.approx(loss.mean())
    assert found.se == pytest.approx(np.std(loss, ddof=1) / np.sqrt(len(y)))
    assert compare_brier(y, p, p).pvalue == 1.0


def test_the_slope_is_that_of_a_logistic_regression():
    y, p = calibrated(800)
    said = expit(2.0 * logit(p) + 2.5)
    fit = calibration_slope(y, said)
    own = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky").fit(logit(said)[:, None], y)
    assert fit.slope == pytest.approx(own.coef_[0, 0], abs=1e-5)
    mean = expit(logit(said) + fit.intercept)
    assert mean.sum() == pytest.approx(y.sum(), rel=1e-6)
    assert fit.slope_high < 0.7 and fit.intercept_high < 0.0
    assert fit.ratio == pytest.approx(y.sum() / said.sum())
    assert fit.ratio_low < fit.ratio < fit.ratio_high < 1.0


def test_groups_of_copies_have_the_error_of_the_rows():
    y, p = calibrated(600)
    twice = np.repeat(np.arange(len(y)), 2)
    one, two = calibration_slope(y, p), calibration_slope(y[twice], p[twice], groups=twice)
    assert two.slope == pytest.approx(one.slope, abs=1e-6)
    assert two.slope_high - two.slope_low == pytest.approx(one.slope_high - one.slope_low, rel=0.1)
    assert (one.method, two.method) == ("information", "sandwich")


@pytest.mark.parametrize("method", ["cox", "spiegelhalter"])
def test_a_test_sees_probabilities_that_are_too_extreme(method):
    y, p = calibrated(2000)
    assert calibration_test(y, p, method=method).pvalue > 0.01
    statistic, pvalue = calibration_test(y, expit(1.6 * logit(p)), method=method)
    assert pvalue < 1e-4 and abs(statistic) > 3.0


def test_the_likelihood_ratio_and_walds_test_agree():
    y, p = calibrated(2000)
    said = expit(1.15 * logit(p))
    plain, wald = calibration_test(y, said), calibration_test(y, said, groups=np.arange(len(y)))
    assert wald.statistic == pytest.approx(plain.statistic, rel=0.2)
    with pytest.raises(ValueError, match="method='cox'"):
        calibration_test(y, said, method="spiegelhalter", groups=np.arange(len(y)))


@pytest.mark.parametrize("function", [brier_interval, log_loss_interval, calibration_slope, calibration_test])
def test_scores_that_are_no_probabilities_are_refused(function):
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\]"):
        function([0, 1, 0, 1], [0.1, 0.4, 1.2, 0.3])


def test_one_probability_for_all_has_no_slope():
    with pytest.raises(ValueError, match="differ"):
        calibration_slope([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5])


# Net benefit


def test_net_benefit_counts_treated_rows():
    y, p = calibrated(400)
    p = p.round(2)
    found = net_benefit(y, p, [0.1, 0.35, 0.5])
    for k, t in enumerate(found.threshold):
        treated = p >= t
        expected = ((treated & y).sum() - t / (1 - t) * (treated & ~y).sum()) / 400
        assert found.net_benefit[k] == pytest.approx(expected)
        everyone = y.mean() - t / (1 - t) * (1 - y.mean())
        assert found.treat_all[k] == pytest.approx(everyone)
        assert found.versus_all[k] == pytest.approx(expected - everyone)
        assert found.low[k] < expected < found.high[k]
    assert len(found.to_frame()) == 3


def test_below_all_probabilities_everyone_is_treated():
    y, p = calibrated()
    found = net_benefit(y, 0.2 + 0.6 * p, 0.1)
    ends = found.versus_all[0], found.versus_all_low[0], found.versus_all_high[0]
    assert ends == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_the_difference_to_another_model_is_paired():
    y, p = calibrated()
    other = expit(logit(p) + np.random.default_rng(0).normal(size=len(p)))
    found = net_benefit(y, p, [0.3], other=other)
    assert found.versus_other[0] == pytest.approx(found.net_benefit[0] - net_benefit(y, other, [0.3]).net_benefit[0])
    width = found.versus_other_high - found.versus_other_low
    assert width[0] < (found.high - found.low)[0]
    alone = net_benefit(y, p, [0.3])
    assert found == alone and alone.versus_other is None and "versus_other" not in alone.to_frame()
    assert found.to_frame()["versus_other"][0] == found.versus_other[0] and "versus_other_low" in str(found)


def test_thresholds_are_probabilities():
    y, p = calibrated()
    with pytest.raises(ValueError, match="thresholds"):
        net_benefit(y, p, [0.0, 0.5])


@pytest.mark.long
def test_intervals_cover_and_tests_keep_their_level():
    rejected, covered = {"cox": [], "spiegelhalter": []}, {"slope": [], "brier": [], "loss": [], "benefit": []}
    _, p = calibrated(1_000_000, seed=99)
    brier, loss = np.mean(p * (1 - p)), -np.mean(p * np.log(p) + (1 - p) * np.log(1 - p))
    benefit = np.mean((p >= 0.3) * (p - 0.3 / 0.7 * (1 - p)))
    for seed in range(1500):
        y, p = calibrated(400, seed)
        for method, hits in rejected.items():
            hits.append(calibration_test(y, p, method=method).pvalue < 0.05)
        fit = calibration_slope(y, p)
        covered["slope"].append(fit.slope_low <= 1.0 <= fit.slope_high)
        for name, found, truth in (("brier", brier_interval(y, p), brier), ("loss", log_loss_interval(y, p), loss)):
            covered[name].append(found.low <= truth <= found.high)
        curve = net_benefit(y, p, [0.3])
        covered["benefit"].append(curve.low[0] <= benefit <= curve.high[0])
    assert all(0.035 <= np.mean(hits) <= 0.065 for hits in rejected.values()), rejected
    assert all(0.93 <= np.mean(hits) <= 0.97 for hits in covered.values()), covered


def test_reliability_does_not_depend_on_the_order_of_rows_with_ties():
    y, p = calibrated(1000)
    p = p.round(1)
    again = np.random.default_rng(0).permutation(len(y))
    one, other = reliability(y, p, n_bins=5), reliability(y[again], p[again], n_bins=5)
    np.testing.assert_allclose(np.array(tuple(one)), np.array(tuple(other)))
    assert one.rows.sum() == len(y)
    for k in range(len(one.rows)):
        assert one.low[k] <= one.observed[k] <= one.high[k]
    assert len(reliability(y, (p > 0.5) * 0.5 + 0.2).rows) == 2


def test_the_line_of_calibrated_probabilities_holds_the_diagonal():
    y, p = calibrated(3000)
    found = reliability(y, p)
    inside = (found.line_low <= found.line_at) & (found.line_at <= found.line_high)
    assert inside.mean() > 0.9
    assert np.all(found.line_low < found.line) and np.all(found.line < found.line_high)
    assert reliability(y, np.full(len(y), 0.3)).line.size == 0


def test_a_calibration_line_needs_two_groups():
    with pytest.raises(ValueError, match="two groups or more"):
        calibration_slope([0, 1, 0, 1], [0.2, 0.7, 0.4, 0.6], groups=["a"] * 4)
