"""OrderedRanker and SurvivalRanker: optima of their objectives over all pairs, by double loops; wherever rows are."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, GroupKFold

import auclid
import reference_order as slow
from auclid import (
    Kernelized,
    LeastSquaresAUC,
    LeastSquaresAUCCV,
    OrderedRanker,
    RandomFourier,
    RankSVM,
    SurvivalRanker,
    _sizes,
)
from auclid.data import as_table
from auclid.metrics import concordance
from auclid.solvers.newton import Move
from auclid.solvers.ordered_pairs import ordered_objective
from auclid.solvers.ordered_square import _scatter_by_columns, square_system
from auclid.stats.pair_order import level_order, survival_order

CASES = ("levels", "groups", "censored", "censored groups")
LOSSES = {
    "squared_hinge": (lambda m: max(1 - m, 0) ** 2, lambda m: -2 * max(1 - m, 0), lambda m: 2.0 * (m < 1)),
    "logistic": (
        lambda m: np.log1p(np.exp(-m)),
        lambda m: -1 / (1 + np.exp(m)),
        lambda m: 1 / (2 + np.exp(m) + np.exp(-m)),
    ),
    "square": (lambda m: (1 - m) ** 2, lambda m: -2 * (1 - m), lambda m: 2.0),
}


def rows(case="levels", n=200, d=3, seed=0, offset=2.0):
    """X, y as the estimator takes it, its columns (y, event), groups and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + offset
    y = np.round(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n), 1)
    groups = rng.integers(0, 7, n) if "groups" in case else None
    weight = rng.integers(0, 4, n).astype(float)
    if "censored" not in case:
        return X, y, (y, None), groups, weight
    time, event = np.round(np.exp(-y / 2), 2), rng.random(n) < 0.6
    return X, structured(event, time), (time, event), groups, weight


def structured(event, time):
    return np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])


def ranker(case, *args, **params):
    return (SurvivalRanker if "censored" in case else OrderedRanker)(*args, **params)


def order_of(columns, groups, weight):
    y, event = columns
    return level_order(y, groups, weight) if event is None else survival_order(y, event, groups, weight)


@pytest.mark.parametrize("direct", [512, 20])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("case", CASES)
def test_sums_over_pairs_are_the_double_loop(case, loss, direct, monkeypatch):
    monkeypatch.setattr(_sizes, "MAX_DIRECT_ROWS", direct)
    X, _, columns, groups, weight = rows(case, n=120)
    order = order_of(columns, groups, weight)
    s, u = 2.0 * X[:, 0] + 1e3, np.random.default_rng(1).normal(size=len(X))
    value, gradient, hessian = slow.margin_loss(LOSSES[loss], columns[0], s, columns[1], groups, weight)
    point = ordered_objective(as_table(np.eye(len(s))), order, loss, 1e-300, 1e-3).at(s)
    assert point.value == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(point.slope, gradient, atol=1e-10)
    np.testing.assert_allclose(point.product(Move(u, u)), hessian @ u, atol=1e-10)


@st.composite
def small(draw):
    n = draw(st.integers(2, 40))
    column = lambda low, high: np.array(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), float)  # noqa: E731
    case = draw(st.sampled_from(CASES))
    event = column(0, 1) > 0 if "censored" in case else None
    groups = column(0, 2) if "groups" in case else None
    return (column(0, draw(st.integers(1, 20))), event), column(-4, 4) / 4, groups, column(0, 2), column(-3, 3)


