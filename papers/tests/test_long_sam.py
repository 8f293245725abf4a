"""ASAM and PSAM as they come, on real tables: near RankSVM, steady, and up to the dissertation's figures."""

from functools import cache

import numpy as np
import pytest

from auclid import ASAM, PSAM, RankSVM
from published import met, needs_data, tables

pytestmark = [pytest.mark.long, needs_data]

BOTH = pytest.mark.parametrize("method", [ASAM, PSAM])

TABLES = ["a9a", "w8a", "ijcnn1", "mnist", "connect-4", "covtype", "letter", "magic04", "news20", "sector"]
LARGE = ["a9a", "mnist", "connect-4", "covtype", "letter", "magic04"]
"""Tables with 1,000 test rows of each class or more."""

PUBLISHED = {  # Khalid 2019, the greater figure of tables 6.3 and 7.3; w8a by itself, below
    "a9a": {ASAM: (0.89637, 0.00104), PSAM: (0.90111, 0.00011)},
    "ijcnn1": {ASAM: (0.91503, 0.00197), PSAM: (0.92218, 0.00024)},
    "connect-4": {ASAM: (0.87771, 0.00057), PSAM: (0.88200, 0.00005)},
    "mnist": {ASAM: (0.95911, 0.00047), PSAM: (0.96051, 0.00018)},
    "covtype": {ASAM: (0.87520, 0.00037), PSAM: (0.87059, 0.00001)},
    "letter": {ASAM: (0.68209, 0.00286), PSAM: (0.69043, 0.00047)},
}


def auc(model, name, seed, **how):
    X, y, X_test, y_test = tables.split(name, seed, **how)
    return model.fit(X, y).score(X_test, y_test)


@cache
def all_pairs_auc(name):
    """RankSVM's mean AUC over the splits; a given test part makes one split, and RankSVM draws nothing."""
    seeds = 1 if tables.SHORT.get(name, name) in tables.GIVEN_TEST else 5
    return np.mean([auc(RankSVM(), name, seed) for seed in range(seeds)])


@BOTH
@pytest.mark.parametrize("name", TABLES)
def test_defaults_come_within_0_005_of_all_pairs(name, method):
    ours = np.mean([auc(method(random_state=seed), name, seed) for seed in range(5)])
    assert ours >= all_pairs_auc(name) - 0.005


@BOTH
@pytest.mark.parametrize("name", LARGE)
def test_seeds_hardly_matter(name, method):
    X, y, X_test, y_test = tables.split(name)
    assert min(np.bincount(y_test)) >= 1000
    scores = [method(random_state=seed).fit(X, y).score(X_test, y_test) for seed in range(10)]
    assert np.ptp(scores) < 0.004


@BOTH
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_dissertations_figures(name, method):
    """Tables 6.3 and 7.3: standardised columns, five runs."""
    ours = np.mean([auc(method(random_state=seed), name, seed, dense=True) for seed in range(5)])
    published, std = PUBLISHED[name][method]
    assert met(ours, published, std), f"{ours:.4f}, published {published:.4f} ± {std:.4f}"


BAM = {"a9a": 0.90430, "ijcnn1": 0.91560, "connect-4": 0.88200, "mnist": 0.96053, "covtype": 0.87858, "letter": 0.68510}
"""The same tables' batch baseline, of which no deviations are printed."""


@pytest.mark.parametrize("name", BAM)
def test_the_dissertations_batch_figures(name):
    ours = all_pairs_auc(name)
    assert met(ours, BAM[name], 0.0), f"{ours:.4f}, published {BAM[name]:.4f}"


@pytest.mark.xfail(strict=True, reason="w8a's own test part is not to be had; a fifth of its training part is harder")
@pytest.mark.parametrize(("model", "published"), [(ASAM, 0.97742), (PSAM, 0.97747), (RankSVM, 0.97880)])
def test_the_dissertations_figures_of_w8a(model, published):
    scores = [auc(model(), "w8a", seed, dense=True) for seed in range(2)]
    assert met(np.mean(scores), published, 0.0)
