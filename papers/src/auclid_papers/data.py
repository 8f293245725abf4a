"""Tables of data, read from the folder that AUCLID_DATA names, and the binary tasks made of them."""

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

ENDINGS = (".npz", ".libsvm", ".svm", ".txt", "", ".bz2", ".gz")
PARTS = {"train": (".train", ".tr", ""), "test": (".test", ".t")}


Labelled = tuple[Any, np.ndarray]
"""Rows and their labels."""


def folder() -> Path:
    """The data folder; says how to name one where there is none."""
    path = os.environ.get("AUCLID_DATA")
    if not path or not Path(path).is_dir():
        raise DataError("AUCLID_DATA must name the folder with the data; set it, or see `auclid experiments fetch`.")
    return Path(path)


def file_of(name: str, part: str = "train") -> Path | None:
    """The file of a table (its training or test part), or None where the folder has none."""
    known = (folder() / f"{name}{middle}{ending}" for middle in PARTS[part] for ending in ENDINGS)
    return next((path for path in known if path.is_file()), None)


def at_hand(name: str) -> bool:
    """Whether the folder holds a table."""
    return file_of(name) is not None or fetch.located(name, "train", folder()) is not None


def part(name: str, which: str = "train") -> Labelled | None:
    """(X, labels) of one part of a table, X in floating numbers; None where there is no such part."""
    return _part(name, which, folder())


@lru_cache(maxsize=4)
def _part(name: str, which: str, where: Path) -> Labelled | None:
    path = file_of(name, which)
    if path is None or path.suffix != ".npz":
        found = fetch.original(name, which, where)
        if found is not None or path is None:
            return found
    table = read_table(path)
    return table.X, table.y


def required(name: str, which: str = "train") -> Labelled:
    """`part`, or a sentence where there is none."""
    found = part(name, which)
    if found is None:
        raise DataError(f"{name} must come with a {which} part here; AUCLID_DATA has none.")
    return found


def stacked(parts: Sequence[Labelled]) -> Labelled:
    """Parts of a table below one another; the narrower ones get empty columns."""
    if len(parts) == 1:
        return parts[0]
    width = max(X.shape[1] for X, _ in parts)
    wide = [_widened(X, width) for X, _ in parts]
    X = sparse.vstack(wide, format="csr") if sparse.issparse(wide[0]) else np.concatenate(wide)
    return X, np.concatenate([y for _, y in parts])


def _widened(X: Any, width: int) -> Any:
    missing = width - X.shape[1]
    if not missing:
        return X
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], width))
    return np.pad(X, ((0, 0), (0, missing)))


def whole(name: str) -> Labelled:
    """(X, labels) of all rows, training and test part together."""
    return stacked([found for found in (part(name), part(name, "test")) if found is not None])


def densely(X: Any, dense: bool | None) -> Any:
    """X as an array where so asked, in float32 where that saves much memory."""
    if dense and sparse.issparse(X):
        X = X.toarray()
    return X.astype(np.float32) if not sparse.issparse(X) and X.size > 20_000_000 else X


def is_positive(labels: ArrayLike, positive: Sequence[float] | str) -> np.ndarray:
    """Which rows are positive: a list of labels, a range of them such as "0 to 20", or "rarest".

    Examples
    --------
    >>> from auclid_papers.data import is_positive
    >>> is_positive([1, 2, 3, 3], [1, 2]), is_positive([0, 5, 21], "0 to 20"), is_positive([1, 1, 2], "rarest")
    (array([ True,  True, False, False]), array([ True,  True, False]), array([False, False,  True]))
    """
    labels = np.asarray(labels, dtype=np.float64)
    if isinstance(positive, str) and positive == "rarest":
        known, counts = np.unique(labels, return_counts=True)
        return labels == known[counts.argmin()]
    if isinstance(positive, str):
        low, high = map(float, positive.split(" to "))
        return (low <= labels) & (labels <= high)
    return np.isin(labels, np.asarray(positive, dtype=np.float64))
