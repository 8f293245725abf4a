"""Scorecard against logistic regression, InterpretML's EBM and LightGBM on the benchmark tables.

Random stratified 80/20 splits, defaults everywhere, one thread; tables of at most 200 columns, losses included.
`python benchmarks/quality_scorecard.py [--half development|confirmation] [--splits 5] [--rows 0] [--no-ebm] [TABLES]`
--rows caps the rows of large tables, keeping a hundred of the rarer class. Rivals are slow, so their figures are kept
in --cache (a json file outside the repository) and a run goes on where it was stopped; ours are always computed anew.
--rivals only fills the cache, smaller tables first, the slowest rival last, so that what is there is of use early; a
table or a split that lacks a rival's figure then counts for the others only (--known). A ± is the standard error of a
mean over tables; seconds are of the processor.
Rules were chosen on the development half (every other table in alphabetical order), on 7,500 rows of each. EBM comes
with `pip install interpret-core`, and is left out, saying so, where it is not installed.
"""

import argparse
import json
import os
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from clock import processor_seconds
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import HALVES, capped, main_part, names, positive, require_data

from auclid import LeastSquaresAUCCV, Scorecard
from auclid.baselines import SmallLightGBM
from auclid.metrics import compare_auc, roc_auc

WIDE = 200
"""Columns of the widest table that is looked at."""

LEAST = 10
"""Rows of the rarer class that a table must have."""

EBM_RATIO = 50
"""How many times our seconds EBM should take."""

FEW = (10, 20, 30, 50)
"""Positives to learn from, at the most, where they are to be few."""


def narrow():
    """All tables that are not too wide."""
    return [name for name in names() if main_part(name)[0].shape[1] <= WIDE]


def split(name, seed, cap):
    """(X, y, X_test, y_test) as float64 arrays, or None where a class is too rare."""
    X, labels = main_part(name)
    y = positive(name, labels)
    if min(y.sum(), (~y).sum()) < LEAST:
        return None
    rows = capped(y, cap)
    X, y = X[rows], y[rows]
    X = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    return X, y, X_test, y_test


def few_positives(X, y, seed, most):
    """The rows with at most so many positives among them."""
    rng, pos = np.random.default_rng(seed), np.flatnonzero(y)
    kept = np.sort(np.concatenate([rng.choice(pos, min(most, len(pos)), replace=False), np.flatnonzero(~y)]))
    return X[kept], y[kept]


def rivals(seed, with_ebm):
    """(name, model) of everything Scorecard is compared with."""
    from lightgbm import LGBMClassifier

    yield "logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    for trees in (50, 200):
        yield f"lgb{trees}", LGBMClassifier(n_estimators=trees, n_jobs=1, verbose=-1, random_state=seed)
    yield "small", SmallLightGBM(random_state=seed)
    if with_ebm:
        from interpret.glassbox import ExplainableBoostingClassifier

        yield "ebm0", ExplainableBoostingClassifier(interactions=0, n_jobs=1, random_state=seed)
        yield "ebm", ExplainableBoostingClassifier(n_jobs=1, random_state=seed)


class Cache:
    """AUCs of rivals, kept in a file after each fit."""

    def __init__(self, path):
        self.path = Path(path)
        self.known = self.read()

    def auc(self, key, compute):
        if key not in self.known:
            found = compute()
            self.known = {**self.read(), **self.known, key: found}  # another run may have added some
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_suffix(".part")
            beside.write_text(json.dumps(self.known))
            beside.replace(self.path)
        return self.known[key]

    def read(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}


def fitted_auc(model, parts):
    """Test AUC of a rival, and the seconds of the processor that its fit took."""
    X, y, X_test, y_test = parts
    seconds = processor_seconds(lambda: model.fit(X, y))
    return [float(roc_auc(y_test, model.predict_proba(X_test)[:, 1])), seconds]


