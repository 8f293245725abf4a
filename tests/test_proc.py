"""Numbers that pROC 1.18.0 (R 4.2.2) gives for the rows below: what is the same here, and what is not on purpose.

    y <- as.integer(0:99 %% 5 < 2); a <- (7 * 0:99) %% 11 + 3 * y; b <- (5 * 0:99) %% 13 + 2 * y
    r1 <- roc(y, a, direction="<"); r2 <- roc(y, b, direction="<")
"""

import numpy as np
import pytest

from auclid.metrics import (
    auc_interval,
    compare_auc,
    compare_auc_unpaired,
    operating_point,
    partial_auc,
    rates_at,
    sample_size,
)

ROW = np.arange(100)
Y = (ROW % 5 < 2).astype(int)
A, B = (7 * ROW) % 11 + 3 * Y, (5 * ROW) % 13 + 2 * Y


def test_the_auc_its_variance_and_the_plain_interval_are_the_same():
    found = auc_interval(Y, A, transform=None)
    assert (found.auc, found.se**2) == pytest.approx((0.726875, 0.0025405938013062), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((0.628084380668869, 0.825665619331131), rel=1e-12)
    assert auc_interval(Y, B).se ** 2 == pytest.approx(0.00318715277777778, rel=1e-12)
    assert partial_auc(Y, A, max_fpr=0.2) == pytest.approx(0.649074074074074, rel=1e-12)
    assert operating_point(Y, A).threshold == 10.5


def test_the_default_interval_is_another():
    low, high = auc_interval(Y, A)[1:3]
    assert low < 0.6280 and high < 0.8256  # towards the middle


def test_the_paired_test_is_the_same():
    found = compare_auc(Y, A, B)
    assert found.statistic == pytest.approx(1.09625388108046, rel=1e-12)
    assert found.pvalue == pytest.approx(0.272967685940577, rel=1e-12)
    assert (found.low, found.high) == pytest.approx((-0.0645071966824479, 0.228257196682448), rel=1e-12)


def test_a_one_sided_test_has_the_same_p_value_and_an_interval_with_one_end():
    found = compare_auc(Y, A, B, alternative="greater")
    assert found.pvalue == pytest.approx(0.136483842970288, rel=1e-12)
    assert found.high == 1.0 and found.low > -0.0645


def test_the_unpaired_statistic_is_the_same_and_its_distribution_normal():
    found = compare_auc_unpaired(Y, A, Y, B)
    assert found.statistic == pytest.approx(1.08183098417855, rel=1e-12)
    assert found.df == np.inf and found.pvalue == pytest.approx(0.280660183374022, abs=0.002)


def test_a_perfect_ranking_is_not_certain():
    assert auc_interval([0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6]).low < 0.3  # pROC: 1 to 1


def test_sensitivities_at_a_specificity_are_those_of_a_threshold():
    interpolated = {0.5: 0.75, 0.2: 0.465, 0.1: 0.366666666666667}
    for fpr, theirs in interpolated.items():
        found = rates_at(Y, A, fpr=fpr)
        assert found.tpr == np.mean(A[Y == 1] > found.threshold) < theirs
        assert np.mean(A[Y == 0] > found.threshold) <= fpr


def test_sample_sizes_are_those_of_another_plan():
    assert sample_size(0.95, power=0.8)[:2] == (11, 11)  # pROC: 4.28 + 4.28, too few for the interval to exclude .5
    correlation = np.mean([np.corrcoef(A[Y == k], B[Y == k])[0, 1] for k in (0, 1)])
    ours = sample_size(0.726875, null=0.645, ratio=1.5, power=0.9, correlation=correlation)
    assert ours[0] == pytest.approx(324.9, rel=0.15)  # by DeLong's variances of these curves
    assert ours[0] == pytest.approx(385.2, rel=0.15)  # method="obuchowski"
