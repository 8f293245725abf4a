"""How a fitted scorecard is read: points, contributions, reasons, plots, a page."""

import os
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auclid import validation
from auclid._hints import listed
from auclid.additive._columns import cell_block
from auclid.additive._html import scorecard_page
from auclid.additive._plot import plot_shapes
from auclid.additive._points import Bin, Scale, as_frame, point_bins, row_points
from auclid.additive._shapes import OTHER, PairShape, Shape, card_contributions
from auclid.metrics._auc import checked_auc
from auclid.validation import labels_to_score, part_answers, partwise


class ReasonCode(NamedTuple):
    """A column (or a pair), the row's value in it, and what that adds to the score."""

    name: Any
    value: Any
    contribution: float

    def __str__(self) -> str:
        name = " × ".join(self.name) if isinstance(self.name, tuple) else self.name
        value = " × ".join(map(str, self.value)) if isinstance(self.value, tuple) else self.value
        return f"{name} = {value}: {self.contribution:+.3f}"


class Readable:
    """The methods of `Scorecard` that say why a score is what it is."""

    shapes_: list
    classes_: np.ndarray
    interactions_: list
    cv_auc_: float
    alpha_: float
    smooth_: float
    scale_: float = 50.0  # of files of older releases
    _card: Any
    _odds: Any
    _kept_columns: list
    _cells: Any
    decision_function: Any

    @partwise
    def contributions(self, X: Any) -> np.ndarray:
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

    def reasons(self, X: Any, n: int = 4, *, toward: Any = None) -> list[list[ReasonCode]]:
        """ReasonCode codes: the ``n`` columns and pairs that moved the score of each row most.

        Parameters
        ----------
        X : array, CSR matrix, frame, `Rows` or dask collection of shape (n, d)
        n : int of at least 1, default=4
        toward : one of ``classes_``, optional
            Only what speaks for this class, most first: ``classes_[0]`` gives what lowers the score.

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
        if toward is not None and toward not in self.classes_.tolist():
            raise ValueError(
                f"The 'toward' of Scorecard.reasons must be one of {self.classes_.tolist()}; got {toward!r}."
            )
        sign = 0 if toward is None else (1 if toward == self.classes_[1] else -1)
        parts = card_contributions(self._card, cells)
        places = largest_contributions(parts, int(n), sign)
        every = reasons_of(self.shapes_, cell_block(cells, slice(None)), parts, places)
        return [[reason for reason in row if sign * reason.contribution >= 0.0] for row in every]

    def points(
        self,
        scale: float | str = "auto",
        *,
        base: float = 600.0,
        odds: float = 50.0,
        whole: bool = True,
        path: Any = None,
    ) -> Any:
        """The scorecard as a table of bins and points: the points of a row are those of its bins, added up.

        points = base + scale · log2(odds of the row / odds), the odds being those of `predict_proba`. A numeric column
        has a bin for each stretch of values that rounds to the same points, so that rounding is all that is lost; a
        pair of columns has a line for each node of its grid, and points between nodes are interpolated, then rounded.

        Parameters
        ----------
        scale : float in (0, inf) or "auto", default="auto"
            Points that double the odds of ``classes_[1]``. "auto": 50, or 100, 200 and so on where there are so many
            columns that rounding each to whole points would blur the ranking; ``scale_`` holds it.
        base : float, default=600
            Points of a row with the odds ``odds``.
        odds : float in (0, inf), default=50
        whole : bool, default=True
            Whether points are rounded to whole numbers. If not, a numeric column has a line for each knot.
        path : str or path-like, optional
            A csv file to write the table to as well.

        Returns
        -------
        frame of pandas with the columns ``column``, ``bin``, ``low``, ``high``, ``points``
        """
        validation.fitted(self, "shapes_")
        frame = as_frame(point_bins(self.shapes_, self._odds, self._scale(scale, base, odds, whole)), bool(whole))
        if path is not None:
            frame.to_csv(path, index=False)
        return frame

    def point_bins(self, scale: float | str = "auto", *, names: Any = None) -> list[Bin]:
        """The lines of `points`, as records: for those without pandas.

        Parameters
        ----------
        scale : float in (0, inf) or "auto", default="auto"
        names : list of str, optional
            What to call the columns, where X had no names.

        Returns
        -------
        list of records ``column``, ``bin``, ``low``, ``high``, ``points``
        """
        validation.fitted(self, "shapes_")
        shapes = _renamed(self.shapes_, [column.name for column in self._kept_columns], names)
        return point_bins(shapes, self._odds, self._scale(scale, 600.0, 50.0, True))

    @partwise
    def total_points(
        self, X: Any, scale: float | str = "auto", *, base: float = 600.0, odds: float = 50.0, whole: bool = True
    ) -> np.ndarray:
        """The points of each row, as `points` gives them with the same scale.

        Parameters
        ----------
        X : array, CSR matrix, frame, `Rows` or dask collection of shape (n, d)
            Of `Rows`, ``out=`` names a ``.npy`` file for the answer.
        scale, base, odds, whole :
            As for `points`.

        Returns
        -------
        array of shape (n,)
        """
        return row_points(self._card, self._cells(X), self._odds, self._scale(scale, base, odds, whole))

    def auc_lost(self, X: Any, y: Any, scale: float | str = "auto", *, sample_weight: Any = None) -> float:
        """How much lower the AUC of whole points is than that of the scores; negative where it is higher.

        Parameters
        ----------
        X : array, CSR matrix, frame, `Rows` or dask collection of shape (n, d)
        y : array of shape (n,), or None for the labels that `Rows` have of their own
        scale : float in (0, inf) or "auto", default="auto"
            Points that double the odds: the larger, the finer the points.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float
        """
        y, sample_weight = labels_to_score(self, X, y, sample_weight)
        exact = checked_auc("Scorecard.auc_lost", y, self.decision_function(X), sample_weight, self.classes_[1])
        whole = checked_auc("Scorecard.auc_lost", y, self.total_points(X, scale), sample_weight, self.classes_[1])
        return float(exact - whole)

    def _scale(self, scale: float | str, base: float, odds: float, whole: bool) -> Scale:
        scale = self.scale_ if isinstance(scale, str) and scale == "auto" else scale
        for name, value, low in (("scale", scale, 0.0), ("base", base, -np.inf), ("odds", odds, 0.0)):
            if not isinstance(value, Real) or isinstance(value, bool) or not low < value < np.inf:
                raise ValueError(
                    f"The '{name}' of Scorecard.points must be a float in ({low}, inf). Got {value!r} instead."
                )
        return Scale(float(scale), float(base), float(odds), bool(whole))

    def plot(self, *, axes: Any = None, most: int | None = 12) -> Any:
        """Draw the shapes: one panel a column or pair, the most important first, with a 95 % band.

        Grey bars show where the training rows are, a dotted line what a missing cell adds; pairs are heat maps. Drawn
        by matplotlib (``pip install 'auclid[plot]'``).

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
        return plot_shapes(self.shapes_, axes, most)

    def to_html(
        self,
        path: Any = None,
        *,
        title: str = "Scorecard",
        names: Any = None,
        classes: Any = None,
        facts: Any = (),
        scale: float | str = "auto",
    ) -> str:
        """The scorecard as one self-contained HTML page: shapes, points, and how it was chosen.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write.
        title : str, default="Scorecard"
        names : list of str, optional
            What to call the columns, where X had no names.
        classes : the two labels, optional
            What to call ``classes_``, where y was coded.
        facts : list of str, optional
            More lines for the head of the page.
        scale : float in (0, inf) or "auto", default="auto"
            Points that double the odds.

        Returns
        -------
        str
        """
        validation.fitted(self, "shapes_")
        shapes = _renamed(self.shapes_, [column.name for column in self._kept_columns], names)
        bins = self.point_bins(scale, names=names)
        no, yes = _as_many("classes", classes, self.classes_.tolist())
        doubles = self._scale(scale, 600.0, 50.0, True).scale
        own = [
            f"{len(self._kept_columns)} columns, {len(self.interactions_)} pairs; "
            f"ridge {self.alpha_:.3g}, smoothness {self.smooth_:.3g}.",
            f"The more points, the likelier {yes} against {no}: 600 points are odds of 50 to one, and {doubles:g} more "
            "double them.",
        ]
        if np.isfinite(self.cv_auc_):
            own.insert(1, f"Cross-validated AUC {self.cv_auc_:.4f}.")
        page = scorecard_page(title, [*own, *facts], shapes, bins)
        if path is not None:
            Path(os.fspath(path)).write_text(page, encoding="utf-8")
        return page


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


def _renamed(shapes: list, old: list[str], names: Any) -> list:
    """Shapes with other names for their columns."""
    if names is None:
        return shapes
    new = dict(zip(old, _as_many("names", names, old), strict=True))
    return [
        shape._replace(name=tuple(map(new.get, shape.name)) if isinstance(shape.name, tuple) else new[shape.name])
        for shape in shapes
    ]


def _as_many(what: str, given: Any, old: list) -> list:
    """Other names, one for each of the old ones; None: the old ones."""
    names = old if given is None else [given] if isinstance(given, str) else list(given)
    if len(names) != len(old):
        raise ValueError(
            f"The '{what}' of a page of Scorecard must be {len(old)}, one for each of {listed(old)}. "
            f"Got {len(names)} instead."
        )
    return names


def _positive(name: str, method: str, value: Any) -> None:
    """Refuse what is no count."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"The '{name}' of Scorecard.{method} must be an int of at least 1. Got {value!r} instead.")
