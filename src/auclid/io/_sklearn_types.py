"""The classes of scikit-learn that files may hold, with every attribute that their objects have besides parameters.

Specifications are in the language of `auclid.io._learnt`. ``versioned`` marks a parameter that not every version of
scikit-learn has; it is dropped where the class does not have it. ``derived`` marks what is not written:
`auclid.io._sklearn` computes it again, or a new fit does. The table covers scikit-learn 1.7 to 1.9;
tests/test_sklearn_parts.py fits an object of every class and compares.

A class is in the table only if nothing that its objects learn can lead compiled code astray: either NumPy does its
work, which checks indices, or `auclid.io._sklearn_checks` does. Nearest neighbours, support vector machines, k-means,
single trees and forests index with what they learnt and check nothing; `OneVsRestClassifier` indexes with what its
members predict.
"""

CLASSES = "classes_:label[k] "
LINEAR_CLASSIFIER = CLASSES + "coef_:finite[*,d]|finite[d] intercept_:finite[*]|finite "
LINEAR_REGRESSOR = "coef_:finite[*,d]|finite[d] intercept_:finite[*]|finite "
UNIVARIATE = "scores_:real[d] pvalues_:real[d]? "
NAIVE_BAYES = (
    CLASSES + "class_count_:real[k] class_log_prior_:real[k] feature_count_:real[k,d] feature_log_prob_:real[*,d] "
)
TEXT = "vocabulary_:dict fixed_vocabulary_:bool _stop_words_id:derived "
ENCODER = (
    "categories_:list<label[*]>[d] _infrequent_enabled:bool _infrequent_indices:list<int[*]?>[d] "
    "_default_to_infrequent_mappings:list<int[*]?>[d] "
)
ENSEMBLE = "named_estimators_:derived estimators_:list<part> "
SEARCH = (
    "best_estimator_:part best_index_:count best_params_:dict best_score_:real cv_results_:dict multimetric_:bool "
    "n_splits_:count refit_time_:real scorer_:any _checked_cv_orig:any "
)
BOOSTING = (
    "_baseline_prediction:finite[1,t] _bin_mapper:_BinMapper _feature_subsample_rng:generator "
    "_is_categorical_remapped:any _loss:derived _n_features:=d _predictors:list<list<TreePredictor>[t]> "
    "_preprocessor:any _random_seed:int _raw_predict:derived _scorer:derived _use_validation_data:bool "
    "do_early_stopping_:bool is_categorical_:any n_trees_per_iteration_:=t train_score_:real[*] "
    "validation_score_:real[*] "
)
SPLITTER = "n_splits:count shuffle:bool random_state:any "

