"""Pairs of columns: which could add something, whether they pay, and what of them belongs to single columns.

*Which pairs.* Let r be held-out scores, scaled to minimise the square pair loss. An effect u of the cells c of two
columns changes that loss by u·A·u − 2 g·u, with class shares p, q of the cells, class sums rp, rq of r in them (divided
by n+, n−) and class means of r,

    A = diag(p + q) − pq' − qp',      g = p (1 + mean r of −) − rp − q (1 − mean r of +) − rq,

so the best u = (A + λI)^-1 g lowers it by g·u. What effects of rows and columns of the cells lower by themselves is
taken off: the rest only the pair can add.

*Whether they pay.* Pairs found on all rows look better on those rows than they are. So a fold's pairs come from the
rows outside it, as its weights do, and only the number of pairs and the penalties are taken from the trial; the pairs
of the model are then found on all rows. Where rows are many, the trial is made on some of them.

*What belongs to a column.* A grid of a pair may hold effects of its rows and of its columns, which the shapes of the
two columns can hold as well; scores do not tell which. Moving them from the grid into the shapes (a two-way analysis of
variance, weighed by the training rows) changes no score by more than a constant, and makes both readable.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid import _sizes
from auclid._generic import kernel
from auclid.additive._basis import Basis, coarse_places, fewer_knots, first_pairs, make_basis
from auclid.additive._features import Feature, interpolate
from auclid.additive._folds import RowFolds
from auclid.additive._moments import LazyFolds, TrainingMoments, class_sums
from auclid.additive._selection import (
    KNOT_COUNTS,
    SMOOTHS,
    FitSettings,
    HeldOutFold,
    ShapeSelection,
    grid_auc,
    held_out_scores,
    neighbours,
    ridge_unit,
    sure_gain,
)
from auclid.additive._solve import Penalty, PenaltyTerms, minimiser, penalty_terms
from auclid.additive._targets import CardRows, ClassTarget

PAIR_COUNTS = (5, 15, 30)
"""Numbers of pairs that are tried, besides none."""

COARSE_GRID, FINE_GRID = 4, 8
"""Knots, or levels, of each column of a pair."""

MIN_ROWS_PER_CELL = 12
"""Rows a cell, of all pairs of the first trial together, for which the fine grid is tried at all."""

PAIR_FIRST_FOLDS = 2
"""Folds that more pairs must rank better than fewer did, in the mean, for the other folds to be asked."""

RIDGE_FACTORS = (0.01, 0.1, 1.0, 10.0)
"""How much stronger the ridge may be with pairs than without."""

CELL_SHRINKAGE = 5.0
"""λ in units of 1/n+ + 1/n−: a cell of few rows cannot promise much."""

HISTOGRAM_BATCH = 256
"""Pairs whose gains are computed at a time."""


# Whether pairs pay


class PairTrial(NamedTuple):
    """A number of pairs with penalties: the ridge in units of the basis."""

    n_pairs: int
    ridge: float
    smooth: float
    focus: float = 0.0
    gain: float = 0.0
    """The mean gain of held-out AUC over folds."""
    grid: int = FINE_GRID


def with_pairs(plain: ShapeSelection, rows: CardRows, settings: FitSettings) -> ShapeSelection:
    """The selection with the best pairs of columns, where they rank held-out rows better."""
    if plain.held_out is None or plain.fold is None or settings.pairs == 0 or not plain.basis.size:
        return plain
    if rows.target.take(np.flatnonzero(plain.fold >= 0)).n_rarer() < _sizes.MIN_ROWS_FOR_PAIRS:
        return plain
    if 1.0 - plain.cv_auc <= _sizes.MIN_LEFT_TO_GAIN:
        return plain
    scores, most = _additive_scores(plain, plain.held_out), _pair_counts(settings)[-1]
    ranked = ranked_pairs(plain.features, plain.held_out, scores, _candidate_pairs(plain, settings), most)
    chosen = _best_trial(plain, ranked, settings)
    if chosen is None:
        return plain
    pairs = ranked[-1][: chosen.n_pairs]
    features = _with_grid(plain.features, chosen.grid)
    basis = make_basis(features, pairs)
    total, folds = _fold_moments(basis, _moment_rows(rows._replace(fold=plain.fold), settings.rng))
    terms = penalty_terms(basis)
    ridge = chosen.ridge * ridge_unit(total) if settings.alphas is None else chosen.ridge
    penalty = Penalty(ridge, chosen.smooth, chosen.focus)
    auc = plain.cv_auc + chosen.gain  # not that of these folds: the pairs were found on all rows
    return plain._replace(
        features=features,
        pairs=pairs,
        basis=basis,
        terms=terms,
        penalty=penalty,
        moments=total,
        folds=folds,
        cv_auc=auc,
    )


def _with_grid(features: Sequence[Feature], grid: int) -> list[Feature]:
    """The columns with so many knots in a pair."""
    return [feature._replace(pair_knots=grid) for feature in features]


def _moment_rows(rows: CardRows, rng: np.random.Generator) -> CardRows:
    """The rows that moments with pairs come from: all, or `_sizes.PAIR_MOMENT_ROWS` that stand for them."""
    assert rows.fold is not None
    index, limit = np.flatnonzero(rows.fold >= 0), _sizes.PAIR_MOMENT_ROWS
    if len(index) <= limit:
        return rows
    used = rows.target.take(index)
    chosen = used.drawn(limit, rng)
    return CardRows(rows.cells[index[chosen]], used.represented(chosen), rows.fold[index[chosen]])


def _fold_moments(basis: Basis, rows: CardRows) -> tuple[Any, Sequence[TrainingMoments]]:
    """The moments of all rows, and of those outside each fold: by products with rows where these are few."""
    target, fold = rows.target, rows.fold
    few = basis.size >= _sizes.ROW_FOLD_COEFFICIENTS and target.size <= _sizes.ROW_FOLD_ROWS * basis.size
    if few and isinstance(target, ClassTarget):
        assert fold is not None
        mass = np.where(fold >= 0, 1.0 if target.weight is None else target.weight, 0.0)
        total = class_sums(basis, rows.cells, target.is_pos, mass).moments()
        return total, RowFolds(basis, rows.cells, target.is_pos, target.weight, fold)
    sums = rows.sums(basis)
    return sums.moments(), LazyFolds(sums)


def _additive_scores(plain: ShapeSelection, held_out: CardRows) -> np.ndarray:
    """Held-out scores without pairs."""
    weights = [minimiser(fold.S, fold.delta, plain.terms, plain.penalty) for fold in plain.folds]
    return held_out_scores(plain.folds, plain.basis, weights, held_out)


def _best_trial(plain: ShapeSelection, ranked: list[list[tuple[int, int]]], settings: FitSettings) -> PairTrial | None:
    """The best number of pairs and its penalties; None where no number surely pays. ``ranked``: by `ranked_pairs`."""
    assert plain.held_out is not None
    drawn = plain.held_out.target.drawn(_sizes.PAIR_TRIAL_ROWS, settings.rng)
    held_out, counts = plain.held_out.take(drawn), _pair_counts(settings)
    features = fewer_knots(plain.features, KNOT_COUNTS[0])
    every, few = range(len(plain.folds)), _first_pairs(held_out.cells.shape[1], counts)
    aucs_of = _trial_aucs(features, held_out, ranked, settings)
    alone = aucs_of(0, [_as_trial(plain, settings)], few, every, COARSE_GRID)
    trials, first = _trial_grid(plain, settings), every[:PAIR_FIRST_FOLDS]
    sizes = _grids(features, held_out.target.size, min(counts[0], len(ranked[-1])))
    looks = {size: aucs_of(counts[0], trials, few, first, size) for size in sizes}
    size = max(looks, key=lambda each: np.nanmean(looks[each], axis=0).max())
    known = looks[size]
    if np.all(np.nanmean(known - alone[:PAIR_FIRST_FOLDS], axis=0) <= 0.0):
        return None  # so the other folds need not be asked
    rest = aucs_of(counts[0], trials, few, every[PAIR_FIRST_FOLDS:], size)
    gains = np.concatenate([known, rest]) - alone
    at = int(np.argmax([sure_gain(column) for column in gains.T]))
    if sure_gain(gains[:, at]) <= 0.0:
        return None
    best = trials[at]._replace(n_pairs=counts[0], gain=float(np.nanmean(gains[:, at])), grid=size)
    last = known[:, at]
    for count in counts[1:]:
        trials = _near_trials(trials, best)
        more = aucs_of(count, trials, few if count <= few else counts[-1], first, size)
        gain = np.nanmean(more - last[:, None], axis=0)
        at = int(np.argmax(gain))
        if gain[at] <= 0.0:
            break  # more pairs would cost more and add less
        best, last = trials[at]._replace(n_pairs=count, gain=best.gain + float(gain[at]), grid=size), more[:, at]
    return best


def _trial_aucs(
    features: Sequence[Feature], held_out: CardRows, own: list[list[tuple[int, int]]], settings: FitSettings
) -> Callable[[int, Sequence[PairTrial], int, Sequence[int], int], np.ndarray]:
    """A function to the (folds, trials) held-out AUCs of so many pairs; it keeps the moments of each fold and grid."""
    by_grid = {size: _with_grid(features, size) for size in (COARSE_GRID, FINE_GRID)}

    @cache
    def training(k: int, most: int, size: int) -> _TrainingPairs:
        return _training_pairs(by_grid[size], held_out, own[k][:most], k)

    def aucs_of(count: int, trials: Sequence[PairTrial], most: int, folds: Sequence[int], size: int) -> np.ndarray:
        return np.array([_aucs(training(k, most, size), count, trials, settings) for k in folds])

    return aucs_of


def _grids(features: Sequence[Feature], n_rows: int, n_pairs: int) -> tuple[int, ...]:
    """The sizes of grids that are tried on so many rows with so many pairs; columns of few values have one size."""
    enough = n_rows >= MIN_ROWS_PER_CELL * n_pairs * FINE_GRID**2
    finer = any(len(coarse_places(feature)) > COARSE_GRID for feature in _with_grid(features, FINE_GRID))
    return (COARSE_GRID, FINE_GRID) if enough and finer else (COARSE_GRID,)


def _pair_counts(settings: FitSettings) -> list[int]:
    """The numbers of pairs that are tried, ascending: no more than the user allows, and as many."""
    if settings.pairs is None:
        return list(PAIR_COUNTS)
    fewer = [count for count in PAIR_COUNTS if count < settings.pairs]
    return [*fewer, settings.pairs]


def _first_pairs(columns: int, counts: Sequence[int]) -> int:
    """How many pairs to make moments with at first: the fewest tried, where that is much cheaper than with all."""
    work = [(2 * columns + 4 * count) ** 2 for count in (counts[0], counts[-1])]
    return counts[0] if 3 * work[0] <= work[1] else counts[-1]


class _TrainingPairs(NamedTuple):
    """What one fold's training rows give: the basis with its pairs, best first, and the moments with all of them."""

    basis: Basis
    moments: TrainingMoments
    terms: PenaltyTerms
    held_out: HeldOutFold
    """The rows it is judged by."""


