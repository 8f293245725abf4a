"""Probabilities of AUCClassifier against CalibratedClassifierCV around its best member, on every table at hand.

The rarest class against the rest, random stratified 80/20 splits averaged. The best member is the one with the highest
held-out AUC in ``leaderboard_``; scikit-learn fits its like, behind `auclid.Columns` where it wants scaled rows, and
Platt's sigmoid on five folds. Lower Brier scores and log losses are better; ``mean`` is the mean probability over the
rate on the training rows.
`python benchmarks/quality_probabilities.py [--splits 2] [--rows 3000] [TABLE ...]`
"""

import argparse
import warnings

import numpy as np
from lightgbm import LGBMClassifier
from quality_auto import load
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from tables import names, require_data

from auclid import AUCClassifier, Columns, Kernelized, KMeansNystroem, LeastSquaresAUCCV, Scorecard

SCORES = {"Brier": brier_score_loss, "log loss": log_loss}


def member(name, n, seed):
    """An estimator of scikit-learn's manners like the member of that name."""
    scaled = {
        "LeastSquaresAUC": LeastSquaresAUCCV(),
        "logistic": LogisticRegression(max_iter=300),
        "kernel": Kernelized(KMeansNystroem(int(np.clip(n // 20, 50, 400)), random_state=seed), LeastSquaresAUCCV()),
    }
    slow = {"learning_rate": 0.08, "num_leaves": 8, "colsample_bytree": 0.5, "subsample": 0.8, "subsample_freq": 1}
    slow |= {"reg_lambda": 3.0}
    plain = {
        "slow boosting": LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1, random_state=seed, **slow),
        "boosting": LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1, random_state=seed),
        "forest": ExtraTreesClassifier(200, random_state=seed),
        "random forest": RandomForestClassifier(200, random_state=seed),
        "Scorecard": Scorecard(n_knots=8, interactions=0, random_state=seed),
    }
    return make_pipeline(Columns(), scaled[name]) if name in scaled else plain[name]


def run(name, seed, cap):
    """{contender: {score: value}} on test rows, the mean over the rate, and the best member; None for tiny tables."""
    X, y = load(name, cap)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    if min(y.sum(), (~y).sum()) < 10 or not 0 < y_test.sum() < len(y_test):
        return None
    ours = AUCClassifier(random_state=seed).fit(X, y)
    best = next(line.name for line in ours.leaderboard_ if line.name != "blend")
    folds = min(5, int(y.sum()))
    dense = X.toarray() if sparse.issparse(X) and "forest" in best else X
    dense_test = X_test.toarray() if sparse.issparse(X) and "forest" in best else X_test
    theirs = CalibratedClassifierCV(member(best, len(y), seed), cv=folds).fit(dense, y)
    chances = {"ours": ours.predict_proba(X_test)[:, 1], "theirs": theirs.predict_proba(dense_test)[:, 1]}
    scores = {who: {what: f(y_test, p) for what, f in SCORES.items()} for who, p in chances.items()}
    return scores, ours.predict_proba(X)[:, 1].mean() / y.mean(), best


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("tables", nargs="*")
    options = parser.parse_args()
    require_data()
    differences = []
    print(f"{'table':38} {'Brier':>7} {'theirs':>7}  {'log loss':>8} {'theirs':>7}  {'mean':>5}  best member")
    for name in options.tables or names():
        found = [each for seed in range(options.splits) if (each := run(name, seed, options.rows)) is not None]
        if not found:
            continue
        mean = {
            (who, what): np.mean([scores[who][what] for scores, _, _ in found])
            for who in ("ours", "theirs") for what in SCORES
        }  # fmt: skip
        differences.append([mean["ours", what] - mean["theirs", what] for what in SCORES])
        ratio, best = np.mean([each for _, each, _ in found]), found[0][2]
        print(
            f"{name:38} {mean['ours', 'Brier']:7.4f} {mean['theirs', 'Brier']:7.4f}  {mean['ours', 'log loss']:8.4f} "
            f"{mean['theirs', 'log loss']:7.4f}  {ratio:5.2f}  {best}",
            flush=True,
        )
    table = np.array(differences)
    for k, what in enumerate(SCORES):
        error = table[:, k].std(ddof=1) / np.sqrt(len(table))
        mean, better = table[:, k].mean(), int((table[:, k] <= 0.0).sum())
        print(f"{what}: ours - theirs {mean:+.4f} ± {error:.4f} over {len(table)} tables; {better} no worse")


if __name__ == "__main__":
    main()
