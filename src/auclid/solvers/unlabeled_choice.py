"""unlabeled_weight and alpha by cross-validated AUC on the labelled rows kept, from the moments of folds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

from auclid.data import Table
from auclid.solvers.path import path_auc
from auclid.solvers.risks import Quadratic
from auclid.solvers.unlabeled import Family
from auclid.stats.folds import Fold, training_moments
from auclid.stats.moments import Moments
from auclid.stats.samples import stack_samples
from auclid.stats.sets import SemiSupervisedStats

FOLDS = 5

ALPHAS = np.logspace(-4, 1, 11)
"""Penalties to try, in units of twice the mean variance of a column."""

ENOUGH = 200
"""Rows of the rarer class from which folds are drawn once; of fewer rows, up to five times."""

WIDE = 1000
"""Columns from which folds are drawn once in any case."""


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
    return 1 if columns > WIDE else int(np.clip(ENOUGH // fewest, 1, 5))


def _folds(is_pos: np.ndarray, count: int, repeats: int) -> Iterator[list[Fold]]:
    for seed in range(repeats):
        splits = StratifiedKFold(count, shuffle=True, random_state=seed).split(is_pos, is_pos)
        yield [Fold(None, test) for _, test in splits]


def _alphas(lower: Moments, upper: Moments) -> np.ndarray:
    spread = lower.covariance + upper.covariance
    size = np.trace(spread) / len(spread)
    return 2.0 * (size if size > 0.0 else 1.0) * ALPHAS


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
