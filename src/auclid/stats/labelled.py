"""Labelled rows in parts: class counts, samples and moments, each from one pass over the parts."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid.data.array_tables import as_table
from auclid.data.dataset import Dataset, Part, Totals
from auclid.data.labels import LabelCount, label_count
from auclid.data.memory import MemoryDataset
from auclid.data.table import Table
from auclid.stats.moments import ClassMoments, grouped_moments
from auclid.stats.weights import rescale_weights


class LabelledTable(NamedTuple):
    """A table with the class of each row, and the weights of the rows if they have some."""

    table: Table
    is_pos: np.ndarray
    weight: np.ndarray | None

    def held_out(self, test: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Class and weight of the rows of a test set."""
        return self.is_pos[test], None if self.weight is None else self.weight[test]


class LabelledDataset(NamedTuple):
    """A dataset whose labels are numbers of sets: 0 negative, 1 positive, 2 unlabelled; or of more classes."""

    parts: Dataset
    classes: np.ndarray
    counts: np.ndarray
    """(parts, sets): rows of positive weight."""
    every: np.ndarray
    """(parts, sets): rows of any weight."""
    largest: np.ndarray
    """(sets,): the largest weight; 1 where there are no weights."""
    first: list
    """Of each set the (part, row) of its first row, or None."""
    first_weighed: list
    """The first rows of positive weight of each set, then the first row of weight zero."""

    @classmethod
    def from_table(
        cls, table: Table, labels: np.ndarray, weight: np.ndarray | None, classes: np.ndarray, n_sets: int = 2
    ) -> "LabelledDataset":
        """The rows of a table in memory as one part; ``labels`` are numbers of sets, or whether rows are positive."""
        codes = labels.view(np.int8) if labels.dtype == bool else labels
        counts = [label_count(codes == number, weight) for number in range(n_sets)]
        return cls.from_counts(MemoryDataset(table, codes, weight), classes, [counts])

    @classmethod
    def from_parts(
        cls, parts: Dataset, sizes: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None, classes: np.ndarray
    ) -> "LabelledDataset":
        """Rows in parts of these sizes, with classes and weights that are in memory."""
        ends = np.cumsum(sizes)[:-1]
        codes = np.split(is_pos.view(np.int8), ends)
        weights = [None] * len(sizes) if weight is None else np.split(weight, ends)
        counts = [[label_count(own == k, w) for k in (0, 1)] for own, w in zip(codes, weights, strict=True)]
        return cls.from_counts(parts.relabelled(partial(part_with_labels, codes, weights)), classes, counts)

    @classmethod
    def from_counts(cls, parts: Dataset, classes: np.ndarray, counts: list[list[LabelCount]]) -> "LabelledDataset":
        """Rows in parts that are labelled with numbers of sets, with the counts of each set in each part."""
        by_set = list(zip(*counts, strict=True))
        first, first_weighed, first_idle = (
            [_first_place((number, getattr(count, field)) for number, count in enumerate(each)) for each in by_set]
            for field in ("first", "first_weighed", "first_idle")
        )
        return cls(
            parts,
            classes,
            np.array([[count.weighed for count in part] for part in counts], dtype=np.int64),
            np.array([[count.rows for count in part] for part in counts], dtype=np.int64),
            np.array([max(count.largest for count in each) for each in by_set]),
            first,
            [*first_weighed, _first_place(each for each in first_idle if each is not None)],
        )

    @property
    def n_rows(self) -> int:
        """The number of rows, of any weight."""
        return int(self.every.sum())

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.parts.width

    @property
    def partitioned(self) -> bool:
        """Whether the rows lie in parts that must not be brought together."""
        return self.parts.partitioned

    def table(self) -> Table:
        """All rows as one table; where they are in parts, products with it are computed there."""
        return self.parts.table(self.every.sum(axis=1))

    def labels(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The number of its set for each row, and the weights of the rows if they have some."""
        of_parts: Any = self.parts.labels()
        if len(of_parts) == 1:
            return of_parts[0]
        labels, weights = zip(*of_parts, strict=True)
        return np.concatenate(labels), None if weights[0] is None else np.concatenate(weights)

    def labelled_table(self) -> LabelledTable:
        """All rows as one table, with their classes and weights in memory."""
        labels, weight = self.labels()
        return LabelledTable(self.table(), labels == 1, weight)

    def as_one_part(self) -> "LabelledDataset":
        """The rows as one part, with labels in memory, for solvers that step from row to row.

        The rows are in memory, too, where as much memory is allowed; else they stay where they are, and the order of
        steps is one that shuffles a few parts at a time.
        """
        if not self.partitioned:
            return self
        table = self.parts.row_table(self.every.sum(axis=1))
        labels, weight = self.labels()
        weight = None if weight is None else rescale_weights(weight)
        return LabelledDataset.from_table(table, labels, weight, self.classes, self.counts.shape[1])

    def transformed(self, step: Callable, width: int | None = None) -> "LabelledDataset":
        """The rows that a function makes of each part; ``width`` columns without names."""
        return self._replace(parts=self.parts.transformed(step, width))


def _first_place(places: Iterable[Any]) -> tuple[int, int] | None:
    """The first (part, row), of those where there is a row."""
    return min((place for place in places if place[1] is not None), default=None)


def one_against_rest(rows: LabelledDataset, number: int) -> LabelledDataset:
    """The rows in two sets: 1 for those of one set, 0 for all others; of classes False and True."""
    others = [k for k in range(rows.counts.shape[1]) if k != number]

    def two(table: np.ndarray) -> np.ndarray:
        return np.column_stack([table[:, others].sum(axis=1), table[:, number]])

    def first(places: list) -> list:
        return [min((places[k] for k in others if places[k] is not None), default=None), places[number]]

    return LabelledDataset(
        rows.parts.relabelled(partial(part_is_set, number)),
        np.array([False, True]),
        two(rows.counts),
        two(rows.every),
        np.array([rows.largest[others].max(), rows.largest[number]]),
        first(rows.first),
        [*first(rows.first_weighed), rows.first_weighed[-1]],
    )


def part_is_set(number: int, part: Part) -> Part:
    """A part labelled by whether its rows are of a set."""
    return part._replace(y=(part.labels == number).astype(np.int8))


def reweighted(rows: LabelledDataset, weight: np.ndarray) -> LabelledDataset:
    """The rows with new weights, one for each row; those of weight zero keep it."""
    pieces = np.split(weight, np.cumsum(rows.every.sum(axis=1))[:-1])
    return rows._replace(parts=rows.parts.relabelled(partial(part_with_weight, pieces)))


def part_with_labels(labels: list[np.ndarray], weight: Sequence[np.ndarray | None], part: Part) -> Part:
    """A part with other labels and weights."""
    return part._replace(y=labels[part.number], weight=weight[part.number])


def part_with_weight(weight: list[np.ndarray], part: Part) -> Part:
    """A part with other weights."""
    return part._replace(weight=weight[part.number])


def coded(classes: np.ndarray, part: Part) -> Part:
    """The part with the number of its class in place of each label."""
    return part._replace(y=(part.labels == classes[1]).astype(np.int8))


def numbered(classes: np.ndarray, part: Part) -> Part:
    """The part with the number of its class, of two or more, in place of each label."""
    return part._replace(y=np.searchsorted(classes, part.labels))


def set_moments(rows: LabelledDataset, n_sets: int) -> Totals:
    """The moments of each set, in one pass."""
    return rows.parts.compute(rows.parts.reduce(part_moments, n_sets))


def class_moments_of(rows: LabelledDataset, full: bool = True) -> ClassMoments:
    """The moments of both classes, in one pass; ``full=False`` keeps the trace of the scatter only."""
    neg, pos = rows.parts.compute(rows.parts.reduce(part_moments, 2, full))
    return ClassMoments(pos, neg)


def part_moments(part: Part, n_sets: int, full: bool = True) -> Totals:
    """The moments of each set of one part."""
    return Totals(grouped_moments(as_table(part.X), part.labels, n_sets, part.weight, full))


def sampled(rows: LabelledDataset, sizes: list[int]) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """(X, set, weight) of up to so many rows of each set, drawn without replacement, in the order of the rows."""
    return joined(rows.parts.compute(rows.parts.map(drawn_rows, drawn_places(rows, sizes))))


def sampled_at(rows: LabelledDataset, sizes: list[int]) -> tuple[tuple[Any, np.ndarray, np.ndarray | None], list]:
    """What `sampled` gives, and where in each part its rows are."""
    parts = rows.parts.compute(rows.parts.map(drawn_rows_at, drawn_places(rows, sizes)))
    return joined([each for each, _ in parts]), [at for _, at in parts]


def drawn_places(rows: LabelledDataset, sizes: list[int]) -> list[list[np.ndarray]]:
    """Which rows to draw of each part: for each set, places among its rows of that set; by the sizes of sets only."""
    rng, total = np.random.default_rng(0), rows.counts.sum(axis=0)
    wanted = [[np.arange(0)] * len(sizes) for _ in rows.counts]
    for k in sorted(range(len(sizes)), key=lambda k: (total[k], -k)):  # the rarer class first, as `Pairs.sample` does
        if total[k] > sizes[k]:
            drawn = np.sort(rng.choice(total[k], sizes[k], replace=False, shuffle=False))
        else:
            drawn = np.arange(total[k])
        before = np.concatenate([[0], np.cumsum(rows.counts[:, k])])
        for number, (a, b) in enumerate(pairwise(before)):
            wanted[number][k] = drawn[np.searchsorted(drawn, a) : np.searchsorted(drawn, b)] - a
    return wanted


class BoundedSample(NamedTuple):
    """Rows that were brought together in memory: all of them, or a sample of each set."""

    X: Any
    """An array, a CSR matrix, or rows as they came."""
    labels: np.ndarray
    """The number of its set, for each row."""
    weight: np.ndarray | None
    places: list[np.ndarray]
    """Where in each part the rows are."""
    complete: bool
    """Whether no row of positive weight is missing."""


def bounded_sample(rows: LabelledDataset, limit: int | None, least: int = 1) -> BoundedSample:
    """All rows in their order, where they are no more than ``limit``; else a sample of each set by its share.

    A sample has at least ``least`` rows of each set, if there are so many, none of weight zero, and depends on the
    numbers of rows of the sets only.
    """
    if limit is None or rows.n_rows <= limit:
        return all_rows(rows)
    counts = rows.counts.sum(axis=0)
    share = min(1.0, limit / int(counts.sum()))
    return _sample_of_sizes(rows, [max(least, round(share * int(count))) for count in counts])


def balanced_sample(rows: LabelledDataset, limit: int | None) -> BoundedSample:
    """All rows in their order, where no set has more than ``limit``; else up to so many rows of each set, drawn as
    `bounded_sample` draws them."""
    if limit is None or (rows.every.sum(axis=0) <= limit).all():
        return all_rows(rows)
    return _sample_of_sizes(rows, [limit] * rows.counts.shape[1])


def all_rows(rows: LabelledDataset) -> BoundedSample:
    """All rows, of any weight, in their order."""
    parts, places = rows.parts.compute(rows.parts.map(part_all)), [np.arange(n) for n in rows.every.sum(axis=1)]
    return BoundedSample(*joined(parts), places, True)


def _sample_of_sizes(rows: LabelledDataset, sizes: list[int]) -> BoundedSample:
    counts = rows.counts.sum(axis=0)
    rows_of_sets, places = sampled_at(rows, sizes)
    return BoundedSample(*rows_of_sets, places, bool((np.asarray(sizes) >= counts).all()))


def part_all(part: Part) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Rows, sets and weights of a part."""
    X = part.X.part(slice(None)) if isinstance(part.X, Table) else part.X
    return X, part.labels, part.weight


def joined(parts: list) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Rows, sets and weights of several parts, in one piece."""
    if len(parts) == 1:
        return parts[0]
    X = [each[0] for each in parts]
    weight = None if parts[0][2] is None else np.concatenate([each[2] for each in parts])
    together = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X)
    return together, np.concatenate([each[1] for each in parts]), weight


def drawn_rows(part: Part, wanted: list[list[np.ndarray]]) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """The rows of a part that are wanted, by their place among those of their set."""
    return drawn_rows_at(part, wanted)[0]


def drawn_rows_at(
    part: Part, wanted: list[list[np.ndarray]]
) -> tuple[tuple[Any, np.ndarray, np.ndarray | None], np.ndarray]:
    """The rows of a part that are wanted, by their place among those of their set; and where in the part they are."""
    weighed = part.labels if part.weight is None else np.where(part.weight > 0.0, part.labels, -1)
    places = [np.flatnonzero(weighed == k)[chosen] for k, chosen in enumerate(wanted[part.number])]
    at = np.sort(np.concatenate(places))
    X = as_table(part.X).part(at)
    return (X, part.labels[at], None if part.weight is None else part.weight[at]), at


def rows_of_set(number: int, part: Part) -> Part:
    """The rows of one set, of positive weight."""
    at = part.members(number)
    X = as_table(part.X).part(at)
    return part._replace(X=X, y=part.labels[at], weight=None if part.weight is None else part.weight[at])


def keep_only(rows: LabelledDataset, number: int) -> Dataset:
    """The rows of one set, kept where they are."""
    return rows.parts.cached(partial(rows_of_set, number))
