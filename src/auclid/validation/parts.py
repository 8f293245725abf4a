"""Methods of fitted estimators, answered for each part of the rows: an array, a file, or a lazy collection."""

import os
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from scipy import sparse

from auclid.data import as_table
from auclid.data.blocks import concatenate_rows
from auclid.data.dask import described, is_dask, lazily, partition_calls
from auclid.data.files import Rows
from auclid.data.types import OutputFile
from auclid.validation.results import fitted
from auclid.validation.rows import allows_categorical, allows_missing, check_columns, names_known

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")


def partwise(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Decorates methods of X: rows in files are answered by blocks, Dask collections lazily, others at once.

    The method's keyword ``out`` names a ``.npy`` file for the answers to rows of files; the method itself ignores it.
    """

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, out: OutputFile = None, **kwargs: Any) -> Any:
        if isinstance(X, Rows):
            answers = block_answers(self, X, method, *args, **kwargs)
            return concatenate_rows(list(answers)) if out is None else _written(answers, X.shape[0], out)
        if out is not None:
            raise ValueError(
                f"The 'out' of {method.__name__} is for rows of files; pass auclid.scan(...), or leave it out."
            )
        if is_dask(X):
            known_partitions(self, X)
            answer_of = partial(_answer, method, self, args, kwargs)
            kind = *_kind_of(self, method, X), allows_missing(self), allows_categorical(self)
            return lazily(type(self).__name__, X, answer_of, *kind)
        return whole(self, X, *args, **kwargs)

    whole: Any = method
    decorated: Any = answer
    return decorated


def _answer(method: Callable, estimator: Any, args: tuple, kwargs: dict, X: Any) -> Any:
    """A method's answer for one block: as it comes where the estimator takes columns of any type, else as a table.

    A block has no names to compare, and may be empty, which no estimator takes: it is then answered of any row.
    """
    some = X if X.shape[0] else _any_row(estimator, X.shape[1], getattr(X, "dtype", float))
    with names_known():
        answer = method(estimator, some if allows_categorical(estimator) else as_table(some), *args, **kwargs)
    return answer if X.shape[0] else answer[:0]


def _any_row(estimator: Any, width: int, dtype: Any) -> np.ndarray:
    """A row that an estimator takes: of zeros, or of missing cells, which are dates and texts as well."""
    return np.full((1, width), np.nan if allows_categorical(estimator) else 0.0, dtype)


def _kind_of(estimator: Any, method: Callable, X: Any) -> tuple[np.dtype, int | None]:
    """The type of one answer, and how many there are a row (None: one)."""
    _, width, dtype = described(type(estimator).__name__, X, allow_categorical=True)
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
        return list(dask.compute(*partition_calls(*how, allows_missing(estimator), allows_categorical(estimator))))
    return [method(estimator, X, *args, **kwargs)]


def decoded_parts(owner: str, X: Any, function: Callable[[Any], Any]) -> list:
    """What a function makes of each part of rows of any type: a block of a file, a partition, or all rows in memory."""
    if isinstance(X, Rows):
        return [function(X.decode(block.X)) for block in X.read(allow_missing=True, allow_categorical=True)]
    if is_dask(X):
        import dask

        return list(dask.compute(*partition_calls(owner, X, function, True, True)))
    return [function(X)]


def known_partitions(estimator: Any, X: Any) -> None:
    """Raise where the columns of a dask collection are not those that the estimator has learnt from."""
    fitted(estimator, "n_features_in_")
    check_columns(estimator, [str(name) for name in X.columns] if hasattr(X, "columns") else None, int(X.shape[1]))
    described(type(estimator).__name__, X, allows_categorical(estimator))


def block_answers(estimator: Any, rows: Rows, method: Callable, *args: Any, **kwargs: Any) -> Iterator[Any]:
    """What a method of a fitted estimator answers for rows in files, a block at a time."""
    fitted(estimator, "n_features_in_")
    check_columns(estimator, rows.columns if rows.named else None, len(rows.columns))
    if not allows_categorical(estimator):
        rows.require_numeric()
    seen = rows.decode if allows_categorical(estimator) else lambda block: block
    blocks = rows.read(allows_missing(estimator), allow_categorical=True)
    return (_answer(method, estimator, args, kwargs, seen(block.X)) for block in blocks)


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
