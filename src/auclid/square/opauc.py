"""OPAUC: one pass over the rows, with means and covariances of both classes, or sketches of these."""

from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid._random import RandomState
from auclid.base import StreamRanker
from auclid.solvers.one_pass import GradientRule, OnePassSolver, OnePassState, OnePassSteps
from auclid.stats.moments import require_room

DEFAULT_OPAUC_STEP = 4.0
"""The first step size, for pairs of mean square length 1."""

COVARIANCE_HINT = "Use OPAUC(rank=50), or SPAM, whose memory is that of a row."
"""The advice for covariances that do not fit in memory."""


class OPAUC(StreamRanker):
    """One-pass AUC optimisation: stochastic gradients from the means and covariances of both classes.

    Minimises the mean over pairs of (1 − w·(x⁺ − x⁻))² + (alpha/2) |w|². A step for a positive row follows

        g = λw − (1 − z·w) z + Σ₋w,    z = x − μ₋,    λ = alpha/2,

    the gradient of half the objective over the row's pairs with all negatives so far; mirrored for a negative
    row. No row is stored. A step costs O(d²), or O(rank·d) with sketched covariances (OPAUCr).

    Parameters
    ----------
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty.
    step : float in (0, inf) or None, default=None
        The published algorithm's constant step. None: steps that need no tuning, 4/(L√t) with
        L = E|x⁺ − x⁻|² + λ over the rows so far, bounded for long rows.
    rank : int ≥ 1 or None, default=None
        Columns of a random sketch that approximates each covariance; None keeps the d × d covariances.
    sketch : {"shrunk", "centred", "plain"}, default="shrunk"
        With a ``rank``: "plain" is the paper's sketch, ZZᵀ/n − μμᵀ with Z = Σ x rᵀ and r random, which can be
        indefinite; "centred" uses x − μ in Z, which cannot; "shrunk" shrinks that towards the exact variances of the
        columns, which get the weight d/(d + rank).
    n_epochs : int, default=1
    shuffle : bool, default=True
        Whether `fit` shuffles the rows of each epoch.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
        The last iterate.
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the
        score halfway between the class means.
    classes_ : array of shape (2,)
    n_iter_ : int
        Number of epochs.
    step_ : float
        The first step: the given one, or 4/L.

    Notes
    -----
    The defaults are not the published algorithm: steps decrease as 1/√t and are bounded, and a sketch is centred and
    shrunk. A ``step`` gives OPAUC as published, with ``sketch="plain"`` OPAUCr.

    The sketch's noise does not vanish with the number of rows: the AUC of OPAUCr may stay up to 0.015 below that of
    OPAUC. With a centred sketch that is not shrunk it was 0.02.

    References
    ----------
    Gao, Jin, Zhu & Zhou, "One-pass AUC optimization", ICML 2013.

    Examples
    --------
    >>> from auclid import OPAUC
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(OPAUC(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "alpha": [validation.real()],
        "step": [validation.real(closed="neither"), None],
        "rank": [validation.at_least(1), None],
        "sketch": [StrOptions({"shrunk", "centred", "plain"})],
    }

    def __init__(
        self,
        alpha: float = 1e-4,
        *,
        step: float | None = None,
        rank: int | None = None,
        sketch: str = "shrunk",
        n_epochs: int = 1,
        shuffle: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.alpha = alpha
        self.step = step
        self.rank = rank
        self.sketch = sketch
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _solver(self) -> OnePassSolver:
        if self.rank is None:
            require_room("The covariances of OPAUC", self.n_features_in_, COVARIANCE_HINT)
        rule = GradientRule(float(self.step or DEFAULT_OPAUC_STEP), self.step is None)
        steps = OnePassSteps(rule, 0.5 * self.alpha, self.sketch == "shrunk", self.sketch != "plain")
        return OnePassSolver(steps, self.rank)

    def _publish_settings(self, solver: OnePassSolver, state: OnePassState) -> None:
        self.step_ = solver.first_step(state)
