"""Rows that lie in files or on a cluster: checked, labelled, and given back one score a row."""

import os
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags

from auclid import _check
from auclid._sources import known_names, label_missing, with_target
from auclid.data import as_table
from auclid.data.dask import DaskDataset, described, is_dask, lazily, partition_calls
from auclid.data.dataset import Dataset
from auclid.data.file_dataset import FileDataset
from auclid.data.files import Rows
from auclid.data.labels import LabelCount, label_count
from auclid.stats.labelled import LabelledDataset, coded, numbered

FEW = 8
"""Labels up to which it is quickest to look for each."""


def lies_apart(X: Any) -> bool:
    """Whether rows are not in memory: `Rows`, a dask collection, or such rows as another estimator prepared them."""
    return isinstance(X, Rows | LabelledDataset) or is_dask(X)


def begin_apart(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> LabelledDataset:
    """Rows with two classes, checked; sets what scikit-learn wants to know of columns and classes."""
    if isinstance(X, LabelledDataset):
        remember_columns(estimator, X.parts.columns, X.parts.width)
        estimator.classes_ = X.classes
        return X
    parts, counts = labelled_parts(estimator, X, y, sample_weight)
    classes = two_classes(estimator, counts, _where(X))
    rows = with_classes(estimator, parts, counts, classes)
    remember_columns(estimator, parts.columns, parts.width)
    estimator.classes_ = classes
    return rows


def begin_classes(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> LabelledDataset:
    """`begin_apart` of rows with two classes or more."""
    parts, counts = labelled_parts(estimator, X, y, sample_weight)
    found = sorted({label for part in counts for label in part if label is not None})
    if len(found) <= 2 or any(None in part for part in counts):
        two_classes(estimator, counts, _where(X))  # says what is wrong, if anything is
    classes = np.array(found)
    rows = count_labels(parts.transformed(partial(numbered, classes)), classes, [[label] for label in found], counts)
    remember_columns(estimator, parts.columns, parts.width)
    estimator.classes_ = classes
    return rows


def labelled_parts(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Dataset, list[dict]]:
    """The rows in parts, and of each part {label: LabelCount}."""
    owner = type(estimator).__name__
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise ValueError(
                f"{owner} must be given rows of files with their own target and weight; got another "
                f"{'y' if y is not None else 'sample_weight'}. Name it in scan(..., target=, sample_weight=)."
            )
        with_target(estimator, X)
        return FileDataset(X, gaps=knows_gaps(estimator), words=knows_words(estimator)), block_counts(X)
    _check.labelled(estimator, y)
    parts = DaskDataset(owner, X, y, sample_weight, knows_gaps(estimator), knows_words(estimator))
    return parts, parts.label_counts()


def knows_gaps(estimator: Any) -> bool:
    """Whether an estimator accepts missing numbers, by its tags."""
    return bool(get_tags(estimator).input_tags.allow_nan)


def knows_words(estimator: Any) -> bool:
    """Whether an estimator accepts columns of texts, categories and dates, by its tags."""
    tags = get_tags(estimator).input_tags
    return bool(tags.string and tags.categorical)


def takes_dataset(model: Any) -> bool:
    """Whether a model's `fit` learns from a `LabelledDataset`, in one pass over its parts or a few."""
    return bool(getattr(model, "_fits_apart", False))


def with_classes(estimator: Any, parts: Dataset, counts: list[dict], classes: np.ndarray) -> LabelledDataset:
    """Labels as numbers of classes; refuses a class without weight."""
    rows = count_labels(
        parts.transformed(partial(coded, classes)), classes, [[label] for label in classes.tolist()], counts
    )
    _check.weighed_classes(estimator, *rows.counts.sum(axis=0))
    return rows


def count_labels(parts: Dataset, classes: np.ndarray, sets: list[list], counts: list[dict]) -> LabelledDataset:
    """Rows in parts, with what the counts of labels tell of sets of labels."""
    found = [[_together([part[label] for label in labels if label in part]) for labels in sets] for part in counts]
    every, weighed = (np.array([[each[k] for each in part] for part in found], dtype=np.int64) for k in (0, 1))
    largest = np.array([max(part[k].largest for part in found) for k in range(len(sets))])
    first, first_weighed, first_idle = (
        [_first((number, part[k][field]) for number, part in enumerate(found)) for k in range(len(sets))]
        for field in (3, 4, 5)
    )
    idle = _first(each for each in first_idle if each is not None)
    return LabelledDataset(parts, classes, weighed, every, largest, first, [*first_weighed, idle])


def _together(counts: list[LabelCount]) -> LabelCount:
    """The counts of several labels as of one."""
    firsts: list[int | None] = []
    for name in ("first", "first_weighed", "first_idle"):
        found = [getattr(count, name) for count in counts]
        firsts.append(min((place for place in found if place is not None), default=None))
    rows, weighed = sum(count.rows for count in counts), sum(count.weighed for count in counts)
    return LabelCount(rows, weighed, max((count.largest for count in counts), default=0.0), *firsts)


def _first(places: Any) -> tuple[int, int] | None:
    return min((place for place in places if place[1] is not None), default=None)


def block_counts(rows: Rows) -> list[dict]:
    """The `LabelCount` of each label in each block, from the labels alone."""
    labels, weight, counts, start = rows.labels(), rows.sample_weight(), [], 0
    levels = [None if level is None or level != level else level for level in labels.table().tolist()]
    for codes in labels.code_blocks(rows.block_sizes()):
        part = slice(start, start + len(codes))
        counts.append(count_codes(codes, levels, None if weight is None else weight[part]))
        start += len(codes)
    return counts


def count_codes(codes: np.ndarray, levels: list, weight: np.ndarray | None) -> dict:
    """{label: LabelCount}"""
    present = range(len(levels)) if len(levels) <= FEW else np.flatnonzero(np.bincount(codes))
    members = {levels[k]: codes == k for k in present}
    return {level: label_count(here, weight) for level, here in members.items() if here.any()}


def two_classes(estimator: Any, counts: list[dict], where: tuple[str, str]) -> np.ndarray:
    """The two classes, sorted; a sentence that names the part where there is a third, or where a label is missing."""
    first: dict = {}
    for number, part in enumerate(counts):
        for label in part:
            first.setdefault(label, number)
    kind, what = where
    if None in first:
        raise label_missing(what, kind, first[None])
    try:
        return _check.two_classes(estimator, list(first))
    except ValueError as error:
        if len(first) < 3:
            raise
        third = sorted(first, key=lambda label: first[label])[2]
        raise ValueError(f"{error} A third, {third!r}, first comes in {kind} {first[third]}.") from None


def own_classes(estimator: Any, rows: Rows) -> np.ndarray:
    """The two classes of rows of files."""
    return two_classes(estimator, block_counts(rows), _where(rows))


def _where(X: Any) -> tuple[str, str]:
    return ("block", X.where) if isinstance(X, Rows) else ("partition", "y")


def remember_columns(estimator: Any, columns: list[str] | None, width: int) -> None:
    """Set ``n_features_in_``, and ``feature_names_in_`` where columns have names."""
    vars(estimator).pop("feature_names_in_", None)
    estimator.n_features_in_ = width
    if columns is not None:
        estimator.feature_names_in_ = np.array(columns, dtype=object)


def known_columns(estimator: Any, columns: list[str] | None, width: int) -> None:
    """Raise where columns are not those that the estimator has learnt from."""
    known_names(estimator, columns)
    _check.known_width(estimator, width)


def by_parts(method: Callable) -> Callable:
    """Decorates decision_function and the like: rows in files are answered by blocks, dask collections lazily."""

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if isinstance(X, Rows):
            answers = block_answers(self, X, method, *args, **kwargs)
            return _joined(answers) if out is None else _written(answers, X.shape[0], out)
        if out is not None:
            raise ValueError(
                f"The 'out' of {method.__name__} is for rows of files; pass auclid.scan(...), or leave it out."
            )
        if is_dask(X):
            known_partitions(self, X)
            answer_of = partial(_answer, method, self, args, kwargs)
            kind, gaps, words = _kind_of(self, method, X), knows_gaps(self), knows_words(self)
            return lazily(type(self).__name__, X, answer_of, *kind, gaps=gaps, words=words)
        return method(self, X, *args, **kwargs)

    return answer


def _answer(method: Callable, estimator: Any, args: tuple, kwargs: dict, X: Any) -> Any:
    """A method's answer for one block: as it comes where the estimator takes columns of any type, else as a table.

    A block has no names to compare, and may be empty, which no estimator takes: it is then answered of any row.
    """
    some = X if X.shape[0] else _any_row(estimator, X.shape[1], getattr(X, "dtype", float))
    with _check.names_known():
        answer = method(estimator, some if knows_words(estimator) else as_table(some), *args, **kwargs)
    return answer if X.shape[0] else answer[:0]


def _any_row(estimator: Any, width: int, dtype: Any) -> np.ndarray:
    """A row that an estimator takes: of zeros, or of missing cells, which are dates and texts as well."""
    return np.full((1, width), np.nan if knows_words(estimator) else 0.0, dtype)


def _kind_of(estimator: Any, method: Callable, X: Any) -> tuple[np.dtype, int | None]:
    """The type of one answer, and how many there are a row (None: one)."""
    _, width, dtype = described(type(estimator).__name__, X, words=True)
    answer = _answer(method, estimator, (), {}, _any_row(estimator, width, dtype))
    answer = answer if sparse.issparse(answer) else np.asarray(answer)
    return answer.dtype, None if answer.ndim == 1 else answer.shape[1]


def part_answers(estimator: Any, X: Any, method: Callable, *args: Any, **kwargs: Any) -> list:
    """What a method of a fitted estimator answers for each block of rows in files, for each partition of a dask
    collection, or for all rows in memory: for answers that are no arrays."""
    if isinstance(X, Rows):
        return list(block_answers(estimator, X, method, *args, **kwargs))
    if is_dask(X):
        import dask

        known_partitions(estimator, X)
        how = type(estimator).__name__, X, partial(_answer, method, estimator, args, kwargs)
        return list(dask.compute(*partition_calls(*how, knows_gaps(estimator), knows_words(estimator))))
    return [method(estimator, X, *args, **kwargs)]


def known_partitions(estimator: Any, X: Any) -> None:
    """Raise where the columns of a dask collection are not those that the estimator has learnt from."""
    _check.fitted(estimator, "n_features_in_")
    known_columns(estimator, [str(name) for name in X.columns] if hasattr(X, "columns") else None, int(X.shape[1]))
    described(type(estimator).__name__, X, knows_words(estimator))


def block_answers(estimator: Any, rows: Rows, method: Callable, *args: Any, **kwargs: Any) -> Iterator[Any]:
    """What a method of a fitted estimator answers for rows in files, a block at a time."""
    _check.fitted(estimator, "n_features_in_")
    known_columns(estimator, rows.columns if rows.named else None, len(rows.columns))
    if not knows_words(estimator):
        rows.require_numeric()
    seen = rows.decode if knows_words(estimator) else lambda block: block
    blocks = rows.read(knows_gaps(estimator), allow_categorical=True)
    return (_answer(method, estimator, args, kwargs, seen(block.X)) for block in blocks)


def _joined(answers: Iterator[Any]) -> Any:
    every = list(answers)
    return sparse.vstack(every, format="csr") if sparse.issparse(every[0]) else np.concatenate(every)


def _written(answers: Iterator[Any], count: int, out: Any) -> np.ndarray:
    """The answers as a memory-mapped ``.npy`` file."""
    path = Path(out)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _write_blocks(answers, count, part)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)  # what a bad block has ended is neither here nor in the place of an older file
        raise
    return np.load(path, mmap_mode="r")


def _write_blocks(answers: Iterator[Any], count: int, path: Path) -> None:
    """A ``.npy`` file of the answers, block after block."""
    described = False
    with path.open("wb") as file:
        for each in answers:
            answer = np.ascontiguousarray(each)
            if answer.dtype.hasobject:
                raise ValueError("out= must be given numbers or texts to write; labels of mixed kinds cannot be.")
            if not described:
                kind = np.lib.format.dtype_to_descr(answer.dtype)
                head = {"descr": kind, "fortran_order": False, "shape": (count, *answer.shape[1:])}
                np.lib.format.write_array_header_1_0(file, head)
                described = True
            file.write(answer.tobytes())
