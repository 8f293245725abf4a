"""Few labels: do unlabelled rows help?

The mammography table with all but some labels hidden. `SAMULT` uses the unlabelled rows where cross-validation says
that they help; `SAMULT(unlabeled_weight=0)` ignores them. Points are the mean gain over ten draws of the
labelled rows, bars its standard error. The gain is small.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from auclid import SAMULT
from auclid.datasets import load_mammography

warnings.simplefilter("ignore")  # few rows of a class: the folds get small
X, y = load_mammography(return_X_y=True)
counts, draws = [200, 400, 800, 1600], 10


def gain(labelled, seed):
    """Test AUC with the unlabelled rows minus that without."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    rest, _ = train_test_split(np.arange(len(y_train)), train_size=labelled, stratify=y_train, random_state=seed)
    few = np.full(len(y_train), -1)
    few[rest] = y_train[rest]
    with_them, without = (SAMULT(weight, alpha=1e-2).fit(X_train, few) for weight in ("auto", 0.0))
    return with_them.score(X_test, y_test) - without.score(X_test, y_test)


gains = np.array([[gain(labelled, seed) for seed in range(draws)] for labelled in counts])
for labelled, row in zip(counts, gains, strict=True):
    print(f"{labelled:4} labels: {row.mean():+.4f} ± {row.std(ddof=1) / draws**0.5:.4f}")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.axhline(0, color="k", ls=":", lw=1)
axes.plot(np.repeat(counts, draws), gains.ravel(), ".", color="C0", alpha=0.3)
axes.errorbar(counts, gains.mean(axis=1), gains.std(axis=1, ddof=1) / draws**0.5, fmt="o-", color="C0", capsize=4)
axes.set(xscale="log", xlabel="labelled rows", ylabel="gain in test AUC", title="What unlabelled rows add")
axes.set_xticks(counts, counts)
axes.minorticks_off()
figure.savefig("few_labels.png", dpi=110)
