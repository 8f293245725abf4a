"""Test AUC of `Kernelized` on the benchmark tables: default settings against the bars, rankers, widths, published.

`python benchmarks/quality_kernels.py [--seeds 5] [--rows 0] [--landmarks 0] [--tuned] [TABLE ...]`
--rows caps the training rows, --landmarks replaces the table's own number, --tuned chooses width and alpha on a fifth
of the training rows, with 1,600 landmarks, and prints the dissertation's figures beside.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from tables import require_data, split

from auclid import PSAM, Kernelized, KMeansNystroem, LeastSquaresAUC, LeastSquaresAUCCV, RankSVM

BARS = {
    "magic04": (0.925, 800), "ijcnn1": (0.985, 800), "cod-rna": (0.98, 800), "letter": (0.975, 800),
    "mammography": (0.93, 800), "connect-4": (0.90, 800), "skin": (0.9995, 800), "w8a": (0.957, 800),
    "mnist": (0.985, 800), "covtype": (0.945, 1600),
}  # fmt: skip
"""Least mean AUC with default settings, and landmarks."""

PUBLISHED = {
    "covtype": {"NBAM": 0.9677, "NPSAM": 0.9615}, "connect-4": {"NBAM": 0.9407}, "ijcnn1": {"NBAM": 0.9969},
    "mnist": {"NBAM": 0.9942}, "w8a": {"NBAM": 0.9858},
}  # fmt: skip
"""Khalid 2019, tables 6.5, 6.6 and 7.5."""

RANKERS = {
    "LeastSquaresAUC": lambda seed: LeastSquaresAUC(),
    "LeastSquaresAUCCV": lambda seed: LeastSquaresAUCCV(),
    "RankSVM 1e-5": lambda seed: RankSVM(alpha=1e-5),
    "PSAM 1e-5": lambda seed: PSAM(alpha=1e-5, random_state=seed),
}


def rows(name, seed, cap):
    """The split of a table, training rows capped."""
    X, y, X_test, y_test = split(name, seed)
    if cap and X.shape[0] > cap:
        X, _, y, _ = train_test_split(X, y, train_size=cap, random_state=seed, stratify=y)
    return X, y, X_test, y_test


def defaults(name, args):
    """Mean AUC over seeds of each ranker on the default map; the bar is LeastSquaresAUC's."""
    bar, m = BARS[name]
    m, found, start = args.landmarks or m, {key: [] for key in RANKERS}, time.perf_counter()
    for seed in range(args.seeds):
        X, y, X_test, y_test = rows(name, seed, args.rows)
        feature_map = FrozenEstimator(KMeansNystroem(m, random_state=seed).fit(X))
        for key, ranker in RANKERS.items():
            found[key].append(Kernelized(feature_map, ranker(seed)).fit(X, y).score(X_test, y_test))
    mean = {key: float(np.mean(aucs)) for key, aucs in found.items()}
    verdict = "met" if mean["LeastSquaresAUC"] >= bar else "MISSED"
    line = "  ".join(f"{key} {auc:.4f}" for key, auc in mean.items())
    print(f"{name:<12} bar {bar:.4f} {verdict:<6}  {line}  best {max(mean, key=mean.get)}", end="")
    print(f"  ({time.perf_counter() - start:.0f} s)", flush=True)


def tuned(name, args):
    """Width and alpha chosen on a fifth of the training rows, then one fit on all of them."""
    X, y, X_test, y_test = rows(name, 0, args.rows)
    m = args.landmarks or 1600
    part, held, y_part, y_held = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    part, y_part = part[:60_000], y_part[:60_000]
    usual = KMeansNystroem(m, random_state=0).fit(part).gamma_
    best = {"NBAM": (0.0,), "NPSAM": (0.0,)}
    for gamma in usual * 2.0 ** np.arange(-2, 3):
        feature_map = FrozenEstimator(KMeansNystroem(m, gamma=gamma, random_state=0).fit(part))
        for alpha in (1e-4, 1e-5, 1e-6, 1e-7):
            for key, ranker in (("NBAM", RankSVM(alpha=alpha)), ("NPSAM", PSAM(alpha=alpha, random_state=0))):
                auc = Kernelized(feature_map, ranker).fit(part, y_part).score(held, y_held)
                best[key] = max(best[key], (auc, gamma, alpha))
    for key, (_, gamma, alpha) in best.items():
        ranker = RankSVM(alpha=alpha) if key == "NBAM" else PSAM(alpha=alpha, random_state=0)
        model = Kernelized(KMeansNystroem(m, gamma=gamma, random_state=0), ranker).fit(X, y)
        said = PUBLISHED.get(name, {}).get(key)
        print(f"{name:<12} {key:<6} {model.score(X_test, y_test):.4f}  published {said or '-'}", end="")
        print(f"  gamma {gamma / usual:.2f} x default, alpha {alpha:.0e}", flush=True)


def main():
    """Print a line a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--landmarks", type=int, default=0)
    parser.add_argument("--tuned", action="store_true")
    args = parser.parse_args()
    require_data()
    warnings.simplefilter("ignore")
    for name in args.tables or (PUBLISHED if args.tuned else BARS):
        tuned(name, args) if args.tuned else defaults(name, args)


if __name__ == "__main__":
    main()
