"""Where a shape may bend: knots at the values that are frequent, and at quantiles of the others."""

import numpy as np


def quantile_knots(values: np.ndarray, weight: np.ndarray, count: int) -> np.ndarray:
    """At most about ``count`` increasing knots, the least and the greatest value among them.

    A value that alone has the share of a knot (an atom: zero, a default, a code) gets one of its own, so that it
    cannot use up the quantiles of the values around it; the rest are spread evenly over the other rows. With no more
    different values than knots, every value is one.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.additive._knots import quantile_knots
    >>> x = np.r_[np.zeros(90), np.arange(1.0, 11.0)]
    >>> quantile_knots(x, np.ones(100), 4)
    array([ 0.,  1.,  5., 10.])
    """
    known = ~np.isnan(values) & (weight > 0.0)
    distinct, inverse = np.unique(values[known], return_inverse=True)
    if len(distinct) <= count:
        return distinct
    mass = np.bincount(inverse, weights=weight[known])
    share = mass / mass.sum()
    atom = _atoms(share, count)
    rest = np.where(atom, 0.0, share)
    reached = np.cumsum(rest)
    levels = np.linspace(0.0, 1.0, max(count - int(atom.sum()), 2)) * reached[-1]
    places = np.minimum(np.searchsorted(reached, levels * (1.0 - 1e-12)), len(distinct) - 1)
    inside = np.flatnonzero(rest > 0.0)
    places[0], places[-1] = inside[0], inside[-1]
    return distinct[np.unique(np.concatenate([places, np.flatnonzero(atom), [0, len(distinct) - 1]]))]


def _atoms(share: np.ndarray, count: int) -> np.ndarray:
    """Values that have the share of a knot among the values that are no atoms."""
    atom = np.zeros(len(share), dtype=bool)
    while count - atom.sum() > 2:
        new = ~atom & (share >= share[~atom].sum() / (count - atom.sum()))
        if not new.any():
            break
        atom |= new
    return atom


def thinned(n_knots: int, count: int, needed: int) -> np.ndarray:
    """Places of at most ``count`` (or one more) of ``n_knots`` knots: both ends, and the ``needed`` one (-1: none)."""
    if n_knots <= count:
        return np.arange(n_knots)
    places = np.unique(np.round(np.linspace(0, n_knots - 1, count)).astype(np.intp))
    return places if needed < 0 else np.union1d(places, [needed])


def second_differences(knots: np.ndarray) -> np.ndarray:
    """P with v·P·v = the roughness of the broken line through (knots, v): zero for a straight one.

    Differences of slopes, in units in which all knots span the same length, each weighed by its shorter interval, so
    that a narrow interval counts for as little as it shows; and by the cube of the number of knots, so that the same
    curve is as rough on many knots as on few.
    """
    m = len(knots)
    if m < 3:
        return np.zeros((m, m))
    width = np.diff(knots) / (knots[-1] - knots[0]) * (m - 1)
    D = np.zeros((m - 2, m))
    for i in range(m - 2):
        D[i, i : i + 3] = 1.0 / width[i], -1.0 / width[i] - 1.0 / width[i + 1], 1.0 / width[i + 1]
        D[i] *= min(width[i], width[i + 1])
    return D.T @ D * ((m - 1) / 8.0) ** 3
