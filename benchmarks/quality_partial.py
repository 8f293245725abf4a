"""Mean partial AUC on test rows of RankSVM trained for the top, against LogisticRegression and RankSVM for all pairs.

    python benchmarks/quality_partial.py [--rows N] [--rates 0.02 0.05 0.1] [--splits 5] [--softness auto 0.1]
        [--keep FILE] [tables ...]

Columns are standardised (max-abs scaled where sparse), alpha and softness are "auto" (or --softness 0.1). Each table's
line has the mean partial AUC (after McClish) of the three, and the paired test against LogisticRegression: DeLong's,
the five splits together, test parts that share a fifth of their rows counted as such. A rate that leaves less than one
test negative is not asked.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from tables import GIVEN_TEST, SHORT, require_data, split

from auclid import RankSVM
from auclid.metrics import compare_auc, partial_auc

ALL = """
a9a w8a cod-rna splice australian sonar letter pendigits usps magic04 covtype dota2 connect-4 kddcup99 adult dna
optdigits krkopt nursery waveform-40 twonorm banana mammography ada svmguide3 skin ionosphere mushrooms glass
ecoli ijcnn1 susy-30k keel-yeast1 keel-vowel0 keel-kddcup-buffer_overflow_vs_back keel-shuttle-2_vs_5
keel-car-good breast-cancer german diabetes heart fourclass madelon higgs-11k colon-cancer duke mnist sector
news20
""".split()
SHARED = 0.2
"""Share of rows that two random fifths of a table have in common."""

Z95 = stats.norm.ppf(0.975)


def seeds(table, count):
    """A table with a given test part has one split."""
    return range(1 if SHORT.get(table, table) in GIVEN_TEST else count)


def measured(table, seed, rates, most, softnesses):
    """{softness: {rate: (areas of top, logistic and all pairs, difference, its standard error)}} of one split."""
    X, y, X_test, y_test = split(table, seed)
    if not 0 < y_test.sum() < len(y_test):
        return {softness: {} for softness in softnesses}
    if len(y) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=0)
    plain = LogisticRegression(max_iter=1000).fit(X, y).decision_function(X_test)
    whole = RankSVM(alpha="auto").fit(X, y).decision_function(X_test)
    asked = [rate for rate in rates if rate * min((part == 0).sum() for part in (y, y_test)) >= 1.0]
    found = {softness: {} for softness in softnesses}
    for softness in softnesses:
        for rate in asked:
            how = {"max_fpr": rate, "softness": softness if softness == "auto" else float(softness)}
            top = RankSVM(alpha="auto", **how).fit(X, y).decision_function(X_test)
            areas = [partial_auc(y_test, score, max_fpr=rate) for score in (top, plain, whole)]
            test = compare_auc(y_test, top, plain, max_fpr=rate)
            found[softness][str(rate)] = (*areas, test.difference, (test.high - test.low) / (2.0 * Z95))
    return found


def line(table, splits, softness, rates):
    """For each rate: mean partial AUCs, difference, its p-value, over the splits of a table."""
    result = {}
    for rate in rates:
        rows = [one[softness][str(rate)] for one in splits if str(rate) in one[softness]]
        if not rows:
            print(f"{table:36} {softness:>4} {rate:5}  less than one negative, or no positive", flush=True)
            continue
        *areas, difference, _ = np.mean(rows, axis=0)
        errors = np.array([row[-1] for row in rows])
        variance = ((1.0 - SHARED) * (errors**2).sum() + SHARED * errors.sum() ** 2) / len(rows) ** 2
        p = 2.0 * stats.norm.sf(abs(difference) / np.sqrt(variance)) if variance > 0.0 else float(difference == 0.0)
        result[rate] = (*areas, difference, p)
        verdict = "" if p >= 0.05 else ("  BETTER" if difference > 0.0 else "  WORSE")
        print(
            f"{table:36} {softness:>4} {rate:5}  top {areas[0]:.4f}  logistic {areas[1]:.4f}  all pairs {areas[2]:.4f}"
            f"  {difference:+.4f}  p {p:.3f}{verdict}",
            flush=True,
        )
    return result


def kept(path):
    """What an earlier run wrote down: {(table, seed): splits measured}."""
    if path is None or not path.exists():
        return {}
    return {(one["table"], one["seed"]): one["found"] for one in map(json.loads, path.read_text().splitlines())}


def table_of(name, options, known):
    """The splits of a table, those that are not known yet measured and written down."""
    splits = []
    for seed in seeds(name, options.splits):
        if (name, seed) not in known:
            begun = time.perf_counter()
            found = measured(name, seed, options.rates, options.rows, options.softness)
            print(f"{name}, split {seed}: {time.perf_counter() - begun:.1f} s", flush=True)
            known[name, seed] = found
            if options.keep is not None:
                with options.keep.open("a") as file:
                    file.write(json.dumps({"table": name, "seed": seed, "found": found}) + "\n")
        splits.append(known[name, seed])
    return splits


def summary(results, softness, rate):
    """The bars at one rate."""
    rows = np.array([result[rate] for result in results if rate in result])
    top, plain, whole, difference, p = rows.T
    worse = int(((p < 0.05) & (difference < 0.0)).sum())
    bars = [top.mean() > plain.mean(), top.mean() > whole.mean(), worse <= 0.1 * len(rows)]
    print(
        f"softness {softness}, max_fpr {rate}: {len(rows)} tables, mean top {top.mean():.4f}, logistic "
        f"{plain.mean():.4f}, all pairs {whole.mean():.4f}; ahead of logistic on {int((difference > 0).sum())}, "
        f"significantly better on {int(((p < 0.05) & (difference > 0.0)).sum())}, worse on {worse} "
        f"(bar: {0.1 * len(rows):.1f})  {'met' if all(bars) else 'MISSED'}"
    )


if __name__ == "__main__":
    require_data()
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="*", default=ALL)
    parser.add_argument("--rows", type=int, default=20_000, help="training rows at the most")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.02, 0.05, 0.1])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--softness", nargs="+", default=["auto"])
    parser.add_argument("--keep", type=Path, help="write each split down in this file, and go on from there")
    options = parser.parse_args()
    known = kept(options.keep)
    splits = {name: table_of(name, options, known) for name in options.tables}
    for softness in options.softness:
        results = [line(name, found, softness, options.rates) for name, found in splits.items()]
        for rate in options.rates:
            summary(results, softness, rate)
