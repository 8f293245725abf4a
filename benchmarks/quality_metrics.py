"""Simulated coverage of every interval and type-I error of every test of auclid.metrics.

`python benchmarks/quality_metrics.py [SHARE [WORD]]` prints a line a case: how often the interval held the truth, and
how often the test rejected a true hypothesis at 5 %, at 50 positives and 500 negatives, and then on other laws and
numbers of rows, for which there is no bar. SHARE (1 unless given) scales
the number of simulations, WORD chooses the cases that have it in their name; the margin is two standard deviations of
the simulation.
"""

import sys
import time
import warnings

import numpy as np
from simulated import CASES, ELSEWHERE, powered, simulate

COVERAGE, TYPE_I = (0.93, 0.97), (0.04, 0.06)


def margin(share, times):
    """Two standard deviations of a simulated share."""
    return 2.0 * np.sqrt(share * (1.0 - share) / times)


def said(share, times, bars):
    """A share in percent, and whether it is within the bars, or outside by more than chance explains."""
    if np.isnan(share):
        return f"{'':22s}"
    off = max(bars[0] - share, share - bars[1])
    verdict = "ok" if off <= 0.0 else "near" if off <= margin(share, times) else "MISSED"
    return f"{100 * share:5.1f} ± {100 * margin(share, times):3.1f} % {verdict:7s}"


def main(share, word=""):
    """The whole table, or the lines with a word."""
    print(f"{'':44s} {'coverage (93-97)':22s} {'type-I error (4-6)':22s} simulations")
    for name, case in ((name, case) for name, case in [*CASES.items(), *ELSEWHERE.items()] if word in name):
        start = time.perf_counter()
        times = max(100, int(share * case.times))
        covered, rejected = simulate(case, times)
        line = f"{name:44s} {said(covered, times, COVERAGE)} {said(rejected, times, TYPE_I)}"
        print(f"{line} {times} in {time.perf_counter() - start:.0f} s", flush=True)
    for how in ({}, {"correlation": 0.5}) if word in "sample_size" else ():
        print(f"{'sample_size' + (', paired' if how else ''):44s} power {powered(**how):.3f} where 0.8 was asked for")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, *sys.argv[2:3])
