"""Scorecard: its moments, its optimum, its shapes, its kinds of columns; against slow code one can see is right."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from auclid import LeastSquaresAUC, RankSVM, Scorecard
from auclid.additive import _basis, _columns, _features, _interactions, _moments
from auclid.additive._features import quantile_knots, value_counts
from auclid.additive._solve import penalty_terms
from auclid.metrics import roc_auc
from auclid.stats.moments import class_moments


def problem(n=600, seed=0):
    """Three numbers (one with an atom and gaps) and a shape in each that no line follows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 1] = np.where(rng.random(n) < 0.4, 0.0, np.exp(X[:, 1]))
    score = np.abs(X[:, 0]) + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=n)
    X[rng.random(n) < 0.05, 1] = np.nan
    return X, score > np.quantile(score, 0.7)


def roughness(values, knots):
    """Squares of the differences of neighbouring slopes, where all knots span the length of their number less one."""
    x = (knots - knots[0]) / (knots[-1] - knots[0]) * (len(knots) - 1)
    slopes = [(v - u) / (b - a) for (u, v), (a, b) in zip(pairwise(values), pairwise(x), strict=True)]
    shorter = [min(b - a, c - b) for a, b, c in zip(x, x[1:], x[2:], strict=False)]
    bends = [(t - s) * width for (s, t), width in zip(pairwise(slopes), shorter, strict=True)]
    return sum(bend**2 for bend in bends) * ((len(knots) - 1) / 8.0) ** 3


def learnt(X, pairs=(), n_knots=7):
    kept = [_columns.ColumnSpec(f"x{k}", "number", None) for k in range(X.shape[1])]
    features = _features.learn_features(kept, X, None, n_knots, {}, np.random.default_rng(0))
    return features, _basis.make_basis(features, pairs)


def dense_rows(features, basis, X):
    """The basis of each row, by np.interp."""
    Z = np.zeros((len(X), basis.size))
    for j, f in enumerate(features):
        known = ~np.isnan(X[:, j])
        for s in range(f.slots):
            k = basis.place[basis.first[j] + s]
            if k >= 0:
                Z[known, k] = np.interp(X[known, j], f.knots, np.eye(f.slots)[s])
        if f.gaps:
            Z[~known, basis.missing[j]] = 1.0
    for m, (a, b) in enumerate(zip(basis.pair_a, basis.pair_b, strict=True)):
        known = ~np.isnan(X[:, a]) & ~np.isnan(X[:, b])
        hats = []
        for j in (a, b):
            knots = features[j].knots[_basis.coarse_places(features[j])]
            hats.append(np.stack([np.interp(X[known, j], knots, e) for e in np.eye(len(knots))], axis=1))
        grid = hats[0][:, :, None] * hats[1][:, None, :]
        size = grid.shape[1] * grid.shape[2]
        Z[known, basis.pair_first[m] : basis.pair_first[m] + size] = grid.reshape(len(grid), -1)
    return Z


# --- basis ----------------------------------------------------------------------------------------


def test_the_basis_is_hats_products_of_hats_and_one_coefficient_for_missing():
    X, _ = problem()
    features, basis = learnt(X, [(0, 1), (1, 2)])
    Z = dense_rows(features, basis, X)
    np.testing.assert_allclose(_basis.basis_rows(basis, X).toarray(), Z, atol=1e-14)


def test_moments_of_the_basis_are_those_of_its_rows_and_blocks_add_up():
    X, y = problem()
    features, basis = learnt(X, [(0, 2)])
    weight = np.random.default_rng(2).random(len(y))
    Z = dense_rows(features, basis, X)
    for w in (None, weight):
        expected = class_moments(Z, y, w)
        whole = _moments.class_sums(basis, X, y, w).moments()
        halves = [
            _moments.class_sums(basis, X[part], y[part], None if w is None else w[part]).moments()
            for part in (slice(0, 250), slice(250, None))
        ]
        for found in (whole, halves[0] + halves[1]):
            np.testing.assert_allclose(found.delta, expected.delta, atol=1e-13)
            np.testing.assert_allclose(found.within, expected.within, atol=1e-13)


