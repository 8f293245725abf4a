"""Shapes that may only rise, or only fall: the quadratic in increments that may not be negative, solved exactly."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg

from auclid.additive._basis import Basis, Feature
from auclid.solvers.closed_form import solve_spectral

TRIES = 3
"""Exchanges of whole sets that may fail to make the trouble smaller before one is made at a time."""


class Rising(NamedTuple):
    """One column in increments: its coefficients, its direction, and the slot that is zero (-1: none)."""

    place: np.ndarray
    sign: float
    reference: int

    def slots(self, u: np.ndarray) -> np.ndarray:
        """The value of each slot from the increments; sums of numbers that are not negative never fall, to the bit."""
        if self.reference < 0:
            return self.sign * np.cumsum(np.append(0.0, u[1:])) + u[0]
        steps = self.sign * np.cumsum(np.append(0.0, u))
        return steps - steps[self.reference]


def rising_columns(features: Sequence[Feature], basis: Basis, monotone: Mapping[int, int]) -> list[Rising]:
    """The constrained columns, those of one value left out, and every line of a grid along such a column.

    A shape and grids that all rise with a column add up to scores that do; and what rises can be written so.
    """
    out = []
    for j, sign in monotone.items():
        place = basis.place[basis.first[j] : basis.first[j + 1]]
        if len(place) > 1:
            out.append(Rising(place[place >= 0], float(sign), features[j].reference))
    size = np.diff(basis.coarse_first)
    for first, a, b in zip(basis.pair_first, basis.pair_a, basis.pair_b, strict=True):
        grid = first + np.arange(size[a] * size[b]).reshape(size[a], size[b])
        for j, lines in ((int(a), grid.T), (int(b), grid)):
            if j in monotone:
                out += [Rising(line, float(monotone[j]), -1) for line in lines]
    return out


def solve_monotone(H: np.ndarray, b: np.ndarray, columns: Sequence[Rising]) -> np.ndarray:
    """argmin_w 1/2 w·H·w - b·w where the shapes of these columns do not fall (or do not rise)."""
    T, bounded = np.eye(len(b)), np.zeros(len(b), dtype=bool)
    for column in columns:
        count = len(column.place)
        part = np.stack([_used(column, unit) for unit in np.eye(count)], axis=1)
        T[np.ix_(column.place, column.place)] = part
        bounded[column.place] = True
        if column.reference < 0:
            bounded[column.place[0]] = False
    u = solve_bounded(T.T @ H @ T, T.T @ b, bounded)
    w = u.copy()
    for column in columns:
        w[column.place] = _used(column, u[column.place])
    return w


def _used(column: Rising, u: np.ndarray) -> np.ndarray:
    """The coefficients of the slots that have one."""
    return np.delete(column.slots(u), column.reference) if column.reference >= 0 else column.slots(u)


def solve_bounded(H: np.ndarray, b: np.ndarray, bounded: np.ndarray) -> np.ndarray:
    """argmin_u 1/2 u·H·u - b·u with u >= 0 where ``bounded``: block principal pivoting, exact and finite.

    Coordinates that are negative are held at zero and those whose gradient is negative are let go, all at once while
    that helps, one at a time (Murty's rule) where it does not (Júdice & Pires 1994).
    """
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    H, b = H * scale * scale[:, None], b * scale
    free, least, tries = np.ones(len(b), dtype=bool), len(b) + 1, TRIES
    tolerance = 1e-12 * max(1.0, np.abs(b).max(initial=0.0))
    u = np.zeros(len(b))
    for _ in range(50 * (len(b) + 1)):
        u[:] = 0.0
        u[free] = _solved(H[np.ix_(free, free)], b[free])
        slope = H @ u - b
        wrong = bounded & np.where(free, u < -tolerance, slope < -tolerance)
        if not wrong.any():
            break
        if wrong.sum() < least:
            least, tries = int(wrong.sum()), TRIES
        elif tries > 0:
            tries -= 1
        else:
            last = int(np.flatnonzero(wrong)[-1])
            wrong[:] = False
            wrong[last] = True
        free ^= wrong
    return np.where(bounded, np.maximum(u, 0.0), u) * scale


def _solved(H: np.ndarray, b: np.ndarray) -> np.ndarray:
    if not len(b):
        return b
    try:
        return linalg.cho_solve(linalg.cho_factor(H, lower=True, check_finite=False), b, check_finite=False)
    except linalg.LinAlgError:
        return solve_spectral(H, b)
