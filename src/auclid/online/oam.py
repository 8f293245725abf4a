"""OAM: online AUC maximisation with two buffers and the hinge loss."""

from sklearn.utils._param_validation import StrOptions

from auclid._random import RandomState
from auclid.online._buffered import BufferedRanker
from auclid.solvers.buffered import BufferedHingeSolver


class OAM(BufferedRanker):
    """Online AUC maximisation with two buffers and the hinge loss.

    Each new row meets the rows of the opposite class that are still in a buffer. With z = y (x − x') for such
    a pair,

        sequential:  w ← w + min(C, (1 − w·z)₊/|z|²) z      for one pair after the other,
        gradient:    w ← w + (C/2) Σ z                      over the pairs with w·z ≤ 1, at once.

    A row costs O(buffer_size · nnz); memory is two buffers and two vectors, however long the stream.

    Parameters
    ----------
    C : float in (0, inf) or None, default=None
        How far one pair may move the weights. None takes 0.03/E|z|² · 50/buffer_size, where the mean is over
        all pairs of rows seen so far.
    buffer_size : int, default=100
        Rows kept of each class.
    update : {"sequential", "gradient"}, default="sequential"
    buffer : {"fifo", "reservoir"}, default="fifo"
        "fifo" keeps the latest rows. "reservoir" keeps a uniform sample of all rows so far, which then stands
        for all of them: as published, C grows to C · max(1, n/buffer_size) with the n rows seen of the
        opposite class.
    average : bool, default=True
        Whether the answer is the average of the iterates, the t-th with weight t, or the last one. As
        published it is the last one, which is weak; the paper's own settings are ``make("OAMseq")`` and
        ``make("OAMgra")``.
    n_epochs : int, default=1
    shuffle : bool, default=True
        Whether `fit` meets the rows in random order. With False it does exactly what `partial_fit` does.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the score halfway between the class means of the rows so far, after `fit` too.
    classes_ : array of shape (2,)
    n_iter_ : int
        Epochs made.
    C_ : float
        The C used last, before a reservoir's growth.

    Notes
    -----
    By default this is not the published algorithm: the buffers keep late rows, C is one number and the iterates are
    averaged. As published are ``make("OAMseq")`` and ``make("OAMgra")``.

    The default C is a share of E|z|²: a column that carries nearly all of it takes all the learning, and the others
    hardly move. So bring columns to a like scale first: standardise dense ones, divide sparse ones by their largest
    value. Sparse rows are not centred: a column 10⁷ times as far from zero as it varies leaves E|z|² few digits.

    The average is of the whole stream. Where the stream drifts, ``average=False`` follows it.

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
