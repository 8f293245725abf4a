"""The AUC of a stream in fixed memory, between bounds that are sure to hold it."""

from typing import NamedTuple

import numpy as np

from auclid.metrics._labels import column, numbers_column

SIGN = np.uint64(1 << 63)


class AUCBounds(NamedTuple):
    """An estimate of the AUC and the bounds that are sure to hold it; nan until both classes were seen."""

    auc: float
    low: float
    high: float


class Bins(NamedTuple):
    """Counts of positives and negatives with keys in [lo, hi], dyadic: two ranges nest or are disjoint."""

    lo: np.ndarray
    hi: np.ndarray
    pos: np.ndarray
    neg: np.ndarray


class StreamingAUC:
    """AUC of all rows ever seen, in fixed memory, mergeable, with guaranteed bounds.

    Scores fall into at most `capacity` bins b, and only the order within a bin is unknown: |AUC - auc| <=
    (1/2) sum_b n+_b n-_b / (n+ n-). Up to `capacity` distinct scores each have a bin of their own and the AUC
    is exact. After that the bins that hold the least of both classes are joined with their neighbours, so
    that bins follow the scores wherever they lie: no scale or range need be known, and a class that comes
    late finds fine bins. Bins are dyadic ranges of the ordered bits of a float64, so those of two sketches
    nest or are disjoint and `+` loses nothing.

    Parameters
    ----------
    pos_label : label, default=1
        The positive label; the rows of one other label are the negatives (0, -1, False, ...).
    capacity : int in [16, inf), default=8192
        Most bins kept. The error is about 1 / capacity or less, and memory 32 bytes a bin for the bins and
        for a buffer of as many rows.

    Examples
    --------
    >>> from auclid.metrics import StreamingAUC
    >>> morning = StreamingAUC().update([0, 1], [0.1, 0.35]).update([1], [0.8])
    >>> evening = StreamingAUC().update([0], [0.4])
    >>> (morning + evening).result()
    AUCBounds(auc=0.75, low=0.75, high=0.75)

    References
    ----------
    Bins by value after Bouckaert (2006), Efficient AUC learning curve calculation, and
    mergeable dyadic summaries after Shrivastava et al. (2004), Medians and beyond: q-digest.
    """

    def __init__(self, *, pos_label=1, capacity=8192):
        if not isinstance(capacity, (int, np.integer)) or capacity < 16:
            raise ValueError(
                "The 'capacity' parameter of StreamingAUC must be an int in [16, inf). "
                f"Got {capacity!r} instead."
            )
        self.pos_label = pos_label
        self.capacity = int(capacity)
        self._neg_label = None
        self._bins = Bins(*(np.zeros(0, dtype) for dtype in (np.uint64, np.uint64, np.int64, np.int64)))
        self._waiting, self._n_waiting = [], 0

    def update(self, y, s):
        """Add rows with labels y and scores s, both of shape (n,); n may be 0, or all rows of one class."""
        y = column("StreamingAUC.update", "y", y)
        key = _ordered_bits(numbers_column("StreamingAUC.update", "s", s))
        if len(y) != len(key):
            raise ValueError(
                f"StreamingAUC.update expects as many labels as scores. Got {len(y)} and {len(key)} instead."
            )
        is_pos = self._positives(y)
        for start in range(0, len(y), self.capacity):
            block = slice(start, start + self.capacity)
            self._waiting.append((key[block].copy(), is_pos[block]))
            self._n_waiting += len(key[block])
            if self._n_waiting >= self.capacity:
                self._settle()
        return self

    def __add__(self, other):
        """A new StreamingAUC of the rows of both."""
        if not isinstance(other, StreamingAUC):
            return NotImplemented
        if (self.pos_label, self.capacity) != (other.pos_label, other.capacity):
            raise ValueError(
                "StreamingAUC can only be added to one with the same pos_label and capacity. "
                f"Got {self.pos_label!r}, {self.capacity} and {other.pos_label!r}, {other.capacity} instead."
            )
        both = StreamingAUC(pos_label=self.pos_label, capacity=self.capacity)
        for part in (self, other):
            both._neg_label = both._same_negative(part._neg_label)
        both._bins = _shrink(_join(self._settle(), other._settle()), self.capacity)
        return both

    def result(self):
        """Named tuple (auc, low, high): the AUC of all rows lies in [low, high]."""
        _, _, pos, neg = bins = self._settle()
        n_pos, n_neg = int(pos.sum()), int(neg.sum())
        if n_pos == 0 or n_neg == 0:
            return AUCBounds(float("nan"), float("nan"), float("nan"))
        if n_pos * n_neg >= 1 << 61:
            pos, neg = pos.astype(object), neg.astype(object)
        twice_pairs = 2 * n_pos * n_neg
        inside = pos * neg
        unsure = int(inside[bins.lo < bins.hi].sum())
        twice_middle = int((2 * neg * (n_pos - np.cumsum(pos)) + inside).sum())
        # Whole numbers divided by Python are rounded once, in order: the bounds hold to the last bit.
        twice = twice_middle, twice_middle - unsure, twice_middle + unsure
        return AUCBounds(*(value / twice_pairs for value in twice))

    def _positives(self, y):
        is_pos = np.asarray(y == self.pos_label, dtype=bool)
        others = y[~is_pos]
        if len(others):
            known = self._same_negative(others[0])
            unlike = others[others != known]
            negative = self._same_negative(unlike[0], known) if len(unlike) else known
            self._refuse_greater(negative)
            self._neg_label = negative
        return is_pos

    def _refuse_greater(self, other):
        """The greater label is positive everywhere else, so the default must not quietly mean the smaller one."""
        if self.pos_label == 1 and isinstance(other, np.number) and other > 1:
            raise ValueError(
                f"StreamingAUC takes 1 for the positive label, and the other must be smaller. Got {other} too. "
                f"Pass pos_label={other}."
            )

    def _same_negative(self, label, known=None):
        known = self._neg_label if known is None else known
        if known is None or label is None or known == label:
            return label if known is None else known
        raise ValueError(
            f"StreamingAUC expects two labels, pos_label={self.pos_label!r} and one other. "
            f"Got both {known} and {label} beside it."
        )

    def _settle(self):
        """Bins of all rows, those still waiting included."""
        if self._waiting:
            key = np.concatenate([key for key, _ in self._waiting])
            is_pos = np.concatenate([is_pos for _, is_pos in self._waiting]).astype(np.int64)
            self._bins = _shrink(_join(self._bins, Bins(key, key, is_pos, 1 - is_pos)), self.capacity)
            self._waiting, self._n_waiting = [], 0
        return self._bins


