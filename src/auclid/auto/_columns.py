"""Raw columns made comparable: what is missing filled in, wild values brought nearer, scale taken out."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from auclid.rows import as_array

FAR = 10.0
"""Times the distance of the quartiles: a value farther off is brought there, lest one outweigh a thousand others."""


class Columns(NamedTuple):
    """What was learnt of the columns, without labels."""

    filler: SimpleImputer
    fences: np.ndarray | None
    """The lowest and the highest value that is believed, of each column; None where columns are sparse."""
    scaler: Pipeline


def learnt(X):
    """The `Columns` of a table."""
    filler = SimpleImputer(strategy="median", keep_empty_features=True)
    Z = filler.fit_transform(X)
    if sparse.issparse(X):
        return Columns(filler, None, make_pipeline(MaxAbsScaler()).fit(Z))
    fences = fenced(Z)
    scaler = make_pipeline(MaxAbsScaler(), StandardScaler())  # squares of huge values would overflow
    return Columns(filler, fences, scaler.fit(np.clip(Z, *fences)))


def fenced(Z):
    """Fences, FAR out; none where the quartiles are the same, since then every other value is far out."""
    low, high = np.percentile(Z, [25, 75], axis=0)
    reach = np.where(high > low, FAR * (high - low), np.inf)
    return np.array([low - reach, high + reach], dtype=Z.dtype)


def scaled(columns, X):
    """X as linear and kernel models want it: no gaps, columns alike.

    Dense columns get mean 0 and variance 1. Sparse ones stay sparse and get a largest size of 1, unless dense ones
    were learnt from.
    """
    if columns.fences is None:
        return columns.scaler.transform(columns.filler.transform(X))
    return columns.scaler.transform(np.clip(columns.filler.transform(as_array(X)), *columns.fences))


def has_missing(X):
    """Whether a value is missing."""
    return bool(np.isnan(X.data if sparse.issparse(X) else X).any())
