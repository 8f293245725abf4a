"""From rows to a plan: knots, penalties and pairs chosen by cross-validation, and the moments the weights come from."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

from auclid.additive._basis import Basis, Feature, fewer_knots, make_basis, roughness
from auclid.additive._choose import (
    ALPHAS,
    SMOOTHS,
    Fold,
    HeldOut,
    grid_auc,
    held_out_scores,
    mean_auc,
    training_folds,
)
from auclid.additive._pairs import COLUMNS_AT_MOST, best_pairs, residual
from auclid.additive._solve import Penalty, minimiser
from auclid.additive._sums import class_sums
from auclid.additive._table import block
from auclid.stats.moments import ClassMoments, Moments

FEW = 25
"""Rows of the rarer class below which nothing is cross-validated: the choice would be noise."""

PLAIN = Penalty(0.1, 2.0)
"""What is used then; alpha in units of twice the mean variance of the basis."""

HELD_OUT = 100_000
"""Rows whose held-out scores make the AUC of a choice; of more, so many are drawn. The moments are of all rows."""

KNOTS = (8, 16, 32)
"""Numbers of knots that "auto" tries: every value of fewer is a thinning of the most."""

PAIRS = (5, 15, 30)
"""Numbers of pairs that "auto" tries, besides none."""


class Settings(NamedTuple):
    """What the user decided: None where it is to be chosen."""

    n_knots: int | None
    smooth: float | None
    pairs: int | None
    alphas: np.ndarray | None
    paired: list[int]
    """Columns that may take part in pairs."""
    n_folds: int
    rng: np.random.Generator


class Plan(NamedTuple):
    """What was chosen, and what the weights come from."""

    features: list[Feature]
    pairs: list[tuple[int, int]]
    basis: Basis
    P: np.ndarray
    penalty: Penalty
    moments: ClassMoments
    folds: list[Fold]
    held: HeldOut | None
    fold: np.ndarray | None
    """The fold of each row; -1 where it weighs nothing."""
    cv_auc: float


def make_plan(
    features: Sequence[Feature], cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, settings: Settings
) -> Plan:
    """Choose everything that is left to be chosen."""
    fold = _fold_numbers(is_pos, weight, settings)
    if fold is None:
        return _plain_plan(features, cells, is_pos, weight, settings)
    held = _held_out(cells, is_pos, weight, fold, settings.rng)
    parts = _parts(make_basis(features), cells, is_pos, weight, fold)
    plan = _choose_shapes(list(features), parts, held, settings)._replace(fold=fold)
    return _with_pairs(plan, cells, is_pos, weight, fold, settings)


def _fold_numbers(is_pos: np.ndarray, weight: np.ndarray | None, settings: Settings) -> np.ndarray | None:
    """The fold of each row, or None where there are too few rows to hold some out."""
    counted = np.ones(len(is_pos), dtype=bool) if weight is None else weight > 0.0
    n_pos, n = int(is_pos[counted].sum()), int(counted.sum())
    if min(n_pos, n - n_pos) < FEW:
        return None
    fold = np.full(len(is_pos), -1)
    rows = np.flatnonzero(counted)
    splitter = StratifiedKFold(settings.n_folds, shuffle=True, random_state=int(settings.rng.integers(2**31)))
    for k, (_, test) in enumerate(splitter.split(rows, is_pos[rows])):
        fold[rows[test]] = k
    return fold


def _held_out(
    cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, fold: np.ndarray, rng: np.random.Generator
) -> HeldOut:
    """The rows that are scored: all, or as many of each class as can be, the rarer class first."""
    rows = np.flatnonzero(fold >= 0)
    if len(rows) > HELD_OUT:
        rare, common = sorted((rows[is_pos[rows]], rows[~is_pos[rows]]), key=len)
        rare = rng.permutation(rare)[: HELD_OUT // 2]
        common = rng.permutation(common)[: HELD_OUT - len(rare)]
        rows = np.sort(np.concatenate([rare, common]))
    return HeldOut(block(cells, rows), is_pos[rows], None if weight is None else weight[rows], fold[rows])


def _parts(
    basis: Basis, cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, fold: np.ndarray | None
) -> list[ClassMoments]:
    """The class moments of each fold."""
    if fold is None:
        return [class_sums(basis, cells, is_pos.astype(np.int64), 2, weight).classes()]
    n_folds = int(fold.max()) + 1
    group = np.where(fold >= 0, 2 * fold + is_pos, -1)
    sums = class_sums(basis, cells, group, 2 * n_folds, weight)
    return [sums.classes(k) for k in range(n_folds)]


def unit(moments: ClassMoments) -> float:
    """Twice the mean variance of the basis: what strengths of the ridge are measured in."""
    variance = np.diag(moments.within)
    size = float(variance.mean()) if len(variance) else 0.0
    return 2.0 * (size if size > 0.0 else 0.5)


def _plain_plan(
    features: Sequence[Feature], cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, settings: Settings
) -> Plan:
    """No cross-validation: few knots and strong penalties."""
    kept = fewer_knots(features, settings.n_knots or KNOTS[0])[0]
    basis = make_basis(kept)
    moments = _parts(basis, cells, is_pos, weight, None)[0]
    alpha = PLAIN.alpha * unit(moments) if settings.alphas is None else float(np.median(settings.alphas))
    penalty = Penalty(alpha, PLAIN.smooth if settings.smooth is None else settings.smooth)
    return Plan(kept, [], basis, roughness(kept, basis), penalty, moments, [], None, None, np.nan)


class _Level(NamedTuple):
    """A number of knots on trial."""

    features: list[Feature]
    M: np.ndarray
    P: np.ndarray
    unit: float


def _choose_shapes(features: list[Feature], parts: list[ClassMoments], held: HeldOut, settings: Settings) -> Plan:
    """The number of knots and the penalties: a whole grid on the fewest knots, then the best one's surroundings."""
    basis, folds, total = make_basis(features), training_folds(parts), reduce(add, parts)
    most = max((f.slots for f in features if f.knots is not None), default=2)
    counts = [settings.n_knots] if settings.n_knots else [k for k in KNOTS if k < 2 * most] or [KNOTS[0]]
    best: tuple = (-np.inf,)
    for count in counts:
        level = _level(features, count, total)
        here = [fold.mixed(level.M) for fold in folds]
        grid = _grid(settings, level.unit, best[1:])
        mean = mean_auc(grid_auc(here, basis, level.P, grid, held, level.M))
        k = max(range(len(grid)), key=lambda at: (mean[at], grid[at].smooth, grid[at].alpha))
        if mean[k] > best[0]:
            best = float(mean[k]), grid[k], level
    auc, penalty, level = best
    kept = [fold.mixed(level.M) for fold in folds]
    mixed = ClassMoments(*(_mixed(m, level.M) for m in (total.pos, total.neg)))
    return Plan(level.features, [], make_basis(level.features), level.P, penalty, mixed, kept, held, None, auc)