SKLEARN_TYPES: dict[str, dict[str, str]] = {
    "sklearn.calibration": {
        "CalibratedClassifierCV": CLASSES + "calibrated_classifiers_:list<_CalibratedClassifier>",
        "_CalibratedClassifier": "estimator:part classes:label[k] method:str "
        "calibrators:list<_SigmoidCalibration|_TemperatureScaling|IsotonicRegression>",
        "_SigmoidCalibration": "a_:finite b_:finite",
        "_TemperatureScaling": "beta_:finite",
    },
    "sklearn.compose": {
        "ColumnTransformer": "transformers_:list<tuple[3]> _columns:list _remainder:tuple[3] "
        "_transformer_to_input_indices:dict output_indices_:dict sparse_output_:bool "
        "force_int_remainder_cols:versioned",
    },
    "sklearn.decomposition": {
        "FactorAnalysis": "components_:finite[k,d] loglike_:list mean_:finite[d] n_iter_:count "
        "noise_variance_:finite[d]",
        "IncrementalPCA": "batch_size_:count components_:finite[k,d] explained_variance_:finite[k] "
        "explained_variance_ratio_:finite[k] mean_:finite[d] n_components_:=k n_samples_seen_:count "
        "noise_variance_:finite singular_values_:finite[k] var_:finite[d]",
        "KernelPCA": "X_fit_:finite[n,d]|sparse[n,d] X_transformed_fit_:finite[n,k] _centerer:KernelCenterer "
        "dual_coef_:finite[n,d] eigenvalues_:finite[k] eigenvectors_:finite[n,k] gamma_:finite?",
        "PCA": "_fit_svd_solver:str components_:finite[k,d] explained_variance_:finite[k] "
        "explained_variance_ratio_:finite[k] mean_:finite[d] n_components_:=k n_samples_:count noise_variance_:finite "
        "singular_values_:finite[k]",
        "TruncatedSVD": "components_:finite[k,d] explained_variance_:finite[k] explained_variance_ratio_:finite[k] "
        "singular_values_:finite[k]",
    },
    "sklearn.discriminant_analysis": {
        "LinearDiscriminantAnalysis": LINEAR_CLASSIFIER + "_max_components:count _n_features_out:count "
        "covariance_:finite[d,d] explained_variance_ratio_:finite[*] means_:finite[k,d] priors_:finite[k] "
        "scalings_:finite[d,*] xbar_:finite[d]",
        "QuadraticDiscriminantAnalysis": CLASSES + "covariance_:list<finite[d,d]>[k] means_:finite[k,d] "
        "priors_:finite[k] rotations_:list<finite[d,*]>[k] scalings_:list<finite[*]>[k] solver:versioned "
        "shrinkage:versioned covariance_estimator:versioned",
    },
    "sklearn.dummy": {
        "DummyClassifier": CLASSES + "_strategy:str class_prior_:finite[k] n_classes_:=k n_outputs_:=1 "
        "sparse_output_:bool",
        "DummyRegressor": "constant_:finite[1,1] n_outputs_:=1",
    },
    "sklearn.ensemble": {
        "BaggingClassifier": CLASSES + "_max_features:count _max_samples:derived _n_samples:derived "
        "_sample_weight:derived _seeds:derived estimator_:part estimator_params:tuple estimators_:list<part>[m] "
        "estimators_features_:list<int[*]>[m] n_classes_:=k oob_decision_function_:real[*,k] oob_score_:real",
        "HistGradientBoostingClassifier": BOOSTING + CLASSES + "_label_encoder:LabelEncoder",
        "HistGradientBoostingRegressor": BOOSTING,
        "StackingClassifier": ENSEMBLE + CLASSES + "_label_encoder:LabelEncoder _n_feature_outs:list<count> "
        "final_estimator_:part stack_method_:list<str>",
        "VotingClassifier": ENSEMBLE + CLASSES + "le_:LabelEncoder",
    },
    "sklearn.ensemble._hist_gradient_boosting.binning": {
        "_BinMapper": "bin_thresholds_:list<real[*]>[d] is_categorical_:int[d] missing_values_bin_idx_:count "
        "n_bins_non_missing_:int[d]",
    },
    "sklearn.ensemble._hist_gradient_boosting.predictor": {
        "TreePredictor": "nodes:any[n] binned_left_cat_bitsets:int[0,8] raw_left_cat_bitsets:int[0,8]",
    },
    "sklearn.feature_extraction": {"DictVectorizer": "feature_names_:list<str>[d] vocabulary_:dict"},
    "sklearn.feature_extraction.text": {
        "CountVectorizer": TEXT,
        "TfidfTransformer": "idf_:finite[d]",
        "TfidfVectorizer": TEXT + "_tfidf:TfidfTransformer",
    },
    "sklearn.feature_selection": {
        "SelectFdr": UNIVARIATE,
        "SelectFpr": UNIVARIATE,
        "SelectFromModel": "estimator_:part max_features_:count",
        "SelectFwe": UNIVARIATE,
        "SelectKBest": UNIVARIATE,
        "SelectPercentile": UNIVARIATE,
        "VarianceThreshold": "variances_:real[d]",
    },
    "sklearn.frozen": {"FrozenEstimator": ""},
    "sklearn.impute": {
        "MissingIndicator": "_n_features:=d _precomputed:bool features_:int[*]",
        "SimpleImputer": "_fill_dtype:dtype _fit_dtype:dtype indicator_:MissingIndicator? statistics_:label[d]",
    },
    "sklearn.isotonic": {
        "IsotonicRegression": "X_max_:finite X_min_:finite X_thresholds_:finite[m] f_:derived increasing_:bool "
        "y_thresholds_:finite[m]",
    },
    "sklearn.kernel_approximation": {
        "Nystroem": "_n_features_out:=m component_indices_:int[m] components_:finite[m,d]|sparse[m,d] "
        "normalization_:finite[m,m]",
        "RBFSampler": "_gamma:finite _n_features_out:=m random_offset_:finite[m] random_weights_:finite[d,m]",
    },
    "sklearn.linear_model": {
        "ARDRegression": LINEAR_REGRESSOR + "X_offset_:real[d] X_scale_:real[d] alpha_:real lambda_:real[d] "
        "n_iter_:count scores_:list|real[*] sigma_:real[*,*]",
        "BayesianRidge": LINEAR_REGRESSOR + "X_offset_:real[d] X_scale_:real[d] alpha_:real lambda_:real n_iter_:count "
        "scores_:list|real[*] sigma_:real[d,d]",
        "ElasticNet": LINEAR_REGRESSOR + "dual_gap_:real|real[*] n_iter_:count|list",
        "ElasticNetCV": LINEAR_REGRESSOR + "_alphas:any alpha_:real alphas_:real[*]|real[*,*] dual_gap_:real "
        "l1_ratio_:real mse_path_:real[*,*]|real[*,*,*] n_iter_:count n_alphas:versioned",
        "HuberRegressor": LINEAR_REGRESSOR + "n_iter_:count outliers_:bool[*] scale_:real",
        "Lasso": LINEAR_REGRESSOR + "dual_gap_:real|real[*] l1_ratio:real n_iter_:count|list",
        "LassoCV": LINEAR_REGRESSOR + "_alphas:any alpha_:real alphas_:real[*] dual_gap_:real mse_path_:real[*,*] "
        "n_iter_:count n_alphas:versioned",
        "LinearRegression": LINEAR_REGRESSOR + "rank_:count singular_:real[*]",
        "LogisticRegression": LINEAR_CLASSIFIER + "n_iter_:int[*] multi_class:versioned",
        "LogisticRegressionCV": LINEAR_CLASSIFIER + "C_:any Cs_:any coefs_paths_:any l1_ratio_:any l1_ratios_:any "
        "n_iter_:any scores_:any multi_class:versioned use_legacy_attributes:versioned",
        "Ridge": LINEAR_REGRESSOR + "n_iter_:int[*]? solver_:str",
        "RidgeCV": LINEAR_REGRESSOR + "alpha_:real|real[*] best_score_:real|real[*] cv_results_:any",
        "RidgeClassifier": LINEAR_CLASSIFIER + "_label_binarizer:LabelBinarizer n_iter_:int[*]? solver_:str",
        "RidgeClassifierCV": LINEAR_CLASSIFIER + "_label_binarizer:LabelBinarizer alpha_:real alpha_per_target:bool "
        "best_score_:real cv_results_:any gcv_mode:any",
    },
    "sklearn.metrics._scorer": {"_PassthroughScorer": "_estimator:part _metadata_request:derived"},
    "sklearn.model_selection": {
        "FixedThresholdClassifier": "estimator_:part",
        "GridSearchCV": SEARCH,
        "GroupKFold": SPLITTER,
        "KFold": SPLITTER,
        "RandomizedSearchCV": SEARCH,
        "RepeatedStratifiedKFold": "cv:derived cvargs:dict n_repeats:count random_state:any",
        "StratifiedGroupKFold": SPLITTER,
        "StratifiedKFold": SPLITTER,
        "TunedThresholdClassifierCV": "_curve_scorer:derived best_score_:real best_threshold_:finite cv_results_:dict "
        "estimator_:part",
    },
    "sklearn.multiclass": {
        "OneVsOneClassifier": CLASSES + "estimators_:tuple<part>|list<part> pairwise_indices_:none",
    },
    "sklearn.naive_bayes": {
        "BernoulliNB": NAIVE_BAYES,
        "ComplementNB": NAIVE_BAYES + "feature_all_:real[d]",
        "GaussianNB": CLASSES + "class_count_:real[k] class_prior_:real[k] epsilon_:real theta_:real[k,d] "
        "var_:real[k,d]",
        "MultinomialNB": NAIVE_BAYES,
    },
    "sklearn.pipeline": {"FeatureUnion": "", "Pipeline": ""},
    "sklearn.preprocessing": {
        "Binarizer": "",
        "FunctionTransformer": "",
        "KBinsDiscretizer": "_encoder:OneHotEncoder bin_edges_:any[d] n_bins_:int[d]",
        "KernelCenterer": "K_fit_all_:finite K_fit_rows_:finite[d]",
        "LabelBinarizer": CLASSES + "sparse_input_:bool y_type_:str",
        "LabelEncoder": CLASSES,
        "MaxAbsScaler": "clip:versioned max_abs_:real[d] n_samples_seen_:count scale_:real[d]",
        "MinMaxScaler": "data_max_:real[d] data_min_:real[d] data_range_:real[d] min_:real[d] n_samples_seen_:count "
        "scale_:real[d]",
        "Normalizer": "",
        "OneHotEncoder": ENCODER + "_drop_idx_after_grouping:any[d]? _n_features_outs:list<count>[d] drop_idx_:any[d]?",
        "OrdinalEncoder": ENCODER + "_missing_indices:dict",
        "PolynomialFeatures": "_max_degree:count _min_degree:count _n_out_full:count n_output_features_:count",
        "PowerTransformer": "_scaler:StandardScaler lambdas_:real[d]",
        "QuantileTransformer": "n_quantiles_:=q quantiles_:real[q,d] references_:finite[q]",
        "RobustScaler": "center_:real[d]? scale_:real[d]?",
        "StandardScaler": "mean_:real[d]? n_samples_seen_:count|int[d]|real[d] scale_:real[d]? var_:real[d]?",
    },
    "sklearn.random_projection": {
        "GaussianRandomProjection": "_n_features_out:=k components_:finite[k,d] inverse_components_:finite[d,k] "
        "n_components_:=k",
        "SparseRandomProjection": "_n_features_out:=k components_:finite[k,d]|sparse[k,d] density_:finite "
        "inverse_components_:finite[d,k] n_components_:=k",
    },
    "sklearn.svm": {"LinearSVC": LINEAR_CLASSIFIER + "n_iter_:count"},
}
"""Module, to class, to specifications."""

