"""LeastSquaresAUC and LeastSquaresAUCCV against explicit pairs and against naive refits."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold

import reference
from auclid import LeastSquaresAUC, LeastSquaresAUCCV

LAYOUTS = {"dense": np.asarray, "float32": lambda X: X.astype(np.float32), "CSR": sparse.csr_array}
SOLVERS = ["moments", "products"]
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def problem(n=40, d=4, seed=0, share=0.3):
    """Sparse-ish rows on a grid that float32 holds exactly; the first column tells the classes apart."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)) * 16) / 16 * (rng.random((n, d)) < 0.7)
    y = (np.arange(n) < share * n).astype(int)
    X[:, 0] += y
    return X, y


def weights(n, seed=0):
    return np.random.default_rng(seed).integers(0, 4, n).astype(float)


@every_layout
@every_solver
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-4, 0.5])
def test_it_is_least_squares_over_all_pairs(layout, solver, weighted, alpha):
    X, y = problem()
    weight = weights(len(y)) if weighted else None
    model = LeastSquaresAUC(alpha, solver=solver, tol=1e-12).fit(layout(X), y, sample_weight=weight)
    expected = reference.pair_least_squares(X, y == 1, alpha, weight)
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-7, atol=1e-9)
    assert model.coef_.dtype == model.intercept_.dtype == np.float64


@every_layout
@every_solver
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "settings", [{"l1": 0.4}, {"positive": True}, {"l1": 0.05, "positive": True}], ids=str
)
def test_l1_and_positive_reach_the_optimum(layout, solver, weighted, settings):
    X, y = problem(d=5)
    X[:, 4] *= -1.0
    X[:, 3] = -0.5 * y + X[:, 3]
    weight = weights(len(y)) if weighted else None
    model = LeastSquaresAUC(0.01, solver=solver, tol=1e-10, max_iter=100_000, **settings)
    w = model.fit(layout(X), y, sample_weight=weight).coef_[0]
    positive = settings.get("positive", False)
    miss = reference.least_subgradient(w, X, y == 1, 0.01, settings.get("l1", 0.0), weight, positive)
    assert miss < 1e-6
    assert (w == 0.0).any() and (w != 0.0).any() and not (positive and (w < 0.0).any())
    assert model.n_iter_ > 1


@given(st.integers(0, 2**32 - 1))
def test_no_other_weights_do_better(seed):
    X, y = problem(20, 3, seed)
    w = LeastSquaresAUC(0.05, l1=0.02, tol=1e-10).fit(X, y).coef_[0]
    best = reference.pair_objective(w, X, y == 1, 0.05, 0.02)
    for rival in w + np.random.default_rng(seed).standard_normal((5, 3)) * [
        [1e-3],
        [1e-2],
        [0.1],
        [1.0],
        [10.0],
    ]:
        assert best <= reference.pair_objective(rival, X, y == 1, 0.05, 0.02) + 1e-9


@every_solver
def test_an_l1_that_is_large_enough_leaves_nothing(solver):
    X, y = problem()
    model = LeastSquaresAUC(l1=1e3, solver=solver).fit(X, y)
    assert not model.coef_.any() and (model.decision_function(X) != 0.0).all()


@every_solver
@pytest.mark.parametrize(
    "case", ["more columns than pairs", "constant column", "twin columns", "rows all alike"]
)
def test_without_a_penalty_it_is_the_solution_of_least_norm(solver, case):
    X, y = problem(5, 12, share=0.4) if case == "more columns than pairs" else problem()
    if case == "constant column":
        X[:, 1] = 3.0
    if case == "twin columns":
        X[:, 2] = X[:, 0]
    if case == "rows all alike":
        X[:] = 2.0
    model = LeastSquaresAUC(alpha=0.0, solver=solver, tol=1e-12, max_iter=100_000).fit(X, y)
    expected = reference.pair_least_squares(X, y == 1, 0.0)
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-5, atol=1e-7)


def test_a_shift_of_all_rows_changes_nothing_but_the_intercept():
    X, y = problem()
    a, b = LeastSquaresAUC().fit(X, y), LeastSquaresAUC().fit(X + 1e6, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6)
    assert (a.predict(X) == b.predict(X + 1e6)).all()


