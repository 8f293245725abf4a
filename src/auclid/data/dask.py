"""Dask collections as rows in parts: a task for each partition, sums in a fixed tree, nothing brought together.

dask is imported only where a collection of it is at hand. Whichever scheduler is active is used. A lost worker means
that its tasks are made again, with the same bits.
"""

import operator
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes
from auclid.data.array_tables import as_table, gathered
from auclid.data.blocks import Block, concatenate_rows, describe_nonfinite, first_nonfinite
from auclid.data.dataset import Dataset, Part, apply, itself, part_block, part_bytes, part_labels
from auclid.data.encoding import ColumnEncoding, merge_encodings
from auclid.data.labels import label_count
from auclid.data.readers.frame import FrameReader
from auclid.data.readers.function import block_numbers
from auclid.data.readers.reader import ColumnSelection
from auclid.data.table import Index, Sweep, Table


def is_dask(X: Any) -> bool:
    """Whether X is a collection of dask, told without importing it."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


class DaskDataset(Dataset):
    """A dask array or frame, with labels and weights of the same partitions."""

    def __init__(
        self,
        owner: str,
        X: Any,
        y: Any = None,
        weight: Any = None,
        allow_missing: bool = False,
        allow_categorical: bool = False,
    ) -> None:
        import dask

        self._dask, self._owner, self.memory = dask, owner, _sizes.DEFAULT_MEMORY
        self.columns, self.width, self.dtype = described(owner, X, allow_categorical)
        self.encodings = frame_encodings(X) if allow_categorical else {}
        known = dask.delayed(dict(self.encodings), pure=False, traverse=False) if self.encodings else {}
        numbers = _row_blocks(X) if allow_categorical else transform_inputs(X) or _row_blocks(X)
        labels, weights = (
            column_parts(owner, name, part, X, len(numbers)) or [None] * len(numbers)
            for name, part in (("y", y), ("sample_weight", weight))
        )
        make = dask.delayed(made_part, pure=True)
        self._parts = [
            make(owner, number, block, labels[number], weights[number], (self.dtype, self.width, allow_missing), known)
            for number, block in enumerate(numbers)
        ]
        self._steps: tuple[Callable, ...] = ()
        self._labels: list | None = list(zip(labels, weights, strict=True))

    def _with(self, parts: list, steps: Sequence[Callable]) -> "DaskDataset":
        other = object.__new__(DaskDataset)
        vars(other).update(vars(self), _parts=parts, _steps=tuple(steps))
        return other

    def _each(self, function: Callable, shared: Sequence[Any]) -> list:
        call = self._dask.delayed(applied, pure=True)
        shared = [self._once(value) for value in shared]
        return [call(function, self._steps, part, *shared) for part in self._parts]

    def _once(self, value: Any) -> Any:
        """A value that is sent once, not with every task."""
        large = isinstance(value, np.ndarray | list | tuple) and not isinstance(value, str)
        return self._dask.delayed(value, pure=False, traverse=False) if large else value

    def fits_in_memory(self, part_sizes: np.ndarray) -> bool:
        """Whether ``memory`` holds all rows; those of sparse partitions take a pass to tell."""
        dense, most = int(part_sizes.sum()) * self.width * self.dtype.itemsize, self.memory or 0
        return dense <= most or self.compute(self.reduce(part_bytes)) <= most

    def labels(self) -> list[tuple[np.ndarray | None, np.ndarray | None]]:
        if self._labels is None:
            return self.compute(self.map(part_labels))
        call = self._dask.delayed(applied, pure=True)
        parts = [self._dask.delayed(label_part)(self._owner, k, *own) for k, own in enumerate(self._labels)]
        return self.compute(self._dask.delayed(list)([call(part_labels, self._label_steps, part) for part in parts]))

    def blocks(self) -> Iterator[Block]:
        for handle in self._each(part_block, ()):
            yield self.compute(handle)

    def take(self, places: list[np.ndarray]) -> Block:
        call = self._dask.delayed(applied, pure=True)
        chosen = [number for number, own in enumerate(places) if len(own)] or [0]
        taken = [call(part_block, self._steps, self._parts[number], places[number]) for number in chosen]
        return concatenate_rows(self.compute(self._dask.delayed(list)(taken)))

    def materialize(self) -> None:
        """What is slow to make the user persists."""

    def map(self, function: Callable, *shared: Any) -> Any:
        return self._dask.delayed(list)(self._each(function, shared))

    def reduce(self, function: Callable, *shared: Any) -> Any:
        return delayed_tree_sum(self._each(function, shared), self._dask.delayed(operator.add, pure=True))

    def merge(self, function: Callable, *handles: Any) -> Any:
        return self._dask.delayed(merged, pure=True)(function, *handles)

    def persist(self, handle: Any) -> Any:
        return handle.persist()

    def compute(self, handle: Any) -> Any:
        try:
            return handle.compute()
        except Exception as error:
            if type(error).__name__ not in ("KilledWorker", "NoValidWorkerError"):
                raise
            raise RuntimeError(
                "The workers of the dask cluster must live through a task; one task has ended several of them. "
                "Give workers more memory, or make partitions smaller."
            ) from error

    def label_counts(self) -> list[dict]:
        """Of each partition {label: LabelCount}, without a look at X."""
        count = self._dask.delayed(counted, pure=True)
        counts = [count(self._owner, number, y, weight) for number, (y, weight) in enumerate(self._labels or ())]
        return self.compute(self._dask.delayed(list)(counts))

    def transformed(self, step: Callable, width: int | None = None) -> "Dataset":
        other = self._with(self._parts, (*self._steps, step))
        if width is not None:
            other.width, other.columns, other.encodings = width, None, {}
        return other

    def cached(self, step: Callable) -> "Dataset":
        call = self._dask.delayed(applied, pure=True)
        parts = [call(itself, (*self._steps, step), part) for part in self._parts]
        other = self._with(list(self._dask.persist(*parts)), ())
        other._labels, other._label_steps = None, ()
        return other


def applied(function: Callable, steps: Sequence[Callable], part: Part, *shared: Any) -> Any:
    """`apply` on a worker."""
    return apply(function, steps, aligned(part), *aligned(shared))


def merged(function: Callable, *values: Any) -> Any:
    """A function of values, on a worker."""
    return function(*aligned(values))


def aligned(value: Any) -> Any:
    """Align every array of a value: NumPy sums unaligned ones, as they come over a wire, in another order."""
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(aligned, value))
    if isinstance(value, list | tuple):
        return type(value)(map(aligned, value))
    return value


def counted(owner: str, number: int, y: Any, weight: Any) -> dict:
    """{label: LabelCount} of a partition; None stands for missing labels."""
    labels, counts = np.asarray(y), {}
    weight = checked_weight(owner, number, weight)
    for level, here in _kinds(labels):
        if here.any():
            counts[level.item() if hasattr(level, "item") else level] = label_count(here, weight)
    return counts


def _kinds(labels: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """Each label with where it stands, ascending; then None with where one is missing."""
    if labels.dtype.kind in "biu" and len(labels):
        low, high = labels.min(), labels.max()
        where = labels == low
        if low == high or (where | (labels == high)).all():  # two numbers need no sorting
            return [(low, where), (high, ~where)]
    missing = labels != labels
    if labels.dtype == object:
        missing = np.array([label is None or label != label for label in labels], dtype=bool)
    return [(level, labels == level) for level in np.unique(labels[~missing])] + [(None, missing)]


def delayed_tree_sum(level: list, add: Callable) -> Any:
    """The delayed sum of delayed values, in pairs, pairs of pairs and so on."""
    while len(level) > 1:
        level = [add(*level[k : k + 2]) if k + 1 < len(level) else level[k] for k in range(0, len(level), 2)]
    return level[0]


def made_part(
    owner: str, number: int, block: Any, y: Any, weight: Any, kind: tuple[np.dtype, int, bool], known: dict
) -> Part:
    """A checked partition; ``kind`` is its floating type, number of columns, and whether numbers may be missing.

    ``known``: what the numbers of some columns stand for.
    """
    where = f"Partition {number} of X given to {owner}"
    if isinstance(block, TransformInput):
        X = TransformedRows(block, where, kind)
    else:
        X = checked_block(block, where, kind, known)
    labels, weight = None if y is None else np.asarray(y), checked_weight(owner, number, weight)
    for name, part in (("y", labels), ("sample_weight", weight)):
        if part is not None and part.shape != (X.shape[0],):
            raise ValueError(
                f"{where} has {X.shape[0]} rows; {name} must be cut in the same places, but has shape {part.shape}."
            )
    return Part(number, X, labels, weight)


def checked_block(block: Any, where: str, kind: tuple[np.dtype, int, bool], known: dict) -> Any:
    """The rows of a partition, or some of them, as an array or a CSR matrix; parameters as of `made_part`."""
    dtype, width, allow_missing = kind
    X, names, _ = block_numbers(np.hstack(block) if isinstance(block, list) else block, where, known)
    if X.shape[1] != width:
        raise ValueError(f"{where} must have {width} columns; got {X.shape[1]}.")
    X = X.astype(dtype, copy=False)
    fault = first_nonfinite(X)
    if fault is not None and not (allow_missing and np.isnan(fault[2])):
        (what, hint), column = describe_nonfinite(fault[2]), names[fault[1]] if names else fault[1]
        raise ValueError(
            f"{where} must hold finite numbers; it has {what} in column {column!r}. {hint}, or leave the column out."
        )
    return X


class TransformInput(NamedTuple):
    """Rows of a partition, as a frame, a table or a block, and the function that makes others of them."""

    rows: Any
    function: Callable


class TransformedRows(Table):
    """The rows that a function makes of a partition, a block at a time: they may be many times as wide.

    ``where`` is what errors call the partition, ``kind`` is as of `made_part`.
    """

    def __init__(self, rows: TransformInput, where: str, kind: tuple[np.dtype, int, bool]) -> None:
        self._input, self._where, self._kind = rows, where, kind
        self.shape = int(rows.rows.shape[0]), kind[1]

    @property
    def dtype(self) -> np.dtype:
        return self._kind[0]

    def part(self, index: Index) -> Block:
        rows = self._input.rows
        chosen = rows.iloc[index] if hasattr(rows, "iloc") else as_table(rows).part(index)
        return checked_block(self._input.function(aligned(chosen)), self._where, self._kind, {})

    def block_rows(self) -> int:
        return max(1, _sizes.STRETCH_BYTES // (8 * max(1, self.shape[1])))

    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        return gathered(self, orders, centre, max(1, self.block_rows() // len(orders)))


def label_part(owner: str, number: int, y: Any, weight: Any) -> Part:
    """A partition without its rows."""
    return Part(number, None, None if y is None else np.asarray(y), checked_weight(owner, number, weight))


def checked_weight(owner: str, number: int, weight: Any) -> np.ndarray | None:
    """The weights of a partition, if there are some."""
    if weight is None:
        return None
    weight = np.ravel(np.asarray(weight, np.float64))
    if len(weight) and not (np.isfinite(weight).all() and weight.min() >= 0.0):
        raise ValueError(f"sample_weight of {owner} must be finite and not negative; partition {number} is not.")
    return weight


def described(owner: str, X: Any, allow_categorical: bool = False) -> tuple[list[str] | None, int, np.dtype]:
    """Names, number and floating type of the columns; raises where some are no numbers, unless that is allowed."""
    if hasattr(X, "columns"):
        text = other_columns(X)
        if text and not allow_categorical:
            raise ValueError(
                f"The columns of X given to {owner} must be numbers; {text[0]!r} is not. Choose others, X[[...]], put "
                "Columns before it in a pipeline, or use Scorecard, which knows texts and dates."
            )
        names = [str(name) for name in X.columns]
        return names, len(names), np.dtype(np.float32 if all(map(_fits_float32, X.dtypes)) else np.float64)
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(f"X given to {owner} must be a table (n, d); got a dask collection of another shape.")
    return None, int(X.shape[1]), np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)


def _fits_float32(kind: Any) -> bool:
    """Whether float32 holds every value of a column's type exactly."""
    if not isinstance(kind, np.dtype):
        return False
    return kind in (np.float32, np.float16) or (kind.kind in "biu" and kind.itemsize <= 2)


