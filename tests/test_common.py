"""What every estimator of the package owes its users; later ones are found by introspection."""

import inspect
import io
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import auclid

EVERY = [getattr(auclid, name) for name in auclid.__all__]
EVERY = [cls for cls in EVERY if inspect.isclass(cls) and issubclass(cls, BaseEstimator)]
EVERY = [cls for cls in EVERY if cls is not auclid.SurvivalRanker]  # its y is no column of labels: test_ordered.py
SCORING = [cls for cls in EVERY if hasattr(cls, "decision_function")]
RANKERS = [cls for cls in EVERY if is_classifier(cls())]
ONLINE = [cls for cls in RANKERS if hasattr(cls(), "partial_fit")]

# Constructor keywords (a contract), with their defaults where the contract names them.
ANY = object()
SEEDED = {"n_epochs": ANY, "random_state": None}
PARAMETERS = {
    "LeastSquaresAUC": {
        "alpha": 1e-4,
        "l1": 0.0,
        "positive": False,
        "solver": "auto",
        "tol": ANY,
        "max_iter": ANY,
    },
    "LeastSquaresAUCCV": {"alphas": None, "cv": 5},
    "MulticlassAUC": {"alpha": 1e-4},
    "RankBoost": {"n_rounds": 200, "n_neighbors": 0, "unlabeled_weight": 0.5, "unlabeled": "auto"},
    "MinimaxAUC": {"alpha": 1e-4},
    "ConstrainedAUC": {"max_gap": 0.05, "alpha": 1e-4, "between": "xauc", "gap": "margin"},
    "SPAM": dict(alpha=ANY, l1=0.0, penalty=None, schedule="auto", shuffle=ANY, average=ANY, **SEEDED),
    "SOLAM": dict(radius=ANY, zeta=ANY, alpha=None, shuffle=ANY, **SEEDED),
    "FSAUC": dict(radius=ANY, **SEEDED),
    "OPAUC": dict(alpha=ANY, step=ANY, rank=None, shuffle=ANY, **SEEDED),
    "AdaOAM": dict(alpha=ANY, step=ANY, delta=0.5, shuffle=ANY, **SEEDED),
    "ASAM": dict(alpha=ANY, loss="hinge", t0=ANY, rskip=ANY, askip=ANY, average=ANY, **SEEDED),
    "PSAM": dict(alpha=ANY, loss="hinge", t0=ANY, rskip=ANY, askip=ANY, average=ANY, **SEEDED),
    "RankSVM": {
        "alpha": ANY,
        "loss": "squared_hinge",
        "tol": 1e-3,
        "max_iter": ANY,
        "max_fpr": 1.0,
        "min_tpr": 0.0,
        "softness": 0.1,
    },
    "FactorizationRanker": {
        "rank": 8, "loss": "logistic", "alpha": "auto", "l1": 0.0, "step": ANY, "n_epochs": ANY, "random_state": None,
    },
    "KernelRankSVM": {"alpha": ANY, "kernel": "rbf", "gamma": None, "tol": ANY, "max_iter": ANY},
    "OrderedRanker": {"loss": "square", "alpha": "auto", "l1": 0.0, "tol": ANY, "max_iter": ANY},
    "OAM": dict(C=ANY, buffer_size=100, update=ANY, buffer=ANY, average=True, shuffle=True, **SEEDED),
    "CBR": dict(C=ANY, confidence=0.7, buffer_size=50, buffer=ANY, covariance=ANY, shuffle=True, **SEEDED),
    "UniExp": dict(alpha=ANY, step=ANY, shuffle=True, **SEEDED),
    "RandomFourier": {"n_components": ANY, "gamma": None, "kernel": "rbf", "random_state": None},
    "Calibrated": {"ranker": ANY, "cv": 5},
    "Columns": {"categories": "auto", "scale": "auto", "rare": 0.01, "max_levels": 100},
    "KMeansNystroem": {"n_components": ANY, "gamma": None, "kernel": "rbf", "random_state": None},
    "Kernelized": {"feature_map": ANY, "ranker": ANY},
    "SAMULT": {"unlabeled_weight": ANY, "alpha": ANY, "unlabeled": "auto"},
    "PNUAUC": {"unlabeled_weight": ANY, "alpha": ANY, "unlabeled": "auto", "prior": None},
    "QSGS2AUC": {
        "unlabeled_weight": ANY,
        "alpha": ANY,
        "theta": ANY,
        "n_iter": ANY,
        "n_components": ANY,
        "batch_size": ANY,
        "gamma": None,
        "kernel": ANY,
        "unlabeled": "auto",
        "random_state": None,
    },
    "Scorecard": {
        "ranker": None,
        "n_knots": "auto",
        "interactions": "auto",
        "monotone": None,
        "categories": "auto",
        "smooth": "auto",
        "random_state": None,
    },
    "AUCClassifier": {"budget": None, "methods": "auto", "cv": 5, "n_jobs": None, "random_state": None}
    | {"max_fpr": 1.0, "threads": 1},
}
# What an estimator that tries many models is given, so that a check stays quick.
CHEAP = {
    "AUCClassifier": {"methods": ["RankSVM", "logistic"], "cv": 2},
    "Calibrated": {"ranker": auclid.LeastSquaresAUC(), "cv": 2},
    "QSGS2AUC": {"n_iter": 200},
}
EPOCHS_BY_DEFAULT = {"OAM": 1, "CBR": 1, "UniExp": 1}


