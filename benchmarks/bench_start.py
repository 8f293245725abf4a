"""What it costs to begin: the import, the first fit of a process, and the very first one, which has to compile; and
what an installation takes.

`python benchmarks/bench_start.py [NAME ...]`: the first fits of these methods, by default of those with a bar of their
own; `all` for every method, which takes minutes. Seconds of the processor, on one thread, Numba imported before. What
Numba's compiler takes of a first fit is printed beside it: its own work in Python, and LLVM's.
"""

import os
import re
import subprocess
import sys
import tempfile
from importlib import metadata

FIRST = """
import time, warnings
import numpy as np
import auclid
from numba.core import codegen, event
from auclid.registry import METHODS
warnings.simplefilter("ignore")
X = np.random.default_rng(0).standard_normal((1000, 10))
y = X[:, 0] > 1
method = {method.name: method for method in METHODS}.get("NAME")
if method is not None and method.semi_supervised:
    y = np.where(np.arange(1000) % 2, y.astype(int), -1)
model = auclid.make("NAME") if method is not None else auclid.NAME()
if "random_state" in model.get_params():
    model.set_params(random_state=0)
spent = {"compile": 0.0, "llvm": 0.0, "functions": 0}

class Compiled(event.Listener):
    depth = 0

    def on_start(self, event):
        self.depth += 1
        if self.depth == 1:
            self.start = time.process_time()

    def on_end(self, event):
        self.depth -= 1
        spent["functions"] += 1
        if self.depth == 0:
            spent["compile"] += time.process_time() - self.start

def timed(function):
    def call(*args):
        start = time.process_time()
        try:
            return function(*args)
        finally:
            spent["llvm"] += time.process_time() - start
    return call

for name in ("_optimize_functions", "_optimize_final_module", "_finalize_final_module"):
    setattr(codegen.CPUCodeLibrary, name, timed(getattr(codegen.CPUCodeLibrary, name)))
event.register("numba:compile", Compiled())
start = time.process_time()
model.fit(X, y)
print(time.process_time() - start, spent["compile"], spent["llvm"], spent["functions"])
"""

COLD = {"SPAM": 1.2, "SOLAM": 1.5, "NPSAM": 3.0, "CBR": 1.2, "Scorecard": 1.2}
"""Seconds of the processor of a first fit with nothing compiled."""

COLD_BAR = 1.2
"""The bar of all other methods."""


def seconds(code, repeats=5):
    """The fewest seconds of the processor of several whole runs of a process."""
    times = []
    for _ in range(repeats):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
        used = os.wait4(process.pid, 0)[2]
        times.append(used.ru_utime + used.ru_stime)
    return min(times)


def printed(code, repeats=5, **environment):
    """The numbers that a process prints, of the run with the smallest first one; None where it fails."""
    command, env = [sys.executable, "-c", code], {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    runs = [subprocess.run(command, check=False, capture_output=True, text=True, env=env) for _ in range(repeats)]
    return min(([float(x) for x in run.stdout.split()] for run in runs if not run.returncode), default=None)


def verdict(value, bar):
    return f"bar {bar:.2f} s: {'met' if value <= bar else 'MISSED'}"


def main(names):
    """Print the imports, then a line for each of these methods."""
    peer = seconds("import sklearn.linear_model")
    for code in ("import auclid", "from auclid import SPAM", "from auclid import AUCClassifier"):
        over = seconds(f"import sklearn.linear_model; {code}") - peer
        said = verdict(over, 0.3) if code == "import auclid" else ""
        print(f"{code} {over:.2f} s over import sklearn.linear_model ({peer:.2f} s) {said}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            cold = printed(FIRST.replace("NAME", name), 1, NUMBA_CACHE_DIR=folder)
            warm = cold and printed(FIRST.replace("NAME", name), 3, NUMBA_CACHE_DIR=folder)
        if warm is None:
            print(f"first fit of {name}: not measured, the fit of these rows failed")
            continue
        (took, compiled, llvm, functions), bar = cold, COLD.get(name, COLD_BAR)
        print(f"first fit of {name}, nothing compiled {took:.2f} s, {verdict(took, bar)}", end=" ")
        print(f"({functions:.0f} functions in {compiled:.2f} s, of which LLVM {llvm:.2f} s); compiled before", end=" ")
        print(f"(or by `auclid warm`) {warm[0]:.2f} s, {verdict(warm[0], 0.5)}", flush=True)


def installed(name, seen):
    """Bytes of a distribution and of those that it needs, extras aside."""
    seen.add(name)
    found = metadata.distribution(name)
    size = sum(file.locate().stat().st_size for file in found.files or [] if file.locate().is_file())
    needs = {re.match(r"[\w.-]+", line).group() for line in plain(found.requires)}
    return size + sum(installed(need, seen) for need in sorted(needs - seen) if need not in seen)


def plain(requires):
    """Requirements without a condition."""
    return [line for line in requires or [] if ";" not in line]


def all_names():
    """Every method, and the estimators that have no name among them."""
    from auclid.registry import METHODS

    return [*(method.name for method in METHODS), "Scorecard", "AUCClassifier", "FactorizationRanker"]


if __name__ == "__main__":
    main(all_names() if sys.argv[1:] == ["all"] else sys.argv[1:] or list(COLD))
    print(f"installed size of the core, its dependencies too: {installed('auclid', set()) / 2**20:.0f} MB")
