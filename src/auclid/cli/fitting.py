"""`auclid fit`: the model of rows in memory, read by blocks or on a cluster, and what is left beside it."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from auclid import _sizes
from auclid.additive import Scorecard
from auclid.auto import AUCClassifier
from auclid.calibrated import Calibrated
from auclid.cli import _show, models
from auclid.cli._show import escape
from auclid.cli.checkpoint import Checkpoint, require_stream, stream_rows
from auclid.cli.data import (
    NO_LABELS,
    Options,
    Task,
    ask_for_positive,
    load_table,
    open_semi_supervised_task,
    open_task,
    positives,
)
from auclid.cli.models import Named
from auclid.cli.paths import check_new, check_paths
from auclid.cli.scorecards import card_facts, card_paths, check_points, leave_scorecard
from auclid.cli.settings import PointTableOptions
from auclid.cli.stdin import is_copy
from auclid.cli.tables import PARQUET
from auclid.cli.verdict import measured_by
from auclid.cli.wording import remarks
from auclid.data.files import Rows
from auclid.errors import DataError, missing_label
from auclid.io import save
from auclid.monitoring import Profile, profile
from auclid.validation import names_known


class Fitted(NamedTuple):
    """A model, and what is recorded and told of it."""

    name: str
    estimator: Any
    columns: list[str]
    classes: list[str]
    dense: bool = True
    """Whether it learnt from dense rows."""
    facts: list[str] = []
    """What the page of a scorecard tells of the rows."""
    profile: Profile | None = None
    """Counts of the rows, for `auclid monitor`."""


def outputs(model: Path, method: str, stream: tuple[Path, int] | None) -> dict[str, Path]:
    """Every file that a fit writes, by the option that names it; refuses pages that replace other files."""
    files = {"--model": model}
    if stream is not None:
        files["--checkpoint"] = stream[0]
    if isinstance(models.ours(method, 0)[1], Scorecard):
        files |= card_outputs(model)
    return files


def card_outputs(model: Path) -> dict[str, Path]:
    """The files that a fit leaves beside a scorecard, its page and its points; refuses to replace other files."""
    files = dict(zip(("The page of the scorecard", "The points of the scorecard"), card_paths(model), strict=True))
    for what, path in files.items():
        check_new(what, path, model)
    return files


def fit(data: Path, model: Path, how: Options, stream: tuple[Path, int] | None, scheduler: str | None) -> None:
    """Fit a method on all rows and save it; a scorecard leaves its page and points too."""
    if stream is not None and is_copy(data):
        raise DataError("--checkpoint must be used with files, which can be read again; got standard input.")
    if stream is not None and scheduler is not None:
        raise DataError("--checkpoint must be used without --scheduler: a cluster learns from all rows at once.")
    check_paths({"DATA": data}, outputs(model, how.method, stream))
    start = perf_counter()
    named = models.ours(how.method, how.seed, how.max_fpr, how.published, how.settings)
    models.refuse_whole_list(*named, how.max_fpr)
    check_points(*named, how.points)
    if models.learns_without_labels(how.method):
        if stream is not None or scheduler is not None:
            raise DataError(f"--checkpoint and --scheduler must be left out with {how.method}, made for few labels.")
        fitted = _fit_partly_labelled(data, how, named)
    elif scheduler is None:
        fitted = _fit_here(data, how, named, stream)
    else:
        fitted = _fit_on_cluster(data, how, named, scheduler)
    estimator = fitted.estimator
    _save(model, fitted, how)
    if hasattr(estimator, "leaderboard_"):
        best = estimator.leaderboard_[0]
        judged = f"held-out {measured_by(how.max_fpr)} {best.auc:.4f}"
        judged = judged if np.isfinite(best.auc) else "not measured, for lack of rows"
        _show.say(escape(f"Chosen: {estimator.best_}. Best candidate: {best.name}, {judged}."))
    _show.say(escape(f"{models.as_asked(how.method, fitted.name)}, fitted in {perf_counter() - start:.2f} s: {model}"))
    if isinstance(estimator, Scorecard):
        leave_scorecard(estimator, card_paths(model), fitted.columns, fitted.classes, fitted.facts, how.points)


def _fit_here(data: Path, how: Options, named: Named, stream: tuple[Path, int] | None) -> Fitted:
    """Fit on this machine: in memory where the rows fit into it and no checkpoint is asked for, else by blocks."""
    checkpoint = None if stream is None else _compared(Checkpoint(*stream), data, how, named)
    task = open_task(data, how)
    in_memory = task.in_memory and checkpoint is None
    share = float(np.mean(task.rows.target()))  # type: ignore[arg-type]
    _show.introduce(task.source, task.rows.shape, share, task.classes[1], by_blocks=not in_memory)
    return _fit_in_memory(task, how, named) if in_memory else _fit_by_blocks(task, how, named, checkpoint)


def _save(model: Path, fitted: Fitted, how: Options) -> None:
    """Write the model file, with what later commands need to know."""
    known: dict[str, Any] = {"method": fitted.name, "columns": fitted.columns, "classes": fitted.classes}
    known |= {"target": how.target, "dense": fitted.dense}
    save(model, fitted.estimator, about=known | optional_facts(fitted.profile, how.points))
    if fitted.profile is not None:
        _show.say("The file holds counts of the training rows for `auclid monitor`, and no row.")


def optional_facts(counts: Profile | None, points: PointTableOptions) -> dict[str, Any]:
    """What a model file holds where it is known: counts of the rows, and how points are made."""
    facts = {"profile": None if counts is None else counts.to_dict(), "points": points.given}
    return {name: value for name, value in facts.items() if value}


def _fit_in_memory(task: Task, how: Options, named: Named) -> Fitted:
    """A method fitted on a table in memory."""
    name, estimator = named
    table = load_table(task, how, scaled=not isinstance(estimator, Scorecard))
    y = table.is_pos.astype(int)
    if isinstance(estimator, AUCClassifier):
        with warnings.catch_warnings(action="ignore"):  # the fit will say it again
            told = estimator.expect(table.X, y)
        _show.say(escape(f"It will take about {max(told.seconds, 1.0):.0f} s and {told.bytes / 1e6:,.0f} MB."))
    with noted(table.notes), _show.progress() as tell:
        tell(models.as_asked(how.method, name))
        estimator = _with_probabilities(estimator).fit(table.X, y)
    facts = card_facts(estimator, table, how.points) if isinstance(estimator, Scorecard) else []
    dense = not sparse.issparse(table.X)
    return Fitted(name, estimator, table.feature_names, table.classes, dense, facts, profile_of(estimator, table.X, y))


def profile_of(estimator: Any, X: Any, y: Any) -> Profile | None:
    """The counts of the training rows; None of very many columns, which would make a large file."""
    if X.shape[1] > _sizes.MAX_PROFILE_COLUMNS:
        return None
    with names_known(), warnings.catch_warnings(action="ignore"):
        return profile(estimator, X, y)


def _fit_by_blocks(task: Task, how: Options, named: Named, checkpoint: Checkpoint | None) -> Fitted:
    """A method fitted on all rows, which need not fit in memory; in one pass where there is a checkpoint."""
    name, model = named
    columns, rows = task.rows.columns, task.rows
    with noted(task.notes), names_known(), _show.passes(rows):
        if checkpoint is None:
            estimator = _with_probabilities(model).fit(rows)
        else:
            kinds = rows.non_numeric
            checkpoint.agree(columns=[[name, kinds.get(name, "number")] for name in columns], classes=task.classes)
            estimator = stream_rows(rows, clone(model), checkpoint)
            if not hasattr(estimator, "predict_proba"):
                estimator = Calibrated(model)._fit_around(estimator, rows)
    facts = _facts(estimator, task, how) if isinstance(estimator, Scorecard) else []
    some, y = rows.sample(_sizes.PROFILE_ROWS, how.seed, allow_missing=True)
    return Fitted(name, estimator, columns, task.classes, _is_dense(rows), facts, profile_of(estimator, some, y))


def _is_dense(rows: Rows) -> bool:
    return not sparse.issparse(next(rows.read(allow_missing=True, allow_categorical=True)).X)


def _fit_partly_labelled(data: Path, how: Options, named: Named) -> Fitted:
    """A method for few labels fitted on all rows, with or without labels.

    It has no probabilities: which rows have a label may depend on what they are, so that the share of positives among
    them need not be that of all.
    """
    task, (name, model) = open_semi_supervised_task(data, how), named
    model.set_params(**{param: None for param in model.get_params() if param.split("__")[-1] == "unlabeled"})
    rows, y = task.rows, np.asarray(task.rows.target())
    _show.introduce(task.source, rows.shape, float(np.nanmean(y)), task.classes[1], by_blocks=not task.in_memory)
    table = load_table(task, how) if task.in_memory else None
    with noted(task.notes if table is None else table.notes), names_known(), _show.passes(rows):
        estimator = model.fit(rows) if table is None else model.fit(table.X, y)
    counts = profile_of(estimator, rows.sample(_sizes.PROFILE_ROWS, how.seed, allow_missing=True)[0], None)
    return Fitted(name, estimator, rows.columns, task.classes, _is_dense(rows), profile=counts)


def _facts(estimator: Scorecard, task: Task, how: Options) -> list[str]:
    """What the page says of the rows: counts are of all, the rest of those that fit in memory."""
    share = float(np.mean(task.rows.target()))  # type: ignore[arg-type]
    with names_known():
        return card_facts(estimator, load_table(task, how), how.points, task.rows.shape[0], share)


def _with_probabilities(model: Any) -> Any:
    """The model, or one around it that has probabilities."""
    return model if hasattr(model, "predict_proba") else Calibrated(model)


def _compared(checkpoint: Checkpoint, data: Path, how: Options, named: Named) -> Checkpoint:
    """The checkpoint, compared with the settings and the files of the command."""
    require_stream(*named)
    checkpoint.agree(
        method=named[0], target=how.target, drop=sorted(how.drop), seed=how.seed, max_fpr=how.max_fpr,
        **({"settings": sorted(how.settings)} if how.settings else {}),
    )  # fmt: skip
    checkpoint.agree_on_files(data)
    return checkpoint


@contextmanager
def noted(notes: list[str]) -> Iterator[None]:
    """Print notes and what a fit warns of, each once: held-out folds would say it again."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield
    _show.remarks(remarks([*notes, *(each.message for each in heard if isinstance(each.message, Warning))]))


