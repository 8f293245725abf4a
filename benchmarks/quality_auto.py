"""AUCClassifier against LogisticRegression, balanced RidgeClassifier and LightGBM (200 trees with its defaults; small
trees, small steps and early stopping) on every table at hand.

The rarest class against the rest, random stratified 80/20 splits averaged; the whole table, losses included.
`python benchmarks/quality_auto.py [--half development|confirmation] [--splits 5] [--rows 0] [--cache DIR]
[--quality default] [--metric roc_auc] [--positives N] [TABLE ...]`:
--rows caps the rows of large tables, keeping a hundred of the rarest class; --positives leaves N of that class to learn
from and adds the others to the test rows (a test of a handful of positives says nothing: ask for --splits 8, and read
the standard errors); --cache keeps the scores and seconds of the
other contenders, a file for each table and split, so that a second run costs ours alone. Choices were made on the
development half alone (every other table in alphabetical order); the confirmation half was run when they stood. All
contenders have one thread; seconds are of the processor, since a busy neighbour must not count.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from tables import HALVES, capped, main_part, names, require_data

from auclid import AUCClassifier, baselines
from auclid.metrics import average_precision, compare_auc, roc_auc

RIVALS = "logistic", "ridge", "lightgbm", "small"


def load(name, cap):
    """All rows at hand, and which are of the rarest class."""
    X, y = main_part(name)
    labels, counts = np.unique(y, return_counts=True)
    is_pos = y == labels[counts.argmin()]
    rows = capped(is_pos, cap)
    return X[rows], is_pos[rows]


def scaled(model, X):
    """The model behind the scaling a user would choose."""
    return make_pipeline(MaxAbsScaler() if sparse.issparse(X) else StandardScaler(), model)


def others(X, y, X_test, seed):
    """Test scores and seconds of each contender but ours."""
    models = {
        "logistic": scaled(LogisticRegression(), X),
        "ridge": scaled(RidgeClassifier(class_weight="balanced"), X),
        "lightgbm": baselines.lightgbm(n_jobs=1, random_state=seed),
        "small": baselines.SmallLightGBM(random_state=seed),
    }
    found = {}
    for key, model in models.items():
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        found[key] = np.append(baselines.scores(model, X_test), seconds)
    return found


def kept(path, make):
    """Arrays by name out of a file, made first where there is none; without a path they are just made."""
    if path is None:
        return make()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **make())
    with np.load(path) as file:
        return {key: file[key] for key in file.files}


def divided(X, y, seed, positives):
    """(X, X_test, y, y_test) of a stratified 80/20 split, with so many positives to learn from (0: all)."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=y)
    of_class = train[y[train]]
    if positives and len(of_class) > positives:
        left_out = np.random.default_rng(seed).permutation(of_class)[positives:]
        train, test = np.setdiff1d(train, left_out), np.concatenate([test, left_out])
    return X[train], X[test], y[train], y[test]


def run(name, seed, cap, cache=None, positives=0, **settings):
    """Test AUC and seconds of each contender, whether ours is significantly worse than the best other, and its name."""
    X, y = load(name, cap)
    if min(y.sum(), (~y).sum()) < max(2, 2 * positives):
        return None
    X, X_test, y, y_test = divided(X, y, seed, positives)
    if not 0 < y_test.sum() < len(y_test):
        return None
    few = f"-{positives}" if positives else ""
    found = kept(cache and Path(cache) / f"{name}-{seed}-{cap}{few}.npz", lambda: others(X, y, X_test, seed))
    seconds = {key: values[-1] for key, values in found.items()}
    start = time.process_time()
    ours = AUCClassifier(random_state=seed, **settings).fit(X, y)
    seconds["ours"] = time.process_time() - start
    scores = {"ours": ours.decision_function(X_test)} | {key: values[:-1] for key, values in found.items()}
    aucs = {key: roc_auc(y_test, s) for key, s in scores.items()}
    aps = {key: average_precision(y_test, s) for key, s in scores.items()}
    best = max(RIVALS, key=aucs.get)
    worse = False
    if min(y_test.sum(), (~y_test).sum()) >= 2 and aucs["ours"] < aucs[best]:
        worse = compare_auc(y_test, scores["ours"], scores[best]).pvalue < 0.05
    return aucs, seconds, worse, ours.best_, aps


def warm_up():
    """Compile what fits need, so that no table's time has it."""
    rng = np.random.default_rng(0)
    for n in (300, 2_500):
        X = np.where(rng.random((n, 6)) < 0.5, rng.standard_normal((n, 6)), 0.0)
        y = X[:, 0] + rng.standard_normal(n) > 1.0
        for kind in (X, X.astype(np.float32), sparse.csr_array(X), np.where(X > 2.0, np.nan, X)):
            AUCClassifier(random_state=0).fit(kind, y).decision_function(kind)


def main():
    """Print a line a table, then the summary against the bars."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--cache")
    parser.add_argument("--quality", choices=("fast", "default", "best"), default="default")
    parser.add_argument("--metric", choices=("roc_auc", "average_precision"), default="roc_auc")
    parser.add_argument("--positives", type=int, default=0)
    options = parser.parse_args()
    require_data()
    warnings.simplefilter("ignore")
    warm_up()
    keys = ["ours", *RIVALS]
    heads = "".join(f"{key:>10}" for key in keys)
    print(f"{'table':<38}{heads}{'regret':>9}{'worse':>7}{'time/lgb':>10}  model")
    lines, precisions = [], []
    for name in options.tables or names()[HALVES.get(options.half, slice(None))]:
        how = {"quality": options.quality, "metric": options.metric, "positives": options.positives}
        every = (run(name, seed, options.rows, options.cache, **how) for seed in range(options.splits))
        runs = [each for each in every if each]
        if not runs:
            print(f"{name:<38} skipped: fewer than two rows of the rarest class in a part")
            continue
        auc = {key: np.mean([r[0][key] for r in runs]) for key in keys}
        regret = max(0.0, max(auc[key] for key in keys[1:]) - auc["ours"])
        ratio = np.median([r[1]["ours"] / r[1]["lightgbm"] for r in runs])
        worse = np.mean([r[2] for r in runs])
        precisions.append([np.mean([r[4][key] for r in runs]) for key in keys])
        lines.append((*auc.values(), regret, worse > 0.5, ratio))
        row = "".join(f"{auc[key]:10.4f}" for key in keys)
        print(f"{name:<38}{row}{regret:9.4f}{worse:7.2f}{ratio:10.1f}  {runs[0][3]}", flush=True)
    table = np.array(lines, dtype=float)
    means = dict(zip(keys, table[:, : len(keys)].mean(axis=0), strict=True))
    print("mean AUC:", {key: round(float(value), 4) for key, value in means.items()})
    ap = dict(zip(keys, np.mean(precisions, axis=0), strict=True))
    print("mean AP: ", {key: round(float(value), 4) for key, value in ap.items()})
    for key in RIVALS:
        for word, found in (("AUC", table), ("AP", np.array(precisions))):
            gaps = found[:, 0] - found[:, keys.index(key)]
            print(f"ours less {key}, {word}: {gaps.mean():+.4f} ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.4f}")
    regret, worse, ratio = table[:, len(keys) :].T
    print(f"mean regret {regret.mean():.4f} (bar 0.003)")
    print(f"significantly worse, in most splits, on {worse.sum():.0f} tables (bar 2)")
    print(f"median time {np.median(ratio):.1f} x LightGBM's (bar 5), worst {ratio.max():.1f} x (bar 20)")


if __name__ == "__main__":
    main()
