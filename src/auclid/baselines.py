"""What does not optimise AUC and often ranks as well: the peers in `auclid compare`, the record and AUCClassifier.

Each is built here and nowhere else, so that a name means one model throughout; callers choose what they tune.
"""

import importlib.util
from typing import Any, Self, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from auclid import _sizes
from auclid.validation import last_step

N_TREES = 200


def logistic(max_iter: int = 1000, **params: Any) -> LogisticRegression:
    """Logistic regression, with steps enough for it to converge."""
    return LogisticRegression(max_iter=max_iter, **params)


def ridge(**params: Any) -> RidgeClassifier:
    """Least squares on labels, both classes of equal weight."""
    return RidgeClassifier(class_weight="balanced", **params)


def linear_svc(**params: Any) -> LinearSVC:
    """The plain support vector machine, which counts rows and no pairs."""
    return LinearSVC(**params)


def boosting(**params: Any) -> HistGradientBoostingClassifier:
    """scikit-learn's boosted trees: no scaler, missing values welcome, dense rows only."""
    return HistGradientBoostingClassifier(**params)


def lightgbm(**params: Any) -> BaseEstimator:
    """LightGBM's boosted trees, where it is installed: no scaler, missing values and sparse rows welcome."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=N_TREES, verbose=-1, **params)


MAX_TREES, PATIENCE, STOPPING_FOLDS = 1000, 50, 5
"""Trees at the most, trees without a gain after which none is added, and folds that say so."""


def small_boosting(**params: Any) -> HistGradientBoostingClassifier:
    """scikit-learn's boosted trees for rare positives: few leaves, small steps, stopped early by the held-out AUC."""
    return HistGradientBoostingClassifier(
        max_leaf_nodes=8, learning_rate=0.03, l2_regularization=1.0, max_iter=MAX_TREES, early_stopping=True,
        scoring="roc_auc", n_iter_no_change=PATIENCE, validation_fraction=0.2, **params,
    )  # fmt: skip


class SmallLightGBM(ClassifierMixin, BaseEstimator):
    """LightGBM's boosted trees for rare positives: few leaves, small steps, early stopping.

    The number of trees is where the AUC on held-out rows is highest, the mean of five folds; of one fold where each
    class has 1,000 rows or more, or the table more than five million entries. All rows are then learnt from.

    Parameters
    ----------
    num_leaves : int, default=8
    learning_rate : float, default=0.03
    min_child_samples : int, default=20
    n_jobs : int, default=1
    random_state : int or None, default=None

    Attributes
    ----------
    n_trees_ : int
    model_ : LGBMClassifier
    classes_ : array of the labels
    """

    def __init__(
        self,
        num_leaves: int = 8,
        learning_rate: float = 0.03,
        min_child_samples: int = 20,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.num_leaves = num_leaves
        self.learning_rate = learning_rate
        self.min_child_samples = min_child_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the number of trees by held-out AUC, then learn from all rows."""
        import lightgbm

        self.classes_, label = np.unique(y, return_inverse=True)
        params = self.get_params() | {"reg_lambda": 1.0, "subsample": 0.8, "subsample_freq": 1, "verbose": -1}
        rarest = int(np.bincount(label).min())
        self.n_trees_ = PATIENCE
        if rarest >= STOPPING_FOLDS:
            folds = list(StratifiedKFold(STOPPING_FOLDS, shuffle=True, random_state=self.random_state).split(X, label))
            one_fold = rarest >= _sizes.MIN_ROWS_FOR_ONE_FOLD or np.prod(X.shape) > _sizes.MAX_FOLDED_ENTRIES
            found = lightgbm.cv(
                params | {"objective": "binary", "metric": "auc"},
                lightgbm.Dataset(X, label, weight=sample_weight),
                MAX_TREES,
                folds=folds[:1] if one_fold else folds,
                callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
            )
            self.n_trees_ = len(cast(list, found["valid auc-mean"]))
        self.model_ = lightgbm.LGBMClassifier(n_estimators=self.n_trees_, **params).fit(X, y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of both classes."""
        return np.asarray(self.model_.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The likelier label."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def has_lightgbm() -> bool:
    """Whether LightGBM is installed."""
    return importlib.util.find_spec("lightgbm") is not None


def has_missing(X: Any) -> bool:
    """Whether a table, dense or sparse, has missing values."""
    return bool(np.isnan(X.data if sparse.issparse(X) else X).any())


def scores(model: Any, X: Any) -> np.ndarray:
    """One number a row, higher for positives, of any classifier."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]


def threshold(model: Any) -> float:
    """The value of `scores` above which a classifier, or a pipeline that ends in one, predicts its second class."""
    return float(getattr(last_step(model), "threshold_", 0.0 if hasattr(model, "decision_function") else 0.5))
