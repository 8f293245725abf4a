"""AUCClassifier: what is chosen, what it says, what it refuses; with cheap candidates, so that it stays quick."""

import pickle
import re
import warnings
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import Parallel
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

import auclid
from auclid import AUCClassifier, Columns, LeastSquaresAUC, LeastSquaresAUCCV, Scorecard, _sizes, baselines
from auclid.auto import _cost, _search
from auclid.auto._blend import blend_weights, choose_blend, stack_weights
from auclid.auto._candidates import CURVED, LINEAR_MODEL, TableShape, candidates, suited
from auclid.auto._cost import TimeBudget, fit_count
from auclid.auto._folds import make_folds, rolling_folds
from auclid.auto._judge import Judge
from auclid.auto._learners import (
    Boosting,
    Forest,
    fit_boosting,
    fold_scores_at_once,
    forest_stages,
    grow_forest,
    held_out_within,
    merge_forests,
    staged_scores,
    without_lightgbm,
)
from auclid.auto._logistic import held_out_scores
from auclid.auto._network import NetworkRecipe, Networks, fit_networks
from auclid.auto._preparation import TrainingSet, prepare
from auclid.auto._trial import Trial, TrialTask, block_scores, run_trial
from auclid.metrics import average_precision, partial_auc, roc_auc
from auclid.registry import METHODS
from auclid.stats.odds import Odds, fit_sigmoid, log_odds, probability, standardize
from auclid.trees.structs import scores as tree_scores
from reference import in_order

CHEAP = ["LeastSquaresAUC", "logistic"]


def problem(n=200, rare=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = X[:, 0] + 0.5 * rng.standard_normal(n) > np.quantile(X[:, 0], 1.0 - rare)
    return X * [1.0, 1e3, 1e-3, 1.0], np.where(y, "bad", "alright")


def ring(n=400, seed=0):
    """Positives in a disc among negatives: nothing that a line could see."""
    X = np.random.default_rng(seed).standard_normal((n, 2))
    return X, (X**2).sum(axis=1) < 0.5


def new(**params):
    return AUCClassifier(**{"methods": CHEAP, "random_state": 0, **params})


def fitted(X, y, **params):
    return new(**params).fit(X, y)


def lines(model):
    return {entry.name: entry for entry in model.leaderboard_}


# --- what is compared -----------------------------------------------------------------------------


def test_a_notebook_shows_the_leaderboard():
    X, y = problem()
    model = AUCClassifier(methods=CHEAP, random_state=0)
    assert "Leaderboard" not in model._repr_html_()
    shown = model.fit(X, y)._repr_html_()
    diagram, _, board = shown.partition("Leaderboard")
    assert "sk-top-container" in diagram and board.count("<tr>") == len(model.leaderboard_) + 1
    best = model.leaderboard_[0]
    assert f">{best.name}</td><td>{best.auc:.4f} [{best.low:.4f}, {best.high:.4f}]</td>" in board


def test_the_leaderboard_holds_every_candidate_and_the_blend_with_intervals():
    model = fitted(*problem())
    assert set(lines(model)) == {*CHEAP, "blend"}
    for entry in model.leaderboard_:
        assert 0.0 <= entry.low <= entry.auc <= entry.high <= 1.0
        assert entry.fit_seconds > 0.0
    aucs = [entry.auc for entry in model.leaderboard_]
    assert aucs == sorted(aucs, reverse=True)
    assert model.best_ in lines(model)
    assert sum(lines(model)[name].weight for name in CHEAP) == pytest.approx(1.0)
    assert lines(model)["blend"].weight == float(model.best_ == "blend")
    assert {member.name: member.weight for member in model.members_} == {
        name: lines(model)[name].weight for name in CHEAP if lines(model)[name].weight
    }


def test_held_out_auc_is_what_refitting_by_hand_gives():
    X, y = problem()
    model = fitted(X, y, methods="logistic")
    seed, Z = int(np.random.default_rng(0).integers(2**31 - 10)), Columns().fit_transform(X)
    order = in_order(Z, y == "bad")
    Z, label = Z[order], (y == "bad")[order]
    parts, size = make_folds(5, label, int(label.sum()), seed)
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-10)
    by_hand = [
        roc_auc(label[test], exact.fit(Z[train], label[train]).decision_function(Z[test]))
        for train, test in parts
    ]
    assert size == 5 and len(parts) == 20
    assert model.leaderboard_[0].auc == pytest.approx(np.mean(by_hand))


SIMPLE, TREES = ["LeastSquaresAUC", "logistic"], ["boosting", "slow boosting", "forest"]


def test_factors_are_tried_on_sparse_rows_and_taken_where_they_pay():
    assert "FactorizationRanker" in suited(TableShape(5000, 800, True, 100))
    assert "FactorizationRanker" not in suited(TableShape(5000, 800, False, 100))
    rng = np.random.default_rng(0)
    traits = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    user, item = rng.integers(60, size=4000), rng.integers(40, size=4000)
    y = rng.random(4000) < 1.0 / (1.0 + np.exp(-3.0 * (traits[0][user] * traits[1][item]).sum(axis=1)))
    places = np.column_stack([user, 60 + item]).ravel()
    X = sparse.csr_array((np.ones(8000), (np.repeat(np.arange(4000), 2), places)), shape=(4000, 100))
    names = ["LeastSquaresAUC", "FactorizationRanker"]
    model = AUCClassifier(methods=names, random_state=0).fit(X[:3000], y[:3000])
    assert "FactorizationRanker" in [member.name for member in model.members_]
    assert model.score(X[3000:], y[3000:]) > 0.7
    linear = AUCClassifier(methods=names[:1], random_state=0).fit(X[:3000], y[:3000])
    assert model.score(X[3000:], y[3000:]) > linear.score(X[3000:], y[3000:]) + 0.1


@pytest.mark.parametrize(
    ("n", "d", "is_sparse", "names"),
    [
        (50, 4, False, [*SIMPLE, *TREES, "Scorecard", "kernel"]),
        (50, 600, False, [*SIMPLE, "kernel"]),
        (700, 600, False, [*SIMPLE, *TREES, "kernel"]),
        (50, 2001, False, SIMPLE),
        (50, 400, True, [*SIMPLE, *TREES, "kernel"]),
        (50, 600, True, [*SIMPLE, "kernel"]),
        (50, 5000, True, SIMPLE),
    ],
    ids=["narrow", "few rows", "more rows", "wide", "sparse", "sparse, more columns", "sparse and wide"],
)
def test_candidates_follow_from_the_shape(n, d, is_sparse, names):
    assert suited(TableShape(n, d, is_sparse, 20)) == names
    assert suited(TableShape(n, d, is_sparse, 20, max_fpr=0.1)) == [*SIMPLE, "RankSVM", *names[2:]]
    fast, best = (suited(TableShape(n, d, is_sparse, 20, quality=quality)) for quality in ("fast", "best"))
    assert set(fast) <= set(names) <= set(best) and ("network" in best) == (d <= 500)


def test_more_quality_means_more_trees():
    shapes = [TableShape(900, 9, False, 400, quality=quality) for quality in ("fast", "default", "best")]
    trees = [candidates(["forest"], shape, 0)[0].recipe.n_trees for shape in shapes]
    assert trees == sorted(set(trees))


def test_few_positives_get_small_trees_and_every_part_the_seed():
    def leaves(rarest):
        return candidates(["boosting"], TableShape(900, 3, False, rarest), 7)[0].recipe.leaves

    assert leaves(50) < leaves(400)
    built = candidates(["boosting", "forest", "kernel", "NPSAM"], TableShape(900, 3, False, 400), 7)
    for candidate in built[2:]:
        params = candidate.recipe.get_params()
        assert {value for name, value in params.items() if name.endswith("random_state")} == {7}
    assert [candidate.recipe.seed for candidate in built[:2]] == [7, 7]
    assert [candidate.level for candidate in built] == [CURVED] * 4


