"""What SAMULT and PNU-AUC share: exact risks from the moments of three sets, and one pass that merges."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from auclid import validation
from auclid.base import LinearRanker
from auclid.data.types import RowsLike
from auclid.semi._labels import PartlyLabelled, begin_partial
from auclid.solvers.semi_supervised import Family, choose
from auclid.stats.moments import require_room
from auclid.stats.sets import SemiSupervisedStats, Sets
from auclid.validation import RowAccess


class ClosedForm(PartlyLabelled, LinearRanker, ABC):
    """A linear ranker that minimises a quadratic risk of three sets of rows.

    A subclass gives

    - ``_family(seen)``: the family of risks, with what it must know beside moments (a class prior);
    - ``_published(family)``: what of that is a fitted attribute;
    - ``_refusal(sets)``: why the sets are not enough, or None;
    - ``_convex_weight``, where not every weight makes a convex risk.
    """

    alpha: float | str
    unlabeled_weight: Any

    _row_access = RowAccess.PARTS

    @validation.checked
    def fit(
        self, X: RowsLike, y: ArrayLike | None = None, X_unlabeled: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from labelled and unlabelled rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
            Labels, and marks on unlabelled rows; see ``unlabeled``.
        X_unlabeled : array, CSR matrix or frame of shape (m, d), optional
            More unlabelled rows. A Pipeline does not transform them: inside one, put them into X and mark them in y.
        sample_weight : array of shape (n,), optional
            Weights of the rows of X; a pair weighs the product of its two rows' weights. Rows of X_unlabeled weigh 1.

        Returns
        -------
        self
        """
        rows = self._labelled_dataset(X, y, sample_weight, X_unlabeled)
        self._require_room(rows.width)
        seen = SemiSupervisedStats.of(rows)
        refusal = self._refusal(seen.sets)
        if refusal:
            raise ValueError(refusal)
        w = self._solved(seen)
        if not seen.sets.both_labelled:
            return self._publish(w, w @ seen.sets.midpoint)
        return self._publish_fit(rows, w)

    @validation.checked
    def partial_fit(
        self, X: RowsLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add a batch of rows, labelled, unlabelled or mixed; then the model is that of one `fit` on all rows so far.

        Until the rows suffice for the risk, ``coef_`` and all scores are zero. Where a parameter is "auto" it is chosen
        anew at each call: in a long stream of small batches, give numbers.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        sample_weight : array of shape (n,), optional
            As how many rows each row counts.

        Returns
        -------
        self
        """
        table, sets, first = begin_partial(self, X, y, classes)
        self._require_room(table.shape[1])
        weight = validation.weights(sample_weight, table)
        validation.check_weight_scale(self, weight)
        return self._resume(
            (SemiSupervisedStats.nothing(table.shape[1]) if first else self._seen).after(table, sets, weight)
        )

    def merge(self, other: Self) -> Self:
        """Add the rows another model has seen; returns self.

        Parameters
        ----------
        other : a model of the same class
            Fitted on other rows with the same parameters, features and classes.

        Returns
        -------
        self
        """
        validation.mergeable(self, other)
        return self._resume(self._seen + other._seen)

    def _resume(self, seen: SemiSupervisedStats) -> Self:
        if self._refusal(seen.sets):
            self._seen, self.n_iter_ = seen, 1
            return self._publish(np.zeros_like(seen.sets.pos.mean), 0.0)
        w = self._solved(seen)
        return self._publish(w, w @ seen.sets.midpoint)

    def _solved(self, seen: SemiSupervisedStats) -> np.ndarray:
        """The weights; sets what was chosen on the way."""
        family = self._family(seen)
        given = self.alpha if isinstance(self.alpha, Real) else None
        weight, alpha = choose(family, seen, self._weights(family, seen.sets), given)
        w = validation.finite(self, family.risk(seen.sets, weight).minimiser(alpha))
        self._seen, self.n_iter_ = seen, 1
        self.unlabeled_weight_, self.alpha_ = float(weight), float(alpha)
        self.__dict__.update(self._published(family))
        return w

    def _weights(self, family: Family, sets: Sets) -> list[float]:
        """The weights to choose from, the supervised one first where it is among them."""
        if not sets.unl.n:
            return [0.0]
        if self.unlabeled_weight != "auto":
            return [self._convex_weight(family, sets, self.unlabeled_weight)]
        if not sets.neg.n:
            return [self._convex_weight(family, sets, 1.0)]
        return [weight for weight in family.grid if family.usable(sets, weight) is not None]

    @abstractmethod
    def _family(self, seen: SemiSupervisedStats) -> Family:
        """The family of risks."""

    @abstractmethod
    def _refusal(self, sets: Sets) -> str | None:
        """Why the sets are not enough, or None."""

    def _published(self, family: Family) -> dict[str, float]:
        return {}

    def _convex_weight(self, family: Family, sets: Sets, weight: float) -> float:
        """The weight asked for, where the risk is convex whatever it is."""
        return weight

    def _require_room(self, d: int) -> None:
        instead = "Make them fewer, for instance with TruncatedSVD, or use QSGS2AUC."
        require_room(f"The moments of {type(self).__name__}", d, instead)