@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_raw_columns_of_any_scale_give_finite_weights_and_the_same_ranking(solver):
    X, y = problem(200, 4)
    scale = np.array([1e6, 1.0, 1e-6, 1e3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        raw = LeastSquaresAUC(1e-12, solver=solver).fit(X * scale, y)
    assert np.isfinite(raw.coef_).all()
    assert raw.score(X * scale, y) == pytest.approx(LeastSquaresAUC(1e-12).fit(X, y).score(X, y), abs=0.02)


def test_rows_too_large_to_square_get_one_sentence():
    X, y = problem()
    for solver in SOLVERS:
        with (
            np.errstate(all="ignore"),
            pytest.raises(ValueError, match=r"must end with finite weights.*StandardScaler"),
        ):
            LeastSquaresAUC(solver=solver).fit(X * 1e200, y)


@every_layout
def test_chunks_in_any_order_and_merges_are_one_fit(layout):
    X, y = problem(60)
    weight = weights(60)
    whole = LeastSquaresAUC().fit(layout(X), y, sample_weight=weight)
    cuts = [slice(0, 7), slice(7, 8), slice(8, 18), slice(18, 40), slice(40, 60)]  # of one class, of one row
    for order in itertools.islice(itertools.permutations(cuts), 0, 120, 17):
        model = LeastSquaresAUC()
        for part in order:
            model.partial_fit(layout(X)[part], y[part], classes=[0, 1], sample_weight=weight[part])
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
        halves = [LeastSquaresAUC() for _ in range(2)]
        for k, part in enumerate(order):
            halves[k % 2].partial_fit(layout(X)[part], y[part], classes=[0, 1], sample_weight=weight[part])
        merged = halves[0].merge(halves[1])
        assert merged is halves[0]
        np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
        np.testing.assert_allclose(merged.intercept_, model.intercept_, rtol=1e-9)


def test_fits_merge_and_go_on():
    X, y = problem(60)
    odd, even = slice(0, 60, 2), slice(1, 60, 2)
    a, b = (LeastSquaresAUC(l1=0.01, tol=1e-10).fit(X[part], y[part]) for part in (odd, even))
    whole = LeastSquaresAUC(l1=0.01, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(a.merge(b).coef_, whole.coef_, rtol=1e-6)
    again = LeastSquaresAUC(l1=0.01, tol=1e-10).fit(X[odd], y[odd]).partial_fit(X[even], y[even])
    np.testing.assert_allclose(again.coef_, whole.coef_, rtol=1e-6)


def test_a_stream_cuts_halfway_between_the_class_means():
    X, y = problem()
    model = LeastSquaresAUC().partial_fit(X, y)
    scores = X @ model.coef_[0]
    assert model.intercept_[0] == pytest.approx(-0.5 * (scores[y == 1].mean() + scores[y == 0].mean()))


def test_one_class_so_far_gives_zero_scores():
    X, y = problem()
    model = LeastSquaresAUC().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert not model.coef_.any() and not model.decision_function(X).any()
    model.partial_fit(X[y == 1], y[y == 1])
    np.testing.assert_allclose(model.coef_, LeastSquaresAUC().fit(X, y).coef_, rtol=1e-9)


def test_a_batch_that_weighs_nothing_changes_nothing():
    X, y = problem()
    model = LeastSquaresAUC().partial_fit(X, y, sample_weight=np.zeros(len(y)))
    assert not model.coef_.any()
    model.partial_fit(X, y)
    before = model.coef_.copy(), model.intercept_.copy()
    model.partial_fit(-X, y, sample_weight=np.zeros(len(y)))
    assert (model.coef_ == before[0]).all() and (model.intercept_ == before[1]).all()


@every_solver
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_rows_of_zero_weight_count_for_nothing_the_threshold_included(solver, layout):
    X, y = problem()
    silly = np.vstack([X, 1e4 * np.ones((3, X.shape[1])), np.eye(3, X.shape[1])])
    label = np.concatenate([y, [0, 1, 0, 1, 0, 1]])
    weight = np.concatenate([np.ones(len(y)), np.zeros(6)])
    a = LeastSquaresAUC(solver=solver, tol=1e-12).fit(layout(X), y)
    b = LeastSquaresAUC(solver=solver, tol=1e-12).fit(layout(silly), label, sample_weight=weight)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-7)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_intercept_maximises_youdens_j(weighted):
    X, y = problem(50)
    weight = weights(50) if weighted else None
    model = LeastSquaresAUC().fit(X, y, sample_weight=weight)
    called = model.predict(X) == 1
    w = np.ones(50) if weight is None else weight
    reached = w[called & (y == 1)].sum() / w[y == 1].sum() - w[called & (y == 0)].sum() / w[y == 0].sum()
    assert reached == pytest.approx(reference.youden(y == 1, model.decision_function(X), weight))
    assert (np.abs(model.decision_function(X)[w > 0]) > 0.0).all()  # between scores, never on one


def wide(n=120, d=60_000, seed=0):
    X = sparse.random(n, d, density=5e-4, format="csr", random_state=seed)
    y = np.arange(n) % 4 == 0
    return X, y


def test_wide_sparse_rows_are_fitted_by_products_alone():
    X, y = wide()
    model = LeastSquaresAUC(0.01, tol=1e-10).fit(X, y)
    assert model.n_iter_ > 1 and model.score(X, y) > 0.95
    w, means = model.coef_[0], [np.asarray(X[y == c].mean(axis=0)).ravel() for c in (0, 1)]
    gap, g = means[1] - means[0], 0.01 * model.coef_[0]
    for c in (0, 1):
        rows = X[y == c]
        scores = rows @ w
        g += 2.0 * (rows.T @ (scores - scores.mean())) / len(scores)
    g += 2.0 * gap * (gap @ w) - 2.0 * gap
    assert np.linalg.norm(g) < 1e-6 * np.linalg.norm(2.0 * gap)


def test_wide_states_are_refused_with_the_name_of_a_method_that_fits():
    X, y = wide()
    model = LeastSquaresAUC()

    def fitted():
        return LeastSquaresAUC(alpha=0.1).fit(X, y)

    for ask in (
        lambda: model.partial_fit(X, y),
        lambda: LeastSquaresAUC(solver="moments").fit(X, y),
        lambda: fitted().merge(fitted()),
        lambda: fitted().partial_fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"d = 60000 columns.*SPAM"):
            ask()
    assert vars(model) == vars(LeastSquaresAUC())  # nothing half-changed
    small, label = problem()
    model.partial_fit(small, label)


def test_a_wide_path_is_that_of_refits():
    X, y = wide()
    cv = StratifiedKFold(2)
    model = LeastSquaresAUCCV([0.01, 1.0], cv=cv).fit(X, y)
    for row, (train, test) in zip(model.cv_auc_, cv.split(X, y), strict=True):
        refits = [LeastSquaresAUC(alpha).fit(X[train], y[train]).score(X[test], y[test]) for alpha in (0.01, 1.0)]
        np.testing.assert_allclose(row, refits, atol=1e-4)
    assert model.alpha_ in (0.01, 1.0) and model.score(X, y) > 0.95


def test_fit_by_products_says_why_no_rows_can_be_added():
    X, y = problem()
    with pytest.raises(ValueError, match=r"fit went by products and kept none\. Use solver='moments'"):
        LeastSquaresAUC(solver="products").fit(X, y).partial_fit(X, y)


def test_an_empty_column_takes_nothing_from_small_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) * [1e6, 1e-6, 0.0]
    y = X[:, 0] / 1e6 + X[:, 1] / 1e-6 + 0.5 * rng.standard_normal(300) > 0
    with_it, without = LeastSquaresAUC(0.0).fit(X, y), LeastSquaresAUC(0.0).fit(X[:, :2], y)
    np.testing.assert_allclose(with_it.coef_[0], [*without.coef_[0], 0.0], rtol=1e-9)


@pytest.mark.parametrize("how", [{"l1": 0.01}, {"positive": True}])
def test_products_bear_columns_of_unlike_scale(how):
    X, y = problem()
    X = X * np.logspace(-3, 3, X.shape[1])
    exact = LeastSquaresAUC(1e-6, solver="moments", **how).fit(X, y)
    ours = LeastSquaresAUC(1e-6, solver="products", tol=1e-9, max_iter=5000, **how).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), exact.decision_function(X), atol=1e-3)


