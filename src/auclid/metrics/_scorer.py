"""Partial AUC where scikit-learn wants a scorer, and the scores of any model."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from auclid.metrics._auc import partial_auc
from auclid.metrics._sample import checked_region
from auclid.validation.vectors import column


def partial_auc_scorer(max_fpr: float = 1.0, *, min_tpr: float = 0.0) -> Callable[..., float]:
    """A scorer for `scoring=` that measures the standardised partial AUC of a model.

    score(model, X, y) = partial_auc(y, f(X), max_fpr=max_fpr, min_tpr=min_tpr), where f is the model's
    `decision_function`, or its `predict_proba` of ``classes_[1]`` where it has no other.

    Parameters
    ----------
    max_fpr : float in (0, 1]
        Right end of the region.
    min_tpr : float in [0, 1)
        Bottom of the region.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None)``; greater is better.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from auclid import LeastSquaresAUC
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import partial_auc_scorer
    >>> X, y = load_mammography(return_X_y=True)
    >>> scores = cross_val_score(LeastSquaresAUC(), X, y, scoring=partial_auc_scorer(0.1))
    >>> print(f"{scores.mean():.2f}")
    0.89

    References
    ----------
    McClish (1989), Analyzing a portion of the ROC curve, Medical Decision Making 9.
    """
    region = checked_region("partial_auc_scorer", max_fpr, min_tpr)
    return make_scorer(
        _of_greater_label,
        response_method=("decision_function", "predict_proba"),
        max_fpr=region.max_fpr,
        min_tpr=region.min_tpr,
    )


def _of_greater_label(y_true: Any, y_score: Any, **keywords: Any) -> float:
    """`partial_auc` by scikit-learn's rule: the greater label, ``classes_[1]``, is the positive one, strings too."""
    labels = np.unique(column("partial_auc_scorer", "y_true", y_true))
    pos_label = labels[-1] if len(labels) == 2 else None
    return partial_auc(y_true, y_score, pos_label=pos_label, **keywords)


def scores_of(owner: str, estimator: Any, X: Any) -> np.ndarray:
    """The scores by which a fitted binary classifier ranks rows: greater means more likely ``classes_[1]``."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X))
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))[:, 1]
    raise TypeError(
        f"{owner} expects a classifier with decision_function or predict_proba. "
        f"Got a {type(estimator).__name__} instead."
    )
