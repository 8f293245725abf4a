"""Pair losses as objectives of gradient-boosted trees: LightGBM, XGBoost and CatBoost.

Each objective is an object that these libraries call for first and second derivatives of the loss by the scores:

    lightgbm.LGBMClassifier(objective=pair_logistic), lightgbm.train({"objective": pair_logistic}, data)
    xgboost.XGBClassifier(objective=pair_logistic), xgboost.train(params, data, obj=pair_logistic)
    catboost.CatBoostClassifier(loss_function=pair_logistic, eval_metric="AUC")

They gained nothing over the log loss on the tables of benchmarks/quality_objectives.py.
"""

from typing import Any

import numpy as np

from auclid import pairs, validation
from auclid.losses import Loss, as_loss

__all__ = ["PairObjective", "pair_logistic", "pair_square", "pair_squared_hinge"]


class PairObjective:
    """The mean of a pair loss over all pairs of a positive and a negative row, for boosted trees.

    Derivatives are those of `auclid.pairs`, exact over all pairs in O(n log n), times half the weight of all rows;
    second derivatives are the diagonal of the Hessian. With two classes of one size and equal scores, the logistic
    loss has the derivatives of the log loss, so parameters of trees chosen for that keep their meaning. Scores are not
    log odds: calibrate them if you need probabilities.

    CatBoost hands a Python objective blocks of about 1,000 rows, not all rows. Pairs are then those within a block, and
    the rows of a block of one class have no gradient. LightGBM and XGBoost hand over all rows.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge", "square"} or struct, default="logistic"
        A struct of your own has `auclid.losses.slope` and ``curvature``, or ``hinges``, implemented.

    Notes
    -----
    `pair_logistic`, `pair_squared_hinge` and `pair_square` are the three by name. The hinge has no second derivatives,
    and cannot be boosted with Newton steps.

    Examples
    --------
    >>> from auclid.objectives import pair_logistic
    >>> gradient, hessian = pair_logistic([0, 1], [0.0, 0.0])
    >>> gradient, hessian
    (array([ 0.5, -0.5]), array([0.25, 0.25]))
    """

    def __init__(self, loss: str | Loss = "logistic") -> None:
        if isinstance(loss, str) and loss not in ("logistic", "squared_hinge", "square"):
            raise ValueError(
                "The 'loss' parameter of PairObjective must be 'logistic', 'squared_hinge', 'square' or a struct. "
                f"Got {loss!r} instead."
            )
        self.loss = loss

    def __repr__(self) -> str:
        return f"PairObjective({self.loss!r})"

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivatives of the loss by each score.

        Both ways in which LightGBM and XGBoost call an objective are understood: ``(y_true, y_pred)`` with weights,
        as their scikit-learn estimators do, and ``(y_pred, data)``, where data is a ``Dataset`` or ``DMatrix``, as
        their ``train`` does.

        Returns
        -------
        (gradient, hessian) : float64 arrays of shape (n,)
        """
        if hasattr(y_pred, "get_label"):
            data, y_pred = y_pred, y_true
            y_true, sample_weight = data.get_label(), data.get_weight()
        if sample_weight is not None and np.size(sample_weight) == 0:  # a DMatrix without weights
            sample_weight = None
        return self._derivatives(np.asarray(y_true), np.asarray(y_pred, dtype=np.float64).ravel(), sample_weight)

    def calc_ders_range(self, approxes: Any, targets: Any, weights: Any = None) -> list[tuple[float, float]]:
        """CatBoost's callback: first and second derivatives of minus the loss for each row of one block."""
        n = len(approxes)
        score, y = (np.fromiter(values, np.float64, n) for values in (approxes, targets))
        weight = None if weights is None else np.fromiter(weights, np.float64, n)
        is_pos, own = y > 0.5, np.ones(n) if weight is None else weight
        if not own[is_pos].any() or not own[~is_pos].any():
            return [(0.0, 0.0)] * n
        gradient, hessian = self._derivatives(is_pos, score, weight)
        return list(zip((-gradient).tolist(), (-hessian).tolist(), strict=True))

    def _derivatives(self, y: np.ndarray, score: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        is_pos = y == validation.two_classes("PairObjective", np.unique(y))[1]
        total = float(len(y)) if weight is None else float(np.sum(weight))
        options: dict[str, Any] = {"loss": as_loss(self.loss), "sample_weight": weight}
        gradient = pairs.gradient(y, score, **options)
        # A change of all positives by 1 changes each margin by 1, so the product is the diagonal, up to its sign.
        hessian = np.abs(pairs.curvature_product(y, score, is_pos.astype(np.float64), **options))
        return 0.5 * total * gradient, 0.5 * total * hessian


pair_logistic = PairObjective("logistic")
"""log(1 + exp(-m)) over all pairs."""

pair_squared_hinge = PairObjective("squared_hinge")
"""max(0, 1 - m)^2 over all pairs."""

pair_square = PairObjective("square")
"""(1 - m)^2 over all pairs."""