@pytest.mark.parametrize(("rarest", "repeats"), [(12, 6), (50, 4), (200, 2), (500, 1)])
def test_folds_are_stratified_and_repeated_where_positives_are_few(rarest, repeats):
    label = np.arange(2000) < rarest
    parts, size = make_folds(5, label, rarest, 0)
    assert size == 5 and len(parts) == 5 * repeats
    assert {int(label[test].sum()) for _, test in parts} <= {rarest // 5, rarest // 5 + 1}
    for k in range(repeats):
        np.testing.assert_array_equal(
            np.sort(np.concatenate([t for _, t in parts[5 * k : 5 * k + 5]])), np.arange(2000)
        )


def test_folds_keep_groups_together_and_may_be_given():
    rng = np.random.default_rng(0)
    groups, label = np.repeat(np.arange(60), 5), rng.random(300) < 0.3
    for train, test in make_folds(5, label, int(label.sum()), 0, groups)[0]:
        assert not set(groups[train]) & set(groups[test])
    given = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    assert make_folds(given, label, 50, 0)[1] == 2
    with pytest.raises(ValueError, match=r"cv of AUCClassifier must leave rows of both classes in every fold"):
        make_folds([(np.arange(300), np.flatnonzero(label))], label, 50, 0)


SPLITTERS = {
    "time series": TimeSeriesSplit(4),
    "predefined": PredefinedSplit(np.r_[np.full(300, -1), np.zeros(100)]),
    "shuffled": ShuffleSplit(3, random_state=0),
    "repeated": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_any_splitter_may_be_given(name):
    X, y = problem(400)
    model = fitted(X, y, cv=SPLITTERS[name], methods=["LeastSquaresAUC", "logistic", "forest"])
    assert {entry.name for entry in model.leaderboard_ if 0.7 < entry.auc < 1.0} >= {"logistic", "blend"}
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx((y == "bad").mean(), abs=0.1)


def test_scores_of_a_row_that_is_held_out_often_are_averaged():
    X, y = problem(400)
    is_pos, half = y == "bad", np.arange(400) % 2 == 0
    fold = np.flatnonzero(~half), np.flatnonzero(half)
    once, twice = (search_of(X, is_pos, plan(["logistic"], cv=[fold] * times)) for times in (1, 2))
    for search in (once, twice):
        with Parallel(1) as parallel:
            search.run(0, parallel)
    np.testing.assert_allclose(twice.trials["logistic"].scores, once.trials["logistic"].scores)


def test_with_time_models_are_judged_on_later_rows_than_they_learnt_from():
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(60), 5)
    order, label = rng.permutation(300), rng.random(300) < 0.3
    time = time[order]
    folds = rolling_folds(time, 4, label)
    assert len(folds) == 4 and make_folds(4, label, 90, 0, None, time)[1] == 4
    for train, test in folds:
        assert time[train].max() < time[test].min() and 50 <= len(test) <= 70
        assert len(train) == (time < time[test].min()).sum()
    groups = rng.integers(100, size=300)
    for train, test in rolling_folds(time, 4, label, groups):
        assert not set(groups[train]) & set(groups[test]) and time[train].max() < time[test].min()
    late = rolling_folds(time, 4, label & (time > 30))
    assert len(late) == 2  # earlier folds have no positives to learn from


def days(time):
    return np.datetime64("2024-01-01") + time


@pytest.mark.parametrize("kind", [np.asarray, days, lambda time: days(time).astype(str)], ids=["int", "date", "str"])
def test_time_finds_what_a_random_split_hides(kind):
    """The column that tells the classes apart turns around with the years; the other one stays as it is."""
    rng = np.random.default_rng(0)
    time, y = np.arange(900), rng.random(900) < 0.4
    steady = y + 1.5 * rng.standard_normal(900)
    epoch = time // 30
    level = rng.standard_normal((2, 30))[y.astype(int), epoch]
    drifting = level + 0.1 * rng.standard_normal(900)
    X = np.column_stack([steady, drifting, epoch])
    how = {"methods": ["logistic", "forest"], "cv": 4}
    random, rolling = fitted(X, y, **how), new(**how).fit(X, y, time=kind(time))
    assert lines(random)["forest"].auc > 0.9 > 0.8 > lines(rolling)["forest"].auc
    assert lines(rolling)["logistic"].weight > lines(random)["logistic"].weight + 0.2


def test_times_that_do_not_suit_get_one_sentence():
    X, y = problem(200)
    hour = np.arange(200.0)
    with pytest.raises(ValueError, match=r"time of AUCClassifier must be an array of shape \(200,\)"):
        new().fit(X, y, time=hour[:50])
    with pytest.raises(ValueError, match=r"must hold dates or numbers in each row, .* Got 'soon' instead"):
        new().fit(X, y, time=np.array(["soon", "later"] * 100))
    with pytest.raises(ValueError, match=r"'cv' parameter of AUCClassifier must be an int where fit is given time="):
        new(cv=TimeSeriesSplit(3)).fit(X, y, time=hour)
    with pytest.raises(ValueError, match=r"must leave rows of both classes before and after at least one cut"):
        new().fit(X, y, time=np.zeros(200))
    with pytest.raises(ValueError, match=r"must be known in each row. Got none in 1 of 200 rows"):
        new().fit(X, y, time=np.where(hour == 3, np.datetime64("NaT", "us"), np.datetime64("2024-01-01")))


def test_boosting_learns_from_no_later_rows_of_very_many(monkeypatch):
    X, y = ring(600)
    time = np.random.default_rng(0).permutation(600)
    monkeypatch.setattr(_sizes, "COMPARED_ROWS", 200)
    monkeypatch.setattr(_sizes, "MIN_COMPARED_CLASS_ROWS", 10)
    monkeypatch.setattr(_sizes, "MAX_SORTED_ROWS", 0)
    task = search_of(X, y, plan(["boosting"]), time=time).task
    for _, test in task.folds:
        assert time[task.all_rows.without(test)].max() < time[task.all_rows.compared[test]].min()


def test_curved_structure_is_found_by_the_default_candidates():
    X, y = ring()
    model = fitted(X, y, methods="auto", cv=2)
    new_X, new_y = ring(seed=1)
    assert model.score(new_X, new_y) > 0.95
    assert {"kernel", "boosting"} <= set(lines(model))


def test_the_number_of_trees_is_chosen(monkeypatch):
    model = fitted(*problem(400), methods="boosting")
    trees, found = model.members_[0].model, {}
    assert trees.is_valid() and trees.n_columns == 4
    for number in (25, 50):
        stages = number, 100, 200  # of so few rows all but the last two
        monkeypatch.setattr("auclid.auto._candidates.BOOSTING_STAGES", stages)
        found[number] = fitted(*problem(400), methods="boosting").leaderboard_[0].auc
    assert found[25] != found[50] and model.leaderboard_[0].auc == max(found.values())
    assert len(trees.roots) == max(found, key=found.get)


def test_without_lightgbm_scikit_learns_trees_stand_in(monkeypatch, tmp_path):
    pytest.importorskip("skops")
    monkeypatch.setattr("auclid.baselines.has_lightgbm", lambda: False)
    X, y = problem(400)
    model = fitted(X, y, methods="boosting")
    assert model.members_[0].model.n_iter_ in (25, 50) and model.score(X, y) > 0.9
    auclid.save(tmp_path / "m", model)
    np.testing.assert_array_equal(auclid.load(tmp_path / "m").decision_function(X), model.decision_function(X))


def plan(names, **params):
    return _search.SearchSettings(**{"names": names, "cv": 5, "seed": 0, "judge": Judge(), "budget": None, **params})


def search_of(X, y, settings, groups=None, time=None):
    columns = Columns().fit(X)
    return _search.Search(columns, TrainingSet(prepare(columns, X), y, None, groups, settings.cv, time), settings)


def test_very_many_rows_are_compared_on_a_part_and_fitted_on_all(monkeypatch):
    X, y = problem(600)
    monkeypatch.setattr(_sizes, "COMPARED_ROWS", 200)
    monkeypatch.setattr(_sizes, "MIN_COMPARED_CLASS_ROWS", 10)
    columns = Columns().fit(X)
    search = search_of(X, y == "bad", plan(["LeastSquaresAUC"]))
    label = search.task.is_pos
    assert len(label) == 200 and label.mean() == pytest.approx((y == "bad").mean(), abs=0.01)
    model = fitted(X, y, methods="B-LS-SVM")
    whole = auclid.LeastSquaresAUC().fit(columns.transform(X), y == "bad")
    np.testing.assert_allclose(model.members_[0].model.coef_, whole.coef_)


@pytest.mark.parametrize(("positives", "rows"), [(300_000, 10_000), (20_000, 25_000), (12, 50_000)])
def test_the_part_holds_enough_positives(positives, rows):
    label = np.zeros(1_000_000, dtype=bool)
    label[:positives] = True
    part = label[_search.compared_rows(TrainingSet(None, label, None, None, 5), 0)]
    assert len(part) == rows and part.sum() >= min(positives * rows // 1_000_000, 500)


# --- the choice -----------------------------------------------------------------------------------


def task(labels, max_fpr=1.0, weight=None, metric="roc_auc"):
    """Rows whose folds are the given ones, in turn."""
    ends = np.cumsum([0, *map(len, labels)])
    rows = np.arange(ends[-1])
    parts = [(np.setdiff1d(rows, rows[a:b]), rows[a:b]) for a, b in pairwise(ends)]
    return TrialTask(None, np.concatenate(labels), weight, parts, len(parts), False, Judge(metric, max_fpr))


def trial(scores, labels, level=LINEAR_MODEL):
    aucs = np.array([roc_auc(y, s) for y, s in zip(labels, scores, strict=True)])
    return Trial(level, np.concatenate([standardize(s, None)[0] for s in scores]), aucs, 0.0, 1.0, 0.1)


def told(noise, rng, labels):
    """Scores of a model whose errors are its own."""
    return [y + noise * rng.standard_normal(len(y)) for y in labels]


def test_a_blend_is_better_where_errors_differ():
    rng = np.random.default_rng(0)
    labels = [np.arange(200) < 60 for _ in range(5)]
    a, b = (trial(told(1.0, rng, labels), labels) for _ in range(2))
    choice = choose_blend({"a": a, "b": b}, task(labels))
    assert choice.weights == pytest.approx({"a": 0.5, "b": 0.5}, abs=0.1)
    assert choice.values.mean() > max(a.values.mean(), b.values.mean()) + 0.02
    assert choose_blend({"a": a}, task(labels)).weights == {"a": 1.0}


def test_a_member_of_noise_has_no_share_and_of_two_alike_each_has_half():
    rng = np.random.default_rng(0)
    labels = [np.arange(400) < 200 for _ in range(5)]
    good, noise = trial(told(0.5, rng, labels), labels), trial(told(1e9, rng, labels), labels)
    weights = choose_blend({"good": good, "noise": noise, "again": good}, task(labels)).weights
    assert weights == pytest.approx({"good": 0.5, "again": 0.5}, abs=1e-3)


def test_the_fewer_positives_the_more_alike_the_weights():
    rng = np.random.default_rng(0)

    def share(n):
        labels = [np.arange(n) < n // 4 for _ in range(5)]
        better, worse = (trial(told(noise, rng, labels), labels) for noise in (0.5, 1.0))
        return choose_blend({"better": better, "worse": worse}, task(labels)).weights["better"]

    assert 0.5 < share(40) < share(4000)


def test_a_blend_is_judged_by_weights_that_have_not_seen_the_rows():
    rng = np.random.default_rng(0)
    labels = [np.arange(60) < 20 for _ in range(5)]
    members = [told(1.0, rng, labels) for _ in range(2)]
    a, b = (trial(scores, labels) for scores in members)
    c = choose_blend({"a": a, "b": b}, task(labels))
    members[1][2] = -members[1][2]  # what the left-out fold says changes no weights but its own score
    d = choose_blend({"a": a, "b": trial(members[1], labels)}, task(labels))
    fold = slice(120, 180)
    w = (c.scores[fold] + d.scores[fold]) / (2.0 * a.scores[fold])
    np.testing.assert_allclose(w, w[0])
    np.testing.assert_allclose((c.scores[fold] - d.scores[fold]) / (2.0 * b.scores[fold]), 1.0 - w[0])


def test_the_blend_minimises_the_penalised_balanced_logistic_loss():
    rng = np.random.default_rng(0)
    y = np.arange(300) < 40
    S = np.column_stack([y + noise * rng.standard_normal(300) for noise in (1.0, 1.5, 50.0)])
    weight = rng.uniform(0.5, 2.0, 300)
    mass = np.where(y, weight / weight[y].sum(), weight / weight[~y].sum()) / 2.0

    def loss(v):
        margin = np.where(y, 1.0, -1.0) * (S @ v[:3] + v[3])
        return mass @ np.logaddexp(0.0, -margin) + 0.05 * v[:3] @ v[:3]

    exact = minimize(loss, np.ones(4), bounds=[(0.0, None)] * 3 + [(None, None)], options={"ftol": 1e-14}).x
    np.testing.assert_allclose(stack_weights(S, y, weight, 0.1), exact[:3], atol=1e-4)


def test_a_simple_model_has_no_share_where_trees_are_far_ahead_with_few_positives():
    rng = np.random.default_rng(0)
    labels = [np.arange(300) < 8 for _ in range(5)]
    line, tree = trial(told(1e9, rng, labels), labels), trial(told(0.4, rng, labels), labels, CURVED)
    assert choose_blend({"line": line, "tree": tree}, task(labels)).weights.get("line", 0.0) < 0.1


def test_average_precision_gives_weights_that_raise_it():
    """One member is right about the top of the list, the other about all below."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) < 60
    top = np.where(y & (np.arange(2000) % 3 == 0), 6.0, rng.standard_normal(2000))
    rest = y * 1.2 + rng.standard_normal(2000)
    S, labels = np.column_stack([standardize(scores, None)[0] for scores in (top, rest)]), [y]
    reached = {
        metric: average_precision(y, S @ blend_weights(S, task(labels, metric=metric), np.arange(2000)))
        for metric in ("roc_auc", "average_precision")
    }
    assert reached["average_precision"] > reached["roc_auc"] + 0.01


def test_members_that_all_rank_backwards_share_alike():
    labels = [np.arange(20) < 5 for _ in range(2)]
    y = np.concatenate(labels)
    backwards = -np.column_stack([y, y]).astype(float)
    np.testing.assert_allclose(blend_weights(backwards, task(labels), np.arange(40)), [0.5, 0.5])


def test_a_partial_area_is_blended_by_the_negatives_on_top():
    """One member tells positives from the hardest tenth of the negatives, the other from all others."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], [1800, 200, 500])  # easy and hard negatives, positives
    top, rest = (rng.standard_normal(2500) for _ in range(2))
    top[kind == 2] += 2.0
    top[kind == 0] += 1.0
    rest[kind >= 1] += 3.0
    S, labels = np.column_stack([top, rest]), [kind == 2]
    whole, part = (blend_weights(S, task(labels, max_fpr), np.arange(2500)) for max_fpr in (1.0, 0.05))
    reached = [partial_auc(kind == 2, S @ w, max_fpr=0.05) for w in (whole, part)]
    best = max(partial_auc(kind == 2, S @ [w, 1.0 - w], max_fpr=0.05) for w in np.linspace(0.0, 1.0, 41))
    assert reached[1] > reached[0] + 0.005 and reached[1] > best - 0.005


def test_a_hopeless_candidate_is_given_up_after_two_folds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 40))
    y = X @ rng.standard_normal(40) > 8.0  # a line, which trees of so many columns cannot see
    model = fitted(X, y, methods=["LeastSquaresAUC", "boosting"])
    assert "dropped: behind by" in lines(model)["boosting"].note and model.best_ == "LeastSquaresAUC"


# --- probabilities --------------------------------------------------------------------------------


def test_probabilities_rank_as_scores_do_and_predict_agrees():
    X, y = problem()
    model = fitted(X, y)
    scores, chances = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert roc_auc(y, chances[:, 1], pos_label="bad") == roc_auc(y, scores, pos_label="bad")
    np.testing.assert_array_equal(model.predict(X), model.classes_[(scores > model.threshold_).astype(int)])
    likelier = model.classes_[(chances[:, 1] > 0.5).astype(int)]
    np.testing.assert_array_equal(model.set_threshold(0.0).predict(X), likelier)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e3, 1e6, 1e300])
