"""A whole fit: features, plan, weights, card, odds."""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from auclid.additive._basis import Basis, Feature, basis_rows
from auclid.additive._choose import HeldOut
from auclid.additive._features import MOST, knots_that_fit, learn_features
from auclid.additive._interactions import with_pairs
from auclid.additive._logistic import affordable, refined
from auclid.additive._monotone import rising_columns, solve_monotone
from auclid.additive._penalty import Penalty, penalty_terms
from auclid.additive._plan import KNOTS, Plan, Settings, make_plan, unit
from auclid.additive._purify import purified
from auclid.additive._shapes import Card, PairShape, Shape, card_scores, make_card, make_shapes
from auclid.additive._solve import minimiser, penalised
from auclid.additive._sums import Fold
from auclid.additive._table import ColumnSpec, block
from auclid.data.encoding import column_indices
from auclid.solvers.coordinate import coordinate_descent
from auclid.solvers.iteration import at_most, run
from auclid.square import LeastSquaresAUC, LeastSquaresAUCCV
from auclid.stats.moments import ClassMoments, Moments
from auclid.stats.odds import Odds, calibrated, from_moments

STREAM = Penalty(1e-3, 0.2)
"""Penalties of a stream, where nothing can be held out; alpha in units of twice the mean variance of the basis."""

STREAM_KNOTS = 16
"""Knots of a stream."""


SCALES = 50.0, 100.0, 200.0, 400.0, 800.0
"""Points that double the odds: the first that is fine enough."""

BLUR = 0.01
"""How much rounding may blur scores, in units of their spread within a class."""


class Found(NamedTuple):
    """All that a fit publishes."""

    kept: list[ColumnSpec]
    features: list[Feature]
    card: Card
    shapes: list[Shape | PairShape]
    penalty: Penalty
    moments: ClassMoments
    odds: Odds
    cv_auc: float
    scale: float
    """Points that double the odds."""
    loss: str
    """The "square" or the "logistic" one; "ranker": that of a ranker which learns from rows."""
    held_out: np.ndarray | None = None
    """The score of each row by the folds it is not in; None where some have none."""


def fitted(
    model: Any,
    kept: list[ColumnSpec],
    cells: Any,
    is_pos: np.ndarray,
    weight: np.ndarray | None,
    given: Mapping,
    monotone: Mapping[int, int],
    settings: Settings,
) -> Found:
    """What a `Scorecard` learns from these rows."""
    wanted = _number(model.n_knots) or KNOTS[-1]
    knots = knots_that_fit(kept, wanted, cells.shape[0] if _free(model) else MOST)
    features = learn_features(kept, cells, weight, knots, given, settings.rng, _free(model))
    if isinstance(model.ranker, LeastSquaresAUC) and model.ranker.l1 > 0.0:
        features = [f._replace(reference=int(f.share.argmax())) for f in features]  # zero is then one shape only
    plain = make_plan(features, cells, is_pos, weight, settings)
    paired = with_pairs(plain, cells, is_pos, weight, settings)
    found = _found_weights(model, paired, cells, is_pos, weight, monotone, settings)
    if paired is not plain and settings.refine and affordable(plain, cells):
        alone = _found_weights(model, plain, cells, is_pos, weight, monotone, settings)
        found = alone if alone.plan.cv_auc > found.plan.cv_auc else found  # pairs must still pay
    plan, w, others, loss = found
    seen = plan.moments.all
    w = purified(plan.features, plan.basis, w, seen.mean, monotone)
    card = make_card(plan.features, plan.basis, w, seen)
    cards = [_fold_card(plan, fold, v, monotone) for fold, v in zip(plan.folds, others, strict=True)]
    shapes = make_shapes(plan.features, card, seen, w, cards)
    held_out = _held_out(cards, plan)
    if held_out is None or plan.held is None:
        odds = calibrated(card_scores(card, cells), is_pos, weight)
    else:
        odds = calibrated(held_out, plan.held.is_pos, _class_weights(plan.held, is_pos, weight))
    if held_out is not None and len(held_out) < len(is_pos):
        held_out = None
    scale = fine_scale(odds, w, plan.moments, shapes)
    known = plan.features, card, shapes, plan.penalty, plan.moments, odds, plan.cv_auc, scale, loss
    return Found(kept, *known, held_out)