ANY_ESTIMATOR = "n_features_in_:=d feature_names_in_:str[d] _sklearn_output_config:output "
"""Attributes that any estimator may have."""

FUNCTIONS = {
    "numpy": "absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad degrees exp exp2 expm1 "
    "fabs floor isfinite isinf isnan log log10 log1p log2 logical_not negative positive rad2deg radians reciprocal "
    "rint sign signbit sin sinh sqrt square tan tanh trunc",
    "scipy.special": "erf erfc expit logit",
    "sklearn.feature_selection": "chi2 f_classif f_regression mutual_info_classif mutual_info_regression r_regression",
}
"""Functions that parameters may hold: of one number each, and scores of single columns."""

TOKEN_PATTERNS = {r"(?u)\b\w\w+\b", r"(?u)\b\w+\b", r"\b\w\w+\b", r"\b\w+\b", r"\w+", r"\S+", r"[^\s]+"}
"""Regular expressions for words that take linear time; others may take exponential time on a short text."""

MAX_UNTIED_FEATURES = 1 << 22
"""Most features of an object that learns nothing of any of them: scikit-learn makes a name for each."""

MAX_NGRAM = 50
"""Longest n-gram of a text: the work on a text is proportional to it."""

MAX_POLYNOMIALS = 1 << 26
"""Most features times polynomials of `PolynomialFeatures`: scikit-learn makes a matrix of powers of this size."""

PRE_DISPATCH = r"all|\d{0,4}\*?n_jobs|\d{1,6}"
"""Expressions that a search may hold for the number of jobs that it prepares."""

STEP_NAME = r"[^<>&\"'`\\\x00-\x1f\x7f]{1,1000}"
"""Names of steps: notebooks show them, and in HTML these characters would act."""
