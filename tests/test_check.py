"""Validation: its sentences, once, and that whatever fails leaves the estimator as it was."""

from numbers import Integral
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from auclid import SPAM, LeastSquaresAUC, validation


class Someone(BaseEstimator):
    _parameter_constraints: ClassVar[dict] = {
        "size": [validation.at_least(2)],
        "share": [validation.real(0.0, 1.0, "both")],
    }

    def __init__(self, size=2, share=0.5):
        self.size = size
        self.share = share

    @validation.checked
    def fit(self, X, y, trouble=None):
        self.half_done_ = True
        self.size_ = self.size
        if trouble is not None:
            raise trouble
        del self.half_done_
        return self


@pytest.mark.parametrize("trouble", [ValueError("no"), KeyboardInterrupt(), MemoryError()], ids=repr)
def test_what_fails_leaves_the_estimator_as_it_was(trouble):
    model = Someone().fit(None, None)
    before = dict(vars(model))
    model.size = 3
    with pytest.raises(type(trouble)):
        model.fit(None, None, trouble=trouble)
    assert vars(model) == {**before, "size": 3}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            {"size": 1},
            r"^The 'size' parameter of Someone must be an int in the range \[2, inf\)\. Got 1 instead\.$",
        ),
        ({"size": 2.5}, r"^The 'size' parameter of Someone must be an int"),
        (
            {"share": 1.5},
            r"^The 'share' parameter of Someone must be a float in the range \[0\.0, 1\.0\]\. Got 1\.5",
        ),
        ({"share": "x"}, r"^The 'share' parameter of Someone must be a float"),
        ({"share": np.nan}, r"^The 'share' parameter of Someone must be a float"),
    ],
)
def test_parameters_out_of_range(params, said):
    with pytest.raises(ValueError, match=said):
        Someone(**params).fit(None, None)


@pytest.mark.parametrize("model", [LeastSquaresAUC, SPAM])
@pytest.mark.parametrize("alpha", [-1, np.inf, np.nan, None])
def test_alpha_is_a_finite_number_not_below_zero(model, alpha):
    X, y = problem()
    with pytest.raises(
        ValueError, match=rf"^The 'alpha' parameter of {model.__name__} must be a float in the range \[0"
    ):
        model(alpha=alpha).fit(X, y)


def problem():
    rng = np.random.default_rng(0)
    return rng.standard_normal((12, 3)), np.arange(12) % 2


def test_whole_numbers_only():
    assert validation.at_least(1).type is Integral


def test_both_classes_are_needed_and_no_more():
    who = LeastSquaresAUC()
    assert validation.two_classes(who, ["b", "a", "b"]).tolist() == ["a", "b"]
    with pytest.raises(
        ValueError, match=r"^Only binary classification is supported\. .* multiclass\. .*y == label\.$"
    ):
        validation.two_classes(who, [0, 1, 2])
    with pytest.raises(ValueError, match=r"^LeastSquaresAUC must see two classes .* got 1 class: \[7\]\.$"):
        validation.two_classes(who, [7, 7])


@pytest.mark.parametrize(
    "y", [[0.5, 1.5, 2.5] * 4, np.ones((12, 2)), [None] * 12], ids=["continuous", "2-d", "none"]
)
def test_labels_must_be_labels(y):
    with pytest.raises(ValueError):
        LeastSquaresAUC().fit(problem()[0], y)


def test_no_labels_at_all():
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        LeastSquaresAUC().fit(problem()[0], None)


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (np.full(12, -1.0), r"^sample_weight must not be negative; got -1\.0\.$"),
        (np.ones(3), r"^sample_weight must have shape \(12,\), one weight a row; got \(3,\)\.$"),
        (np.ones((12, 1)), r"shape"),
        (np.full(12, np.nan), "sample_weight contains NaN"),
        (np.full(12, np.inf), "sample_weight contains infinity"),
        (
            np.zeros(12),
            r"^LeastSquaresAUC must see two classes of positive weight; got .* zero on every positive row",
        ),
        (np.arange(12) % 2, r"zero on every negative row\.$"),
    ],
)
def test_weights(weight, said):
    X, y = problem()
    with pytest.raises(ValueError, match=said):
        LeastSquaresAUC().fit(X, y, sample_weight=weight)


