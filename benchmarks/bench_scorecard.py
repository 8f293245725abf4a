"""Scorecard's fit beside LightGBM, EBM and a dense LeastSquaresAUCCV; and its memory.

`python benchmarks/bench_scorecard.py [--most 10000] [--rows 0] [--ebm] [PART ...]` with PART of tables, covtype,
memory; all by default. tables: the defaults in seconds of the processor, on all tables of at most 200 columns, capped
at so many rows, and on those of more than 50,000 rows. covtype: 465k × 54, 12 knots; EBM takes many minutes, so it is
only run when asked for (`pip install interpret-core`), once, and stopped when the bar is met twice over. All contenders
have one thread. The dense table has as many columns as the scorecard has coefficients. memory: of the fit on covtype.

What was tried for the defaults, against the version before, in turn, on 41 small tables (one split). Kept, .83 of the
time (median ratio 2.16 to 1.80; large tables 1.88 to 1.03), the same cards: kernels that count no references (a cell
is scored in 2.5 ns in place of 14), held-out rows kept in the basis while penalties are compared, counts of bins and
roughness of grids without loops in Python, one size of grid where columns have few values. Left out: pairs ranked on
30,000 held-out rows (no faster; AUC +.0033 on connect-4, -.0011 on covtype), a focus tried on as many (covtype takes
one and longer), factors of half the digits for the weights of the folds, too (1.5 times their time), bisections
without branches (no faster).
Kept before, .79 of the time, AUC -.0001 +- .0003, average precision -.0011 +- .0005, log loss +.0013: no pairs where
held-out rows leave less than .0005 of the AUC, and no logistic loss where that is so even times the negatives for
each positive, pairs ranked once, logistic steps that end after two without a gain, more knots looked at with one
penalty first, one sigmoid for the models of all folds. Worst was covtype, -.0045 on that one split, where pairs come
in another order since they are ranked once; over five splits it is -.0004 (.9302 to .9298), and the cross-validated
AUC of none fell by more than .0009: no defect of a rule.
Kept before that, on 20 development tables of at most 3,000 rows (median ratio 4.9 to 4.1, no AUC changed): arrays in
place of loops, LAPACK called directly. Left out: logistic steps that end when the AUC hardly rises (-.008 on sonar);
a search along one penalty after the other (-.001 on banana, no faster); the moments of the square loss as
preconditioner (twice the products); grids of 6 x 6, or 15 pairs at the most (a third less time, .001 of the AUC on
the tables that have them); three penalties in place of eight for the later folds of the trial of pairs (.96 of the
time, AUC -.00005 in the mean of 20 tables, -.0012 on banana); the coarse grid of penalties that blends use (.6 of the
time, AUC -.0017 in the mean of six development tables, -.005 on covtype).
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import subprocess
import sys
import tempfile

import numpy as np
from clock import best, processor_seconds, report
from lightgbm import LGBMClassifier
from quality_scorecard import narrow
from quality_scorecard import split as table_split
from tables import main_part, require_data, split

from auclid import LeastSquaresAUCCV, Scorecard

KNOTS = 12

LARGE_ROWS = 50_000
"""Rows of a table that is large."""

MEMORY = """
import sys
import numpy as np
from auclid import Scorecard

def marks():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return [int(lines[key].split()[0]) / 1024 for key in ("VmRSS", "VmHWM")]

X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
model = Scorecard(n_knots={knots}, interactions={pairs!r})
model.fit(X[:3000], y[:3000])
held = marks()[0]
model.fit(X, y)
print(marks()[1] - held)
"""


EBM = """
import sys, time
import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
start = time.perf_counter()
ExplainableBoostingClassifier(interactions=0, n_jobs=1, random_state=0).fit(X, y)
print(time.perf_counter() - start)
"""


def ebm_seconds(X, y, most):
    """Seconds of EBM's fit, stopped after ``most``: then it takes longer than that."""
    try:
        return apart(EBM, X, y, most)
    except subprocess.TimeoutExpired:
        print(f"EBM was stopped after {most:.0f} s: the ratio is below the one printed")
        return most


