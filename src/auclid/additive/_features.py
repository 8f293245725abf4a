"""Where the shape of a column has values: knots at frequent values and at quantiles of the others, or levels.

`Feature` is one column of a scorecard. `learn_features` finds the knots from rows, `given_knots` reads those of a user.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes
from auclid.additive._columns import ColumnSpec, cell_block
from auclid.data.encoding import column_indices
from auclid.stats.weights import normalize_weights

SPECIAL_SHARE = 0.05
"""A value of this share of the rows, among many that differ, is special: its shape may jump there."""

CROWDED_PART = 0.25
"""An end interval is a heavy tail if half of its rows are in this part of it, on the near side."""

MIN_ROWS_PER_VALUE = 10.0
"""Rows a value for which a column of few values has a step at each."""

MIN_TAIL_ROWS = 10.0
"""Rows on either side of a knot that halves a tail."""

MIN_KNOTS = 8
"""Knots a column that few rows may have all the same."""

REFERENCE_SHARE = 0.5
"""A slot with this share of the rows has no coefficient: the others are measured from it."""


class Feature(NamedTuple):
    """One column: where its shape has a value, and which of these values is zero by convention."""

    name: str
    kind: str
    knots: np.ndarray | None
    levels: list | None
    reference: int
    """The slot without a coefficient, since most rows are in it and need not be touched then; -1: none."""
    gaps: bool
    """Whether missing cells have a coefficient."""
    share: np.ndarray
    """The share of the rows at each slot."""
    extra: np.ndarray
    """Which knots are there for jumps and tails: they stay where others are thinned out, and are in no pair."""
    steps: np.ndarray
    """Whether the shape jumps halfway between a knot and the next, where no row lies; else it is straight."""
    pair_knots: int = 8
    """Knots, or levels, that the column has in a pair, at the most."""

    @property
    def slots(self) -> int:
        """Values of the shape: one a knot, or one a level and one for all other levels."""
        return len(self.share)


def learn_features(
    specs: Sequence[ColumnSpec],
    cells: Any,
    weight: np.ndarray | None,
    n_knots: int,
    given: Mapping[int, Any],
    rng: np.random.Generator,
    extra: bool = False,
) -> list[Feature]:
    """The columns of these cells, each with at most about ``n_knots`` knots; ``given``: those of some columns.

    ``extra``: jumps at special values and heavy tails have knots besides. Only the ratios of weights matter.
    """
    n = cells.shape[0]
    rows = np.arange(n) if n <= _sizes.KNOT_SAMPLE else np.sort(rng.choice(n, _sizes.KNOT_SAMPLE, replace=False))
    counted = normalize_weights(weight)
    sample, mass = cell_block(cells, rows), np.ones(len(rows)) if counted is None else counted[rows]
    if not (mass > 0.0).any():
        mass = np.ones(len(rows))
    return [_feature(spec, sample[:, j], mass, n_knots, given.get(j), extra) for j, spec in enumerate(specs)]


def _feature(spec: ColumnSpec, cells: np.ndarray, mass: np.ndarray, n_knots: int, given: Any, extra: bool) -> Feature:
    missing = np.isnan(cells[mass > 0.0])
    gaps = bool(missing.any() and not missing.all())  # a column of missing cells has nothing to tell apart
    if spec.levels is not None:
        present = ~np.isnan(cells)
        share = np.bincount(cells[present].astype(np.intp), weights=mass[present], minlength=len(spec.levels) + 1)
        feature = _with_reference(spec, gaps, share / mass.sum())
        return feature if given is None else _whatever_rows(feature)
    if given is not None:
        knots = np.asarray(given, dtype=np.float64)
        shares = _hat_shares(*value_counts(cells, mass), knots)
        return _whatever_rows(_with_reference(spec, gaps, shares / mass.sum(), knots))
    counts = value_counts(cells, mass)
    knots = quantile_knots(*counts, n_knots)
    if not len(knots):
        knots = np.zeros(1)
    more = extra_knots(*counts, knots) if extra and len(knots) > 2 else np.zeros(0)
    knots = np.sort(np.concatenate([knots, more]))
    feature = _with_reference(spec, gaps, _hat_shares(*counts, knots) / mass.sum(), knots)
    return feature._replace(extra=np.isin(knots, more), steps=step_places(*counts, knots))


def _with_reference(spec: ColumnSpec, gaps: bool, share: np.ndarray, knots: np.ndarray | None = None) -> Feature:
    commonest = int(share.argmax())
    reference = commonest if share[commonest] >= REFERENCE_SHARE or len(share) == 2 else -1
    none = np.zeros(0 if knots is None else len(knots), dtype=bool)
    return Feature(spec.name, spec.kind, knots, spec.levels, reference, gaps, share, none, none)


def _whatever_rows(feature: Feature) -> Feature:
    """A column whose slots were given: its coefficients mean the same whatever the rows, so that models merge."""
    return feature._replace(reference=0 if feature.slots == 2 else -1)


def _hat_shares(distinct: np.ndarray, mass: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """The weight of the rows at each knot, shared out between the two around a value."""
    x = np.clip(distinct, knots[0], knots[-1])
    if len(knots) == 1:
        return np.array([mass.sum()])
    at = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    t = (x - knots[at]) / (knots[at + 1] - knots[at])
    return np.bincount(at, mass * (1.0 - t), len(knots)) + np.bincount(at + 1, mass * t, len(knots))


# Knots from the values of a column


def value_counts(values: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of a column, ascending, and the mass of the rows of each; missing cells are left out."""
    present = ~np.isnan(values) & (mass > 0.0)
    values, mass = values[present], mass[present]
    if (mass == 1.0).all():  # sorting without the places takes a third of the time
        distinct, counts = np.unique(values, return_counts=True)
        return distinct, counts.astype(np.float64)
    distinct = np.unique(values)
    return distinct, np.bincount(np.searchsorted(distinct, values), weights=mass)


