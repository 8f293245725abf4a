"""How a fitted scorecard is handed over: as a table of points, and as a page."""

import os
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import estimator_html_repr

from auclid import validation
from auclid._hints import listed
from auclid._page import framed
from auclid.additive._binning import BinLimits, BinnedCard, binned_card
from auclid.additive._html import scorecard_page
from auclid.additive._points import Bin, Scale, as_frame, binned_lines, binned_row_points, point_bins, row_points
from auclid.errors import InvalidValueError
from auclid.metrics._auc import checked_auc
from auclid.validation import labels_to_score, partwise

USUAL_BINS = 8
"""Bins of a column where "auto" finds them to be enough."""

MOST_BINS = 24
"""Bins of a column that "auto" allows where the usual ones would lose too much of the AUC."""

CARD_LINES = 120
"""Lines of a card of at most 20 columns, pairs included; of more columns, `LINES_PER_COLUMN` each."""

LINES_PER_COLUMN = 6

MIN_BIN_ROWS = 5
"""Rows that a bin must have, however few there are in all."""

MAX_AUC_LOST = 0.0002
"""The estimated loss of AUC below which no more bins are made."""

COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
"""Endings of files that pandas compresses."""


class BinSettings(NamedTuple):
    """How bins are made: as `Scorecard.points` takes it."""

    max_bins: int | str | None = "auto"
    min_share: float = 0.002
    max_auc_lost: float = MAX_AUC_LOST
    max_lines: int | str = "auto"


