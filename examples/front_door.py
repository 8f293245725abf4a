"""AUCClassifier: its leaderboard and its probabilities

`AUCClassifier` tries the models that suit the table, compares them by the AUC of held-out folds, blends those that
improve one another, and calibrates. The left panel is its leaderboard. The right panel compares predicted
probabilities with the rates among the test rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from auclid import AUCClassifier
from auclid.datasets import load_mammography
from auclid.metrics import auc_interval

X, y = load_mammography(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, train_size=3000, stratify=y, random_state=0)

model = AUCClassifier(random_state=0).fit(X, y)
probability = model.predict_proba(X_test)[:, 1]
auc, low, high, _ = auc_interval(y_test, probability)
print(f"in use: {model.best_}; test AUC {auc:.3f} [{low:.3f}, {high:.3f}]")

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
board = model.leaderboard_[::-1]
for place, entry in enumerate(board):
    left.plot([entry.low, entry.high], [place, place], "C0-")
    left.plot(entry.auc, place, "C0o")
    print(f"{entry.name:16} {entry.auc:.4f}  weight {entry.weight:.2f}  {entry.fit_seconds:.2f} s a fit")
left.set_yticks(range(len(board)), [entry.name for entry in board])
left.set(xlabel="AUC on held-out folds, 95 % interval", title="leaderboard_")

edges = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])
group = np.digitize(probability, edges) - 1
said = [probability[group == k].mean() for k in range(6)]
found = [y_test[group == k].mean() for k in range(6)]
right.loglog([1e-3, 1], [1e-3, 1], "k:", lw=1)
right.loglog(said, found, "o-")
right.set(xlabel="mean predicted probability", ylabel="share of positives", title="predict_proba on test rows")
figure.savefig("front_door.png", dpi=110)
