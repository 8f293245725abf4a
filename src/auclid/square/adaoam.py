"""AdaOAM: OPAUC's gradient with AdaGrad's steps."""

from auclid import validation
from auclid._random import RandomState
from auclid.base import StreamRanker
from auclid.solvers.one_pass import AdaGradRule, OnePassSolver, OnePassState, OnePassSteps
from auclid.square.opauc import COVARIANCE_HINT
from auclid.stats.moments import require_room

DEFAULT_ADAGRAD_STEP = 0.2
"""The step size, for pairs of mean square length 1."""


class AdaOAM(StreamRanker):
    """Adaptive online AUC maximisation: OPAUC's gradient, a step size for each column.

    Minimises the mean over pairs of (1 − w·(x⁺ − x⁻))² + (alpha/2) |w|². With g the gradient of `OPAUC`, each
    weight moves by

        w_j ← w_j − η g_j / (delta + √Σ g_j²),

    the sum going over all steps so far. A step costs O(d²).

    Parameters
    ----------
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty.
    step : float in (0, inf) or None, default=None
        η. None: 0.2/√L, where L = E|x⁺ − x⁻|² + alpha/2 over the rows so far.
    delta : float in [0, inf), default=0.5
        Keeps the first steps of rare columns small.
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
        η in use.

    Notes
    -----
    The default is not the published algorithm: η depends on the lengths of the rows. A ``step`` gives the published
    one.

    References
    ----------
    Ding, Zhao, Hoi & Ong, "An adaptive gradient method for online AUC maximization", AAAI 2015.

    Examples
    --------
    >>> from auclid import AdaOAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(AdaOAM(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "alpha": [validation.real()],
        "step": [validation.real(closed="neither"), None],
        "delta": [validation.real()],
    }

    def __init__(
        self,
        alpha: float = 1e-4,
        *,
        step: float | None = None,
        delta: float = 0.5,
        n_epochs: int = 1,
        shuffle: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.alpha = alpha
        self.step = step
        self.delta = delta
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _solver(self) -> OnePassSolver:
        require_room("The covariances of AdaOAM", self.n_features_in_, COVARIANCE_HINT)
        rule = AdaGradRule(float(self.step or DEFAULT_ADAGRAD_STEP), self.step is None, float(self.delta))
        return OnePassSolver(OnePassSteps(rule, 0.5 * self.alpha))

    def _publish_settings(self, solver: OnePassSolver, state: OnePassState) -> None:
        self.step_ = solver.first_step(state)