def test_probabilities_increase_strictly_with_scores_of_any_size(dtype, size):
    rng = np.random.default_rng(0)
    plain = np.concatenate([rng.standard_normal(20_000), np.linspace(0.999, 1.001, 20_001)]) * size
    with np.errstate(over="ignore"):
        scores = np.unique(log_odds(Odds(), plain).astype(dtype))
    assert np.isfinite(scores).all() and np.abs(scores).max() <= 16.0
    assert (np.diff(probability(scores)) > 0.0).all()
    edge = log_odds(Odds(), np.array([-np.finfo(float).max, 7.9999999, 8.0, 8.0000001, np.finfo(float).max]))
    assert (np.diff(edge) > 0.0).all()


def test_scores_of_either_precision_have_the_auc_of_their_probabilities_far_out_too():
    X, y = problem()
    far = X * [50.0, 1.0, 1.0, 1.0]
    model = fitted(X, y)
    for rows in (far, far.astype(np.float32)):
        scores = model.decision_function(rows)
        assert scores.dtype == rows.dtype and np.abs(scores).max() > 8.0
        assert roc_auc(y, model.predict_proba(rows)[:, 1], pos_label="bad") == roc_auc(y, scores, pos_label="bad")
        assert len(np.unique(scores)) == len(np.unique(model.predict_proba(rows)[:, 1]))


