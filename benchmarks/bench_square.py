"""Whole fits of the square-loss family against scikit-learn's, in the same run."""

import warnings

import numpy as np
from clock import best, report
from sklearn.linear_model import LogisticRegression, SGDClassifier
from tables import require_data, split

from auclid import SPAM, LeastSquaresAUC, LeastSquaresAUCCV
from auclid.schedules import Power

warnings.simplefilter("ignore")
require_data()

X, y, _, _ = split("covtype")
X = np.ascontiguousarray(X, dtype=np.float32)
logistic = lambda: LogisticRegression().fit(X, y)  # noqa: E731
exact, path, peer = best(
    lambda: LeastSquaresAUC().fit(X, y), lambda: LeastSquaresAUCCV().fit(X, y), logistic, repeats=3
)
report("LeastSquaresAUC, covtype 465k x 54 float32", "LogisticRegression()", exact, peer, 0.15)
report("LeastSquaresAUCCV, 5 folds x 50 alphas, covtype", "LogisticRegression()", path, peer, 1.0)

F = np.asfortranarray(X)
given = Power(0.01)
ordered, turned = best(
    lambda: SPAM(n_epochs=1, schedule=given, random_state=0).fit(X, y),
    lambda: SPAM(n_epochs=1, schedule=given, random_state=0).fit(F, y),
)
report("SPAM one epoch, covtype F-ordered", "SPAM one epoch, C-ordered", turned, ordered, 2.0)

X, y, _, _ = split("mnist")
X = np.ascontiguousarray(X, dtype=np.float32)
ours, peer = best(
    lambda: SPAM(n_epochs=1, schedule=given, random_state=0).fit(X, y),
    lambda: SGDClassifier(max_iter=1, tol=None, random_state=0).fit(X, y),
)
report("SPAM one epoch, mnist 60k x 784 float32", "SGDClassifier(max_iter=1)", ours, peer, 1.6)

X, y, _, _ = split("news20")
ours, peer = best(
    lambda: SPAM(n_epochs=1, schedule=given, random_state=0).fit(X, y),
    lambda: SGDClassifier(max_iter=1, tol=None, random_state=0).fit(X, y),
)
report("SPAM one epoch, news20 CSR, 62,061 columns", "SGDClassifier(max_iter=1)", ours, peer, 5.0)
