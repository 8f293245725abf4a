"""Whether pairs of columns pay, and how many: by cross-validation in which each fold finds its own pairs.

Pairs found on all rows look better on those rows than they are. So a fold's pairs come from the rows outside it, as its
weights do, and only the number of pairs and the penalties are taken from the trial; the pairs of the model are then
found on all rows. Where rows are many, the trial is made on some of them.
"""

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from auclid.additive._basis import Feature, fewer_knots, make_basis
from auclid.additive._choose import SMOOTHS, HeldOut, grid_auc, held_out_scores, sure_gain
from auclid.additive._pairs import COLUMNS_AT_MOST, best_pairs, residual
from auclid.additive._penalty import Penalty, penalty_terms
from auclid.additive._plan import KNOTS, Plan, Settings, near, unit
from auclid.additive._solve import minimiser
from auclid.additive._sums import Fold, Folds, class_sums

PAIRS = (5, 15, 30)
"""Numbers of pairs that are tried, besides none."""

LEAST = 50
"""Rows of the rarer class below which no pair is looked for: too many grids look well by chance."""

TRIAL = 15_000
"""Rows of the trial, at the most."""

ROWS = 120_000
"""Rows that the moments with pairs come from, at the most: a row then costs the square of what all pairs touch.
Of more, all of the rarer class are kept if they can be, and the others are drawn and weigh as much as all did."""

FIRST = 2
"""Folds that more pairs must rank better than fewer did, in the mean, for the other folds to be asked."""

STEPS = (0.01, 0.1, 1.0, 10.0)
"""How much stronger the ridge may be with pairs than without."""

FOCUS_OF_PAIRS = ()
"""How much dearer columns and pairs that add little may be made, besides as much as without pairs."""


class Trial(NamedTuple):
    """A number of pairs with penalties: the ridge in units of the basis."""

    n_pairs: int
    ridge: float
    smooth: float
    focus: float = 0.0
    gain: float = 0.0
    """The mean gain of held-out AUC over folds."""


def with_pairs(plan: Plan, cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, settings: Settings) -> Plan:
    """The plan with the best pairs of columns, where they rank held-out rows better."""
    if plan.held is None or plan.fold is None or settings.pairs == 0 or not plan.basis.size:
        return plan
    n_pos = int(is_pos[plan.fold >= 0].sum())
    if min(n_pos, int((plan.fold >= 0).sum()) - n_pos) < LEAST:
        return plan
    scores = _additive_scores(plan)
    wanted = _candidates(plan, settings)
    chosen = _trial(plan, scores, wanted, settings)
    if chosen is None:
        return plan
    rest = residual(scores, plan.held.is_pos, plan.held.weight)
    pairs = best_pairs(plan.features, plan.held.cells, rest, wanted, chosen.n_pairs)
    basis = make_basis(plan.features, pairs)
    rows, weight = _enough_rows(is_pos, weight, plan.fold, settings.rng)
    sums = class_sums(basis, cells if rows is None else cells[rows], *_taken(rows, is_pos, weight, plan.fold))
    total, terms = sums.classes(), penalty_terms(plan.features, basis)
    ridge = chosen.ridge * unit(total) if settings.alphas is None else chosen.ridge
    penalty = Penalty(ridge, chosen.smooth, chosen.focus)
    auc = plan.cv_auc + chosen.gain  # not that of these folds: the pairs were found on all rows
    return Plan(plan.features, pairs, basis, terms, penalty, total, Folds(sums), plan.held, plan.fold, auc)