def other_columns(X: Any, numbers: str = "biuf") -> list:
    """The names of the columns of a dask frame that are of no kind that counts as numbers."""
    kinds = [] if not hasattr(X, "columns") else zip(X.columns, X.dtypes, strict=True)
    return [name for name, kind in kinds if getattr(kind, "kind", "O") not in numbers]


def frame_encodings(X: Any) -> dict[str, ColumnEncoding]:
    """What numbers stand for in a dask frame: a look at its types, and at all texts of those columns that hold some."""
    import dask

    if not hasattr(X, "columns"):
        return {}
    encodings = dict(FrameReader(X._meta, ColumnSelection()).encodings)
    objects = [name for name, kind in zip(X.columns, X.dtypes, strict=True) if str(kind) == "object"]
    encodings.update({str(name): ColumnEncoding("text", "object") for name in objects})
    texts = [name for name in X.columns if str(name) in encodings and encodings[str(name)].is_categorical]
    if not texts:
        return encodings
    learn, add = dask.delayed(block_encodings, pure=True), dask.delayed(merge_encodings, pure=True)
    start = {str(name): encodings[str(name)] for name in texts}
    return {**encodings, **delayed_tree_sum([learn(block, start) for block in delayed_parts(X[texts])], add).compute()}


def block_encodings(block: Any, start: dict[str, ColumnEncoding]) -> dict[str, ColumnEncoding]:
    """What the numbers of these columns stand for in one partition."""
    known = {name: ColumnEncoding(each.kind, each.source_type) for name, each in start.items()}
    block_numbers(block, "a partition", known)
    return known


