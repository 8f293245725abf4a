"""MulticlassAUC and MinimaxAUC: against all pairs, other optimisers, and the laws of sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from auclid import LeastSquaresAUC, MinimaxAUC, MulticlassAUC, load, save
from auclid.metrics import auc_by_group, multiclass_auc, roc_auc
from auclid.solvers.multiclass import least_worst
from auclid.stats.moments import grouped_moments


def several(n=90, d=3, K=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[: 2 * K] = np.tile(np.arange(K), 2)
    return rng.normal(size=(n, d)) + rng.normal(size=(K, d))[y], y


def grouped(n=160, d=3, G=3, seed=0):
    """Groups in which other columns tell the classes apart."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, G, n)
    X = rng.normal(size=(n, d)) + 1.5 * y[:, None] * rng.normal(size=(G, d))[group] + rng.normal(size=(G, d))[group]
    return X, y, group


def pair_loss(X, Z, w, u=None, v=None):
    """Mean square loss over all pairs of a row of X and a row of Z."""
    margin = (X @ w)[:, None] - (Z @ w)[None, :]
    pair = np.ones_like(margin) if u is None else np.multiply.outer(u, v)
    return np.sum(pair * (1.0 - margin) ** 2) / pair.sum()


# Several classes


@pytest.mark.parametrize("alpha", [1e-4, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_class_minimises_the_mean_over_all_its_pairs(alpha, weighted):
    X, y = several()
    weight = np.random.default_rng(1).random(len(y)) + 0.2 if weighted else np.ones(len(y))
    model = MulticlassAUC(alpha).fit(X, y, weight if weighted else None)
    for a in range(4):
        def objective(w, a=a):
            losses = [
                pair_loss(X[y == a], X[y == b], w, weight[y == a], weight[y == b]) for b in range(4) if b != a
            ]
            return np.mean(losses) + alpha / 2 * w @ w

        w = model.coef_[a]
        slope = [(objective(w + 1e-5 * e) - objective(w - 1e-5 * e)) / 2e-5 for e in np.eye(3)]
        np.testing.assert_allclose(slope, 0.0, atol=1e-8)


def test_two_classes_are_least_squares_auc():
    X, y = several(K=2)
    for alpha in (0.0, 1e-4, 0.1):
        got, want = MulticlassAUC(alpha).fit(X, y), LeastSquaresAUC(alpha).fit(X, y)
        np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-9)
        assert got.coef_.shape == (1, 3) and got.intercept_.shape == (1,)
        assert got.score(X, y) == roc_auc(y, got.decision_function(X))


def test_chunks_in_any_order_and_merges_give_the_model_of_all_rows():
    X, y = several(200)
    whole = MulticlassAUC().fit(X, y)
    order = np.argsort(y, kind="stable")  # batches of one class each
    stream = MulticlassAUC()
    for part in np.array_split(order, 9):
        stream.partial_fit(X[part], y[part], classes=np.arange(4))
    parts = [MulticlassAUC().partial_fit(X[k::2], y[k::2], classes=range(4)) for k in range(2)]
    for other in (stream, parts[0].merge(parts[1])):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(other.intercept_, whole.intercept_, rtol=1e-8, atol=1e-12)


def test_a_class_not_yet_seen_is_not_predicted():
    X, y = several(100)
    few = y < 2
    model = MulticlassAUC().partial_fit(X[few], y[few], classes=range(4))
    assert set(model.predict(X)) <= {0, 1} and model.decision_function(X).shape == (100, 4)
    model = MulticlassAUC().partial_fit(X[y == 0], y[y == 0], classes=range(4))
    assert not model.decision_function(X).any() and not model.coef_.any()


def test_score_is_hand_and_tills_m_and_models_are_useful():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = MulticlassAUC().fit(X, names)
    assert model.score(X, names) == pytest.approx(multiclass_auc(names, model.decision_function(X)).auc)
    assert set(model.predict(X)) == set(names) and np.mean(model.predict(X) == names) > 0.8
    weight = np.random.default_rng(0).integers(0, 3, 150)
    repeated = model.score(np.repeat(X, weight, axis=0), np.repeat(names, weight))
    assert model.score(X, names, weight) == pytest.approx(repeated)
    wine = make_pipeline(StandardScaler(), MulticlassAUC())
    assert cross_val_score(wine, *load_wine(return_X_y=True)).mean() > 0.99


def test_bad_classes_get_a_sentence():
    X, y = several()
    with pytest.raises(ValueError, match=r"two classes to rank one above the other; got 1 class"):
        MulticlassAUC().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"each of positive weight; got sample_weight zero on every row of class 2"):
        MulticlassAUC().fit(X, y, (y != 2).astype(float))
    model = MulticlassAUC().partial_fit(X, y)
    with pytest.raises(ValueError, match="must hold only the classes"):
        model.partial_fit(X[:1], [7])
    with pytest.raises(ValueError, match="too large a state"):
        MulticlassAUC().fit(np.zeros((4, 9000)), [0, 1, 2, 2])


# Groups


def objective(X, y, group, w, alpha):
    """The largest mean over pairs of groups, by all pairs, and the penalty."""
    worst = 0.0
    for g in np.unique(group[y == 1]):
        for h in np.unique(group[y == 0]):
            worst = max(worst, pair_loss(X[(y == 1) & (group == g)], X[(y == 0) & (group == h)], w))
    return worst + alpha / 2 * w @ w


