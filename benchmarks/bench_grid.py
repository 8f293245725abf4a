"""GridSearchCV with two workers against one: no method may be slower for having its threads fight."""

import sys
import warnings

import numpy as np
from clock import best, report
from sklearn.model_selection import GridSearchCV

import auclid

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((60_000, 50)).astype(np.float32)
y = X[:, :5].sum(axis=1) + rng.standard_normal(len(X)) > 3.5

MODELS = sys.argv[1:] or [
    "LeastSquaresAUC", "SPAM", "SOLAM", "FSAUC", "OPAUC", "AdaOAM", "ASAM", "PSAM", "RankSVM", "OAM", "CBR", "UniExp",
]  # fmt: skip


def search(name, n_jobs):
    """A grid over eight values of the method's regularisation, three folds."""
    model = getattr(auclid, name)()
    key = next(k for k in ("alpha", "radius", "C") if k in model.get_params())
    return GridSearchCV(model, {key: np.logspace(-3, 0, 8)}, scoring="roc_auc", cv=3, n_jobs=n_jobs).fit(X, y)


for name in MODELS:
    two, one = best(lambda: search(name, 2), lambda: search(name, 1), repeats=2)
    report(f"GridSearchCV(n_jobs=2) over {name}", "n_jobs=1", two, one, 1.0)
