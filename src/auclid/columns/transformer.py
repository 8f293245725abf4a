"""Columns: numbers out of any table, for whatever model comes next."""

import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_feature_names_in

from auclid import _sizes, validation
from auclid.columns import _dates, _levels
from auclid.columns._levels import Levels, TextCounts, learn_levels
from auclid.columns._notes import Findings, notes
from auclid.columns._numbers import NumericScaling, SparseScaling, add_rows, apply_dense, apply_sparse, learn_scaling
from auclid.columns._summary import column_names, numeric_part, summarize_columns
from auclid.data import as_array, encoding
from auclid.data.types import OutputFile, RowsLike
from auclid.errors import IdentifierWarning
from auclid.validation import RowAccess, checked_table, encoded_rows, is_numeric, mapped_source, partwise

MAX_FILLED_SHARE = 0.2
"""Of more than `_sizes.DENSE_COLUMNS` columns, the share that must be filled for what comes out to be an array."""


class Columns(TransformerMixin, BaseEstimator):
    """Turn any table into numbers for linear and kernel models: missing cells, tails, categories, booleans, dates.

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

    _row_access = RowAccess.PARTS

    _parameter_constraints: dict = {
        "categories": [StrOptions({"auto"}), list, tuple, np.ndarray],
        "scale": [StrOptions({"auto", "standard", "rank"}), None],
        "rare": [validation.real(0.0, 1.0)],
        "max_levels": [validation.at_least(1)],
    }

    _numbers: NumericScaling | SparseScaling | None
    _levels: dict[int, Levels]
    _periods: dict[int, list[str]]
    constants_: list[str]

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

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> Self:
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
        rows = encoded_rows(self, X, sample_weight, self._categories)
        names, findings = column_names(rows), Findings([], [], [], [])
        summary = summarize_columns(self, rows, self._categories(names))
        self.kinds_, self._periods = summary.levels.kinds, summary.periods
        self._sparse, self._numbers = summary.is_sparse, None
        self._learn_levels(names, summary.levels.counts, summary.rows, findings)
        numeric = self._numeric_names(names)
        if numeric:
            plain = summary.extremes is not None
            step = partial(numeric_part, summary.levels, summary.periods)
            own = rows if plain else rows.transformed(step, len(numeric))
            self._numbers, constant = learn_scaling(own, self.scale, self._sparse and plain, summary.extremes)
            findings.constants.extend(np.array(numeric)[constant].tolist())
        findings.identifiers.extend(names[k] for k in summary.identifiers)
        return self._set_fitted_attributes(findings)

    @validation.checked
    def partial_fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of a stream.

        The first batch is learnt as by `fit`: it fixes kinds, levels, medians and normal scores, and so the columns
        that come out. Later ones move the mean, the deviation and the range of each number; those of columns without
        normal scores are then what `fit` would have found in all rows with the same medians. A level that the first
        batch did not have is rare.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        if not hasattr(self, "kinds_"):
            return self.fit(X, y, sample_weight)
        X = checked_table(self, X, reset=False)
        weight, (numbers, _) = validation.weights(sample_weight, X), self._parse(X)
        if self._numbers is None:
            return self
        self._numbers = add_rows(self._numbers, numbers, weight, self.scale)
        if isinstance(self._numbers, NumericScaling):
            validation.finite(self, self._numbers.spread)
            vary = np.array(self._numeric_names())[self._numbers.reach > 0.0]
            self.constants_ = [name for name in self.constants_ if name not in vary]
        return self

    def _set_fitted_attributes(self, findings: Findings) -> Self:
        """Publish the columns to point out."""
        self.constants_, self.identifiers_ = findings.constants, findings.identifiers
        numeric = self._numeric_names()
        self.ranked_ = [numeric[k] for k in self._numbers.ranked] if isinstance(self._numbers, NumericScaling) else []
        self.notes_ = notes(findings, self.ranked_)
        if not self._n_features_out:
            raise ValueError(
                f"Columns must be given a column that tells rows apart; got only {findings.left_out[:5]}, with no text "
                "in two rows alike. Add a column of numbers, or of categories."
            )
        if findings.identifiers:
            sentence = notes(Findings([], findings.identifiers, findings.left_out, []), [])[0]
            warnings.warn(IdentifierWarning(sentence, findings.identifiers), stacklevel=5)
        return self

    def _categories(self, names: list[str]) -> list[int]:
        """The numbers of the columns that are categories by request."""
        requested = [] if isinstance(self.categories, str) else list(self.categories)
        return encoding.column_indices(self, "categories", requested, names)

    def _learn_levels(self, names: list[str], counts: Mapping[int, TextCounts], rows: int, findings: Findings) -> None:
        self._levels = {k: learn_levels(texts, self.rare, self.max_levels) for k, texts in counts.items()}
        for k, texts in counts.items():
            findings.add_texts(names[k], texts, rows, bool(self._levels[k].width))

    def fit_transform(self, X: RowsLike, y: Any = None, **params: Any) -> Any:
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
        self.fit(X, y, **params)
        return mapped_source(X, partial(transform_block, self), self.get_feature_names_out().tolist())

    @partwise
    def transform(self, X: RowsLike, *, out: OutputFile = None) -> Any:
        """The numbers of each row.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array or CSR matrix of shape (n, columns that come out), of X's floating type
        """
        validation.fitted(self, "kinds_")
        return self._apply(*self._parse(checked_table(self, X, reset=False)))

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
        validation.fitted(self, "kinds_")
        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        numeric = self._numeric_names(names)
        marked = [] if self._numbers is None else [f"{numeric[k]} (missing)" for k in self._numbers.marked]
        levels = [name for k, each in self._levels.items() for name in _levels.output_names(each, names[k])]
        return np.array([*numeric, *marked, *levels], dtype=object)

    @property
    def _n_features_out(self) -> int:
        marked = 0 if self._numbers is None else len(self._numbers.marked)
        return len(self._numeric_names()) + marked + sum(each.width for each in self._levels.values())

    def _numeric_names(self, names: list[str] | None = None) -> list[str]:
        """The columns of numbers: those of dates are several."""
        names = [str(name) for name in _check_feature_names_in(self)] if names is None else names
        return [
            each
            for k, kind in enumerate(self.kinds_)
            if k not in self._levels
            for each in (_dates.period_names(names[k], self._periods[k]) if kind == "date" else [names[k]])
        ]

    def _numeric_columns(self, columns: list[encoding.Column]) -> np.ndarray:
        """The columns of numbers side by side; float32 where all columns are."""
        out: list[np.ndarray] = []
        for k, column in enumerate(columns):
            if k in self._levels:
                continue
            values = encoding.as_numbers(self, column._replace(kind=self.kinds_[k]))
            out += _dates.apply_periods(values, self._periods[k]) if k in self._periods else [values]
        if not out:
            return np.empty((len(columns[0].values), 0))
        narrow = all(column.values.dtype == np.float32 for column in columns)
        return np.column_stack(out).astype(np.float32 if narrow else np.float64, copy=False)

    def _parse(self, X: Any) -> tuple[Any, list[np.ndarray]]:
        """The numbers of a checked table, missing ones as NaN, and for each category the codes of its levels."""
        if is_numeric(X) and not encoding.is_frame(X) and not self._levels and not self._periods:
            return X, []
        columns = encoding.table_columns(self, X)
        codes = [_levels.output_codes(each, encoding.as_texts(columns[k])) for k, each in self._levels.items()]
        return self._numeric_columns(columns), codes

    def _apply(self, X: Any, codes: list[np.ndarray]) -> Any:
        """What comes out of the numbers and codes of `_parse`."""
        if isinstance(self._numbers, SparseScaling):
            rows = apply_sparse(self._numbers, sparse.csr_array(X))
            return rows if sparse.issparse(X) else rows.toarray()
        numeric = [] if self._numbers is None else [apply_dense(self._numbers, as_array(X))]
        pairs = [pair for pair in zip(self._levels.values(), codes, strict=True) if pair[0].width]
        if not pairs:
            return numeric[0]
        if self._comes_out_sparse():
            levels = [_levels.one_hot(each, code, X.dtype) for each, code in pairs]
            return sparse.hstack([*map(sparse.csr_array, numeric), *levels], format="csr")
        out, start = np.zeros((len(X), self._n_features_out), X.dtype), 0
        for block in numeric:
            start = block.shape[1]
            out[:, :start] = block
        for each, code in pairs:
            _levels.mark_levels(out[:, start : start + each.width], code)
            start += each.width
        return out

    def _sound(self) -> bool:
        """Whether what was loaded is about as many columns as it says."""
        return not hasattr(self, "kinds_") or len(self.kinds_) == self.n_features_in_

    def _comes_out_sparse(self) -> bool:
        """Whether there are many columns, and most of what comes out are zeros."""
        width, filled = self._n_features_out, len(self._numeric_names()) + len(self._levels)
        return width > _sizes.DENSE_COLUMNS and filled < MAX_FILLED_SHARE * width

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def transform_block(columns: Columns, X: Any) -> Any:
    """A block of rows as `Columns` makes it; a block has no names to compare."""
    with validation.names_known():
        return columns.transform(X)
