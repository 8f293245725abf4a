"""Several tables: mean ranks of estimators, and which of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from auclid.comparison._compare import compare
from auclid.comparison._results import ModelComparison
from auclid.errors import invalid_type, invalid_value
from auclid.validation.parameters import number_in


class TableComparison(NamedTuple):
    """Mean ranks of estimators over tables, 1 for the best; ``str`` of it is a table."""

    names: list[str]
    """Estimators, the lowest mean rank first."""
    ranks: np.ndarray
    """Their mean ranks."""
    critical_difference: float
    """Mean ranks that differ by less cannot be told apart (Nemenyi)."""
    pvalue: float
    """Of the test that all rank alike (Friedman); NaN with fewer than three estimators or tables."""
    aucs: np.ndarray
    """The AUC of each estimator (rows) on each table (columns)."""
    tables: list[str]
    level: float = 0.95
    comparisons: dict[str, ModelComparison] = {}
    """The comparison of each table, by its name."""

    @property
    def groups(self) -> list[tuple[int, int]]:
        """First and last number of each longest run of estimators that cannot be told apart."""
        runs: list[tuple[int, int]] = []
        for first, rank in enumerate(self.ranks):
            last = int(np.flatnonzero(self.ranks - rank <= self.critical_difference)[-1])
            if last > first and (not runs or last > runs[-1][1]):
                runs.append((first, last))
        return runs

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [
            f"{name:<{width}}  mean rank {rank:.2f}  mean AUC {mean:.4f}"
            for name, rank, mean in zip(self.names, self.ranks, self.aucs.mean(axis=1), strict=True)
        ]
        told = f"Critical difference {self.critical_difference:.2f} ({self.level:.0%}, {len(self.tables)} tables)"
        return "\n".join([*lines, told if np.isnan(self.pvalue) else f"{told}; Friedman's p = {self.pvalue:.2g}"])


def mean_ranks(
    aucs: Mapping[str, ArrayLike], *, tables: Sequence[str] | None = None, level: float = 0.95
) -> TableComparison:
    """Mean ranks of estimators over tables, with Friedman's test and Nemenyi's critical difference.

    Mean ranks of k estimators over N tables differ significantly where they are q √(k (k + 1) / (6 N)) apart, with the
    quantile q √2 of the studentised range.

    Parameters
    ----------
    aucs : dict of name to array-like of shape (tables,)
        The AUC, or any figure of which more is better, of each estimator on each table.
    tables : list of str, optional
    level : float in (0, 1), default=0.95

    Returns
    -------
    TableComparison
        `auclid.plot.critical_difference` draws it.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7.

    Examples
    --------
    >>> from auclid import mean_ranks
    >>> found = mean_ranks({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.7, 0.75, 0.5]})
    >>> found.names, found.ranks.round(2).tolist(), round(found.critical_difference, 2)
    (['a', 'b', 'c'], [1.0, 2.33, 2.67], 1.91)
    """
    owner = "mean_ranks"
    number_in(owner, "level", level, 0.0, 1.0)
    table = np.array([np.asarray(values, dtype=np.float64) for values in aucs.values()])
    if len(table) < 2 or table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table).all():
        expected = "hold finite figures of two estimators or more on two tables or more"
        raise invalid_value(owner, "aucs", expected, dict(aucs))
    k, n = table.shape
    ranks = rankdata(-table, axis=0).mean(axis=1)
    order = np.argsort(ranks, kind="stable")
    reach = float(studentized_range.ppf(level, k, np.inf) / np.sqrt(2.0) * np.sqrt(k * (k + 1) / (6.0 * n)))
    pvalue = float(friedmanchisquare(*table).pvalue) if min(k, n) > 2 else np.nan
    names, titles = list(map(str, aucs)), list(tables or map(str, range(1, n + 1)))
    return TableComparison([names[i] for i in order], ranks[order], reach, pvalue, table[order], titles, level)


def compare_tables(estimators: Any, tables: Mapping[str, tuple[Any, Any]], **options: Any) -> TableComparison:
    """Compare estimators on several tables: `auclid.compare` on each, then mean ranks over all.

    Parameters
    ----------
    estimators : dict of name to estimator, or list of estimators and names of methods
    tables : dict of name to (X, y)
    **options
        As in `auclid.compare`.

    Returns
    -------
    TableComparison
        ``names`` and ``ranks``, the best first, ``critical_difference``, ``pvalue``, ``aucs``, ``comparisons``.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from auclid import compare_tables
    >>> tables = {f"table {k}": make_classification(200, random_state=k) for k in range(3)}
    >>> found = compare_tables(["LeastSquaresAUC", LogisticRegression()], tables, cv=3, repeats=1)
    >>> sorted(found.names), found.tables
    (['LeastSquaresAUC', 'LogisticRegression'], ['table 0', 'table 1', 'table 2'])
    """
    if not isinstance(tables, Mapping):
        raise invalid_type("compare_tables", "tables", "be a dict of (X, y) by name", tables)
    found = {str(name): compare(estimators, *table, **options) for name, table in tables.items()}
    return ranked_tables(found, options.get("level", 0.95))


def ranked_tables(comparisons: Mapping[str, ModelComparison], level: float = 0.95) -> TableComparison:
    """Mean ranks of the estimators that could be fitted to every table."""
    aucs: dict[str, list[float]] = {}
    for each in comparisons.values():
        for model in each.ranked:
            aucs.setdefault(model.name, []).append(model.auc)
    whole = {name: values for name, values in aucs.items() if len(values) == len(comparisons)}
    ranks = mean_ranks(whole, tables=list(comparisons), level=level)
    return ranks._replace(comparisons=dict(comparisons))
