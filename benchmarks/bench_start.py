"""What it costs to begin: the import, and the first fit of a process whose kernels were compiled before."""

import subprocess
import sys
import time

FIRST = """
import time
import numpy as np
import auclid
X = np.random.default_rng(0).standard_normal((1000, 10))
y = X[:, 0] > 1
start = time.perf_counter()
auclid.SPAM(random_state=0).fit(X, y)
print(time.perf_counter() - start)
"""


def seconds(code, repeats=5):
    """The shortest of several whole runs of a process."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def printed(code, repeats=5):
    """The smallest number a process prints."""
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(repeats)]
    return min(float(run.stdout) for run in runs)


ours, peer = seconds("import auclid"), seconds("import sklearn.linear_model")
print(f"import auclid {ours:.2f} s, import sklearn.linear_model {peer:.2f} s, ratio {ours / peer:.2f};", end=" ")
print(f"{ours - peer:.2f} s over it, bar 1.00 s: {'met' if ours - peer <= 1.0 else 'MISSED'}")
printed(FIRST, repeats=1)
warm = printed(FIRST)
print(f"first warm-cache fit of SPAM {warm:.2f} s, bar 0.50 s: {'met' if warm <= 0.5 else 'MISSED'}")
