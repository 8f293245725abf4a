"""Watching a fit: AUC and surrogate, epoch by epoch, and stopping early

scikit-learn's callbacks (1.9 or newer) look into a running fit. `Watch` notes the AUC on validation rows and the
mean square loss over all training pairs, and ends the fit when the AUC has not grown for five epochs. The loss goes
on falling while the AUC of new rows does not: the reason to watch both.
"""

import matplotlib.pyplot as plt
import numpy as np

from auclid import SPAM, pairs


class Watch:
    """Writes down AUC and loss after each epoch; stops after `patience` epochs without a better AUC."""

    def __init__(self, X, y, patience):
        self.X, self.y, self.patience = X, y, patience
        self.aucs, self.losses = [], []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        if not context.task_name.startswith("step"):
            return False
        self.aucs.append(fitted_estimator.score(self.X, self.y))
        self.losses.append(pairs.value(y, fitted_estimator.decision_function(X), loss="square"))
        return len(self.aucs) - 1 - np.argmax(self.aucs) >= self.patience


rng = np.random.default_rng(0)
n, d = 1_500, 100
y = (rng.random(n) < 0.1).astype(int)
X = rng.standard_normal((n, d)) + rng.standard_normal((n, 5)) @ rng.standard_normal((5, d))
X[:, :20] += 0.5 * y[:, None]
train, valid = slice(0, n // 2), slice(n // 2, n)

watch = Watch(X[valid], y[valid], patience=5)
model = SPAM(alpha=0.0, schedule="constant", n_epochs=60, random_state=0)
model.set_callbacks(watch).fit(X[train], y[train])
best = 1 + int(np.argmax(watch.aucs))
print(f"stopped after {model.n_iter_} of {model.n_epochs} epochs; best AUC {max(watch.aucs):.4f} after {best}")

figure, above = plt.subplots(figsize=(6, 4), layout="constrained")
epochs = np.arange(1, model.n_iter_ + 1)
(first,) = above.plot(epochs, watch.aucs, "o-", ms=3, color="C0", label="AUC, validation rows")
below = above.twinx()
(second,) = below.plot(epochs, watch.losses, "s-", ms=3, color="C1", label="mean square loss, training pairs")
above.set(xlabel="epoch", ylabel="AUC", title="A fit that was watched, and stopped")
below.set_ylabel("loss")
above.legend(handles=[first, second], loc="center right")
figure.savefig("monitoring.png", dpi=110)
