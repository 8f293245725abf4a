"""LightGBM's trees, read from the text it writes of a model."""

import itertools
import re
from typing import Any

import numpy as np

from auclid.trees.structs import WORDS, Trees

SET, DEFAULT_LEFT, NAN_IS_MISSING = 1, 2, 8
"""Bits of a node's decision type."""


def read_booster(booster: Any, n_trees: int, n_columns: int) -> Trees:
    """The first ``n_trees`` trees of a fitted ``lightgbm.Booster``; their sum is its raw score.

    Of each tree inner nodes come first, as LightGBM counts them, then leaves, which it counts as −1, −2 and so on.
    """
    text = booster.model_to_string(num_iteration=n_trees)
    leaves = _numbers(text, "num_leaves", np.int64)
    inner = leaves - 1
    roots = np.cumsum([0, *(inner + leaves)])[:-1]
    node, owner = _places(roots, inner), np.repeat(np.arange(len(leaves)), inner)
    decision, threshold = _numbers(text, "decision_type", np.int64), _numbers(text, "threshold", np.float64)
    sets, first = _sets(text, len(leaves))
    is_set = (decision & SET).astype(bool)
    nan_is_missing = (decision & 12) == NAN_IS_MISSING
    default_right = (decision & DEFAULT_LEFT) == 0
    gap_right = np.where(is_set, True, np.where(nan_is_missing, default_right, threshold < 0.0))  # else NaN counts as 0

    def everywhere(values: np.ndarray, leaf: Any) -> np.ndarray:
        """Values of inner nodes at their places; at those of leaves that one."""
        out = np.full(int((inner + leaves).sum()), leaf, dtype=values.dtype)
        out[node] = values
        return out

    def sons(name: str) -> np.ndarray:
        found = _numbers(text, name, np.int64)
        return everywhere((roots[owner] + np.where(found >= 0, found, inner[owner] - found - 1)).astype(np.int32), 0)

    value = everywhere(np.zeros(len(node)), 0.0)
    value[_places(roots + inner, leaves)] = _numbers(text, "leaf_value", np.float64)
    return Trees(
        roots=roots.astype(np.int32),
        feature=everywhere(_numbers(text, "split_feature", np.int64).astype(np.int32), -1),
        threshold=everywhere(np.where(is_set, threshold + first[owner], threshold), 0.0),
        left=sons("left_child"),
        right=sons("right_child"),
        gap_right=everywhere(gap_right, False),
        is_set=everywhere(is_set, False),
        sets=sets,
        value=value,
        n_columns=n_columns,
    )


def _lines(text: str, name: str) -> list[str]:
    """What the lines of that name say, one a tree that has such a line."""
    return re.findall(rf"^{name}=(.*)$", text, flags=re.M)


def _numbers(text: str, name: str, dtype: Any) -> np.ndarray:
    """The numbers in the lines of that name, tree after tree."""
    return np.fromstring(" ".join(_lines(text, name)), dtype=dtype, sep=" ")


def _places(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """first[0], first[0] + 1, ... so many numbers, then those of first[1] and so on."""
    return np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


def _sets(text: str, n_trees: int) -> tuple[np.ndarray, np.ndarray]:
    """A line of WORDS words for each set of categories, and the number of each tree's first set."""
    counts = _numbers(text, "num_cat", np.int64)
    ends = [np.array(line.split(), dtype=np.int64) for line in _lines(text, "cat_boundaries")]
    words = [np.array(line.split(), dtype=np.uint32) for line in _lines(text, "cat_threshold")]
    lines = [own[a:b] for end, own in zip(ends, words, strict=True) for a, b in itertools.pairwise(end)]
    sets = np.zeros((max(1, len(lines)), WORDS), dtype=np.uint32)
    for k, line in enumerate(lines):
        sets[k, : len(line)] = line
    return sets, np.cumsum([0, *counts])[:n_trees]
