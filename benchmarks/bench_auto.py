"""Wall time of AUCClassifier beside LightGBM's 200 trees on tables of different shape, idle or beside busy neighbours.

`python benchmarks/bench_auto.py [--neighbours 0] [--repeats 3] [TABLE ...]`: as many processes as neighbours do nothing
but keep a core busy. Both contestants take turns beside them; each fits all rows at hand, the rarest class against the
rest; medians of the repeats, after a round that does not count. Bar: 5 x LightGBM's time in the median of the tables,
20 x at worst. LightGBM has one thread, as AUCClassifier has by default.

`--threads`: default settings beside one thread, each in a process of its own: for the one, libraries may take as many
threads as there are cores; to the other the environment allows one. Bar: never slower, up to a tenth for the clock.
"""

import argparse
import os
import subprocess
import sys
import time
import warnings
from contextlib import ExitStack, contextmanager

import numpy as np
from lightgbm import LGBMClassifier
from quality_auto import load, warm_up
from tables import require_data

from auclid import AUCClassifier

TABLES = [
    "colon-cancer", "sonar", "keel-car-good", "madelon", "dna", "german", "mammography", "magic04", "letter", "adult",
    "w8a", "connect-4",
]  # fmt: skip
"""Few rows and many, narrow and wide, dense and sparse, even and one-sided classes."""

LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@contextmanager
def busy(neighbours):
    """So many processes beside us, each of which keeps a core busy."""
    with ExitStack() as stack:
        for _ in range(neighbours):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def in_turns(jobs, repeats):
    """The median wall time of each job."""
    times = [[] for _ in jobs]
    for turn in range(repeats + 1):
        for kept, job in zip(times, jobs, strict=True):
            start = time.perf_counter()
            job()
            if turn:
                kept.append(time.perf_counter() - start)
    return [float(np.median(kept)) for kept in times]


def beside_lightgbm(tables, repeats, quality):
    """A line a table, then the bars."""
    print(f"{'table':<24}{'rows':>8}{'columns':>9}{'ours, s':>10}{'LightGBM':>10}{'ratio':>8}")
    ratios = []
    for name in tables:
        X, y = load(name, 0)
        peer = LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1, random_state=0)
        model = AUCClassifier(quality=quality, random_state=0)
        ours, theirs = in_turns([lambda: model.fit(X, y), lambda: peer.fit(X, y)], repeats)
        ratios.append(ours / theirs)
        print(f"{name:<24}{X.shape[0]:8}{X.shape[1]:9}{ours:10.2f}{theirs:10.2f}{ratios[-1]:8.1f}", flush=True)
    middle, worst = np.median(ratios), max(ratios)
    verdict = "met" if middle <= 5.0 and worst <= 20.0 else "MISSED"
    print(f"median {middle:.1f} x (bar 5), worst {worst:.1f} x (bar 20): {verdict}")


class Child:
    """A process of its own that fits when told to."""

    def __init__(self, name, one_thread):
        free = {key: value for key, value in os.environ.items() if key not in LIMITS}
        limits = dict.fromkeys(LIMITS, "1") if one_thread else {}
        line = [sys.executable, __file__, "--child", "1" if one_thread else "default", name]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(line, env=free | limits, **pipes)
        self.process.stdout.readline()

    def __call__(self):
        """One fit."""
        self.process.stdin.write("fit\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def end(self):
        """No more fits are wanted."""
        self.process.stdin.close()
        self.process.wait()


def obey(name, threads):
    """Fit whenever a line is read, and say so."""
    X, y = load(name, 0)
    chosen = {"threads": 1} if threads == "1" else {}
    print("ready", flush=True)
    for _ in sys.stdin:
        AUCClassifier(random_state=0, **chosen).fit(X, y)
        print("done", flush=True)


def default_beside_one(tables, repeats):
    """A line a table: default settings, and one thread."""
    print(f"{'table':<24}{'default, s':>12}{'one thread':>12}{'ratio':>8}")
    for name in tables:
        jobs = [Child(name, one_thread) for one_thread in (False, True)]
        default, one = in_turns(jobs, repeats)
        for job in jobs:
            job.end()
        verdict = "met" if default <= 1.1 * one else "MISSED"
        print(f"{name:<24}{default:12.2f}{one:12.2f}{default / one:8.2f}  {verdict}", flush=True)


def main():
    """Print what was asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--neighbours", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quality", choices=("fast", "default", "best"), default="default")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--child", choices=("default", "1"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    require_data()
    warnings.simplefilter("ignore")
    if options.child:
        obey(options.tables[0], options.child)
        return
    print(f"beside {options.neighbours} busy neighbours, {os.cpu_count()} cores")
    with busy(options.neighbours):
        if options.threads:
            default_beside_one(options.tables or ["keel-car-good", "mammography", "magic04"], options.repeats)
        else:
            warm_up()
            beside_lightgbm(options.tables or TABLES, options.repeats, options.quality)


if __name__ == "__main__":
    main()