def _training_pairs(
    features: Sequence[Feature], held_out: CardRows, pairs: list[tuple[int, int]], k: int
) -> _TrainingPairs:
    rows, basis = held_out.outside(k)._replace(fold=None), make_basis(features, pairs)
    own = HeldOutFold.of(basis, held_out, k)
    return _TrainingPairs(basis, rows.sums(basis).outside(-1), penalty_terms(basis), own)


def _aucs(training: _TrainingPairs, count: int, grid: Sequence[PairTrial], settings: FitSettings) -> np.ndarray:
    """The AUC on the rows that a fold holds out, with its own first ``count`` pairs, of each penalty."""
    whole, size = training.basis.size, first_pairs(training.basis, count).size
    moments, terms = training.moments.leading(size), training.terms.leading(size)
    first = sparse.eye_array(whole, size, format="csr")
    unit = 2.0 * float(np.diag(moments.S).mean()) if settings.alphas is None else 1.0
    penalties = [Penalty(trial.ridge * unit, trial.smooth, trial.focus) for trial in grid]
    return grid_auc([moments], [training.held_out], terms, penalties, first)[0]


def _as_trial(plain: ShapeSelection, settings: FitSettings) -> PairTrial:
    """The penalties without pairs."""
    size = ridge_unit(plain.moments) if settings.alphas is None else 1.0
    return PairTrial(0, plain.penalty.alpha / size, plain.penalty.smooth, plain.penalty.focus)


