"""The types of scikit-learn that a file may bring along, and whether what compiled code follows in them is sound.

A type stands in the list only if nothing that it holds can lead compiled code astray: its work is NumPy's, which looks
at shapes, or `check_part` looks at what it holds. Nearest neighbours, support vector machines, k-means, trees and
forests index with what they have learnt, and look at nothing.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from auclid._sparse import fault
from auclid.io._archive import ModelFileError
from auclid.io._generators import check_generator_state

BESIDES = {
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._ranking.roc_auc_score",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.RepeatedStratifiedKFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.utils._bunch.Bunch",
}
"""Types that may be loaded besides those that skops trusts."""

SCIKIT_LEARN = {
    "_loss": "*",
    "calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration",
    "compose": "ColumnTransformer TransformedTargetRegressor",
    "decomposition": "FactorAnalysis IncrementalPCA KernelPCA PCA TruncatedSVD",
    "discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "dummy": "DummyClassifier DummyRegressor",
    "ensemble": "BaggingClassifier HistGradientBoostingClassifier HistGradientBoostingRegressor StackingClassifier "
    "TreePredictor VotingClassifier _BinMapper",
    "feature_extraction": "CountVectorizer DictVectorizer TfidfTransformer TfidfVectorizer",
    "feature_selection": "SelectFdr SelectFpr SelectFromModel SelectFwe SelectKBest SelectPercentile VarianceThreshold",
    "frozen": "FrozenEstimator",
    "impute": "IterativeImputer MissingIndicator SimpleImputer",
    "isotonic": "IsotonicRegression",
    "kernel_approximation": "AdditiveChi2Sampler Nystroem PolynomialCountSketch RBFSampler SkewedChi2Sampler",
    "linear_model": "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lasso LassoCV LinearRegression "
    "LogisticRegression LogisticRegressionCV Ridge RidgeCV RidgeClassifier RidgeClassifierCV",
    "metrics": "roc_auc_score _PassthroughScorer _Scorer",
    "model_selection": "FixedThresholdClassifier GridSearchCV KFold RandomizedSearchCV RepeatedStratifiedKFold "
    "StratifiedKFold TunedThresholdClassifierCV",
    "multiclass": "OneVsOneClassifier OneVsRestClassifier",
    "naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
    "neural_network": "MLPClassifier MLPRegressor",
    "pipeline": "FeatureUnion Pipeline",
    "preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer LabelBinarizer LabelEncoder "
    "MaxAbsScaler MinMaxScaler MultiLabelBinarizer Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures "
    "PowerTransformer QuantileTransformer RobustScaler StandardScaler",
    "random_projection": "GaussianRandomProjection SparseRandomProjection",
    "svm": "LinearSVC",
    "utils": "Bunch",
}
"""Classes and functions by the part of scikit-learn that has them, in whichever module of it they lie."""

BOOSTED = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

CATEGORIES = 256
"""What a category of boosted trees may be numbered up to."""


def is_listed(name: str) -> bool:
    """Whether a type, named with its module, is none of scikit-learn's or one of the list."""
    package, _, inside = name.partition(".")
    if package != "sklearn":
        return True
    words = SCIKIT_LEARN.get(inside.partition(".")[0], "")
    return words == "*" or name.rpartition(".")[2] in words.split()


def check_part(value: Any, seen: set[int] | None = None) -> None:
    """Raise unless all that compiled code will follow, at any depth of a part, is sound."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.random.RandomState):
        check_generator_state(value.get_state(legacy=False))
    elif isinstance(value, np.random.Generator):
        check_generator_state(value.bit_generator.state)
    elif sparse.issparse(value):
        _check_sparse(value)
    elif isinstance(value, BOOSTED) and hasattr(value, "_predictors"):
        _check_boosted(value)
    for inside in _inside(value):
        check_part(inside, seen)


def _inside(value: Any) -> list[Any]:
    """What a value is made of."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else []
    mine = isinstance(value, BaseEstimator) or type(value).__module__.startswith("sklearn.")
    return list(vars(value).values()) if mine and hasattr(value, "__dict__") else []


def _check_sparse(value: Any) -> None:
    wrong = fault(value) if value.format in ("csr", "csc", "coo") else f"the format {value.format}"
    if wrong:
        raise ModelFileError(f"it holds a sparse matrix with {wrong}.")


def _check_boosted(model: Any) -> None:
    """Children of a node come after it, so that no walk is endless; columns and categories are among those known."""
    d, mapper = model.n_features_in_, model._bin_mapper
    flags = np.asarray(mapper.is_categorical_)
    trees = [tree for trees in model._predictors for tree in trees]
    known = flags.shape == (d,) and not getattr(model, "_in_fit", False) and len(mapper.bin_thresholds_) == d
    named = (mapper.bin_thresholds_[k] for k in np.flatnonzero(flags)) if known else ()
    few = all(np.all((0 <= np.asarray(values)) & (np.asarray(values) < CATEGORIES)) for values in named)
    if not (known and few and all(_is_tree(tree, d, flags) for tree in trees)):
        raise ModelFileError(f"its {type(model).__name__} has trees that lead nowhere.")


def _is_tree(tree: Any, d: int, flags: np.ndarray) -> bool:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes, sets = tree.nodes, (tree.binned_left_cat_bitsets, tree.raw_left_cat_bitsets)
    if not isinstance(nodes, np.ndarray) or nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or not len(nodes):
        return False
    if not all(isinstance(x, np.ndarray) and x.dtype == np.uint32 and x.shape[1:] == (8,) for x in sets):
        return False
    own = np.flatnonzero(nodes["is_leaf"] == 0)
    inner = nodes[own]
    below = all(((own < inner[side]) & (inner[side] < len(nodes))).all() for side in ("left", "right"))
    columns = ((0 <= inner["feature_idx"]) & (inner["feature_idx"] < d)).all()
    if not (below and columns):
        return False
    split = inner[inner["is_categorical"] != 0]
    return bool(flags[split["feature_idx"]].all()) and all((split["bitset_idx"] < len(x)).all() for x in sets)
