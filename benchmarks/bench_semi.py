"""Time and memory of the semi-supervised methods against the number of unlabelled rows, and QSG's growth in t.

`python benchmarks/bench_semi.py [--quick] [--plot FILE]`
SAMULT and PNU-AUC learn from 200 labelled and from 1,000 to 5,000,000 unlabelled synthetic rows by `partial_fit`, each
size in a process of its own. The peer is the bare product X'X of the same chunks by NumPy. QSG-S2AUC makes up to 1,000
iterations on covtype; the peer is the exact solution on 1,000 random Fourier features of the same rows.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings

import numpy as np
from clock import report
from sklearn.preprocessing import MinMaxScaler
from tables import folder, split

from auclid import QSGS2AUC, SAMULT, Kernelized, RandomFourier

SIZES = [10**3, 10**4, 10**5, 10**6, 5 * 10**6]
LINEAR, FLAT = 1.1, 8.0
"""Bars between the two largest sizes: the exponent of time, and megabytes more."""

MODELS = {
    "SAMULT": "SAMULT(0.5, alpha=1e-3)",
    "PNU-AUC": "PNUAUC(0.2, prior=0.3, alpha=1e-3)",
    "PNU-AUC, prior estimated": "PNUAUC(0.2, alpha=1e-3)",
    "SAMULT, 200 random features": (
        "Kernelized(RandomFourier(200, gamma=0.05, random_state=0), SAMULT(0.5, alpha=1e-3))"
    ),
}

CODE = """
import json, resource, sys, time, warnings
import numpy as np
from auclid import *
warnings.simplefilter("ignore")
model, n, d, chunk = eval(sys.argv[1]), int(sys.argv[2]), 20, 50_000
rng = np.random.default_rng(0)
def rows(n):
    is_pos = rng.random(n) < 0.3
    X = rng.standard_normal((n, d), dtype=np.float32)
    X[:, 0] += is_pos
    return X, is_pos.astype(int)
X, y = rows(200)
model.partial_fit(X, y, classes=[0, 1])
mark = np.full(chunk, -1)
model.partial_fit(rows(chunk)[0], mark)
product = np.zeros((d, d))
before, ours, peer = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0.0, 0.0
for start in range(0, n, chunk):
    X = rows(min(chunk, n - start))[0]
    begin = time.perf_counter()
    model.partial_fit(X, mark[: len(X)])
    ours += time.perf_counter() - begin
    begin = time.perf_counter()
    Z = X.astype(np.float64)
    product += Z.T @ Z
    peer += time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps({"seconds": ours, "peer": peer, "megabytes": peak / 1024.0}))
"""


def growth(sizes):
    """A line a model and number of unlabelled rows, then whether time is linear and memory flat; returns the times."""
    times = {}
    for name, model in MODELS.items():
        memory = []
        for n in sizes:
            command = [sys.executable, "-c", CODE, model, str(n)]
            done = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            times.setdefault(name, []).append(done["seconds"])
            memory.append(done["megabytes"])
            print(
                f"{name:<26} {n:>9,} unlabelled rows  {done['seconds']:8.3f} s  "
                f"{1e6 * done['seconds'] / n:8.3f} µs a row  memory {done['megabytes']:+6.1f} MB  "
                f"X'X by NumPy {done['peer']:7.3f} s  "
                f"ratio {done['seconds'] / done['peer']:6.2f}",
                flush=True,
            )
        exponent = np.polyfit(np.log(sizes[-2:]), np.log(times[name][-2:]), 1)[0]
        more = memory[-1] - memory[-2]
        verdict = "met" if exponent <= LINEAR and more <= FLAT else "MISSED"
        print(f"{name:<26} grows like n^{exponent:.2f} (bar {LINEAR}), memory by {more:+.1f} MB: {verdict}")
    return times


def quadruply(iterations):
    """QSG on covtype: seconds by iterations, and the exponent of their growth."""
    X, y, X_test, y_test = split("covtype", scale=False)
    scaler = MinMaxScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    few = np.where(np.arange(len(y)) < 200, y, -1)
    QSGS2AUC(n_iter=10, random_state=0).fit(X[:1000], few[:1000])
    times = []
    for t in iterations:
        start = time.perf_counter()
        model = QSGS2AUC(n_iter=t, random_state=0).fit(X, few)
        times.append(time.perf_counter() - start)
        auc = model.score(X_test, y_test)
        print(f"QSG-S2AUC, covtype, {t:>5} iterations  {times[-1]:7.2f} s  AUC {auc:.4f}", flush=True)
    slope = np.polyfit(np.log(iterations[-3:]), np.log(times[-3:]), 1)[0]
    print(f"QSG-S2AUC grows like t^{slope:.2f}")
    start = time.perf_counter()
    exact = Kernelized(RandomFourier(1000, gamma=model.gamma_, random_state=0), SAMULT(0.5, alpha=1e-3)).fit(X, few)
    peer = time.perf_counter() - start
    print(f"SAMULT on 1,000 random features  AUC {exact.score(X_test, y_test):.4f}")
    report(f"QSG-S2AUC, covtype, {iterations[-1]} iterations", "SAMULT on 1,000 random features", times[-1], peer, 1.0)
    return times


def plot(path, sizes, times):
    """The paper's figure 1 for our methods: seconds by unlabelled rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name, seconds in times.items():
        pyplot.loglog(sizes, seconds, marker="o", label=name)
    pyplot.xlabel("unlabelled rows")
    pyplot.ylabel("seconds")
    pyplot.legend()
    pyplot.savefig(path, dpi=120)
    print(f"plot: {path}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--plot")
    args = parser.parse_args()
    sizes = SIZES[:-1] if args.quick else SIZES
    times = growth(sizes)
    if args.plot:
        plot(args.plot, sizes, times)
    if folder() is None:
        print("covtype skipped: set AUCLID_DATA to the folder with the benchmark tables")
    else:
        quadruply([100, 200, 400] if args.quick else [125, 250, 500, 1000])
