"""Rows of a Parquet file against the same rows in memory: time, peak memory, passes, weights. Bars are printed beside.

``python benchmarks/bench_scan.py [ROWS] [METHOD...]``: 20 million rows of 40 float32 columns by default (3.2 GB
decoded), and all three methods. The file is made in the temporary folder once, and kept there. Each fit is a process
of its own, so that its peak is its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

D, SHARE, GROUP = 40, 0.05, 500_000

CODE = """
import json, resource, sys, time
import numpy as np
import pyarrow.parquet as pq
import auclid
from auclid.data.files import Rows
what, path, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
models = {
    "LeastSquaresAUC": lambda: auclid.LeastSquaresAUC(),
    "RankSVM": lambda: auclid.RankSVM(),
    "Kernelized": lambda: auclid.Kernelized(auclid.KMeansNystroem(400, random_state=0), auclid.LeastSquaresAUC()),
}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
def told(**facts):
    print(json.dumps({**facts, "peak": peak()}))
passes = 0
whole = Rows.read
def counted(self, *args, **options):
    global passes
    passes += 1
    return whole(self, *args, **options)
Rows.read = counted
found_runs = Rows._runs
def counted_runs(self):
    global passes
    found = found_runs(self)
    passes += bool(found)  # else they are read in turn
    return found
Rows._runs = counted_runs
small = np.random.default_rng(0).normal(size=(500, 40)).astype(np.float32)
if what == "read":
    start = time.perf_counter()
    with pq.ParquetFile(path, pre_buffer=False) as file:
        rows = sum(batch.num_rows for batch in file.iter_batches(batch_size=(1 << 23) // 160))
    told(seconds=time.perf_counter() - start, rows=rows)
else:
    where, name = what.split(":")
    model = models[name]()
    models[name]().fit(small, np.arange(500) % 2)  # kernels are compiled
    auclid.LeastSquaresAUC().fit(np.asfortranarray(np.tile(small, (200, 1))), np.arange(100_000) % 2)
    if where == "memory":
        table = pq.read_table(path)
        y = table["y"].to_numpy()
        X = np.empty((len(y), 40), np.float32)
        for k in range(40):
            X[:, k] = table[f"x{k}"].to_numpy()
        del table
        start = time.perf_counter()
        model.fit(X, y)
    else:
        start = time.perf_counter()
        model.fit(auclid.scan(path, target="y"))
    seconds = time.perf_counter() - start
    inner = getattr(model, "ranker_", model)
    told(seconds=seconds, passes=passes, coef=inner.coef_[0].tolist(), objective=getattr(model, "objective_", None))
"""


def made(rows):
    """The path of a file of so many rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(tempfile.gettempdir()) / f"auclid-bench-{rows}.parquet"
    if path.exists():
        return path
    rng, names = np.random.default_rng(0), [f"x{k}" for k in range(D)]
    mix = rng.normal(size=(D, D)).astype(np.float32) / D
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int8())])
    part = path.with_suffix(".part")
    with pq.ParquetWriter(part, schema) as file:
        for start in range(0, rows, GROUP):
            n = min(GROUP, rows - start)
            y = (rng.random(n) < SHARE).astype(np.int8)
            X = rng.standard_normal((n, D), dtype=np.float32)
            X = X + X @ mix + 0.3 * y[:, None] * (np.arange(D) % 4 == 0)
            file.write_table(pa.table([*np.ascontiguousarray(X.T.astype(np.float32)), y], schema=schema))
    part.rename(path)
    return path


def run(what, path, rows):
    """What a process of its own tells."""
    command = [sys.executable, "-c", CODE, what, str(path), str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    if done.returncode:
        raise SystemExit(f"{what} failed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def line(what, value, bar, unit=""):
    """One line: a figure, its bar, and whether it is met."""
    print(f"{what:<66} {value:12.4g} {unit:<3} bar {bar:8.3g}  {'met' if value <= bar else 'MISSED'}", flush=True)


def least_squares(path, rows):
    """One pass: time over that of reading, memory, weights."""
    read = min((run("read", path, rows) for _ in range(2)), key=lambda told: told["seconds"])
    print(f"reading the same batches alone: {read['seconds']:.2f} s, {rows / read['seconds']:,.0f} rows/s")
    ours, theirs = run("file:LeastSquaresAUC", path, rows), run("memory:LeastSquaresAUC", path, rows)
    print(f"LeastSquaresAUC: {ours['seconds']:.2f} s by blocks, {theirs['seconds']:.2f} s in memory")
    line("LeastSquaresAUC, time over that of reading alone", ours["seconds"] / read["seconds"], 1.5)
    line("LeastSquaresAUC, peak memory", ours["peak"], 600, "MB")
    a, b = np.array(ours["coef"]), np.array(theirs["coef"])
    line("LeastSquaresAUC, weights against in memory (relative)", float(np.abs(a - b).max() / np.abs(b).max()), 1e-10)


def rank_svm(path, rows):
    """A few passes: their number, memory, the objective."""
    ours, theirs = run("file:RankSVM", path, rows), run("memory:RankSVM", path, rows)
    print(f"RankSVM: {ours['seconds']:.2f} s by blocks, {theirs['seconds']:.2f} s in memory")
    line("RankSVM, passes", ours["passes"], 20)
    line("RankSVM, peak memory", ours["peak"], 1200, "MB")
    above = ours["objective"] / theirs["objective"] - 1.0
    line("RankSVM, objective above in memory (relative)", above, 1e-6)


def kernelized(path, rows):
    """Landmarks, on a million rows at the most."""
    few = min(rows, 1_000_000)
    small = made(few)
    ours, theirs = run("file:Kernelized", small, few), run("memory:Kernelized", small, few)
    print(f"Kernelized(400 landmarks, LeastSquaresAUC), {few:,} rows: {ours['seconds']:.2f} s by blocks")
    line("Kernelized, time over that in memory", ours["seconds"] / theirs["seconds"], 1.5)


PARTS = {"LeastSquaresAUC": least_squares, "RankSVM": rank_svm, "Kernelized": kernelized}


def main():
    """Print a line a bar."""
    chosen = [name for name in sys.argv[1:] if name in PARTS] or list(PARTS)
    rows = next((int(float(word)) for word in sys.argv[1:] if word not in PARTS), 20_000_000)
    path = made(rows)
    print(f"{rows:,} rows x {D} float32 columns, {path.stat().st_size / 1e9:.2f} GB of Parquet")
    for name in chosen:
        PARTS[name](path, rows)


if __name__ == "__main__":
    main()
