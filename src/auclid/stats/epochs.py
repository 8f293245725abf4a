"""The rows of an epoch of a stochastic method: each once, or in proportion to its weight."""

from functools import cached_property

import numpy as np

from auclid import _sizes
from auclid.data import Table
from auclid.stats.weights import drawn, repeats


class EpochSampler:
    """Draws the rows of epochs. A row of weight two occurs twice as often as one of weight one, so its pairs do too.

    Attributes
    ----------
    count : array of shape (n,), or None
        The expected number of occurrences of each row in an epoch; None if each row occurs once.
    """

    def __init__(
        self,
        table: Table,
        is_pos: np.ndarray,
        weight: np.ndarray | None = None,
        max_sorted: int | None = None,
    ) -> None:
        count = None if weight is None else repeats(weight, is_pos)
        self.table, self.is_pos, self.max_sorted = table, is_pos, max_sorted
        self.count = None if count is None or (count == 1.0).all() else count

    @property
    def length(self) -> int:
        """The expected number of steps of an epoch."""
        return self.table.shape[0] if self.count is None else max(1, round(float(self.count.sum())))

    def order(self, rng: np.random.Generator, shuffle: bool | None = True) -> np.ndarray:
        """The rows of one epoch in random order (True), in table order (False), or in any order (None)."""
        by_content = None if shuffle is False else self._content_order
        order = self.table.order(rng, bool(shuffle)) if by_content is None else by_content
        if self.count is not None:
            order = order[self.count[order] > 0.0]  # rows of weight zero draw no random number
            order = np.repeat(order, drawn(self.count[order], rng))
        return rng.permutation(order) if shuffle and by_content is not None else order

    @cached_property
    def _content_order(self) -> np.ndarray | None:
        return content_order(self.table, self.is_pos, self.max_sorted)


def content_order(table: Table, is_pos: np.ndarray, max_rows: int | None = None) -> np.ndarray | None:
    """The rows sorted by class and contents, so that a permuted table gives the same rows; None beyond ``max_rows``.

    Without it a model of repeated rows would differ from that of weighted rows by random draws.
    """
    if table.shape[0] > (_sizes.MAX_SORTED_ROWS if max_rows is None else max_rows):
        return None
    keys = table.keys()
    return None if keys is None else np.lexsort((keys, is_pos))


class PairsWithinGroups:
    """Pairs of a positive and a negative row of one group, all equally likely.

    A positive row is drawn as often as its group has negatives, then one of these.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.epochs import PairsWithinGroups
    >>> pairs = PairsWithinGroups(np.array([0, 1]), np.array([2, 3, 4]), np.array([0, 1, 1, 1, 2]))
    >>> pairs.count
    2
    >>> [rows.tolist() for rows in pairs.draw(np.random.default_rng(0), 4)]
    [[1, 1, 1, 1], [2, 2, 3, 3]]
    """

    def __init__(self, pos: np.ndarray, neg: np.ndarray, group: np.ndarray) -> None:
        self._pos, self._neg = pos, neg[np.argsort(group[neg], kind="stable")]
        sorted_group = group[self._neg]
        self._first = np.searchsorted(sorted_group, group[pos])
        self._n_neg = np.searchsorted(sorted_group, group[pos], side="right") - self._first
        self._reached = np.cumsum(self._n_neg)

    @property
    def count(self) -> int:
        """The number of pairs."""
        return int(self._reached[-1]) if len(self._reached) else 0

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """The positive and the negative row of ``size`` pairs."""
        draws = rng.random((size, 2))
        i = np.searchsorted(self._reached, draws[:, 0] * self.count, side="right")
        j = self._first[i] + (draws[:, 1] * self._n_neg[i]).astype(np.int64)
        return self._pos[i], self._neg[j]
