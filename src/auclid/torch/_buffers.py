"""Modules whose buffers get their shape from the first batch."""

from typing import Any, ClassVar

import torch
from torch import Tensor


class SizedByFirstBatch(torch.nn.Module):
    """A module with buffers that do not exist before the first batch; a state dict brings them as well."""

    STATE: ClassVar[tuple[str, ...]] = ()
    """The names of the buffers."""

    def __init__(self) -> None:
        super().__init__()
        for name in self.STATE:
            self.register_buffer(name, None)

    def _state(self) -> tuple[Tensor, ...] | None:
        """The buffers, or None before the first batch."""
        values = tuple(getattr(self, name) for name in self.STATE)
        return None if values[0] is None else values

    def _set_state(self, *values: Tensor) -> None:
        for name, value in zip(self.STATE, values, strict=True):
            setattr(self, name, value)

    def reset(self) -> None:
        """Forget all batches."""
        for name in self.STATE:
            setattr(self, name, None)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in self.STATE:
            value = state_dict.get(prefix + name)
            setattr(self, name, None if value is None else torch.empty_like(value))
        super()._load_from_state_dict(state_dict, prefix, *args)


def check_columns(owner: str, state: tuple[Tensor, ...] | None, columns: int) -> None:
    """Refuse a batch with another number of columns than earlier ones."""
    if state is not None and len(state[0]) != columns:
        raise ValueError(
            f"{owner} expects {len(state[0])} columns of scores, as in earlier batches. Got {columns} instead; "
            "reset() forgets those."
        )
