"""From rows to a plan: knots and penalties chosen by cross-validation, and the moments the weights come from."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from auclid.additive._basis import Basis, Feature, fewer_knots, make_basis
from auclid.additive._choose import ALPHAS, SMOOTHS, HeldOut, grid_auc, mean_auc, nearly_best, sure_gain
from auclid.additive._penalty import Penalty, Terms, penalty_terms
from auclid.additive._sums import Fold, Folds, Sums, class_sums, mixed_matrix
from auclid.additive._table import block
from auclid.stats.moments import ClassMoments, Moments

FEW = 20
"""Rows of the rarer class below which nothing is cross-validated: the choice would be noise."""

PLAIN = Penalty(0.3, 5.0)
"""What is used then; alpha in units of twice the mean variance of the basis."""

HELD_OUT = 100_000
"""Rows whose held-out scores make the AUC of a choice; of more, so many are drawn. The moments are of all rows."""

KNOTS = (8, 16, 32)
"""Numbers of knots that "auto" tries: every value of fewer is a thinning of the most."""


FOCUS = (0.5, 1.0)
"""How much dearer columns that add little may be made, besides not at all."""

COARSE = 10.0 ** np.array([-4.0, -2.5, -1.0, 0.0]), np.array([2e-2, 2.0])
"""Strengths of the ridge and of the roughness penalty where a few are enough. With them the blends of AUCClassifier
came to the AUC that they have with all of the above (.0001 less, on 14 tables) in a third of the time."""

JUDGES = 30_000
"""Held-out rows that knots and penalties are chosen by, at the most."""

TRIED = 20_000
"""Held-out rows that a focus is tried on, at the most."""


class Settings(NamedTuple):
    """What the user decided: None where it is to be chosen."""

    n_knots: int | None
    smooth: float | None
    pairs: int | None
    alphas: np.ndarray | None
    monotone: frozenset[int]
    """Columns that may only rise or fall: no two of them are a pair."""
    n_folds: int
    rng: np.random.Generator
    coarse: bool = False
    """Whether a few penalties are enough: for a card that is one voice among others."""
    refine: bool = False
    """Whether the logistic loss may follow the square loss."""


class Plan(NamedTuple):
    """What was chosen, and what the weights come from."""

    features: list[Feature]
    pairs: list[tuple[int, int]]
    basis: Basis
    terms: Terms
    penalty: Penalty
    moments: ClassMoments
    folds: Sequence[Fold]
    held: HeldOut | None
    fold: np.ndarray | None
    """The fold of each row; -1 where it weighs nothing."""
    cv_auc: float


def make_plan(
    features: Sequence[Feature], cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, settings: Settings
) -> Plan:
    """Choose everything that is left to be chosen."""
    fold = fold_numbers(is_pos, weight, settings)
    if fold is None:
        return _plain_plan(features, cells, is_pos, weight, settings)
    held = _held_out(cells, is_pos, weight, fold, settings.rng)
    sums = class_sums(make_basis(features), cells, is_pos, weight, fold)
    return _choose_shapes(list(features), sums, held, settings)._replace(fold=fold)


def fold_numbers(is_pos: np.ndarray, weight: np.ndarray | None, settings: Settings) -> np.ndarray | None:
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
    moments = class_sums(basis, cells, is_pos, weight).classes()
    alpha = PLAIN.alpha * unit(moments) if settings.alphas is None else float(np.median(settings.alphas))
    penalty = Penalty(alpha, PLAIN.smooth if settings.smooth is None else settings.smooth)
    return Plan(kept, [], basis, penalty_terms(kept, basis), penalty, moments, [], None, None, np.nan)


class _Level(NamedTuple):
    """A number of knots on trial."""

    features: list[Feature]
    M: Any
    """As in `fewer_knots`, but sparse."""
    terms: Terms
    unit: float
    solution_cache: list[dict[Penalty, np.ndarray]]
    """As in `grid_auc`."""


def _choose_shapes(features: list[Feature], sums: Sums, held: HeldOut, settings: Settings) -> Plan:
    """The number of knots and the penalties: a whole grid on the fewest knots, then the best one's surroundings."""
    basis, folds, total = sums.basis, list(Folds(sums)), sums.classes()
    most = max((int((~f.extra).sum()) for f in features if f.knots is not None), default=2)
    counts = [settings.n_knots] if settings.n_knots else [k for k in KNOTS if k < 2 * most] or [KNOTS[0]]
    best: tuple = (-np.inf,)
    judges = held.some(JUDGES) if len(held.is_pos) > JUDGES else held
    for count in counts:
        level = _level(features, count, total, len(folds))
        here = [fold.mixed(level.M) for fold in folds]
        grid = _grid(settings, level.unit, best[1:])
        mean = nearly_best(grid_auc(here, basis, level.terms, grid, judges, level.M, level.solution_cache))
        k = max(range(len(grid)), key=lambda at: (mean[at], grid[at].smooth, grid[at].alpha))
        if mean[k] <= best[0]:
            break  # more knots would cost more and add less
        best = float(mean[k]), grid[k], level
    auc, penalty, level = best
    kept = [fold.mixed(level.M) for fold in folds]
    auc, penalty = _focused(kept, basis, held, settings, best)
    mixed = ClassMoments(*(_mixed(m, level.M) for m in (total.pos, total.neg)))
    return Plan(level.features, [], make_basis(level.features), level.terms, penalty, mixed, kept, held, None, auc)


