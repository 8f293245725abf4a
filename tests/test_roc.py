"""The ROC object: every method is the function of its name with the rows filled in."""

import numpy as np
import pytest

from auclid import metrics
from auclid.metrics import ROC

RNG = np.random.default_rng(0)
Y = RNG.random(120) < 0.4
A, B = np.round(RNG.normal(size=(2, 120)) + Y, 1)
WEIGHT, GROUPS = RNG.integers(0, 4, 120) / 2.0, RNG.integers(0, 40, 120)

ROWS = {"plain": {}, "weighted": {"sample_weight": WEIGHT}, "grouped": {"groups": GROUPS, "sample_weight": WEIGHT}}


@pytest.mark.parametrize("rows", sorted(ROWS))
def test_methods_are_the_functions(rows):
    given = ROWS[rows]
    roc = ROC(Y, A, **given)
    weighted = {name: value for name, value in given.items() if name == "sample_weight"}
    assert roc.auc == pytest.approx(metrics.roc_auc(Y, A, **weighted))
    drawn = {"n_bootstrap": 100, "random_state": 0}
    for keywords in ({}, {"max_fpr": 0.3}, {"transform": None}, {"method": "bca", **drawn}):
        assert roc.interval(**keywords) == pytest.approx(metrics.auc_interval(Y, A, **given, **keywords))
    assert roc.test(0.6, alternative="greater") == pytest.approx(
        metrics.auc_test(Y, A, null=0.6, alternative="greater", **given)
    )
    assert roc.partial(max_fpr=0.2) == pytest.approx(metrics.partial_auc(Y, A, max_fpr=0.2, **weighted))
    want = metrics.compare_auc(Y, A, B, alternative="less", **given)
    assert roc.compare(B, alternative="less") == pytest.approx(want)
    assert roc.compare(ROC(Y, B, **given), alternative="less") == pytest.approx(want)
    assert roc.rates(fpr=0.2) == pytest.approx(metrics.rates_at(Y, A, fpr=0.2, **given))
    assert roc.operating_point(criterion="corner") == metrics.operating_point(Y, A, criterion="corner", **weighted)
    got = roc.operating_point_interval(**drawn)
    assert got == pytest.approx(metrics.operating_point_interval(Y, A, **given, **drawn))


def test_another_roc_of_other_rows_is_unpaired():
    half = slice(0, 70)
    got = ROC(Y, A).compare(ROC(Y[half], B[half], groups=GROUPS[half]))
    assert got == pytest.approx(metrics.compare_auc_unpaired(Y, A, Y[half], B[half], groups_b=GROUPS[half]))


def test_points_and_counts():
    roc = ROC(np.where(Y, "case", "control"), A, pos_label="case")
    assert (roc.n_positive, roc.n_negative) == (Y.sum(), (~Y).sum())
    assert roc.fpr[0] == roc.tpr[0] == 0.0 and roc.fpr[-1] == roc.tpr[-1] == 1.0
    at = len(roc.thresholds) // 2
    assert roc.tpr[at] == np.mean(A[Y] > roc.thresholds[at])
    assert repr(roc).startswith("ROC(auc=0.8103, n_positive=41")


def test_a_score_of_other_rows_is_refused():
    with pytest.raises(ValueError, match=r"'other' parameter of ROC.compare must be a score of each of the 120 rows"):
        ROC(Y, A).compare(B[:100])
    with pytest.raises(ValueError, match=r"ROC.compare expects columns of one length"):
        ROC(Y, A, sample_weight=WEIGHT).compare(B[:100])
    with pytest.raises(ValueError, match="'pos_label' parameter of ROC must name the positive label"):
        ROC(np.where(Y, "case", "control"), A)
