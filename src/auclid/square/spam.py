"""SPAM: stochastic proximal AUC maximisation, one row per step, no buffers."""

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid import _random, validation
from auclid._generic import as_floats
from auclid._progress import fit_iterations
from auclid._random import RandomState
from auclid.base import StreamRanker, linear_attributes
from auclid.data import SparseTable, Table
from auclid.penalties import L2, ElasticNet, Penalty, prox
from auclid.schedules import Constant, Harmonic, Power, Schedule, rate
from auclid.solvers.proximal import ProximalSolver, ProximalState, ProximalSteps, initial_state
from auclid.solvers.saga import SagaSolver
from auclid.stats.class_means import FirstPass, class_midpoint, first_pass, means_of


class SPAM(StreamRanker):
    """Stochastic proximal AUC maximisation.

    Minimises, one row per step and without a buffer of rows,

        mean over pairs of (1 − w·(x⁺ − x⁻))² + (alpha/2) |w|² + l1 |w|₁

    by proximal steps on SPAM's gradient: for a positive row 2(1−p)(w·x − w·μ₋ − 1) x, for a negative one
    2p(w·x − w·μ₊ + 1) x, where p is the share of positives and μ± are the class means (of all rows in `fit`, of the
    rows so far in `partial_fit`). A step costs O(nnz of the row), or O(d) with any other ``penalty``.

    Parameters
    ----------
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty.
    l1 : float in [0, inf), default=0
        Strength of the absolute penalty. Steps of single rows leave hardly any weight at zero, their average none; to
        select columns, use ``variance_reduction="saga"`` or `LeastSquaresAUC`.
    penalty : struct with a `prox`, or None, default=None
        Replaces ``alpha`` and ``l1`` by any penalty of `auclid.penalties` or of your own; ``alpha`` and ``l1`` must
        then keep their defaults.
    schedule : {"auto", "sqrt", "constant", "thm2", "thm3"} or struct with a `rate`, default="auto"
        Step sizes. "auto" and "sqrt": 1/(4p(1−p)·E|x|²·√t), "constant": a tenth of that without the √t; "thm2" and
        "thm3": the constants of the paper's theorems, which are far too small or too large in practice. A struct of
        `auclid.schedules` is used unchanged.
    guard : bool, default=True
        Whether a step e is bounded for long rows, e/(1 + e|x|²), the implicit step. The theorems' steps never are.
    n_epochs : int, default=5
    shuffle : bool, default=True
        Whether `fit` shuffles the rows of each epoch.
    average : bool, default=True
        Whether ``coef_`` is the average of the iterates, weighted by t², or the last one.
    centre : bool, default=True
        Whether dense rows are centred at their mean, which changes single steps but no pair. The paper does not
        centre them. Sparse rows are never centred.
    variance_reduction : {None, "saga"}, default=None
        "saga" converges linearly to the exact optimum of the rows; the five epochs of the default are few for it, 20 to
        50 are usual. Each row's last gradient is kept, a number a row, and subtracted from its next one. Rows are drawn
        at random in proportion to the size of their gradients, an epoch is as many steps as there are rows, and
        ``coef_`` is the last iterate; ``schedule``, ``guard``, ``average`` and ``shuffle`` have no effect. A step costs
        O(nnz of the row) for wide sparse rows, with ``l1`` as well, and O(d) for others and for other penalties. There
        is no `partial_fit`: it needs all rows.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the score
        halfway between the class means.
    classes_ : array of shape (2,)
    n_iter_ : int
        Number of epochs.
    schedule_ : struct
        The step sizes in use; those of "auto", "sqrt" and "constant" for the share of positives and E|x|² of the rows
        so far.
    a_, b_, dual_ : float
        The paper's a(w) = w·μ₊, b(w) = w·μ₋ and α(w) = w·(μ₋ − μ₊) at ``coef_``, for the class means of the rows so
        far; zero before both classes were seen.

    Notes
    -----
    The defaults are not the published algorithm: the steps, their bound, the five passes and the weighted average are
    ours. ``make("SPAM-L2", published=True)`` is the published one: the last iterate of one pass over rows that are not
    centred, with the steps of theorem 2 (``schedule="thm3"``: of theorem 3). Any other schedule with ``guard=False``,
    ``centre=False`` and ``average=False`` is the paper's algorithm 1, too. The paper's β and β₁ are p(1−p)·alpha and
    p(1−p)·l1.

    References
    ----------
    Natole, Ying & Lyu, "Stochastic proximal algorithms for AUC maximization", ICML 2018.

    Examples
    --------
    >>> from auclid import SPAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> print(f"{SPAM(random_state=0).fit(X, y).score(X, y):.2f}")
    0.93
    """

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "alpha": [validation.real()],
        "l1": [validation.real()],
        "penalty": [tuple, None],
        "schedule": [StrOptions({"auto", "sqrt", "constant", "thm2", "thm3"}), tuple],
        "guard": ["boolean"],
        "average": ["boolean"],
        "centre": ["boolean"],
        "variance_reduction": [StrOptions({"saga"}), None],
    }

    def __init__(
        self,
        alpha: float = 1e-4,
        *,
        l1: float = 0.0,
        penalty: Any = None,
        schedule: Any = "auto",
        guard: bool = True,
        n_epochs: int = 5,
        shuffle: bool = True,
        average: bool = True,
        centre: bool = True,
        variance_reduction: str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.alpha = alpha
        self.l1 = l1
        self.penalty = penalty
        self.schedule = schedule
        self.guard = guard
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.centre = centre
        self.variance_reduction = variance_reduction
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows, ``n_epochs`` times over.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            Relative frequencies of the rows in an epoch: a row of weight 2 occurs twice as often as one of weight 1.
            Numbers of occurrences are fixed if the weights are proportional to small integers, else random. With
            variance reduction the weights are exact.

        Returns
        -------
        self
        """
        if self.variance_reduction is None:
            return super().fit(X, y, sample_weight)
        return self._fit_saga(X, y, sample_weight)

    @validation.checked
    def _fit_saga(self, X: Any, y: Any, sample_weight: Any) -> Self:
        rows = self._labelled_dataset(X, y, sample_weight)
        table, is_pos, weight = rows.labelled_table()
        summary, rng = self._first_pass(table, is_pos, weight), _random.generator(self.random_state)
        solver, centre = SagaSolver(self._penalty()), summary.centre if self.centre else None
        problem = solver.problem(table, is_pos, weight, summary)
        state, midpoint = solver.init(problem), class_midpoint(summary.total, summary.n)

        def attributes() -> dict[str, np.ndarray]:
            return linear_attributes(state.w.copy(), state.w @ midpoint)

        with np.errstate(over="ignore", invalid="ignore"):
            for number in fit_iterations(self, self.n_epochs, attributes, X, y):
                state = solver.epoch(table, centre, problem, state, rng)
                self.n_iter_ = number + 1
        self._publish_fit(rows, state.w)
        self._state = initial_state(means_of(summary))
        self._state.iterate.v[:] = state.w
        self._rng, self._dense, self.schedule_ = rng, not isinstance(table, SparseTable), Constant(problem.step)
        self._publish_means(self._state)
        return self

    def _first_pass(self, table: Table, is_pos: np.ndarray, weight: np.ndarray | None) -> FirstPass:
        return first_pass(table, is_pos, products=True, weight=weight, centred=self.centre)

    def _solver(self) -> ProximalSolver:
        if self.variance_reduction is not None:
            raise ValueError(
                "variance_reduction of SPAM must be None in partial_fit, since it needs all rows; got "
                f"{self.variance_reduction!r}. Use fit, or SPAM()."
            )
        return self._solver_with(None)

    def _fit_solver(self, summary: FirstPass) -> ProximalSolver:
        return self._solver_with(summary)

    def _solver_with(self, summary: FirstPass | None) -> ProximalSolver:
        schedule, relative, guarded = self._schedule(summary)
        return ProximalSolver(ProximalSteps(schedule, relative, guarded, self._penalty()), self.average, self.centre)

    def _penalty(self) -> Penalty:
        if self.penalty is None:
            return as_floats(ElasticNet(self.l1, self.alpha) if self.l1 else L2(self.alpha))
        if self.l1 or self.alpha != 1e-4:
            raise ValueError("penalty of SPAM must stand alone; got alpha or l1 as well. Put them into the penalty.")
        return validation.implements(self, "penalty", self.penalty, (prox,))

    def _schedule(self, summary: FirstPass | None) -> tuple[Schedule, bool, bool]:
        """The schedule, whether it is relative to the stable step, and whether steps along long rows are bounded."""
        if self.schedule in ("auto", "sqrt"):
            return Power(1.0, 0.5), True, self.guard
        if self.schedule == "constant":
            return Constant(0.1), True, self.guard
        if self.schedule in ("thm2", "thm3"):
            return self._theorem(summary), False, False
        return validation.implements(self, "schedule", self.schedule, (rate,)), False, self.guard

    def _theorem(self, summary: FirstPass | None) -> Power | Harmonic:
        """The constants of the paper's theorems 2 and 3."""
        if summary is None or self.alpha == 0.0 or self.penalty is not None:
            raise ValueError(
                f"schedule='{self.schedule}' of SPAM must know max |x| and alpha > 0 beforehand: use fit, with "
                "alpha > 0 and no penalty, or another schedule."
            )
        p = summary.n[1] / summary.n.sum()
        beta = p * (1.0 - p) * self.alpha
        bound = 128.0 * np.sqrt(summary.squares.max()) ** 4
        if self.schedule == "thm2":
            return Power(beta / bound, 0.5)
        return Harmonic((1.0 + beta**2 / bound) ** 2 / beta, 1.0)

    def _fresh_state(self, d: int) -> ProximalState:
        model = copy(self)
        model.schedule = "auto"  # the state does not depend on the schedule, and a theorem's schedule requires rows
        return model._solver_with(None).init(d)

    def _publish_settings(self, solver: ProximalSolver, state: ProximalState) -> None:
        self.schedule_ = solver.schedule(state)
        self._publish_means(state)

    def _publish_means(self, state: ProximalState) -> None:
        """Set the projected class means at ``coef_``."""
        mean = state.means.total / np.maximum(state.means.n, 1.0)[:, None]
        b, a = mean @ self.coef_[0]
        self.a_, self.b_, self.dual_ = float(a), float(b), float(b - a)