@settings(max_examples=200, deadline=None)
@given(small())
def test_no_counter_example(given_rows):
    """Value, gradient and Hessian product of the squared hinge, and the system of the square loss, with ties."""
    columns, s, groups, weight, u = given_rows
    if not weight.any():
        return
    order = order_of(columns, groups, weight)
    if not order.total > 0.0:
        assert not any(weight[i] * weight[j] > 0 for i, j in slow.pairs(*columns, groups))
        return
    value, gradient, hessian = slow.margin_loss(LOSSES["squared_hinge"], columns[0], s, columns[1], groups, weight)
    point = ordered_objective(as_table(np.eye(len(s))), order, "squared_hinge", 1e-300, 1e-3).at(s)
    assert point.value == pytest.approx(value, rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(point.slope, gradient, atol=1e-10)
    np.testing.assert_allclose(point.product(Move(u, u)), hessian @ u, atol=1e-10)
    X = np.column_stack([s, u])
    A, b, total = slow.square_system(X, columns[0], columns[1], groups, weight)
    found = square_system(as_table(X), order).scaled(weight.max() ** 2)
    np.testing.assert_allclose(found.A, A, atol=1e-9)
    np.testing.assert_allclose(found.b, b, atol=1e-9)
    assert found.total == pytest.approx(total)
    np.testing.assert_allclose(_scatter_by_columns(as_table(X), order) * weight.max() ** 2, A, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("case", CASES)
def test_fit_minimises_the_objective(case, loss):
    X, y, columns, groups, weight = rows(case)
    model = ranker(case, loss, 0.05, tol=1e-9).fit(X, y, groups, weight)
    w = model.coef_[0]
    _, slope, _ = slow.margin_loss(LOSSES[loss], columns[0], X @ w, columns[1], groups, weight)
    _, start, _ = slow.margin_loss(LOSSES[loss], columns[0], 0.0 * X[:, 0], columns[1], groups, weight)
    assert np.linalg.norm(X.T @ slope + 0.05 * w) <= 1e-7 * np.linalg.norm(X.T @ start)
    assert model.score(X, y, groups, weight) == concordance(
        columns[0], X @ w, event=columns[1], groups=groups, sample_weight=weight
    )


@pytest.mark.parametrize("case", CASES)
def test_hinge_is_certified(case):
    X, y, columns, groups, weight = rows(case)
    model = ranker(case, "hinge", 0.05, tol=1e-5).fit(X, y, groups, weight)
    hinge = (lambda m: max(1 - m, 0), lambda m: 0.0, lambda m: 0.0)
    w = model.coef_[0]
    value = slow.margin_loss(hinge, columns[0], X @ w, columns[1], groups, weight)[0] + 0.025 * w @ w
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.gap_ <= 1e-5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("case", ["groups", "censored"])
def test_l1_makes_zeros_and_is_optimal(case, loss):
    X, y, (values, event), groups, weight = rows(case, d=6)
    l1 = 0.05 if loss == "logistic" else 0.2
    model = ranker(case, loss, alpha=0.01, l1=l1, tol=1e-9).fit(X, y, groups, weight)
    w = model.coef_[0]
    assert 0 < np.count_nonzero(w) < 6
    slope = X.T @ slow.margin_loss(LOSSES[loss], values, X @ w, event, groups, weight)[1] + 0.01 * w
    np.testing.assert_allclose(slope[w != 0], -l1 * np.sign(w[w != 0]), atol=1e-6)
    assert (np.abs(slope[w == 0]) <= l1 + 1e-7).all()
    assert loss == "square" or model.gap_ < 1e-6


def test_l1_needs_a_smooth_loss():
    X, y, *_ = rows()
    with pytest.raises(ValueError, match="l1 and penalty of OrderedRanker must have a smooth loss"):
        OrderedRanker("hinge", l1=0.1).fit(X, y)


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_have_the_bits_of_the_classifiers(weighted):
    X, _, _, _, weight = rows(d=5)
    y = (X[:, 0] + np.random.default_rng(0).normal(size=len(X)) > 2.5).astype(int)
    more = {"sample_weight": weight + 1.0} if weighted else {}
    pairs = [
        (OrderedRanker(alpha=0.1), LeastSquaresAUC(0.1)),
        (OrderedRanker(alpha=0.0), LeastSquaresAUC(0.0)),
        (OrderedRanker(), LeastSquaresAUCCV()),
        (OrderedRanker(alpha=0.1, l1=0.05), LeastSquaresAUC(0.1, l1=0.05)),
        (OrderedRanker("squared_hinge", alpha=0.1, l1=0.05), RankSVM(0.1, l1=0.05)),
        *((OrderedRanker(loss, 0.1), RankSVM(0.1, loss=loss)) for loss in ("squared_hinge", "hinge", "logistic")),
        (OrderedRanker("squared_hinge"), RankSVM()),
    ]
    for ordered, classifier in pairs:
        np.testing.assert_array_equal(ordered.fit(X, y, **more).coef_, classifier.fit(X, y, **more).coef_)
        assert ordered.score(X, y) == classifier.score(X, y)


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
@pytest.mark.parametrize("case", CASES)
def test_files_and_dask_give_the_same_model(case, loss):
    da = pytest.importorskip("dask.array")
    X, y, _, groups, weight = rows(case, n=400)
    model = ranker(case, loss, tol=1e-9).fit(X, y, groups, weight)

    def blocks():
        for k in range(0, len(X), 97):
            yield X[k : k + 97], np.zeros(len(X[k : k + 97]))

    files = clone(model).fit(auclid.scan(blocks), y, groups, weight)
    lazy = [None if each is None else da.from_array(each, chunks=97) for each in (groups, weight)]
    label = y if "censored" in case else da.from_array(y, chunks=97)
    dask = clone(model).fit(da.from_array(X, chunks=(97, X.shape[1])), label, *lazy)
    for other in (files, dask):
        assert other.alpha_ == pytest.approx(model.alpha_)
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-6, atol=1e-8)
        assert other.score(auclid.scan(blocks), y, groups, weight) == pytest.approx(model.score(X, y, groups, weight))


def test_own_target_of_files(tmp_path):
    X, y, _, _, _ = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    scanned = auclid.scan(tmp_path / "rows.parquet", target="y")
    model = OrderedRanker(alpha=0.1).fit(scanned)
    np.testing.assert_allclose(model.coef_, OrderedRanker(alpha=0.1).fit(X, y).coef_, rtol=1e-9)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.score(scanned) == model.score(frame[["a", "b", "c"]], y)


@pytest.mark.parametrize("case", CASES)
def test_sparse_rows_and_products(case, monkeypatch):
    X, y, _, groups, weight = rows(case, d=8)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0.0
    model = ranker(case, alpha=0.1, tol=1e-12).fit(X, y, groups, weight)
    np.testing.assert_allclose(clone(model).fit(sparse.csr_array(X), y, groups, weight).coef_, model.coef_, rtol=1e-9)
    monkeypatch.setattr("auclid.ordered._base.moments_are_cheaper", lambda width: False)
    np.testing.assert_allclose(clone(model).fit(X, y, groups, weight).coef_, model.coef_, rtol=1e-7)
    with_l1 = ranker(case, alpha=0.1, l1=0.05, tol=1e-12, max_iter=20_000)
    by_products = clone(with_l1).fit(X, y, groups, weight).coef_
    monkeypatch.undo()
    np.testing.assert_allclose(by_products, with_l1.fit(X, y, groups, weight).coef_, rtol=1e-5, atol=1e-8)


def test_many_columns_choose_alpha_by_krylov_spaces(monkeypatch):
    X, y, _, groups, _ = rows("groups", n=300, d=40)
    exact = OrderedRanker().fit(X, y, groups)
    monkeypatch.setattr("auclid._sizes.MAX_WHOLE_PATH_COLUMNS", 10)
    near = OrderedRanker().fit(X, y, groups)
    assert near.score(X, y, groups) == pytest.approx(exact.score(X, y, groups), abs=0.03)


def test_weights_are_repeats():
    X, y, _, groups, weight = rows("groups")
    again = np.repeat(np.arange(len(X)), weight.astype(int))
    model = OrderedRanker(alpha=0.1).fit(X, y, groups, weight)
    np.testing.assert_allclose(model.coef_, OrderedRanker(alpha=0.1).fit(X[again], y[again], groups[again]).coef_)


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["levels", "groups"])
def test_batches_add_up(case):
    X, y, _, groups, weight = rows(case)
    y = np.round(y)
    parts = [np.arange(k, len(X), 3) for k in range(3)]
    if groups is not None:
        parts = [np.flatnonzero(groups % 3 == k) for k in range(3)]
    cut = [(X[at], y[at], None if groups is None else groups[at], weight[at]) for at in parts]
    whole = OrderedRanker(alpha=0.1).fit(X, y, groups, weight)
    stream = OrderedRanker(alpha=0.1)
    for part in cut:
        stream.partial_fit(*part)
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-8)
    merged = OrderedRanker(alpha=0.1).partial_fit(*cut[2])
    merged.merge(OrderedRanker(alpha=0.1).partial_fit(*cut[0])).merge(OrderedRanker(alpha=0.1).partial_fit(*cut[1]))
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-8)
    fitted = [OrderedRanker(alpha=0.1).fit(*part) for part in cut]
    np.testing.assert_allclose(fitted[0].merge(fitted[1]).merge(fitted[2]).coef_, whole.coef_, rtol=1e-8)


