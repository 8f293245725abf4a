"""Sums of hinges and squared hinges over all pairs, in O(n log n) by one sort and cumulative sums."""

from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor


class AllPairs(Protocol):
    """The sum over all pairs of a loss at given scores.

    ``pos`` and ``neg`` are weights of shape (columns, n), zero for rows that are not of that class.
    """

    def value_and_slope(self, pos: Tensor, neg: Tensor) -> tuple[Tensor, Tensor]:
        """sum_ij pos_i neg_j l(s_i - s_j) a column, and its derivatives by the scores."""


class RowwisePairSums(AllPairs, Protocol):
    """Sums for each row besides: of losses that do not rise with the margin, which can be cut."""

    def losses(self, others: Tensor, as_pos: bool) -> Tensor:
        """For each row its sum over the weighted rows of the other class.

        ``as_pos``: sum_j others_j l(s_row - s_j), for positives; else sum_i others_i l(s_i - s_row), for negatives.
        """


class HingeSums:
    """l(m) = max(0, margin - m)^power, power 1 or 2, over all pairs of scores of shape (columns, n).

    Positives are shifted by the margin, and one sort of all rows tells which pairs have a loss: the negative comes
    after the positive. At equal keys, where the margin is just met, negatives come first for the hinge: its slope there
    is the one on the right, zero.
    """

    def __init__(self, scores: Tensor, is_pos: Tensor, margin: float, power: int) -> None:
        keys = torch.where(is_pos, scores - margin, scores)
        if power == 1:
            first = negatives_first(is_pos)
            keys, order = torch.sort(keys.gather(-1, first), dim=-1, stable=True)
            order = first.gather(-1, order)
        else:  # whether a pair of equal keys has a loss of zero or none is the same
            keys, order = torch.sort(keys, dim=-1)
        self.order, self.power = order, power
        # Far scores must not cost near ones their digits, and a middle row is not moved by them.
        self.x = keys - keys[..., keys.shape[-1] // 2, None]

    def value_and_slope(self, pos: Tensor, neg: Tensor) -> tuple[Tensor, Tensor]:
        """The sum of the loss and its slopes; a loss of this form is, up to its power, x times its slope."""
        pos, neg = (weights.gather(-1, self.order) for weights in (pos, neg))
        slope = neg * _linear(pos, self.x, self.power) - pos * _linear(neg, -self.x, self.power, reverse=True)
        return (self.x * slope).sum(-1), self.power * self._placed(slope)

    def losses(self, others: Tensor, as_pos: bool) -> Tensor:
        """The sum of the loss for each row, as a positive or as a negative."""
        others = others.gather(-1, self.order)
        if self.power == 1:
            return self._placed(_linear(others, -self.x if as_pos else self.x, 2, reverse=as_pos))
        if as_pos:
            return self._placed(_squares(others.flip(-1), -self.x.flip(-1)).flip(-1))
        return self._placed(_squares(others, self.x))

    def _placed(self, values: Tensor) -> Tensor:
        """Values of sorted rows, where the rows stand in the batch."""
        return torch.empty_like(values).scatter_(-1, self.order, values)


def negatives_first(is_pos: Tensor) -> Tensor:
    """The order that puts negatives before positives, and keeps the rows of a class in theirs."""
    before = torch.where(is_pos, is_pos.cumsum(-1) + (~is_pos).sum(-1, keepdim=True), (~is_pos).cumsum(-1)) - 1
    rows = torch.arange(is_pos.shape[-1], device=is_pos.device).expand_as(before)
    return torch.empty_like(before).scatter_(-1, before, rows)


def running(values: Tensor, reverse: bool = False) -> Tensor:
    """Sums of the values up to and including each, or from each on."""
    return values.flip(-1).cumsum(-1).flip(-1) if reverse else values.cumsum(-1)


def _linear(weight: Tensor, x: Tensor, power: int, reverse: bool = False) -> Tensor:
    """For each place: the sum over the weighted rows before it (after it) of 1 or, if power is 2, of x less theirs."""
    mass = running(weight, reverse)
    return mass if power == 1 else mass * x - running(weight * x, reverse)


def _squares(weight: Tensor, x: Tensor) -> Tensor:
    """For each place: the sum over the weighted rows before it of the squared difference of x.

    Mean and squares about the mean are kept, not raw squares: near pairs of far scores would lose their digits.
    """
    mass = weight.cumsum(-1)
    safe = mass.clamp_min(torch.finfo(mass.dtype).tiny)
    mean = (weight * x).cumsum(-1) / safe
    jump = torch.where(mass > weight, x - mean.roll(1, -1), 0.0)
    spread = (weight * (mass - weight) / safe * jump * jump).cumsum(-1)
    return torch.where(mass > 0.0, mass * (x - mean) ** 2 + spread, 0.0)


class SumOfHinges:
    """sum_k c_k max(0, r_k - m)^2: each part has a ranking of its own."""

    def __init__(self, scores: Tensor, is_pos: Tensor, parts: tuple[tuple[float, float], ...]) -> None:
        self.parts = [(c, HingeSums(scores, is_pos, r, 2)) for c, r in parts]

    def value_and_slope(self, pos: Tensor, neg: Tensor) -> tuple[Tensor, Tensor]:
        """The parts' sums, added up."""
        sums = [[c * x for x in part.value_and_slope(pos, neg)] for c, part in self.parts]
        value, slope = (torch.stack(parts).sum(0) for parts in zip(*sums, strict=True))
        return value, slope

    def losses(self, others: Tensor, as_pos: bool) -> Tensor:
        """The parts' sums, added up."""
        return torch.stack([c * part.losses(others, as_pos) for c, part in self.parts]).sum(0)


class SquareSums:
    """l(m) = (margin - m)^2 over all pairs, from the mean and the variance of either class: O(n), no sort."""

    def __init__(self, scores: Tensor, margin: float) -> None:
        self.scores, self.margin = scores, margin

    @cached_property
    def x(self) -> Tensor:
        """Scores about the middle of each column."""
        return self.scores - self.scores.mean(-1, keepdim=True)

    def value_and_slope(self, pos: Tensor, neg: Tensor) -> tuple[Tensor, Tensor]:
        """The sum of the loss and its slopes."""
        x = self.x
        n_pos, n_neg = (weights.sum(-1, keepdim=True) for weights in (pos, neg))
        mean_pos, mean_neg = (pos * x).sum(-1, keepdim=True) / n_pos, (neg * x).sum(-1, keepdim=True) / n_neg
        spread = n_neg * (pos * (x - mean_pos) ** 2).sum(-1, keepdim=True)
        spread = spread + n_pos * (neg * (x - mean_neg) ** 2).sum(-1, keepdim=True)
        short = self.margin - (mean_pos - mean_neg)
        slope = 2.0 * (pos * n_neg * (x - mean_neg - self.margin) + neg * n_pos * (x - mean_pos + self.margin))
        return (spread + n_pos * n_neg * short**2).squeeze(-1), slope
