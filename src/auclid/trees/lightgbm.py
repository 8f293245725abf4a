"""LightGBM's trees, read from the text it writes of a model."""

import re
from typing import Any

import numpy as np

from auclid.trees.extra import joined
from auclid.trees.structs import WORDS, Trees

SET, DEFAULT_LEFT, NAN_IS_MISSING = 1, 2, 8
"""Bits of a node's decision type."""


def read_booster(booster: Any, n_trees: int, n_columns: int) -> Trees:
    """The first ``n_trees`` trees of a fitted ``lightgbm.Booster``; their sum is its raw score."""
    text = booster.model_to_string(num_iteration=n_trees)
    return joined([_tree(part, n_columns) for part in re.split(r"^Tree=\d+$", text, flags=re.M)[1:]], 1.0)


def _tree(text: str, d: int) -> Trees:
    """Inner nodes first, as LightGBM counts them, then leaves, which it counts as −1, −2 and so on."""
    lines = dict(line.split("=", 1) for line in text.split("\n\n")[0].splitlines() if "=" in line)

    def numbers(name: str, dtype: Any) -> np.ndarray:
        return np.array(lines.get(name, "").split(), dtype=dtype)

    leaves, inner = numbers("leaf_value", float), int(lines["num_leaves"]) - 1
    rest = np.zeros(len(leaves))
    decision = np.concatenate([numbers("decision_type", np.int64), rest.astype(np.int64)])
    threshold = np.concatenate([numbers("threshold", float), rest])
    is_set = (decision & SET).astype(bool)
    nan_is_missing = (decision & 12) == NAN_IS_MISSING
    default_right = (decision & DEFAULT_LEFT) == 0
    gap_right = np.where(is_set, True, np.where(nan_is_missing, default_right, threshold < 0.0))  # else NaN counts as 0

    def sons(name: str) -> np.ndarray:
        found = numbers(name, np.int64)
        return np.concatenate([np.where(found >= 0, found, inner - found - 1), rest]).astype(np.int32)

    return Trees(
        roots=np.zeros(1, dtype=np.int32),
        feature=np.concatenate([numbers("split_feature", np.int64), rest - 1]).astype(np.int32),
        threshold=threshold,
        left=sons("left_child"),
        right=sons("right_child"),
        gap_right=gap_right,
        is_set=is_set,
        sets=_sets(numbers("cat_boundaries", np.int64), numbers("cat_threshold", np.uint32)),
        value=np.concatenate([np.zeros(inner), leaves]),
        n_columns=d,
    )


def _sets(ends: np.ndarray, words: np.ndarray) -> np.ndarray:
    """A line of WORDS words for each set of categories."""
    sets = np.zeros((max(1, len(ends) - 1), WORDS), dtype=np.uint32)
    for k in range(len(ends) - 1):
        own = words[ends[k] : ends[k + 1]]
        sets[k, : len(own)] = own
    return sets
