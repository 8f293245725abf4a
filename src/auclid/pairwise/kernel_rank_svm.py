"""KernelRankSVM: RankSVM in the space of a kernel, its matrix in memory."""

import os
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions

from auclid import _random, _sizes, validation
from auclid._progress import CallbackSupportMixin, fit_iterations
from auclid._random import RandomState
from auclid.base import Ranker, TableScores
from auclid.data import Table, row_squared_norms, with_int32_indices
from auclid.data.table import slices
from auclid.data.types import RowsLike
from auclid.metrics._operating_point import best_threshold
from auclid.pairwise._objective import warn_unless_converged
from auclid.solvers import newton
from auclid.solvers.all_pairs import KernelSpace, PairPoint, SquaredHinges
from auclid.stats.moments import class_moments
from auclid.stats.pair_sums import Pairs
from auclid.validation import RowAccess

MATRIX_ROWS = 64
"""Rows of the matrix that are made at once: they stay in the processor's cache."""

LOG2E = 1.4426950408889634

OVERFLOW_SQUARE = 1e300
"""Squares from which sums of them may overflow."""


def gaussian_matrix(X: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-gamma |x_i - x_j|²) where j ≥ i, by way of powers of two; below the diagonal, not to be read.

    Rows are measured from their mean: a distance is a difference of large numbers. NaN where one is beyond floating
    point.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.pairwise.kernel_rank_svm import gaussian_matrix
    >>> K = gaussian_matrix(np.array([[0.0], [1.0], [2.0]]), 0.5)
    >>> bool(np.allclose(K[0], np.exp([0.0, -0.5, -2.0])))
    True
    """
    n = len(X)
    Z = X - X.mean(axis=0)
    Z *= np.sqrt(gamma * LOG2E)
    K, double, lengths = np.zeros((n, n)), 2.0 * Z.T, row_squared_norms(Z)
    for start in range(0, n, MATRIX_ROWS):
        part = slice(start, start + MATRIX_ROWS)
        powers = Z[part] @ double[:, start:]
        powers -= lengths[part, None]
        powers -= lengths[start:]
        np.minimum(powers, 0.0, out=powers)
        K[part, start:] = np.exp2(powers, out=powers)
    K[np.diag_indices(n)] = np.where(lengths < OVERFLOW_SQUARE, 1.0, np.nan)
    return K


class KernelRankSVM(CallbackSupportMixin, TableScores, Ranker):
    """Ranking support vector machine with a kernel, over all pairs.

    Minimises over functions f = Σ β_k k(x_k, ·), and over all pairs of a positive and a negative row,

        mean (1 − f(x⁺) + f(x⁻))₊² + (alpha/2) βᵀKβ

    by Newton's method with conjugate gradients; each of their steps is one product with K. The n × n matrix K
    is kept in memory while fitting. Where that is too large, ``Kernelized(KMeansNystroem(), RankSVM())`` is
    nearly as good in memory of n × landmarks.

    Parameters
    ----------
    alpha : float in (0, inf), default=1e-3
        Strength of the squared penalty; C = 1/(alpha·n₊·n₋) in ½βᵀKβ + C Σ loss.
    kernel : name of a kernel of `sklearn.metrics.pairwise`, "precomputed" or callable, default="rbf"
        With "precomputed", X is the matrix K itself: of training rows by training rows in `fit`, and of new
        rows by all training rows later. A callable takes two rows and gives a number. The kernel must be
        positive semidefinite.
    gamma : float in (0, inf) or None, default=None
        scikit-learn's gamma, for the kernels that have one. None is 1/v, where v is the mean squared distance
        of a row to the mean row, or 1/√(d·v) for the laplacian: either is 1/d on standardised columns.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    subsample : float in (0, 1], default=1
        Share of the rows of each class to learn from, drawn at random.
    tol : float in (0, inf), default=1e-3
        Stop where the gradient is ``tol`` times as long as at f = 0.
    max_iter : int, default=100
        Newton steps at the most.
    random_state : int, RandomState, Generator or None, default=None
        Draws the subsample.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Numbers of the training rows that were kept: all but those in no pair with margin below 1, and those
        whose β together move no score by more than ``tol``/10 (of a row with k(x, x) = 1). In noisy tables
        nearly every row is in some such pair.
    support_vectors_ : array or CSR matrix of shape (n_support, d)
        Those rows; empty with "precomputed".
    dual_coef_ : array of shape (1, n_support)
        Their β.
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores. It cannot change an AUC.
    gamma_ : float or None
        The gamma used.
    classes_ : array of shape (2,)
    n_iter_ : int
        Newton steps made.
    objective_ : float
        The value that was minimised.

    References
    ----------
    Kuo, Lee & Lin, "Large-scale kernel RankSVM", SIAM International Conference on Data Mining, 2014.

    Examples
    --------
    >>> from auclid import KernelRankSVM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> X, y = X[::10], y[::10]
    >>> print(f"{KernelRankSVM().fit(X, y).score(X, y):.2f}")
    0.99
    """

    _fitted_attribute = "dual_coef_"
    _parameter_constraints: dict = {
        "alpha": [validation.real(closed="neither")],
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "gamma": [validation.real(closed="neither"), None],
        "degree": [validation.at_least(1)],
        "coef0": [validation.real(None)],
        "subsample": [validation.real(0.0, 1.0, closed="right")],
        "tol": [validation.real(closed="neither")],
        "max_iter": [validation.at_least(1)],
        "random_state": _random.RANDOM_STATE,
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        subsample: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.subsample = subsample
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    _row_access = RowAccess.MEMORY
    _out_of_core_alternative = "Kernelized(KMeansNystroem(), RankSVM())"

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all pairs of rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d); of shape (n, n) with kernel="precomputed"
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            A pair weighs the product of its two rows' weights.

        Returns
        -------
        self
        """
        table, is_pos, weight = self._labelled_dataset(X, y, sample_weight).labelled_table()
        pairs = Pairs(is_pos, weight)
        chosen = self._chosen(pairs)
        largest_matrix(self, len(chosen))
        self.gamma_ = self._gamma(table, is_pos, weight)
        space = KernelSpace(validation.measurable(self, self._matrix(table, chosen)))
        objective: Any = SquaredHinges(space, pairs.subset(chosen), float(self.alpha), float(self.tol))
        state = newton.init(objective)

        def attributes() -> dict[str, Any]:
            return self._attributes(without_idle(state.point), table, chosen)

        for _ in fit_iterations(self, self.max_iter, attributes, X, y):
            if state.finished:
                break
            state = state.step()
        warn_unless_converged(self, state)
        self.n_iter_ = max(1, state.n_iter)
        self.__dict__.update(attributes())
        return self

    def _table_scores(self, table: Table) -> np.ndarray:
        size = max(1, _sizes.LARGE_BYTES // (8 * len(self.support_)))
        parts = slices(table.shape[0], size)
        return np.concatenate([self._similar(table, part) @ self.dual_coef_[0] for part in parts]) + self.intercept_[0]

    def _chosen(self, pairs: Pairs) -> np.ndarray:
        """The rows to learn from: a share of each class, one at least."""
        rng = _random.generator(self.random_state)
        classes = [pairs.few, pairs.many]
        if self.subsample < 1.0:
            classes = [rng.choice(c, int(np.ceil(self.subsample * len(c))), replace=False) for c in classes]
        return np.sort(np.concatenate(classes))

    def _gamma(self, table: Table, is_pos: np.ndarray, weight: np.ndarray | None) -> float | None:
        """The gamma to use, or None for a kernel without one."""
        if self.gamma is not None or "gamma" not in self._takes():
            return self.gamma
        spread = float(class_moments(table, is_pos, weight, full=False).all.covariance)
        scale = np.sqrt(spread * table.shape[1]) if self.kernel == "laplacian" else spread
        with np.errstate(divide="ignore"):
            return float(validation.measurable(self, np.divide(1.0, scale) or np.inf)) if scale > 0.0 else 1.0

    def _takes(self) -> tuple[str, ...]:
        """The parameters that the kernel has, a callable none."""
        return () if callable(self.kernel) else KERNEL_PARAMS.get(self.kernel, ())

    def _matrix(self, table: Table, chosen: np.ndarray) -> np.ndarray:
        """The kernel matrix of the chosen rows; its upper triangle at the least."""
        if self.kernel != "precomputed":
            rows = table.take(chosen)
            if self.kernel == "rbf" and isinstance(rows, np.ndarray):
                return gaussian_matrix(rows, float(self.gamma_ or 1.0))
            return self._between(rows, rows)
        if table.shape[0] != table.shape[1]:
            raise ValueError(
                f"X of {type(self).__name__} with kernel='precomputed' must be the square matrix of the "
                f"kernel between the training rows; got shape {table.shape}."
            )
        return table.dense(chosen)[:, chosen]

    def _between(self, A: Any, B: Any) -> np.ndarray:
        known = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        A, B = with_int32_indices(A), with_int32_indices(B)  # scikit-learn's laplacian reads no others
        return pairwise_kernels(A, B, metric=self.kernel, **{name: known[name] for name in self._takes()})

    def _similar(self, table: Table, part: slice) -> np.ndarray:
        """The kernel between some rows and the support."""
        if self.kernel == "precomputed":
            return table.dense(part)[:, self.support_]
        return self._between(table.take(part), self.support_vectors_)

    def _attributes(self, point: PairPoint, table: Table, chosen: np.ndarray) -> dict[str, Any]:
        """What is fitted: the rows that matter, and the threshold of their scores."""
        K, pairs = point.objective.space.K, point.objective.pairs
        reach = np.abs(point.w) * np.sqrt(np.maximum(np.diag(K), 0.0))
        order = np.argsort(reach)
        idle = np.count_nonzero(reach[order].cumsum() <= 0.1 * self.tol)
        kept = np.sort(order[min(idle, len(order) - 1) :])
        beta = np.zeros_like(point.w)
        beta[kept] = validation.finite(self, point.w[kept])
        scores = point.objective.space.scores(beta)
        validation.warn_if_constant_scores(self, table, scores)
        return {
            "support_": chosen[kept],
            "support_vectors_": table.take(chosen[kept] if self.kernel != "precomputed" else slice(0)),
            "dual_coef_": beta[kept].reshape(1, -1),
            "objective_": float(point.value),
            "intercept_": np.array([-best_threshold(pairs.is_pos, scores, pairs.weight)]),
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def without_idle(point: PairPoint) -> PairPoint:
    """The point without rows in no active pair, if that is as good: at the optimum, their β is 0.

    Where the kernel matrix is singular, β may hold any part of its null space. Then the active rows are given the β
    of least norm that makes their scores.
    """
    active = point.slope != 0.0
    good = max(point.norm, point.objective.target(point))
    lean = point.objective.at(np.where(active, point.w, 0.0))
    if lean.norm > good and 2 * np.count_nonzero(active) < len(active):
        upper = np.triu(point.objective.space.K[np.ix_(active, active)])
        beta = np.zeros_like(point.w)
        beta[active] = linalg.lstsq(upper + np.triu(upper, 1).T, point.scores[active], check_finite=False)[0]
        lean = point.objective.at(beta)
    return lean if lean.norm <= good else point


def largest_matrix(estimator: Ranker, n: int) -> None:
    """Refuse a kernel matrix that would not fit, and name what does."""
    most = min(_sizes.MAX_KERNEL_BYTES, machine_bytes() // 2)
    if 8 * n * n > most:
        raise ValueError(
            f"The kernel matrix of {type(estimator).__name__} must fit into memory: {n} rows need "
            f"{8 * n * n / 2**30:.1f} GiB, and at most {most / 2**30:.1f} GiB are used. "
            "Use Kernelized(KMeansNystroem(n_components=500), RankSVM()), or a smaller subsample."
        )


def machine_bytes() -> int:
    """Memory of the machine, where the system says; otherwise more than enough."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2 * _sizes.MAX_KERNEL_BYTES
