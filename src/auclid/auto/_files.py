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
from auclid.auto._search import Member, refitted
from auclid.columns import Columns
from auclid.data.dask import column_parts, is_dask
from auclid.data.files import Rows
from auclid.data.mapped import is_label, mapped
from auclid.data.sizes import KEPT
from auclid.stats.labelled import sampled_at

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
    counts: dict[Any, tuple[int, int]]
    """Of each label: its rows, and those of them that were drawn."""

    def excess(self, label: Any) -> float:
        """The log-odds of a label among all rows, less those among the rows drawn: of a rare label more are drawn."""
        own = np.array(self.counts[label], dtype=np.float64)
        rest = np.sum(list(self.counts.values()), axis=0) - own
        return float(np.log(own[0] / rest[0]) - np.log(own[1] / rest[1]))

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
    """Rows that do not lie in memory, and those of them that are brought there: the same share of each class and at
    least FEWEST rows of it, always the same ones."""
    rows = begin_classes(model, X, y, weight)
    sizes = rows.every.sum(axis=1)
    groups = None if groups is None else Groups.of(type(model).__name__, groups, X, sizes)
    in_files, counts, n = isinstance(X, Rows), rows.counts.sum(axis=0), int(sizes.sum())
    room = max(LEAST, (X.memory if in_files else KEPT) // (8 * max(1, rows.parts.width)))
    share = min(1.0, room / int(counts.sum()))
    wanted = [min(int(count), max(FEWEST, round(share * int(count)))) for count in counts]
    (some, codes, mass), places = sampled_at(rows, wanted)
    why = "as many as memory= holds" if in_files else "drawn from all partitions"
    note = "" if len(codes) == counts.sum() else f"fitted on {len(codes):,} of {n:,} rows, {why}"
    together = None if groups is None else groups.at(places)
    drawn = rows.parts.decode(some), rows.classes[codes], mass, together
    numbers = {label: (int(counts[k]), wanted[k]) for k, label in enumerate(rows.classes.tolist())}
    return Source(X, y, weight, rows.parts.columns, n, note, numbers), drawn


class Groups(NamedTuple):
    """The group of each row, cut in the same places as the rows; in memory, or promised by a cluster."""

    owner: str
    parts: list
    sizes: np.ndarray
    """Rows of each part."""

    @classmethod
    def of(cls, owner: str, groups: Any, X: Any, sizes: np.ndarray) -> "Groups":
        """Groups as a user gives them, refused unless there is one for each row."""
        if is_dask(groups) and is_dask(X):
            return cls(owner, column_parts(owner, "groups", groups, X, len(sizes)) or [], sizes)
        return cls(owner, np.split(one_a_row(owner, groups, int(sizes.sum())), np.cumsum(sizes)[:-1]), sizes)

    def at(self, places: list[np.ndarray]) -> np.ndarray:
        """The groups of the rows that are at these places of each part."""
        if isinstance(self.parts[0], np.ndarray):
            return np.concatenate([part[at] for part, at in zip(self.parts, places, strict=True)])
        import dask

        pick = dask.delayed(groups_at, pure=True)
        picked = [pick(self.owner, *each) for each in zip(self.parts, self.sizes, places, strict=True)]
        return np.concatenate(dask.compute(*picked))


def groups_at(owner: str, groups: Any, size: int, places: np.ndarray) -> np.ndarray:
    """The groups at these places of a partition, in which there must be one for each of its rows."""
    found = np.asarray(groups)
    if found.shape != (size,):
        raise ValueError(
            f"The groups given to {owner} must be cut in the same places as X; a partition of {size} rows has groups "
            f"of shape {found.shape}. Take both from one frame, or rechunk them."
        )
    return found[places]


def one_a_row(owner: str, groups: Any, n: int) -> np.ndarray:
    """The groups as an array, refused unless there is one for each of n rows."""
    if is_dask(groups):
        raise TypeError(
            f"The groups of {owner} must be an array of shape ({n},) where X is no dask collection; got "
            f"{type(groups).__name__} of dask. Take them into memory with groups.compute()."
        )
    if np.shape(groups) != (n,):
        got = f"shape {np.shape(groups)}" if np.ndim(groups) else repr(groups)
        raise ValueError(f"The groups of {owner} must be an array of shape ({n},), one a row; got {got}.")
    return check_array(groups, ensure_2d=False, dtype=None, input_name="groups")


def refitted_on_all(members: list[Member], table: Prepared, source: Source) -> tuple[list[Member], list[str]]:
    """The members, those that learn from rows as they lie fitted anew on all of them; and the names of these."""
    columns = table.columns
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
        refitted(member, clone(member.model).fit(**given), table.rows, table.weight) if member.name in names else member
        for member in members
    ]
    return fresh, names


def scaled(columns: Columns, X: Any) -> Any:
    """A block of rows as linear models see it."""
    return rows_of(columns, X).scaled


def retold(lines: list[Entry], names: list[str], note: str, count: int) -> list[Entry]:
    """The lines with what each was fitted on."""
    return [noted([line], f"fitted on all {count:,} rows" if line.name in names else note)[0] for line in lines]
