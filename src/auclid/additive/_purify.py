"""What one column adds belongs to that column: pairs are left with what only both together add.

A grid of a pair may hold effects of its rows and of its columns, which the shapes of the two columns can hold as well;
scores do not tell which. Taking them out of the grid (a two-way analysis of variance, weighed by the training rows) and
putting them into the shapes changes no score by more than a constant, and makes both readable.
"""

from collections.abc import Container, Sequence

import numpy as np

from auclid.additive._basis import Basis, Feature, coarse_places


def purified(
    features: Sequence[Feature], basis: Basis, w: np.ndarray, mean: np.ndarray, monotone: Container[int] = ()
) -> np.ndarray:
    """Weights of the same scores, less a constant, in which each grid has means of zero along both ways.

    ``mean`` is that of the basis over the training rows. Pairs of a column with missing cells stay as they are: where
    one is missing the grid adds nothing, and its other column would go on adding. So do those of a ``monotone`` column,
    whose mean over the rows of a grid that rises need not rise.
    """
    w = w.copy()
    ends = np.append(basis.pair_first, basis.size)
    for m, pair in enumerate(zip(basis.pair_a, basis.pair_b, strict=True)):
        two = [features[j] for j in pair]
        if any(f.gaps for f in two) or any(int(j) in monotone for j in pair):
            continue
        at, shape = slice(ends[m], ends[m + 1]), tuple(len(coarse_places(f)) for f in two)
        grid, effects = _apart(w[at].reshape(shape), mean[at].reshape(shape))
        w[at] = grid.ravel()
        for j, f, effect in zip(pair, two, effects, strict=True):
            _add(f, basis, int(j), effect, w)
    return w


def _apart(grid: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The grid without effects of its rows and columns, and these effects: those of least squares, in one solve."""
    share = np.maximum(share, 0.0) + 1e-9 * max(float(share.max()), 1e-300)  # cells without rows follow the others
    root, size = np.sqrt(share / share.max()).ravel(), grid.shape[0]
    row, column = np.indices(grid.shape).reshape(2, -1)
    design = np.concatenate([row[:, None] == np.arange(size), column[:, None] == np.arange(grid.shape[1])], axis=1)
    found = np.linalg.lstsq(root[:, None] * design, root * grid.ravel(), rcond=None)[0]
    effects = [found[:size], found[size:]]
    return grid - effects[0][:, None] - effects[1], effects


def _add(feature: Feature, basis: Basis, j: int, effect: np.ndarray, w: np.ndarray) -> None:
    """Add an effect of coarse slots to the shape of a column; its zero slot stays zero."""
    at = slice(basis.first[j], basis.first[j + 1])
    if feature.knots is None:
        slots = effect[basis.coarse_slot[at]]
    else:
        slots = np.interp(feature.knots, feature.knots[coarse_places(feature)], effect)
    if feature.reference >= 0:
        slots = slots - slots[feature.reference]
    used = basis.place[at] >= 0
    w[basis.place[at][used]] += slots[used]
