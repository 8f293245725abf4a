"""Concordance on scikit-survival's tables, ten splits: SurvivalRanker beside Cox regression and FastSurvivalSVM.

`python benchmarks/quality_ordered.py`; needs scikit-survival, whose tables it reads, and says so where it is missing.
"""

import sys
import warnings

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

from auclid import Kernelized, KMeansNystroem, Scorecard, SurvivalRanker

SPLITS = 10


def prepared(model, splines=False):
    """One-hot categories, standardised numbers (or splines of them), then a model."""
    encoder = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    numbers = StandardScaler()
    if splines:
        numbers = make_pipeline(SplineTransformer(5, knots="quantile", extrapolation="linear"), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (encoder, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, StandardScaler(), model)


def models():
    """Name and pipeline of each."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.svm import FastSurvivalSVM

    return {
        "Cox": prepared(CoxPHSurvivalAnalysis(alpha=1e-2)),
        "FastSurvivalSVM": prepared(FastSurvivalSVM(rank_ratio=1.0, max_iter=100, tol=1e-5, random_state=0)),
        "square": prepared(SurvivalRanker()),
        "squared hinge": prepared(SurvivalRanker("squared_hinge")),
        "logistic": prepared(SurvivalRanker("logistic")),
        "splines": prepared(SurvivalRanker(), splines=True),
        "scorecard": Scorecard(SurvivalRanker(), interactions=0),
        "with pairs": Scorecard(SurvivalRanker()),
        "kernel": prepared(Kernelized(KMeansNystroem(100, random_state=0), SurvivalRanker())),
    }


def tables():
    """Name, X and y of scikit-survival's own tables (BSD)."""
    from sksurv import datasets

    yield "whas500", *datasets.load_whas500()
    yield "gbsg2", *datasets.load_gbsg2()
    yield "veterans", *datasets.load_veterans_lung_cancer()
    yield "aids", *datasets.load_aids()


def main():
    """A row of means and standard errors for each table."""
    try:
        names = list(models())
    except ImportError:
        sys.exit("scikit-survival is not installed: its tables, Cox and FastSurvivalSVM are what this compares with.")
    warnings.simplefilter("ignore")
    print(f"{'table':<10}" + "".join(f"{name:>20}" for name in names))
    means = []
    for table, X, y in tables():
        event = y[y.dtype.names[0]]
        found = np.zeros((SPLITS, len(names)))
        for seed in range(SPLITS):
            train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=seed, stratify=event)
            for k, model in enumerate(models().values()):
                found[seed, k] = model.fit(X.iloc[train], y[train]).score(X.iloc[test], y[test])
        error = found.std(axis=0, ddof=1) / np.sqrt(SPLITS)
        means.append(found.mean(axis=0))
        cells = zip(means[-1], error, strict=True)
        print(f"{table:<10}" + "".join(f"{mean:>12.4f} ± {e:.4f}" for mean, e in cells), flush=True)
    print(f"{'mean':<10}" + "".join(f"{mean:>12.4f}         " for mean in np.mean(means, axis=0)))


if __name__ == "__main__":
    main()
