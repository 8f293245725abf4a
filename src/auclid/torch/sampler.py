"""Batches with a fixed number of positives."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import Sampler

from auclid.torch._batch import positives_among
from auclid.validation.parameters import whole_number


class BalancedSampler(Sampler[list[int]]):
    """Batches of row numbers with the same number of positives in each, for ``DataLoader(batch_sampler=...)``.

    Each class is shuffled and read through; where it ends, it is shuffled anew. An epoch ends when every row was in a
    batch once: the class that needs fewer batches is read more than once, and the last batch is filled up from the next
    reading. So every batch has the same size, and an epoch has

        max(ceil(n+ / (positives world_size)), ceil(n- / ((batch_size - positives) world_size)))

    batches on every rank.

    Parameters
    ----------
    targets : tensor or array-like of shape (n,)
        Labels: {0, 1}, {-1, 1} or booleans.
    batch_size : int in [2, inf)
        Rows a batch, on each rank.
    positives : int in [1, batch_size), optional
        Positives a batch, half of it by default.
    rank, world_size : int, optional
        This process and the number of processes, which share the batches of an epoch without overlap. By default those
        of `torch.distributed`, if that is initialised, else 0 and 1.
    seed : int in [0, inf), default=0
        The same seed on every rank. Batches depend on it, on the epoch and on nothing else.

    Attributes
    ----------
    epoch : int
        The epoch that is read, or the next one; it goes up by one at the end of each. `set_epoch` sets it.

    Examples
    --------
    >>> from auclid.torch import BalancedSampler
    >>> sampler = BalancedSampler([0, 0, 0, 0, 0, 1, 1], batch_size=4, positives=1)
    >>> len(sampler)
    2
    >>> [len(batch) for batch in sampler], sampler.epoch
    ([4, 4], 1)
    """

    drop_last = False

    def __init__(
        self,
        targets: Any,
        batch_size: int,
        positives: int | None = None,
        *,
        rank: int | None = None,
        world_size: int | None = None,
        seed: int = 0,
    ) -> None:
        is_pos = positives_among("BalancedSampler", targets).numpy()
        if is_pos.shape not in ((len(is_pos),), (len(is_pos), 1)):
            raise ValueError(
                f"BalancedSampler expects targets of shape (n,). Got {is_pos.shape} instead: name a column."
            )
        is_pos = is_pos.reshape(-1)
        self.classes = [np.flatnonzero(is_pos), np.flatnonzero(~is_pos)]
        self.batch_size = whole_number("BalancedSampler", "batch_size", batch_size, 2)
        positives = self.batch_size // 2 if positives is None else positives
        positives = whole_number("BalancedSampler", "positives", positives, 1, self.batch_size - 1)
        self.counts = [positives, self.batch_size - positives]
        if min(map(len, self.classes)) == 0:
            raise ValueError(
                "BalancedSampler expects rows of both classes. "
                f"Got {len(self.classes[0])} positive and {len(self.classes[1])} negative instead."
            )
        self.world_size = whole_number("BalancedSampler", "world_size", _world(world_size, "get_world_size", 1), 1)
        self.rank = whole_number("BalancedSampler", "rank", _world(rank, "get_rank", 0), 0, self.world_size - 1)
        self.seed = whole_number("BalancedSampler", "seed", seed, 0)
        self.epoch, self._done, self._start = 0, 0, 0

    def __len__(self) -> int:
        """Batches an epoch."""
        needed = zip(self.classes, self.counts, strict=True)
        return max(-(-len(rows) // (count * self.world_size)) for rows, count in needed)

    def __iter__(self) -> Iterator[list[int]]:
        """The batches of this epoch, or those that are left of it after `load_state_dict`."""
        start, self._start = self._start, 0
        streams = [self._stream(k) for k in (0, 1)]
        for k in range(start, len(self)):
            self._done, turn = k + 1, k * self.world_size + self.rank
            parts = [s[turn * count : (turn + 1) * count] for s, count in zip(streams, self.counts, strict=True)]
            yield np.concatenate(parts).tolist()
        self.set_epoch(self.epoch + 1)

    def _stream(self, k: int) -> np.ndarray:
        """The rows of one class in the order of this epoch, over all ranks."""
        rows, needed = self.classes[k], len(self) * self.world_size * self.counts[k]
        readings = range(-(-needed // len(rows)))
        return np.concatenate(
            [np.random.default_rng((self.seed, self.epoch, k, r)).permutation(rows) for r in readings]
        )

    def set_epoch(self, epoch: int) -> None:
        """Read another epoch from its beginning; the current one goes on as it is."""
        epoch = whole_number("BalancedSampler.set_epoch", "epoch", epoch, 0)
        if epoch != self.epoch:
            self.epoch, self._done, self._start = epoch, 0, 0

    def state_dict(self) -> dict[str, int]:
        """Where the sampler is: its epoch, and how many batches of it were handed out.

        A `DataLoader` with workers asks for batches before they are used. To go on after the last one that was used,
        put its number into ``"batch"``.
        """
        return {"seed": self.seed, "epoch": self.epoch, "batch": self._done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from where another sampler was: of the same rows, batch size and ranks."""
        owner, names = "BalancedSampler.load_state_dict", ("seed", "epoch", "batch")
        if not set(names) <= set(state):
            raise ValueError(f"{owner} expects what state_dict() gave, with {names}. Got {sorted(state)} instead.")
        most = (None, None, len(self))
        found = [whole_number(owner, name, state[name], 0, high) for name, high in zip(names, most, strict=True)]
        self.seed, self.epoch, self._done = found
        self._start = self._done


def _world(given: int | None, question: str, alone: int) -> int:
    if given is not None:
        return given
    distributed = torch.distributed
    started = distributed.is_available() and distributed.is_initialized()
    return getattr(distributed, question)() if started else alone
