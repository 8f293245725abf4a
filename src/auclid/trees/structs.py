"""Trees, and what they say of rows."""

from typing import NamedTuple

import numpy as np

from auclid._generic import kernel

WORDS = 4
"""Words of 32 bits in which a node keeps the categories that go left: 128 of them."""


class Trees(NamedTuple):
    """Many trees, nodes one after the other: node k asks for column ``feature[k]``, or is a leaf where that is −1.

    A row goes right where its value is above ``threshold``, and left otherwise. NaN goes where ``gap_right`` says.
    Where ``is_set``, the value is the number of a category, and the row goes left if its bit in ``sets`` is set.
    """

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    gap_right: np.ndarray
    is_set: np.ndarray
    sets: np.ndarray
    value: np.ndarray
    n_columns: int

    def sound(self) -> bool:
        """Whether every way leads from a root to a leaf, within the arrays: kernels follow them without looking."""
        n = len(self.feature)
        sides = (self.threshold, self.left, self.right, self.gap_right, self.is_set, self.value)
        if n == 0 or not all(isinstance(x, np.ndarray) and x.shape == (n,) for x in (self.feature, *sides)):
            return False
        kinds = {"i": (self.roots, self.feature, self.left, self.right), "f": (self.threshold, self.value)}
        if not all(x.dtype.kind == kind for kind, those in kinds.items() for x in those):
            return False
        whole = self.gap_right.dtype == self.is_set.dtype == bool and self.sets.dtype == np.uint32
        if not whole or self.sets.ndim != 2 or self.sets.shape != (len(self.sets), WORDS):
            return False
        inner = self.feature >= 0
        number, sons = np.flatnonzero(inner), np.stack([self.left, self.right])[:, inner]
        starts = self.roots.ndim == 1 and bool(np.all((self.roots >= 0) & (self.roots < n)))
        onward = bool(np.all((sons > number) & (sons < n)))  # children come later, so no way is a circle
        sets = self.is_set & inner
        in_sets = bool(np.all((self.threshold[sets] >= 0) & (self.threshold[sets] < len(self.sets))))
        return starts and onward and in_sets and bool(np.all(self.feature < self.n_columns))


def scores(trees: Trees, X: np.ndarray) -> np.ndarray:
    """The sum over trees of the value of the leaf that each row comes to."""
    out = np.zeros(len(X))
    add_scores(trees, np.ascontiguousarray(X), out)
    return out


@kernel
def add_scores(trees, X, out):
    """Add the leaves' values of all trees to ``out``."""
    roots, feature, threshold, value = trees.roots, trees.feature, trees.threshold, trees.value
    left, right, gap_right, is_set, sets = trees.left, trees.right, trees.gap_right, trees.is_set, trees.sets
    for i in range(X.shape[0]):
        total = 0.0
        for t in range(roots.shape[0]):
            k = roots[t]
            while feature[k] >= 0:
                x = X[i, feature[k]]
                if np.isnan(x):
                    goes_right = gap_right[k]
                elif is_set[k]:
                    goes_right = not in_set(sets, int(threshold[k]), x)
                else:
                    goes_right = x > threshold[k]
                k = right[k] if goes_right else left[k]
            total += value[k]
        out[i] += total


@kernel(inner=True)
def in_set(sets, number, x):
    """Whether the category x is among those of a set."""
    if x < 0.0 or x >= 32.0 * sets.shape[1]:
        return False
    c = int(x)
    return (sets[number, c // 32] >> np.uint32(c % 32)) & np.uint32(1) == 1
