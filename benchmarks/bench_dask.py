"""Dask on this machine: the weights and bits of one process, time, the driver's memory, a killed worker, exact areas.

``python benchmarks/bench_dask.py`` prints a line a bar; ``--model`` what a core carries, and the estimate of the guide;
``--rows N`` makes so many synthetic rows, in place of 10⁷; ``fits``, ``areas``, ``bits``, ``peer`` or ``texts`` runs
that part alone: the last fits frames with texts in partitions of 300,000 rows on workers of 800 MB (``texts
Scorecard``: that model alone).
covtype comes from AUCLID_DATA; without it, rows of its shape.
"""

import gc
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from bench_scan import line
from distributed import Client, LocalCluster
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from tables import folder, positive, raw
from threadpoolctl import threadpool_limits

from auclid import Columns, LeastSquaresAUC, RankSVM, Scorecard
from auclid.metrics import roc_auc
from auclid.stats.moments import grouped_moments

COPIES, PARTS = 20, 40


def cluster(workers, memory="8GB"):
    """Local workers of one thread each."""
    return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=memory)


def covtype():
    """(X, y) of covtype, standardised, or rows of its shape."""
    if folder() is not None:
        X, y = raw("covtype")
        X, y = X.toarray() if hasattr(X, "toarray") else X, positive("covtype", y)
    else:
        print("AUCLID_DATA is not set: rows of the shape of covtype in its place")
        rng = np.random.default_rng(0)
        y = rng.random(581_012) < 0.0935
        X = rng.standard_normal((len(y), 54)).astype(np.float32) + 0.3 * y[:, None]
    spread = X.std(axis=0)
    return np.ascontiguousarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)), y


def repeated(X, y):
    """The rows twenty times over, in forty partitions that workers read from files."""
    half, where = len(y) // 2, Path(tempfile.gettempdir())
    parts = [slice(0, half), slice(half, len(y))]
    for k, part in enumerate(parts):
        np.save(where / f"auclid-covtype-{k}.npy", X[part])
        np.save(where / f"auclid-covtype-y{k}.npy", y[part])

    def read(name):
        return dask.delayed(np.load)(str(where / f"auclid-covtype-{name}.npy"))

    rows = [da.from_delayed(read(k % 2), X[parts[k % 2]].shape, X.dtype) for k in range(PARTS)]
    labels = [da.from_delayed(read(f"y{k % 2}"), y[parts[k % 2]].shape, bool) for k in range(PARTS)]
    return da.concatenate(rows), da.concatenate(labels)


def made(rows, parts, d=20, seed=0):
    """Synthetic rows, 1 % positive, made on the workers."""
    size = rows // parts

    def labels(k):
        return np.random.default_rng((seed, k)).random(size) < 0.01

    def block(k):
        rng = np.random.default_rng((seed + 1, k))
        return rng.standard_normal((size, d), dtype=np.float32) + 0.3 * labels(k)[:, None].astype(np.float32)

    X = [da.from_delayed(dask.delayed(block)(k), (size, d), np.float32) for k in range(parts)]
    y = [da.from_delayed(dask.delayed(labels)(k), (size,), bool) for k in range(parts)]
    return da.concatenate(X), da.concatenate(y)


def stored(rows, parts, folder):
    """Labels, 1 % positive, and scores, in a file a partition."""
    size = rows // parts

    def write(k):
        rng = np.random.default_rng(k)
        y = rng.random(size) < 0.01
        np.save(folder / f"y{k}.npy", y)
        np.save(folder / f"s{k}.npy", rng.standard_normal(size) + y)

    dask.compute(*[dask.delayed(write)(k) for k in range(parts)])
    found = []
    for name, dtype in (("y", bool), ("s", float)):
        read = [dask.delayed(np.load)(str(folder / f"{name}{k}.npy")) for k in range(parts)]
        found.append(da.concatenate([da.from_delayed(each, (size,), dtype) for each in read]))
    return found


