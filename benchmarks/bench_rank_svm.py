"""Whole fits of RankSVM against LogisticRegression in the same run, and how they grow with the rows."""

import warnings

import numpy as np
from clock import best, report
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from tables import folder, split

from auclid import KernelRankSVM, RankSVM, pairs

warnings.simplefilter("ignore")


def show(work, peer, ours, theirs):
    """A line without a bar."""
    print(f"{work:<58} {ours:8.3f} s  {peer:<38} {theirs:8.3f} s  ratio {ours / theirs:6.3f}")


def against_logistic(work, X, y, bar=None, losses=("squared_hinge",), repeats=5):
    """RankSVM with each loss, and LogisticRegression, in turn; a bar is for the squared hinge."""
    jobs = [lambda loss=loss: RankSVM(1e-3, loss=loss).fit(X, y) for loss in losses]
    *ours, peer = best(*jobs, lambda: LogisticRegression().fit(X, y), repeats=repeats)
    for loss, seconds in zip(losses, ours, strict=True):
        line = (f"RankSVM, {loss}, {work}", "LogisticRegression()", seconds, peer)
        if bar is not None and loss == "squared_hinge":
            report(*line, bar)
        else:
            show(*line)


def synthetic(n, d=50):
    """Two overlapping clouds, a third of the rows positive."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(int)
    return rng.standard_normal((n, d)) + np.outer(y, 1.0 / np.arange(1, d + 1)), y


def growth(small=10_000, large=1_000_000):
    """The exponent of the time of a fit between two numbers of rows."""
    (few, y_few), (many, y_many) = synthetic(small), synthetic(large)
    least, most = best(lambda: RankSVM(1e-3).fit(few, y_few), lambda: RankSVM(1e-3).fit(many, y_many), repeats=3)
    exponent = np.log(most / least) / np.log(large / small)
    said = f"exponent {exponent:.2f}, bar 1.1  {'met' if exponent <= 1.1 else 'MISSED'}"
    print(f"RankSVM, synthetic, d = 50: {small} rows {least:.3f} s, {large} rows {most:.3f} s, {said}")


def primitive(n=1_000_000):
    """Value, gradient and a curvature product of all pairs of a million scores, against sorting them."""
    rng = np.random.default_rng(0)
    y, s = rng.random(n) < 0.1, rng.standard_normal(n)
    jobs = [lambda: pairs.value(y, s), lambda: pairs.gradient(y, s), lambda: pairs.curvature_product(y, s, s)]
    *ours, peer = best(*jobs, lambda: np.argsort(s))
    for name, seconds in zip(("value", "gradient", "curvature_product"), ours, strict=True):
        show(f"pairs.{name}, 10^6 scores, 10 % positive", "numpy.argsort", seconds, peer)


growth()
primitive()
if folder() is None:
    print("the rest is skipped: set AUCLID_DATA to the folder with the benchmark tables")
else:
    both = ("squared_hinge", "hinge")
    X, y, _, _ = split("covtype")
    covtype = np.ascontiguousarray(X, dtype=np.float32)
    against_logistic("covtype 465k x 54 float32", covtype, y, 0.4, both, repeats=3)
    X, y, _, _ = split("a9a")
    against_logistic("a9a CSR 33k x 123", X, y, 0.5, both)
    X, y, _, _ = split("news20")
    against_logistic("news20 CSR 13k x 62,061", X, y, repeats=2)
    X, y, _, _ = split("magic04")
    X, y = X[:3000], y[:3000]
    ours, peer = best(lambda: KernelRankSVM().fit(X, y), lambda: SVC().fit(X, y), repeats=3)
    show("KernelRankSVM, magic04, 3,000 rows", "SVC()", ours, peer)
