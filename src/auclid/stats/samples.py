"""Bounded uniform samples of the rows of a set, for what moments cannot give: a class prior, held-out scores."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes
from auclid.data import Table, append_rows, as_table
from auclid.stats.buffers import reservoir
from auclid.stats.epochs import content_order
from auclid.stats.labelled import LabelledDataset, sampled
from auclid.stats.weights import drawn


class ReservoirSample(NamedTuple):
    """Up to `_sizes.SAMPLE_CAPACITY` rows, a uniform sample of the rows seen."""

    rows: Any = None  # float64: an array, or a CSR matrix; None before the first row
    seen: int = 0

    @property
    def held(self) -> int:
        """The number of rows in the sample."""
        return min(self.seen, _sizes.SAMPLE_CAPACITY)


class SetSamples(NamedTuple):
    """A sample of the negative, of the positive and of the unlabelled rows."""

    neg: ReservoirSample = ReservoirSample()
    pos: ReservoirSample = ReservoirSample()
    unl: ReservoirSample = ReservoirSample()

    def after(self, table: Table, members: Sequence[np.ndarray], rng: np.random.Generator) -> "SetSamples":
        """The samples after the rows of a table; ``members`` are the row numbers of each set.

        Each row draws one random number, in table order.
        """
        draws, pairs = rng.random(table.shape[0]), zip(self, members, strict=True)
        return SetSamples(*(extend_sample(sample, table, index, draws[index]) for sample, index in pairs))

    def after_weighted(
        self, table: Table, members: Sequence[np.ndarray], count: np.ndarray, rng: np.random.Generator
    ) -> "SetSamples":
        """The samples after the rows of a table, where a row occurs ``count`` times in expectation."""
        present = [index[count[index] > 0.0] for index in members]
        repeated = [np.repeat(index, drawn(count[index], rng)) for index in present]
        return SetSamples(
            *(
                extend_sample(sample, table, index, rng.random(len(index)))
                for sample, index in zip(self, repeated, strict=True)
            )
        )

    @classmethod
    def from_dataset(cls, rows: LabelledDataset) -> "SetSamples":
        """Samples of the rows of a partitioned dataset, in one pass."""
        X, sets, _ = sampled(rows, [_sizes.SAMPLE_CAPACITY] * 3)
        block, seen = X.astype(np.float64, copy=False), rows.counts.sum(axis=0)
        members = (np.flatnonzero(sets == k) for k in range(3))
        return cls(*(ReservoirSample(block[at] if len(at) else None, int(seen[k])) for k, at in enumerate(members)))

    def union(self, other: "SetSamples", rng: np.random.Generator) -> "SetSamples":
        """Samples of the rows that either has seen."""
        return SetSamples(*(merge_samples(a, b, rng) for a, b in zip(self, other, strict=True)))


def extend_sample(sample: ReservoirSample, table: Table, index: np.ndarray, draws: np.ndarray) -> ReservoirSample:
    """The sample after these rows of a table, with one uniform draw each."""
    number = sample.seen + 1 + np.arange(len(index))
    slot = reservoir(number, _sizes.SAMPLE_CAPACITY, draws)
    newcomer = np.full(_sizes.SAMPLE_CAPACITY, -1)
    newcomer[slot[slot >= 0]] = index[slot >= 0]  # of several rows for one slot NumPy keeps the last
    changed = np.flatnonzero(newcomer >= 0)
    if not len(changed):
        return ReservoirSample(sample.rows, sample.seen + len(index))
    new_rows = table.take(newcomer[changed])
    rows = new_rows if sample.rows is None else append_rows(sample.rows, new_rows)
    position = np.arange(_sizes.SAMPLE_CAPACITY)
    position[changed] = sample.held + np.arange(len(changed))
    seen = sample.seen + len(index)
    return ReservoirSample(rows[position[: min(seen, _sizes.SAMPLE_CAPACITY)]], seen)


def merge_samples(a: ReservoirSample, b: ReservoirSample, rng: np.random.Generator) -> ReservoirSample:
    """A sample of the rows that either has seen."""
    if a.rows is None or b.rows is None:
        return a if b.rows is None else b
    seen = a.seen + b.seen
    held = min(seen, _sizes.SAMPLE_CAPACITY)
    from_a = rng.hypergeometric(a.seen, b.seen, held)
    kept_a, kept_b = rng.permutation(a.held)[:from_a], rng.permutation(b.held)[: held - from_a]
    return ReservoirSample(append_rows(a.rows[np.sort(kept_a)], b.rows[np.sort(kept_b)]), seen)


def stack_samples(below: ReservoirSample, above: ReservoirSample, by_content: bool = False) -> tuple[Table, np.ndarray]:
    """The rows of two samples in one table, and which of them are of the second.

    Each sample's rows are in the order of the sample, or sorted by class and contents if ``by_content``.
    """
    table, is_pos = as_table(append_rows(below.rows, above.rows)), np.arange(below.held + above.held) >= below.held
    order = content_order(table, is_pos) if by_content else None
    return table if order is None else as_table(table.part(order)), is_pos
