"""Whether a sparse matrix keeps what its format promises: compiled code follows its indices without looking."""

from typing import Any

import numpy as np

FORMATS = ("csr", "csc", "bsr", "coo")
"""Formats that are looked at; the others are kept in ways that compiled code does not follow."""


def fault(X: Any) -> str | None:
    """What is wrong with the indices of a CSR, CSC, BSR or COO matrix; None where nothing is, or in other formats.

    One pass over the indices. SciPy looks at shapes and ends only unless it is asked, and then not at everything.

    Examples
    --------
    >>> from scipy import sparse
    >>> from auclid._sparse import fault
    >>> X = sparse.csr_array([[0.0, 1.0]])
    >>> fault(X)
    >>> X.indices[0] = 7
    >>> fault(X)
    'a column index of 7 in 2 columns'
    """
    if X.format == "coo":
        return _outside(X.row, X.shape[0], "row") or _outside(X.col, X.shape[1], "column") or _lengths(X, X.col)
    if X.format not in FORMATS:
        return None
    major, minor = ("row", "column") if X.format != "csc" else ("column", "row")
    n, d = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        n, d = n // X.blocksize[0], d // X.blocksize[1]
    return _ends(X.indptr, n, major) or _lengths(X, X.indices) or _outside(X.indices[: X.indptr[-1]], d, minor)


def _ends(indptr: np.ndarray, n: int, name: str) -> str | None:
    """Whether the ends of rows rise from zero."""
    if indptr.ndim != 1 or indptr.dtype.kind != "i" or len(indptr) != n + 1:
        return f"an indptr of shape {indptr.shape} and type {indptr.dtype} for {n} {name}s"
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return f"an indptr that does not rise from 0: some {name} ends before it begins"
    return None


def _lengths(X: Any, indices: np.ndarray) -> str | None:
    """Whether there are as many indices and values as the last row's end says."""
    count = int(X.indptr[-1]) if X.format != "coo" else len(indices)
    ndim = 3 if X.format == "bsr" else 1
    if indices.ndim != 1 or X.data.ndim != ndim or min(len(indices), len(X.data)) < count:
        return f"{len(indices)} indices and {len(X.data)} values, where indptr ends at {count}"
    return None


def _outside(indices: np.ndarray, d: int, name: str) -> str | None:
    """An index below 0 or beyond the last column, if any."""
    if indices.dtype.kind != "i":
        return f"{name} indices of type {indices.dtype}"
    if not len(indices):
        return None
    # Read as unsigned, a negative index is a huge one: one pass finds both.
    if indices.view(f"u{indices.dtype.itemsize}").max() >= d:
        wrong = indices[(indices < 0) | (indices >= d)][0]
        return f"a {name} index of {wrong} in {d} {name}s"
    return None
