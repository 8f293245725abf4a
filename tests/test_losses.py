"""Losses: the laws that every loss obeys, found through the registry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from auclid.losses import LOSSES, Hinge, Logistic, Square, SquaredHinge, curvature, hinges, prox_step, slope, value

OURS = "auclid.losses"
EVERY = [cls() for cls in value.registry if cls.__module__ == OURS]
WITH_STEP = [loss for loss in EVERY if type(loss) in prox_step.registry]

margins = st.floats(-30.0, 30.0)


def every(losses):
    return pytest.mark.parametrize("loss", losses, ids=lambda loss: type(loss).__name__)


def test_every_named_loss_has_a_value_and_a_slope():
    assert set(LOSSES.values()) == set(map(type, EVERY)) == {cls for cls in slope.registry if cls.__module__ == OURS}
    assert {Square, Hinge, SquaredHinge} <= set(prox_step.registry)


@pytest.mark.parametrize(
    ("loss", "at"),
    [
        (Square(), {-1.0: 4.0, 1.0: 0.0, 3.0: 4.0}),
        (Hinge(), {-1.0: 2.0, 1.0: 0.0, 3.0: 0.0}),
        (SquaredHinge(), {-1.0: 4.0, 1.0: 0.0, 3.0: 0.0}),
        (Logistic(), {0.0: np.log(2.0), 800.0: 0.0, -800.0: 800.0}),
    ],
)
def test_values_are_the_formulas(loss, at):
    for m, expected in at.items():
        assert value(loss, m) == pytest.approx(expected, abs=1e-15)


@every(EVERY)
@given(m=margins)
def test_slope_is_the_derivative(loss, m):
    h = 1e-6
    left, right = (value(loss, m) - value(loss, m - h)) / h, (value(loss, m + h) - value(loss, m)) / h
    assert left - 1e-4 <= slope(loss, m) <= right + 1e-4


@every(EVERY)
@given(a=margins, b=margins, t=st.floats(0.0, 1.0))
def test_value_is_convex_and_not_negative(loss, a, b, t):
    middle = value(loss, t * a + (1.0 - t) * b)
    assert 0.0 <= middle <= t * value(loss, a) + (1.0 - t) * value(loss, b) + 1e-9


@every(EVERY)
def test_far_margins_do_not_overflow(loss):
    with np.errstate(all="raise", under="ignore"):
        for m in (-1e5, 1e5):
            assert np.isfinite(value(loss, m)) and np.isfinite(slope(loss, m))


def test_slope_at_a_kink_is_the_right_derivative():
    assert slope(Hinge(), 1.0) == 0.0 and slope(Hinge(), np.nextafter(1.0, 0.0)) == -1.0


@every(WITH_STEP)
@given(m=margins, q=st.floats(1e-3, 50.0), s=st.floats(1e-3, 10.0))
def test_prox_step_is_the_argmin(loss, m, q, s):
    """Along z the objective is c^2 q / 2 + s l(m + c q): v = w + c z."""

    def objective(c):
        return 0.5 * c * c * q + s * value(loss, m + c * q)

    c = prox_step(loss, m, q, s)
    reach = 2.0 * s * (abs(slope(loss, m)) + 1.0)
    found = minimize_scalar(objective, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-10})
    assert objective(c) <= found.fun + 1e-9 * (1.0 + found.fun)


@every(WITH_STEP)
def test_a_pair_of_equal_rows_makes_no_step(loss):
    assert prox_step(loss, 0.0, 0.0, 1.0) == 0.0


@every([loss for loss in EVERY if type(loss) in curvature.registry])
@given(m=margins)
def test_curvature_is_the_derivative_of_the_slope(loss, m):
    h = 1e-6
    kinks = [r for _, r in hinges(loss)] if type(loss) in hinges.registry else [1.0]
    if min(abs(m - kink) for kink in kinks) > h:
        assert curvature(loss, m) == pytest.approx((slope(loss, m + h) - slope(loss, m - h)) / (2.0 * h), abs=1e-5)


@every([loss for loss in EVERY if type(loss) in hinges.registry])
@given(m=margins)
def test_squared_hinges_add_up_to_the_value(loss, m):
    assert sum(c * max(0.0, r - m) ** 2 for c, r in hinges(loss)) == pytest.approx(value(loss, m), rel=1e-12)
