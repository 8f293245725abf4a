"""LightGBM's trees, read from its text format of a model."""

import itertools
import re
from typing import Any

import numpy as np

from auclid.trees.structs import SET_WORDS, Trees

IS_SET, DEFAULT_LEFT, MISSING_TYPE, NAN_IS_MISSING = 1, 2, 12, 8
"""Bits of a node's decision type."""


def read_booster(booster: Any, n_trees: int, n_columns: int) -> Trees:
    """The first ``n_trees`` trees of a fitted ``lightgbm.Booster``; their sum is its raw score.

    The inner nodes of each tree come first, in LightGBM's order, then its leaves, which LightGBM numbers −1, −2, ….
    """
    text = booster.model_to_string(num_iteration=n_trees)
    leaves = _numbers(text, "num_leaves", np.int64)
    inner = leaves - 1
    roots = np.cumsum([0, *(inner + leaves)])[:-1]
    node, tree = _ranges(roots, inner), np.repeat(np.arange(len(leaves)), inner)
    decision, threshold = _numbers(text, "decision_type", np.int64), _numbers(text, "threshold", np.float64)
    sets, first_set = _category_sets(text, len(leaves))
    is_set = (decision & IS_SET).astype(bool)
    nan_is_missing = (decision & MISSING_TYPE) == NAN_IS_MISSING
    default_right = (decision & DEFAULT_LEFT) == 0
    missing_right = np.where(is_set, True, np.where(nan_is_missing, default_right, threshold < 0.0))  # else NaN is 0

    def all_nodes(values: np.ndarray, leaf: Any) -> np.ndarray:
        """The values of inner nodes, and one value for all leaves, in the order of the nodes."""
        out = np.full(int((inner + leaves).sum()), leaf, dtype=values.dtype)
        out[node] = values
        return out

    def children(name: str) -> np.ndarray:
        child = _numbers(text, name, np.int64)
        return all_nodes((roots[tree] + np.where(child >= 0, child, inner[tree] - child - 1)).astype(np.int32), 0)

    value = all_nodes(np.zeros(len(node)), 0.0)
    value[_ranges(roots + inner, leaves)] = _numbers(text, "leaf_value", np.float64)
    return Trees(
        roots=roots.astype(np.int32),
        feature=all_nodes(_numbers(text, "split_feature", np.int64).astype(np.int32), -1),
        threshold=all_nodes(np.where(is_set, threshold + first_set[tree], threshold), 0.0),
        left=children("left_child"),
        right=children("right_child"),
        missing_right=all_nodes(missing_right, False),
        is_set=all_nodes(is_set, False),
        sets=sets,
        value=value,
        n_columns=n_columns,
    )


def _lines(text: str, name: str) -> list[str]:
    """The contents of all lines of that name, one for each tree that has such a line."""
    return re.findall(rf"^{name}=(.*)$", text, flags=re.M)


def _numbers(text: str, name: str, dtype: Any) -> np.ndarray:
    """The numbers in all lines of that name, tree after tree."""
    return np.fromstring(" ".join(_lines(text, name)), dtype=dtype, sep=" ")


def _ranges(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The concatenated ranges [first[k], first[k] + counts[k])."""
    return np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


def _category_sets(text: str, n_trees: int) -> tuple[np.ndarray, np.ndarray]:
    """The bits of each set of categories, (sets, SET_WORDS), and the number of each tree's first set."""
    counts = _numbers(text, "num_cat", np.int64)
    ends = [np.array(line.split(), dtype=np.int64) for line in _lines(text, "cat_boundaries")]
    words = [np.array(line.split(), dtype=np.uint32) for line in _lines(text, "cat_threshold")]
    bits = [own[a:b] for end, own in zip(ends, words, strict=True) for a, b in itertools.pairwise(end)]
    sets = np.zeros((max(1, len(bits)), SET_WORDS), dtype=np.uint32)
    for k, own in enumerate(bits):
        sets[k, : len(own)] = own
    return sets, np.cumsum([0, *counts])[:n_trees]
