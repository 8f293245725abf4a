"""Are two models different? Paired tests

Two scores of the same test rows are correlated, so their intervals may overlap although the difference is
significant. `compare_auc` tests the difference itself (DeLong).
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from auclid import LeastSquaresAUC, RankSVM, make
from auclid.datasets import load_mammography
from auclid.metrics import auc_interval, compare_auc

X, y = load_mammography(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
scores = {
    "LogisticRegression": LogisticRegression().fit(X, y).decision_function(X_test),
    "LeastSquaresAUC": LeastSquaresAUC().fit(X, y).decision_function(X_test),
    "RankSVM": RankSVM().fit(X, y).decision_function(X_test),
    "NBAM (kernel)": make("NBAM", n_components=100, random_state=0).fit(X, y).decision_function(X_test),
    "boosted trees": HistGradientBoostingClassifier(random_state=0).fit(X, y).predict_proba(X_test)[:, 1],
}
names, base = list(scores), scores["LogisticRegression"]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for place, name in enumerate(names):
    auc, low, high, _ = auc_interval(y_test, scores[name])
    left.plot([low, high], [place, place], "C0-")
    left.plot(auc, place, "C0o")
    if name != "LogisticRegression":
        gap = compare_auc(y_test, scores[name], base)
        right.plot([gap.low, gap.high], [place, place], "C1-")
        right.plot(gap.difference, place, "C1o")
        right.annotate(f"p = {gap.pvalue:.2g}", (gap.high, place), xytext=(5, -3), textcoords="offset points")
        print(f"{name:18} {gap.difference:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}], p = {gap.pvalue:.2g}")
left.set_yticks(range(len(names)), names)
left.set(xlabel="AUC and its interval")
right.axvline(0, color="k", ls=":", lw=1)
right.margins(x=0.2)
right.set(xlabel="difference to LogisticRegression, paired")
figure.savefig("two_models.png", dpi=110)
