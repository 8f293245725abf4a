"""Small networks on prepared columns, whose scores are averaged: scikit-learn trains them, NumPy scores rows."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.neural_network import MLPClassifier

HIDDEN_UNITS = (64, 32)
"""Units of the hidden layers."""

MAX_EPOCHS = 60
"""Passes over the rows at the most."""

STEPS_PER_EPOCH, MIN_BATCH, MAX_BATCH = 20, 16, 128
"""Batches that an epoch should have, and the rows of one."""


class NetworkRecipe(NamedTuple):
    """How networks are trained."""

    n_networks: int
    seed: int

    def expected_seconds(self, n: float, d: int) -> float:
        """A rough guess at the seconds of a fit on n rows of d columns."""
        batch = np.clip(n / STEPS_PER_EPOCH, MIN_BATCH, MAX_BATCH)
        return float(self.n_networks * MAX_EPOCHS * (n / batch) * (2e-4 + 3e-9 * batch * d * HIDDEN_UNITS[0]))


class Networks(NamedTuple):
    """Trained networks: of each the weights and the offsets of its layers, rectified in between."""

    weights: list[list[np.ndarray]]
    offsets: list[list[np.ndarray]]

    def scores(self, X: Any) -> np.ndarray:
        """The mean log-odds of each row by the networks."""
        return np.mean([_log_odds(X, *layers) for layers in zip(self.weights, self.offsets, strict=True)], axis=0)


def _log_odds(X: Any, weights: list[np.ndarray], offsets: list[np.ndarray]) -> np.ndarray:
    """The log-odds of each row by one network."""
    Z = X @ weights[0] + offsets[0]
    for weight, offset in zip(weights[1:], offsets[1:], strict=True):
        Z = np.maximum(Z, 0.0) @ weight + offset
    return np.asarray(Z, dtype=np.float64)[:, 0]


def fit_networks(
    recipe: NetworkRecipe, X: Any, is_pos: np.ndarray, sample_weight: np.ndarray | None = None
) -> Networks:
    """Networks that differ in their random start; a class weighs one over the root of its share of the rows."""
    mass = np.ones(len(is_pos)) if sample_weight is None else sample_weight
    share = float(np.average(is_pos, weights=mass))
    mass = mass / np.sqrt(np.where(is_pos, share, 1.0 - share))
    batch = int(np.clip(len(is_pos) // STEPS_PER_EPOCH, MIN_BATCH, MAX_BATCH))
    networks = []
    for number in range(recipe.n_networks):
        network = MLPClassifier(
            HIDDEN_UNITS,
            alpha=0.01,
            learning_rate_init=3e-3,
            max_iter=MAX_EPOCHS,
            batch_size=min(batch, len(is_pos)),
            n_iter_no_change=5,
            random_state=recipe.seed + number,
        )
        networks.append(network.fit(X, is_pos, sample_weight=mass / mass.mean()))
    return Networks([network.coefs_ for network in networks], [network.intercepts_ for network in networks])
