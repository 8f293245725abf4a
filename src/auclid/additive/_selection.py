"""How many knots, how smooth, how strong a ridge: chosen by cross-validated AUC from the moments of the folds."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes
from auclid.additive._basis import Basis, basis_rows, fewer_knots, knot_map, make_basis
from auclid.additive._columns import cell_block, cell_blocks
from auclid.additive._features import Feature
from auclid.additive._moments import BasisSums, LazyFolds, TrainingMoments, congruence
from auclid.additive._order_moments import OrderSums, PairMoments
from auclid.additive._solve import FEW_ROWS_PENALTY, Penalty, PenaltyTerms, directions, penalty_terms
from auclid.additive._targets import CardRows
from auclid.solvers.path import AUC
from auclid.stats.moments import ClassMoments

KNOT_COUNTS = (8, 16, 32)
"""Numbers of knots that "auto" tries: every smaller one is a thinning of the largest."""

RIDGE_ALPHAS = 10.0 ** np.arange(-5.0, 1.5)
"""Strengths of the ridge that are tried, in units of twice the mean variance of the basis."""

SMOOTHS = np.array([0.0, 2e-3, 2e-2, 2e-1, 2.0, 20.0])
"""Strengths of the roughness penalty that are tried."""

COARSE_ALPHAS, COARSE_SMOOTHS = 10.0 ** np.array([-4.0, -2.5, -1.0, 0.0]), np.array([2e-2, 2.0])
"""Strengths where a few are enough. With them the blends of AUCClassifier came to the AUC that they have with all of
the above (.0001 less, on 14 tables) in a third of the time."""

FOCUSES = (0.5, 1.0)
"""How much dearer columns that add little may be made, besides not at all."""

MIN_REFINED_GRID = 20
"""Penalties from which on not all are tried."""


class FitSettings(NamedTuple):
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
    """Whether a few penalties are enough: for a scorecard that is one member of a blend."""
    refine: bool = False
    """Whether the logistic loss may follow the square loss."""
    metric: str = AUC.name
    """What held-out rows judge by."""


class ShapeSelection(NamedTuple):
    """What was chosen, and the moments that the weights come from."""

    features: list[Feature]
    pairs: list[tuple[int, int]]
    basis: Basis
    terms: PenaltyTerms
    penalty: Penalty
    moments: ClassMoments | PairMoments
    folds: Sequence[TrainingMoments]
    held_out: CardRows | None
    fold: np.ndarray | None
    """The fold of each row; -1 where it weighs nothing."""
    cv_auc: float


def select(features: Sequence[Feature], rows: CardRows, settings: FitSettings) -> ShapeSelection:
    """Choose the number of knots and the penalties."""
    fold = rows.target.folds(settings.n_folds, settings.rng)
    if fold is None:
        return _without_folds(features, rows, settings)
    held_out = _held_out_rows(rows, fold, settings)
    sums = rows._replace(fold=fold).sums(make_basis(features))
    return _select_by_folds(list(features), sums, held_out, settings)._replace(fold=fold)


def _held_out_rows(rows: CardRows, fold: np.ndarray, settings: FitSettings) -> CardRows:
    """The rows that are scored: all, or as many as `_sizes.HELD_OUT_ROWS`."""
    index, target = np.flatnonzero(fold >= 0), rows.target.judged_by(settings.metric)
    index = index[target.take(index).drawn(_sizes.HELD_OUT_ROWS, settings.rng)]
    every = len(index) == len(fold)
    return CardRows(cell_block(rows.cells, slice(None) if every else index), target.take(index), fold[index])


def ridge_unit(moments: ClassMoments | PairMoments) -> float:
    """Twice the mean variance of the basis: the unit in which strengths of the ridge are measured."""
    variance = _variances(moments)
    size = float(variance.mean()) if len(variance) else 0.0
    return 2.0 * (size if size > 0.0 else 0.5)


def _variances(moments: ClassMoments | PairMoments) -> np.ndarray:
    """The diagonal of S, without the rest of it."""
    if isinstance(moments, PairMoments):
        return np.diag(moments.within)
    return sum((np.diag(each.scatter) / max(each.n, 1e-300) for each in (moments.pos, moments.neg)), np.zeros(()))


def _without_folds(features: Sequence[Feature], rows: CardRows, settings: FitSettings) -> ShapeSelection:
    """No cross-validation: few knots and strong penalties."""
    thin = fewer_knots(features, settings.n_knots or KNOT_COUNTS[0])
    basis = make_basis(thin)
    moments = rows.sums(basis).moments()
    usual = FEW_ROWS_PENALTY
    alpha = usual.alpha * ridge_unit(moments) if settings.alphas is None else float(np.median(settings.alphas))
    penalty = Penalty(alpha, usual.smooth if settings.smooth is None else settings.smooth)
    return ShapeSelection(thin, [], basis, penalty_terms(basis), penalty, moments, [], None, None, np.nan)


class _KnotCount(NamedTuple):
    """A number of knots on trial."""

    features: list[Feature]
    M: Any
    """As in `knot_map`."""
    folds: list[TrainingMoments]
    """The moments of all folds with so many knots."""
    terms: PenaltyTerms
    unit: float
    solution_cache: list[dict[Penalty, np.ndarray]]
    """As in `grid_auc`."""


class _Best(NamedTuple):
    """The best penalty so far, with its number of knots and its mean held-out AUC."""

    auc: float
    penalty: Penalty
    knots: _KnotCount


def _select_by_folds(
    features: list[Feature], sums: BasisSums | OrderSums, held_out: CardRows, settings: FitSettings
) -> ShapeSelection:
    """The number of knots and the penalties: a whole grid on the fewest knots, then the best one's surroundings."""
    folds, total = list(LazyFolds(sums)), sums.moments()
    few = held_out.at_most(_sizes.JUDGE_ROWS) if held_out.target.size > _sizes.JUDGE_ROWS else held_out
    judges = held_out_folds(sums.basis, few, len(folds))
    best = _best_of_grids(features, folds, total, judges, settings, held_out.target.cautious)
    thin, M, projected, terms = best.knots[:4]
    auc, penalty = best.auc, best.penalty
    if _may_focus(settings, best):
        if few.target.size > _sizes.FOCUS_ROWS:
            judges = held_out_folds(sums.basis, held_out.at_most(_sizes.FOCUS_ROWS), len(folds))
        auc, penalty = _with_focus(judges, settings, best)
    basis = make_basis(thin)
    return ShapeSelection(thin, [], basis, terms, penalty, total.projected(M), projected, held_out, None, auc)


