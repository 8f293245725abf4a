"""The last digits of the hinge's minimum: planes below the risk, and the proved gap that they leave."""

import itertools
import warnings

import numpy as np
import pytest

from auclid import RankSVM
from auclid.solvers import cutting_planes


def rows(n=90, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3 == 0
    return rng.standard_normal((n, d)) + 0.6 * y[:, None] * (np.arange(d) < 2), y


def lightest(Q, heights):
    """By brute force: the optimum on each face of the simplex, where it is inside."""
    best = np.inf
    for size in range(1, len(heights) + 1):
        for face in map(list, itertools.combinations(range(len(heights)), size)):
            system = np.block([[Q[np.ix_(face, face)], np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            x = np.linalg.lstsq(system, np.append(heights[face], 1.0), rcond=None)[0][:size]
            if (x >= -1e-12).all() and abs(x.sum() - 1.0) < 1e-9:
                best = min(best, x @ Q[np.ix_(face, face)] @ x / 2 - heights[face] @ x)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_weights_of_the_planes_are_the_best(seed):
    rng = np.random.default_rng(seed)
    G, heights = rng.standard_normal((7, 3)), rng.standard_normal(7)
    Q = G @ G.T
    x = cutting_planes.heaviest(Q, heights, np.eye(7)[seed % 7])
    assert (x >= 0.0).all() and x.sum() == pytest.approx(1.0)
    assert x @ Q @ x / 2 - heights @ x == pytest.approx(lightest(Q, heights), rel=1e-9, abs=1e-12)


CUTS = [{}, {"max_fpr": 0.2, "softness": 1e-12}, {"max_fpr": 0.3, "min_tpr": 0.4, "softness": 1e-12}]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_the_gap_is_proved_to_ten_digits(cut, weighted):
    X, y = rows()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankSVM(alpha=0.05, loss="hinge", tol=1e-10, max_iter=1000, **cut).fit(X, y, sample_weight=weight)
    assert model.gap_ <= 1e-10
    rough = RankSVM(alpha=0.05, loss="hinge", tol=1e-4, **cut).fit(X, y, sample_weight=weight)
    assert rough.objective_ * (1.0 - rough.gap_) <= model.objective_ * (1 + 1e-12) <= rough.objective_ * (1 + 1e-11)


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_planes_are_below_the_risk(cut):
    """A plane below the risk at other points: those nearby, and those far away."""
    X, y = rows()
    seen = []
    start = cutting_planes.begin

    def recorded(state):
        seen.append(start(state))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting_planes, "begin", recorded)
        RankSVM(alpha=0.05, loss="hinge", tol=1e-10, max_iter=1000, **cut).fit(X, y)
    (state,) = seen
    rng = np.random.default_rng(2)
    for size in (1e-6, 1e-3, 1.0, 100.0):
        w = state.planes.start + size * rng.standard_normal(X.shape[1])
        risk, _ = state.objective.at(w).touching_plane
        planes = state.planes.slopes @ (w - state.planes.start) + state.planes.heights
        assert (planes <= risk + 1e-12 * max(1.0, size)).all()
