"""The rows of a table as candidates want them: scaled for some, plain, some missing, for others."""

from typing import Any, NamedTuple

import numpy as np

from auclid.columns import Columns
from auclid.data import as_array


class Rows(NamedTuple):
    """The same rows twice."""

    scaled: Any
    """Numbers that can be compared, none missing: an array, or a CSR matrix."""
    plain: Any
    """Numbers as they came, missing ones too, then the number of each category's level; not yet dense where sparse."""
    categories: tuple[int, ...] = ()
    """Which columns of ``plain`` hold levels."""

    def part(self, index: Any) -> "Rows":
        """Some of the rows."""
        return Rows(self.scaled[index], self.plain[index], self.categories)


def rows_of(columns: Columns, X: Any) -> Rows:
    """The `Rows` of a checked table; those that were made of it before are themselves."""
    if isinstance(X, Rows):
        return X
    numbers, codes = columns._parts(X)
    scaled = columns._apply(numbers, codes)
    if not codes:
        return Rows(scaled, numbers)
    levels = np.column_stack([np.where(code < 0, np.nan, code) for code in codes]).astype(numbers.dtype, copy=False)
    plain = np.column_stack([as_array(numbers), levels])
    return Rows(scaled, plain, tuple(range(plain.shape[1] - len(codes), plain.shape[1])))


def dense(X: Any) -> np.ndarray:
    """Plain rows as an array, since trees want them so."""
    return np.ascontiguousarray(as_array(X))
