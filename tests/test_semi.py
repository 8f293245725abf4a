"""SAMULT and PNU-AUC: the risks, their minimisers, the input contract, and what is chosen by itself."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, optimize, sparse
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV

import reference_semi as slow
from auclid import PNUAUC, QSGS2AUC, SAMULT, Kernelized, KMeansNystroem, LeastSquaresAUC, RandomFourier, _sizes, make
from auclid.data import Stacked, as_table
from auclid.solvers.semi_supervised import CURVATURE, PNU, Samult, across, best, combine, inside
from auclid.stats.moments import grouped_moments
from auclid.stats.prior import energy_prior
from auclid.stats.samples import ReservoirSample, SetSamples, extend_sample, merge_samples
from auclid.stats.sets import Sets

EVERY = [SAMULT, PNUAUC, QSGS2AUC]


def quick(cls, **params):
    """An estimator that costs little, with nothing left to choose."""
    given = {"alpha": 0.1, "unlabeled_weight": 0.3}
    if cls is QSGS2AUC:
        given |= {"n_iter": 3, "n_components": 4, "batch_size": 4, "gamma": 0.5, "random_state": 0}
    if cls is PNUAUC:
        given |= {"prior": 0.4}
    return cls(**given | params)


def three_sets(seed, n=6, p=5, u=9, d=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((p, d)) + 0.7, rng.standard_normal((u, d)) + 0.3


def marked(neg, pos, unl, mark=-1):
    """The three sets as X and y."""
    y = np.repeat([0, 1, mark], [len(neg), len(pos), len(unl)])
    return np.vstack([neg, pos, unl]), y


def block_moments(block):
    return grouped_moments(as_table(block), np.zeros(len(block), np.int8), 1)[0]


def moments(neg, pos, unl):
    return Sets(block_moments(neg), block_moments(pos), block_moments(unl))


def mixed(seed=0, n=400, labelled=60, d=4, share=0.3):
    """Rows of two shifted Gaussian clouds; few of them labelled."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    truth[:4] = [0, 1, 0, 1]
    X = rng.standard_normal((n, d))
    X[:, 0] += 1.5 * truth
    return X, np.where(np.arange(n) < labelled, truth, -1), truth


def quiet(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


# --- risks ----------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5), st.integers(1, 6), st.floats(0.0, 1.0))
def test_the_risk_of_samult_is_the_double_mean_over_explicit_pairs(seed, n, p, u, weight):
    sets = three_sets(seed, n, p, u)
    w = np.random.default_rng(seed + 1).standard_normal(3)
    risk = Samult().risk(moments(*sets), weight)
    assert risk.value(w) == pytest.approx(slow.samult_risk(w, *sets, weight), rel=1e-10)


@given(
    st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 5), st.integers(1, 6),
    st.floats(-1.0, 1.0), st.floats(0.05, 0.95),
)  # fmt: skip
def test_the_risk_of_pnu_is_the_double_mean_over_explicit_pairs(seed, n, p, u, weight, prior):
    sets = three_sets(seed, n, p, u)
    w = np.random.default_rng(seed + 1).standard_normal(3)
    risk = PNU(prior).risk(moments(*sets), weight)
    assert risk.value(w) == pytest.approx(slow.pnu_risk(w, *sets, weight, prior), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", [slow.zero_one, slow.sigmoid])
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), p=st.integers(1, 6))
def test_unlabelled_rows_of_the_true_mixture_tell_the_risk_of_a_symmetric_loss(loss, seed, n, p):
    neg, pos, _ = three_sets(seed, n, p)
    w = np.ones(3)
    neg, pos = neg @ w, pos @ w
    unl = np.concatenate([neg, pos])
    both = slow.across(pos, unl, loss) + slow.across(unl, neg, loss) - 0.5
    assert both == pytest.approx(slow.across(pos, neg, loss))


@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(2, 8))
def test_for_the_square_loss_the_true_mixture_adds_the_variance_within_classes(seed, n, p):
    neg, pos, _ = three_sets(seed, n, p)
    sets, share, w = moments(neg, pos, np.vstack([neg, pos])), p / (n + p), np.array([0.5, -1.0, 2.0])
    within = share * sets.pos.covariance + (1.0 - share) * sets.neg.covariance
    extra = Samult().risk(sets, 1.0).value(w) - across(sets.pos, sets.neg).value(w)
    assert extra == pytest.approx(0.5 + 2.0 * w @ within @ w)
    # R_PU* and R_NU* are R_PN but for pairs of a row with itself, which the mixture of so few rows holds.
    for sign, own, odds in ((1.0, sets.pos, share / (1.0 - share)), (-1.0, sets.neg, (1.0 - share) / share)):
        risk = PNU(share).risk(sets, sign).value(w)
        alone = odds * 2.0 / (own.n - 1.0) * w @ own.covariance @ w
        assert risk == pytest.approx(across(sets.pos, sets.neg).value(w) - alone)


