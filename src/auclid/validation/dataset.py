"""Rows as a dataset, wherever they are: checked, and labelled with numbers of classes.

This module is where the difference between arrays, frames, rows of files and Dask collections ends: `labelled_dataset`
gives labelled rows, `encoded_rows` and `encoded_labelled_rows` rows in which texts, categories and dates are numbers.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_y

from auclid import _sizes
from auclid.data import Table
from auclid.data.dask import DaskDataset
from auclid.data.dataset import Dataset
from auclid.data.encoding import column_names, is_frame
from auclid.data.files import Rows
from auclid.data.labels import LabelCount, label_count
from auclid.data.mapped import is_label, mapped
from auclid.data.memory import MemoryDataset
from auclid.stats.labelled import LabelledDataset, coded, numbered
from auclid.validation import vectors
from auclid.validation.rows import (
    RowAccess,
    allows_categorical,
    allows_missing,
    check_row_access,
    check_rows_and_labels,
    in_parts,
    remember_columns,
    require_every_label,
    require_labels,
    require_target,
    require_weight_support,
    unlabelled_error,
    unlabelled_parts,
)
from auclid.validation.tables import EncodedTable, RawTable, checked_table, encode_table, take_rows


def labelled_dataset(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    multiclass: bool = False,
    raw: bool = False,
) -> LabelledDataset:
    """The rows to learn from, with the number of its class as the label of each.

    Sets ``classes_`` and what scikit-learn wants to know of the columns. With ``raw``, rows in memory stay as they
    came; a block of rows in files, or a partition, is numbers: `Dataset.decode` makes a table of them.
    """
    if isinstance(X, LabelledDataset):
        return prepared_dataset(estimator, X)
    if in_parts(X):
        rows = _partitioned(estimator, X, y, sample_weight, multiclass)
        return rows if estimator._row_access is RowAccess.PARTS else rows.as_one_part()
    if raw:
        require_every_label(estimator, y)
        table: Table = RawTable(checked_table(estimator, X, reset=True))
        labels = vectors.labels(_check_y(y, estimator=estimator))
        check_consistent_length(table, labels)
        return _in_memory(estimator, table, labels, sample_weight, multiclass)
    table, labels = check_rows_and_labels(estimator, X, y, reset=True)
    return _in_memory(estimator, table, labels, sample_weight, multiclass)


def prepared_dataset(estimator: Any, rows: LabelledDataset) -> LabelledDataset:
    """Rows that another estimator prepared, with their columns and classes taken over."""
    remember_columns(estimator, rows.parts.columns, rows.parts.width)
    estimator.classes_ = rows.classes
    return rows


def _in_memory(estimator: Any, table: Table, y: np.ndarray, sample_weight: Any, multiclass: bool) -> LabelledDataset:
    """The dataset of one part."""
    weight = vectors.check_relative_weights(sample_weight, table)
    classes = np.unique(y) if multiclass else vectors.two_classes(estimator, y)
    if len(classes) > 2:
        estimator.classes_ = classes
        return LabelledDataset.from_table(table, np.searchsorted(classes, y), weight, classes, len(classes))
    if multiclass:
        vectors.two_classes(estimator, classes)
    is_pos = y == classes[1]
    vectors.both_weighed(estimator, is_pos, weight)
    estimator.classes_ = classes
    return LabelledDataset.from_table(table, is_pos, weight, classes)


def _partitioned(estimator: Any, X: Any, y: Any, sample_weight: Any, multiclass: bool) -> LabelledDataset:
    """The dataset of rows in files or in a Dask collection."""
    parts, counts = labelled_parts(estimator, X, y, sample_weight)
    levels = sorted({label for part in counts for label in part if label is not None})
    if not multiclass or len(levels) <= 2 or any(None in part for part in counts):
        classes = two_classes(estimator, counts, _where(X))
        codes = parts.relabelled(partial(coded, classes))
        rows = count_labels(codes, classes, [[label] for label in classes.tolist()], counts)
        vectors.weighed_classes(estimator, *rows.counts.sum(axis=0))
    else:
        classes = np.array(levels)
        codes = parts.relabelled(partial(numbered, classes))
        rows = count_labels(codes, classes, [[label] for label in levels], counts)
    remember_columns(estimator, parts.columns, parts.width)
    estimator.classes_ = classes
    return rows


def labelled_parts(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Dataset, list[dict]]:
    """Rows of files or of a Dask collection in parts, and of each part {label: LabelCount}."""
    if isinstance(X, Rows):
        _refuse_extra_column(estimator, y=y, sample_weight=sample_weight)
        require_target(estimator, X)
        require_weight_support(estimator, X)
        return unlabelled_parts(estimator, X), block_counts(X)
    check_row_access(estimator, X)
    require_labels(estimator, y)
    parts = DaskDataset(
        type(estimator).__name__, X, y, sample_weight, allows_missing(estimator), allows_categorical(estimator)
    )
    return parts, parts.label_counts()


def _refuse_extra_column(estimator: Any, **given: Any) -> None:
    """Raise where y or sample_weight is given beside rows of files."""
    for name, values in given.items():
        if values is not None:
            own = "target and weight" if "y" in given else "weight"
            scanned = "target=, sample_weight=" if "y" in given else "sample_weight="
            raise ValueError(
                f"{type(estimator).__name__} must be given rows of files with their own {own}; got another {name}. "
                f"Name it in scan(..., {scanned})."
            )


# Labels of parts


def count_labels(parts: Dataset, classes: np.ndarray, sets: list[list], counts: list[dict]) -> LabelledDataset:
    """Rows in parts, with what the counts of labels tell of sets of labels."""
    of_sets = [[_count_set(part, labels) for labels in sets] for part in counts]
    return LabelledDataset.from_counts(parts, classes, of_sets)


def _count_set(part: dict, labels: list) -> LabelCount:
    """The counts of a part's labels that are in a set, as of one label."""
    counts = [part[label] for label in labels if label in part]
    firsts: list[int | None] = []
    for name in ("first", "first_weighed", "first_idle"):
        places = [getattr(count, name) for count in counts]
        firsts.append(min((place for place in places if place is not None), default=None))
    rows, weighed = sum(count.rows for count in counts), sum(count.weighed for count in counts)
    return LabelCount(rows, weighed, max((count.largest for count in counts), default=0.0), *firsts)