def test_the_moments_outside_each_fold_are_those_of_its_rows():
    X, y = problem()
    features, basis = learnt(X, [(0, 2)])
    rng = np.random.default_rng(3)
    fold, weight = rng.integers(-1, 4, len(y)), rng.random(len(y))
    Z, sums = dense_rows(features, basis, X), _moments.class_sums(basis, X, y, weight, fold)
    for k, found in enumerate(_moments.LazyFolds(sums)):
        rows = (fold >= 0) & (fold != k)
        expected = class_moments(Z[rows], y[rows], weight[rows])
        np.testing.assert_allclose(found.S, expected.within, atol=1e-13)
        np.testing.assert_allclose(found.delta, expected.delta, atol=1e-13)
        np.testing.assert_allclose(found.mean, expected.all.mean, atol=1e-13)
    whole = class_moments(Z[fold >= 0], y[fold >= 0], weight[fold >= 0])
    np.testing.assert_allclose(sums.moments().within, whole.within, atol=1e-13)
    np.testing.assert_allclose(sums.moments().all.scatter, whole.all.scatter, atol=1e-11)


def test_fewer_knots_are_a_mixture_of_more():
    X, _ = problem()
    features, basis = learnt(X, n_knots=16)
    fewer = _basis.fewer_knots(features, 5)
    M = _basis.knot_map(features, fewer)
    small = _basis.make_basis(fewer)
    Z = _basis.basis_rows(basis, X).toarray() @ M
    np.testing.assert_allclose(_basis.basis_rows(small, X).toarray(), Z, atol=1e-13)
    assert max(f.slots for f in fewer) <= 6


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60), st.integers(2, 9))
def test_knots_rise_and_hold_both_ends_and_what_is_frequent(values, count):
    x = np.array(values, dtype=float)
    knots = quantile_knots(*value_counts(x, np.ones(len(x))), count)
    assert (np.diff(knots) > 0).all() and knots[0] == x.min() and knots[-1] == x.max()
    if len(np.unique(x)) <= count:
        assert knots.tolist() == np.unique(x).tolist()
    assert len(knots) <= count + 3
    common = [v for v in np.unique(x) if (x == v).mean() >= 1.0 / count]
    assert set(common) <= set(knots) or count <= 3


@given(st.floats(-3, 3), st.floats(-3, 3), st.integers(0, 10**6))
def test_straight_lines_are_not_rough(a, b, seed):
    knots = np.cumsum(0.1 + np.random.default_rng(seed).random(7))
    assert roughness(a + b * knots, knots) < 1e-9


def test_the_roughness_of_a_card_is_that_of_its_shapes_and_of_both_ways_of_its_grids():
    X, _ = problem()
    features, basis = learnt(X, [(0, 1), (2, 0)])
    w = np.random.default_rng(0).normal(size=basis.size)
    terms, rough = penalty_terms(basis), 0.0
    for k, f in enumerate(features):
        places = basis.place[basis.first[k] : basis.first[k + 1]]
        rough += roughness(np.where(places >= 0, w[places], 0.0), f.knots)
    for first, a, b in zip(basis.pair_first, basis.pair_a, basis.pair_b, strict=True):
        knots_a, knots_b = (features[j].knots[_basis.coarse_places(features[j])] for j in (a, b))
        grid = w[first : first + len(knots_a) * len(knots_b)].reshape(len(knots_a), len(knots_b))
        rough += sum(roughness(line, knots_b) for line in grid) + sum(roughness(line, knots_a) for line in grid.T)
    assert w @ (terms.P @ w) == pytest.approx(rough, rel=1e-12)
    assert len(set(zip(terms.P.row.tolist(), terms.P.col.tolist(), strict=True))) == terms.P.nnz


# --- the optimum ----------------------------------------------------------------------------------


def slow_objective(model, X, y, values):
    """The objective over all pairs, of shapes with these values in place of the model's."""
    score = np.zeros(len(X))
    for j, (shape, v) in enumerate(zip(model.shapes_, values, strict=True)):
        known = ~np.isnan(X[:, j])
        score[known] += np.interp(X[known, j], shape.knots, v[:-1])
        score[~known] += v[-1]
    loss = np.mean((1.0 - (score[y][:, None] - score[~y][None, :])) ** 2)
    rough = sum(roughness(v[:-1], s.knots) for s, v in zip(model.shapes_, values, strict=True))
    return loss + 0.5 * model.smooth_ * rough


