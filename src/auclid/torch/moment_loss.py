"""The square loss over all pairs from class moments, with moments that run over batches."""

from typing import NamedTuple

import torch
from sklearn.utils._param_validation import validate_parameter_constraints
from torch import Tensor

from auclid import validation
from auclid.torch._batch import ScoreBatch, as_batch, attach, exact_sums, no_loss, warn_no_pairs
from auclid.torch._buffers import SizedByFirstBatch, check_columns

_PARAMETERS: dict = {
    "margin": [validation.real(0.0, None, closed="neither")],
    "decay": [validation.real(0.0, 1.0, closed="left")],
    "one_sided": ["boolean"],
}


class BatchMoments(NamedTuple):
    """Weight, mean and sum of squares about the mean of the scores of a class: (columns,) each."""

    mass: Tensor
    mean: Tensor
    spread: Tensor

    @classmethod
    def of(cls, scores: Tensor, own: Tensor) -> "BatchMoments":
        """The moments of scores (columns, n) that weigh ``own``."""
        mass = own.sum(-1)
        mean = (own * scores).sum(-1) / _safe(mass)
        return cls(mass, mean, (own * (scores - mean[:, None]) ** 2).sum(-1))

    def faded(self, factor: float) -> "BatchMoments":
        """The moments of rows that weigh ``factor`` times as much."""
        return BatchMoments(factor * self.mass, self.mean, factor * self.spread)

    def __add__(self, other: "BatchMoments") -> "BatchMoments":  # type: ignore[override]
        """The moments of the rows of both."""
        mass = self.mass + other.mass
        gap, share = other.mean - self.mean, other.mass / _safe(mass)
        return BatchMoments(mass, self.mean + gap * share, self.spread + other.spread + gap**2 * self.mass * share)

    @property
    def variance(self) -> Tensor:
        """The mean square about the mean."""
        return self.spread / _safe(self.mass)


def _safe(mass: Tensor) -> Tensor:
    return mass.clamp_min(torch.finfo(mass.dtype).tiny)


class MomentLoss(SizedByFirstBatch):
    """The square loss over all pairs, (margin - m)^2 in the mean, from running class moments of the scores.

    The mean over all pairs of a positive and a negative depends on the classes' means and variances only:

        (margin - (mean+ - mean-))^2 + var+ + var-

    These moments run over the batches, so that a batch may hold few positives, or none. A row is pushed by its own
    derivative of that expression, 2 (s_i - mean- - margin) / n+ for a positive i and 2 (s_j - mean+ + margin) / n- for
    a negative j, where n+ and n- share the rows of the batch as the running classes do. That is stochastic gradient
    descent on the saddle-point form of the AUC (SOLAM, and LibAUC's AUCM) with its auxiliary variables at their
    optimum: an optimiser need not know of them.

    Parameters
    ----------
    margin : float in (0, inf), default=1.0
        The margin that is asked for.
    decay : float in [0, 1), default=0.9
        How much the rows of earlier batches weigh after each further one. With 0 the loss and its gradient are those of
        `PairLoss` with ``loss="square"``.
    one_sided : bool, default=False
        Whether means that lie more than ``margin`` apart in the right order cost nothing, as in AUCM.

    Notes
    -----
    In evaluation mode the moments are those of the batch alone, and nothing is kept. A batch that brings no pair, not
    even with earlier batches, has loss zero, still connected to the graph, and a warning says so.

    References
    ----------
    Ying, Wen & Lyu, "Stochastic online AUC maximization", NeurIPS 2016; Yuan et al., "Large-scale robust deep AUC
    maximization", ICCV 2021.

    Examples
    --------
    >>> import torch
    >>> from auclid.torch import MomentLoss
    >>> loss = MomentLoss()
    >>> scores = torch.tensor([0.0, 2.0, 0.5], requires_grad=True)
    >>> loss(scores, torch.tensor([0, 1, 1])).item()
    0.625
    >>> loss(scores[:1], torch.tensor([0])).backward()  # no positive here: those of the first batch count
    >>> scores.grad
    tensor([-0.9737, 0.0000, 0.0000])
    """

    STATE = ("mass", "mean", "spread")

    def __init__(self, *, margin: float = 1.0, decay: float = 0.9, one_sided: bool = False) -> None:
        given = {"margin": margin, "decay": decay, "one_sided": one_sided}
        validate_parameter_constraints(_PARAMETERS, given, caller_name="MomentLoss")
        super().__init__()
        self.margin, self.decay, self.one_sided = float(margin), float(decay), bool(one_sided)

    def extra_repr(self) -> str:
        """The parameters, as PyTorch prints them."""
        return f"margin={self.margin:g}, decay={self.decay:g}, one_sided={self.one_sided}"

    @torch.compiler.disable
    def forward(self, scores: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
        """The loss of a batch: see `PairLoss` for the arguments."""
        with exact_sums("MomentLoss", scores):
            batch, finite = as_batch("MomentLoss", scores, targets, weight)
            value, slope = self._value_and_slope(batch) if finite else no_loss(batch)
        return attach(scores, value, slope)

    def _value_and_slope(self, batch: ScoreBatch) -> tuple[Tensor, Tensor]:
        """The loss of a batch, and the push of each score, of shape (columns, n)."""
        own = [BatchMoments.of(batch.scores, weights) for weights in (batch.pos, batch.neg)]
        pos, neg = self._running(own)
        columns = (pos.mass > 0.0) & (neg.mass > 0.0)
        count = int(columns.sum())
        if count == 0:
            warn_no_pairs("MomentLoss")
        short = self.margin - (pos.mean - neg.mean)
        short = short.clamp_min(0.0) if self.one_sided else short
        value = short**2 + pos.variance + neg.variance
        slope = batch.pos * (batch.scores - (pos.mean + short)[:, None]) / _safe(pos.mass)[:, None]
        slope = slope + batch.neg * (batch.scores - (neg.mean - short)[:, None]) / _safe(neg.mass)[:, None]
        share = torch.where(columns, 1.0 / max(count, 1), 0.0)
        stands_for = (pos.mass + neg.mass) / _safe(own[0].mass + own[1].mass)
        return (share * value).sum(), 2.0 * (share * stands_for)[:, None] * slope

    def _running(self, own: list[BatchMoments]) -> list[BatchMoments]:
        """The moments of both classes, earlier batches included."""
        if not self.training:
            return own
        state = self._state()
        check_columns("MomentLoss", state, len(own[0].mass))
        if state is not None:
            past = [BatchMoments(*(x[:, k] for x in state)).faded(self.decay) for k in (0, 1)]
            own = [before + now for before, now in zip(past, own, strict=True)]
        self._set_state(*(torch.stack(pair, dim=1) for pair in zip(*own, strict=True)))
        return own
