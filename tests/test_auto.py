"""AUCClassifier: what is chosen, what it says, what it refuses; with cheap candidates, so that it stays quick."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import auclid
from auclid import AUCClassifier
from auclid.auto import _search
from auclid.auto._candidates import KERNEL, LINEAR, TREES, candidates, suited
from auclid.auto._choose import ahead, blend, choose, others, simplest
from auclid.auto._columns import learnt, scaled
from auclid.auto._odds import Odds, calibrated, log_odds, probability
from auclid.auto._trial import Trial, folds
from auclid.metrics import roc_auc

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
    label = y == "bad"
    seed = int(np.random.default_rng(0).integers(2**31))
    parts, repeats = folds(5, label, int(label.sum()), seed)
    Z = scaled(learnt(X), X)
    by_hand = [
        roc_auc(label[test], LogisticRegression(max_iter=300).fit(Z[train], label[train]).decision_function(Z[test]))
        for train, test in parts
    ]
    assert repeats == 2 and len(parts) == 10
    assert model.leaderboard_[0].auc == pytest.approx(np.mean(by_hand))


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (np.zeros((50, 4)), ["LeastSquaresAUC", "logistic", "RankSVM", "kernel", "boosting"]),
        (np.zeros((50, 600)), ["LeastSquaresAUC", "logistic", "RankSVM", "kernel"]),
        (np.zeros((700, 600)), ["LeastSquaresAUC", "logistic", "RankSVM", "kernel", "boosting"]),
        (np.zeros((50, 2001)), ["LeastSquaresAUC", "logistic", "RankSVM"]),
        (sparse.csr_matrix((50, 400)), ["LeastSquaresAUC", "logistic", "RankSVM", "kernel", "boosting"]),
        (sparse.csr_matrix((50, 600)), ["LeastSquaresAUC", "logistic", "RankSVM", "kernel"]),
        (sparse.csr_array((50, 5000)), ["LeastSquaresAUC", "logistic", "RankSVM"]),
    ],
    ids=["narrow", "few rows", "more rows", "wide", "sparse", "sparse, more columns", "sparse and wide"],
)
def test_candidates_follow_from_the_shape(rows, names):
    assert suited(rows) == names


def test_few_positives_get_small_trees_and_every_part_the_seed():
    def leaves(rarest):
        return candidates(["boosting"], np.zeros((900, 3)), rarest, 7)[0].model.max_leaf_nodes

    assert leaves(50) < leaves(400)
    built = candidates(["boosting", "kernel", "NPSAM"], np.zeros((900, 3)), 400, 7)
    for candidate in built:
        params = candidate.model.get_params()
        assert {value for name, value in params.items() if name.endswith("random_state")} == {7}
    assert [candidate.level for candidate in built] == [TREES, KERNEL, KERNEL]


@pytest.mark.parametrize(("rarest", "repeats"), [(12, 3), (50, 2), (500, 1)])
def test_folds_are_stratified_and_repeated_where_positives_are_few(rarest, repeats):
    label = np.arange(2000) < rarest
    parts, said = folds(5, label, rarest, 0)
    assert said == repeats and len(parts) == 5 * repeats
    assert {int(label[test].sum()) for _, test in parts} <= {rarest // 5, rarest // 5 + 1}


def test_curved_structure_is_found_by_the_default_candidates():
    X, y = ring()
    model = fitted(X, y, methods="auto", cv=2)
    new_X, new_y = ring(seed=1)
    assert model.score(new_X, new_y) > 0.95
    assert {"kernel", "boosting"} <= set(lines(model))


def test_the_number_of_trees_is_chosen():
    model = fitted(*problem(400), methods="boosting")
    assert model.members_[0].model.n_iter_ in (25, 50, 100)
    assert model.members_[0].model.n_iter_ < 100  # a hundred trees learn the noise of so few rows


def test_very_many_rows_are_compared_on_a_part_and_fitted_on_all(monkeypatch):
    X, y = problem(600)
    monkeypatch.setattr(_search, "SEARCHED", 200)
    monkeypatch.setattr(_search, "ENOUGH", 10)
    search = _search.Search(X, y == "bad", ["LeastSquaresAUC"], 5, 0)
    assert len(search.label) == 200 and search.label.mean() == pytest.approx((y == "bad").mean(), abs=0.01)
    model = fitted(X, y, methods="B-LS-SVM")
    whole = auclid.LeastSquaresAUC().fit(scaled(learnt(X), X), y == "bad")
    np.testing.assert_allclose(model.members_[0].model.coef_, whole.coef_)


@pytest.mark.parametrize(("positives", "rows"), [(300_000, 50_000), (1_000, 200_000), (12, 1_000_000)])
def test_the_part_holds_enough_positives(positives, rows):
    label = np.zeros(1_000_000, dtype=bool)
    label[:positives] = True
    part = label[_search.sample(label, 0)]
    assert len(part) == rows and part.sum() >= min(positives, 200)


# --- the choice -----------------------------------------------------------------------------------


def trial(scores, labels, level=LINEAR):
    aucs = np.array([roc_auc(y, s) for y, s in zip(labels, scores, strict=True)])
    return Trial(level, [(s - s.mean()) / s.std() for s in scores], aucs, 0.0, 1.0, 0.1, None)


def told(noise, rng, labels):
    """Scores of a model whose errors are its own."""
    return [y + noise * rng.standard_normal(len(y)) for y in labels]


def test_a_blend_is_kept_where_errors_differ_and_not_where_members_agree():
    rng = np.random.default_rng(0)
    labels = [np.arange(200) < 60 for _ in range(5)]
    a, b = (trial(told(1.0, rng, labels), labels) for _ in range(2))
    different = choose({"a": a, "b": b}, labels, 1)
    assert set(different.weights) == {"a", "b"} and sum(different.weights.values()) == pytest.approx(1.0)
    assert different.blend_aucs.mean() > max(a.aucs.mean(), b.aucs.mean()) + 0.02
    same = choose({"a": a, "b": a._replace(level=TREES)}, labels, 1)
    assert same.weights == {"a": 1.0}
    assert same.blend_aucs is not None


def test_a_blend_is_judged_by_weights_that_have_not_seen_the_rows():
    assert [others(k, 3) for k in range(6)] == [[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]]
    rng = np.random.default_rng(0)
    labels = [np.arange(60) < 20 for _ in range(5)]
    members = [told(1.0, rng, labels) for _ in range(2)]
    a, b = (trial(scores, labels) for scores in members)
    c = choose({"a": a, "b": b}, labels, 1)
    members[1][2] = -members[1][2]  # what the left-out fold says changes no weights but its own score
    d = choose({"a": a, "b": trial(members[1], labels)}, labels, 1)
    w = (c.blend_scores[2] + d.blend_scores[2]) / (2.0 * a.scores[2])
    np.testing.assert_allclose(w, w[0])
    np.testing.assert_allclose((c.blend_scores[2] - d.blend_scores[2]) / (2.0 * b.scores[2]), 1.0 - w[0])


def test_members_that_all_rank_backwards_share_alike():
    labels = [np.arange(20) < 5 for _ in range(2)]
    parts = [-np.column_stack([y, y]).astype(float) for y in labels]
    np.testing.assert_allclose(blend(parts, labels, [0, 1]), [0.5, 0.5])


def test_the_simpler_model_is_preferred_within_noise_and_only_then():
    noisy = np.array([[0.80, 0.86], [0.84, 0.80], [0.82, 0.83]])
    clear = np.array([[0.80, 0.86], [0.79, 0.84], [0.82, 0.87]])
    levels = np.array([LINEAR, TREES])
    assert simplest(noisy, levels, 1) == 0
    assert simplest(clear, levels, 1) == 1
    assert simplest(noisy, np.array([LINEAR, LINEAR]), 1) == 1  # none is the simpler: the better one
    assert simplest(noisy[:, ::-1], levels[::-1], 1) == 1  # wherever it stands
    assert simplest(np.full((3, 2), 0.8), levels, 1) == 0


def test_repeats_of_the_same_rows_are_no_new_evidence():
    gains = np.tile([0.03, -0.02, 0.012], 4)
    assert ahead(gains, repeats=1) and not ahead(gains, repeats=4)


# --- probabilities --------------------------------------------------------------------------------


def test_probabilities_rank_as_scores_do_and_predict_agrees():
    X, y = problem()
    model = fitted(X, y)
    scores, chances = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert roc_auc(y, chances[:, 1], pos_label="bad") == roc_auc(y, scores, pos_label="bad")
    np.testing.assert_array_equal(model.predict(X), model.classes_[(chances[:, 1] > 0.5).astype(int)])


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
    assert calibrated(scores, label).slope > 0.0
    assert calibrated(np.zeros(40), label).slope > 0.0


def test_the_threshold_finds_more_of_the_rare_than_one_half_does():
    X, y = problem(2000, rare=0.03)
    model = fitted(X, y)
    found = model.decision_function(X) > model.threshold_
    assert found[y == "bad"].mean() > (model.predict(X) == "bad")[y == "bad"].mean() + 0.1


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


@pytest.mark.parametrize("name", ["kernel", "boosting", "RankSVM"])
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


def test_trees_score_sparse_rows_in_blocks(monkeypatch):
    X, y = problem(100)
    rows = sparse.csr_array(X)
    model = fitted(rows, y, methods="boosting", cv=2)
    expected = model.decision_function(rows)
    monkeypatch.setattr("auclid.auto._trial.BLOCK", 7)
    np.testing.assert_array_equal(model.decision_function(rows), expected)


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
        ("logistic", "dropped: the search ended before it"),
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
        (["zzzz"], r"got 'zzzz'\. Known are: logistic, kernel, boosting"),
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
