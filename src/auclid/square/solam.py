"""SOLAM: the saddle-point form of the square loss, one row per step."""

from typing import Any

import numpy as np

from auclid import validation
from auclid._random import RandomState
from auclid.base import StreamRanker
from auclid.data import Table, row_squared_norms
from auclid.solvers.saddle import SaddleProblem, SaddleSolver, SaddleState, SaddleSteps, duality_gap
from auclid.square._radius import DEFAULT_RADIUS, warn_if_binding
from auclid.stats.class_means import FirstPass, first_pass
from auclid.stats.moments import class_moments, require_room

DEFAULT_ZETA = 2.0
"""The first step size, for rows of mean square length 1 and classes of one size."""


class SOLAM(StreamRanker):
    """Stochastic online AUC maximisation, by primal–dual steps.

    Minimises the mean over pairs of (1 − w·(x⁺ − x⁻))² over the ball |w| ≤ radius, or with the penalty
    (alpha/2) |w|² in its place. That is a saddle point, min over (w, a, b) and max over α, of the mean over
    rows of

        (1−p)(w·x − a)²[y=1] + p(w·x − b)²[y=−1] + 2(1+α)(p w·x[y=−1] − (1−p) w·x[y=1]) − p(1−p)α²,

    where p is the share of positives, so that one row suffices for a step, in O(nnz of the row). Steps decrease
    as ζ/√t; |a|, |b| ≤ radius·κ and |α| ≤ 2·radius·κ, with κ the length of the longest row seen.

    Parameters
    ----------
    radius : float in (0, inf) or None, default=None
        Bound of |w|. A bound below the length of the best w makes the result worse, with a warning. None:
        30/√E|x|², which is large, or no bound if ``alpha`` is given.
    zeta : float in (0, inf) or None, default=None
        A number gives the published algorithm: steps zeta/√t from the first row on, p is the share of positives among
        the rows so far, and ``coef_`` is the average of the iterates weighted by the steps. None needs no tuning: rows
        are measured in units of √E|x|², zeta is 2/(4p(1−p)), a step e is bounded for long rows, e/(1 + e|x|²), α
        follows its mean derivative 2p(1−p)(w·μ₋ − w·μ₊ − α), with μ± the class means, instead of one row's, and the
        weights of the average are multiplied by t².
    alpha : float in [0, inf) or None, default=None
        Strength of the squared penalty that replaces the ball (SOLAM-L2); with ``radius`` too, both hold.
    n_epochs : int, default=5
    shuffle : bool, default=True
        Whether `fit` shuffles the rows of each epoch.
    centre : bool, default=True
        Whether dense rows are centred at their mean, which changes single steps but no pair. The paper does not
        centre them. Sparse rows are never centred.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the
        score halfway between the class means.
    radius_ : float
        The bound of |w| in use.
    zeta_ : float
        The step of w at t = 1: the given ``zeta``, or 2/(4p(1−p)·E|x|²) for p and E|x|² of all rows so far.
    a_, b_, dual_ : float
        The averages of a, b and α, weighted as that of w. The pair of (``coef_``, ``a_``, ``b_``) and ``dual_`` is the
        approximate saddle point whose gap `duality_gap` measures.
    classes_ : array of shape (2,)
    n_iter_ : int
        Number of epochs.

    Notes
    -----
    Without a ``zeta`` this is not the published algorithm: steps, their bound, α's step, the five passes and the
    weights of the average are ours. ``make("SOLAM", published=True)`` is the published one, in one pass over rows that
    are not centred.

    p, E|x|², μ± and the centre of dense rows are those of all rows in `fit` without a ``zeta``, which makes a first
    pass. With one, and in `partial_fit`, they are those of the rows so far.

    Dense rows may be sorted by class, unless ``zeta`` is given: then α diverges from its optimum during a long run of
    one class. Sparse rows are not centred, so such a run also moves w along its class mean, which costs AUC, most of
    all if the positives come first: shuffle them.

    References
    ----------
    Ying, Wen & Lyu, "Stochastic online AUC maximization", NIPS 2016; the penalty in place of the ball is from
    Natole, Ying & Lyu, "Stochastic proximal algorithms for AUC maximization", ICML 2018.

    Examples
    --------
    >>> from auclid import SOLAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(SOLAM(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "radius": [validation.real(closed="neither"), None],
        "zeta": [validation.real(closed="neither"), None],
        "alpha": [validation.real(), None],
        "centre": ["boolean"],
    }

    def __init__(
        self,
        radius: float | None = None,
        *,
        zeta: float | None = None,
        alpha: float | None = None,
        n_epochs: int = 5,
        shuffle: bool = True,
        centre: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.radius = radius
        self.zeta = zeta
        self.alpha = alpha
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.centre = centre
        self.random_state = random_state

    def _first_pass(self, table: Table, is_pos: np.ndarray, weight: np.ndarray | None) -> FirstPass | None:
        if self.zeta is not None:  # the published algorithm knows the rows so far only
            return None
        return first_pass(table, is_pos, products=True, weight=weight, centred=self.centre)

    def _solver(self) -> SaddleSolver:
        zeta = DEFAULT_ZETA if self.zeta is None else float(self.zeta)
        default_radius = DEFAULT_RADIUS if self.alpha is None else np.inf
        radius = default_radius if self.radius is None else float(self.radius)
        alpha = float(self.alpha or 0.0)
        steps = SaddleSteps(zeta, self.zeta is None, radius, self.radius is None, alpha)
        return SaddleSolver(steps, self.centre)

    def duality_gap(self, X: Any, y: Any) -> float:
        """The duality gap of the averaged saddle point (``coef_``, ``a_``, ``b_``; ``dual_``) on some rows.

        That is the maximum of the saddle function f over α at the averaged (w, a, b), minus its minimum over (w, a, b)
        at the averaged α, where f is the mean over these rows and the variables keep to the bounds of ``radius_``. It
        is zero at the saddle point only; theorem 2 of the paper bounds it.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        float

        Examples
        --------
        >>> from auclid import SOLAM
        >>> from auclid.datasets import load_mammography
        >>> X, y = load_mammography(return_X_y=True)
        >>> short, long = (SOLAM(n_epochs=n, random_state=0).fit(X, y) for n in (1, 20))
        >>> print(f"{short.duality_gap(X, y):.4f} after 1 epoch, {long.duality_gap(X, y):.4f} after 20")
        0.0031 after 1 epoch, 0.0007 after 20
        """
        validation.fitted(self, "coef_")
        table, y = validation.check_rows_and_labels(self, X, y, reset=False)
        validation.known_labels(self, y, self.classes_)
        require_room("The duality gap of SOLAM", table.shape[1], "Measure it on fewer columns.")
        moments = class_moments(table, y == self.classes_[1])
        longest = np.sqrt(max(row_squared_norms(block).max() for _, block in table.blocks()))
        problem = SaddleProblem(moments, float(self.alpha or 0.0), self.radius_, 2.0 * self.radius_ * longest)
        return duality_gap(problem, self.coef_[0], self.a_, self.b_, self.dual_)

    def _publish_settings(self, solver: SaddleSolver, state: SaddleState) -> None:
        self.radius_, self.zeta_ = solver.radius(state), solver.zeta(state)
        self.a_, self.b_, self.dual_ = solver.averages(state)
        warn_if_binding(self, solver.is_binding(state))
