"""Frames, rows by blocks, several classes and plots under attack: finite numbers, or a sentence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import auclid
from attack_plots import card, plot_case
from attack_rows import rows_case
from attack_tables import several_case, table_case
from auclid import AUCClassifier, Calibrated, Columns, KMeansNystroem, MulticlassAUC, Scorecard, plot, scan

SEEDS = st.integers(0, 2**32)


def sample(n=60, d=4):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 0.5 * y[:, None], y


def wild(X):
    """A CSR matrix with one index outside of it."""
    matrix = sparse.csr_matrix(X)
    matrix.indices[3] = 2**31 - 1
    return matrix


def test_a_scorecard_looks_at_indices_before_it_follows_them():
    X, y = sample()
    with pytest.raises(ValueError, match="indices lie inside"):
        Scorecard().fit(wild(X), y)
    with pytest.raises(ValueError, match="indices lie inside"):
        Scorecard(interactions=0).fit(X, y).decision_function(wild(X))


def test_rows_by_blocks_look_at_indices_before_they_follow_them():
    X, y = sample()
    with pytest.raises(ValueError, match="indices lie inside"):
        auclid.LeastSquaresAUC().fit(scan(lambda: iter([(wild(X), y)])))
    with pytest.raises(ValueError, match="indices lie inside"):
        scan(wild(X), target=y)


@pytest.mark.parametrize("weight", [1e155, 1e308, 1e-155, 1e-308])
@pytest.mark.parametrize(
    "model",
    [Scorecard(interactions=0, random_state=0), MulticlassAUC(), Columns(scale="rank")],
    ids=lambda model: type(model).__name__,
)
def test_only_ratios_of_weights_count(model, weight):
    X, y = sample()

    def numbers(w):
        model.fit(X, y, sample_weight=np.full(len(y), w))
        return model.transform(X) if isinstance(model, Columns) else model.decision_function(X)

    np.testing.assert_allclose(numbers(weight), numbers(1.0), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weight", [1e155, 1e308, 1e-155, 1e-308])
@pytest.mark.parametrize(
    "model",
    [Calibrated(cv=2), AUCClassifier(methods=["LeastSquaresAUC"], cv=2, random_state=0)],
    ids=["sigmoid", "front"],
)
def test_absurd_weights_leave_the_ranking_and_finite_odds(model, weight):
    """To calibrate, weights are numbers of rows: the odds of a few differ from those of many."""
    X, y = sample()
    absurd, plain = (model.fit(X, y, sample_weight=np.full(60, w)).decision_function(X) for w in (weight, 1.0))
    assert np.isfinite(absurd).all()
    np.testing.assert_array_equal(np.argsort(absurd), np.argsort(plain))


def test_a_row_that_weighs_next_to_nothing_has_a_finite_rank():
    X, y = sample()
    weight = np.where(np.arange(60) == X[:, 0].argmin(), 5e-324, 1.0)
    assert np.isfinite(Columns(scale="rank").fit(X, sample_weight=weight).transform(X)).all()
    assert np.isfinite(Scorecard(n_knots=4).fit(X, y, sample_weight=weight).decision_function(X)).all()


def test_knots_where_most_values_weigh_next_to_nothing():
    X, y = sample()
    weight = np.where(np.arange(60) < 4, 1.0, 5e-324)
    assert np.isfinite(Scorecard(n_knots=3, random_state=0).fit(X, y, sample_weight=weight).decision_function(X)).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("max_fpr", [1.0, 0.5, "top"])
def test_a_class_that_weighs_next_to_nothing(max_fpr):
    """The product of two masses vanishes."""
    X, y = sample()
    weight = np.where(y == 1, 5e-324, 1e-3)
    model = auclid.RankSVM(max_fpr=max_fpr, max_iter=20).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.decision_function(X)).all()


def test_no_folds_for_the_front_door():
    X, y = sample()
    with pytest.raises(ValueError, match="'cv' parameter of AUCClassifier must have a fold"):
        AUCClassifier(cv=[]).fit(X, y)


def test_whole_numbers_that_no_float_holds():
    X, y = sample()
    X = X.astype(object)
    X[3, 1] = 10**400
    with pytest.raises(ValueError, match="a whole number beyond 1e308"):
        auclid.SPAM().fit(X, y)


def test_scores_of_several_classes_are_finite_or_an_error():
    X, _ = sample()
    model = MulticlassAUC().fit(X, np.arange(60) % 3)
    model.coef_ = 100.0 * model.coef_
    with pytest.raises(ValueError, match="must give finite scores"):
        model.decision_function(np.full((3, 4), 1.7e308))


def test_scores_of_a_scorecard_are_finite_or_an_error():
    X, y = sample()
    model = Scorecard(interactions=0, random_state=0).fit(X, y)
    model.intercept_ = np.array([np.inf])
    with pytest.raises(ValueError, match="must give finite scores"):
        model.decision_function(X)


def test_sparse_columns_far_beyond_what_was_seen_are_numbers():
    tiny = sparse.csr_matrix(np.full((4, 2), 1e-300))
    assert np.isfinite(Columns().fit(tiny).transform(np.full((2, 2), 1e200))).all()


def test_a_damaged_file_is_not_quoted_at_length(tmp_path):
    path = tmp_path / "a"
    auclid.save(path, MulticlassAUC().fit(*sample()))
    content = path.read_bytes()
    at = content.index(b"head.json")  # the length of the first name, two bytes at 26 of its header
    path.write_bytes(content[: at - 4] + (5000).to_bytes(2, "little") + content[at - 2 :])
    with pytest.raises(ValueError, match="must be an auclid model file") as error:
        auclid.load(path)
    assert len(str(error.value)) < 1000


def test_shapes_of_no_column():
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="Got an empty list"):
        plot.shapes(card(), [])


@pytest.mark.filterwarnings("error:invalid value", "ignore:.* was given no unlabelled rows")
@pytest.mark.parametrize("name", ["SAMULT", "PNUAUC", "QSGS2AUC", "MulticlassAUC", "KMeansNystroem", "RandomFourier"])
def test_rows_whose_squares_vanish_are_told(name):
    X, y = sample()
    model = getattr(auclid, name)()
    if "n_components" in model.get_params():
        model.set_params(n_components=4)
    with pytest.warns(UserWarning, match="gives every row the same"):
        model.fit(1e-200 * X, y)


def test_a_map_behind_a_ranker_tells_too():
    X, y = sample()
    with pytest.warns(UserWarning, match="KMeansNystroem gives every row the same values"):
        auclid.Kernelized(KMeansNystroem(4, random_state=0)).fit(1e-200 * X, y)


@given(SEEDS)
@settings(max_examples=20)
def test_hostile_frames_and_classes_end_well(seed):
    table_case(np.random.default_rng(seed))
    several_case(np.random.default_rng(seed))


@given(SEEDS)
@settings(max_examples=20)
def test_hostile_rows_by_blocks_end_well(seed):
    pytest.importorskip("pyarrow")
    rows_case(np.random.default_rng(seed))


@given(SEEDS)
@settings(max_examples=20)
def test_hostile_plots_end_well(seed):
    pytest.importorskip("matplotlib")
    plot_case(np.random.default_rng(seed))


def test_scores_beyond_any_axis_are_told():
    with pytest.raises(ValueError, match=r"plot\.scores expects scores within 1e\+300.*Rescale them"):
        plot.scores([0, 1, 0, 1], [1.0, 1.7e308, 2.0, 3.0])


@pytest.mark.long
@given(SEEDS)
@settings(max_examples=500)
def test_many_hostile_frames_rows_and_plots_end_well(seed):
    for case in (table_case, several_case, rows_case, plot_case):
        case(np.random.default_rng(seed))
