"""scikit-learn's callbacks on iterating estimators, where the installed version has them."""

import importlib.util
import inspect
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auclid
from auclid import SPAM, LeastSquaresAUC, _progress
from auclid._progress import fit_iterations

try:
    from sklearn.callback import ProgressBar, ScoringMonitor
except ImportError:
    ProgressBar = ScoringMonitor = None
with_callbacks = pytest.mark.skipif(ScoringMonitor is None, reason="this scikit-learn has no callbacks")


def problem(n=60):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 3)), (np.arange(n) % 3 == 0).astype(int)
    X[:, 0] += y
    return X, y


# Settings under which an estimator makes a few steps: every class that iterates is found by its parameters.
SHORT = {"random_state": 0, "n_epochs": 3, "n_iter": 3, "l1": 0.01, "positive": True, "solver": "auto"}
CLASSES = [cls for cls in (getattr(auclid, name) for name in auclid.__all__) if inspect.isclass(cls)]
ITERATING = [
    cls
    for cls in CLASSES
    if {"n_epochs", "n_iter", "max_iter"} & set(inspect.signature(cls).parameters)
]
every = pytest.mark.parametrize("cls", ITERATING, ids=lambda cls: cls.__name__)


def problem_of(cls):
    """Rows as a class learns from them: SurvivalRanker takes times."""
    X, y = problem()
    if cls is auclid.SurvivalRanker:
        y = np.array([(True, time) for time in np.exp(-y - X[:, 1])], dtype=[("event", bool), ("time", float)])
    return X, y


def short(cls):
    names = set(inspect.signature(cls).parameters)
    return cls(**{name: value for name, value in SHORT.items() if name in names})


class Watch:
    """Writes down what it is told, and stops the fit at the end of a given step."""

    def __init__(self, stop_after=None):
        self.stop_after, self.said, self.scores = stop_after, [], []

    def setup(self, estimator, context):
        self.said.append("setup")

    def teardown(self, estimator, context):
        self.said.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.said.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.said.append(f"end {context.task_name}")
        self.scores.append(fitted_estimator.decision_function(X))
        assert len(y) == len(X)
        return context.task_name == f"step {self.stop_after}"

    def steps(self):
        return sum(what.startswith("end step") for what in self.said)


@with_callbacks
@every
def test_every_iterating_estimator_tells_its_steps_and_gives_the_same_model(cls):
    X, y = problem_of(cls)
    watch, model = Watch(), short(cls)
    expected = short(cls).fit(X, y)
    model.set_callbacks(watch).fit(X, y)
    assert model.n_iter_ == expected.n_iter_
    assert (model.decision_function(X) == expected.decision_function(X)).all()
    assert watch.said[:2] == ["setup", "begin fit"] and watch.said[-2:] == ["end fit", "teardown"]
    assert watch.steps() == sum(what.startswith("begin step") for what in watch.said) >= 1
    assert all(np.isfinite(scores).all() for scores in watch.scores)
    # What a callback saw last ranks as the model does; the threshold may come later.
    last, final = watch.scores[-1], model.decision_function(X)
    np.testing.assert_allclose(last - last.mean(), final - final.mean(), rtol=1e-6, atol=1e-9)


@with_callbacks
@every
def test_a_callback_can_stop_a_fit(cls):
    X, y = problem_of(cls)
    model = short(cls).set_callbacks(Watch(stop_after=0)).fit(X, y)
    assert model.n_iter_ == 1
    assert np.isfinite(model.decision_function(X)).all()
    assert "_callback_fit_ctx" not in vars(model)


@with_callbacks
@pytest.mark.parametrize(
    "settings", [{"l1": 0.01}, {"solver": "products"}, {"solver": "products", "l1": 0.01}], ids=str
)
def test_every_iterating_solver_of_least_squares_tells_its_steps(settings):
    X, y = problem()
    watch = Watch()
    model = LeastSquaresAUC(**settings).set_callbacks(watch).fit(X, y)
    assert model.n_iter_ > 1 and watch.steps() - model.n_iter_ in (0, 1)  # the last may find that all is done
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # asked to stop is not failed to converge
        assert LeastSquaresAUC(**settings).set_callbacks(Watch(stop_after=0)).fit(X, y).n_iter_ == 1


@with_callbacks
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("cls", [auclid.OrderedRanker, auclid.SurvivalRanker])
def test_newton_steps_of_ordered_rankers_are_told(cls, loss):
    X, y = problem_of(cls)
    watch = Watch()
    model = cls(loss, alpha=0.1).set_callbacks(watch).fit(X, y)
    assert watch.steps() >= model.n_iter_ >= 1
    np.testing.assert_allclose(watch.scores[-1], model.decision_function(X), rtol=1e-9, atol=1e-12)
    assert cls(loss, alpha=0.1).set_callbacks(Watch(stop_after=0)).fit(X, y).n_iter_ == 1


@with_callbacks
def test_scoring_monitor_and_progress_bar(capsys):
    X, y = problem()
    monitor = ScoringMonitor(scoring="roc_auc")
    model = SPAM(n_epochs=4, random_state=0).set_callbacks(monitor, ProgressBar()).fit(X, y)
    logs = monitor.get_logs()
    rows = (logs[0] if isinstance(logs, list) else logs).data
    steps = [row for row in rows if row["task_name"].startswith("step")]
    assert len(steps) == 4 and all(0.5 < row["roc_auc"] <= 1.0 for row in steps)
    assert steps[-1]["roc_auc"] == pytest.approx(model.score(X, y))


@with_callbacks
@pytest.mark.parametrize(
    "model", [SPAM(n_epochs=2, random_state=0), LeastSquaresAUC()], ids=lambda m: type(m).__name__
)
def test_callbacks_reach_through_pipelines_and_searches(model, capsys):
    X, y = problem()
    pipe = make_pipeline(StandardScaler(), model)
    search = GridSearchCV(clone(pipe), {f"{type(model).__name__.lower()}__alpha": [1e-3, 1e-1]}, cv=2)
    for meta in (pipe, search):
        if hasattr(meta, "set_callbacks"):
            meta.set_callbacks(ProgressBar(max_propagation_depth=None))
        assert meta.fit(X, y).score(X, y) > 0.5


@with_callbacks
def test_a_fit_that_fails_tears_callbacks_down():
    X, y = problem()
    watch = Watch()
    model = SPAM(alpha=1.0, schedule="thm3", n_epochs=50).set_callbacks(watch)
    with np.errstate(all="ignore"), pytest.raises(ValueError):
        model.fit(1e6 * X, y)
    assert watch.said[-1] == "teardown" and not hasattr(model, "coef_")
    assert model.set_params(schedule="auto", n_epochs=1).fit(X, y).n_iter_ == 1


def test_without_callbacks_there_is_only_counting():
    model = SPAM()

    def never():
        raise AssertionError("nobody asked")

    assert list(fit_iterations(model, 3, never)) == [0, 1, 2] and vars(model) == vars(SPAM())
    assert next(fit_iterations(object(), None, never)) == 0


def test_a_scikit_learn_without_callbacks_will_do(monkeypatch):
    """The module is loaded once more, as if scikit-learn had no callbacks."""
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = importlib.util.spec_from_file_location("progress_of_old", _progress.__file__)
    old = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(old)

    class Old(old.CallbackSupportMixin):
        pass

    assert not hasattr(Old(), "set_callbacks") and list(old.fit_iterations(Old(), 2, None)) == [0, 1]
