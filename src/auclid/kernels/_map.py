"""What both feature maps share: scikit-learn's demands on a transformer, and rows embedded block by block."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags

from auclid import _random, validation
from auclid.data import Table, as_array, as_table
from auclid.data.blocks import Block
from auclid.data.embedded import Embedded, working_type
from auclid.data.types import OutputFile, RowsLike
from auclid.kernels._kernel_block import width
from auclid.validation import RowAccess, partwise

CHECKED_ROWS = 100
"""Rows that are looked at for a size whose squares vanish."""


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A map psi with psi(x).psi(y) near k(x, y).

    A subclass gives

    - ``_draw(table, rng, dtype)``: what it learns from the rows, to work in a floating type from then on;
    - ``_dtype``: that type;
    - ``_values()``: a function from a block of rows to their values v, in that type;
    - ``_projection``: P where psi(x) = P'v, or None where psi(x) = v;
    - ``_n_features_out``: how many columns psi(x) has;
    - ``_sound()``: whether what it has learnt, if anything, fits together: kernels trust the shapes in a loaded file.
    """

    _row_access: ClassVar[RowAccess] = RowAccess.SEQUENTIAL

    _parameter_constraints: dict = {
        "n_components": [validation.at_least(1)],
        "gamma": [validation.real(closed="neither"), None],
        "random_state": _random.RANDOM_STATE,
    }
    _projection: np.ndarray | None = None
    _dtype: np.dtype
    _n_features_out: int
    gamma: float | str | None
    kernel: str
    random_state: Any

    @abstractmethod
    def _draw(self, table: Table, rng: np.random.Generator, dtype: np.dtype) -> None:
        """What is kept of the rows: frequencies or landmarks."""

    @abstractmethod
    def _values(self) -> Callable[[Block], np.ndarray]:
        """A function from a block of rows to their values."""

    @abstractmethod
    def _sound(self) -> bool:
        """Whether what was learnt fits together."""

    def fit(self, X: RowsLike, y: Any = None) -> Self:
        """Learn what the map needs to know of the rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X)

    @validation.checked
    def _fit(self, X: Any, dtype: Any = None) -> Self:
        """`fit`, to work in a floating type that may be narrower than that of the rows."""
        table = validation.check_rows(self, X, reset=True)
        self._draw(table, _random.generator(self.random_state), np.dtype(dtype or table.dtype))
        self._tell_tiny(as_table(table.part(slice(0, CHECKED_ROWS))))
        return self

    def _tell_tiny(self, head: Table) -> None:
        """Warn where rows are so small that their squares vanish, and all look alike."""
        if validation.largest(head) < validation.MIN_SQUARABLE:
            values = Embedded(head, self).part(slice(None))
            validation.warn_if_constant_scores(
                self, head, np.append(np.ptp(values, axis=0), 0.0), "gives every row the same values"
            )

    def _gamma(self, table: Table, fineness: float, rng: np.random.Generator) -> float | None:
        """The given inverse width, or what the rows suggest: the more columns, the finer what they can tell apart."""
        if self.gamma is not None:
            return float(self.gamma)
        gamma = width(table, self.kernel, fineness, rng)
        return None if gamma is None else validation.measurable(self, gamma or np.inf)

    @partwise
    def transform(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
        """psi(x) of each row.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n, columns), of X's floating type
        """
        validation.fitted(self, "gamma_")
        table = validation.check_rows(self, X)
        return validation.finite_scores(self, Embedded(table, self).part(slice(None)), table.dtype, "values")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Foreign:
    """Any transformer of scikit-learn, fitted, seen as a feature map by the rows it is to embed."""

    _projection: np.ndarray | None = None

    def __init__(self, transformer: Any, table: Table, columns: int | None = None) -> None:
        self._transformer = transformer
        self._n_features_out = columns or transformer.transform(table.part(slice(0, 1))).shape[1]
        self._dtype = working_type(table.shape[0], self._n_features_out, table.dtype)

    def _values(self) -> Callable[[Block], np.ndarray]:
        return lambda block: as_array(self._transformer.transform(block)).astype(self._dtype, copy=False)


def embedded(table: Table, feature_map: Any, columns: int | None = None) -> Embedded:
    """The rows that a fitted transformer, frozen or not, makes of a table's; ``columns`` tells how many, if known."""
    inside = feature_map.estimator if isinstance(feature_map, FrozenEstimator) else feature_map
    return Embedded(table, inside if isinstance(inside, FeatureMap) else Foreign(feature_map, table, columns))
