"""Rankers made of another ranker, which may be one of ordered rows."""

from typing import Any

from sklearn.utils import Tags

from auclid import validation
from auclid.base import Ranker
from auclid.data.types import OutputFile, RowsLike
from auclid.ordered._base import LinearOrderRanker
from auclid.validation import partwise


class MetaRanker(Ranker):
    """A ranker made of another, ``ranker``: of two classes, or of ordered rows where that one ranks these."""

    ranker: Any

    @property
    def _order_ranker(self) -> LinearOrderRanker | None:
        """The ranker of ordered rows; None where rows are of two classes."""
        ranker = getattr(self, "ranker_", self.ranker)
        return ranker if isinstance(ranker, LinearOrderRanker) else None

    @partwise
    def predict(self, X: RowsLike, *, out: OutputFile = None) -> Any:
        """The class of each row; the scores of `decision_function`, where the ranker is one of ordered rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        return super().predict(X) if self._order_ranker is None else self.decision_function(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> float:
        """The AUC of `decision_function` on (X, y), or the concordance where the ranker is one of ordered rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        groups : array of shape (n,), optional
            For a ranker of ordered rows: only rows of one group are compared.

        Returns
        -------
        float
        """
        ranker = self._order_ranker
        if ranker is None:
            return super().score(X, y, sample_weight)
        y, sample_weight = validation.own_outcome(self, X, y), validation.own_weight(X, sample_weight)
        return ranker._concordance(self.decision_function(X), y, groups, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self._order_ranker is not None:
            tags.estimator_type, tags.classifier_tags = None, None
        return tags


def ranks_order(model: Any) -> bool:
    """Whether a model, or the last step of a pipeline, ranks ordered rows and tells no classes."""
    last = validation.last_step(model)
    return isinstance(last, LinearOrderRanker) or isinstance(getattr(last, "ranker", None), LinearOrderRanker)
