"""More rows than memory: moments that add up

Four machines read their own chunks, one at a time. `LeastSquaresAUC` keeps counts, means and covariances of the
classes and nothing else; `merge` adds those of two models. The result is the model of one fit on all rows, up to
rounding.
"""

from functools import reduce

import matplotlib.pyplot as plt
import numpy as np

from auclid import LeastSquaresAUC
from auclid.metrics import roc_auc

d, chunks, size = 40, 6, 400


def chunk(number):
    """A chunk as it would come from a file."""
    rng = np.random.default_rng(number)
    y = (rng.random(size) < 0.05).astype(int)
    return rng.standard_normal((size, d)) + 0.25 * y[:, None] * np.linspace(-1, 1, d), y


X_test, y_test = map(np.concatenate, zip(*(chunk(1000 + k) for k in range(20)), strict=True))
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
machines = []
for machine in range(4):
    model, aucs = LeastSquaresAUC(), []
    for k in range(chunks):
        model.partial_fit(*chunk(machine * chunks + k), classes=[0, 1])
        aucs.append(roc_auc(y_test, model.decision_function(X_test)))
    axes.plot(np.arange(1, chunks + 1) * size, aucs, "o-", ms=4, alpha=0.6, label=f"machine {machine + 1}")
    machines.append(model)

merged = reduce(LeastSquaresAUC.merge, machines)
auc = roc_auc(y_test, merged.decision_function(X_test))
X, y = map(np.concatenate, zip(*(chunk(k) for k in range(4 * chunks)), strict=True))
at_once = LeastSquaresAUC().fit(X, y)
gap = np.abs(merged.coef_ - at_once.coef_).max()
print(f"largest difference of a weight to one fit on all rows: {gap:.1e}")

axes.axhline(auc, color="k", lw=1.5, label=f"merged; one fit on all rows differs by {gap:.0e}")
axes.set(xlabel="rows a machine has read", ylabel="test AUC", title="Four machines, then one model")
axes.legend(loc="lower right")
figure.savefig("merged_moments.png", dpi=110)
