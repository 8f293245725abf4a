"""The online methods on real tables: near the batch ones as they come, up to published figures when tuned."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.preprocessing import normalize
from sklearn.preprocessing import scale as scaled

import auclid
from auclid import CBR, OAM, PSAM, LeastSquaresAUC
from auclid.metrics import operating_point, roc_auc
from published import needs_data, surely_below, tables, whole

pytestmark = [pytest.mark.long, needs_data]

# --- as they come -------------------------------------------------------------------------------------------

DENSE = ["a9a", "german", "splice", "w8a", "ijcnn1", "magic04", "cod-rna", "letter", "svmguide3"]
NEAR = {
    "CBR": (lambda seed: CBR(random_state=seed), 0.015),
    "CBR-diag": (lambda seed: CBR(covariance="diagonal", random_state=seed), 0.02),
    "OAM": (lambda seed: OAM(random_state=seed), 0.02),
    "OAM gradient": (lambda seed: OAM(update="gradient", random_state=seed), 0.02),
}


def mean_auc(build, name, **how):
    """Over seeds 0 to 4 of splits and methods."""
    scores = []
    for seed in range(5):
        X, y, X_test, y_test = tables.split(name, seed, **how)
        scores.append(build(seed).fit(X, y).score(X_test, y_test))
    return np.mean(scores)


@cache
def exact(name):
    return mean_auc(lambda seed: LeastSquaresAUC(), name, dense=True)


@pytest.mark.parametrize("method", NEAR)
@pytest.mark.parametrize("name", DENSE)
def test_one_pass_comes_near_the_exact_square_loss(name, method):
    build, bar = NEAR[method]
    assert mean_auc(build, name, dense=True) >= exact(name) - bar


@pytest.mark.parametrize("name", ["news20", "sector"])
def test_one_pass_over_sparse_rows_comes_near_psam(name):
    batch = mean_auc(lambda seed: PSAM(random_state=seed), name)
    assert mean_auc(NEAR["CBR-diag"][0], name) >= batch - 0.02


# --- Khalid 2019 --------------------------------------------------------------------------------------------
# C (Uni-Exp: the step) from 2^-10 to 2^10 by 3 folds of each training part; one pass; buffers of 50, of 100
# for OAM in table 5.2; at most 8,000 rows in tables 4.3 and 4.4 and 2,000 in 4.5 and 4.6; training and test
# parts together. Tasks: glass class 1 against the rest, news20 labels below 5, sector labels up to 10.
#
# A figure fails where ours is surely below it: by more than the published deviation (0.005 at the least) and by more
# than two standard errors of the difference, sqrt(s^2 / folds + S^2 / runs), of our folds and of the dissertation's
# runs (10, of sparse tables 5, in chapter five 3). There are as many repeats of 5 folds as it takes to keep these two
# errors near the published deviation, so that a real loss still fails. Nineteen times of twenty that is a loss of .027
# for OAM on svmguide3 in chapter five, .019 for CBR-RS there, .031 for OAM on magic04 in chapter four, .013 on news20,
# and .03 to .07 on the small tables of chapter four, whose published deviations are .02 to .06.
#
# Chapter 5 standardises columns. Chapter 4 does not say how it scales. Three scalings were tried, one for all
# tables: standardised columns fail on ionosphere, and give diabetes .83 and magic04 .84 where .70 and .80 are
# printed, so they were not used there; columns divided by their largest value fail on the texts; rows of length
# one give diabetes .70 and magic04 .80 and meet the figures. Only glass does not: the dissertation's has 10
# columns, not ours, and that one is standardised here. Its sector has accuracies below the share of the larger
# class of labels above 10 (.77 to .85; ours are .94 to .96), so its task was another one: CBR-diag's .927 is none to
# hold ours against, which has .900, and what is held there is our own (OWN).
#
# Uni-Exp is ours, with implicit steps (see its Notes), tuned over its step as the others are over C.

FOUR = {  # method: AUC (4.3, 4.5), its deviation, accuracy at OPTROC (4.4, 4.6), its deviation
    "glass": {
        "CBR-RS": (0.825, 0.043, 0.813, 0.044),
        "CBR-FIFO": (0.823, 0.046, 0.811, 0.049),
        "Uni-Exp": (0.714, 0.075, 0.732, 0.060),
        "OAMseq": (0.805, 0.047, 0.788, 0.040),
    },
    "ionosphere": {
        "CBR-RS": (0.950, 0.027, 0.946, 0.028),
        "CBR-FIFO": (0.951, 0.028, 0.946, 0.022),
        "Uni-Exp": (0.913, 0.018, 0.902, 0.028),
        "OAMseq": (0.946, 0.025, 0.943, 0.017),
    },
    "german": {
        "CBR-RS": (0.782, 0.024, 0.780, 0.022),
        "CBR-FIFO": (0.780, 0.019, 0.787, 0.019),
        "Uni-Exp": (0.702, 0.032, 0.741, 0.027),
        "OAMseq": (0.731, 0.028, 0.751, 0.028),
    },
    "svmguide3": {
        "CBR-RS": (0.755, 0.022, 0.784, 0.015),
        "CBR-FIFO": (0.764, 0.036, 0.793, 0.016),
        "Uni-Exp": (0.701, 0.025, 0.784, 0.019),
        "OAMseq": (0.705, 0.033, 0.780, 0.020),
    },
    "magic04": {
        "CBR-RS": (0.799, 0.006, 0.769, 0.011),
        "CBR-FIFO": (0.801, 0.006, 0.771, 0.006),
        "Uni-Exp": (0.759, 0.006, 0.734, 0.007),
        "OAMseq": (0.757, 0.015, 0.736, 0.013),
    },
    "heart": {
        "CBR-RS": (0.908, 0.019, 0.883, 0.032),
        "CBR-FIFO": (0.909, 0.021, 0.875, 0.026),
        "Uni-Exp": (0.733, 0.039, 0.716, 0.021),
        "OAMseq": (0.806, 0.059, 0.777, 0.043),
    },
    "australian": {
        "CBR-RS": (0.883, 0.028, 0.841, 0.023),
        "CBR-FIFO": (0.889, 0.019, 0.842, 0.022),
        "Uni-Exp": (0.710, 0.130, 0.711, 0.056),
        "OAMseq": (0.765, 0.107, 0.742, 0.064),
    },
    "diabetes": {
        "CBR-RS": (0.700, 0.021, 0.714, 0.029),
        "CBR-FIFO": (0.707, 0.033, 0.705, 0.032),
        "Uni-Exp": (0.633, 0.036, 0.683, 0.037),
        "OAMseq": (0.648, 0.040, 0.694, 0.044),
    },
    "news20": {
        "CBR-diag": (0.956, 0.003, 0.918, 0.005),
        "Uni-Exp": (0.939, 0.005, 0.895, 0.005),
        "OAMseq": (0.944, 0.005, 0.907, 0.006),
    },
}
FIVE = {  # table 5.2: AUC, its deviation
    "glass": {
        "OAMseq": (0.8063, 0.0189),
        "OAMgra": (0.7960, 0.0193),
        "CBR-RS": (0.8088, 0.0380),
        "CBR-FIFO": (0.8120, 0.0283),
    },
    "svmguide3": {
        "OAMseq": (0.7592, 0.0096),
        "OAMgra": (0.7639, 0.0068),
        "CBR-RS": (0.8081, 0.0048),
        "CBR-FIFO": (0.8153, 0.0098),
    },
    "magic04": {
        "OAMseq": (0.6993, 0.0190),
        "OAMgra": (0.7193, 0.0136),
        "CBR-RS": (0.8357, 0.0023),
        "CBR-FIFO": (0.8406, 0.0014),
    },
}
SPARSE = {"news20": lambda y: y < 5, "sector": lambda y: y <= 10}
REPEATS = {"magic04 OAMseq": 12}  # in chapter four; 4 otherwise
REPEATS_FIVE = {"svmguide3 OAMseq": 24, "svmguide3 OAMgra": 24, "magic04": 3}  # 12 otherwise
GRID = np.exp2(np.arange(-10, 11))
MISSED = {  # figures of AUC that are surely missed, and why
    ("magic04", "OAMseq"): ".732 of 60 folds against .757 ± .015, 2.9 standard errors below: the last iterate of one "
    "pass scatters by .057 from fold to fold with C from the printed range, whose lower end is mostly chosen; with "
    "C from 2^-20 on, as in the record, it has .763",
}
OWN = {  # what we measured ourselves where no figure can be held, and its standard error
    ("magic04", "OAMseq"): (0.732, 0.0073),
    ("sector", "CBR-diag"): (0.900, 0.0056),
    ("sector", "Uni-Exp"): (0.841, 0.0066),
    ("sector", "OAMseq"): (0.886, 0.0065),
}


def task(name):
    """Rows as they are, and which are positive."""
    if name in SPARSE:
        parts = [tables.raw(name, part) for part in (("train", "test") if name == "sector" else ("train",))]
        y = np.concatenate([y for _, y in parts])
        return sparse.vstack([X for X, _ in parts], format="csr").astype(np.float64), SPARSE[name](y)
    if name == "glass":
        X, y = tables.raw(name)
        return X.astype(np.float64), y == 1
    return whole({"german": "german.numer"}.get(name, name))


@cache
def figures(name, method, scale, repeats, most=None, buffer_size=None):
    """Test AUC and accuracy at OPTROC of a tuned method, a row a fold."""
    X, y = task(name)
    X = scale(X)
    chosen = np.random.default_rng(0).permutation(len(y))[:most]
    X, y, found = X[chosen], y[chosen], []
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    for seed, (train, test) in enumerate(folds.split(X, y)):
        model = auclid.make(method, random_state=seed)
        if buffer_size is not None and method != "Uni-Exp":
            model.set_params(buffer_size=buffer_size)
        grid = {"step" if method == "Uni-Exp" else "C": GRID}
        search = GridSearchCV(model, grid, scoring="roc_auc", cv=3, error_score=0.0).fit(X[train], y[train])
        scores = search.decision_function(X[test])
        point, share = operating_point(y[test], scores, criterion="accuracy"), y[test].mean()
        accuracy = share * point.tpr + (1.0 - share) * (1.0 - point.fpr)
        found.append((roc_auc(y[test], scores), accuracy))
    return np.array(found)


def by_folds(name, method):
    """Of chapter four: AUC and accuracy, fold by fold."""
    scale, most = scaled if name == "glass" else normalize, 2000 if name in SPARSE else 8000
    return figures(name, method, scale, REPEATS.get(f"{name} {method}", 4), most, 50).T


def cells(chapter):
    """Every figure of a chapter; where it is surely missed, the test must fail, so that a gain is noticed."""
    params = []
    for name, method in [(table, method) for table in chapter for method in chapter[table]]:
        missed = MISSED.get((name, method)) if chapter is FOUR else None
        marks = [pytest.mark.xfail(reason=missed, strict=True)] if missed else []
        params.append(pytest.param(name, method, marks=marks))
    return params


@pytest.mark.parametrize(("name", "method"), cells(FOUR))
def test_the_auc_of_chapter_four(name, method):
    auc, _ = by_folds(name, method)
    runs = 5 if name in SPARSE else 10
    assert not surely_below(auc, *FOUR[name][method][:2], runs), f"{auc.mean():.4f} ± {auc.std(ddof=1):.4f}"


@pytest.mark.parametrize(("name", "method"), [(name, method) for name in FOUR for method in FOUR[name]])
def test_the_accuracy_of_chapter_four(name, method):
    _, accuracy = by_folds(name, method)
    runs = 5 if name in SPARSE else 10
    assert not surely_below(accuracy, *FOUR[name][method][2:], runs), f"{accuracy.mean():.4f}"


@pytest.mark.parametrize(("name", "method"), OWN)
def test_where_no_figure_can_be_held_ours_stays(name, method):
    auc, _ = by_folds(name, method)
    mean, error = OWN[name, method]
    here = np.std(auc, ddof=1) / np.sqrt(len(auc))
    assert abs(auc.mean() - mean) <= 2.0 * np.hypot(here, error), f"{auc.mean():.4f} ± {here:.4f}"


@pytest.mark.parametrize(("name", "method"), cells(FIVE))
def test_the_figures_of_chapter_five(name, method):
    repeats = REPEATS_FIVE.get(name) or REPEATS_FIVE.get(f"{name} {method}", 12)
    auc, _ = figures(name, method, scaled, repeats).T
    assert not surely_below(auc, *FIVE[name][method], 3), f"{auc.mean():.4f} ± {auc.std(ddof=1):.4f}"