def _best_of_grids(
    features: list[Feature],
    folds: list[TrainingMoments],
    total: ClassMoments | PairMoments,
    judges: "list[HeldOutFold]",
    settings: FitSettings,
    cautious: bool,
) -> _Best:
    """The best number of knots, and the best penalty with it; no more knots are tried once they do not help."""
    best: _Best | None = None
    for count in _knot_counts(features, settings):
        knots = _knot_count(features, count, total, folds)

        def aucs_of(grid: list[Penalty], knots: _KnotCount = knots) -> np.ndarray:
            return grid_auc(knots.folds, judges, knots.terms, grid, knots.M, knots.solution_cache)

        grid = _penalty_grid(settings, knots.unit, best)
        if best is not None and mean_auc(aucs_of([_same_penalty(grid, best, knots)]))[0] <= best.auc:
            break
        if best is not None or len(grid) < MIN_REFINED_GRID:
            found = _best_penalty(grid, aucs_of(grid), knots, cautious)
        else:
            found = _refined_penalty(grid, aucs_of, settings, knots, cautious)
        if best is not None and found.auc <= best.auc:
            break
        best = found
    assert best is not None
    return best


def _same_penalty(grid: list[Penalty], best: _Best, knots: _KnotCount) -> Penalty:
    """The one of a grid that is nearest to the best penalty of another number of knots."""
    alpha = best.penalty.alpha / best.knots.unit * knots.unit
    return min(grid, key=lambda each: (abs(each.smooth - best.penalty.smooth), abs(each.alpha - alpha)))


def _best_penalty(grid: list[Penalty], aucs: np.ndarray, knots: _KnotCount, cautious: bool) -> _Best:
    """The best penalty; of those that held-out rows cannot tell apart, the smoothest, or if ``cautious``, the nearest
    to what is used without folds."""
    mean = nearly_best(aucs)
    preferences = [_preference(each, knots.unit, cautious) for each in grid]
    k = max(range(len(grid)), key=lambda at: (mean[at], preferences[at]))
    return _Best(float(mean[k]), grid[k], knots)


