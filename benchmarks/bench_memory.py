"""Peak memory of whole fits beyond X: each in a process of its own, against 64 MB + 40 bytes a row + O(d^2)."""

import subprocess
import sys

CODE = """
import resource, sys
import numpy as np
from scipy import sparse
import auclid
kind, name, n, d = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = np.random.default_rng(0)
small = rng.standard_normal((2000, d)).astype(np.float32)
label = np.arange(n) % 20 == 0
def made(n):
    if kind == "csr":
        X = sparse.csr_matrix((n, d), dtype=np.float32)
        X.indptr = np.arange(0, 20 * n + 1, 20, dtype=np.int32)
        X.indices = np.tile(np.arange(0, d, d // 20, dtype=np.int32)[:20], n)
        X.data = np.tile(small.ravel()[:2000], n // 100)
    else:
        X = np.empty((n, d), dtype=np.float32, order=kind)
        for a in range(0, n, 2000):
            X[a : a + 2000] = small[: len(X[a : a + 2000])]
    return X
model = eval("auclid." + name)
model.fit(made(2000), label[:2000])
X = made(n)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(X, label)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""

MODELS = sys.argv[1:] or [
    "LeastSquaresAUC()",
    "LeastSquaresAUCCV()",
    "SPAM(n_epochs=1)",
    "SPAM(n_epochs=1, l1=1e-3)",
    "SOLAM(n_epochs=1)",
    "FSAUC(n_epochs=1)",
    "OPAUC(n_epochs=1)",
    "OPAUC(n_epochs=1, rank=10)",
    "AdaOAM(n_epochs=1)",
    "PSAM(n_epochs=1)",
    "RankSVM()",
    "OAM()",
    "CBR()",
    "UniExp()",
]
SHAPES = [("C", 3_000_000, 10), ("C", 1_000_000, 30), ("F", 1_000_000, 30), ("csr", 1_000_000, 60)]


def main():
    """Print a line a model and shape."""
    for kind, n, d in SHAPES:
        for name in MODELS:
            command = [sys.executable, "-c", CODE, kind, name, str(n), str(d)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name}, {kind} {n} x {d}: failed: {done.stderr.strip().splitlines()[-1]}")
                continue
            used = int(done.stdout.split()[-1]) * 1024
            allowed = 64e6 + 40 * n + 10 * 8 * d**2
            verdict = "met" if used <= allowed else "MISSED"
            print(f"{name:<28} {kind:<3} {n:>9,} x {d:<4} {used / 1e6:8.1f} MB", end="  ")
            print(f"allowed {allowed / 1e6:6.1f} MB  {verdict}")


if __name__ == "__main__":
    main()
