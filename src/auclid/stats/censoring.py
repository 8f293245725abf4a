"""The distribution of censoring times (Kaplan & Meier), and how much of an estimate's error comes from it.

Events precede censorings of the same time, so a row with an event is not at risk of being censored at its own time.
"""

from dataclasses import dataclass

import numpy as np

from auclid.stats.pair_sums import running_sums


@dataclass(frozen=True, eq=False)
class CensoringDistribution:
    """G(t) = P(censored later than t), a step at each time of a censoring."""

    times: np.ndarray
    """Times of censorings, ascending, each once."""
    censored: np.ndarray
    """The weight censored at each."""
    at_risk: np.ndarray
    """The weight at risk of being censored at each."""

    @property
    def survival(self) -> np.ndarray:
        """1, and G at each time of a censoring."""
        return np.concatenate([[1.0], np.cumprod(1.0 - self.censored / self.at_risk)])

    def before(self, t: np.ndarray) -> np.ndarray:
        """G(t-): the probability not to be censored before t."""
        return self.survival[np.searchsorted(self.times, t, side="left")]

    def influence(self, time: np.ndarray, event: np.ndarray, terms: np.ndarray) -> np.ndarray:
        """The derivative by the weight of each row, through G, of the sum of terms_i / G(t_i-), at terms / G given.

        ``terms`` are those quotients: an entry a row, 0 for censored rows.
        """
        order = np.argsort(time, kind="stable")
        sums = running_sums(terms[order])
        later = sums[-1] - sums[np.searchsorted(time[order], self.times, side="right")]
        left = self.at_risk - self.censored
        usable = left > 1e-12 * self.at_risk  # nobody is left to be later than the last censoring
        at_censoring = np.where(usable, later / np.where(usable, left, 1.0), 0.0)
        hazard = running_sums(at_censoring * self.censored / self.at_risk)
        until = np.searchsorted(self.times, time, side="left")
        own = np.minimum(until, len(self.times) - 1) if len(self.times) else until
        out = -hazard[until]
        if len(self.times):
            mine = ~event
            out[mine] += at_censoring[own[mine]] - (hazard[until + mine] - hazard[until])[mine]
        return out


def censoring_distribution(
    time: np.ndarray, event: np.ndarray, weight: np.ndarray | None = None
) -> CensoringDistribution:
    """Kaplan & Meier's estimate of the distribution of censoring.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.censoring import censoring_distribution
    >>> G = censoring_distribution(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True]))
    >>> G.before(np.array([2.0, 3.0]))
    array([1.        , 0.66666667])
    """
    own = np.ones(len(time)) if weight is None else weight
    at = ~event & (own > 0.0)
    times, number = np.unique(time[at], return_inverse=True)
    censored = np.bincount(number, own[at], minlength=len(times))
    order = np.argsort(time, kind="stable")
    sums = running_sums(own[order])
    later = sums[-1] - sums[np.searchsorted(time[order], times, side="right")]
    return CensoringDistribution(times, censored, later + censored)
