"""Ensembles of decision trees as plain arrays, and their scores."""

from typing import NamedTuple

import numpy as np

from auclid._generic import kernel

SET_WORDS = 4
"""32-bit words of a node's set of categories that go left: 128 categories."""


class Trees(NamedTuple):
    """Several trees, one after the other: node k splits on column ``feature[k]``, or is a leaf if that is −1.

    A row goes right if its value is above ``threshold``, else left; NaN goes right if ``missing_right``. If ``is_set``,
    the value is the code of a category, and the row goes left if its bit in the set number ``threshold`` is set.
    """

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_right: np.ndarray
    is_set: np.ndarray
    sets: np.ndarray
    value: np.ndarray
    n_columns: int

    def is_valid(self) -> bool:
        """Whether every path leads from a root to a leaf within the arrays: kernels follow paths without checks."""
        return self._has_valid_arrays() and self._has_valid_paths()

    def _has_valid_arrays(self) -> bool:
        n = len(self.feature)
        per_node = (
            self.feature, self.threshold, self.left, self.right, self.missing_right, self.is_set, self.value
        )  # fmt: skip
        if n == 0 or not all(isinstance(x, np.ndarray) and x.shape == (n,) for x in per_node):
            return False
        kinds = {
            "i": (self.roots, self.feature, self.left, self.right),
            "f": (self.threshold, self.value),
            "b": (self.missing_right, self.is_set),
        }
        if not all(x.dtype.kind == kind for kind, arrays in kinds.items() for x in arrays):
            return False
        return self.sets.dtype == np.uint32 and self.sets.ndim == 2 and self.sets.shape[1] == SET_WORDS

    def _has_valid_paths(self) -> bool:
        n, inner = len(self.feature), self.feature >= 0
        number, children = np.flatnonzero(inner), np.stack([self.left, self.right])[:, inner]
        set_numbers = self.threshold[self.is_set & inner]
        return bool(
            self.roots.ndim == 1
            and np.all((self.roots >= 0) & (self.roots < n))
            and np.all((children > number) & (children < n))  # children come later, so no path is a cycle
            and np.all((set_numbers >= 0) & (set_numbers < len(self.sets)))
            and np.all(self.feature < self.n_columns)
        )


def scores(trees: Trees, X: np.ndarray) -> np.ndarray:
    """The sum over trees of the value of each row's leaf."""
    out = np.zeros(len(X))
    add_scores(trees, np.ascontiguousarray(X), out)
    return out


@kernel
def add_scores(trees: Trees, X: np.ndarray, out: np.ndarray) -> None:
    """Add the values of each row's leaves to ``out``."""
    roots, feature, threshold, value = trees.roots, trees.feature, trees.threshold, trees.value
    left, right, missing_right = trees.left, trees.right, trees.missing_right
    is_set, sets = trees.is_set, trees.sets
    for i in range(X.shape[0]):
        total = 0.0
        for t in range(roots.shape[0]):
            k = roots[t]
            while feature[k] >= 0:
                x = X[i, feature[k]]
                if np.isnan(x):
                    goes_right = missing_right[k]
                elif is_set[k]:
                    goes_right = not in_set(sets, int(threshold[k]), x)
                else:
                    goes_right = x > threshold[k]
                k = right[k] if goes_right else left[k]
            total += value[k]
        out[i] += total


@kernel(inner=True)
def in_set(sets: np.ndarray, number: int, x: float) -> bool:
    """Whether a set contains the category x."""
    if x < 0.0 or x >= 32.0 * sets.shape[1]:
        return False
    c = int(x)
    return (sets[number, c // 32] >> np.uint32(c % 32)) & np.uint32(1) == 1
