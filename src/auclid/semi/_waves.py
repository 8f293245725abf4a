"""Functions of a kernel's space as sums of random waves, whose frequencies are known by a seed alone."""

from typing import NamedTuple

import numpy as np

from auclid._generic import REORDER, kernel
from auclid._rows import BLOCK_BYTES

KEPT_BYTES = 1 << 28
"""Frequencies that are kept; more are drawn anew whenever they are needed."""

TOGETHER = 2048
"""Waves that meet a block of rows at once."""

TINY = 1e-100

PI_HIGH, PI_LOW = 3.1415926218032837, 3.178650954705639e-08
"""pi in two parts, the first so short that its product with a number of half turns is exact."""


class Waves(NamedTuple):
    """Blocks of frequencies from the spectrum of a kernel, each keyed by (seed, number of the block)."""

    seed: int
    size: int  # frequencies a block
    kernel: str
    gamma: float

    def block(self, number, d):
        """The frequencies of one block, (size, d): the same whenever they are asked for."""
        rng = np.random.default_rng([self.seed, number])
        if self.kernel == "rbf":
            return np.sqrt(2.0 * self.gamma) * rng.standard_normal((self.size, d))
        return self.gamma * rng.standard_cauchy((self.size, d))


class Expansion:
    """f(x) = sum over waves of amplitude cos(frequency.x - phase): made longer, shrunk and evaluated.

    ``amplitudes`` and ``phases`` (blocks, size) are what it starts from, with room for ``more`` blocks. All amplitudes
    carry one common factor, so that shrinking costs nothing.
    """

    def __init__(self, waves, amplitudes, phases, d, more=0):
        room = np.zeros((more, waves.size))
        self._waves, self._d, self.count, self._scale = waves, d, len(amplitudes), 1.0
        self._amplitudes, self._phases = np.concatenate([amplitudes, room]), np.concatenate([phases, room])
        kept = 8 * self._amplitudes.size * d <= KEPT_BYTES
        self._kept, self._drawn = np.empty((self._amplitudes.size, d)) if kept else None, 0

    def __call__(self, table):
        """f(x) of each row.

        Some waves and some rows at a time, each a product of two matrices, and one cosine for what would be a cosine and
        a sine. Waves are the outer loop, since they may have to be drawn anew.
        """
        out = np.zeros(table.shape[0])
        blocks = max(1, TOGETHER // self._waves.size)
        rows = max(1, BLOCK_BYTES // (8 * blocks * self._waves.size))
        for first in range(0, self.count, blocks):
            waves = slice(first, min(self.count, first + blocks))
            frequencies, phases = self.frequencies(waves.start, waves.stop), self._phases[waves].ravel()
            for start in range(0, len(out), rows):
                part = slice(start, min(start + rows, len(out)))
                add_waves(table.take(part) @ frequencies, phases, self._amplitudes[waves].ravel(), out[part])
        return self._scale * out

    def frequencies(self, first, last):
        """The frequencies of some blocks, a column each: kept where all of them fit into memory, else drawn anew."""
        size = self._waves.size
        if self._kept is None:
            return np.concatenate([self._waves.block(number, self._d) for number in range(first, last)]).T
        for number in range(self._drawn, last):
            self._kept[number * size : (number + 1) * size] = self._waves.block(number, self._d)
        self._drawn = max(self._drawn, last)
        return self._kept[first * size : last * size].T

    def shrink(self, factor):
        """f *= factor"""
        self._scale *= factor
        if abs(self._scale) < TINY:
            self._amplitudes *= self._scale
            self._scale = 1.0

    def append(self, cosine, sine):
        """f += cosine.cos(frequency.x) + sine.sin(frequency.x), over the frequencies of the next block."""
        self._amplitudes[self.count] = np.hypot(cosine, sine) / self._scale
        self._phases[self.count] = np.arctan2(sine, cosine)
        self.count += 1

    def coefficients(self):
        """Amplitudes and phases of all blocks so far."""
        return self._scale * self._amplitudes[: self.count], self._phases[: self.count].copy()


@kernel(fastmath=REORDER)
def add_waves(angles, phases, amplitudes, out):
    """out_i += sum_j amplitude_j cos(angle_ij - phase_j)

    cos(x) = (-1)^k cos(x - k pi), whose series is short where |x - k pi| <= pi/2: no call and no branch, so that the
    compiler makes vectors of it, and ten times as fast as a library's cosine.
    """
    for i in range(angles.shape[0]):
        total = 0.0
        for j in range(angles.shape[1]):
            x = angles[i, j] - phases[j]
            k = np.floor(x / np.pi + 0.5)
            r = (x - k * PI_HIGH) - k * PI_LOW
            s = r * r
            c = 1.0 / 2432902008176640000.0
            c = c * s - 1.0 / 6402373705728000.0
            c = c * s + 1.0 / 20922789888000.0
            c = c * s - 1.0 / 87178291200.0
            c = c * s + 1.0 / 479001600.0
            c = c * s - 1.0 / 3628800.0
            c = c * s + 1.0 / 40320.0
            c = c * s - 1.0 / 720.0
            c = c * s + 1.0 / 24.0
            c = c * s - 0.5
            c = c * s + 1.0
            total += amplitudes[j] * (c if k - 2.0 * np.floor(0.5 * k) == 0.0 else -c)
        out[i] += total
