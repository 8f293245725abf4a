"""Weights of a blend from held-out scores: logistic regression without negative weights, and greedy selection."""

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.optimize import nnls
from scipy.special import expit

MAX_STACK_STEPS = 50
"""Newton steps at the most."""

MAX_HALVINGS = 20
"""Times that a Newton step is halved at the most."""

CONVERGED_DECREASE = 1e-9
"""The decrease of the loss at which steps end."""


def stack_weights(S: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None, penalty: float) -> np.ndarray:
    """Minimise over w ≥ 0 and b the balanced logistic loss of S w + b plus (penalty/2) |w|²; returns w.

    Each class has half of the weight, whatever its share of the rows. The stronger the penalty, the more a weight
    follows what its model achieves alone, and the more alike the weights of equally good models are.

    Parameters
    ----------
    S : array of shape (n, m)
        Held-out scores of m models, each with mean 0 and variance 1.
    is_pos : boolean array of shape (n,)
    weight : array of shape (n,) or None
    penalty : float in (0, inf)

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.auto._stack import stack_weights
    >>> S = np.array([[-1.0, 1.0], [0.0, -1.0], [0.2, 1.0], [1.0, -1.0]])
    >>> w = stack_weights(S, np.array([False, False, True, True]), None, 0.1)
    >>> bool(w[0] > w[1] >= 0.0)
    True
    """
    mass = np.ones(len(S)) if weight is None else weight
    mass = np.where(is_pos, 0.5 / mass[is_pos].sum(), 0.5 / mass[~is_pos].sum()) * mass
    sign, m = np.where(is_pos, 1.0, -1.0), S.shape[1]
    w = np.append(np.full(m, 1.0 / m), 0.0)

    def loss(w: np.ndarray) -> float:
        margin = sign * (S @ w[:-1] + w[-1])
        return float(mass @ np.logaddexp(0.0, -margin) + 0.5 * penalty * w[:-1] @ w[:-1])

    before = loss(w)
    for _ in range(MAX_STACK_STEPS):
        target = _newton_target(S, sign, mass, penalty, w)
        step, after, share = target - w, np.inf, 1.0
        for _ in range(MAX_HALVINGS):
            after = loss(w + share * step)
            if after <= before:
                break
            share /= 2.0
        if after > before:
            break
        w, before, decrease = w + share * step, after, before - after
        if decrease <= CONVERGED_DECREASE:
            break
    return w[:-1]


def _newton_target(S: np.ndarray, sign: np.ndarray, mass: np.ndarray, penalty: float, w: np.ndarray) -> np.ndarray:
    """The minimiser of the quadratic model at w, among weights that are not negative; b is eliminated first."""
    p = expit(-sign * (S @ w[:-1] + w[-1]))
    curvature, slope = np.maximum(mass * p * (1.0 - p), 1e-12 * mass), -mass * sign * p
    gradient, at_b = S.T @ slope + penalty * w[:-1], float(slope.sum())
    mixed, bend = S.T @ curvature, float(curvature.sum())
    hessian = (S * curvature[:, None]).T @ S - np.outer(mixed, mixed) / bend
    hessian[np.diag_indices_from(hessian)] += penalty
    factor = linalg.cholesky(hessian, lower=True, check_finite=False)
    aim = hessian @ w[:-1] - (gradient - mixed * at_b / bend)
    moved, _ = nnls(factor.T, linalg.solve_triangular(factor, aim, lower=True, check_finite=False))
    return np.append(moved, w[-1] - (at_b + mixed @ (moved - w[:-1])) / bend)


def greedy_weights(S: np.ndarray, value: Callable[[np.ndarray], float], steps: int) -> np.ndarray:
    """Shares of models in the sum of those that, added one after the other with repetition, raise a metric most.

    The sum with the best value is used, which may come before the last step (Caruana et al. 2004).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.auto._stack import greedy_weights
    >>> S, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), np.array([0.0, 1.0, 2.0])
    >>> greedy_weights(S, lambda scores: -np.abs(scores - y).sum(), 3)
    array([1., 0.])
    """
    total, times = np.zeros(len(S)), np.zeros(S.shape[1])
    best, best_times = -np.inf, times
    for _ in range(steps):
        values = [value(total + column) for column in S.T]
        added = int(np.argmax(values))
        total, times = total + S[:, added], times + np.eye(S.shape[1])[added]
        if values[added] > best:
            best, best_times = values[added], times
    return best_times / best_times.sum()