def _class_weights(held: HeldOut, is_pos: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
    """Weights that give each class of the held-out rows its weight among all rows; None where these are all rows.

    The held-out rows of a large table are a sample with more of the rarer class.
    """
    if len(held.is_pos) == len(is_pos):
        return held.weight
    mass = np.ones(len(is_pos)) if weight is None else weight
    out = np.ones(len(held.is_pos)) if held.weight is None else held.weight.copy()
    for label in (True, False):
        out[held.is_pos == label] *= mass[is_pos == label].sum() / out[held.is_pos == label].sum()
    return out


class _Weights(NamedTuple):
    """A plan, the weights of its basis from all rows and from those outside each fold, and the loss they minimise."""

    plan: Plan
    w: np.ndarray
    others: list[np.ndarray]
    loss: str


def _found_weights(
    model: Any,
    plan: Plan,
    cells: Any,
    is_pos: np.ndarray,
    weight: np.ndarray | None,
    monotone: Mapping[int, int],
    settings: Settings,
) -> _Weights:
    if by_rows(model.ranker):
        return _Weights(plan, *_learnt_from_rows(model.ranker, plan, cells, is_pos, weight), "ranker")
    w = _weights(plan, plan.moments.within, plan.moments.delta, monotone, model.ranker)
    others = [_weights(plan, fold.S, fold.delta, monotone, model.ranker) for fold in plan.folds]
    better = None
    if settings.refine and affordable(plan, cells):
        rising = rising_columns(plan.features, plan.basis, monotone)
        better = refined(plan, cells, is_pos, weight, w, others, rising)
    if better is None:
        return _Weights(plan, w, others, "square")
    return _Weights(plan._replace(cv_auc=plan.cv_auc + better.gain), better.w, better.others, "logistic")


def first_features(
    model: Any, kept: list[ColumnSpec], cells: Any, weight: np.ndarray | None, given: Mapping, rng: np.random.Generator
) -> list[Feature]:
    """The columns of a stream, fixed by its first batch; any of them may be missing later."""
    wanted = _number(model.n_knots) or STREAM_KNOTS
    features = learn_features(kept, cells, weight, knots_that_fit(kept, wanted), given, rng, _free(model))
    return [f._replace(gaps=True) for f in features]


def resumed(
    model: Any, kept: list[ColumnSpec], features: list[Feature], basis: Basis, moments: ClassMoments, monotone: Mapping
) -> tuple[Found, float]:
    """What the rows of a stream add up to, and the score halfway between its classes."""
    penalty = _stream_penalty(model, moments)
    plan = Plan(features, [], basis, penalty_terms(features, basis), penalty, moments, [], None, None, np.nan)
    seen = moments.all
    complete = moments.complete and basis.size > 0
    w = _weights(plan, moments.within, moments.delta, monotone, model.ranker) if complete else np.zeros(basis.size)
    w = purified(features, basis, w, seen.mean, monotone)
    card = make_card(features, basis, w, seen)
    odds = from_moments(moments, w) if complete else Odds()
    odds = odds._replace(offset=odds.offset + odds.slope * float(seen.mean @ w))
    shapes = make_shapes(features, card, seen, w, [])
    scale = fine_scale(odds, w, moments, shapes) if complete else SCALES[0]
    found = Found(kept, features, card, shapes, penalty, moments, odds, np.nan, scale, "square")
    return found, float((moments.midpoint - seen.mean) @ w)


def fine_scale(odds: Odds, w: np.ndarray, moments: ClassMoments, shapes: Sequence[Any]) -> float:
    """Points that double the odds, so many that whole points blur scores by at most BLUR of their spread.

    What m shapes that are rounded one by one add to a sum is a deviation of √(m/12) points.
    """
    spread = odds.slope / np.log(2.0) * np.sqrt(max(0.5 * float(w @ moments.within @ w), 0.0))
    blur = np.sqrt(sum(shape.importance > 0.0 for shape in shapes) / 12.0)
    return next((scale for scale in SCALES if blur <= BLUR * scale * spread), SCALES[-1] if spread > 0.0 else SCALES[0])


def _stream_penalty(model: Any, moments: ClassMoments) -> Penalty:
    """What `fit` chose where it was first; what the user gave; what does well mostly."""
    chosen = getattr(model, "_chosen", None)
    if chosen is not None:
        return Penalty(*chosen)
    alpha = float(model.ranker.alpha) if isinstance(model.ranker, LeastSquaresAUC) else STREAM.alpha * unit(moments)
    return Penalty(alpha, STREAM.smooth if model.smooth == "auto" else float(model.smooth))


def _number(n_knots: Any) -> int | None:
    """The number of knots, where the user gave one."""
    return int(n_knots) if isinstance(n_knots, Integral) else None


def _free(model: Any) -> bool:
    """Whether knots may be added where the shape wants them."""
    return not isinstance(model.n_knots, Integral)


def settings_of(model: Any, monotone: Mapping[int, int], rng: np.random.Generator) -> Settings:
    """What the parameters of a `Scorecard` leave to be chosen."""
    alphas = None
    if isinstance(model.ranker, LeastSquaresAUCCV) and model.ranker.alphas is not None:
        alphas = np.asarray(model.ranker.alphas, dtype=np.float64)
    if isinstance(model.ranker, LeastSquaresAUC):
        alphas = np.array([float(model.ranker.alpha)])
    return Settings(
        _number(model.n_knots),
        None if model.smooth == "auto" else float(model.smooth),
        None if model.interactions == "auto" else int(model.interactions),
        alphas,
        frozenset(monotone),
        5,
        rng,
        refine=model.ranker is None,
    )


def directions(model: Any, names: list[str], kept: list[ColumnSpec]) -> dict[int, int]:
    """Which columns may only rise (1) or fall (-1)."""
    if model.monotone is None:
        return {}
    sparse = isinstance(model.ranker, LeastSquaresAUC) and bool(model.ranker.l1 > 0.0 or model.ranker.positive)
    if by_rows(model.ranker) or sparse:
        raise ValueError(
            "The 'monotone' parameter of Scorecard must go with the square loss: ranker=None, LeastSquaresAUCCV or "
            f"LeastSquaresAUC without l1 and positive. Got ranker={model.ranker!r} instead."
        )
    places = column_indices(model, "monotone", model.monotone, names)
    out = {}
    for place, sign in zip(places, model.monotone.values(), strict=True):
        if not isinstance(sign, Integral) or isinstance(sign, bool) or sign not in (-1, 0, 1):
            raise ValueError(
                f"The 'monotone' parameter of Scorecard must be 1 (rising) or -1 (falling) for each column it "
                f"names; got {sign!r} for {names[place]!r}."
            )
        if kept[place].levels is not None:
            raise ValueError(
                f"The 'monotone' parameter of Scorecard must name columns of numbers; {names[place]!r} is a "
                f"{kept[place].kind}, whose levels have no order. Make it a number first."
            )
        if sign:
            out[place] = int(sign)
    return out


def by_rows(ranker: Any) -> bool:
    """Whether a ranker learns from rows, and not from moments."""
    return ranker is not None and not isinstance(ranker, (LeastSquaresAUC, LeastSquaresAUCCV))


def _learnt_from_rows(
    ranker: Any, plan: Plan, cells: Any, is_pos: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, list]:
    """Weights of the basis by any linear ranker: of all rows, and of those outside each fold."""
    rows = basis_rows(plan.basis, block(cells, slice(None)))
    if not rows.shape[1]:
        return np.zeros(0), [np.zeros(0) for _ in plan.folds]

    def learnt(index: Any) -> np.ndarray:
        more = {} if weight is None else {"sample_weight": weight[index]}
        return clone(ranker).fit(rows[index], is_pos[index], **more).coef_[0]

    fold = plan.fold
    others = [] if fold is None else [learnt(np.flatnonzero((fold >= 0) & (fold != k))) for k in range(len(plan.folds))]
    return learnt(np.arange(len(is_pos))), others


def _fold_card(plan: Plan, fold: Fold, w: np.ndarray, monotone: Mapping[int, int]) -> Card:
    w = purified(plan.features, plan.basis, w, fold.mean, monotone)
    return make_card(plan.features, plan.basis, w, Moments(1.0, fold.mean, np.zeros(())))


def _weights(plan: Plan, S: np.ndarray, delta: np.ndarray, monotone: Mapping[int, int], ranker: Any) -> np.ndarray:
    """The minimiser of the square loss: in closed form, with l1, or monotone."""
    plain = not isinstance(ranker, LeastSquaresAUC) or (ranker.l1 == 0.0 and not ranker.positive)
    if not monotone and plain:
        return minimiser(S, delta, plan.terms, plan.penalty)
    H = 2.0 * (penalised(S, delta, plan.terms, plan.penalty) + np.multiply.outer(delta, delta))
    if not monotone:
        return _sparse_weights(H, 2.0 * delta, ranker)
    return solve_monotone(H, 2.0 * delta, rising_columns(plan.features, plan.basis, monotone))


def _sparse_weights(H: np.ndarray, b: np.ndarray, ranker: LeastSquaresAUC) -> np.ndarray:
    """The minimiser with l1 or with weights that may not be negative, to the ranker's tolerance."""
    iterates = coordinate_descent(H, b, float(ranker.l1), bool(ranker.positive))
    found = run(iterates, np.zeros_like(b), ranker.tol, at_most(ranker.max_iter))
    if not found.converged:
        warnings.warn(
            f"Scorecard stopped after {ranker.max_iter} rounds before reaching tol={ranker.tol}. Raise max_iter, alpha "
            "or tol of its LeastSquaresAUC.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found.w


def _held_out(cards: Sequence[Card], plan: Plan) -> np.ndarray | None:
    """The score of each row that is held out; None where there are too few rows to hold some out."""
    if plan.held is None:
        return None
    scores = np.zeros(len(plan.held.is_pos))
    for k, other in enumerate(cards):
        rows = plan.held.rows(k)
        scores[rows] = card_scores(other, plan.held.cells[rows])
    return scores
