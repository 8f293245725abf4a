"""Sums of log(1 + exp(-m)) over all pairs, to rounding, in O(n): by expansion in cells, or directly where that is less.

No closed form gives these sums from sorted scores. But the loss is, to rounding, a polynomial of both scores wherever
each keeps to a cell of the line, and a straight line where they are far apart. So each cell keeps the sums of a few
Chebyshev polynomials of its scores, near cells meet by a table of coefficients, far cells by their weights and means,
and each score reads the polynomial of its cell. (For `auclid.pairs`, auclid.stats.loss_sums does this in NumPy.)
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import conv1d, logsigmoid

from auclid.torch._batch import ScoreBatch
from auclid.torch._hinges import RowwisePairSums, running

CELL_WIDTH = math.pi / 3.0
"""Of a cell: a third of the strip where the loss is analytic, so that each polynomial adds more than a digit."""

COST_OF_CELL, COST_OF_ROW, COST_OF_CALL = 500.0, 4.0, 30_000.0
"""Of the expansion, in units of one pair of the direct way."""

CHUNK = 1 << 21
"""Pairs, or coefficients of near cells, that are in memory at once."""


class Precision(NamedTuple):
    """How many polynomials a cell has, the margin beyond which the loss is a straight line, and what rounding loses."""

    terms: int
    reach: float
    tol: float

    @property
    def near(self) -> int:
        """Cells up to this distance meet by polynomials."""
        return math.ceil(self.reach / CELL_WIDTH) + 1


DOUBLE, SINGLE = Precision(16, 45.0, 2e-13), Precision(10, 22.0, 1e-7)
"""For float64 scores, and for those of fewer digits."""


def logistic_sums(batch: ScoreBatch, unit: float, precision: Precision) -> RowwisePairSums:
    """Sums of unit log(1 + exp(-m / unit)) over all pairs of a batch, in the cheaper way."""
    if unit != 1.0:
        return Scaled(logistic_sums(batch._replace(scores=batch.scores / unit), 1.0, precision), unit)
    low, high = (float(x) for x in torch.aminmax(batch.scores))
    n_cells = int(min((high - low) / CELL_WIDTH, 1e9)) + 1
    columns, n = batch.scores.shape
    pairs = float(((batch.pos > 0.0).sum(-1) * (batch.neg > 0.0).sum(-1)).sum())
    expansion = columns * (COST_OF_CELL * n_cells + COST_OF_ROW * n) + COST_OF_CALL
    if expansion < pairs and n_cells <= n:
        return CellSums(batch.scores, low, n_cells, precision)
    return DirectSums(batch)


class Scaled:
    """The sums of another object, at scores in its units, times the unit: slopes by the scores are the same."""

    def __init__(self, sums: RowwisePairSums, unit: float) -> None:
        self.sums, self.unit = sums, unit

    def value_and_slope(self, pos: Tensor, neg: Tensor) -> tuple[Tensor, Tensor]:
        """The sum of the loss and its slopes."""
        value, slope = self.sums.value_and_slope(pos, neg)
        return self.unit * value, slope

    def losses(self, others: Tensor, as_pos: bool) -> Tensor:
        """The sum of the loss for each row, as a positive or as a negative."""
        return self.unit * self.sums.losses(others, as_pos)


class DirectSums:
    """Every pair, in chunks that bound the memory."""

    def __init__(self, batch: ScoreBatch, chunk: int = CHUNK) -> None:
        self.batch, self.chunk = batch, chunk

    def value_and_slope(self, pos: Tensor, neg: Tensor) -> tuple[Tensor, Tensor]:
        """The sum of the loss and its slopes."""
        value, slope = torch.zeros_like(pos[:, 0]), torch.zeros_like(pos)
        for column, rows, others, margins in self._chunks():
            a, b = pos[column, rows], neg[column, others]
            value[column] -= a @ (logsigmoid(margins) @ b)
            steep = torch.sigmoid(-margins)
            slope[column, rows] -= a * (steep @ b)
            slope[column, others] += b * (a @ steep)
        return value, slope

    def losses(self, others: Tensor, as_pos: bool) -> Tensor:
        """The sum of the loss for each row, as a positive or as a negative."""
        sums = torch.zeros_like(others)
        for column, pos, neg, margins in self._chunks():
            if as_pos:
                sums[column, pos] -= logsigmoid(margins) @ others[column, neg]
            else:
                sums[column, neg] -= others[column, pos] @ logsigmoid(margins)
        return sums

    def _chunks(self) -> Iterator[tuple[int, Tensor, Tensor, Tensor]]:
        """(column, some positives, all negatives, their margins)"""
        for column, scores in enumerate(self.batch.scores):
            pos, neg = (weights[column].nonzero().squeeze(1) for weights in (self.batch.pos, self.batch.neg))
            if len(pos) and len(neg):
                for rows in pos.split(max(1, self.chunk // len(neg))):
                    yield column, rows, neg, scores[rows, None] - scores[neg]


class CellSums:
    """Equal cells of the line from ``low`` on, and Chebyshev polynomials of where scores are in theirs."""

    def __init__(self, scores: Tensor, low: float, n_cells: int, precision: Precision, chunk: int = CHUNK) -> None:
        self.n_cells, self.precision, self.chunk = n_cells, precision, chunk
        place = (scores - low) / CELL_WIDTH
        cell = place.floor().clamp_(max=n_cells - 1)
        self.basis = chebyshev(2.0 * (place - cell) - 1.0, precision.terms)
        offset = torch.arange(len(scores), device=scores.device)[:, None] * n_cells
        self.cell = (cell.long() + offset).reshape(-1)
        self.middle = (torch.arange(n_cells, device=scores.device, dtype=scores.dtype) + 0.5) * CELL_WIDTH

    def value_and_slope(self, pos: Tensor, neg: Tensor) -> tuple[Tensor, Tensor]:
        """The sum of the loss and its slopes."""
        of_pos, of_neg = self._expand(pos), self._expand(neg)
        value = (of_pos * self._meet("loss", of_neg, as_pos=True)).sum((-2, -1))
        slope = pos * self._read(self._meet("slope", of_neg, as_pos=True))
        return value, slope - neg * self._read(self._meet("slope", of_pos, as_pos=False))

    def losses(self, others: Tensor, as_pos: bool) -> Tensor:
        """The sum of the loss for each row, as a positive or as a negative."""
        return self._read(self._meet("loss", self._expand(others), as_pos))

    def _expand(self, weight: Tensor) -> Tensor:
        """The weighted sums of each polynomial over the scores of a cell: (columns, terms, cells)."""
        terms = self.precision.terms
        weighted = (self.basis * weight.unsqueeze(-1)).reshape(-1, terms)
        sums = weighted.new_zeros(len(weight) * self.n_cells, terms).index_add_(0, self.cell, weighted)
        return sums.reshape(len(weight), self.n_cells, terms).transpose(1, 2)

    def _read(self, coefficients: Tensor) -> Tensor:
        """The polynomial of its cell at each score."""
        terms = self.precision.terms
        own = coefficients.transpose(1, 2).reshape(-1, terms)[self.cell].reshape(self.basis.shape)
        return (self.basis * own).sum(-1)

    def _meet(self, function: str, sums: Tensor, as_pos: bool) -> Tensor:
        """Coefficients of the sum of a function of the margin to all weighted scores of the other class.

        ``as_pos``: for scores of positives, given the sums of negatives; else the other way round.
        """
        near = min(self.precision.near, self.n_cells - 1)
        table = coefficients(function, self.precision, sums.dtype, sums.device)
        middle = table.shape[-1] // 2
        table = table[..., middle - near : middle + near + 1]
        if not as_pos:
            table = table.transpose(0, 1).flip(-1)
        padded = torch.nn.functional.pad(sums, (near, near))
        width = max(1, self.chunk // (self.precision.terms * (2 * near + 1)))
        pieces = [
            conv1d(padded[..., start : start + width + 2 * near], table) for start in range(0, self.n_cells, width)
        ]
        met = torch.cat(pieces, dim=-1)
        if self.n_cells > near + 1:
            met[:, :2] += self._far(function, sums, near, as_pos)
        return met

    def _far(self, function: str, sums: Tensor, near: int, as_pos: bool) -> Tensor:
        """Coefficients of the first two polynomials from cells so far on the wrong side that the loss is -m."""
        mass = sums[:, 0]
        moment = mass * self.middle + 0.5 * CELL_WIDTH * sums[:, 1]
        mass, moment = (_beyond(x, near, after=as_pos) for x in (mass, moment))
        if function == "slope":
            return torch.stack([-mass, torch.zeros_like(mass)], dim=1)
        sign = -1.0 if as_pos else 1.0  # the loss of a pair is the negative's score less the positive's
        return torch.stack([sign * (self.middle * mass - moment), sign * 0.5 * CELL_WIDTH * mass], dim=1)


def _beyond(sums: Tensor, near: int, after: bool) -> Tensor:
    """For each cell: the sum over the cells more than ``near`` after it, or before it."""
    out = torch.zeros_like(sums)
    if after:
        out[:, : -near - 1] = running(sums, reverse=True)[:, near + 1 :]
    else:
        out[:, near + 1 :] = running(sums)[:, : -near - 1]
    return out


def chebyshev(t: Tensor, terms: int) -> Tensor:
    """The first Chebyshev polynomials of numbers in [-1, 1], along a new last dimension."""
    out = [torch.ones_like(t), t]
    for _ in range(terms - 2):
        out.append(2.0 * t * out[-1] - out[-2])
    return torch.stack(out, dim=-1)


@lru_cache(maxsize=16)
def coefficients(function: str, precision: Precision, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Chebyshev coefficients (of the positive, of the negative, by distance of cells) of a function of the margin.

    The last index counts how far the negative's cell is to the right of the positive's, from -near to near.
    """
    terms, near = precision.terms, precision.near
    angles = (torch.arange(terms, dtype=torch.float64) + 0.5) * math.pi / terms
    nodes = torch.cos(angles)
    transform = torch.cos(torch.arange(terms, dtype=torch.float64)[:, None] * angles) * (2.0 / terms)
    transform[0] *= 0.5
    apart = -CELL_WIDTH * torch.arange(-near, near + 1, dtype=torch.float64)
    margins = apart[:, None, None] + 0.5 * CELL_WIDTH * (nodes[:, None] - nodes)
    values = -logsigmoid(margins) if function == "loss" else -torch.sigmoid(-margins)
    return (transform @ values @ transform.T).permute(1, 2, 0).contiguous().to(device=device, dtype=dtype)
