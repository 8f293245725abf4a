"""A model file as `auclid predict` and `auclid evaluate` use it: the model, and what `auclid fit` recorded with it."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.base import is_classifier

from auclid.additive import Scorecard
from auclid.auto import AUCClassifier
from auclid.base import Ranker
from auclid.baselines import scores as scored
from auclid.baselines import threshold
from auclid.calibrated import Calibrated
from auclid.cli.data import NO_LABELS, scan_columns, text
from auclid.cli.ordered_rows import OrderOptions
from auclid.data import as_array
from auclid.data.files import Rows
from auclid.data.readers.open import has_own_labels
from auclid.errors import DataError
from auclid.io import about, load
from auclid.monitoring import Profile
from auclid.monitoring.profiles import ColumnCounter, PartCounts
from auclid.monitoring.report import cell_notes
from auclid.ordered._meta import ranks_order
from auclid.validation import last_step, names_known

ALERT, REST = "alert", "rest"
"""The labels of rows above and below a threshold, of a model that ranks ordered rows."""


class Answers(NamedTuple):
    """What a model says of some rows."""

    scores: np.ndarray
    probabilities: np.ndarray | None
    called: np.ndarray
    """Whether a row is called positive at the model's own threshold."""
    labels: list[str]
    """Empty of a model that ranks ordered rows and was given no threshold."""

    @classmethod
    def joined(cls, answers: Iterable["Answers"]) -> "Answers":
        """The answers of all blocks as one."""
        parts = list(answers)
        scores, called = (np.concatenate([getattr(part, name) for part in parts]) for name in ("scores", "called"))
        known = [part.probabilities for part in parts if part.probabilities is not None]
        proba = np.concatenate(known) if len(known) == len(parts) else None
        return cls(scores, proba, called, [label for part in parts for label in part.labels])


