"""AUCClassifier beside CatBoost and AutoGluon, which are no dependencies and may need an environment of their own.

`python benchmarks/quality_rivals.py --python PYTHON [--rivals catboost,medium,best] [--half confirmation] [--rows 2000]
[--splits 1] [--seconds 120] [--quality default] [--cache DIR] [TABLE ...]`: PYTHON is the interpreter of the
environment in which the rivals are installed (`pip install catboost` or `pip install autogluon.tabular[all]`). catboost
has its defaults; medium and best are presets of AutoGluon, best with so many seconds of the processor, by which it then
tells the time. Stratified 80/20 splits, the rarest class against the rest, one thread each, seconds of the processor
with those of child processes. --cache keeps what the rivals gave, a file for each table and split, so that a second run
costs ours alone. A line for each table: AUC, average precision and seconds; then the mean differences between ours and
each rival, with their standard errors over tables, and the bars.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from quality_auto import kept, load, warm_up
from scipy import sparse
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from tables import HALVES, names, require_data

from auclid import AUCClassifier

MEASURES = {"AUC": roc_auc_score, "AP": average_precision_score, "Brier": brier_score_loss, "log loss": log_loss}

BARS = {
    "catboost": {"AP": 0.0, "Brier": 0.0, "log loss": 0.0},
    "medium": {"AUC": 0.008},
    "best": {"AUC": 0.0},
}
"""The mean difference that ours should reach: at least so much of AUC and AP, no more of Brier score and log loss."""

LEAST_RATIO = {"best": 3.0}
"""How many times our seconds a rival should take."""

MAX_COLUMNS = 500
"""Tables of more columns are left out: the rivals take dense rows."""

RIVAL = """
import os, resource, sys, time, warnings
os.environ["OMP_NUM_THREADS"] = "1"
warnings.simplefilter("ignore")
import numpy as np
kind, seconds, folder = sys.argv[1:]

def used():
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)

if kind == "catboost":
    from catboost import CatBoostClassifier

    def probabilities(X, y, X_test, preset, number):
        model = CatBoostClassifier(thread_count=1, random_seed=0, verbose=False, allow_writing_files=False).fit(X, y)
        return model.predict_proba(X_test)[:, 1]
else:
    time.time = lambda origin=time.time(): origin + time.process_time()  # a busy neighbour must not count
    import pandas as pd
    from autogluon.tabular import TabularPredictor

    def probabilities(X, y, X_test, preset, number):
        columns = [f"x{k}" for k in range(X.shape[1])]
        train = pd.DataFrame(X, columns=columns).assign(y=y)
        how = {"presets": preset + "_quality", "num_cpus": 1, "num_gpus": 0}
        if preset == "best":
            how |= {"time_limit": float(seconds), "ag_args_ensemble": {"fold_fitting_strategy": "sequential_local"}}
            how |= {"dynamic_stacking": False}
        path = f"{folder}/{number}"
        predictor = TabularPredictor("y", eval_metric="roc_auc", path=path, verbosity=0).fit(train, **how)
        return predictor.predict_proba(pd.DataFrame(X_test, columns=columns))[1].to_numpy()

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 4))
probabilities(X, (X[:, 0] > rng.standard_normal(200)).astype(int), X, "medium", 0)  # the first fit imports much
print("AUCLID ready", flush=True)
for number, line in enumerate(sys.stdin, start=1):
    try:
        with np.load(line.strip()) as given:
            start = used()
            p = probabilities(given["X"], given["y"], given["X_test"], kind, number)
        np.savez(f"{folder}/out.npz", p=p, seconds=used() - start)
        print("AUCLID done", flush=True)
    except Exception as error:
        print("AUCLID failed:", " ".join(str(error).split()), flush=True)
