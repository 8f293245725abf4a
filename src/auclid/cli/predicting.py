"""`auclid predict`: score, probability and label of every row, beside columns copied from the table."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from auclid._hints import count_of
from auclid.cli import _show
from auclid.cli._show import escape
from auclid.cli.data import unknown_columns
from auclid.cli.paths import check_ending, check_paths
from auclid.cli.saved import Answers, CountedAnswers, SavedModel
from auclid.cli.stdin import STDIN
from auclid.cli.tables import TABLE_ENDINGS, check_writer, write_columns
from auclid.cli.thresholds import Purpose, apply_threshold, chosen_threshold
from auclid.data.readers.open import open_columns
from auclid.datasets.readers import missing_note
from auclid.errors import DataError
from auclid.io import save

COPIED_ROWS = 1 << 16
"""Rows of columns to copy that are read at a time."""


def predict(
    model: Path,
    data: Path,
    output: Path,
    identifiers: list[str],
    memory: str | None,
    purpose: Purpose,
    keep: bool,
) -> None:
    """Write score, probability and label of every row; labels by a purpose, where one is given."""
    purpose.check()
    if keep and not purpose.given:
        raise DataError("--keep must come with --alerts, --threshold, --cost or --precision: it keeps their threshold.")
    check_paths({"MODEL": model, "DATA": data}, {"--output": output})
    check_ending("--output", output, TABLE_ENDINGS)
    check_writer(output)
    saved = SavedModel.open(model, ordered=True)
    if keep:
        saved.check_keep()
    rows = saved.scan(data, None, memory, drop=identifiers)
    notes = unknown_columns(rows, [*identifiers, *saved.outcome_columns])
    copies = Copies(data, identifiers) if identifiers else None
    counted = CountedAnswers(saved, rows)
    with _show.passes(rows):
        answers: Iterable[Answers] = counted
        if purpose.given:
            every = Answers.joined(counted)
            threshold = chosen_threshold(purpose, saved, every, keep)
            answers = [apply_threshold(saved, every, threshold)]
            called = f"{int(np.sum(every.scores > threshold)):,} of {count_of(len(every.scores), 'row')}"
            notes.append(f"{called} are called {saved.positive}: those with a score above {threshold:.6g}.")
        count = write_scores(output, answers, copies)
    _show.remarks([*notes, *counted.notes(), *missing_note(rows.missing_counts())])
    say = _show.note if output == STDIN else _show.say
    say(escape(f"{count_of(count, 'score')}: {output}"))
    if keep:
        saved.keep_threshold(threshold)
        save(model, saved.estimator, about=saved.known or None)
        say(escape(f"Kept in {model}: predict, evaluate and monitor call scores above it {saved.positive}."))


def _checked(names: list[str], there: list[str]) -> None:
    """Refuse columns to copy that a table lacks, or that are called as what is written beside them."""
    absent = [name for name in names if name not in there]
    if absent:
        raise DataError(f"--id must be a column of DATA; got {absent[0]!r}. There are: {', '.join(there)}.")
    taken = [name for name in names if name in ("score", "probability", "label")]
    if taken:
        raise DataError(f"--id must not be called as what is written beside it; got {taken[0]!r}. Rename the column.")


class Copies:
    """Columns of files that need not fit in memory, as they came, some rows at a time."""

    def __init__(self, data: Path, names: list[str]) -> None:
        reader = open_columns(data)
        if reader is None:
            raise DataError(f"--id must name columns of a csv or parquet file; those of {str(data)!r} have no names.")
        _checked(names, reader.available_columns())
        self.names = list(dict.fromkeys(names))
        self._batches = reader.copies(self.names, COPIED_ROWS)
        self._rest: Any = None

    def next(self, count: int) -> dict[str, Any]:
        """The next ``count`` rows of each column."""
        import pyarrow as pa

        found: list[Any] = []
        while count:
            if self._rest is None or not self._rest.num_rows:
                self._rest = next(self._batches)
            found.append(self._rest.slice(0, count))
            self._rest = self._rest.slice(count)
            count -= found[-1].num_rows
        table = pa.Table.from_batches(found)
        return {name: table[name] for name in self.names}


def write_scores(path: Path, answers: Iterable[Answers], copies: Copies | None = None) -> int:
    """Write score, and probability and label where the model has them, of each row, by blocks; returns how many.

    ``copies`` are columns to put before the scores.
    """
    count = 0

    def blocks() -> Iterator[dict[str, Any]]:
        nonlocal count
        for answer in answers:
            columns: dict[str, Any] = {} if copies is None else copies.next(len(answer.scores))
            columns["score"] = answer.scores
            if answer.probabilities is not None:
                columns["probability"] = answer.probabilities
            count += len(answer.scores)
            if answer.labels or not len(answer.scores):
                columns["label"] = np.array(answer.labels, dtype=object)
            yield columns

    write_columns(path, blocks())
    return count
