"""Square loss with more than two sets of rows, from their moments: several classes, and the worst pair of groups."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from auclid.solvers.least_squares import solve_symmetric
from auclid.stats.moments import Moments


def one_against_each(classes: list[Moments], a: int, alpha: float) -> np.ndarray:
    """argmin_w mean over b != a of [(1 - w.d_ab)^2 + w.(S_a + S_b)w] + (alpha/2) |w|^2, d_ab = mu_a - mu_b.

    Classes of which no row was seen count for nothing; without a and another there is nothing to learn.
    """
    own, others = classes[a], [c for b, c in enumerate(classes) if b != a and c.n > 0.0]
    if own.n == 0.0 or not others:
        return np.zeros_like(own.mean)
    gaps = np.stack([own.mean - other.mean for other in others])
    A = np.sum([other.covariance for other in others], axis=0) / len(others)
    A += own.covariance + gaps.T @ gaps / len(others)
    A *= 2.0
    A[np.diag_indices_from(A)] += alpha
    return solve_symmetric(A, 2.0 * gaps.mean(axis=0), minimum_norm=alpha == 0.0)


class Worst(NamedTuple):
    """Weights that make the worst pair of groups best, and the proof.

    ``weights`` are those of the pairs, ``risks`` the pairs' square losses at w; ``gap`` is how far, at most, the
    objective at w is above its minimum, relative to it.
    """

    w: np.ndarray
    weights: np.ndarray
    risks: np.ndarray
    gap: float
    n_iter: int


def least_worst(pos: list[Moments], neg: list[Moments], alpha: float, tol: float = 1e-8, max_iter: int = 200) -> Worst:
    """min_w max_gh R_gh(w) + (alpha/2) |w|^2, R_gh(w) = (1 - w.d_gh)^2 + w.(S+_g + S-_h)w, with a certificate.

    The minimum over w of sum_gh l_gh R_gh(w) + (alpha/2) |w|^2 has a closed form and is concave in l, a point of the
    simplex; its maximum is the answer (duality), and the difference of the two values at any l bounds the error.
    Newton's steps on it with a logarithmic barrier that fades as the difference does.
    """
    game = _Game(pos, neg, float(alpha))
    size = len(pos) * len(neg)
    share = np.full(size, 1.0 / size)
    w, solve = game.answer(share)
    risks = game.risks(w)
    best, dual = (game.worst(w, risks), w, risks), game.value(share, w, risks)
    n_iter, gaps = 1, [best[0] - dual]
    while gaps[-1] > tol * max(best[0], 1e-300) and n_iter < max_iter and not _stuck(gaps):
        barrier = 0.1 * max(risks.max() - share @ risks, 1e-300) / size
        step = _newton(share, risks, game.slopes(w), solve, barrier)
        share, w, solve, risks = _advance(game, share, step, barrier, game.value(share, w, risks))
        n_iter += 1
        dual = max(dual, game.value(share, w, risks))
        if game.worst(w, risks) < best[0]:
            best = game.worst(w, risks), w, risks
        gaps.append(best[0] - dual)
    gap = max(best[0] - dual, 0.0) / max(best[0], 1e-300)
    shape = len(pos), len(neg)
    return Worst(best[1], share.reshape(shape), best[2].reshape(shape), float(gap), n_iter)


def _stuck(gaps: list[float]) -> bool:
    """Whether ten steps have hardly helped: what is left is rounding."""
    return len(gaps) > 10 and gaps[-1] > 0.9 * gaps[-11]


def _newton(
    share: np.ndarray, risks: np.ndarray, slopes: np.ndarray, solve: Callable[[np.ndarray], np.ndarray], barrier: float
) -> np.ndarray:
    """The Newton direction of sum l R + barrier sum log l, within the simplex; in units of l, which keep it regular."""
    scaled = slopes * share[:, None]
    H = scaled @ solve(scaled.T)
    H[np.diag_indices_from(H)] += barrier
    right = np.stack([share * (risks - share @ risks) + barrier, share], axis=1)  # centred: fewer digits cancel
    both = share[:, None] * linalg.cho_solve(linalg.cho_factor(H), right)
    return both[:, 0] - both[:, 1] * (both[:, 0].sum() / both[:, 1].sum())


def _advance(
    game: "_Game", share: np.ndarray, step: np.ndarray, barrier: float, value: float
) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """As far along a direction as the barrier's value rises (halving, after Armijo), inside the simplex."""
    falling = step < 0.0
    length = min(1.0, 0.95 * float((share[falling] / -step[falling]).min())) if falling.any() else 1.0
    start = value + barrier * np.log(share).sum()
    for _ in range(40):
        trial = share + length * step
        trial = trial / trial.sum()
        w, solve = game.answer(trial)
        risks = game.risks(w)
        if game.value(trial, w, risks) + barrier * np.log(trial).sum() >= start - 1e-12 * abs(start):
            break
        length *= 0.5
    return trial, w, solve, risks


