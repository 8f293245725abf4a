"""Quadruply stochastic gradients (Shi et al. 2019): mini-batches of three sets of rows, and of random features.

A function of a kernel's space is a sum of random Fourier features, whose frequencies are drawn from a seed when needed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from auclid import _sizes
from auclid._generic import REORDER, kernel
from auclid.data import Table, as_table
from auclid.losses import Loss, Square, slope

MAX_FREQUENCIES = 2048
"""Frequencies that are multiplied with a block of rows at once."""

BLOCKS_AHEAD = 64
"""Blocks of rows whose mini-batches are drawn in advance."""

MIN_FACTOR = 1e-100
"""The common factor of amplitudes below which it is multiplied into them."""

PI_HIGH, PI_LOW = 3.1415926218032837, 3.178650954705639e-08
"""pi in two parts, the first short enough that its product with a number of half turns is exact."""

HALF_PI = 0.5 * np.pi

SQUARE_LOSS = Square()


class RandomFrequencies(NamedTuple):
    """Blocks of frequencies from a kernel's spectrum, each determined by the seed and the number of the block."""

    seed: int
    size: int  # frequencies per block
    kernel: str
    gamma: float

    def block(self, number: int, d: int) -> np.ndarray:
        """The frequencies of one block, (d, size): the same on every call."""
        rng = np.random.default_rng([self.seed, number])
        if self.kernel == "rbf":
            return np.sqrt(2.0 * self.gamma) * rng.standard_normal((d, self.size))
        return self.gamma * rng.standard_cauchy((d, self.size))


