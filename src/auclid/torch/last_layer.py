"""The last linear layer of a network, set to the optimum of an AUC ranker on its inputs."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor, nn

from auclid.base import LinearRanker
from auclid.square import LeastSquaresAUC
from auclid.torch._batch import positives_among
from auclid.torch.metrics import to_numpy

Batch = tuple[np.ndarray, np.ndarray]
"""Inputs of the layer (n, d) and labels (n, outputs)."""


def head(model: nn.Module, loader: Iterable[Any], *, ranker: Any = None, layer: nn.Linear | None = None) -> list[Any]:
    """Set the last linear layer of a network to the exact optimum of an AUC ranker on the layer's inputs.

    The network runs once over the loader, in evaluation mode and without gradients. A ranker with ``partial_fit``, such
    as `LeastSquaresAUC`, learns from each batch as it comes, in memory that does not grow; another, such as `RankSVM`,
    from all inputs of the layer together. Its weights and intercept then replace those of the layer.

    Parameters
    ----------
    model : torch.nn.Module
        Its last layer is linear, with one output for each column of targets.
    loader : iterable of batches
        A batch is a pair of inputs and targets, where inputs are a tensor, a tuple (``model(*inputs)``) or a mapping
        (``model(**inputs)``); or a mapping with the targets under ``"labels"``. Targets are {0, 1}, {-1, 1} or
        booleans.
    ranker : linear estimator of auclid, optional
        `LeastSquaresAUC` by default. Its ``alpha`` is in units of the layer's inputs.
    layer : torch.nn.Linear, optional
        The last one of the model by default.

    Returns
    -------
    list of fitted rankers, one for each output

    Examples
    --------
    >>> import torch
    >>> from auclid.torch import head
    >>> _ = torch.manual_seed(0)
    >>> X, y = torch.randn(200, 3), torch.arange(200) % 2
    >>> X[:, 0] += y
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> (ranker,) = head(model, [(X[:100], y[:100]), (X[100:], y[100:])])
    >>> bool(torch.allclose(model[-1].weight, torch.tensor(ranker.coef_, dtype=torch.float32)))
    True
    """
    layer = _last_linear(model) if layer is None else layer
    ranker = LeastSquaresAUC() if ranker is None else ranker
    if not isinstance(ranker, LinearRanker):
        raise TypeError(f"head expects a linear ranker of auclid, such as RankSVM(). Got {ranker!r} instead.")
    rankers = [clone(ranker) for _ in range(layer.out_features)]
    fit = _fit_batches if hasattr(ranker, "partial_fit") else _fit_together
    fit(rankers, _embedded(model, layer, loader))
    _put_back(layer, rankers)
    return rankers


def _fit_batches(rankers: list[Any], batches: Iterable[Batch]) -> None:
    """Fit the ranker of each output to one batch after the other."""
    counts = np.zeros((2, len(rankers)), dtype=int)
    for inputs, targets in batches:
        counts += _class_counts(targets)
        for one, y in zip(rankers, targets.T, strict=True):
            one.partial_fit(inputs, y, classes=[0, 1])
    _check_classes(counts)


def _fit_together(rankers: list[Any], batches: Iterable[Batch]) -> None:
    """Fit the ranker of each output to the rows of all batches."""
    kept = list(batches)
    _check_classes(sum((_class_counts(targets) for _, targets in kept), np.zeros((2, len(rankers)), dtype=int)))
    X, Y = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    for one, y in zip(rankers, Y.T, strict=True):
        one.fit(X, y)


def _class_counts(targets: np.ndarray) -> np.ndarray:
    """The positives and the negatives of each output."""
    return np.array([targets.sum(axis=0), (1 - targets).sum(axis=0)])


def _check_classes(counts: np.ndarray) -> None:
    if not counts.all():
        raise ValueError(
            "head expects a loader with rows of both classes for each output. "
            f"Got {counts[0].tolist()} positive and {counts[1].tolist()} negative ones instead."
        )


def _last_linear(model: nn.Module) -> nn.Linear:
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if not linear:
        raise ValueError("head expects a model with a torch.nn.Linear layer. Got none instead; name one by layer=.")
    return linear[-1]


def _embedded(model: nn.Module, layer: nn.Linear, loader: Iterable[Any]) -> Iterable[Batch]:
    """Inputs of the layer (n, d) and labels (n, outputs) of each batch."""
    seen: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    training, device = model.training, next(model.parameters()).device
    model.eval()
    try:
        with torch.no_grad():
            for batch in loader:
                inputs, targets = _parts(batch)
                seen.clear()
                _call(model, _moved(inputs, device))
                yield to_numpy(_rows(seen, len(targets))), _labels(targets, layer.out_features)
    finally:
        hook.remove()
        model.train(training)


def _parts(batch: Any) -> tuple[Any, Any]:
    if isinstance(batch, Mapping) and "labels" in batch:
        return {key: value for key, value in batch.items() if key != "labels"}, batch["labels"]
    if isinstance(batch, list | tuple) and len(batch) == 2:
        return batch[0], batch[1]
    shown = f"a mapping of {sorted(map(str, batch))}" if isinstance(batch, Mapping) else type(batch).__name__
    shown += f" of {len(batch)}" if isinstance(batch, list | tuple) else ""
    raise TypeError(f"head expects batches (inputs, targets), or mappings with 'labels'. Got {shown} instead.")


def _moved(inputs: Any, device: torch.device) -> Any:
    if isinstance(inputs, Mapping):
        return {key: _moved(value, device) for key, value in inputs.items()}
    if isinstance(inputs, list | tuple):
        return [_moved(value, device) for value in inputs]
    return inputs.to(device) if isinstance(inputs, Tensor) else inputs


def _call(model: nn.Module, inputs: Any) -> None:
    if isinstance(inputs, Mapping):
        model(**inputs)
    elif isinstance(inputs, list):
        model(*inputs)
    else:
        model(inputs)


def _rows(seen: list[Tensor], n: int) -> Tensor:
    """What the layer was given, a row for each target."""
    if len(seen) != 1 or seen[0].ndim != 2 or len(seen[0]) != n:
        shapes = [tuple(part.shape) for part in seen]
        raise ValueError(
            f"head expects the layer to be given one row for each of the {n} targets, once a batch. "
            f"Got inputs of shapes {shapes} instead; name another layer by layer=."
        )
    return seen[0].double()


def _labels(targets: Any, outputs: int) -> np.ndarray:
    labels = positives_among("head", targets).numpy()
    labels = labels.reshape(len(labels), -1)
    if labels.shape[1] != outputs:
        raise ValueError(
            f"head expects {outputs} columns of targets, one for each output. Got {labels.shape[1]} instead."
        )
    return labels.astype(int)


def _put_back(layer: nn.Linear, rankers: list[Any]) -> None:
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(np.concatenate([one.coef_ for one in rankers])))
        if layer.bias is not None:
            layer.bias.copy_(torch.as_tensor(np.concatenate([np.ravel(one.intercept_) for one in rankers])))