def named(classes):
    return pytest.mark.parametrize("cls", classes, ids=lambda cls: cls.__name__)


every, every_ranker, every_online = named(EVERY), named(RANKERS), named(ONLINE)


def new(cls, **params):
    """An estimator with its defaults (or what is CHEAP), and a seed where it takes one."""
    model = cls(**{**CHEAP.get(cls.__name__, {}), **params})
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def problem(n=60, d=4, seed=0):
    """Sparse rows on a grid that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    X, y = np.round(rng.standard_normal((n, d)) * 8) / 8 * (rng.random((n, d)) < 0.7), np.arange(n) % 3 == 0
    X[:, 0] += y
    return X, y.astype(int)


def state(model):
    """Everything a model holds, as bytes."""
    return pickle.dumps(vars(model))


# --- scikit-learn's own checks --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.* was given no unlabelled rows", "ignore:AUCClassifier must see at least 10 rows")
@parametrize_with_checks([new(cls) for cls in EVERY])
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


# --- words ----------------------------------------------------------------------------------------


@every
def test_the_docstring_has_a_formula_parameters_an_example_and_a_reference(cls):
    text = inspect.getdoc(cls)  # dedented, as Python 3.13 keeps it and earlier ones do not
    for part in ("Parameters\n-----", "Examples\n-----", "References\n-----", ">>> "):
        assert part in text, f"{cls.__name__} lacks {part!r}"
    for name in inspect.signature(cls).parameters:
        assert name in text, f"{cls.__name__} does not describe {name}"
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("auclid"):
            assert method.__doc__, f"{cls.__name__}.{name}"


@every
def test_the_constructor_keeps_its_contract(cls):
    params = cls().get_params(deep=False)
    for name, default in PARAMETERS[cls.__name__].items():
        assert name in params
        assert default is ANY or params[name] == default
    assert params.get("n_epochs") == EPOCHS_BY_DEFAULT.get(cls.__name__, params.get("n_epochs"))


@every
def test_a_parameter_out_of_range_gets_scikit_learns_sentence_and_changes_nothing(cls):
    X, y = problem()
    wrong = {
        "random_state": "x",
        "cv": "x",
        "alphas": 3.0,
        "feature_map": None,
        "ranker": None,
        "penalty": "x",
        "n_jobs": 0,
    }
    tried = 0
    for name in PARAMETERS[cls.__name__]:
        model = new(cls)
        value = wrong.get(name, -5 if name not in ("unlabeled", "methods") else None)
        if value is None:
            continue
        tried += 1
        model.set_params(**{name: value})
        before = state(model)
        with pytest.raises((ValueError, TypeError), match=name):
            model.fit(X, y)
        assert state(model) == before
    assert tried or cls.__name__ == "Kernelized"


# --- input and output -----------------------------------------------------------------------------


@every_ranker
def test_scores_keep_the_floating_type_of_rows_and_sparse_rows_score_as_dense_ones(cls):
    X, y = problem()
    model = new(cls).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (len(y),) and scores.dtype == np.float64 and np.isfinite(scores).all()
    single = model.decision_function(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, scores, rtol=1e-4, atol=1e-5)
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array):
        np.testing.assert_allclose(model.decision_function(kind(X)), scores, rtol=1e-9, atol=1e-12)
    assert model.score(X, y) == auclid.metrics.roc_auc(y, scores)
    assert model.n_features_in_ == X.shape[1]


@every_ranker
@pytest.mark.parametrize(
    "layout", [sparse.csr_matrix, sparse.csr_array, np.asfortranarray], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_any_layout_can_be_fitted(cls, layout, dtype):
    X, y = problem()
    model = new(cls).fit(layout(X.astype(dtype)), y)
    assert model.decision_function(layout(X.astype(dtype))).dtype == dtype
    assert model.score(X, y) > 0.6
    if hasattr(model, "coef_"):
        assert model.coef_.shape == (1, 4) and model.coef_.dtype == model.intercept_.dtype == np.float64


@every
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_feature_names(cls, library):
    frames = pytest.importorskip(library)
    X, y = problem()
    names = ["a", "b", "c", "d"]
    frame = frames.DataFrame({name: X[:, k] for k, name in enumerate(names)})
    model = new(cls).fit(frame, frames.Series(y))
    assert model.feature_names_in_.tolist() == names
    use = model.decision_function if cls in SCORING else model.transform
    got, expected = use(frame), getattr(new(cls).fit(X, y), use.__name__)(X)
    if cls not in SCORING:  # the sign of a feature is anybody's; inner products are not
        got, expected = got @ got.T, expected @ expected.T
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        use(frame.rename(columns={"a": "z"}) if library == "pandas" else frame.rename({"a": "z"}))


LABELS = {
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "bool": np.array([False, True]),
    "signs": np.array([-1, 1]),
    "floats": np.array([0.0, 1.0]),
    "far": np.array([3, 70]),
}


@every_ranker
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_any_two_labels(cls, labels):
    X, y = problem()
    expected, model = new(cls).fit(X, y), new(cls).fit(X, labels[y])
    assert model.classes_.tolist() == labels.tolist()
    np.testing.assert_allclose(
        model.decision_function(X), expected.decision_function(X), rtol=1e-9, atol=1e-12
    )
    assert (model.predict(X) == labels[expected.predict(X)]).all()
    assert model.score(X, labels[y]) == pytest.approx(expected.score(X, y))


@every
def test_input_is_not_changed_and_may_be_read_only(cls):
    X, y = problem()
    X, y = np.asfortranarray(X), y.copy()
    before = X.tobytes(), y.tobytes()
    X.flags.writeable = y.flags.writeable = False
    model = new(cls).fit(X, y)
    model.predict(X) if cls in SCORING else model.transform(X)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y)
    assert (X.tobytes(), y.tobytes()) == before


@every
def test_copies_are_equal(cls):
    X, y = problem()
    model = new(cls).fit(X, y)
    use = "decision_function" if cls in SCORING else "transform"
    expected = getattr(model, use)(X)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(file)):
        assert (getattr(copy, use)(X) == expected).all()
        if hasattr(copy, "partial_fit"):
            assert (getattr(copy.partial_fit(X, y), use)(X) == getattr(_going_on(model, X, y), use)(X)).all()
    fresh = clone(model)
    with pytest.raises(NotFittedError):
        getattr(fresh, use)(X)
    assert (getattr(fresh.fit(X, y), use)(X) == expected).all()


def _going_on(model, X, y):
    return pickle.loads(pickle.dumps(model)).partial_fit(X, y)


SEEDS = [lambda: 5, lambda: np.random.RandomState(5), lambda: np.random.default_rng(5)]


@named([cls for cls in EVERY if "random_state" in cls().get_params()])
@pytest.mark.parametrize("seed", SEEDS, ids=["int", "RandomState", "Generator"])
def test_the_same_seed_gives_the_same_bits(cls, seed):
    X, y = problem()
    use = "decision_function" if cls in SCORING else "transform"
    a, b = (getattr(new(cls).set_params(random_state=seed()).fit(X, y), use)(X) for _ in range(2))
    assert (a == b).all()
    new(cls).set_params(random_state=None).fit(X, y)


@every_ranker
def test_iterating_estimators_say_how_long_they_took(cls):
    X, y = problem()
    model = new(cls)
    if {"n_epochs", "max_iter", "n_iter"} & set(model.get_params(deep=False)):
        model.fit(X, y)
        assert model.n_iter_ == int(model.n_iter_) >= 1


# --- errors ---------------------------------------------------------------------------------------


@named([cls for cls in RANKERS if not get_tags(cls()).classifier_tags.multi_class])
def test_more_than_two_classes_get_scikit_learns_sentence(cls):
    X, _ = problem()
    model = new(cls)
    before = state(model)
    with pytest.raises(
        ValueError, match=r"Only binary classification is supported\. The type of the target is multi"
    ):
        model.fit(X, np.arange(len(X)) % 3)
    assert state(model) == before


@every_ranker
def test_one_class_gets_one_sentence_and_a_fitted_model_stays_as_it_was(cls):
    X, y = problem()
    model = new(cls).fit(X, y)
    before, scores = state(model), model.decision_function(X)
    with pytest.raises(ValueError, match=r"\w+ .*two classes.*got 1 class"):
        model.fit(X[:, :2], np.zeros(len(y)))
    assert state(model) == before and (model.decision_function(X) == scores).all()


@every_ranker
@pytest.mark.parametrize(
    "rows", ["one positive", "one of each", "constant column", "rows alike", "huge", "tiny"]
)
def test_extremes_are_ordinary(cls, rows):
    X, y = problem()
    if rows == "one positive":
        y = (np.arange(len(y)) == 7).astype(int)
    if rows == "one of each":
        X, y = X[:2], np.array([0, 1])
        if cls.__name__ in ("LeastSquaresAUCCV", "PNUAUC"):
            pytest.skip("needs more than one row a class")
    if rows == "constant column":
        X[:, 2] = 5.0
    if rows == "rows alike":
        X[:] = 1.0
    if rows in ("huge", "tiny"):
        X = X * [1e6 if rows == "huge" else 1e-6, 1.0, 1.0, 1.0]
    if rows == "one positive" and cls.__name__ in ("LeastSquaresAUCCV", "PNUAUC"):
        X, y = np.vstack([X, X, X, X, X]), np.tile(y, 5)
    model = new(cls).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(getattr(model, "coef_", 0.0)).all()


# --- streams --------------------------------------------------------------------------------------


@every_online
def test_a_stream_of_one_class_needs_the_names_of_both_and_scores_zero(cls):
    X, y = problem()
    model = new(cls)
    before = state(model)
    with pytest.raises(ValueError, match=r"classes must be passed on the first call"):
        model.partial_fit(X[y == 0], y[y == 0])
    assert state(model) == before
    model.partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert not model.decision_function(X).any()
    for i in np.flatnonzero(y == 1)[:4]:
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    model.partial_fit(X, y)
    assert np.isfinite(model.decision_function(X)).all() and model.decision_function(X).any()


@every_online
def test_a_batch_that_is_wrong_changes_nothing(cls):
    X, y = problem()
    model = new(cls).partial_fit(X, y)
    before, tags = state(model), get_tags(model)
    for bad, label, classes, said in (
        (X, y + 5, None, "classes"),
        (X[:, :2], y, None, "features"),
        (X, y, [0, 5], "classes"),
        (X * (np.inf if tags.input_tags.allow_nan else np.nan), y, None, "NaN|infinity"),
        (X, y[:-1], None, "inconsistent"),
    ):
        with pytest.raises(ValueError, match=said):
            model.partial_fit(bad, label, classes=classes)
        assert state(model) == before


@every_online
def test_a_stream_learns(cls):
    X, y = problem(300)
    model = new(cls)
    for part in np.split(np.arange(300), 10):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    assert model.score(X, y) > new(cls).fit(X, y).score(X, y) - 0.1