def test_streams_say_what_they_cannot():
    X, y, _, _, _ = rows()
    with pytest.raises(ValueError, match="be 'square' for partial_fit"):
        OrderedRanker("hinge").partial_fit(X, y)
    with pytest.raises(ValueError, match="with few levels of y or with groups"):
        OrderedRanker(alpha=0.1).fit(X, X[:, 0]).partial_fit(X, y)
    one = OrderedRanker().partial_fit(X[:1], y[:1])
    assert not one.decision_function(X).any()
    assert one.partial_fit(X, y).score(X, y) > 0.6


def test_a_stream_goes_on_from_a_fit():
    X, y, _, _, _ = rows()
    stage = np.digitize(y, [1.0, 3.0])
    for labels in (stage, stage > 0):
        model = OrderedRanker().fit(X[:100], labels[:100])
        chosen = model.alpha_
        model.partial_fit(X[100:], labels[100:])
        assert model.alpha_ == chosen
        np.testing.assert_allclose(model.coef_, OrderedRanker(alpha=chosen).fit(X, labels).coef_, rtol=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_under_a_feature_map(case):
    da = pytest.importorskip("dask.array")
    X, y, columns, groups, weight = rows(case, n=300)
    more = {"groups": groups, "sample_weight": weight}
    feature_map = RandomFourier(20, random_state=0)
    model = Kernelized(feature_map, ranker(case, alpha=0.01)).fit(X, y, **more)
    Z = clone(feature_map).fit(X).transform(X)
    explicit = ranker(case, alpha=0.01).fit(Z, y, **more)
    np.testing.assert_allclose(model.decision_function(X), explicit.decision_function(Z), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X))
    found = concordance(columns[0], model.predict(X), event=columns[1], groups=groups, sample_weight=weight)
    assert model.score(X, y, **more) == found
    assert not is_classifier(model)
    lazy = clone(model).fit(da.from_array(X, chunks=(97, 3)), y, **more)
    assert lazy.score(X, y, **more) == pytest.approx(found, abs=0.05)


