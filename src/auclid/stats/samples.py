"""A bounded uniform sample of the rows of one set: for what moments cannot tell (a class prior, held-out scores)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid._weights import drawn
from auclid.data import Table, append, as_table
from auclid.stats.buffers import reservoir
from auclid.stats.epochs import sorted_rows
from auclid.stats.labelled import LabelledDataset, sampled

CAPACITY = 2000


class Sample(NamedTuple):
    """Up to 2,000 rows, each of those seen with the same probability."""

    rows: Any = None  # float64: an array, or a CSR matrix; None before the first row
    seen: int = 0

    @property
    def held(self) -> int:
        """How many rows it has."""
        return min(self.seen, CAPACITY)


class Samples(NamedTuple):
    """A sample of the negatives, of the positives and of the unlabelled rows."""

    neg: Sample = Sample()
    pos: Sample = Sample()
    unl: Sample = Sample()

    def after(self, table: Table, members: Sequence[np.ndarray], rng: np.random.Generator) -> "Samples":
        """With the rows of a table, given the numbers of those of each set; each draws once, in its order."""
        draws, pairs = rng.random(table.shape[0]), zip(self, members, strict=True)
        return Samples(*(extend(sample, table, index, draws[index]) for sample, index in pairs))

    def after_weighted(
        self, table: Table, members: Sequence[np.ndarray], count: np.ndarray, rng: np.random.Generator
    ) -> "Samples":
        """`after`, where a row comes ``count`` times in the mean."""
        there = [index[count[index] > 0.0] for index in members]
        met = [np.repeat(index, drawn(count[index], rng)) for index in there]
        return Samples(*(extend(each, table, at, rng.random(len(at))) for each, at in zip(self, met, strict=True)))

    @classmethod
    def of(cls, rows: LabelledDataset) -> "Samples":
        """Samples of rows in parts, in one pass."""
        X, sets, _ = sampled(rows, [CAPACITY] * 3)
        wide, seen = X.astype(np.float64, copy=False), rows.counts.sum(axis=0)
        held = (np.flatnonzero(sets == k) for k in range(3))
        return cls(*(Sample(wide[at] if len(at) else None, int(seen[k])) for k, at in enumerate(held)))

    def union(self, other: "Samples", rng: np.random.Generator) -> "Samples":
        """Samples of the rows that either has seen."""
        return Samples(*(union(a, b, rng) for a, b in zip(self, other, strict=True)))


def extend(sample: Sample, table: Table, index: np.ndarray, draws: np.ndarray) -> Sample:
    """The sample after these rows of a table, with one uniform draw each."""
    number = sample.seen + 1 + np.arange(len(index))
    slot = reservoir(number, CAPACITY, draws)
    newcomer = np.full(CAPACITY, -1)
    newcomer[slot[slot >= 0]] = index[slot >= 0]  # of several rows for one slot NumPy keeps the last
    changed = np.flatnonzero(newcomer >= 0)
    if not len(changed):
        return Sample(sample.rows, sample.seen + len(index))
    fresh = table.take(newcomer[changed])
    both = fresh if sample.rows is None else append(sample.rows, fresh)
    place = np.arange(CAPACITY)
    place[changed] = sample.held + np.arange(len(changed))
    seen = sample.seen + len(index)
    return Sample(both[place[: min(seen, CAPACITY)]], seen)


def union(a: Sample, b: Sample, rng: np.random.Generator) -> Sample:
    """A sample of the rows that either has seen."""
    if a.rows is None or b.rows is None:
        return a if b.rows is None else b
    seen = a.seen + b.seen
    from_a = rng.hypergeometric(a.seen, b.seen, min(seen, CAPACITY))
    kept_a, kept_b = rng.permutation(a.held)[:from_a], rng.permutation(b.held)[: min(seen, CAPACITY) - from_a]
    return Sample(append(a.rows[np.sort(kept_a)], b.rows[np.sort(kept_b)]), seen)


def contrast(below: Sample, above: Sample, by_content: bool = False) -> tuple[Table, np.ndarray]:
    """The rows of two samples in one table, and which are of the second; of either as they came, or ``by_content``."""
    table, is_pos = as_table(append(below.rows, above.rows)), np.arange(below.held + above.held) >= below.held
    order = sorted_rows(table, is_pos) if by_content else None
    return table if order is None else as_table(table.part(order)), is_pos
