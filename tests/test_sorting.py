"""The fast stable order is that of NumPy's sorts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auclid.stats import sorting
from auclid.stats.sorting import stable_argsort

VALUES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: rng.integers(-3, 4, n).astype(float),
    "last bits": lambda rng, n: 1.0 + rng.integers(0, 50, n) * 2.0**-52,
    "zeros of both signs": lambda rng, n: rng.choice([-0.0, 0.0, 1e-310, -1e-310], n),
    "wide": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-300, 300, n),
    "infinite": lambda rng, n: rng.choice([-np.inf, np.inf, 0.0], n),
    "falling": lambda rng, n: -np.arange(n, dtype=float),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("n", [0, 1, 7, 20_000, 30_011])
def test_order_is_that_of_numpy(kind, n):
    rng = np.random.default_rng(n)
    value, second = VALUES[kind](rng, n), rng.random(n) < 0.5
    np.testing.assert_array_equal(stable_argsort(value), np.argsort(value, kind="stable"))
    np.testing.assert_array_equal(stable_argsort(value, second), np.lexsort((second, value)))


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.booleans()), min_size=1, max_size=40))
@settings(deadline=None)
def test_any_numbers(rows):
    value, second = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    least, sorting.MIN_PACKED_ROWS = sorting.MIN_PACKED_ROWS, 1
    try:
        np.testing.assert_array_equal(stable_argsort(value, second), np.lexsort((second, value)))
    finally:
        sorting.MIN_PACKED_ROWS = least