def ours(parts, seed):
    """Figures of Scorecard with and without pairs, of the straight line, and of few positives."""
    X, y, X_test, y_test = parts
    plain, paired = Scorecard(interactions=0, random_state=seed), Scorecard(random_state=seed)
    seconds = [processor_seconds(lambda model=model: model.fit(X, y)) for model in (plain, paired)]
    scores = [model.decision_function(X_test) for model in (plain, paired)]
    out = {"additive": roc_auc(y_test, scores[0]), "scorecard": roc_auc(y_test, scores[1])}
    out["seconds"] = seconds
    out["worse"] = out["scorecard"] < out["additive"] and compare_auc(y_test, *scores[::-1]).pvalue < 0.05
    out["lost"] = max(paired.auc_lost(X_test, y_test), plain.auc_lost(X_test, y_test))
    out["few"] = float(np.mean([over_the_line(parts, seed, most) for most in FEW]))
    return out


def over_the_line(parts, seed, most):
    """Scorecard less the straight line, learnt from few positives."""
    X, y, X_test, y_test = parts
    few = few_positives(X, y, seed, most)
    models = Scorecard(random_state=seed), make_pipeline(StandardScaler(), LeastSquaresAUCCV())
    aucs = [roc_auc(y_test, model.fit(*few).decision_function(X_test)) for model in models]
    return aucs[0] - aucs[1]


def fill(tables, seeds, cap, cache, with_ebm):
    """Compute what the cache lacks of rivals: first all but the slowest."""
    order = sorted(tables, key=lambda name: np.prod(main_part(name)[0].shape))
    quick = ["logistic", "lgb50", "lgb200", "small"]
    stages = [[*quick, "ebm0"], ["ebm"]] if with_ebm else [quick]
    for stage, seed, name in product(stages, seeds, order):
        parts = None
        for key, model in rivals(seed, with_ebm):
            at = f"{name}|{seed}|{cap}|{key}"
            if key in stage and at not in cache.known:
                parts = parts or split(name, seed, cap)
                if parts is None:
                    break
                print(at, cache.auc(at, lambda model=model, parts=parts: fitted_auc(model, parts)), flush=True)


def has_ebm():
    try:
        import interpret.glassbox  # noqa: F401
    except ImportError:
        print("EBM is left out: pip install interpret-core")
        return False
    return True


def beside_ebm(runs):
    """A line on EBM's seconds over ours, with pairs: the median of all splits."""
    ratios = [run["ebm seconds"] / run["seconds"][1] for run in runs if run["ebm seconds"] is not None]
    middle = np.median(ratios) if ratios else np.nan
    word = "not measured" if np.isnan(middle) else "met" if middle >= EBM_RATIO else "MISSED"
    print(f"EBM takes {middle:.0f} times our seconds in the median of {len(ratios)} splits  bar {EBM_RATIO}  {word}")


def against(words, runs, ours, rival, bar):
    """A line on ours less a rival's: the mean over tables, each over the splits for which there are both."""
    means = gaps(runs, ours, rival)
    verdict(words, list(means.values()), bar)


def gaps(runs, ours, rival):
    """Of each table, the mean over splits of ours less a rival's."""
    found = {}
    for run in runs:
        if run.get(ours) is not None and run.get(rival) is not None:
            found.setdefault(run["name"], []).append(run[ours] - run[rival])
    return {name: float(np.mean(each)) for name, each in found.items()}


def verdict(words, values, bar):
    """A line on a mean over tables."""
    value = np.mean(values) if values else np.nan
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    word = "not measured" if np.isnan(value) else "met" if value >= bar else "MISSED"
    print(f"{f'{words} ({len(values)} tables)':<78} {value:+.4f} ± {error:.4f}  bar {bar:+.4f}  {word}")


