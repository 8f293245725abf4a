"""SAGA on SPAM's objective: the relative gap per pass and per second, beside SPAM, FISTA and the exact solution.

The gap is (F(w) - F*) / F*, with F the mean square loss over all pairs plus the penalties, and F* its exact minimum. A
pass is as many steps as there are rows; a gradient of FISTA is a pass.
"""

import time
import warnings

import numpy as np
from clock import report
from tables import require_data, split

from auclid import SPAM, LeastSquaresAUC
from auclid.penalties import ElasticNet, prox

warnings.simplefilter("ignore")
require_data()

PASSES = (1, 2, 5, 10, 20, 50)


def objective(X, y, w, alpha, l1):
    """F(w), from the scores' class moments."""
    pos, neg = X[y == 1] @ w, X[y == 0] @ w
    loss = (1.0 - pos.mean() + neg.mean()) ** 2 + pos.var() + neg.var()
    return loss + 0.5 * alpha * w @ w + l1 * np.abs(w).sum()


def fista(X, y, alpha, l1, passes):
    """Accelerated proximal gradients, each from one pass; yields w after each number of passes."""
    pos, neg = X[y == 1], X[y == 0]
    means = [np.asarray(part.mean(axis=0)).ravel() for part in (pos, neg)]
    delta, w, momentum = means[0] - means[1], np.zeros(X.shape[1]), 1.0

    def product(v):
        total = delta * (delta @ v)
        for part, mean in zip((pos, neg), means, strict=True):
            total += part.T @ (part @ v) / part.shape[0] - mean * (mean @ v)
        return 2.0 * total

    v = np.random.default_rng(0).standard_normal(len(w))
    for _ in range(30):  # the largest eigenvalue, which is not counted as passes
        v = product(v / np.linalg.norm(v))
    step, ahead = 1.0 / np.linalg.norm(v), w.copy()
    for number in range(1, max(passes) + 1):
        new = ahead - step * (product(ahead) - 2.0 * delta)
        prox(ElasticNet(l1, alpha), new, step)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead, w, momentum = new + (momentum - 1.0) / following * (new - w), new, following
        if number in passes:
            yield w


def gaps(name, alpha, l1):
    """Print the gaps of one table; returns seconds of SAGA to 1e-6 and of the exact solution."""
    X, y, _, _ = split(name)
    start = time.perf_counter()
    exact = LeastSquaresAUC(alpha, l1=l1, tol=1e-12, max_iter=100_000).fit(X, y)
    exact_seconds = time.perf_counter() - start
    best = objective(X, y, exact.coef_[0], alpha, l1)
    print(f"\n{name}, alpha {alpha:g}, l1 {l1:g}: gap after passes {PASSES}; exact solution {exact_seconds:.2f} s")
    reached = np.inf
    for kind, label in ((None, "SPAM"), ("saga", "SPAM, saga")):
        found, seconds = [], []
        for n in PASSES:
            start = time.perf_counter()
            model = SPAM(alpha, l1=l1, variance_reduction=kind, n_epochs=n, random_state=0).fit(X, y)
            seconds.append(time.perf_counter() - start)
            found.append((objective(X, y, model.coef_[0], alpha, l1) - best) / best)
        if kind:
            reached = next((s for g, s in zip(found, seconds, strict=True) if g < 1e-6), np.inf)
        print(f"  {label:<12}", *(f"{gap:9.1e}" for gap in found), f"  {seconds[-1]:.2f} s")
    start = time.perf_counter()
    found = [(objective(X, y, w, alpha, l1) - best) / best for w in fista(X, y, alpha, l1, PASSES)]
    print(f"  {'FISTA':<12}", *(f"{gap:9.1e}" for gap in found), f"  {time.perf_counter() - start:.2f} s")
    return reached, exact_seconds


for table in ("a9a", "w8a"):
    for alpha, l1 in ((1e-2, 0.0), (1e-2, 1e-3), (1e-4, 0.0)):
        ours, exact = gaps(table, alpha, l1)
        if alpha == 1e-2:
            report(f"SAGA to a gap of 1e-6, {table}, l1 {l1:g}", "LeastSquaresAUC, exact", ours, exact, 10.0)