@pytest.mark.parametrize(
    ("other", "error", "what"),
    [
        (LeastSquaresAUC(0.5), ValueError, "parameters"),
        (LeastSquaresAUCCV(), TypeError, "another LeastSquaresAUC"),
        ("columns", ValueError, "number of features"),
        ("labels", ValueError, "classes"),
        ("names", ValueError, "feature names"),
    ],
)
def test_merge_refuses_what_is_unlike(other, error, what):
    pd = pytest.importorskip("pandas")
    X, y = problem()
    model = LeastSquaresAUC().fit(X, y)
    before = model.coef_.copy()
    if other == "columns":
        other, X = LeastSquaresAUC(), X[:, :2]
    if other == "labels":
        other, y = LeastSquaresAUC(), np.where(y, "b", "a")
    if other == "names":
        other, X = LeastSquaresAUC(), pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(error, match=what):
        model.merge(other.fit(X, y))
    assert (model.coef_ == before).all()


def test_merge_wants_fitted_models():
    from sklearn.exceptions import NotFittedError

    X, y = problem()
    with pytest.raises(NotFittedError):
        LeastSquaresAUC().merge(LeastSquaresAUC().fit(X, y))
    with pytest.raises(NotFittedError):
        LeastSquaresAUC().fit(X, y).merge(LeastSquaresAUC())


