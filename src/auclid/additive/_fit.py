"""A whole fit of a scorecard: features, selection, weights, card, sigmoid."""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from auclid import validation
from auclid.additive._basis import Basis, basis_rows
from auclid.additive._columns import ColumnSpec, cell_block
from auclid.additive._features import Feature, learn_features, max_knots
from auclid.additive._folds import RowFolds
from auclid.additive._interactions import purified, with_pairs
from auclid.additive._logistic import affordable, logistic_weights
from auclid.additive._moments import LazyFolds
from auclid.additive._order_moments import PairMoments
from auclid.additive._selection import (
    KNOT_COUNTS,
    FitSettings,
    ShapeSelection,
    ridge_unit,
    select,
)
from auclid.additive._shapes import Card, PairShape, Shape, card_scores, make_card, make_shapes
from auclid.additive._solve import Penalty, minimiser, monotone_columns, penalised, penalty_terms, solve_monotone
from auclid.additive._targets import CardRows
from auclid.data.encoding import column_indices
from auclid.ordered._base import LinearOrderRanker
from auclid.solvers.iterative import at_most, coordinate_descent, run
from auclid.square import LeastSquaresAUC, LeastSquaresAUCCV
from auclid.stats.moments import ClassMoments, Moments
from auclid.stats.odds import Odds, sigmoid_from_moments

STREAM_PENALTY = Penalty(1e-3, 0.2)
"""Penalties of a stream, where nothing can be held out; alpha in units of twice the mean variance of the basis."""

STREAM_KNOTS = 16
"""Knots of a stream."""

POINT_SCALES = 50.0, 100.0, 200.0, 400.0, 800.0
"""Points that double the odds: the first that is fine enough."""

MAX_ROUNDING = 0.01
"""How much rounding to whole points may blur scores, in units of their spread within a class."""


MAX_LOGISTIC_GAIN = 0.005
"""Pairs that gain more of the AUC than this are taken without a look at what the logistic loss could gain alone."""


class ScorecardFit(NamedTuple):
    """All that a fit publishes."""

    specs: list[ColumnSpec]
    features: list[Feature]
    card: Card
    shapes: list[Shape | PairShape]
    penalty: Penalty
    moments: ClassMoments | PairMoments
    odds: Odds
    cv_auc: float
    scale: float
    """Points that double the odds."""
    loss: str
    """The "square" or the "logistic" one; "ranker": that of a ranker which learns from rows."""
    separation: tuple[float, float]
    """How far apart the mean scores of the classes are, and the sum of the variances of the scores of both."""
    held_out: np.ndarray | None = None
    """The score of each row by the folds it is not in; None where some have none."""
    unit: np.ndarray | None = None
    """Of the logistic loss: a factor for the values of the square loss by which the card learns on, and the score
    halfway between the class means, so that scores keep their spread and their zero."""


class ScorecardColumns(NamedTuple):
    """The columns, with what the user has decided of them."""

    specs: list[ColumnSpec]
    given: Mapping[int, Any]
    """Knots or levels of some, by the number of the column."""
    monotone: Mapping[int, int]
    """Which may only rise (1) or fall (-1)."""


def fit_scorecard(model: Any, columns: ScorecardColumns, rows: CardRows, settings: FitSettings) -> ScorecardFit:
    """What a `Scorecard` learns from these rows."""
    weighted = _choose_weights(model, _features(model, columns, rows, settings), columns.monotone, rows, settings)
    selection, all_rows = weighted.selection, weighted.selection.moments.all
    w = purified(selection.features, selection.basis, weighted.w, all_rows.mean, columns.monotone)
    card = make_card(selection.features, selection.basis, w, all_rows)
    pairs = zip(_fold_means(selection), weighted.others, strict=True)
    fold_cards = [_fold_card(selection, mean, v, columns.monotone) for mean, v in pairs]
    shapes = make_shapes(selection.features, card, all_rows, w, fold_cards)
    held_out = _held_out_scores(fold_cards, selection)
    odds = _fit_odds(card, rows, selection.held_out, held_out)
    return ScorecardFit(
        columns.specs,
        selection.features,
        card,
        shapes,
        selection.penalty,
        selection.moments,
        odds,
        selection.cv_auc,
        point_scale(odds, w, selection.moments, shapes),
        weighted.loss,
        _separation(w, selection.moments),
        held_out if held_out is not None and len(held_out) == rows.target.size else None,
        _stream_unit(weighted),
    )