def summary(runs, with_ebm):
    """The bars, one a line."""
    if with_ebm:
        above = {name for name, value in gaps(runs, "ebm0", "logistic").items() if value > 0.0}
        won = [run for run in runs if run["name"] in above]
        against("additive less logistic regression, where EBM is above it", won, "additive", "logistic", 0.02)
        against("additive less EBM(interactions=0)", runs, "additive", "ebm0", -0.002)
        against("scorecard less EBM", runs, "scorecard", "ebm", 0.0)
        beside_ebm(runs)
    for trees in (50, 200):
        against(f"scorecard less LightGBM's {trees} trees", runs, "scorecard", f"lgb{trees}", 0.0)
    against("scorecard less LightGBM's small trees, stopped early", runs, "scorecard", "small", 0.0)
    worse = [f"{run['name']}, split {run['seed']}" for run in runs if run["worse"]]
    print(f"significantly worse than its additive part in {len(worse)} of {len(runs)} splits: {'; '.join(worse)}")
    lost, few = (
        {name: np.mean([run[key] for run in runs if run["name"] == name]) for name in {r["name"] for r in runs}}
        for key in ("lost", "few")
    )
    most = max(lost, key=lost.get)
    word = "met" if lost[most] <= 0.001 else "MISSED"
    print(f"whole points lose at the most {lost[most]:.5f} of the AUC, on {most}  bar 0.001  {word}")
    verdict(f"{FEW[0]} to {FEW[-1]} positives: scorecard less the straight line", list(few.values()), -0.005)


def table_runs(name, seeds, cap, figure, with_ebm):
    """All figures of one table, a record a split; none where a class is too rare."""
    runs = []
    for seed in seeds:
        parts = split(name, seed, cap)
        if parts is None:
            return []
        run = {"name": name, "seed": seed}
        for key, model in rivals(seed, with_ebm):
            found = figure(f"{name}|{seed}|{cap}|{key}", lambda model=model, parts=parts: fitted_auc(model, parts))
            run[key], run[f"{key} seconds"] = (None, None) if found is None else found
        runs.append({**run, **ours(parts, seed)})
    return runs


def shown(runs, keys):
    """A line: means over splits."""
    means = [np.mean([run[key] for run in runs if run[key] is not None] or [np.nan]) for key in keys]
    took = " ".join(f"{value:.1f}" for value in np.mean([run["seconds"] for run in runs], axis=0))
    lost, few = (np.mean([run[key] for run in runs]) for key in ("lost", "few"))
    return f"{runs[0]['name']:<36}" + "".join(f"{value:11.4f}" for value in means) + f" {lost:+.4f} {few:+.4f} {took}"


def main():
    """Print a line a table, then the bars."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--no-ebm", action="store_true")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--known", action="store_true")
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "auclid-benchmarks" / "scorecard.json"
    parser.add_argument("--cache", default=default)
    options = parser.parse_args()
    require_data()
    warnings.simplefilter("ignore")
    with_ebm = not options.no_ebm and has_ebm()
    cache, seeds = Cache(options.cache), range(options.splits)
    tables = options.tables or narrow()[HALVES.get(options.half, slice(None))]
    if options.rivals:
        fill(tables, seeds, options.rows, cache, with_ebm)
        return
    rng = np.random.default_rng(0)
    Scorecard().fit(rng.standard_normal((300, 3)), rng.random(300) < 0.3)  # loads the kernels
    figure = (lambda key, compute: cache.known.get(key)) if options.known else cache.auc
    keys, runs = [*(key for key, _ in rivals(0, with_ebm)), "additive", "scorecard"], []
    print(f"{'table':<36}" + "".join(f"{key:>11}" for key in keys) + "   lost    few   seconds")
    for name in tables:
        found = table_runs(name, seeds, options.rows, figure, with_ebm)
        print(shown(found, keys) if found else f"{name:<36} skipped: fewer than {LEAST} rows of a class", flush=True)
        runs += found
    if runs:
        summary(runs, with_ebm)


if __name__ == "__main__":
    main()
