"""Is alpha="auto" worth its time? Mean test AUC of RankSVM, ASAM and PSAM with it, against the old default of 1e-3.

    python benchmarks/quality_alpha.py [--rows N] [--splits 2] [--half development|confirmation] [tables ...]

Rows are standardised (max-abs scaled where sparse), as they are and behind 300 random Fourier features. The last lines
are the mean differences with their standard errors over tables, on the half that rules were chosen on and on the other.
"""

import argparse
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score
from tables import GIVEN_TEST, HALVES, SHORT, capped, names, require_data, split

from auclid import ASAM, PSAM, Kernelized, RandomFourier, RankSVM

BEFORE = 1e-3
WAVES = 300
WIDEST = 100
"""Columns up to which rows are embedded."""


def rankers(seed):
    return {"RankSVM": RankSVM(), "ASAM": ASAM(random_state=seed), "PSAM": PSAM(random_state=seed)}


def embedded(ranker, seed):
    return Kernelized(RandomFourier(WAVES, random_state=seed), ranker)


def measured(name, seed, most):
    """{kind of rows and method: test AUC of "auto" minus that of the old default} of one split."""
    X, y, X_test, y_test = split(name, seed)
    if not 0 < y_test.sum() < len(y_test):
        return {}
    some = capped(y == 1, most)
    X, y, found = X[some], y[some], {}
    for method, ranker in rankers(seed).items():
        kinds = {"plain": lambda ranker: ranker}
        if X.shape[1] <= WIDEST:
            kinds["embedded"] = lambda ranker: embedded(ranker, seed)
        for kind, dressed in kinds.items():
            tried = [ranker, type(ranker)(**{**ranker.get_params(), "alpha": BEFORE})]
            auto, before = (roc_auc_score(y_test, dressed(one).fit(X, y).decision_function(X_test)) for one in tried)
            found[kind, method] = auto - before
    return found


def told(label, differences):
    gaps = np.array(differences)
    if len(gaps) > 1:
        error = gaps.std(ddof=1) / np.sqrt(len(gaps))
        print(f"{label:40} {len(gaps):3} tables  {gaps.mean():+.4f} ± {error:.4f}  least {gaps.min():+.4f}", flush=True)


def main():
    require_data()
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--rows", type=int, default=3000, help="training rows at the most")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--half", choices=list(HALVES), help="only this half of the tables")
    options = parser.parse_args()
    every, results = names(), {}
    chosen = options.tables or (every[HALVES[options.half]] if options.half else every)
    for name in chosen:
        count = 1 if SHORT.get(name, name) in GIVEN_TEST else options.splits
        splits = [found for seed in range(count) if (found := measured(name, seed, options.rows))]
        if not splits:
            print(f"{name:36} a class is missing among its test rows")
            continue
        results[name] = {key: np.mean([one[key] for one in splits]) for key in splits[0]}
        said = "  ".join(f"{kind} {method} {gap:+.4f}" for (kind, method), gap in results[name].items())
        print(f"{name:36} {said}", flush=True)
    for half, part in HALVES.items():
        for kind in ("plain", "embedded"):
            for method in rankers(0):
                own = [results[name] for name in every[part] if name in results]
                told(f"{half}: {kind} {method}", [one[kind, method] for one in own if (kind, method) in one])


if __name__ == "__main__":
    main()