def _level(features: list[Feature], count: int, total: ClassMoments) -> _Level:
    fewer, M = fewer_knots(features, count)
    variance = np.einsum("ij,ij->j", M, total.within @ M)
    size = 2.0 * float(variance.mean()) if len(variance) and variance.mean() > 0.0 else 1.0
    return _Level(fewer, M, roughness(fewer, make_basis(fewer)), size)


def _grid(settings: Settings, size: float, best: Sequence) -> list[Penalty]:
    """All penalties to try, or those near the best one so far, which was found with another unit."""
    smooths = np.array(SMOOTHS if settings.smooth is None else (settings.smooth,))
    if settings.alphas is not None:
        return [Penalty(float(alpha), smooth) for smooth in smooths for alpha in settings.alphas]
    alphas = ALPHAS
    if best:
        penalty, level = best
        smooths = _near(smooths, penalty.smooth)
        alphas = _near(ALPHAS, penalty.alpha / level.unit)
    return [Penalty(float(size * alpha), float(smooth)) for smooth in smooths for alpha in alphas]


def _near(values: np.ndarray, value: float) -> np.ndarray:
    k = int(np.abs(values - value).argmin())
    return values[max(k - 1, 0) : k + 2]


def _with_pairs(
    plan: Plan, cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, fold: np.ndarray, settings: Settings
) -> Plan:
    """The plan with the best pairs of columns, where they rank better on held-out rows."""
    most = PAIRS[-1] if settings.pairs is None else settings.pairs
    pairs = _candidates(plan, settings, most) if most else []
    if not pairs:
        return plan
    basis = make_basis(plan.features, pairs)
    parts = _parts(basis, cells, is_pos, weight, fold)
    folds, total, P = training_folds(parts), reduce(add, parts), roughness(plan.features, basis)
    tried = [k for k in PAIRS if k < len(pairs)] + [len(pairs)] if settings.pairs is None else [len(pairs)]
    assert plan.held is not None
    alone = grid_auc(plan.folds, plan.basis, plan.P, [plan.penalty], plan.held)
    best: tuple = (0.0, plan)
    for count in tried:
        smaller = make_basis(plan.features, pairs[:count])
        cut = [f.leading(smaller.size) for f in folds]
        part = np.ascontiguousarray(P[: smaller.size, : smaller.size])
        grid = _pair_grid(plan, unit(total), settings)
        aucs = grid_auc(cut, smaller, part, grid, plan.held)
        gains = aucs - alone
        k = int(np.nanmean(gains, axis=0).argmax())
        gain = _sure(gains[:, k]) if settings.pairs is None else np.inf
        if gain > best[0]:
            kept, auc = _leading(total, smaller.size), float(mean_auc(aucs)[k])
            here = Plan(plan.features, pairs[:count], smaller, part, grid[k], kept, cut, plan.held, fold, auc)
            best = gain, here
    return best[1]