def delayed_parts(collection: Any) -> Any:
    """The delayed partitions, one for each that the collection says it has.

    dask joins small files when few columns of them are read: labels would then lie in fewer pieces than their rows.
    """
    parts = collection.to_delayed()
    joined = hasattr(collection, "npartitions") and np.ndim(parts) < 2 and len(parts) != collection.npartitions
    return collection.to_delayed(optimize_graph=False) if joined else parts


def _row_blocks(X: Any) -> list:
    """The delayed rows of each partition; of an array cut in columns too, a list of them."""
    blocks = delayed_parts(X)
    if isinstance(blocks, np.ndarray):
        return [row[0] if len(row) == 1 else list(row) for row in blocks.reshape(blocks.shape[0], -1)]
    return list(blocks)


def column_parts(owner: str, name: str, y: Any, X: Any, count: int) -> list | None:
    """The delayed labels or weights of each partition."""
    if y is None:
        return None
    if not is_dask(y):
        return _cut(owner, name, y, X)
    parts = list(np.ravel(delayed_parts(y)))
    if len(parts) != count:
        raise ValueError(
            f"{name} given to {owner} must be cut in the same places as X; it has {len(parts)} partitions, X has "
            f"{count}. Take both from one frame, or rechunk {name}."
        )
    return parts


