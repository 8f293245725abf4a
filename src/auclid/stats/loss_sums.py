"""Sums over all pairs of any function of the margin: by the double loop, or in O(n) where the function is smooth.

A smooth function is a polynomial, to rounding, of both scores wherever each keeps to a cell of the line. So scores
are spread onto a few nodes a cell (Chebyshev interpolation), nodes meet nodes, and the result is read off again.
Far cells meet where the function is a straight line. Nothing is approximate beyond rounding: 16 nodes a cell.
"""

from typing import Any, NamedTuple

import numpy as np

from auclid._generic import generic, kernel
from auclid.losses import Loss, curvature, slope, smooth, value
from auclid.stats.pair_sums import Pairs

NODES = 16
"""Nodes a cell: with a third of the strip for the width of a cell, interpolation is exact to some 1e-15."""


class Value(NamedTuple):
    """m -> l(m)"""

    loss: Any


class Slope(NamedTuple):
    """m -> l'(m)"""

    loss: Any


class Curvature(NamedTuple):
    """m -> l''(m)"""

    loss: Any


@generic
def apply(function, m):
    """function(m)"""


@apply.implement(Value)
def _(function, m):
    return value(function.loss, m)


@apply.implement(Slope)
def _(function, m):
    return slope(function.loss, m)


@apply.implement(Curvature)
def _(function, m):
    return curvature(function.loss, m)


class PairSums(NamedTuple):
    """For each positive i, sum_j b_j f(s_i - s_j); for each negative j, sum_i a_i f(s_i - s_j): a column a weight."""

    pos: np.ndarray
    neg: np.ndarray


class Scores(NamedTuple):
    """The scores of both classes."""

    pos: np.ndarray
    neg: np.ndarray


def pair_sums(function: Any, scores: Scores, a: np.ndarray, b: np.ndarray) -> PairSums:
    """The sums of a function over all pairs, in the cheaper of two ways; ``a`` and ``b`` have a column a weight."""
    if type(function.loss) in smooth.registry:
        cells = Cells.over(scores, *smooth(function.loss))
        if cells.cost(a.shape[1]) + 100 * (len(a) + len(b)) < len(a) * len(b):
            return _by_cells(function, scores, a, b, cells)
    return PairSums(*_double_loop(function, scores.pos, scores.neg, a, b))


@kernel
def _double_loop(function, pos, neg, a, b):
    of_pos, of_neg = np.zeros((pos.shape[0], b.shape[1])), np.zeros((neg.shape[0], a.shape[1]))
    for i in range(pos.shape[0]):
        for j in range(neg.shape[0]):
            f = apply(function, pos[i] - neg[j])
            for r in range(b.shape[1]):
                of_pos[i, r] += f * b[j, r]
            for r in range(a.shape[1]):
                of_neg[j, r] += f * a[i, r]
    return of_pos, of_neg


class Cells(NamedTuple):
    """Equal cells of the line from ``low`` on; cells more than ``near`` apart meet where a function is straight."""

    low: float
    width: float
    number: int
    near: int
    reach: float

    @classmethod
    def over(cls, scores: Scores, strip: float, reach: float) -> "Cells":
        """Cells over all scores."""
        low, high = min(x.min() for x in scores), max(x.max() for x in scores)
        width = strip / 3.0
        count = int(min((high - low) / width, 1e9)) + 1
        return cls(float(low), width, count, min(count - 1, int(np.ceil(reach / width)) + 1), reach)

    def cost(self, columns: int) -> float:
        """Of meetings of nodes, in units of one pair of the double loop."""
        return 0.1 * self.number * (2.0 * self.near + 1.0) * NODES * NODES * columns


def _by_cells(function: Any, scores: Scores, a: np.ndarray, b: np.ndarray, cells: Cells) -> PairSums:
    k = np.arange(NODES)
    nodes, signs = np.cos((2 * k + 1) * np.pi / (2 * NODES)), (-1.0) ** k * np.sin((2 * k + 1) * np.pi / (2 * NODES))
    frame = (cells.low, cells.width, cells.number, nodes, signs)
    at_pos, at_neg = _spread(scores.pos, a, *frame), _spread(scores.neg, b, *frame)
    apart = (np.arange(-cells.near, cells.near + 1) * cells.width)[:, None, None]
    margins = apart + 0.5 * cells.width * (nodes[:, None] - nodes)
    table = each(function, margins.ravel()).reshape(margins.shape)
    turned = np.ascontiguousarray(table[::-1].transpose(0, 2, 1))
    ends = np.array([-cells.reach, -cells.reach - 1.0, cells.reach, cells.reach + 1.0])
    low, lower, high, higher = each(function, ends)
    middle = cells.low + cells.width * (np.arange(cells.number)[:, None] + 0.5 * (1.0 + nodes))
    below = Line(low, low - lower, -cells.reach)  # m < -reach
    above = Line(high, higher - high, cells.reach)
    of_pos = _meet(table, at_neg) + _far(at_neg, middle, cells.near, below, above, 1.0)
    of_neg = _meet(turned, at_pos) + _far(at_pos, middle, cells.near, above.turned(), below.turned(), -1.0)
    return PairSums(_read(scores.pos, of_pos, *frame), _read(scores.neg, of_neg, *frame))