def test_probabilities_are_calibrated():
    X, y = problem(8000, rare=0.1)
    model = fitted(X[::2], y[::2], methods="logistic")
    X, y = X[1::2], y[1::2]
    chances = model.predict_proba(X)[:, 1]
    assert chances.mean() == pytest.approx((y == "bad").mean(), abs=0.02)
    for low, high in ((0.05, 0.3), (0.3, 0.6), (0.6, 0.95)):
        part = (chances > low) & (chances < high)
        assert chances[part].mean() == pytest.approx((y[part] == "bad").mean(), abs=0.07)


def test_calibration_never_turns_an_order_around():
    scores, label = np.linspace(-1.0, 1.0, 40), np.arange(40) < 20
    assert fit_sigmoid(scores, label).slope > 0.0
    assert fit_sigmoid(np.zeros(40), label).slope > 0.0


def test_the_threshold_finds_more_of_the_rare_than_one_half_does():
    X, y = problem(2000, rare=0.03)
    model = fitted(X, y)
    found, likelier = model.predict(X) == "bad", model.predict_proba(X)[:, list(model.classes_).index("bad")] > 0.5
    assert found[y == "bad"].mean() > likelier[y == "bad"].mean() + 0.1


# --- the same again -------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits_with_the_default_candidates():
    X, y = ring(150)
    a, b = (fitted(X, y, methods="auto", cv=2) for _ in range(2))
    assert a.best_ == b.best_
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    for one, other in zip(a.leaderboard_, b.leaderboard_, strict=True):
        assert one._replace(fit_seconds=0.0) == other._replace(fit_seconds=0.0)


def test_jobs_do_not_change_the_model():
    X, y = problem()
    np.testing.assert_array_equal(fitted(X, y, n_jobs=2).decision_function(X), fitted(X, y).decision_function(X))


@pytest.mark.parametrize("methods", ["auto", CHEAP], ids=str)
def test_copies_and_files_score_alike(methods, tmp_path):
    pytest.importorskip("skops")
    X, y = problem(120)
    X[::9, 2] = np.nan
    model = fitted(X, y, methods=methods, cv=2)
    auclid.save(tmp_path / "m", model)
    for copy in (pickle.loads(pickle.dumps(model)), auclid.load(tmp_path / "m")):
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert [tuple(map(str, e)) for e in copy.leaderboard_] == [tuple(map(str, e)) for e in model.leaderboard_]
    assert not hasattr(clone(model), "members_")


@pytest.mark.parametrize("name", ["kernel", "boosting", "slow boosting", "network", "RankSVM"])
def test_every_kind_of_member_can_be_kept_in_a_file(name, tmp_path):
    pytest.importorskip("skops")
    X, y = problem(120)
    model = fitted(X, y, methods=name, cv=2)
    assert model.best_ == name
    auclid.save(tmp_path / "m", model)
    np.testing.assert_array_equal(auclid.load(tmp_path / "m").decision_function(X), model.decision_function(X))


def test_a_grid_search_goes_through_its_keywords():
    X, y = problem(120)
    search = GridSearchCV(new(), {"methods": ["logistic", CHEAP], "cv": [2]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.8
    assert search.best_estimator_.score(X, y) > 0.8


# --- rows of all kinds ----------------------------------------------------------------------------


def test_missing_values_are_replaced_and_it_says_for_whom():
    X, y = problem()
    assert {entry.note for entry in fitted(X, y, methods="logistic").leaderboard_} == {""}
    X[::7, 1] = X[3, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(X, y, methods=["logistic", "boosting"], cv=2)
    assert lines(model)["logistic"].note == "missing values replaced by medians"
    assert lines(model)["boosting"].note == ""
    assert model.score(X, y) > 0.8


def test_a_value_that_was_never_missing_may_be_so_later_and_an_empty_column_does_no_harm():
    X, y = problem()
    model, holes = fitted(X, y), X.copy()
    holes[0, 0] = np.nan
    filled = X.copy()
    filled[0, 0] = np.median(X[:, 0])
    np.testing.assert_allclose(model.decision_function(holes), model.decision_function(filled))
    X[:, 1] = np.nan
    assert fitted(X, y).score(X, y) > 0.8


def test_trees_see_missing_values_as_they_are():
    X, y = problem(300)
    X[y == "bad", 1] = np.nan  # to be missing tells all
    X[:, 0] = 0.0
    assert fitted(X, y, methods="boosting", cv=2).score(X, y) > 0.99


def test_sparse_rows_with_missing_values_and_trees():
    X, y = problem(300)
    X[:, 1] *= np.arange(300) % 2
    rows = sparse.csr_array(X)
    model = fitted(rows, y, methods=["LeastSquaresAUC", "boosting"], cv=2)
    assert model.score(rows, y) > 0.9
    np.testing.assert_allclose(model.decision_function(rows), model.decision_function(X), rtol=1e-6, atol=1e-8)
    rows.data[::50] = np.nan
    holed = fitted(rows, y, methods=["LeastSquaresAUC", "boosting"], cv=2)
    assert lines(holed)["LeastSquaresAUC"].note and holed.score(rows, y) > 0.8


def test_trees_score_sparse_rows_in_blocks():
    X, y = problem(100)
    rows = sparse.csr_array(X)
    (member,) = fitted(rows, y, methods="boosting", cv=2).members_
    whole, in_blocks = (block_scores(member.model, rows, member.raw, size) for size in (100, 7))
    assert member.raw and np.array_equal(in_blocks, whole)


@pytest.mark.parametrize("scale", [1e-30, 1e30, 1e200])
def test_any_scale_gives_the_same_ranking(scale):
    X, y = problem()
    expected = fitted(X, y).decision_function(X)
    np.testing.assert_allclose(fitted(X * scale, y).decision_function(X * scale), expected, rtol=1e-6, atol=1e-8)


def test_constant_columns_do_no_harm():
    X, y = problem()
    more = np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X))])
    assert fitted(more, y).score(more, y) == pytest.approx(fitted(X, y).score(X, y), abs=0.005)


def test_rows_that_are_all_alike_score_alike():
    y = np.arange(60) % 3 == 0
    model = fitted(np.ones((60, 3)), y, methods="auto", cv=2)
    assert len(np.unique(model.decision_function(np.ones((5, 3))))) == 1


def test_one_wild_value_does_not_spoil_the_others():
    X, y = problem()
    expected = fitted(X, y).score(X, y)
    X[5, 0] = 1e9
    assert fitted(X, y).score(X, y) > expected - 0.05