def _preference(penalty: Penalty, unit: float, cautious: bool) -> tuple[float, ...]:
    """What is largest for the penalty to take; ``unit`` is that of the ridge."""
    if not cautious:
        return penalty.smooth, penalty.alpha
    usual, tiny = FEW_ROWS_PENALTY, 1e-4
    pairs = ((penalty.alpha / unit, usual.alpha), (penalty.smooth, usual.smooth))
    return (-sum(abs(np.log((value + tiny) / normal)) for value, normal in pairs),)


def _refined_penalty(
    grid: list[Penalty],
    aucs_of: Callable[[list[Penalty]], np.ndarray],
    settings: FitSettings,
    knots: _KnotCount,
    cautious: bool,
) -> _Best:
    """The best penalty of a grid of which every other strength is tried first, then those near the best."""
    smooths, alphas = (sorted({getattr(each, name) for each in grid}) for name in ("smooth", "alpha"))
    few = [each for each in grid if each.smooth in smooths[-1::-2] and each.alpha in alphas[::2]]
    aucs = aucs_of(few)
    near = _penalty_grid(settings, knots.unit, _best_penalty(few, aucs, knots, cautious))
    more = [each for each in grid if each in near and each not in few]
    return _best_penalty(few + more, np.hstack([aucs, aucs_of(more)]), knots, cautious)


def _knot_counts(features: list[Feature], settings: FitSettings) -> list[int]:
    """The numbers of knots that are worth a trial."""
    if settings.n_knots:
        return [settings.n_knots]
    most = max((int((~f.extra).sum()) for f in features if f.knots is not None), default=2)
    return [count for count in KNOT_COUNTS if count < 2 * most] or [KNOT_COUNTS[0]]


def _may_focus(settings: FitSettings, best: _Best) -> bool:
    """Whether a focus is looked for, and there are columns to tell apart."""
    return len(best.knots.terms.starts) >= 3 and settings.alphas is None and not settings.coarse and bool(FOCUSES)


def _with_focus(judges: "list[HeldOutFold]", settings: FitSettings, best: _Best) -> tuple[float, Penalty]:
    """AUC and penalty after trying to make columns dearer that add little, where that surely pays."""
    auc, penalty, knots = best

    def gains_of(grid: list[Penalty]) -> np.ndarray:
        return grid_auc(knots.folds, judges, knots.terms, grid, knots.M, knots.solution_cache)

    grid = [penalty, *(penalty._replace(focus=focus) for focus in FOCUSES)]
    aucs = gains_of(grid)
    if mean_auc(aucs - aucs[:, :1]).max() <= 0.0:
        return auc, penalty
    around = [each for each in _penalty_grid(settings, knots.unit, best) if each != penalty]
    focus = grid[int(np.argmax(mean_auc(aucs[:, 1:]))) + 1].focus
    more = [each._replace(focus=focus) for each in around]
    grid, aucs = grid + more, np.hstack([aucs, gains_of(more)])
    sure = [sure_gain(gains) for gains in (aucs - aucs[:, :1]).T]
    k = int(np.argmax(sure))
    gain = mean_auc(aucs - aucs[:, :1])[k]
    return (auc + float(gain), grid[k]) if sure[k] > 0.0 else (auc, penalty)


def _knot_count(
    features: list[Feature], count: int, total: ClassMoments | PairMoments, folds: list[TrainingMoments]
) -> _KnotCount:
    thin = fewer_knots(features, count)
    M = knot_map(features, thin)
    variance = np.diag(congruence(total.within, M))
    size = 2.0 * float(variance.mean()) if len(variance) and variance.mean() > 0.0 else 1.0
    projected, terms = [fold.projected(M) for fold in folds], penalty_terms(make_basis(thin))
    return _KnotCount(thin, M, projected, terms, size, [{} for _ in folds])


def _penalty_grid(settings: FitSettings, unit: float, best: _Best | None) -> list[Penalty]:
    """All penalties to try, or those beside the best one so far, which was found with another unit."""
    alphas, smooths = (COARSE_ALPHAS, COARSE_SMOOTHS) if settings.coarse else (RIDGE_ALPHAS, SMOOTHS)
    if settings.smooth is not None:
        smooths = np.array([settings.smooth])
    if settings.alphas is not None:
        return [Penalty(float(alpha), smooth) for smooth in smooths for alpha in settings.alphas]
    if best is None:
        return [Penalty(float(unit * alpha), float(smooth)) for smooth in smooths for alpha in alphas]
    size, smooth = best.penalty.alpha / best.knots.unit, nearest(smooths, best.penalty.smooth)
    beside = [(nearest(alphas, size), each) for each in neighbours(smooths, smooth) if each != smooth]
    beside += [(each, smooth) for each in neighbours(alphas, size)]
    return [Penalty(float(unit * alpha), float(smooth)) for alpha, smooth in beside]


