"""Rows that are more than memory holds: the search compares on a sample, then what can learn from all rows does."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from auclid import _sizes
from auclid.auto._blend import LeaderboardEntry
from auclid.auto._preparation import PreparedRows, prepare
from auclid.auto._search import Member, refitted
from auclid.base import Ranker
from auclid.columns import Columns
from auclid.data.dataset import Part
from auclid.data.encoding import ColumnEncoding, decode
from auclid.stats.labelled import BoundedSample, LabelledDataset, bounded_sample, one_against_rest
from auclid.stats.odds import prior_shift
from auclid.validation import RowAccess


class SampledRows(NamedTuple):
    """All rows, of which a sample of each class is in memory."""

    rows: LabelledDataset
    drawn: np.ndarray
    """Rows of each class that were drawn."""

    @property
    def note(self) -> str:
        """What members are fitted on that learn from rows in memory only."""
        return f"fitted on {self.drawn.sum():,} of {self.rows.n_rows:,} rows, a sample that fits in memory"

    @property
    def note_of_all(self) -> str:
        """What the other members are fitted on."""
        return f"fitted on all {self.rows.n_rows:,} rows"

    def prior_shift(self, number: int) -> float:
        """The log-odds of a class among all rows, less those among the rows drawn: of a rare class more are drawn."""
        counts = self.rows.counts.sum(axis=0)
        own = [np.array([each.sum() - each[number], each[number]]) for each in (counts, self.drawn)]
        return prior_shift(*own)


def draw_sample(rows: LabelledDataset) -> tuple[BoundedSample, SampledRows | None]:
    """All rows, or the same share of each class and at least `_sizes.MIN_CLASS_ROWS` rows of it, as memory allows; and
    where they were drawn from, if they are not all."""
    sample = bounded_sample(rows, rows.parts.row_limit(_sizes.MIN_DRAWN_ROWS), _sizes.MIN_CLASS_ROWS)
    if sample.complete:
        return sample, None
    return sample, SampledRows(rows, np.bincount(sample.labels, minlength=len(rows.classes)))


def refit_on_all(
    members: list[Member], number: int, columns: Columns, source: SampledRows, rows: PreparedRows, weight: Any
) -> tuple[list[Member], list[str]]:
    """The members that tell a class from the rest, those that learn from a dataset fitted anew on all rows; and the
    names of these. ``rows`` and ``weight`` are those of the sample, on which all members were judged."""
    names = [member.name for member in members if not member.raw and _reads_parts(member.model)]
    if not names:
        return members, names
    parts = source.rows.parts
    step = partial(scaled_part, columns, parts.columns or [], parts.encodings)
    every = one_against_rest(source.rows, number).transformed(step, len(columns.get_feature_names_out()))
    fresh = [
        refitted(member, clone(member.model).fit(every), rows, weight) if member.name in names else member
        for member in members
    ]
    return fresh, names


def _reads_parts(model: Any) -> bool:
    """Whether `fit` of a model takes a `LabelledDataset` in parts."""
    return isinstance(model, Ranker) and model._row_access is RowAccess.PARTS


def scaled_part(columns: Columns, names: list[str], encodings: Mapping[str, ColumnEncoding], part: Part) -> Part:
    """A part with rows as linear models see them."""
    if not part.X.shape[0]:
        return part._replace(X=np.zeros((0, len(columns.get_feature_names_out()))))
    X = decode(part.X, names, encodings) if encodings else part.X
    return part._replace(X=prepare(columns, X).scaled)


def with_fitted_rows(lines: list[LeaderboardEntry], refit: list[str], source: SampledRows) -> list[LeaderboardEntry]:
    """The lines of a leaderboard with a note of the rows that each model was fitted on."""
    return [line.noted(source.note_of_all if line.name in refit else source.note) for line in lines]
