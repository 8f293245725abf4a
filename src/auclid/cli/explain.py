"""What a model looks at: how much AUC is lost on rows it has not seen when a column is shuffled."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid.data.encoding import is_frame
from auclid.metrics._roc import area, rates
from auclid.metrics._sample import Region
from auclid.validation import take_rows

MAX_EXPLAINED_ROWS, MAX_EXPLAINED_COLUMNS, SHOWN, TIMES = 2_000, 200, 10, 3
"""Rows and columns that are looked at, columns that are told, and shuffles of each."""


class Reason(NamedTuple):
    """A column, the AUC that is lost when it is shuffled, and the spread of that over shuffles."""

    name: str
    loss: float
    spread: float


def reasons(
    score: Callable[[Any], np.ndarray], X: Any, is_pos: np.ndarray, names: list[str], seed: int, max_fpr: float = 1.0
) -> list[Reason]:
    """The columns that matter most, by permutation; nothing for tables of very many columns, or sparse ones."""
    if sparse.issparse(X) or X.shape[1] > MAX_EXPLAINED_COLUMNS:
        return []
    rng = np.random.default_rng(seed)
    if len(is_pos) > MAX_EXPLAINED_ROWS:
        some = np.sort(rng.choice(len(is_pos), MAX_EXPLAINED_ROWS, replace=False))
        X, is_pos = take_rows(X, some), is_pos[some]
    if is_pos.all() or not is_pos.any():
        return []
    whole = _size(is_pos, score(X), max_fpr)
    found = []
    for k, name in enumerate(names):
        lost = [whole - _size(is_pos, score(shuffled(X, k, rng)), max_fpr) for _ in range(TIMES)]
        found.append(Reason(name, float(np.mean(lost)), float(np.std(lost, ddof=1))))
    return sorted(found, key=lambda reason: -reason.loss)[:SHOWN]


def _size(is_pos: np.ndarray, score: np.ndarray, max_fpr: float) -> float:
    """The AUC, or the standardised partial one."""
    return Region(max_fpr).value(area(*rates(is_pos, score), max_fpr, 0.0))


def shuffled(X: Any, k: int, rng: np.random.Generator) -> Any:
    """The table with the values of a column in another order."""
    order = rng.permutation(X.shape[0])
    if is_frame(X):
        return X.set_column(k, X.column_names[k], X.column(k).take(order))
    out = X.copy()
    out[:, k] = X[order, k]
    return out