def _sure(gains: np.ndarray) -> float:
    """The mean gain over folds, less its standard error: pairs were found on the same rows, so they must earn more."""
    gains = gains[~np.isnan(gains)]
    return float(gains.mean() - gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else 0.0


def _pair_grid(plan: Plan, size: float, settings: Settings) -> list[Penalty]:
    if settings.alphas is not None:
        return [Penalty(float(alpha), plan.penalty.smooth) for alpha in settings.alphas]
    relative = plan.penalty.alpha / unit(plan.moments)
    smooth = plan.penalty.smooth
    smooths = [smooth] if settings.smooth is not None else _near(np.array(SMOOTHS), smooth)[:2]
    return [Penalty(float(size * relative * step), float(s)) for s in smooths for step in (0.1, 1.0, 10.0)]


def _mixed(m: Moments, M: np.ndarray) -> Moments:
    """The moments of the rows M'z."""
    return Moments(m.n, m.mean @ M, M.T @ m.scatter @ M)


def _leading(moments: ClassMoments, size: int) -> ClassMoments:
    pos, neg = (
        type(m)(m.n, m.mean[:size], np.ascontiguousarray(m.scatter[:size, :size])) for m in (moments.pos, moments.neg)
    )
    return ClassMoments(pos, neg)


def _candidates(plan: Plan, settings: Settings, most: int) -> list[tuple[int, int]]:
    held, basis = plan.held, plan.basis
    assert held is not None
    weights = [minimiser(fold.S, fold.gap, plan.P, plan.penalty) for fold in plan.folds]
    scores = held_out_scores(plan.folds, basis, weights, held)
    columns = _important(plan, settings.paired)
    rest = residual(scores, held.is_pos, held.weight)
    return best_pairs(plan.features, held.cells, rest, columns, most)


def _important(plan: Plan, columns: list[int]) -> list[int]:
    """The columns whose shapes vary the most, where there are very many."""
    if len(columns) <= COLUMNS_AT_MOST:
        return columns
    m, basis = plan.moments, plan.basis
    w = minimiser(m.within, m.gap, plan.P, plan.penalty)
    spread = np.zeros(len(plan.features))
    for j in columns:
        at = basis.place[basis.first[j] : basis.first[j + 1]]
        at = at[at >= 0]
        spread[j] = w[at] @ m.all.covariance[np.ix_(at, at)] @ w[at]
    return sorted(sorted(columns, key=lambda j: -spread[j])[:COLUMNS_AT_MOST])