class _Game:
    """The pairs of groups: rows of ``pos`` times columns of ``neg``, in order."""

    def __init__(self, pos: list[Moments], neg: list[Moments], alpha: float) -> None:
        self.alpha = alpha
        self.spread_pos = [part.covariance for part in pos]
        self.spread_neg = [part.covariance for part in neg]
        self.gaps = np.stack([p.mean - n.mean for p in pos for n in neg])
        self.shape = len(pos), len(neg)

    def answer(self, share: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """The minimiser for given weights of the pairs, and a function that solves with its matrix."""
        table = share.reshape(self.shape)
        A = (self.gaps.T * share) @ self.gaps
        for part, spread in zip(table.sum(axis=1), self.spread_pos, strict=True):
            A += part * spread
        for part, spread in zip(table.sum(axis=0), self.spread_neg, strict=True):
            A += part * spread
        A *= 2.0
        A[np.diag_indices_from(A)] += self.alpha
        w = solve_symmetric(A, 2.0 * (share @ self.gaps), minimum_norm=self.alpha == 0.0)
        return w, lambda B: _solved(A, B)

    def risks(self, w: np.ndarray) -> np.ndarray:
        """R of each pair."""
        of_pos, of_neg = (np.array([w @ S @ w for S in part]) for part in (self.spread_pos, self.spread_neg))
        return (1.0 - self.gaps @ w) ** 2 + np.add.outer(of_pos, of_neg).ravel()

    def slopes(self, w: np.ndarray) -> np.ndarray:
        """The gradient of R of each pair, a row each."""
        of_pos, of_neg = (np.stack([S @ w for S in part]) for part in (self.spread_pos, self.spread_neg))
        spread = (of_pos[:, None, :] + of_neg[None, :, :]).reshape(len(self.gaps), -1)
        return 2.0 * (spread - self.gaps * (1.0 - self.gaps @ w)[:, None])

    def value(self, share: np.ndarray, w: np.ndarray, risks: np.ndarray) -> float:
        """The weighted mean of the risks and the penalty: at the minimiser, a lower bound of the minimum."""
        return float(share @ risks + 0.5 * self.alpha * (w @ w))

    def worst(self, w: np.ndarray, risks: np.ndarray) -> float:
        """The objective: the largest risk and the penalty."""
        return float(risks.max() + 0.5 * self.alpha * (w @ w))


def _solved(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^-1 B by Cholesky, columns scaled first; by eigenvalues, minimum-norm, where A is singular."""
    size = np.diag(A)
    scale = 1.0 / np.sqrt(np.where(size > 0.0, size, 1.0))
    try:
        factor = linalg.cho_factor(A * scale * scale[:, None], lower=True, check_finite=False)
        if np.diag(factor[0]).min() > 1e-7:
            return scale[:, None] * linalg.cho_solve(factor, scale[:, None] * B, check_finite=False)
    except linalg.LinAlgError:
        pass
    values, vectors = linalg.eigh(A, check_finite=False)
    kept = values > values[-1] * len(A) * np.finfo(float).eps
    return vectors[:, kept] @ ((vectors[:, kept].T @ B) / values[kept, None])
