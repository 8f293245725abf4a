"""AUCClassifier on rows of files: it compares on a sample that fits in memory, then fits what it can on all rows."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from auclid._sources import all_labelled
from auclid.auto._columns_0_1 import OldColumns
from auclid.auto._leaderboard import Entry, noted
from auclid.auto._rows import rows_of
from auclid.auto._search import Member
from auclid.columns import Columns
from auclid.rows.mapped import mapped
from auclid.rows.source import Rows

LEAST = 10_000
"""Rows that are drawn whatever memory allows."""


def in_memory(owner: str, rows: Rows) -> tuple[Any, np.ndarray, np.ndarray | None, str]:
    """(X, y, weight, note) of as many rows as may be kept in memory, each class by its share, always the same ones."""
    if not rows.has_target:
        raise ValueError(f"{owner} learns from labels, but the rows have no target: scan(..., target=NAME).")
    all_labelled(rows)
    n, d = rows.shape
    size = max(LEAST, rows.memory // (8 * max(1, d)))
    index = np.arange(n) if n <= size else drawn(rows.labels().codes, size)
    X, y = rows.gather(index, gaps=True, words=True)
    X = rows.shown(X)
    weight = rows.sample_weight()
    note = "" if len(index) == n else f"fitted on {len(index):,} of {n:,} rows, as many as memory= holds"
    return X, y, None if weight is None else weight[index], note  # type: ignore[return-value]


def refitted(members: list[Member], columns: Columns | OldColumns, rows: Rows) -> tuple[list[Member], list[str]]:
    """The members, those that learn from rows as they lie fitted anew on all of them; and the names of these."""
    columns_out = list(columns.get_feature_names_out()) if isinstance(columns, Columns) else None
    prepared, names = mapped(rows, numbers=partial(scaled, columns), columns=columns_out), [
        member.name for member in members if not member.raw and getattr(member.model, "_fits_apart", False)
    ]  # fmt: skip
    fresh = [
        member._replace(model=clone(member.model).fit(prepared)) if member.name in names else member
        for member in members
    ]
    return fresh, names


def scaled(columns: Columns | OldColumns, X: Any) -> Any:
    """A block of rows as linear models see it."""
    return rows_of(columns, X).scaled


def retold(lines: list[Entry], names: list[str], note: str, count: int) -> list[Entry]:
    """The lines with what each was fitted on."""
    return [noted([line], f"fitted on all {count:,} rows" if line.name in names else note)[0] for line in lines]


def drawn(codes: np.ndarray, size: int) -> np.ndarray:
    """Numbers of about ``size`` rows, the same share of each class and at least ten rows of it, ascending."""
    rng, share, chosen = np.random.default_rng(0), size / len(codes), []
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        wanted = min(len(own), max(10, round(share * len(own))))
        chosen.append(rng.choice(own, wanted, replace=False, shuffle=False))
    return np.sort(np.concatenate(chosen))
