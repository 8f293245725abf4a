"""AUCClassifier on rows of files or of a cluster: it compares on a sample, then fits what it can on all rows."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from auclid._apart import begin_classes
from auclid.auto._leaderboard import Entry, noted
from auclid.auto._rows import Rows as TableRows
from auclid.auto._rows import rows_of
from auclid.auto._search import Member
from auclid.columns import Columns
from auclid.rows.mapped import is_label, mapped
from auclid.rows.sizes import KEPT
from auclid.rows.source import Rows
from auclid.stats.apart import sampled

LEAST = 10_000
"""Rows that are drawn whatever memory allows."""

FEWEST = 10
"""Rows of a class that are drawn, whatever its share."""


class Source(NamedTuple):
    """Rows in files or on a cluster, of which some were drawn to be compared on."""

    X: Any
    y: Any
    """Labels on a cluster; those of files are with their rows."""
    weight: Any
    columns: list[str] | None
    n_rows: int
    note: str
    """What those are fitted on that cannot be fitted where the rows lie; empty where all rows were drawn."""

    def against(self, label: Any) -> "Source":
        """The same rows, labelled by whether they are of a class."""
        if isinstance(self.X, Rows):
            return self._replace(X=mapped(self.X, labels=partial(is_label, label)))
        return self._replace(y=self.y == label)


class Prepared(NamedTuple):
    """A table as all models of it see it."""

    X: Any
    columns: Columns
    rows: TableRows
    weight: np.ndarray | None
    groups: np.ndarray | None
    source: Source | None
    """Where the rows were drawn from, if they are not all in memory."""


Drawn = tuple[Any, np.ndarray, np.ndarray | None, Any]
"""X, y, weight and groups of rows in memory."""


def drawn_from(model: Any, X: Any, y: Any, weight: Any, groups: Any) -> tuple[Source, Drawn]:
    """Rows that do not lie in memory, and those of them that are brought there."""
    owner = type(model).__name__
    rows = begin_classes(model, X, y, weight)
    if isinstance(X, Rows):
        index = drawn_rows(X)
        if groups is not None:
            groups = one_a_row(owner, groups, X.shape[0])[index]
        some, labels, mass, note = in_memory(X, index)
        return Source(X, None, None, rows.parts.columns, X.shape[0], note), (some, labels, mass, groups)
    if groups is not None:
        raise ValueError(
            f"The groups of {owner} must be None where rows lie on a cluster: which rows are compared is not known "
            "before. Fit on a part of them, such as X[:100_000].compute()."
        )
    counts = rows.counts.sum(axis=0)
    share = min(1.0, max(LEAST, KEPT // (8 * max(1, rows.parts.width))) / int(counts.sum()))
    sizes = [min(int(count), max(FEWEST, round(share * int(count)))) for count in counts]
    some, codes, mass = sampled(rows, sizes)
    count, size = int(counts.sum()), len(codes)
    note = "" if size == count else f"fitted on {size:,} of {count:,} rows, drawn from all partitions"
    return Source(X, y, weight, rows.parts.columns, count, note), (
        rows.parts.shown(some), rows.classes[codes], mass, None
    )  # fmt: skip


def one_a_row(owner: str, groups: Any, n: int) -> np.ndarray:
    """The groups as an array, refused unless there is one for each of n rows."""
    if np.shape(groups) != (n,):
        got = f"shape {np.shape(groups)}" if np.ndim(groups) else repr(groups)
        raise ValueError(f"The groups of {owner} must be an array of shape ({n},), one a row; got {got}.")
    return check_array(groups, ensure_2d=False, dtype=None, input_name="groups")


def in_memory(rows: Rows, index: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray | None, str]:
    """(X, y, weight, note) of the rows of these numbers."""
    n = rows.shape[0]
    X, y = rows.gather(index, gaps=True, words=True)
    X = rows.shown(X)
    weight = rows.sample_weight()
    note = "" if len(index) == n else f"fitted on {len(index):,} of {n:,} rows, as many as memory= holds"
    return X, y, None if weight is None else weight[index], note  # type: ignore[return-value]


def drawn_rows(rows: Rows) -> np.ndarray:
    """The numbers of the rows brought to memory: as many as may be kept there, always the same, by class."""
    n, d = rows.shape
    size = max(LEAST, rows.memory // (8 * max(1, d)))
    return np.arange(n) if n <= size else drawn(rows.labels().codes, size)


def refitted(members: list[Member], columns: Columns, source: Source) -> tuple[list[Member], list[str]]:
    """The members, those that learn from rows as they lie fitted anew on all of them; and the names of these."""
    names = [member.name for member in members if not member.raw and getattr(member.model, "_fits_apart", False)]
    if not names:
        return members, names
    if isinstance(source.X, Rows):
        out = list(columns.get_feature_names_out())
        given: dict[str, Any] = {"X": mapped(source.X, numbers=partial(scaled, columns), columns=out)}
    else:
        given = {"X": columns.transform(source.X), "y": source.y}
        given |= {} if source.weight is None else {"sample_weight": source.weight}
    fresh = [
        member._replace(model=clone(member.model).fit(**given)) if member.name in names else member
        for member in members
    ]
    return fresh, names


def scaled(columns: Columns, X: Any) -> Any:
    """A block of rows as linear models see it."""
    return rows_of(columns, X).scaled


def retold(lines: list[Entry], names: list[str], note: str, count: int) -> list[Entry]:
    """The lines with what each was fitted on."""
    return [noted([line], f"fitted on all {count:,} rows" if line.name in names else note)[0] for line in lines]


def drawn(codes: np.ndarray, size: int) -> np.ndarray:
    """Numbers of about ``size`` rows, the same share of each class and at least FEWEST rows of it, ascending."""
    rng, share, chosen = np.random.default_rng(0), size / len(codes), []
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        wanted = min(len(own), max(FEWEST, round(share * len(own))))
        chosen.append(rng.choice(own, wanted, replace=False, shuffle=False))
    return np.sort(np.concatenate(chosen))
