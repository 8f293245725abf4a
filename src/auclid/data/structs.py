"""Rows in kernels: structs for dense and sparse storage, and the row operations that kernels call on them."""

from typing import NamedTuple, TypeAlias

import numpy as np

from auclid._generic import REORDER, generic, prefetch


class Dense(NamedTuple):
    """Rows x - centre of a C-ordered array; row operations subtract the centre unless they say otherwise."""

    X: np.ndarray
    centre: np.ndarray
    centre_moves: bool = True  # whether `update_centre` changes the centre


class CSR(NamedTuple):
    """Rows of a canonical CSR matrix. They are never centred, so that a step costs O(nnz of the row)."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


RowStruct: TypeAlias = Dense | CSR
"""Rows as a kernel takes them."""


@generic
def row_dot(rows: RowStruct, i: int, w: np.ndarray) -> float:
    """x_i . w"""


@generic
def row_axpy(rows: RowStruct, i: int, a: float, w: np.ndarray) -> None:
    """w += a x_i, in place."""


@generic
def row_axpy_two(rows: RowStruct, i: int, a: float, v: np.ndarray, b: float, u: np.ndarray) -> None:
    """v += a x_i and u += b x_i, in place, reading the row once."""


@generic
def row_squared_norm(rows: RowStruct, i: int) -> float:
    """|x_i|^2"""


@generic
def row_dots(rows: RowStruct, i: int, w: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float, float, float]:
    """(x_i . w, x_i . a, x_i . b, |x_i|^2), reading the row once."""


@generic
def row_accumulate(rows: RowStruct, i: int, w: np.ndarray) -> float:
    """w += x_i, in place; returns |x_i|^2."""


@generic
def row_add_raw(rows: RowStruct, i: int, w: np.ndarray) -> None:
    """w += x_i in place, without subtracting the centre."""


@generic
def centre_dot(rows: RowStruct, w: np.ndarray) -> float:
    """centre . w"""


@generic
def pair_dot(rows: RowStruct, i: int, j: int, w: np.ndarray) -> float:
    """(x_i - x_j) . w"""


@generic
def pair_axpy(rows: RowStruct, i: int, j: int, a: float, w: np.ndarray) -> None:
    """w += a (x_i - x_j), in place."""


@generic
def pair_axpy_two(rows: RowStruct, i: int, j: int, a: float, v: np.ndarray, b: float, u: np.ndarray) -> None:
    """v += a (x_i - x_j) and u += b (x_i - x_j), in place, reading the rows once."""


@generic
def row_prefetch(rows: RowStruct, i: int) -> None:
    """Prefetch row i into the processor's cache, for a step that follows soon."""


@generic
def pair_squared_norm(rows: RowStruct, i: int, j: int) -> float:
    """|x_i - x_j|^2"""


@generic
def row_span(rows: RowStruct, i: int) -> tuple[int, int]:
    """The range [first, last) of positions of row i's entries, for use with `row_entry`."""


@generic
def row_entry(rows: RowStruct, i: int, e: int | np.unsignedinteger) -> tuple[int, float]:
    """The column and the value of row i's entry at position e."""


@generic
def update_centre(rows: RowStruct, i: int, n: float) -> float:
    """Move the centre to the mean of the n rows seen, of which row i is the last; returns the step size, 1/n or 0."""


@row_dot.implement(Dense, fastmath=REORDER)
def _(rows: Dense, i: int, w: np.ndarray) -> float:
    X, centre, total = rows.X, rows.centre, 0.0
    for k in range(w.shape[0]):
        total += (X[i, k] - centre[k]) * w[k]
    return total


@row_axpy.implement(Dense)
def _(rows: Dense, i: int, a: float, w: np.ndarray) -> None:
    X, centre = rows.X, rows.centre
    for k in range(w.shape[0]):
        w[k] += a * (X[i, k] - centre[k])


@row_axpy_two.implement(Dense)
def _(rows: Dense, i: int, a: float, v: np.ndarray, b: float, u: np.ndarray) -> None:
    X, centre = rows.X, rows.centre
    for k in range(v.shape[0]):
        x = X[i, k] - centre[k]
        v[k] += a * x
        u[k] += b * x


@row_squared_norm.implement(Dense, fastmath=REORDER)
def _(rows: Dense, i: int) -> float:
    X, centre, total = rows.X, rows.centre, 0.0
    for k in range(X.shape[1]):
        x = X[i, k] - centre[k]
        total += x * x
    return total


@row_dots.implement(Dense, fastmath=REORDER)
def _(rows: Dense, i: int, w: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float, float, float]:
    X, centre, of_w, of_a, of_b, square = rows.X, rows.centre, 0.0, 0.0, 0.0, 0.0
    for k in range(w.shape[0]):
        x = X[i, k] - centre[k]
        of_w += x * w[k]
        of_a += x * a[k]
        of_b += x * b[k]
        square += x * x
    return of_w, of_a, of_b, square


@row_accumulate.implement(Dense, fastmath=REORDER)
def _(rows: Dense, i: int, w: np.ndarray) -> float:
    X, centre, square = rows.X, rows.centre, 0.0
    for k in range(w.shape[0]):
        x = X[i, k] - centre[k]
        w[k] += x
        square += x * x
    return square


@row_add_raw.implement(Dense)
def _(rows: Dense, i: int, w: np.ndarray) -> None:
    for k in range(w.shape[0]):
        w[k] += rows.X[i, k]


@centre_dot.implement(Dense, fastmath=REORDER)
def _(rows: Dense, w: np.ndarray) -> float:
    total = 0.0
    for k in range(w.shape[0]):
        total += rows.centre[k] * w[k]
    return total


