"""`auclid fit`: the model of rows in memory or in files, and what is left beside it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from scipy import sparse

from auclid._check import names_known
from auclid._kinds import is_frame
from auclid.additive import Scorecard
from auclid.auto import AUCClassifier
from auclid.calibrated import Calibrated
from auclid.cli import _show, large, models
from auclid.cli._show import escape
from auclid.cli.checkpoint import Checkpoint, require_stream
from auclid.cli.data import read_rows
from auclid.cli.paths import check_new
from auclid.cli.scorecards import card_facts, card_paths, leave_scorecard
from auclid.cli.verdict import measured_by
from auclid.cli.wording import remarks
from auclid.io import save


def outputs(model: Path, method: str, stream: tuple[Path, int] | None) -> dict[str, Path]:
    """Every file that a fit writes, by the option that names it; refuses pages that replace other files."""
    found = {"--model": model}
    if stream is not None:
        found["--checkpoint"] = stream[0]
    if isinstance(models.ours(method, 0)[1], Scorecard):
        beside = zip(("The page of the scorecard", "The points of the scorecard"), card_paths(model), strict=True)
        for what, path in beside:
            check_new(what, path, model)
            found[what] = path
    return found


def fit_in_memory(data: Path, model: Path, how: large.Options, *, one_hot: bool) -> None:
    """Fit a table that is read whole, and save; a scorecard leaves its page and points too."""
    name, estimator = models.ours(how.method, how.seed, how.max_fpr)
    models.refuse_whole_list(name, estimator, how.max_fpr)
    scaled = not isinstance(estimator, Scorecard)
    rows = read_rows(data, how.target, positive=how.positive, one_hot=one_hot, drop=how.drop, scaled=scaled)
    _show.introduce(rows)
    if isinstance(estimator, AUCClassifier):
        with warnings.catch_warnings(action="ignore"):  # the fit will say it again
            told = estimator.expect(rows.X, rows.is_pos)
        _show.say(escape(f"It will take about {max(told.seconds, 1.0):.0f} s and {told.bytes / 1e6:,.0f} MB."))
    elif not hasattr(estimator, "predict_proba"):
        estimator = Calibrated(estimator)
    with _show.progress() as tell, warnings.catch_warnings(record=True) as caught:
        tell(name)
        start = perf_counter()
        estimator.fit(rows.X, rows.is_pos.astype(int))
    known: dict[str, Any] = {"method": name, "columns": rows.feature_names, "classes": rows.classes}
    known |= {"target": how.target, "dense": not sparse.issparse(rows.X), "frame": is_frame(rows.X)}
    save(model, estimator, about=known)
    _show.remarks(remarks([*rows.notes, *(each.message for each in caught)]))
    if hasattr(estimator, "leaderboard_"):
        best = estimator.leaderboard_[0]
        judged = f"held-out {measured_by(how.max_fpr)} {best.auc:.4f}"
        _show.say(escape(f"Chosen: {estimator.best_}. Best candidate: {best.name}, {judged}."))
    _show.say(escape(f"{name}, fitted in {perf_counter() - start:.2f} s: {model}"))
    if isinstance(estimator, Scorecard):
        _leave(estimator, model, rows.feature_names, rows.classes, card_facts(estimator, rows))


def _leave(card: Scorecard, model: Path, names: list[str], classes: list[str], facts: list[str]) -> None:
    for path in leave_scorecard(card, model, names, classes, facts):
        _show.say(escape(f"To read: {path}"))


def fit_large(
    data: Path, model: Path, how: large.Options, stream: tuple[Path, int] | None, scheduler: str | None
) -> None:
    """Fit by blocks, or on a cluster, and save; a scorecard leaves its page and points too."""
    start, found = perf_counter(), None
    if scheduler is not None:
        with _told_once():
            name, estimator, columns, classes = large.fit_on_cluster(data, how, scheduler)
    else:
        checkpoint = None if stream is None else _begun(data, how, Checkpoint(*stream))
        found = large.task(data, how.target, how.positive, how.drop, how.memory)
        columns, classes = found.rows.columns, found.classes
        if checkpoint is not None:
            kinds = found.rows.others
            checkpoint.agree(columns=[[name, kinds.get(name, "number")] for name in columns], classes=classes)
        _show.say(escape(large.introduced(found, str(data))))
        with _told_once(), _show.passes(found.rows):
            name, estimator = large.fit_rows(found, how, checkpoint)
    known: dict[str, Any] = {"method": name, "columns": columns, "target": how.target, "classes": classes}
    known["dense"], known["frame"] = True, hasattr(estimator, "feature_names_in_")
    save(model, estimator, about=known)
    _show.say(escape(f"{name}, fitted in {perf_counter() - start:.2f} s: {model}"))
    if isinstance(estimator, Scorecard):
        _leave(estimator, model, columns, classes, [] if found is None else _facts(estimator, found, data, how))


def _begun(data: Path, how: large.Options, checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint, compared with the settings and the files of the command."""
    name, model = large.chosen_model(how)
    require_stream(name, model)
    checkpoint.agree(
        method=name, target=how.target, drop=sorted(how.drop), seed=how.seed, max_fpr=how.max_fpr
    )
    checkpoint.agree_on_files(data)
    return checkpoint


@contextmanager
def _told_once() -> Iterator[None]:
    """What a fit warns of is a note of the command, once: held-out folds would say it again."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        with names_known():
            yield
    _show.remarks(remarks(each.message for each in met))


def _facts(estimator: Scorecard, found: large.Task, data: Path, how: large.Options) -> list[str]:
    """What the page says of the rows: counts are of all, the rest of those that fit in memory."""
    some, count = large.sampled(found, str(data), how.memory, how.seed), found.rows.shape[0]
    share = float((found.rows.target() == 1).mean())  # type: ignore[union-attr]
    with names_known():
        return card_facts(estimator, some, count, share)