def test_terms_combine():
    _, pos, unl = three_sets(0)
    a, b = block_moments(pos), block_moments(unl)
    both, w = combine((2.0, across(a, b)), (-0.5, inside(a)), constant=3.0), np.array([1.0, 2.0, -1.0])
    assert both.value(w) == pytest.approx(2.0 * across(a, b).value(w) - 0.5 * inside(a).value(w) + 3.0)


# --- minimisers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_samult_minimises_its_risk(weight):
    sets = three_sets(1)
    w = SAMULT(weight, alpha=0.2).fit(*marked(*sets)).coef_[0]
    best = optimize.minimize(lambda v: slow.samult_risk(v, *sets, weight) + 0.1 * v @ v, np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(w, best.x, atol=1e-5)


@pytest.mark.parametrize(("weight", "prior"), [(0.0, 0.4), (0.5, 0.2), (1.0, 0.2), (-0.5, 0.8), (-1.0, 0.8)])
def test_pnu_minimises_its_risk(weight, prior):
    sets = three_sets(2, 8, 8, 12)
    model = PNUAUC(weight, prior=prior, alpha=0.2).fit(*marked(*sets))
    best = optimize.minimize(lambda v: slow.pnu_risk(v, *sets, weight, prior) + 0.1 * v @ v, np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(model.coef_[0], best.x, atol=1e-5)
    assert model.unlabeled_weight_ == weight
    assert model.alpha_ == 0.2


def test_without_a_penalty_the_solution_is_the_shortest():
    neg, pos, unl = three_sets(3)
    double = [np.hstack([block, block]) for block in (neg, pos, unl)]
    w = SAMULT(0.5, alpha=0.0).fit(*marked(*double)).coef_[0]
    np.testing.assert_allclose(w[:3], w[3:])
    np.testing.assert_allclose(2.0 * w[:3], SAMULT(0.5, alpha=0.0).fit(*marked(neg, pos, unl)).coef_[0])


@pytest.mark.parametrize("cls", [SAMULT, PNUAUC])
@pytest.mark.parametrize("params", [{"unlabeled_weight": 0.0}, {}])
def test_weight_zero_and_no_unlabelled_rows_are_the_supervised_fit(cls, params):
    X, y, _ = mixed()
    labelled = y >= 0
    supervised = LeastSquaresAUC(alpha=0.1).fit(X[labelled], y[labelled])
    if params:
        model = cls(alpha=0.1, **params).fit(X, y)
    else:
        with pytest.warns(UserWarning, match="no unlabelled rows"):
            model = cls(alpha=0.1).fit(X[labelled], y[labelled])
    np.testing.assert_allclose(model.coef_, supervised.coef_)
    np.testing.assert_allclose(model.intercept_, supervised.intercept_)
    assert model.unlabeled_weight_ == 0.0


def test_a_risk_without_minimum_gets_less_weight_and_never_a_maximiser():
    rng = np.random.default_rng(0)
    neg, pos, unl = rng.standard_normal((4, 8)), rng.standard_normal((4, 8)) + 1.0, rng.standard_normal((50, 8))
    model = PNUAUC(-0.9, prior=0.1, alpha=1e-6)
    assert not PNU(0.1).risk(moments(neg, pos, unl), -0.9).convex()
    with pytest.warns(UserWarning, match="not convex at unlabeled_weight=-0.9.*reduced to -0"):
        model.fit(*marked(neg, pos, unl))
    assert -0.9 < model.unlabeled_weight_ < 0.0
    risk = PNU(0.1).risk(moments(neg, pos, unl), model.unlabeled_weight_)
    assert np.linalg.eigvalsh(risk.square).min() > -1e-9
    w = model.coef_[0]
    for step in 1e-2 * np.vstack([np.eye(8), -np.eye(8)]):
        assert risk.value(w) + 5e-7 * w @ w <= risk.value(w + step) + 5e-7 * (w + step) @ (w + step)
    supervised = across(moments(neg, pos, unl).pos, moments(neg, pos, unl).neg).square
    left = linalg.eigh(risk.square, supervised + 1e-9 * np.eye(8), eigvals_only=True).min()
    assert left == pytest.approx(CURVATURE, abs=0.01)


def test_a_reduced_weight_still_ranks():
    X, y, truth = mixed(n=2000, labelled=40, share=0.8)
    supervised = PNUAUC(0.0, alpha=1e-2).fit(X, y).score(X, truth)
    with pytest.warns(UserWarning, match="reduced to"):
        model = PNUAUC(1.0, prior=0.95, alpha=1e-2).fit(X, y)
    assert model.score(X, truth) > supervised - 0.1


@pytest.mark.parametrize("build", EVERY)
def test_score_leaves_out_unlabelled_rows(build):
    X, y, truth = mixed(n=400)
    model = quiet(quick(build), X, y)
    labelled = y >= 0
    assert model.score(X, y) == model.score(X[labelled], y[labelled])
    assert model.score(X, y) != model.score(X, truth)
    weight = np.random.default_rng(0).random(len(y))
    assert model.score(X, y, weight) == model.score(X[labelled], y[labelled], weight[labelled])


def test_marked_labels_can_be_searched():
    X, y, _ = mixed(n=400)
    search = GridSearchCV(SAMULT(alpha=0.1), {"unlabeled_weight": [0.0, 0.5]}, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.6


def test_a_risk_without_minimum_is_refused_where_the_weight_cannot_be_reduced():
    rng = np.random.default_rng(0)
    X, y = np.vstack([rng.standard_normal((3, 8)), 0.1 * rng.standard_normal((50, 8))]), np.repeat([1, 0], [3, 50])
    with pytest.raises(ValueError, match=r"must be convex.*Label more rows, or pass a smaller prior"):
        PNUAUC(prior=0.9, unlabeled=0, alpha=0.1).fit(X, y)


# --- rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [SAMULT, PNUAUC])
@pytest.mark.parametrize("params", [{"unlabeled_weight": 0.3, "alpha": 0.1}, {}])
def test_chunks_in_their_order_are_one_fit(cls, params, monkeypatch):
    monkeypatch.setattr(_sizes, "SAMPLE_CAPACITY", 40)
    X, y, _ = mixed()
    whole, parts = quiet(cls(**params), X, y), cls(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in np.array_split(np.arange(len(y)), 7):
            parts.partial_fit(X[part], y[part], classes=[0, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8)
    assert parts.alpha_ == pytest.approx(whole.alpha_)
    assert parts.unlabeled_weight_ == whole.unlabeled_weight_
    for a, b in zip(parts._seen.samples, whole._seen.samples, strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)


@pytest.mark.parametrize("cls", [SAMULT, PNUAUC])
def test_merged_models_are_one_fit(cls):
    X, y, _ = mixed()
    order = np.random.default_rng(1).permutation(len(y))
    a, b = order[:150], order[150:]
    merged = quick(cls).partial_fit(X[a], y[a], classes=[0, 1])
    assert merged.merge(quick(cls).partial_fit(X[b], y[b], classes=[0, 1])) is merged
    np.testing.assert_allclose(merged.coef_, quick(cls).fit(X, y).coef_)
    with pytest.raises(TypeError, match="another"):
        merged.merge(LeastSquaresAUC())
    with pytest.raises(ValueError, match="same parameters"):
        merged.merge(quick(cls, alpha=0.2).fit(X, y))


def test_a_stream_has_zero_scores_until_its_rows_suffice():
    X, y, _ = mixed()
    neg, pos, unl = (X[y == k] for k in (0, 1, -1))
    model = quick(SAMULT).partial_fit(unl, np.full(len(unl), -1), classes=[0, 1])
    model.partial_fit(neg, np.zeros(len(neg), dtype=int))
    assert not model.coef_.any()
    assert not model.decision_function(X).any()
    model.partial_fit(pos, np.ones(len(pos), dtype=int))
    np.testing.assert_allclose(model.coef_, quick(SAMULT).fit(*marked(neg, pos, unl)).coef_)
    model = quick(PNUAUC).partial_fit(unl, np.full(len(unl), -1), classes=[0, 1])
    model.partial_fit(np.vstack([neg, pos[:1]]), np.repeat([0, 1], [len(neg), 1]))
    assert not model.coef_.any()  # its risk needs a second positive
    assert model.partial_fit(pos[1:], np.ones(len(pos) - 1, dtype=int)).coef_.any()


@pytest.mark.parametrize("cls", EVERY)
def test_dense_sparse_marked_or_apart_are_one_fit(cls):
    X, y, _ = mixed()
    X[np.abs(X) < 0.5] = 0.0
    scores = quick(cls).fit(X, y).decision_function(X)
    np.testing.assert_allclose(quick(cls).fit(sparse.csr_array(X), y).decision_function(X), scores, atol=1e-9)
    labelled, rest = y >= 0, X[y < 0]
    for upper in (X[labelled], sparse.csr_matrix(X[labelled])):
        for lower in (rest, sparse.csr_array(rest)):
            apart = quick(cls).fit(upper, y[labelled], X_unlabeled=lower)
            np.testing.assert_allclose(apart.decision_function(X), scores, atol=1e-9)


def test_stacked_tables_are_the_rows_of_both():
    rng = np.random.default_rng(0)
    upper, lower = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    both, index = np.vstack([upper, lower]), np.array([7, 0, 5, 4, 0])
    for below in (lower, sparse.csr_array(lower)):
        table = Stacked(as_table(upper), as_table(below))
        assert table.shape == (9, 3)
        np.testing.assert_array_equal(table.take(index), both[index])
        np.testing.assert_array_equal(table.take(slice(3, 7)), both[3:7])
        np.testing.assert_allclose(table.matmul(np.ones(3), index), both[index].sum(axis=1))


@pytest.mark.parametrize("feature_map", [KMeansNystroem(20, random_state=0), RandomFourier(30, random_state=0)])
@pytest.mark.parametrize("cls", [SAMULT, PNUAUC])
def test_under_a_feature_map(cls, feature_map):
    X, y, truth = mixed()
    model = Kernelized(feature_map, quick(cls)).fit(X, y)
    Z = model.feature_map_.transform(X)
    np.testing.assert_allclose(model.decision_function(X), quick(cls).fit(Z, y).decision_function(Z), atol=1e-8)
    assert model.score(X, truth) > 0.75
    assert quiet(Kernelized(feature_map, cls()), X, y).score(X, truth) > 0.75
    apart = Kernelized(FrozenEstimator(model.feature_map_), quick(cls)).fit(X[:60], y[:60], X_unlabeled=X[60:])
    np.testing.assert_allclose(apart.decision_function(X), model.decision_function(X), atol=1e-8)
    narrow, upper, lower = Kernelized(feature_map, quick(cls)), X[:60].astype("f"), X[60:].astype("f")
    narrow.fit(upper, y[:60], X_unlabeled=lower)  # moments of plain kernel values, mixed afterwards
    np.testing.assert_allclose(narrow.decision_function(upper), model.decision_function(X[:60]), atol=1e-2)


@pytest.mark.parametrize("cls", EVERY)
def test_extremes_are_ordinary(cls):
    X, y, _ = mixed()
    one = y.copy()
    one[np.flatnonzero(y == 1)[1:]] = -1  # one positive row
    params = {"unlabeled_weight": -0.2} if cls is PNUAUC else {}
    assert np.isfinite(quiet(quick(cls, **params), X, one).decision_function(X)).all()
    constant = X.copy()
    constant[:, 1:] = 7.0
    twice = np.repeat(X, 2, axis=0)
    for rows, labels in ((constant, y), (twice, np.repeat(y, 2)), (1e-9 * X, y), (1e9 * X, y)):
        assert np.isfinite(quiet(quick(cls), rows, labels).decision_function(rows)).all()
    for rows in (X.astype(np.float32), np.asfortranarray(X)):
        rows.flags.writeable = False
        scores = quick(cls).fit(rows, y).decision_function(rows)
        assert scores.dtype == rows.dtype
        np.testing.assert_allclose(scores, quick(cls).fit(X, y).decision_function(X), atol=1e-3)


@pytest.mark.parametrize("cls", [SAMULT, PNUAUC])
def test_everything_chosen_by_itself_on_one_or_two_positives(cls):
    X, y, _ = mixed()
    for count in (1, 2, 3):
        few = y.copy()
        few[np.flatnonzero(y == 1)[count:]] = -1
        model = quiet(cls(), X, few)
        assert np.isfinite(model.coef_).all()
        assert model.alpha_ > 0.0


def test_too_many_columns_are_refused(monkeypatch):
    monkeypatch.setattr("auclid._sizes.MAX_STATE_COLUMNS", 3)
    X, y, _ = mixed()
    with pytest.raises(ValueError, match=r"SAMULT must be d x d.*d = 4 columns.*QSGS2AUC"):
        SAMULT().fit(X, y)


# --- the input contract ---------------------------------------------------------------------------

NAN = float("nan")
CONTRACT = [  # y, unlabeled, classes, numbers of unlabelled rows
    ([0, 1, 0, 1, -1, -1], "auto", [0, 1], [4, 5]),
    ([1, 2, 1, 2, -1, -1], "auto", [1, 2], [4, 5]),
    ([0.0, 1.0, 0.0, 1.0, -1.0, -1.0], "auto", [0, 1], [4, 5]),
    ([-1, 1, -1, 1, -1, 1], "auto", [-1, 1], []),
    ([-1, 0, -1, 0, -1, 0], "auto", [-1, 0], []),
    ([0, 1, 0, 1, 0, 1], "auto", [0, 1], []),
    ([0, 1, 0, 1, NAN, NAN], "auto", [0, 1], [4, 5]),
    ([-1, 1, -1, 1, NAN, NAN], "auto", [-1, 1], [4, 5]),
    ([0, 1, 0, 1, -1, NAN], "auto", [0, 1], [4, 5]),
    ([0, 1, 0, 1, None, None], "auto", [0, 1], [4, 5]),
    ([False, True, False, True, None, None], "auto", [False, True], [4, 5]),
    (["a", "b", "a", "b", None, NAN], "auto", ["a", "b"], [4, 5]),
    (["a", "b", "a", "b", "?", None], "?", ["a", "b"], [4, 5]),
    (["a", "b", "a", "b", "?", pd.NA], "?", ["a", "b"], [4, 5]),
    ([0, 1, 0, 1, -1, pd.NA], -1, [0, 1], [4, 5]),
    (["no", "yes", "no", "yes", "no", "yes"], "auto", ["no", "yes"], []),
    ([0, 1, 0, 1, 2, 2], 2, [0, 1], [4, 5]),
    ([-1, 1, -1, 1, 0, 0], 0, [-1, 1], [4, 5]),
    ([0, 1, 0, 1, -1, -1], -1, [0, 1], [4, 5]),
    ([0, 1, 0, 1, NAN, None], None, [0, 1], [4, 5]),
]


@pytest.mark.parametrize(("y", "unlabeled", "classes", "free"), CONTRACT)
@pytest.mark.parametrize("cls", EVERY)
def test_which_rows_are_unlabelled(cls, y, unlabeled, classes, free):
    X = np.random.default_rng(0).standard_normal((6, 2))
    model = quiet(quick(cls, unlabeled=unlabeled), X, np.array(y, dtype=object if {None, pd.NA} & set(y) else None))
    assert model.classes_.tolist() == classes
    plain = np.where([label is not pd.NA and label == classes[1] for label in y], 1, 0)
    plain[free] = -1
    same = quiet(quick(cls, unlabeled=-1), X, plain)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    assert set(model.predict(X)) <= set(classes)


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize(
    ("y", "unlabeled", "said"),
    [
        ([0, 1, 2, 0, 1, 2], "auto", r"Only binary.*multiclass.*told by unlabeled="),
        ([-1, 0, 1, 2, 0, 1], "auto", r"Only binary.*multiclass.*told by unlabeled="),
        ([-2, 0, 1, -2, 0, 1], "auto", r"Only binary.*multiclass.*told by unlabeled="),
        (["a", "b", "c", "a", "b", "c"], "auto", r"Only binary.*told by unlabeled="),
        ([0, 1, 2, 3, 0, 1], 3, r"Only binary.*told by unlabeled="),
        ([1, 1, 1, NAN, NAN, NAN], "auto", r"two classes.*got 1 class: \[1.0\].*say so: unlabeled="),
        ([1, 1, 1, 1, 1, 1], "auto", r"two classes.*got 1 class: \[1\].*say so: unlabeled="),
        ([NAN] * 6, "auto", r"two classes.*got 0 class"),
        ([0.5, 1.5, 0.2, 0.1, 0.7, 0.6], "auto", "Unknown label type"),
        ([0, "a", None, 1, "b", None], "auto", "labels of one kind"),
        ([0, np.inf, 1, 0, 1, 0], "auto", "infinity"),
        (None, "auto", "requires y to be passed"),
        ([0, 1, 0], "auto", "inconsistent numbers of samples"),
    ],
)
def test_what_is_not_of_the_contract_is_refused(cls, y, unlabeled, said):
    X = np.random.default_rng(0).standard_normal((6, 2))
    model = quick(cls, unlabeled=unlabeled)
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match=said):
        model.fit(X, y if y is None else np.array(y, dtype=object if None in y else None))
    assert pickle.dumps(vars(model)) == before


@pytest.mark.parametrize("cls", EVERY)
def test_a_stream_keeps_the_contract(cls):
    X, y, _ = mixed(n=40, labelled=20)
    model = quick(cls)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X[20:], y[20:])  # unlabelled rows only: -1 could be a class
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X[:3], [1, 1, NAN])
    with pytest.raises(ValueError, match=r"Only binary.*told by unlabeled="):
        model.partial_fit(X[:4], [0, 1, 2, 3])
    assert not hasattr(model, "classes_")
    model.partial_fit(X[20:], y[20:], classes=[0, 1])
    model.partial_fit(X[:20], y[:20], classes=[1, 0])
    assert model.classes_.tolist() == [0, 1]
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match=r"only the classes \[0, 1\].*got \[2\]"):
        model.partial_fit(X[:2], [2, 1])
    with pytest.raises(ValueError, match="must be the classes"):
        model.partial_fit(X[:2], [0, 1], classes=[0, 2])
    assert pickle.dumps(vars(model)) == before
    signed = quick(cls).partial_fit(X[:4], [-1, 1, -1, None], classes=[-1, 1])
    assert signed.classes_.tolist() == [-1, 1]
    assert signed.partial_fit(X[:2], [-1, 1]).decision_function(X).any()


@pytest.mark.parametrize("cls", EVERY)
def test_unlabelled_rows_apart_must_have_the_columns_of_x(cls):
    X, y, _ = mixed()
    for wrong in (X[:, :3], X[0], [["a"] * 4]):
        with pytest.raises(ValueError, match="X_unlabeled must be rows like those of X"):
            quick(cls).fit(X, y, X_unlabeled=wrong)


@pytest.mark.parametrize("cls", EVERY)
def test_no_unlabelled_rows_are_said_once(cls):
    X, _, truth = mixed()
    with pytest.warns(UserWarning) as said:
        quick(cls).fit(X, truth)
    assert len(said) == 1
    assert "no unlabelled rows" in str(said[0].message)
    assert said[0].filename == __file__


# --- positive and unlabelled rows -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("positive", "mark", "unlabeled", "classes"),
    [
        (1, 0, 0, [0, 1]),
        (0, 1, 1, [1, 0]),
        (1, -1, -1, [-1, 1]),
        (1.0, NAN, NAN, [0.0, 1.0]),
        (0, None, None, [1, 0]),
        (True, None, None, [False, True]),
        ("spam", "?", "?", ["?", "spam"]),
        ("spam", None, None, ["not spam", "spam"]),
    ],
)
def test_the_one_labelled_class_is_positive(positive, mark, unlabeled, classes):
    X, _, truth = mixed(n=300)
    y = np.array([positive if t and i % 2 else mark for i, t in enumerate(truth)], dtype=object)
    model = PNUAUC(prior=0.2, unlabeled=unlabeled).fit(X, y)
    assert model.classes_.tolist() == classes
    assert (model.unlabeled_weight_, model.prior_) == (1.0, 0.2)
    assert model.score(X, np.where(truth == 1, classes[1], classes[0])) > 0.8
    known = truth.astype(bool) & (np.arange(300) % 2 == 1)
    unl, pos = X[~known], X[known]
    best = optimize.minimize(
        lambda v: slow.pnu_risk(v, unl[:1], pos, unl, 1.0, 0.2) + 0.5 * model.alpha_ * v @ v, model.coef_[0], tol=1e-8
    )
    np.testing.assert_allclose(model.coef_[0], best.x, atol=1e-4)