@every_solver
def test_it_says_so_when_it_stops_early(solver):
    X, y = problem(d=6)
    with pytest.warns(ConvergenceWarning, match="LeastSquaresAUC stopped after 1 iterations"):
        model = LeastSquaresAUC(l1=1e-3, solver=solver, max_iter=1, tol=1e-12).fit(X, y)
    assert model.n_iter_ == 1 and np.isfinite(model.coef_).all()


def test_one_positive_row_is_enough():
    X, y = problem(share=0.02)
    assert y.sum() == 1
    np.testing.assert_allclose(
        LeastSquaresAUC().fit(X, y).coef_[0],
        reference.pair_least_squares(X, y == 1, 1e-4),
        rtol=1e-7,
        atol=1e-10,
    )


# --- the path -------------------------------------------------------------------------------------

ALPHAS = [1e-6, 1e-3, 0.1, 10.0]


def refitted(X, y, cv, weight, alphas=ALPHAS):
    """Held-out AUC by fitting anew on each training part."""
    table = []
    for train, test in cv.split(X, y) if hasattr(cv, "split") else cv:
        w = [None, None] if weight is None else [weight[train], weight[test]]
        row = []
        for alpha in alphas:
            try:
                scores = (
                    LeastSquaresAUC(alpha)
                    .fit(X[train], y[train], sample_weight=w[0])
                    .decision_function(X[test])
                )
                one = len(np.unique(y[test] if weight is None else y[test][w[1] > 0])) < 2
                row.append(np.nan if one else roc_auc_score(y[test], scores, sample_weight=w[1]))
            except ValueError:
                row.append(np.nan)
        table.append(row)
    return np.array(table)