def _fit_on_cluster(path: Path, how: Options, named: Named, address: str) -> Fitted:
    """A method fitted on a running dask cluster."""
    try:
        import dask.dataframe as dd
        from distributed import Client
    except ImportError:
        raise ImportError("--scheduler needs dask, which is not installed: pip install 'auclid[dask]'.") from None
    if how.target is None:
        raise DataError(NO_LABELS)
    with Client(address), noted([]), names_known():
        parquet, source = path.is_dir() or path.suffix in PARQUET, os.path.abspath(path)
        frame = dd.read_parquet(source) if parquet else dd.read_csv(source)
        if how.target not in frame.columns:
            raise DataError(f"--target must be a column of DATA; got {how.target!r}.")
        columns = [str(name) for name in frame.columns if name != how.target and name not in how.drop]
        # of each partition by itself: dask would shuffle all rows for it
        counts = frame[how.target].map_partitions(lambda part: part.value_counts(dropna=False)).compute()
        if counts.index.isna().any():
            raise missing_label(f"missing ones in {how.target!r}", subject="On a cluster, --target")
        counts = counts.groupby(level=0).sum()
        levels = np.asarray(counts.index)
        ask_for_positive(levels.tolist(), counts.tolist(), how.positive)
        is_pos, classes = positives(levels, how.positive)
        X, y = frame[columns], frame[how.target].isin(levels[is_pos].tolist()).astype(int)
        estimator = _with_probabilities(named[1]).fit(X, y)
    return Fitted(named[0], estimator, columns, classes)
