"""Speed of rankers of ordered rows: censored times beside XᵀX and scikit-survival, queries by a growth curve.

`python benchmarks/bench_ordered.py [rows]`; needs scikit-survival for FastSurvivalSVM, and says so where it is missing.
"""

import sys

import numpy as np
from clock import best, report

from auclid import OrderedRanker, SurvivalRanker
from auclid.data import as_table
from auclid.metrics import concordance
from auclid.solvers.ordered_pairs import ordered_objective
from auclid.stats.pair_order import survival_order

COLUMNS = 20


def censored(n, d=COLUMNS, seed=0):
    """Exponential times with proportional hazards, censored by exponential ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    time, end = rng.exponential(np.exp(-X @ rng.normal(size=d) / 3)), rng.exponential(1.5, size=n)
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= end, np.minimum(time, end)
    return X, y


def queries(n, size=50, d=COLUMNS, seed=0):
    """Documents of five levels within queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=d) / 3 + rng.normal(size=n)
    return X, np.digitize(score, [-1.0, 0.0, 1.0, 2.0]), np.arange(n) // size


def closed_form(n):
    """The square loss of censored times beside one product XᵀX."""
    X, y = censored(n)
    ours, product = best(lambda: SurvivalRanker(alpha=0.01).fit(X, y), lambda: X.T @ X, repeats=3)
    report(f"square loss, censored, {n:,} x {COLUMNS}", "X'X", ours, product, 3.0)


def fast_survival_svm(n=20_000):
    """The squared hinge beside FastSurvivalSVM with the same objective, whose sum over pairs has the factor C/2."""
    try:
        from sksurv.svm import FastSurvivalSVM
    except ImportError:
        print("scikit-survival is not installed: FastSurvivalSVM skipped.")
        return
    X, y = censored(n)
    alpha = 0.01
    model = SurvivalRanker("squared_hinge", alpha)
    pairs = survival_order(y["time"], y["event"]).total
    peer = FastSurvivalSVM(alpha=2.0 / (alpha * pairs), rank_ratio=1.0, max_iter=200, tol=1e-5, random_state=0)
    ours, theirs = best(lambda: model.fit(X, y), lambda: peer.fit(X, y), repeats=1)
    report(f"squared hinge, censored, {n:,} x {COLUMNS}", "FastSurvivalSVM", ours, theirs, 0.1)
    values = [min(objective(X, y, sign * w, alpha) for sign in (1, -1)) for w in (model.coef_[0], peer.coef_)]
    print(
        f"  objective {values[0]:.6f}, FastSurvivalSVM's {values[1]:.6f}; "
        f"concordance {model.score(X, y):.4f} and {peer.score(X, y):.4f}"
    )


def objective(X, y, w, alpha):
    """The mean squared hinge over all pairs, plus alpha/2 |w|²."""
    order = survival_order(y["time"], y["event"])
    return ordered_objective(as_table(X), order, "squared_hinge", alpha, 1e-3).at(w).value


def growth(name, make, sizes):
    """Time at growing sizes, and the exponent of the growth."""
    times = []
    for n in sizes:
        data, model = make(n)
        times.append(best(lambda data=data, model=model: model.fit(*data), repeats=2)[0])
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    shown = ", ".join(f"{n:,}: {t:.2f} s" for n, t in zip(sizes, times, strict=True))
    print(f"{name:<58} {shown}  exponent {exponent:.2f}  bar 1.15  {'met' if exponent <= 1.15 else 'MISSED'}")


def metric(n):
    """Concordance beside scikit-survival's, which compares each event with all later rows."""
    X, y = censored(n)
    s = X[:, 0]
    try:
        from sksurv.metrics import concordance_index_censored
    except ImportError:
        print("scikit-survival is not installed: concordance_index_censored skipped.")
        return
    ours, theirs = best(
        lambda: concordance(y["time"], s, event=y["event"]),
        lambda: concordance_index_censored(y["event"], y["time"], s),
        repeats=1,
    )
    report(f"concordance, censored, {n:,}", "concordance_index_censored", ours, theirs, 0.1)


def main():
    """All of them."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    closed_form(n)
    fast_survival_svm(min(n, 20_000))
    metric(min(n, 20_000))
    sizes = [n // 16, n // 4, n]
    growth("squared hinge, censored", lambda m: (censored(m), SurvivalRanker("squared_hinge", 0.01)), sizes)
    growth("squared hinge, queries of 50", lambda m: (queries(m), OrderedRanker("squared_hinge", 0.01)), sizes)
    growth("square loss, queries of 50", lambda m: (queries(m), OrderedRanker(alpha=0.01)), sizes)


if __name__ == "__main__":
    main()
