"""The command on a table of ten text columns, dates, gaps and 100,000 rows: compare and fit, each in under a minute.

`python benchmarks/bench_front.py [--rows 100000]`; no flag but --target is given to the command.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

BAR = 60.0


def table(n):
    """Ten columns of texts, two of dates, eight of numbers, with gaps."""
    rng = np.random.default_rng(0)
    columns, score = {}, rng.standard_normal(n)
    for k in range(10):
        code = rng.integers(0, 5 * (k + 1), n)
        score += rng.standard_normal(5 * (k + 1))[code] / 3.0
        columns[f"text{k}"] = pa.array([f"level {c}" for c in code], mask=rng.random(n) < 0.05)
    for k in range(2):
        days = rng.integers(0, 1500, n)
        score += days / 1500.0
        columns[f"day{k}"] = (np.datetime64("2020-01-01") + days.astype("timedelta64[D]")).astype("datetime64[s]")
    for k in range(8):
        x = rng.standard_normal(n)
        score += x / 4.0
        columns[f"number{k}"] = pa.array(np.exp(2.0 * x) if k % 2 else x, mask=rng.random(n) < 0.1)
    columns["y"] = (score > np.quantile(score, 0.9)).astype(int)
    return pa.table(columns)


def main():
    """Print the seconds of both verbs beside the bar."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        pyarrow.parquet.write_table(table(options.rows), path)
        for verb in ("compare", "fit"):
            line = [sys.executable, "-m", "auclid.cli", verb, str(path), "--target", "y"]
            start = time.perf_counter()
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
            seconds = time.perf_counter() - start
            verdict = "met" if seconds < BAR and done.returncode == 0 else "MISSED"
            print(f"auclid {verb}, {options.rows:,} rows: {seconds:.1f} s  bar {BAR:.0f} s  {verdict}", flush=True)
            if done.returncode:
                print(done.stderr)


if __name__ == "__main__":
    main()