def test_under_a_feature_map_rows_of_files_keep_their_weights(tmp_path):
    X, y, _, _, weight = rows("levels", n=300)
    path = tmp_path / "rows.csv"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y, "w": weight}).to_csv(path, index=False)
    model = Kernelized(RandomFourier(20, random_state=0), OrderedRanker(alpha=0.01))
    files = auclid.scan(path, target="y", sample_weight="w")
    found, memory = clone(model).fit(files), clone(model).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.ranker_.coef_, memory.ranker_.coef_, rtol=1e-6, atol=1e-9)
    assert found.score(files) == pytest.approx(memory.score(X, y, sample_weight=weight))


# --- manners --------------------------------------------------------------------------------------


def test_auto_alpha_ranks_unseen_groups():
    X, y, _, groups, _ = rows("groups", n=400, d=30)
    model = OrderedRanker().fit(X, y, groups)
    assert model.cv_concordance_.shape == (5, 17)
    assert model.alpha_ in model.alphas_
    assert OrderedRanker(alpha=3.0).fit(X, y, groups).alpha_ == 3.0
    assert not hasattr(model.set_params(alpha=3.0).fit(X, y, groups), "alphas_")


def test_survival_targets():
    X, y, (time, event), _, _ = rows("censored")
    expected = SurvivalRanker(alpha=0.1).fit(X, y).coef_
    frame = pd.DataFrame({"duration": time, "died": event})
    other = np.array(list(zip(time, event, strict=True)), dtype=[("t", float), ("status", bool)])
    numbers = pd.DataFrame({"status": event.astype(int), "time": time})
    for target in (frame, other, numbers):
        np.testing.assert_array_equal(SurvivalRanker(alpha=0.1).fit(X, target).coef_, expected)


