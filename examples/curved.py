"""Curved classes: a linear ranker, a kernel, and a kernel for many rows

Two interleaved half-moons, which no linear score can separate. `KernelRankSVM` solves the kernel problem exactly, for
some thousand rows; `Kernelized` puts any linear ranker behind a feature map, for millions of rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from auclid import Kernelized, KernelRankSVM, KMeansNystroem, RankSVM

X, y = make_moons((900, 100), noise=0.25, random_state=0)
X_test, y_test = make_moons((4500, 500), noise=0.25, random_state=1)
models = {
    "RankSVM": RankSVM(),
    "KernelRankSVM": KernelRankSVM(alpha=1e-4, gamma=2.0),
    "Kernelized(KMeansNystroem(50), RankSVM())": Kernelized(
        KMeansNystroem(50, gamma=2.0, random_state=0), RankSVM(alpha=1e-4)
    ),
}

across, up = np.meshgrid(np.linspace(-2, 3, 90), np.linspace(-1.6, 2.1, 70))
figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    auc = model.fit(X, y).score(X_test, y_test)
    heights = model.decision_function(np.column_stack([across.ravel(), up.ravel()]))
    ranks = heights.argsort().argsort().reshape(across.shape)
    axes.contourf(across, up, ranks, levels=12, cmap="RdBu_r", alpha=0.6)
    axes.scatter(*X[y == 0].T, s=3, color="navy")
    axes.scatter(*X[y == 1].T, s=6, color="darkred")
    axes.set_title(f"{name}\ntest AUC {auc:.3f}", fontsize=10)
    print(f"{name:45} {auc:.4f}")
figure.savefig("curved.png", dpi=110)
