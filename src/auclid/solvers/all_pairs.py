"""The objectives of RankSVM over all pairs: the mean of a loss plus alpha/2 |w|^2.

A *space* turns weights into scores and slopes of scores back into gradients: `LinearSpace` by products with a table,
`KernelSpace` by products with a kernel's matrix, `PartitionedSpace` (in `partitioned_pairs`) by passes over parts. An
objective, a `RegularizedPairLoss`, asks its space for points. `SquaredHinges` is a sum of squared hinges, since one
ranking of the scores serves them all; `SmoothHinge` approaches the hinge by such sums; `SmoothLoss` takes any smooth
convex loss.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import methodcaller
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import linalg

from auclid import _sizes
from auclid.data import Table, as_table
from auclid.losses import Loss
from auclid.solvers.newton import Move, Preconditioner
from auclid.stats.loss_sums import LossCurvature, LossSums, evaluate
from auclid.stats.pair_sums import ActivePairs, Pairs, Ranking

SUM_ROUNDING = 1e-15
"""Relative errors of means over pairs."""


ROUGH_SHARE = 1e-4
"""The share of the largest b'Kb that numbers as large as those of b can have, below which rough products lose it."""


class Gap(NamedTuple):
    """How far an objective may be above the optimum, and a lower bound of the optimum."""

    gap: float
    bound: float


ActiveHinges = list[tuple[float, ActivePairs]]
"""The factor of each of a loss's squared hinges, and the pairs that are active in it."""


class PairPoint:
    """Value, slopes and curvature of an objective of pairs at one w, whose scores may be known already."""

    objective: Any

    def __init__(self, objective: "SquaredHinges", w: np.ndarray, scores: np.ndarray | None = None) -> None:
        self.objective, self.w = objective, w
        self.scores = objective.space.scores(w) if scores is None else scores
        self.ranking: Ranking = objective.pairs.rank(self.scores)
        self.active: ActiveHinges = [(c, self.ranking.within(r)) for c, r in objective.hinges]

    @cached_property
    def square(self) -> float:
        """|w|^2"""
        return self.inner(Move(self.w, self.scores), self.w)

    @cached_property
    def value(self) -> float:
        """The objective."""
        values = zip(self.objective.hinges, self.squares, strict=True)
        return float(sum(c * value for (c, _), value in values)) + 0.5 * self.objective.alpha * self.square

    @cached_property
    def squares(self) -> Sequence[float]:
        """The mean of each squared hinge over all pairs."""
        return [active.square_value() for _, active in self.active]

    @cached_property
    def linear(self) -> Sequence[float]:
        """The mean over all pairs of each hinge that is not squared."""
        return [active.linear_value() for _, active in self.active]

    @cached_property
    def slope(self) -> np.ndarray:
        """The derivatives of the mean loss by the scores."""
        return self.total(methodcaller("square_slope"))

    @cached_property
    def gradient(self) -> np.ndarray:
        """The gradient of the objective by w."""
        return self.objective.space.gradient(self.slope) + self.objective.alpha * self.w

    @cached_property
    def norm(self) -> float:
        """The length of the gradient."""
        return self.objective.space.norm(self.gradient)

    def move(self, w: np.ndarray) -> Move:
        """A direction with its scores, which may be rough."""
        space = self.objective.space
        return Move(w, (space.rough_scores or space.scores)(w))

    def exact(self, move: Move) -> Move:
        """The direction with all digits of its scores."""
        space = self.objective.space
        return move if space.rough_scores is None else Move(move.w, space.scores(move.w))

    def inner(self, move: Move, v: np.ndarray) -> float:
        """The inner product of a direction and a gradient."""
        return self.objective.space.inner(move, v)

    def product(self, move: Move) -> np.ndarray:
        """The Hessian times a direction."""
        slopes = sum(c * active.square_product(move.scores) for c, active in self.active)
        return self.objective.space.gradient(slopes) + self.objective.alpha * move.w

    def slope_along(self, move: Move) -> float:
        """The derivative of the objective along a direction."""
        return self.slope @ move.scores + self.objective.alpha * self.inner(move, self.w)

    def preconditioner(self) -> Preconditioner:
        """v -> nearly H^-1 v."""
        return self.objective.space.preconditioner(self)

    def total(self, function: Callable[[ActivePairs], Any]) -> Any:
        """The sum over the loss's squared hinges of c times a function of the pairs that are active in it."""
        return sum(c * function(active) for c, active in self.active)

    # Of a smoothed hinge alone: the dual bounds how far the hinge itself is from its optimum

    @cached_property
    def hinge_value(self) -> float:
        """The objective with the hinge itself in place of its smooth neighbours."""
        return float(self.linear[0]) + 0.5 * self.objective.alpha * self.square

    @cached_property
    def gap(self) -> Gap:
        """How far the hinge's objective may be above its optimum."""
        alpha, (outer, inner) = self.objective.alpha, self.linear
        dual = self.w - self.gradient / alpha
        slopes = (outer - inner) / self.objective.width
        bound = float(slopes - 0.5 * alpha * self.objective.space.norm(dual) ** 2)
        return Gap(max(self.hinge_value - bound, 0.0), bound)

    @property
    def touching_plane(self) -> tuple[float, np.ndarray]:
        """The mean hinge, and a slope of it by w: a plane below it."""
        outer = self.active[0][1]
        return float(self.linear[0]), self.objective.space.gradient(outer.linear_slope())

    @property
    def dual_plane(self) -> tuple[float, np.ndarray]:
        """The value here and the slope of the plane that the dual's point a_ij gives: mean a_ij (1 - w.z_ij)."""
        (outer, inner), slope = self.linear, self.gradient - self.objective.alpha * self.w
        return mean_slope(outer, inner, self.objective.width) + float(slope @ self.w), slope

    @property
    def certified(self) -> bool:
        """Whether the objective is within ``tol`` of the optimum. w = 0 ranks nothing, so it never is."""
        near = self.gap.gap <= self.objective.tol * self.gap.bound + 1e-12
        return near and (self.square > 0.0 or self.norm == 0.0)