# --- few positives, a budget ----------------------------------------------------------------------


def test_under_ten_positives_get_one_ranker_and_a_warning():
    X, y = problem(60, rare=0.1)
    with pytest.warns(UserWarning, match="at least 10 rows of each class to compare models; got 4") as seen:
        model = fitted(X, y, methods="auto")
    assert seen[0].filename == __file__
    assert model.best_ == "LeastSquaresAUC" and model.score(X, y) > 0.8
    assert [(entry.name, entry.weight, entry.note) for entry in model.leaderboard_] == [
        ("LeastSquaresAUC", 1.0, "too few rows to compare")
    ]
    assert model.members_[0].model.alpha == 1.0


def test_ten_positives_are_compared():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 3)), np.arange(80) < 10
    X[:, 0] += 2 * y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(X, y)
    assert set(lines(model)) == {*CHEAP, "blend"}


def test_what_the_budget_leaves_out_is_said():
    model = fitted(*problem(), budget=1e-9)
    assert [(entry.name, entry.note) for entry in model.leaderboard_] == [
        ("LeastSquaresAUC", ""),
        ("logistic", "dropped: more than the budget leaves"),
    ]
    assert model.best_ == "LeastSquaresAUC"
    assert set(lines(fitted(*problem(), budget=1e9))) == {*CHEAP, "blend"}


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        (["logistik"], r"'methods' parameter of AUCClassifier .*got 'logistik'\. Did you mean logistic\?"),
        ("Boostin", r"got 'Boostin'\. Did you mean boosting\?"),
        (["RankSVN"], r"Did you mean RankSVM\?"),
        (["zzzz"], r"got 'zzzz'\. Known are: LeastSquaresAUC, logistic, RankSVM, forest"),
        ([3], r"got 3\. Known are"),
        ([], r"got an empty list\."),
        (["SAMULT"], r"got 'SAMULT', which learns from rows without labels"),
    ],
    ids=str,
)
@pytest.mark.parametrize("rare", [0.2, 0.01])
def test_a_name_that_is_not_known_gets_one_sentence(methods, said, rare):
    model = new(methods=methods)
    with pytest.raises(ValueError, match=said):
        model.fit(*problem(rare=rare))
    assert "classes_" not in vars(model)


def test_names_are_forgiven_their_spelling_and_repetition():
    model = fitted(*problem(), methods=["Logistic", "rank svm", "RankSVM"])
    assert set(lines(model)) == {"logistic", "RankSVM", "blend"}


def test_infinite_values_get_one_sentence_and_change_nothing():
    X, y = problem()
    model = fitted(X, y)
    before = pickle.dumps(vars(model))
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(X, y)
    assert pickle.dumps(vars(model)) == before


# --- callbacks ------------------------------------------------------------------------------------


class Watch:
    """Looks at the model after every candidate, and stops the search after a given one."""

    def __init__(self, stop_after=None):
        self.stop_after, self.seen = stop_after, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.seen.append((context.task_name, fitted_estimator.score(X, y)))
        return context.task_name == f"step {self.stop_after}"


def test_callbacks_see_every_candidate_and_can_end_the_search():
    pytest.importorskip("sklearn.callback")
    X, y = problem()
    watch = Watch()
    model = new().set_callbacks(watch).fit(X, y)
    assert [name for name, _ in watch.seen] == ["step 0", "step 1", "fit"]
    assert watch.seen[-1][1] == model.score(X, y)
    np.testing.assert_array_equal(model.decision_function(X), fitted(X, y).decision_function(X))
    stopped = new().set_callbacks(Watch(stop_after=0)).fit(X, y)
    assert lines(stopped)["logistic"].note == "dropped: the search ended before it"


@pytest.mark.long
def test_scikit_learn_finds_no_fault_in_the_default_candidates():
    check_estimator(AUCClassifier(random_state=0))


# --- any table ------------------------------------------------------------------------------------


def mixed(n=300, seed=0):
    """A frame with texts, dates and gaps, and labels that hang on all of them."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    town = rng.choice(["Rome", "Oslo", "Bonn", "Lyon"], n)
    day = np.datetime64("2024-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]")
    amount = rng.standard_normal(n)
    late = day > np.datetime64("2025-01-01")
    y = 2.0 * (town == "Oslo") + amount + late + rng.standard_normal(n) > 2.0
    frame = pd.DataFrame({"town": town, "amount": amount, "day": pd.to_datetime(day), "old": rng.random(n) < 0.5})
    frame.loc[::6, "amount"] = np.nan
    frame.loc[::11, "town"] = None
    return frame, y


@pytest.mark.parametrize("methods", ["auto", "boosting", "Scorecard", "forest", "logistic"])
def test_texts_dates_and_gaps_are_welcome(methods, tmp_path):
    pytest.importorskip("skops")
    frame, y = mixed(600)
    model = fitted(frame, y, methods=methods)
    new_frame, new_y = mixed(600, seed=1)
    assert model.score(new_frame, new_y) > 0.75
    auclid.save(tmp_path / "m", model)
    np.testing.assert_array_equal(auclid.load(tmp_path / "m").decision_function(frame), model.decision_function(frame))


def test_trees_know_categories():
    """Levels in no order: a split by sets finds in one step what a split by order does not."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    code = rng.integers(0, 40, 3000)
    frame = pd.DataFrame({"key": [f"k{c:02d}" for c in code], "noise": rng.standard_normal(3000)})
    y = (code % 2 == 0) ^ (rng.random(3000) < 0.05)
    model = fitted(frame, y, methods="boosting")
    trees = model.members_[0].model
    assert trees.is_set.any() and model.score(frame, y) > 0.93


def test_columns_in_another_order_are_refused():
    frame, y = mixed()
    model = fitted(frame, y)
    assert model.feature_names_in_.tolist() == ["town", "amount", "day", "old"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.decision_function(frame[["amount", "town", "day", "old"]])


def test_an_identifier_is_warned_of_where_the_user_called():
    frame, y = mixed()
    frame["row"] = np.arange(len(y))
    with pytest.warns(UserWarning, match="'row' has a different value in every row") as seen:
        fitted(frame, y)
    assert [warning.filename for warning in seen] == [__file__]


# --- weights, groups, classes, a part of the curve ------------------------------------------------


@pytest.mark.parametrize(
    "methods", [["logistic", "RankSVM"], ["forest"], ["random forest"], ["boosting"], "auto"], ids=str
)
def test_rows_that_weigh_more_count_more(methods):
    rng = np.random.default_rng(0)
    X, half = rng.standard_normal((400, 2)), np.arange(400) < 200
    y = np.where(half, X[:, 0], X[:, 1]) + 0.3 * rng.standard_normal(400) > 0.0  # two halves that disagree
    for heavy, column in ((half, 0), (~half, 1)):
        model = fitted(X, y, methods=methods).fit(X, y, sample_weight=np.where(heavy, 1.0, 0.02))
        probe = np.zeros((2, 2))
        probe[:, column] = -1.5, 1.5
        low, high = model.decision_function(probe)
        assert high > low + 4.0  # with equal weights it is 0.8 to 3.8


@pytest.mark.parametrize("heat", [100, 10_000])
def test_a_candidate_far_behind_on_a_part_of_the_rows_is_not_tried_on_all(heat, monkeypatch):
    """One column in forty counts: a kernel of all columns has no chance, and a few rows tell."""
    monkeypatch.setattr("auclid._sizes.RACE_ROWS", heat)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 40))
    y = 3.0 * X[:, 0] + rng.standard_normal(800) > 0.0
    found = lines(fitted(X, y, methods=["logistic", "kernel"]))["kernel"]
    early = re.match(r"dropped: behind by 0\.\d+ when it had learnt from 100 rows", found.note)
    assert bool(early) == (heat == 100) and (not early or np.isnan(found.auc))


