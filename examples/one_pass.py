"""One pass: how fast online methods learn

Each method sees every row of a stream once, in the same order. `LeastSquaresAUC` has the exact answer for the rows
so far, which with a tiny alpha is not the best one while rows are few; `OAM` and `CBR` compare each new row with a
buffer of old ones; `SPAM` and `UniExp` keep no rows at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from auclid import CBR, OAM, SPAM, LeastSquaresAUC, UniExp

rng = np.random.default_rng(0)
d = 30
mixing = rng.standard_normal((d, d)) / np.sqrt(d)
direction = rng.standard_normal(d) / np.sqrt(d)


def rows(n):
    y = (rng.random(n) < 0.1).astype(int)
    return (rng.standard_normal((n, d)) + 1.5 * y[:, None] * direction) @ mixing, y


X_test, y_test = rows(10_000)
X, y = rows(4_000)
scale = X[:200].std(axis=0)
X, X_test = X / scale, X_test / scale
stops = np.unique(np.geomspace(50, len(y), 14).astype(int))

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
seeded = [CBR(random_state=0), OAM(random_state=0), SPAM(random_state=0), UniExp(random_state=0)]
for model in [LeastSquaresAUC(), *seeded]:
    aucs = []
    for start, stop in zip([0, *stops], stops, strict=False):
        model.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
        aucs.append(model.score(X_test, y_test))
    axes.semilogx(stops, aucs, "o-", ms=4, label=type(model).__name__)
    print(f"{type(model).__name__:16} {aucs[0]:.3f} after {stops[0]} rows, {aucs[-1]:.3f} after {stops[-1]}")
axes.set(xlabel="rows seen", ylabel="test AUC", title="One pass over a stream of 30 correlated columns")
axes.legend()
figure.savefig("one_pass.png", dpi=110)