def _features(model: Any, columns: ScorecardColumns, rows: CardRows, settings: FitSettings) -> list[Feature]:
    wanted = _fixed_knots(model.n_knots) or KNOT_COUNTS[-1]
    knots = max_knots(columns.specs, wanted, rows.cells.shape[0] if _may_add_knots(model) else None)
    features = learn_features(
        columns.specs, rows.cells, rows.target.weight, knots, columns.given, settings.rng, _may_add_knots(model)
    )
    if _is_sparse(model.ranker):
        features = [f._replace(reference=int(f.share.argmax())) for f in features]  # zero is then one shape only
    return features


class _WeightedSelection(NamedTuple):
    """Weights of the basis from all rows and from those outside each fold, and the loss they minimise."""

    selection: ShapeSelection
    w: np.ndarray
    others: list[np.ndarray]
    loss: str
    square: np.ndarray | None = None
    """Of the logistic loss: the weights of the square one that it began with."""


def _choose_weights(
    model: Any, features: list[Feature], monotone: Mapping[int, int], rows: CardRows, settings: FitSettings
) -> _WeightedSelection:
    """The weights without pairs or with them, whichever rank held-out rows better in the end."""
    plain = select(features, rows, settings)
    paired = with_pairs(plain, rows, settings)
    with_them = _weights_of(model, paired, rows, monotone, settings)
    sure = paired is plain or paired.cv_auc - plain.cv_auc > MAX_LOGISTIC_GAIN
    if sure or not settings.refine or not affordable(plain, rows.cells):
        return with_them
    alone = _weights_of(model, plain, rows, monotone, settings)
    return alone if alone.selection.cv_auc > with_them.selection.cv_auc else with_them


def _weights_of(
    model: Any, selection: ShapeSelection, rows: CardRows, monotone: Mapping[int, int], settings: FitSettings
) -> _WeightedSelection:
    """The weights of the square loss, or of the logistic one where that surely ranks better."""
    if learns_from_rows(model.ranker):
        return _WeightedSelection(selection, *_weights_from_rows(model.ranker, selection, rows), "ranker")
    w, others = _square_weights(selection, monotone, model.ranker)
    for each in (w, *others):
        validation.finite(model, each)
    better = None
    if settings.refine and affordable(selection, rows.cells):
        constrained = monotone_columns(selection.features, selection.basis, monotone)
        better = logistic_weights(selection, rows, w, others, constrained)
    if better is None:
        return _WeightedSelection(selection, w, others, "square")
    refined = selection._replace(cv_auc=selection.cv_auc + better.gain)
    return _WeightedSelection(refined, better.w, better.others, "logistic", w)


# Weights of the basis