def _cut(owner: str, name: str, y: Any, X: Any) -> list:
    """Values in memory, cut where X is."""
    sizes = X.chunks[0] if hasattr(X, "chunks") else (np.nan,)
    if any(size != size for size in sizes) or len(y) != sum(sizes):
        raise ValueError(
            f"{name} given to {owner} must be a dask collection cut in the same places as X, or have a value for each "
            f"of X's rows where their number is known; got {type(y).__name__} of {len(y)} values."
        )
    ends = np.cumsum(sizes)[:-1]
    return np.split(np.asarray(y), ends)


def lazily(
    owner: str,
    X: Any,
    function: Callable,
    dtype: np.dtype,
    width: int | None = None,
    allow_missing: bool = False,
    allow_categorical: bool = False,
) -> Any:
    """A dask array of function(block) for each partition: one value a row, or ``width`` of them.

    Of a frame with columns that are no numbers, blocks are frames as they come, with ``allow_categorical``.
    """
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    given = _given_rows(owner, X, allow_missing, allow_categorical)
    made = _calls(apply_by_blocks, function, given)
    sizes = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(made)
    tail = () if width is None else (width,)
    name = f"auclid-{uuid.uuid4().hex}"
    keys: dict[Any, Any] = {(name, k, *(0 for _ in tail)): (itself, part.key) for k, part in enumerate(made)}
    graph = HighLevelGraph.from_collections(name, keys, dependencies=made)
    array: Any = da.Array(graph, name, (tuple(sizes), *((size,) for size in tail)), dtype=dtype)
    if tail:
        array.auclid_transform = LazyTransform(name, given, function)
    return array