def test_inverse_probability_of_censoring():
    X, y, (time, event), _, weight = rows("censored", n=120)
    tau = float(np.quantile(time, 0.8))
    model = SurvivalRanker(alpha=0.1, ipcw=True, tau=tau).fit(X, y, sample_weight=weight)
    G = slow.censoring_before(time, event, weight)
    inverse = np.where(time < tau, 1.0 / np.maximum(G, 1e-9) ** 2, 0.0)
    A, b, total = slow.square_system(X, time, event, None, weight, inverse)
    expected = np.linalg.solve(2 * A / total + 0.1 * np.eye(3), 2 * b / total)
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-8)
    uno = concordance(time, X @ expected, event=event, sample_weight=weight, ipcw=True, tau=tau)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(uno)


def test_searches():
    X, y, _, _, _ = rows("censored")
    search = GridSearchCV(SurvivalRanker(), {"alpha": [0.01, 1.0], "loss": ["square", "squared_hinge"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    X, y, _, groups, _ = rows("groups")
    search = GridSearchCV(OrderedRanker(), {"alpha": [0.01, 1.0]}, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert search.predict(X).shape == (len(X),)


def test_ordered_categories():
    X, y, _, _, _ = rows()
    stage = np.digitize(y, [1.0, 3.0])
    names = pd.Categorical.from_codes(stage, ["mild", "moderate", "severe"], ordered=True)
    np.testing.assert_array_equal(OrderedRanker().fit(X, names).coef_, OrderedRanker().fit(X, stage).coef_)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda X, y: OrderedRanker().fit(X, np.ones(len(X))), "two levels or more.*one level"),
        (lambda X, y: OrderedRanker().fit(X, y, np.arange(len(X))), "two levels or more within a group"),
        (lambda X, y: OrderedRanker().fit(X, ["a", "b"] * (len(X) // 2)), "words have no order"),
        (lambda X, y: OrderedRanker().fit(X, np.where(y > 2, np.nan, y)), "NaN"),
        (lambda X, y: OrderedRanker().fit(X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: OrderedRanker().fit(X, y, np.zeros(3)), "one length"),
        (lambda X, y: OrderedRanker("square", -1.0).fit(X, y), "'alpha' parameter"),
        (lambda X, y: OrderedRanker("logistic", 0.0).fit(X, y), "be positive unless loss='square'"),
        (lambda X, y: OrderedRanker("cox").fit(X, y), "'loss' parameter"),
        (lambda X, y: OrderedRanker().fit(X), "learns from labels"),
        (lambda X, y: SurvivalRanker().fit(X, y), "a structured array of an event and a time"),
        (lambda X, y: SurvivalRanker().fit(X, structured(y > 9e9, np.abs(y))), "hold at least one event"),
        (lambda X, y: SurvivalRanker().fit(X, structured(y > 0, -1.0 - np.abs(y))), r"times in \[0.0, inf\)"),
        (lambda X, y: SurvivalRanker().fit(X, structured(y < 9e9, 0.0 * y)), "an event before the time of another row"),
        (lambda X, y: SurvivalRanker(tau=-1.0).fit(X, structured(y > 0, np.abs(y))), "'tau' parameter"),
    ],
)
def test_bad_input_is_said_in_a_sentence(call, sentence):
    X, _, (y, _), _, _ = rows()
    with pytest.raises(ValueError, match=sentence):
        call(X, y)


def test_a_failed_fit_changes_nothing():
    X, y, _, _, _ = rows()
    model = OrderedRanker(alpha=0.1).fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="two levels"):
        model.fit(X, np.ones(len(X)))
    np.testing.assert_array_equal(model.coef_, before)