def _trial_grid(plain: ShapeSelection, settings: FitSettings) -> list[PairTrial]:
    """The penalties that the first number of pairs is tried with."""
    own = _as_trial(plain, settings)
    if settings.alphas is not None:
        return [own._replace(ridge=float(alpha)) for alpha in settings.alphas]
    smooths = [own.smooth] if settings.smooth is not None else neighbours(SMOOTHS, own.smooth)[:2]
    return [
        PairTrial(0, own.ridge * factor, float(smooth), own.focus) for smooth in smooths for factor in RIDGE_FACTORS
    ]


def _near_trials(grid: list[PairTrial], best: PairTrial) -> list[PairTrial]:
    """Penalties as smooth and focused as the best, with a ridge near to its: what more pairs are tried with."""
    return [g for g in grid if g[2:4] == best[2:4] and 0.09 < g.ridge / best.ridge < 11.0]


def _candidate_pairs(plain: ShapeSelection, settings: FitSettings) -> list[tuple[int, int]]:
    """The pairs that are looked at; of two monotone columns, the grid would have to rise both ways."""
    pairs = combinations(_important_columns(plain), 2)
    return [pair for pair in pairs if not settings.monotone.issuperset(pair)]


def _important_columns(plain: ShapeSelection) -> list[int]:
    """The columns whose shapes vary the most, where there are very many."""
    columns = list(range(len(plain.features)))
    if len(columns) <= _sizes.MAX_PAIRED_COLUMNS:
        return columns
    m, basis = plain.moments, plain.basis
    w, covariance = minimiser(m.within, m.delta, plain.terms, plain.penalty), m.all.covariance
    spread = np.zeros(len(columns))
    for j in columns:
        at = basis.place[basis.first[j] : basis.first[j + 1]]
        at = at[at >= 0]
        spread[j] = w[at] @ covariance[np.ix_(at, at)] @ w[at]
    return sorted(sorted(columns, key=lambda j: -spread[j])[: _sizes.MAX_PAIRED_COLUMNS])


