"""Files of any size: the command reads them by blocks, and keeps no more in memory than it is allowed."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from auclid._check import names_known
from auclid.baselines import scores as scored
from auclid.calibrated import Calibrated
from auclid.cli import models
from auclid.cli.checkpoint import Checkpoint, stream_rows
from auclid.cli.data import FULL, positives
from auclid.cli.data import Rows as Table
from auclid.cli.evaluation import has_value, in_each_row
from auclid.cli.labels import ask_for_positive
from auclid.cli.predictions import PARQUET, Copies, csv_line, is_parquet
from auclid.data import as_array
from auclid.data.files import Rows, scan
from auclid.data.mapped import mapped
from auclid.data.readers.open import column_names, has_own_labels
from auclid.data.sizes import as_bytes
from auclid.datasets import DataError
from auclid.io import replacing

LARGE = 1 << 29
"""Bytes of a file beyond which it is read by blocks, asked or not."""

BLOCKS_ONLY = {".arrow", ".feather", ".ipc", ".npy"}
"""Files that are read by blocks only."""

AUTO = "LeastSquaresAUCCV"
"""What "auto" stands for where rows do not fit: exact, in three passes."""


class Options(NamedTuple):
    """What a user asks of `auclid fit`."""

    target: str | None
    positive: str | None
    drop: list[str]
    method: str
    seed: int
    memory: str | None
    max_fpr: float = 1.0


class Task(NamedTuple):
    """Rows with a binary task."""

    rows: Rows
    """Labels are 0 and 1."""
    classes: list[str]
    notes: list[str]


def by_blocks(path: Path | None, memory: str | None) -> bool:
    """Whether a source is to be read by blocks."""
    if path is None:
        return False
    special = path.is_dir() or path.suffix in BLOCKS_ONLY or (not path.exists() and any(x in str(path) for x in "*?["))
    return special or memory is not None or (path.is_file() and path.suffix != ".npz" and path.stat().st_size > LARGE)


def scanned(path: Path, target: str | None, drop: list[str], memory: str | None, columns: Any = None) -> Rows:
    """The rows of a source, without the columns to drop."""
    kept: Any = columns
    if columns is None and drop:
        every = column_names(path)
        strange = [name for name in drop if name not in every]
        if strange:
            raise DataError(f"--drop must be a column of DATA; got {strange[0]!r}.")
        kept = [name for name in every if name not in drop and name != target]
    return scan(path, target=target, columns=kept, memory=memory)


def task(path: Path, target: str | None, positive: str | None, drop: list[str], memory: str | None) -> Task:
    """The rows of a file of any size with labels 0 and 1."""
    if target is None and not has_own_labels(path):
        raise DataError("DATA must have labels: name their column with --target.")
    rows = scanned(path, target, drop, memory)
    if not rows.has_target:
        raise DataError("DATA must have labels: name their column with --target.")
    labels = rows.labels()
    missing = labels.missing()
    if missing is not None:
        raise DataError(f"The target must have a label in each row; block {missing[0]} has rows without one.")
    levels = labels.table()
    ask_for_positive(levels.tolist(), np.bincount(labels.codes, minlength=len(levels)).tolist(), positive)
    is_pos, classes = positives(levels, positive)
    return Task(mapped(rows, labels=partial(one_of, levels[is_pos])), classes, [])


def one_of(chosen: np.ndarray, y: np.ndarray) -> np.ndarray:
    """1 where a label is among the chosen ones, else 0."""
    return np.isin(y, chosen).astype(np.int8)


def introduced(found: Task, source: str) -> str:
    """One line about rows."""
    (n, d), share = found.rows.shape, float(np.mean(found.rows.target()))  # type: ignore[arg-type]
    return f"{source}: {n:,} rows, {d:,} columns, {share:.2%} positive (label {found.classes[1]}), read by blocks"


def shaped(rows: Rows) -> Rows:
    """The rows as they are where columns have names; others dense where most of their entries are stored."""
    if rows.named:
        return rows
    filled = total = 0
    for X, _, _ in rows.read(gaps=True):
        if not sparse.issparse(X):
            break
        filled, total = filled + X.nnz, total + X.shape[0] * X.shape[1]
    thin = 0 < total and filled <= FULL * total
    return mapped(rows, numbers=sparse.csr_matrix if thin else as_array)


def fit_rows(found: Task, how: Options, checkpoint: Checkpoint | None = None) -> tuple[str, Any]:
    """(name, model) of a method fitted on all rows: the same model as of rows in memory."""
    name, model = chosen_model(how)
    if checkpoint is None:
        return name, _with_chances(model).fit(shaped(found.rows))
    learnt = stream_rows(found.rows, shaped(found.rows), clone(model), checkpoint)
    if hasattr(learnt, "predict_proba"):
        return name, learnt
    return name, Calibrated(model)._fit_around(learnt, shaped(found.rows))


def chosen_model(how: Options) -> tuple[str, Any]:
    """(name, model) of the method that is asked for; "auto" is one that needs few passes."""
    auto = AUTO if how.max_fpr == 1.0 else "RankSVM"
    chosen = auto if how.method.casefold() == "auto" else how.method
    name, model = models.ours(chosen, how.seed, how.max_fpr)
    models.refuse_whole_list(name, model, how.max_fpr)
    return name, model


def _with_chances(model: Any) -> Any:
    """The model, or one around it that has probabilities."""
    return model if hasattr(model, "predict_proba") else Calibrated(model)


def tables(rows: Rows) -> Iterator[Any]:
    """The rows by blocks: numbers, or tables where there are texts."""
    for X, _, _ in rows.read(gaps=True, words=True):
        yield rows.decode(X)


def predict_rows(
    estimator: Any, rows: Rows, output: Path, names: Callable[[np.ndarray], list[str]], copies: Copies | None = None
) -> int:
    """Write score, probability (where the model has one) and label of each row, by blocks; says how many.

    The file is Parquet where its name says so, else csv. ``copies`` are columns to put before the scores.
    """
    count, write = 0, _parquet if is_parquet(output) else _csv
    with replacing(output, "wb") as file, closing(write(file)) as written, names_known():
        next(written)
        for X in tables(rows):
            columns: dict[str, Any] = {} if copies is None else copies.next(X.shape[0])
            columns["score"] = np.asarray(scored(estimator, X), np.float64)
            if hasattr(estimator, "predict_proba"):
                columns["probability"] = estimator.predict_proba(X)[:, 1]
            written.send({**columns, "label": np.array(names(estimator.predict(X)), dtype=object)})
            count += X.shape[0]
    return count


Writer = Generator[None, dict[str, Any], None]
"""Takes columns, block by block."""


def _csv(file: Any) -> Writer:
    columns = yield
    file.write(csv_line(columns).encode())
    while True:
        lists = [values.to_pylist() if hasattr(values, "to_pylist") else values.tolist() for values in columns.values()]
        file.write("".join(map(csv_line, zip(*lists, strict=True))).encode())
        columns = yield


def _parquet(file: Any) -> Writer:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = yield
    kinds = {"label": pa.string(), "score": pa.float64(), "probability": pa.float64()}
    schema = pa.schema([(name, kinds.get(name) or values.type) for name, values in columns.items()])
    with pq.ParquetWriter(file, schema) as writer:
        while True:
            writer.write_table(pa.table(columns, schema=schema))
            columns = yield


def scores_of(estimator: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Scores and predictions of all rows, by blocks."""
    with names_known():
        found = [(np.asarray(scored(estimator, X)), estimator.predict(X)) for X in tables(rows)]
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def labels_of(rows: Rows, target: str | None) -> tuple[np.ndarray | None, Any, list[str]]:
    """The labels, which rows have one, and a note where some have none; no labels where the rows have no target."""
    if not rows.has_target:
        return None, slice(None), []
    y = np.asarray(rows.target())
    if rows.labels().missing() is None:
        return y, slice(None), []
    known = has_value(y)
    if not known.any():
        raise DataError("The target must have values; all are missing.")
    note = f"{(~known).sum()} rows have no {f'value in {target!r}' if target else 'label'} and are left out."
    return y[known].astype(str) if y.dtype == object else y[known], known, [note]