def test_a_race_is_judged_by_the_best_number_of_trees():
    """Of trees that learn labels by heart the first ones are the best; those must not be given up for the last."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    y = X[:, 0] + 2.0 * rng.standard_normal(4000) > 0.0
    search = search_of(X, y, plan(["logistic", "boosting"]))
    boosting = search.candidates[1]
    stages = 5, 2000
    hasty = boosting._replace(recipe=boosting.recipe._replace(n_trees=2000, rate=0.5, min_leaf_rows=2), stages=stages)
    with Parallel(1) as parallel:
        search.run(0, parallel)
        leader = search.trials["logistic"]
        found = run_trial(hasty, search.task, parallel, leader, lambda *_, **__: False)
        last = run_trial(hasty._replace(stages=stages[1:]), search.task, parallel, leader, lambda *_, **__: False)
    assert isinstance(found, Trial) and found.stage == 5
    assert isinstance(last, str)


def test_the_number_of_trees_is_the_one_that_was_compared(monkeypatch):
    monkeypatch.setattr(_sizes, "MANY_ROWS", 300)
    monkeypatch.setattr(_sizes, "MIN_ROWS_FOR_MANY_TREES", 300)
    X, y = ring(600)
    search = search_of(X, y, plan(["boosting"]))
    with Parallel(1) as parallel:
        search.run(0, parallel)
    trial = search.trials["boosting"]._replace(stage=200)
    search.trials["boosting"] = trial
    assert search.candidates[0].stages[-1] == 200
    assert len(search.members({"boosting": 1.0})[0].model.roots) == 200


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_the_metric_orders_the_leaderboard_and_has_the_interval(metric):
    model = fitted(*problem(400), methods=["LeastSquaresAUC", "logistic", "forest"], metric=metric)
    values = [entry.ap if metric == "average_precision" else entry.auc for entry in model.leaderboard_]
    assert values == sorted(values, reverse=True)
    for entry, value in zip(model.leaderboard_, values, strict=True):
        assert entry.low <= value <= entry.high and 0.0 < entry.ap < entry.auc


def test_average_precision_knows_no_false_positive_rate():
    with pytest.raises(ValueError, match=r"'max_fpr' parameter of AUCClassifier must be 1.0 where metric="):
        fitted(*problem(), metric="average_precision", max_fpr=0.1)


def test_networks_find_what_lines_cannot_and_weigh_rows():
    X, y = ring(1500)
    networks = fit_networks(NetworkRecipe(2, 0), X, y)
    assert roc_auc(y, networks.scores(X)) > 0.97
    single = [Networks([w], [b]).scores(X) for w, b in zip(networks.weights, networks.offsets, strict=True)]
    np.testing.assert_allclose(networks.scores(X), np.mean(single, axis=0))
    np.testing.assert_allclose(networks.scores(sparse.csr_matrix(X)), networks.scores(X), rtol=1e-5, atol=1e-5)
    weight = np.where(X[:, 0] > 0.0, 1.0, 0.0)
    flipped = np.where(X[:, 0] > 0.0, y, ~y)
    half = fit_networks(NetworkRecipe(1, 0), X, flipped, weight).scores(X)
    assert roc_auc(y[weight > 0.0], half[weight > 0.0]) > 0.97


EVERY_KIND = ["logistic", "forest", "random forest", "boosting", "Scorecard", "kernel"]


def test_the_order_of_few_rows_does_not_matter():
    X, y = problem(120)
    order = np.random.default_rng(0).permutation(len(y))
    one, other = fitted(X, y, methods=EVERY_KIND), fitted(X[order], y[order], methods=EVERY_KIND)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-7)


def test_whole_weights_are_repeated_rows_where_folds_are_given():
    X, y = problem(120)
    weight, part = np.random.default_rng(1).integers(0, 4, 120), np.arange(120) % 3
    again = np.repeat(np.arange(120), weight)

    def held_out(part):
        return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(3)]

    weighted = new(methods=EVERY_KIND, cv=held_out(part)).fit(X, y, sample_weight=2.5 * weight)
    repeated = new(methods=EVERY_KIND, cv=held_out(part[again])).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-7)
    lines_of = [[(line.name, round(line.auc, 9)) for line in model.leaderboard_] for model in (weighted, repeated)]
    assert lines_of[0] == lines_of[1]


def test_few_rows_that_weigh_are_few_rows():
    """Six positives weigh: as rows they would be a thousand, and folds without any of them would be compared on."""
    X, y = np.random.default_rng(0).standard_normal((3000, 1)), np.arange(3000) < 1000
    weight = np.where((np.arange(3000) >= 6) & y, 0.0, 1.0)
    with pytest.warns(UserWarning, match="at least 10 rows of each class to compare models; got 6"):
        model = AUCClassifier(random_state=0, budget=2).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("kind", ["plain", "groups", "folds", "classes"])
def test_rows_of_weight_zero_count_for_nothing(kind):
    X, label = problem(2500)
    y = label == "bad"
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    weight[y & (np.arange(len(y)) % 5 > 0)] = 0.0
    weight[::3] = 0.0
    X[weight == 0.0] *= 100.0
    kept, part = np.flatnonzero(weight), np.arange(len(y)) % 7 // 3
    if kind == "classes":
        y = y + 2 * (X[:, 1] > 1e3)

    def model_of(rows):
        own = [(np.flatnonzero(part[rows] != k), np.flatnonzero(part[rows] == k)) for k in range(3)]
        how = {"groups": rows // 9} if kind == "groups" else {}
        model = AUCClassifier(methods=["logistic", "forest"], cv=own if kind == "folds" else 3, random_state=0)
        return model.fit(X[rows], y[rows], sample_weight=weight[rows], **how)

    one, other = model_of(np.arange(len(y))), model_of(kept)
    np.testing.assert_allclose(one.decision_function(X[kept]), other.decision_function(X[kept]), rtol=1e-6)


def test_copies_of_a_row_are_held_out_together():
    """Labels of noise and weights of three: a forest that had seen a copy would know the label."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 3)), rng.random(150) < 0.5
    weight = np.where(np.arange(150) % 2, 3.0, 2.0)
    model = AUCClassifier(methods=["forest", "boosting"], random_state=0).fit(X, y, sample_weight=weight)
    assert all(line.auc < 0.68 for line in model.leaderboard_)


def test_given_folds_are_kept_by_trees_too():
    """Near copies, told apart by the folds alone: judged out of bag, a forest would know the labels of noise."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((40, 3)), 5, axis=0) + 1e-6 * rng.standard_normal((200, 3))
    y = np.repeat(rng.random(40) < 0.5, 5)
    whole = GroupKFold(4).split(X, y, np.repeat(np.arange(40), 5))
    model = AUCClassifier(methods=["forest"], cv=list(whole), random_state=0).fit(X, y)
    assert lines(model)["forest"].auc < 0.75
    assert lines(AUCClassifier(methods=["forest"], random_state=0).fit(X, y))["forest"].auc > 0.95


def test_every_supervised_method_takes_weights():
    """So no candidate need be left out where rows weigh."""
    X, y = problem()
    built = [method.build() for method in METHODS if not method.semi_supervised]
    rankers = [getattr(model, "ranker", None) or model for model in built]
    assert [model for model in rankers if not has_fit_parameter(model, "sample_weight")] == []
    model = fitted(X, y, methods=["OAM", "NPSAM"]).fit(X, y, sample_weight=np.linspace(0.5, 1.5, len(y)))
    assert model.score(X, y) > 0.7


def test_fewer_groups_than_folds_get_one_sentence():
    X, y = problem()
    with pytest.raises(ValueError, match=r"groups of AUCClassifier must be at least as many as folds, 5; got 3\."):
        new().fit(X, y, groups=np.arange(len(y)) % 3)
    assert new(cv=3).fit(X, y, groups=np.arange(len(y)) % 3).score(X, y) > 0.8


def test_groups_are_held_out_together():
    """Tens of near copies, and labels of noise: a forest knows the neighbours of a row, unless they are out."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 10)
    X = rng.standard_normal((60, 3))[groups] + 0.01 * rng.standard_normal((600, 3))
    y = (rng.random(60) < 0.5)[groups]
    apart, together = fitted(X, y, methods="forest"), new(methods="forest").fit(X, y, groups=groups)
    assert apart.leaderboard_[0].auc > 0.9 > 0.65 > together.leaderboard_[0].auc