def block_counts(rows: Rows) -> list[dict]:
    """The `LabelCount` of each label in each block, from the labels alone."""
    labels, weight, counts, start = rows.labels(), rows.sample_weight(), [], 0
    levels = [None if level is None or level != level else level for level in labels.table().tolist()]
    for codes in labels.code_blocks(rows.block_sizes()):
        part = slice(start, start + len(codes))
        counts.append(_count_codes(codes, levels, None if weight is None else weight[part]))
        start += len(codes)
    return counts


def _count_codes(codes: np.ndarray, levels: list, weight: np.ndarray | None) -> dict:
    """{label: LabelCount} of a block of codes."""
    present = range(len(levels)) if len(levels) <= _sizes.MAX_COMPARED_LEVELS else np.flatnonzero(np.bincount(codes))
    members = {levels[k]: codes == k for k in present}
    return {level: label_count(here, weight) for level, here in members.items() if here.any()}


def two_classes(estimator: Any, counts: list[dict], where: tuple[str, str]) -> np.ndarray:
    """The two classes, sorted; an error names the part where there is a third, or where a label is missing."""
    first: dict = {}
    for number, part in enumerate(counts):
        for label in part:
            first.setdefault(label, number)
    kind, what = where
    if None in first:
        raise unlabelled_error(estimator, f"a missing one in {kind} {first[None]} of {what}")
    try:
        return vectors.two_classes(estimator, list(first))
    except ValueError as error:
        if len(first) < 3:
            raise
        third = sorted(first, key=lambda label: first[label])[2]
        raise ValueError(f"{error} A third, {third!r}, first comes in {kind} {first[third]}.") from None