def _square_weights(
    selection: ShapeSelection, monotone: Mapping[int, int], ranker: Any
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The minimisers of the square loss, of all rows and of those outside each fold."""
    moments, folds = selection.moments, selection.folds
    if isinstance(folds, RowFolds) and not monotone and _closed_form(ranker):
        found = folds.minimisers(moments.within, moments.delta, selection.terms, selection.penalty)
        if found is not None:
            return found
    w = _square_minimiser(selection, moments.within, moments.delta, monotone, ranker)
    return w, [_square_minimiser(selection, each.S, each.delta, monotone, ranker, w) for each in folds]


def _closed_form(ranker: Any) -> bool:
    """Whether a ranker asks for nothing but the minimiser."""
    return not _is_sparse(ranker) and not getattr(ranker, "positive", False)


def _square_minimiser(
    selection: ShapeSelection,
    S: np.ndarray,
    delta: np.ndarray,
    monotone: Mapping[int, int],
    ranker: Any,
    near: np.ndarray | None = None,
) -> np.ndarray:
    """The minimiser of the square loss: in closed form, with l1, or monotone (then ``near`` helps, as in
    `solve_monotone`)."""
    if not monotone and _closed_form(ranker):
        return minimiser(S, delta, selection.terms, selection.penalty)
    H = 2.0 * (penalised(S, delta, selection.terms, selection.penalty) + np.multiply.outer(delta, delta))
    if not monotone:
        return _sparse_weights(H, 2.0 * delta, ranker)
    columns = monotone_columns(selection.features, selection.basis, monotone)
    start = None if near is None else near[:, None]
    return solve_monotone(H, 2.0 * delta[:, None], columns, start)[:, 0]


def _sparse_weights(H: np.ndarray, b: np.ndarray, ranker: Any) -> np.ndarray:
    """The minimiser with l1 or with weights that may not be negative, to the ranker's tolerance."""
    iterates = coordinate_descent(H, b, float(ranker.l1), bool(getattr(ranker, "positive", False)))
    result = run(iterates, np.zeros_like(b), ranker.tol, at_most(ranker.max_iter))
    if not result.converged:
        warnings.warn(
            f"Scorecard stopped after {ranker.max_iter} rounds before reaching tol={ranker.tol}. Raise max_iter, alpha "
            f"or tol of its {type(ranker).__name__}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result.w


def learns_from_rows(ranker: Any) -> bool:
    """Whether a ranker learns from rows, and not from moments."""
    if isinstance(ranker, LinearOrderRanker):
        return ranker.loss != "square"
    return ranker is not None and not isinstance(ranker, (LeastSquaresAUC, LeastSquaresAUCCV))


def _is_sparse(ranker: Any) -> bool:
    """Whether a ranker has an absolute penalty on weights that come from moments."""
    return not learns_from_rows(ranker) and getattr(ranker, "l1", 0.0) > 0.0


def _weights_from_rows(ranker: Any, selection: ShapeSelection, rows: CardRows) -> tuple[np.ndarray, list[np.ndarray]]:
    """Weights of the basis by any linear ranker: of all rows, and of those outside each fold."""
    Z = basis_rows(selection.basis, cell_block(rows.cells, slice(None)))
    if not Z.shape[1]:
        return np.zeros(0), [np.zeros(0) for _ in selection.folds]

    def learnt(index: np.ndarray) -> np.ndarray:
        return rows.target.take(index).ranker_weights(ranker, Z[index])

    fold, outside = selection.fold, []
    if fold is not None:
        outside = [np.flatnonzero((fold >= 0) & (fold != k)) for k in range(len(selection.folds))]
    return learnt(np.arange(rows.target.size)), [learnt(index) for index in outside]


# Cards, scores and the sigmoid


def _fold_means(selection: ShapeSelection) -> list[np.ndarray]:
    """The mean of the training rows of each fold, without their covariances where these would have to be made."""
    folds = selection.folds
    return folds.means if isinstance(folds, (LazyFolds, RowFolds)) else [each.mean for each in folds]


def _fold_card(selection: ShapeSelection, mean: np.ndarray, w: np.ndarray, monotone: Mapping[int, int]) -> Card:
    w = purified(selection.features, selection.basis, w, mean, monotone)
    return make_card(selection.features, selection.basis, w, Moments(1.0, mean, np.zeros(())))


def _held_out_scores(cards: Sequence[Card], selection: ShapeSelection) -> np.ndarray | None:
    """The score of each row that is held out; None where there are too few rows to hold some out."""
    if selection.held_out is None:
        return None
    scores = np.zeros(selection.held_out.target.size)
    for k, card in enumerate(cards):
        rows = selection.held_out.in_fold(k)
        scores[rows] = card_scores(card, selection.held_out.cells[rows])
    return scores


def _fit_odds(card: Card, rows: CardRows, held_out: CardRows | None, scores: np.ndarray | None) -> Odds:
    """The sigmoid of held-out scores, or of the card's own where there are none."""
    if held_out is None or scores is None:
        return rows.target.odds(card_scores(card, rows.cells), rows.target)
    return held_out.target.odds(scores, rows.target)


def point_scale(odds: Odds, w: np.ndarray, moments: ClassMoments | PairMoments, shapes: Sequence[Any]) -> float:
    """Points that double the odds, so many that whole points blur scores by at most MAX_ROUNDING of their spread.

    What m shapes that are rounded one by one add to a sum is a deviation of √(m/12) points.
    """
    spread = odds.slope / np.log(2.0) * np.sqrt(0.5 * _within_variance(w, moments))
    rounding = np.sqrt(sum(shape.importance > 0.0 for shape in shapes) / 12.0)
    fine = [scale for scale in POINT_SCALES if rounding <= MAX_ROUNDING * scale * spread]
    return fine[0] if fine else (POINT_SCALES[-1] if spread > 0.0 else POINT_SCALES[0])


def _stream_unit(weighted: _WeightedSelection) -> np.ndarray | None:
    if weighted.square is None:
        return None
    moments = weighted.selection.moments
    before, after = (_within_variance(w, moments) for w in (weighted.square, weighted.w))
    factor = np.sqrt(after / before) if before > 0.0 and after > 0.0 else 1.0
    return np.array([factor, _halfway(weighted.w, moments)])


def _halfway(w: np.ndarray, moments: ClassMoments | PairMoments) -> float:
    """The score halfway between the means of the classes, less the mean of all."""
    return float((moments.midpoint - moments.all.mean) @ w)


def _separation(w: np.ndarray, moments: ClassMoments | PairMoments) -> tuple[float, float]:
    """The gap between the mean scores of the classes, and the sum of the variances of both."""
    return float(moments.delta @ w), _within_variance(w, moments)


def _within_variance(w: np.ndarray, moments: ClassMoments | PairMoments) -> float:
    """The sum of the variances of the scores of both classes; of ordered rows, that of the differences of pairs."""
    if isinstance(moments, PairMoments):
        return max(float(w @ (moments.within @ w)), 0.0)
    return max(sum(float(w @ (m.scatter @ w)) / m.n for m in (moments.pos, moments.neg) if m.n > 0.0), 0.0)


# Streams


def first_features(
    model: Any, columns: ScorecardColumns, cells: Any, weight: np.ndarray | None, rng: np.random.Generator
) -> list[Feature]:
    """The columns of a stream, fixed by its first batch; any of them may be missing later."""
    specs = columns.specs
    knots = max_knots(specs, _fixed_knots(model.n_knots) or STREAM_KNOTS)
    features = learn_features(specs, cells, weight, knots, columns.given, rng, _may_add_knots(model))
    return [f._replace(gaps=True) for f in features]


def fit_moments(
    model: Any,
    columns: ScorecardColumns,
    features: list[Feature],
    basis: Basis,
    moments: ClassMoments | PairMoments,
    factor: float,
) -> tuple[ScorecardFit, float]:
    """What rows that were added up give, times a factor, and the score halfway between their classes."""
    penalty, terms = _stream_penalty(model, moments), penalty_terms(basis)
    selection = ShapeSelection(features, [], basis, terms, penalty, moments, [], None, None, np.nan)
    all_rows, complete = moments.all, moments.complete and basis.size > 0
    w, odds = np.zeros(basis.size), Odds()
    if complete:
        w = factor * _square_minimiser(selection, moments.within, moments.delta, columns.monotone, model.ranker)
    w = purified(features, basis, w, all_rows.mean, columns.monotone)
    card = make_card(features, basis, w, all_rows)
    if complete and isinstance(moments, ClassMoments):
        odds = sigmoid_from_moments(moments, w)
    odds = odds._replace(offset=odds.offset + odds.slope * float(all_rows.mean @ w))
    shapes = make_shapes(features, card, all_rows, w, [])
    scale = point_scale(odds, w, moments, shapes) if complete else POINT_SCALES[0]
    fit = ScorecardFit(columns.specs, features, card, shapes, penalty, moments, odds, np.nan, scale, "square",
        _separation(w, moments) if complete else (0.0, 0.0),
    )  # fmt: skip
    return fit, _halfway(w, moments)


def _stream_penalty(model: Any, moments: ClassMoments | PairMoments) -> Penalty:
    """The penalty that `fit` chose, where it came first; else what the user gave, or what mostly does well."""
    chosen = getattr(model, "_chosen", None)
    if chosen is not None:
        return Penalty(*chosen)
    unit = ridge_unit(moments)
    alpha = float(model.ranker.alpha) if isinstance(model.ranker, LeastSquaresAUC) else STREAM_PENALTY.alpha * unit
    return Penalty(alpha, STREAM_PENALTY.smooth if model.smooth == "auto" else float(model.smooth))


# Parameters of a Scorecard


def _fixed_knots(n_knots: Any) -> int | None:
    """The number of knots, where the user gave one."""
    return int(n_knots) if isinstance(n_knots, Integral) else None


def _may_add_knots(model: Any) -> bool:
    """Whether knots may be added where the shape wants them."""
    return not isinstance(model.n_knots, Integral)


def settings_of(model: Any, monotone: Mapping[int, int], rng: np.random.Generator) -> FitSettings:
    """What the parameters of a `Scorecard` leave to be chosen."""
    alphas = None
    if isinstance(model.ranker, LeastSquaresAUCCV) and model.ranker.alphas is not None:
        alphas = np.asarray(model.ranker.alphas, dtype=np.float64)
    elif isinstance(model.ranker, (LeastSquaresAUC, LinearOrderRanker)) and model.ranker.alpha != "auto":
        alphas = np.array([float(model.ranker.alpha)])
    return FitSettings(
        _fixed_knots(model.n_knots),
        None if model.smooth == "auto" else float(model.smooth),
        None if model.interactions == "auto" else int(model.interactions),
        alphas,
        frozenset(monotone),
        5,
        rng,
        refine=model.ranker is None,
        metric=model.metric,
    )


def monotone_directions(model: Any, specs: list[ColumnSpec]) -> dict[int, int]:
    """Which columns may only rise (1) or fall (-1), by the number of the column."""
    if model.monotone is None:
        return {}
    sparse = _is_sparse(model.ranker) or getattr(model.ranker, "positive", False)
    if learns_from_rows(model.ranker) or sparse:
        raise ValueError(
            "The 'monotone' parameter of Scorecard must go with the square loss: ranker=None, LeastSquaresAUCCV, "
            "LeastSquaresAUC without l1 and positive, OrderedRanker or SurvivalRanker without l1. "
            f"Got ranker={model.ranker!r} instead."
        )
    places = column_indices(model, "monotone", model.monotone, [spec.name for spec in specs])
    pairs = zip(places, model.monotone.values(), strict=True)
    directions = {place: _direction(specs[place], sign) for place, sign in pairs}
    return {place: sign for place, sign in directions.items() if sign}


def _direction(spec: ColumnSpec, sign: Any) -> int:
    """1, -1 or 0 as the user gave it for a column of numbers."""
    if not isinstance(sign, Integral) or isinstance(sign, bool) or sign not in (-1, 0, 1):
        raise ValueError(
            f"The 'monotone' parameter of Scorecard must be 1 (rising) or -1 (falling) for each column it "
            f"names; got {sign!r} for {spec.name!r}."
        )
    if spec.levels is not None:
        raise ValueError(
            f"The 'monotone' parameter of Scorecard must name columns of numbers; {spec.name!r} is a "
            f"{spec.kind}, whose levels have no order. Make it a number first."
        )
    return int(sign)