def test_more_than_two_classes_are_told_apart():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 2)) + np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])[y]
    labels = np.array(["a", "b", "c"])[y]
    model = fitted(X, labels)
    assert model.decision_function(X).shape == model.predict_proba(X).shape == (300, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert (model.predict(X) == labels).mean() > 0.85
    by_hand = np.mean([roc_auc(labels == c, model.decision_function(X)[:, k]) for k, c in enumerate("abc")])
    assert model.score(X, labels) == pytest.approx(by_hand)
    one = fitted(X, labels == "b")
    np.testing.assert_allclose(model.decision_function(X)[:, 1], one.decision_function(X))
    model.fit(X, labels == "b")
    assert not hasattr(model, "models_") and model.decision_function(X).shape == (300,)


def test_many_classes_prepare_the_columns_once(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 2)), np.arange(120) % 3
    fits, made = [], []
    fit, parts = Columns.fit, Columns._parse
    monkeypatch.setattr(Columns, "fit", lambda self, *args, **params: (fits.append(1), fit(self, *args, **params))[1])
    monkeypatch.setattr(Columns, "_parse", lambda self, X: (made.append(1), parts(self, X))[1])
    model = fitted(X, y)
    assert len(fits) == len(made) == 1
    model.predict_proba(X)
    assert len(made) == 2


def test_max_fpr_judges_by_the_top_of_the_list():
    X, y = problem(800)
    model = fitted(X, y, methods="logistic", max_fpr=0.1)
    scores = model.decision_function(X)
    assert model.leaderboard_[0].auc == pytest.approx(partial_auc(y == "bad", scores, max_fpr=0.1), abs=0.05)
    assert model.leaderboard_[0].auc < fitted(X, y, methods="logistic").leaderboard_[0].auc


# --- time -----------------------------------------------------------------------------------------


def test_what_it_will_take_is_said_before():
    X, y = problem(400)
    told = AUCClassifier().expect(X, y)
    assert 0.0 < told.seconds < 60.0 and 0 < told.bytes < 1e9
    assert AUCClassifier().expect(np.tile(X, (20, 1))).seconds > told.seconds
    assert AUCClassifier(budget=0.01).expect(X, y).seconds == 0.01
    frame, _ = mixed()
    assert AUCClassifier().expect(frame).seconds > 0.0


@pytest.fixture
def clock(monkeypatch):
    """The seconds that budgets see: they pass only where a test adds them."""
    seconds = [0.0]
    monkeypatch.setattr(_cost, "time", SimpleNamespace(perf_counter=lambda: seconds[0]))
    return seconds


@pytest.mark.parametrize("budget", [0.1, 1.0, 10.0])
def test_a_budget_is_kept(monkeypatch, clock, budget):
    """On a machine on which every fit takes three times as long as guessed."""
    X, y = ring(3000)
    settings = plan(["logistic", "LeastSquaresAUC", "forest", "boosting", "kernel"], budget=budget)
    search = search_of(X, y, settings)

    def seconds(candidate):
        return 3.0 * search.budget.guess(candidate)

    def slow_trial(candidate, *given):
        found = run_trial(candidate, *given)
        clock[0] += seconds(candidate) * fit_count(candidate, len(search.task.folds_for(candidate.level)))
        return found if isinstance(found, str) else found._replace(seconds=seconds(candidate) * fit_count(candidate, 1))

    monkeypatch.setattr(_search, "run_trial", slow_trial)
    with Parallel(1) as parallel:
        search.run(0, parallel)
        first = clock[0]  # one candidate is always tried
        for number in range(1, len(search.candidates)):
            search.run(number, parallel)
    finals = sum(search.budget.finals.values())
    assert clock[0] + finals <= max(budget, first + search.budget.finals[search.candidates[0].name])
    assert set(search.dropped.values()) <= {"dropped: more than the budget leaves"}
    assert len(search.trials) + len(search.dropped) == len(search.candidates)
    assert bool(search.dropped) == (budget < 10.0)


@pytest.mark.parametrize("grouped", [False, True])
def test_boosting_is_compared_with_all_rows_that_a_fold_does_not_hold_out(monkeypatch, grouped):
    X, y = ring(600)
    groups = np.arange(600) // 3 if grouped else None
    monkeypatch.setattr(_sizes, "COMPARED_ROWS", 200)
    monkeypatch.setattr(_sizes, "MIN_COMPARED_CLASS_ROWS", 10)
    monkeypatch.setattr(_sizes, "MAX_SORTED_ROWS", 0)
    search = search_of(X, y, plan(["boosting"]), groups)
    candidate, task = search.candidates[0], search.task
    assert candidate.stages == (25, 50) and candidate.recipe.n_trees == 50
    with Parallel(1) as parallel:
        search.run(0, parallel)
    for _, test in task.folds_for(CURVED):
        train, held = task.all_rows.without(test), task.all_rows.compared[test]
        assert not set(train) & set(held)
        if grouped:
            assert not set(groups[train]) & set(groups[held])
        else:
            assert len(train) == 600 - len(test)
        model = fit_boosting(candidate.recipe, X[train], y[train])
        stage = candidate.stages.index(search.trials["boosting"].stage)
        by_hand = standardize(staged_scores(model, X[held], candidate.stages)[stage], None)[0]
        np.testing.assert_allclose(search.trials["boosting"].scores[test], by_hand)
    assert len(search.members({"boosting": 1.0})[0].model.roots) == search.trials["boosting"].stage
    assert search_of(X, y, plan(["boosting"], budget=9.0), groups).task.all_rows is None


def test_a_candidate_that_a_thousand_rows_show_to_be_slow_is_not_tried_on_more():
    X, y = ring(6000)
    search = search_of(X, y, plan(["logistic", "boosting", "kernel"]))
    asked = []

    def late(seconds, fits, rows):
        asked.append((fits, rows))
        return seconds > 0.0

    with Parallel(1) as parallel:
        search.run(0, parallel)
        for candidate in search.candidates[1:]:
            said = run_trial(candidate, search.task, parallel, search.trials["logistic"], late)
            assert re.fullmatch(r"dropped: .* s for 1,000 rows are more than the budget leaves", said)
    assert asked == [(2, 1000), (1, 1000)]


def test_boosting_is_not_given_up_after_a_thousand_of_very_many_rows():
    X, y = ring(6000)
    y = np.random.default_rng(0).permutation(y)  # nothing to learn
    search = search_of(X, y, plan(["logistic", "boosting"]))
    perfect = Trial(LINEAR_MODEL, search.task.is_pos.astype(float), np.ones(5), 0.0, 1.0, 0.1)
    never = lambda *_, **__: False  # noqa: E731
    with Parallel(1) as parallel:
        said = run_trial(search.candidates[1], search.task, parallel, perfect, never)
        assert "when it had learnt from 1,000 rows" in said
        found = run_trial(search.candidates[1], search.task._replace(is_sample=True), parallel, perfect, never)
    assert isinstance(found, Trial)


def test_a_budget_keeps_time_for_the_final_fits(clock):
    table = TableShape(100_000, 10, False, 20_000)
    logistic, boosting, forest = candidates(["logistic", "boosting", "forest"], table, 0)
    budget = TimeBudget(100.0, 0.0, table, 10_000)
    clock[0] = 1.0
    before = budget.left()
    budget.add(logistic, 0.5, True)
    assert budget.finals["logistic"] == pytest.approx(0.5 * budget.growth(logistic)) and budget.growth(logistic) > 5.0
    assert budget.growth(forest) < 4.0  # no tree sees more than 10,000 rows
    assert budget.pace == min(10.0, 0.5 / budget.guess(logistic))
    assert budget.left() < before - budget.finals["logistic"] < 99.0
    assert budget.left_for([]) > budget.left_for(["logistic"])
    timed = budget.limited(boosting, 2).recipe.seconds
    assert timed == pytest.approx(0.25 * budget.left()) and budget.limited(forest, 2) == forest
    assert not budget.is_late(boosting, 0.01, 2) and budget.is_late(boosting, 50.0, 2)
    just = 0.95 * budget.left() / (2.0 + budget.growth(boosting))
    assert budget.is_late(boosting, just, 2, rows=1000) and not budget.is_late(boosting, just, 2)


