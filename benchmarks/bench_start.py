"""What it costs to begin: the import, the first fit of a process, and the very first one, which has to compile."""

import os
import subprocess
import sys
import tempfile
import time

FIRST = """
import time
import numpy as np
import auclid
X = np.random.default_rng(0).standard_normal((1000, 10))
y = X[:, 0] > 1
model = auclid.make("{name}", random_state=0)
start = time.perf_counter()
model.fit(X, y)
print(time.perf_counter() - start)
"""

COLD = {"SPAM": 1.2, "SOLAM": 1.5, "NPSAM": 3.0}
"""Seconds of a first fit with nothing compiled."""


def seconds(code, repeats=5):
    """The shortest of several whole runs of a process."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def printed(code, repeats=5, **environment):
    """The smallest number a process prints."""
    command, env = [sys.executable, "-c", code], {**os.environ, **environment}
    runs = [subprocess.run(command, check=True, capture_output=True, text=True, env=env) for _ in range(repeats)]
    return min(float(run.stdout) for run in runs)


def verdict(value, bar):
    return f"bar {bar:.2f} s: {'met' if value <= bar else 'MISSED'}"


def main():
    peer = seconds("import sklearn.linear_model")
    for code in ("import auclid", "from auclid import SPAM", "from auclid import AUCClassifier"):
        over = seconds(f"import sklearn.linear_model; {code}") - peer
        said = verdict(over, 0.3) if code == "import auclid" else ""
        print(f"{code} {over:.2f} s over import sklearn.linear_model ({peer:.2f} s) {said}")
    for name, bar in COLD.items():
        with tempfile.TemporaryDirectory() as folder:
            cold = printed(FIRST.format(name=name), 1, NUMBA_CACHE_DIR=folder)
            warm = printed(FIRST.format(name=name), 3, NUMBA_CACHE_DIR=folder)
        print(f"first fit of {name}, nothing compiled {cold:.2f} s, {verdict(cold, bar)}; compiled before", end=" ")
        print(f"(or by `auclid warm`) {warm:.2f} s, {verdict(warm, 0.5)}")


if __name__ == "__main__":
    main()
