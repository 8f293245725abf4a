"""Penalties: prox minimises its own objective and brings points no further apart, for every penalty."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from auclid.penalties import L2, Ball, ElasticNet, penalty_value, prox

EXAMPLES = {
    L2: [L2(0.0), L2(0.7)],
    ElasticNet: [ElasticNet(0.5, 0.0), ElasticNet(0.3, 2.0), ElasticNet(0.0, 1.0)],
    Ball: [Ball(0.5), Ball(3.0)],
}
EVERY = [penalty for examples in EXAMPLES.values() for penalty in examples]

vectors = st.lists(st.floats(-5.0, 5.0), min_size=3, max_size=3).map(np.array)
steps = st.floats(1e-3, 5.0)
every = pytest.mark.parametrize("penalty", EVERY, ids=repr)


def after(penalty, w, step):
    w = w.copy()
    prox(penalty, w, step)
    return w


def test_every_penalty_is_tried():
    ours = [{cls for cls in f.registry if cls.__module__ == "auclid.penalties"} for f in (prox, penalty_value)]
    assert set(EXAMPLES) == ours[0] == ours[1]


@every
@given(w=vectors, step=steps, rival=vectors)
def test_prox_minimises_its_objective(penalty, w, step, rival):
    v = after(penalty, w, step)

    def objective(u):
        return 0.5 * np.sum((u - w) ** 2) + step * penalty_value(penalty, u)

    best = objective(v)
    assert np.isfinite(best)
    rivals = [rival, w, np.zeros(3), *(v + 1e-3 * e for e in (*np.eye(3), *-np.eye(3)))]
    # The objective is strongly convex, so a minimiser beats each rival by half the squared distance.
    for u in rivals:
        assert best + 0.5 * np.sum((u - v) ** 2) <= objective(u) + 1e-9


@every
@given(a=vectors, b=vectors, step=steps)
def test_prox_is_nonexpansive(penalty, a, b, step):
    gap = np.linalg.norm(after(penalty, a, step) - after(penalty, b, step))
    assert gap <= np.linalg.norm(a - b) * (1.0 + 1e-12) + 1e-12


@given(w=vectors, l1=st.floats(0.0, 2.0), l2=st.floats(0.0, 2.0), step=steps)
def test_elastic_net_is_soft_thresholding_of_the_shrunk_point(w, l1, l2, step):
    shrunk, cut = w / (1.0 + step * l2), step * l1 / (1.0 + step * l2)
    expected = np.sign(shrunk) * np.maximum(np.abs(shrunk) - cut, 0.0)
    np.testing.assert_allclose(after(ElasticNet(l1, l2), w, step), expected, atol=1e-12)


@given(w=vectors, l2=st.floats(0.0, 5.0), step=steps)
def test_l2_is_an_elastic_net_without_l1(w, l2, step):
    np.testing.assert_allclose(after(L2(l2), w, step), after(ElasticNet(0.0, l2), w, step), rtol=1e-14)


def test_ball_agrees_with_a_general_optimiser():
    w = np.array([3.0, -1.0, 2.0])
    found = minimize(
        lambda u: 0.5 * np.sum((u - w) ** 2),
        np.zeros(3),
        constraints={"type": "ineq", "fun": lambda u: 1.0 - u @ u},
        method="SLSQP",
    )
    np.testing.assert_allclose(after(Ball(1.0), w, 0.1), found.x, atol=1e-5)
    assert penalty_value(Ball(1.0), w) == np.inf
