"""What alpha="auto" stands for: the cross-validated square loss says it, for all losses, unless softness="auto"."""

import numpy as np

from auclid.pairwise._top_search import MOST_ROWS, searched
from auclid.solvers.path import FEW_COLUMNS, Measure, likely_alpha
from auclid.stats.folds import folds_by_content, folds_of
from auclid.stats.labelled import LabelledDataset

ALPHA = 1e-3
"""The strength of the penalty where a class has fewer rows than folds."""

MOST_WIDE_ROWS = 3000
"""Rows of each class that are looked at where columns are many."""

FOLDS = 5
"""Folds that are held out in turn."""

SHARE = 0.3
"""alpha, in units of the square loss's best: pairs beyond the margin cost nothing, so less need be shrunk."""


def best_alpha(rows: LabelledDataset, metric: str = "roc_auc") -> float:
    """What alpha="auto" stands for: a sample of each class says it, in one pass.

    The sample has no fair share of each class, so an average precision refers to the shares of all rows.
    """
    negatives, positives = rows.counts.sum(axis=0)
    measure = Measure(metric, float(negatives) / float(positives))
    most, n_rows = MOST_ROWS if rows.width <= FEW_COLUMNS else MOST_WIDE_ROWS, int(rows.counts.sum())
    some = searched(rows, most)
    counted = some.is_pos if some.weight is None else some.is_pos[some.weight > 0.0]
    alpha = None
    if min(counted.sum(), (~counted).sum()) >= FOLDS:
        folds = folds_by_content(*some, FOLDS)
        folds = folds_of(FOLDS, np.array([False, True]), some.is_pos, some.weight) if folds is None else folds
        alpha = likely_alpha(some, folds, measure) if folds else None
    if alpha is None or not np.isfinite(alpha):
        return ALPHA
    # What is shrunk is noise, and that of a sample is larger by its share of the rows.
    return SHARE * alpha * len(counted) / n_rows
