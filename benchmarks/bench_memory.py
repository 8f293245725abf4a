"""Peak memory of whole fits beyond X: each in a process of its own, against 64 MB + 40 bytes a row + O(d^2); and the
resident memory of `auclid fit --memory 20MB` on files of 10^6 x 20.

`python benchmarks/bench_memory.py [--command | MODEL ...]`: the second alone, or the first for these models alone.
"""

import os
import subprocess
import sys
import tempfile

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
model.fit(made(40000), label[:40000])  # rows enough for Numba to be loaded, which is not the fit's memory
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


WRITE = """
import sys
import numpy as np, pyarrow as pa, pyarrow.csv, pyarrow.parquet
rng = np.random.default_rng(0)
X = rng.standard_normal((1_000_000, 20)).astype(np.float32)
table = pa.table({**{f"x{k}": x for k, x in enumerate(X.T)}, "y": (X[:, 0] > 1.5).astype(int)})
pa.parquet.write_table(table, sys.argv[1] + "/rows.parquet", row_group_size=100_000)
pa.csv.write_csv(table, sys.argv[1] + "/rows.csv")
"""

CONTAINER = 512
"""MB of the smallest container in which a linear model should be fitted from files."""


def command_peaks():
    """Print the peak of the resident memory of each fit by the command; a process's first run, which compiles, too."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", WRITE, folder], check=True)
        for name in ("rows.parquet", "rows.csv"):
            for method in ("LeastSquaresAUC", "RankSVM", "SPAM"):
                fit = ["-m", "auclid.cli", "fit", f"{folder}/{name}", "--target", "y", "--method", method]
                fit += ["--memory", "20MB", "--model", f"{folder}/model.auclid"]
                done = subprocess.Popen([sys.executable, *fit], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                _, status, used = os.wait4(done.pid, 0)
                peak = used.ru_maxrss / 1024
                word = "failed" if status else "met" if peak <= CONTAINER else "MISSED"
                print(f"{method}, {name}, --memory 20MB: {peak:.0f} MB  bar {CONTAINER}  {word}", flush=True)


def main():
    """Print a line a model and shape."""
    if len(sys.argv) == 1 or "--command" in sys.argv:
        command_peaks()
    if "--command" in sys.argv:
        return
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