@pytest.mark.parametrize("alpha", [1e-4, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_the_worst_pair_is_best(seed, alpha):
    X, y, group = grouped(seed=seed)
    model = MinimaxAUC(alpha).fit(X, y, group)
    w = model.coef_[0]
    value = objective(X, y, group, w, alpha)
    assert model.gap_ < 1e-8
    assert np.nanmax(model.risks_) + alpha / 2 * w @ w == pytest.approx(value, rel=1e-10)
    for g in range(3):
        for h in range(3):
            pairs = X[(y == 1) & (group == g)], X[(y == 0) & (group == h)]
            assert model.risks_[g, h] == pytest.approx(pair_loss(*pairs, w), rel=1e-10)
    assert model.pair_weights_.sum() == pytest.approx(1.0) and model.pair_weights_.min() >= 0.0
    # Only pairs as bad as the worst have weight.
    assert np.sum(model.pair_weights_ * (np.nanmax(model.risks_) - model.risks_)) < 1e-7
    slow = minimize(
        lambda z: z[-1] + alpha / 2 * z[:-1] @ z[:-1],
        np.append(LeastSquaresAUC(alpha).fit(X, y).coef_[0], 2.0),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda z, a=X[(y == 1) & (group == g)], b=X[(y == 0) & (group == h)]: z[-1]
                - pair_loss(a, b, z[:-1]),
            }
            for g in range(3)
            for h in range(3)
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert value == pytest.approx(slow.fun, rel=1e-6) and value <= slow.fun * (1 + 1e-8)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 1e-6, 1e-2, 1.0]))
@settings(max_examples=40, deadline=None)
def test_the_gap_certifies(seed, n_pos, n_neg, alpha):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) * np.exp(rng.normal(size=3))
    member = np.arange(60) % (n_pos + n_neg)
    moments = grouped_moments(X + rng.normal(size=(n_pos + n_neg, 3))[member], member, n_pos + n_neg)
    got = least_worst(moments[:n_pos], moments[n_pos:], alpha)
    assert 0.0 <= got.gap < 1e-6
    best = got.risks.max() + alpha / 2 * got.w @ got.w
    for _ in range(20):
        w = got.w + 0.3 * rng.normal(size=3) * rng.random()
        risks = [
            (1 - w @ (p.mean - n.mean)) ** 2 + w @ (p.covariance + n.covariance) @ w
            for p in moments[:n_pos]
            for n in moments[n_pos:]
        ]
        assert max(risks) + alpha / 2 * w @ w >= best * (1.0 - got.gap) - 1e-12


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 0.1])
def test_without_groups_it_is_least_squares_auc(alpha):
    X, y, _ = grouped()
    want = LeastSquaresAUC(alpha).fit(X, y)
    for groups in (None, np.zeros(len(y)), ["one"] * len(y)):
        got = MinimaxAUC(alpha).fit(X, y, groups)
        np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-9)
        assert got.gap_ == pytest.approx(0.0, abs=1e-12) and got.n_iter_ == 1


def test_streams_and_merges_of_groups_add_up():
    X, y, group = grouped(300)
    names = np.array(["north", "south", "west"])[group]
    whole = MinimaxAUC().fit(X, y, names)
    stream = MinimaxAUC()
    for part in np.array_split(np.lexsort((y, group)), 7):  # a batch of a group, often of one class
        stream.partial_fit(X[part], y[part], names[part], classes=[0, 1])
    halves = [MinimaxAUC().partial_fit(X[at], y[at], names[at], classes=[0, 1]) for at in (group < 1, group >= 1)]
    for other in (stream, halves[0].merge(halves[1])):
        assert other.groups_.tolist() == ["north", "south", "west"]
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(other.risks_, whole.risks_, rtol=1e-5)
    with pytest.raises(ValueError, match="must be of one kind"):
        stream.partial_fit(X[:2], [0, 1], [1, 2])


def test_a_group_without_a_class_counts_in_its_other_pairs():
    X, y, group = grouped()
    y = np.where(group == 2, 1, y)
    model = MinimaxAUC().fit(X, y, group)
    assert np.isnan(model.risks_[:, 2]).all() and not np.isnan(model.risks_[:, :2]).any()
    w = model.coef_[0]
    assert np.nanmax(model.risks_) + 5e-5 * w @ w == pytest.approx(objective(X, y, group, w, 1e-4))


def test_the_worst_auc_improves_where_a_minority_is_overlooked():
    rng = np.random.default_rng(0)
    y, group = np.arange(4000) % 2, (np.arange(4000) % 20 >= 18).astype(int)
    X = rng.normal(size=(4000, 2))
    X[:, 0] += 1.5 * y * (group == 0)
    X[:, 1] += 1.5 * y * (group == 1)
    plain, fair = LeastSquaresAUC().fit(X, y), MinimaxAUC().fit(X, y, group)
    before, after = (auc_by_group(y, m.decision_function(X), group).worst.auc for m in (plain, fair))
    assert after > before + 0.1


def test_bad_groups_get_a_sentence():
    X, y, group = grouped()
    with pytest.raises(ValueError, match=r"'groups' of MinimaxAUC must be one a row; got 3 for 160 rows"):
        MinimaxAUC().fit(X, y, group[:3])
    with pytest.raises(ValueError, match="must have a label in each row"):
        MinimaxAUC().fit(X, y, [None, *["a"] * 159])


@pytest.mark.parametrize("kind", ["several classes", "groups"])
def test_files_keep_everything(kind, tmp_path):
    if kind == "groups":
        X, y, group = grouped()
        model = MinimaxAUC().fit(X, y, np.array(["a", "b", "c"])[group])
    else:
        X, y = several()
        model = MulticlassAUC().fit(X, y)
    save(tmp_path / "model", model)
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    a, b = (m.merge(type(m)().fit(*(X, y, np.array(["a", "b", "c"])[group]) if kind == "groups" else (X, y)))
            for m in (model, again))  # fmt: skip
    np.testing.assert_array_equal(a.coef_, b.coef_)
