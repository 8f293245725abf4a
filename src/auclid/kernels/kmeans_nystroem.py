"""KMeansNystroem: the kernel seen from landmarks, which are the centres of clusters."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils._param_validation import StrOptions

from auclid import _sizes, validation
from auclid._threads import limit_threads
from auclid.data import Table, as_array, centre_rows, row_squared_norms
from auclid.data.blocks import Block, is_sparse
from auclid.kernels._kernel_block import Gaussian, Pairwise, floats, kernel_of
from auclid.kernels._map import FeatureMap

ROUNDS = 10
"""Rounds of k-means: later ones move the landmarks very little."""

CUT = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}
"""Eigenvalues below this share of the largest are rounding, and would blow it up."""


class KMeansNystroem(FeatureMap):
    """Nyström features of any kernel, from landmarks found by k-means.

    With landmarks u₁, …, u_m, their kernel matrix W = UΛUᵀ and the kernel values e(x) = (k(x, u₁), …, k(x, u_m)),

        ψ(x) = Λ^(−1/2) Uᵀ e(x),

    so that ψ(x)·ψ(y) = e(x)ᵀ W⁻¹ e(y): exact on the landmarks, and near k(x, y) for rows near them. Eigenvalues within
    rounding of zero are left out, so the result may have fewer columns than there are landmarks.

    Parameters
    ----------
    n_components : int in [1, inf), or None, default=800
        Landmarks. With fewer rows than that, every row becomes one, with a warning. None: every row is one, so that
        the map is exact on the rows it is fitted on, in O(n³) time and O(n²) memory.
    gamma : float in (0, inf), "variance", or None, default=None
        Inverse width, as in scikit-learn. None: √(k/400) over the median squared distance of two rows, or (k/400)^¼
        over their median distance |x − y|₁ for the Laplacian kernel, where k is the number of landmarks or a
        twentieth of the number of rows, whichever is smaller; kept in ``gamma_``. Other kernels take scikit-learn's
        own default. "variance": 1 over the mean squared distance of up to 80,000 rows to their mean, as in Khalid's
        dissertation; for "rbf" only.
    kernel : str, default="rbf"
        "rbf", "laplacian" or the name of any kernel of scikit-learn. "rbf" is the fast one.
    rows_per_landmark : int in [1, inf), or None, default=10
        Rows that are clustered for each landmark, drawn at random. None: all rows are clustered.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    gamma_ : float, or None
    landmarks_ : array of shape (landmarks, d)
    whitening_ : array of shape (landmarks, columns)
        UΛ^(−1/2): a row's values e times this are ψ(x).
    n_features_in_ : int

    Notes
    -----
    Scale the columns first: a kernel of distances hears the loudest column only.

    The more landmarks, and the more rows to learn their weights from, the finer the best kernel: the rule for ``gamma``
    follows both. On ten tables that had no say in it, the mean test AUC was 0.8653, with scikit-learn's 1/(d·var)
    0.8631; it was better on five of them, equal on two and worse on three, on one by 0.054. Where it matters, search
    ``gamma``. How the rule was chosen is told in ``benchmarks/quality_kernels.py``.

    References
    ----------
    Zhang, Tsang & Kwok, "Improved Nyström low-rank approximation and error analysis", ICML 2008.

    Examples
    --------
    >>> from auclid import KMeansNystroem
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> KMeansNystroem(50, random_state=0).fit_transform(X).shape
    (11183, 50)
    """

    _parameter_constraints: dict = {
        **FeatureMap._parameter_constraints,
        "n_components": [validation.at_least(1), None],
        "gamma": [validation.real(closed="neither"), StrOptions({"variance"}), None],
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS))],
        "rows_per_landmark": [validation.at_least(1), None],
    }

    def __init__(
        self,
        n_components: int | None = 800,
        *,
        gamma: float | str | None = None,
        kernel: str = "rbf",
        rows_per_landmark: int | None = 10,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
        self.rows_per_landmark = rows_per_landmark
        self.random_state = random_state

    def _draw(self, table: Table, rng: np.random.Generator, dtype: np.dtype) -> None:
        self.landmarks_ = self._landmarks(table, rng).astype(table.dtype, copy=False)
        self.gamma_ = self._width(table, rng)
        rows, centre = self.landmarks_.astype(np.float64), table.centre().astype(table.dtype)
        W = kernel_of(self.kernel, rows, self.gamma_, centre, np.float64)(rows)
        self.whitening_ = whitening(validation.measurable(self, W), CUT[dtype])
        self._kernel = kernel_of(self.kernel, rows, self.gamma_, centre, dtype)

    def _width(self, table: Table, rng: np.random.Generator) -> float | None:
        """The inverse width in use."""
        if self.gamma != "variance":
            return self._gamma(table, min(len(self.landmarks_), table.shape[0] / 20) / 400, rng)
        if self.kernel != "rbf":
            raise ValueError(f"gamma='variance' of KMeansNystroem must have kernel='rbf'; got {self.kernel!r}.")
        n = table.shape[0]
        some = slice(0, n) if n <= _sizes.VARIANCE_ROWS else np.sort(rng.choice(n, _sizes.VARIANCE_ROWS, replace=False))
        block = table.take(some)
        mean = np.asarray(block.mean(axis=0)).ravel()
        rows, shift = centre_rows(block, mean)
        spread = float(row_squared_norms(rows).mean() - np.sum((mean - shift) ** 2))
        return validation.measurable(self, 1.0 / spread if spread > 0.0 else np.inf)

    @property
    def _dtype(self) -> np.dtype:  # type: ignore[override]
        return self._kernel.dtype

    @property
    def _n_features_out(self) -> int:  # type: ignore[override]
        return self.whitening_.shape[1]

    @property
    def _projection(self) -> np.ndarray:  # type: ignore[override]
        return self.whitening_

    def _sound(self) -> bool:
        if not hasattr(self, "_kernel"):
            return True
        m, d = len(self.landmarks_), self.n_features_in_
        kernel, columns = self._kernel, self.whitening_.shape[-1]
        known = isinstance(kernel, Gaussian | Pairwise) and kernel.fits(self.kernel, m, d)
        return known and floats((self.landmarks_, (m, d)), (self.whitening_, (m, columns)))

    def _landmarks(self, table: Table, rng: np.random.Generator) -> np.ndarray:
        n, m = table.shape[0], self.n_components
        if m is None:
            return table.dense(slice(None))
        if n < m:
            warnings.warn(
                f"KMeansNystroem has n_components={m} landmarks to find among {n} rows: every row becomes one.",
                stacklevel=4,
            )
        if n <= m:
            return table.dense(slice(None))
        chosen = np.arange(n)
        if self.rows_per_landmark is not None:
            chosen = np.sort(rng.permutation(n)[: self.rows_per_landmark * m])
        sample = table.part(chosen)
        validation.measurable(self, row_squared_norms(sample))
        return centres(sample, m, rng)

    def _values(self) -> Callable[[Block], np.ndarray]:
        return self._kernel.__call__


def centres(sample: Block, m: int, rng: np.random.Generator) -> np.ndarray:
    """Centres of m clusters: k-means from rows that lie far apart."""
    if is_sparse(sample) and sample.nnz <= np.iinfo(np.int32).max:  # k-means takes no others
        index = sample.indices.astype(np.int32, copy=False), sample.indptr.astype(np.int32, copy=False)
        sample = type(sample)((sample.data, *index), shape=sample.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal centres do no harm: the cut-off removes them
        start = as_array(sample[far_apart(sample, m, rng)])
        with limit_threads(1, "openmp"):  # three threads or more add up in any order: other bits
            return KMeans(m, init=start, n_init=1, max_iter=ROUNDS).fit(sample).cluster_centers_


def far_apart(sample: Block, m: int, rng: np.random.Generator) -> list[int]:
    """Numbers of m rows, each drawn by its squared distance to the nearest one drawn before (k-means++).

    `sklearn.cluster.kmeans_plusplus`, one trial a step, took 4 to 11 times as long on four tables, the map with
    it twice as long or more, and the AUCs are alike (100 and 400 landmarks, three seeds: means within 0.0015).
    """
    lengths = row_squared_norms(sample)
    nearest, share, chosen = np.full(len(lengths), np.inf), np.ones(len(lengths)), []
    for u in rng.random(m):
        sums = np.cumsum(share, dtype=np.float64)
        i = min(np.searchsorted(sums, u * sums[-1], side="right"), len(sums) - 1)
        chosen.append(i)
        apart = lengths + lengths[i] - 2.0 * (sample @ as_array(sample[[i]]).ravel())
        nearest = np.minimum(nearest, np.maximum(apart, 0.0))
        share = nearest if nearest.any() else np.ones(len(lengths))
    return chosen


def whitening(W: np.ndarray, cut: float) -> np.ndarray:
    """U Λ^(-1/2) of a symmetric matrix, directions below ``cut`` times the largest eigenvalue left out."""
    values, vectors = linalg.eigh(W, driver="evd", check_finite=False)  # five times as fast as the usual one
    if values[-1] <= 0.0:
        return np.zeros((len(W), 1))
    kept = values > cut * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])
