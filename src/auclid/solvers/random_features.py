"""Functions of a kernel's space as sums of random waves, whose frequencies are known by a seed alone."""

from typing import NamedTuple

import numpy as np

from auclid._generic import REORDER, kernel
from auclid.data import Table, as_table, sizes

TOGETHER = 2048
"""Waves that meet a block of rows at once."""

TINY = 1e-100

PI_HIGH, PI_LOW = 3.1415926218032837, 3.178650954705639e-08
"""pi in two parts, the first so short that its product with a number of half turns is exact."""

HALF_PI = 0.5 * np.pi


class Waves(NamedTuple):
    """Blocks of frequencies from the spectrum of a kernel, each keyed by (seed, number of the block)."""

    seed: int
    size: int  # frequencies a block
    kernel: str
    gamma: float

    def block(self, number: int, d: int) -> np.ndarray:
        """The frequencies of one block, (d, size): the same whenever they are asked for."""
        rng = np.random.default_rng([self.seed, number])
        if self.kernel == "rbf":
            return np.sqrt(2.0 * self.gamma) * rng.standard_normal((d, self.size))
        return self.gamma * rng.standard_cauchy((d, self.size))


class Expansion:
    """f(x) = sum over waves of amplitude cos(frequency.x - phase): a function to evaluate, and to learn by the block.

    ``amplitudes`` and ``phases`` (blocks, size) are what it starts from, with room for ``more`` blocks. All amplitudes
    carry one common factor, so that shrinking costs nothing.
    """

    def __init__(self, waves: Waves, amplitudes: np.ndarray, phases: np.ndarray, d: int, more: int = 0) -> None:
        room = np.zeros((more, waves.size))
        self._waves, self._d, self.count, self._scale = waves, d, len(amplitudes), 1.0
        self._amplitudes, self._phases = np.concatenate([amplitudes, room]), np.concatenate([phases, room])

    @property
    def size(self) -> int:
        """Waves a block."""
        return self._waves.size

    def __call__(self, table: Table) -> np.ndarray:
        """f(x) of each row.

        Some blocks of waves and some rows at a time, each a product of two matrices. Waves are the outer loop, so each
        block of frequencies is drawn once.
        """
        out = np.zeros(table.shape[0])
        blocks = max(1, min(TOGETHER // self.size, sizes.LARGE_BYTES // (8 * self.size * self._d)))
        rows = max(1, sizes.BLOCK_BYTES // (8 * blocks * self.size))
        for first in range(0, self.count, blocks):
            some = slice(first, min(self.count, first + blocks))
            frequencies = np.hstack([self._waves.block(number, self._d) for number in range(some.start, some.stop)])
            phases, amplitudes = self._phases[some].ravel(), self._amplitudes[some].ravel()
            for start in range(0, len(out), rows):
                part = slice(start, min(start + rows, len(out)))
                add_waves(table.take(part) @ frequencies, phases, amplitudes, out[part])
        return self._scale * out

    def next_frequencies(self) -> np.ndarray:
        """The frequencies, (d, size), of the block that the next step will add."""
        return self._waves.block(self.count, self._d)

    def step(self, factor: float, cosine: np.ndarray, sine: np.ndarray, angles: np.ndarray, scores: np.ndarray) -> None:
        """f <- factor f + cosine.cos(frequency.x) + sine.sin(frequency.x), over the frequencies of the next block.

        ``scores`` are f at some rows and ``angles`` their products with those frequencies; they are moved along.
        """
        amplitudes, phases = np.hypot(cosine, sine), np.arctan2(sine, cosine)
        scores *= factor
        add_waves(angles, phases, amplitudes, scores)
        self._scale *= factor
        if abs(self._scale) < TINY:
            self._amplitudes *= self._scale
            self._scale = 1.0
        self._amplitudes[self.count], self._phases[self.count] = amplitudes / self._scale, phases
        self.count += 1

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Amplitudes and phases of all blocks so far."""
        return self._scale * self._amplitudes[: self.count], self._phases[: self.count].copy()


class Ahead:
    """Mini-batches drawn ahead, and f at their rows, moved along from step to step.

    So a block of frequencies meets all rows that are still needed in one product, right when it is drawn, and is never
    drawn again; a row that comes again and again, as labelled ones do, is met once. ``draws`` (steps, rows a step) are
    numbers of rows of the table.
    """

    def __init__(self, f: Expansion, table: Table, draws: np.ndarray) -> None:
        needed, place = np.unique(draws, return_inverse=True)
        place = place.reshape(draws.shape)
        last = np.zeros(len(needed), dtype=np.intp)
        np.maximum.at(last, place, np.arange(len(draws))[:, None])
        order = np.argsort(-last, kind="stable")  # those needed longest come first
        self._rows, self._place = table.take(needed[order]), np.argsort(order)[place]
        self._left = np.searchsorted(-last[order], -np.arange(len(draws)), side="right")
        self._scores, self._done = f(as_table(self._rows)), 0

    def __bool__(self) -> bool:
        """Whether a step is left."""
        return self._done < len(self._place)

    def next(self, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of the next mini-batch among the rows still needed, their angles with the frequencies, and f there."""
        number, left = self._done, self._left[self._done]
        self._done += 1
        return self._place[number], self._rows[:left] @ frequencies, self._scores[:left]


@kernel(fastmath=REORDER)
def add_waves(angles, phases, amplitudes, out):
    """out_i += sum_j amplitude_j cos(angle_ij - phase_j)

    cos(x) = (-1)^k cos(x - k pi), whose series is short where |x - k pi| <= pi/2: no call and no branch, so that the
    compiler makes vectors of it, and ten times as fast as a library's cosine. Of an angle beyond 1e16 no digit is left:
    what comes is some value between -1 and 1.
    """
    for i in range(angles.shape[0]):
        total = 0.0
        for j in range(angles.shape[1]):
            x = angles[i, j] - phases[j]
            k = np.floor(x / np.pi + 0.5)
            r = min(max((x - k * PI_HIGH) - k * PI_LOW, -HALF_PI), HALF_PI)
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
