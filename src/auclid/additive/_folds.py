"""Folds as rows in the basis: the weights of all folds at once, by products with the rows.

With many coefficients and few rows, factoring the matrix of each fold takes far longer than a dozen products with the
rows, which the factor of all rows preconditions well: the folds share four fifths of their rows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from auclid.additive._basis import Basis, basis_rows
from auclid.additive._columns import cell_block
from auclid.additive._moments import class_sums
from auclid.additive._solve import (
    Penalty,
    PenaltyTerms,
    cholesky,
    cholesky_solve,
    coefficient_cost,
    direction,
    penalty_product,
    refined,
    with_penalty,
)
from auclid.solvers.iterative import conjugate_gradients

MAX_FOLD_PRODUCTS = 40
"""Conjugate gradients at the most."""

FOLD_RESIDUAL = 1e-5
"""What they may leave of δ."""

EXACT_RESIDUAL = 1e-12
"""What may be left of δ for the model of all rows."""


class WeighedRows(NamedTuple):
    """Rows in the basis, with the share of each in its class, for several models that weigh them differently."""

    Z: Any
    """CSR."""
    is_pos: np.ndarray
    share: np.ndarray
    """(rows, models): those of each class of a model add up to one."""

    @classmethod
    def of(cls, basis: Basis, cells: Any, is_pos: np.ndarray, mass: np.ndarray) -> "WeighedRows":
        """The rows of these cells, which weigh so much for each model: (rows, models)."""
        pos = is_pos[:, None]
        total = np.where(pos, (mass * pos).sum(axis=0), (mass * ~pos).sum(axis=0))
        return cls(basis_rows(basis, cell_block(cells, slice(None))), is_pos, mass / total)

    def class_means(self, scores: np.ndarray) -> np.ndarray:
        """The mean score of the class of each row, (rows, models)."""
        weighed, pos = self.share * scores, self.is_pos[:, None]
        return np.where(pos, weighed[self.is_pos].sum(axis=0), weighed[~self.is_pos].sum(axis=0))


def fold_masses(fold: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """(rows, folds + 1): the weight of each row for the models of the rows outside each fold, and of all rows."""
    mass = np.where(fold >= 0, 1.0 if weight is None else weight, 0.0)
    return np.where(fold[:, None] == [*range(fold.max() + 1), -1], 0.0, mass[:, None])


class RowFolds(Sequence):
    """The `TrainingMoments` of all folds, from rows that are kept: made when they are asked for."""

    def __init__(
        self, basis: Basis, cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, fold: np.ndarray
    ) -> None:
        self.basis, self.cells, self.mass = basis, cells, fold_masses(fold, weight)[:, :-1]
        self.rows = WeighedRows.of(basis, cells, is_pos, self.mass)

    def __len__(self) -> int:
        return self.mass.shape[1]

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[j] for j in range(len(self))[k]]
        mass = np.ascontiguousarray(self.mass[:, range(len(self))[k]])
        return class_sums(self.basis, self.cells, self.rows.is_pos, mass).outside(-1)

    @property
    def means(self) -> list[np.ndarray]:
        """The mean of the training rows of each fold."""
        return list((self.rows.Z.T @ (self.mass / self.mass.sum(axis=0))).T)

    def minimisers(
        self, S: np.ndarray, delta: np.ndarray, terms: PenaltyTerms, penalty: Penalty
    ) -> tuple[np.ndarray, list[np.ndarray]] | None:
        """The minimisers of the square loss of all rows, whose S and δ are given, and of each fold.

        The costs C are those of all rows. None where the matrix of all rows has no factor, or is too far from those of
        the folds.
        """
        cost = coefficient_cost(S, delta, terms, penalty)
        try:
            factor = cholesky(with_penalty(S.astype(np.float32), terms, penalty, cost))
        except linalg.LinAlgError:
            return None
        rows, signed = self.rows, np.where(self.rows.is_pos[:, None], self.rows.share, -self.rows.share)
        deltas = rows.Z.T @ signed

        def product(U: np.ndarray) -> np.ndarray:
            scores = rows.Z @ U
            return rows.Z.T @ (rows.share * (scores - rows.class_means(scores))) + penalty_product(
                terms, penalty, cost, U
            )

        def precondition(V: np.ndarray) -> np.ndarray:
            size = float(np.abs(V).max()) or 1.0
            return size * cholesky_solve(factor, (V / size).astype(np.float32))

        most = FOLD_RESIDUAL * float(np.linalg.norm(deltas))
        for found in conjugate_gradients(product, deltas, precondition, inner=lambda a, b: float(np.vdot(a, b))):
            if np.linalg.norm(found.residual) <= most:
                others = found.x / (1.0 + (found.x * deltas).sum(axis=0))
                u = refined(factor, S, delta, terms, penalty, cost, EXACT_RESIDUAL)
                u = direction(S, delta, terms, penalty) if u is None else u
                return u / (1.0 + u @ delta), list(others.T)
            if found.products == MAX_FOLD_PRODUCTS:
                break
        return None