class Space(ABC):
    """How weights make scores, and where the rows are: here in memory, as one table or one kernel matrix."""

    size: int
    """The number of weights."""

    point_class: type[PairPoint] = PairPoint
    """Of sums of squared hinges."""

    in_memory: ClassVar[bool] = True

    rough_scores: Callable[[np.ndarray], np.ndarray] | None = None
    """`scores` to few digits, where that is quicker."""

    @abstractmethod
    def scores(self, w: np.ndarray) -> np.ndarray:
        """What w gives to each row."""

    @abstractmethod
    def gradient(self, slope: np.ndarray) -> np.ndarray:
        """The gradient by w of something that has this slope by the scores."""

    @abstractmethod
    def inner(self, move: Move, v: np.ndarray) -> float:
        """The inner product of a direction and a gradient."""

    @abstractmethod
    def norm(self, v: np.ndarray) -> float:
        """The length of a gradient or of weights."""

    @abstractmethod
    def subset(self, chosen: np.ndarray) -> "Space | None":
        """The space of the same weights on some of the rows; None where weights belong to rows."""

    @abstractmethod
    def preconditioner(self, point: PairPoint) -> Preconditioner:
        """v -> nearly H^-1 v at a point."""

    def start_norm(self, objective: "RegularizedPairLoss") -> float:
        """The length of the gradient at w = 0, where all pairs are active."""
        return objective.at(np.zeros(self.size), np.zeros(objective.pairs.n)).norm

    def sample(self, objective: Any) -> Any:
        """The objective on a sixteenth of each class or more, to a tolerance that their noise allows; None: on all."""
        pairs = objective.pairs
        chosen = pairs.sample(max(_sizes.MIN_GUIDE_ROWS, 10 * self.size, pairs.n // 16))
        space = self.subset(chosen) if 2 * len(chosen) < pairs.n_weighed else None
        return None if space is None else replace(objective.subset(chosen, space), tol=max(objective.tol, 1e-2))


class LinearSpace(Space):
    """Scores X w of the rows of a table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.size = table.shape[1]

    def scores(self, w: np.ndarray) -> np.ndarray:
        """X w"""
        return self.table.matmul(w)

    def gradient(self, slope: np.ndarray) -> np.ndarray:
        """X' slope"""
        return self.table.rmatmul(slope)

    def inner(self, move: Move, v: np.ndarray) -> float:
        """move . v"""
        return move.w @ v

    def norm(self, v: np.ndarray) -> float:
        """|v|"""
        return float(np.linalg.norm(v))

    def subset(self, chosen: np.ndarray) -> "LinearSpace":
        """The space of the same weights on some of the rows."""
        return LinearSpace(as_table(self.table.take(chosen)))

    def preconditioner(self, point: "PairPoint") -> Preconditioner:
        """From the Hessian at a point or, of very many columns, from its diagonal."""
        return inverse_hessian(point) if self.size <= _sizes.MAX_HESSIAN_COLUMNS else inverse_diagonal(point)


class KernelSpace(Space):
    """Functions sum_k b_k k(x_k, .) with the inner product a'Kb: a slope of scores is its own gradient.

    Of K, only the upper triangle is read. A product takes as long as that takes to be read, so conjugate gradients,
    which need few digits, read a copy in float32 where that pays.
    """

    def __init__(self, K: np.ndarray) -> None:
        self.K = np.ascontiguousarray(K, dtype=np.float64)
        self.size = len(K)
        self._unit = float(np.abs(np.diag(self.K)).max(initial=0.0)) or 1.0
        rough = _sizes.MIN_ROUGH_BYTES <= 4 * self.K.size <= _sizes.MAX_ROUGH_BYTES
        self._rough = rough_upper(self.K, self._unit) if rough else None

    def scores(self, w: np.ndarray) -> np.ndarray:
        """K b"""
        if not w.any():
            return np.zeros(self.size)
        return linalg.blas.dsymv(1.0, self.K.T, w, lower=1)

    def rough_scores(self, w: np.ndarray) -> np.ndarray:
        """K b to six digits."""
        size = float(np.abs(w).max(initial=0.0))
        if self._rough is None or not size > 0.0:
            return self.scores(w)
        product = linalg.blas.ssymv(1.0, self._rough.T, (w / size).astype(np.float32), lower=1)
        return (self._unit * size) * product.astype(np.float64)

    def gradient(self, slope: np.ndarray) -> np.ndarray:
        """The slope itself."""
        return slope

    def inner(self, move: Move, v: np.ndarray) -> float:
        """a'Kb"""
        return move.scores @ v

    def norm(self, v: np.ndarray) -> float:
        """The square root of b'Kb, to three digits."""
        square = float(v @ self.rough_scores(v))
        if self._rough is not None and square < ROUGH_SHARE * self._unit * float(np.abs(v).sum()) ** 2:
            square = float(v @ self.scores(v))
        if square < 0.0 and square < -1e-8 * float(np.abs(v) @ KernelSpace(np.abs(self.K)).scores(np.abs(v))):
            raise ValueError(
                "The kernel must be positive semidefinite; got one by which a function has a negative squared "
                "length. Use another kernel, for instance 'rbf'."
            )
        return float(np.sqrt(max(square, 0.0)))

    def subset(self, chosen: np.ndarray) -> None:
        """Each weight belongs to a row, so weights of some rows say nothing of the others."""

    def preconditioner(self, point: "PairPoint") -> Preconditioner:
        """Nothing: conjugate gradients know the kernel already by the inner product."""
        return lambda v: v


def rough_upper(K: np.ndarray, unit: float, size: int = 256) -> np.ndarray:
    """The upper triangle of K / unit in float32."""
    rough = np.zeros(K.shape, np.float32)
    for start in range(0, len(K), size):
        part = slice(start, start + size)
        rough[part, start:] = K[part, start:] * (1.0 / unit)
    return rough


@dataclass(frozen=True, eq=False)
class RegularizedPairLoss(ABC):
    """mean over pairs of a loss, plus alpha/2 |w|^2; solved where the gradient is ``tol`` times as long as at w = 0."""

    space: Any
    """A `Space`."""
    pairs: Pairs
    alpha: float
    tol: float
    kinked: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.space.size

    @abstractmethod
    def at(self, w: np.ndarray, scores: np.ndarray | None = None) -> PairPoint:
        """The objective seen from w."""

    @cached_property
    def start_norm(self) -> float:
        """The length of the gradient at w = 0, where all pairs are active."""
        return self.space.start_norm(self)

    def target(self, point: PairPoint) -> float:
        """How short the gradient must become."""
        return self.tol * self.start_norm

    def reached(self, point: PairPoint) -> bool:
        """Whether the gradient is short enough."""
        return point.norm <= self.target(point)

    def refined(self, point: PairPoint) -> "RegularizedPairLoss | None":
        """The objective to go on with from where this one is solved; None where there is none."""
        return None

    def subset(self, chosen: np.ndarray, space: Space | None = None) -> Self:
        """The objective on some of the rows."""
        return replace(self, space=space or self.space.subset(chosen), pairs=self.pairs.subset(chosen))

    def sample(self) -> Self | None:
        """The objective on a sample of the rows, to a tolerance that its noise allows."""
        return self.space.sample(self)

    def resumed(self, sample: Self) -> Self:
        """All is left to do once a sample is solved."""
        return self

    def begin(self, solved: Any) -> tuple[Any, Preconditioner | None]:
        """Where a sample ends, with its preconditioner."""
        return self.at(solved.w), solved.preconditioner()

    def published_value(self, point: PairPoint) -> float:
        """The objective that the user asked for."""
        return float(point.value)

    def published_weights(self, point: PairPoint) -> np.ndarray:
        """The weights for the user."""
        return point.w

    def relative_gap(self, point: PairPoint) -> float:
        """How far, at most, the objective is above the optimum, as a share of the objective; 1 where nothing is known.

        The objective is strongly convex with modulus alpha, so |g|^2 / (2 alpha) is a bound.
        """
        return min(1.0, float(point.norm**2 / (2.0 * self.alpha)) / float(point.value))


@dataclass(frozen=True, eq=False)
class SquaredHinges(RegularizedPairLoss):
    """mean over pairs of sum_k c_k (r_k - m)_+^2, plus alpha/2 |w|^2; ``hinges`` are the (c_k, r_k)."""

    hinges: tuple[tuple[float, float], ...] = ((1.0, 1.0),)

    def at(self, w: np.ndarray, scores: np.ndarray | None = None) -> PairPoint:
        """The objective seen from w."""
        return self.space.point_class(self, w, scores)


def inverse_hessian(point: PairPoint) -> Preconditioner:
    """v -> H^-1 v, by the Cholesky factor of the Hessian of a sample of the rows, its columns scaled.

    Rare columns can be missing from the sample: what all rows have more on the diagonal is put there.
    """
    pairs, d = point.objective.pairs, point.objective.size
    chosen = pairs.sample(max(1000, 5 * d, min(pairs.n // 16, _sizes.LARGE_BYTES // (8 * d))))
    some = point.objective.subset(chosen).at(point.w, point.scores[chosen])
    H = hessian(some)
    if len(chosen) < pairs.n_weighed:
        H[np.diag_indices_from(H)] += np.maximum(diagonal(point) - diagonal(some), 0.0)
    return inverse_of(H)


def inverse_of(H: np.ndarray) -> Preconditioner:
    """v -> H^-1 v by a Cholesky factor; changes H. By the diagonal, where H is singular beyond repair."""
    scale = 1.0 / np.sqrt(np.diag(H))
    H *= scale
    H *= scale[:, None]
    for ridge in (1e-13, 1e-10, 1e-7):
        try:
            H[np.diag_indices_from(H)] += ridge
            factor = linalg.cho_factor(H, check_finite=False)
            return lambda v: scale * linalg.cho_solve(factor, scale * v, check_finite=False)
        except linalg.LinAlgError:
            continue
    return lambda v: scale * scale * v


def hessian(point: PairPoint) -> np.ndarray:
    """The d x d Hessian, by BLAS in blocks.

    Each row x_j of the larger class meets the sum of the first below(j) sorted rows of the smaller one. Rows
    are centred: that changes nothing but rounding.
    """
    ranking, (_, first), table = point.ranking, point.active[0], point.objective.space.table
    centre, d, own = table.centre(), table.shape[1], ranking.few.own
    rows = table.dense(ranking.rows) - centre
    H = rows.T @ (rows * (own * point.total(methodcaller("partners")))[:, None])
    rows *= own[:, None]
    sums = np.zeros((len(rows) + 1, d))
    np.cumsum(rows, axis=0, out=sums[1:])
    met = np.zeros((d, d))
    for start in range(0, len(first.rows), 4096):
        part = slice(start, start + 4096)
        block, mass = table.dense(first.rows[part]) - centre, first.block.own[part, None]
        H += block.T @ (block * (mass * sum(c * active.block.mass[part, None] for c, active in point.active)))
        met += block.T @ (mass * sum(c * sums[active.block.below[part]] for c, active in point.active))
    H -= met + met.T
    H *= 2.0 / first.total
    H[np.diag_indices_from(H)] += point.objective.alpha
    return H


def inverse_diagonal(point: PairPoint) -> Preconditioner:
    """v -> D^-1/2 v, D being the `diagonal`: D^-1 itself makes too much of words that few rows hold."""
    root = np.sqrt(diagonal(point))
    return lambda v: v / root


def diagonal(point: PairPoint) -> np.ndarray:
    """The Hessian's diagonal as if the two rows of a pair had nothing to do with each other."""
    table, centre = point.objective.space.table, point.objective.space.table.centre()
    share = point.total(methodcaller("share"))
    squares = table.rmatmul_squares(share) - 2.0 * centre * table.rmatmul(share) + centre**2 * share.sum()
    return 2.0 * np.maximum(squares, 0.0) + point.objective.alpha


def smooth_hinge(width: float) -> tuple[tuple[float, float], ...]:
    """The hinge with a parabola of a width in place of its kink, as a difference of squared hinges."""
    return (0.5 / width, 1.0), (-0.5 / width, 1.0 - width)


def mean_slope(outer: float, inner: float, width: float) -> float:
    """The mean slope of a smoothed hinge, less what rounding may have added to the difference of two means."""
    return (outer - inner - SUM_ROUNDING * outer) / width


def narrower(width: float, tol: float, gap: Gap) -> float:
    """The next width: the gap falls about as the width squared."""
    ratio = np.sqrt(0.5 * tol * max(gap.bound, 0.0) / gap.gap)
    return width * float(np.clip(ratio, 0.1, 0.5))


@dataclass(frozen=True, eq=False)
class SmoothHinge(SquaredHinges):
    """((1-m)_+^2 - (1-width-m)_+^2) / (2 width): the hinge, with a parabola in place of its kink.

    It lies below the hinge by width/2 at the most, and its slopes a_ij in [0, 1] are a point of the dual

        max over 0 <= a <= 1 of  mean a_ij - |mean a_ij z_ij|^2 / (2 alpha),

    so each w comes with a bound on how far its objective is above the optimum. The width falls until that is
    at most ``tol`` times the optimum.
    """

    hinges: tuple[tuple[float, float], ...] = smooth_hinge(1.0)
    width: float = 1.0

    def narrowed(self, width: float) -> Self:
        """The objective with a narrower parabola, nearer to the hinge."""
        return replace(self, width=width, hinges=smooth_hinge(width))

    def exact(self) -> Self:
        """The objective itself: it has no softness."""
        return self

    def target(self, point: Any) -> float:
        """The gradient's part of the gap, |g|^2 / (2 alpha), shall be small against the whole."""
        return float(np.sqrt(0.4 * self.alpha * point.gap.gap))

    def reached(self, point: Any) -> bool:
        """Whether the gap is small enough, or is mostly that between this loss and the hinge."""
        return point.certified or point.norm <= self.target(point)

    def refined(self, point: Any) -> Self | None:
        """A narrower parabola: the gap falls about as the width squared."""
        return None if point.certified else self.narrowed(narrower(self.width, self.tol, point.gap))

    def sample(self) -> Self | None:
        """The objective on a sample of the rows, to the same tolerance."""
        sample = super().sample()
        return None if sample is None else replace(sample, tol=self.tol)

    def resumed(self, sample: Self) -> Self:
        """Go on from a width near the one that was narrow enough for a sample."""
        return self.narrowed(min(1.0, 2.0 * sample.width))

    def published_value(self, point: Any) -> float:
        """The objective with the hinge itself."""
        return float(point.hinge_value)

    def relative_gap(self, point: Any) -> float:
        """How far, at most, the hinge's objective is above its optimum, as a share of the objective."""
        return min(1.0, point.gap.gap / point.hinge_value)


STAIR_STEPS = 8
"""Steps of the stair that stands for the curvature in the preconditioner."""

STAIR_SCORES = 256
"""Scores of each class whose margins say where the steps of that stair lie."""


class SmoothLossPoint(PairPoint):
    """Value, slopes and curvature of the mean of a loss over all pairs at one w."""

    def __init__(self, objective: "SmoothLoss", w: np.ndarray, scores: np.ndarray) -> None:
        self.objective, self.w, self.scores = objective, w, scores
        self.sums = objective.sums(scores)

    @cached_property
    def value(self) -> float:
        """The objective."""
        return self.sums.value() + 0.5 * self.objective.alpha * self.square

    @cached_property
    def slope(self) -> np.ndarray:
        """The derivatives of the mean loss by the scores."""
        return self.sums.slope()

    def product(self, move: Move) -> np.ndarray:
        """The Hessian times a direction."""
        slopes = self.sums.product(move.scores)
        return self.objective.space.gradient(slopes) + self.objective.alpha * move.w

    def preconditioner(self) -> Preconditioner:
        """That of a sum of squared hinges whose curvature is a stair beside the loss's own."""
        objective = self.objective
        stair = stair_of(objective.loss, *objective.stair_scores(self.sums))
        near = SquaredHinges(objective.space, objective.pairs, objective.alpha, objective.tol, stair)
        return objective.space.preconditioner(near.at(self.w, self.scores))


@dataclass(frozen=True, eq=False)
class SmoothLoss(RegularizedPairLoss):
    """mean over pairs of a smooth convex loss, plus alpha/2 |w|^2."""

    loss: Loss

    def at(self, w: np.ndarray, scores: np.ndarray | None = None) -> SmoothLossPoint:
        """The objective seen from w."""
        return SmoothLossPoint(self, w, self.space.scores(w) if scores is None else scores)

    def sums(self, scores: np.ndarray) -> Any:
        """The sums of the loss over all pairs, from which value, slope and product come."""
        return LossSums(self.loss, self.pairs, scores)

    def stair_scores(self, sums: Any) -> Sequence[np.ndarray]:
        """Some scores of each class, whose margins say where the loss is curved."""
        return [part[:: max(1, len(part) // STAIR_SCORES)] for part in sums.scores]


def stair_of(loss: Loss, pos: np.ndarray, neg: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Squared hinges with the curvature that the loss has in the middle of each eighth of the margins."""
    margins = np.unique(np.quantile(np.subtract.outer(pos, neg), np.linspace(0.0, 1.0, 2 * STAIR_STEPS + 1)))
    edges, middles = np.append(margins[2::2], margins[-1] + 1.0), np.append(margins[1::2], margins[-1])
    curvatures = np.maximum(evaluate(LossCurvature(loss), middles[: len(edges)]), 0.0)
    falls = 0.5 * -np.diff(np.append(curvatures, 0.0))
    return tuple((float(c), float(edge)) for c, edge in zip(falls, edges[: len(curvatures)], strict=True))