def _where(X: Any) -> tuple[str, str]:
    """What a part of X is called, and what its labels are of."""
    return ("block", X.where) if isinstance(X, Rows) else ("partition", "y")


# Rows of which every cell is a number


def encoded_rows(estimator: Any, X: Any, sample_weight: Any, categories: Callable[[list[str]], list[int]]) -> Dataset:
    """Rows without labels, every cell a number; those of weight zero are left out, or have that weight.

    ``categories`` tells, by the names of the columns, the numbers of those that are categories by request. Sets what
    scikit-learn wants to know of the columns.
    """
    if in_parts(X):
        if isinstance(X, Rows):
            _refuse_extra_column(estimator, sample_weight=sample_weight)
        rows = unlabelled_parts(estimator, X, sample_weight)
        remember_columns(estimator, rows.columns, rows.width)
        return rows
    X = checked_table(estimator, X, reset=True)
    weight = vectors.check_relative_weights(sample_weight, X)
    if weight is not None:
        if not weight.any():
            owner = type(estimator).__name__
            raise ValueError(f"sample_weight of {owner} must be positive on some row; got zeros only.")
        X, weight = take_rows(X, np.flatnonzero(weight)), weight[weight > 0.0]
    table = encode_table(estimator, X, categories(column_names(X)))
    return _memory_dataset(X, table, None, weight, block_rows(table.X))


def encoded_batch(
    owner: Any, X: Any, weight: np.ndarray | None, categories: Callable[[list[str]], list[int]]
) -> MemoryDataset:
    """The dataset of a checked table in memory, without labels; ``categories`` as of `encoded_rows`."""
    return _memory_dataset(X, encode_table(owner, X, categories(column_names(X))), None, weight)


def _memory_dataset(
    raw: Any, table: EncodedTable, labels: np.ndarray | None, weight: np.ndarray | None, block_rows: int | None = None
) -> MemoryDataset:
    """The dataset of an encoded table, with the names of the columns of the one it was made of."""
    rows = MemoryDataset(RawTable(table.X), labels, weight, block_rows=block_rows, encodings=table.encodings)
    rows.columns = column_names(raw) if is_frame(raw) else None
    return rows


def block_rows(X: Any) -> int:
    """How many rows of a table make a block that may be copied."""
    return max(_sizes.MIN_BLOCK_ROWS, _sizes.LARGE_BYTES // (8 * max(1, X.shape[1])))


def encoded_labelled_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, categories: Callable[[list[str]], list[int]]
) -> LabelledDataset:
    """Rows of two classes, every cell a number; ``categories`` as of `encoded_rows`."""
    rows = labelled_dataset(estimator, X, y, sample_weight, raw=True)
    if rows.partitioned:
        return rows
    raw, (labels, weight) = raw_table(rows), rows.labels()
    table = encode_table(estimator, raw, categories(column_names(raw)))
    return rows._replace(parts=_memory_dataset(raw, table, labels, weight))


def raw_table(rows: LabelledDataset) -> Any:
    """All rows of a dataset in memory, as they came."""
    return rows.table().part(slice(None))


def binary_source(rows: LabelledDataset, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """(X, y, sample_weight) of the same rows for another estimator, labelled by whether they are of ``classes[1]``.

    ``X``, ``y`` and ``sample_weight`` are those that ``rows`` were made of.
    """
    if isinstance(X, Rows):
        return mapped(X, labels=partial(is_label, rows.classes[1])), None, None
    if rows.partitioned:
        return X, y == rows.classes[1], sample_weight
    labels, weight = rows.labels()
    return raw_table(rows), labels == 1, weight


def mapped_source(X: Any, transform: Callable, columns: list[str]) -> Any:
    """What a function of a block makes of X: rows of files as they are read, all others at once."""
    return mapped(X, numbers=transform, columns=columns) if isinstance(X, Rows) else transform(X)
