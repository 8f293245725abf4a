"""Learning from streams: pipelines batch by batch, and rows that come one by one as dicts, as river has them."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from itertools import islice
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from auclid.errors import InvalidTypeError, InvalidValueError
from auclid.metrics import StreamingAUC
from auclid.validation import last_step, names_known
from auclid.validation.parameters import whole_number


def learns_from_streams(model: Any) -> bool:
    """Whether a model, or the last step of a pipeline, has `partial_fit`."""
    return hasattr(last_step(model), "partial_fit")


def score_unit(model: Any) -> float:
    """The norm of a linear ranker's weights, in which scores of different steps of a stream are compared; else 1."""
    last = last_step(model)
    coef = getattr(getattr(last, "ranker_", last), "coef_", None)
    return 1.0 if coef is None else float(np.linalg.norm(coef)) or 1.0


def learn_batch(model: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None = None) -> Any:
    """The model after a batch that its `partial_fit`, or those of a pipeline's steps, learn from.

    A batch that raises an error changes nothing.
    """
    last = last_step(model)
    if not learns_from_streams(model):
        raise InvalidTypeError(
            f"partial_fit needs a model that learns from streams; {type(last).__name__} does not. Use one of those "
            "with online = True in auclid.algorithms(), such as SPAM, or LeastSquaresAUC."
        )
    before = [(name, step) for name, step in model.steps[:-1]] if isinstance(model, Pipeline) else []
    moves, learnt = not hasattr(last, "merge"), []
    for name, step in before:
        step = _learn_columns(step, X, weight, moves)
        X = X if step in (None, "passthrough") else step.transform(X)
        learnt.append((name, step))
    classes = getattr(last, "classes_", np.array([False, True]))
    weights = {} if weight is None else {"sample_weight": weight}
    last.partial_fit(X, classes[is_pos.astype(np.intp)], classes=classes, **weights)
    if before:
        model.steps = [*learnt, model.steps[-1]]
    return model


def _learn_columns(step: Any, X: Any, weight: np.ndarray | None, moves: bool) -> Any:
    """A transformer after a batch: a copy that has learnt from it, or the step where it is to stay as it is."""
    if step in (None, "passthrough"):
        return step
    weights = {"sample_weight": weight} if weight is not None and has_fit_parameter(step, "sample_weight") else {}
    if not _is_fitted(step):
        return copy(step).fit(X, **weights)
    return copy(step).partial_fit(X, **weights) if moves and hasattr(step, "partial_fit") else step


def _is_fitted(step: Any) -> bool:
    try:
        check_is_fitted(step)
    except NotFittedError:
        return False
    return True


