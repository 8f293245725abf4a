"""Bad input gets a sentence that names whom it is about and what to do; one for each that once named nothing."""

import numpy as np
import pytest

import auclid
from auclid import OAM, SOLAM, SPAM, AUCClassifier, Kernelized, KernelRankSVM, KMeansNystroem, LeastSquaresAUCCV


def sample(n=60, d=4):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 0.5 * y[:, None], y


@pytest.mark.parametrize("name", ["buffer_size", "n_epochs"])
def test_true_is_no_number_of_things(name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of OAM must be an int"):
        OAM(**{name: True}).fit(*sample())


@pytest.mark.parametrize("cls", [SPAM, auclid.RankSVM, auclid.SAMULT, AUCClassifier])
def test_labels_of_two_kinds(cls):
    X, _ = sample()
    with pytest.raises(ValueError, match="labels of one kind, numbers or strings; got both"):
        cls().fit(X, np.array([0, "a"] * 30, dtype=object))


def test_no_folds():
    with pytest.raises(ValueError, match="LeastSquaresAUCCV must have a fold"):
        LeastSquaresAUCCV(cv=[]).fit(*sample())


@pytest.mark.parametrize("model", [KMeansNystroem(10), Kernelized(KMeansNystroem(10)), KernelRankSVM()])
@pytest.mark.parametrize("scale", [1e155, 1e300])
def test_distances_beyond_floating_point(model, scale):
    X, y = sample()
    with pytest.raises(ValueError, match=r"must measure how far rows are apart.*Scale the columns"):
        model.fit(scale * X, y)


def test_one_cell_at_the_end_of_floating_point():
    X, y = sample()
    X[3, 1] = 1.7e308
    with pytest.raises(ValueError, match="Scale the columns"):
        Kernelized(KMeansNystroem(10, random_state=0)).fit(X, y)


@pytest.mark.filterwarnings("ignore:KernelRankSVM gives every row the same score")
def test_tiny_distances_leave_finite_scores():
    X, y = sample()
    for scale in (1e-155, 1e-170):
        try:
            model = KernelRankSVM().fit(scale * X, y)
        except ValueError as error:
            assert "Scale the columns" in str(error)
        else:
            assert np.isfinite(model.decision_function(scale * X)).all()


@pytest.mark.parametrize(
    "model", [LeastSquaresAUCCV(), auclid.LeastSquaresAUC(alpha=0.0), auclid.RankSVM(alpha="auto"), auclid.RankSVM()]
)
@pytest.mark.parametrize("scale", [1e155, 1e300])
def test_squares_beyond_floating_point(model, scale):
    """Not LAPACK's sentence, which is about an eigenvalue."""
    X, y = sample()
    with pytest.raises(ValueError, match=rf"{type(model).__name__} must end with finite weights.*Scale the columns"):
        model.fit(scale * X, y)


@pytest.mark.parametrize("model", [SPAM(random_state=-1), KMeansNystroem(random_state=-1)])
def test_a_negative_seed(model):
    with pytest.raises(ValueError, match=f"'random_state' parameter of {type(model).__name__} must be .*Got -1"):
        model.fit(*sample())


def test_a_negative_seed_of_a_function():
    X, y = sample()
    with pytest.raises(ValueError, match="'random_state' parameter must be a number of 0 or more"):
        auclid.metrics.auc_interval(y, X[:, 0], method="bootstrap", random_state=-1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zeta", [1e30, 1e200, 1e-30])
def test_absurd_steps_end_in_finite_scores_or_a_sentence(zeta):
    X, y = sample()
    try:
        scores = SOLAM(zeta=zeta, random_state=0).fit(X, y).decision_function(X)
    except ValueError as error:
        assert "smaller step" in str(error) or "Scale" in str(error)
    else:
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [1e-4, 10.0])
def test_a_heavy_penalty_does_not_turn_a_ranking_round(alpha, seed):
    """alpha/E|x|² of 1e20: hardly anything is left of a weight after a step, and rounding was all of the average."""
    X, y = sample(400)
    assert SOLAM(alpha=alpha, random_state=seed).fit(1e-12 * X, y).score(1e-12 * X, y) > 0.7


@pytest.mark.parametrize("model", [auclid.LeastSquaresAUC(), auclid.RankSVM(), LeastSquaresAUCCV(), auclid.Scorecard()])
def test_a_frame_without_columns(model):
    """Not NumPy's sentence, which is about an array or dtype."""
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\) \(shape=\(60, 0\)\)"):
        model.fit(pd.DataFrame(index=range(60)), sample()[1])
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        model.fit(pd.DataFrame({"a": []}), [])


def test_a_frame_without_columns_to_score():
    pd = pytest.importorskip("pandas")
    X, y = sample()
    with pytest.raises(ValueError, match="X has 0 features, but RankSVM is expecting 4"):
        auclid.RankSVM().fit(X, y).decision_function(pd.DataFrame(index=range(60)))


@pytest.mark.parametrize(("model", "advised"), [(auclid.LeastSquaresAUC(), False), (auclid.Scorecard(), True)])
def test_infinity_is_to_be_made_nan_only_where_nan_is_allowed(model, advised):
    pd = pytest.importorskip("pandas")
    X, y = sample()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"'b' of \w+ must hold finite numbers.*got infinity\. Clip it") as error:
        model.fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert ("NaN" in str(error.value)) is advised


def test_values_are_shown_as_a_user_writes_them():
    """No types of NumPy, no words between quotes, nothing said twice."""
    X, y = sample()
    words = np.array(["bad", "fair"])[y]
    survival = np.array([(False, 1.0)] * 60, dtype=[("event", bool), ("time", float)])
    for call, said in (
        (lambda: auclid.metrics.roc_auc(words, X[:, 0], pos_label=np.str_("good")), r"Got 'good' instead"),
        (lambda: auclid.metrics.auc_interval(y[::2], X[::2, 0], pos_label=np.int64(1)), "no row of pos_label=1 among"),
        (lambda: auclid.SurvivalRanker().fit(X, X[:, :1]), r"Got an array of shape \(60, 1\) instead"),
        (
            lambda: auclid.SurvivalRanker().fit(X, survival),
            r"Got 60 times, all censored instead\. Without an event no row can be ranked above another\.$",
        ),
        (lambda: auclid.export(auclid.RankSVM().fit(X, y), to="zip"), r"must be one of [\w, ]+\. Got 'zip' instead\.$"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_missing_groups_are_counted():
    X, y = sample()
    groups = np.where(np.arange(60) < 3, np.nan, 1.5)
    with pytest.raises(ValueError, match=r"'groups' parameter of auc_interval .* a missing one in 3 of 60 rows"):
        auclid.metrics.auc_interval(y, X[:, 0], groups=groups)


def test_settings_that_a_method_does_not_have():
    from auclid.cli.settings import with_settings
    from auclid.cli.wording import sentence

    with pytest.raises(ValueError, match="--set must name a parameter of RankSVM; got 'nope'") as error:
        with_settings(auclid.RankSVM(), ["nope=1"])
    assert sentence(error.value).startswith("--set must name a parameter of RankSVM; got 'nope'. Known are: alpha")