class SavedModel(NamedTuple):
    """A fitted model and what `fit` recorded with it; nothing where the model was saved otherwise."""

    estimator: Any
    known: dict[str, Any]

    @classmethod
    def open(cls, path: Path, ordered: bool = False) -> "SavedModel":
        """The model of a file; ``ordered``: also one that ranks ordered rows, and tells no classes."""
        if not path.exists():
            raise DataError(f"MODEL must be a file that `auclid fit` wrote; there is no {str(path)!r}.")
        model = load(path)
        if ranks_order(model):
            if not ordered:
                raise DataError(
                    f"MODEL must hold a fitted classifier here; {str(path)!r} ranks ordered rows. `auclid evaluate` "
                    "measures one such model at a time."
                )
            return cls(model, _known(path))
        if not is_classifier(model) or not hasattr(model, "classes_"):
            holds = f"{str(path)!r} holds a {type(model).__name__}, which gives no labels"
            raise DataError(f"MODEL must hold a fitted classifier; {holds}.")
        return cls(model, _known(path))

    @property
    def ordered(self) -> bool:
        """Whether the model ranks ordered rows, and tells no classes."""
        return ranks_order(self.estimator)

    @property
    def order(self) -> OrderOptions | None:
        """What the rows of a ranker of ordered rows are ordered by, where it was recorded."""
        return OrderOptions.recorded(self.known.get("order"))

    def complete(self, options: OrderOptions) -> OrderOptions:
        """The options that were given; else those of the fit, perhaps with another target."""
        if options.asked:
            return options
        order = self.order
        if order is None:
            raise DataError(
                "MODEL must say what its rows are ordered by, as `auclid fit` records it; or give --ordered, --group, "
                "or --event and --time, where the command has them."
            )
        if order.event is not None and options.target is not None:
            raise DataError("--target must come with a model of levels or numbers; MODEL ranks censored times.")
        return order._replace(target=options.target or order.target, positive=options.positive or order.positive)

    @property
    def target(self) -> str | None:
        """The column with the labels, where it was recorded."""
        return self.known.get("target")

    @property
    def outcome_columns(self) -> list[str | None]:
        """The columns with what the model predicts, where they were recorded."""
        return [self.target] if self.order is None else list(self.order.columns)

    @property
    def names(self) -> list[str] | None:
        """The columns the model was fitted to, where that was recorded."""
        names = self.known.get("columns")
        if names is None and hasattr(self.estimator, "feature_names_in_"):
            names = [str(name) for name in self.estimator.feature_names_in_]
        return names

    @property
    def positive(self) -> str:
        """The label that the model ranks on top."""
        if self.ordered:
            return ALERT
        return str(self.known["classes"][1] if "classes" in self.known else self.estimator.classes_[1])

    def labels(self, predicted: np.ndarray) -> list[str]:
        """Predictions by the names of their classes in the training file."""
        names = self.known.get("classes")
        return [names[int(label)] for label in predicted] if names else [str(label) for label in predicted]

    def expect(self, y: np.ndarray) -> None:
        """Refuse labels that a model of two named classes has never seen."""
        classes = self.known.get("classes")
        if classes is None or classes[0] == "rest":
            return
        strange = [text(label) for label in np.unique(y) if text(label) not in classes]
        if strange:
            raise DataError(
                f"The target must hold the model's classes, {classes[0]} and {classes[1]}; it has {strange[0]!r}. "
                "Compare one with the rest: --positive LABEL."
            )

    def scan(self, data: Path, target: str | None, memory: str | None, drop: Sequence[str] = ()) -> Rows:
        """The rows of a source with the columns that the model was fitted to; all but ``drop`` if none are recorded."""
        return scan_columns(data, target, memory, self.names, drop if self.names is None else ())

    def scan_labelled(self, data: Path, target: str | None, memory: str | None) -> Rows:
        """The rows of a source with the columns of the model and with labels."""
        if target is None and not has_own_labels(data):
            raise DataError(NO_LABELS)
        rows = self.scan(data, target, memory)
        if not rows.has_target:
            raise DataError(NO_LABELS)
        return rows

    def answers(self, rows: Rows) -> Iterator[Answers]:
        """What the model says of the rows, a block at a time."""
        for table in self.tables(rows):
            with names_known():
                yield self.answer(table)

    def tables(self, rows: Rows) -> Iterator[Any]:
        """The blocks of rows as the model takes them."""
        for block in rows.read(allow_missing=True, allow_categorical=True):
            yield rows.decode(as_array(block.X) if self.known.get("dense") else block.X)

    def answer(self, X: Any) -> Answers:
        """What the model says of a table."""
        if self.ordered:
            scores = np.asarray(self.estimator.predict(X), np.float64)
            return Answers(scores, None, np.zeros(len(scores), dtype=bool), [])
        proba = self.estimator.predict_proba(X)[:, 1] if hasattr(self.estimator, "predict_proba") else None
        scores = np.asarray(scored(self.estimator, X), np.float64)
        called = np.asarray(self.estimator.predict(X) == self.estimator.classes_[1])
        return Answers(scores, proba, called, self.class_names(called))

    def class_names(self, called: np.ndarray) -> list[str]:
        """The label of each row, by whether it is called positive."""
        if self.ordered:
            return [ALERT if each else REST for each in called.tolist()]
        return self.labels(self.estimator.classes_[called.astype(np.intp)])

    @property
    def threshold(self) -> float:
        """The model's own threshold: higher scores are called positive."""
        return threshold(self.estimator)

    def score_at(self, probability: float) -> float | None:
        """The score of a row with this probability of the positive label; None where that cannot be told."""
        last, odds = last_step(self.estimator), float(logit(probability))
        if isinstance(last, Scorecard):
            return (odds - last._odds.offset) / last._odds.slope + float(last.intercept_[0])
        if isinstance(last, Calibrated | AUCClassifier):
            return odds
        return None if hasattr(self.estimator, "decision_function") else probability

    def check_keep(self) -> None:
        """Refuse a model that cannot keep a threshold."""
        last = last_step(self.estimator)
        if self.ordered:
            raise DataError("--keep must come with a model of two classes; MODEL ranks ordered rows, without labels.")
        if not isinstance(last, Ranker):
            holds = f"MODEL holds a {type(last).__name__}"
            raise DataError(f"--keep needs a model of auclid; {holds}. Wrap it in Calibrated.")

    def keep_threshold(self, value: float) -> None:
        """Make a threshold the model's own."""
        self.check_keep()
        last_step(self.estimator).set_threshold(value)


class CountedAnswers:
    """The answers of a model for rows, block by block; counts on the way what the model has not seen the like of."""

    def __init__(self, saved: SavedModel, rows: Rows) -> None:
        told = saved.known.get("profile")
        self._saved, self._rows = saved, rows
        self._profile = None if told is None else Profile.from_dict(told)
        self._counted: list[list[PartCounts]] = []

    def __iter__(self) -> Iterator[Answers]:
        count = None if self._profile is None else ColumnCounter(self._profile.columns)
        for table in self._saved.tables(self._rows):
            with names_known():
                answer = self._saved.answer(table)
            if count is not None:
                self._counted.append(count(table))
            yield answer

    def notes(self) -> list[str]:
        """Sentences about levels never seen, numbers out of range, and values missing that never were."""
        return [] if self._profile is None or not self._counted else cell_notes(self._profile, self._counted)


def _known(path: Path) -> dict[str, Any]:
    told = about(path)
    if isinstance(told, dict) and told.keys() >= {"columns", "order", "dense"}:
        if OrderOptions.recorded(told["order"]) is None or not _are_texts(told["columns"]):
            raise DataError(f"MODEL must say the names of its columns and its order; {str(path)!r} does not.")
        return told
    if not isinstance(told, dict) or not told.keys() >= {"columns", "classes", "dense"}:
        return {}
    columns, classes, target = told["columns"], told["classes"], told.get("target")
    if not _are_texts(columns) or not _are_texts(classes) or len(classes) != 2 or not isinstance(target, str | None):
        raise DataError(f"MODEL must say the names of its columns and of two classes; {str(path)!r} does not.")
    return told


def _are_texts(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)
