"""Where a shape may bend: knots at the values that are frequent, and at quantiles of the others."""

import numpy as np

SPECIAL = 0.05
"""A value of this share of the rows, among many that differ, is special: its shape may jump there."""

CROWDED = 0.25
"""An end interval is a heavy tail if half of its rows are in this part of it, on the near side."""

AGAIN = 10.0
"""Rows a value, where values are few."""

TAIL = 10.0
"""Rows on either side of a knot that halves a tail."""


def tally(values: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different values of a column, rising, and the weight of the rows of each; missing cells are left out."""
    known = ~np.isnan(values) & (weight > 0.0)
    values, weight = values[known], weight[known]
    if (weight == 1.0).all():  # sorting without the places takes a third of the time
        distinct, counts = np.unique(values, return_counts=True)
        return distinct, counts.astype(np.float64)
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, np.bincount(inverse, weights=weight)


def quantile_knots(distinct: np.ndarray, mass: np.ndarray, count: int) -> np.ndarray:
    """At most about ``count`` increasing knots, the least and the greatest value among them.

    A value that alone has the share of a knot (an atom: zero, a default, a code) gets one of its own, so that it
    cannot use up the quantiles of the values around it; the rest are spread evenly over the other rows. With no more
    different values than knots, every value is one.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.additive._knots import quantile_knots, tally
    >>> x = np.r_[np.zeros(90), np.arange(1.0, 11.0)]
    >>> quantile_knots(*tally(x, np.ones(100)), 4)
    array([ 0.,  1.,  5., 10.])
    """
    if len(distinct) <= count:
        return distinct
    share = mass / mass.sum()
    atom = _atoms(share, count)
    rest = np.where(atom, 0.0, share)
    reached = np.cumsum(rest)
    levels = np.linspace(0.0, 1.0, max(count - int(atom.sum()), 2)) * reached[-1]
    places = np.minimum(np.searchsorted(reached, levels * (1.0 - 1e-12)), len(distinct) - 1)
    inside = np.flatnonzero(rest > 0.0)
    places = np.concatenate([places[1:-1], inside[:1], inside[-1:]]) if len(inside) else inside
    return distinct[np.unique(np.concatenate([places, np.flatnonzero(atom), [0, len(distinct) - 1]]))]


def _atoms(share: np.ndarray, count: int) -> np.ndarray:
    """Values that have the share of a knot among the values that are no atoms."""
    atom = np.zeros(len(share), dtype=bool)
    while count - atom.sum() > 2:
        new = ~atom & (share > 0.0) & (share >= share[~atom].sum() / (count - atom.sum()))
        if not new.any():
            break
        atom |= new
    return atom


def extra_knots(distinct: np.ndarray, mass: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Knots besides those at quantiles: for jumps at special values, and along heavy tails.

    A special value (no income, an age nobody told) has knots at the nearest values on both sides of it, so that the
    broken line is a step there as far as any row can tell. In a heavy tail, the interval from the last quantile to the
    greatest value is cut at the median of its rows, and so is what lies beyond, as long as rows crowd on the near
    side: so the end of the shape is on the scale of ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.additive._knots import extra_knots, tally
    >>> x = np.r_[np.zeros(50), 2.0 ** np.arange(50)]
    >>> extra_knots(*tally(x, np.ones(100)), np.array([0.0, 2.0 ** 20, 2.0 ** 49]))[:2]
    array([1.00000000e+00, 3.43597384e+10])
    """
    if len(distinct) <= max(len(knots), 2):
        return np.zeros(0)
    at = np.searchsorted(distinct, knots)
    found = [_beside(mass), _tail(distinct, mass, int(at[-2]))]
    found.append(len(distinct) - 1 - _tail(-distinct[::-1], mass[::-1], len(distinct) - 1 - int(at[1])))
    return np.setdiff1d(distinct[np.concatenate(found)], knots)


def step_places(distinct: np.ndarray, mass: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Whether a shape jumps halfway between each knot and the next, which no value lies between.

    So it does beside a special value, and in a column of few values that are each seen again and again. The last is
    never so.
    """
    if not len(distinct):
        return np.zeros(len(knots), dtype=bool)
    at = np.searchsorted(distinct, knots)
    special = mass[at] >= SPECIAL * mass.sum()
    few = len(distinct) == len(knots) and mass.sum() >= AGAIN * len(distinct)
    return np.append((np.diff(at) == 1) & (few | special[1:] | special[:-1]), False)


def _beside(mass: np.ndarray) -> np.ndarray:
    """The places on both sides of each special value."""
    special = np.flatnonzero(mass >= SPECIAL * mass.sum())
    beside = np.concatenate([special - 1, special + 1])
    return beside[(beside >= 0) & (beside < len(mass))]


def _tail(distinct: np.ndarray, mass: np.ndarray, near: int) -> np.ndarray:
    """Where the upper tail, from the place ``near`` on, is cut in halves."""
    found = np.zeros(0, dtype=np.intp)
    while mass[near + 1 :].sum() >= 2.0 * TAIL:
        reached = np.cumsum(mass[near + 1 :])
        middle = near + 1 + int(np.searchsorted(reached, 0.5 * reached[-1]))
        if distinct[middle] - distinct[near] > CROWDED * (distinct[-1] - distinct[near]) or middle == len(mass) - 1:
            break
        found, near = np.append(found, middle), middle
    return found


def thinned(n_knots: int, count: int) -> np.ndarray:
    """Places of at most ``count`` of ``n_knots`` knots, both ends among them."""
    if n_knots <= count:
        return np.arange(n_knots)
    return np.unique(np.round(np.linspace(0, n_knots - 1, count)).astype(np.intp))


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
