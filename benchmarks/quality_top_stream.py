"""Could a stream learn for the top of the list? A trial of steps on pairs whose negative is drawn from a running top.

    python benchmarks/quality_top_stream.py [tables ...]

PSAM's steps with the squared hinge: the positive at random, the negative among the ``max_fpr`` highest of a reservoir,
found anew every hundred steps. Beside it stand the certified optimum (`RankSVM` with alpha and softness "auto") and
PSAM on pairs of all rows. The bar for an estimator is a partial AUC within .005 of the optimum's on most tables;
docs/top.md says how it came out.
"""

import sys
import warnings

import numpy as np
from sklearn.model_selection import train_test_split
from tables import require_data, split

from auclid import PSAM, RankSVM
from auclid.metrics import partial_auc

TABLES = """
german diabetes magic04 svmguide3 ada adult cod-rna nursery letter ijcnn1 w8a mammography waveform-40 banana krkopt
susy-30k
""".split()
ROWS, RESERVOIR, EVERY, SKIP = 5000, 1000, 100, 16


def stream(X, y, alpha, rate, epochs, seed):
    """Averaged weights after `epochs` passes of as many pairs as there are rows."""
    rng = np.random.default_rng(seed)
    pos, neg = X[y == 1], X[y == 0]
    held = neg[rng.permutation(len(neg))[:RESERVOIR]]
    some = [rows[rng.integers(len(rows), size=500)] for rows in (pos, neg)]
    t0 = float(np.mean(np.sum((some[0] - some[1]) ** 2, axis=1))) / alpha
    w, average, top = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.arange(len(held))
    size = max(1, int(rate * len(held)))
    for t in range(epochs * len(y)):
        if t % EVERY == 0 and t > 0:
            top = np.argpartition(-(held @ w), size - 1)[:size]
        z = pos[rng.integers(len(pos))] - held[top[rng.integers(len(top))]]
        step, margin = 1.0 / (alpha * (t + t0)), w @ z
        if margin < 1.0:
            w += 2.0 * step * (1.0 - margin) / (1.0 + 2.0 * step * (z @ z)) * z
        if t % SKIP == 0:
            w *= 1.0 - SKIP / (t + t0)
            average += (w - average) / (t // SKIP + 1)
    return average


def line(table, rate):
    """Partial AUCs on test rows: the optimum, PSAM, and the stream in one pass and in five."""
    X, y, X_test, y_test = split(table, dense=True)
    if len(y) > ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=ROWS, stratify=y, random_state=0)
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    best = RankSVM("auto", max_fpr=rate, softness="auto").fit(X, y)
    ways = {"one pass, alpha 1e-3": (1e-3, 1), "five, alpha 1e-2": (1e-2, 5), "five, its alpha": (best.alpha_, 5)}
    weights = [best.coef_[0], PSAM(random_state=0).fit(X, y).coef_[0]]
    areas = [partial_auc(y_test, X_test @ w, max_fpr=rate) for w in weights]
    for alpha, epochs in ways.values():
        drawn = [X_test @ stream(X, y, alpha, rate, epochs, seed) for seed in (0, 1)]
        areas.append(float(np.mean([partial_auc(y_test, score, max_fpr=rate) for score in drawn])))
    told = "  ".join(f"{way} {area:.4f} ({area - areas[0]:+.4f})" for way, area in zip(ways, areas[2:], strict=True))
    print(f"{table:14s} {rate}  optimum {areas[0]:.4f}  PSAM {areas[1]:.4f}  {told}", flush=True)
    return areas


if __name__ == "__main__":
    require_data()
    warnings.simplefilter("ignore")
    for rate in (0.05, 0.1):
        areas = np.array([line(table, rate) for table in sys.argv[1:] or TABLES])
        near = (areas[:, 2:] >= areas[:, :1] - 0.005).sum(axis=0)
        print(f"max_fpr {rate}: within .005 of the optimum on {near.tolist()} of {len(areas)} tables; means "
              f"{np.round(areas.mean(axis=0), 4).tolist()}")
