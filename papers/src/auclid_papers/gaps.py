"""Paired differences over runs or tables: their middle, its interval and its standard error."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom
from scipy.stats import t as student

LEVEL = 0.95


class Gap(NamedTuple):
    """The middle of paired differences, its interval (None where there are too few), and how many there are."""

    middle: float
    low: float | None
    high: float | None
    n: int

    @property
    def sign(self) -> int:
        """1 or -1 where the interval keeps off zero, else 0."""
        if self.low is None or self.high is None or self.low <= 0.0 <= self.high:
            return 0
        return 1 if self.low > 0.0 else -1


def median_gap(differences: ArrayLike, level: float = LEVEL) -> Gap:
    """The median of paired differences with the interval of the sign test, which asks nothing of their distribution.

    The interval runs from the k-th smallest to the k-th largest, with the largest k for which fewer than k of n fair
    coins fall heads with probability at most (1 - level) / 2. Below six differences there is no such k at 95 %.

    Examples
    --------
    >>> from auclid_papers.gaps import median_gap
    >>> median_gap([3.0, 1.0, 2.0, 4.0, 6.0, 5.0])
    Gap(middle=3.5, low=1.0, high=6.0, n=6)
    >>> median_gap([1.0, 2.0]).low is None
    True
    """
    ordered = np.sort(np.asarray(differences, dtype=float))
    n = len(ordered)
    k = int(np.sum(binom.cdf(np.arange(n), n, 0.5) <= (1.0 - level) / 2.0))
    low, high = (float(ordered[k - 1]), float(ordered[n - k])) if k else (None, None)
    return Gap(float(np.median(ordered)), low, high, n)


def standard_error(differences: ArrayLike, overlap: float = 0.25) -> float | None:
    """The standard error of the mean of paired differences over runs, which share training rows; None for one run.

    s sqrt(1/n + overlap), with the deviation s; ``overlap`` is the number of test rows over that of training rows, 1/4
    for 5 folds or 80/20 splits, 0 for differences that share nothing.

    Examples
    --------
    >>> from auclid_papers.gaps import standard_error
    >>> round(standard_error([0.01, 0.02, 0.03]), 4), standard_error([0.01])
    (0.0076, None)

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.
    """
    found = np.asarray(differences, dtype=float)
    return float(found.std(ddof=1) * np.sqrt(1.0 / len(found) + overlap)) if len(found) > 1 else None


def mean_gap(differences: ArrayLike, level: float = LEVEL, overlap: float = 0.25) -> Gap:
    """The mean of paired differences over runs, with an interval that allows for training rows in common.

    mean ± t times `standard_error`, with n - 1 degrees of freedom. One run has no interval.

    Examples
    --------
    >>> from auclid_papers.gaps import mean_gap
    >>> gap = mean_gap([0.01, 0.02, 0.03])
    >>> round(gap.middle, 3), round(gap.low, 3), round(gap.high, 3), gap.sign
    (0.02, -0.013, 0.053, 0)
    """
    found = np.asarray(differences, dtype=float)
    n, middle = len(found), float(found.mean())
    error = standard_error(found, overlap)
    if error is None:
        return Gap(middle, None, None, n)
    reach = float(student.ppf(0.5 + level / 2.0, n - 1)) * error
    return Gap(middle, middle - reach, middle + reach, n)
