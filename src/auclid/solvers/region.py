"""How many rows a region of the ROC curve leaves of each class."""

from typing import Any

import numpy as np

from auclid.data.dataset import Part, Totals
from auclid.metrics._sample import Region
from auclid.stats.labelled import LabelledDataset

ALMOST = 1.0 - 1e-9
"""One row, but for rounding."""


def checked_region(owner: str, max_fpr: Any, min_tpr: float, n_pos: float, n_neg: float) -> Region:
    """The region, given the number of rows of each class; or a sentence that says how few rows it would leave."""
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


def class_sizes(rows: LabelledDataset, weighted: bool) -> tuple[float, float]:
    """How many positives and negatives there are; as `rows_of` counts them, in a pass, where weights matter."""
    n_neg, n_pos = rows.counts.sum(axis=0)[:2].tolist()
    if not weighted:
        return float(n_pos), float(n_neg)
    neg, pos = rows.parts.compute(rows.parts.reduce(part_weights))
    return float(max(n_pos, pos)), float(max(n_neg, neg))


def part_weights(part: Part) -> Totals:
    """The weight of the negatives and of the positives of a part."""
    return Totals(float(part.weights(part.members(label)).sum()) for label in (0, 1))
