"""Fitted objects of every class of scikit-learn that a model file may hold, with the rows they were fitted on."""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, FactorAnalysis, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import (
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    mutual_info_classif,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    LabelBinarizer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.svm import LinearSVC

VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])

N = 60
RNG = np.random.default_rng(0)
Y, THREE = np.arange(N) % 2, np.arange(N) % 3
X = RNG.normal(size=(N, 4)) + Y[:, None]
WITH_GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
TEXTS = np.array(["red apple", "green pear", "red pear", "blue plum tree"], dtype=object)[np.arange(N) % 4]
LEVELS = np.array([["a", "x"], ["b", "y"], ["a", "z"], ["c", "x"]], dtype=object)[np.arange(N) % 4]
NUMBERED = np.array([[1.0], [np.nan], [2.0]] * (N // 3))
RECORDS = [{"a": float(k % 3), "b": "x" if k % 2 else "y"} for k in range(N)]
LOGISTIC = LogisticRegression()
TWO = [("a", LOGISTIC), ("b", GaussianNB())]

Specimen = tuple[Any, Any, Any]
"""An estimator, and the rows and labels to fit it on."""


def _transformers() -> Iterator[Specimen]:
    for model in (
        *(PCA(2), PCA(0.9, whiten=True), IncrementalPCA(2), FactorAnalysis(2), TruncatedSVD(2)),
        *(KernelPCA(2), KernelPCA(2, kernel="rbf", fit_inverse_transform=True)),
        *(Nystroem(n_components=5), RBFSampler(n_components=5), SparseRandomProjection(2)),
        *(GaussianRandomProjection(2), GaussianRandomProjection(2, compute_inverse_components=True)),
        SparseRandomProjection(2, compute_inverse_components=True),
        *(SelectFdr(), SelectFpr(), SelectFwe(), SelectKBest(k=2), SelectKBest(mutual_info_classif, k=2)),
        *(SelectPercentile(), VarianceThreshold(), SelectFromModel(LOGISTIC), SelectFromModel(Lasso(0.01))),
        *(SelectFromModel(LOGISTIC, max_features=2), Binarizer(), FunctionTransformer(), FunctionTransformer(np.abs)),
        *(KBinsDiscretizer(3), KBinsDiscretizer(3, encode="ordinal"), KBinsDiscretizer(3, encode="onehot-dense")),
        *(MaxAbsScaler(), MinMaxScaler(), Normalizer(), RobustScaler(), StandardScaler()),
        *(StandardScaler(with_mean=False, with_std=False), RobustScaler(with_centering=False)),
        *(PolynomialFeatures(), PolynomialFeatures((2, 3), interaction_only=True), QuantileTransformer(n_quantiles=10)),
        *(PowerTransformer(), PowerTransformer(standardize=False), LinearDiscriminantAnalysis()),
        *(FeatureUnion([("a", StandardScaler()), ("b", PCA(2))]), TfidfTransformer(use_idf=False)),
        FeatureUnion([("a", StandardScaler()), ("b", "drop")], transformer_weights={"a": 2.0}),
        ColumnTransformer([("s", StandardScaler(), [0, 1]), ("p", "passthrough", [2])]),
        ColumnTransformer([("s", StandardScaler(), slice(0, 2))], remainder=MinMaxScaler()),
    ):
        yield model, X, Y
    yield StandardScaler(), WITH_GAPS, Y
    yield StandardScaler(with_mean=False), sparse.csr_matrix(X), Y
    yield TfidfTransformer(), np.abs(X), Y
    for imputer in (SimpleImputer(), SimpleImputer(add_indicator=True), MissingIndicator()):
        yield imputer, WITH_GAPS, Y
    yield SimpleImputer(strategy="most_frequent"), LEVELS, Y
    yield SimpleImputer(strategy="constant", fill_value=0), WITH_GAPS, Y


def _encoders() -> Iterator[Specimen]:
    for encoder in (
        *(OneHotEncoder(), OneHotEncoder(drop="first"), OneHotEncoder(drop="if_binary", sparse_output=False)),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20),
        OneHotEncoder(max_categories=2, drop="first", handle_unknown="ignore"),
        *(OrdinalEncoder(), OrdinalEncoder(max_categories=2)),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ):
        yield encoder, LEVELS, Y
    yield OneHotEncoder(), NUMBERED, Y
    yield OrdinalEncoder(encoded_missing_value=-2), NUMBERED, Y
    yield LabelBinarizer(), Y, None
    yield LabelEncoder(), Y, None
    for vectorizer in (
        *(CountVectorizer(), CountVectorizer(vocabulary=["red", "pear"], binary=True)),
        CountVectorizer(stop_words=["red"], analyzer="char", ngram_range=(1, 2)),
        *(TfidfVectorizer(), TfidfVectorizer(use_idf=False)),
    ):
        yield vectorizer, TEXTS, Y
    yield DictVectorizer(), RECORDS, Y
    yield DictVectorizer(sparse=False, sort=False), RECORDS, Y


def _linear() -> Iterator[Specimen]:
    for model in (
        *(LogisticRegression(), LogisticRegression(solver="liblinear"), LogisticRegressionCV(cv=2)),
        *(RidgeClassifier(), RidgeClassifierCV(), RidgeClassifierCV(cv=2), LinearSVC(), LinearSVC(dual=False)),
        RidgeClassifierCV(store_cv_results=True),
        *(ARDRegression(), BayesianRidge(), BayesianRidge(compute_score=True), HuberRegressor()),
        *(ElasticNet(), ElasticNetCV(), Lasso(), LassoCV(), LinearRegression(), LinearRegression(positive=True)),
        *(Ridge(), Ridge(solver="sag"), RidgeCV(), RidgeCV(store_cv_results=True), RidgeCV(cv=3)),
        *(LinearDiscriminantAnalysis(solver="lsqr"), LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")),
        *(LinearDiscriminantAnalysis(store_covariance=True), QuadraticDiscriminantAnalysis()),
        *(QuadraticDiscriminantAnalysis(store_covariance=True), GaussianNB(), DummyClassifier(), DummyRegressor()),
        *(DummyClassifier(strategy="constant", constant=1), DummyRegressor(strategy="quantile", quantile=0.2)),
    ):
        yield model, X, Y
    for model in (LogisticRegression(), LogisticRegressionCV(cv=2), RidgeClassifier(), LinearDiscriminantAnalysis()):
        yield model, X, THREE
    for model in (BernoulliNB(), ComplementNB(), MultinomialNB()):
        yield model, np.abs(X), Y
    yield IsotonicRegression(out_of_bounds="clip"), X[:, 0], Y


def _compositions() -> Iterator[Specimen]:
    grid = {"C": [0.1, 1.0]}
    several = {"scoring": ["roc_auc", "accuracy"], "refit": "roc_auc"}
    for model in (
        *(CalibratedClassifierCV(LOGISTIC, cv=2), CalibratedClassifierCV(LOGISTIC, method="isotonic", cv=2)),
        CalibratedClassifierCV(FrozenEstimator(clone(LOGISTIC).fit(X, Y))),
        *([CalibratedClassifierCV(LOGISTIC, method="temperature", cv=2)] if VERSION >= (1, 8) else []),
        *(BaggingClassifier(LOGISTIC, 3, random_state=0), FixedThresholdClassifier(LOGISTIC)),
        BaggingClassifier(LOGISTIC, 3, max_features=0.5, oob_score=True, random_state=0),
        *(StackingClassifier(TWO), StackingClassifier([("a", LOGISTIC), ("b", "drop")], passthrough=True)),
        *(VotingClassifier(TWO, voting="soft"), OneVsOneClassifier(LOGISTIC)),
        *(TunedThresholdClassifierCV(LOGISTIC), TunedThresholdClassifierCV(LOGISTIC, store_cv_results=True, cv=3)),
        *(GridSearchCV(LOGISTIC, grid), GridSearchCV(LOGISTIC, grid, scoring="roc_auc", cv=KFold(3))),
        GridSearchCV(LOGISTIC, grid, cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=2), **several),
        GridSearchCV(LOGISTIC, [grid, {"tol": [0.1]}], return_train_score=True),
        *(RandomizedSearchCV(LOGISTIC, grid, n_iter=2), Pipeline([("a", "passthrough"), ("l", LOGISTIC)])),
        *(make_pipeline(StandardScaler(), LOGISTIC), make_pipeline(make_pipeline(MaxAbsScaler(), LOGISTIC))),
        *(HistGradientBoostingClassifier(max_iter=2), HistGradientBoostingRegressor(max_iter=2)),
        HistGradientBoostingRegressor(max_iter=2, loss="quantile", quantile=0.3),
        HistGradientBoostingClassifier(max_iter=2, early_stopping=True, scoring="roc_auc", random_state=0),
    ):
        yield model, X, Y
    yield OneVsOneClassifier(LOGISTIC), X, THREE
    yield HistGradientBoostingClassifier(max_iter=2), X, THREE
    yield HistGradientBoostingRegressor(max_iter=2, early_stopping=True, scoring="r2", random_state=0), X, Y
    for splitter in (GroupKFold(2), StratifiedGroupKFold(2), StratifiedKFold(3, shuffle=True, random_state=0)):
        search = GridSearchCV(LOGISTIC, grid, cv=splitter)
        yield search, X, Y


def specimens() -> Iterator[tuple[Any, Any]]:
    """(fitted object, rows)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, rows, labels in (*_transformers(), *_encoders(), *_linear(), *_compositions()):
            grouped = isinstance(getattr(model, "cv", None), GroupKFold | StratifiedGroupKFold)
            extra = {"groups": np.arange(N) % 5} if grouped else {}
            yield clone(model).fit(rows, *([] if labels is None else [labels]), **extra), rows


def objects(value: Any, seen: dict[int, Any] | None = None) -> Iterator[Any]:
    """Every object of scikit-learn inside a value."""
    seen = {} if seen is None else seen
    if id(value) in seen:
        return
    seen[id(value)] = value
    inside: list[Any] = []
    if isinstance(value, dict):
        inside = list(value.values())
    elif isinstance(value, list | tuple):
        inside = list(value)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        inside = value.ravel().tolist()
    elif type(value).__module__.startswith("sklearn.") and hasattr(value, "__dict__"):
        yield value
        inside = list(vars(value).values())
    for item in inside:
        yield from objects(item, seen)


def answers(model: Any, rows: Any) -> dict[str, Any]:
    """What each method that predicts or transforms says of some rows."""
    found = {}
    for name in ("transform", "predict", "predict_proba", "decision_function"):
        if hasattr(model, name):
            with suppress(NotImplementedError):  # a solver of LinearDiscriminantAnalysis does not transform
                found[name] = getattr(model, name)(rows)
    return found
