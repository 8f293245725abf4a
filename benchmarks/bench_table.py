"""The table of speeds that users feel: whole fits against named peers, in one run, each with its bar.

`python benchmarks/bench_table.py [ITEM ...]` with ITEM of covtype, a9a, mnist, news20, kernels, metrics; all by
default. Ratios are of the shortest of several runs in turn, kernels compiled before.
"""

import subprocess
import sys
import warnings
from functools import cache

import numpy as np
from clock import best, report
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC
from tables import folder, split

from auclid import (
    CBR,
    FSAUC,
    SOLAM,
    SPAM,
    Kernelized,
    KernelRankSVM,
    KMeansNystroem,
    LeastSquaresAUC,
    LeastSquaresAUCCV,
    RankSVM,
)
from auclid.metrics import auc_interval, roc_auc

ONE = {"n_epochs": 1, "random_state": 0}
GAMMA = 2.0 / 54


@cache
def rows(name):
    """Training rows, C-ordered float32 where they are dense."""
    X, y, _, _ = split(name)
    return (np.ascontiguousarray(X, dtype=np.float32) if isinstance(X, np.ndarray) else X), y


def fit(model, X, y):
    return lambda: model.fit(X, y)


def sgd(X, y):
    """One epoch of the peer."""
    return fit(SGDClassifier(max_iter=1, tol=None, random_state=0), X, y)


def in_turn(peer_name, peer, lines, repeats=5):
    """Time a peer and our jobs in turn, a line each: (what, job, bar)."""
    *ours, theirs = best(*(job for _, job, _ in lines), peer, repeats=repeats)
    for (what, _, bar), seconds in zip(lines, ours, strict=True):
        report(what, peer_name, seconds, theirs, bar)


def covtype():
    """465,000 rows of 54 dense columns."""
    X, y = rows("covtype")
    stochastic = [
        ("SPAM one epoch, covtype 465k x 54", fit(SPAM(**ONE), X, y), 0.5),
        ("SOLAM one epoch, covtype", fit(SOLAM(**ONE), X, y), 0.8),
        ("FSAUC one epoch, covtype", fit(FSAUC(**ONE), X, y), 0.8),
    ]
    in_turn("SGDClassifier(max_iter=1)", sgd(X, y), stochastic)
    in_turn("SGDClassifier(max_iter=1)", sgd(X, y), [("CBR full, covtype", fit(CBR(random_state=0), X, y), 25.0)], 1)
    in_turn("X'X by BLAS", lambda: X.T @ X, [("LeastSquaresAUC, covtype float32", fit(LeastSquaresAUC(), X, y), 2.2)])
    exact = [
        ("LeastSquaresAUCCV 5 x 50, covtype", fit(LeastSquaresAUCCV(), X, y), 0.3),
        ("RankSVM(alpha='auto'), covtype", fit(RankSVM(alpha="auto"), X, y), 0.4),
        ("RankSVM(alpha=1e-3), covtype", fit(RankSVM(alpha=1e-3), X, y), 0.4),
    ]
    in_turn("LogisticRegression()", fit(LogisticRegression(), X, y), exact, 3)


def a9a():
    """33,000 sparse rows, 14 entries a row."""
    X, y = rows("a9a")
    in_turn("SGDClassifier(max_iter=1)", sgd(X, y), [("SPAM one epoch, a9a CSR", fit(SPAM(**ONE), X, y), 0.7)])


def mnist():
    """60,000 rows of 784 dense columns."""
    X, y = rows("mnist")
    in_turn("SGDClassifier(max_iter=1)", sgd(X, y), [("SPAM one epoch, mnist 784", fit(SPAM(**ONE), X, y), 0.95)])


def news20():
    """13,000 sparse rows of 62,061 columns."""
    X, y = rows("news20")
    line = ("SPAM with l1, one epoch, news20", fit(SPAM(l1=1e-3, **ONE), X, y), 8.0)
    in_turn("SGDClassifier(max_iter=1)", sgd(X, y), [line])
    line = ("RankSVM(alpha=1e-3), news20", fit(RankSVM(alpha=1e-3), X, y), 1.0)
    in_turn("LogisticRegression()", fit(LogisticRegression(), X, y), [line], 2)


def kernels():
    """A kernel's matrix, and landmarks."""
    X, y = rows("magic04")
    X, y = X[:3000], y[:3000]
    in_turn("SVC()", fit(SVC(), X, y), [("KernelRankSVM, magic04, 3,000 rows", fit(KernelRankSVM(), X, y), 1.5)], 3)
    X, y = rows("covtype")
    X, y = X[:60_000], y[:60_000]
    peer = Nystroem(gamma=GAMMA, n_components=1000, random_state=0)
    ours = Kernelized(KMeansNystroem(1000, gamma=GAMMA, random_state=0), LeastSquaresAUC())
    line = ("Kernelized, 1,000 landmarks, 60,000 rows", fit(ours, X, y), 0.5)
    ridge = RidgeClassifier(class_weight="balanced")
    in_turn("Nystroem + RidgeClassifier, float32", lambda: ridge.fit(peer.fit_transform(X), y), [line], 1)


def metrics():
    """A million scores."""
    rng = np.random.default_rng(0)
    for share in (0.05, 0.5):
        y = (rng.random(1_000_000) < share).astype(int)
        s = rng.normal(size=len(y)) + y
        lines = [
            (f"auc_interval, 10^6 rows, {share:.0%} positive", lambda y=y, s=s: auc_interval(y, s), 0.2),
            (f"roc_auc, 10^6 rows, {share:.0%} positive", lambda y=y, s=s: roc_auc(y, s), 0.12),
        ]
        in_turn("roc_auc_score", lambda y=y, s=s: roc_auc_score(y, s), lines, 3)


ITEMS = (covtype, a9a, mnist, news20, kernels, metrics)


def main():
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:] or [item.__name__ for item in ITEMS]
    for item in ITEMS:
        if item.__name__ in chosen:
            if folder() is None and item is not metrics:
                print(f"{item.__name__} is skipped: set AUCLID_DATA to the folder with the benchmark tables")
            else:
                item()


if __name__ == "__main__":
    if sys.argv[1:]:
        main()
    else:  # each item in a process of its own, so that no other's memory slows it down
        for item in ITEMS:
            subprocess.run([sys.executable, __file__, item.__name__], check=True)
