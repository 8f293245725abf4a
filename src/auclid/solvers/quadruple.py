"""Quadruply stochastic gradients (Shi et al. 2019): mini-batches of three sets of rows, and of random waves."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from auclid.data import Table
from auclid.solvers.random_features import Ahead, Expansion

AHEAD = 64
"""Blocks of rows whose mini-batches are drawn ahead."""


class QuadruplyStochastic(NamedTuple):
    """Settings: iteration i does f <- (1 - eta alpha) f - eta zeta_i, with the step eta = theta / (i + offset)."""

    unlabeled_weight: float
    alpha: float
    theta: float
    offset: float
    batch_size: int

    def steps(
        self, f: Expansion, table: Table, rows: Sequence[np.ndarray], count: int, rng: np.random.Generator
    ) -> Iterator[Expansion]:
        """Yield f after each of ``count`` iterations on the rows of each set of a table (negatives, positives, others).

        f itself is moved along.
        """
        sets, ahead = [index for index in rows if len(index)], None
        for number in range(count):
            if not ahead:
                ahead = self._drawn(f, table, sets, count - number, rng)
            here, angles, scores = ahead.next(f.next_frequencies())
            slopes = risk_slopes(np.split(scores[here], len(scores[here]) // self.batch_size), self.unlabeled_weight)
            step = self.theta / (f.count + 1 + self.offset)
            cosine, sine = (-step / f.size * (slopes @ wave(angles[here])) for wave in (np.cos, np.sin))
            f.step(1.0 - step * self.alpha, cosine, sine, angles, scores)
            yield f

    def _drawn(
        self, f: Expansion, table: Table, sets: Sequence[np.ndarray], count: int, rng: np.random.Generator
    ) -> Ahead:
        """The mini-batches of the next iterations, ``count`` of them or as many as fit into memory."""
        fits = max(1, AHEAD * table.block_rows() // (len(sets) * self.batch_size))
        draws = rng.random((min(count, fits), len(sets), self.batch_size))
        chosen = [index[(draws[:, k] * len(index)).astype(np.intp)] for k, index in enumerate(sets)]
        return Ahead(f, table, np.hstack(chosen))


def risk_slopes(scores: Sequence[np.ndarray], unlabeled_weight: float) -> np.ndarray:
    """The derivative of the risk of a mini-batch by each score: of negatives, positives and unlabelled rows, if any.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.solvers.quadruple import risk_slopes
    >>> risk_slopes([np.array([0.0]), np.array([0.5])], 0.0)  # (1 - 0.5 + 0)^2
    array([ 1., -1.])
    """
    neg, pos, *unl = scores
    below, above = _pair_slopes(pos, neg)[::-1]
    if not unl or unlabeled_weight == 0.0:
        return np.concatenate([below, above, *(np.zeros_like(u) for u in unl)])
    under, over = _pair_slopes(pos, unl[0]), _pair_slopes(unl[0], neg)
    w = unlabeled_weight
    slopes = [(1.0 - w) * below + w * over[1], (1.0 - w) * above + w * under[0], w * (under[1] + over[0])]
    return np.concatenate(slopes)


def _pair_slopes(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of the mean of (1 - a + b)^2 over all pairs, by each a and by each b."""
    return -2.0 / len(a) * (1.0 - a + b.mean()), 2.0 / len(b) * (1.0 - a.mean() + b)
