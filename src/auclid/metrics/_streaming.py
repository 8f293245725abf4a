"""The AUC of a stream in fixed memory, between bounds that are sure to hold it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auclid import _sizes
from auclid.errors import quoted_value
from auclid.metrics._results import AUCBounds, AUCInterval
from auclid.metrics._variance import degrees_of_sums, share_interval
from auclid.validation.parameters import number_in, whole_number
from auclid.validation.vectors import column, numbers_column, weight_column

SIGN = np.uint64(1 << 63)


class DyadicBins(NamedTuple):
    """Mass of positives and negatives with keys in [lo, hi], dyadic: two ranges nest or are disjoint."""

    lo: np.ndarray
    hi: np.ndarray
    pos: np.ndarray
    neg: np.ndarray
    pos_squares: np.ndarray
    neg_squares: np.ndarray
    """Sums of squared weights: the very arrays of the masses, whole numbers, while all rows weigh one."""

    @property
    def counted(self) -> bool:
        """Whether all rows weigh one."""
        return self.pos.dtype.kind == "i"

    @classmethod
    def of_rows(cls, key: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None) -> DyadicBins:
        """A bin for each row."""
        if weight is None:
            pos, neg = is_pos.astype(np.int64), (~is_pos).astype(np.int64)
            return cls(key, key, pos, neg, pos, neg)
        pos, neg = np.where(is_pos, weight, 0.0), np.where(is_pos, 0.0, weight)
        return cls(key, key, pos, neg, pos**2, neg**2)

    def summed(self, start: np.ndarray, lo: np.ndarray, hi: np.ndarray, order: np.ndarray | slice) -> DyadicBins:
        """Bins of ranges [lo, hi] that hold those from each start to the next."""
        kept = self[2:4] if self.counted else self[2:]
        sums = [np.add.reduceat(mass[order], start) for mass in kept]
        return DyadicBins(lo, hi, *(sums if len(sums) == 4 else sums * 2))


class StreamingAUC:
    """AUC of all rows ever seen, in fixed memory, mergeable, with guaranteed bounds.

    Scores fall into at most `capacity` bins b, and only the order within a bin is unknown: |AUC - auc| <=
    (1/2) sum_b n+_b n-_b / (n+ n-). Up to `capacity` distinct scores each have a bin of their own and the AUC
    is exact. After that the bins that hold the least of both classes are joined with their neighbours, so
    that bins follow the scores wherever they lie: no scale or range need be known, and a class that comes
    late finds fine bins. Bins are dyadic ranges of the ordered bits of a float64, so those of two sketches
    nest or are disjoint and `+` loses nothing.

    How wide the bounds are depends on the stream, and `result` tells: on ordinary scores in any order their half
    width stayed below 3 / capacity, on a stream made to be hard it reached 3.8 / capacity. No width is promised
    beforehand; that they hold the AUC is.

    Parameters
    ----------
    pos_label : label, default=1
        The positive label; the rows of one other label are the negatives (0, -1, False, ...).
    capacity : int in [16, inf), default=8192
        Most bins kept. Memory is 32 bytes a bin for the bins and for a buffer of as many rows.
    window : int of at least 2, optional
        Only this many of the latest rows count; they are kept, and cannot be added to those of another stream.
    decay : float in (0, 1), optional
        A row counts this much less with every later row: 0.999 is a memory of about a thousand rows.

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

    def __init__(
        self, *, pos_label: Any = 1, capacity: int = 8192, window: int | None = None, decay: float | None = None
    ) -> None:
        self.pos_label = pos_label
        self.capacity = whole_number("StreamingAUC", "capacity", capacity, 16)
        self.window = None if window is None else whole_number("StreamingAUC", "window", window, 2)
        self.decay = None if decay is None else number_in("StreamingAUC", "decay", decay, 0.0, 1.0)
        if window is not None and decay is not None:
            raise ValueError("StreamingAUC takes a window or a decay. Got both; leave one out.")
        self._neg_label: Any = None
        self._bins = DyadicBins.of_rows(np.zeros(0, np.uint64), np.zeros(0, bool), None)
        self._waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]] = []
        self._n_waiting = 0

    def update(self, y: ArrayLike, s: ArrayLike, sample_weight: ArrayLike | None = None) -> StreamingAUC:
        """Add rows with labels y and scores s, both of shape (n,); n may be 0, or all rows of one class.

        A row of weight w, where weights are given, counts w times.
        """
        label = column("StreamingAUC.update", "y", y)
        key = _ordered_bits(numbers_column("StreamingAUC.update", "s", s))
        if len(label) != len(key):
            raise ValueError(
                f"StreamingAUC.update expects as many labels as scores. Got {len(label)} and {len(key)} instead."
            )
        weight = None
        if sample_weight is not None:
            label, key, weight = _weighted(label, key, sample_weight)
        is_pos = self._positives(label)
        if self.decay is not None and len(label):
            weight = self._decayed(self.decay, len(label), weight)
        if self.window is not None:
            return self._remember(self.window, key, is_pos, weight)
        for start in range(0, len(label), self.capacity):
            block = slice(start, start + self.capacity)
            self._waiting.append((key[block].copy(), is_pos[block], None if weight is None else weight[block]))
            self._n_waiting += len(key[block])
            if self._n_waiting >= self.capacity:
                self._merged()
        return self

    def _decayed(self, decay: float, count: int, weight: np.ndarray | None) -> np.ndarray:
        """Let all earlier rows count less; returns the weights of the next ones."""
        bins, share = self._merged(), decay**count
        masses = [bins.pos * share, bins.neg * share, bins.pos_squares * share**2, bins.neg_squares * share**2]
        self._bins = DyadicBins(bins.lo, bins.hi, *masses)
        own = decay ** np.arange(count - 1.0, -1.0, -1.0)
        return own if weight is None else own * weight

    def _remember(self, window: int, key: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None) -> StreamingAUC:
        """Keep the latest rows, in the pieces in which they came."""
        last = slice(max(0, len(key) - window), None)
        self._waiting.append((key[last].copy(), is_pos[last], None if weight is None else weight[last]))
        self._n_waiting += len(self._waiting[-1][0])
        while self._n_waiting - len(self._waiting[0][0]) >= window:
            self._n_waiting -= len(self._waiting.pop(0)[0])
        return self

    def __add__(self, other: StreamingAUC) -> StreamingAUC:
        """A new StreamingAUC of the rows of both."""
        if not isinstance(other, StreamingAUC):
            return NotImplemented
        if any(each is not None for part in (self, other) for each in (part.window, part.decay)):
            raise ValueError("StreamingAUC with a window or a decay has an order of its rows, and cannot be added to.")
        if (self.pos_label, self.capacity) != (other.pos_label, other.capacity):
            raise ValueError(
                "StreamingAUC can only be added to one with the same pos_label and capacity. "
                f"Got {quoted_value(self.pos_label)}, {self.capacity} and {quoted_value(other.pos_label)}, "
                f"{other.capacity} instead."
            )
        both = StreamingAUC(pos_label=self.pos_label, capacity=self.capacity)
        for part in (self, other):
            both._neg_label = both._same_negative(part._neg_label)
        both._bins = _shrink(_join(self._merged(), other._merged()), self.capacity)
        return both

    def result(self) -> AUCBounds:
        """Unpacks to (auc, low, high): the AUC of all rows lies in [low, high]."""
        bins = self._merged()
        pos, neg = bins.pos, bins.neg
        if not pos.any() or not neg.any():
            return AUCBounds(float("nan"), float("nan"), float("nan"))
        if not bins.counted:
            return _weighted_bounds(bins)
        n_pos, n_neg = int(pos.sum()), int(neg.sum())
        if n_pos * n_neg >= 1 << 61:
            pos, neg = pos.astype(object), neg.astype(object)
        twice_pairs = 2 * n_pos * n_neg
        inside = pos * neg
        unsure = int(inside[bins.lo < bins.hi].sum())
        twice_middle = int((2 * neg * (n_pos - np.cumsum(pos)) + inside).sum())
        # Whole numbers divided by Python are rounded once, in order: the bounds hold to the last bit.
        twice = twice_middle, twice_middle - unsure, twice_middle + unsure
        return AUCBounds(*(value / twice_pairs for value in twice))

    def interval(self, *, level: float = 0.95) -> AUCInterval:
        """Unpacks to (auc, low, high, se): a confidence interval for the AUC of the source of the rows.

        `result` bounds the AUC of the rows that were seen; this says what other rows of the same source would give. It
        is `auc_interval` by the placements of the bins, from the lower bound down and from the upper bound up, and
        equal to it while the AUC is exact. Rows of a stream that depend on one another make it too short.
        """
        level = number_in("StreamingAUC.interval", "level", level, 0.0, 1.0)
        bins, (auc, lowest, highest) = self._merged(), self.result()
        sizes = [_effective(bins.pos, bins.pos_squares), _effective(bins.neg, bins.neg_squares)]
        if min(sizes) < 1.5:
            raise ValueError(
                "StreamingAUC.interval expects at least 2 rows of each class, for a variance. "
                f"Got {sizes[0]:.3g} positive and {sizes[1]:.3g} negative instead."
            )
        se, df = _standard_error(bins)
        df = np.inf if bins.counted and min(sizes) >= _sizes.MIN_ROWS_FOR_NORMAL_INTERVAL else df
        trials = int(min(sizes))
        low, high = (share_interval(bound, se, trials, level, df)[end] for end, bound in enumerate((lowest, highest)))
        rows = {"n_positive": int(bins.pos.sum()), "n_negative": int(bins.neg.sum())} if bins.counted else {}
        return AUCInterval(auc, low, high, se, level=level, method="delong", df=df, **rows)

    def _positives(self, y: np.ndarray) -> np.ndarray:
        is_pos = np.asarray(y == self.pos_label, dtype=bool)
        others = y[~is_pos]
        if len(others):
            known = self._same_negative(others[0])
            unlike = others[others != known]
            negative = self._same_negative(unlike[0], known) if len(unlike) else known
            self._refuse_greater(negative)
            self._neg_label = negative
        return is_pos

    def _refuse_greater(self, other: Any) -> None:
        """The greater label is positive everywhere else, so the default must not quietly mean the smaller one."""
        if self.pos_label == 1 and isinstance(other, np.number) and other > 1:
            raise ValueError(
                f"StreamingAUC takes 1 for the positive label, and the other must be smaller. Got {other} too. "
                f"Pass pos_label={other}."
            )

    def _same_negative(self, label: Any, known: Any = None) -> Any:
        known = self._neg_label if known is None else known
        if known is None or label is None or known == label:
            return label if known is None else known
        raise ValueError(
            f"StreamingAUC expects two labels, pos_label={quoted_value(self.pos_label)} and one other. "
            f"Got both {known} and {label} beside it."
        )

    def _merged(self) -> DyadicBins:
        """Bins of all rows, those still waiting included; with a window, of the rows in it."""
        if self.window is not None:
            return self._in_window(self.window)
        for weighted in (False, True):
            some = [rows for rows in self._waiting if (rows[2] is not None) == weighted]
            if some:
                key, is_pos = (np.concatenate([rows[k] for rows in some]) for k in (0, 1))
                weight = np.concatenate([rows[2] for rows in some]) if weighted else None
                self._bins = _shrink(_join(self._bins, DyadicBins.of_rows(key, is_pos, weight)), self.capacity)
        self._waiting, self._n_waiting = [], 0
        return self._bins

    def _in_window(self, window: int) -> DyadicBins:
        if not self._waiting:
            return self._bins
        key, is_pos = (np.concatenate([rows[k] for rows in self._waiting])[-window:] for k in (0, 1))
        weight = None
        if any(rows[2] is not None for rows in self._waiting):
            parts = [np.ones(len(rows[0])) if rows[2] is None else rows[2] for rows in self._waiting]
            weight = np.concatenate(parts)[-window:]
        return _shrink(_join(self._bins, DyadicBins.of_rows(key, is_pos, weight)), self.capacity)