class FourierExpansion:
    """f(x) = sum over frequencies of amplitude cos(frequency.x - phase), which can be evaluated and extended.

    Parameters
    ----------
    frequencies : RandomFrequencies
    amplitudes, phases : arrays of shape (blocks, size)
        The coefficients to start from.
    d : int
        Columns of x.
    more : int
        Blocks to be added later. All amplitudes have one common factor, so that shrinking f costs nothing.
    """

    def __init__(
        self, frequencies: RandomFrequencies, amplitudes: np.ndarray, phases: np.ndarray, d: int, more: int = 0
    ) -> None:
        room = np.zeros((more, frequencies.size))
        self._frequencies, self._d, self.count, self._factor = frequencies, d, len(amplitudes), 1.0
        self._amplitudes, self._phases = np.concatenate([amplitudes, room]), np.concatenate([phases, room])

    @property
    def size(self) -> int:
        """Frequencies per block."""
        return self._frequencies.size

    def __call__(self, table: Table, max_frequencies: int = MAX_FREQUENCIES) -> np.ndarray:
        """f(x) of each row.

        A few blocks of frequencies are multiplied with some rows at a time. The loop over frequencies is the outer one,
        so each block of them is drawn once.
        """
        out = np.zeros(table.shape[0])
        blocks = max(1, min(max_frequencies // self.size, _sizes.LARGE_BYTES // (8 * self.size * self._d)))
        rows = max(1, _sizes.BLOCK_BYTES // (8 * blocks * self.size))
        for first in range(0, self.count, blocks):
            chunk = slice(first, min(self.count, first + blocks))
            drawn = [self._frequencies.block(number, self._d) for number in range(chunk.start, chunk.stop)]
            frequencies = np.hstack(drawn)
            phases, amplitudes = self._phases[chunk].ravel(), self._amplitudes[chunk].ravel()
            for start in range(0, len(out), rows):
                part = slice(start, min(start + rows, len(out)))
                add_cosines(table.take(part) @ frequencies, phases, amplitudes, out[part])
        return self._factor * out

    def next_frequencies(self) -> np.ndarray:
        """The frequencies, (d, size), of the block that the next step adds."""
        return self._frequencies.block(self.count, self._d)

    def step(self, factor: float, cosine: np.ndarray, sine: np.ndarray, angles: np.ndarray, scores: np.ndarray) -> None:
        """f <- factor f + cosine.cos(frequency.x) + sine.sin(frequency.x), over the frequencies of the next block.

        ``scores`` are f at some rows and ``angles`` their products with those frequencies; the scores are updated.
        """
        amplitudes, phases = np.hypot(cosine, sine), np.arctan2(sine, cosine)
        scores *= factor
        add_cosines(angles, phases, amplitudes, scores)
        self._factor *= factor
        if abs(self._factor) < MIN_FACTOR:
            self._amplitudes *= self._factor
            self._factor = 1.0
        self._amplitudes[self.count], self._phases[self.count] = amplitudes / self._factor, phases
        self.count += 1

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Amplitudes and phases of all blocks so far."""
        return self._factor * self._amplitudes[: self.count], self._phases[: self.count].copy()


class ScoredBatches:
    """Mini-batches drawn in advance, and f at their rows, updated from step to step.

    Each block of frequencies is multiplied with all rows still needed when it is drawn, and is never drawn again. A row
    that occurs in many mini-batches, as labelled rows do, is scored once.

    Parameters
    ----------
    f : FourierExpansion
    table : Table
    draws : array of shape (steps, rows per step)
        Row numbers of the table.
    """

    def __init__(self, f: FourierExpansion, table: Table, draws: np.ndarray) -> None:
        needed, position = np.unique(draws, return_inverse=True)
        position = position.reshape(draws.shape)
        last = np.zeros(len(needed), dtype=np.intp)
        np.maximum.at(last, position, np.arange(len(draws))[:, None])
        order = np.argsort(-last, kind="stable")  # rows that are needed longest come first
        self._rows, self._position = table.take(needed[order]), np.argsort(order)[position]
        self._n_needed = np.searchsorted(-last[order], -np.arange(len(draws)), side="right")
        self._scores, self._done = f(as_table(self._rows)), 0

    def __bool__(self) -> bool:
        """Whether a step is left."""
        return self._done < len(self._position)

    def next(self, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The next mini-batch's positions among the rows still needed, their angles with the frequencies, and f."""
        number, needed = self._done, self._n_needed[self._done]
        self._done += 1
        return self._position[number], self._rows[:needed] @ frequencies, self._scores[:needed]


class QuadruplyStochasticSolver(NamedTuple):
    """Settings: iteration i does f <- (1 - eta alpha) f - eta zeta_i, with the step eta = theta / (i + offset)."""

    unlabeled_weight: float
    alpha: float
    theta: float
    offset: float
    batch_size: int
    loss: Loss = SQUARE_LOSS
    blocks_ahead: int = BLOCKS_AHEAD

    def iterations(
        self, f: FourierExpansion, table: Table, rows: Sequence[np.ndarray], count: int, rng: np.random.Generator
    ) -> Iterator[FourierExpansion]:
        """Yield f after each of ``count`` iterations; ``rows`` are the negatives, positives and unlabelled rows.

        f is changed in place.
        """
        sets, batches = [index for index in rows if len(index)], None
        for number in range(count):
            if not batches:
                batches = self._draw(f, table, sets, count - number, rng)
            here, angles, scores = batches.next(f.next_frequencies())
            sets_scores = np.split(scores[here], len(scores[here]) // self.batch_size)
            slopes = risk_slopes(sets_scores, self.unlabeled_weight, self.loss)
            step = self.theta / (f.count + 1 + self.offset)
            cosine, sine = (-step / f.size * (slopes @ wave(angles[here])) for wave in (np.cos, np.sin))
            f.step(1.0 - step * self.alpha, cosine, sine, angles, scores)
            yield f

    def _draw(
        self, f: FourierExpansion, table: Table, sets: Sequence[np.ndarray], count: int, rng: np.random.Generator
    ) -> ScoredBatches:
        """The mini-batches of the next iterations: ``count`` of them, or as many as fit in memory."""
        fits = max(1, self.blocks_ahead * table.block_rows() // (len(sets) * self.batch_size))
        draws = rng.random((min(count, fits), len(sets), self.batch_size))
        chosen = [index[(draws[:, k] * len(index)).astype(np.intp)] for k, index in enumerate(sets)]
        return ScoredBatches(f, table, np.hstack(chosen))


def risk_slopes(scores: Sequence[np.ndarray], unlabeled_weight: float, loss: Loss = SQUARE_LOSS) -> np.ndarray:
    """The derivative of a mini-batch's risk by each score: of negatives, positives and, if any, unlabelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.solvers.quadruply_stochastic import risk_slopes
    >>> risk_slopes([np.array([0.0]), np.array([0.5])], 0.0)  # (1 - 0.5 + 0)^2
    array([ 1., -1.])
    """
    neg, pos, *unl = scores
    below, above = _pair_slopes(pos, neg, loss)[::-1]
    if not unl or unlabeled_weight == 0.0:
        return np.concatenate([below, above, *(np.zeros_like(u) for u in unl)])
    under, over = _pair_slopes(pos, unl[0], loss), _pair_slopes(unl[0], neg, loss)
    w = unlabeled_weight
    slopes = [(1.0 - w) * below + w * over[1], (1.0 - w) * above + w * under[0], w * (under[1] + over[0])]
    return np.concatenate(slopes)


def _pair_slopes(a: np.ndarray, b: np.ndarray, loss: Loss) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of the mean of l(a - b) over all pairs, by each a and by each b."""
    if isinstance(loss, Square):
        return -2.0 / len(a) * (1.0 - a + b.mean()), 2.0 / len(b) * (1.0 - a.mean() + b)
    by_a, by_b = np.zeros(len(a)), np.zeros(len(b))
    sum_pair_slopes(loss, a, b, by_a, by_b)
    return by_a / (len(a) * len(b)), by_b / (len(a) * len(b))


@kernel
def sum_pair_slopes(loss: Loss, a: np.ndarray, b: np.ndarray, by_a: np.ndarray, by_b: np.ndarray) -> None:
    """Add the derivatives of the sum of l(a - b) over all pairs, by each a and by each b."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            g = slope(loss, a[i] - b[j])
            by_a[i] += g
            by_b[j] -= g


@kernel(fastmath=REORDER)
def add_cosines(angles: np.ndarray, phases: np.ndarray, amplitudes: np.ndarray, out: np.ndarray) -> None:
    """out_i += sum_j amplitude_j cos(angle_ij - phase_j)

    cos(x) = (-1)^k cos(x - k pi), whose Taylor series is short for |x - k pi| <= pi/2. Without calls and branches the
    compiler vectorises it: ten times as fast as a library's cosine. An angle beyond 1e16 has no correct digit; its
    cosine is then some number between -1 and 1.
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