def quantile_knots(distinct: np.ndarray, mass: np.ndarray, count: int) -> np.ndarray:
    """At most about ``count`` increasing knots, the least and the greatest value among them.

    A value that alone has the share of a knot (an atom: zero, a default, a code) gets one of its own, so that it
    cannot use up the quantiles of the values around it; the rest are spread evenly over the other rows. With no more
    different values than knots, every value is one.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.additive._features import quantile_knots, value_counts
    >>> x = np.r_[np.zeros(90), np.arange(1.0, 11.0)]
    >>> quantile_knots(*value_counts(x, np.ones(100)), 4)
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
    >>> from auclid.additive._features import extra_knots, value_counts
    >>> x = np.r_[np.zeros(50), 2.0 ** np.arange(50)]
    >>> extra_knots(*value_counts(x, np.ones(100)), np.array([0.0, 2.0 ** 20, 2.0 ** 49]))[:2]
    array([1.00000000e+00, 3.43597384e+10])
    """
    if len(distinct) <= max(len(knots), 2):
        return np.zeros(0)
    at = np.searchsorted(distinct, knots)
    places = [_beside_special(mass), _tail_cuts(distinct, mass, int(at[-2]))]
    places.append(len(distinct) - 1 - _tail_cuts(-distinct[::-1], mass[::-1], len(distinct) - 1 - int(at[1])))
    return np.setdiff1d(distinct[np.concatenate(places)], knots)


