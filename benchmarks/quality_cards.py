"""The points that a default Scorecard hands over, against optbinning with logistic regression: lines and test AUC.

Stratified 80/20 splits, tables of 8 to 25 columns, defaults everywhere.
`python benchmarks/quality_cards.py [--splits 3] [--rows 10000] [TABLES]`
Lines count the base and every bin; "lost" is the AUC of the scores less that of the points. optbinning (`pip install
optbinning`) bins every column by its weight of evidence, and a logistic regression on those is its card; it is left
out, saying so, where it is not installed. A ± is the standard error of a mean over tables.
"""

import argparse
import warnings

import numpy as np
from clock import processor_seconds
from quality_scorecard import split
from sklearn.linear_model import LogisticRegression
from tables import main_part, names, require_data

from auclid import Scorecard
from auclid.metrics import roc_auc

COLUMNS = range(8, 26)
"""Columns of the tables that are looked at."""

MOST_LINES, MOST_LOST = 120, 0.003
"""The bars, for tables of ten to twenty columns."""


def tables():
    """All tables of so many columns."""
    return [name for name in names() if main_part(name)[0].shape[1] in COLUMNS]


def ours(parts, seed, **settings):
    """Lines, test AUC of the scores and of the points, seconds of the fit."""
    X, y, X_test, y_test = parts
    model = Scorecard(random_state=seed, **settings)
    seconds = processor_seconds(lambda: model.fit(X, y))
    points = roc_auc(y_test, model.total_points(X_test))
    return len(model.point_bins()), roc_auc(y_test, model.decision_function(X_test)), points, seconds


def theirs(parts):
    """Lines, test AUC and seconds of optbinning's card; None where it is not installed."""
    try:
        from optbinning import BinningProcess
    except ImportError:
        return None
    X, y, X_test, y_test = parts
    named = [f"x{k}" for k in range(X.shape[1])]
    process = BinningProcess(named)
    logistic = LogisticRegression(max_iter=1000)

    def fit():
        logistic.fit(process.fit_transform(X, y.astype(int), metric="woe"), y)

    seconds = processor_seconds(fit)
    lines = 1 + sum(len(process.get_binned_variable(name).splits) + 1 for name in named)
    return lines, roc_auc(y_test, logistic.decision_function(process.transform(X_test, metric="woe"))), seconds


def verdict(words, values, bar):
    """A line on a mean over tables."""
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    print(f"{words:<64} {mean:+.4f} ± {error:.4f}  bar {bar:+.4f}  {'met' if mean >= bar else 'MISSED'}")


def main():
    """Print a line a table, then the bars."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    require_data()
    warnings.simplefilter("ignore")
    runs = []
    heads = "scores points   lost lines |  without pairs: points   lost lines |  optbinning lines"
    print(f"{'table':<28}{'d':>4}   {heads}")
    for name in options.tables or tables():
        found = []
        for seed in range(options.splits):
            parts = split(name, seed, options.rows)
            if parts is not None:
                found.append((ours(parts, seed), ours(parts, seed, interactions=0), theirs(parts)))
        if not found:
            continue
        card, plain = (np.mean([each[k] for each in found], axis=0) for k in (0, 1))
        other = None if found[0][2] is None else np.mean([each[2] for each in found], axis=0)
        d = main_part(name)[0].shape[1]
        runs.append((name, d, card, plain, other))
        said = "not installed" if other is None else f"{other[1]:.4f} {other[0]:5.0f}"
        print(
            f"{name:<28}{d:>4}   {card[1]:.4f} {card[2]:.4f} {card[1] - card[2]:+.4f} {card[0]:5.0f} |"
            f"                 {plain[2]:.4f} {plain[1] - plain[2]:+.4f} {plain[0]:5.0f} |      {said}",
            flush=True,
        )
    usual = [run for run in runs if 10 <= run[1] <= 20]
    for words, k in (("default", 2), ("without pairs", 3)):
        over = [run[0] for run in usual if run[k][0] > MOST_LINES]
        lost = [run[0] for run in usual if run[k][1] - run[k][2] > MOST_LOST]
        print(f"{words}, 10 to 20 columns: {len(usual)} tables, more than {MOST_LINES} lines: {over or 'none'}")
        print(f"{words}, 10 to 20 columns: more than {MOST_LOST} of the AUC lost: {lost or 'none'}")
    measured = [run for run in runs if run[4] is not None]
    if measured:
        verdict("points less optbinning + logistic regression", [run[2][2] - run[4][1] for run in measured], 0.0)
        verdict("points without pairs less the same", [run[3][2] - run[4][1] for run in measured], 0.0)


if __name__ == "__main__":
    main()
