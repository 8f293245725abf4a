"""Mean test AUC of untuned pairwise methods, and how far it is from the method they should come near.

    python benchmarks/quality_pairwise.py [names ...]

Names choose tables or methods; all by default. RankSVM is compared with LogisticRegression, the samplers with
RankSVM. Seeds 0 to 4: of the split, or of the method where a table comes with its test part.
"""

import sys
import warnings
from functools import cache

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from tables import require_data, split

from auclid import make

TABLES = [
    "a9a", "w8a", "ijcnn1", "mnist", "connect-4", "covtype", "letter", "magic04", "news20", "sector",
]  # fmt: skip

METHODS = {  # how to make it for a seed, what it is compared with, how far below that it may come
    "LogisticRegression": (lambda seed: LogisticRegression(), None, None),
    "RankSVM": (lambda seed: make("RankSVM"), "LogisticRegression", 0.005),
    "ASAM": (lambda seed: make("ASAM", random_state=seed), "RankSVM", 0.005),
    "PSAM": (lambda seed: make("PSAM", random_state=seed), "RankSVM", 0.005),
}


@cache
def auc(method, table, seeds=range(5)):
    """Mean test AUC over the seeds; a method without chance on a table without chance is fitted once."""
    found, build = {}, METHODS[method][0]
    for seed in seeds:
        X, y, X_test, y_test = split(table, seed)
        model = build(seed)
        chance = "random_state" in model.get_params() and method != "LogisticRegression"
        key = (seed if chance else None, y.tobytes(), y_test.tobytes())
        if key not in found:
            found[key] = roc_auc_score(y_test, model.fit(X, y).decision_function(X_test))
    return float(np.mean(list(found.values())))


def compare(method, table):
    """One line: the AUC, the gap to the other method and the bar."""
    _, other, bar = METHODS[method]
    line = f"{table:10} {method:19} {auc(method, table):.4f}"
    if other is not None:
        gap = auc(method, table) - auc(other, table)
        line += f"  {gap:+.4f} against {other}, bar {-bar}  {'met' if gap >= -bar else 'MISSED'}"
    print(line, flush=True)


if __name__ == "__main__":
    require_data()
    warnings.simplefilter("ignore")
    words = sys.argv[1:]
    for table in [t for t in TABLES if t in words] or TABLES:
        for method in [m for m in METHODS if m in words] or METHODS:
            compare(method, table)
        auc.cache_clear()
