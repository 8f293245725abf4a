"""A stable order of many numbers, several times as fast as an indirect sort: keys that hold a number and its place."""

import numpy as np

from auclid import _sizes
from auclid._generic import kernel

MAX_SHIFTS = 4
"""Places, for each number, that keys may be put right by; with more of them numbers are sorted as they are."""


def stable_argsort(value: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """Where float64 numbers lie in their order, by a second key of booleans where they are equal, then by place.

    There must be no NaN. The leading bits of a number, the second key and the number's place make one key, and keys are
    sorted. Numbers that differ in their last bits only are put right afterwards, by insertion.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.sorting import stable_argsort
    >>> stable_argsort(np.array([2.0, 1.0, 1.0]), np.array([False, True, False]))
    array([2, 1, 0])
    """
    n = len(value)
    if n >= _sizes.MIN_PACKED_ROWS:
        value = value + 0.0  # -0.0 and 0.0 are one number with two patterns of bits
        bits = np.uint64(n.bit_length())
        keys = packed_keys(value.view(np.uint64), np.zeros(n, dtype=bool) if second is None else second, bits)
        keys.sort()
        rows, done = unpacked_rows(keys, value, bits)
        if done:
            return rows
    return np.argsort(value, kind="stable") if second is None else np.lexsort((second, value))


@kernel
def packed_keys(patterns: np.ndarray, second: np.ndarray, bits: np.uint64) -> np.ndarray:
    """Of each number, given by its bits: its leading bits in the order of numbers, the second key, and its place."""
    n, one = patterns.shape[0], np.uint64(1)
    sign = one << np.uint64(63)
    leading = ~((one << (bits + one)) - one)
    keys = np.empty(n, np.uint64)
    for k in range(n):
        pattern = patterns[k]
        rising = ~pattern if pattern & sign else pattern | sign
        keys[k] = (rising & leading) | (np.uint64(second[k]) << bits) | np.uint64(k)
    return keys


@kernel
def unpacked_rows(keys: np.ndarray, value: np.ndarray, bits: np.uint64) -> tuple[np.ndarray, bool]:
    """The places of sorted keys, put right where numbers differ in their last bits; and whether that took few steps."""
    n = keys.shape[0]
    mask = (np.uint64(1) << bits) - np.uint64(1)
    rows, sorted_values = np.empty(n, np.int64), np.empty(n)
    for k in range(n):
        rows[k] = np.int64(keys[k] & mask)
        sorted_values[k] = value[rows[k]]
    left = MAX_SHIFTS * n
    for k in range(1, n):
        x, row, j = sorted_values[k], rows[k], k
        while j > 0 and x < sorted_values[j - 1] and left > 0:
            sorted_values[j], rows[j] = sorted_values[j - 1], rows[j - 1]
            j -= 1
            left -= 1
        sorted_values[j], rows[j] = x, row
    return rows, left > 0
