"""The whole attack: thousands of hostile cases in processes of their own; prints what got through.

    python tests/fuzz/attack.py                    20,000 cases, at most ten minutes on two cores
    python tests/fuzz/attack.py --cases 2000 --only files,fits
    python tests/fuzz/attack.py --only files --first 1234 --cases 1    one case again

A case is known by its family and its number, so whatever is found can be made again. A process that dies, or that takes
longer than 30 seconds over one case, is counted and replaced. Exit code 0 if nothing got through.
"""

import argparse
import multiprocessing as mp
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

FAMILIES = {
    "fits": ("attack_fits", "fit_case", 0.30),
    "broken": ("attack_fits", "broken_case", 0.04),
    "batches": ("attack_fits", "batch_case", 0.05),
    "files": ("attack_files", "file_case", 0.18),
    "used": ("attack_files", "used_case", 0.10),
    "bytes": ("attack_files", "bytes_case", 0.04),
    "metrics": ("attack_metrics", "metric_case", 0.12),
    "streams": ("attack_metrics", "stream_case", 0.02),
    "pairs": ("attack_metrics", "pair_case", 0.02),
    "readers": ("attack_command", "reader_case", 0.03),
    "command": ("attack_command", "command_case", 0.01),
    "outputs": ("attack_outputs", "output_case", 0.01),
    "tables": ("attack_tables", "table_case", 0.07),
    "several": ("attack_tables", "several_case", 0.05),
    "rows": ("attack_rows", "rows_case", 0.05),
    "damaged": ("attack_sources", "damaged_case", 0.05),
    "blocks": ("attack_sources", "blocks_case", 0.02),
    "threads": ("attack_sources", "threads_case", 0.01),
    "plots": ("attack_plots", "plot_case", 0.02),
}
"""Module, function and share of all cases."""

HANG = 30.0
"""Seconds that one case may take."""

WARM = 300.0
"""Seconds that a process may take over each of its first cases of a family: it may have to compile."""


def main() -> int:
    """Run the attack as the command line says."""
    options = _options()
    names = options.only.split(",") if options.only else list(FAMILIES)
    total = sum(FAMILIES[name][2] for name in names)
    cases = [
        (name, number)
        for name in names
        for number in range(options.first, options.first + max(1, round(options.cases * FAMILIES[name][2] / total)))
    ]
    start = time.monotonic()
    done, found = run(cases, options.jobs, options.seed, start + options.seconds)
    report(done, found, time.monotonic() - start)
    return 1 if found or done.total() < len(cases) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="", help=f"some of {','.join(FAMILIES)}")
    return parser.parse_args()


class Worker:
    """A process that takes one case after the other, and what it is at."""

    def __init__(self, seed: int) -> None:
        context = mp.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, seed), daemon=True)
        self.process.start()
        other.close()
        self.case: tuple[str, int] | None = None
        self.since, self.count = time.monotonic(), Counter[str]()

    def give(self, case: tuple[str, int]) -> None:
        """Send a case."""
        self.case, self.since = case, time.monotonic()
        self.count[case[0]] += 1
        self.pipe.send(case)

    def fate(self) -> tuple[str, str] | None:
        """What came of the case: ("", "") where all is well, kind and detail otherwise, None while it runs."""
        try:
            if self.pipe.poll(0.0):
                return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(5.0)
            return "crash", f"process ended with {self.process.exitcode}"
        if not self.process.is_alive():
            return "crash", f"process ended with {self.process.exitcode}"
        known = self.case is not None and self.count[self.case[0]] > 50
        if time.monotonic() - self.since > (HANG if known else WARM):
            return "hang", f"more than {HANG:.0f} s"
        return None

    def end(self) -> None:
        """Stop the process."""
        self.process.kill()
        self.process.join(5.0)
        self.pipe.close()


def work(pipe: Any, seed: int) -> None:
    """What a process does: cases from the pipe, fates into it."""
    import importlib

    import numpy as np

    from hostile import Found

    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    while True:
        family, number = pipe.recv()
        module, function, _ = FAMILIES[family]
        case = getattr(importlib.import_module(module), function)
        try:
            case(np.random.default_rng([seed, list(FAMILIES).index(family), number]))
            pipe.send(("", ""))
        except Found as error:
            pipe.send((error.kind, error.detail))
        except BaseException as error:
            pipe.send(("broken attack", f"{type(error).__name__}: {str(error)[:300]}"))


def run(cases: list[Any], jobs: int, seed: int, deadline: float) -> tuple[Counter[str], list[Any]]:
    """All cases that the time allows; what got through, as (family, number, kind, detail)."""
    done: Counter[str] = Counter()
    found: list[Any] = []
    left = iter(cases)
    workers = [Worker(seed) for _ in range(jobs)]
    open_cases = True
    while any(worker.case for worker in workers) or open_cases:
        for k, worker in enumerate(workers):
            if worker.case is not None:
                fate = worker.fate()
                if fate is None:
                    continue
                done[worker.case[0]] += 1
                if fate[0]:
                    found.append((*worker.case, *fate))
                    print(f"{worker.case[0]} {worker.case[1]}: {fate[0]}: {fate[1]}", flush=True)
                if fate[0] in ("crash", "hang"):
                    worker.end()
                    workers[k] = worker = Worker(seed)
                worker.case = None
            case = next(left, None) if time.monotonic() < deadline else None
            if case is None:
                open_cases = False
            else:
                worker.give(case)
        time.sleep(0.0005)
    for worker in workers:
        worker.end()
    return done, found


def report(done: Counter[str], found: list[Any], seconds: float) -> None:
    """The table of counts."""
    kinds = Counter(kind for _, _, kind, _ in found)
    for name, count in done.items():
        print(f"{name:10} {count:7,} cases, {sum(one[0] == name for one in found)} got through")
    print(f"{done.total():,} cases in {seconds / 60:.1f} minutes")
    bars = {"crashes": "crash", "hangs over 30 s": "hang", "scores not finite": "not finite", "tracebacks": "traceback"}
    for label, kind in {**bars, "loads beyond 100 MB": "memory"}.items():
        print(f"  {label:22} {kinds.pop(kind, 0)}")
    for kind, count in kinds.items():
        print(f"  {kind:22} {count}")


if __name__ == "__main__":
    sys.exit(main())
