"""Rare positives: an AUC ranker, logistic regression and boosted trees

Transactions of which one in fifty is fraud: frauds are shifted, and spread a little wider, so that a linear score
is not optimal. How does the test AUC grow with the number of frauds to learn from? Points are means of three
draws of the training rows, bars their standard errors. The two linear models tie; trees need more frauds before
they see the spread.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer

from auclid import LeastSquaresAUCCV


def transactions(n_pos, seed, d=10):
    """49 honest rows for each fraud."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [n_pos, 49 * n_pos])
    X = rng.standard_normal((len(y), d))
    X[y == 1] = 0.4 + 1.25 * X[y == 1]
    return X, y


X_test, y_test = transactions(200, seed=99)
models = {
    "LeastSquaresAUCCV": LeastSquaresAUCCV(),
    "logistic regression": LogisticRegression(),
    "boosted trees": HistGradientBoostingClassifier(max_iter=30),
}
sizes, seeds = [10, 30, 100, 200], range(3)


def test_auc(model, n_pos, seed):
    return get_scorer("roc_auc")(model.fit(*transactions(n_pos, seed)), X_test, y_test)


figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for name, model in models.items():
    aucs = np.array([[test_auc(model, n_pos, seed) for seed in seeds] for n_pos in sizes])
    axes.errorbar(sizes, aucs.mean(axis=1), aucs.std(axis=1) / len(seeds) ** 0.5, marker="o", capsize=3, label=name)
    print(f"{name:20} {np.round(aucs.mean(axis=1), 3)}")
axes.set(xscale="log", xlabel="frauds to learn from, 2 % of the rows", ylabel="test AUC", title="Rare positives")
axes.set_xticks(sizes, sizes)
axes.legend()
figure.savefig("rare_positives.png", dpi=110)
