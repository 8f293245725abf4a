"""What alpha="auto" stands for: the cross-validated square loss says it, for all losses, unless softness="auto"."""

import numpy as np

from auclid.data import as_table
from auclid.pairwise._top_search import MOST_ROWS
from auclid.solvers.path import FEW_COLUMNS, Labelled, likely_alpha
from auclid.stats.apart import LabelledDataset, sampled
from auclid.stats.folds import folds_by_content, folds_of
from auclid.stats.pair_sums import Pairs

ALPHA = 1e-3
"""The strength of the penalty where a class has fewer rows than folds."""

MOST_WIDE_ROWS = 3000
"""Rows of each class that are looked at where columns are many."""

FOLDS = 5
"""Folds that are held out in turn."""

SHARE = 0.3
"""alpha, in units of the square loss's best: pairs beyond the margin cost nothing, so less need be shrunk."""


def best_alpha(rows: Labelled, n_rows: int | None = None) -> float:
    """What alpha="auto" stands for; the rows may be a sample of ``n_rows``."""
    counted = rows.is_pos if rows.weight is None else rows.is_pos[rows.weight > 0.0]
    some, n_rows = rows, n_rows or len(counted)
    most = MOST_ROWS if rows.table.shape[1] <= FEW_COLUMNS else MOST_WIDE_ROWS
    if max(counted.sum(), (~counted).sum()) > most:
        chosen = Pairs(rows.is_pos, rows.weight).sample(most)
        some = Labelled(as_table(rows.table.part(chosen)), *rows.held_out(chosen))
        counted = some.is_pos
    alpha = None
    if min(counted.sum(), (~counted).sum()) >= FOLDS:
        folds = folds_by_content(*some, FOLDS)
        folds = folds_of(FOLDS, np.array([False, True]), some.is_pos, some.weight) if folds is None else folds
        alpha = likely_alpha(some, folds) if folds else None
    if alpha is None or not np.isfinite(alpha):
        return ALPHA
    # What is shrunk is noise, and that of a sample is larger by its share of the rows.
    return SHARE * alpha * len(counted) / n_rows


def best_alpha_apart(rows: LabelledDataset) -> float:
    """What alpha="auto" stands for where rows lie apart: one pass brings the rows that it looks at."""
    X, label, weight = sampled(rows, [MOST_ROWS] * 2)
    return best_alpha(Labelled(as_table(X), label == 1, weight), int(rows.counts.sum()))