def peak():
    """The largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def timed(job):
    """(seconds, result)"""
    gc.collect()
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def cpu(job):
    """The least seconds of the processor that a job takes."""
    times = []
    for _ in range(5):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def driver_memory(rows):
    """RankSVM on synthetic rows: first, since what a process has used it never gives back."""
    with cluster(2) as workers, Client(workers):
        RankSVM().fit(*made(20_000, 4))
        before = peak()
        seconds, model = timed(lambda: RankSVM().fit(*made(rows, 100)))
        print(f"RankSVM, {rows:,} synthetic rows x 20 columns: {seconds:.1f} s, {model.n_iter_} steps")
        print(f"driver memory: {before:.0f} MB after a small fit, {peak():.0f} MB in the end", flush=True)
        line("driver memory beyond 64 bytes a row of the rarer class", peak() - before - 64e-6 * rows / 100, 200, "MB")


def areas(rows):
    """The AUC of scores that lie in files, one a partition; the peer reads the same files."""
    with tempfile.TemporaryDirectory() as folder, cluster(2) as workers, Client(workers):
        y, scores = stored(rows, 100, Path(folder))
        roc_auc(y[: rows // 50], scores[: rows // 50])
        before = peak()
        seconds, ours = timed(lambda: roc_auc(y, scores))
        used = max(peak() - before, 1.0)
        theirs_seconds, theirs = timed(lambda: roc_auc_score(*dask.compute(y, scores)))
        line(f"AUC of {rows:,} scores in 100 partitions, against scikit-learn's", abs(ours - theirs), 1e-12)
        line("AUC, time over that of computing and calling roc_auc_score", seconds / theirs_seconds, 0.25)
        line("AUC, driver memory over that", used / max(peak() - before, 1.0), 0.1)


def bits():
    """covtype twenty times over: the weights of one process, and the same bits whoever computes them."""
    X, y = covtype()
    whole = LeastSquaresAUC().fit(np.tile(X, (COPIES, 1)), np.tile(y, COPIES))
    found = {}
    for workers in (1, 2, 4):
        with cluster(workers) as local, Client(local):
            rows, labels = repeated(X, y)
            seconds, linear = timed(lambda rows=rows, labels=labels: LeastSquaresAUC().fit(rows, labels))
            ranked_seconds, ranked = timed(lambda rows=rows, labels=labels: RankSVM().fit(rows, labels))
            found[workers] = seconds, linear.coef_.tobytes() + ranked.coef_.tobytes()
            print(f"{workers} workers: LeastSquaresAUC {seconds:.1f} s, RankSVM {ranked_seconds:.1f} s", flush=True)
            if workers == 2:
                again = killed(local, rows, labels)
                changed = float(again != ranked.coef_.tobytes())
                line("a worker killed in the middle of RankSVM: bits that differ", changed, 0)
                off = np.abs(linear.coef_ - whole.coef_).max() / np.abs(whole.coef_).max()
                line("LeastSquaresAUC, weights against one process (relative)", float(off), 1e-10)
    line("numbers of different bits with 1, 2 and 4 workers", len({each[1] for each in found.values()}) - 1, 0)


def killed(local, rows, labels):
    """The weights of a fit in the middle of which a worker was killed."""
    with Client(local) as client:
        pid = next(iter(client.run(os.getpid).values()))
        timer = threading.Timer(2.0, os.kill, (pid, signal.SIGKILL))
        timer.start()
        weights = RankSVM().fit(rows, labels).coef_.tobytes()
        timer.join()
        return weights


def time_over_peer():
    """covtype twenty times over, on two workers, against a logistic regression on the same."""
    with cluster(2) as local, Client(local):
        rows, labels = repeated(*covtype())
        seconds = timed(lambda: LeastSquaresAUC().fit(rows, labels))[0]
        print(f"two workers: LeastSquaresAUC {seconds:.1f} s", flush=True)
        line("LeastSquaresAUC, time over LogisticRegression's", seconds / peer(rows, labels), 0.15)


def peer(rows, labels):
    """Seconds of dask-ml's LogisticRegression; of scikit-learn's on the collected array where it is not installed."""
    try:
        from dask_ml.linear_model import LogisticRegression as Lazy

        seconds = timed(lambda: Lazy().fit(rows, labels))[0]
        print(f"dask-ml's LogisticRegression: {seconds:.1f} s", flush=True)
    except ImportError:
        print("dask-ml is not installed: scikit-learn's LogisticRegression on the collected array in its place")
        seconds = timed(lambda: LogisticRegression(max_iter=100).fit(*dask.compute(rows, labels)))[0]
        print(f"scikit-learn's LogisticRegression: {seconds:.1f} s", flush=True)
    return seconds


def write_texts(folder, parts, size):
    """Files of numbers, three columns of text and a label, one a partition."""
    import pyarrow as pa
    from pyarrow import parquet

    levels = pa.array([f"level number {j}" for j in range(40)])
    for k in range(parts):
        rng = np.random.default_rng(k)
        X, codes = rng.standard_normal((size, 8)), rng.integers(0, 40, (3, size))
        y = X[:, 0] + (codes[0] == 0) + rng.standard_normal(size) > 2.0
        columns = {f"x{j}": x for j, x in enumerate(X.T)} | {f"t{j}": levels.take(code) for j, code in enumerate(codes)}
        parquet.write_table(pa.table({**columns, "y": y}), f"{folder}/part-{k}.parquet")


def texts(size=300_000, parts=4, memory="800MB"):
    """Fits of frames with texts on workers of little memory: which end, and the most that a worker held."""
    import dask.dataframe as dd

    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    models = {
        "Columns + LeastSquaresAUC": make_pipeline(Columns(), LeastSquaresAUC()),
        "Columns + RankSVM": make_pipeline(Columns(), RankSVM()),
        "Scorecard": Scorecard(interactions=0),
    }
    with tempfile.TemporaryDirectory() as folder:
        write_texts(folder, parts, size)
        for name in [name for name in models if name in sys.argv] or models:
            estimator = models[name]
            with cluster(2, memory) as local, Client(local) as client:
                frame = dd.read_parquet(folder)
                workers = set(client.run(os.getpid).values())
                try:
                    seconds, _ = timed(lambda: estimator.fit(frame.drop(columns="y"), frame["y"]))
                except Exception as error:
                    print(f"{name}, {parts} x {size:,} rows: MISSED, {type(error).__name__}: {error}"[:300], flush=True)
                    continue
                killed = len(workers - set(client.run(os.getpid).values()))
                print(f"{name}, {parts} x {size:,} rows with 3 columns of text: {seconds:.1f} s", flush=True)
                line(f"{name}, workers of {memory} that were killed", killed, 0)
                line(f"{name}, most memory of a worker now there", max(client.run(peak).values()), 800, "MB")


def model():
    """What a core and a link carry here, and the estimate for ten billion rows of a hundred columns."""
    rng, d, n = np.random.default_rng(0), 100, 100_000
    X, y = rng.standard_normal((n, d), dtype=np.float32), rng.random(n) < 0.01
    group, w = y.astype(np.int8), rng.standard_normal(d)
    with threadpool_limits(1):
        moments = cpu(lambda: grouped_moments(X, group, 2)) / n
        scores = cpu(lambda: X.astype(np.float64) @ w) / n
    rows, cores, rare, parts, read = 1e10, 400, 1e8, 10_000, 0.5e-6
    sweep = rows * (read + 2 * scores) / cores
    tree = np.log2(parts) * 16 * rare / 1e9
    print(f"one core here, a row of {d} columns: moments {moments * 1e6:.2f} us, scores {scores * 1e6:.2f} us")
    print("10^10 rows x 100 float32 columns, 1 % positive, 10,000 partitions, 100 workers of 4 cores, links of 1 GB/s,")
    print("and 0.5 us to read a row:", end=" ")
    print(f"LeastSquaresAUC {rows * (read + moments) / cores:.0f} s, a pass of RankSVM {sweep + tree:.0f} s")


def main():
    """Print a line a bar."""
    if "--model" in sys.argv:
        model()
        return
    rows = int(float(sys.argv[sys.argv.index("--rows") + 1])) if "--rows" in sys.argv else 10_000_000
    parts = {"fits": lambda: driver_memory(rows), "areas": lambda: areas(rows), "bits": bits}
    parts |= {"peer": time_over_peer, "texts": texts}
    for name, part in parts.items():
        if name in sys.argv or not parts.keys() & set(sys.argv):
            part()


if __name__ == "__main__":
    main()
