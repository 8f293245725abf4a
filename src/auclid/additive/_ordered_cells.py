"""Ordered rows of a scorecard, wherever they are: checked, and their moments in the basis."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from auclid import _sizes
from auclid.additive._basis import Basis
from auclid.additive._order_moments import OrderWeights, PairMoments, pair_moments, part_level_sums
from auclid.ordered._rows import OrderedRows, PartitionedRows
from auclid.validation import checked_table, encoded_batch, encoded_rows, in_parts, own_outcome, own_weight
from auclid.validation.outcomes import checked_weights


def ordered_card_rows(
    model: Any, X: Any, y: Any, groups: Any, sample_weight: Any, categories: Callable[[list[str]], list[int]]
) -> OrderedRows:
    """Rows of which every cell is a number, with the order that the ranker of a `Scorecard` sees in y."""
    y, weight = own_outcome(model, X, y), own_weight(X, sample_weight)
    if in_parts(X):
        parts: Any = encoded_rows(model, X, sample_weight, categories)
    else:
        table = checked_table(model, X, reset=True)
        weights = checked_weights(type(model).__name__, weight, table.shape[0])
        parts = encoded_batch(model, table, weights, categories)
    ranker = clone(model.ranker)
    return ranker._ordered_rows(PartitionedRows(parts, parts.part_sizes()), y, groups, weight)


def all_pair_moments(cells: OrderedRows, basis: Basis) -> PairMoments:
    """The moments of the pairs of all rows, in the basis, in one pass over their parts."""
    order = cells.order.coarsened(_sizes.MAX_ORDER_LEVELS)
    weights = OrderWeights.of(order, cells.weight).split(np.cumsum(cells.sizes)[:-1])
    sums = cells.parts.compute(cells.parts.reduce(part_level_sums, basis, weights, order.n_levels))
    return pair_moments(order, sums)
