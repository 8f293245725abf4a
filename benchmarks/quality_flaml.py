"""AUCClassifier beside FLAML (metric roc_auc, one thread, the same rows): in our time, and in thirty seconds a table.

`python benchmarks/quality_flaml.py [--half development|confirmation] [--rows 5000] [--seconds 30] [--cache DIR]
[TABLE ...]`. One stratified 80/20 split a table, the rarest class against the rest. --cache keeps what FLAML says after
the given seconds, a file a table. FLAML is no dependency: it is skipped, saying so, where it is not installed.
"""

import argparse
import logging
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from quality_auto import kept, load, warm_up
from scipy import sparse
from sklearn.model_selection import train_test_split
from tables import HALVES, names, require_data

from auclid import AUCClassifier
from auclid.metrics import roc_auc


def flaml_scores(X, y, X_test, seconds, seed):
    """Test scores of FLAML after so many seconds."""
    from flaml import AutoML

    model = AutoML()
    how = {"task": "classification", "metric": "roc_auc", "time_budget": seconds, "n_jobs": 1, "verbose": 0}
    model.fit(X, y, seed=seed, **how)
    return model.predict_proba(X_test)[:, 1]


def run(name, seed, options):
    """(our AUC, our seconds, FLAML's AUC in our time, and in the given one), or None where a class is too small."""
    X, y = load(name, options.rows)
    X = X.toarray() if sparse.issparse(X) else X
    if min(y.sum(), (~y).sum()) < 10:
        return None
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    start = time.perf_counter()
    ours = AUCClassifier(random_state=seed).fit(X, y)
    seconds = time.perf_counter() - start
    path = options.cache and Path(options.cache) / f"{name}-{seed}-{options.rows}-{options.seconds:g}.npz"
    long = kept(path, lambda: {"scores": flaml_scores(X, y.astype(int), X_test, options.seconds, seed)})["scores"]
    quick = flaml_scores(X, y.astype(int), X_test, max(seconds, 1.0), seed)
    return ours.score(X_test, y_test), seconds, roc_auc(y_test, quick), roc_auc(y_test, long)


def main():
    """Print a line a table, then the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--half", choices=HALVES, default="confirmation")
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--cache")
    options = parser.parse_args()
    require_data()
    try:
        import flaml  # noqa: F401
    except ImportError:
        print("skipped: FLAML is not installed (pip install 'flaml[automl]')")
        sys.exit(0)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    warm_up()
    print(f"{'table':<38}{'ours':>9}{'seconds':>9}{'in ours':>9}{'in theirs':>10}")
    lines = []
    for name in options.tables or names()[HALVES[options.half]][:14]:
        found = run(name, 0, options)
        if found is None:
            continue
        lines.append(found)
        auc, seconds, quick, long = found
        print(f"{name:<38}{auc:9.4f}{seconds:9.1f}{quick:9.4f}{long:10.4f}", flush=True)
    ours, seconds, quick, long = np.mean(lines, axis=0)
    print(f"mean AUC: ours {ours:.4f} in {seconds:.1f} s, FLAML {quick:.4f} in our time, {long:.4f} in the given one")
    print(f"above both: {'met' if ours > max(quick, long) else 'MISSED'}")


if __name__ == "__main__":
    main()
