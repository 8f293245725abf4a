"""Columns: numbers out of any table, for whatever model comes next."""

import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_feature_names_in

from auclid import _check, _kinds
from auclid._apart import by_parts, remember_columns
from auclid.columns import _dates, _levels
from auclid.columns._apart import column_names, number_rows, summarize_columns
from auclid.columns._learning import Pieces, learn
from auclid.columns._levels import Counted, counted, learn_levels
from auclid.columns._notes import Findings, identifiers, notes
from auclid.columns._numbers import (
    Numbers,
    SparseNumbers,
    apply_dense,
    apply_sparse,
)
from auclid.columns._table import checked_table, taken
from auclid.data import as_array
from auclid.data.dask import DaskDataset, is_dask
from auclid.data.dataset import Dataset, Part
from auclid.data.file_dataset import FileDataset
from auclid.data.files import Rows
from auclid.data.mapped import mapped
from auclid.errors import IdentifierWarning

WIDE, THIN = 200, 0.2
"""With more columns than this, of which fewer than this share are filled, what comes out is a CSR matrix."""


class Columns(TransformerMixin, BaseEstimator):
    """Numbers out of any table: gaps, heavy tails, categories, truths and dates, as linear and kernel models want them.

    A number x becomes (x − mean)/deviation. Where the farthest hundredth of the rows has more than half of a column's
    sum of squares about its median, one wild value would outweigh a thousand others: there x becomes its normal score

        Φ⁻¹(½ (P(x' < x) + P(x' ≤ x)))

    first (a rank-based inverse normal transformation). Missing values become the median, and a further column of zeros
    and ones marks them. Each frequent level of a category, or of a column of texts, becomes a column of zeros and ones
    (one-hot), rare ones share one, and so do missing ones. Truths are numbers 0 and 1. A date becomes its day, as a
    number, and sine and cosine of its place in the year, the week and the day, where dates tell something about them.
    Labels are not looked at.

    Parameters
    ----------
    categories : "auto" or list of column names or numbers, default="auto"
        Columns that are categories although they hold numbers. Columns of texts always are, unless every text reads as
        a number or as an ISO date.
    scale : {"auto", "standard", "rank", None}, default="auto"
        "auto": normal scores for columns with heavy tails. "standard": for none. "rank": for all. None: numbers stay
        as they are, but for missing ones. Sparse columns get a largest size of 1, unless it is None.
    rare : float in [0, 1), default=0.01
        A level with a smaller share of the rows is rare, as is one of a single row.
    max_levels : int in [1, inf), default=100
        At most so many levels of a column, the most frequent ones, are not rare.

    Attributes
    ----------
    kinds_ : list of str
        What each column was taken for: "number", "bool", "date", "category" or "text".
    ranked_ : list of str
        Columns with normal scores.
    constants_ : list of str
        Columns with the same value in every row; as numbers they become zeros, as texts they are left out.
    identifiers_ : list of str
        Columns with a different whole number, or text, in every row. Texts of that kind are left out, numbers are not.
    notes_ : list of str
        Sentences about the above. Those about identifiers are also warnings.
    n_features_in_ : int
    feature_names_in_ : array of str, where X was a frame

    Notes
    -----
    Takes arrays (of objects too), CSR matrices, and frames of pandas, polars and pyarrow; what comes out is an array,
    or a CSR matrix where X is sparse or where most entries would be zeros. Rows of files (`auclid.scan`) and dask
    collections, with any of these columns, are learnt in a few passes, to the same result; an identifier of numbers in
    no order is pointed out there up to some 8 million rows. Of more than 20,000 rows, medians and ranks are those of a
    sample, always the same one. A number beyond what was seen is brought within the range of the
    column, or as far beyond it as the range is wide. A level never seen is rare; where none was rare, its columns are
    all zero. Files, see `auclid.save`, need no pickle.

    References
    ----------
    van der Waerden, "Order tests for the two-sample problem and their power", 1952 (normal scores).

    Beasley, Erickson & Allison, "Rank-based inverse normal transformations are increasingly used, but are they
    merited?", Behavior Genetics 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import Columns
    >>> X = np.array([[1.0, "red"], [2.0, "blue"], [None, "red"], [3.0, "blue"]], dtype=object)
    >>> columns = Columns()
    >>> np.round(columns.fit_transform(X), 1)
    array([[-1.4,  0. ,  0. ,  1. ],
           [ 0. ,  0. ,  1. ,  0. ],
           [ 0. ,  1. ,  0. ,  1. ],
           [ 1.4,  0. ,  1. ,  0. ]])
    >>> columns.get_feature_names_out().tolist()
    ['x0', 'x0 (missing)', 'x1=blue', 'x1=red']
    """

    _parameter_constraints: dict = {
        "categories": [StrOptions({"auto"}), list, tuple, np.ndarray],
        "scale": [StrOptions({"auto", "standard", "rank"}), None],
        "rare": [_check.real(0.0, 1.0)],
        "max_levels": [_check.at_least(1)],
    }

    _numbers: Numbers | SparseNumbers | None
    _levels: dict[int, _levels.Levels]
    _periods: dict[int, list[str]]

    def __init__(
        self,
        categories: str | Iterable = "auto",
        *,
        scale: str | None = "auto",
        rare: float = 0.01,
        max_levels: int = 100,
    ) -> None:
        self.categories = categories
        self.scale = scale
        self.rare = rare
        self.max_levels = max_levels

    @_check.checked
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn what each column holds.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            NaN, None and NaT are missing.
        y : ignored
        sample_weight : array of shape (n,), optional
            Weighs rows in means, medians, ranks and shares; rows of weight 0 are not looked at.

        Returns
        -------
        self
        """
        if isinstance(X, Rows) or is_dask(X):
            return self._set_fitted_attributes(self._learn_apart(X, sample_weight))
        X = checked_table(self, X, reset=True)
        weight = _check.check_relative_weights(sample_weight, X)
        if weight is not None:
            if not weight.any():
                raise ValueError("sample_weight of Columns must be positive on some row; got zeros only.")
            X, weight = taken(X, np.flatnonzero(weight)), weight[weight > 0.0]
        found = Findings([], [], [], [])
        self._learn_parts(X, weight, found)
        return self._set_fitted_attributes(found)

    def _set_fitted_attributes(self, found: Findings) -> Self:
        """Publish what is odd about the columns."""
        self.constants_, self.identifiers_ = found.constants, found.identifiers
        numbers = self._number_names()
        self.ranked_ = [numbers[k] for k in self._numbers.ranked] if isinstance(self._numbers, Numbers) else []
        self.notes_ = notes(found, self.ranked_)
        if not self._n_features_out:
            raise ValueError(
                f"Columns must be given a column that tells rows apart; got only {found.left_out[:5]}, with no text "
                "in two rows alike. Add a column of numbers, or of categories."
            )
        if found.identifiers:
            said = notes(Findings([], found.identifiers, found.left_out, []), [])[0]
            warnings.warn(IdentifierWarning(said, found.identifiers), stacklevel=5)
        return self

    def _learn_apart(self, X: Any, sample_weight: Any) -> Findings:
        """A few passes over rows in files or on a cluster: what `fit` learns in memory."""
        parts: Dataset
        if isinstance(X, Rows):
            if sample_weight is not None:
                raise ValueError(
                    "Columns must be given rows of files with their own weight; got another sample_weight. Name it in "
                    "scan(..., sample_weight=)."
                )
            parts = FileDataset(X, gaps=True, words=True)
            self._sparse = sparse.issparse(X.sample(1, 0, gaps=True)[0])
        else:
            parts = DaskDataset(type(self).__name__, X, None, sample_weight, gaps=True, words=True)
            self._sparse = parts.compute(parts.merge(any, parts.map(is_sparse_part)))
        remember_columns(self, parts.columns, parts.width)
        names, found = column_names(parts), Findings([], [], [], [])
        survey = summarize_columns(self, parts, self._chosen(names))
        self.kinds_, self._periods = survey.kinds, survey.periods
        self._learn_texts(names, survey.counts, survey.rows, found)
        numbered, self._numbers = self._number_names(names), None
        if numbered:
            plain = survey.ends is not None
            rows = parts if plain else parts.transformed(partial(number_rows, survey), len(numbered))
            self._numbers, constant = learn(rows, self.scale, self._sparse and plain, survey.ends)
            found.constants.extend(np.array(numbered)[constant].tolist())
        found.identifiers.extend(names[k] for k in survey.identifiers)
        return found

    def _chosen(self, names: list[str]) -> list[int]:
        """The numbers of the columns that are categories by request."""
        wanted = [] if isinstance(self.categories, str) else list(self.categories)
        return _kinds.column_numbers(self, "categories", wanted, names)

    def _learn_texts(self, names: list[str], counts: dict[int, Counted], rows: int, found: Findings) -> None:
        self._levels = {k: learn_levels(texts, self.rare, self.max_levels) for k, texts in counts.items()}
        for k, texts in counts.items():
            found.texts(names[k], texts, rows, bool(self._levels[k].width))

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """`fit`, then `transform`: of rows in files, rows that are transformed as they are read.

        So a pipeline that begins with Columns can be fitted on rows that do not fit in memory.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : ignored
        **params
            For `fit`.

        Returns
        -------
        array or CSR matrix of shape (n, columns that come out), of X's floating type; `Rows` of `Rows`
        """
        if isinstance(X, Rows):
            self.fit(X, **params)
            return mapped(X, numbers=partial(transformed, self), columns=self.get_feature_names_out().tolist())
        return super().fit_transform(X, y, **params)

    _takes_tables, _knows_gaps, _knows_words = False, True, True

    @by_parts
    def transform(self, X: Any) -> Any:
        """The numbers of each row.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array or CSR matrix of shape (n, columns that come out), of X's floating type
        """
        _check.fitted(self, "kinds_")
        return self._apply(*self._parts(checked_table(self, X, reset=False)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns that come out: "age", "age (missing)", "colour=red", "colour (rare)", and so on.

        Parameters
        ----------
        input_features : array of str, optional
            Must be the names that were fitted, where there were any.

        Returns
        -------
        array of str
        """
        _check.fitted(self, "kinds_")
        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        numbers = self._number_names(names)
        marked = [] if self._numbers is None else [f"{numbers[k]} (missing)" for k in self._numbers.marked]
        levels = [name for k, known in self._levels.items() for name in _levels.names(known, names[k])]
        return np.array([*numbers, *marked, *levels], dtype=object)

    @property
    def _n_features_out(self) -> int:
        marked = 0 if self._numbers is None else len(self._numbers.marked)
        return len(self._number_names()) + marked + sum(known.width for known in self._levels.values())

    def _learn_parts(self, X: Any, weight: np.ndarray | None, found: Findings) -> None:
        names = _kinds.column_names(X)
        chosen = self._chosen(names)
        self._levels, self._periods = {}, {}
        self._sparse = sparse.issparse(X)
        if _plain(X) and not chosen:
            self.kinds_ = ["number"] * X.shape[1]
            self._numbers, constant = learn(Pieces(X, weight), self.scale, self._sparse)
            found.constants.extend(np.array(names)[constant].tolist())
            if not self._sparse:
                found.identifiers.extend(identifiers(names, X))
            return
        columns, counts = _kinds.table_columns(self, X), {}
        self.kinds_ = ["category" if k in chosen else column.kind for k, column in enumerate(columns)]
        for k, column in enumerate(columns):
            if self.kinds_[k] == "date":
                self._periods[k] = _dates.learn_periods(_dates.span_of(_kinds.numbers(self, column)))
            elif self.kinds_[k] in ("category", "text"):
                counts[k] = counted(_kinds.words(column), weight)
        self._learn_texts(names, counts, len(columns[0].values), found)
        self._numbers, rows = None, self._number_rows(columns)
        if rows.shape[1]:
            self._numbers, constant = learn(Pieces(rows, weight), self.scale, False)
            numbered = self._number_names(names)
            found.constants.extend(np.array(numbered)[constant].tolist())
            found.identifiers.extend(identifiers(numbered, rows))

    def _number_names(self, names: list[str] | None = None) -> list[str]:
        """The columns of numbers: those of dates are several."""
        names = [str(name) for name in _check_feature_names_in(self)] if names is None else names
        return [
            each
            for k, kind in enumerate(self.kinds_)
            if k not in self._levels
            for each in (_dates.names(names[k], self._periods[k]) if kind == "date" else [names[k]])
        ]

    def _number_rows(self, columns: list[_kinds.Column]) -> np.ndarray:
        """Columns of numbers side by side; float32 where all are."""
        parts: list[np.ndarray] = []
        for k, column in enumerate(columns):
            if k in self._levels:
                continue
            values = _kinds.numbers(self, column._replace(kind=self.kinds_[k]))
            parts += _dates.apply_periods(values, self._periods[k]) if k in self._periods else [values]
        narrow = parts and all(column.values.dtype == np.float32 for column in columns)
        dtype = np.float32 if narrow else np.float64
        return np.column_stack(parts).astype(dtype, copy=False) if parts else np.empty((len(columns[0].values), 0))

    def _parts(self, X: Any) -> tuple[Any, list[np.ndarray]]:
        """The numbers of X, with their gaps, and for each column of categories the codes of its levels."""
        if _plain(X) and not self._levels and not self._periods:
            return X, []
        columns = _kinds.table_columns(self, X)
        found = [_levels.codes(known, _kinds.words(columns[k])) for k, known in self._levels.items()]
        return self._number_rows(columns), found

    def _apply(self, X: Any, found: list[np.ndarray]) -> Any:
        if isinstance(self._numbers, SparseNumbers):
            rows = apply_sparse(self._numbers, sparse.csr_array(X))
            return rows if sparse.issparse(X) else rows.toarray()
        parts = [] if self._numbers is None else [apply_dense(self._numbers, as_array(X))]
        pairs = zip(self._levels.values(), found, strict=True)
        levels = [_levels.one_hot(known, code, X.dtype) for known, code in pairs if known.width]
        if not levels:
            return parts[0]
        if self._thin():
            return sparse.hstack([*map(sparse.csr_array, parts), *levels], format="csr")
        return np.column_stack([*parts, *(level.toarray() for level in levels)])

    def _thin(self) -> bool:
        """Whether most of what comes out are zeros."""
        width = self._n_features_out
        return width > WIDE and len(self._number_names()) + len(self._levels) < THIN * width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _plain(X: Any) -> bool:
    """Whether every column holds numbers, by the type of the whole."""
    return not _kinds.is_frame(X) and X.dtype.kind == "f"


def transformed(columns: Columns, X: Any) -> Any:
    """A block of rows as `Columns` makes it; a block has no names to compare."""
    with _check.names_known():
        return columns.transform(X)


def is_sparse_part(part: Part) -> bool:
    """Whether the rows of a part are sparse."""
    return bool(sparse.issparse(part.X))
