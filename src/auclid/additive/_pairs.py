"""Which pairs of columns could add something to a sum of shapes: exactly, from one histogram a pair.

Let r be held-out scores, scaled to minimise the square pair loss. An effect u of the cells c of two columns changes
that loss by u·A·u − 2 g·u, with class shares p, q of the cells, class sums rp, rq of r in them (divided by n+, n−) and
class means of r,

    A = diag(p + q) − pq' − qp',      g = p (1 + mean r of −) − rp − q (1 − mean r of +) − rq,

so the best u = (A + λI)^-1 g lowers it by g·u. What effects of rows and columns of the cells lower by themselves is
taken off: the rest only the pair can add.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.additive._basis import Feature, coarse_places

SHRINK = 5.0
"""λ in units of 1/n+ + 1/n−: a cell of few rows cannot promise much."""

CELLS_AT_MOST = 5e8
"""Cells of all histograms that are looked at; of more rows than that allows, a part is taken."""

COLUMNS_AT_MOST = 100
"""Columns that are paired with one another; the most important ones."""


class Residual(NamedTuple):
    """Rows with their held-out scores, scaled, and weights that sum to one in each class."""

    is_pos: np.ndarray
    score: np.ndarray
    weight: np.ndarray


def residual(score: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None) -> Residual:
    """Scores multiplied by what minimises their square pair loss: δ / (S + δ²)."""
    w = np.ones(len(score)) if weight is None else weight.astype(np.float64)
    share = np.where(is_pos, w / w[is_pos].sum(), w / w[~is_pos].sum())
    means = [float(share[of] @ score[of]) for of in (is_pos, ~is_pos)]
    within = sum(float(share[of] @ (score[of] - m) ** 2) for of, m in zip((is_pos, ~is_pos), means, strict=True))
    delta = means[0] - means[1]
    size = within + delta * delta
    return Residual(is_pos, score * (delta / size if size > 0.0 else 0.0), share)


def coarse_codes(feature: Feature, cells: np.ndarray) -> np.ndarray:
    """The coarse slot nearest to each cell of a column; -1 where it is missing."""
    places, missing = coarse_places(feature), np.isnan(cells)
    if feature.levels is not None:
        slot = np.full(feature.slots, len(places) - 1)
        slot[places] = np.arange(len(places))
        codes = slot[np.where(missing, 0.0, cells).astype(np.intp)]
    else:
        assert feature.knots is not None
        knots = feature.knots[places]
        codes = np.searchsorted(0.5 * (knots[1:] + knots[:-1]), cells, side="right")
    return np.where(missing, -1, codes).astype(np.int8)


@kernel
def pair_histogram(a, b, width, is_pos, score, share, out):
    """Add to out[cell] the class shares p, q and the class sums of the scores, of cells a·width + b."""
    for i in range(a.shape[0]):
        if a[i] >= 0 and b[i] >= 0:
            cell, side = a[i] * width + b[i], 0 if is_pos[i] else 1
            out[cell, side] += share[i]
            out[cell, 2 + side] += share[i] * score[i]


def pair_gains(histograms: np.ndarray, shape: tuple[int, int], means: Sequence[float], shrink: float) -> np.ndarray:
    """What only the pair can lower the square pair loss by, of many pairs of one shape (pairs × cells × 4)."""
    p, q, rp, rq = np.moveaxis(histograms, 2, 0)
    g = p * (1.0 + means[1]) - rp - q * (1.0 - means[0]) - rq
    alone = _lowered(*_alone(p, q, g, shape), shrink)
    return _lowered_by_cells(p, q, g, shrink) - alone


def _lowered_by_cells(p: np.ndarray, q: np.ndarray, g: np.ndarray, shrink: float) -> np.ndarray:
    """g·(A + λI)^-1 g, of a diagonal matrix and one of rank two, by Woodbury's formula."""
    size = p + q + shrink

    def dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", x, y / size)

    pp, qq, less, gp, gq = dot(p, p), dot(q, q), dot(p, q) - 1.0, dot(g, p), dot(g, q)
    return dot(g, g) - (qq * gp * gp - 2.0 * less * gp * gq + pp * gq * gq) / (pp * qq - less * less)


def _lowered(A: np.ndarray, g: np.ndarray, shrink: float) -> np.ndarray:
    u = np.linalg.solve(A + shrink * np.eye(A.shape[1]), g[:, :, None])[:, :, 0]
    return np.einsum("ij,ij->i", g, u)


def _alone(p: np.ndarray, q: np.ndarray, g: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A and g of effects of the rows and the columns of the cells, without their product."""

    def sums(x: np.ndarray) -> np.ndarray:
        grid = x.reshape(-1, *shape)
        return np.concatenate([grid.sum(axis=2), grid.sum(axis=1)], axis=1)

    p_sums, q_sums, n = sums(p), sums(q), shape[0]
    A = -p_sums[:, :, None] * q_sums[:, None, :]
    A += np.swapaxes(A, 1, 2)
    both = np.arange(sum(shape))
    A[:, both, both] += p_sums + q_sums
    cells = (p + q).reshape(-1, *shape)
    A[:, :n, n:] += cells
    A[:, n:, :n] += np.swapaxes(cells, 1, 2)
    return A, sums(g)


def best_pairs(
    features: Sequence[Feature], cells: np.ndarray, rest: Residual, pairs: Sequence[tuple[int, int]], most: int
) -> list[tuple[int, int]]:
    """The ``most`` of these pairs that could add the most, best first."""
    counts = [len(coarse_places(f)) for f in features]
    wanted = [pair for pair in pairs if min(counts[j] for j in pair) > 1]
    if not wanted:
        return []
    rows = np.arange(len(cells))[:: max(1, int(np.ceil(len(cells) * len(wanted) / CELLS_AT_MOST)))]
    cells, rest = cells[rows], residual(rest.score[rows], rest.is_pos[rows], rest.weight[rows])
    codes = {j: coarse_codes(features[j], cells[:, j]) for j in {j for pair in wanted for j in pair}}
    n_pos = int(rest.is_pos.sum())
    shrink = SHRINK * (1.0 / n_pos + 1.0 / (len(rows) - n_pos))
    means = [float(rest.weight[of] @ rest.score[of]) for of in (rest.is_pos, ~rest.is_pos)]
    found = []
    for shape, members in _by_shape(counts, wanted).items():
        for start in range(0, len(members), 256):
            part = members[start : start + 256]
            histograms = np.zeros((len(part), shape[0] * shape[1], 4))
            for (a, b), out in zip(part, histograms, strict=True):
                pair_histogram(codes[a], codes[b], shape[1], rest.is_pos, rest.score, rest.weight, out)
            found += list(zip(pair_gains(histograms, shape, means, shrink), part, strict=True))
    found.sort(key=lambda item: (-item[0], item[1]))
    return [pair for gain, pair in found[:most] if gain > 0.0]


def _by_shape(counts: Sequence[int], pairs: Sequence[tuple[int, int]]) -> dict:
    out: dict = {}
    for a, b in pairs:
        out.setdefault((counts[a], counts[b]), []).append((a, b))
    return out
