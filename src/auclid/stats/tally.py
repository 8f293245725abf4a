"""How often each text of a column comes, from parts that add up, though the list of texts grows from part to part."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid.data.dataset import Part, Totals


class Tally(NamedTuple):
    """Rows and weight of missing texts (entry 0) and of each place in a list of texts (entry place + 1).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.tally import tally
    >>> (tally(np.array([0.0, np.nan, 0.0])) + tally(np.array([2.0]))).rows
    array([1, 2, 0, 1])
    """

    rows: np.ndarray
    mass: np.ndarray

    def __add__(self, other: Any) -> "Tally":
        return Tally(*(_together(a, b) for a, b in zip(self, other, strict=True)))

    def known(self, count: int) -> np.ndarray:
        """The rows of the first ``count`` places: those of a list may be more than were met here."""
        return _together(self.rows, np.zeros(count + 1, dtype=np.intp))[1:]


def _together(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of two lists, of which the shorter goes on with zeros."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    out = longer.copy()
    out[: len(shorter)] += shorter
    return out


def entries(places: np.ndarray) -> np.ndarray:
    """The entries of places in a list, NaN where one is missing."""
    return np.where(np.isnan(places), 0.0, places + 1.0).astype(np.intp)


def tally(places: np.ndarray, weight: np.ndarray | None = None) -> Tally:
    """The `Tally` of places in a list of texts, NaN where one is missing."""
    at = entries(places)
    rows = np.bincount(at, minlength=1)
    mass = rows if weight is None else np.bincount(at, weight, minlength=1)
    return Tally(rows, mass.astype(np.float64))


def part_tallies(part: Part, columns: Sequence[int]) -> Totals:
    """The `Tally` of each of these columns, of the rows of a part that weigh something."""
    if part.weight is None:
        return Totals(tally(part.X[:, k]) for k in columns)
    used = part.weight > 0.0
    return Totals(tally(part.X[used, k], part.weight[used]) for k in columns)
