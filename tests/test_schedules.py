"""Schedules: the formulas, and that every one is positive and never grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auclid.schedules import Constant, Harmonic, Power, rate

EXAMPLES = {
    Constant: (Constant(0.3), lambda t: 0.3),
    Power: (Power(2.0, 0.75), lambda t: 2.0 / t**0.75),
    Harmonic: (Harmonic(3.0, 4.0), lambda t: 3.0 / (t + 4.0)),
}


def test_every_schedule_is_tried():
    assert set(EXAMPLES) == set(rate.registry) - {object}


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda cls: cls.__name__)
@given(t=st.integers(1, 10**9))
def test_rates_are_the_formula_positive_and_never_grow(kind, t):
    schedule, formula = EXAMPLES[kind]
    assert rate(schedule, float(t)) == pytest.approx(formula(t), rel=1e-14)
    assert 0.0 < rate(schedule, t + 1.0) <= rate(schedule, float(t))


def test_defaults():
    assert rate(Power(1.0), 4.0) == 0.5 and rate(Harmonic(1.0), 4.0) == 0.25
