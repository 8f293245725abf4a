"""How many rows a region of the ROC curve leaves of each class."""

from typing import Any

import numpy as np

from auclid.metrics._sample import Region

ALMOST = 1.0 - 1e-9
"""One row, but for rounding."""


def checked_region(owner: str, max_fpr: Any, min_tpr: float, is_pos: np.ndarray, weight: np.ndarray | None) -> Region:
    """The region; or a sentence that says how few rows it would leave."""
    n_pos, n_neg = rows_of(is_pos, weight), rows_of(~is_pos, weight)
    max_fpr = 1.0 / n_neg if max_fpr == "top" else float(max_fpr)
    region = Region(max_fpr, float(min_tpr))
    if max_fpr * n_neg < ALMOST:
        raise ValueError(
            f"max_fpr={max_fpr:g} of {owner} must leave at least one of the {n_neg:g} negative rows; it leaves "
            f"{max_fpr * n_neg:.3g} of a row. Raise it to {np.ceil(1e4 / n_neg) / 1e4:.4g} or more."
        )
    if (1.0 - region.min_tpr) * n_pos < ALMOST:
        raise ValueError(
            f"min_tpr={region.min_tpr:g} of {owner} must leave at least one of the {n_pos:g} positive rows; it leaves "
            f"{(1.0 - region.min_tpr) * n_pos:.3g} of a row. Lower it to {1.0 - 1.0 / n_pos:.4g} or less."
        )
    return region


def rows_of(members: np.ndarray, weight: np.ndarray | None) -> float:
    """How many rows a class has; their weight where that is more, since weights may be repetitions."""
    if weight is None:
        return float(members.sum())
    return float(max((members & (weight > 0.0)).sum(), weight[members].sum()))
