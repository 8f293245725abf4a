"""A first fit, and its ROC curve with a band

`LeastSquaresAUC` behind a scaler, fitted on two thirds of the mammography table and tested on the rest. The band
around the curve comes from drawing the test rows 200 times anew; the interval of the AUC is DeLong's.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_curve
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from auclid import LeastSquaresAUC
from auclid.datasets import load_mammography
from auclid.metrics import auc_interval

X, y = load_mammography(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)

model = make_pipeline(StandardScaler(), LeastSquaresAUC()).fit(X, y)
scores = model.decision_function(X_test)
auc, low, high, _ = auc_interval(y_test, scores)
print(f"test AUC {auc:.3f}, 95 % interval {low:.3f} to {high:.3f}")

grid, rng = np.linspace(0, 1, 201), np.random.default_rng(0)


def curve(rows):
    fpr, tpr, _ = roc_curve(y_test[rows], scores[rows])
    return np.interp(grid, fpr, tpr)


n = len(y_test)
bottom, top = np.quantile([curve(rng.integers(n, size=n)) for _ in range(200)], [0.025, 0.975], axis=0)

figure, axes = plt.subplots(figsize=(5.2, 4.8), layout="constrained")
axes.fill_between(grid, bottom, top, alpha=0.25, lw=0, label="95 % of redrawn test sets")
axes.plot(grid, curve(np.arange(n)), label=f"AUC {auc:.3f} [{low:.3f}, {high:.3f}]")
axes.plot([0, 1], [0, 1], "k:", lw=1)
axes.set(xlabel="false positive rate", ylabel="true positive rate", title="LeastSquaresAUC on mammography")
axes.legend(loc="lower right")
figure.savefig("first_fit.png", dpi=110)
