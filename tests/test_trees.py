"""Trees as arrays: those grown here obey their own rules, LightGBM's say what LightGBM says."""

import numpy as np
import pytest

from auclid.metrics import roc_auc
from auclid.trees.extra import Growth, extra_trees
from auclid.trees.forest import bin_columns, random_forest
from auclid.trees.lightgbm import read_booster
from auclid.trees.structs import scores


def problem(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0.0).astype(float)


def forest(X, y, n_trees=50, weight=None, max_rows=10_000, seed=0):
    weight = np.ones(len(y)) if weight is None else weight
    return extra_trees(X, y, weight, np.random.default_rng(seed), Growth(n_trees, max_rows))


def by_hand(trees, x):
    """One row, one tree after the other, as the docstring says it."""
    total = 0.0
    for k in trees.roots:
        while trees.feature[k] >= 0:
            value = x[trees.feature[k]]
            if np.isnan(value):
                right = trees.missing_right[k]
            elif trees.is_set[k]:
                c = int(value)
                right = not (0 <= c < 128 and trees.sets[int(trees.threshold[k]), c // 32] >> (c % 32) & 1)
            else:
                right = value > trees.threshold[k]
            k = trees.right[k] if right else trees.left[k]
        total += trees.value[k]
    return total


def test_scores_are_the_sum_of_leaves():
    X, y = problem()
    X[::7, 2] = np.nan
    trees, _ = forest(X, y)
    assert trees.is_valid()
    np.testing.assert_allclose(scores(trees, X[:40]), [by_hand(trees, x) for x in X[:40]])


def test_leaves_are_pure_so_a_tree_of_all_its_rows_knows_them():
    X, y = problem(60)
    for seed in range(5):
        trees, _ = forest(X, y, n_trees=1, seed=seed)
        drawn = np.unique(np.random.default_rng(seed).integers(60, size=60))
        np.testing.assert_array_equal(scores(trees, X[drawn]), y[drawn])


def test_out_of_bag_scores_are_honest():
    X, y = problem(600)
    trees, held_out = forest(X, y, n_trees=200)
    new_X, new_y = problem(2000, seed=1)
    assert roc_auc(y, held_out) == pytest.approx(roc_auc(new_y, scores(trees, new_X)), abs=0.03)
    assert roc_auc(y, scores(trees, X)) > 0.99
    noise = np.random.default_rng(5).random(600) < 0.5
    assert roc_auc(noise, forest(X, noise.astype(float), n_trees=100)[1]) == pytest.approx(0.5, abs=0.07)


def test_it_ranks_as_scikit_learns_does():
    ensemble = pytest.importorskip("sklearn.ensemble")
    X, y = problem(600)
    new_X, new_y = problem(3000, seed=1)
    theirs = ensemble.ExtraTreesClassifier(200, bootstrap=True, random_state=0).fit(X, y).predict_proba(new_X)[:, 1]
    ours = scores(forest(X, y, n_trees=200)[0], new_X)
    assert roc_auc(new_y, ours) == pytest.approx(roc_auc(new_y, theirs), abs=0.015)


def test_the_same_seed_gives_the_same_trees_and_weights_of_zero_are_not_seen():
    X, y = problem()
    a, b = forest(X, y), forest(X, y)
    for one, other in zip(a[0], b[0], strict=True):
        np.testing.assert_array_equal(one, other)
    weight = (np.arange(300) < 150).astype(float)
    flipped = np.where(weight > 0.0, y, 1.0 - y)
    np.testing.assert_array_equal(forest(X, y, weight=weight)[0].value, forest(X, flipped, weight=weight)[0].value)


def test_missing_values_and_constant_columns_can_be_split_off_or_not():
    X, y = np.zeros((200, 2)), (np.arange(200) % 3 == 0).astype(float)
    X[y == 1.0, 0] = np.nan
    assert ((forest(X, y)[1] > 0.5) == y).all()
    alike, _ = forest(np.ones((50, 3)), y[:50], n_trees=3)
    assert len(alike.feature) == 3  # nothing to ask for: roots alone


def test_a_tree_sees_as_many_rows_as_it_may():
    X, y = problem()
    assert len(forest(X, y, n_trees=1, max_rows=20)[0].feature) <= 40


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lightgbm_says_what_its_trees_say_here(dtype):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = problem(800)
    X[:, 3] = np.random.default_rng(0).integers(0, 90, 800)
    y = np.where(X[:, 3] % 3 == 0, 1.0, y)
    X[::5, 1] = np.nan
    X[::9, 3] = np.nan
    X = X.astype(dtype)
    settings = {"objective": "binary", "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 3, "seed": 0}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, y, categorical_feature=[3], free_raw_data=False), 40)
    trees = read_booster(booster, 40, 5)
    assert trees.is_valid() and trees.is_set.any() and len(trees.roots) == 40
    new = X.copy()
    new[::4, 0] = np.nan  # was never missing
    new[::6, 3] = 500.0  # was never seen
    np.testing.assert_allclose(scores(trees, new), booster.predict(new, raw_score=True), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scores(trees, new[:30]), [by_hand(trees, x) for x in new[:30]])
    short = read_booster(booster, 7, 5)
    np.testing.assert_allclose(scores(short, new), booster.predict(new, raw_score=True, num_iteration=7), atol=1e-12)


def test_a_tree_without_a_split_is_a_number():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = problem(30)
    booster = lightgbm.train({"objective": "binary", "verbosity": -1, "num_threads": 1}, lightgbm.Dataset(X, y), 3)
    np.testing.assert_allclose(scores(read_booster(booster, 3, 5), X), booster.predict(X, raw_score=True), atol=1e-12)


# --- random forests -------------------------------------------------------------------------------


def best_cut_forest(X, y, n_trees=50, weight=None, seed=0):
    weight = np.ones(len(y)) if weight is None else weight
    return random_forest(X, y, weight, np.random.default_rng(seed), Growth(n_trees, 10_000))


def test_a_random_forest_ranks_as_scikit_learns_does():
    ensemble = pytest.importorskip("sklearn.ensemble")
    X, y = problem(600)
    new_X, new_y = problem(3000, seed=1)
    theirs = ensemble.RandomForestClassifier(200, random_state=0).fit(X, y).predict_proba(new_X)[:, 1]
    trees, held_out = best_cut_forest(X, y, n_trees=200)
    assert trees.is_valid()
    assert roc_auc(new_y, scores(trees, new_X)) == pytest.approx(roc_auc(new_y, theirs), abs=0.015)
    assert roc_auc(y, held_out) == pytest.approx(roc_auc(new_y, scores(trees, new_X)), abs=0.03)


def test_the_first_cut_is_the_best_of_all():
    """One column, so that each node looks at it: the slow loop over all cuts between values finds the same."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((40, 1)), 1)
    y = (X[:, 0] + rng.standard_normal(40) > 0).astype(float)
    trees, _ = best_cut_forest(X, y, n_trees=1, seed=3)
    drawn = np.random.default_rng(3).integers(40, size=40)
    x, label = X[drawn, 0], y[drawn]

    def impurity(cut):
        sides = [label[x > cut], label[x <= cut]]
        return sum(len(side) * side.mean() * (1.0 - side.mean()) for side in sides if len(side))

    values = np.unique(x)
    least = min(impurity(cut) for cut in 0.5 * (values[1:] + values[:-1]))
    assert impurity(trees.threshold[0]) == pytest.approx(least)


def test_bins_tell_values_apart_and_gaps_from_all():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 500), rng.standard_normal(500), np.ones(500), np.full(500, np.nan)])
    X[::9, 1] = np.nan
    codes, cuts = bin_columns(X)
    for column in range(4):
        x = X[:, column]
        above = np.nan_to_num(x, nan=-np.inf)[:, None] > cuts[column]
        np.testing.assert_array_equal(codes[column], above.sum(axis=1))
    assert set(codes[1][::9]) == {0} and 0 not in set(np.delete(codes[1], np.s_[::9]))
    assert set(codes[2]) == {0} and len(set(codes[0])) == 5
    trees, _ = best_cut_forest(X, (np.isnan(X[:, 1])).astype(float), n_trees=20)
    assert roc_auc(np.isnan(X[:, 1]), scores(trees, X)) == 1.0