def test_a_stream_of_positive_and_unlabelled_rows():
    X, _, truth = mixed(n=300)
    for positive, mark in ((1, 0), (0, 1)):
        y = np.where((truth == 1) & (np.arange(300) % 2 == 1), positive, mark)
        whole = PNUAUC(1.0, prior=0.2, alpha=0.1, unlabeled=mark).fit(X, y)
        parts = PNUAUC(1.0, prior=0.2, alpha=0.1, unlabeled=mark)
        for part in np.array_split(np.arange(300), 3):
            parts.partial_fit(X[part], y[part], classes=[0, 1])
        np.testing.assert_allclose(parts.coef_, whole.coef_)
        assert parts.classes_.tolist() == whole.classes_.tolist() == [mark, positive]


def test_a_stream_of_negative_and_unlabelled_rows():
    X, _, truth = mixed(n=300)
    y = np.where((truth == 0) & (np.arange(300) % 2 == 1), 0, -1)
    model = make("NU-AUC", prior=0.4).partial_fit(X, y, classes=[0, 1])
    assert model.unlabeled_weight_ == -1.0
    assert model.score(X, truth) > 0.8


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (SAMULT(unlabeled=0), r"SAMULT must have labelled rows of both classes; got 5 positive and 0 negative"),
        (QSGS2AUC(unlabeled=0), r"QSGS2AUC must have labelled rows of both classes; got 5 positive and 0 negative"),
        (PNUAUC(0.5, prior=0.3, unlabeled=0), "rows of the other class unless .weight. is 1; got 5 positive"),
        (PNUAUC(0.0, unlabeled=0), "labelled rows of both classes; got 5 positive and 0 negative"),
        (PNUAUC(1.0, unlabeled=0), "must have prior=, since without labelled rows of both classes"),
    ],
)
def test_positive_and_unlabelled_rows_are_refused_where_the_risk_needs_more(model, said):
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(ValueError, match=said):
        model.fit(X, np.repeat([1, 0], [5, 15]))