def group_column(path: Path, name: str, features: list[str] | None, kept: Any) -> np.ndarray:
    """A column of files of any size as it stands, read by itself where they allow it; of the rows that are kept."""
    if name not in column_names(path):
        raise DataError(f"--groups must name a column of the file; there is no {name!r}.")
    others = [feature for feature in features or column_names(path) if feature != name]
    found = scanned(path, name, [], None, columns=others[:1]).target()
    return in_each_row(np.asarray(found)[kept], name)


def sampled(found: Task, source: str, memory: str | None, seed: int) -> Table:
    """As many rows as may be kept in memory, drawn at random, for methods that want them there."""
    n, d = found.rows.shape
    size = min(n, max(1000, as_bytes(memory) // (8 * d)))
    X, y = found.rows.sample(size, seed, gaps=True)
    note = f"Compared on {size:,} of {n:,} rows, drawn at random: as many as --memory lets into memory."
    notes = found.notes if size == n else [*found.notes, note]
    return Table(source, X, y == 1, found.classes, found.rows.columns, notes)  # type: ignore[arg-type]


def fit_on_cluster(path: Path, how: Options, address: str) -> tuple[str, Any, list[str], list[str]]:
    """(name, model, columns, classes) of a method fitted on a running dask cluster."""
    try:
        import dask.dataframe as dd
        from distributed import Client
    except ImportError:
        raise ImportError("--scheduler needs dask, which is not installed: pip install 'auclid[dask]'.") from None
    name, model = chosen_model(how)
    if how.target is None:
        raise DataError("DATA must have labels: name their column with --target.")
    with Client(address):
        parquet, source = path.is_dir() or path.suffix in PARQUET, os.path.abspath(path)
        frame = dd.read_parquet(source) if parquet else dd.read_csv(source)
        if how.target not in frame.columns:
            raise DataError(f"--target must be a column of DATA; got {how.target!r}.")
        columns = [str(name) for name in frame.columns if name != how.target and name not in how.drop]
        # of each partition by itself: dask would shuffle all rows for it
        counts = frame[how.target].map_partitions(lambda part: part.value_counts(dropna=False)).compute()
        if counts.index.isna().any():
            raise DataError(f"--target must have a label in each row on a cluster; {how.target!r} has gaps.")
        counts = counts.groupby(level=0).sum()
        levels = np.asarray(counts.index)
        ask_for_positive(levels.tolist(), counts.tolist(), how.positive)
        is_pos, classes = positives(levels, how.positive)
        X, y = frame[columns], frame[how.target].isin(levels[is_pos].tolist()).astype(int)
        model = _with_chances(model).fit(X, y)
    return name, model, columns, classes
