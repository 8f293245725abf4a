"""Risks of labelled and unlabelled rows under the square loss: exact quadratics, known from the moments of three sets.

A family of risks (SAMULT's, and PNU-AUC's by way of the class prior) says, for the moments and a weight of the
unlabelled rows (0: none), which quadratic is minimised. `choose` selects weight and alpha by cross-validated AUC.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from scipy import linalg
from sklearn.model_selection import StratifiedKFold

from auclid import _sizes
from auclid.data import Table
from auclid.solvers.least_squares import solve_symmetric
from auclid.solvers.path import path_auc
from auclid.stats.folds import Fold, training_moments
from auclid.stats.moments import Moments
from auclid.stats.samples import stack_samples
from auclid.stats.sets import SemiSupervisedStats, Sets


class Quadratic(NamedTuple):
    """A risk of the weights: constant − 2 linear·w + w·square·w."""

    constant: float
    linear: np.ndarray
    square: np.ndarray

    def value(self, w: np.ndarray) -> float:
        """The risk at w."""
        return float(self.constant - 2.0 * self.linear @ w + w @ self.square @ w)

    def minimiser(self, alpha: float) -> np.ndarray:
        """argmin of the risk + alpha/2 |w|^2; of several, the shortest. The risk must be convex."""
        A = 2.0 * self.square
        A[np.diag_indices_from(A)] += alpha
        return solve_symmetric(A, 2.0 * self.linear, minimum_norm=alpha == 0.0)

    def convex(self) -> bool:
        """Whether it has a minimum: no eigenvalue below zero but for rounding."""
        A = self.square.copy()
        A[np.diag_indices_from(A)] += 1e-12 * np.trace(A) + np.finfo(float).tiny
        try:
            linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return False
        return True


def combine(*terms: tuple[float, Quadratic], constant: float = 0.0) -> Quadratic:
    """The sum of (factor, quadratic) terms, and a constant."""
    return Quadratic(
        constant + sum(factor * q.constant for factor, q in terms),
        np.asarray(sum(factor * q.linear for factor, q in terms)),
        np.asarray(sum(factor * q.square for factor, q in terms)),
    )


def across(a: Moments, b: Moments) -> Quadratic:
    """The mean of (1 − f(x) + f(x'))² over x of one set and x' of another, from their moments."""
    delta = a.mean - b.mean
    return Quadratic(1.0, delta, a.covariance + b.covariance + np.multiply.outer(delta, delta))


def inside(a: Moments) -> Quadratic:
    """The mean of (1 − f(x) + f(x'))² over two different rows of one set, in either order: there is no linear term."""
    return Quadratic(1.0, np.zeros_like(a.mean), 2.0 * a.n / (a.n - 1.0) * a.covariance)


CURVATURE = 0.75
"""The share of the supervised risk's curvature that a direction must keep: where none is left, w runs off along it."""


class Family(Protocol):
    """What a choice of weights needs to know of a family of risks."""

    @property
    def grid(self) -> tuple[float, ...]:
        """Weights that "auto" tries, by size."""

    @property
    def caution(self) -> float:
        """Standard errors by which a weight must beat 0."""

    def risk(self, sets: Sets, weight: float) -> Quadratic:
        """The risk, for sets that hold all rows it needs."""

    def usable(self, sets: Sets, weight: float) -> Quadratic | None:
        """The risk, or None where it should not be minimised."""


class Samult(NamedTuple):
    """(1 − u) R_PN + u (R_PU + R_NU − ½): convex for every weight u in [0, 1], no class prior needed."""

    grid: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5, 1.0)
    caution: float = 0.5

    def risk(self, sets: Sets, weight: float) -> Quadratic:
        """The risk, for sets that hold all rows it needs."""
        supervised = across(sets.pos, sets.neg)
        if weight == 0.0:
            return supervised
        both = (weight, across(sets.pos, sets.unl)), (weight, across(sets.unl, sets.neg))
        return combine((1.0 - weight, supervised), *both, constant=-0.5 * weight)

    def usable(self, sets: Sets, weight: float) -> Quadratic:
        """The risk: it always has a minimum."""
        return self.risk(sets, weight)


class PNU(NamedTuple):
    """(1 − η) R_PN + η R_PU* for η ≥ 0, (1 + η) R_PN − η R_NU* for η < 0; differences of risks, perhaps not convex."""

    prior: float
    grid: tuple[float, ...] = (0.0, 0.1, -0.1, 0.25, -0.25, 0.5, -0.5)
    caution: float = 1.0  # differences of estimated risks are noisy

    def risk(self, sets: Sets, weight: float) -> Quadratic:
        """The risk, for sets that hold all rows it needs."""
        if weight == 0.0:
            return across(sets.pos, sets.neg)
        if weight > 0.0:
            mixed, own, share = across(sets.pos, sets.unl), inside(sets.pos), self.prior
        else:
            mixed, own, share = across(sets.unl, sets.neg), inside(sets.neg), 1.0 - self.prior
        size = abs(weight)
        terms = [(size / (1.0 - share), mixed), (-size * share / (1.0 - share), own)]
        if size < 1.0:
            terms.append((1.0 - size, across(sets.pos, sets.neg)))
        return combine(*terms)

    def usable(self, sets: Sets, weight: float) -> Quadratic | None:
        """The risk, or None where pairs are missing or it is not `steady`."""
        if weight == 0.0:
            return self.risk(sets, weight)
        if (sets.pos if weight > 0.0 else sets.neg).n < 2:
            return None
        risk = self.risk(sets, weight)
        return risk if self.steady(sets, risk) else None

    def steady(self, sets: Sets, risk: Quadratic) -> bool:
        """Whether the risk is convex and, along every direction, keeps its share of the supervised risk's curvature."""
        if not sets.both_labelled:
            return risk.convex()
        return combine((1.0, risk), (-CURVATURE, across(sets.pos, sets.neg))).convex()

    def steady_share(self, sets: Sets, weight: float) -> float:
        """The largest share of the weight, to one part in a thousand, at which the risk is steady."""
        low, high = 0.0, 1.0
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            if self.steady(sets, self.risk(sets, middle * weight)):
                low = middle
            else:
                high = middle
        return low


FOLDS = 5

RELATIVE_ALPHAS = np.logspace(-4, 1, 11)
"""Penalties to try, in units of twice the mean variance of a column."""


class Choice(NamedTuple):
    """The weight of unlabelled rows, and the penalty."""

    weight: float
    alpha: float


def choose(family: Family, seen: SemiSupervisedStats, weights: Sequence[float], alpha: float | None) -> Choice:
    """One of the weights, and alpha: as given, or where there is a choice those of the best held-out AUC.

    Where a class has no labelled rows, unlabelled ones stand in for it: for any ranking that AUC is a rising line in
    the true one, so the best is the same.
    """
    lower = "neg" if seen.sets.neg.n else "unl"
    upper = "pos" if seen.sets.pos.n else "unl"
    below, above = getattr(seen.samples, lower), getattr(seen.samples, upper)
    grid = _alphas(getattr(seen.sets, lower), getattr(seen.sets, upper))
    alphas = list(grid) if alpha is None else [alpha]
    fewest = min(below.held, above.held)
    if len(weights) == len(alphas) == 1 or fewest < 2:
        return Choice(weights[0], alphas[len(alphas) // 2])
    table, is_pos = stack_samples(below, above, by_content=True)
    scores = []
    for folds in _folds(is_pos, min(FOLDS, fewest), _repeats(fewest, table.shape[1])):
        for moments, fold in zip(training_moments(table, is_pos, None, folds)[0], folds, strict=True):
            trained = replace(seen.sets, **{lower: moments.neg, upper: moments.pos})
            risks = [family.usable(trained, weight) for weight in weights]
            scores.append(_held_out(risks, alphas, table, fold.test, is_pos[fold.test]))
    chosen = best(np.array(scores), 1.0 / (min(FOLDS, fewest) - 1.0), family.caution)
    return Choice(weights[chosen[0]], alphas[chosen[1]])


def _repeats(fewest: int, columns: int) -> int:
    return 1 if columns > _sizes.MAX_REPEATED_COLUMNS else int(np.clip(_sizes.MIN_ROWS_FOR_ONE_SPLIT // fewest, 1, 5))


def _folds(is_pos: np.ndarray, count: int, repeats: int) -> Iterator[list[Fold]]:
    for seed in range(repeats):
        splits = StratifiedKFold(count, shuffle=True, random_state=seed).split(is_pos, is_pos)
        yield [Fold(None, test) for _, test in splits]


def _alphas(lower: Moments, upper: Moments) -> np.ndarray:
    spread = lower.covariance + upper.covariance
    size = np.trace(spread) / len(spread)
    return 2.0 * (size if size > 0.0 else 1.0) * RELATIVE_ALPHAS


def _held_out(
    risks: Sequence[Quadratic | None], alphas: Sequence[float], table: Table, test: np.ndarray, is_pos: np.ndarray
) -> np.ndarray:
    """The AUC on one fold, risks × alphas; nan where a risk cannot be minimised."""
    aucs = np.full((len(risks), len(alphas)), np.nan)
    for k, risk in enumerate(risks):
        if risk is not None:
            W = np.stack([risk.minimiser(alpha) for alpha in alphas], axis=1)
            aucs[k] = path_auc(table, test, is_pos, None, W)
    return aucs


def best(scores: np.ndarray, share: float, caution: float) -> tuple[int, int]:
    """Which weight and which alpha, from held-out AUCs (folds × weights × alphas); the first weight is supervised.

    A weight counts only where it beats the supervised fit by ``caution`` standard errors, since among several some look
    better by chance; with an alpha no smaller, since unlabelled rows take nothing off what a penalty is needed for. Of
    those that do, the first is taken that is within one standard error of the best: held-out rows cannot tell them
    apart, and the smaller weight does less harm where they mislead.
    """
    mean = np.where(np.isnan(scores).any(axis=0), -np.inf, scores.mean(axis=0))
    if np.isinf(mean[0]).any():  # one weight, on the brink of a risk without minimum
        return 0, mean.shape[1] // 2
    mean[1:, : _last_best(mean[:1])[0]] = -np.inf
    alpha = _last_best(mean)
    chosen = np.take_along_axis(scores, alpha[None, :, None], axis=2)[:, :, 0]
    gain, error = _lead(chosen, chosen[:, :1], share)
    sure = gain > caution * error  # never where it is nan
    if not sure.any():
        return 0, int(alpha[0])
    top = np.argmax(np.where(sure, gain, -np.inf))
    behind, error = _lead(chosen[:, top : top + 1], chosen, share)
    weight = int(np.argmax(sure & (behind <= error)))
    return weight, int(alpha[weight])


def _last_best(mean: np.ndarray) -> np.ndarray:
    """The column of the best in each row; of equals, the last."""
    return mean.shape[1] - 1 - mean[:, ::-1].argmax(axis=1)


def _lead(a: np.ndarray, b: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """By how much a is above b over folds, and the standard error of that.

    The error allows for folds that share rows: ``share`` is that of tested to trained ones (Nadeau & Bengio 2003).
    """
    gap = a - b
    return gap.mean(axis=0), np.sqrt(gap.var(axis=0, ddof=1) * (1.0 / len(gap) + share))