@pytest.mark.parametrize("weight", [0.5, -0.5])
def test_pairs_within_a_class_need_two_rows(weight):
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = np.repeat([0, 1, -1], [5, 1, 14] if weight > 0 else [1, 5, 14])
    with pytest.raises(ValueError, match=r"must have two (positive|negative) rows \(its risk takes pairs of them\)"):
        PNUAUC(weight, prior=0.3).fit(X, y)
    assert quiet(PNUAUC(prior=0.3), X, y).coef_.any()  # which weight, is left to it


# --- the class prior ------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_the_class_prior_is_estimated_within_its_error(share):
    off = []
    for seed in range(5):
        X, _, truth = mixed(seed, n=1500, share=share)
        neg, pos = np.flatnonzero(truth == 0)[:60], np.flatnonzero(truth == 1)[:60]
        rest = np.setdiff1d(np.arange(1500), np.concatenate([neg, pos]))
        prior = energy_prior(X[neg], X[pos], X[rest])
        assert 0.02 < prior.error < 0.2
        off.append((prior.value - truth[rest].mean()) / prior.error)
        scaled = energy_prior(*(sparse.csr_array(X[index] * [1.0, 1e3, 1e-3, 1.0]) for index in (neg, pos, rest)))
        assert scaled.value == pytest.approx(prior.value)
    assert np.abs(off).max() < 4.0
    assert np.abs(np.mean(off)) < 1.5


