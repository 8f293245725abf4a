"""The share of positives among unlabelled rows, by matching energy distances."""

from typing import NamedTuple

import numpy as np
from sklearn.metrics import euclidean_distances
from sklearn.preprocessing import StandardScaler

from auclid.data.blocks import Block

LOWEST = 0.01
"""Estimates are kept this far from 0 and 1, where no risk can be written."""

DOUBTFUL = 0.1
"""A standard error above which an estimate is not worth much."""


class Prior(NamedTuple):
    """An estimated share of positives, kept off 0 and 1; its standard error; and the estimate as it was."""

    value: float
    error: float
    raw: float

    @property
    def doubt(self) -> str | None:
        """Why the estimate is not worth much, or None."""
        if np.isfinite(self.raw) and self.raw != self.value:
            return f"its estimate, {self.raw:.2g}, lies outside"
        return None if self.error <= DOUBTFUL else "the rows determine it poorly"


def energy_prior(neg: Block, pos: Block, unl: Block) -> Prior:
    """The share θ for which the mixture θP + (1 − θ)N is nearest to U in energy distance, from three blocks of rows.

        θ = (E|p−n| − E|n−n'| − E|p−u| + E|n−u|) / (2E|p−n| − E|p−p'| − E|n−n'|),

    with the standard error that leaving out one row at a time gives. Columns are brought to one scale first.

    References
    ----------
    Kawakubo, du Plessis & Sugiyama, "Computationally efficient class-prior estimation under class balance change using
    energy distance", IEICE Transactions E99-D, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.prior import energy_prior
    >>> rng = np.random.default_rng(0)
    >>> neg, pos = rng.standard_normal((200, 2)), 3.0 + rng.standard_normal((200, 2))
    >>> prior = energy_prior(neg[:100], pos[:100], np.vstack([neg[100:], pos[100:125]]))
    >>> round(prior.value, 1)
    0.2
    """
    scaler = StandardScaler(with_mean=False)
    for block in (neg, pos, unl):
        scaler.partial_fit(block)
    neg, pos, unl = (scaler.transform(block) for block in (neg, pos, unl))
    pn, np_ = _sums(pos, neg)
    pu, up = _sums(pos, unl)
    nu, un = _sums(neg, unl)
    pp, nn = 2.0 * _sums(pos, pos)[0], 2.0 * _sums(neg, neg)[0]
    total = np.array([pn.sum(), pp.sum() / 2.0, nn.sum() / 2.0, pu.sum(), nu.sum()])
    zero_p, zero_n, zero_u = np.zeros(len(pn)), np.zeros(len(np_)), np.zeros(len(up))
    without = [  # what each row adds to the five sums
        np.stack([pn, pp, zero_p, pu, zero_p], axis=1),
        np.stack([np_, zero_n, nn, zero_n, nu], axis=1),
        np.stack([zero_u, zero_u, zero_u, up, un], axis=1),
    ]
    counts = np.array([len(pn), len(np_), len(up)], dtype=float)
    value = _share(total, counts)
    variance = 0.0
    for k in range(3):
        left_out = _share(total - without[k], counts - np.eye(3)[k])
        variance += (counts[k] - 1.0) * np.var(left_out)
    error = float(np.sqrt(variance))
    if not np.isfinite(value):
        return Prior(0.5, np.inf, np.nan)
    kept = float(np.clip(value, LOWEST, 1.0 - LOWEST))
    return Prior(kept, error if np.isfinite(error) else np.inf, float(value))


def _sums(a: Block, b: Block) -> tuple[np.ndarray, np.ndarray]:
    """Distances between all rows of two blocks, summed for each row of either."""
    distances = euclidean_distances(a, b)
    return distances.sum(axis=1), distances.sum(axis=0)


def _share(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """θ from sums of distances (pn, pp, nn, pu, nu) between sets of so many rows; nan where it is not determined."""
    p, n, u = counts
    pairs = np.array([p * n, p * (p - 1.0), n * (n - 1.0), p * u, n * u])
    with np.errstate(divide="ignore", invalid="ignore"):
        pn, pp, nn, pu, nu = np.moveaxis(sums / pairs, -1, 0)
        gap = 2.0 * pn - pp - nn
        return np.where(gap > 0.0, (pn - nn - pu + nu) / gap, np.nan)
