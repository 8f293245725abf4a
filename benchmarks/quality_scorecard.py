"""Scorecard against logistic regression, InterpretML's EBM and LightGBM on the benchmark tables.

Random stratified 80/20 splits, defaults everywhere, one thread; tables of at most 200 columns, losses included.
`python benchmarks/quality_scorecard.py [--half development|confirmation] [--splits 5] [--rows 0] [--no-ebm] [TABLES]`
--rows caps the rows of large tables, keeping a hundred of the rarer class. Rivals are slow, so their figures are kept
in --cache (a json file outside the repository) and a run goes on where it was stopped; ours are always computed anew.
Rules were chosen on the development half (every other table in alphabetical order), on 7,500 rows of each. EBM comes
with `pip install interpret-core`, and is left out, saying so, where it is not installed.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import folder, positive, raw, require_data

from auclid import LeastSquaresAUCCV, Scorecard
from auclid.metrics import compare_auc, roc_auc

WIDE = 200
"""Columns of the widest table that is looked at."""

FEW = (10, 50)
"""Positives to learn from, of a table of few."""

HALVES = {"development": slice(0, None, 2), "confirmation": slice(1, None, 2)}


def names():
    """All tables, parts counted once, that are not too wide."""
    files = (path.name.removesuffix(".npz") for path in folder().glob("*.npz"))
    found = sorted({name.removesuffix(".train").removesuffix(".test") for name in files})
    return [name for name in found if width(name) <= WIDE]


def width(name):
    """The number of columns, from the file alone."""
    return _raw(name)[0].shape[1]


def _raw(name):
    return raw(name, "train" if (folder() / f"{name}.train.npz").exists() else None)


def split(name, seed, cap):
    """(X, y, X_test, y_test) as float64 arrays, or None where a class is too rare."""
    X, labels = _raw(name)
    y = positive(name, labels)
    if min(y.sum(), (~y).sum()) < FEW[0]:
        return None
    rng = np.random.default_rng(0)
    if cap and len(y) > cap:
        rare = int(max(round(cap * y.mean()), min(y.sum(), 100)))
        parts = ((y, rare), (~y, cap - rare))
        kept = np.concatenate([rng.choice(np.flatnonzero(part), n, replace=False) for part, n in parts])
        X, y = X[np.sort(kept)], y[np.sort(kept)]
    X = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    return X, y, X_test, y_test


def few_positives(X, y, seed):
    """The rows with at most thirty positives among them."""
    rng, pos = np.random.default_rng(seed), np.flatnonzero(y)
    kept = np.sort(np.concatenate([rng.choice(pos, min(30, len(pos)), replace=False), np.flatnonzero(~y)]))
    return X[kept], y[kept]


def rivals(seed, with_ebm):
    """(name, model) of everything Scorecard is compared with."""
    from lightgbm import LGBMClassifier

    yield "logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    for trees in (50, 200):
        yield f"lgb{trees}", LGBMClassifier(n_estimators=trees, n_jobs=1, verbose=-1, random_state=seed)
    if with_ebm:
        from interpret.glassbox import ExplainableBoostingClassifier

        yield "ebm0", ExplainableBoostingClassifier(interactions=0, n_jobs=1, random_state=seed)
        yield "ebm", ExplainableBoostingClassifier(n_jobs=1, random_state=seed)


class Cache:
    """AUCs of rivals, kept in a file after each fit."""

    def __init__(self, path):
        self.path = Path(path)
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}

    def auc(self, key, compute):
        if key not in self.known:
            self.known[key] = compute()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_suffix(".part")
            beside.write_text(json.dumps(self.known))
            beside.replace(self.path)
        return self.known[key]


def fitted_auc(model, parts):
    """Test AUC of a rival, and the seconds its fit took."""
    X, y, X_test, y_test = parts
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return [float(roc_auc(y_test, model.predict_proba(X_test)[:, 1])), seconds]


def ours(parts, seed):
    """Figures of Scorecard with and without pairs, of the straight line, and of few positives."""
    X, y, X_test, y_test = parts
    start = time.perf_counter()
    plain = Scorecard(interactions=0, random_state=seed).fit(X, y)
    middle = time.perf_counter()
    paired = Scorecard(random_state=seed).fit(X, y)
    scores = [model.decision_function(X_test) for model in (plain, paired)]
    out = {"additive": roc_auc(y_test, scores[0]), "scorecard": roc_auc(y_test, scores[1])}
    out["seconds"] = [middle - start, time.perf_counter() - middle]
    out["worse"] = out["scorecard"] < out["additive"] and compare_auc(y_test, *scores[::-1]).pvalue < 0.05
    out["lost"] = max(paired.auc_lost(X_test, y_test), plain.auc_lost(X_test, y_test))
    few = few_positives(X, y, seed)
    line = make_pipeline(StandardScaler(), LeastSquaresAUCCV()).fit(*few)
    shapes = Scorecard(random_state=seed).fit(*few)
    out["few"] = roc_auc(y_test, shapes.decision_function(X_test)) - roc_auc(y_test, line.decision_function(X_test))
    return out


def has_ebm():
    try:
        import interpret.glassbox  # noqa: F401
    except ImportError:
        print("EBM is left out: pip install interpret-core")
        return False
    return True


def mean_of(lines, key):
    return float(np.mean([line[key] for line in lines]))


def verdict(words, value, bar):
    print(f"{words:<78} {value:+.4f}  bar {bar:+.4f}  {'met' if value >= bar else 'MISSED'}")


def summary(lines, with_ebm):
    """The bars, one a line."""
    print("mean AUC:", {key: round(mean_of(lines, key), 4) for key in lines[0]["aucs"]})
    if with_ebm:
        won = [line for line in lines if line["ebm0"] > line["logistic"]]
        verdict("over logistic regression, where EBM without interactions is", mean_of(won, "additive") - mean_of(won, "logistic"), 0.02)  # noqa: E501
        verdict("additive less EBM(interactions=0)", mean_of(lines, "additive") - mean_of(lines, "ebm0"), -0.002)
        verdict("scorecard less EBM", mean_of(lines, "scorecard") - mean_of(lines, "ebm"), -0.003)
    for trees in (50, 200):
        verdict(f"scorecard less LightGBM's {trees} trees", mean_of(lines, "scorecard") - mean_of(lines, f"lgb{trees}"), 0.0)  # noqa: E501
    worse = [line["name"] for line in lines if line["worse"]]
    print(f"significantly worse than its additive part in most splits on: {', '.join(worse) or 'none'} (bar: none)")
    verdict("AUC kept by whole points, at the least", -max(line["lost"] for line in lines), -0.001)
    verdict("thirty positives: scorecard less the straight line", mean_of(lines, "few"), -0.005)


def table_line(name, seeds, cap, cache, with_ebm):
    """All figures of one table, means over splits; None where a class is too rare."""
    runs = []
    for seed in seeds:
        parts = split(name, seed, cap)
        if parts is None:
            return None
        run = {key: cache.auc(f"{name}|{seed}|{cap}|{key}", lambda: fitted_auc(model, parts))[0] for key, model in rivals(seed, with_ebm)}  # noqa: E501
        runs.append({**run, **ours(parts, seed)})
    keys = [*(key for key, _ in rivals(0, with_ebm)), "additive", "scorecard"]
    line = {key: float(np.mean([run[key] for run in runs])) for key in [*keys, "lost", "few"]}
    seconds = np.mean([run["seconds"] for run in runs], axis=0)
    worse = np.mean([run["worse"] for run in runs]) > 0.5
    return {**line, "name": name, "aucs": keys, "worse": worse, "seconds": seconds}


def main():
    """Print a line a table, then the bars."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--no-ebm", action="store_true")
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "auclid-benchmarks" / "scorecard.json"
    parser.add_argument("--cache", default=default)
    options = parser.parse_args()
    require_data()
    warnings.simplefilter("ignore")
    with_ebm = not options.no_ebm and has_ebm()
    cache, lines = Cache(options.cache), []
    for name in options.tables or names()[HALVES.get(options.half, slice(None))]:
        line = table_line(name, range(options.splits), options.rows, cache, with_ebm)
        if line is None:
            print(f"{name:<36} skipped: fewer than {FEW[0]} rows of a class")
            continue
        if not lines:
            print(f"{'table':<36}" + "".join(f"{key:>11}" for key in line["aucs"]) + "   lost    few   seconds")
        lines.append(line)
        row = "".join(f"{line[key]:11.4f}" for key in line["aucs"])
        took = " ".join(f"{value:.1f}" for value in line["seconds"])
        print(f"{name:<36}{row} {line['lost']:+.4f} {line['few']:+.4f} {took}", flush=True)
    if lines:
        summary(lines, with_ebm)


if __name__ == "__main__":
    main()