def step_places(distinct: np.ndarray, mass: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Whether a shape jumps halfway between each knot and the next, which no value lies between.

    So it does beside a special value, and in a column of few values that each occur again and again. The last is
    never so.
    """
    if not len(distinct):
        return np.zeros(len(knots), dtype=bool)
    at = np.searchsorted(distinct, knots)
    special = mass[at] >= SPECIAL_SHARE * mass.sum()
    repeated = len(distinct) == len(knots) and mass.sum() >= MIN_ROWS_PER_VALUE * len(distinct)
    return np.append((np.diff(at) == 1) & (repeated | special[1:] | special[:-1]), False)


def _beside_special(mass: np.ndarray) -> np.ndarray:
    """The places on both sides of each special value."""
    special = np.flatnonzero(mass >= SPECIAL_SHARE * mass.sum())
    beside = np.concatenate([special - 1, special + 1])
    return beside[(beside >= 0) & (beside < len(mass))]


def _tail_cuts(distinct: np.ndarray, mass: np.ndarray, near: int) -> np.ndarray:
    """Where the upper tail, from the place ``near`` on, is cut in halves."""
    cuts = np.zeros(0, dtype=np.intp)
    while mass[near + 1 :].sum() >= 2.0 * MIN_TAIL_ROWS:
        reached = np.cumsum(mass[near + 1 :])
        middle = near + 1 + int(np.searchsorted(reached, 0.5 * reached[-1]))
        far = distinct[middle] - distinct[near] > CROWDED_PART * (distinct[-1] - distinct[near])
        if far or middle == len(mass) - 1:
            break
        cuts, near = np.append(cuts, middle), middle
    return cuts


@lru_cache(maxsize=1024)
def thinned(n_knots: int, count: int) -> np.ndarray:
    """Places of at most ``count`` of ``n_knots`` knots, both ends among them."""
    places = np.linspace(0, n_knots - 1, min(count, n_knots)).round()
    out = np.unique(places.astype(np.intp))
    out.flags.writeable = False
    return out


def interpolate(x: np.ndarray, knots: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The broken line through (knots, values) at x, also where slopes are beyond floating point.

    A power of two brings the knots near 1, which changes no digit of numbers that are not next to zero.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.additive._features import interpolate
    >>> interpolate(np.array([1e-310]), np.array([0.0, 4e-310]), np.array([0.0, 1.0])).round(3)
    array([0.25])
    """
    exponent = int(np.frexp(max(abs(float(knots[0])), abs(float(knots[-1]))))[1])
    return np.interp(np.ldexp(x, -exponent), np.ldexp(knots, -exponent), values)


def hats(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """(values, knots): the hat of each knot at each x, all within the knots; `interpolate` of unit vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.additive._features import hats
    >>> hats(np.array([0.0, 0.25, 3.0]), np.array([0.0, 1.0, 3.0]))
    array([[1.  , 0.  , 0.  ],
           [0.75, 0.25, 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    if len(knots) < 2:
        return np.ones((len(x), len(knots)))
    exponent = int(np.frexp(max(abs(float(knots[0])), abs(float(knots[-1]))))[1])
    x, ends = np.ldexp(x, -exponent), np.ldexp(knots, -exponent)
    at = np.minimum(np.searchsorted(ends, x, side="right") - 1, len(ends) - 2)
    part = np.where(x >= ends[-1], 1.0, 1.0 / np.diff(ends)[at] * (x - ends[at]))
    out, rows = np.zeros((len(x), len(ends))), np.arange(len(x))
    out[rows, at], out[rows, at + 1] = 1.0 - part, part
    return out


def max_knots(specs: Sequence[ColumnSpec], wanted: int, n_rows: int | None = None) -> int:
    """At most ``wanted`` knots a column: all columns have no more than `_sizes.MAX_COEFFICIENTS`, nor many more than
    there are rows."""
    numeric = sum(spec.levels is None for spec in specs)
    allowed = _sizes.MAX_COEFFICIENTS if n_rows is None else max(n_rows, MIN_KNOTS * numeric)
    levels = sum(len(spec.levels) + 1 for spec in specs if spec.levels is not None)
    while wanted > 2 and numeric * wanted > min(_sizes.MAX_COEFFICIENTS, allowed) - levels:
        wanted //= 2
    return max(wanted, 2)


# Knots that a user gives


def given_knots(owner: Any, n_knots: Any, names: Sequence[str]) -> dict[int, Any]:
    """Knots, or levels, that the user gave for some columns, by the number of the column."""
    if not isinstance(n_knots, Mapping):
        return {}
    places = column_indices(owner, "n_knots", n_knots, names)
    return {place: _checked(owner, names[place], value) for place, value in zip(places, n_knots.values(), strict=True)}


def _checked(owner: Any, name: str, value: Any) -> Any:
    many = isinstance(value, (list, tuple, np.ndarray)) and len(value) > 0
    none = isinstance(value, list) and not value
    if none or (many and all(isinstance(each, str) for each in value)):
        return [str(each) for each in value]  # none: all levels are pooled
    try:
        knots = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        knots = np.zeros(0)
    if not many or knots.ndim != 1 or not _ascending(knots):
        raise invalid_knots(owner, name, value)
    return knots


def _ascending(knots: np.ndarray) -> bool:
    return bool(len(knots) and np.all(np.isfinite(knots)) and np.all(np.diff(knots) > 0.0))


def invalid_knots(owner: Any, name: str, value: Any) -> ValueError:
    """The error about what cannot be the knots, or the levels, of a column."""
    return ValueError(
        f"The 'n_knots' parameter of {type(owner).__name__} must give rising, finite knots for column {name!r}, "
        f"or the names of its levels; got {value!r}."
    )