def _enough_rows(
    is_pos: np.ndarray, weight: np.ndarray | None, fold: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Which rows to take, None for all, and the weight of every row."""
    if (fold >= 0).sum() <= ROWS:
        return None, weight
    classes = sorted((np.flatnonzero((is_pos == side) & (fold >= 0)) for side in (True, False)), key=len)
    drawn, new = [], np.zeros(len(is_pos))
    old = np.ones(len(is_pos)) if weight is None else weight
    for rows, most in zip(classes, (ROWS // 2, ROWS - min(len(classes[0]), ROWS // 2)), strict=True):
        kept = rng.permutation(rows)[:most]
        new[kept] = old[kept] * (old[rows].sum() / old[kept].sum())
        drawn.append(kept)
    return np.sort(np.concatenate(drawn)), new


def _taken(rows: np.ndarray | None, *parts: np.ndarray | None) -> list:
    return [part if rows is None or part is None else part[rows] for part in parts]


def _additive_scores(plan: Plan) -> np.ndarray:
    assert plan.held is not None
    weights = [minimiser(fold.S, fold.delta, plan.terms, plan.penalty) for fold in plan.folds]
    return held_out_scores(plan.folds, plan.basis, weights, plan.held)


def _trial(plan: Plan, scores: np.ndarray, wanted: list[tuple[int, int]], settings: Settings) -> Trial | None:
    """The best number of pairs and its penalties; None where no number surely pays."""
    held = _some(plan.held, settings.rng)
    counts = [k for k in PAIRS if settings.pairs is None or k <= settings.pairs]
    if settings.pairs is not None and settings.pairs not in counts:
        counts.append(settings.pairs)
    score = scores if held is plan.held else _rescored(plan, held)
    features = fewer_knots(plan.features, KNOTS[0])[0]
    own = [_pairs_of_fold(features, held, score, wanted, k, counts[-1]) for k in range(len(plan.folds))]

    @cache
    def found(k: int, most: int) -> _Found:
        return _of_fold(features, held, own[k][:most], k)

    def aucs_of(count: int, grid: Sequence[Trial], most: int, folds: Sequence[int]) -> np.ndarray:
        return np.array([_aucs(found(k, most), features, count, grid, held.as_only_fold(k), settings) for k in folds])

    every, few = range(len(plan.folds)), _few_enough(held.cells.shape[1], counts)
    best: tuple[float, Trial | None] = (0.0, None)
    alone = aucs_of(0, [_own(plan, settings)], few, every)
    grid, last = _grid(plan, settings), np.zeros(len(every))
    for count in counts:
        most = few if count <= few else counts[-1]
        aucs = aucs_of(count, grid, most, every[:FIRST]) - alone[:FIRST]
        if count > counts[0] and np.all(np.nanmean(aucs, axis=0) <= np.nanmean(last[:FIRST])):
            break  # so the other folds need not be asked
        aucs = np.concatenate([aucs, aucs_of(count, grid, most, every[FIRST:]) - alone[FIRST:]])
        sure = [sure_gain(column) for column in aucs.T]
        at = int(np.argmax(sure))
        if sure[at] <= best[0]:
            break  # more pairs would cost more and add less
        best = sure[at], grid[at]._replace(n_pairs=count, gain=float(np.nanmean(aucs[:, at])))
        grid, last = _around(grid, grid[at]), aucs[:, at]
    return best[1]


def _few_enough(columns: int, counts: Sequence[int]) -> int:
    """How many pairs to make moments with at first: the fewest tried, where that is much cheaper than with all."""
    work = [(2 * columns + 4 * count) ** 2 for count in (counts[0], counts[-1])]
    return counts[0] if 3 * work[0] <= work[1] else counts[-1]


class _Found(NamedTuple):
    """What one fold's training rows give: pairs, best first, and S and δ with all of them."""

    pairs: list[tuple[int, int]]
    fold: Fold


def _pairs_of_fold(
    features: Sequence[Feature], held: HeldOut, score: np.ndarray, wanted: list[tuple[int, int]], k: int, most: int
) -> list[tuple[int, int]]:
    """The best pairs by the rows outside fold k."""
    rows = np.flatnonzero(held.fold != k)
    label, weight = held.is_pos[rows], None if held.weight is None else held.weight[rows]
    return best_pairs(features, held.cells[rows], residual(score[rows], label, weight), wanted, most)


def _of_fold(features: Sequence[Feature], held: HeldOut, pairs: list[tuple[int, int]], k: int) -> _Found:
    rows = np.flatnonzero(held.fold != k)
    label, weight = held.is_pos[rows], None if held.weight is None else held.weight[rows]
    return _Found(pairs, class_sums(make_basis(features, pairs), held.cells[rows], label, weight).outside(-1))


def _aucs(
    found: _Found,
    features: Sequence[Feature],
    count: int,
    grid: Sequence[Trial],
    held: HeldOut,
    settings: Settings,
) -> np.ndarray:
    """The AUC of the only fold that is held out, with its own first ``count`` pairs, of each penalty."""
    basis = make_basis(features, found.pairs[:count])
    fold, terms = found.fold.leading(basis.size), penalty_terms(features, basis)
    size = 2.0 * float(np.diag(fold.S).mean()) if settings.alphas is None else 1.0
    penalties = [Penalty(trial.ridge * size, trial.smooth, trial.focus) for trial in grid]
    return grid_auc([fold], basis, terms, penalties, held)[0]


def _own(plan: Plan, settings: Settings) -> Trial:
    size = unit(plan.moments) if settings.alphas is None else 1.0
    return Trial(0, plan.penalty.alpha / size, plan.penalty.smooth, plan.penalty.focus)


def _grid(plan: Plan, settings: Settings) -> list[Trial]:
    own = _own(plan, settings)
    if settings.alphas is not None:
        return [own._replace(ridge=float(alpha)) for alpha in settings.alphas]
    smooths = [own.smooth] if settings.smooth is not None else near(np.array(SMOOTHS), own.smooth)[:2]
    steps = [(step, focus) for step in STEPS for focus in sorted({own.focus, *FOCUS_OF_PAIRS})]
    return [Trial(0, own.ridge * step, float(smooth), focus) for smooth in smooths for step, focus in steps]


def _around(grid: list[Trial], best: Trial) -> list[Trial]:
    """Penalties as smooth and focused as the best, with a ridge near to its: what more pairs are tried with."""
    return [g for g in grid if g[2:4] == best[2:4] and 0.09 < g.ridge / best.ridge < 11.0]


def _some(held: HeldOut | None, rng: np.random.Generator) -> HeldOut:
    """As many held-out rows as a trial takes, of both classes alike where that is possible."""
    assert held is not None
    if len(held.is_pos) <= TRIAL:
        return held
    rare, common = sorted((np.flatnonzero(held.is_pos), np.flatnonzero(~held.is_pos)), key=len)
    rare = rng.permutation(rare)[: TRIAL // 2]
    rows = np.sort(np.concatenate([rare, rng.permutation(common)[: TRIAL - len(rare)]]))
    return held.part(rows)


def _rescored(plan: Plan, held: HeldOut) -> np.ndarray:
    weights = [minimiser(fold.S, fold.delta, plan.terms, plan.penalty) for fold in plan.folds]
    return held_out_scores(plan.folds, plan.basis, weights, held)


def _candidates(plan: Plan, settings: Settings) -> list[tuple[int, int]]:
    """The pairs that are looked at; of two monotone columns, the grid would have to rise both ways."""
    pairs = combinations(_important(plan), 2)
    return [pair for pair in pairs if not settings.monotone.issuperset(pair)]


def _important(plan: Plan) -> list[int]:
    """The columns whose shapes vary the most, where there are very many."""
    columns = list(range(len(plan.features)))
    if len(columns) <= COLUMNS_AT_MOST:
        return columns
    m, basis = plan.moments, plan.basis
    w, covariance = minimiser(m.within, m.delta, plan.terms, plan.penalty), m.all.covariance
    spread = np.zeros(len(plan.features))
    for j in columns:
        at = basis.place[basis.first[j] : basis.first[j + 1]]
        at = at[at >= 0]
        spread[j] = w[at] @ covariance[np.ix_(at, at)] @ w[at]
    return sorted(sorted(columns, key=lambda j: -spread[j])[:COLUMNS_AT_MOST])
