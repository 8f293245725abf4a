"""Scorecards edited by hand: what each action does, what follows, and what is kept."""

import copy
import json
import pickle

import numpy as np
import pytest

from auclid import Scorecard, load, save
from auclid.additive._lines import BrokenLine, clipped, flat, splice
from auclid.metrics import compare_auc, roc_auc

pd = pytest.importorskip("pandas")


def loans(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    age, debt = rng.integers(18, 80, n).astype(float), rng.random(n)
    job = rng.choice(["clerk", "driver", "judge"], n)
    score = -0.05 * age + 2.0 * debt + (job == "judge") + 3.0 * np.sign((debt - 0.5) * (age - 49))
    y = score + rng.logistic(size=n) > np.quantile(score, 0.7)
    frame = pd.DataFrame({"age": age, "debt": debt, "job": job})
    frame.loc[rng.random(n) < 0.1, "debt"] = np.nan
    return frame, y


@pytest.fixture(scope="module")
def fitted():
    X, y = loans()
    return Scorecard(random_state=0).fit(X, y), X, y


@pytest.fixture
def card(fitted):
    return copy.deepcopy(fitted[0])


AGE, DEBT, JOB = range(3)


def test_a_range_is_set_and_the_rest_stays(card, fitted):
    _, X, _ = fitted
    before, scores = card.contributions(X), card.decision_function(X)
    card.edit("age", "set", low=30, high=40, value=1.25, reason="policy")
    after, inside = card.contributions(X), (X["age"] >= 30) & (X["age"] < 40)
    assert (after[inside, AGE] == 1.25).all()
    np.testing.assert_allclose(after[~inside, AGE], before[~inside, AGE], atol=1e-6)
    np.testing.assert_array_equal(after[:, 1:], before[:, 1:])
    np.testing.assert_allclose(card.decision_function(X) - scores, after[:, AGE] - before[:, AGE], atol=1e-9)
    assert card.edits_ == [
        {"column": "age", "action": "set", "low": 30, "high": 40, "value": 1.25, "reason": "policy"}
    ]


def test_probabilities_points_and_shapes_follow(card, fitted):
    _, X, _ = fitted
    old = card.predict_proba(X)[:, 1]
    card.edit("job", "set", levels=["judge"], points=300)
    factor = card.scale_ * card._odds.slope / np.log(2.0)
    job = card.shapes_[JOB]
    assert factor * job.values[job.levels.index("judge")] == pytest.approx(300)
    table = card.points()
    line = table[(table["column"] == "job") & table["bin"].str.contains("judge")]
    assert line["points"].item() == 300
    judge = (X["job"] == "judge").to_numpy()
    assert (card.predict_proba(X)[judge, 1] > old[judge]).all()
    np.testing.assert_allclose(card.predict_proba(X)[~judge, 1], old[~judge])
    exact = card.total_points(X, scale=20, base=0, odds=1.0, whole=False, max_bins=None)
    p = card.predict_proba(X)
    np.testing.assert_allclose(exact, 20 * np.log2(p[:, 1] / p[:, 0]), atol=1e-6)


def test_a_value_at_a_point_moves_the_line_between_its_neighbours(card, fitted):
    knots = fitted[0].shapes_[DEBT].knots
    x = float(knots[2])
    card.edit("debt", "set", at=x, value=9.0)
    shape = card.shapes_[DEBT]
    assert shape.values[list(shape.knots).index(x)] == 9.0
    between = 0.5 * (knots[2] + knots[3])
    card.edit("debt", "set", at=between, value=-9.0)
    X = fitted[1].head(1).assign(debt=between)
    assert card.contributions(X)[0, DEBT] == pytest.approx(-9.0)


def test_merged_parts_have_their_mean(card, fitted):
    _, X, _ = fitted
    before = card.contributions(X)
    card.edit("age", "merge", low=20, high=50)
    inside = ((X["age"] >= 20) & (X["age"] < 50)).to_numpy()
    after = card.contributions(X)[inside, AGE]
    assert np.ptp(after) == 0.0
    assert after[0] == pytest.approx(before[inside, AGE].mean(), abs=1e-6)
    card.edit("job", "merge", levels=["clerk", "driver"])
    both = X["job"].isin(["clerk", "driver"]).to_numpy()
    values = card.contributions(X)[both, JOB]
    assert np.ptp(values) == 0.0 and values[0] == pytest.approx(before[both, JOB].mean())


def test_caps_hold_everywhere(card, fitted):
    _, X, _ = fitted
    before = card.contributions(X)[:, DEBT]
    card.edit("debt", "cap", lower=-0.1, upper=0.2)
    np.testing.assert_allclose(card.contributions(X)[:, DEBT], np.clip(before, -0.1, 0.2), atol=1e-12)
    pair = tuple(card.interactions_[0])
    card.edit(pair, "cap", upper=0.1)
    assert card.contributions(X)[:, 3].max() <= 0.1 + 1e-12
    card.edit(pair, "remove")
    assert (card.contributions(X)[:, 3] == 0.0).all()


def test_removed_columns_add_nothing(card, fitted):
    _, X, _ = fitted
    card.edit("debt", "remove")
    assert (card.contributions(X)[:, DEBT] == 0.0).all()
    assert card.shapes_[DEBT].importance == 0.0
    assert not (card.points()["column"] == "debt").any()
    card.edit("job", "remove", levels=["judge"])
    assert (card.contributions(X)[(X["job"] == "judge").to_numpy(), JOB] == 0.0).all()
    card.edit("debt", "set", missing=True, value=2.0)
    assert (card.contributions(X)[:, DEBT] == np.where(X["debt"].isna(), 2.0, 0.0)).all()


@pytest.mark.parametrize("direction", [1, -1])
def test_monotone_shapes_are_so(card, direction):
    card.edit("age", "monotone", direction=direction)
    X = pd.DataFrame({"age": np.linspace(10, 90, 400), "debt": 0.5, "job": "clerk"})
    assert (direction * np.diff(card.contributions(X)[:, AGE]) >= 0.0).all()


def test_what_is_frozen_stays(card, fitted):
    _, X, _ = fitted
    card.edit("age", "freeze", low=30, high=40)
    kept = card.contributions(X)
    with pytest.raises(ValueError, match=r"'set' of 'age'.* must leave alone what an earlier edit has frozen"):
        card.edit("age", "set", low=35, high=50, value=0.0)
    np.testing.assert_array_equal(card.contributions(X), kept)
    card.edit("age", "set", low=40, high=50, value=0.0)
    inside = ((X["age"] >= 30) & (X["age"] < 40)).to_numpy()
    np.testing.assert_allclose(card.contributions(X)[inside, AGE], kept[inside, AGE], atol=1e-9)
    more, y = loans(seed=1)
    card.partial_fit(more, y)
    np.testing.assert_allclose(card.contributions(X)[inside, AGE], kept[inside, AGE], atol=1e-9)
    assert [edit["action"] for edit in card.edits_] == ["freeze", "set"]


def test_the_effect_is_the_difference_of_auc_with_its_interval(card, fitted):
    X, y = loans(seed=2)
    before = card.decision_function(X)
    card.edit("age", "remove", X=X, y=y)
    effect, expected = card.edits_[-1]["effect"], compare_auc(y, card.decision_function(X), before)
    assert effect["difference"] == pytest.approx(expected.difference)
    assert (effect["low"], effect["high"]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert effect["auc_before"] == pytest.approx(roc_auc(y, before)) and effect["rows"] == len(y)


def test_an_effect_needs_labels(card, fitted):
    with pytest.raises(ValueError, match=r"'y' parameter of Scorecard must hold the labels of X. Got None instead"):
        card.edit("age", "remove", X=fitted[1])
    assert card.edits_ == []


def test_edits_travel_in_the_model_file_and_as_json(card, fitted, tmp_path):
    model, X, y = fitted
    card.edit("age", "set", low=30, high=40, value=1.0, reason="policy", X=X, y=y).edit("debt", "cap", upper=0.5)
    save(tmp_path / "card.auclid", card)
    loaded = load(tmp_path / "card.auclid")
    assert loaded.edits_ == card.edits_
    np.testing.assert_array_equal(loaded.decision_function(X), card.decision_function(X))
    loaded.edit("job", "remove")
    (tmp_path / "edits.json").write_text(json.dumps({"edits": card.edits_}))
    for edits in (card.edits_, json.dumps(card.edits_), tmp_path / "edits.json", str(tmp_path / "edits.json")):
        again = copy.deepcopy(model).apply(edits)
        np.testing.assert_array_equal(again.decision_function(X), card.decision_function(X))
    np.testing.assert_array_equal(
        loaded.apply([], replace=True).decision_function(X), model.decision_function(X)
    )
    assert loaded.edits_ == []


def test_all_edits_are_made_or_none(card, fitted):
    _, X, _ = fitted
    before = card.decision_function(X)
    with pytest.raises(ValueError, match="must be one of age, debt, job"):
        card.apply([{"column": "age", "action": "remove"}, {"column": "height", "action": "remove"}])
    np.testing.assert_array_equal(card.decision_function(X), before)
    assert card.edits_ == []


def test_a_fit_forgets_edits(card, fitted):
    model, X, y = fitted
    card.edit("age", "remove").fit(X, y)
    assert card.edits_ == []
    np.testing.assert_array_equal(card.decision_function(X), model.decision_function(X))


def test_merged_models_keep_the_edits_of_the_first():
    X, y = loans()
    knots = Scorecard(interactions=0).fit(X, y).knots_
    one, two = (Scorecard(interactions=0, n_knots=knots) for _ in range(2))
    one.partial_fit(X[:700], y[:700]).edit("age", "set", low=30, high=40, value=1.0)
    two.partial_fit(X[700:], y[700:])
    both = one.merge(two)
    whole = Scorecard(interactions=0, n_knots=knots).partial_fit(X, y).edit("age", "set", low=30, high=40, value=1.0)
    np.testing.assert_allclose(both.decision_function(X), whole.decision_function(X), atol=1e-8)


BAD = [
    ({"action": "lift"}, "'action' of an edit of a Scorecard must be one of set, merge"),
    ({"action": "set"}, "must have a finite number as its 'value'; got None"),
    ({"action": "set", "value": np.inf}, "must have a finite number as its 'value'; got inf"),
    ({"action": "set", "value": 1.0, "low": 5, "high": 5}, "must have a 'low' below its 'high'"),
    ({"action": "set", "value": 1.0, "levels": ["x"]}, "must name some of the levels"),
    ({"action": "cap"}, "must have a 'lower' or an 'upper' limit"),
    ({"action": "monotone", "direction": 2}, "must have 1 .rising. or -1"),
    ({"column": "job", "action": "monotone", "direction": 1}, "levels have no order"),
    ({"column": "job", "action": "set", "value": 1.0, "low": 2}, "of a column of numbers"),
    ({"column": "job", "action": "set", "value": 1.0, "at": 2}, "must name 'levels' of a category"),
    ({"column": ("age", "debt"), "action": "merge"}, "must be 'remove' or 'cap' where it is of a pair"),
    ({"action": "set", "value": 1.0, "points": 1.0}, "must have a value or points; got both"),
]


@pytest.mark.parametrize(("edit", "says"), BAD)
def test_bad_edits_get_a_sentence(card, edit, says):
    with pytest.raises(ValueError, match=says):
        card.edit(**{"column": "age", **edit})
    assert card.edits_ == []


def test_fields_that_an_edit_does_not_have_are_named(card):
    with pytest.raises(ValueError, match=r"must have only the fields action, at, column.*; got 'operation'"):
        card.apply([{"column": "age", "action": "remove", "operation": 1}])


@pytest.mark.parametrize("edits", ["[1]", "{}", "[", 3, "nowhere.json", [{"column": "age", "deed": "set"}]])
def test_bad_files_of_edits_get_a_sentence(card, edits):
    with pytest.raises(ValueError, match="edit"):
        card.apply(edits)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), lambda model: model])
