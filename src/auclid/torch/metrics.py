"""The functions of `auclid.metrics` for tensors, and an AUC that is updated batch by batch.

Every function of `auclid.metrics` is here by its own name, with its own arguments, and takes tensors on any device:
``auclid.torch.metrics.roc_auc(targets, scores)``.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from auclid import metrics
from auclid.metrics import AUCBounds
from auclid.torch._batch import positives_among


def to_numpy(value: Any) -> Any:
    """A tensor as an array, off the graph and on the CPU; half precision becomes float32. Other values stay."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach().cpu()
    return (value.float() if value.dtype in (torch.float16, torch.bfloat16) else value).numpy()


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in metrics.__all__ or isinstance(getattr(metrics, name), type):
        raise AttributeError(f"module 'auclid.torch.metrics' has no attribute {name!r}")
    function = getattr(metrics, name)

    @wraps(function)
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_convert, args), **{key: _convert(value) for key, value in kwargs.items()})

    globals()[name] = on_tensors
    return on_tensors


def __dir__() -> list[str]:
    return sorted({*globals(), *metrics.__all__})


def _convert(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: to_numpy(part) for key, part in value.items()}
    return to_numpy(value)


class StreamingAUC:
    """The AUC of all batches seen, in fixed memory, with the ``update``, ``compute``, ``reset`` of torchmetrics.

    `auclid.metrics.StreamingAUC` does the work: the AUC is exact up to ``capacity`` distinct scores, and lies between
    `bounds` that are sure to hold it after that.

    Parameters
    ----------
    capacity : int in [16, inf), default=8192
        Most distinct ranges of scores kept.

    Examples
    --------
    >>> import torch
    >>> from auclid.torch import StreamingAUC
    >>> metric = StreamingAUC()
    >>> metric.update(torch.tensor([0.1, 0.35]), torch.tensor([0, 1]))
    >>> metric.update(torch.tensor([0.8, 0.4]), torch.tensor([1, 0]))
    >>> metric.compute()
    tensor(0.7500)
    >>> metric.bounds()
    AUCBounds(auc=0.75, low=0.75, high=0.75)
    """

    def __init__(self, *, capacity: int = 8192) -> None:
        self.capacity = capacity
        self.reset()

    def update(self, preds: Tensor, target: Tensor, weight: Tensor | None = None) -> None:
        """Add a batch of scores with targets ({0, 1}, {-1, 1} or booleans) and optional weights; as many of each."""
        label = positives_among("StreamingAUC", target).reshape(-1).numpy()
        weight = None if weight is None else to_numpy(weight).reshape(-1)
        self._stream.update(label.astype(int), to_numpy(preds).reshape(-1), weight)

    def compute(self) -> Tensor:
        """The AUC; NaN until both classes were seen."""
        return torch.tensor(self.bounds().auc)

    def bounds(self) -> AUCBounds:
        """Named tuple (auc, low, high): the AUC of all batches lies in [low, high]."""
        return self._stream.result()

    def interval(self, *, level: float = 0.95) -> Any:
        """A confidence interval, as `auclid.metrics.StreamingAUC.interval` gives it."""
        return self._stream.interval(level=level)

    def reset(self) -> None:
        """Forget all batches."""
        self._stream = metrics.StreamingAUC(capacity=self.capacity)

    def __add__(self, other: "StreamingAUC") -> "StreamingAUC":
        """The metric of the batches of both: of several processes, say."""
        if not isinstance(other, StreamingAUC):
            return NotImplemented
        both = StreamingAUC(capacity=self.capacity)
        both._stream = self._stream + other._stream
        return both
