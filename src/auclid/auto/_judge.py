"""How held-out scores are judged: by AUC, by partial AUC or by average precision."""

from typing import Any, NamedTuple

import numpy as np

from auclid.metrics import (
    APComparison,
    AUCComparison,
    auc_interval,
    average_precision,
    average_precision_interval,
    compare_auc,
    compare_average_precision,
    partial_auc,
)
from auclid.metrics._auc import auc_from_parts

METRICS = ("roc_auc", "average_precision")
"""Names of the metrics that a search can maximise."""

ERRORS_PER_INTERVAL = 2.0 * 1.96
"""Standard errors from end to end of a 95 % interval."""


class Judge(NamedTuple):
    """A metric of binary scores, with its interval and the comparison of two scores of the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.auto._judge import Judge
    >>> is_pos, scores = np.array([False, True, False, True]), np.array([0.1, 0.2, 0.3, 0.4])
    >>> Judge().value(is_pos, scores), round(Judge("average_precision").value(is_pos, scores), 3)
    (0.75, 0.833)
    """

    metric: str = "roc_auc"
    max_fpr: float = 1.0
    """The false positive rate up to which the area is taken; 1 for average precision."""

    def value(self, is_pos: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None) -> float:
        """The metric of these rows."""
        if self.metric == "average_precision":
            return average_precision(is_pos, scores, sample_weight=weight)
        if self.max_fpr < 1.0:
            return partial_auc(is_pos, scores, max_fpr=self.max_fpr, sample_weight=weight)
        return auc_from_parts(is_pos, scores, weight)

    def difference(
        self, is_pos: np.ndarray, scores: np.ndarray, others: np.ndarray, weight: np.ndarray | None = None
    ) -> tuple[float, float]:
        """How far scores are ahead of others on the same rows, and the standard error of that."""
        how: dict[str, Any] = {"sample_weight": weight}
        if self.metric == "average_precision":
            gain: AUCComparison | APComparison = compare_average_precision(is_pos, scores, others, **how)
        else:
            gain = compare_auc(is_pos, scores, others, max_fpr=self.max_fpr, **how)
        return gain.difference, (gain.high - gain.low) / ERRORS_PER_INTERVAL

    def interval(
        self, is_pos: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None
    ) -> tuple[float, float, float]:
        """The metric and the ends of its 95 % interval."""
        if self.metric == "average_precision":
            ap, low, high, _ = average_precision_interval(is_pos, scores, sample_weight=weight)
            return ap, low, high
        area, low, high, _ = auc_interval(is_pos, scores, sample_weight=weight, max_fpr=self.max_fpr)
        return area, low, high