"""
"""What a rival runs: it fits a table for each line that names one."""


class Rival:
    """A rival in a process of its own, begun, and warmed up as ours is, when its first table comes."""

    def __init__(self, python, kind, seconds):
        self.kind, self.command = kind, [python, "-c", RIVAL, kind, str(seconds)]
        self.process, self.folder = None, tempfile.TemporaryDirectory()

    def fit(self, X, y, X_test):
        """Probabilities of the test rows and seconds of the processor."""
        if self.process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
            self.process = subprocess.Popen([*self.command, self.folder.name], **pipes)
            self._answer()
        table = f"{self.folder.name}/table.npz"
        np.savez(table, X=X, y=y.astype(int), X_test=X_test)
        self.process.stdin.write(f"{table}\n")
        self.process.stdin.flush()
        self._answer()
        with np.load(f"{self.folder.name}/out.npz") as found:
            return {"p": found["p"], "seconds": found["seconds"]}

    def _answer(self):
        """Wait for the process to say that it is ready, or done."""
        said = next((line for line in self.process.stdout if line.startswith("AUCLID")), "AUCLID failed: it ended")
        if self.process.poll() is not None:
            self.process = None  # the next table gets another
        if "failed" in said:
            raise RuntimeError(f"{self.kind} {said.removeprefix('AUCLID ').strip()}")

    def end(self):
        """No more tables come."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
        self.folder.cleanup()


def run(name, seed, rivals, options):
    """The measures and seconds of each contender by name, or None where the table does not suit."""
    X, y = load(name, options.rows)
    if X.shape[1] > MAX_COLUMNS or min(y.sum(), (~y).sum()) < 10:
        return None
    X = X.toarray() if sparse.issparse(X) else X
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    start = time.process_time()
    model = AUCClassifier(quality=options.quality, random_state=seed).fit(X, y)
    found = {"ours": (model.predict_proba(X_test)[:, 1], time.process_time() - start)}
    for kind, rival in rivals.items():
        asked = f"{kind}-{options.seconds:g}" if kind == "best" else kind
        path = options.cache and Path(options.cache) / f"{name}-{seed}-{options.rows}-{asked}.npz"
        try:
            given = kept(path, partial(rival.fit, X, y, X_test))
        except RuntimeError as failure:
            print(failure)
            continue
        found[kind] = given["p"], float(given["seconds"])
    return {
        key: [*(measure(y_test, p) for measure in MEASURES.values()), seconds] for key, (p, seconds) in found.items()
    }


def summary(tables, kind):
    """Print the mean difference of each measure, and the ratio of times."""
    both = np.array([[each["ours"], each[kind]] for each in tables if kind in each])
    if not len(both):
        print(f"{kind}: not measured")
        return
    gaps = both[:, 0] - both[:, 1]
    error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.full(gaps.shape[1], np.nan)
    said = ", ".join(f"{name} {gaps[:, k].mean():+.4f} ± {error[k]:.4f}" for k, name in enumerate(MEASURES))
    ratio = both[:, 1, -1].sum() / both[:, 0, -1].sum()
    print(f"ours less {kind} on {len(both)} tables: {said}; it takes {ratio:.1f} times our seconds")
    for name, bar in BARS.get(kind, {}).items():
        gap = gaps[:, list(MEASURES).index(name)].mean()
        met = gap <= bar if name in ("Brier", "log loss") else gap >= bar
        print(f"  {name} {gap:+.4f} (bar {bar:+.3f}): {'met' if met else 'MISSED'}")
    if kind in LEAST_RATIO:
        met = ratio >= LEAST_RATIO[kind]
        print(f"  {ratio:.1f} times our seconds (bar {LEAST_RATIO[kind]:g}): {'met' if met else 'MISSED'}")


def main():
    """Print a line a table, then the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rivals", type=lambda text: text.split(","), default=["catboost"])
    parser.add_argument("--half", choices=HALVES, default="confirmation")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--cache")
    parser.add_argument("--quality", choices=("fast", "default", "best"), default="default")
    options = parser.parse_args()
    require_data()
    warnings.simplefilter("ignore")
    warm_up()
    rivals = {kind: Rival(options.python, kind, options.seconds) for kind in options.rivals}
    tables = []
    for name in options.tables or names()[HALVES[options.half]]:
        runs = [each for seed in range(options.splits) if (each := run(name, seed, rivals, options)) is not None]
        if not runs:
            continue
        kinds = [kind for kind in runs[0] if all(kind in each for each in runs)]
        tables.append({kind: np.mean([each[kind] for each in runs], axis=0) for kind in kinds})
        cells = (f"{kind} {found[0]:.4f} {found[1]:.4f} {found[-1]:6.1f} s" for kind, found in tables[-1].items())
        print(f"{name:<36} " + "   ".join(cells), flush=True)
    for kind, rival in rivals.items():
        rival.end()
        summary(tables, kind)


if __name__ == "__main__":
    main()
