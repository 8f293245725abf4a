"""What a bound on the gap between groups costs: ConstrainedAUC on adult, groups by sex.

    python benchmarks/quality_groups.py [splits]

Test AUC and the measured xAUC gap, with its standard error over splits, for several bounds; beside it LeastSquaresAUC
(no bound), MinimaxAUC and, where fairlearn is installed, its exponentiated gradient on a logistic regression.
"""

import importlib.util
import sys
import warnings
from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tables import positive, raw, require_data

from auclid import ConstrainedAUC, LeastSquaresAUC, MinimaxAUC
from auclid.metrics import auc_by_group, roc_auc

SEX, CATEGORIES = 9, [1, 3, 5, 6, 7, 8, 13]
"""The column that makes the groups, and the columns of codes."""

BOUNDS = (0.0, 0.02, 0.05, 0.1)


def prepared():
    """One-hot and standardised rows of adult without the column of the groups, labels and groups."""
    X, labels = raw("adult", None)
    y, group = positive("adult", labels).astype(int), X[:, SEX].astype(int)
    numbers = [k for k in range(X.shape[1]) if k not in (SEX, *CATEGORIES)]
    coded = OneHotEncoder(min_frequency=50, sparse_output=False).fit_transform(X[:, CATEGORIES])
    return np.hstack([StandardScaler().fit_transform(X[:, numbers].astype(float)), coded]), y, group


def gap(y, scores, group):
    """The measured xAUC gap."""
    table = auc_by_group(y, scores, group).table
    return float(np.abs(table - table.T).max())


def models():
    """(name, fit) of each model; fit takes rows, labels and groups and returns a function that scores."""
    yield "LeastSquaresAUC", lambda X, y, g: LeastSquaresAUC().fit(X, y).decision_function
    for gap, bound in product(("margin", "measured"), BOUNDS):
        model = ConstrainedAUC(bound, gap=gap)
        yield f"ConstrainedAUC({bound}, {gap!r})", lambda X, y, g, model=model: model.fit(X, y, g).decision_function
    yield "MinimaxAUC", lambda X, y, g: MinimaxAUC().fit(X, y, g).decision_function
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    yield "logistic regression", lambda X, y, g: logistic.fit(X, y).decision_function
    if importlib.util.find_spec("fairlearn") is None:
        print("fairlearn is not installed: its row is left out")
        return
    from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient

    def reduced(X, y, g):
        model = ExponentiatedGradient(LogisticRegression(max_iter=500), EqualizedOdds())
        model.fit(X, y, sensitive_features=g)
        return lambda rows: model._pmf_predict(rows)[:, 1]

    yield "fairlearn, equalized odds", reduced


def main(splits):
    X, y, group = prepared()
    for name, fit in models():
        found = []
        for seed in range(splits):
            train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed, stratify=2 * group + y)
            scores = fit(X[train], y[train], group[train])(X[test])
            found.append((roc_auc(y[test], scores), gap(y[test], scores, group[test])))
        mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(splits)
        print(f"{name:<32} AUC {mean[0]:.4f} ± {error[0]:.4f}   xAUC gap {mean[1]:.4f} ± {error[1]:.4f}", flush=True)


if __name__ == "__main__":
    require_data()
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
