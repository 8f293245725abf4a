"""The whole path of alpha, cross-validated

`LeastSquaresAUCCV` tries 50 penalties on five folds for about the price of a few fits: moments of folds add up, and
one eigendecomposition a fold gives every alpha. The AUCs are those that 250 separate fits would give.
"""

import matplotlib.pyplot as plt
import numpy as np

from auclid import LeastSquaresAUCCV

rng = np.random.default_rng(0)
n, d = 400, 150
y = (rng.random(n) < 0.15).astype(int)
X = rng.standard_normal((n, d)) + rng.standard_normal((n, 5)) @ rng.standard_normal((5, d))
X[:, :30] += 0.4 * y[:, None]

model = LeastSquaresAUCCV(cv=5).fit(X, y)
mean = model.cv_auc_.mean(axis=0)
print(f"alpha {model.alpha_:.3g} with a held-out AUC of {mean.max():.3f}")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.semilogx(model.alphas_, model.cv_auc_.T, color="C0", alpha=0.3, lw=1)
axes.semilogx(model.alphas_, mean, color="C0", lw=2.5, label="mean of five folds")
axes.axvline(model.alpha_, color="k", ls=":", label=f"alpha_ = {model.alpha_:.2g}")
axes.set(xlabel="alpha", ylabel="held-out AUC", title=f"{n} rows, {d} columns")
axes.legend()
figure.savefig("alpha_path.png", dpi=110)
