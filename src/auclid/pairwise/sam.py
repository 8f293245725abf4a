"""SAM, ASAM and PSAM: stochastic steps on one random pair of rows at a time."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid import _random, validation
from auclid._random import RandomState
from auclid.base import StreamRanker
from auclid.data import Table
from auclid.data.types import RowsLike
from auclid.losses import LOSSES, Loss, as_loss
from auclid.pairwise._search import DEFAULT_ALPHA, best_alpha
from auclid.penalties import prox
from auclid.solvers.penalized_pairs import L1PairsSolver, PenalizedPairsSolver
from auclid.solvers.random_pairs import (
    LOSS_FUNCTIONS,
    PairRule,
    PairSteps,
    ProximalStep,
    RandomPairsSolver,
    RandomPairsState,
    SubgradientStep,
    subgradient_rule,
)
from auclid.stats.class_means import FirstPass, first_pass
from auclid.stats.labelled import LabelledDataset
from auclid.stats.weights import repeats

MAX_STREAM_STEPS = 2**62
"""More steps than any stream makes."""

RULE_ALPHA = 0.1
"""alpha="auto" of `fit`, in units of E|z|² over the rows of the rarer class. On half of the tables, at most 5,000 rows,
the mean AUC of PSAM is .8504 with it and .8476 with alpha="cv", and no table loses more than .003."""

STREAM_ALPHA = 1e-4
"""alpha="auto" of a stream, in units of E|z|²: chosen on half of the tables, with and without feature maps."""


class PairSampler(StreamRanker):
    """The base class of ASAM and PSAM: everything but the step on a pair, ``_rule``."""

    _parameter_constraints: dict = {
        "alpha": [validation.real(closed="neither"), StrOptions({"auto", "cv"})],
        "l1": [validation.real()],
        "penalty": [tuple, None],
        "n_epochs": [validation.at_least(1)],
        "t0": [validation.real(), None],
        "rskip": [validation.at_least(1)],
        "askip": [validation.at_least(1)],
        "average": ["boolean"],
        "random_state": _random.RANDOM_STATE,
    }

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        loss: Any = "hinge",
        l1: float = 0.0,
        penalty: Any = None,
        n_epochs: int = 15,
        t0: float | None = None,
        rskip: int = 16,
        askip: int = 16,
        average: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.l1 = l1
        self.penalty = penalty
        self.n_epochs = n_epochs
        self.t0 = t0
        self.rskip = rskip
        self.askip = askip
        self.average = average
        self.random_state = random_state

    shuffle = None  # pairs are drawn at random, whatever the order of the rows

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from random pairs, ``n_epochs`` times as many as there are rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            Relative frequencies of the rows in an epoch: a row of weight 2 occurs twice as often as one of weight 1.
            Numbers of occurrences are fixed if the weights are proportional to small integers, else random.
        groups : array of shape (n,), optional
            The session, query or patient of each row. Pairs are then drawn from those within a group, all equally
            likely; a group of one class has none.

        Returns
        -------
        self
        """
        return self._fit_epochs(X, y, sample_weight, groups)

    def _first_pass(self, table: Table, is_pos: np.ndarray, weight: np.ndarray | None) -> FirstPass:
        # Before the first pass: a table that is computed on demand may be stored from then on.
        if self.alpha == "cv":
            self.alpha_ = best_alpha(LabelledDataset.from_table(table, is_pos, weight, self.classes_))
        summary = first_pass(table, is_pos, weight=weight)
        validation.finite(self, summary.pair_square)
        if self.alpha == "auto":
            count = np.ones(len(is_pos)) if weight is None else repeats(weight, is_pos)
            self.alpha_ = _alpha_from_norms(summary.pair_square, np.bincount(is_pos, count, minlength=2))
        elif self.alpha != "cv":
            self.alpha_ = float(self.alpha)
        return summary

    def _solver(self) -> RandomPairsSolver:
        if not isinstance(self.alpha, str):
            return self._solver_with(float(self.alpha))
        was_fitted = hasattr(self, "_state") and np.isinf(self._state.iterate.n_pairs)
        return self._solver_with(self.alpha_ if was_fitted else None)

    def _fit_solver(self, summary: FirstPass) -> RandomPairsSolver:
        return self._solver_with(self.alpha_)

    def _solver_with(self, alpha: float | None) -> RandomPairsSolver:
        """The solver with this alpha; None lets a stream choose it in units of E|z|²."""
        rule, loss = self._rule()
        t0 = None if self.t0 is None else float(self.t0)
        relative, alpha = alpha is None, STREAM_ALPHA if alpha is None else alpha
        offset = alpha * t0 if relative and t0 is not None else 1.0
        rskip, askip = int(min(self.rskip, MAX_STREAM_STEPS)), int(min(self.askip, MAX_STREAM_STEPS))
        steps = PairSteps(rule, loss, alpha, relative, offset, rskip, askip)
        if self.penalty is not None:
            if self.l1:
                raise ValueError(
                    f"penalty of {type(self).__name__} must stand alone; got l1 as well. Put it into the penalty."
                )
            penalty = validation.implements(self, "penalty", self.penalty, (prox,))
            return PenalizedPairsSolver(steps, t0, self.average, penalty=penalty)
        if self.l1:
            return L1PairsSolver(steps, t0, self.average, l1=float(self.l1))
        return RandomPairsSolver(steps, t0, self.average)

    @abstractmethod
    def _rule(self) -> tuple[PairRule, Loss]:
        """The step on a pair, and the loss."""

    def _publish_settings(self, solver: RandomPairsSolver, state: RandomPairsState) -> None:
        self.alpha_, self.t0_ = solver.alpha(state), solver.initial_time(state)


