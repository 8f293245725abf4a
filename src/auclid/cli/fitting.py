"""`auclid fit` of rows that need not fit in memory: the model, and what is left beside it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from auclid._check import names_known
from auclid.additive import Scorecard
from auclid.cli import _show, large
from auclid.cli._show import escape
from auclid.cli.scorecards import card_facts, leave_scorecard
from auclid.cli.wording import remarks
from auclid.io import save


def fit_large(
    data: Path, model: Path, how: large.Options, checkpoint: tuple[Path, int] | None, scheduler: str | None
) -> None:
    """Fit by blocks, or on a cluster, and save; a scorecard leaves its page and points too."""
    start, found = perf_counter(), None
    if scheduler is not None:
        with _told_once():
            name, estimator, columns, classes = large.fit_on_cluster(data, how, scheduler)
    else:
        found = large.task(data, how.target, how.positive, how.drop, how.memory)
        _show.say(escape(large.introduced(found, str(data))))
        with _told_once(), _show.passes(found.rows):
            name, estimator = large.fit_rows(found, how, large.Checkpoint.of(data, how, checkpoint))
        columns, classes = found.rows.columns, found.classes
    known: dict[str, Any] = {"method": name, "columns": columns, "target": how.target, "classes": classes}
    known["dense"], known["frame"] = True, hasattr(estimator, "feature_names_in_")
    save(model, estimator, about=known)
    _show.say(escape(f"{name}, fitted in {perf_counter() - start:.2f} s: {model}"))
    if isinstance(estimator, Scorecard):
        facts = [] if found is None else _facts(estimator, found, data, how)
        for path in leave_scorecard(estimator, model, columns, classes, facts):
            _show.say(escape(f"To read: {path}"))


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
