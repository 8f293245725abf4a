"""Laws of the whole product: what a user relies on, of every estimator and of the command.

The laws of probabilities on both sides of every size are in test_probabilities.py, those of rows in memory, files and
on Dask in test_same_answer.py, and those of copies, labels and layouts in test_common.py. Estimators are found by
introspection.
"""

import re
import warnings

import numpy as np
import pandas
import pytest
from scipy.special import logit
from sklearn.utils.validation import has_fit_parameter
from typer.testing import CliRunner

import auclid
from auclid.cli._app import app
from auclid.metrics import auc_interval, roc_auc
from test_common import RANKERS, named, new, state
from test_probabilities import Rows, calibration_line, rate_error

da = pytest.importorskip("dask.array")

SEEDED = {cls for cls in RANKERS if "random_state" in cls().get_params()}
SPLITTING = {auclid.Calibrated, auclid.LeastSquaresAUCCV, auclid.Kernelized}
"""Their folds or landmarks depend on the order of rows, as scikit-learn's do."""
DETERMINISTIC = [cls for cls in RANKERS if cls not in SEEDED | SPLITTING]
WEIGHTED = [cls for cls in DETERMINISTIC if has_fit_parameter(cls(), "sample_weight")]
MEMORY_ONLY = {auclid.KernelRankSVM, auclid.QSGS2AUC}
TIGHT = {"tol": 1e-10, "max_iter": 10_000}

every_ranker, every_deterministic, every_weighted = named(RANKERS), named(DETERMINISTIC), named(WEIGHTED)


def rows(n=300, d=4, seed=0):
    """Normal rows of which the first two columns tell the classes apart; a third of the rows is positive."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    return rng.normal(size=(n, d)) + 0.8 * y[:, None] * (np.arange(d) < 2), y


def tight(cls):
    """An estimator that iterates until only rounding is left, where it has a tolerance."""
    model = new(cls)
    return model.set_params(**{key: value for key, value in TIGHT.items() if key in model.get_params()})


def fitted(model, X, y, **more):
    """The fitted model; that no unlabelled rows were given is known."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* was given no unlabelled rows")
        return model.fit(X, y, **more)


# --- weights, order, columns -----------------------------------------------------------------------


@every_weighted
def test_whole_weights_are_repeated_rows(cls):
    X, y = rows(120)
    weight = np.random.default_rng(1).integers(1, 4, size=len(y))
    model = fitted(tight(cls), X, y, sample_weight=weight.astype(float))
    repeated = fitted(tight(cls), np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        model.decision_function(X), repeated.decision_function(X), rtol=1e-5, atol=1e-5
    )


@every_deterministic
def test_the_order_of_rows_does_not_matter(cls):
    X, y = rows(120)
    order = np.random.default_rng(2).permutation(len(y))
    model, other = fitted(tight(cls), X, y), fitted(tight(cls), X[order], y[order])
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), rtol=1e-5, atol=1e-5)


@every_ranker
def test_the_order_of_columns_does_not_matter(cls):
    X, y = rows()
    order = [2, 0, 3, 1]
    fresh, label = rows(2_000, seed=1)
    model, other = fitted(tight(cls), X, y), fitted(tight(cls), X[:, order], y)
    if hasattr(model, "coef_") and cls not in SEEDED:  # others draw rows by a hash of their values
        np.testing.assert_allclose(other.coef_, model.coef_[:, order], rtol=1e-5, atol=1e-6)
    else:
        assert abs(other.score(fresh[:, order], label) - model.score(fresh, label)) < 0.02


@every_ranker
@pytest.mark.parametrize("extra", ["constant", "copy"])
def test_a_constant_or_copied_column_does_no_harm(cls, extra):
    X, y = rows()
    fresh, label = rows(2_000, seed=1)

    def wider(table):
        column = np.full(len(table), 3.0) if extra == "constant" else table[:, 0]
        return np.column_stack([table, column])

    model, other = fitted(new(cls), X, y), fitted(new(cls), wider(X), y)
    assert other.score(wider(fresh), label) > model.score(fresh, label) - 0.02


# --- one AUC, wherever it is asked for -------------------------------------------------------------


@every_ranker
def test_every_way_to_the_auc_gives_one_number(cls):
    X, y = rows()
    model = fitted(new(cls), X, y)
    scores = model.decision_function(X)
    auc = roc_auc(y, scores)
    assert model.score(X, y) == auc
    assert auc_interval(y, scores).auc == pytest.approx(auc, abs=1e-12)
    if cls in MEMORY_ONLY:
        return
    blocks = auclid.scan(lambda: iter([(X[:90], y[:90]), (X[90:], y[90:])]))
    assert model.score(blocks) == pytest.approx(auc, abs=1e-12)
    assert model.score(da.from_array(X, chunks=(90, 4)), da.from_array(y, chunks=90)) == pytest.approx(auc, abs=1e-12)


