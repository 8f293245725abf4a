"""The columns of a scorecard: their knots or levels, learnt from rows or given."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from auclid.additive._basis import Feature
from auclid.additive._knots import extra_knots, quantile_knots, step_places, tally
from auclid.additive._table import ColumnSpec, block
from auclid.data.encoding import column_indices

SAMPLE = 50_000
"""Rows that tell where knots are, of more."""

MOST = 1_200
"""Coefficients at the most, as far as fewer knots can help."""

FEWEST = 8
"""Knots a column that few rows may have all the same."""

USUAL = 0.5
"""A slot with this share of the rows is the one that others are measured from."""


def learn_features(
    kept: Sequence[ColumnSpec],
    cells: Any,
    weight: np.ndarray | None,
    n_knots: int,
    given: Mapping,
    rng: np.random.Generator,
    extra: bool = False,
) -> list[Feature]:
    """The columns of these cells, each with at most about ``n_knots`` knots; ``given``: those of some columns.

    ``extra``: jumps at special values and heavy tails have knots besides.
    """
    n = cells.shape[0]
    rows = np.arange(n) if n <= SAMPLE else np.sort(rng.choice(n, SAMPLE, replace=False))
    sample, w = block(cells, rows), np.ones(len(rows)) if weight is None else weight[rows]
    if not (w > 0.0).any():
        w = np.ones(len(rows))
    return [_feature(column, sample[:, j], w, n_knots, given.get(j), extra) for j, column in enumerate(kept)]


def _feature(column: ColumnSpec, cells: np.ndarray, w: np.ndarray, n_knots: int, given: Any, extra: bool) -> Feature:
    missing = np.isnan(cells[w > 0.0])
    gaps = bool(missing.any() and not missing.all())  # a column of nothing has nothing to tell apart
    if column.levels is not None:
        known = ~np.isnan(cells)
        share = np.bincount(cells[known].astype(np.intp), weights=w[known], minlength=len(column.levels) + 1)
        feature = _finished(column, gaps, share / w.sum())
        return feature if given is None else _whatever_rows(feature)
    if given is not None:
        knots = np.asarray(given, dtype=np.float64)
        return _whatever_rows(_finished(column, gaps, _hat_shares(cells, w, knots) / w.sum(), knots))
    counted = tally(cells, w)
    knots = quantile_knots(*counted, n_knots)
    if not len(knots):
        knots = np.zeros(1)
    more = extra_knots(*counted, knots) if extra and len(knots) > 2 else np.zeros(0)
    knots = np.sort(np.concatenate([knots, more]))
    feature = _finished(column, gaps, _hat_shares(cells, w, knots) / w.sum(), knots)
    return feature._replace(extra=np.isin(knots, more), steps=step_places(*counted, knots))


def _finished(column: ColumnSpec, gaps: bool, share: np.ndarray, knots: np.ndarray | None = None) -> Feature:
    usual = int(share.argmax())
    reference = usual if share[usual] >= USUAL or len(share) == 2 else -1
    plain = np.zeros(0 if knots is None else len(knots), dtype=bool)
    return Feature(column.name, column.kind, knots, column.levels, reference, gaps, share, plain, plain)


def _whatever_rows(feature: Feature) -> Feature:
    """A column whose slots were given: its coefficients mean the same whatever the rows, so that models merge."""
    return feature._replace(reference=0 if feature.slots == 2 else -1)


def _hat_shares(cells: np.ndarray, w: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """The weight of the rows at each knot, shared out between the two around a cell."""
    known = ~np.isnan(cells)
    x, w = np.clip(cells[known], knots[0], knots[-1]), w[known]
    if len(knots) == 1:
        return np.array([w.sum()])
    at = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    t = (x - knots[at]) / (knots[at + 1] - knots[at])
    return np.bincount(at, w * (1.0 - t), len(knots)) + np.bincount(at + 1, w * t, len(knots))


def knots_that_fit(kept: Sequence[ColumnSpec], wanted: int, n: int = MOST) -> int:
    """At most ``wanted`` knots a column: all together have no more than MOST coefficients, nor many more than n."""
    numeric = sum(column.levels is None for column in kept)
    rest = min(MOST, max(n, FEWEST * numeric)) - sum(
        len(column.levels) + 1 for column in kept if column.levels is not None
    )
    while wanted > 2 and numeric * wanted > rest:
        wanted //= 2
    return max(wanted, 2)


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
    if not many or knots.ndim != 1 or not len(knots) or not np.all(np.isfinite(knots)) or np.any(np.diff(knots) <= 0.0):
        raise no_knots(owner, name, value)
    return knots


def no_knots(owner: Any, name: str, value: Any) -> ValueError:
    """The error about what cannot be the knots, or the levels, of a column."""
    return ValueError(
        f"The 'n_knots' parameter of {type(owner).__name__} must give rising, finite knots for column {name!r}, "
        f"or the names of its levels; got {value!r}."
    )