def test_no_change_of_a_shape_lowers_the_objective():
    X, y = problem(300)
    model = Scorecard(LeastSquaresAUC(alpha=1e-10), n_knots=6, interactions=0, smooth=0.05).fit(X, y)
    best = [np.append(s.values, s.missing) for s in model.shapes_]
    least, rng = slow_objective(model, X, y, best), np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(20):
            moved = [v + size * rng.normal(size=len(v)) for v in best]
            for j, v in enumerate(moved):  # cells that are never missing have no weight of their own
                if not np.isnan(X[:, j]).any():
                    v[-1] = best[j][-1]
            assert slow_objective(model, X, y, moved) >= least - 1e-8


def test_scores_are_offset_plus_contributions_and_shapes_are_centred():
    X, y = problem()
    y = y ^ (X[:, 0] * X[:, 2] > 0.5)
    for interactions in (0, 2):
        model = Scorecard(interactions=interactions, random_state=0).fit(X, y)
        parts = model.contributions(X)
        assert len(model.interactions_) == interactions
        assert parts.shape == (len(X), 3 + interactions) == (len(X), len(model.shapes_))
        np.testing.assert_allclose(parts.sum(axis=1) + model.intercept_[0], model.decision_function(X), atol=1e-12)
        np.testing.assert_allclose(parts.mean(axis=0), 0.0, atol=1e-9)
        for j in range(3):
            shape, known = model.shapes_[j], ~np.isnan(X[:, j])
            np.testing.assert_allclose(np.interp(X[known, j], shape.knots, shape.values), parts[known, j], atol=1e-12)
            assert (parts[~known, j] == shape.missing).all()
            np.testing.assert_allclose(shape.importance, parts[:, j].std(), atol=1e-9)


def test_curves_and_products_that_no_line_can_follow_are_learnt():
    X, y = problem(1500)
    assert Scorecard(interactions=0).fit(X, y).score(X, y) > 0.9
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(1500, 4))
    product = Z[:, 1] * Z[:, 3] + 0.3 * rng.normal(size=1500) > 0
    model = Scorecard().fit(Z, product)
    assert model.interactions_[0] == ("x1", "x3") and model.score(Z, product) > 0.9
    assert Scorecard(interactions=0).fit(Z, product).score(Z, product) < 0.7


def test_what_one_column_adds_is_in_its_shape_and_not_in_a_grid():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    X[:, 2] = rng.choice([0.0, 0.0, 1.0, 2.0], size=800)  # most rows at one knot, which has no weight then
    features, basis = learnt(X, [(0, 1), (1, 2)], n_knots=12)
    Z = _basis.basis_rows(basis, X).toarray()
    w, mean = rng.normal(size=basis.size), Z.mean(axis=0)
    pure = _interactions.purified(features, basis, w, mean)
    change = Z @ pure - Z @ w
    np.testing.assert_allclose(change, change[0], atol=1e-10)
    for first, last in pairwise([*basis.pair_first, basis.size]):
        shape = (len(_basis.coarse_places(features[0 if first == basis.pair_first[0] else 1])), -1)
        grid, share = pure[first:last].reshape(shape), mean[first:last].reshape(shape)
        assert np.abs((grid * share).sum(axis=0)).max() < 1e-8 and np.abs((grid * share).sum(axis=1)).max() < 1e-8


def test_the_gain_of_a_pair_is_exact():
    rng = np.random.default_rng(3)
    y, score = rng.random(80) < 0.4, rng.normal(size=80)
    weight, fold, score = np.ones(80), rng.integers(0, 3, 80), score + y
    moments = _interactions.ScoreMoments.of(score, y, weight[None])._replace(shrink=np.array([1e-9]))
    a, b = rng.integers(0, 3, 80), rng.integers(0, 2, 80)
    out = np.zeros((3, 6, 4))
    _interactions.pair_histogram(a.astype(np.int8), b.astype(np.int8), 2, fold, y, score, weight, out)
    found = moments.gains(out.sum(axis=0)[None, None], (3, 2))[0, 0]
    scaled = moments.factor[0] * score

    def lowest(design):  # the square pair loss over all pairs, by least squares on differences
        Z = (design[y][:, None, :] - design[~y][None, :, :]).reshape(-1, design.shape[1])
        r = (1.0 - (scaled[y][:, None] - scaled[~y][None, :])).ravel()
        return np.mean((r - Z @ np.linalg.lstsq(Z, r, rcond=None)[0]) ** 2)

    cells, rows, columns = np.eye(6)[a * 2 + b], np.eye(3)[a], np.eye(2)[b]
    np.testing.assert_allclose(found, lowest(np.hstack([rows, columns])) - lowest(cells), atol=1e-6)


