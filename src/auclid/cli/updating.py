"""`auclid update`: a model that can learn on learns from new rows."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from auclid.additive import Scorecard
from auclid.calibrated import Calibrated
from auclid.cli import _show
from auclid.cli._show import escape
from auclid.cli.data import NO_LABELS, text
from auclid.cli.paths import check_paths
from auclid.cli.saved import SavedModel
from auclid.data.encoding import is_missing
from auclid.data.readers.open import has_own_labels
from auclid.errors import DataError
from auclid.io import save
from auclid.validation import names_known


def update(model: Path, new: Path, output: Path | None, target: str | None, memory: str | None) -> None:
    """Learn from new rows by blocks, and write the model."""
    written = model if output is None else output
    check_paths({"NEW": new}, {"--output": written})
    saved = SavedModel.open(model)
    before, last = learner(saved.estimator)
    target = target or saved.target
    if target is None and not has_own_labels(new):
        raise DataError(NO_LABELS)
    rows = saved.scan(new, target, memory)
    if not rows.has_target:
        raise DataError(NO_LABELS)
    with _show.passes(rows), names_known():
        count = _learn_blocks(before, last, saved.tables(rows), _labels(saved, rows.target()))
    save(written, saved.estimator, about=saved.known or None)
    _show.say(escape(f"{type(last).__name__} has learnt from {count:,} more rows: {written}"))
    if isinstance(saved.estimator, Calibrated):
        _show.say("Probabilities and the profile are still those of the first fit: fit anew where they matter.")


def _learn_blocks(before: list[Any], last: Any, tables: Iterable[Any], y: np.ndarray) -> int:
    """Learn from the labelled rows of each table; returns how many there were."""
    start = 0
    for table in tables:
        own = y[start : start + table.shape[0]]
        start += table.shape[0]
        labelled = np.flatnonzero(own >= 0)
        if len(labelled):
            X = table.take(labelled) if hasattr(table, "schema") else table[labelled]
            for step in before:
                X = step.transform(X)
            last.partial_fit(X, last.classes_[own[labelled]])
    return int(np.count_nonzero(y >= 0))


def learner(estimator: Any) -> tuple[list[Any], Any]:
    """The transformers before a ranker that can learn on, and the ranker; refuses others."""
    inner = estimator.ranker_ if isinstance(estimator, Calibrated) else estimator
    before, last = (
        ([step for _, step in inner.steps[:-1]], inner.steps[-1][1]) if isinstance(inner, Pipeline) else ([], inner)
    )
    if not hasattr(last, "partial_fit"):
        raise DataError(
            f"MODEL must hold a method that learns from streams; {type(last).__name__} does not. Fit one of those with "
            "online = yes in `auclid methods`, such as SPAM-L2, or LeastSquaresAUC or Scorecard."
        )
    if isinstance(last, Scorecard) and last.interactions_:
        raise DataError(
            "A Scorecard with pairs of columns must be fitted anew: fit with --set interactions=0 to update."
        )
    return before, last


def _labels(saved: SavedModel, target: Any) -> np.ndarray:
    """1 for the positive label of the model, 0 for the other, -1 where it is missing."""
    values = np.asarray(target).tolist()
    names = [None if is_missing(value) else text(value) for value in values]
    classes = saved.known.get("classes") or [text(label) for label in saved.estimator.classes_]
    strange = [name for name in names if name is not None and name not in classes and classes[0] != "rest"]
    if strange:
        raise DataError(f"The target must hold the model's classes, {' and '.join(classes)}; it has {strange[0]!r}.")
    return np.array([-1 if name is None else int(name == classes[1]) for name in names])
