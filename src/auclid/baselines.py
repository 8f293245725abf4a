"""What does not optimise AUC and often ranks as well: the peers in `auclid compare`, the record and AUCClassifier.

Each is built here and nowhere else, so that a name means one model throughout; callers choose what they tune.
"""

import importlib.util
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

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


def has_lightgbm() -> bool:
    """Whether LightGBM is installed."""
    return importlib.util.find_spec("lightgbm") is not None


def behind_scaler(model: BaseEstimator, X: Any) -> Pipeline:
    """Imputer and scaler before a model: mean 0 and variance 1, or largest size 1 where X is sparse."""
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    if sparse.issparse(X):
        return make_pipeline(*([imputer] if has_missing(X) else []), MaxAbsScaler(), model)
    return make_pipeline(imputer, StandardScaler(), model)


def has_missing(X: Any) -> bool:
    """Whether a table, dense or sparse, has missing values."""
    return bool(np.isnan(X.data if sparse.issparse(X) else X).any())


def scores(model: Any, X: Any) -> np.ndarray:
    """One number a row, higher for positives, of any classifier."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]


def threshold(model: Any) -> float:
    """The value of `scores` above which a classifier, or a pipeline that ends in one, predicts its second class."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return float(getattr(last, "threshold_", 0.0 if hasattr(model, "decision_function") else 0.5))
