"""`auclid update`: a model that can learn on learns from new rows."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from auclid.additive import Scorecard
from auclid.calibrated import Calibrated
from auclid.cli import _show, ordered
from auclid.cli._show import escape
from auclid.cli.data import label_names, text
from auclid.cli.paths import check_paths
from auclid.cli.saved import SavedModel
from auclid.errors import DataError
from auclid.io import save
from auclid.streams import learn_batch
from auclid.validation import last_step, names_known


def update(model: Path, new: Path, output: Path | None, target: str | None, memory: str | None) -> None:
    """Learn from new rows by blocks, and write the model."""
    written = model if output is None else output
    check_paths({"NEW": new}, {"--output": written})
    saved = SavedModel.open(model, ordered=True)
    count = ordered.learn_on(saved, new, target) if saved.ordered else _learn_on(saved, new, target, memory)
    save(written, saved.estimator, about=saved.known or None)
    name = type(_ranker(saved.estimator)).__name__
    _show.say(escape(f"{name} has learnt from {count:,} more rows: {written}"))
    if "profile" in saved.known:
        _show.say("The counts for `auclid monitor` are still those of the first fit.")


def _learn_on(saved: SavedModel, new: Path, target: str | None, memory: str | None) -> int:
    """Learn from the rows of two classes by blocks; returns how many there were."""
    refuse_other_models(saved.estimator)
    rows = saved.scan_labelled(new, target or saved.target, memory)
    with _show.passes(rows), names_known():
        return _learn_blocks(saved.estimator, saved.tables(rows), _labels(saved, rows.target()))


def _learn_blocks(estimator: Any, tables: Iterable[Any], y: np.ndarray) -> int:
    """Learn from the labelled rows of each table; returns how many there were."""
    start = 0
    for table in tables:
        own = y[start : start + table.shape[0]]
        start += table.shape[0]
        labelled = np.flatnonzero(own >= 0)
        if len(labelled):
            X = table.take(labelled) if hasattr(table, "schema") else table[labelled]
            learn_batch(estimator, X, own[labelled] == 1)
    return int(np.count_nonzero(y >= 0))


def _ranker(estimator: Any) -> Any:
    """The estimator that learns, inside of pipelines and of `Calibrated`."""
    return last_step(estimator.ranker_ if isinstance(estimator, Calibrated) else estimator)


def refuse_other_models(estimator: Any) -> None:
    """Refuse models that cannot learn from more rows."""
    last = _ranker(estimator)
    if not hasattr(last, "partial_fit"):
        raise DataError(
            f"MODEL must hold a method that learns from streams; {type(last).__name__} does not. Fit one of those of "
            "kind `stream` in `auclid methods`, such as SPAM-L2, or LeastSquaresAUC or Scorecard."
        )
    if isinstance(last, Scorecard) and last.interactions_:
        raise DataError(
            "A Scorecard with pairs of columns must be fitted anew: fit with --set interactions=0 to update."
        )


def _labels(saved: SavedModel, target: Any) -> np.ndarray:
    """1 for the positive label of the model, 0 for the other, -1 where it is missing."""
    names = label_names(target)
    classes = saved.known.get("classes") or [text(label) for label in saved.estimator.classes_]
    strange = [name for name in names if name is not None and name not in classes and classes[0] != "rest"]
    if strange:
        raise DataError(f"The target must hold the model's classes, {' and '.join(classes)}; it has {strange[0]!r}.")
    return np.array([-1 if name is None else int(name == classes[1]) for name in names])
