"""Whole fits of RankSVM for the top of the list against LogisticRegression in the same run, and how they grow.

Published times of SVM_pAUC^tight (Narasimhan & Agarwal 2013, in MATLAB) are of another machine and language: they
compare as orders of magnitude only, so none are printed.
"""

import warnings

import numpy as np
from clock import best, report
from sklearn.linear_model import LogisticRegression
from tables import folder, split

from auclid import RankSVM

warnings.simplefilter("ignore")


def against_logistic(work, X, y, bar, repeats=3):
    """RankSVM up to a false-positive rate of 0.1 with each loss, and both ways, in turn with LogisticRegression."""
    models = {
        "squared hinge": RankSVM(1e-3, max_fpr=0.1),
        "squared hinge, defaults": RankSVM(max_fpr=0.1),
        "hinge": RankSVM(1e-3, max_fpr=0.1, loss="hinge"),
        "squared hinge, min_tpr 0.5": RankSVM(1e-3, max_fpr=0.1, min_tpr=0.5),
    }
    jobs = [lambda model=model: model.fit(X, y) for model in models.values()]
    *ours, peer = best(*jobs, lambda: LogisticRegression().fit(X, y), repeats=repeats)
    for (name, model), seconds in zip(models.items(), ours, strict=True):
        line = f"RankSVM({model.alpha_:.1e}), max_fpr 0.1, {name}, {work}"
        if name.startswith("squared hinge") and model.min_tpr == 0.0:
            report(line, "LogisticRegression()", seconds, peer, bar)
        else:
            print(f"{line:<70} {seconds:8.3f} s  ratio {seconds / peer:6.3f}")
        print(f"    gap {model.gap_:.1e} after {model.n_iter_} steps on all rows")


def certified(name):
    """The proved gaps of a table, with either loss."""
    X, y, _, _ = split(name)
    for loss in ("squared_hinge", "hinge"):
        model = RankSVM(1e-3, max_fpr=0.1, loss=loss)
        seconds = best(lambda model=model: model.fit(X, y), repeats=1)[0]
        print(f"RankSVM, max_fpr 0.1, {loss}, {name}: {seconds:.2f} s, gap {model.gap_:.1e}, bar 1e-3")


def synthetic(n, d=50):
    """Two overlapping clouds, a third of the rows positive."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(int)
    return rng.standard_normal((n, d)) + np.outer(y, 1.0 / np.arange(1, d + 1)), y


def growth(small=10_000, large=1_000_000):
    """The exponent of the time of a fit between two numbers of rows."""
    (few, y_few), (many, y_many) = synthetic(small), synthetic(large)
    model = RankSVM(1e-3, max_fpr=0.1)
    least, most = best(lambda: model.fit(few, y_few), lambda: model.fit(many, y_many), repeats=2)
    exponent = np.log(most / least) / np.log(large / small)
    said = f"exponent {exponent:.2f}, bar 1.1  {'met' if exponent <= 1.1 else 'MISSED'}"
    print(f"RankSVM, max_fpr 0.1, synthetic, d = 50: {small} rows {least:.3f} s, {large} rows {most:.3f} s, {said}")


if __name__ == "__main__":
    growth()
    if folder() is None:
        print("the rest is skipped: set AUCLID_DATA to the folder with the benchmark tables")
    else:
        X, y, _, _ = split("covtype")
        against_logistic("covtype 465k x 54 float32", np.ascontiguousarray(X, dtype=np.float32), y, 2.0, repeats=2)
        X, y, _, _ = split("a9a")
        against_logistic("a9a CSR 33k x 123", X, y, 3.0)
        for name in ("w8a", "ijcnn1"):
            certified(name)
