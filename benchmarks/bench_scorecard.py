"""Scorecard's fit on covtype (465k × 54, 12 knots) against LightGBM, EBM and a dense LeastSquaresAUCCV; and its memory.

`python benchmarks/bench_scorecard.py [--rows 0] [--ebm]`; EBM takes many minutes, so it is only run when asked for
(`pip install interpret-core`), once. All contenders have one thread. The dense table has as many columns as the
scorecard has coefficients.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import subprocess
import sys
import time

import numpy as np
from clock import best, report
from lightgbm import LGBMClassifier
from tables import require_data, split

from auclid import LeastSquaresAUCCV, Scorecard

KNOTS = 12

MEMORY = """
import resource, sys
sys.path.insert(0, {here!r})
from tables import split
from auclid import Scorecard
X, y, _, _ = split("covtype", scale=False)
X, y = X[:{rows}], y[:{rows}]
Scorecard(n_knots={knots}, interactions={pairs!r}).fit(X[:3000], y[:3000])
del _
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
Scorecard(n_knots={knots}, interactions={pairs!r}).fit(X, y)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def memory(rows, pairs):
    """Megabytes that a fit adds to the highest mark of a process that has read the table."""
    code = MEMORY.format(here=os.path.dirname(os.path.abspath(__file__)), rows=rows, knots=KNOTS, pairs=pairs)
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def main():
    """Print each ratio with its bar."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--ebm", action="store_true")
    options = parser.parse_args()
    require_data()
    X, y, _, _ = split("covtype", scale=False)
    rows = options.rows or len(y)
    X, y = np.ascontiguousarray(X[:rows]), y[:rows]
    plain, paired = (Scorecard(n_knots=KNOTS, interactions=pairs) for pairs in (0, "auto"))
    size = plain.fit(X, y)._card.basis.size
    dense = np.random.default_rng(0).random((rows, size), dtype=np.float32)
    dense[:, : X.shape[1]] = X / np.maximum(np.abs(X).max(axis=0), 1.0)
    trees = LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1)
    jobs = [lambda model=model: model.fit(X, y) for model in (plain, paired, trees)]
    times = best(*jobs, lambda: LeastSquaresAUCCV().fit(dense, y), repeats=3)
    work = f"covtype {rows:,} x {X.shape[1]}, {KNOTS} knots"
    report(work, "LightGBM, 200 trees", times[0], times[2], 0.5)
    report(f"{work}, pairs", "LightGBM, 200 trees", times[1], times[2], 1.5)
    report(work, f"LeastSquaresAUCCV, dense, {size} columns", times[0], times[3], 1.5)
    for pairs in (0, "auto"):
        used = memory(rows, pairs)
        word = "met" if used <= 300 else "MISSED"
        print(f"memory of the fit, interactions={pairs!r}: {used:.0f} MB  bar 300  {word}")
    if options.ebm:
        from interpret.glassbox import ExplainableBoostingClassifier

        start = time.perf_counter()
        ExplainableBoostingClassifier(interactions=0, n_jobs=1).fit(X, y)
        report(work, "EBM without interactions", times[0], time.perf_counter() - start, 0.02)


if __name__ == "__main__":
    main()