class LazyTransform(NamedTuple):
    """What a lazy array of rows was made of: a solver takes these, and makes the array's rows a block at a time."""

    name: str
    """The name of the array: it changes where entries are assigned."""
    given: list
    """The delayed partitions."""
    function: Callable


def transform_inputs(X: Any) -> list:
    """A delayed `TransformInput` for each partition of an array that `lazily` gave; else none."""
    transform = getattr(X, "auclid_transform", None)
    if transform is None or transform.name != X.name:
        return []
    return _calls(transform_input, transform.function, transform.given)


def transform_input(function: Callable, part: Any) -> TransformInput:
    """The rows of a part, or a frame, and what others are made by."""
    return TransformInput(part.X if isinstance(part, Part) else part, function)


def apply_by_blocks(function: Callable, part: Any) -> Any:
    """A function of a part's rows, or of a frame, that gives a value or a row for each row."""
    rows = part.X if isinstance(part, Part) else part
    if not isinstance(rows, TransformedRows) or not rows.shape[0]:
        return apply_whole(function, part)
    return concatenate_rows([function(block) for _, block in rows.blocks()])


def apply_whole(function: Callable, part: Any) -> Any:
    """A function of a part's rows, or of a frame."""
    rows = part.X if isinstance(part, Part) else part
    return function(rows.part(slice(None)) if isinstance(rows, TransformedRows) else rows)


def partition_calls(
    owner: str, X: Any, function: Callable, allow_missing: bool = False, allow_categorical: bool = False
) -> list:
    """The delayed function(rows) of each partition; ``allow_missing`` and ``allow_categorical`` as of `lazily`."""
    return _calls(apply_whole, function, _given_rows(owner, X, allow_missing, allow_categorical))


def _calls(how: Callable, function: Callable, given: list) -> list:
    """The delayed how(function, partition) of each partition."""
    import dask

    call, shared = dask.delayed(how, pure=True), dask.delayed(function, pure=True, traverse=False)
    return [call(shared, part) for part in given]


def _given_rows(owner: str, X: Any, allow_missing: bool, allow_categorical: bool) -> list:
    """The delayed partitions: frames as they come where columns may be texts and some are, else `Part`s."""
    if allow_categorical and other_columns(X, "iuf"):
        return _row_blocks(X)
    return DaskDataset(owner, X, allow_missing=allow_missing)._parts


def vector_parts(owner: str, y: Any, columns: list[Any], weight: Any = None, only_ranked: bool = True) -> DaskDataset:
    """Labels, scores (a column each) and weights of the same partitions; scores may be infinite where only ranked."""
    import dask

    first = next(column for column in [*columns, y] if is_dask(column))
    given = [("y_score", column) for column in columns] + [("y_true", y), ("sample_weight", weight)]
    count = len(np.ravel(delayed_parts(first)))
    *scores, labels, weights = (
        column_parts(owner, name, column, first, count) or [None] * count for name, column in given
    )
    make = dask.delayed(made_vectors, pure=True)
    parts = DaskDataset.__new__(DaskDataset)
    parts._owner = owner
    parts._dask, parts.columns, parts.width, parts.dtype, parts._steps = dask, None, len(columns), np.dtype(float), ()
    parts._parts = [
        make(owner, k, [column[k] for column in scores], labels[k], weights[k], only_ranked) for k in range(count)
    ]
    parts._labels = list(zip(labels, weights, strict=True))
    return parts


def made_vectors(owner: str, number: int, columns: list, y: Any, weight: Any, only_ranked: bool = True) -> Part:
    """A partition of labels, scores and weights, checked."""
    vectors = [np.ravel(np.asarray(column, np.float64)) for column in columns]
    labels, weight = np.ravel(np.asarray(y)), checked_weight(owner, number, weight)
    lengths = {len(each) for each in [*vectors, labels, *([] if weight is None else [weight])]}
    if len(lengths) > 1:
        raise ValueError(f"The columns given to {owner} must be cut in the same places; partition {number} differs.")
    if any(np.isnan(each).any() for each in vectors):
        raise ValueError(f"The scores given to {owner} must not be NaN; partition {number} has some.")
    if not only_ranked and not all(np.isfinite(each).all() for each in vectors):
        raise ValueError(f"The scores given to {owner} must be finite numbers; partition {number} has an infinity.")
    return Part(number, np.column_stack(vectors), labels, weight)
