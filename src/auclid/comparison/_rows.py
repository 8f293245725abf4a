"""The rows of a comparison: of two classes, or with any other order."""

from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from auclid.metrics._cross_val import CrossValRows, finite_scores


class ComparedOrder(NamedTuple):
    """Rows with an order: levels, numbers or censored times, compared within groups where there are some."""

    X: Any
    y: Any
    """What estimators are fitted to."""
    is_pos: np.ndarray
    """What folds are stratified by: whether an event was seen, or whether a value is a high one."""
    cluster: np.ndarray | None
    """Groups that are held out whole."""
    splits: list[tuple[np.ndarray, np.ndarray]]
    values: np.ndarray
    """Levels, numbers or times."""
    event: np.ndarray | None
    groups: np.ndarray | None
    """Only rows of one group are compared."""

    def fit_options(self, estimator: Any, numbers: np.ndarray) -> dict[str, Any]:
        """What `fit` is given beside X and y of the rows of these numbers: their groups, where it takes them."""
        if self.groups is None or "groups" not in signature(estimator.fit).parameters:
            return {}
        return {"groups": self.groups[numbers]}

    def scores(self, owner: str, model: Any, X: Any) -> np.ndarray:
        """What the model predicts, which is finite: the higher, the higher a row is ranked."""
        return finite_scores(owner, model, model.predict(X))

    def probabilities(self, model: Any, X: Any) -> None:
        """None: there is no positive class."""


ComparedRows = CrossValRows | ComparedOrder
"""What estimators are compared on."""