@pair_dot.implement(Dense, fastmath=REORDER)
def _(rows: Dense, i: int, j: int, w: np.ndarray) -> float:
    X, total = rows.X, 0.0
    for k in range(w.shape[0]):
        total += (np.float64(X[i, k]) - X[j, k]) * w[k]
    return total


@pair_axpy.implement(Dense)
def _(rows: Dense, i: int, j: int, a: float, w: np.ndarray) -> None:
    X = rows.X
    for k in range(w.shape[0]):
        w[k] += a * (np.float64(X[i, k]) - X[j, k])


@pair_axpy_two.implement(Dense)
def _(rows: Dense, i: int, j: int, a: float, v: np.ndarray, b: float, u: np.ndarray) -> None:
    X = rows.X
    for k in range(v.shape[0]):
        z = np.float64(X[i, k]) - X[j, k]
        v[k] += a * z
        u[k] += b * z


@row_prefetch.implement(Dense)
def _(rows: Dense, i: int) -> None:
    prefetch(rows.X, i * rows.X.shape[1], rows.X.shape[1])


@pair_squared_norm.implement(Dense, fastmath=REORDER)
def _(rows: Dense, i: int, j: int) -> float:
    X, total = rows.X, 0.0
    for k in range(X.shape[1]):
        z = np.float64(X[i, k]) - X[j, k]
        total += z * z
    return total


@row_span.implement(Dense)
def _(rows: Dense, i: int) -> tuple[int, int]:
    return 0, rows.X.shape[1]


@row_entry.implement(Dense)
def _(rows: Dense, i: int, e: int) -> tuple[int, float]:
    return e, rows.X[i, e] - rows.centre[e]


@update_centre.implement(Dense)
def _(rows: Dense, i: int, n: float) -> float:
    X, centre = rows.X, rows.centre
    if not rows.centre_moves:
        return 0.0
    for k in range(centre.shape[0]):
        centre[k] += (X[i, k] - centre[k]) / n
    return 1.0 / n


@row_span.implement(CSR)
def _(rows: CSR, i: int) -> tuple[int, int]:
    # Unsigned, so that no index can be negative: a dot product takes a third of the time.
    return np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])  # type: ignore[return-value]


@row_entry.implement(CSR)
def _(rows: CSR, i: int, e: int) -> tuple[int, float]:
    return np.uint64(rows.indices[e]), np.float64(rows.data[e])  # type: ignore[return-value]


@row_dot.implement(CSR, fastmath=REORDER)
def _(rows: CSR, i: int, w: np.ndarray) -> float:
    total = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        total += x * w[k]
    return total


@row_axpy.implement(CSR)
def _(rows: CSR, i: int, a: float, w: np.ndarray) -> None:
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        w[k] += a * x


@row_axpy_two.implement(CSR)
def _(rows: CSR, i: int, a: float, v: np.ndarray, b: float, u: np.ndarray) -> None:
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        v[k] += a * x
        u[k] += b * x


@row_squared_norm.implement(CSR, fastmath=REORDER)
def _(rows: CSR, i: int) -> float:
    total = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        _, x = row_entry(rows, i, e)
        total += x * x
    return total


@row_dots.implement(CSR, fastmath=REORDER)
def _(rows: CSR, i: int, w: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float, float, float]:
    of_w, of_a, of_b, square = 0.0, 0.0, 0.0, 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        of_w += x * w[k]
        of_a += x * a[k]
        of_b += x * b[k]
        square += x * x
    return of_w, of_a, of_b, square


@row_accumulate.implement(CSR)
def _(rows: CSR, i: int, w: np.ndarray) -> float:
    row_axpy(rows, i, 1.0, w)
    return row_squared_norm(rows, i)


@row_add_raw.implement(CSR)
def _(rows: CSR, i: int, w: np.ndarray) -> None:
    row_axpy(rows, i, 1.0, w)


@centre_dot.implement(CSR)
def _(rows: CSR, w: np.ndarray) -> float:
    return 0.0


@pair_dot.implement(CSR)
def _(rows: CSR, i: int, j: int, w: np.ndarray) -> float:
    return row_dot(rows, i, w) - row_dot(rows, j, w)


@pair_axpy.implement(CSR)
def _(rows: CSR, i: int, j: int, a: float, w: np.ndarray) -> None:
    row_axpy(rows, i, a, w)
    row_axpy(rows, j, -a, w)


@pair_axpy_two.implement(CSR)
def _(rows: CSR, i: int, j: int, a: float, v: np.ndarray, b: float, u: np.ndarray) -> None:
    row_axpy_two(rows, i, a, v, b, u)
    row_axpy_two(rows, j, -a, v, -b, u)


@row_prefetch.implement(CSR)
def _(rows: CSR, i: int) -> None:
    first, count = rows.indptr[i], rows.indptr[i + 1] - rows.indptr[i]
    prefetch(rows.data, first, count)
    prefetch(rows.indices, first, count)


@pair_squared_norm.implement(CSR)
def _(rows: CSR, i: int, j: int) -> float:
    data, indices = rows.data, rows.indices
    a, last_a = rows.indptr[i], rows.indptr[i + 1]
    b, last_b = rows.indptr[j], rows.indptr[j + 1]
    total = 0.0
    while a < last_a or b < last_b:
        z = 0.0
        at_a = a < last_a and (b == last_b or indices[a] <= indices[b])
        at_b = b < last_b and (a == last_a or indices[b] <= indices[a])
        if at_a:
            z += data[a]
            a += 1
        if at_b:
            z -= data[b]
            b += 1
        total += z * z
    return total


@update_centre.implement(CSR)
def _(rows: CSR, i: int, n: float) -> float:
    return 0.0