def _ordered_bits(score):
    """uint64 keys in the order of the scores; both zeros have one key."""
    bits = (score.astype(np.float64) + 0.0).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def _join(a, b):
    """Bins of both; where one range holds others, they are added up in it."""
    lo, hi, pos, neg = (np.concatenate(pair) for pair in zip(a, b, strict=True))
    if len(lo) == 0:
        return a
    order = np.argsort(lo)
    lo, hi = lo[order], hi[order]
    reach = np.maximum.accumulate(hi)
    start = np.flatnonzero(np.concatenate(([True], lo[1:] > reach[:-1])))
    sums = (np.add.reduceat(count[order], start) for count in (pos, neg))
    return Bins(lo[start], np.maximum.reduceat(hi, start), *sums)


def _shrink(bins, capacity):
    """At most `capacity` bins: the dyadic ranges that hold the least of both classes become one bin each.

    The smallest range that holds two neighbours is theirs alone, so each range closed removes one border. A
    range holds no less than the ranges in it, which come earlier in the order (share, size): what is closed
    is closed altogether.
    """
    excess = len(bins.lo) - capacity
    if excess <= 0:
        return bins
    lo, hi, pos, neg = bins
    size = _smear(lo[:-1] ^ hi[1:])
    first = np.searchsorted(lo, lo[:-1] & ~size)
    stop = np.searchsorted(lo, lo[:-1] | size, side="right")
    share = _held(pos, first, stop) + _held(neg, first, stop)
    border = np.ones(len(lo) - 1, bool)
    border[np.lexsort((size, share))[:excess]] = False
    start = np.concatenate(([0], np.flatnonzero(border) + 1))
    last = np.append(start[1:], len(lo)) - 1
    size = _smear(lo[start] ^ hi[last])
    return Bins(lo[start] & ~size, lo[start] | size, np.add.reduceat(pos, start), np.add.reduceat(neg, start))


def _held(count, first, stop):
    """Share of `count` held by bins first, ..., stop - 1."""
    before = np.concatenate(([0], np.cumsum(count)))
    return (before[stop] - before[first]) / max(before[-1], 1)


def _smear(bits):
    """All ones from the highest set bit down: of a xor of keys, the size of the range that holds both."""
    for shift in (1, 2, 4, 8, 16, 32):
        bits = bits | (bits >> np.uint64(shift))
    return bits
