"""The rule by which long tests compare with published figures: luck passes, a real loss fails."""

import numpy as np
import pytest

from published import surely_below


@pytest.mark.parametrize(("loss", "least", "most"), [(0.0, 0.0, 0.03), (0.02, 0.9, 1.0)])
def test_luck_passes_and_a_real_loss_fails(loss, least, most):
    """As OAMgra on svmguide3: sixty folds that differ by .03, and a figure of three runs that differ by .0068."""
    rng, failed = np.random.default_rng(0), 0
    for _ in range(500):
        folds, paper = rng.normal(0.76 - loss, 0.03, size=60), rng.normal(0.76, 0.0068, size=3).mean()
        failed += surely_below(folds, paper, 0.0068, 3)
    assert least <= failed / 500 <= most


def test_what_the_record_calls_met_never_fails():
    folds = np.array([0.80, 0.801, 0.799])
    assert not surely_below(folds, 0.8049, 0.0, 5) and surely_below(folds, 0.8051, 0.0, 5)
    assert not surely_below(folds, 0.8295, 0.03, 100) and surely_below(folds, 0.8305, 0.03, 100)