def test_the_class_prior_is_kept_and_doubted():
    X, y, _ = mixed(n=2000, labelled=300)
    model = PNUAUC(0.2).fit(X, y)
    assert model.prior_ == pytest.approx(0.3, abs=0.15)
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match=r"uses the class prior.*poorly.*Pass prior="):
        PNUAUC(0.2).fit(rng.standard_normal((100, 2)), np.where(np.arange(100) < 20, np.arange(100) % 2, -1))
    with pytest.warns(UserWarning, match=r"class prior 0.01, but its estimate, -.*lies outside"):
        PNUAUC(0.2).fit(np.where(y == -1, -4.0, 0.0)[:, None] + X, y)
    with pytest.warns(UserWarning, match="poorly"):
        PNUAUC(0.2).fit(np.ones((60, 2)), np.where(np.arange(60) < 20, np.arange(60) % 2, -1))
    assert np.isnan(PNUAUC(0.0).fit(X, y).prior_)


# --- samples and choices --------------------------------------------------------------------------


def test_a_sample_holds_each_row_with_the_same_probability(monkeypatch):
    monkeypatch.setattr(_sizes, "SAMPLE_CAPACITY", 10)
    rng, counts = np.random.default_rng(0), np.zeros(40)
    table = as_table(np.arange(40.0)[:, None])
    for _ in range(2000):
        first = extend_sample(ReservoirSample(), table, np.arange(25), rng.random(25))
        second = extend_sample(ReservoirSample(), table, np.arange(25, 40), rng.random(15))
        both = merge_samples(first, second, rng)
        assert (both.seen, both.held, len(both.rows)) == (40, 10, 10)
        counts[both.rows[:, 0].astype(int)] += 1
    assert len(np.unique(both.rows)) == 10
    assert np.abs(counts - 500.0).max() < 5.0 * np.sqrt(2000 * 0.25 * 0.75)