class Line(NamedTuple):
    """m -> value + slope (m - at)"""

    value: float
    slope: float
    at: float

    def turned(self) -> "Line":
        """-m -> the same."""
        return Line(self.value, -self.slope, -self.at)


@kernel
def each(function, margins):
    """The function of each of some margins."""
    out = np.empty(margins.shape[0])
    for k in range(margins.shape[0]):
        out[k] = apply(function, margins[k])
    return out


@kernel
def _basis(x, low, width, count, nodes, signs, out):
    """Which cell holds x, and the value at x of each node's Lagrange polynomial (barycentric formula)."""
    c = min(int((x - low) / width), count - 1)
    t, total = 2.0 * ((x - low) / width - c) - 1.0, 0.0
    for k in range(nodes.shape[0]):
        if t == nodes[k]:
            out[:] = 0.0
            out[k] = 1.0
            return c
        out[k] = signs[k] / (t - nodes[k])
        total += out[k]
    for k in range(nodes.shape[0]):
        out[k] /= total
    return c


@kernel
def _spread(x, weights, low, width, count, nodes, signs):
    """Weights of scores as weights of nodes that do the same to polynomials."""
    out, basis = np.zeros((count, nodes.shape[0], weights.shape[1])), np.empty(nodes.shape[0])
    for i in range(x.shape[0]):
        c = _basis(x[i], low, width, count, nodes, signs, basis)
        for k in range(nodes.shape[0]):
            for r in range(weights.shape[1]):
                out[c, k, r] += basis[k] * weights[i, r]
    return out


@kernel
def _read(x, values, low, width, count, nodes, signs):
    """Values at scores from those at nodes."""
    out, basis = np.zeros((x.shape[0], values.shape[2])), np.empty(nodes.shape[0])
    for i in range(x.shape[0]):
        c = _basis(x[i], low, width, count, nodes, signs, basis)
        for k in range(nodes.shape[0]):
            for r in range(values.shape[2]):
                out[i, r] += basis[k] * values[c, k, r]
    return out


@kernel
def _meet(table, weights):
    """For each node: the sum over the nodes of near cells of a table by distance times their weights."""
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


def _far(weights: np.ndarray, middle: np.ndarray, near: int, below: Line, above: Line, sign: float) -> np.ndarray:
    """For each node x: the sum over nodes y of cells farther than ``near`` of a line of sign (x - y)."""
    if weights.shape[0] <= near + 1:
        return np.zeros_like(weights)
    mass, moment = weights.sum(axis=1), (weights * middle[:, :, None]).sum(axis=1)
    out = np.zeros_like(weights)
    for line, first in ((above, True), (below, False)):
        sums, moments = (_beyond(x, near, first)[:, None, :] for x in (mass, moment))
        out += (line.value - line.slope * line.at) * sums + line.slope * (middle[:, :, None] * sums - moments)
    return out


def _beyond(sums: np.ndarray, near: int, first: bool) -> np.ndarray:
    """For each cell: the sum over the cells more than ``near`` before it, or after it."""
    out = np.zeros_like(sums)
    if first:
        out[near + 1 :] = sums[: -near - 1].cumsum(axis=0)
    else:
        out[: -near - 1] = sums[:near:-1].cumsum(axis=0)[::-1]
    return out


class LossSums:
    """Value, slopes and curvature of the mean of a loss over all pairs, at the scores of all rows."""

    def __init__(self, loss: Loss, pairs: Pairs, score: np.ndarray) -> None:
        self.loss, self.pairs = loss, pairs
        turned = pairs.sign < 0.0
        self.rows = (pairs.many, pairs.few) if turned else (pairs.few, pairs.many)
        self.own = (pairs.many_mass, pairs.few_mass) if turned else (pairs.few_mass, pairs.many_mass)
        centre = np.rint(score.mean())
        self.scores = Scores(*(score[rows] - centre for rows in self.rows))

    def _sums(self, function: Any, u: np.ndarray | None = None) -> PairSums:
        weights = [own[:, None] for own in self.own]
        if u is not None:
            weights = [np.column_stack([own, own * u[rows]]) for own, rows in zip(self.own, self.rows, strict=True)]
        return pair_sums(function, self.scores, *weights)

    def value(self) -> float:
        """The mean loss."""
        return float(self.own[0] @ self._sums(Value(self.loss)).pos[:, 0]) / self.pairs.total

    def slope(self) -> np.ndarray:
        """Its derivatives by the scores."""
        sums = self._sums(Slope(self.loss))
        return self._placed(sums.pos[:, 0], -sums.neg[:, 0])

    def product(self, u: np.ndarray) -> np.ndarray:
        """Its second derivatives by the scores, times u."""
        u = u - u.mean()
        sums = self._sums(Curvature(self.loss), u)
        pos, neg = (u[rows] * x[:, 0] - x[:, 1] for rows, x in zip(self.rows, sums, strict=True))
        return self._placed(pos, neg)

    def _placed(self, pos: np.ndarray, neg: np.ndarray) -> np.ndarray:
        out = np.zeros(self.pairs.n)
        for rows, own, values in zip(self.rows, self.own, (pos, neg), strict=True):
            out[rows] = own * values / self.pairs.total
        return out
