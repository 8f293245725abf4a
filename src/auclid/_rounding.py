"""Round numbers: for the edges of bins and the ticks of axes."""

import math
import sys


def roundest(low: float, high: float) -> float:
    """The number in (low, high] with the fewest digits; infinite ends stand for the largest floats.

    Examples
    --------
    >>> from auclid._rounding import roundest
    >>> roundest(1234.5, 1761.2), roundest(17.0, 18.0), roundest(-0.3, 0.2)
    (1500.0, 18.0, 0.0)
    >>> roundest(1.0, 1.7e308), roundest(1.0, float("inf"))
    (1e+308, 1e+308)
    """
    low, high = (min(max(end, -sys.float_info.max), sys.float_info.max) for end in (low, high))
    if low < 0.0 <= high:
        return 0.0
    exponent = min(math.floor(math.log10(max(abs(low), abs(high)))) + 1, sys.float_info.max_10_exp)
    for power in range(exponent, exponent - 18, -1):
        for digit in (1.0, 0.5, 0.2):
            unit = digit * 10.0**power
            if unit <= 0.0:
                return high
            value = math.floor(high / unit) * unit
            if value + 1e-14 * abs(value) <= low:
                continue  # nor is it between them with fewer digits
            value = float(f"{value:.15g}")
            if low < value <= high:
                return value
    return high


def compact(value: float) -> str:
    """A number in few letters.

    Examples
    --------
    >>> from auclid._rounding import compact
    >>> [compact(x) for x in (0.25, 1500.0, 25_000.0, 3e6, -4e9)]
    ['0.25', '1500', '25k', '3M', '-4G']
    """
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= (1e4 if letter == "k" else unit):
            return f"{value / unit:.4g}{letter}"
    return f"{value:.4g}"