class PointTable:
    """The methods of `Scorecard` that make points of it."""

    shapes_: list
    classes_: np.ndarray
    interactions_: list
    cv_auc_: float
    alpha_: float
    smooth_: float
    scale_: float = 50.0  # of files of older releases
    _counts: Any = None
    _card: Any
    _odds: Any
    _kept_columns: list
    _cells: Any
    _order_ranker: Any
    decision_function: Any

    def points(
        self,
        scale: float | str = "auto",
        *,
        base: float = 600.0,
        odds: float | str = "auto",
        max_bins: int | str | None = "auto",
        higher: str = "riskier",
        min_share: float = 0.002,
        max_auc_lost: float = MAX_AUC_LOST,
        max_lines: int | str = "auto",
        whole: bool = True,
        path: Any = None,
    ) -> Any:
        """The scorecard as a table of bins and points: the points of a row are those of its bins, added up.

        points = base + scale · log2(odds of the row / odds), the odds being those of `predict_proba`; of ordered rows,
        those that the row is ranked above one of mean score: the ratio of hazards, if these are proportional. Each
        shape is cut into few bins: edges are round numbers, whole ones for columns of whole numbers, and bins go where
        one more lowers the loss of AUC most. The values of a bin are the mean of the shape over its training rows, so
        points do not run on beyond the data. A pair of columns is cut into rectangles. Columns and pairs that hardly
        add anything have no line.

        Parameters
        ----------
        scale : float in (0, inf) or "auto", default="auto"
            Points that double the odds. "auto": 50, or 100, 200 and so on where there are so many columns that rounding
            each to whole points would blur the ranking; ``scale_`` holds it.
        base : float, default=600
            Points of a row with the odds ``odds``.
        odds : float in (0, inf) or "auto", default="auto"
            "auto": 50; of ordered rows 1, so that a row of mean score has ``base`` points.
        max_bins : int of at least 1, "auto" or None, default="auto"
            Bins of a column or pair, at the most. "auto": 8, and where more than ``max_auc_lost`` would be lost, up to
            24 for some. None: a bin for each stretch of values that rounds to the same points, and a line for each node
            of the grid of a pair: rounding is all that is lost.
        higher : "riskier" or "safer", default="riskier"
            Whether points rise with the odds of ``classes_[1]``, or with those of ``classes_[0]``.
        min_share : float in [0, 0.5], default=0.002
            The share of the training rows that a bin must have, both classes counting alike; and at least five rows.
        max_auc_lost : float of at least 0, default=0.0002
            No more bins are made once the loss of AUC is estimated to be below this. The estimate takes the scores of
            both classes to be normal; `auc_lost` measures the loss on rows.
        max_lines : int of at least 2 or "auto", default="auto"
            Lines of the table, at the most; a column with missing cells has two at least. "auto": 120, or 6 a column
            where that is more, if ``max_bins`` is "auto" too; else as many as the columns ask for. Many smooth pairs of
            columns do not fit in 120 lines: give more, or fit with ``interactions=0``.
        whole : bool, default=True
            Whether points are rounded to whole numbers. If not, and without bins, a numeric column has a line a knot.
        path : str or path-like, optional
            A csv file to write the table to as well: its name ends in .csv or .txt, perhaps compressed, as in .csv.gz,
            or has no ending.

        Returns
        -------
        frame of pandas with the columns ``column``, ``bin``, ``low``, ``high``, ``points``; and of bins, from the
        training rows, ``rows``, ``positives``, ``rate``, ``woe`` and ``iv``: the weight of the rows and of those of
        ``classes_[1]``, their share, the weight of evidence and the part of the column's information value. Rows of a
        bin have ``low`` <= x < ``high``. ``attrs["auc_lost"]`` is the estimated loss of AUC.

        Examples
        --------
        >>> from auclid import Scorecard
        >>> from auclid.datasets import load_mammography
        >>> X, y = load_mammography(return_X_y=True)
        >>> model = Scorecard(interactions=0).fit(X, y)
        >>> table = model.points(max_bins=5, higher="safer")
        >>> int(table.groupby("column").size().max())
        5
        """
        _check_path(path)
        table = self._table(scale, base, odds, whole, higher, BinSettings(max_bins, min_share, max_auc_lost, max_lines))
        frame = as_frame(table.lines(self.shapes_), bool(whole), table.binned is not None)
        frame.attrs["auc_lost"] = 0.0 if table.binned is None else table.binned.auc_lost
        if path is not None:
            frame.to_csv(path, index=False)
        return frame

    def point_bins(
        self,
        scale: float | str = "auto",
        *,
        base: float = 600.0,
        odds: float | str = "auto",
        max_bins: int | str | None = "auto",
        max_lines: int | str = "auto",
        higher: str = "riskier",
        names: Any = None,
    ) -> list[Bin]:
        """The lines of `points`, as records: for those without pandas.

        Parameters
        ----------
        scale, base, odds, max_bins, max_lines, higher :
            As for `points`.
        names : list of str, optional
            What to call the columns, where X had no names.

        Returns
        -------
        list of records ``column``, ``bin``, ``low``, ``high``, ``points``, ``rows``, ``positives``, ``rate``, ``woe``,
        ``iv``
        """
        table = self._table(scale, base, odds, True, higher, BinSettings(max_bins, max_lines=max_lines))
        return table.lines(renamed(self.shapes_, [column.name for column in self._kept_columns], names))

    @partwise
    def total_points(
        self,
        X: Any,
        scale: float | str = "auto",
        *,
        base: float = 600.0,
        odds: float | str = "auto",
        max_bins: int | str | None = "auto",
        higher: str = "riskier",
        min_share: float = 0.002,
        max_auc_lost: float = MAX_AUC_LOST,
        max_lines: int | str = "auto",
        whole: bool = True,
    ) -> np.ndarray:
        """The points of each row, as `points` gives them with the same parameters.

        Parameters
        ----------
        X : array, CSR matrix, frame, `Rows` or dask collection of shape (n, d)
            Of `Rows`, ``out=`` names a ``.npy`` file for the answer.
        scale, base, odds, max_bins, higher, min_share, max_auc_lost, max_lines, whole :
            As for `points`.

        Returns
        -------
        array of shape (n,)
        """
        table = self._table(scale, base, odds, whole, higher, BinSettings(max_bins, min_share, max_auc_lost, max_lines))
        return table.row_points(self._cells(X))

    def auc_lost(
        self,
        X: Any,
        y: Any,
        scale: float | str = "auto",
        *,
        max_bins: int | str | None = "auto",
        max_lines: int | str = "auto",
        sample_weight: Any = None,
        groups: Any = None,
    ) -> float:
        """How much lower the AUC of the points is than that of the scores, of ordered rows the concordance.

        Negative where it is higher.

        Parameters
        ----------
        X : array, CSR matrix, frame, `Rows` or dask collection of shape (n, d)
        y : array of shape (n,), or None for the labels that `Rows` have of their own
        scale : float in (0, inf) or "auto", default="auto"
            Points that double the odds: the larger, the finer the points.
        max_bins : int of at least 1, "auto" or None, default="auto"
            As for `points`; None: what rounding to whole points alone loses.
        max_lines : int of at least 2 or "auto", default="auto"
            As for `points`.
        sample_weight : array of shape (n,), optional
        groups : array of shape (n,), optional
            For a ranker of ordered rows: only rows of one group are compared.

        Returns
        -------
        float
        """
        y, sample_weight = labels_to_score(self, X, y, sample_weight)
        points = self.total_points(X, scale, max_bins=max_bins, max_lines=max_lines)
        ranker, scores = self._order_ranker, self.decision_function(X)
        if ranker is not None:
            exact, whole = (ranker._concordance(each, y, groups, sample_weight) for each in (scores, points))
        else:
            more = sample_weight, self.classes_[1]
            exact, whole = (checked_auc("Scorecard.auc_lost", y, each, *more) for each in (scores, points))
        return float(exact - whole)

    def _table(
        self, scale: float | str, base: float, odds: float | str, whole: bool, higher: str, bins: BinSettings
    ) -> "_Table":
        """What makes lines and the points of rows with these parameters."""
        validation.fitted(self, "shapes_")
        in_points = self._scale(scale, base, odds, whole, higher)
        return _Table(self._card, self._odds, in_points, self._binned(bins))

    def _binned(self, settings: BinSettings) -> BinnedCard | None:
        """The card of few bins; None where there are to be as many as whole points, or rows were not counted."""
        check_bins(settings)
        if settings.max_bins is None or self._counts is None:
            return None
        rows = sum(float(each.sum()) for each in (self._counts.columns[0].rows, self._counts.columns[0].missing))
        share = max(float(settings.min_share), MIN_BIN_ROWS / max(rows, 1.0))
        bound = float(settings.max_auc_lost)
        most = self._most_lines(settings) - 1  # and the base
        if settings.max_bins != "auto":
            return binned_card(self._card, self._counts, BinLimits(int(settings.max_bins), share, bound, most))
        usual = binned_card(self._card, self._counts, BinLimits(USUAL_BINS, share, bound, most))
        if usual.auc_lost <= bound:
            return usual
        return binned_card(self._card, self._counts, BinLimits(MOST_BINS, share, bound, most))

    def _most_lines(self, settings: BinSettings) -> float:
        """Lines of the table, at the most."""
        if settings.max_lines != "auto":
            return float(settings.max_lines)
        return max(CARD_LINES, LINES_PER_COLUMN * len(self._kept_columns)) if settings.max_bins == "auto" else np.inf

    def _scale(self, scale: float | str, base: float, odds: float | str, whole: bool, higher: str) -> Scale:
        given: Any = self.scale_ if isinstance(scale, str) and scale == "auto" else scale
        usual = 50.0 if self._order_ranker is None else 1.0
        to_one: Any = usual if isinstance(odds, str) and odds == "auto" else odds
        for name, value, low in (("scale", given, 0.0), ("base", base, -np.inf), ("odds", to_one, 0.0)):
            if not _is_real(value) or not low < value < np.inf:
                raise _invalid(name, f"be a float in ({low}, inf)", value)
        if higher not in ("riskier", "safer"):
            raise _invalid("higher", "be 'riskier' or 'safer'", higher)
        return Scale(float(given), float(base), float(to_one), bool(whole), 1.0 if higher == "riskier" else -1.0)

    def to_html(
        self,
        path: Any = None,
        *,
        title: str = "Scorecard",
        names: Any = None,
        classes: Any = None,
        facts: Any = (),
        scale: float | str = "auto",
        base: float = 600.0,
        odds: float | str = "auto",
        max_bins: int | str | None = "auto",
        max_lines: int | str = "auto",
        higher: str = "riskier",
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
        scale, base, odds, max_bins, max_lines, higher :
            As for `points`.

        Returns
        -------
        str
        """
        validation.fitted(self, "shapes_")
        shapes = renamed(self.shapes_, [column.name for column in self._kept_columns], names)
        how: Any = {"base": base, "odds": odds, "max_bins": max_bins, "max_lines": max_lines, "higher": higher}
        bins = self.point_bins(scale, **how, names=names)
        labels = None if self._order_ranker is not None else _as_many("classes", classes, self.classes_.tolist())
        in_points = self._scale(scale, base, odds, True, higher)
        page = scorecard_page(title, [*self._facts(in_points, labels), *facts], shapes, bins, self._counts)
        if path is not None:
            Path(os.fspath(path)).write_text(page, encoding="utf-8")
        return page

    def _html_repr(self) -> str:
        """What notebooks show: scikit-learn's diagram, and below it the card once it is fitted."""
        diagram = estimator_html_repr(self)
        return diagram + framed("The scorecard", self.to_html()) if hasattr(self, "shapes_") else diagram

    def _facts(self, in_points: Scale, labels: list | None) -> list[str]:
        """What the head of the page says of the card."""
        out = [
            f"{len(self._kept_columns)} columns, {len(self.interactions_)} pairs; "
            f"ridge {self.alpha_:.3g}, smoothness {self.smooth_:.3g}.",
            _meaning_of_points(in_points, labels),
        ]
        if np.isfinite(self.cv_auc_):
            out.insert(1, f"Cross-validated {'AUC' if labels else 'concordance'} {self.cv_auc_:.4f}.")
        return out


def _meaning_of_points(in_points: Scale, labels: list | None) -> str:
    """What points say of a row: of one of two classes, or of an order where ``labels`` is None."""
    base, odds, scale = in_points.base, in_points.odds, in_points.scale
    if labels is None:
        rank = "higher" if in_points.sign > 0.0 else "lower"
        return (
            f"The more points, the {rank} a row is ranked: {base:g} points are odds of {odds:g} to one to be ranked "
            f"{rank} than a row of mean score, and {scale:g} more double them."
        )
    label = labels[1] if in_points.sign > 0.0 else labels[0]
    return (
        f"More points mean a higher chance of {label}: {base:g} points are odds of {odds:g} to one, and {scale:g} more "
        "double them."
    )


class _Table(NamedTuple):
    """A card in points: with few bins, or with one for each whole point where ``binned`` is None."""

    card: Any
    odds: Any
    scale: Scale
    binned: BinnedCard | None

    def lines(self, shapes: list) -> list[Bin]:
        """The lines of the table."""
        if self.binned is None:
            return point_bins(shapes, self.odds, self.scale)
        return binned_lines(shapes, self.binned, self.odds, self.scale)

    def row_points(self, cells: Any) -> np.ndarray:
        """The points of rows."""
        if self.binned is None:
            return row_points(self.card, cells, self.odds, self.scale)
        return binned_row_points(self.binned, cells, self.odds, self.scale)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_count(value: Any, least: int) -> bool:
    """Whether a value is "auto", or a whole number of at least ``least``."""
    if isinstance(value, str):
        return value == "auto"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= least


def _invalid(name: str, expected: str, got: Any) -> InvalidValueError:
    message = f"The '{name}' of Scorecard.points must {expected}. Got {got!r} instead."
    return InvalidValueError(message, owner="Scorecard", parameter=name)


def _check_path(path: Any) -> None:
    """Refuse a file whose ending promises another format than csv."""
    if not isinstance(path, (str, os.PathLike)):
        return
    name = Path(os.fspath(path))
    ending = Path(name.stem).suffix if name.suffix.lower() in COMPRESSED else name.suffix
    if ending and ending.lower() not in (".csv", ".txt"):
        raise _invalid("path", "be a csv file, whose name ends in .csv or .txt", str(name))


def check_bins(settings: BinSettings) -> None:
    """Refuse what cannot say how bins are made."""
    most, share, lost, lines = settings
    if most is not None and not _is_count(most, 1):
        raise _invalid("max_bins", "be an int of at least 1, 'auto' or None", most)
    if not _is_count(lines, 2):
        raise _invalid("max_lines", "be an int of at least 2 or 'auto'", lines)
    if most is None and lines != "auto":
        raise _invalid("max_lines", "be 'auto' without bins (max_bins=None), which ask for a line each point", lines)
    if not _is_real(share) or not 0.0 <= share <= 0.5:
        raise _invalid("min_share", "be a float in [0.0, 0.5]", share)
    if not _is_real(lost) or not lost >= 0.0:
        raise _invalid("max_auc_lost", "be a float of at least 0.0", lost)


def renamed(shapes: list, old: list[str], names: Any) -> list:
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
