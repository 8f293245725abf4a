"""More than two classes: each against the rest."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone


def one_for_each(model: BaseEstimator, X: Any, y: np.ndarray, classes: np.ndarray, **params: Any) -> list[Any]:
    """A copy of the model for each class, fitted to tell it from the rest; they share the budget alike."""
    budget = model.get_params()["budget"]
    share = None if budget is None else budget / len(classes)
    return [clone(model).set_params(budget=share).fit(X, y == label, **params) for label in classes]


def side_by_side(models: list[Any], X: Any) -> np.ndarray:
    """The log-odds of each class against the rest, one column a class."""
    return np.column_stack([model.decision_function(X) for model in models])


def shares(models: list[Any], X: Any) -> np.ndarray:
    """Probabilities of all classes, each against the rest, brought to sum 1."""
    found = np.column_stack([model.predict_proba(X)[:, 1] for model in models])
    return found / found.sum(axis=1, keepdims=True)
