"""How the time of a whole fit grows: exponents by rows, from 10^4 on, and by columns, from 10^2 to 10^5.

`python benchmarks/bench_growth.py [--most 1000000] [METHOD ...]`. Rows: 10 dense float32 columns, up to --most rows
(10^7 take 12 minutes). Columns: 10,000 sparse rows of 20 entries. One epoch of what makes several. The exponent
is that of the last factor of ten: what lies before it is mostly the cost of a call.
"""

import argparse
import time
import warnings

import numpy as np
from scipy import sparse

from auclid import make

METHODS = [
    "LeastSquaresAUC", "LeastSquaresAUCCV", "SPAM", "SPAM-NET", "SOLAM", "FSAUC", "OPAUC", "AdaOAM", "ASAM", "PSAM",
    "RankSVM", "OAM", "CBR", "CBR-diag", "Uni-Exp", "SAMULT", "PNU-AUC", "Scorecard",
]  # fmt: skip
COLUMNS = [10**2, 10**3, 10**4, 10**5]
MOST_COLUMNS = dict.fromkeys(["OPAUC", "AdaOAM", "CBR", "SAMULT", "PNU-AUC", "LeastSquaresAUCCV"], 10**3)
"""Methods whose state, or time, is quadratic in the columns by their nature."""

MOST_COLUMNS["Scorecard"] = 10**2  # a dozen shapes a column: cubic in twelve times as many


def labels(signal, rng):
    """A third of positives."""
    return (signal + rng.standard_normal(len(signal)) > 0.6).astype(int)


def dense(n):
    """n rows of 10 columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10), dtype=np.float32)
    return X, labels(X[:, 0], rng)


def wide(d, n=10_000, entries=20):
    """Sparse rows of d columns."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, d, (n, entries))
    places = np.repeat(np.arange(n), entries), columns.ravel()
    X = sparse.csr_matrix((rng.standard_normal(n * entries), places), (n, d))
    return X, labels(rng.standard_normal(n), rng)


def built(name):
    """The method, with one epoch where it makes several."""
    model = make(name)
    if name in {"SAMULT", "PNU-AUC"}:
        model.set_params(unlabeled_weight=0.0)
    known = {"n_epochs": 1, "random_state": 0}
    return model.set_params(**{key: value for key, value in known.items() if key in model.get_params()})


def seconds(name, X, y):
    """The shorter of two fits."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        built(name).fit(X, y)
        times.append(time.perf_counter() - start)
    return min(times)


def grow(name, sizes, make_table, of):
    """Print the times of a method by size, and the exponent at the end."""
    built(name).fit(*make_table(sizes[0]))  # compiled before it counts
    times = [seconds(name, *make_table(size)) for size in sizes]
    said = ", ".join(f"{size:.0e} {taken:.3f} s" for size, taken in zip(sizes, times, strict=True))
    if len(sizes) > 1:
        said += f"; exponent {np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2]):.2f}"
    print(f"{name:<18} by {of:<8} {said}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--most", type=int, default=10**6)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [10**k for k in range(4, int(np.log10(args.most)) + 1)]
    for name in args.methods:
        grow(name, rows, dense, "rows")
        grow(name, [d for d in COLUMNS if d <= MOST_COLUMNS.get(name, COLUMNS[-1])], wide, "columns")


if __name__ == "__main__":
    main()