# Which pairs could add something


class ScoreMoments(NamedTuple):
    """What several sets of rows say of held-out scores, where those of each class weigh one in all."""

    mass: np.ndarray
    """(sets, 2): the weight of the positives and of the negatives."""
    means: np.ndarray
    """(sets, 2): the mean score of the positives and of the negatives."""
    factor: np.ndarray
    """What scores are multiplied by to minimise their square pair loss: δ / (S + δ²)."""
    shrink: np.ndarray
    """λ"""

    @classmethod
    def of(cls, score: np.ndarray, is_pos: np.ndarray, weight: np.ndarray) -> "ScoreMoments":
        """Those of the sets that give the rows these weights, (sets, rows)."""
        classes = [(weight[:, of], score[of]) for of in (is_pos, ~is_pos)]
        mass = np.stack([w.sum(axis=1) for w, _ in classes], axis=1)
        means = np.stack([w @ s for w, s in classes], axis=1) / mass
        within = np.stack([w @ (s * s) for w, s in classes], axis=1) / mass - means**2
        delta = means[:, 0] - means[:, 1]
        size = np.maximum(within, 0.0).sum(axis=1) + delta * delta
        counts = np.stack([np.count_nonzero(w, axis=1) for w, _ in classes], axis=1)
        shrink = CELL_SHRINKAGE * (1.0 / counts).sum(axis=1)
        return cls(mass, means, np.divide(delta, size, out=np.zeros_like(size), where=size > 0.0), shrink)

    def gains(self, histograms: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """What each pair of one shape can add, from the `pair_histogram` (sets, pairs, cells, 4): (sets, pairs)."""
        scale = np.concatenate([1.0 / self.mass, self.factor[:, None] / self.mass], axis=1)
        flat = (histograms * scale[:, None, None, :]).reshape(-1, *histograms.shape[2:])
        means, shrink = (
            np.repeat(each, histograms.shape[1], axis=0) for each in (self.factor[:, None] * self.means, self.shrink)
        )
        return pair_gains(flat, shape, means.T[:, :, None], shrink[:, None]).reshape(histograms.shape[:2])


def coarse_codes(feature: Feature, cells: np.ndarray) -> np.ndarray:
    """The coarse slot nearest to each cell of a column; -1 where it is missing."""
    places, missing = coarse_places(feature), np.isnan(cells)
    if feature.levels is not None:
        slot = np.full(feature.slots, len(places) - 1)
        slot[places] = np.arange(len(places))
        codes = slot[np.where(missing, 0.0, cells).astype(np.intp)]
    else:
        assert feature.knots is not None
        knots = feature.knots[places]
        codes = np.searchsorted(0.5 * (knots[1:] + knots[:-1]), cells, side="right")
    return np.where(missing, -1, codes).astype(np.int8)


@kernel
def pair_histogram(
    a: np.ndarray,
    b: np.ndarray,
    width: int,
    fold: np.ndarray,
    is_pos: np.ndarray,
    score: np.ndarray,
    weight: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add to out[fold, cell] the weights of positives and negatives, and the sums of their weighed scores.

    Cells are a·width + b.
    """
    for i in range(a.shape[0]):
        if a[i] >= 0 and b[i] >= 0:
            cell, side = a[i] * width + b[i], 0 if is_pos[i] else 1
            out[fold[i], cell, side] += weight[i]
            out[fold[i], cell, 2 + side] += weight[i] * score[i]


def pair_gains(
    histograms: np.ndarray,
    shape: tuple[int, int],
    means: np.ndarray | Sequence[float],
    shrink: np.ndarray | float,
) -> np.ndarray:
    """What only the pair can lower the square pair loss by, of many pairs of one shape (pairs × cells × 4).

    ``means`` and ``shrink`` are numbers, or a column with a number for each pair.
    """
    p, q, rp, rq = np.moveaxis(histograms, 2, 0)
    g = p * (1.0 + means[1]) - rp - q * (1.0 - means[0]) - rq
    return gains_beside_columns(p, q, g, shape, shrink)


def gains_beside_columns(
    p: np.ndarray, q: np.ndarray, g: np.ndarray, shape: tuple[int, int], shrink: np.ndarray | float
) -> np.ndarray:
    """What an effect of the cells lowers the loss by, less what effects of their rows and columns alone do."""
    return _cell_gains(p, q, g, shrink) - _effect_gains(*_main_effects(p, q, g, shape), shrink)


def _cell_gains(p: np.ndarray, q: np.ndarray, g: np.ndarray, shrink: np.ndarray | float) -> np.ndarray:
    """g·(A + λI)^-1 g, of a diagonal matrix and one of rank two, by Woodbury's formula."""
    size = p + q + shrink

    def dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", x, y / size)

    pp, qq, less, gp, gq = dot(p, p), dot(q, q), dot(p, q) - 1.0, dot(g, p), dot(g, q)
    return dot(g, g) - (qq * gp * gp - 2.0 * less * gp * gq + pp * gq * gq) / (pp * qq - less * less)


def _effect_gains(A: np.ndarray, g: np.ndarray, shrink: np.ndarray | float) -> np.ndarray:
    u = np.linalg.solve(A + np.reshape(shrink, (-1, 1, 1)) * np.eye(A.shape[1]), g[:, :, None])[:, :, 0]
    return np.einsum("ij,ij->i", g, u)


def _main_effects(p: np.ndarray, q: np.ndarray, g: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A and g of effects of the rows and the columns of the cells, without their product."""

    def sums(x: np.ndarray) -> np.ndarray:
        grid = x.reshape(-1, *shape)
        return np.concatenate([grid.sum(axis=2), grid.sum(axis=1)], axis=1)

    p_sums, q_sums, n = sums(p), sums(q), shape[0]
    A = -p_sums[:, :, None] * q_sums[:, None, :]
    A += np.swapaxes(A, 1, 2)
    both = np.arange(sum(shape))
    A[:, both, both] += p_sums + q_sums
    cells = (p + q).reshape(-1, *shape)
    A[:, :n, n:] += cells
    A[:, n:, :n] += np.swapaxes(cells, 1, 2)
    return A, sums(g)


def ranked_pairs(
    features: Sequence[Feature], held_out: CardRows, score: np.ndarray, pairs: Sequence[tuple[int, int]], most: int
) -> list[list[tuple[int, int]]]:
    """The ``most`` of these pairs that could add the most, best first: by the rows outside each fold, and by all."""
    assert held_out.fold is not None
    n_folds, counts = int(held_out.fold.max()) + 1, list(map(len, map(coarse_places, features)))
    pairs = [(a, b) for a, b in pairs if min(counts[a], counts[b]) > 1]
    rows, score = _histogram_rows(held_out, score, len(pairs))
    codes = {j: coarse_codes(features[j], rows.cells[:, j]) for j in np.unique(pairs).tolist()}
    kept = 1.0 - np.eye(n_folds + 1, n_folds)  # which folds a training set has; the last has all
    gains_of = (ClassGains if isinstance(rows.target, ClassTarget) else OrderGains)(rows, score, kept)
    gains, order = [np.zeros((len(kept), 0))], []
    for shape, batch in _batches(counts, pairs):
        gains.append(gains_of([(codes[a], codes[b]) for a, b in batch], shape))
        order += batch
    return [_best_pairs(found, order, most) for found in np.hstack(gains)]


def _histogram_rows(held_out: CardRows, score: np.ndarray, n_pairs: int) -> tuple[CardRows, np.ndarray]:
    """The rows for the histograms of ``n_pairs`` pairs, with their scores: all, or every k-th."""
    at = np.arange(len(score))[:: max(1, int(np.ceil(len(score) * n_pairs / _sizes.MAX_HISTOGRAM_CELLS)))]
    return held_out.take(at), score[at]


class ClassGains:
    """What pairs of columns can add to scores of two classes, by several sets of folds."""

    def __init__(self, rows: CardRows, score: np.ndarray, kept: np.ndarray) -> None:
        assert rows.fold is not None
        self.is_pos, self.fold, self.score, self.kept, target = rows.target.is_pos, rows.fold, score, kept, rows.target
        self.weight = np.ones(target.size) if target.weight is None else target.weight.astype(np.float64)
        self.moments = ScoreMoments.of(score, target.is_pos, self.weight * kept[:, rows.fold])

    def __call__(self, codes: Sequence[tuple[np.ndarray, np.ndarray]], shape: tuple[int, int]) -> np.ndarray:
        """(sets, pairs), of pairs of columns whose coarse slots are these."""
        histograms = np.zeros((len(codes), self.kept.shape[1], shape[0] * shape[1], 4))
        for (a, b), own in zip(codes, histograms, strict=True):
            pair_histogram(a, b, shape[1], self.fold, self.is_pos, self.score, self.weight, own)
        return self.moments.gains(np.tensordot(self.kept, histograms, (1, 1)), shape)


class OrderGains:
    """What pairs of columns can add to scores of ordered rows, by several sets of folds.

    p and q are the shares of the pairs whose upper, and whose lower row is in a cell; g is the sum over its rows of
    half of what the loss falls by where their scores rise. A takes the two rows of a pair for independent.
    """

    def __init__(self, rows: CardRows, score: np.ndarray, kept: np.ndarray) -> None:
        assert rows.fold is not None
        self.sets = []
        for folds in kept:
            index = np.flatnonzero(folds[rows.fold] > 0.0)
            residuals = rows.target.take(index).residuals(score[index])
            counts = [max(int(np.count_nonzero(share)), 1) for share in (residuals.upper, residuals.lower)]
            shrink = CELL_SHRINKAGE * (1.0 / counts[0] + 1.0 / counts[1])
            self.sets.append((index, residuals, shrink))

    def __call__(self, codes: Sequence[tuple[np.ndarray, np.ndarray]], shape: tuple[int, int]) -> np.ndarray:
        """(sets, pairs), of pairs of columns whose coarse slots are these."""
        size, out = shape[0] * shape[1], []
        cells = [np.where((a >= 0) & (b >= 0), a.astype(np.int64) * shape[1] + b, size) for a, b in codes]
        for index, shares, shrink in self.sets:
            p, q, g = (
                np.array([np.bincount(cell[index], share, size + 1)[:size] for cell in cells]) for share in shares
            )
            out.append(gains_beside_columns(p, q, g, shape, shrink))
        return np.array(out)


def _best_pairs(gains: np.ndarray, pairs: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """The ``most`` pairs of the largest gains above zero."""
    second, first = np.array(pairs, dtype=np.int64).reshape(-1, 2).T[::-1]
    best = np.lexsort((second, first, -gains))[:most]
    return [pairs[k] for k in best.tolist() if gains[k] > 0.0]


def _batches(
    counts: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], list[tuple[int, int]]]]:
    """The numbers of coarse slots of two columns, and a batch of the pairs whose columns have these."""
    by_shape: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for a, b in pairs:
        by_shape.setdefault((counts[a], counts[b]), []).append((a, b))
    for shape, members in by_shape.items():
        for start in range(0, len(members), HISTOGRAM_BATCH):
            yield shape, members[start : start + HISTOGRAM_BATCH]


# What belongs to a column


def purified(
    features: Sequence[Feature], basis: Basis, w: np.ndarray, mean: np.ndarray, monotone: Container[int] = ()
) -> np.ndarray:
    """Weights of the same scores, less a constant, in which each grid has means of zero along both ways.

    ``mean`` is that of the basis over the training rows. Pairs of a column with missing cells stay as they are: where
    one is missing the grid adds nothing, and its other column would go on adding. So do those of a ``monotone`` column,
    whose mean over the rows of a grid that rises need not rise.
    """
    w = w.copy()
    ends = np.append(basis.pair_first, basis.size)
    for m, pair in enumerate(zip(basis.pair_a, basis.pair_b, strict=True)):
        two = [features[j] for j in pair]
        if any(f.gaps for f in two) or any(int(j) in monotone for j in pair):
            continue
        at, shape = slice(ends[m], ends[m + 1]), tuple(len(coarse_places(f)) for f in two)
        grid, effects = _split_effects(w[at].reshape(shape), mean[at].reshape(shape))
        w[at] = grid.ravel()
        for j, f, effect in zip(pair, two, effects, strict=True):
            _add_effect(f, basis, int(j), effect, w)
    return w


def _split_effects(grid: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The grid without effects of its rows and columns, and these effects: those of least squares, in one solve."""
    share = np.maximum(share, 0.0) + 1e-9 * max(float(share.max()), 1e-300)  # cells without rows follow the others
    root, size = np.sqrt(share / share.max()).ravel(), grid.shape[0]
    row, column = np.indices(grid.shape).reshape(2, -1)
    design = np.concatenate([row[:, None] == np.arange(size), column[:, None] == np.arange(grid.shape[1])], axis=1)
    both = np.linalg.lstsq(root[:, None] * design, root * grid.ravel(), rcond=None)[0]
    effects = [both[:size], both[size:]]
    return grid - effects[0][:, None] - effects[1], effects


def _add_effect(feature: Feature, basis: Basis, j: int, effect: np.ndarray, w: np.ndarray) -> None:
    """Add an effect of coarse slots to the shape of a column; its zero slot stays zero."""
    at = slice(basis.first[j], basis.first[j + 1])
    if feature.knots is None:
        slots = effect[basis.coarse_slot[at]]
    else:
        slots = interpolate(feature.knots, feature.knots[coarse_places(feature)], effect)
    if feature.reference >= 0:
        slots = slots - slots[feature.reference]
    used = basis.place[at] >= 0
    w[basis.place[at][used]] += slots[used]
