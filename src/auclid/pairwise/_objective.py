"""Which objective RankSVM minimises: all pairs, or those of the top, with the hinge or the squared hinge."""

from typing import Any, NamedTuple

import numpy as np

from auclid.metrics._sample import Region
from auclid.solvers.all_pairs import LinearSpace, SquaredHinges
from auclid.solvers.hinge import SmoothHinge
from auclid.solvers.path import Labelled
from auclid.solvers.soft_top import SOFTEST, SoftTop, SoftTopHinge
from auclid.stats.pair_sums import Pairs

ALL_PAIRS = {"squared_hinge": SquaredHinges, "hinge": SmoothHinge}
TOP_PAIRS = {"squared_hinge": SoftTop, "hinge": SoftTopHinge}

ALMOST = 1.0 - 1e-9
"""One row, but for rounding."""


class Settings(NamedTuple):
    """What the objective is, but for alpha."""

    loss: str
    tol: float
    region: Region
    softness: float


def objective(rows: Labelled, alpha: float, settings: Settings) -> SquaredHinges:
    """The objective for rows in memory; the class that is cut is placed into the other, which is sorted."""
    space, region = LinearSpace(rows.table), settings.region
    if region.whole:
        return ALL_PAIRS[settings.loss](space, Pairs(rows.is_pos, rows.weight), alpha, settings.tol)
    cut_negatives = region.max_fpr < 1.0
    positives = 1.0 - region.min_tpr
    share, other = (region.max_fpr, positives) if cut_negatives else (positives, 1.0)
    return TOP_PAIRS[settings.loss](
        space,
        Pairs(rows.is_pos, rows.weight, sort_positives=cut_negatives),
        alpha,
        settings.tol,
        share=share,
        other_share=other,
        least_softness=settings.softness,
        softness=max(settings.softness, SOFTEST),
    )


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
