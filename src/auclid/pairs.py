"""All pairs of a positive and a negative score at once, in O(n log n) time and O(n) memory.

`value`, `gradient` and `curvature_product` are for any learner that wants gradients of scores. Solvers use
`auclid.stats.pair_sums` directly: one ranking of the scores serves value, slopes and any number of products.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions, validate_params
from sklearn.utils.validation import check_consistent_length

from auclid import losses, validation
from auclid._generic import as_floats
from auclid.losses import Hinge, Loss, Square, as_loss, hinges
from auclid.solvers.partial_auc import checked_region, hard_top, rows_of
from auclid.stats.loss_sums import LossSums
from auclid.stats.pair_sums import ActivePairs, Pairs

FARTHEST = 1e140
"""Scores up to which sums of squared margins stay finite."""

_PARAMETERS: dict = {
    "loss": [StrOptions(set(losses.LOSSES)), tuple],
    "max_fpr": [validation.real(0.0, 1.0, closed="right")],
    "min_tpr": [validation.real(0.0, 1.0, closed="left")],
}


@validate_params(_PARAMETERS, prefer_skip_nested_validation=True)
def value(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    loss: str | Loss = "squared_hinge",
    sample_weight: ArrayLike | None = None,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
) -> float:
    """The mean of a pair loss over all n₊·n₋ pairs, or over those of the top.

    With the margin m = s_i − s_j of a positive i and a negative j, this is

        Σ w_i w_j l(m) / Σ w_i w_j,    l(m) = (1−m)₊², (1−m)₊, (1−m)², log(1 + e⁻ᵐ) or one of your own.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind; the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores.
    loss : {"squared_hinge", "hinge", "square", "logistic"} or struct, default="squared_hinge"
        A struct of your own has `auclid.losses.hinges` implemented, where it is a sum of squared hinges; else
        `auclid.losses.value`, ``slope`` for `gradient` and ``curvature`` for `curvature_product`, which then take
        O(n₊·n₋) time, or O(n) with `auclid.losses.smooth`.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a pair weighs the product of its two rows' weights.
    max_fpr : float in (0, 1], default=1
        Only the share ``max_fpr`` of the negatives with the highest scores counts; the row at the cut by its
        fraction, which ties share. For losses that do not rise with the margin.
    min_tpr : float in [0, 1), default=0
        Only the share 1 − ``min_tpr`` of the positives with the lowest scores counts.

    Returns
    -------
    float

    References
    ----------
    Chapelle & Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval 13, 2010.

    Examples
    --------
    >>> from auclid import pairs
    >>> pairs.value([0, 1, 1], [0.0, 2.0, 0.5], loss="hinge")
    0.25
    >>> pairs.value([0, 1, 1], [0.0, 2.0, 0.5], loss="hinge", min_tpr=0.5)
    0.5
    """
    return _sums("pairs.value", losses.value, y_true, y_score, loss, sample_weight, max_fpr, min_tpr).value()


@validate_params(_PARAMETERS, prefer_skip_nested_validation=True)
def gradient(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    loss: str | Loss = "squared_hinge",
    sample_weight: ArrayLike | None = None,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
) -> np.ndarray:
    """The derivatives of `value` by each score.

    The hinge has a kink at margin 1; a pair that lies on it pushes no score. So has the top where the row at the
    cut changes; rows that tie there share its fraction.

    Parameters
    ----------
    y_true, y_score, loss, sample_weight, max_fpr, min_tpr
        As in `value`.

    Returns
    -------
    array of shape (n,), float64

    Examples
    --------
    >>> from auclid import pairs
    >>> pairs.gradient([0, 1, 1], [0.0, 0.75, 0.5], loss="hinge")
    array([ 1. , -0.5, -0.5])
    """
    return _sums("pairs.gradient", losses.slope, y_true, y_score, loss, sample_weight, max_fpr, min_tpr).slope()


@validate_params(_PARAMETERS, prefer_skip_nested_validation=True)
def curvature_product(
    y_true: ArrayLike,
    y_score: ArrayLike,
    direction: ArrayLike,
    *,
    loss: str | Loss = "squared_hinge",
    sample_weight: ArrayLike | None = None,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
) -> np.ndarray:
    """The second derivatives of `value` by the scores, times a direction.

    With u the direction, that is Σ w_i w_j l''(m) (e_i − e_j)(u_i − u_j) / Σ w_i w_j. The squared hinge has l'' = 2
    where m < 1, the hinge has none. The rows of the top stay the same ones.

    Parameters
    ----------
    y_true, y_score, loss, sample_weight, max_fpr, min_tpr
        As in `value`.
    direction : array-like of shape (n,)

    Returns
    -------
    array of shape (n,), float64

    Examples
    --------
    >>> from auclid import pairs
    >>> pairs.curvature_product([0, 1], [0.0, 0.5], [0.0, 1.0])
    array([-2.,  2.])
    """
    owner, direction = "pairs.curvature_product", _numbers("direction", direction)
    check_consistent_length(y_true, y_score, direction)
    return _sums(owner, losses.curvature, y_true, y_score, loss, sample_weight, max_fpr, min_tpr).product(direction)


class _HingeSums(NamedTuple):
    """Sums over all pairs of the hinge, at one score vector."""

    active: ActivePairs

    def value(self) -> float:
        return self.active.linear_value()

    def slope(self) -> np.ndarray:
        return self.active.linear_slope()

    def product(self, u: np.ndarray) -> np.ndarray:
        return np.zeros(len(u))


class _SquareSums(NamedTuple):
    """Sums over all pairs of squared hinges, each times its factor."""

    parts: list[tuple[float, ActivePairs]]

    def value(self) -> float:
        return float(sum(c * active.square_value() for c, active in self.parts))

    def slope(self) -> Any:
        return sum(c * active.square_slope() for c, active in self.parts)

    def product(self, u: np.ndarray) -> Any:
        return sum(c * active.square_product(u) for c, active in self.parts)


def _sums(
    owner: str,
    need: Any,
    y_true: ArrayLike,
    y_score: ArrayLike,
    loss: str | Loss,
    sample_weight: ArrayLike | None,
    max_fpr: float,
    min_tpr: float,
) -> _HingeSums | _SquareSums | LossSums:
    """The sums of a loss over all pairs, of the checked arguments of a public function."""
    y, score = validation.labels(y_true), _numbers("y_score", y_score)
    check_consistent_length(y, score)
    weight = validation.weights(sample_weight, score)
    is_pos = y == validation.two_classes(owner, y)[1]
    validation.both_weighed(owner, is_pos, weight)
    if np.abs(score).max() > FARTHEST:
        raise ValueError(f"y_score of {owner} must lie within ±{FARTHEST:g}, so that margins have squares. Scale it.")
    loss = as_loss(loss)
    if max_fpr < 1.0 or min_tpr > 0.0:
        _not_rising(owner, loss, float(score[is_pos].max() - score[~is_pos].min()))
        weight = _top_weights(owner, max_fpr, min_tpr, is_pos, score, weight)
    pairs = Pairs(is_pos, weight)
    if not isinstance(loss, Hinge | Square) and type(loss) not in hinges.registry:
        return LossSums(validation.implements(owner, "loss", loss, [need]), pairs, score)
    ranking = pairs.rank(score)
    if isinstance(loss, Hinge):
        return _HingeSums(ranking.within(1.0))
    if isinstance(loss, Square):
        return _SquareSums([(1.0, ranking.active(1.0, np.full(len(ranking.many), len(ranking.few.score))))])
    return _SquareSums([(c, ranking.within(r)) for c, r in hinges(as_floats(loss))])


def _not_rising(owner: str, loss: Loss, margin: float) -> None:
    """Refuse a top of a loss that rises with the margin: its worst pairs are others."""
    if type(loss) in losses.slope.registry and losses.slope(as_floats(loss), max(margin, 2.0)) > 0.0:
        raise ValueError(
            f"The loss of {owner} must not rise with the margin where max_fpr or min_tpr cut; {type(loss).__name__} "
            "does. Use loss='squared_hinge'."
        )


def _top_weights(
    owner: str, max_fpr: float, min_tpr: float, is_pos: np.ndarray, score: np.ndarray, weight: np.ndarray | None
) -> np.ndarray:
    """Weights under which the top counts only."""
    region = checked_region(owner, max_fpr, min_tpr, rows_of(is_pos, weight), rows_of(~is_pos, weight))
    weight = np.ones(len(score)) if weight is None else weight.copy()
    for rows, sign, share in ((~is_pos, 1.0, region.max_fpr), (is_pos, -1.0, 1.0 - region.min_tpr)):
        own = weight[rows]
        weight[rows] = own * hard_top(sign * score[rows], own, share * float(own.sum()))
    return weight


def _numbers(name: str, values: ArrayLike) -> np.ndarray:
    return check_array(values, ensure_2d=False, dtype=np.float64, input_name=name).ravel()