def test_a_sample_of_few_rows_is_all_of_them():
    table = as_table(np.arange(6.0)[:, None])
    members = [np.array([0, 2]), np.array([1]), np.array([], dtype=int)]
    samples = SetSamples().after(table, members, np.random.default_rng(0))
    np.testing.assert_array_equal(samples.neg.rows[:, 0], [0.0, 2.0])
    np.testing.assert_array_equal(samples.pos.rows[:, 0], [1.0])
    assert samples.unl.rows is None
    both = samples.union(samples, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(both.neg.rows[:, 0]), [0.0, 0.0, 2.0, 2.0])
    assert both.unl.rows is None


def test_a_weight_must_beat_the_supervised_fit_clearly():
    rng = np.random.default_rng(0)
    base = 0.8 + 0.05 * rng.standard_normal((10, 1, 1))
    noise = 0.01 * rng.standard_normal((10, 1, 1))
    noise -= noise.mean()
    scores = np.concatenate([base, base + noise + 0.003, base + noise + 0.004], axis=1)
    scores = np.concatenate([scores, scores - 0.1, scores], axis=2)  # the third alpha ties with the first
    error = noise.std(ddof=1) * np.sqrt(1.0 / 10.0 + 0.25)
    assert best(scores, 0.25, 0.9 * 0.004 / error) == (2, 2)
    assert best(scores, 0.25, 1.1 * 0.004 / error) == (0, 2)
    assert best(scores, 0.25, 0.0) == (2, 2)  # always a little better than the first
    doubtful = scores.copy()
    doubtful[:, 1] += np.where(np.arange(10) % 2, 0.01, -0.01)[:, None]
    assert best(doubtful, 0.25, 0.0) == (1, 2)  # the two cannot be told apart
    scores[3, 2] = np.nan  # not convex in one fold
    assert best(scores, 0.25, 0.0) == (1, 2)
    assert best(np.full((5, 1, 7), np.nan), 0.25, 1.0) == (0, 3)
    scores = np.full((10, 2, 3), 0.8) + 0.001 * rng.standard_normal((10, 2, 3))
    scores[:, 0, 1], scores[:, 1, 0], scores[:, 1, 2] = 0.82, 0.9, 0.85
    assert best(scores, 0.25, 0.0) == (1, 2)  # not with the first alpha, which the supervised fit does not stand


