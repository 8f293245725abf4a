"""Scorecard: an additive ranker, one shape a column."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions

from auclid import _check, _random
from auclid._apart import begin_apart, by_parts, lies_apart
from auclid._kinds import column_names, column_numbers
from auclid._random import RandomState
from auclid.additive import _fit, _table
from auclid.additive._apart import all_moments, counted_levels, drawn, rarer_than_drawn, shrunken_errors
from auclid.additive._basis import make_basis, same_basis
from auclid.additive._features import given_knots, no_knots
from auclid.additive._reading import Readable
from auclid.additive._shapes import card_scores, sound_card, sound_moments
from auclid.additive._sums import class_sums
from auclid.base import LinearRanker, Ranker
from auclid.metrics._operating_point import best_threshold
from auclid.stats.labelled import LabelledDataset
from auclid.stats.moments import ClassMoments


class Scorecard(Readable, Ranker):
    """An additive ranker f(x) = offset + Σ g_k(x_k) (+ Σ g_kl(x_k, x_l)): every score is a sum that can be read.

    A numeric column has a broken line on knots, a category a value for each level, and each a value for missing cells.
    All values together minimise the square loss over all pairs of a positive and a negative row,

        mean (1 − (f(x⁺) − f(x⁻)))² + Σ_k c_k ((alpha/2) Σ values of g_k² + (smooth/2) roughness(g_k)),

    in closed form from class moments of the basis, in one pass over the rows. c_k is 1, or with a focus, the dearer the
    less a column adds in a first solution (the adaptive ridge). The number of knots, alpha, smooth, the focus and the
    number of pairs of columns are chosen by cross-validated AUC from the moments of five folds, as `LeastSquaresAUCCV`
    chooses alpha. From there a few Newton steps lead to the least balanced logistic loss with the same penalties, which
    is taken where it surely ranks held-out rows better, and looked at where a step is cheap (up to 15,000 rows of
    20 columns and 15 pairs, or 180,000 without pairs, say; see Notes). Each shape is centred on the training rows.

    Parameters
    ----------
    ranker : linear ranker of this package, or None, default=None
        What finds the values. None: the square loss with everything cross-validated, then perhaps the logistic one;
        ``LeastSquaresAUCCV()`` stays with the square loss. `LeastSquaresAUC` keeps its own
        ``alpha`` and ``l1`` (a column that carries nothing is then exactly zero), `LeastSquaresAUCCV` its ``alphas``;
        any other, such as ``RankSVM(max_fpr=0.1)``, learns from rows of the chosen basis, without smoothing.
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
        How much dearer columns are that add little: c_k = (mean variance of what columns add / that of this one)^focus.
    loss_ : str
        "square" or "logistic", whichever the values minimise; "ranker" where another ranker has found them.
    scale_ : float
        Points that double the odds, where `points` is not told how many.
    cv_auc_ : float
        The held-out AUC of what was chosen; nan where there were too few rows to hold some out, and of streams.
    intercept_ : array of shape (1,)
        The offset: minus the sum of shapes that maximises Youden's J on the training rows, or on those drawn of more
        than memory holds; of streams, minus the one halfway between the means of the classes.
    classes_ : array of shape (2,)
    n_features_in_ : int
    feature_names_in_ : array of shape (d,), where X has column names

    Notes
    -----
    Cells that are missing (NaN, None) are no error. Rare levels, of fewer than five rows or beyond the hundred
    commonest, share one value, and so do levels that were never seen. Beyond its outer knots a shape goes on straight
    over the width of its last interval, then stays level. A value that many rows share, among others that differ (no
    income, say), has knots on both sides of it, and the shape jumps there; a column of few values, each seen again and
    again, has a step for each. Heavy tails have more knots, each at the median of what lies beyond the last. ``knots_``
    lists them all, ``steps`` of a shape says after which knots it jumps.

    A Newton step costs n t²/2 + p³/30, in multiplications one by one, of n rows that touch t = 2 columns + 4 pairs of
    the p coefficients; beyond 1.5e8 it is not taken. Moments add up to the square loss only: of streams, merged models
    and more rows than memory holds the values are those.

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
    >>> bool(model.score(X, y) > 0.94)
    True
    """

    _parameter_constraints: dict = {
        "ranker": [LinearRanker, None],
        "n_knots": [_check.at_least(2), StrOptions({"auto"}), Mapping],
        "interactions": [_check.at_least(0), StrOptions({"auto"})],
        "monotone": [Mapping, None],
        "categories": [StrOptions({"auto"}), list, tuple, np.ndarray],
        "smooth": [_check.real(), StrOptions({"auto"})],
        "random_state": _random.RANDOM_STATE,
    }

    def __init__(
        self,
        ranker: Any = None,
        *,
        n_knots: Any = "auto",
        interactions: Any = "auto",
        monotone: dict | None = None,
        categories: Any = "auto",
        smooth: Any = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.ranker = ranker
        self.n_knots = n_knots
        self.interactions = interactions
        self.monotone = monotone
        self.categories = categories
        self.smooth = smooth
        self.random_state = random_state

    @_check.checked_with_parts
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Numbers, booleans, categories, texts and dates; missing cells are allowed. Of rows in files
            (`auclid.scan`) or dask collections that do not fit in memory, knots, penalties and pairs come from a sample
            that does, values and the levels of texts from all rows.
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            A pair weighs the product of its two rows' weights.

        Returns
        -------
        self
        """
        if lies_apart(X):
            return self._fit_apart(begin_apart(self, X, y, sample_weight), getattr(X, "memory", None))
        self._fit_and_hold_out(X, y, sample_weight)
        return self

    def _fit_and_hold_out(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coarse: bool = False,
        known: Mapping = MappingProxyType({}),
        whole: bool = True,
    ) -> np.ndarray | None:
        """`fit`; returns the score of each row by folds it is not in, or None where not all rows were held out.

        ``known``: columns, by number, of which more rows have told; ``whole``: whether these are all rows.
        """
        X = _table.as_known(X)
        table, y = _table.checked_rows_and_labels(self, X, y, reset=True)
        weight = _check.check_relative_weights(sample_weight, _Shaped(_table.length(table)))
        classes = _check.two_classes(self, y)
        is_pos = y == classes[1]
        _check.both_weighed(self, is_pos, weight)
        self.classes_ = classes
        names = column_names(X)
        kept, given = self._kept(X, table, weight, names, known)
        cells = _table.as_cells(self, table, kept)
        rng = _random.generator(0 if self.random_state is None else self.random_state)
        monotone = _fit.directions(self, names, kept)
        settings = _fit.settings_of(self, monotone, rng)._replace(coarse=coarse)
        if coarse or not whole:
            settings = settings._replace(refine=False)
        found = _fit.fitted(self, kept, cells, is_pos, weight, given, monotone, settings)
        self._set(found)
        self._chosen = self.alpha_, self.smooth_, self.focus_
        scores = card_scores(self._card, cells)
        self.intercept_ = np.array([-float(best_threshold(is_pos, scores, weight))])
        return found.held_out

    def _fit_apart(self, rows: LabelledDataset, memory: int | None) -> Self:
        """Knots, penalties and pairs from as many rows as memory may hold; the values from all rows, in one pass."""
        X, y, weight, all_rows = drawn(rows, memory)
        known = {} if all_rows else counted_levels(self, rows)
        self._fit_and_hold_out(X, y, weight, known=known, whole=all_rows)
        if all_rows or _fit.by_rows(self.ranker):
            return self
        kept = self._odds, self.scale_, self.cv_auc_, shrunken_errors(self.shapes_, len(y) / int(rows.counts.sum()))
        moments = all_moments(self, rows, self._card.basis, self._kept_columns)
        self._resume(self._kept_columns, self._features, self._card.basis, moments)
        odds, self.scale_, self.cv_auc_, errors = kept
        self._odds = odds._replace(offset=odds.offset + rarer_than_drawn(moments, y == self.classes_[1], weight))
        self.shapes_ = [shape._replace(error=error) for shape, error in zip(self.shapes_, errors, strict=True)]
        scores = card_scores(self._card, self._cells(X))
        self.intercept_ = np.array([-float(best_threshold(y == self.classes_[1], scores, weight))])
        return self

    @_check.checked_with_parts
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows; with the same knots, the model is then that of all rows added so far.

        The first batch fixes knots and levels, unless ``n_knots`` gives them or `fit` came before. A stream has fixed
        penalties, or those that `fit` chose, and finds no pairs.

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
        if _fit.by_rows(self.ranker):
            raise ValueError(
                "Scorecard.partial_fit must have a ranker that learns from moments: None, LeastSquaresAUC or "
                f"LeastSquaresAUCCV. Got ranker={self.ranker!r} instead. Use fit on all rows."
            )
        X, first = _table.as_known(X), not hasattr(self, "classes_")
        table, y = _table.checked_rows_and_labels(self, X, y, reset=first)
        weight = _check.weights(sample_weight, _Shaped(_table.length(table)))
        known = self._stream_classes(y, classes, first)
        _check.known_labels(self, y, known)
        self.classes_, names = known, column_names(X)
        if first:
            kept, given = self._kept(X, table, weight, names)
            cells = _table.as_cells(self, table, kept)
            rng = _random.generator(0 if self.random_state is None else self.random_state)
            features = _fit.first_features(self, kept, cells, weight, given, rng)
            state = kept, features, make_basis(features)
        else:
            cells = _table.as_cells(self, table, self._kept_columns)
            state = self._kept_columns, self._features, self._card.basis
        moments = class_sums(state[2], cells, y == known[1], weight).classes()
        return self._resume(*state, moments if first else ClassMoments(*self._seen) + moments)

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
        _check.mergeable(self, other)
        if not same_basis(self._card.basis, other._card.basis) or self._kept_columns != other._kept_columns:
            raise ValueError(
                "merge must be given a Scorecard with the same knots, levels and pairs; got others. Give both models "
                "n_knots=model.knots_ and interactions=0, or start both from copies of one model."
            )
        both = ClassMoments(*self._seen) + ClassMoments(*other._seen)
        return self._resume(self._kept_columns, self._features, self._card.basis, both)

    def _resume(self, kept: list, features: list, basis: Any, moments: Any) -> "Scorecard":
        monotone = _fit.directions(self, [column.name for column in kept], kept)
        found, threshold = _fit.resumed(self, kept, features, basis, moments, monotone)
        self._set(found)
        self.intercept_ = np.array([-threshold])
        return self

    def _kept(
        self, X: Any, table: Any, weight: np.ndarray | None, names: list[str], known: Mapping = MappingProxyType({})
    ) -> tuple[list, dict]:
        """The kinds of the columns, and the knots that were given."""
        wanted = [] if isinstance(self.categories, str) else column_numbers(self, "categories", self.categories, names)
        given = given_knots(self, self.n_knots, names)
        wanted += [place for place, value in given.items() if isinstance(value, list) and value]
        kept = _table.kept_columns(self, X, table, weight, wanted, known)
        for place, value in given.items():
            if isinstance(value, list):
                if kept[place].levels is None:
                    raise no_knots(self, names[place], value)
                kept[place] = kept[place]._replace(levels=value)
            elif kept[place].levels is not None:
                raise ValueError(
                    f"The 'n_knots' parameter of Scorecard must give the names of levels for {names[place]!r}, which "
                    f"is a category; got {self.n_knots[list(self.n_knots)[list(given).index(place)]]!r}."
                )
        return kept, given

    def _set(self, found: "_fit.Found") -> None:
        """Publish what a fit found."""
        self._card, self._kept_columns, self._features = found.card, found.kept, found.features
        self._seen, self._odds = (found.moments.pos, found.moments.neg), found.odds
        self.shapes_, self.cv_auc_, self.scale_, self.loss_ = found.shapes, found.cv_auc, found.scale, found.loss
        self.alpha_, self.smooth_, self.focus_ = map(float, found.penalty)
        self.knots_ = {f.name: f.levels if f.knots is None else f.knots for f in found.features}
        self.interactions_ = [shape.name for shape in found.shapes if isinstance(shape.name, tuple)]
        _check.finite(self, found.card.values)

    def _sound(self) -> bool:
        """Whether what was loaded fits together: kernels trust its numbers of slots and coefficients."""
        if not hasattr(self, "shapes_"):
            return True
        known = len(self._kept_columns) == len(self._features) == self.n_features_in_
        return known and sound_card(self._card, self._kept_columns) and sound_moments(self._seen, self._card)

    def _cells(self, X: Any) -> Any:
        _check.fitted(self, "shapes_")
        table = _table.checked_rows(self, _table.as_known(X), reset=False)
        return _table.as_cells(self, table, self._kept_columns)

    _takes_tables, _knows_gaps, _knows_words = False, True, True

    @by_parts
    def decision_function(self, X: Any) -> Any:
        """Scores f(x): the higher, the more likely ``classes_[1]``.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n,), of X's floating type where it has one
        """
        cells = self._cells(X)
        scores = card_scores(self._card, cells) + self.intercept_[0]
        return _check.finite_scores(self, scores, getattr(cells, "dtype", np.float64))

    @by_parts
    def predict_proba(self, X: Any) -> np.ndarray:
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
        positive = self._odds.probability(card_scores(self._card, cells))
        return np.column_stack([1.0 - positive, positive])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class _Shaped:
    """Just the shape of a table, for checks that ask for no more."""

    def __init__(self, n: int) -> None:
        self.shape = (n, 1)