SPLITTERS = {
    "stratified": StratifiedKFold(4),
    "shuffled": StratifiedKFold(3, shuffle=True, random_state=0),
    "not stratified, so folds lack a class": KFold(8),
    "not a partition": ShuffleSplit(3, test_size=0.3, random_state=0),
    "repeated": RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    "bootstrap": [(np.random.default_rng(k).integers(0, 60, 60), np.arange(k, 60, 3)) for k in range(3)],
}


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS)
def test_the_path_is_that_of_naive_refits(layout, weighted, cv):
    X, y = problem(60, 5)
    weight = weights(60) if weighted else None
    expected = refitted(layout(X), y, cv, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LeastSquaresAUCCV(ALPHAS, cv=cv).fit(layout(X), y, sample_weight=weight)
    np.testing.assert_allclose(model.cv_auc_, expected, rtol=1e-12)
    usable = ~np.isnan(expected).any(axis=1)
    mean = expected[usable].mean(axis=0)
    assert model.alpha_ == max(a for a, m in zip(ALPHAS, mean, strict=True) if m >= mean.max())
    final = LeastSquaresAUC(model.alpha_).fit(layout(X), y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, final.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, final.intercept_, rtol=1e-9)


def test_some_splitters_above_do_leave_folds_without_a_class():
    X, y = problem(60, 5)
    cells = refitted(X, y, SPLITTERS["not stratified, so folds lack a class"], None)
    assert np.isnan(cells).any(axis=1).sum() > 0 and not np.isnan(cells).all()


def test_splits_may_be_masks_and_alpha_may_be_zero():
    X, y = problem(60, 5)
    test = np.arange(60) % 3 == 0
    model = LeastSquaresAUCCV([0.0, 1.0], cv=[(~test, test)]).fit(X, y)
    np.testing.assert_allclose(model.cv_auc_, refitted(X, y, [(~test, test)], None, [0.0, 1.0]))


def test_a_splitter_meets_the_labels_as_they_were_given():
    X, y = problem(60, 5)
    names = np.where(y, "yes", "no")

    class ByName:
        def split(self, X, y=None, groups=None):
            assert set(y) == {"yes", "no"}
            yield from StratifiedKFold(3).split(X, y)

        def get_n_splits(self, *args):
            return 3

    assert LeastSquaresAUCCV(ALPHAS, cv=ByName()).fit(X, names).cv_auc_.shape == (3, 4)


def test_an_outlier_in_one_fold_spoils_no_other():
    X, y = problem(60, 5)
    X[59] = 1e8
    cv = StratifiedKFold(3)
    model = LeastSquaresAUCCV(ALPHAS, cv=cv).fit(X, y)
    (without,) = [k for k, (train, _) in enumerate(cv.split(X, y)) if 59 not in train]
    np.testing.assert_allclose(model.cv_auc_[without], refitted(X, y, cv, None)[without], rtol=1e-12)


def test_default_alphas_follow_the_scale_of_the_columns():
    X, y = problem(60, 5)
    a, b = LeastSquaresAUCCV(cv=3).fit(X, y), LeastSquaresAUCCV(cv=3).fit(X * 1e3, y)
    assert a.alphas_.shape == (50,) and a.cv_auc_.shape == (3, 50)
    np.testing.assert_allclose(b.alphas_, 1e6 * a.alphas_)
    np.testing.assert_allclose(a.cv_auc_, b.cv_auc_)
    assert LeastSquaresAUCCV(cv=3).fit(np.ones((12, 2)), np.arange(12) % 2).alpha_ > 0.0


@pytest.mark.parametrize("alphas", [[], [-1.0], [np.nan], [1.0, np.inf]])
def test_bad_alphas_get_one_sentence(alphas):
    with pytest.raises(
        ValueError, match=r"'alphas' parameter of LeastSquaresAUCCV must be .* floats in \[0.0, inf\)"
    ):
        LeastSquaresAUCCV(alphas).fit(*problem())


def test_no_usable_fold_gets_one_sentence():
    X, y = problem(20)
    order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match="must have a fold with both classes"):
        LeastSquaresAUCCV(cv=[(order[:10], order[10:])]).fit(X, y)


def test_folds_share_out_the_rows_that_count():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = (X[:, 0] + rng.standard_normal(200) > 0.8).astype(int)
    weight = (y == 0).astype(float)
    weight[np.flatnonzero(y)[:6]] = 1.0  # of the positives only these, all in the first fold's stretch
    model = LeastSquaresAUCCV().fit(X, y, sample_weight=weight)
    kept = weight > 0.0
    assert np.isfinite(model.cv_auc_).all()
    assert model.score(X[kept], y[kept]) > 0.6


def test_more_columns_than_rows_are_crossed_in_the_span_of_the_rows_to_the_same_result():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 70)), np.arange(40) % 3 == 0
    wide = LeastSquaresAUCCV().fit(X, y)
    anew = LeastSquaresAUC(alpha=wide.alpha_).fit(X, y)
    np.testing.assert_allclose(wide.coef_, anew.coef_, atol=1e-8 * np.abs(anew.coef_).max())
    by_hand = []
    for train, test in StratifiedKFold(5).split(X, y):
        models = (LeastSquaresAUC(alpha=alpha).fit(X[train], y[train]) for alpha in wide.alphas_[::7])
        by_hand.append([roc_auc_score(y[test], model.decision_function(X[test])) for model in models])
    np.testing.assert_allclose(wide.cv_auc_[:, ::7], by_hand, atol=1e-12)
