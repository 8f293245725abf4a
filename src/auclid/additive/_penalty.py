"""What large or rough shapes cost, and which columns are let off lightly."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid.additive._basis import Basis, Feature, coarse_places
from auclid.additive._knots import second_differences

FAINT = 0.01
"""A column that adds nothing costs as much as one whose variance is this share of the mean over columns."""


class Penalty(NamedTuple):
    """Strengths of the ridge and of the roughness penalty, and how much more a column costs that adds little."""

    alpha: float
    smooth: float
    focus: float = 0.0


class Terms(NamedTuple):
    """What `Penalty` multiplies: P of the roughness w·P·w, and where the coefficients of each column or pair begin."""

    P: Any
    """Sparse: it joins coefficients of one column or pair only."""
    starts: np.ndarray
    """One more than there are columns and pairs: the last is the number of coefficients."""

    def cost(self, u: np.ndarray, S: np.ndarray, focus: float) -> np.ndarray:
        """How dear each coefficient is, (mean v / v_k)^focus: v_k is the variance of what its column adds with u."""
        parts = [slice(a, b) for a, b in pairwise(self.starts)]
        v = np.array([u[at] @ S[at, at] @ u[at] for at in parts])
        size = float(v.mean()) if len(v) else 0.0
        if size <= 0.0:
            return np.ones(len(u))
        return np.repeat((size / (np.maximum(v, 0.0) + FAINT * size)) ** focus, np.diff(self.starts))


def penalty_terms(features: Sequence[Feature], basis: Basis) -> Terms:
    """Second differences of every numeric shape, and along both ways of a pair."""
    parts = []
    for k, f in enumerate(features):
        if f.knots is not None:
            parts.append(_placed(basis.place[basis.first[k] : basis.first[k + 1]], second_differences(f.knots)))
    for m, (a, b) in enumerate(zip(basis.pair_a, basis.pair_b, strict=True)):
        along = [_coarse_differences(features[j], coarse_places(features[j])) for j in (a, b)]
        grid = np.kron(along[0], np.eye(len(along[1]))) + np.kron(np.eye(len(along[0])), along[1])
        parts.append(_placed(basis.pair_first[m] + np.arange(len(grid)), grid))
    row, column, value = (np.concatenate(each) for each in zip(*parts, strict=True)) if parts else ([], [], [])
    shape = basis.size, basis.size
    return Terms(sparse.csr_array((value, (row, column)), shape=shape, dtype=np.float64), _starts(basis))


def _starts(basis: Basis) -> np.ndarray:
    """Coefficients are in the order of their columns, then pairs; columns without any are left out."""
    ends = np.maximum.reduceat(basis.place, basis.first[:-1]) if len(basis.missing) else np.zeros(0, dtype=np.int64)
    ends = np.maximum(ends, basis.missing) + 1
    return np.unique(np.concatenate([[0], ends, basis.pair_first, [basis.size]]))


def _coarse_differences(feature: Feature, places: np.ndarray) -> np.ndarray:
    if feature.knots is None:
        return np.zeros((len(places), len(places)))
    return second_differences(feature.knots[places])


def _placed(place: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of what is not zero in a block; slots without a coefficient are left out."""
    row, column = np.nonzero(part * np.multiply.outer(place >= 0, place >= 0))
    return place[row], place[column], part[row, column]
