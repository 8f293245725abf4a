"""Sums over all pairs of a function of the margin: by a double loop, or in O(n) if the function is smooth.

A smooth function of a margin s_i - s_j is a polynomial in both scores, to rounding, as long as each score stays within
a cell of the real line. So weights of scores are moved to a few Chebyshev nodes per cell, sums are taken between nodes,
and the results are interpolated back to the scores, as in a fast multipole method. Between distant cells the function
is linear. With 16 nodes per cell the result is exact to rounding.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auclid._generic import generic, kernel
from auclid.losses import Loss, curvature, slope, smooth, value
from auclid.stats.pair_sums import Pairs

NODES_PER_CELL = 16
"""Interpolation nodes per cell: with cells a third as wide as the strip, interpolation is exact to about 1e-15."""


class LossValue(NamedTuple):
    """m -> l(m)"""

    loss: Any


class LossSlope(NamedTuple):
    """m -> l'(m)"""

    loss: Any


class LossCurvature(NamedTuple):
    """m -> l''(m)"""

    loss: Any


MarginFunction: TypeAlias = LossValue | LossSlope | LossCurvature


@generic
def evaluate_one(function: MarginFunction, m: float) -> float:
    """The function at the margin m."""


@evaluate_one.implement(LossValue)
def _(function: LossValue, m: float) -> float:
    return value(function.loss, m)


@evaluate_one.implement(LossSlope)
def _(function: LossSlope, m: float) -> float:
    return slope(function.loss, m)


@evaluate_one.implement(LossCurvature)
def _(function: LossCurvature, m: float) -> float:
    return curvature(function.loss, m)


class PairSums(NamedTuple):
    """sum_j b_j f(s_i - s_j) of each positive i and sum_i a_i f(s_i - s_j) of each negative j, a column per weight."""

    pos: np.ndarray
    neg: np.ndarray


class ClassScores(NamedTuple):
    """The scores of both classes."""

    pos: np.ndarray
    neg: np.ndarray


def pair_sums(function: MarginFunction, scores: ClassScores, a: np.ndarray, b: np.ndarray) -> PairSums:
    """The sums of a function over all pairs, by the cheaper algorithm; ``a`` and ``b`` have a column per weight."""
    if type(function.loss) in smooth.registry:
        grid = CellGrid.over(scores, *smooth(function.loss))
        if grid.cost(a.shape[1]) + 100 * (len(a) + len(b)) < len(a) * len(b):
            return _sums_by_cells(function, scores, a, b, grid)
    return PairSums(*_double_loop(function, scores.pos, scores.neg, a, b))


