"""AUCClassifier beside CatBoost and AutoGluon, which are no dependencies and may need an environment of their own.

`python benchmarks/quality_rivals.py --python PYTHON [--rivals catboost,medium,best] [--half confirmation] [--rows 2000]
[--splits 1] [--seconds 120] [--quality default] [TABLE ...]`: PYTHON is the interpreter of the environment in which the
rivals are installed (`pip install catboost` or `pip install autogluon.tabular[all]`). catboost has its defaults; medium
and best are presets of AutoGluon, best with so many seconds by the clock. Stratified 80/20 splits, the rarest class
against the rest, one thread each, seconds of the processor with those of child processes. A line for each table; then
the mean differences between ours and each rival, with their standard errors over tables.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from quality_auto import load, warm_up
from scipy import sparse
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from tables import HALVES, names, require_data

from auclid import AUCClassifier

MEASURES = {"AUC": roc_auc_score, "AP": average_precision_score, "Brier": brier_score_loss, "log loss": log_loss}

MAX_COLUMNS = 500
"""Tables of more columns are left out: the rivals take dense rows."""

RIVAL = """
import os, resource, sys
os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
table, out, kind, seconds, folder = sys.argv[1:]
given = np.load(table)
X, y, X_test = given["X"], given["y"], given["X_test"]

def used():
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)

if kind == "catboost":
    from catboost import CatBoostClassifier
    start = used()
    model = CatBoostClassifier(thread_count=1, random_seed=0, verbose=False, allow_writing_files=False).fit(X, y)
    p = model.predict_proba(X_test)[:, 1]
else:
    import pandas as pd
    from autogluon.tabular import TabularPredictor
    columns = [f"x{k}" for k in range(X.shape[1])]
    train = pd.DataFrame(X, columns=columns).assign(y=y)
    how = {"presets": kind + "_quality", "num_cpus": 1, "num_gpus": 0}
    if kind == "best":
        how |= {"time_limit": float(seconds), "ag_args_ensemble": {"fold_fitting_strategy": "sequential_local"}}
        how |= {"dynamic_stacking": False}
    start = used()
    predictor = TabularPredictor("y", eval_metric="roc_auc", path=folder, verbosity=0).fit(train, **how)
    p = predictor.predict_proba(pd.DataFrame(X_test, columns=columns))[1].to_numpy()
np.savez(out, p=p, seconds=used() - start)
"""


def rival(python, kind, seconds, X, y, X_test):
    """(probabilities of the test rows, seconds of the processor) of a rival in its own process; None where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        table, out = f"{folder}/table.npz", f"{folder}/out.npz"
        np.savez(table, X=X, y=y.astype(int), X_test=X_test)
        command = [python, "-c", RIVAL, table, out, kind, str(seconds), f"{folder}/model"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{kind} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
            return None
        with np.load(out) as found:
            return found["p"], float(found["seconds"])


def run(name, seed, options):
    """The measures and seconds of each contender by name, or None where the table does not suit."""
    X, y = load(name, options.rows)
    if X.shape[1] > MAX_COLUMNS or min(y.sum(), (~y).sum()) < 10:
        return None
    X = X.toarray() if sparse.issparse(X) else X
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    start = time.process_time()
    model = AUCClassifier(quality=options.quality, random_state=seed).fit(X, y)
    found = {"ours": (model.predict_proba(X_test)[:, 1], time.process_time() - start)}
    for kind in options.rivals:
        result = rival(options.python, kind, options.seconds, X, y, X_test)
        if result is not None:
            found[kind] = result
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
    parser.add_argument("--quality", choices=("fast", "default", "best"), default="default")
    options = parser.parse_args()
    require_data()
    warnings.simplefilter("ignore")
    warm_up()
    tables = []
    for name in options.tables or names()[HALVES[options.half]]:
        runs = [each for seed in range(options.splits) if (each := run(name, seed, options)) is not None]
        if not runs:
            continue
        kinds = [kind for kind in runs[0] if all(kind in each for each in runs)]
        tables.append({kind: np.mean([each[kind] for each in runs], axis=0) for kind in kinds})
        cells = (f"{kind} {found[0]:.4f} {found[1]:.4f} {found[-1]:6.1f} s" for kind, found in tables[-1].items())
        print(f"{name:<36} " + "   ".join(cells), flush=True)
    for kind in options.rivals:
        summary(tables, kind)


if __name__ == "__main__":
    main()