@pytest.mark.skipif(not baselines.has_lightgbm(), reason="scikit-learn's boosting cannot be stopped")
def test_boosting_that_has_no_time_stops():
    X, y = ring(2000)
    recipes = [Boosting(50, 8, 20, 0, (), seconds) for seconds in (0.0, None)]
    few, many = (without_lightgbm(fit_boosting(recipe, X, y), 2) for recipe in recipes)
    assert len(few.roots) == 1 and len(many.roots) == 50


@pytest.mark.parametrize("name", ["LeastSquaresAUC", "kernel"])
def test_all_rows_choose_among_the_penalty_of_a_part_and_smaller_ones(monkeypatch, name):
    X, y = ring(600)
    monkeypatch.setattr(_sizes, "COMPARED_ROWS", 200)
    monkeypatch.setattr(_sizes, "MIN_COMPARED_CLASS_ROWS", 10)
    search = search_of(X, y, plan([name]))
    with Parallel(1) as parallel:
        search.run(0, parallel)
    model = search.members({name: 1.0})[0].model
    small, whole = (getattr(each, "ranker_", each) for each in (search.trials[name].model, model))
    np.testing.assert_allclose(whole.alphas_, small.alpha_ * np.array([1.0, 10.0**-0.5, 0.1]))
    assert whole.alpha_ in whole.alphas_


def test_threads_are_limited_and_do_not_change_the_model():
    X, y = problem()
    one, two = fitted(X, y), fitted(X, y, threads=2)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="threads"):
        fitted(X, y, threads=0)


def test_hostile_trees_are_not_sound():
    model = fitted(*problem(), methods="forest")
    trees = model.members_[0].model
    assert trees.is_valid()
    inner = int(np.flatnonzero(trees.feature >= 0)[0])
    for field, value in (("left", 10**6), ("right", inner), ("feature", 7), ("left", -3)):
        broken = getattr(trees, field).copy()
        broken[inner] = value
        assert not trees._replace(**{field: broken}).is_valid()
    assert not trees._replace(roots=trees.roots + 10**7).is_valid()
    assert not trees._replace(value=trees.value[:-1]).is_valid()


# --- what one fit on all rows tells of folds ------------------------------------------------------


def parts_of(y, repeats=2):
    found, size = make_folds(5, y, 60 if repeats == 4 else 150, 0)
    return [found[k : k + size] for k in range(0, size * repeats, size)]


@pytest.mark.parametrize("kind", ["narrow", "wide", "sparse", "weighted"])
@pytest.mark.parametrize("recipe", [LeastSquaresAUCCV(), LogisticRegression(max_iter=300)], ids=["squares", "logistic"])
def test_scores_of_folds_are_those_of_fitting_anew(kind, recipe):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 200 if kind == "wide" else 7))
    y, weight = X[:, 0] + rng.standard_normal(160) > 0.5, None
    if kind == "sparse":
        X = sparse.csr_array(np.where(X > 0.5, X, 0.0))
    if kind == "weighted":
        weight = rng.integers(0, 4, 160).astype(float)
    repeats = parts_of(y)
    model, said = fold_scores_at_once(recipe, X, y, weight, repeats)
    if isinstance(recipe, LogisticRegression):
        anew = LogisticRegression(solver="lbfgs" if kind == "sparse" else "newton-cholesky", tol=1e-9, max_iter=10_000)
    else:
        anew = LeastSquaresAUC(alpha=model.alpha_)
    assert len(said) == 10
    for scores, (train, test) in zip(said, (fold for repeat in repeats for fold in repeat), strict=True):
        own = None if weight is None else weight[train]
        by_hand = anew.fit(X[train], y[train], sample_weight=own).decision_function(X[test])
        np.testing.assert_allclose(scores - scores.mean(), by_hand - by_hand.mean(), atol=2e-3 * by_hand.std())
    assert model.decision_function(X).shape == (160,) and model.n_features_in_ == X.shape[1]


def test_a_kernel_is_the_same_from_its_parts():
    X, y = ring()
    recipe = candidates(["kernel"], TableShape(400, 2, False, 90), 3)[0].recipe
    model, said = fold_scores_at_once(recipe, X, y, None, parts_of(y, 1))
    whole = clone(recipe).set_params(ranker__alphas=model.ranker_.alphas_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-6, atol=1e-6)
    train, test = parts_of(y, 1)[0][0]
    Z = model.feature_map_.transform(X)
    by_hand = LeastSquaresAUC(alpha=model.ranker_.alpha_).fit(Z[train], y[train]).decision_function(Z[test])
    np.testing.assert_allclose(said[0] - said[0].mean(), by_hand - by_hand.mean(), atol=1e-6)


def test_newton_steps_that_do_not_suit_are_left_to_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 250)), rng.random(200) < 0.5
    model = LogisticRegression().fit(X, y)
    assert held_out_scores(model, X, y, None, [np.arange(20)]) is None  # too many columns


def test_a_scorecard_tells_honestly_how_it_would_have_done():
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((400, 5)), rng.random(400) < 0.5
    model, said = held_out_within(Scorecard(n_knots=8, interactions=0, random_state=0), X, noise, None)
    assert roc_auc(noise, said) == pytest.approx(0.5, abs=0.08)
    assert roc_auc(noise, model.decision_function(X)) > roc_auc(noise, said)
    X, y = ring(600)
    model, said = held_out_within(Scorecard(n_knots=8, interactions=0, random_state=0), X, y, None)
    assert roc_auc(y, said) == pytest.approx(model.score(*ring(3000, seed=5)), abs=0.03)
    weight = np.append(np.zeros(9), np.ones(591))
    assert held_out_within(Scorecard(n_knots=8, interactions=0, random_state=0), X, y, weight) is None
    assert held_out_within(Scorecard(interactions=0, random_state=0), X[:40], np.arange(40) < 10, None) is None


def test_a_forest_in_two_parts_is_a_forest_and_a_hopeless_one_is_not_finished():
    X, y = ring()
    recipe = Forest(60, 5)
    parts = [grow_forest(part, X, y, None) for part in forest_stages(recipe, 20)]
    trees, said = merge_forests(*parts, 1.0 / 3.0)
    assert len(trees.roots) == 60 and trees.is_valid()
    by_hand = (tree_scores(parts[0][0], X) + 2.0 * tree_scores(parts[1][0], X)) / 3.0
    np.testing.assert_allclose(tree_scores(trees, X), by_hand)
    assert roc_auc(y, said) > 0.9
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 40))
    model = new(methods=["logistic", "forest"]).fit(X, X.sum(axis=1) > 0.0)
    assert re.search(r"behind by 0\.\d+ with 100 trees", lines(model)["forest"].note)


def test_folds_of_ones_own_may_name_any_row_of_very_many(monkeypatch):
    monkeypatch.setattr("auclid._sizes.COMPARED_ROWS", 100)
    monkeypatch.setattr("auclid._sizes.MIN_COMPARED_CLASS_ROWS", 10)
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 2
    X = rng.normal(size=(1200, 2)) + y[:, None]
    splits = [(np.arange(600), np.arange(600, 1200)), (np.arange(600, 1200), np.arange(600))]
    assert fitted(X, y, methods=["logistic", "boosting"], cv=splits).score(X, y) > 0.8


def test_a_common_word_on_top_is_pointed_out():
    rng = np.random.default_rng(0)
    X, rare = rng.normal(size=(120, 2)), np.arange(120) % 4 == 0
    X[:, 0] += rare
    for pair, told in ((("fraud", "legit"), True), (("yes", "no"), False), ((0, 1), False), (("0", "1"), False)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            AUCClassifier(methods=["LeastSquaresAUC"], random_state=0).fit(X, np.where(rare, *pair))
        said = [each for each in heard if "on top, the greater of the two labels" in str(each.message)]
        assert [each.filename for each in said] == [__file__] * told
        assert all("ranks 'legit'" in str(each.message) and "y == 'fraud'" in str(each.message) for each in said)