class RiverAdapter:
    """A model that learns from a stream, for rows that come one by one as dicts, with the methods of river.

    It works in river's pipelines of evaluation, such as ``evaluate.progressive_val_score``, and without river.

    Parameters
    ----------
    model : estimator with partial_fit, or pipeline that ends in one
        Such as ``Calibrated(make_pipeline(Columns(), SPAM()))``, which takes any columns and has probabilities.
    classes : pair of labels, default=(False, True)
        The second one is ranked on top.
    first : int in [1, inf), default=200
        Rows that are gathered before the model learns for the first time: `Columns` learns from them what the columns
        hold. Until then scores are 0.
    batch : int in [1, inf), default=1
        Rows that are gathered before the model learns again. A larger number takes less time.

    Attributes
    ----------
    model : estimator
        The model itself, to save or to export; `flush` lets it learn from rows that are still gathered.
    columns_ : list of str
        The columns of a model that was fitted to a frame, else the keys of the first rows, in the order in which they
        came. Rows may lack some, which are then missing; other keys are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from auclid import SPAM, Calibrated, Columns, RiverAdapter
    >>> rng, rows = np.random.default_rng(0), []
    >>> for _ in range(1000):
    ...     y = rng.random() < 0.3
    ...     rows.append(({"amount": rng.normal() + 2 * y, "shop": rng.choice(["a", "b"])}, y))
    >>> model = RiverAdapter(Calibrated(make_pipeline(Columns(), SPAM(random_state=0))), batch=50)
    >>> auc = model.learn(rows)  # each row is scored before it is learnt from
    >>> print(f"{auc.result().auc:.2f}")
    0.92
    >>> sorted(model.predict_proba_one({"amount": 3.0, "shop": "a"}))
    [False, True]
    """

    _supervised = True

    def __init__(self, model: Any, classes: Iterable[Any] = (False, True), *, first: int = 200, batch: int = 1) -> None:
        if not learns_from_streams(model):
            raise InvalidTypeError(
                owner="RiverAdapter", parameter="model", expected="have partial_fit", got=type(model).__name__,
                hint="SPAM, LeastSquaresAUC and pipelines that end in one have it.",
            )  # fmt: skip
        self.model, self.classes = model, list(classes)
        if len(self.classes) != 2:
            raise InvalidValueError(
                owner="RiverAdapter", parameter="classes", expected="be two labels", got=repr(self.classes)
            )
        self.first = whole_number("RiverAdapter", "first", first, 1)
        self.batch = whole_number("RiverAdapter", "batch", batch, 1)
        self.columns_: list[str] = [str(name) for name in getattr(model, "feature_names_in_", ())]
        self._rows: list[Mapping[str, Any]] = []
        self._labels: list[bool] = []
        self._started, self._numeric = bool(self.columns_), True
        if "river" in sys.modules:  # so that its metrics take this for one of river's classifiers
            sys.modules["river"].base.Classifier.register(RiverAdapter)

    def learn_one(self, x: Mapping[str, Any], y: Any) -> Self:
        """Learn from a row.

        Parameters
        ----------
        x : dict of column to value
        y : label

        Returns
        -------
        self
        """
        if y not in self.classes:
            raise InvalidValueError(
                owner="RiverAdapter.learn_one", parameter="y", expected=f"be one of {self.classes}", got=repr(y)
            )
        self._rows.append(dict(x))
        self._labels.append(y == self.classes[1])
        if len(self._rows) >= (self.batch if self._started else self.first):
            self.flush()
        return self

    def learn_many(self, X: Any, y: Iterable[Any]) -> Self:
        """Learn from a batch of rows: dicts, or a data frame of pandas.

        Parameters
        ----------
        X : iterable of dicts, or DataFrame
        y : iterable of labels

        Returns
        -------
        self
        """
        for x, label in zip(_dicts(X), y, strict=True):
            self.learn_one(x, label)
        return self

    def learn(self, stream: Iterable[tuple[Mapping[str, Any], Any]], limit: int | None = None) -> StreamingAUC:
        """Score and then learn from each row of a stream.

        Parameters
        ----------
        stream : iterable of (dict, label)
        limit : int, optional
            Rows to take at the most.

        Returns
        -------
        StreamingAUC
            Of the scores that rows had before the model learnt from them, without those before the first step.
        """
        auc = StreamingAUC()
        for x, y in islice(stream, limit):
            if self._started:
                auc.update([y == self.classes[1]], [self.score_one(x)])
            self.learn_one(x, y)
        return auc

    def flush(self) -> Self:
        """Let the model learn from the rows that are still gathered.

        Returns
        -------
        self
        """
        if not self._rows:
            return self
        rows, labels = self._rows, np.array(self._labels)
        self._rows, self._labels = [], []
        if not self._started:
            self.columns_ = list(dict.fromkeys(str(name) for row in rows for name in row))
        with names_known():
            self.model = learn_batch(self.model, self._table(rows), labels)
        self._started = True
        return self

    def score_one(self, x: Mapping[str, Any]) -> float:
        """The score of a row: the higher, the more likely the second class; 0 before the model has learnt.

        Parameters
        ----------
        x : dict of column to value

        Returns
        -------
        float
        """
        return float(self._answer("decision_function", x)) if self._started else 0.0

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """The label of a row; None before the model has learnt.

        Parameters
        ----------
        x : dict of column to value

        Returns
        -------
        label or None
        """
        if not self._started:
            return None
        return self.classes[int(self._answer("predict", x) == self.model.classes_[1])]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """The probability of each label, of a model that has probabilities; empty before it has learnt.

        Parameters
        ----------
        x : dict of column to value

        Returns
        -------
        dict of label to float
        """
        if not hasattr(self.model, "predict_proba"):
            raise InvalidTypeError(
                f"predict_proba_one needs a model with probabilities; {type(self.model).__name__} has none. Wrap it in "
                "Calibrated, or use score_one."
            )
        if not self._started:
            return {}
        return dict(zip(self.classes, self._answer("predict_proba", x).tolist(), strict=True))

    def _answer(self, method: str, x: Mapping[str, Any]) -> Any:
        """What a method of the model gives for a row."""
        with names_known():
            return getattr(self.model, method)(self._table([x]))[0]

    def _table(self, rows: list[Mapping[str, Any]]) -> np.ndarray:
        """The rows as an array of the known columns: of numbers, or of objects once a value was none."""
        values = [[row.get(name) for name in self.columns_] for row in rows]
        if self._numeric:
            try:
                return np.array(values, dtype=np.float64)
            except (TypeError, ValueError):
                self._numeric = False
        table = np.empty((len(values), len(self.columns_)), dtype=object)
        for number, row in enumerate(values):
            table[number] = row
        return table


def _dicts(X: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a frame, or those that came as dicts."""
    return iter(X.to_dict("records") if hasattr(X, "to_dict") else X)
