"""Population stability: how far a distribution has moved, from counts in bins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from auclid.data.encoding import Column, as_texts
from auclid.errors import InvalidValueError
from auclid.validation.parameters import whole_number

EMPTY_COUNT = 0.5
"""What a bin without rows counts as, beside bins with rows: without it the index would be infinite."""


class DriftTest(NamedTuple):
    """Pearson's chi-squared statistic of two rows of counts, its degrees of freedom and its p-value."""

    statistic: float
    df: int
    pvalue: float


def population_stability(expected: ArrayLike, actual: ArrayLike, *, bins: int = 10) -> float:
    """The population stability index of two samples of a score or a column.

    PSI = Σ_b (a_b − e_b) log(a_b/e_b), where e_b and a_b are the shares of the expected and of the actual rows in bin
    b. Bins hold equal shares of the expected numbers; missing values have a bin of their own, and so has each level of
    a column of texts. A bin that is empty in one of the two counts as half a row there. As a rule of thumb, below .1
    little has changed, and above .25 much.

    Parameters
    ----------
    expected : array-like of shape (n,)
        Scores or values when the model was made: numbers, where NaN is missing, or texts, where None is.
    actual : array-like of shape (m,)
        Those of today.
    bins : int of at least 2, default=10

    Returns
    -------
    float
        At least 0.

    References
    ----------
    Siddiqi, "Credit risk scorecards", 2006; Yurdakul & Naranjo, "Statistical properties of the population stability
    index", Journal of Risk Model Validation 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.metrics import population_stability
    >>> rng = np.random.default_rng(0)
    >>> before = rng.normal(size=10_000)
    >>> print(f"{population_stability(before, rng.normal(size=10_000)):.3f}")
    0.001
    >>> round(population_stability(before, before + 0.5), 2)
    0.24
    """
    bins = whole_number("population_stability", "bins", bins, 2)
    before, after = _values("expected", expected), _values("actual", actual)
    if before.dtype.kind == "f" and after.dtype.kind == "f":
        edges = bin_edges(before, bins)
        return stability_index(bin_counts(before, edges), bin_counts(after, edges))
    texts = [as_texts(Column("", "category", each.astype(object))).tolist() for each in (before, after)]
    levels = {level: k for k, level in enumerate(dict.fromkeys([*texts[0], *texts[1]]))}
    return stability_index(*(np.bincount([levels[text] for text in each], minlength=len(levels)) for each in texts))


def _values(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise InvalidValueError(
            owner="population_stability", parameter=name, expected="be one value or more, in one dimension",
            got=f"an array of shape {array.shape}",
        )  # fmt: skip
    return array.astype(np.float64) if array.dtype.kind in "biuf" else array


def bin_edges(values: np.ndarray, bins: int, weight: np.ndarray | None = None) -> np.ndarray:
    """Upper edges, all but the last, of bins with equal shares of the values that are not missing."""
    there = ~np.isnan(values)
    if not there.any():
        return np.zeros(0)
    if weight is None:
        cuts = np.quantile(values[there], np.arange(1, bins) / bins)
    else:
        order = np.argsort(values[there], kind="stable")
        mass = np.cumsum(weight[there][order])
        at = np.searchsorted(mass, np.arange(1, bins) / bins * mass[-1])
        cuts = values[there][order][np.minimum(at, len(order) - 1)]
    cuts = np.unique(cuts)
    return cuts[cuts < values[there].max()]


def bin_counts(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Rows in each bin (above one edge, up to the next), then missing ones."""
    place = np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values))
    return np.bincount(place, minlength=len(edges) + 2)


def stability_index(expected: np.ndarray, actual: np.ndarray) -> float:
    """The population stability index of two rows of counts; bins that are empty in both are left out."""
    expected, actual = (np.asarray(each, dtype=np.float64) for each in (expected, actual))
    used = (expected > 0.0) | (actual > 0.0)
    if not expected.any() or not actual.any():
        return float("nan")
    shares = [np.maximum(each[used], EMPTY_COUNT) / each.sum() for each in (expected, actual)]
    return float(np.sum((shares[1] - shares[0]) * np.log(shares[1] / shares[0])))


def drift_test(expected: np.ndarray, actual: np.ndarray) -> DriftTest:
    """Pearson's chi-squared test that two rows of counts come from one distribution.

    Bins with fewer than five rows in both together are pooled with the next one.
    """
    table = _pooled(np.stack([expected, actual]).astype(np.float64))
    totals = table.sum(axis=1)
    if table.shape[1] < 2 or not totals.all():
        return DriftTest(0.0, 0, 1.0)
    fitted = np.outer(totals, table.sum(axis=0)) / totals.sum()
    statistic = float(np.sum((table - fitted) ** 2 / fitted))
    df = table.shape[1] - 1
    return DriftTest(statistic, df, float(chdtrc(df, statistic)))


def _pooled(table: np.ndarray, least: float = 5.0) -> np.ndarray:
    """Columns that hold enough rows, each the sum of neighbours."""
    columns: list[np.ndarray] = []
    open_column = np.zeros(len(table))
    for column in table.T:
        open_column = open_column + column
        if open_column.sum() >= least:
            columns.append(open_column)
            open_column = np.zeros(len(table))
    if open_column.any():
        if columns:
            columns[-1] = columns[-1] + open_column
        else:
            columns.append(open_column)
    return np.array(columns).T if columns else np.zeros((len(table), 0))
