"""FactorizationRanker beside a logistic regression: where factors pay, and where they must not cost.

    python benchmarks/quality_factorization.py [splits]

connect-4 (one-hot), a9a, dota2 and w8a from AUCLID_DATA, and a generated table of users and items; test AUC, mean over
splits. Bars: ahead of logistic regression by .015 on connect-4 and by .1 on the generated table; not below it by more
than .002 on a9a and dota2. An epoch at rank r may take r + 2 times one of SPAM. Then AUCClassifier with and without it
among its candidates, on 20,000 rows of each: test AUC and seconds of the processor, one split.
"""

import sys
import time
import warnings
from unittest.mock import patch

import numpy as np
from clock import processor_seconds
from scipy import sparse
from sklearn.linear_model import LogisticRegressionCV
from tables import require_data, split

from auclid import SPAM, AUCClassifier, FactorizationRanker, _sizes
from auclid.metrics import roc_auc

BARS = {"connect-4": 0.015, "users and items": 0.1, "a9a": -0.002, "dota2": -0.002, "w8a": -0.002}


def users_and_items(seed, n=40_000, n_users=500, n_items=300):
    """One-hot rows of a user and an item whose match depends on hidden traits of both, not on either alone."""
    traits = np.random.default_rng(7)
    of_user, of_item = traits.normal(size=(n_users, 3)), traits.normal(size=(n_items, 3))
    rng = np.random.default_rng(seed)
    user, item = rng.integers(n_users, size=n), rng.integers(n_items, size=n)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(2.0 - 1.5 * (of_user[user] * of_item[item]).sum(axis=1)))
    columns = np.column_stack([user, n_users + item]).ravel()
    rows = np.repeat(np.arange(n), 2)
    X = sparse.csr_array((np.ones(2 * n), (rows, columns)), shape=(n, n_users + n_items))
    cut = 3 * n // 4
    return X[:cut], y[:cut], X[cut:], y[cut:]


def quality(splits):
    for name, bar in BARS.items():
        gains, ours, peers, seconds, ranks = [], [], [], [], []
        for seed in range(splits):
            X, y, X_test, y_test = users_and_items(seed) if name == "users and items" else split(name, seed)
            start = time.perf_counter()
            model = FactorizationRanker(random_state=seed).fit(X, y)
            seconds.append(time.perf_counter() - start)
            peer = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], cv=3, scoring="roc_auc", max_iter=300).fit(X, y)
            ours.append(model.score(X_test, y_test))
            peers.append(roc_auc(y_test, peer.decision_function(X_test)))
            gains.append(ours[-1] - peers[-1])
            ranks.append(model.rank_)
        verdict = "met" if np.mean(gains) >= bar else "MISSED"
        print(
            f"{name:<18} ours {np.mean(ours):.4f}  logistic {np.mean(peers):.4f}  gain {np.mean(gains):+.4f}  "
            f"bar {bar:+.3f}  {verdict}  rank {ranks}  {np.mean(seconds):.1f} s",
            flush=True,
        )


def speed():
    """An epoch as a fit of one, and as what each of eight more adds to it, in seconds of the processor."""
    X, y, _, _ = split("a9a")

    def seconds(model):
        model.fit(X, y)
        return min(processor_seconds(lambda: model.fit(X, y)) for _ in range(7))

    def one_and_more(make):
        one, nine = (seconds(make(n_epochs)) for n_epochs in (1, 9))
        return np.array([one, (nine - one) / 8])

    theirs = one_and_more(lambda n_epochs: SPAM(n_epochs=n_epochs, random_state=0))
    for rank in (4, 8, 16):
        bar = rank + 2.0
        ours = one_and_more(lambda n, rank=rank: FactorizationRanker(rank, alpha=1e-4, n_epochs=n, random_state=0))
        for what, ratio in zip(("a fit of one epoch", "each further epoch"), ours / theirs, strict=True):
            verdict = "met" if ratio <= bar else "MISSED"
            print(f"{what} of rank {rank:2} on a9a: {ratio:5.2f} times SPAM's, bar {bar:.0f}  {verdict}", flush=True)


def classifier():
    for name in BARS:
        X, y, X_test, y_test = users_and_items(0) if name == "users and items" else split(name)
        rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:20_000])
        found = []
        for least in (np.inf, _sizes.MIN_ROWS_TO_FACTOR):
            with patch.object(_sizes, "MIN_ROWS_TO_FACTOR", least):
                model = AUCClassifier(random_state=0)
                seconds = processor_seconds(lambda model=model, X=X, y=y, rows=rows: model.fit(X[rows], y[rows]))
                found.append((model.score(X_test, y_test), seconds))
        (before, less), (after, more) = found
        print(f"AUCClassifier, {name:<18} {before:.4f} -> {after:.4f}, {less:.1f} -> {more:.1f} s", flush=True)


if __name__ == "__main__":
    require_data()
    warnings.simplefilter("ignore")
    speed()
    quality(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    classifier()