def _alpha_from_norms(pair_square: float, class_sizes: np.ndarray) -> float:
    """alpha="auto" of `fit`: the fewer rows the rarer class has and the longer the rows are, the stronger."""
    return RULE_ALPHA * pair_square / max(float(class_sizes.min()), 1.0) or DEFAULT_ALPHA


class ASAM(PairSampler):
    """Averaged stochastic AUC maximisation: a subgradient step on one random pair at a time.

    Minimises over all pairs of a positive and a negative row, with z = x⁺ − x⁻ and the margin m = w·z,

        mean ℓ(m) + (alpha/2) |w|² + l1 |w|₁,   by default with the hinge loss ℓ(m) = (1 − m)₊.

    Step t = 1, 2, … draws a pair from all n₊·n₋ and moves w by −ℓ'(m) z / (alpha (t + t0)): for the hinge
    loss, only where m < 1. Every ``rskip`` steps w shrinks by the factor 1 − rskip/(t + t0), every ``askip``
    steps it is added to the average that ``coef_`` is. A step costs O(nnz of the two rows). An epoch has as many
    steps as there are rows.

    Parameters
    ----------
    alpha : float in (0, inf), "auto" or "cv", default="auto"
        Strength of the squared penalty; it divides the step, so it cannot be 0. "auto": in `fit` 0.1·E|z|² over the
        number of rows of the rarer class, which costs nothing. "cv": in `fit` chosen as by `RankSVM`, by
        cross-validation of the square loss, which takes as long as many epochs. Either way in a stream 1e-4·E|z|² of
        the pairs so far, or the choice of an earlier `fit`.
    loss : {"hinge", "squared_hinge", "square", "logistic"} or struct, default="hinge"
        Loss of a pair: by its name, or a struct of your own with `auclid.losses.slope` implemented. If the slope is
        unbounded, as for the squared losses, a step ends at the latest at the margin that minimises the loss;
        otherwise steps along long rows would diverge.
    l1 : float in [0, inf), default=0
        Strength of the absolute penalty l1 |w|₁. Every ``rskip`` steps w is also cut towards zero by
        l1·rskip/(alpha (t + t0)), in O(nnz) a step on sparse rows. Single iterates have zero weights
        (``average=False``), their average has few.
    penalty : struct with a `prox`, or None, default=None
        Replaces both penalties by one of `auclid.penalties` or of your own: every ``rskip`` steps w becomes its
        proximal point, in O(d). ``alpha`` then only sets the steps, and ``l1`` must keep its default.
    n_epochs : int, default=15
    t0 : float in [0, inf) or None, default=None
        The offset of t in the step sizes. None: E|z|²/alpha, which bounds the first steps.
    rskip : int, default=16
        Steps between two shrinkings of w.
    askip : int, default=16
        Steps between two averaged iterates.
    average : bool, default=True
        Whether ``coef_`` is the average of the iterates (ASAM) or the last one (SAM).
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the
        score halfway between the class means.
    classes_ : array of shape (2,)
    n_iter_ : int
        Number of epochs.
    alpha_ : float
        The ``alpha`` in use; with "auto" and only `partial_fit`, that of the pairs so far.
    t0_ : float
        The ``t0`` in use; after `partial_fit` only, that of the pairs so far.

    Notes
    -----
    `partial_fit` makes one step for each row of a batch, on that row and a row of the other class, drawn from
    a reservoir of 1,000 rows per class, a uniform sample of the rows streamed so far. The result does not depend
    on how a stream is cut into batches. `fit` keeps no rows: a stream after it begins with empty reservoirs.

    There is no ``class_weight``: every pair holds one row of each class, so classes are balanced already.

    With ``groups`` in `fit` the mean is over the pairs within groups, the mean AUC by pairs of
    `auclid.metrics.group_auc` being what it aims at. E|z|² stays that of all pairs.

    The steps are the paper's algorithm 10; ``make("ASAM", published=True)`` also has an alpha of its range.

    References
    ----------
    Khalid, "Scalable large margin pairwise learning algorithms", Colorado State University 2019, chapter 6.

    Examples
    --------
    >>> from auclid import ASAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(ASAM(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **PairSampler._parameter_constraints,
        "loss": [StrOptions(set(LOSSES)), tuple],
    }

    def _rule(self) -> tuple[PairRule, Loss]:
        loss = validation.implements(self, "loss", as_loss(self.loss), LOSS_FUNCTIONS[SubgradientStep])
        return subgradient_rule(loss), loss


class PSAM(PairSampler):
    """Proximal stochastic AUC maximisation: an exact proximal step on one random pair at a time.

    Minimises over all pairs of a positive and a negative row, with z = x⁺ − x⁻ and the margin m = w·z,

        mean ℓ(m) + (alpha/2) |w|² + l1 |w|₁,   by default with the hinge loss ℓ(m) = (1 − m)₊.

    Step t = 1, 2, … draws a pair from all n₊·n₋ and, with s = 1/(alpha (t + t0)), moves w to
    argmin_v ½ |v − w|² + s ℓ(v·z), which is w + c z with

        hinge           c = min(s, (1 − m)₊/|z|²)
        squared hinge   c = 2s(1 − m)₊/(1 + 2s|z|²)
        square          c = 2s(1 − m)/(1 + 2s|z|²).

    Such a step cannot overshoot, even for long rows. Every ``rskip`` steps w shrinks by the factor
    1 − rskip/(t + t0), every ``askip`` steps it is added to the average that ``coef_`` is. A step costs
    O(nnz of the two rows). An epoch has as many steps as there are rows.

    Parameters
    ----------
    alpha : float in (0, inf), "auto" or "cv", default="auto"
        Strength of the squared penalty; it divides the step, so it cannot be 0. "auto": in `fit` 0.1·E|z|² over the
        number of rows of the rarer class, which costs nothing. "cv": in `fit` chosen as by `RankSVM`, by
        cross-validation of the square loss, which takes as long as many epochs. Either way in a stream 1e-4·E|z|² of
        the pairs so far, or the choice of an earlier `fit`.
    loss : {"hinge", "squared_hinge", "square"} or struct, default="hinge"
        Loss of a pair: by its name, or a struct of your own with `auclid.losses.slope` and
        `auclid.losses.prox_step` implemented.
    l1 : float in [0, inf), default=0
        Strength of the absolute penalty l1 |w|₁. Every ``rskip`` steps w is also cut towards zero by
        l1·rskip/(alpha (t + t0)), in O(nnz) a step on sparse rows. Single iterates have zero weights
        (``average=False``), their average has few.
    penalty : struct with a `prox`, or None, default=None
        Replaces both penalties by one of `auclid.penalties` or of your own: every ``rskip`` steps w becomes its
        proximal point, in O(d). ``alpha`` then only sets the steps, and ``l1`` must keep its default.
    n_epochs : int, default=15
    t0 : float in [0, inf) or None, default=None
        The offset of t in the step sizes. None: E|z|²/alpha, which bounds the first steps.
    rskip : int, default=16
        Steps between two shrinkings of w.
    askip : int, default=16
        Steps between two averaged iterates.
    average : bool, default=True
        Whether ``coef_`` is the average of the iterates or the last one.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the
        score halfway between the class means.
    classes_ : array of shape (2,)
    n_iter_ : int
        Number of epochs.
    alpha_ : float
        The ``alpha`` in use; with "auto" and only `partial_fit`, that of the pairs so far.
    t0_ : float
        The ``t0`` in use; after `partial_fit` only, that of the pairs so far.

    Notes
    -----
    `partial_fit` works as in `ASAM`: a step for each row of a batch, on that row and one of the other class,
    drawn from a reservoir of 1,000 rows per class. There is no ``class_weight``: pairs are balanced already.
    ``groups`` of `fit` draw pairs within groups, as in `ASAM`.

    The steps are the paper's algorithm 11; ``make("PSAM", published=True)`` also has an alpha of its range.

    References
    ----------
    Khalid, "Scalable large margin pairwise learning algorithms", Colorado State University 2019, chapter 7.

    Examples
    --------
    >>> from auclid import PSAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(PSAM(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **PairSampler._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge", "square"}), tuple],
    }

    def _rule(self) -> tuple[PairRule, Loss]:
        return ProximalStep(), validation.implements(self, "loss", as_loss(self.loss), LOSS_FUNCTIONS[ProximalStep])
