"""A stream that drifts, watched by StreamingAUC

The direction that makes a row positive turns slowly. Each batch is scored before the model learns from it, so every
score is that of a row the model has not seen. `CBR` keeps the latest rows of each class in a buffer and follows;
`LeastSquaresAUC` gives all rows ever seen the same weight and lags behind. `StreamingAUC` needs fixed memory, and
the sum of the windows' counters is the counter of the whole stream.
"""

import matplotlib.pyplot as plt
import numpy as np

from auclid import CBR, LeastSquaresAUC
from auclid.metrics import StreamingAUC

rng = np.random.default_rng(0)
windows, batches, size, d = 40, 4, 100, 10


def batch(time):
    """Rows whose direction has turned by half a circle when time is 1."""
    y = (rng.random(size) < 0.2).astype(int)
    X = rng.standard_normal((size, d))
    X[:, 0] += 1.5 * np.cos(np.pi * time) * y
    X[:, 1] += 1.5 * np.sin(np.pi * time) * y
    return X, y


models = {
    "CBR, latest rows": CBR(C=0.03, random_state=0),
    "LeastSquaresAUC, all rows": LeastSquaresAUC(),
}
for model in models.values():
    model.partial_fit(*batch(0.0), classes=[0, 1])
seen = {name: [] for name in models}
for window in range(windows):
    counters = {name: StreamingAUC() for name in models}
    for _ in range(batches):
        X, y = batch(window / windows)
        for name, model in models.items():
            counters[name].update(y, model.decision_function(X))
            model.partial_fit(X, y)
    for name, counter in counters.items():
        seen[name].append(counter)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
rows = np.arange(1, windows + 1) * batches * size
for name, counters in seen.items():
    whole = sum(counters[1:], counters[0]).result()
    axes.plot(rows, [counter.result().auc for counter in counters], label=f"{name}: {whole.auc:.3f} over all")
    print(f"{name}: AUC {whole.auc:.4f}, surely in [{whole.low:.4f}, {whole.high:.4f}]")
axes.axhline(0.5, color="k", ls=":", lw=1)
axes.set(xlabel="rows seen", ylabel=f"AUC of the next {batches * size} rows", title="Half a turn of the truth")
axes.legend()
figure.savefig("drifting_stream.png", dpi=110)