def test_gains_of_many_pairs_are_those_of_dense_matrices():
    rng, shape, means, shrink = np.random.default_rng(0), (4, 3), (0.3, -0.1), 1e-3
    histograms = rng.random((5, 12, 4))
    histograms[:, :, :2] /= histograms[:, :, :2].sum(axis=1, keepdims=True)
    row, column = np.divmod(np.arange(12), 3)
    E = np.hstack([np.eye(4)[row], np.eye(3)[column]])
    expected = []
    for p, q, rp, rq in histograms.transpose(0, 2, 1):
        A, g = np.diag(p + q) - np.outer(p, q) - np.outer(q, p), p * 0.9 - rp - q * 0.7 - rq
        whole, alone = (
            b @ np.linalg.solve(H + shrink * np.eye(len(b)), b) for H, b in ((A, g), (E.T @ A @ E, E.T @ g))
        )
        expected.append(whole - alone)
    np.testing.assert_allclose(_interactions.pair_gains(histograms, shape, means, shrink), expected, rtol=1e-9)


# --- kinds of columns -----------------------------------------------------------------------------


def people(n=400, seed=0):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "city": rng.choice(["Ulm", "Bonn", "Kiel", "Jena"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "member": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D"),
            "grade": pd.Categorical(rng.choice(list("abc"), n)),
            "digits": rng.integers(0, 4, n).astype(str),
        }
    )
    y = frame["age"] / 30 + (frame["city"] == "Kiel") * 2 + frame["member"] + rng.normal(size=n) > 3.0
    frame.loc[rng.random(n) < 0.1, ["age"]] = np.nan
    frame.loc[rng.random(n) < 0.1, ["city"]] = None
    return frame, y.to_numpy()


def test_numbers_categories_texts_dates_truths_and_gaps():
    X, y = people()
    model = Scorecard(interactions=0).fit(X, y)
    kinds = {shape.name: shape.kind for shape in model.shapes_}
    assert kinds == {
        "age": "number", "city": "text", "member": "bool", "since": "date", "grade": "category", "digits": "number"
    }  # fmt: skip
    city = model.shapes_[1]
    assert city.levels[-1] == "(other)" and city.levels[:-1] == ["Bonn", "Jena", "Kiel", "Ulm"]
    assert city.values[2] == city.values.max() and model.score(X, y) > 0.8
    strange = X.copy()
    strange["city"] = "Atlantis"
    other = model.contributions(strange)[:, 1]
    assert (other == city.values[-1]).all() and np.isfinite(model.decision_function(strange)).all()


def test_frames_of_polars_score_as_those_of_pandas():
    pl = pytest.importorskip("polars")
    X, y = people()
    model = Scorecard(interactions=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(pl.from_pandas(X)), model.decision_function(X))
    again = Scorecard(interactions=0).fit(pl.from_pandas(X), y)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X))


def test_numbers_can_be_categories_by_request():
    X, y = problem()
    X[:, 2] = np.random.default_rng(0).integers(0, 6, len(X))
    y = y ^ (X[:, 2] == 3)
    model = Scorecard(categories=[2], interactions=0).fit(X, y)
    assert model.shapes_[2].levels == ["0", "1", "2", "3", "4", "5", "(other)"]
    assert model.shapes_[2].values[3] == model.shapes_[2].values.max()
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_array(np.nan_to_num(X))), model.decision_function(np.nan_to_num(X))
    )


