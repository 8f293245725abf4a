"""AUCClassifier beside FLAML (metric roc_auc, one thread, the same rows): in our time, and in thirty seconds a table.

`python benchmarks/quality_flaml.py [--half development|confirmation] [--splits 1] [--rows 5000] [--seconds 30]
[--cache DIR] [TABLE ...]`. Stratified 80/20 splits, the rarest class against the rest; a line for each table and split,
the first split of all tables first, then the means by table. --cache keeps what FLAML says after the given seconds, a
file for each table and split. Both contenders have one thread, and both are timed by the processor's clock, FLAML's
budget too: so a busy machine takes nothing from either. FLAML is no dependency: it is skipped, saying so, where it is
not installed.
"""

import argparse
import logging
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from unittest.mock import patch

import numpy as np
from quality_auto import kept, load, warm_up
from scipy import sparse
from sklearn.model_selection import train_test_split
from tables import HALVES, names, require_data

from auclid import AUCClassifier
from auclid.metrics import roc_auc

DENSE_COLUMNS = 10_000
"""Tables of more columns are left out: FLAML's trees take them as dense rows."""


def flaml_scores(X, y, X_test, seconds, seed):
    """Test scores of FLAML after so many seconds of the processor."""
    from flaml import AutoML

    model = AutoML()
    how = {"task": "classification", "metric": "roc_auc", "time_budget": seconds, "n_jobs": 1, "verbose": 0}
    with patch("time.time", time.process_time):  # the clock by which it keeps its budget
        model.fit(X, y, seed=seed, **how)
    return model.predict_proba(X_test)[:, 1]


def run(name, seed, options):
    """(our AUC, our seconds, FLAML's AUC in our time, and in the given one), or None where the table does not suit."""
    X, y = load(name, options.rows)
    if X.shape[1] > DENSE_COLUMNS or min(y.sum(), (~y).sum()) < 10:
        return None
    X = X.toarray() if sparse.issparse(X) else X
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    start = time.process_time()
    ours = AUCClassifier(random_state=seed).fit(X, y)
    seconds = time.process_time() - start
    path = options.cache and Path(options.cache) / f"{name}-{seed}-{options.rows}-{options.seconds:g}-cpu.npz"
    long = kept(path, lambda: {"scores": flaml_scores(X, y.astype(int), X_test, options.seconds, seed)})["scores"]
    quick = flaml_scores(X, y.astype(int), X_test, max(seconds, 1.0), seed)
    return ours.score(X_test, y_test), seconds, roc_auc(y_test, quick), roc_auc(y_test, long)


def line(name, found):
    """What is printed of a table."""
    auc, seconds, quick, long = found
    return f"{name:<38}{auc:9.4f}{seconds:9.1f}{quick:9.4f}{long:10.4f}"


def main():
    """Print a line a table, then the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--half", choices=HALVES, default="confirmation")
    parser.add_argument("--splits", type=int, default=1)
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
    print(f"{'table, split':<38}{'ours':>9}{'seconds':>9}{'in ours':>9}{'in theirs':>10}")
    lines = defaultdict(list)
    for seed in range(options.splits):
        for name in options.tables or names()[HALVES[options.half]]:
            found = run(name, seed, options)
            if found is not None:
                lines[name].append(found)
                print(line(f"{name}, {seed}", found), flush=True)
    means = {name: np.mean(each, axis=0) for name, each in lines.items()}
    if options.splits > 1:
        print("\nmeans of the splits")
        print("\n".join(line(name, each) for name, each in means.items()))
    ours, seconds, quick, long = np.mean(list(means.values()), axis=0)
    print(f"{len(means)} tables, {sum(map(len, lines.values()))} splits")
    print(f"mean AUC: ours {ours:.4f} in {seconds:.1f} s, FLAML {quick:.4f} in our time, {long:.4f} in the given one")
    print(f"above both: {'met' if ours > max(quick, long) else 'MISSED'}")


if __name__ == "__main__":
    main()
