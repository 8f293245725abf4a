"""The part of each class that counts towards a partial AUC, with a soft or a hard cut."""

from typing import NamedTuple

import torch
from torch import Tensor

from auclid.torch._batch import ScoreBatch
from auclid.torch._hinges import RowwisePairSums

ALTERNATIONS = 200
"""Turns at the most between the two classes; few are needed, since each shrinks the error by a constant factor."""

NEWTON_STEPS = 100
"""Steps at the most to the threshold of a soft cut, whose equation is piecewise linear."""


class TopShares(NamedTuple):
    """Which pairs count: those of the highest-scored negatives and of the lowest-scored positives."""

    max_fpr: float
    min_tpr: float
    softness: float

    @property
    def is_all(self) -> bool:
        """Whether all pairs count."""
        return self.max_fpr == 1.0 and self.min_tpr == 0.0

    @property
    def is_two_way(self) -> bool:
        """Whether both classes are cut."""
        return self.max_fpr < 1.0 and self.min_tpr > 0.0


class TopSelection(NamedTuple):
    """Weights of the rows of one class that add up to 1, what a soft cut costs, and the loss at which it begins."""

    weight: Tensor
    """Of shape (columns, n)."""
    penalty: Tensor
    """Of shape (columns,)."""
    tau: Tensor | None = None
    """Of shape (columns, 1)."""


def select_pairs(
    sums: RowwisePairSums, batch: ScoreBatch, region: TopShares, tol: float
) -> tuple[TopSelection, TopSelection]:
    """The weights of positives and negatives that maximise the soft top, as auclid.solvers.partial_auc defines it.

    Each class's weights are the best for the other's; where both are cut, they are found in turns, until the next turn
    would change none by more than ``tol`` of the largest: each turn shrinks the change by the same factor or more.
    """
    pos, neg = _uncut(batch.pos), _uncut(batch.neg)
    if region.softness == 0.0:
        return _hard(batch, region)
    change = 1.0
    for _ in range(ALTERNATIONS):
        before = pos.weight
        if region.max_fpr < 1.0:
            neg = _soft(sums.losses(pos.weight, as_pos=False), batch.neg, region.max_fpr, region.softness, neg.tau)
        if region.min_tpr > 0.0:
            pos = _soft(sums.losses(neg.weight, as_pos=True), batch.pos, 1.0 - region.min_tpr, region.softness, pos.tau)
        if not region.is_two_way:
            break
        earlier, change = change, float(((pos.weight - before).abs() / before.amax(-1, keepdim=True)).max())
        if change * min(1.0, change / earlier) <= tol:
            break
    return pos, neg


def _uncut(own: Tensor) -> TopSelection:
    total = own.sum(-1, keepdim=True)
    return TopSelection(own / total, torch.zeros_like(total.squeeze(-1)))


def _soft(loss: Tensor, own: Tensor, share: float, softness: float, start: Tensor | None) -> TopSelection:
    """Rows enter gradually over a range ``softness`` of the mean loss: inside = clip((loss - tau) / softness, 0, 1)."""
    tau = _threshold(loss, own, share * own.sum(-1, keepdim=True), softness, start)
    inside = ((loss - tau) / softness).clamp(0.0, 1.0)
    weight = own * inside
    # Losses so large that softness is lost in their rounding: the top is the greatest of them.
    lost = weight.sum(-1, keepdim=True) <= 0.0
    greatest = loss.masked_fill(own <= 0.0, -torch.inf).amax(-1, keepdim=True)
    inside = torch.where(lost, (loss == greatest).to(loss.dtype), inside)
    weight = own * inside
    weight = weight / weight.sum(-1, keepdim=True)
    return TopSelection(weight, 0.5 * softness * ((weight * inside).sum(-1) - 1.0), tau)


def _threshold(loss: Tensor, own: Tensor, mass: Tensor, softness: float, start: Tensor | None) -> Tensor:
    """The tau with sum own clip((loss - tau) / softness, 0, 1) = mass, by safeguarded Newton steps from ``start``."""
    used = own > 0.0
    low = loss.masked_fill(~used, torch.inf).amin(-1, keepdim=True) - softness
    high = loss.masked_fill(~used, -torch.inf).amax(-1, keepdim=True)
    tau, scaled = 0.5 * (low + high) if start is None else start.clamp(low, high), loss / softness
    eps = 4.0 * torch.finfo(loss.dtype).eps
    for _ in range(NEWTON_STEPS):
        part = scaled - tau / softness
        inside = part.clamp(0.0, 1.0)
        excess = _dot(own, inside) - mass
        edge = _dot(own, (inside == part).to(own.dtype))
        low, high = torch.where(excess > 0.0, tau, low), torch.where(excess > 0.0, high, tau)
        step = tau + excess * softness / edge
        following = torch.where((low < step) & (step < high), step, 0.5 * (low + high))
        following = torch.where(excess.abs() <= eps * mass, tau, following)
        done = bool((following == tau).all())
        tau = following
        if done:
            break
    return tau


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """Sums of products of the rows, of shape (columns, 1)."""
    return torch.linalg.vecdot(a, b).unsqueeze(-1)


def _hard(batch: ScoreBatch, region: TopShares) -> tuple[TopSelection, TopSelection]:
    """The lowest positives and the highest negatives; rows that tie at a cut share its fraction."""
    return (
        _hard_top(-batch.scores, batch.pos, 1.0 - region.min_tpr),
        _hard_top(batch.scores, batch.neg, region.max_fpr),
    )


def _hard_top(scores: Tensor, own: Tensor, share: float) -> TopSelection:
    if share == 1.0:
        return _uncut(own)
    mass = share * own.sum(-1, keepdim=True)
    ordered, order = torch.sort(scores, dim=-1, descending=True)
    short = own.gather(-1, order).cumsum(-1) < mass * (1.0 - 1e-12)
    cut = ordered.gather(-1, short.sum(-1, keepdim=True).clamp(max=scores.shape[-1] - 1))
    above, tied = own * (scores > cut), own * (scores == cut)
    missing = (mass - above.sum(-1, keepdim=True)).clamp_min(0.0)
    weight = above + tied * (missing / tied.sum(-1, keepdim=True)).clamp(max=1.0)
    return TopSelection(weight / weight.sum(-1, keepdim=True), torch.zeros_like(mass.squeeze(-1)))
