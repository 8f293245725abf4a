"""Operating points: where to cut, and at what cost

An AUC measures the order of the rows; a decision needs a threshold, which depends on the costs of mistakes.
`operating_point` finds the threshold that costs least on given rows. Here it is chosen on validation rows, and its
cost is measured on test rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from auclid import LeastSquaresAUC
from auclid.datasets import load_mammography
from auclid.metrics import operating_point

X, y = load_mammography(return_X_y=True)
X, X_rest, y, y_rest = train_test_split(X, y, test_size=0.6, stratify=y, random_state=0)
X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0)
model = LeastSquaresAUC().fit(X, y)
valid, test = model.decision_function(X_valid), model.decision_function(X_test)


def price(y, called, ratio):
    """A missed positive costs 1, a false alarm `ratio`; per row."""
    return ((y == 1) & ~called).mean() + ratio * ((y == 0) & called).mean()


figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
cuts = np.quantile(valid, np.linspace(0.5, 1, 300))
for ratio, colour in [(0.02, "C0"), (0.1, "C1"), (0.5, "C2")]:
    chosen = operating_point(y_valid, valid, criterion="accuracy", cost_ratio=ratio)
    paid = price(y_test, test > chosen.threshold, ratio)
    print(f"false alarm {ratio}: TPR {chosen.tpr:.2f}, FPR {chosen.fpr:.3f} where chosen, paid {paid:.4f}")
    prices = [price(y_test, test > cut, ratio) for cut in cuts]
    axes.plot(cuts, prices, color=colour, label=f"false alarm costs {ratio}")
    axes.plot(chosen.threshold, paid, "o", color=colour, ms=8)
axes.set(xlabel="threshold", ylabel="price per test row", yscale="log")
axes.set_title("A miss costs 1; dots were chosen on other rows")
axes.legend()
figure.savefig("operating_point.png", dpi=110)
