"""Kernel values of a block of rows against landmarks, and the width a kernel takes when none is given."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from auclid import _sizes
from auclid._generic import kernel
from auclid.data import Table, row_squared_norms, scaled_products
from auclid.data.blocks import Block
from auclid.validation import DTYPES

LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453

PAIRS = 1 << 13
"""Pairs of rows that tell how far apart rows are."""

WIDTHS = {"rbf": (row_squared_norms, 0.5), "laplacian": (lambda Z: np.asarray(abs(Z).sum(axis=1)).ravel(), 0.25)}
"""The kernels exp(-gamma distance): their distance, of differences of rows, and how gamma grows with columns."""


class Gaussian(NamedTuple):
    """exp(-gamma |x - u|^2) = 2^(z.2v - |z|^2 - |v|^2), where z and v are rows and landmarks, centred and scaled."""

    double: np.ndarray  # (d, m): 2 v
    lengths: np.ndarray  # (m,): |v|^2
    centre: np.ndarray
    scale: float

    @classmethod
    def of(cls, landmarks: np.ndarray, gamma: float, centre: np.ndarray, dtype: Any) -> "Gaussian":
        """For these landmarks. Distances are differences of large numbers, so rows are seen from the centre."""
        scale = float(np.sqrt(gamma * LOG2E))
        V = (landmarks - centre) * scale
        with np.errstate(over="ignore"):
            return cls((2.0 * V.T).astype(dtype), row_squared_norms(V).astype(dtype), centre, scale)

    def fits(self, name: str, m: int, d: int) -> bool:
        """Whether the arrays fit m landmarks of d columns; `exponential` does not check lengths."""
        shapes = (self.double, (d, m)), (self.lengths, (m,)), (self.centre, (d,))
        alike = floats(*shapes) and self.double.dtype == self.lengths.dtype
        return name == "rbf" and alike and isinstance(self.scale, float)

    @property
    def dtype(self) -> np.dtype:
        """The floating type of the values."""
        return self.double.dtype

    def __call__(self, block: Block) -> np.ndarray:
        """The values, a row for each row of the block and a column for each landmark."""
        with np.errstate(over="ignore", invalid="ignore"):  # too far for a number is as far as can be
            values, lengths = scaled_products(block, self.centre, self.scale, self.double)
        if values.dtype == np.float32:
            exponential(values, lengths, self.lengths)
            return values
        values -= lengths[:, None]
        values -= self.lengths
        return np.exp2(np.minimum(values, 0.0, out=values), out=values)


class Pairwise(NamedTuple):
    """Any kernel that scikit-learn knows by name."""

    name: str
    landmarks: np.ndarray
    gamma: float | None

    def fits(self, name: str, m: int, d: int) -> bool:
        """Whether the landmarks are m rows of d columns."""
        return name == self.name != "rbf" and floats((self.landmarks, (m, d)))

    @property
    def dtype(self) -> np.dtype:
        """The floating type of the values."""
        return self.landmarks.dtype

    def __call__(self, block: Block) -> np.ndarray:
        """The values, a row for each row of the block and a column for each landmark."""
        values = pairwise_kernels(block, self.landmarks, metric=self.name, filter_params=True, gamma=self.gamma)
        return values.astype(self.landmarks.dtype, copy=False)


def width(table: Table, name: str, fineness: float, rng: np.random.Generator) -> float | None:
    """gamma = √fineness / median of |x - y|² over pairs of rows; Laplacian: fineness^(1/4) / median of |x - y|₁.

    Where most rows are alike the mean stands in for the median, and d where all are. Other kernels have no width.
    """
    if name not in WIDTHS:
        return None
    distance, power = WIDTHS[name]
    n = table.shape[0]
    i = rng.integers(n, size=PAIRS)
    j = (i + 1 + rng.integers(max(1, n - 1), size=PAIRS)) % n
    blocks = np.array_split(np.arange(PAIRS), -(-8 * PAIRS * table.shape[1] // _sizes.LARGE_BYTES))
    apart = np.concatenate([distance(table.take(i[some]) - table.take(j[some])) for some in blocks])
    return float(fineness**power / (np.median(apart) or np.mean(apart) or table.shape[1]))


def kernel_of(
    name: str, landmarks: np.ndarray, gamma: float | None, centre: np.ndarray, dtype: Any
) -> Gaussian | Pairwise:
    """The kernel with these landmarks, for values in a floating type."""
    if name == "rbf" and gamma is not None:
        return Gaussian.of(landmarks, gamma, centre, dtype)
    return Pairwise(name, landmarks.astype(dtype, copy=False), gamma)


def floats(*expected: tuple[Any, tuple[int, ...]]) -> bool:
    """Whether each array is one of float32 or float64, of the shape beside it."""
    return all(isinstance(x, np.ndarray) and x.dtype in DTYPES and x.shape == shape for x, shape in expected)


@kernel(fastmath={"contract", "nsz"})
def exponential(values: np.ndarray, row_lengths: np.ndarray, lengths: np.ndarray) -> None:
    """2^min(0, value - |z|^2 - |v|^2) in place, float32, to the last digit or two: short enough for vectors.

    2^(k + f) with |f| <= 1/2 is a polynomial in f whose exponent bits are raised by k.
    """
    low, half, ln2, bias, shift = np.float32(-126.0), np.float32(0.5), np.float32(LN2), np.int32(127), np.int32(23)
    c2, c3, c4 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
    c5, c6, zero, one = np.float32(1 / 120), np.float32(1 / 720), np.float32(0.0), np.float32(1.0)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            t = values[i, j] - (row_lengths[i] + lengths[j])
            t = min(t if t > low else low, zero)  # nan too: infinitely far
            k = np.int32(t - half)
            f = (t - np.float32(k)) * ln2
            p = one + f * (one + f * (c2 + f * (c3 + f * (c4 + f * (c5 + f * c6)))))
            values[i, j] = p * np.int32((k + bias) << shift).view(np.float32)
