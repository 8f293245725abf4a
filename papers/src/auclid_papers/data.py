"""The datasets in the folder that AUCLID_DATA names, and their binary tasks."""

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from auclid.datasets import DataError, read_table
from auclid_papers import fetch

SUFFIXES = (".npz", ".libsvm", ".svm", ".txt", "", ".bz2", ".gz")
PARTS = {"train": (".train", ".tr", ""), "test": (".test", ".t")}

LARGE = 20_000_000
"""Dense arrays with more elements than this are stored in float32."""

Labelled = tuple[Any, np.ndarray]
"""Rows and their labels."""


def folder() -> Path:
    """The data folder.

    Raises
    ------
    DataError
        If AUCLID_DATA names no folder.
    """
    path = os.environ.get("AUCLID_DATA")
    if not path or not Path(path).is_dir():
        raise DataError("AUCLID_DATA must name the folder with the data; set it, or see `auclid experiments fetch`.")
    return Path(path)


def file_of(name: str, part: str = "train") -> Path | None:
    """The file of a dataset's training or test part, or None."""
    paths = (folder() / f"{name}{middle}{suffix}" for middle in PARTS[part] for suffix in SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def is_available(name: str) -> bool:
    """Whether the folder has a dataset."""
    return file_of(name) is not None or fetch.located(name, "train", folder()) is not None


def part(name: str, which: str = "train") -> Labelled | None:
    """(X, labels) of one part of a dataset, or None if it has no such part."""
    return _part(name, which, folder())


@lru_cache(maxsize=4)
def _part(name: str, which: str, data_folder: Path) -> Labelled | None:
    path = file_of(name, which)
    if path is None or path.suffix != ".npz":
        original = fetch.original(name, which, data_folder)
        if original is not None or path is None:
            return original
    table = read_table(path)
    return table.X, table.y


def required_part(name: str, which: str = "train") -> Labelled:
    """(X, labels) of a part that the dataset must have."""
    found = part(name, which)
    if found is None:
        raise DataError(f"{name} must come with a {which} part here; AUCLID_DATA has none.")
    return found


def whole(name: str) -> Labelled:
    """(X, labels) of all rows: the training part, then the test part if there is one."""
    parts = [found for found in (part(name), part(name, "test")) if found is not None]
    if len(parts) == 1:
        return parts[0]
    width = max(X.shape[1] for X, _ in parts)
    wide = [_widened(X, width) for X, _ in parts]
    X = sparse.vstack(wide, format="csr") if sparse.issparse(wide[0]) else np.concatenate(wide)
    return X, np.concatenate([y for _, y in parts])


def _widened(X: Any, width: int) -> Any:
    """X with columns of zeros appended: a libsvm file does not say how many columns it has."""
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], width))
    return np.pad(X, ((0, 0), (0, width - X.shape[1])))


def as_dense(X: Any, dense: bool | None) -> Any:
    """X as an array if ``dense``; a large array in float32."""
    if dense and sparse.issparse(X):
        X = X.toarray()
    return X if sparse.issparse(X) or X.size <= LARGE else X.astype(np.float32)


def is_positive(labels: ArrayLike, positive: Sequence[float] | str) -> np.ndarray:
    """Which rows are positive: those with a label of a list, of a range such as "0 to 20", or with the "rarest" one.

    Examples
    --------
    >>> from auclid_papers.data import is_positive
    >>> is_positive([1, 2, 3, 3], [1, 2]), is_positive([0, 5, 21], "0 to 20"), is_positive([1, 1, 2], "rarest")
    (array([ True,  True, False, False]), array([ True,  True, False]), array([False, False,  True]))
    """
    labels = np.asarray(labels, dtype=np.float64)
    if positive == "rarest":
        values, counts = np.unique(labels, return_counts=True)
        return labels == values[counts.argmin()]
    if isinstance(positive, str):
        low, high = map(float, positive.split(" to "))
        return (low <= labels) & (labels <= high)
    return np.isin(labels, np.asarray(positive, dtype=np.float64))
