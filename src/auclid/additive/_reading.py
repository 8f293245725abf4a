"""How a fitted scorecard is read: contributions, reasons, plots."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid import validation
from auclid.additive._columns import cell_block
from auclid.additive._shapes import OTHER, PairShape, Shape, card_contributions
from auclid.data.types import OutputFile, RowsLike
from auclid.plot._shapes import panels
from auclid.validation import part_answers, partwise


def _format_cell(value: Any) -> str:
    """A cell as a line of reasons shows it: numbers to six digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class ReasonCode(NamedTuple):
    """A column (or a pair), the row's value in it, and what that adds to the score."""

    name: Any
    value: Any
    contribution: float

    def __str__(self) -> str:
        name = " × ".join(self.name) if isinstance(self.name, tuple) else self.name
        value = " × ".join(map(_format_cell, self.value)) if isinstance(self.value, tuple) else _format_cell(self.value)
        return f"{name} = {value}: {self.contribution:+.3f}"


class Readable:
    """The methods of `Scorecard` that say why a score is what it is."""

    shapes_: list
    classes_: np.ndarray
    _card: Any
    _counts: Any
    _cells: Any
    _order_ranker: Any

    @partwise
    def contributions(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
        """What each column, then each pair, adds to the score of each row: rows sum to the score less ``intercept_``.

        Parameters
        ----------
        X : array, CSR matrix, frame, `Rows` or dask collection of shape (n, d)
            Of `Rows`, ``out=`` names a ``.npy`` file for the answer, where memory would not hold it.

        Returns
        -------
        array of shape (n, len(shapes_))
        """
        cells = self._cells(X)
        return card_contributions(self._card, cells)

    def reasons(self, X: RowsLike, n: int = 4, *, toward: Any = None) -> list[list[ReasonCode]]:
        """ReasonCode codes: the ``n`` columns and pairs that moved the score of each row most.

        Parameters
        ----------
        X : array, CSR matrix, frame, `Rows` or dask collection of shape (n, d)
        n : int of at least 1, default=4
        toward : one of ``classes_``, optional
            Only what speaks for this class, most first: ``classes_[0]`` gives what lowers the score. Of ordered rows,
            "higher" or "lower".

        Returns
        -------
        list of lists of records ``name``, ``value``, ``contribution``; their str is a line to print

        Examples
        --------
        >>> from auclid import Scorecard
        >>> from auclid.datasets import load_mammography
        >>> X, y = load_mammography(return_X_y=True)
        >>> model = Scorecard(interactions=0).fit(X, y)
        >>> [len(reasons) for reasons in model.reasons(X[:3], n=2)]
        [2, 2, 2]
        """
        return [row for part in part_answers(self, X, Readable._reasons, n, toward) for row in part]

    def _reasons(self, X: Any, n: int, toward: Any) -> list[list[ReasonCode]]:
        """`reasons` of rows in memory."""
        cells = self._cells(X)
        _positive("n", "reasons", n)
        classes = self.classes_.tolist() if self._order_ranker is None else ["lower", "higher"]
        if toward is not None and toward not in classes:
            raise ValueError(f"The 'toward' of Scorecard.reasons must be one of {classes}; got {toward!r}.")
        sign = 0 if toward is None else (1 if toward == classes[1] else -1)
        parts = card_contributions(self._card, cells)
        places = largest_contributions(parts, int(n), sign)
        every = reasons_of(self.shapes_, cell_block(cells, slice(None)), parts, places)
        return [[reason for reason in row if sign * reason.contribution >= 0.0] for row in every]

    def plot(self, *, axes: Any = None, most: int | None = 12) -> Any:
        """Draw the shapes: one panel a column or pair, the most important first, with a 95 % band.

        The axis shows the central 98 % of the training rows, on a scale that spreads heavy tails. Grey bars are rates
        of positives (right axis), ticks at the foot show where rows lie, a dotted line what a missing cell adds; pairs
        are heat maps. Drawn by matplotlib (``pip install 'auclid[plot]'``).

        Parameters
        ----------
        axes : array of matplotlib axes, optional
            Where to draw; None: a new figure.
        most : int or None, default=12
            Panels at the most; None: all.

        Returns
        -------
        array of matplotlib axes
        """
        validation.fitted(self, "shapes_")
        if most is not None:
            _positive("most", "plot", most)
        return panels(self.shapes_, axes, most, self._counts)


def largest_contributions(contributions: np.ndarray, n: int, sign: int) -> np.ndarray:
    """The places of the n largest contributions of each row: by size (0), of those that raise (1) or lower (-1) it."""
    key = np.abs(contributions) if sign == 0 else sign * contributions
    return np.argsort(-key, axis=1, kind="stable")[:, :n]


def reasons_of(
    shapes: Sequence[Shape | PairShape], cells: np.ndarray, contributions: np.ndarray, places: np.ndarray
) -> list[list[ReasonCode]]:
    """The records of these places; of columns that add exactly nothing there are none."""
    number = {shape.name: k for k, shape in enumerate(shapes)}

    def value(row: np.ndarray, k: int) -> Any:
        shape = shapes[k]
        if isinstance(shape, PairShape):
            return tuple(_value(shapes[number[name]], row[number[name]]) for name in shape.name)
        return _value(shape, row[k])

    return [
        [ReasonCode(shapes[k].name, value(cells[i], k), float(contributions[i, k])) for k in at if contributions[i, k]]
        for i, at in enumerate(places)
    ]


def _value(shape: Shape | PairShape, cell: float) -> Any:
    if np.isnan(cell):
        return "missing"
    if shape.levels is not None:
        return shape.levels[int(cell)] if int(cell) < len(shape.levels) else OTHER
    if shape.kind == "date":
        return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(cell)), "D"))
    return bool(cell) if shape.kind == "bool" else float(cell)


def _positive(name: str, method: str, value: Any) -> None:
    """Refuse what is no count."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"The '{name}' of Scorecard.{method} must be an int of at least 1. Got {value!r} instead.")