def test_rare_levels_are_pooled_and_a_column_of_them_is_warned_of():
    pd = pytest.importorskip("pandas")
    _, y = problem(200)
    X = pd.DataFrame({"id": [f"row {k}" for k in range(200)], "x": y + np.random.default_rng(0).normal(size=200)})
    with pytest.warns(UserWarning, match=r"Column 'id' of Scorecard has 200 levels, none of them in 5 rows"):
        model = Scorecard().fit(X, y)
    assert model.shapes_[0].levels == ["(other)"] and not model.contributions(X)[:, 0].any()


def test_a_column_of_one_value_adds_nothing_and_has_a_record():
    X, y = problem()
    X[:, 2] = 7.0
    model = Scorecard(interactions=0).fit(X, y)
    assert model.shapes_[2].values.tolist() == [0.0] and not model.contributions(X)[:, 2].any()


def test_missing_cells_that_were_never_seen_add_nothing():
    X, y = problem()
    model = Scorecard(interactions=0).fit(X, y)
    X[:, 0] = np.nan
    assert not model.contributions(X)[:, 0].any()


@pytest.mark.parametrize(
    ("params", "change", "said"),
    [
        ({}, lambda X: X.assign(age=np.inf), r"infinity"),
        ({"monotone": {"city": 1}}, None, r"'monotone' parameter of Scorecard .* 'city' is a text"),
        ({"monotone": {"aeg": 1}}, None, r"'monotone' parameter of Scorecard .* got 'aeg'. Did you mean 'age'"),
        ({"monotone": {"age": 2}}, None, r"'monotone' parameter of Scorecard must be 1 \(rising\) or -1"),
        ({"monotone": {"age": 1}, "ranker": RankSVM()}, None, r"'monotone' parameter .* must go with the square loss"),
        ({"monotone": {"age": 1}, "ranker": LeastSquaresAUC(l1=0.1)}, None, r"must go with the square loss"),
        ({"categories": ["town"]}, None, r"'categories' parameter of Scorecard .* got 'town'"),
        ({"n_knots": {"age": [3, 2]}}, None, r"'n_knots' parameter of Scorecard must give rising"),
        ({"n_knots": {"age": 5}}, None, r"'n_knots' parameter of Scorecard must give rising.* got 5\."),
        ({"n_knots": {"age": []}}, None, r"'n_knots' parameter of Scorecard must give rising.* got \[\]\."),
        ({}, lambda X: X[[]], r"Found array with 0 feature\(s\)"),
        ({"n_knots": {"city": [3, 4]}}, None, r"'n_knots' parameter of Scorecard must give the names of levels"),
    ],
)
def test_bad_input_gets_one_sentence(params, change, said):
    X, y = people()
    with pytest.raises(ValueError, match=said):
        Scorecard(**params).fit(X if change is None else change(X), y)


