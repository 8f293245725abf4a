"""QSG-S2AUC: functional gradient descent on mini-batches of rows and blocks of random features."""

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid import _random, validation
from auclid._progress import CallbackSupportMixin, fit_iterations
from auclid._random import RandomState
from auclid.base import TableScores
from auclid.data import Table, append_rows, as_table
from auclid.data.types import RowsLike
from auclid.kernels._kernel_block import width
from auclid.losses import LOSSES, as_loss, slope
from auclid.metrics._operating_point import best_threshold
from auclid.semi._labels import PartlyLabelled, begin_partial
from auclid.solvers.quadruply_stochastic import FourierExpansion, QuadruplyStochasticSolver, RandomFrequencies
from auclid.stats.samples import SetSamples, stack_samples
from auclid.stats.sets import NEGATIVE, POSITIVE, members
from auclid.validation import RowAccess

MAX_BATCH_SIZE = 65_536
"""A mini-batch is held whole, with its angles: memory must not depend on a number that somebody wrote into a file."""

MAX_STEP_PARAMETER = 1e300
"""A larger theta or offset counts as this, so that their ratio, the step, is a number."""


class QSGS2AUC(CallbackSupportMixin, TableScores, PartlyLabelled):
    """Quadruply stochastic gradients: a semi-supervised kernel ranker whose memory does not grow with the rows.

    With P, N and U the positive, negative and unlabelled rows, R_AB the mean over pairs of ℓ(f(a) − f(b)), by default
    with the square loss ℓ(m) = (1 − m)², and f in
    the space of a Gaussian or Laplacian kernel, minimises `SAMULT`'s objective

        (1 − u) R_PN + u (R_PU + R_NU − ½) + (alpha/2) |f|²,      u = unlabeled_weight, 1 − γ in the paper.

    Iteration i draws ``batch_size`` rows of each set and a block of ``n_components`` random frequencies ω keyed by
    (seed, i). All pairs of the batch give the gradient ζ_i, a sum of cos and sin of ω·x; then

        f ← (1 − η_i alpha) f − η_i ζ_i,      η_i = theta / (i + offset).

    The model keeps an amplitude and a phase for each frequency; the frequencies are drawn from the seed again whenever
    scores are computed. t iterations take O(t²) time, whatever the number of rows.

    Parameters
    ----------
    unlabeled_weight : float in [0, 1], default=0.5
        The weight of unlabelled rows; 0 is supervised.
    alpha : float in (0, inf), default=0.001
        Strength of the squared penalty on f.
    theta : float in (0, inf), or None, default=None
        Size of the steps. The error falls like 1/t where theta·alpha is between 1 and 2. None: 1.5/alpha.
    n_iter : int, default=1000
        Iterations of `fit`, and of each call of `partial_fit`.
    n_components : int, default=32
        Frequencies per block.
    batch_size : int in [1, 65536], default=32
        Rows of each set per iteration, drawn with replacement.
    gamma : float in (0, inf), or None, default=None
        Inverse width of the kernel, as in scikit-learn. None: 1 over the median squared distance of two rows (over the
        median distance |x − y|₁ for the Laplacian kernel), kept in ``gamma_``.
    kernel : {"rbf", "laplacian"}, default="rbf"
    loss : {"square", "squared_hinge", "hinge", "logistic"} or struct, default="square"
        Loss of a pair: by its name, or a struct of your own with `auclid.losses.slope` implemented.
    offset : int in [0, inf), or None, default=None
        None: 2 theta (1 + unlabeled_weight), rounded up: the curvature of the risk under the exact kernel is at most
        L = 4 (1 + unlabeled_weight) for the square loss, so steps stay below 2/L. With 0, as in the paper, f may
        diverge if alpha is small.
    unlabeled : "auto", a label, or None, default="auto"
        What marks an unlabelled row in y. None and NaN always do. "auto": so does −1 where y is numeric and holds
        exactly two other labels; y of −1 and +1 alone is two classes. None: nothing else does.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    amplitudes_, phases_ : arrays of shape (n_iter_, n_components)
        f(x) = Σ amplitude·cos(ω·x − phase) over all frequencies.
    seed_ : int
        The frequencies of iteration i are drawn from ``numpy.random.default_rng([seed_, i])``.
    gamma_, kernel_ : float, str
        The values in use; a stream chooses gamma again with each batch, from the rows that it keeps.
    intercept_ : float
        Minus the threshold that maximises Youden's J on the labelled rows (after `partial_fit`, on those kept).
    classes_ : array of shape (2,)
    n_iter_ : int
        Iterations of the fit.

    Notes
    -----
    Columns should be scaled, for instance to [0, 1]. `Kernelized` with `SAMULT` solves the same problem exactly on a
    fixed set of features, in one pass over all rows; it also chooses alpha and the weight automatically, and ranked
    better on five of seven tables with 200 labels. There, unlabelled rows (weight 0.5 against 0) improved this method
    by two points of AUC on the table with the rarest positives, ijcnn1, and changed it by less than 0.3 elsewhere: see
    `benchmarks/quality_semi.py`. There is no ``sample_weight``: batches are drawn uniformly from unweighted samples of
    the three sets; `Kernelized` with `SAMULT` takes weights.

    References
    ----------
    Shi, Gu, Li, Geng & Huang, "Quadruply stochastic gradients for large scale nonlinear semi-supervised AUC
    optimization", IJCAI 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import QSGS2AUC
    >>> from auclid.datasets import load_mammography
    >>> from sklearn.preprocessing import minmax_scale
    >>> X, y = load_mammography(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) % 20 == 0, y, -1)  # one row in twenty keeps its label
    >>> model = QSGS2AUC(n_iter=100, random_state=0).fit(minmax_scale(X), few)
    >>> round(model.score(minmax_scale(X), y), 1)
    0.9
    """

    _fitted_attribute = "amplitudes_"
    _parameter_constraints: dict = {
        "unlabeled_weight": [validation.real(0.0, 1.0, closed="both")],
        "alpha": [validation.real(closed="neither")],
        "theta": [validation.real(closed="neither"), None],
        "n_iter": [validation.at_least(1)],
        "n_components": [validation.at_least(1)],
        "batch_size": [validation.between(1, MAX_BATCH_SIZE)],
        "gamma": [validation.real(closed="neither"), None],
        "kernel": [StrOptions({"rbf", "laplacian"})],
        "loss": [StrOptions(set(LOSSES)), tuple],
        "offset": [validation.at_least(0), None],
        "unlabeled": "no_validation",
        "random_state": _random.RANDOM_STATE,
    }

    def __init__(
        self,
        unlabeled_weight: float = 0.5,
        *,
        alpha: float = 1e-3,
        theta: float | None = None,
        n_iter: int = 1000,
        n_components: int = 32,
        batch_size: int = 32,
        gamma: float | None = None,
        kernel: str = "rbf",
        loss: Any = "square",
        offset: int | None = None,
        unlabeled: Any = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.unlabeled_weight = unlabeled_weight
        self.alpha = alpha
        self.theta = theta
        self.n_iter = n_iter
        self.n_components = n_components
        self.batch_size = batch_size
        self.gamma = gamma
        self.kernel = kernel
        self.loss = loss
        self.offset = offset
        self.unlabeled = unlabeled
        self.random_state = random_state

    _rng: np.random.Generator
    seed_: int
    amplitudes_: np.ndarray
    phases_: np.ndarray

    _row_access = RowAccess.MEMORY
    _out_of_core_alternative = "SAMULT, or Kernelized(RandomFourier(), SAMULT())"

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, X_unlabeled: Any = None, **unknown: Any) -> Self:
        """Learn from labelled and unlabelled rows in ``n_iter`` iterations.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
            Labels, and marks on unlabelled rows; see ``unlabeled``.
        X_unlabeled : array, CSR matrix or frame of shape (m, d), optional
            More unlabelled rows. A Pipeline does not transform them: inside one, put them into X and mark them in y.
        **unknown
            Refused; ``sample_weight`` with the reason.

        Returns
        -------
        self
        """
        _refuse_weights("fit", unknown)
        dataset = self._labelled_dataset(X, y, X_unlabeled=X_unlabeled)
        table, (sets, _) = dataset.table(), dataset.labels()
        self._require_measurable(table)
        rows = members(sets)
        if not (len(rows[NEGATIVE]) and len(rows[POSITIVE])):
            raise ValueError(
                f"QSGS2AUC must have labelled rows of both classes; got {len(rows[POSITIVE])} positive and "
                f"{len(rows[NEGATIVE])} negative ones. "
                "PNUAUC(unlabeled_weight=1) learns from positive and unlabelled rows."
            )
        self._begin()
        self._samples = SetSamples().after(table, rows, self._rng)
        return self._iterate(table, rows, X, y, self._rng)

    @validation.checked
    def partial_fit(self, X: RowsLike, y: Any, classes: Any = None, **unknown: Any) -> Self:
        """Add a batch of rows to samples of 2,000 rows per set, and learn f from zero on these samples.

        The samples are uniform over all rows so far, those of `fit` included, and f takes ``n_iter`` iterations. The
        result does not depend on how rows are cut into batches, and neither state nor time grows with the stream.
        Before rows of both classes were seen no iteration is made, and all scores are zero.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        **unknown
            Refused; ``sample_weight`` with the reason.

        Returns
        -------
        self
        """
        _refuse_weights("partial_fit", unknown)
        table, sets, first = begin_partial(self, X, y, classes)
        self._require_measurable(table)
        if first:
            self._begin()
            self._samples = SetSamples()
        self._rng = _random.copy_generator(self._rng)  # a batch that fails has drawn nothing
        self._samples = self._samples.after(table, members(sets), self._rng)
        held = [sample.held for sample in self._samples]
        if not (held[NEGATIVE] and held[POSITIVE]):
            return self
        table = as_table(reduce(append_rows, [sample.rows for sample in self._samples if sample.held]))
        rows = np.split(np.arange(sum(held)), np.cumsum(held[:-1]))
        self.amplitudes_ = self.phases_ = np.zeros((0, self.amplitudes_.shape[1]))
        self.gamma_ = float("nan" if self.gamma is None else self.gamma)
        return self._iterate(table, rows, X, y, np.random.default_rng([self.seed_, 2**63]))

    def _row_weights(self, sample_weight: Any, n_rows: int, sets: np.ndarray) -> None:
        """None; raises where there are weights."""
        if sample_weight is not None:
            _refuse_weights("fit", {"sample_weight": sample_weight})

    def _table_scores(self, table: Table) -> np.ndarray:
        return self._expansion(table.shape[1])(table) + self.intercept_

    def _require_measurable(self, table: Table) -> None:
        """Reject rows whose distances overflow: a later mini-batch would draw one of them, and fail."""
        with np.errstate(over="ignore"):
            validation.measurable(self, table.shape[1] * np.square(2.0 * validation.largest(table)))

    def _begin(self) -> None:
        """Set the state before any iteration: f = 0."""
        self._rng = _random.generator(self.random_state)
        self.seed_ = int(self._rng.integers(2**63))
        self.kernel_, self.gamma_ = self.kernel, float("nan" if self.gamma is None else self.gamma)
        self.amplitudes_ = self.phases_ = np.zeros((0, self.n_components))
        self.intercept_, self.n_iter_ = 0.0, 0

    def _expansion(self, d: int, more: int = 0) -> FourierExpansion:
        frequencies = RandomFrequencies(self.seed_, self.amplitudes_.shape[1], self.kernel_, self.gamma_)
        return FourierExpansion(frequencies, self.amplitudes_, self.phases_, d, more)

    def _iterate(self, table: Table, rows: Sequence[np.ndarray], X: Any, y: Any, rng: np.random.Generator) -> Self:
        """Continue Algorithm 1 with ``n_iter`` iterations, on the rows of each set of a table."""
        validation.unchanged(self, "kernel", self.kernel, self.kernel_)
        validation.unchanged(self, "n_components", self.n_components, self.amplitudes_.shape[1])
        if np.isnan(self.gamma_):
            self.gamma_ = validation.measurable(self, width(table, self.kernel, 1.0, rng) or np.inf)
        f = self._expansion(table.shape[1], self.n_iter)
        iterations = self._solver().iterations(f, table, rows, self.n_iter, rng)
        for _ in fit_iterations(self, self.n_iter, lambda: self._attributes(f), X, y):
            next(iterations)
        self.__dict__.update(self._attributes(f))
        return self

    def _solver(self) -> QuadruplyStochasticSolver:
        theta = min(1.5 / self.alpha if self.theta is None else self.theta, MAX_STEP_PARAMETER)
        offset = np.ceil(2.0 * theta * (1.0 + self.unlabeled_weight)) if self.offset is None else self.offset
        offset = float(min(offset, MAX_STEP_PARAMETER))
        loss = validation.implements(self, "loss", as_loss(self.loss), (slope,))
        return QuadruplyStochasticSolver(self.unlabeled_weight, self.alpha, theta, offset, self.batch_size, loss)

    def _attributes(self, f: FourierExpansion) -> dict[str, Any]:
        """The fitted attributes as they would be if the fit stopped now."""
        amplitudes, phases = f.coefficients()
        validation.finite(self, amplitudes)
        labelled, is_pos = stack_samples(self._samples.neg, self._samples.pos)
        scores = f(labelled)
        validation.warn_if_constant_scores(self, labelled, scores)
        threshold = best_threshold(is_pos, scores)
        return {"amplitudes_": amplitudes, "phases_": phases, "intercept_": -float(threshold), "n_iter_": f.count}


def _refuse_weights(method: str, unknown: dict[str, Any]) -> None:
    """Raise with the reason if weights are given, and as Python does for other unexpected keywords."""
    if unknown.pop("sample_weight", None) is not None:
        raise TypeError(
            f"QSGS2AUC.{method} takes no sample_weight: it draws its batches evenly from samples of the rows, which "
            "know no weights. Use Kernelized(RandomFourier(), SAMULT()), which takes them, or repeat rows."
        )
    if unknown:
        raise TypeError(f"QSGS2AUC.{method}() got an unexpected keyword argument {next(iter(unknown))!r}")
