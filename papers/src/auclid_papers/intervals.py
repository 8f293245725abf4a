"""Confidence intervals of paired differences over runs or datasets."""

from functools import cache
from math import isnan, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

LEVEL = 0.95
"""The confidence level."""


class Interval(NamedTuple):
    """A mean or median, its confidence interval (NaN where the sample is too small) and the sample size."""

    estimate: float
    low: float
    high: float
    n: int

    @property
    def known(self) -> bool:
        """Whether the sample was large enough for an interval."""
        return not isnan(self.low)

    @property
    def sign(self) -> int:
        """1 or -1 if the interval excludes zero, else 0."""
        return int(self.low > 0.0) - int(self.high < 0.0)


@cache
def _ranks(n: int) -> tuple[float, float]:
    """The ranks of the two order statistics that bound the median of n values; NaN if n is too small."""
    return stats.quantile_test(np.arange(n), q=0.0, p=0.5).confidence_interval(LEVEL)


def median_interval(differences: ArrayLike) -> Interval:
    """The median of paired differences with the interval of the sign test, whatever their distribution.

    Fewer than six differences have no interval at 95 %.

    Examples
    --------
    >>> from auclid_papers.intervals import median_interval
    >>> median_interval([3.0, 1.0, 2.0, 4.0, 6.0, 5.0])
    Interval(estimate=3.5, low=1.0, high=6.0, n=6)
    >>> median_interval([1.0, 2.0]).known
    False
    """
    ordered = np.sort(np.asarray(differences, dtype=float))
    low, high = (nan if isnan(rank) else float(ordered[int(rank)]) for rank in _ranks(len(ordered)))
    return Interval(float(np.median(ordered)), low, high, len(ordered))


def standard_error(differences: ArrayLike, overlap: float = 0.25) -> float:
    """The standard error of the mean of paired differences over runs that share training rows; NaN for a single run.

    s sqrt(1/n + overlap), with the standard deviation s. ``overlap`` is the number of test rows over the number of
    training rows: 1/4 for 5 folds or 80/20 splits, 0 for independent differences.

    Examples
    --------
    >>> from auclid_papers.intervals import standard_error
    >>> round(standard_error([0.01, 0.02, 0.03]), 4), standard_error([0.01])
    (0.0076, nan)

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.
    """
    sample = np.asarray(differences, dtype=float)
    return float(sample.std(ddof=1) * np.sqrt(1.0 / len(sample) + overlap)) if len(sample) > 1 else nan


def mean_interval(differences: ArrayLike, overlap: float = 0.25) -> Interval:
    """The mean of paired differences over runs, with the t interval of `standard_error`.

    Examples
    --------
    >>> from auclid_papers.intervals import mean_interval
    >>> found = mean_interval([0.01, 0.02, 0.03])
    >>> round(found.estimate, 3), round(found.low, 3), round(found.high, 3), found.sign
    (0.02, -0.013, 0.053, 0)
    """
    sample = np.asarray(differences, dtype=float)
    n, mean = len(sample), float(sample.mean())
    low, high = stats.t.interval(LEVEL, n - 1, loc=mean, scale=standard_error(sample, overlap)) if n > 1 else (nan, nan)
    return Interval(mean, float(low), float(high), n)
