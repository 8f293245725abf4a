"""A scorecard of the mammography table, drawn

`Scorecard` is a sum of shapes, one for each column; pairs of columns are added where they help. Each panel shows what
a column adds to the score, with a 95 % band and the share of the rows at each value. The last printed lines say why
the highest score of the test rows is so high, and how much AUC whole points lose.
"""

from sklearn.model_selection import train_test_split

from auclid import Scorecard
from auclid.datasets import load_mammography
from auclid.metrics import auc_interval

X, y = load_mammography(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)

model = Scorecard(random_state=0).fit(X, y)
scores = model.decision_function(X_test)
auc, low, high, _ = auc_interval(y_test, scores)
print(f"test AUC {auc:.3f}, 95 % interval {low:.3f} to {high:.3f}; {len(model.interactions_)} pairs of columns")

for reason in model.reasons(X_test[[scores.argmax()]], n=4)[0]:
    print("  ", reason)
print(f"whole points cost {model.auc_lost(X_test, y_test):.5f} of the AUC")

axes = model.plot(most=6)
axes.flat[0].figure.savefig("scorecard.png", dpi=110)
