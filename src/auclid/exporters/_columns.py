"""Transformers as expressions: one for each column that comes out."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from auclid.columns import Columns
from auclid.columns._dates import PERIODS
from auclid.columns._levels import Levels
from auclid.columns._numbers import NormalScores, NumericScaling, SparseScaling
from auclid.exporters.expression import (
    ColumnRef,
    Expression,
    Lookup,
    Piece,
    Piecewise,
    Wave,
    affine,
    filled,
    interpolated,
)

Features = list[Expression]


def parsed_numbers(columns: Columns, inputs: Sequence[Expression]) -> Features:
    """The numbers that `Columns` makes of a table, missing ones too: dates are days and waves."""
    out: Features = []
    for k, x in enumerate(inputs):
        if k in columns._levels:
            continue
        out.append(x)
        for period in columns._periods.get(k, []):
            out += [Wave(x, PERIODS[period], cosine) for cosine in (False, True)]
    return out


def level_codes(columns: Columns, inputs: Sequence[Expression]) -> list[Lookup]:
    """The number of the output column of each category, missing where it has none."""
    return [_codes(each, inputs[k]) for k, each in columns._levels.items()]


def _codes(levels: Levels, x: Any) -> Lookup:
    count, nothing = len(levels.levels), float("nan")
    known = tuple((level, float(k)) for k, level in enumerate(levels.levels))
    other = float(count) if levels.rare else nothing
    missing = float(count + levels.rare) if levels.missing else nothing
    return Lookup(x, known, other, missing)


def columns_features(columns: Columns, inputs: Sequence[Expression]) -> Features:
    """What `Columns.transform` gives."""
    numbers, out = parsed_numbers(columns, inputs), []
    learnt = columns._numbers
    if isinstance(learnt, NumericScaling):
        ranks = dict(zip(learnt.ranked.tolist(), learnt.grids, strict=True))
        out += [_scaled(x, learnt, k, ranks.get(k)) for k, x in enumerate(numbers)]
    elif isinstance(learnt, SparseScaling):
        out += [_filled_and_divided(x, learnt, k) for k, x in enumerate(numbers)]
    if learnt is not None:
        out += [_mark(numbers[k]) for k in learnt.marked.tolist()]
    for code, levels in zip(level_codes(columns, inputs), columns._levels.values(), strict=True):
        out += [_indicator(code, float(k)) for k in range(levels.width)]
    return out


def _mark(x: Expression) -> Expression:
    """1 where a value is missing."""
    return Piecewise(x, (), (Piece(0.0, 0.0, 0.0),), 1.0)


def _indicator(code: Lookup, wanted: float) -> Lookup:
    """1 where the code is this one."""
    levels = tuple((level, float(value == wanted)) for level, value in code.levels)
    return Lookup(code.x, levels, float(code.other == wanted), float(code.missing == wanted))


def _scaled(x: Expression, learnt: NumericScaling, k: int, grid: NormalScores | None) -> Expression:
    """A number that is filled, ranked where its column is, clipped and standardised."""
    size, low, high = float(learnt.size[k]), float(learnt.low[k]), float(learnt.high[k])
    median = float(learnt.median[k]) / size
    if grid is None:
        curve = _clipped(x, size, low, high)
        at_median = float(np.clip(median, low, high))
    else:
        scores = np.clip(grid.scores, low, high)
        curve = interpolated(x, [size * float(value) for value in grid.values], scores.tolist(), float("nan"))
        at_median = float(np.clip(np.interp(median, grid.values, grid.scores), low, high))
    shift, spread = float(learnt.middle[k]), float(learnt.spread[k])
    return affine(filled(curve, at_median), 1.0 / spread, -shift / spread)


def _clipped(x: Expression, size: float, low: float, high: float) -> Piecewise:
    """x/size, kept between low and high."""
    inner = Piece(0.0, 0.0, 1.0 / size)
    if not np.isfinite([low * size, high * size]).all() or low >= high:
        return Piecewise(x, (), (inner if low < high else Piece(0.0, low, 0.0),), float("nan"))
    ends = Piece(0.0, low, 0.0), Piece(0.0, high, 0.0)
    return Piecewise(x, (low * size, high * size), (ends[0], inner, ends[1]), float("nan"))


def _filled_and_divided(x: Expression, learnt: SparseScaling, k: int) -> Expression:
    return affine(filled(x, float(learnt.median[k])), 1.0 / float(learnt.size[k]))


# Transformers of scikit-learn


def _divided(inputs: Sequence[Expression], scale: np.ndarray | None, centre: np.ndarray | None = None) -> Features:
    """(x − centre) / scale of each input; None: 1 and 0."""
    scales = [1.0] * len(inputs) if scale is None else scale.tolist()
    centres = [0.0] * len(inputs) if centre is None else centre.tolist()
    return [affine(x, 1.0 / s, -c / s) for x, s, c in zip(inputs, scales, centres, strict=True)]


def _standard(step: StandardScaler, inputs: Sequence[Expression]) -> Features:
    return _divided(inputs, step.scale_, step.mean_ if step.with_mean else None)


def _min_max(step: MinMaxScaler, inputs: Sequence[Expression]) -> Features:
    low, high = step.feature_range if step.clip else (-np.inf, np.inf)
    scaled = [affine(x, s, m) for x, s, m in zip(inputs, step.scale_.tolist(), step.min_.tolist(), strict=True)]
    return [_clipped(x, 1.0, float(low), float(high)) for x in scaled] if step.clip else scaled


def _max_abs(step: MaxAbsScaler, inputs: Sequence[Expression]) -> Features:
    return _divided(inputs, step.scale_)


def _robust(step: RobustScaler, inputs: Sequence[Expression]) -> Features:
    return _divided(inputs, step.scale_ if step.with_scaling else None, step.center_ if step.with_centering else None)


def _imputed(step: SimpleImputer, inputs: Sequence[Expression]) -> Features:
    values = np.asarray(step.statistics_, dtype=np.float64)
    kept = [(x, v) for x, v in zip(inputs, values.tolist(), strict=True) if v == v]
    return [filled(x, value) for x, value in kept]


TRANSFORMERS: dict[type, Callable[[Any, Sequence[Expression]], Features]] = {
    Columns: columns_features,
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    RobustScaler: _robust,
    SimpleImputer: _imputed,
}
"""Transformers that can be exported."""


def input_columns(columns: Columns, names: Sequence[str]) -> list[ColumnRef]:
    """The columns of the table as `Columns` reads them."""
    return [
        ColumnRef(name, _kind(kind, k in columns._levels))
        for k, (name, kind) in enumerate(zip(names, columns.kinds_, strict=True))
    ]


def _kind(kind: str, levelled: bool) -> str:
    return "text" if levelled else "date" if kind == "date" else "number"