def _weighted(
    label: np.ndarray, key: np.ndarray, sample_weight: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of positive weight."""
    weight = weight_column("StreamingAUC.update", sample_weight)
    if len(weight) != len(key):
        raise ValueError(
            f"StreamingAUC.update expects as many weights as scores. Got {len(weight)} and {len(key)} instead."
        )
    used = weight > 0.0
    return label[used], key[used], weight[used]


def _weighted_bounds(bins: DyadicBins) -> AUCBounds:
    """The bounds of masses that are not whole numbers, wider by more than their rounding."""
    pos, neg = bins.pos / bins.pos.sum(), bins.neg / bins.neg.sum()
    inside = pos * neg
    middle = float(np.sum(neg * (1.0 - np.cumsum(pos)) + 0.5 * inside))
    unsure = 0.5 * float(inside[bins.lo < bins.hi].sum()) + 1e-12
    return AUCBounds(min(max(middle, 0.0), 1.0), max(middle - unsure, 0.0), min(middle + unsure, 1.0))


def _effective(mass: np.ndarray, squares: np.ndarray) -> float:
    """Rows of one weight that are worth as much: their number while all weigh one."""
    total = float(squares.sum())
    return float(mass.sum()) ** 2 / total if total > 0.0 else 0.0


def _standard_error(bins: DyadicBins) -> tuple[float, float]:
    """DeLong's, and its degrees of freedom, each row placed in the middle of its bin.

    Fourth powers of weights are not kept: within a bin they are taken to be equal.
    """
    pos, neg = bins.pos / bins.pos.sum(), bins.neg / bins.neg.sum()
    of_pos, of_neg = np.cumsum(neg) - 0.5 * neg, 1.0 - np.cumsum(pos) + 0.5 * pos
    auc, total = float(pos @ of_pos), 0.0
    second, fourth, sizes = np.zeros(2), np.zeros(2), np.zeros(2)
    sides = (bins.pos, bins.pos_squares, of_pos), (bins.neg, bins.neg_squares, of_neg)
    for k, (mass, squares, place) in enumerate(sides):
        held = mass > 0
        sizes[k] = _effective(mass, squares)
        if np.ptp(place[held]) > 1e-14:
            square, whole = (place[held] - auc) ** 2, float(mass.sum())
            rows = mass[held].astype(np.float64) ** 2 / squares[held]
            second[k] = float(np.sum(squares[held] * square)) / whole**2
            fourth[k] = float(np.sum(squares[held].astype(np.float64) ** 2 / rows * square**2)) / whole**4
            total += second[k] * sizes[k] / (sizes[k] - 1.0)
    return float(np.sqrt(total)), degrees_of_sums(second, fourth, sizes)


def _ordered_bits(score: np.ndarray) -> np.ndarray:
    """uint64 keys in the order of the scores; both zeros have one key."""
    bits = (score.astype(np.float64) + 0.0).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def _join(a: DyadicBins, b: DyadicBins) -> DyadicBins:
    """Bins of both; where one range holds others, they are added up in it."""
    both = DyadicBins(*(np.concatenate(pair) for pair in zip(a, b, strict=True)))
    if len(both.lo) == 0:
        return a
    order = np.argsort(both.lo)
    lo, hi = both.lo[order], both.hi[order]
    reach = np.maximum.accumulate(hi)
    start = np.flatnonzero(np.concatenate(([True], lo[1:] > reach[:-1])))
    return both.summed(start, lo[start], np.maximum.reduceat(hi, start), order)


def _shrink(bins: DyadicBins, capacity: int) -> DyadicBins:
    """At most `capacity` bins: the dyadic ranges that hold the least of both classes become one bin each.

    The smallest range that holds two neighbours is theirs alone, so each range closed removes one border. A
    range holds no less than the ranges in it, which come earlier in the order (share, size): what is closed
    is closed altogether.
    """
    excess = len(bins.lo) - capacity
    if excess <= 0:
        return bins
    lo, hi, pos, neg = bins[:4]
    size = _smear(lo[:-1] ^ hi[1:])
    first = np.searchsorted(lo, lo[:-1] & ~size)
    stop = np.searchsorted(lo, lo[:-1] | size, side="right")
    share = _held(pos, first, stop) + _held(neg, first, stop)
    border = np.ones(len(lo) - 1, bool)
    border[np.lexsort((size, share))[:excess]] = False
    start = np.concatenate(([0], np.flatnonzero(border) + 1))
    last = np.append(start[1:], len(lo)) - 1
    size = _smear(lo[start] ^ hi[last])
    return bins.summed(start, lo[start] & ~size, lo[start] | size, slice(None))


def _held(count: np.ndarray, first: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Share of `count` held by bins first, ..., stop - 1."""
    before = np.concatenate(([0], np.cumsum(count)))
    return (before[stop] - before[first]) / (before[-1] or 1)


def _smear(bits: np.ndarray) -> np.ndarray:
    """All ones from the highest set bit down: of a xor of keys, the size of the range that holds both."""
    for shift in (1, 2, 4, 8, 16, 32):
        bits = bits | (bits >> np.uint64(shift))
    return bits
