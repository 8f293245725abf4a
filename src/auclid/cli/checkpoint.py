"""A stream that can be stopped: the model after some rows, and what identifies the data and settings behind it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from auclid.cli import _show
from auclid.cli.paths import companions
from auclid.data.files import Rows
from auclid.data.readers.open import source_paths
from auclid.errors import DataError
from auclid.io import about, load, save
from auclid.validation import last_step, names_known

TEXT_ENDINGS = (".csv", ".tsv", ".data", ".libsvm", ".svm", ".svmlight", ".txt", ".t")
"""Endings of files to which lines can be appended."""

FACTS = {
    "method": "another --method",
    "target": "another --target",
    "drop": "another --drop",
    "seed": "another --seed",
    "max_fpr": "another --max-fpr",
    "columns": "other columns",
    "classes": "other labels, or another --positive",
}
"""What a checkpoint is compared by, besides the files, and how each is called."""


class Checkpoint:
    """A file with the model after some rows, for one sequence of files and one set of options.

    The file is compared with the command before any row is learnt: settings and files at first, columns and labels
    once they are known. Files are compared by path, size and content. Those that a checkpoint knows must be the first
    ones: more may come after them, and the last one, if it is text, may have more lines than it had.

    Parameters
    ----------
    path : path
    every : int
        Rows from one checkpoint to the next; it may change from run to run.
    """

    def __init__(self, path: Path, every: int) -> None:
        self.path, self.every = path, every
        self.identity: dict[str, Any] = {}
        self.saved: dict[str, Any] | None = None
        if path.exists():
            told = about(path)
            if not _is_checkpoint(told):
                raise self._refusal("it holds no checkpoint")
            self.saved = told

    def agree(self, **facts: Any) -> None:
        """Note settings, or facts about the data; refuse where the file was written for others."""
        for name, value in facts.items():
            self.identity[name] = value
            if self.saved is not None and self.saved.get(name) != value:
                raise self._refusal(f"it was written for {FACTS[name]}")

    def agree_on_files(self, data: Path) -> None:
        """Note paths, sizes and contents of all files; refuse where the first ones are not those of the file."""
        paths = [each for path in source_paths(data) for each in (path, *companions(path)) if each.is_file()]
        if self.saved is not None:
            self._check_files(self.saved["files"], paths)
        sizes = [path.stat().st_size for path in paths]
        self.identity["files"] = [
            [str(path.resolve()), size, _digest(path, size)] for path, size in zip(paths, sizes, strict=True)
        ]

    def _check_files(self, known: list[list[Any]], paths: list[Path]) -> None:
        """Refuse files of other names, sizes or contents; the last known one may have grown."""
        for k, (path, size, content) in enumerate(known):
            if k >= len(paths) or str(paths[k].resolve()) != path:
                raise self._refusal(f"it was written for files in which {path!r} is number {k + 1}")
            now = paths[k].stat().st_size
            if now != size and not (k == len(known) - 1 and _may_grow(paths[k], size)):
                raise self._refusal(f"{path!r} has changed: it had {size:,} bytes and has {now:,}")
            if _digest(paths[k], size) != content:
                raise self._refusal(f"{path!r} has other content than it had")

    def resumed(self) -> tuple[Any, int]:
        """The model and how many rows it has learnt from; nothing where there is no checkpoint."""
        if self.saved is None:
            return None, 0
        return load(self.path), self.saved["rows"]

    def write(self, model: Any, rows: int) -> None:
        """Write down where the stream is; the file is whole or the one before."""
        _show.LOGGER.info("checkpoint %s at row %s", self.path, f"{rows:,}")
        save(self.path, model, about={**self.identity, "rows": rows})

    def _refusal(self, why: str) -> DataError:
        return DataError(
            f"--checkpoint must be a file that the same command wrote for the same data; {str(self.path)!r} is none: "
            f"{why}. Name another file, or remove it."
        )


def _is_checkpoint(told: Any) -> bool:
    """Whether a file tells what a checkpoint tells."""
    if not isinstance(told, dict) or not isinstance(told.get("files"), list):
        return False
    kinds = [[type(part) for part in file] if isinstance(file, list) else [] for file in told["files"]]
    rows = told.get("rows")
    return isinstance(rows, int) and rows >= 0 and all(each == [str, int, str] for each in kinds)


def _may_grow(path: Path, size: int) -> bool:
    """Whether lines may have been written below those of a text file that had so many bytes."""
    if path.suffix.lower() not in TEXT_ENDINGS or path.stat().st_size < size:
        return False
    with open(path, "rb") as file:
        file.seek(size - 1)
        return file.read(1) == b"\n"


def _digest(path: Path, size: int) -> str:
    """A digest of the first ``size`` bytes of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while size > 0 and (block := file.read(min(size, 1 << 20))):
            digest.update(block)
            size -= len(block)
    return digest.hexdigest()


def require_stream(name: str, model: Any) -> None:
    """Refuse a method that does not learn from a stream."""
    if not hasattr(last_step(model), "partial_fit"):
        raise DataError(f"--checkpoint is for methods that learn from a stream; {name} does not. SPAM-L2 does.")


def stream_rows(rows: Rows, model: Any, checkpoint: Checkpoint) -> Any:
    """The model after one pass in the order of the rows, written down on the way.

    It is a pipeline that prepares columns first, or a method that takes any columns itself.
    """
    kept, done = checkpoint.resumed()
    if kept is None:
        kept = model
        if isinstance(kept, Pipeline):
            kept.steps[0][1].fit(rows)
    else:
        _show.say(_show.escape(f"Checkpoint {checkpoint.path}: resuming at row {done:,}."))
    columns = kept.steps[0][1] if isinstance(kept, Pipeline) else None
    at = done
    for X, y, at in pieces(rows, done, checkpoint.every, allow_missing=columns is None):
        with names_known():
            X = X if columns is None else columns.transform(X)
            last_step(kept).partial_fit(X, y, classes=[0, 1])
        if at % checkpoint.every == 0:
            checkpoint.write(kept, at)
    if at > done and at % checkpoint.every:
        checkpoint.write(kept, at)
    return kept


def pieces(rows: Rows, done: int, every: int, allow_missing: bool) -> Iterator[tuple[Any, np.ndarray, int]]:
    """(X, y, rows so far) of the rows after the first ``done``, cut at multiples of ``every``."""
    at = 0
    for X, y in rows.blocks(allow_missing=allow_missing):
        count, start = X.shape[0], max(0, done - at)
        while start < count:
            stop = min(count, start + every - (at + start) % every)
            yield X[start:stop], y[start:stop], at + stop  # type: ignore[index]
            start = stop
        at += count