def test_alpha_chosen_is_the_best_held_out_one():
    X, y, truth = mixed(n=1000, labelled=40, d=30)
    model = SAMULT(0.0).fit(X, y)
    alphas = model.alpha_ * np.array([1e-4, 1.0, 1e4])
    aucs = [SAMULT(0.0, alpha=alpha).fit(X, y).score(X[40:], truth[40:]) for alpha in alphas]
    assert aucs[1] > aucs[0]
    assert aucs[1] >= aucs[2] - 0.02


def test_unlabelled_rows_help_where_columns_are_correlated_and_labels_few():
    gains, chosen = [], []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 3000)
        X = rng.standard_normal((3000, 20))
        X[:, 0] += 1.2 * truth
        X = X @ rng.standard_normal((20, 20))
        y = np.where(np.arange(3000) < 60, truth, -1)
        model, supervised = SAMULT(alpha=1e-3).fit(X, y), SAMULT(0.0, alpha=1e-3).fit(X, y)
        gains.append(model.score(X[60:], truth[60:]) - supervised.score(X[60:], truth[60:]))
        chosen.append(model.unlabeled_weight_)
    assert np.mean(gains) > 2.0 * np.std(gains) / np.sqrt(24)
    assert np.min(gains) > -0.01
    assert np.mean(chosen) > 0.05


def test_the_registry_knows_the_family():
    assert isinstance(make("SAMULT"), SAMULT)
    assert (make("PU-AUC").unlabeled_weight, make("NU-AUC").unlabeled_weight) == (1.0, -1.0)
    assert isinstance(make("PNU-AUC"), PNUAUC)
    assert isinstance(make("QSG-S2AUC"), QSGS2AUC)
