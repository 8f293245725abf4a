"""Test AUC of every stochastic square-loss method, untuned, minus that of the exact answer (×10⁻⁴).

    python benchmarks/quality_square.py [seeds] [names ...]

``seeds`` (0-4 by default) is a range or a list with commas; names choose tables or methods, all by default.
"fit" is `fit` with default arguments, "stream" one pass of `partial_fit` in batches of 1000 shuffled rows.
"""

import sys
import time

import numpy as np
from tables import require_data, split

from auclid import LeastSquaresAUC, make

TABLES = ["a9a", "german", "splice", "w8a", "mnist", "covtype"]
METHODS = ["SPAM-L2", "SOLAM", "SOLAM-L2", "FSAUC", "OPAUC", "OPAUCr", "AdaOAM"]


def bar(name):
    """How far behind the exact answer a method may stay."""
    return 0.015 if name == "OPAUCr" else 0.01


def fitted(name, seed, X, y):
    return make(name, random_state=seed).fit(X, y)


def streamed(name, seed, X, y, batch=1000):
    model, order = make(name, random_state=seed), np.random.default_rng(seed).permutation(len(y))
    for start in range(0, len(y), batch):
        chosen = order[start : start + batch]
        model.partial_fit(X[chosen], y[chosen], classes=[0, 1])
    return model


def gaps(name, learn, parts):
    """Test AUC minus the exact answer's, and seconds, of each split."""
    found = []
    for seed, (X, y, X_test, y_test), exact in parts:
        start = time.perf_counter()
        model = learn(name, seed, X, y)
        found.append((model.score(X_test, y_test) - exact, time.perf_counter() - start))
    return np.array(found).T


def report(table, seeds, methods):
    """One line for each way to learn with each method."""
    parts = []
    for seed in seeds:
        part = split(table, seed)
        parts.append((seed, part, LeastSquaresAUC().fit(*part[:2]).score(*part[2:])))
    for name in methods:
        for way, learn in (("fit", fitted), ("stream", streamed)):
            if way == "stream" and not hasattr(make(name), "partial_fit"):
                continue
            gap, seconds = gaps(name, learn, parts)
            said = "" if gap.mean() >= -bar(name) else f"  more than {bar(name)} behind"
            print(
                f"{table:8} {name:9} {way:6} {1e4 * gap.mean():+6.0f}  "
                f"({1e4 * gap.min():+.0f} to {1e4 * gap.max():+.0f})  {np.median(seconds):6.2f} s{said}",
                flush=True,
            )


def seeds_of(text):
    """The seeds of "3", "0,2" or "0-4"."""
    first, _, last = text.partition("-")
    return range(int(first), int(last) + 1) if last else [int(seed) for seed in text.split(",")]


if __name__ == "__main__":
    require_data()
    words = sys.argv[1:]
    seeds = seeds_of(words.pop(0)) if words and words[0][0].isdigit() else range(5)
    for table in [t for t in TABLES if t in words] or TABLES:
        report(table, seeds, [m for m in METHODS if m in words] or METHODS)