def test_shapes_cannot_be_changed_in_place(card, how):
    model = how(card)
    for array in (model.shapes_[0].values, model.shapes_[0].knots, model.shapes_[-1].values, model.knots_["age"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_spliced_line_is_the_one_inside_and_the_other_outside(seed):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(2):
        knots = np.sort(rng.choice(np.arange(40), 6, replace=False)).astype(float)
        lines.append(BrokenLine(knots, rng.normal(size=6), rng.random(6) < 0.4))
    low, high = np.sort(rng.uniform(-5, 45, 2))
    low, high = [(low, high), (-np.inf, high), (low, np.inf), (round(low), round(high) + 1.0), (-np.inf, np.inf)][seed]
    both = splice(lines[0], low, high, lines[1])
    assert (np.diff(both.knots) > 0.0).all()
    x = np.linspace(-6, 46, 2001)
    ends = [end for end in (low, high) if np.isfinite(end)]
    x = np.concatenate([x[np.all([np.abs(x - e) > 1e-6 for e in ends], axis=0)] if ends else x, ends])
    expected = np.where((x >= low) & (x < high), lines[1].at(x), lines[0].at(x))
    np.testing.assert_allclose(both.at(x), expected, atol=1e-6)


def test_clipped_lines_bend_at_the_limit():
    line = BrokenLine(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, -2.0]), np.array([False, False, False]))
    x = np.linspace(-1, 4, 101)
    np.testing.assert_allclose(clipped(line, -1.0, 1.0).at(x), np.clip(line.at(x), -1.0, 1.0), atol=1e-12)
    assert flat(3.0, line).at([0.0, 9.0]).tolist() == [3.0, 3.0]