def nearest(values: np.ndarray, value: float) -> float:
    """The one of some values that is nearest to a value."""
    return float(values[int(np.abs(values - value).argmin())])


def neighbours(values: np.ndarray, value: float) -> np.ndarray:
    """The one of some ascending values that is nearest to a value, and those beside it."""
    k = int(np.abs(values - value).argmin())
    return values[max(k - 1, 0) : k + 2]


# Held-out scores and their AUC


class HeldOutFold(NamedTuple):
    """The rows that a fold holds out: finding what a row touches takes longer than scoring it, so it is kept."""

    Z: Any
    """In the basis, CSR."""
    target: Any
    """A `Target`."""

    @classmethod
    def of(cls, basis: Basis, rows: CardRows, k: int) -> "HeldOutFold":
        """The rows of fold k."""
        index = rows.in_fold(k)
        return cls(basis_rows(basis, rows.cells[index]), rows.target.take(index))


def held_out_folds(basis: Basis, rows: CardRows, n_folds: int) -> list[HeldOutFold]:
    """The rows that each fold holds out."""
    return [HeldOutFold.of(basis, rows, k) for k in range(n_folds)]


def grid_auc(
    folds: Sequence[TrainingMoments],
    judges: Sequence[HeldOutFold],
    terms: PenaltyTerms,
    penalties: Sequence[Penalty],
    M: Any = None,
    solution_cache: Sequence[dict] | None = None,
) -> np.ndarray:
    """The held-out AUC (or what counts) of each penalty in each fold (folds × penalties); M as in `knot_map`.

    ``solution_cache``: for each fold, as in `directions`.
    """
    aucs = np.full((len(folds), len(penalties)), np.nan)
    for k, (fold, judge) in enumerate(zip(folds, judges, strict=True)):
        W = directions(fold.S, fold.delta, terms, penalties, None if solution_cache is None else solution_cache[k])
        aucs[k] = judge.target.auc(np.ascontiguousarray((judge.Z @ (W if M is None else M @ W)).T))
    return aucs


def mean_auc(aucs: np.ndarray) -> np.ndarray:
    """The mean over the folds that have both classes."""
    usable = ~np.isnan(aucs).any(axis=1)
    return aucs[usable].mean(axis=0) if usable.any() else np.zeros(aucs.shape[1])


def nearly_best(aucs: np.ndarray) -> np.ndarray:
    """The mean over folds; what is within a standard error of the best (of their paired difference) counts as good.

    So the smoothest of equals is taken, where few rows cannot tell them apart.
    """
    mean = mean_auc(aucs)
    best, usable = int(mean.argmax()), ~np.isnan(aucs).any(axis=1)
    if usable.sum() < 2:
        return mean
    gaps = aucs[usable] - aucs[usable][:, [best]]
    error = gaps.std(axis=0, ddof=1) / np.sqrt(usable.sum())
    return np.where(mean >= mean[best] - error, mean[best], mean)


def sure_gain(gains: np.ndarray) -> float:
    """The mean gain over folds, less its standard error: what a more complicated model must have to be taken."""
    gains = gains[~np.isnan(gains)]
    return float(gains.mean() - gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else 0.0


def held_out_scores(
    folds: Sequence[TrainingMoments], basis: Basis, weights: Sequence[np.ndarray], held_out: CardRows
) -> np.ndarray:
    """The score of each held-out row by its fold's weights, less the mean score of that fold's training rows."""
    assert held_out.fold is not None
    W, means = np.stack(weights, axis=1), np.array([fold.mean @ w for fold, w in zip(folds, weights, strict=True)])
    out = np.empty(held_out.target.size)
    for rows, block in cell_blocks(held_out.cells):
        fold = held_out.fold[rows]
        out[rows] = (basis_rows(basis, block) @ W)[np.arange(len(fold)), fold] - means[fold]
    return out
