"""OAM: online AUC maximisation with two buffers and the hinge loss."""

from sklearn.utils._param_validation import StrOptions

from auclid._random import RandomState
from auclid.online._buffered import BufferedRanker
from auclid.solvers.buffered import BufferedHingeSolver


class OAM(BufferedRanker):
    """Online AUC maximisation with two buffers and the hinge loss.

    Each new row is paired with the buffered rows of the opposite class. With z = y (x − x') for such a pair,

        sequential:  w ← w + min(C, (1 − w·z)₊/|z|²) z      for one pair after another,
        gradient:    w ← w + (C/2) Σ z                      over the pairs with w·z ≤ 1, at once.

    A row costs O(buffer_size · nnz); memory is two buffers and two vectors, however long the stream.

    Parameters
    ----------
    C : float in (0, inf) or None, default=None
        The largest step that one pair may cause. None: 0.03/E|z|² · 50/buffer_size, where the mean is over
        all pairs of rows seen so far.
    buffer_size : int, default=100
        Buffered rows of each class.
    update : {"sequential", "gradient"}, default="sequential"
    buffer : {"fifo", "reservoir"}, default="fifo"
        "fifo" keeps the latest rows. "reservoir" keeps a uniform sample of all rows so far. As published, C is
        then multiplied by max(1, n/buffer_size) for the n rows of the opposite class that the sample represents.
    average : bool, default=True
        Whether ``coef_`` is the average of the iterates, the t-th with weight t, or the last one. The published
        algorithm returns the last one, which ranks worse; the paper's settings are ``make("OAMseq")`` and
        ``make("OAMgra")``.
    n_epochs : int, default=1
    shuffle : bool, default=True
        Whether `fit` shuffles the rows of each epoch. With False it does exactly what `partial_fit` does.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the score halfway between the class means of the rows so far, also after `fit`.
    classes_ : array of shape (2,)
    n_iter_ : int
        Number of epochs.
    C_ : float
        The C of the last step, before the factor of a reservoir.

    Notes
    -----
    The defaults are not the published algorithm: the buffers keep the latest rows, C does not grow, and the iterates
    are averaged. ``make("OAMseq")`` and ``make("OAMgra")`` are the published ones.

    The default C is relative to E|z|². If one column contributes nearly all of it, the weights of the others hardly
    change. So scale the columns first: standardise dense ones, divide sparse ones by their largest absolute value.
    Sparse rows are not centred: a column whose mean is 10⁷ times its spread leaves few digits of E|z|².

    The average covers the whole stream. If the stream drifts, ``average=False`` follows the drift.

    References
    ----------
    Zhao, Hoi, Jin & Yang, "Online AUC maximization", ICML 2011.

    Examples
    --------
    >>> from auclid import OAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(OAM(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **BufferedRanker._parameter_constraints,
        "update": [StrOptions({"sequential", "gradient"})],
        "average": ["boolean"],
    }

    def __init__(
        self,
        C: float | None = None,
        *,
        buffer_size: int = 100,
        update: str = "sequential",
        buffer: str = "fifo",
        average: bool = True,
        n_epochs: int = 1,
        shuffle: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.C = C
        self.buffer_size = buffer_size
        self.update = update
        self.buffer = buffer
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _solver(self) -> BufferedHingeSolver:
        C, sequential = None if self.C is None else float(self.C), self.update == "sequential"
        return BufferedHingeSolver(C, self.buffer_size, self.buffer, sequential, self.average)
