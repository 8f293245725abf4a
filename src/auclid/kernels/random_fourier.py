"""RandomFourier: random waves whose products are a kernel on average."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid.data import Table
from auclid.data.blocks import Block
from auclid.kernels._kernel_block import floats
from auclid.kernels._map import FeatureMap


class RandomFourier(FeatureMap):
    """Random Fourier features of the Gaussian and the Laplacian kernel.

    Frequencies θ are drawn from the kernel's own spectrum: normal with variance 2·gamma for exp(−gamma |x − y|²),
    Cauchy with scale gamma in each coordinate for exp(−gamma |x − y|₁); phases b uniformly from [0, 2π). With m
    columns

        form="phase":  ψ(x) = √(2/m) (cos(θ₁·x + b₁), …, cos(θ_m·x + b_m))
        form="pair":   ψ(x) = √(2/m) (cos(θ₁·x + b₁), …, cos(θ_f·x + b_f), sin(θ₁·x + b₁), …),   f = ⌈m/2⌉
        form="printed": "pair" without phases, b = 0, and with √(2/f) for √(2/m)

    and ψ(x)·ψ(y) is k(x, y) on average, off by some 1/√m. The draws depend on the seed and the number of columns of X
    only: with a given ``gamma`` the map needs no data, and any batch of a stream may fit it.

    Parameters
    ----------
    n_components : int in [1, inf), default=800
        Columns of the result, m.
    gamma : float in (0, inf), or None, default=None
        Inverse width, as in scikit-learn. None: √(m/1200) over the median squared distance of two rows, or
        (m/1200)^¼ over their median distance |x − y|₁ for the Laplacian kernel; kept in ``gamma_``. A batch of a
        stream that fits the map chooses it.
    kernel : {"rbf", "laplacian"}, default="rbf"
    form : {"pair", "phase", "printed"}, default="pair"
        A cosine and a sine of each frequency, or one cosine. "pair" takes half the work, gives every row the length
        1 (m even), and is nearer to the kernel for rows that are close. "printed" is equation 5.2 of Khalid's
        dissertation, where ψ(x)·ψ(y) is 2 k(x, y) on average.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    gamma_ : float
    frequencies_ : array of shape (d, frequencies)
    phases_ : array of shape (frequencies,)
    n_features_in_ : int

    References
    ----------
    Rahimi & Recht, "Random features for large-scale kernel machines", NeurIPS 2007.
    Sutherland & Schneider, "On the error of random Fourier features", UAI 2015, on the two forms.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import RandomFourier
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> Z = RandomFourier(20_000, gamma=0.5, random_state=0).fit_transform(X)
    >>> np.round(Z @ Z.T, 1)  # exp(-0.5 * 2) = 0.37
    array([[1. , 0.4],
           [0.4, 1. ]])
    """

    _parameter_constraints: dict = {
        **FeatureMap._parameter_constraints,
        "kernel": [StrOptions({"rbf", "laplacian"})],
        "form": [StrOptions({"pair", "phase", "printed"})],
    }

    def __init__(
        self,
        n_components: int = 800,
        *,
        gamma: float | None = None,
        kernel: str = "rbf",
        form: str = "pair",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
        self.form = form
        self.random_state = random_state

    def _draw(self, table: Table, rng: np.random.Generator, dtype: np.dtype) -> None:
        count = self._count
        draw = rng.standard_normal if self.kernel == "rbf" else rng.standard_cauchy
        self._waves = draw((table.shape[1], count)).astype(dtype)
        self.phases_ = rng.uniform(0.0, 2.0 * np.pi, count).astype(dtype) * (self.form != "printed")
        self.gamma_: Any = self._gamma(table, self.n_components / 1200, rng)

    def _sound(self) -> bool:
        if not hasattr(self, "_waves"):
            return True
        shapes = (self._waves, (self.n_features_in_, self._count)), (self.phases_, (self._count,))
        return floats(*shapes) and isinstance(self.gamma_, float)

    @property
    def _count(self) -> int:
        """Frequencies."""
        return self.n_components if self.form == "phase" else (self.n_components + 1) // 2

    @property
    def frequencies_(self) -> np.ndarray:
        """θ, a column each."""
        return self._scale * self._waves.astype(np.float64)

    @property
    def _scale(self) -> float:
        return float(np.sqrt(2.0 * self.gamma_)) if self.kernel == "rbf" else self.gamma_

    @property
    def _dtype(self) -> np.dtype:  # type: ignore[override]
        return self._waves.dtype

    @property
    def _n_features_out(self) -> int:  # type: ignore[override]
        return self.n_components

    def _values(self) -> Callable[[Block], np.ndarray]:
        waves, phases, scale, m = self._waves, self.phases_, self._scale, self.n_components
        count, size = waves.shape[1], float(np.sqrt(2.0 / (self._count if self.form == "printed" else m)))

        def values(block: Block) -> np.ndarray:
            angles = (block * scale).astype(waves.dtype, copy=False) @ waves
            angles += phases
            out = np.empty((len(angles), m), angles.dtype)
            np.cos(angles, out=out[:, :count])
            np.sin(angles[:, : m - count], out=out[:, count:])
            out *= size
            return out

        return values