def test_one_number_weighs_all_rows_and_integers_and_lists_will_do():
    X, y = problem()
    expected = LeastSquaresAUC().fit(X, y)
    for weight in (2, 0.5, [3] * 12, np.ones(12, dtype=np.int8)):
        np.testing.assert_allclose(
            LeastSquaresAUC().fit(X, y, sample_weight=weight).coef_, expected.coef_, rtol=1e-9
        )


def test_a_stream_may_bring_weights_of_zero_only():
    X, _ = problem()
    assert not validation.weights(np.zeros(12), X).any()
    assert validation.weights(None, X) is None


@pytest.mark.parametrize(("bad", "said"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_must_be_finite(bad, said, kind):
    X, y = problem()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=said):
        LeastSquaresAUC().fit(kind(X), y)
    model = LeastSquaresAUC().fit(*problem())
    with pytest.raises(ValueError, match=said):
        model.decision_function(kind(X))


def test_weights_that_overflowed_get_a_hint():
    with pytest.raises(ValueError, match=r"^SPAM must end with finite weights, .*StandardScaler"):
        validation.finite(SPAM(), np.array([1.0, np.nan]))
    w = np.ones(2)
    assert validation.finite(SPAM(), w) is w


def test_not_fitted():
    with pytest.raises(NotFittedError, match="This SPAM instance is not fitted yet"):
        SPAM().decision_function(problem()[0])


def test_a_new_label_in_a_stream():
    X, y = problem()
    model = LeastSquaresAUC().partial_fit(X, y)
    with pytest.raises(
        ValueError, match=r"^y must hold only the classes \[0, 1\] that LeastSquaresAUC knows; got \[2\]"
    ):
        model.partial_fit(X, y + 1)
    with pytest.raises(
        ValueError, match=r"^classes=\[1, 2\] must be the classes LeastSquaresAUC was started with"
    ):
        model.partial_fit(X, y, classes=[1, 2])
    with pytest.raises(ValueError, match="Only binary"):
        LeastSquaresAUC().partial_fit(X, y, classes=[0, 1, 2])

def test_text_and_missing_values_name_their_column():
    pd = pytest.importorskip("pandas")
    y = np.array([0, 1] * 10)
    X = pd.DataFrame({"age": np.arange(20.0), "town": ["Rome", "Oslo"] * 10})
    advice = r" Put Columns\(\) before it: make_pipeline\(Columns\(\), LeastSquaresAUC\(\)\)\."
    with pytest.raises(ValueError, match=r"Got text in column 'town', such as 'Rome', instead\." + advice):
        LeastSquaresAUC().fit(X, y)
    dated = X[["age"]].assign(day=pd.date_range("2026-01-01", periods=20))
    with pytest.raises(ValueError, match=r"Got date in column 'day', such as .*2026"):
        LeastSquaresAUC().fit(dated, y)
    gaps = X[["age"]].assign(debt=np.where(np.arange(20) == 3, np.nan, 1.0))
    with pytest.raises(ValueError, match=r"Got NaN in column 'debt', in 1 of 20 rows, instead\." + advice):
        LeastSquaresAUC().fit(gaps, y)
    with pytest.raises(ValueError, match=r"Got NaN in column 'x1', in 1 of 20 rows"):
        LeastSquaresAUC().fit(gaps.to_numpy(), y)
    model = LeastSquaresAUC().fit(X[["age"]], y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="infinity"):
        LeastSquaresAUC().fit(X[["age"]].replace(3.0, np.inf), y)