# --- probabilities of every ranker ----------------------------------------------------------------


def assert_calibrated_on_fresh_rows(p, label, n_learnt):
    """The mean probability is the rate, and the log-odds have slope 1 and intercept 0, within standard errors."""
    new, learnt = Rows(None, label == 1), rate_error(Rows(None, np.arange(n_learnt) % 3 == 0))
    assert abs(p.mean() - label.mean()) <= 3.5 * np.hypot(rate_error(new), learnt)
    intercept, slope, errors = calibration_line(logit(np.clip(p, 1e-9, 1.0 - 1e-9)), new)
    growth = np.sqrt(1.0 + len(label) / n_learnt)
    assert abs(intercept) <= 4.0 * growth * errors[0] + 0.05, f"intercept {intercept:.3f} ± {growth * errors[0]:.3f}"
    assert abs(slope - 1.0) <= 4.0 * growth * errors[1] + 0.05, f"slope {slope:.3f} ± {growth * errors[1]:.3f}"


def parts(X, y, where, size=190):
    """The rows as `fit` takes them, in memory, from blocks and from Dask."""
    if where == "memory":
        return X, y
    if where == "files":
        return (auclid.scan(lambda: ((X[k : k + size], y[k : k + size]) for k in range(0, len(y), size))),)
    return da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)


WAYS = [(cls, "memory") for cls in RANKERS]
ELSEWHERE = [(cls, where) for cls in RANKERS if cls not in MEMORY_ONLY for where in ("files", "dask")]


@pytest.mark.parametrize(
    ("cls", "where"), [*WAYS, *(pytest.param(*way, marks=pytest.mark.long) for way in ELSEWHERE)]
)
def test_every_ranker_can_have_calibrated_probabilities(cls, where):
    model = new(cls)
    model = model if hasattr(model, "predict_proba") else auclid.Calibrated(model)
    model = fitted(model, *parts(*rows(900), where))
    fresh, label = rows(9_000, seed=1)
    p = model.predict_proba(fresh)[:, 1]
    assert_calibrated_on_fresh_rows(p, label, 900)
    order = np.argsort(model.decision_function(fresh), kind="stable")
    assert np.all(np.diff(p[order]) >= 0.0)


# --- an interrupted fit ----------------------------------------------------------------------------


@named([cls for cls in RANKERS if cls not in MEMORY_ONLY])
def test_a_fit_that_ends_in_the_middle_leaves_the_model_as_it_was(cls):
    X, y = rows()
    model = fitted(new(cls), X, y)
    before = state(model)

    def broken():
        yield X[:90], y[:90]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(model, auclid.scan(broken), None)
    assert state(model) == before


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def command(*words):
        result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
        assert result.exit_code == 0, result.output
        return result.output

    return command


BINARY = [each.name for each in auclid.algorithms() if each.target == "classes" and not each.semi_supervised]


@pytest.mark.parametrize("method", BINARY)
def test_the_command_scores_as_python_does(method, run):
    (X, y), (fresh, label) = rows(200), rows(3_000, seed=1)
    frame = pandas.DataFrame(fresh, columns=list("abcd"))
    pandas.DataFrame(X, columns=list("abcd")).assign(y=y).to_csv("train.csv", index=False)
    frame.assign(y=label).to_csv("new.csv", index=False)
    run("fit", "train.csv", "--target", "y", "--method", method, "--model", "m.auclid")
    run("predict", "m.auclid", "new.csv", "--output", "scores.csv")
    written = pandas.read_csv("scores.csv")
    model = auclid.load("m.auclid")
    scores, p = model.decision_function(frame), model.predict_proba(frame)[:, 1]
    np.testing.assert_allclose(written["score"], scores, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(written["probability"], p, rtol=1e-6, atol=1e-9)
    assert written["label"].tolist() == model.predict(frame).tolist()
    assert abs(p.mean() - 1 / 3) <= 3.5 * np.hypot(*(rate_error(Rows(None, part == 1)) for part in (y, label)))
    said = re.search(r"AUC\D*(\d?\.\d+)", run("evaluate", "m.auclid", "new.csv", "--target", "y"))
    assert said is not None and float(said[1]) == pytest.approx(roc_auc(label, scores), abs=6e-5)