def _focused(folds: list[Fold], basis: Basis, held: HeldOut, settings: Settings, best: tuple) -> tuple:
    """AUC and penalty after trying to make columns dearer that add little, where that surely pays."""
    auc, penalty, level = best
    if len(level.terms.starts) < 3 or settings.alphas is not None or settings.coarse or not FOCUS:
        return auc, penalty
    judges = held.some(TRIED)
    tried = [penalty, *(penalty._replace(focus=focus) for focus in FOCUS)]
    aucs = grid_auc(folds, basis, level.terms, tried, judges, level.M, level.solution_cache)
    if mean_auc(aucs - aucs[:, :1]).max() <= 0.0:
        return auc, penalty
    around = [each for each in _grid(settings, level.unit, (penalty, level)) if each != penalty]
    more = [each._replace(focus=focus) for focus in FOCUS for each in around]
    aucs = np.hstack([aucs, grid_auc(folds, basis, level.terms, more, judges, level.M, level.solution_cache)])
    grid = tried + more
    sure = [sure_gain(gains) for gains in (aucs - aucs[:, :1]).T]
    k = int(np.argmax(sure))
    gain = mean_auc(aucs - aucs[:, :1])[k]
    return (auc + float(gain), grid[k]) if sure[k] > 0.0 else (auc, penalty)


def _level(features: list[Feature], count: int, total: ClassMoments, n_folds: int) -> _Level:
    fewer, dense = fewer_knots(features, count)
    M = sparse.csr_array(dense)
    variance = np.diag(mixed_matrix(total.within, M))
    size = 2.0 * float(variance.mean()) if len(variance) and variance.mean() > 0.0 else 1.0
    return _Level(fewer, M, penalty_terms(fewer, make_basis(fewer)), size, [{} for _ in range(n_folds)])


def _grid(settings: Settings, size: float, best: Sequence) -> list[Penalty]:
    """All penalties to try, or those near the best one so far, which was found with another unit."""
    alphas, smooths = COARSE if settings.coarse else (ALPHAS, np.array(SMOOTHS))
    if settings.smooth is not None:
        smooths = np.array([settings.smooth])
    if settings.alphas is not None:
        return [Penalty(float(alpha), smooth) for smooth in smooths for alpha in settings.alphas]
    if best:
        penalty, level = best
        smooths = near(smooths, penalty.smooth)
        alphas = near(alphas, penalty.alpha / level.unit)
    return [Penalty(float(size * alpha), float(smooth)) for smooth in smooths for alpha in alphas]


def near(values: np.ndarray, value: float) -> np.ndarray:
    k = int(np.abs(values - value).argmin())
    return values[max(k - 1, 0) : k + 2]


def _mixed(m: Moments, M: Any) -> Moments:
    """The moments of the rows M'z."""
    return Moments(m.n, M.T @ m.mean, mixed_matrix(m.scatter, M))