@kernel
def _double_loop(
    function: MarginFunction, pos: np.ndarray, neg: np.ndarray, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    of_pos, of_neg = np.zeros((pos.shape[0], b.shape[1])), np.zeros((neg.shape[0], a.shape[1]))
    for i in range(pos.shape[0]):
        for j in range(neg.shape[0]):
            f = evaluate_one(function, pos[i] - neg[j])
            for r in range(b.shape[1]):
                of_pos[i, r] += f * b[j, r]
            for r in range(a.shape[1]):
                of_neg[j, r] += f * a[i, r]
    return of_pos, of_neg


class CellGrid(NamedTuple):
    """Equal cells of the real line from ``low`` on; the function is linear between cells more than ``near`` apart."""

    low: float
    width: float
    n_cells: int
    near: int
    reach: float

    @classmethod
    def over(cls, scores: ClassScores, strip: float, reach: float) -> "CellGrid":
        """The grid that covers all scores."""
        low, high = min(x.min() for x in scores), max(x.max() for x in scores)
        width = strip / 3.0
        n_cells = int(min((high - low) / width, 1e9)) + 1
        return cls(float(low), width, n_cells, min(n_cells - 1, int(np.ceil(reach / width)) + 1), reach)

    def cost(self, n_weights: int) -> float:
        """The cost of the sums between nodes, in units of one pair of the double loop."""
        return 0.1 * self.n_cells * (2.0 * self.near + 1.0) * NODES_PER_CELL * NODES_PER_CELL * n_weights


class ChebyshevNodes(NamedTuple):
    """The cells and the Chebyshev nodes in each of them, with the weights of barycentric interpolation."""

    low: float
    width: float
    n_cells: int
    nodes: np.ndarray  # in [-1, 1]
    weights: np.ndarray


def _sums_by_cells(
    function: MarginFunction, scores: ClassScores, a: np.ndarray, b: np.ndarray, grid: CellGrid
) -> PairSums:
    k = np.arange(NODES_PER_CELL)
    angle = (2 * k + 1) * np.pi / (2 * NODES_PER_CELL)
    nodes = np.cos(angle)
    frame = ChebyshevNodes(grid.low, grid.width, grid.n_cells, nodes, (-1.0) ** k * np.sin(angle))
    at_pos, at_neg = _weights_at_nodes(scores.pos, a, frame), _weights_at_nodes(scores.neg, b, frame)
    offset = (np.arange(-grid.near, grid.near + 1) * grid.width)[:, None, None]
    margins = offset + 0.5 * grid.width * (nodes[:, None] - nodes)
    table = evaluate(function, margins.ravel()).reshape(margins.shape)
    transposed = np.ascontiguousarray(table[::-1].transpose(0, 2, 1))
    ends = np.array([-grid.reach, -grid.reach - 1.0, grid.reach, grid.reach + 1.0])
    low, lower, high, higher = evaluate(function, ends)
    position = grid.low + grid.width * (np.arange(grid.n_cells)[:, None] + 0.5 * (1.0 + nodes))
    below = Line(low, low - lower, -grid.reach)  # m < -reach
    above = Line(high, higher - high, grid.reach)  # m > reach
    of_pos = _near_sums(table, at_neg) + _far_sums(at_neg, position, grid.near, below, above)
    of_neg = _near_sums(transposed, at_pos)
    of_neg += _far_sums(at_pos, position, grid.near, above.reflected(), below.reflected())
    return PairSums(_interpolate(scores.pos, of_pos, frame), _interpolate(scores.neg, of_neg, frame))


class Line(NamedTuple):
    """m -> value + slope (m - at)"""

    value: float
    slope: float
    at: float

    def reflected(self) -> "Line":
        """The line as a function of -m."""
        return Line(self.value, -self.slope, -self.at)


@kernel
def evaluate(function: MarginFunction, margins: np.ndarray) -> np.ndarray:
    """The function at each of some margins."""
    out = np.empty(margins.shape[0])
    for k in range(margins.shape[0]):
        out[k] = evaluate_one(function, margins[k])
    return out


@kernel(inner=True)
def _lagrange_basis(x: float, frame: ChebyshevNodes, out: np.ndarray) -> int:
    """The cell of x; writes the value at x of each node's Lagrange polynomial (barycentric formula)."""
    nodes, weights = frame.nodes, frame.weights
    c = min(int((x - frame.low) / frame.width), frame.n_cells - 1)
    t, total = 2.0 * ((x - frame.low) / frame.width - c) - 1.0, 0.0
    for k in range(nodes.shape[0]):
        if t == nodes[k]:
            out[:] = 0.0
            out[k] = 1.0
            return c
        out[k] = weights[k] / (t - nodes[k])
        total += out[k]
    for k in range(nodes.shape[0]):
        out[k] /= total
    return c


@kernel
def _weights_at_nodes(x: np.ndarray, weights: np.ndarray, frame: ChebyshevNodes) -> np.ndarray:
    """Weights of nodes that give the same sums of polynomials as the weights of scores do."""
    size = frame.nodes.shape[0]
    out, basis = np.zeros((frame.n_cells, size, weights.shape[1])), np.empty(size)
    for i in range(x.shape[0]):
        c = _lagrange_basis(x[i], frame, basis)
        for k in range(size):
            for r in range(weights.shape[1]):
                out[c, k, r] += basis[k] * weights[i, r]
    return out


@kernel
def _interpolate(x: np.ndarray, values: np.ndarray, frame: ChebyshevNodes) -> np.ndarray:
    """Values at scores from values at nodes."""
    size = frame.nodes.shape[0]
    out, basis = np.zeros((x.shape[0], values.shape[2])), np.empty(size)
    for i in range(x.shape[0]):
        c = _lagrange_basis(x[i], frame, basis)
        for k in range(size):
            for r in range(values.shape[2]):
                out[i, r] += basis[k] * values[c, k, r]
    return out


@kernel
def _near_sums(table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """For each node, the weighted sum over the nodes of near cells of the function's values, tabulated by distance."""
    count, size, columns = weights.shape
    near = table.shape[0] // 2
    out = np.zeros(weights.shape)
    for c in range(count):
        for other in range(max(0, c - near), min(count, c + near + 1)):
            f = table[c - other + near]
            for k in range(size):
                for q in range(size):
                    for r in range(columns):
                        out[c, k, r] += f[k, q] * weights[other, q, r]
    return out


def _far_sums(weights: np.ndarray, position: np.ndarray, near: int, below: Line, above: Line) -> np.ndarray:
    """For each node, the weighted sum over the nodes of far cells: a line of the difference of positions."""
    if weights.shape[0] <= near + 1:
        return np.zeros_like(weights)
    mass, moment = weights.sum(axis=1), (weights * position[:, :, None]).sum(axis=1)
    out = np.zeros_like(weights)
    for line, before in ((above, True), (below, False)):
        sums, moments = (_far_cell_sums(x, near, before)[:, None, :] for x in (mass, moment))
        out += (line.value - line.slope * line.at) * sums + line.slope * (position[:, :, None] * sums - moments)
    return out


def _far_cell_sums(sums: np.ndarray, near: int, before: bool) -> np.ndarray:
    """For each cell, the sum over the cells more than ``near`` before it, or after it."""
    out = np.zeros_like(sums)
    if before:
        out[near + 1 :] = sums[: -near - 1].cumsum(axis=0)
    else:
        out[: -near - 1] = sums[:near:-1].cumsum(axis=0)[::-1]
    return out


class LossSums:
    """Value, slopes and curvature products of the mean of a loss over all pairs, at the scores of all rows."""

    def __init__(self, loss: Loss, pairs: Pairs, score: np.ndarray) -> None:
        self.loss, self.pairs = loss, pairs
        pos_is_many = pairs.sign < 0.0
        self.rows = (pairs.many, pairs.few) if pos_is_many else (pairs.few, pairs.many)
        self.mass = (pairs.many_mass, pairs.few_mass) if pos_is_many else (pairs.few_mass, pairs.many_mass)
        centre = np.rint(score.mean())
        self.scores = ClassScores(*(score[rows] - centre for rows in self.rows))

    def _sums(self, function: MarginFunction, u: np.ndarray | None = None) -> PairSums:
        weights = [mass[:, None] for mass in self.mass]
        if u is not None:
            weights = [np.column_stack([mass, mass * u[rows]]) for mass, rows in zip(self.mass, self.rows, strict=True)]
        return pair_sums(function, self.scores, *weights)

    def value(self) -> float:
        """The mean loss."""
        return float(self.mass[0] @ self._sums(LossValue(self.loss)).pos[:, 0]) / self.pairs.total

    def slope(self) -> np.ndarray:
        """The derivatives of the mean loss by the scores."""
        sums = self._sums(LossSlope(self.loss))
        return self._at_rows(sums.pos[:, 0], -sums.neg[:, 0])

    def product(self, u: np.ndarray) -> np.ndarray:
        """The second derivatives of the mean loss by the scores, times u."""
        u = u - u.mean()
        sums = self._sums(LossCurvature(self.loss), u)
        pos, neg = (u[rows] * x[:, 0] - x[:, 1] for rows, x in zip(self.rows, sums, strict=True))
        return self._at_rows(pos, neg)

    def _at_rows(self, pos: np.ndarray, neg: np.ndarray) -> np.ndarray:
        out = np.zeros(self.pairs.n)
        for rows, mass, values in zip(self.rows, self.mass, (pos, neg), strict=True):
            out[rows] = mass * values / self.pairs.total
        return out
