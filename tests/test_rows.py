"""Rows: every verb and product agrees with NumPy, whatever rows are made of, and no input is changed."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from auclid import SPAM, LeastSquaresAUC, _sizes
from auclid._generic import kernel
from auclid.data import (
    CSR,
    Dense,
    Stacked,
    as_table,
    centre_dot,
    pair_axpy,
    pair_axpy_two,
    pair_dot,
    pair_squared_norm,
    row_accumulate,
    row_add_raw,
    row_axpy,
    row_axpy_two,
    row_dot,
    row_dots,
    row_entry,
    row_prefetch,
    row_span,
    row_squared_norm,
    structs,
    update_centre,
)
from auclid.stats.class_means import sum_rows


def csr(X, dtype=np.float64, index=np.int32, kind=sparse.csr_array):
    made = kind(X.astype(dtype))
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    return made


def strided(X):
    wide = np.full((2 * len(X), X.shape[1] + 1), np.nan)
    wide[::2, 1:] = X
    return wide[::2, 1:]


def unsorted(X):
    made = csr(X)
    for a, b in zip(made.indptr[:-1], made.indptr[1:], strict=True):
        made.indices[a:b], made.data[a:b] = made.indices[a:b][::-1].copy(), made.data[a:b][::-1].copy()
    return sparse.csr_array((made.data, made.indices, made.indptr), shape=X.shape)


def duplicated(X):
    """Each entry in two halves, with explicit zeros everywhere."""
    n, d = X.shape
    data, indices = np.hstack([X / 2, X / 2]).ravel(), np.tile(np.arange(d), 2 * n)
    return sparse.csr_array((data, indices, 2 * d * np.arange(n + 1)), shape=X.shape)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


# The six kinds of rows that a kernel meets,
KINDS = {
    "C float64": np.ascontiguousarray,
    "C float32": lambda X: X.astype(np.float32),
    "CSR float64 int32": csr,
    "CSR float32 int32": lambda X: csr(X, np.float32),
    "CSR float64 int64": lambda X: csr(X, index=np.int64),
    "CSR float32 int64": lambda X: csr(X, np.float32, np.int64),
}
# and what else becomes one of them.
DISGUISES = {
    "F float64": np.asfortranarray,
    "F float32": lambda X: np.asfortranarray(X.astype(np.float32)),
    "strided": strided,
    "read-only": read_only,
    "csr_matrix": lambda X: csr(X, kind=sparse.csr_matrix),
    "unsorted": unsorted,
    "duplicates": duplicated,
}
LAYOUTS = {**KINDS, **DISGUISES}


def few(values):
    return st.lists(st.sampled_from(values), min_size=1, max_size=6)


# Multiples of a quarter below 9: every sum below is exact in float32 already, so that = means =.
@st.composite
def tables(draw, max_rows=7):
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, 5))
    entries = st.integers(-32, 32).map(lambda k: k / 4.0) | st.just(0.0)
    cells = draw(st.lists(entries, min_size=n * d, max_size=n * d))
    return np.array(cells).reshape(n, d)


@kernel
def every_verb(rows, i, j, w, scalars, vectors, columns, values):
    """Call each verb once; returns how many entries x_i has, and by which share the centre moved."""
    row_prefetch(rows, i)
    scalars[0] = row_dot(rows, i, w)
    scalars[1] = row_squared_norm(rows, i)
    scalars[2] = pair_dot(rows, i, j, w)
    scalars[3] = pair_squared_norm(rows, i, j)
    scalars[4] = centre_dot(rows, w)
    scalars[5], scalars[6], scalars[7], scalars[8] = row_dots(rows, i, w, 2.0 * w, w + 1.0)
    scalars[9] = row_accumulate(rows, i, vectors[7])
    row_axpy(rows, i, 0.5, vectors[0])
    row_axpy_two(rows, i, 2.0, vectors[1], -0.5, vectors[2])
    row_add_raw(rows, i, vectors[3])
    pair_axpy(rows, i, j, 0.5, vectors[4])
    pair_axpy_two(rows, i, j, 2.0, vectors[5], -0.5, vectors[6])
    first, last = row_span(rows, i)
    for e, place in enumerate(range(first, last)):
        columns[e], values[e] = row_entry(rows, i, place)
    count = last - first
    return count, update_centre(rows, i, 4.0)


def test_every_verb_is_tested():
    verbs = {f for f in vars(structs).values() if hasattr(f, "implement") and f.__module__ == structs.__name__}
    called = every_verb.__wrapped__
    assert {verb.__name__ for verb in verbs} <= set(called.__code__.co_names)
    for verb in verbs:
        assert {Dense, CSR} <= set(verb.registry), verb.__name__


def check_verbs(X, layout):
    """Every verb on rows 0 and -1 of a table, against NumPy."""
    d = X.shape[1]
    w = np.arange(d) - 1.5
    centre = np.arange(d) / 2.0
    table = as_table(LAYOUTS[layout](X))
    order = np.array([0]), np.array([len(X) - 1])
    ((rows, (i, j), steps),) = table.sweep(*order, centre=centre.copy())
    assert steps == slice(0, 1)
    moved = isinstance(rows, Dense)
    c = centre if moved else np.zeros(d)
    scalars, vectors = np.zeros(10), np.ones((8, d))
    columns, values = np.zeros(d, dtype=np.int64), np.zeros(d)
    count, share = every_verb(rows, i[0], j[0], w, scalars, vectors, columns, values)
    x, z = X[0] - c, X[0] - X[-1]
    dots = [x @ w, 2.0 * (x @ w), x @ (w + 1.0), x @ x]
    assert scalars.tolist() == [x @ w, x @ x, z @ w, z @ z, c @ w, *dots, x @ x]
    expected = [0.5 * x, 2 * x, -0.5 * x, X[0], 0.5 * z, 2 * z, -0.5 * z, x]
    np.testing.assert_array_equal(vectors - 1.0, expected)
    found = np.zeros(d)
    found[columns[:count]] = values[:count]
    np.testing.assert_array_equal(found, x)
    assert len(set(columns[:count].tolist())) == count
    assert share == (0.25 if moved else 0.0)
    if moved:
        np.testing.assert_array_equal(rows.centre, centre + 0.25 * x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_verbs_agree(layout):
    @given(tables())
    def law(X):
        check_verbs(X, layout)

    law()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_blocks_and_gathered_rows_agree(layout, monkeypatch):
    monkeypatch.setattr(_sizes, "BLOCK_BYTES", 64)  # blocks of a row or two, so that tables have several
    monkeypatch.setattr(_sizes, "LARGE_BYTES", 64)
    monkeypatch.setattr(_sizes, "SWEEP", 3)

    @given(tables(), st.integers(0, 2**32 - 1))
    def law(X, seed):
        n, d = X.shape
        rng = np.random.default_rng(seed)
        W, U = rng.integers(-4, 5, (d, 2)) / 2.0, rng.integers(-4, 5, (n, 2)) / 2.0
        table = as_table(LAYOUTS[layout](X))
        assert table.shape == (n, d)
        for product, expected in (
            (table.matmul(W), X @ W),
            (table.matmul(W[:, 0]), X @ W[:, 0]),
            (table.rmatmul(U), X.T @ U),
            (table.rmatmul(U[:, 0]), X.T @ U[:, 0]),
            (table.rmatmul_squares(U[:, 0]), (X**2).T @ U[:, 0]),
        ):
            assert product.dtype == np.float64
            np.testing.assert_array_equal(product, expected)
        index = rng.integers(0, n, 4)
        for chosen in (index, slice(0, n), slice(0, 1)):
            np.testing.assert_array_equal(table.dense(chosen), X[chosen])
            assert table.take(chosen).dtype == np.float64
            assert sparse.issparse(table.take(chosen)) == sparse.issparse(LAYOUTS[layout](X))
        orders, met = [rng.integers(0, n, 8), rng.integers(0, n, 8)], []
        for rows, places, steps in table.sweep(*orders):
            for k, at in enumerate(zip(*places, strict=True)):
                for place, order in zip(at, orders, strict=True):
                    row = np.zeros(d)
                    row_add_raw(rows, place, row)
                    np.testing.assert_array_equal(row, X[order[steps][k]])
                met.append(steps.start + k)
        assert met == list(range(8))
        np.testing.assert_array_equal(np.concatenate([np.arange(n)[part] for part, _ in table.blocks()]), np.arange(n))

    law()


def test_kernels_meet_six_kinds_of_rows_only():
    """All read-only, C-ordered, and with 0-based places; disguised tables are one of them."""
    X = np.arange(12.0).reshape(4, 3)
    kinds = {}
    for name, layout in LAYOUTS.items():
        for rows, _, _ in as_table(layout(X)).sweep(np.arange(4)):
            fields = rows[:1] if isinstance(rows, Dense) else rows
            assert all(not field.flags.writeable and field.flags.c_contiguous for field in fields)
            kinds.setdefault((type(rows), *(field.dtype for field in fields)), []).append(name)
    assert len(kinds) == len(KINDS)


def test_an_empty_row_and_an_empty_matrix():
    X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]])
    for layout in LAYOUTS:
        check_verbs(X, layout)
        check_verbs(np.zeros((3, 2)), layout)


def test_a_table_is_its_own_table():
    table = as_table(np.ones((2, 2)))
    assert as_table(table) is table


def problem(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X, y = np.round(rng.standard_normal((n, d)) * 4) / 4, np.arange(n) % 3 == 0
    X[y, 0] += 1.0
    X[5] = 0.0
    return X, y


@pytest.mark.parametrize("layout", LAYOUTS)
def test_kernels_of_spam_on_every_kind_of_rows(layout):
    """Dense kinds give one model, sparse kinds another (they are not centred): each the same to rounding."""
    X, y = problem()
    given = LAYOUTS[layout](X)
    base = csr(X) if sparse.issparse(given) else X
    model = SPAM(random_state=0, n_epochs=2)
    expected, got = model.fit(base, y).coef_.copy(), model.fit(given, y).coef_
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    total, length = np.zeros((2, X.shape[1])), np.zeros(len(X))
    for rows, (at,), steps in as_table(given).sweep(np.arange(len(X)), centre=np.zeros(X.shape[1])):
        sum_rows(rows, at, y[steps].astype(np.int8), total, length[steps])
    np.testing.assert_allclose(total, [X[~y].sum(axis=0), X[y].sum(axis=0)])
    np.testing.assert_allclose(length, (X**2).sum(axis=1))


def memory_mapped(X):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        np.save(Path(folder) / "X.npy", X)
        return np.load(Path(folder) / "X.npy", mmap_mode="r")


STRANGE = {
    "big-endian": lambda X: X.astype(">f8"),
    "big-endian float32": lambda X: X.astype(">f4"),
    "memory-mapped": memory_mapped,
    "reversed": lambda X: X[::-1][::-1, ::-1][:, ::-1],
    "strided": strided,
    "int8": lambda X: np.round(4 * X).astype(np.int8),
    "bool": lambda X: X > 0,
    "csc": lambda X: sparse.csc_array(X),
    "coo": lambda X: sparse.coo_matrix(X),
    "read-only csr": lambda X: frozen(csr(X)),
    "list": lambda X: X.tolist(),
    **DISGUISES,
}


def frozen(X):
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    return X


def plain(X):
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("model", [LeastSquaresAUC(), SPAM(random_state=0)], ids=lambda m: type(m).__name__)
def test_any_input_gives_the_model_of_its_numbers_and_is_not_changed(strange, model):
    X, y = problem()
    given = STRANGE[strange](X)
    numbers, before = plain(given), pickle_of(given)
    expected = model.fit(csr(numbers) if sparse.issparse(given) else numbers, y)
    coef, scores = expected.coef_.copy(), expected.decision_function(numbers)
    model.fit(given, y)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-7)
    np.testing.assert_allclose(model.decision_function(given), scores, rtol=1e-5, atol=1e-6)
    model.partial_fit(given, y)
    assert pickle_of(given) == before


def pickle_of(X):
    if sparse.issparse(X):
        parts = (X.row, X.col) if X.format == "coo" else (X.indices, X.indptr)
        return [array.tobytes() for array in (X.data, *parts)]
    return np.array(X).tobytes()


def test_stacked_rows_can_be_swept(monkeypatch):
    monkeypatch.setattr(_sizes, "BLOCK_BYTES", 64)
    X, w = np.arange(24.0).reshape(8, 3), np.array([1.0, -2.0, 0.5])
    table, order = Stacked(as_table(X[:5]), as_table(X[5:])), np.array([7, 0, 4, 5, 7, 2])
    found = np.full(len(order), np.nan)
    for rows, (at,), steps in table.sweep(order):
        found[steps] = [row_dot(rows, i, w) for i in at]
    np.testing.assert_allclose(found, X[order] @ w)
