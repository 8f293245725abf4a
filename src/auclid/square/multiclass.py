"""MulticlassAUC: each class ranked above each other one, exactly, from class moments."""

from typing import Any

import numpy as np

from auclid import validation
from auclid.base import Ranker
from auclid.data import as_table
from auclid.data.types import OutputFile, RowsLike
from auclid.metrics._multiclass import mean_auc
from auclid.solvers.multiclass import one_against_each
from auclid.stats.labelled import LabelledDataset, set_moments
from auclid.stats.moments import Moments, grouped_moments, require_room
from auclid.validation import RowAccess, labels_to_score, partwise

SCORED_ROWS = 1_000
"""Rows whose scores tell whether any differ."""

INSTEAD = "Choose columns, or map them to fewer; or compare one class with the rest by SPAM, which takes any number."


class MulticlassAUC(Ranker):
    """Exact least-squares maximiser of the AUC of several classes.

    The weights of class a minimise, with δ_ab the difference of the means of classes a and b and Σ their covariances,

        mean over b ≠ a of [(1 − w·δ_ab)² + w·(Σ_a + Σ_b)w] + (alpha/2) |w|²,

    which is the square loss over all pairs of a row of a and a row of another class, each other class counting alike:
    the pairs of Hand & Till's M. One pass over the rows is enough, and moments of chunks add up exactly: `partial_fit`
    on any chunks in any order, or `merge`, gives the model of one `fit` on all rows. With two classes it is
    `LeastSquaresAUC`.

    Parameters
    ----------
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty. 0 gives the minimum-norm solution.

    Attributes
    ----------
    coef_ : array of shape (K, d), or (1, d) for two classes
    intercept_ : array of shape (K,), or (1,)
        Minus the score halfway between the class and each other one, on average; they only serve `predict`.
    classes_ : array of shape (K,)

    Notes
    -----
    `score` is Hand & Till's M (the AUC, for two classes). The moments are d × d for each class, so d is at most 8192.

    References
    ----------
    Hand & Till, "A simple generalisation of the area under the ROC curve for multiple class classification problems",
    Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from auclid import MulticlassAUC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassAUC().fit(X, y)
    >>> model.decision_function(X).shape, round(model.score(X, y), 2)
    ((150, 3), 0.94)
    """

    _parameter_constraints: dict = {"alpha": [validation.real()]}

    _row_access = RowAccess.PARTS

    def __init__(self, alpha: float = 1e-4) -> None:
        self.alpha = alpha

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> "MulticlassAUC":
        """Learn from all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels or more
        sample_weight : array of shape (n,), optional
            A pair weighs the product of its two rows' weights.

        Returns
        -------
        self
        """
        rows = self._labelled_dataset(X, y, sample_weight)
        require_room("The moments of MulticlassAUC", rows.width, INSTEAD)
        self._publish(self._weighed(rows.classes, list(set_moments(rows, len(rows.classes)))))
        if not rows.partitioned:
            head = as_table(rows.table().part(slice(0, SCORED_ROWS)))
            validation.warn_if_constant_scores(self, head, np.append(np.ptp(head.matmul(self.coef_.T), axis=0), 0.0))
        return self

    def _labelled_dataset(
        self, X: RowsLike, y: Any = None, sample_weight: Any = None, X_unlabeled: Any = None
    ) -> LabelledDataset:
        """The rows to learn from, checked, with the number of its class as the label of each."""
        return validation.labelled_dataset(self, X, y, sample_weight, multiclass=True)

    @validation.checked
    def partial_fit(self, X: RowsLike, y: Any, classes: Any = None, sample_weight: Any = None) -> "MulticlassAUC":
        """Add a batch of rows; the model is then that of one `fit` on all rows added so far.

        A batch may hold one class only; until two were seen, ``coef_`` and all scores are zero.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : all labels, optional
            Needed on the first call unless that batch holds them all.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        first = not hasattr(self, "classes_")
        table, y = validation.check_rows_and_labels(self, X, y, reset=first)
        weight = validation.weights(sample_weight, table)
        known = self._stream_classes(y, classes, first)
        require_room("The moments of MulticlassAUC", table.shape[1], INSTEAD)
        moments = self._moments_of(table, y, known, weight)
        self.classes_ = known
        return self._publish(moments if first else _added(self._moments, moments))

    def merge(self, other: "MulticlassAUC") -> "MulticlassAUC":
        """Add the rows another model has seen; returns self.

        Parameters
        ----------
        other : MulticlassAUC
            Fitted on other rows with the same parameters, features and classes.

        Returns
        -------
        self
        """
        validation.mergeable(self, other)
        return self._publish(_added(self._moments, other._moments))

    @partwise
    def decision_function(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
        """Scores of each class: the higher, the more likely.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n, K), or (n,) for two classes, of X's floating type
        """
        validation.fitted(self, "coef_")
        table = validation.check_rows(self, X)
        with np.errstate(over="ignore", invalid="ignore"):  # said in a sentence
            columns = [table.matmul(w) + b for w, b in zip(self.coef_, self.intercept_, strict=True)]
        scores = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
        return validation.finite_scores(self, scores, table.dtype)

    @partwise
    def predict(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
        """The class of each row: that of the highest score.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > self.threshold_).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]

    def score(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> float:
        """Hand & Till's M of `decision_function` on (X, y); the AUC, for two classes. Not the accuracy.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float
        """
        validation.fitted(self)
        if len(self.classes_) == 2:
            return super().score(X, y, sample_weight)
        y, sample_weight = labels_to_score(self, X, y, sample_weight)
        return mean_auc("MulticlassAUC.score", y, self.decision_function(X), self.classes_, sample_weight)

    def _weighed(self, classes: np.ndarray, moments: list[Moments]) -> list[Moments]:
        """The moments themselves; raises where all rows of a class weigh nothing."""
        if min(part.n for part in moments) == 0.0:
            empty = classes[[part.n == 0.0 for part in moments]][0]
            raise ValueError(
                f"MulticlassAUC must see two classes or more, each of positive weight; got sample_weight zero on "
                f"every row of class {empty}."
            )
        return moments

    def _moments_of(self, table: Any, y: np.ndarray, classes: np.ndarray, weight: np.ndarray | None) -> list[Moments]:
        return grouped_moments(table, np.searchsorted(classes, y), len(classes), weight)

    def _publish(self, moments: list[Moments]) -> "MulticlassAUC":
        seen = [k for k, part in enumerate(moments) if part.n > 0.0]
        if len(moments) == 2:
            w = one_against_each(moments, 1, self.alpha)[None]
            middle = 0.5 * (moments[0].mean + moments[1].mean)
            intercept = -(w @ middle)
        else:
            w = np.stack([one_against_each(moments, k, self.alpha) for k in range(len(moments))])
            intercept = np.array([-_halfway(moments, k, seen) @ w[k] for k in range(len(moments))])
            if len(seen) > 1:  # a class of which nothing is known is never the likeliest
                intercept[[k for k in range(len(moments)) if k not in seen]] = -1.0
        validation.finite(self, w)
        validation.finite(self, intercept)
        self._moments, self.coef_, self.intercept_ = moments, w, intercept + 0.0
        return self

    def _refuse_one_class(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            validation.two_classes(self, classes)

    def _first_classes(self, y: np.ndarray, classes: Any) -> np.ndarray:
        if classes is not None:
            known = np.unique(np.asarray(classes))
            self._refuse_one_class(known)
            return known
        found = np.unique(y)
        return found if len(found) > 2 else super()._first_classes(y, classes)

    def _sound(self) -> bool:
        """Whether weights and moments, as a file has them, fit the classes."""
        if not hasattr(self, "classes_"):
            return True
        count = len(self.classes_)
        rows = 1 if count == 2 else count
        d = self.n_features_in_
        shapes = np.shape(self.coef_) == (rows, d) and np.shape(self.intercept_) == (rows,)
        return (
            shapes
            and isinstance(self._moments, list)
            and len(self._moments) == count
            and all(type(m) is Moments and np.shape(m.mean) == (d,) for m in self._moments)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


def _added(a: list[Moments], b: list[Moments]) -> list[Moments]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _halfway(moments: list[Moments], a: int, seen: list[int]) -> np.ndarray:
    """The mean, over the other classes seen, of the point halfway to them."""
    others = [moments[b].mean for b in seen if b != a]
    if not others:
        return np.zeros_like(moments[a].mean)
    return 0.5 * (moments[a].mean + np.mean(others, axis=0))
