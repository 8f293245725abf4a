"""What SAMULT and PNU-AUC share: exact risks from the moments of three sets, and one pass that merges."""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from auclid import _check
from auclid.base import LinearRanker
from auclid.metrics._operating_point import best_threshold
from auclid.semi._choose import choose
from auclid.semi._labels import POSITIVE, UNLABELED, PartlyLabelled, begin_fit, begin_partial, members
from auclid.semi._sample import Samples
from auclid.stats.moments import Moments, grouped_moments, require_room


@dataclass(frozen=True)
class Sets:
    """Moments of the negatives, the positives and the unlabelled rows: a commutative monoid under +."""

    neg: Moments
    pos: Moments
    unl: Moments

    def __add__(self, other):
        return Sets(self.neg + other.neg, self.pos + other.pos, self.unl + other.unl)

    @property
    def midpoint(self):
        """Halfway between the class means; unlabelled rows stand in for a class without labelled ones."""
        lower, upper = (labelled if labelled.n else self.unl for labelled in (self.neg, self.pos))
        return 0.5 * (lower.mean + upper.mean)


@dataclass(frozen=True)
class Seen:
    """All that is kept of the rows seen."""

    sets: Sets
    samples: Samples
    rng: np.random.Generator  # for the samples

    @classmethod
    def nothing(cls, d):
        """Before any row. Draws only thin out samples, so their seed is no parameter."""
        return cls(Sets(*[Moments.empty(d)] * 3), Samples(), np.random.default_rng(0))

    def after(self, table, sets):
        """With the rows of a table, each of its set."""
        rng = deepcopy(self.rng)
        samples = self.samples.after(table, members(sets), rng)
        return Seen(self.sets + Sets(*grouped_moments(table, sets, 3)), samples, rng)

    def __add__(self, other):
        rng = deepcopy(self.rng)
        return Seen(self.sets + other.sets, self.samples.union(other.samples, rng), rng)


class ClosedForm(PartlyLabelled, LinearRanker):
    """A linear ranker that minimises a quadratic risk of three sets of rows.

    A subclass gives

    - ``_known(seen)``: what the risk needs beside moments and weight (a class prior), as fitted attributes;
    - ``_risk(sets, weight, known)``: the risk, for sets that hold all rows it needs;
    - ``_refusal(sets)``: why the sets are not enough, or None;
    - ``_grid``: weights that "auto" tries, by size, and ``_caution``: standard errors by which one must beat 0;
    - ``_trial`` and ``_convex_weight``, where not every weight makes a convex risk.
    """

    _grid: tuple = (0.0,)
    _caution: float = 0.0

    @_check.checked
    def fit(self, X, y, X_unlabeled=None):
        """Learn from labelled and unlabelled rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
            Labels, and marks on unlabelled rows; see ``unlabeled``.
        X_unlabeled : array, CSR matrix or frame of shape (m, d), optional
            More unlabelled rows. A Pipeline does not transform them: inside one, put them into X and mark them in y.

        Returns
        -------
        self
        """
        table, sets = begin_fit(self, X, y, X_unlabeled)
        self._require_room(table.shape[1])
        seen = Seen.nothing(table.shape[1]).after(table, sets)
        refusal = self._refusal(seen.sets)
        if refusal:
            raise ValueError(refusal)
        w = self._learn(seen)
        if not (seen.sets.pos.n and seen.sets.neg.n):
            return self._publish(w, w @ seen.sets.midpoint)
        labelled = np.flatnonzero(sets != UNLABELED)
        return self._publish(w, best_threshold(sets[labelled] == POSITIVE, table.matmul(w, labelled)))

    @_check.checked
    def partial_fit(self, X, y, classes=None):
        """Add a batch of rows, labelled, unlabelled or mixed; then the model is that of one `fit` on all rows so far.

        Until the rows suffice for the risk, ``coef_`` and all scores are zero. Where a parameter is "auto" it is chosen
        anew at each call: in a long stream of small batches, give numbers.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.

        Returns
        -------
        self
        """
        table, sets, first = begin_partial(self, X, y, classes)
        self._require_room(table.shape[1])
        return self._resume((Seen.nothing(table.shape[1]) if first else self._seen).after(table, sets))

    def merge(self, other):
        """Add the rows another model has seen; returns self.

        Parameters
        ----------
        other : a model of the same class
            Fitted on other rows with the same parameters, features and classes.

        Returns
        -------
        self
        """
        _check.mergeable(self, other)
        return self._resume(self._seen + other._seen)

    def _resume(self, seen):
        if self._refusal(seen.sets):
            self._seen, self.n_iter_ = seen, 1
            return self._publish(np.zeros_like(seen.sets.pos.mean), 0.0)
        w = self._learn(seen)
        return self._publish(w, w @ seen.sets.midpoint)

    def _learn(self, seen):
        """The weights; sets what was chosen on the way."""
        known = self._known(seen)
        weight, alpha = choose(self, seen, self._weights(seen.sets, known), known)
        w = _check.finite(self, self._risk(seen.sets, weight, known).minimiser(alpha))
        self._seen, self.n_iter_ = seen, 1
        self.unlabeled_weight_, self.alpha_ = float(weight), float(alpha)
        vars(self).update(known)
        return w

    def _weights(self, sets, known):
        """The weights to choose from, the supervised one first where it is among them."""
        if not sets.unl.n:
            return [0.0]
        if self.unlabeled_weight != "auto":
            return [self._convex_weight(sets, self.unlabeled_weight, known)]
        if not sets.neg.n:
            return [self._convex_weight(sets, 1.0, known)]
        return [weight for weight in self._grid if self._trial(sets, weight, known) is not None]

    def _known(self, seen):
        return {}

    def _trial(self, sets, weight, known):
        """The risk, or None where it cannot be minimised."""
        return self._risk(sets, weight, known)

    def _convex_weight(self, sets, weight, known):
        """The weight asked for, where the risk is convex whatever it is."""
        return weight

    def _require_room(self, d: int) -> None:
        instead = "Make them fewer, for instance with TruncatedSVD, or use QSGS2AUC."
        require_room(f"The moments of {type(self).__name__}", d, instead)
