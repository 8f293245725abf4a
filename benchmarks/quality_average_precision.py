"""Does training for the top, or with a loss made for average precision, raise the average precision of test rows?

    python benchmarks/quality_average_precision.py [--rows N] [--splits K] [tables ...]

Linear models on standardised columns: LogisticRegression; RankSVM over all pairs, alpha chosen by AUC and by average
precision; RankSVM for the top 5 % and 10 % of the negatives; a smooth average precision, maximised from where RankSVM
ends. Then Scorecard chosen by AUC and by average precision. Each line has the mean average precision over the splits,
the last lines the mean over tables, the difference from LogisticRegression (Scorecard: by AUC) and on how many tables
a model is ahead of it.
"""

import argparse
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from tables import require_data, split

from auclid import RankSVM, Scorecard
from auclid.metrics import average_precision

TABLES = """
mammography w8a a9a cod-rna letter krkopt ijcnn1 magic04 german spambase waveform-40 keel-yeast1 keel-car-good
nursery optdigits pendigits usps adult covtype connect-4 splice ada svmguide3 diabetes glass
""".split()
WIDTH = 0.2
"""Width of the sigmoid in standard deviations of the scores: a pair nearer than this counts in part."""

PULL = 1e-2
"""Ridge that holds the maximiser of the smooth average precision near its start."""

MAX_POSITIVES, MAX_STEPS = 300, 60


def smooth_average_precision(X, y, start):
    """Weights that maximise mean_i A_i / (A_i + B_i) with sigmoids for steps, from given ones.

    A_i and B_i are the positives and negatives that score at least as high as positive i.
    """
    rng, at = np.random.default_rng(0), np.flatnonzero(y)
    at = rng.permutation(at)[:MAX_POSITIVES]
    w0 = start / (WIDTH * max((X @ start).std(), 1e-12))

    def objective(w):
        score = X @ w
        above = expit(score[None, :] - score[at][:, None])
        above[np.arange(len(at)), at] = 1.0
        slope = above * (1.0 - above)
        a, total = above @ y, above.sum(axis=1)
        # derivative of a / total by each entry of `above`
        inner = slope * (y / total[:, None] - (a / total**2)[:, None]) / len(at)
        by_score = inner.sum(axis=0)
        np.subtract.at(by_score, at, inner.sum(axis=1))
        apart = w - w0
        ridge = PULL / (2.0 * (w0 @ w0)) * (apart @ apart)
        return ridge - np.mean(a / total), PULL / (w0 @ w0) * apart - X.T @ by_score

    return minimize(objective, w0, jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS}).x


def scores(X, y, X_test):
    """Test scores by the name of the model."""
    by_auc = RankSVM("auto").fit(X, y)
    top = {f"top {rate:.0%}": RankSVM("auto", max_fpr=rate, softness="auto") for rate in (0.05, 0.1)}
    models = {
        "logistic": LogisticRegression(max_iter=1000),
        "pairs, by AUC": by_auc,
        "pairs, by AP": RankSVM("auto", metric="average_precision"),
        **top,
        "card, by AUC": Scorecard(interactions=0, random_state=0),
        "card, by AP": Scorecard(interactions=0, metric="average_precision", random_state=0),
    }
    out = {}
    for name, model in models.items():
        out[name] = (model if model is by_auc else model.fit(X, y)).decision_function(X_test)
    out["smooth AP"] = X_test @ smooth_average_precision(X, y.astype(float), by_auc.coef_[0])
    return out


def measured(table, seed, most):
    """Average precisions of one split by the name of the model."""
    X, y, X_test, y_test = split(table, seed)
    X, X_test = (part.toarray() if hasattr(part, "toarray") else part for part in (X, X_test))
    if len(y) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=seed)
    return {name: average_precision(y_test, score) for name, score in scores(X, y, X_test).items()}


def main():
    """Print each table, then the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--splits", type=int, default=3)
    args = parser.parse_args()
    require_data()
    warnings.simplefilter("ignore")
    means = {}
    for table in args.tables:
        runs = [measured(table, seed, args.rows) for seed in range(args.splits)]
        means[table] = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        print(f"{table:16}", "  ".join(f"{name} {value:.4f}" for name, value in means[table].items()), flush=True)
    print(f"\n{'model':16} {'mean AP':>8} {'gain':>8} {'ahead':>8}")
    for name in next(iter(means.values())):
        peer = "card, by AUC" if name.startswith("card") else "logistic"
        gains = np.array([of[name] - of[peer] for of in means.values()])
        mean = np.mean([of[name] for of in means.values()])
        print(f"{name:16} {mean:8.4f} {gains.mean():+8.4f} {int((gains > 0).sum()):5} of {len(gains)}")


if __name__ == "__main__":
    main()
