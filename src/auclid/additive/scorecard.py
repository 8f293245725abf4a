"""Scorecard: an additive ranker, one shape a column."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from auclid import _random, _sizes, validation
from auclid._random import RandomState
from auclid._threads import limit_threads
from auclid.additive import _fit
from auclid.additive._basis import Basis, make_basis, same_basis
from auclid.additive._columns import ColumnSpec, cell_encoder, learn_columns, table_cells
from auclid.additive._counts import CardCounts, count_rows, sound_counts, stream_counts
from auclid.additive._editing import Editable
from auclid.additive._features import Feature, given_knots, invalid_knots
from auclid.additive._fit import ScorecardColumns, ScorecardFit
from auclid.additive._moments import class_sums
from auclid.additive._order_moments import PairMoments, all_pair_moments, ordered_card_rows
from auclid.additive._point_table import PointTable
from auclid.additive._reading import Readable
from auclid.additive._shapes import card_scores, sound_card, sound_moments
from auclid.additive._targets import CardRows, ClassTarget, OrderTarget
from auclid.base import LinearRanker
from auclid.data.dataset import Dataset, Part, Totals
from auclid.data.encoding import column_indices
from auclid.data.types import OutputFile, RowsLike
from auclid.errors import Described, invalid_value
from auclid.metrics._operating_point import best_threshold
from auclid.ordered._base import LinearOrderRanker
from auclid.ordered._meta import MetaRanker
from auclid.ordered._rows import OrderedRows
from auclid.solvers.path import METRICS
from auclid.stats.labelled import BoundedSample, LabelledDataset, bounded_sample
from auclid.stats.moments import ClassMoments
from auclid.stats.odds import prior_shift
from auclid.validation import RowAccess, checked_table, encoded_batch, encoded_labelled_rows, partwise


class Scorecard(Readable, PointTable, Editable, MetaRanker):
    """An additive ranker f(x) = offset + Σ g_k(x_k) (+ Σ g_kl(x_k, x_l)): every score is a sum that can be read.

    A numeric column has a broken line on knots, a category a value for each level, and each a value for missing cells.
    All values together minimise the square loss over all pairs of a positive and a negative row,

        mean (1 − (f(x⁺) − f(x⁻)))² + Σ_k c_k ((alpha/2) Σ values of g_k² + (smooth/2) roughness(g_k)),

    in closed form from class moments of the basis, in one pass over the rows. c_k is 1, or with a focus, larger for
    columns that add less in a first solution (the adaptive ridge). The number of knots, alpha, smooth, the focus and
    the number of pairs of columns are chosen by cross-validated AUC (or ``metric``) from the moments of five folds, as
    `LeastSquaresAUCCV` chooses alpha. From there a few Newton steps minimise the balanced logistic loss with the same
    penalties. That model is used if its gain on held-out rows exceeds its error, and is tried where a step is cheap (up
    to about 15,000 rows of 20 columns and 15 pairs, or 180,000 without pairs; see Notes). Each shape is centred on the
    training rows.

    Parameters
    ----------
    ranker : linear ranker of this package, or None, default=None
        What finds the values. None: the square loss with everything cross-validated, then perhaps the logistic one;
        ``LeastSquaresAUCCV()`` stays with the square loss. `LeastSquaresAUC` keeps its own
        ``alpha`` and ``l1`` (a column that carries nothing is then exactly zero), `LeastSquaresAUCCV` its ``alphas``;
        any other, such as ``RankSVM(max_fpr=0.1)``, learns from rows of the chosen basis, without smoothing.
        `OrderedRanker` and `SurvivalRanker` make a scorecard of levels, numbers or censored times, with y and
        ``groups`` as they take them; with the square loss everything is chosen by cross-validated concordance.
    n_knots : "auto", int of at least 2, or dict, default="auto"
        Knots of a numeric column, at quantiles. "auto": 8, 16 or 32, by cross-validation, fewer with very many
        columns. A dict gives the knots of some columns (by name or number), or the levels of a category: what
        ``knots_`` of another model holds, so that models of parts of the rows can be merged.
    interactions : "auto" or int of at least 0, default="auto"
        Pairs of columns with a value for each cell of a coarse grid. "auto": none, 5, 15 or 30, by cross-validation; a
        number is a cap; 0 gives a pure scorecard.
    monotone : dict, or None, default=None
        Columns (by name or number) with which scores may only rise (1) or only fall (-1), whatever the other columns
        hold. In a pair with another column its grid rises too; two such columns are no pair.
    categories : "auto" or list, default="auto"
        Columns (by name or number) that are categories although they look like numbers. Texts, and categories of a
        frame, always are.
    smooth : "auto" or float in [0, inf), default="auto"
        Strength of the penalty on second differences; a straight line is free.
    metric : {"roc_auc", "average_precision"}, default="roc_auc"
        What knots, penalties, pairs and the loss are chosen by on held-out rows; of ordered rows, the concordance.
    random_state : int, RandomState, Generator or None, default=None
        Deals rows out to folds, and draws the rows that knots and held-out AUCs come from where there are very many.
        None: the same way every time.

    Attributes
    ----------
    shapes_ : list
        A record a column: ``name``, ``kind``, ``knots`` or ``levels``, ``values``, ``missing``, and ``error``,
        ``share``, ``importance``, ``steps``. A pair of columns is a record of two names with a grid of values.
    knots_ : dict
        Knots, or levels, by the name of the column.
    interactions_ : list
        The names of the columns of each pair.
    alpha_, smooth_ : float
        The penalties chosen.
    focus_ : float
        How much more columns that add little are penalised: c_k = (mean variance of what columns add / that of this
        one)^focus.
    loss_ : str
        "square" or "logistic", whichever the values minimise; "ranker" where another ranker has found them.
    scale_ : float
        Points that double the odds, unless `points` is given another number.
    edits_ : list of dict
        The edits made by hand since the fit; see `edit` and `apply`.
    cv_auc_ : float
        The held-out AUC of what was chosen, or its average precision where ``metric`` says so, of ordered rows the
        concordance; nan where there were too few rows to hold some out, and of streams.
    intercept_ : array of shape (1,)
        The offset: minus the sum of shapes that maximises Youden's J on the training rows, or on a sample of those that
        memory cannot hold, of about 100,000 rows where there are more; of streams, minus the one halfway between the
        means of the classes; 0 of ordered rows.
    classes_ : array of shape (2,)
        Not of ordered rows.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,), where X has column names

    Notes
    -----
    Cells that are missing (NaN, None) are no error. Rare levels, of fewer than five rows or beyond the hundred
    commonest, share one value, and so do levels that were never seen. Beyond its outer knots a shape stays level. A
    value that many rows share, among others that differ (no income, say), has knots on both sides of it, and the shape
    jumps there; a column of few values, each seen again and again, has a step for each. Heavy tails have more knots,
    each at the median of what lies beyond the last. ``knots_`` lists them all, ``steps`` of a shape says after which
    knots it jumps.

    A Newton step costs n t²/2 + p³/30, in multiplications one by one, of n rows that touch t = 2 columns + 4 pairs of
    the p coefficients; beyond 1.5e8 it is not taken. Moments add up to the square loss only: of streams, merged models
    and more rows than memory holds the values are those.

    Of ordered rows, `predict` gives the scores, and there is no `predict_proba`. Points double the odds that a row is
    ranked above another one: for proportional hazards, the hazard. ``positives`` in tables and plots are events; of
    levels and numbers, each row counts as the share of the comparable rows that it is ranked above. Without groups,
    2,048 levels are told apart, and of more, neighbours count as tied; of more than 30,000 rows knots, penalties and
    pairs come from a sample. Shapes add up to log hazards times a constant, so their form is that of hazards.

    References
    ----------
    Hastie & Tibshirani, "Generalized additive models", 1990; Eilers & Marx, "Flexible smoothing with B-splines and
    penalties", 1996; Gao, Jin, Zhu & Zhou, "One-pass AUC optimization", ICML 2013 (the square loss and its moments).

    Examples
    --------
    >>> from auclid import Scorecard
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = Scorecard(interactions=0).fit(X, y)
    >>> [shape.name for shape in model.shapes_]
    ['x0', 'x1', 'x2', 'x3', 'x4', 'x5']
    >>> print(f"{model.score(X, y):.2f}")
    0.95
    """

    _parameter_constraints: dict = {
        "ranker": [LinearRanker, LinearOrderRanker, None],
        "n_knots": [validation.at_least(2), StrOptions({"auto"}), Mapping],
        "interactions": [validation.at_least(0), StrOptions({"auto"})],
        "monotone": [Mapping, None],
        "categories": [StrOptions({"auto"}), list, tuple, np.ndarray],
        "smooth": [validation.real(), StrOptions({"auto"})],
        "metric": [StrOptions(set(METRICS))],
        "random_state": _random.RANDOM_STATE,
    }

    _row_access = RowAccess.PARTS
    _unit: np.ndarray | None = None

    def __init__(
        self,
        ranker: Any = None,
        *,
        n_knots: Any = "auto",
        interactions: Any = "auto",
        monotone: dict | None = None,
        categories: Any = "auto",
        smooth: Any = "auto",
        metric: str = "roc_auc",
        random_state: RandomState = None,
    ) -> None:
        self.ranker = ranker
        self.n_knots = n_knots
        self.interactions = interactions
        self.monotone = monotone
        self.categories = categories
        self.smooth = smooth
        self.metric = metric
        self.random_state = random_state

    @validation.checked_with_parts
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Numbers, booleans, categories, texts and dates; missing cells are allowed. Of rows in files
            (`auclid.scan`) that are more than their ``memory`` holds, and of dask collections beyond 64 MiB, knots,
            penalties, pairs, the sigmoid and the threshold come from a sample of each class by its share, at least
            20,000 rows in all and 10 of each class; levels and values come from all rows.
        y : array of shape (n,), any two labels
            Or what an `OrderedRanker` or a `SurvivalRanker` learns from.
        sample_weight : array of shape (n,), optional
            A pair weighs the product of its two rows' weights; only their ratios count.
        groups : array of shape (n,), optional
            For a ranker of ordered rows: only rows of one group are compared.

        Returns
        -------
        self
        """
        if groups is not None and self._order_ranker is None:
            raise invalid_value(
                self, "groups", "go with a ranker of ordered rows", Described(f"ranker={self.ranker!r}"),
                "Use Scorecard(OrderedRanker()).",
            )  # fmt: skip
        if self.metric != "roc_auc" and self._order_ranker is not None:
            raise invalid_value(self, "metric", "be 'roc_auc' where rows are ordered", self.metric)
        self._fit_and_hold_out(X, y, sample_weight, groups=groups)
        return self

    def _fit_and_hold_out(
        self, X: Any, y: Any = None, sample_weight: Any = None, coarse: bool = False, groups: Any = None
    ) -> np.ndarray | None:
        """`fit`; returns the score of each row by folds it is not in, or None where not all rows were held out.

        ``coarse``: whether a few penalties are enough.
        """
        with limit_threads(1, "blas"):  # factors are too small for more: threads would wait for one another
            if self._order_ranker is None:
                return self._fit_classes(X, y, sample_weight, coarse)
            return self._fit_ordered(X, y, groups, sample_weight)

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any, coarse: bool) -> np.ndarray | None:
        rows = encoded_labelled_rows(self, X, y, sample_weight, self._categories)
        columns, encoder = self._learn_columns(rows.parts)
        cells = rows.transformed(encoder)
        sample = bounded_sample(cells, rows.parts.row_limit(_sizes.MIN_SAMPLE_ROWS), _sizes.MIN_CLASS_ROWS)
        target = ClassTarget(sample.labels == 1, sample.weight)
        fit = self._fit_sample(columns, CardRows(sample.X, target), coarse, sample.complete)
        if not sample.complete:
            self._learn_from_all(columns, cells, sample)
        judged = CardRows(sample.X, target)
        if target.size > _sizes.HELD_OUT_ROWS:
            judged = judged.at_most(_sizes.HELD_OUT_ROWS)
        scores = card_scores(self._card, judged.cells)
        offset = -float(best_threshold(judged.target.is_pos, scores, judged.target.weight))
        self.intercept_ = np.array([offset])
        if fit.unit is not None:
            self._unit = fit.unit + np.array([0.0, offset])
        return fit.held_out

    def _fit_ordered(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> np.ndarray | None:
        rows = ordered_card_rows(self, X, y, groups, sample_weight, self._categories)
        if hasattr(self, "classes_"):
            del self.classes_
        columns, encoder = self._learn_columns(rows.parts)
        cells, target = rows._replace(parts=rows.parts.transformed(encoder)), OrderTarget.of(rows)
        index = target.drawn(_sizes.ORDERED_CARD_ROWS, self._generator())
        complete = len(index) == target.size
        table = cells.table().part(slice(None) if complete else index)
        fit = self._fit_sample(columns, CardRows(table, target.take(index)), False, complete)
        if not complete:
            self._learn_order_from_all(columns, cells, self._counts.scaled(np.full(2, target.size / len(index))))
        self.intercept_ = np.zeros(1)
        return fit.held_out

    def _fit_sample(self, columns: ScorecardColumns, rows: CardRows, coarse: bool, complete: bool) -> ScorecardFit:
        """Learn from rows in memory and publish it, but for the threshold; ``complete``: whether these are all rows."""
        settings = _fit.settings_of(self, columns.monotone, self._generator())
        settings = settings._replace(coarse=coarse, refine=settings.refine and not coarse and complete)
        fit = _fit.fit_scorecard(self, columns, rows, settings)
        self._edits, self._unedited, self._unit = [], None, None
        self._publish(fit)
        counts = count_rows(fit.features, fit.card.basis, rows.cells, rows.target.positive, rows.target.weight)
        self._counts = counts.separated(*fit.separation)
        self._chosen = self.alpha_, self.smooth_, self.focus_
        return fit

    def _learn_columns(self, rows: Dataset) -> tuple[ScorecardColumns, Any]:
        """The columns by all rows, and what makes cells of its parts: codes for levels, numbers for all others."""
        specs, given, encoder = self._columns_of(rows)
        return ScorecardColumns(specs, given, _fit.monotone_directions(self, specs)), encoder

    def _columns_of(self, rows: Dataset) -> tuple[list[ColumnSpec], dict[int, Any], Any]:
        """The columns of a dataset, the knots or levels that were given for some, and what makes cells of its parts."""
        names = [f"x{k}" for k in range(rows.width)] if rows.columns is None else rows.columns
        given, categories = given_knots(self, self.n_knots, names), self._categories(names)
        specs, levels = learn_columns(self, rows, categories)
        for place, value in given.items():
            specs[place] = _with_given(self, specs[place], value)
        return specs, given, cell_encoder(rows, specs, levels, categories)

    def _learn_from_all(self, columns: ScorecardColumns, cells: LabelledDataset, sample: BoundedSample) -> None:
        """Values from the moments of all rows, with the knots, penalties and sigmoid that a sample has given.

        Of a ranker that learns from rows, the values remain those of the sample.
        """
        odds, scale, cv_auc = self._odds, self.scale_, self.cv_auc_
        if _fit.learns_from_rows(self.ranker):
            masses = cells.parts.compute(cells.parts.reduce(part_masses))
        else:
            share = len(sample.labels) / int(cells.counts.sum())
            errors = [None if shape.error is None else np.sqrt(share) * shape.error for shape in self.shapes_]
            neg, pos = cells.parts.compute(cells.parts.reduce(part_moments, self._card.basis))
            self._resume(columns, self._features, self._card.basis, ClassMoments(pos, neg), self._counts)
            self.shapes_ = [shape._replace(error=error) for shape, error in zip(self.shapes_, errors, strict=True)]
            masses = np.array([neg.n, pos.n])
        drawn = _masses(sample.labels, sample.weight)
        self._counts = self._counts.scaled(masses / drawn)
        shift = prior_shift(masses, drawn)
        self._odds, self.scale_, self.cv_auc_ = odds._replace(offset=odds.offset + shift), scale, cv_auc

    def _learn_order_from_all(self, columns: ScorecardColumns, cells: OrderedRows, counts: CardCounts) -> None:
        """Values from the moments of the pairs of all rows, with the knots, penalties and points of a sample."""
        if not _fit.learns_from_rows(self.ranker):
            odds, scale, cv_auc = self._odds, self.scale_, self.cv_auc_
            errors = [shape.error for shape in self.shapes_]
            self._resume(columns, self._features, self._card.basis, all_pair_moments(cells, self._card.basis), counts)
            self.shapes_ = [shape._replace(error=error) for shape, error in zip(self.shapes_, errors, strict=True)]
            self._odds, self.scale_, self.cv_auc_ = odds, scale, cv_auc
        self._counts = counts

    @available_if(lambda self: self._order_ranker is None)
    @validation.checked_with_parts
    def partial_fit(self, X: RowsLike, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows; with the same knots, the model is then that of all rows added so far.

        The first batch fixes knots and levels, unless ``n_knots`` gives them or `fit` came before. A stream has fixed
        penalties, or those that `fit` chose, and finds no pairs. Where `fit` took the logistic loss, the card goes on
        by the square loss, scaled so that the scores of the rows of `fit` keep their spread and their zero: thresholds
        and edits stay valid.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        if _fit.learns_from_rows(self.ranker):
            raise ValueError(
                "Scorecard.partial_fit must have a ranker that learns from moments: None, LeastSquaresAUC or "
                f"LeastSquaresAUCCV. Got ranker={self.ranker!r} instead. Use fit on all rows."
            )
        X, is_pos, weight, first = self._begin_raw_partial(X, y, classes, sample_weight)
        if first:
            specs, given, _ = self._columns_of(encoded_batch(self, X, weight, self._categories))
            columns = ScorecardColumns(specs, given, _fit.monotone_directions(self, specs))
            cells = table_cells(self, X, specs)
            features = _fit.first_features(self, columns, cells, weight, self._generator())
            basis = make_basis(features)
        else:
            columns, features, basis = self._stream_columns(), self._features, self._learnt_card.basis
            cells = table_cells(self, X, columns.specs)
        moments = class_sums(basis, cells, is_pos, weight).moments()
        counts = stream_counts(features, basis) if first else self._counts
        if counts is not None:
            counts = counts.plus(cells, is_pos, weight, basis)
        both = moments if first else ClassMoments(*self._seen) + moments
        return self._resume(columns, features, basis, both, counts)

    @available_if(lambda self: self._order_ranker is None)
    def merge(self, other: "Scorecard") -> Self:
        """Add the rows another model has seen; returns self.

        Parameters
        ----------
        other : Scorecard
            Of other rows, with the same parameters, columns, classes and knots: give both ``n_knots=model.knots_``,
            or let both go on from copies of one model.

        Returns
        -------
        self
        """
        validation.mergeable(self, other)
        same = same_basis(self._learnt_card.basis, other._learnt_card.basis)
        if not same or self._kept_columns != other._kept_columns:
            raise ValueError(
                "merge must be given a Scorecard with the same knots, levels and pairs; got others. Give both models "
                "n_knots=model.knots_ and interactions=0, or start both from copies of one model."
            )
        both = ClassMoments(*self._seen) + ClassMoments(*other._seen)
        counts = None if self._counts is None or other._counts is None else self._counts.merged(other._counts)
        return self._resume(self._stream_columns(), self._features, self._learnt_card.basis, both, counts)

    def _stream_columns(self) -> ScorecardColumns:
        """The columns of a model that goes on from its moments."""
        specs = self._kept_columns
        return ScorecardColumns(specs, {}, _fit.monotone_directions(self, specs))

    def _resume(
        self,
        columns: ScorecardColumns,
        features: list[Feature],
        basis: Basis,
        moments: ClassMoments | PairMoments,
        counts: CardCounts | None,
    ) -> Self:
        """Publish what the moments and the counts of all rows so far give."""
        factor, midpoint = (1.0, 0.0) if self._unit is None else self._unit.tolist()
        fit, halfway = _fit.fit_moments(self, columns, features, basis, moments, factor)
        self._publish(fit)
        self._counts = None if counts is None else counts.separated(*fit.separation)
        self.intercept_ = np.array([midpoint - halfway])
        self._unedited = None
        if self._edits:
            self._replay(self.edits_)
        return self

    def _categories(self, names: list[str]) -> list[int]:
        """The numbers of the columns that are categories by request: those whose levels are given, too."""
        requested = [] if isinstance(self.categories, str) else self.categories
        levels = [k for k, each in given_knots(self, self.n_knots, names).items() if isinstance(each, list) and each]
        return [*column_indices(self, "categories", requested, names), *levels]

    def _generator(self) -> np.random.Generator:
        return _random.generator(0 if self.random_state is None else self.random_state)

    def _publish(self, fit: ScorecardFit) -> None:
        """Set the fitted attributes, but for the threshold."""
        self._card, self._kept_columns, self._features = fit.card, fit.specs, fit.features
        self._seen = (fit.moments.pos, fit.moments.neg) if isinstance(fit.moments, ClassMoments) else ()
        self._odds = fit.odds
        self.shapes_ = fit.shapes
        self.cv_auc_, self.scale_, self.loss_ = fit.cv_auc, fit.scale, fit.loss
        self.alpha_, self.smooth_, self.focus_ = map(float, fit.penalty)
        self.knots_ = {f.name: f.levels if f.knots is None else f.knots for f in fit.features}
        self.interactions_ = [shape.name for shape in fit.shapes if isinstance(shape.name, tuple)]
        self._lock()
        validation.finite(self, fit.card.values)

    def _sound(self) -> bool:
        """Whether what was loaded fits together: kernels trust its numbers of slots and coefficients."""
        if not hasattr(self, "shapes_"):
            return True
        self._lock()
        if self._unedited is not None and not sound_card(self._unedited[0], self._kept_columns):
            return False
        counted = len(self._kept_columns) == len(self._features) == self.n_features_in_
        moments = self._seen == () if self._order_ranker is not None else sound_moments(self._seen, self._card)
        card = sound_card(self._card, self._kept_columns) and sound_counts(self._counts, self._card.basis)
        return counted and moments and card

    def _cells(self, X: Any) -> Any:
        validation.fitted(self, "shapes_")
        return table_cells(self, checked_table(self, X, reset=False), self._kept_columns)

    @partwise
    def decision_function(self, X: RowsLike, *, out: OutputFile = None) -> Any:
        """Scores f(x): the higher, the more likely ``classes_[1]``, or the higher a row of an order is ranked.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n,), of X's floating type where it has one
        """
        cells = self._cells(X)
        scores = card_scores(self._card, cells) + self.intercept_[0]
        return validation.finite_scores(self, scores, getattr(cells, "dtype", np.float64))

    @available_if(lambda self: self._order_ranker is None)
    @partwise
    def predict_proba(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
        """The probability of each class: a sigmoid of the score, fitted to scores of held-out folds.

        Of streams, the sigmoid is that of two normal classes of one variance.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n, 2)
        """
        cells = self._cells(X)
        scores = validation.finite_scores(self, card_scores(self._card, cells), np.float64)
        positive = self._odds.probability(scores)
        return np.column_stack([1.0 - positive, positive])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _with_given(model: Scorecard, spec: ColumnSpec, value: Any) -> ColumnSpec:
    """The column with the levels that were given for it; refuses levels for numbers, and knots for a category."""
    if isinstance(value, list):
        if spec.levels is None:
            raise invalid_knots(model, spec.name, value)
        return spec._replace(levels=value)
    if spec.levels is not None:
        raise ValueError(
            f"The 'n_knots' parameter of Scorecard must give the names of levels for {spec.name!r}, which is a "
            f"category; got {value.tolist()!r}."
        )
    return spec


def part_masses(part: Part) -> np.ndarray:
    """The weight of the negatives and of the positives of a part."""
    return _masses(part.labels, part.weight)


def _masses(labels: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    return np.bincount(labels, weight, minlength=2).astype(np.float64)


def part_moments(part: Part, basis: Basis) -> Totals:
    """The moments of both classes, in the basis, of a part of cells."""
    moments = class_sums(basis, part.X, part.labels == 1, part.weight).moments()
    return Totals([moments.neg, moments.pos])