def test_a_column_that_changes_its_kind_gets_one_sentence():
    X, y = people()
    model = Scorecard(interactions=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Column 'age' of Scorecard must hold numbers, as it did .* got 'old'"):
        model.decision_function(X.assign(age="old"))


# --- weights, streams, rankers --------------------------------------------------------------------


def test_a_weight_counts_rows():
    X, y = problem(24)  # so few that nothing is cross-validated: folds of repeated rows differ
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighed = Scorecard().fit(X, y, sample_weight=times)
    repeated = Scorecard().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighed.decision_function(X), repeated.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_batches_and_merged_models_give_one_model():
    X, y = problem()
    knots = Scorecard(interactions=0).fit(X, y).knots_
    assert list(knots) == ["x0", "x1", "x2"]
    model = Scorecard(n_knots=dict(enumerate(knots.values())))
    whole = clone(model).partial_fit(X, y)
    batches = clone(model)
    for part in np.array_split(np.arange(len(X)), 4):
        batches.partial_fit(X[part], y[part], classes=[False, True])
    a, b = (clone(model).partial_fit(X[part], y[part]) for part in (slice(0, 200), slice(200, None)))
    for other in (batches, a.merge(b)):
        np.testing.assert_allclose(other.decision_function(X), whole.decision_function(X), atol=1e-8)
    assert whole.score(X, y) > 0.85
    with pytest.raises(ValueError, match="merge must be given a Scorecard with the same knots"):
        Scorecard().partial_fit(X[:300], y[:300]).merge(Scorecard().partial_fit(X[300:], y[300:]))


def test_frames_with_the_knots_of_one_model_merge_whatever_their_rows():
    """Their commonest levels differ, and one column has nothing but levels that are pooled."""
    X, y = people()
    X = X.assign(name=[f"id {k}" for k in range(len(X))])
    X["letter"] = [chr(97 + k * (k // 200 + 1) % 12) for k in range(len(X))]
    X.loc[:199, "city"], X.loc[:199, "member"] = "Ulm", True
    with pytest.warns(UserWarning, match="all are one pooled level"):
        first = Scorecard(interactions=0).fit(X, y)
        assert first.knots_["name"] == []
        model = Scorecard(n_knots=first.knots_, interactions=0)
        a, b = (clone(model).partial_fit(X[part], y[part]) for part in (slice(0, 200), slice(200, None)))
        whole = clone(model).partial_fit(X, y)
    assert [len(first.knots_[name]) for name in ("city", "letter", "name")] == [4, 12, 0]
    np.testing.assert_allclose(a.merge(b).decision_function(X), whole.decision_function(X), atol=1e-8)


def test_frames_of_a_stream_are_known_by_their_names():
    pd = pytest.importorskip("pandas")
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Scorecard().fit(frame[:300], y[:300])
        model.partial_fit(frame[300:], y[300:])
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame[["b", "a", "c"]], y)


def test_l1_makes_columns_exactly_zero():
    X, y = problem()
    model = Scorecard(LeastSquaresAUC(l1=0.1), n_knots=8, interactions=0).fit(X, y)
    assert (model.shapes_[2].values == 0.0).all() and model.shapes_[0].importance > 0.0
    assert model.score(X, y) > 0.85


def test_a_stream_needs_a_ranker_of_moments():
    X, y = problem()
    with pytest.raises(ValueError, match=r"Scorecard.partial_fit must have a ranker that learns from moments"):
        Scorecard(RankSVM()).partial_fit(X, y)


def test_a_column_of_nothing_and_a_level_that_no_row_has_are_ordinary():
    pd = pytest.importorskip("pandas")
    X, y = people()
    X["nothing"] = None
    X["grade"] = pd.Categorical(X["grade"], categories=["a", "b", "c", "never"])
    model = Scorecard(interactions=0).fit(X, y)
    grade, nothing = model.shapes_[4], model.shapes_[6]
    assert "never" not in grade.levels and nothing.values.tolist() == [0.0]
    assert np.isfinite(model.decision_function(X)).all() and not model.contributions(X)[:, 6].any()


def test_any_linear_ranker_learns_on_the_basis():
    X, y = problem()
    model = Scorecard(RankSVM(alpha=1e-3), n_knots=8, interactions=0).fit(X, y)
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.contributions(X).mean(axis=0), 0.0, atol=1e-9)


def test_probabilities_are_those_of_held_out_rows():
    X, y = problem(4000)
    train, test = np.arange(4000) % 2 == 0, np.arange(4000) % 2 == 1
    model = Scorecard(interactions=0).fit(X[train], y[train])
    p = model.predict_proba(X[test])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert abs(p[:, 1].mean() - y[test].mean()) < 0.03
    assert roc_auc(y[test], p[:, 1]) == pytest.approx(roc_auc(y[test], model.decision_function(X[test])))
    for low in (0.0, 0.25, 0.5, 0.75):
        inside = (p[:, 1] >= low) & (p[:, 1] < low + 0.25)
        if inside.sum() > 100:
            assert abs(p[inside, 1].mean() - y[test][inside].mean()) < 0.12


def test_the_same_every_time_and_pickled_as_it_is():
    X, y = problem()
    a, b = Scorecard().fit(X, y), Scorecard().fit(X, y)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)).decision_function(X), a.decision_function(X))


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_a_card_whose_values_are_beyond_floating_point_says_so(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    card = Scorecard(n_knots=4, interactions=0).fit(X, X[:, 0] > 0.5)
    card._card = card._card._replace(values=np.full_like(card._card.values, 1e308))
    with pytest.raises(ValueError, match="must give finite scores"):
        getattr(card, method)(X)
