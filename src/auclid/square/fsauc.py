"""FSAUC: SOLAM's saddle point, solved in stages of halved steps and shrinking balls."""

from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid import _random, validation
from auclid._progress import CallbackSupportMixin, fit_iterations
from auclid._random import RandomState
from auclid.base import LinearRanker, linear_attributes
from auclid.data.types import RowsLike
from auclid.solvers.fsauc import MultiStageSolver, means_of_seen, n_stages, stage_orders
from auclid.square._radius import DEFAULT_RADIUS, warn_if_binding
from auclid.stats.class_means import class_midpoint, first_pass
from auclid.stats.epochs import EpochSampler

DEFAULT_STAGE_STEP = 0.1
"""The first stage's step size, for rows of mean square length 1 and classes of one size."""


class FSAUC(CallbackSupportMixin, LinearRanker):
    """Fast stochastic AUC maximisation, by primal–dual steps in stages.

    Minimises the mean over pairs of (1 − w·(x⁺ − x⁻))² over the ball |w| ≤ radius. `SOLAM`'s steps on the
    saddle point in (w, a, b) and α are made in m = max(1, ⌊½ log₂(2N/log₂N)⌋ − 1) stages of N/m rows,
    N = n·n_epochs. A stage has one step size, keeps (w, a, b) in a ball of radius R_k around the point where
    it began and |α − α_k| ≤ 2√2·κR_k, κ being the length of the longest row, and returns its average. The
    next one begins there, with α = w·(μ₋ − μ₊), half the step and half of R_k; R_0 = 2√(1+2κ²)·radius.

    Parameters
    ----------
    radius : float in (0, inf) or None, default=None
        Bound of |w|. A bound below the length of the best w makes the result worse, with a warning. None:
        30/√E|x|², which is large.
    step : float in (0, inf) or None, default=None
        The published algorithm's step of the first stage, for unscaled rows; p and μ± are then those of the rows so
        far. None needs no tuning: rows are measured in
        units of √E|x|², the first step is 0.1/(4p(1−p)), and steps are bounded for long rows.
    norm : {"l2", "l1"}, default="l2"
        The norm of w that the radius bounds; the paper's is "l1", which costs O(d) per step.
    n_epochs : int, default=5
    centre : bool, default=True
        Whether dense rows are centred at their mean, which changes single steps but no pair. The paper does not
        centre them. Sparse rows are never centred.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores.
    radius_ : float
        The bound of |w| in use.
    classes_ : array of shape (2,)
    n_iter_ : int
        Number of stages.

    Notes
    -----
    There is no `partial_fit`: the length of a stage depends on the number of rows.

    The defaults are not the published algorithm, ``make("FSAUC", published=True)``, which takes a ``step``,
    ``norm="l1"`` and rows that are not centred.

    References
    ----------
    Liu, Zhang, Chen, Wang & Yang, "Fast stochastic AUC maximization with O(1/n)-convergence rate", ICML 2018.

    Examples
    --------
    >>> from auclid import FSAUC
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(FSAUC(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        "radius": [validation.real(closed="neither"), None],
        "step": [validation.real(closed="neither"), None],
        "norm": [StrOptions({"l2", "l1"})],
        "n_epochs": [validation.at_least(1)],
        "centre": ["boolean"],
        "random_state": _random.RANDOM_STATE,
    }

    def __init__(
        self,
        radius: float | None = None,
        *,
        step: float | None = None,
        norm: str = "l2",
        n_epochs: int = 5,
        centre: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.radius = radius
        self.step = step
        self.norm = norm
        self.n_epochs = n_epochs
        self.centre = centre
        self.random_state = random_state

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows, ``n_epochs`` times over.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            Relative frequencies of the rows in an epoch, as in `SPAM.fit`.

        Returns
        -------
        self
        """
        rows = self._labelled_dataset(X, y, sample_weight)
        table, is_pos, weight = rows.labelled_table()
        epochs, rng = EpochSampler(table, is_pos, weight), _random.generator(self.random_state)
        summary = first_pass(table, is_pos, weight=epochs.count, centred=self.centre)
        count, times, seen = n_stages(epochs.length * self.n_epochs), np.zeros(len(is_pos)), np.zeros(2)
        orders = stage_orders(rng, epochs, self.n_epochs, count)
        solver = self._solver()
        stage, midpoint = solver.first_stage(summary), class_midpoint(summary.total, summary.n)
        for number in fit_iterations(self, count, lambda: linear_attributes(stage.start, stage.start @ midpoint), X, y):
            order, mean = next(orders), summary.mean
            state = solver.run(table, is_pos, order, stage, summary, seen)
            if self.step is not None:
                times, seen = times + np.bincount(order, minlength=len(times)), state.seen
                mean = means_of_seen(table, is_pos, times, summary.centre)
            stage = solver.next_stage(stage, state, mean)
            self.n_iter_ = number + 1
        del summary, orders  # frees several numbers per row before the threshold search allocates its own
        self.radius_ = stage.radius
        self._publish_fit(rows, stage.start)
        warn_if_binding(self, state.is_binding)
        return self

    def _solver(self) -> MultiStageSolver:
        step = float(self.step or DEFAULT_STAGE_STEP)
        radius = DEFAULT_RADIUS if self.radius is None else float(self.radius)
        return MultiStageSolver(step, radius, self.radius is None, self.step is None, self.norm == "l1", self.centre)
