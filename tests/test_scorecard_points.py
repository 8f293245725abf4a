"""The points of a scorecard in few bins: what they say, what they lose, and what is counted for them."""

import itertools

import numpy as np
import pytest

from auclid import Scorecard
from auclid._rounding import roundest
from auclid.additive._binning import BinLimits, auc_cost, rectangle_path, step_path
from auclid.additive._counts import narrow_edges
from auclid.additive._features import Feature
from auclid.metrics import roc_auc

pd = pytest.importorskip("pandas")


def loans(n=4000, seed=0, pair=1.0):
    """Applicants with whole numbers, heavy tails, texts, missing cells and a pair of columns."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 80, n).astype(float), np.exp(rng.normal(10.0, 1.0, n))
    debt, job = rng.random(n), rng.choice(["clerk", "driver", "judge", "pilot"], n)
    score = -0.04 * age - 0.8 * np.log(income) + 2.0 * debt + 1.0 * (job == "judge")
    score += pair * 3.0 * np.sign((debt - 0.5) * (age - 49))
    y = score + rng.logistic(size=n) > np.quantile(score, 0.8)
    frame = pd.DataFrame({"age": age, "income": income, "debt": debt, "job": job})
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame, y


@pytest.fixture(scope="module")
def card():
    X, y = loans()
    return Scorecard(random_state=0).fit(X, y), X, y


def points_by_hand(table, X):
    """The points of rows, read off the table as its reader would."""
    total = np.full(len(X), table["points"].iloc[0])
    for name in X.columns:
        lines = table[table["column"] == name]
        for i, cell in enumerate(X[name]):
            if cell is None or cell != cell:
                inside = lines["bin"] == "missing"
            elif isinstance(cell, str):
                inside = lines["bin"].map(lambda text, cell=cell: cell in text.split(", "))
            else:
                inside = (lines["low"] <= cell) & (cell < lines["high"])
            assert inside.sum() <= 1
            total[i] += lines.loc[inside, "points"].sum()
    return total


@pytest.mark.parametrize("settings", [{}, {"max_bins": 4}, {"higher": "safer"}, {"scale": 20, "base": 500, "odds": 2}])
def test_the_table_gives_the_points_that_rows_get(settings):
    X, y = loans(pair=0.0)
    model = Scorecard(interactions=0, random_state=0).fit(X, y)
    table = model.points(**settings)
    some = X.head(300)
    np.testing.assert_array_equal(points_by_hand(table, some), model.total_points(some, **settings))


def test_a_card_has_few_lines_and_loses_little(card):
    model, X, y = card
    table, (X_test, y_test) = model.points(), loans(seed=1)
    assert len(table) <= 120 < len(model.points(max_bins=None))
    assert model.interactions_ and (table["column"] == "age × debt").any()
    assert abs(model.auc_lost(X_test, y_test)) < 0.003
    lost = roc_auc(y, model.decision_function(X)) - roc_auc(y, model.total_points(X))
    assert model.auc_lost(X, y) == pytest.approx(lost)
    assert 0.0 <= table.attrs["auc_lost"] < 0.003


def test_no_column_has_more_bins_than_allowed(card):
    model, _, _ = card
    for most in (1, 2, 5):
        counts = model.points(max_bins=most).query("bin != 'missing' and column != '(base)'").groupby("column").size()
        assert counts.max() <= most if len(counts) else most == 1
    assert model.points(max_bins=2).attrs["auc_lost"] > model.points(max_bins=8).attrs["auc_lost"]


def test_a_table_has_no_more_lines_than_allowed():
    """Lines of missing cells count too; more lines lose less."""
    X, y = loans(pair=0.0)
    rng = np.random.default_rng(0)
    for k in range(12):
        X[f"more_{k}"] = np.where(rng.random(len(X)) < 0.1, np.nan, rng.normal(size=len(X)) + 0.4 * y)
    model = Scorecard(interactions=0, random_state=0).fit(X, y)
    assert len(model.points()) <= 120
    lost = []
    for most in (40, 60, 200):
        table = model.points(max_lines=most, max_auc_lost=0.0)
        assert len(table) <= most and {"missing"} <= set(table["bin"])
        assert len(model.point_bins(max_lines=most)) <= most
        lost.append(table.attrs["auc_lost"])
    assert lost[0] > lost[1] > lost[2]
    assert len(model.points(max_bins=8, max_lines=50)) <= 50 < len(model.points(max_bins=8))


def test_bins_are_counted_and_readable(card):
    model, X, y = card
    table = model.points(max_bins=6)
    age = table[table["column"] == "age"]
    assert (age["low"].iloc[1:] % 1.0 == 0.0).all() and age["bin"].iloc[0].startswith("up to ")
    for line in age.itertuples():
        inside = (X["age"] >= line.low) & (X["age"] < line.high)
        assert (line.rows, line.positives) == (inside.sum(), y[inside].sum())
        assert line.rate == pytest.approx(y[inside].mean())
        shares = [(y[inside] == side).sum() / (y == side).sum() for side in (True, False)]
        assert line.woe == pytest.approx(np.log(shares[0] / shares[1]), abs=0.1)
        assert line.iv == pytest.approx((shares[0] - shares[1]) * line.woe)
    income = table[table["column"] == "income"]
    edges = income["low"].to_numpy()[1:-1]
    assert all(len(f"{edge:g}".replace(".", "").rstrip("0")) <= 3 for edge in edges)  # 25000, not 24873.1
    assert income["rows"].sum() == len(X) == table[table["column"] == "job"]["rows"].sum()
    missing = income[income["bin"] == "missing"]
    assert missing["rows"].item() == X["income"].isna().sum()
    words = set(", ".join(table[table["column"] == "job"]["bin"]).split(", "))
    assert words >= {"clerk", "driver", "judge", "pilot"}


def test_a_bin_has_its_share_of_the_rows(card):
    model, _, y = card
    table = model.points(min_share=0.1).query("column == 'age'")
    shares = [table["positives"] / y.sum(), (table["rows"] - table["positives"]) / (~y).sum()]
    assert (0.5 * (shares[0] + shares[1])).min() >= 0.1 - 1e-9


def test_points_that_rise_with_safety_are_those_that_rise_with_risk_turned_round(card):
    model, X, _ = card
    p = model.predict_proba(X)
    exact = {"scale": 20, "base": 600, "odds": 1.0, "whole": False, "max_bins": None}
    safer = model.total_points(X, higher="safer", **exact)
    np.testing.assert_allclose(safer, 600 + 20 * np.log2(p[:, 0] / p[:, 1]), atol=1e-6)
    assert np.corrcoef(model.total_points(X, higher="safer"), model.total_points(X))[0, 1] < -0.99
    page = model.to_html(higher="safer", base=500, odds=20, scale=30)
    assert "higher chance of False: 500 points are odds of 20 to one, and 30 more double them." in page


def test_points_do_not_run_on_beyond_the_data(card):
    model, X, _ = card
    far, end = X.head(2).copy(), X.head(2).copy()
    for frame, factor in ((far, 10.0), (end, 1.0)):
        frame["age"], frame["debt"] = factor * X["age"].max(), factor * X["debt"].max()
        frame["income"] = factor * X["income"].max()
    for settings in ({}, {"max_bins": None}):
        np.testing.assert_array_equal(model.total_points(far, **settings), model.total_points(end, **settings))
    np.testing.assert_array_equal(model.decision_function(far), model.decision_function(end))


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_bins", 0), ("max_bins", 2.5), ("max_bins", "many"), ("higher", "up"), ("min_share", 0.7), ("min_share", "x"),
     ("max_auc_lost", -1.0), ("max_bins", True), ("max_lines", 1), ("max_lines", "few"), ("max_lines", None)],
)  # fmt: skip
def test_bad_settings_get_a_sentence(card, name, value):
    with pytest.raises(ValueError, match=f"'{name}' of Scorecard.points must be .* Got {value!r} instead."):
        card[0].points(**{name: value})


def test_lines_are_not_bounded_without_bins(card):
    with pytest.raises(ValueError, match=r"'max_lines' of Scorecard.points must be 'auto' without bins .* Got 50"):
        card[0].points(max_bins=None, max_lines=50)


# --- counts ---------------------------------------------------------------------------------------


def test_counts_of_batches_add_up():
    X, y = loans(1200, pair=0.0)
    whole = Scorecard(interactions=0, random_state=0).partial_fit(X, y)
    parts = Scorecard(interactions=0, random_state=0, n_knots=whole.knots_)
    other = Scorecard(interactions=0, random_state=0, n_knots=whole.knots_)
    parts.partial_fit(X[:500], y[:500]).partial_fit(X[500:700], y[500:700])
    other.partial_fit(X[700:], y[700:])
    parts.merge(other)
    one, two = whole.points(max_bins=None), parts.points(max_bins=None)
    assert len(one) and len(two)
    for a, b in zip(whole._counts.columns, parts._counts.columns, strict=True):
        np.testing.assert_allclose(a.rows, b.rows)
        np.testing.assert_allclose(a.total, b.total)
        np.testing.assert_allclose(a.missing, b.missing)
        assert a.rows.sum() + a.missing.sum() == len(X)


def test_weights_count_as_rows():
    X, y = loans(800, pair=0.0)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = Scorecard(interactions=0, n_knots=6, random_state=0).fit(X, y, sample_weight=weight).points()
    assert weighted.loc[weighted["column"] == "age", "rows"].sum() == weight.sum()


@pytest.mark.parametrize("seed", range(4))
def test_an_edge_is_the_roundest_number_of_its_gap(seed):
    rng = np.random.default_rng(seed)
    low = float(rng.normal() * 10.0 ** rng.integers(-6, 7))
    high = low + abs(float(rng.normal() * 10.0 ** rng.integers(-6, 7)))
    value = roundest(low, high)
    assert low < value <= high

    def digits(x):
        return len(f"{x:.15g}".split("e")[0].replace("-", "").replace(".", "").strip("0"))

    candidates = np.linspace(low, high, 200)[1:]
    assert digits(value) <= min(digits(float(f"{x:.15g}")) for x in candidates)


def test_edges_lie_around_frequent_values():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(5000) < 0.3, 0.0, rng.exponential(size=5000))
    knots = np.quantile(x, [0.0, 0.5, 1.0])
    feature = Feature("x", "number", knots, None, -1, False, np.ones(3) / 3, np.zeros(3, bool), np.zeros(3, bool))
    edges = narrow_edges(feature, x, np.ones(5000))
    alone = np.searchsorted(edges, 0.0, side="right")
    assert (np.searchsorted(edges, x, side="right") == alone).sum() == (x == 0.0).sum()
    assert np.all(np.diff(edges) > 0.0) and len(edges) > 30


# --- steps ----------------------------------------------------------------------------------------


def test_classes_that_are_far_apart_have_bins_all_the_same():
    X, y = np.arange(60.0)[:, None], np.arange(60) >= 30
    model = Scorecard().fit(X, y)
    assert len(model.points()) > 2 and roc_auc(y, model.total_points(X)) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    values, weight = rng.normal(size=8), rng.random(8)
    errors, labels = step_path(values, weight, BinLimits(4, 0.0, 0.0))

    def error(label):
        means = np.bincount(label, weight * values) / np.bincount(label, weight)
        return float((weight * (values - means[label]) ** 2).sum())

    for count in range(1, 5):
        cuts = itertools.combinations(range(1, 8), count - 1)
        best = min(error(np.searchsorted(cut, np.arange(8), side="right")) for cut in cuts)
        assert errors[count - 1] == pytest.approx(best)
        assert error(labels(count)) == pytest.approx(best)


def test_rectangles_cover_the_grid_and_lower_the_error():
    rng = np.random.default_rng(0)
    values = np.outer(np.arange(5) > 1, np.arange(4) > 2) + 0.01 * rng.normal(size=(5, 4))
    errors, labels = rectangle_path(values, np.ones((5, 4)), BinLimits(6, 0.0, 0.0))
    assert np.all(np.diff(errors) <= 0.0) and errors[2] < 0.01 < errors[0]
    assert len(np.unique(labels(3))) == 3 and len(np.unique(labels(3)[2:, 3])) == 1


def test_the_estimated_loss_of_auc_is_that_of_normal_scores():
    """Noise added to normal scores lowers their AUC by what the formula says."""
    rng = np.random.default_rng(0)
    n, noise = 200_000, 0.1
    scores, y = rng.normal(size=2 * n), np.arange(2 * n) < n
    scores[y] += 1.0
    lost = roc_auc(y, scores) - roc_auc(y, scores + noise * rng.normal(size=2 * n))
    assert auc_cost(1.0, 2.0) * 2.0 * noise**2 == pytest.approx(lost, rel=0.2)
