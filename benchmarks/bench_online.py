"""Speed and memory of the online methods with buffers, against BLAS and SciPy in the same run.

``python benchmarks/bench_online.py memory`` instead feeds ten million rows to each and watches the memory; names
after it (``"CBR full"``) choose some.
"""

import ctypes
import resource
import subprocess
import sys
import warnings
from functools import partial
from itertools import cycle

import numpy as np
from clock import best, report
from numba import njit
from numba.extending import get_cython_function_address
from scipy import sparse
from tables import require_data, split

from auclid import CBR, OAM, UniExp
from auclid.data import as_table, row_dot
from auclid.solvers import confidence_weighted


def blas(name, arguments):
    """A routine of SciPy's BLAS for compiled code: a call from Python would cost more than its work."""
    address = get_cython_function_address("scipy.linalg.cython_blas", name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


dsymv, dsyr = blas("dsymv", 10), blas("dsyr", 7)


@njit
def blas_updates(times, A, z, h, lower, d, one, unit, zero, beta):
    """So many products h = A z and updates A + beta h h' of the lower triangle."""
    for _ in range(times):
        dsymv(
            lower.ctypes, d.ctypes, unit.ctypes, A.ctypes, d.ctypes,
            z.ctypes, one.ctypes, zero.ctypes, h.ctypes, one.ctypes,
        )  # fmt: skip
        dsyr(lower.ctypes, d.ctypes, beta.ctypes, h.ctypes, one.ctypes, A.ctypes, d.ctypes)


@njit
def dot_products(rows, times, w):
    """So many dot products of rows in turn with w."""
    total = 0.0
    for t in range(times):
        total += row_dot(rows, t % 100, w)
    return total


def blas_work(updates, d):
    """A call that makes the peer's updates."""
    z, beta = 1e-3 * np.random.default_rng(0).standard_normal(d), np.array([-1e-9])
    lower, size, one = np.frombuffer(b"L", np.uint8).copy(), np.array([d], np.int32), np.array([1], np.int32)
    args = np.eye(d), z, np.zeros(d), lower, size, one, np.ones(1), np.zeros(1), beta
    return lambda: blas_updates(updates, *args)


def count_pairs(model, X, y):
    """How many pairs a CBR meets in one pass, and how many of them move it."""
    met, moved, sweep = 0, 0, confidence_weighted.sweep_confidence_weighted

    def counting(window, *args):
        nonlocal met, moved
        opposite = window.number[np.arange(len(window.at)), 1 - window.label]
        met += int(np.minimum(opposite, model.buffer_size).sum())
        moved += sweep(window, *args)

    confidence_weighted.sweep_confidence_weighted = counting
    try:
        model.fit(X, y)
    finally:
        confidence_weighted.sweep_confidence_weighted = sweep
    return met, moved


def full_covariance():
    """CBR on covtype: the BLAS work of its updates, and a dot product for each pair passed over."""
    X, y, _, _ = split("covtype")
    X = np.ascontiguousarray(X, dtype=np.float64)
    met, moved = count_pairs(CBR(random_state=0), X, y)
    print(f"covtype {X.shape}: {met:.3g} pairs, {moved / met:.1%} of them moved the model")
    updates, w = blas_work(moved, X.shape[1]), np.ones(X.shape[1])
    ((rows, _, _),) = as_table(X[:100]).sweep(np.arange(100))
    updates()
    ours, theirs, skipped = best(
        lambda: CBR(random_state=0).fit(X, y), updates, lambda: dot_products(rows, met - moved, w), repeats=3
    )
    print(f"  {ours:.2f} s; dsymv + dsyr {theirs:.2f} s; a dot product a pair passed over {skipped:.2f} s")
    allowed = 1.5 * theirs + skipped
    report("CBR full, covtype 465k x 54, M = 50", "1.5 (dsymv + dsyr) + dots", ours, allowed, 1.0)


def sparse_pairs():
    """CBR-diag and OAM on news20: the cost of a row and a buffer element in sparse dot products."""
    X, y, _, _ = split("news20")
    wide, w = X.astype(np.float64), np.ones(X.shape[1])
    for name, model in (
        ("CBR-diag", CBR(covariance="diagonal", random_state=0)),
        ("OAM", OAM(random_state=0)),
        ("OAM gradient", OAM(update="gradient", random_state=0)),
        ("OAMseq", OAM(buffer="reservoir", average=False, random_state=0)),
    ):
        ours, peer = best(lambda m=model: m.fit(X, y), lambda: [wide @ w for _ in range(20)], repeats=3)
        pairs = model.buffer_size
        report(f"{name}, news20 CSR, a row and one of {pairs}", "X @ w, a row", ours / pairs, peer / 20, 3.0)


STREAMS = {  # what learns, and from which rows
    "CBR full": (CBR, np.asarray),
    "CBR diagonal": (partial(CBR, covariance="diagonal"), np.asarray),
    "CBR diagonal, CSR": (partial(CBR, covariance="diagonal"), sparse.csr_matrix),
    "OAM": (OAM, np.asarray),
    "OAM reservoir": (partial(OAM, buffer="reservoir"), np.asarray),
    "OAM, CSR": (OAM, sparse.csr_matrix),
    "UniExp": (UniExp, np.asarray),
    "UniExp, CSR": (UniExp, sparse.csr_matrix),
}
BATCHES = [20_000, 1, 5_003, 117, 14_879]
"""Rows of the batches, in turn."""
MARKS = [10**5, 10**6, 10**7]


def peak():
    """The most memory this process ever held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stream(name, d=10):
    """Feed ten million rows by partial_fit; print the state's size, and the peak of memory on the way."""
    build, kind = STREAMS[name]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, BATCHES[0])
    X = rng.standard_normal((len(y), d)) * (rng.random((len(y), d)) < 0.5)
    X[:, 0] += y
    batches = [(kind(X[-n:]), y[-n:]) for n in BATCHES]
    model, rows, peaks = build(random_state=0), 0, []
    for X, y in cycle(batches):
        model.partial_fit(X, y, classes=[0, 1])
        rows += len(y)
        if rows >= MARKS[len(peaks)]:
            peaks.append(peak())
        if len(peaks) == len(MARKS):
            break
    held = sum(x.nbytes for x in leaves(model._state) if isinstance(x, np.ndarray))
    after = ", ".join(f"{mark:.0e} rows {found:.1f} MB" for mark, found in zip(MARKS, peaks, strict=True))
    growth = peaks[-1] - peaks[0]
    print(f"{name:<18} state {held / 1024:4.0f} kB; peak after {after}; growth {growth:.1f} MB", end="  ")
    print("met" if growth < 1.0 else "MISSED", flush=True)


def memory(names):
    """Each stream in a process of its own, so that no other's memory is counted."""
    for name in names or STREAMS:
        subprocess.run([sys.executable, __file__, "stream", name], check=True)


def leaves(state):
    """All parts of a state that are not structs themselves."""
    for x in state:
        yield from leaves(x) if isinstance(x, tuple) else (x,)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["memory"]:
        memory(sys.argv[2:])
    elif sys.argv[1:2] == ["stream"]:
        stream(sys.argv[2])
    else:
        require_data()
        full_covariance()
        sparse_pairs()
