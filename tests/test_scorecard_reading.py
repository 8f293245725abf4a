"""Scorecard: monotone columns, points, reasons, plots and pages."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auclid import LeastSquaresAUC, Scorecard, scan
from auclid.additive import _fit
from auclid.additive._basis import make_basis
from auclid.additive._reading import ReasonCode
from auclid.additive._selection import ShapeSelection
from auclid.additive._solve import Penalty, monotone_columns, penalised, penalty_terms, solve_bounded
from auclid.metrics import roc_auc
from auclid.stats.moments import ClassMoments


def problem(n=600, seed=0, product=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = np.where(rng.random(n) < 0.6, 0.0, np.exp(X[:, 1]))
    score = X[:, 0] + 2.0 * np.sin(2 * X[:, 1]) + 2.0 * product * X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=n)
    X[rng.random(n) < 0.05, 0] = np.nan
    return X, score > np.quantile(score, 0.7)


# --- monotone -------------------------------------------------------------------------------------


@given(st.integers(1, 12), st.integers(0, 10**6))
def test_the_bounded_quadratic_is_solved_exactly(size, seed):
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(size + 2, size))
    H, b, bounded = R.T @ R + 1e-3 * np.eye(size), rng.normal(size=size), rng.random(size) < 0.7
    u = solve_bounded(H, b, bounded)
    slope, size_of = H @ u - b, 1.0 + np.abs(b).max() + np.abs(H).max() * np.abs(u).max()
    assert (u[bounded] >= 0.0).all()
    assert np.abs(slope[~bounded]).max(initial=0.0) < 1e-9 * size_of
    assert slope[bounded].min(initial=0.0) > -1e-9 * size_of
    assert np.abs(slope * u)[bounded].max(initial=0.0) < 1e-8 * size_of**2


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_monotone_shapes_are_so_to_the_bit_and_the_constrained_optimum(column, sign):
    X, y = problem()
    model = Scorecard(monotone={column: sign}, n_knots=16, interactions=0).fit(X, y)
    steps = sign * np.diff(model.shapes_[column].values)
    assert (steps >= 0.0).all()
    x = np.linspace(-9, 9, 4001)
    rows = np.zeros((len(x), 4))
    rows[:, column] = x
    assert (sign * np.diff(model.contributions(rows)[:, column]) >= -1e-15).all()

    # KKT of the quadratic over all weights: stationary but for pushing constraints, in the direction they push.
    moments, basis = ClassMoments(*model._seen), model._card.basis
    terms, delta = penalty_terms(basis), moments.delta
    cost = np.ones(basis.size)
    if model.focus_:
        A = moments.within + 0.5 * model.smooth_ * terms.P + 0.5 * model.alpha_ * np.eye(basis.size)
        cost = terms.cost(np.linalg.solve(A, delta), moments.within, model.focus_)
    H = 2.0 * (moments.within + np.multiply.outer(delta, delta))
    H += model.smooth_ * np.diag(cost) @ terms.P + model.alpha_ * np.diag(cost)
    penalty = Penalty(model.alpha_, model.smooth_, model.focus_)
    plan = ShapeSelection(model._features, [], basis, terms, penalty, moments, [], None, None, np.nan)
    w = _fit._square_minimiser(plan, moments.within, delta, {column: sign}, None)
    slope = H @ w - 2.0 * delta
    place = basis.place[basis.first[column] : basis.first[column + 1]]
    others = np.setdiff1d(np.arange(basis.size), place)
    assert np.abs(slope[others]).max() < 1e-9
    # moving all slots from k on by one: allowed only upwards (in the direction), so the slope there is not negative
    values = np.append(w, 0.0)[place]
    padded = np.append(slope, 0.0)[place]
    reference = int(np.flatnonzero(place < 0)[0]) if (place < 0).any() else -1
    for k in range(1, len(place)):
        move = sign * (padded[k:].sum() if reference < k else -padded[:k].sum())
        assert move > -1e-9
        if sign * (values[k] - values[k - 1]) > 1e-9:
            assert abs(move) < 1e-8
    if reference < 0:
        assert abs(padded.sum()) < 1e-8


def test_a_constraint_that_does_not_bind_changes_nothing():
    X, y = problem(1500)
    free = Scorecard(n_knots=6, interactions=0, smooth=20.0).fit(X, y)
    assert (np.diff(free.shapes_[0].values) > 0.0).all()
    bound = Scorecard(n_knots=6, interactions=0, smooth=20.0, monotone={"x0": 1}).fit(X, y)
    np.testing.assert_allclose(bound.decision_function(X), free.decision_function(X), atol=1e-5)  # steps end there


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_rise_with_a_monotone_column_whatever_the_others_hold(sign):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    score = sign * X[:, 0] * (X[:, 1] > 0.0) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=2000)
    model = Scorecard(monotone={0: sign}, interactions=3, n_knots=8).fit(X, score > 0.3)
    assert any("x0" in pair for pair in model.interactions_)
    for shape in model.shapes_:
        if isinstance(shape.name, tuple) and "x0" in shape.name:
            assert (sign * np.diff(shape.values, axis=shape.name.index("x0")) >= 0.0).all()
    others = np.vstack([3.0 * rng.normal(size=(40, 3)), [[0.0, np.nan, 9.0]]])
    x = np.linspace(-6, 6, 301)
    for row in others:
        rows = np.repeat(row[None], len(x), axis=0)
        rows[:, 0] = x
        assert (sign * np.diff(model.decision_function(rows)) > -1e-12).all()


def test_shapes_and_grids_of_monotone_columns_are_the_constrained_optimum():
    X, y = problem(product=1.0)
    model = Scorecard(monotone={2: 1}, interactions=2, n_knots=5).fit(X, y)
    basis, moments = model._card.basis, ClassMoments(*model._seen)
    terms, penalty = penalty_terms(basis), Penalty(model.alpha_, model.smooth_, model.focus_)
    plan = ShapeSelection(model._features, [], basis, terms, penalty, moments, [], None, None, np.nan)
    w = _fit._square_minimiser(plan, moments.within, moments.delta, {2: 1}, None)
    H = 2.0 * (
        penalised(moments.within, moments.delta, terms, penalty) + np.multiply.outer(moments.delta, moments.delta)
    )
    slope = H @ w - 2.0 * moments.delta
    lines = monotone_columns(model._features, basis, {2: 1})
    assert len(lines) > 1
    rng = np.random.default_rng(0)
    for _ in range(50):  # no way from w to weights that rise goes down
        v = rng.normal(size=basis.size)
        for line in lines:
            v[line.place] = rng.normal() + np.cumsum(rng.exponential(size=len(line.place)))
        assert slope @ (v - w) > -1e-8
        for line in lines:
            assert (np.diff(w[line.place]) >= 0.0).all()


def test_two_monotone_columns_are_no_pair():
    X, y = problem(product=1.0)
    free, bound = (Scorecard(interactions=1, monotone=m).fit(X, y) for m in (None, {2: 1, 3: 1}))
    assert free.interactions_ == [("x2", "x3")]
    assert ("x2", "x3") not in bound.interactions_


# --- points ---------------------------------------------------------------------------------------


def test_bins_give_the_points_that_rows_get():
    pytest.importorskip("pandas")
    X, y = problem(1500, product=1.0)
    model = Scorecard(interactions=0, n_knots=8).fit(X, y)
    table = model.points(scale=30, base=500, odds=2.0, max_bins=None)
    assert list(table.columns) == ["column", "bin", "low", "high", "points"]
    assert (table["points"] == table["points"].round()).all()
    total = np.full(len(X), table.loc[table["column"] == "(base)", "points"].iloc[0])
    for j in range(4):
        lines = table[table["column"] == f"x{j}"]
        for i, cell in enumerate(X[:, j]):
            inside = lines["bin"] == "missing" if np.isnan(cell) else (lines["low"] <= cell) & (cell < lines["high"])
            assert inside.sum() == 1
            total[i] += lines.loc[inside, "points"].iloc[0]
    np.testing.assert_array_equal(total, model.total_points(X, scale=30, base=500, odds=2.0, max_bins=None))


def test_the_table_of_pairs_gives_the_points_that_rows_get():
    pytest.importorskip("pandas")
    X, y = problem(1500, product=1.0)
    X = X[:, 2:]
    model = Scorecard(n_knots=8).fit(X, y)
    table, pair = model.points(scale=20, max_bins=None), model.shapes_[-1]
    assert pair.name == ("x0", "x1")
    nodes = table.loc[table["column"] == "x0 × x1", "points"].to_numpy(dtype=float).reshape(pair.values.shape)
    hats = [np.stack([np.interp(X[:, j], pair.knots[j], e) for e in np.eye(len(pair.knots[j]))], 1) for j in (0, 1)]
    together = np.einsum("ni,ij,nj->n", hats[0], nodes, hats[1])
    sure = np.abs(together % 1.0 - 0.5) > 1e-9  # halves are rounded as their last bit falls
    total = np.full(len(X), table["points"].iloc[0]) + np.floor(together + 0.5)
    for j in (0, 1):
        lines = table[table["column"] == f"x{j}"].iloc[:-1]
        total += lines["points"].to_numpy()[np.searchsorted(lines["low"].to_numpy(), X[:, j], side="right") - 1]
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(total[sure], model.total_points(X, scale=20, max_bins=None)[sure])


def test_points_double_the_odds_and_keep_the_ranking(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = problem(1500, product=1.0)
    model = Scorecard().fit(X, y)
    exact = model.total_points(X, scale=20, base=600, odds=1.0, whole=False, max_bins=None)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(exact, 600 + 20 * np.log2(p / (1 - p)), atol=1e-6)
    assert abs(model.auc_lost(X, y, max_bins=None)) < 0.001
    whole = model.total_points(X)
    assert model.auc_lost(X, y) == pytest.approx(roc_auc(y, model.decision_function(X)) - roc_auc(y, whole))
    model.points(path=tmp_path / "points.csv")
    assert len(pd.read_csv(tmp_path / "points.csv")) == len(model.points())
    for name in ("points.txt", "points", "points.CSV.gz"):
        model.points(path=str(tmp_path / name))
    for name in ("points.xlsx", "points.json", "points.parquet.gz"):
        with pytest.raises(ValueError, match=r"'path' of Scorecard.points must be a csv file, whose name ends in"):
            model.points(path=tmp_path / name)
        assert not (tmp_path / name).exists()
    with pytest.raises(ValueError, match=r"'scale' of Scorecard.points must be a float in \(0.0, inf\). Got 0"):
        model.points(scale=0)
    for name, value in {"scale": "20", "base": np.nan, "odds": np.inf}.items():
        with pytest.raises(ValueError, match=f"'{name}' of Scorecard.points must be a float in"):
            model.points(**{name: value})


# --- reasons, plots, page -------------------------------------------------------------------------


def test_rows_of_files_are_explained_by_blocks(tmp_path):
    X, y = problem(500)
    model = Scorecard(interactions=0, n_knots=8).fit(X, y)
    rows = scan(lambda: ((X[at : at + 170], y[at : at + 170]) for at in range(0, 500, 170)))
    parts = model.contributions(X)
    np.testing.assert_array_equal(model.contributions(rows), parts)
    written = model.contributions(rows, out=tmp_path / "parts.npy")
    assert isinstance(written, np.memmap)
    np.testing.assert_array_equal(written, parts)
    assert model.reasons(rows, n=2, toward=True) == model.reasons(X, n=2, toward=True)
    np.testing.assert_array_equal(model.total_points(rows), model.total_points(X))
    assert model.auc_lost(rows, None) == model.auc_lost(rows, y) == model.auc_lost(X, y)
    with pytest.raises(ValueError, match=r"'n' of Scorecard\.reasons must be an int of at least 1"):
        model.reasons(rows, n=0)


def test_contributions_of_dask_are_lazy():
    dask = pytest.importorskip("dask.array")
    X, y = problem(300)
    model = Scorecard(interactions=0, n_knots=8).fit(X, y)
    found = model.contributions(dask.from_array(X, chunks=(100, -1)))
    assert hasattr(found, "compute")
    np.testing.assert_array_equal(found.compute(), model.contributions(X))


def test_reasons_are_the_largest_contributions():
    X, y = problem(1500, product=1.0)
    model = Scorecard().fit(X, y)
    parts = model.contributions(X[:20])
    for row, reasons in zip(parts, model.reasons(X[:20], n=3), strict=True):
        assert [r.contribution for r in reasons] == sorted(row, key=lambda v: -abs(v))[: len(reasons)]
        assert len(reasons) == 3
    for row, reasons in zip(parts, model.reasons(X[:20], n=9, toward=False), strict=True):
        assert [r.contribution for r in reasons] == sorted(row[row < 0.0])[:9]
    first = model.reasons(X[:1], n=1)[0][0]
    assert str(first).endswith(f"{first.contribution:+.3f}")
    with pytest.raises(ValueError, match=r"'toward' of Scorecard.reasons must be one of"):
        model.reasons(X[:1], toward="yes")
    for call, said in (
        (lambda: model.reasons(X[:1], n=0), "'n' of Scorecard.reasons must be an int of at least 1. Got 0"),
        (lambda: model.plot(most=-3), "'most' of Scorecard.plot must be an int of at least 1. Got -3"),
        (lambda: model.to_html(names=["a"]), "'names' of a page of Scorecard must be 4, one for each of 'x0', 'x1'"),
        (lambda: model.to_html(classes="yes"), "'classes' of a page of Scorecard must be 2, one for each of False"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            call()


def test_plots_have_a_panel_a_shape_the_most_important_first():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = problem(1500, product=1.0)
    model = Scorecard(interactions=5).fit(X, y)
    axes = model.plot(most=None)
    titles = [axis.get_title() for axis in np.ravel(axes) if axis.get_title()]
    expected = sorted(model.shapes_, key=lambda shape: -shape.importance)
    assert titles == [" × ".join(s.name) if isinstance(s.name, tuple) else s.name for s in expected]
    figure = np.ravel(axes)[0].figure
    figure.canvas.draw()
    matplotlib.pyplot.close(figure)


def test_the_page_is_whole_and_names_every_column(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = problem(1500, product=1.0)
    frame = pd.DataFrame(X, columns=["a<b", "zero", "left", "right"])
    frame["when"] = pd.Timestamp("2020-02-02") + pd.to_timedelta(np.arange(1500), unit="D")
    frame["town"] = np.where(y, "Ulm", np.where(X[:, 2] > 0, "Bonn", None))
    model = Scorecard().fit(frame, y)
    page = model.to_html(tmp_path / "card.html", title="A & B")
    assert (tmp_path / "card.html").read_text("utf-8") == page
    assert "A &amp; B" in page and "a&lt;b" in page and "a<b" not in page
    assert "://" not in page.replace("http://www.w3.org", "")
    for name in ("zero", "left", "right", "when", "town", "missing"):
        assert name in page
    assert "nan" not in page
    town = next(shape for shape in model.shapes_ if shape.name == "town")
    assert len(re.findall(r'class="line ours" d="M[-\d.]+ [-\d.]+H', page)) == (town.error > 0.0).sum() > 0
    said = f"higher chance of True: 600 points are odds of 50 to one, and {model.scale_:g} more double them."
    assert said in page
    assert "and 50 more double them." in model.to_html(scale=50)


def test_points_are_finer_where_rounding_would_blur_them():
    """Of more columns, more is lost by rounding each: then more points double the odds, and less is lost."""
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    few, many = (rng.normal(size=(400, d)) + 1.5 / np.sqrt(d) * y[:, None] for d in (2, 60))
    coarse, fine = (Scorecard(LeastSquaresAUC(alpha=1.0), interactions=0, n_knots=3).fit(X, y) for X in (few, many))
    assert coarse.scale_ == 50.0 < fine.scale_
    np.testing.assert_array_equal(fine.total_points(many), fine.total_points(many, fine.scale_))

    def rounding(scale):
        rounded, exact = (fine.total_points(many, scale, max_bins=None, whole=whole) for whole in (True, False))
        return rounded - exact

    lost = [rounding(scale) for scale in (50.0, fine.scale_)]
    spread = [np.abs(each).mean() / s for each, s in zip(lost, (50.0, fine.scale_), strict=True)]
    assert spread[1] < 0.6 * spread[0]
    score = fine.decision_function(many)
    within = np.sqrt(0.5 * (score[y].var() + score[~y].var())) * fine._odds.slope / np.log(2.0)
    assert np.sqrt(60 / 12) <= 0.01 * fine.scale_ * within * 1.05


def test_jumps_are_drawn_as_jumps():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(600, 1)).astype(float)
    model = Scorecard(interactions=0).fit(X, (X[:, 0] == 1) ^ (rng.random(600) < 0.2))
    shape = model.shapes_[0]
    assert shape.knots.tolist() == [0, 1, 2] and shape.steps.tolist() == [True, True, False]
    x, v = np.ravel(model.plot())[0].lines[-1].get_data()
    np.testing.assert_array_equal(x, [0, 0.5, 0.5, 1, 1.5, 1.5, 2])
    np.testing.assert_array_equal(v, shape.values[[0, 0, 1, 1, 1, 2, 2]])
    matplotlib.pyplot.close("all")


def test_bands_shrink_with_rows():
    small, large = (Scorecard(n_knots=8, interactions=0, smooth=0.2).fit(*problem(n)) for n in (400, 6400))
    assert large.shapes_[2].error.mean() < 0.6 * small.shapes_[2].error.mean()
    assert make_basis(large._features).size == large._card.basis.size


def test_a_notebook_shows_the_card_once_it_is_fitted():
    X, y = problem()
    card = Scorecard(interactions=0, n_knots=4, random_state=0)
    assert "<iframe" not in card._repr_html_()
    shown = card.fit(X, y)._repr_html_()
    assert shown.count("<iframe") == 1 and " sandbox " in shown and "Points" in shown
    assert "sk-top-container" in shown


def test_a_reason_prints_numbers_to_six_digits():
    assert str(ReasonCode("income", 16100.123456, 0.25)) == "income = 16100.1: +0.250"
    assert str(ReasonCode(("age", "home"), (3.0, "rent"), -0.5)) == "age × home = 3 × rent: -0.500"


def test_the_label_of_missing_values_stands_where_the_curve_is_far():
    """A category that no row lacks has no line for missing values."""
    rng, table = np.random.default_rng(0), np.empty((800, 2), dtype=object)
    x = np.where(rng.random(800) < 0.2, np.nan, np.exp(rng.normal(8.0, 1.5, 800)))
    y = (np.nan_to_num(-np.log(x), nan=-6.0) + rng.logistic(size=800) > -7.0).astype(int)
    table[:, 0], table[:, 1] = x, rng.choice(["a", "b"], 800)
    page = Scorecard(interactions=0, random_state=0).fit(table, y).to_html()
    labels = re.findall(r'text-anchor="(\w+)" >missing<', page)
    assert labels == ["end"]  # the curve falls from where the line is
