"""A batch of scores with labels and weights, one row a column of scores, and losses whose gradient is known."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor


class ScoreBatch(NamedTuple):
    """Scores (columns, n) with the weights of positives and negatives: zero where a row is not of that class."""

    scores: Tensor
    pos: Tensor
    neg: Tensor

    @property
    def has_pairs(self) -> Tensor:
        """Whether a column holds both classes."""
        return (self.pos.sum(-1) > 0.0) & (self.neg.sum(-1) > 0.0)

    def select(self, columns: Tensor) -> "ScoreBatch":
        """Keep some columns."""
        return ScoreBatch(self.scores[columns], self.pos[columns], self.neg[columns])

    def join(self, other: "ScoreBatch") -> "ScoreBatch":
        """Append the rows of another batch with the same columns."""
        return ScoreBatch(*(torch.cat(pair, dim=-1) for pair in zip(self, other, strict=True)))


def accumulation_dtype(device: torch.device) -> torch.dtype:
    """float64 where the device has it: sums over all pairs of float32 scores would lose digits in float32."""
    return torch.float32 if device.type == "mps" else torch.float64


@contextmanager
def exact_sums(owner: str, scores: Any) -> Iterator[None]:
    """Without a graph, and without autocast, which would sum in half precision."""
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        raise TypeError(f"{owner} expects scores as a floating-point tensor. Got {_kind(scores)} instead.")
    device = scores.device.type
    plain = torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()
    with torch.no_grad(), plain:
        yield


def as_batch(owner: str, scores: Tensor, targets: Tensor, weight: Tensor | None) -> tuple[ScoreBatch, bool]:
    """The rows split by class, and whether all scores are finite, after checks of shapes, labels and weights.

    Rows whose target is NaN have no label and weigh nothing. The values are checked together: a GPU is waited for once.
    """
    targets = torch.as_tensor(targets, device=scores.device).detach()
    if scores.ndim not in (1, 2) or targets.numel() != scores.numel() or targets.shape[:1] != scores.shape[:1]:
        raise ValueError(
            f"{owner} expects scores of shape (n,) or (n, columns) and as many targets. "
            f"Got shapes {tuple(scores.shape)} and {tuple(targets.shape)} instead."
        )
    columns = _by_column(scores.detach()).to(accumulation_dtype(scores.device))
    labels = _by_column(targets.reshape(scores.shape))
    own = _weights(owner, weight, columns)
    no_label, sound = labels.isnan(), (own >= 0.0) & own.isfinite()
    finite, two_labels, sound_weights = torch.stack(
        [columns.isfinite().all(), _are_two_labels(labels, no_label), sound.all()]
    ).tolist()
    if not two_labels:
        raise ValueError(_unknown_labels(owner, labels))
    if not sound_weights:
        raise ValueError(f"{owner} expects weights in [0, inf). Got {float(own[~sound][0])} instead.")
    own, is_pos = own.masked_fill(no_label, 0.0), labels > 0.5
    return ScoreBatch(columns.contiguous(), own.masked_fill(~is_pos, 0.0), own.masked_fill(is_pos, 0.0)), finite


def positives_among(owner: str, targets: Any) -> Tensor:
    """Whether each target is positive, on the CPU."""
    try:
        targets = torch.as_tensor(targets).detach().cpu()
    except (TypeError, ValueError) as error:
        raise TypeError(f"{owner} expects targets as a tensor, or what becomes one. {error}.") from None
    if not _are_two_labels(targets, torch.zeros_like(targets, dtype=torch.bool)):
        raise ValueError(_unknown_labels(owner, targets))
    return targets > 0.5


def _are_two_labels(labels: Tensor, no_label: Tensor) -> Tensor:
    """Whether all rows that have a label have 0 or 1, or else -1 or 1."""
    zero, minus = labels == 0, labels == -1
    return (zero | minus | (labels == 1) | no_label).all() & ~(zero.any() & minus.any())


def _unknown_labels(owner: str, labels: Tensor) -> str:
    values = [f"{value:g}" for value in torch.unique(labels).tolist()]
    shown = ", ".join(values[:5] + ["..."] * (len(values) > 5))
    return (
        f"{owner} expects targets 0 and 1, -1 and 1, or booleans. Got the values {shown} instead; pass a comparison, "
        "as in targets == 2. A soft label is two rows, a positive and a negative one, with weights."
    )


def _weights(owner: str, weight: Tensor | None, columns: Tensor) -> Tensor:
    if weight is None:
        return torch.ones_like(columns)
    weight = torch.as_tensor(weight, device=columns.device).detach().to(columns.dtype)
    n = columns.shape[1]
    if weight.shape[:1] != (n,) or weight.numel() not in (n, columns.numel()):
        raise ValueError(
            f"{owner} expects a weight for each of {n} rows, or for each score. "
            f"Got shape {tuple(weight.shape)} instead."
        )
    return _by_column(weight.reshape(-1) if weight.numel() == n else weight).expand_as(columns)


def _by_column(values: Tensor) -> Tensor:
    return values.T if values.ndim == 2 else values[None]


def _kind(value: Any) -> str:
    return str(value.dtype) if isinstance(value, Tensor) else type(value).__name__


class KnownGradient(torch.autograd.Function):
    """A value whose derivatives by the scores were found together with it."""

    @staticmethod
    def forward(scores: Tensor, value: Tensor, slope: Tensor) -> Tensor:
        """Return the value."""
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        """Keep the slopes for the backward pass."""
        ctx.save_for_backward(inputs[0], inputs[2])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """Chain rule; half-precision scores get their gradient after the scaling by ``grad``."""
        scores, slope = ctx.saved_tensors
        if torch.is_grad_enabled():
            slope = KnownSlope.apply(scores, slope)
        return (grad * slope).to(scores.dtype), None, None


class KnownSlope(torch.autograd.Function):
    """Slopes whose own derivatives are not known: asking for them is an error, not a silent zero."""

    @staticmethod
    def forward(scores: Tensor, slope: Tensor) -> Tensor:
        """Return the slopes."""
        return slope.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        """Nothing is kept."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> None:
        """Refuse."""
        raise RuntimeError("The losses of auclid.torch have no second derivatives.")


def attach(scores: Tensor, value: Tensor, slope: Tensor) -> Tensor:
    """A loss with the given value and, by the scores, the given slopes of shape (columns, n).

    The loss has the type of the scores, but float32 at least. Scores that are not finite make value and slopes NaN, so
    that a gradient scaler or a check for anomalies sees them.
    """
    dtype = torch.promote_types(scores.dtype, torch.float32)
    poison = 0.0 * scores.detach().to(slope.dtype).sum()
    slope = (slope.T.reshape(scores.shape) + poison).to(dtype)
    return KnownGradient.apply(scores, (value + poison).to(dtype), slope)


def no_loss(batch: ScoreBatch) -> tuple[Tensor, Tensor]:
    """A value and slopes of zero."""
    slope = torch.zeros_like(batch.scores)
    return slope.sum(), slope


def warn_no_pairs(owner: str) -> None:
    """A batch without a pair of a positive and a negative has no gradient."""
    warnings.warn(
        f"{owner} got a batch without a pair of a positive and a negative row: its loss is zero. "
        "BalancedSampler or memory= provides both classes.",
        UserWarning,
        stacklevel=4,
    )