def apart(code, X, y, most=None):
    """The number that a script prints in its own process, given the files of X and y."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("X.npy", "y.npy")]
        for path, array in zip(paths, (X, y), strict=True):
            np.save(path, array)
        command = [sys.executable, "-c", code, *paths]
        return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=most).stdout)


def memory_of_fit(X, y, pairs):
    """Megabytes of the highest mark of a process after a fit, less what it held before (X, and loaded kernels).

    Linux's own mark of this process: getrusage would give that of the process it was started by, if higher.
    """
    return apart(MEMORY.format(knots=KNOTS, pairs=pairs), X, y)


def default_times(names, most, bar):
    """A line a table: the default fit against LightGBM's 200 trees, in seconds of the processor; then the median."""
    Scorecard().fit(*table_split(names[0], 0, 1000)[:2])  # loads the kernels
    ratios = []
    for name in names:
        parts = table_split(name, 0, most)
        if parts is None:
            continue
        X, y = parts[:2]
        ours = processor_seconds(lambda X=X, y=y: Scorecard(random_state=0).fit(X, y))
        trees = LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1)
        theirs = processor_seconds(lambda X=X, y=y, trees=trees: trees.fit(X, y))
        ratios.append(ours / theirs)
        figures = f"{ours:8.2f} s {theirs:8.2f} s  ratio {ours / theirs:6.2f}"
        print(f"{name:<38}{len(y):8,} x {X.shape[1]:<4}{figures}", flush=True)
    middle = float(np.median(ratios))
    print(f"median of {len(ratios)} tables: ratio {middle:.2f}  bar {bar:.2f}  {'met' if middle <= bar else 'MISSED'}")


def tables(options):
    """The defaults on small and on large tables."""
    default_times(narrow(), options.most, 2.0)
    large = [name for name in narrow() if main_part(name)[0].shape[0] > LARGE_ROWS]
    default_times(large, 0, 1.0)


def covtype_rows(rows):
    """So many training rows of covtype, or all, and their labels."""
    X, y, _, _ = split("covtype", scale=False)
    rows = rows or len(y)
    return np.ascontiguousarray(X[:rows]), y[:rows]


def memory(options):
    """What fits on covtype hold, with and without pairs."""
    X, y = covtype_rows(options.rows)
    for pairs in (0, "auto"):
        used = memory_of_fit(X, y, pairs)
        word = "met" if used <= 300 else "MISSED"
        print(f"memory of the fit, interactions={pairs!r}: {used:.0f} MB  bar 300  {word}")


def covtype(options):
    """The ratios of times on covtype."""
    X, y = covtype_rows(options.rows)
    rows = len(y)
    plain, paired = (Scorecard(n_knots=KNOTS, interactions=pairs) for pairs in (0, "auto"))
    size = plain.fit(X, y)._card.basis.size
    dense = np.random.default_rng(0).random((rows, size), dtype=np.float32)
    dense[:, : X.shape[1]] = X / np.maximum(np.abs(X).max(axis=0), 1.0)
    trees = LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1)
    jobs = [lambda model=model: model.fit(X, y) for model in (plain, paired, trees)]
    took = best(*jobs, lambda: LeastSquaresAUCCV().fit(dense, y), repeats=3)
    work = f"covtype {rows:,} x {X.shape[1]}, {KNOTS} knots"
    report(work, "LightGBM, 200 trees", took[0], took[2], 0.5)
    report(f"{work}, pairs", "LightGBM, 200 trees", took[1], took[2], 1.5)
    report(work, f"LeastSquaresAUCCV, dense, {size} columns", took[0], took[3], 1.5)
    if options.ebm:
        report(work, "EBM without interactions", took[0], ebm_seconds(X, y, 2.0 * took[0] / 0.02), 0.02)


PARTS = {"tables": tables, "covtype": covtype, "memory": memory}


def main():
    """Print each ratio with its bar."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--ebm", action="store_true")
    parser.add_argument("--most", type=int, default=10_000)
    options = parser.parse_args()
    require_data()
    for part in options.parts or PARTS:
        PARTS[part](options)


if __name__ == "__main__":
    main()
