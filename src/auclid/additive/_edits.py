"""Edits of shapes by hand: what each action does to the values of a column, a pair or a part of one.

A numeric shape is a `Line`. An edit of a range replaces the part of the line inside it; the line jumps at both ends.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from auclid.additive._counts import CardCounts, ColumnCounts
from auclid.additive._lines import BrokenLine, clipped, flat, shape_line, splice, with_knot
from auclid.additive._shapes import Card, PairShape, Shape
from auclid.errors import InvalidValueError

FROZEN_TOLERANCE = 1e-9
"""How much a frozen value may move by rounding."""


# What is edited


class ColumnRegion(NamedTuple):
    """A part of a column: a range of numbers, some levels, its missing cells, or all but these."""

    low: float
    high: float
    levels: tuple | None
    missing: bool

    @classmethod
    def of(cls, edit: Mapping[str, Any], shape: Shape) -> "ColumnRegion":
        """The part that an edit speaks of."""
        low, high = _range_end(edit, shape, "low", -np.inf), _range_end(edit, shape, "high", np.inf)
        if not low < high:
            raise _refused(edit, f"have a 'low' below its 'high'; got {low:g} and {high:g}")
        return cls(low, high, _named_levels(edit, shape), bool(edit.get("missing", False)))

    @property
    def is_everything(self) -> bool:
        """Whether no part was named."""
        return np.isinf(self.low) and np.isinf(self.high) and self.levels is None and not self.missing

    def level_places(self, shape: Shape) -> np.ndarray:
        """Which levels are meant."""
        names = [str(level) for level in shape.levels or []]
        return np.array([self.levels is None or name in self.levels for name in names], dtype=bool)


def _range_end(edit: Mapping[str, Any], shape: Shape, field: str, default: float) -> float:
    """One end of the range of numbers that an edit speaks of."""
    end = edit.get(field)
    if end is None:
        return default
    if shape.knots is None or isinstance(end, bool) or not isinstance(end, (int, float)):
        raise _refused(edit, f"give 'low' and 'high' as numbers, of a column of numbers; got {end!r}")
    return float(end)


def _named_levels(edit: Mapping[str, Any], shape: Shape) -> tuple[str, ...] | None:
    """The levels that an edit names; None where it names none."""
    if edit.get("levels") is None:
        return None
    levels, known = tuple(map(str, edit["levels"])), list(map(str, shape.levels or []))
    unknown = [level for level in levels if level not in known]
    if unknown or not known:
        raise _refused(edit, f"name some of the levels {', '.join(known) or '(none)'}; got {unknown[:1]}")
    return levels


class EditedColumn(NamedTuple):
    """A column on the way through its edits."""

    shape: Shape
    frozen: tuple = ()
    """Regions that may not change any more."""

    @property
    def line(self) -> BrokenLine:
        """The shape of a column of numbers."""
        return shape_line(self.shape)

    def with_line(self, line: BrokenLine) -> "EditedColumn":
        """The column with another line."""
        return self._replace(shape=self.shape._replace(knots=line.knots, values=line.values, steps=line.steps))

    def fill(self, region: ColumnRegion, value: float) -> "EditedColumn":
        """The column with one value in a region."""
        shape = self.shape
        only_missing = region.missing and region._replace(missing=False).is_everything
        if region.missing:
            shape = shape._replace(missing=float(value))
        if only_missing:
            return self._replace(shape=shape)
        if shape.knots is None:
            values = np.where(region.level_places(shape), float(value), shape.values)
            return self._replace(shape=shape._replace(values=values))
        return self._replace(shape=shape).with_line(splice(self.line, region.low, region.high, flat(value, self.line)))


def _refused(edit: Mapping[str, Any], must: str) -> InvalidValueError:
    name = edit.get("column")
    name = " × ".join(map(str, name)) if isinstance(name, (list, tuple)) else name
    return InvalidValueError(f"An edit ({edit.get('action')!r} of {name!r}) of a Scorecard must {must}.")


def _number(edit: Mapping[str, Any], field: str) -> float:
    value = edit.get(field)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise _refused(edit, f"have a finite number as its {field!r}; got {value!r}")
    return float(value)


# Actions


def _set(edit: dict[str, Any], column: EditedColumn, counts: ColumnCounts | None) -> EditedColumn:
    value = _number(edit, "value")
    if edit.get("at") is None:
        return column.fill(ColumnRegion.of(edit, column.shape), value)
    x, shape = _number(edit, "at"), column.shape
    if shape.knots is None:
        raise _refused(edit, "name 'levels' of a category, not a value 'at' which it is set")
    line = with_knot(column.line, x)
    return column.with_line(line._replace(values=np.where(line.knots == x, value, line.values)))


def _merge(edit: dict[str, Any], column: EditedColumn, counts: ColumnCounts | None) -> EditedColumn:
    region = ColumnRegion.of(edit, column.shape)
    if edit.get("value") is None:
        edit["value"] = region_mean(column, region, counts)
    return column.fill(region, _number(edit, "value"))


def region_mean(column: EditedColumn, region: ColumnRegion, counts: ColumnCounts | None) -> float:
    """The mean of a shape over the training rows of a region."""
    shape = column.shape
    if shape.knots is None:
        inside, values, weight = region.level_places(shape), shape.values, shape.share
    elif counts is not None:
        x = counts.centers
        inside, values, weight = (x >= region.low) & (x < region.high), column.line.at(x), counts.rows.sum(axis=0)
    else:
        inside = (shape.knots >= region.low) & (shape.knots < region.high)
        values, weight = shape.values, shape.share
    if inside.any() and weight[inside].sum() > 0.0:
        return float(np.average(values[inside], weights=weight[inside]))
    ends = np.clip([region.low, region.high], *(column.line.knots[[0, -1]] if shape.knots is not None else (0.0, 0.0)))
    return float(column.line.at(ends.mean())) if shape.knots is not None else float(shape.values[inside].mean())


def _cap(edit: dict[str, Any], column: EditedColumn, counts: ColumnCounts | None) -> EditedColumn:
    lower, upper = _limits(edit)
    shape, region = column.shape, ColumnRegion.of(edit, column.shape)
    if region.missing or region.is_everything:
        shape = shape._replace(missing=float(np.clip(shape.missing, lower, upper)))
    if shape.knots is None:
        values = np.where(region.level_places(shape), np.clip(shape.values, lower, upper), shape.values)
        return column._replace(shape=shape._replace(values=values))
    line = clipped(column.line, lower, upper)
    if not region.is_everything:
        line = splice(column.line, region.low, region.high, line)
    return column._replace(shape=shape).with_line(line)


def _limits(edit: dict[str, Any]) -> tuple[float, float]:
    lower = -np.inf if edit.get("lower") is None else _number(edit, "lower")
    upper = np.inf if edit.get("upper") is None else _number(edit, "upper")
    if not lower <= upper or (np.isinf(lower) and np.isinf(upper)):
        raise _refused(edit, f"have a 'lower' or an 'upper' limit, and lower <= upper; got {lower:g} and {upper:g}")
    return lower, upper


def _remove(edit: dict[str, Any], column: EditedColumn, counts: ColumnCounts | None) -> EditedColumn:
    region = ColumnRegion.of(edit, column.shape)
    if region.is_everything:
        column = column._replace(shape=column.shape._replace(missing=0.0))
    return column.fill(region, 0.0)


def _monotone(edit: dict[str, Any], column: EditedColumn, counts: ColumnCounts | None) -> EditedColumn:
    direction = edit.get("direction")
    if direction not in (1, -1) or isinstance(direction, bool):
        raise _refused(edit, f"have 1 (rising) or -1 (falling) as its 'direction'; got {direction!r}")
    if column.shape.knots is None:
        raise _refused(edit, "be of a column of numbers: levels have no order")
    line, weight = column.line, np.maximum(column.shape.share, 1e-6)
    values = isotonic_regression(line.values, sample_weight=weight, increasing=direction > 0)
    return column.with_line(line._replace(values=np.asarray(values, dtype=np.float64)))


def _freeze(edit: dict[str, Any], column: EditedColumn, counts: ColumnCounts | None) -> EditedColumn:
    """Keep the values of a region: later edits may not change them, and a model that learns on gets them back."""
    region = ColumnRegion.of(edit, column.shape)
    shape = column.shape
    if "kept" not in edit:
        kept: dict[str, Any] = {"values": shape.values.tolist(), "missing": float(shape.missing)}
        if shape.knots is not None:
            kept |= {"knots": column.line.knots.tolist(), "steps": column.line.steps.tolist()}
        edit["kept"] = kept
    kept = edit["kept"]
    if region.missing or region.is_everything:
        shape = shape._replace(missing=float(kept["missing"]))
    column = column._replace(shape=shape, frozen=(*column.frozen, region))
    if region.missing and region._replace(missing=False).is_everything:
        return column
    if shape.knots is None:
        values = np.where(region.level_places(shape), np.asarray(kept["values"], dtype=np.float64), shape.values)
        return column._replace(shape=shape._replace(values=values))
    kinds = (("knots", np.float64), ("values", np.float64), ("steps", np.bool_))
    old = BrokenLine(*(np.asarray(kept[field], dtype) for field, dtype in kinds))
    if np.array_equal(old.knots, shape.knots) and np.array_equal(old.values, shape.values):
        return column
    return column.with_line(splice(column.line, region.low, region.high, old))


ACTIONS: dict[str, Callable[[dict[str, Any], EditedColumn, ColumnCounts | None], EditedColumn]] = {
    "set": _set,
    "merge": _merge,
    "cap": _cap,
    "remove": _remove,
    "monotone": _monotone,
    "freeze": _freeze,
}
"""What each action does to a column."""

EDIT_FIELDS = {
    *("column", "action", "at", "low", "high", "levels", "missing", "value", "lower", "upper", "direction", "reason"),
    *("kept", "effect"),
}
"""What an edit may say."""


def check_edit(edit: Any) -> dict[str, Any]:
    """The edit as a dict of its own, where its fields and its action are known."""
    if not isinstance(edit, Mapping):
        raise InvalidValueError(f"An edit of a Scorecard must be a dict; got a {type(edit).__name__}.")
    unknown = sorted(set(map(str, edit)) - EDIT_FIELDS)
    if unknown:
        raise InvalidValueError(
            f"An edit of a Scorecard must have only the fields {', '.join(sorted(EDIT_FIELDS))}; got {unknown[0]!r}."
        )
    if edit.get("action") not in ACTIONS:
        raise InvalidValueError(
            f"The 'action' of an edit of a Scorecard must be one of {', '.join(ACTIONS)}; got {edit.get('action')!r}."
        )
    return {key: value for key, value in edit.items() if value is not None}


# All shapes of a card


def edited_shapes(
    shapes: Sequence[Shape | PairShape], counts: CardCounts | None, edits: Sequence[dict[str, Any]]
) -> list[Shape | PairShape]:
    """The shapes after all edits, in their order; edits learn the values that they keep."""
    places = {_joined_name(shape.name): k for k, shape in enumerate(shapes)}
    state: dict[int, Any] = {}
    for edit in edits:
        name = _joined_name(edit.get("column"))
        if name not in places:
            raise InvalidValueError(
                f"The 'column' of an edit of a Scorecard must be one of {', '.join(places)}; got {name!r}."
            )
        k = places[name]
        shape = shapes[k]
        if isinstance(shape, PairShape):
            state[k] = _edited_pair(edit, state.get(k, shape))
        else:
            column = state.get(k, EditedColumn(shape))
            state[k] = _edited_column(edit, column, None if counts is None else counts.columns[k])
    out = list(shapes)
    for k, each in state.items():
        out[k] = _refreshed(each.shape if isinstance(each, EditedColumn) else each, shapes[k], counts, k)
    return out


def _joined_name(name: Any) -> str:
    """The name of a column, or those of a pair of columns."""
    return " × ".join(map(str, name)) if isinstance(name, (list, tuple)) else str(name)


def _edited_column(edit: dict[str, Any], column: EditedColumn, counts: ColumnCounts | None) -> EditedColumn:
    new = ACTIONS[edit["action"]](edit, column, counts)
    for region in column.frozen:
        if not _same_in(region, column, new):
            raise _refused(edit, "leave alone what an earlier edit has frozen")
    return new


def _same_in(region: ColumnRegion, old: EditedColumn, new: EditedColumn) -> bool:
    """Whether a region has the same values in both."""
    if (region.missing or region.is_everything) and old.shape.missing != new.shape.missing:
        return False
    if old.shape.knots is None:
        inside = region.level_places(old.shape)
        return np.array_equal(old.shape.values[inside], new.shape.values[inside])
    x = np.concatenate([old.line.knots, new.line.knots])
    x = x[(x >= region.low) & (x < region.high)]
    return bool(np.all(np.abs(old.line.at(x) - new.line.at(x)) <= FROZEN_TOLERANCE * (1.0 + np.abs(old.line.at(x)))))


def _edited_pair(edit: dict[str, Any], pair: PairShape) -> PairShape:
    if edit["action"] == "remove":
        return pair._replace(values=np.zeros_like(pair.values), error=None)
    if edit["action"] == "cap":
        return pair._replace(values=np.clip(pair.values, *_limits(edit)))
    raise _refused(edit, "be 'remove' or 'cap' where it is of a pair of columns")


def _refreshed(shape: Any, old: Any, counts: CardCounts | None, k: int) -> Any:
    """The record of an edited shape, with the share of the rows at its knots and its spread over the rows."""
    if isinstance(shape, PairShape):
        centre = float((shape.share * shape.values).sum() / max(float(shape.share.sum()), 1e-300))
        spread = float((shape.share * (shape.values - centre) ** 2).sum())
        return shape._replace(importance=float(np.sqrt(max(spread, 0.0))))
    if shape.knots is None:
        return shape._replace(importance=_spread(shape.values, shape.share, shape.missing, old))
    line = shape_line(shape)
    x, weight = (old.knots, old.share) if counts is None else _rows_of(counts.columns[k])
    share = np.bincount(_nearest(shape.knots, x), weight, len(shape.knots))
    error = None if old.error is None else np.interp(shape.knots, old.knots, old.error)
    missing_share = 1.0 - float(weight.sum())
    spread = _spread(np.append(line.at(x), shape.missing), np.append(weight, missing_share), shape.missing, old)
    return shape._replace(share=share, error=error, importance=spread)


def _rows_of(counts: ColumnCounts) -> tuple[np.ndarray, np.ndarray]:
    """The centres of narrow bins, and the share of all rows in each."""
    rows = counts.rows.sum(axis=0)
    return counts.centers, rows / max(float(rows.sum() + counts.missing.sum()), 1e-300)


def _nearest(knots: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.searchsorted(0.5 * (knots[1:] + knots[:-1]), x, side="right")


def _spread(values: np.ndarray, weight: np.ndarray, missing: float, old: Shape) -> float:
    weight = np.maximum(weight, 0.0)
    if weight.sum() <= 0.0:
        return old.importance
    return float(np.sqrt(np.average((values - np.average(values, weights=weight)) ** 2, weights=weight)))


def edited_card(card: Card, shapes: Sequence[Shape | PairShape]) -> Card:
    """The card of edited shapes: kernels score with it. Slots of changed columns have no coefficients."""
    basis, d = card.basis, len(card.missing)
    columns = [shape for shape in shapes[:d] if isinstance(shape, Shape)]
    sizes = [len(shape.values) for shape in columns]
    first = np.cumsum([0, *sizes]).astype(np.int64)
    knots, step = np.zeros(first[-1]), np.zeros(first[-1], dtype=bool)
    place, coarse_slot = np.full(first[-1], -1, dtype=np.int64), np.zeros(first[-1], dtype=np.int64)
    for j, shape in enumerate(columns):
        new, old = slice(first[j], first[j + 1]), slice(basis.first[j], basis.first[j + 1])
        if shape.knots is not None:
            knots[new], step[new] = shape.knots, shape.steps
        if sizes[j] == basis.first[j + 1] - basis.first[j]:
            place[new], coarse_slot[new] = basis.place[old], basis.coarse_slot[old]
    grids = [shape.values.ravel() for shape in shapes[d:]]
    return Card(
        basis._replace(first=first, knots=knots, step=step, place=place, coarse_slot=coarse_slot),
        np.concatenate([shape.values for shape in columns]).astype(np.float64),
        np.array([shape.missing for shape in columns], dtype=np.float64),
        np.concatenate(grids).astype(np.float64) if grids else np.zeros(0),
    )
