"""Do boosted trees gain from a pair loss? LightGBM with the log loss and with `auclid.objectives`, on benchmark tables.

    python benchmarks/quality_objectives.py [tables ...]

Five stratified 80/20 splits of each table (or the given test part), up to 5,000 training rows, 200 trees of 15 leaves
at a rate of 0.05, nothing tuned. Printed are the mean test AUCs of each table, their means over all tables, how often
each objective is ahead of the log loss, and the seconds of all fits.
"""

import sys
import warnings
from time import perf_counter

import numpy as np
from lightgbm import LGBMClassifier
from tables import capped, require_data, split

from auclid.metrics import roc_auc
from auclid.objectives import pair_logistic, pair_square, pair_squared_hinge

TABLES = """
german diabetes magic04 svmguide3 ada adult cod-rna nursery letter ijcnn1 a9a mammography waveform-40 banana krkopt
susy-30k spambase splice keel-yeast1 higgs-11k dota2
""".split()
OBJECTIVES = {
    "log loss": "binary",
    "log loss, balanced": "balanced",
    "pair_logistic": pair_logistic,
    "pair_squared_hinge": pair_squared_hinge,
    "pair_square": pair_square,
}
SEEDS, ROWS = range(5), 5000


def booster(objective, seed):
    """LightGBM with an objective; "balanced" is the log loss with classes of the same weight."""
    weight = "balanced" if objective == "balanced" else None
    return LGBMClassifier(
        objective="binary" if objective == "balanced" else objective, class_weight=weight, n_estimators=200,
        num_leaves=15, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=seed,
    )  # fmt: skip


def line(table, seconds):
    """Mean test AUC of each objective."""
    areas = np.zeros((len(SEEDS), len(OBJECTIVES)))
    for seed in SEEDS:
        X, y, X_test, y_test = split(table, seed, dense=True)
        rows = capped(y == 1, ROWS)
        for k, objective in enumerate(OBJECTIVES.values()):
            start = perf_counter()
            model = booster(objective, seed).fit(X[rows], y[rows])
            seconds[k] += perf_counter() - start
            areas[seed, k] = roc_auc(y_test, model.predict(X_test, raw_score=True))
    print(f"{table:14s} " + "  ".join(f"{area:.4f}" for area in areas.mean(axis=0)), flush=True)
    return areas.mean(axis=0)


if __name__ == "__main__":
    require_data()
    warnings.simplefilter("ignore")
    tables, seconds = sys.argv[1:] or TABLES, np.zeros(len(OBJECTIVES))
    print(f"{'table':14s} {'  '.join(OBJECTIVES)}")
    areas = np.array([line(table, seconds) for table in tables])
    gains = areas - areas[:, :1]
    for k, name in enumerate(OBJECTIVES):
        error = gains[:, k].std(ddof=1) / len(tables) ** 0.5 if len(tables) > 1 else np.nan
        print(
            f"{name:20s} mean {areas[:, k].mean():.4f}, less the log loss {gains[:, k].mean():+.4f} ± {error:.4f}, "
            f"ahead on {(gains[:, k] > 0).sum()} of {len(tables)} tables, {seconds[k]:.0f} s"
        )
