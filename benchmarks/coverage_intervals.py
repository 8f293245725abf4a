"""Do intervals cover and tests hold their level? Simulations that write docs/coverage.md.

The rules for degrees of freedom and for cross-validation were chosen on other settings: 20, 50 and 70 positives, AUCs
of .55, .65, .7 and .9, 1 and 5 negatives for each positive.

Scores are normal with equal variances. A second score of the same AUC, correlated with the first by one half, gives the
share of true null hypotheses that `compare_auc` rejects at p < 0.05.

Run: python benchmarks/coverage_intervals.py [samples of scores] [samples of cross-validation]
"""

import sys
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from auclid.metrics import auc_interval, compare_auc, compare_cross_val_auc, cross_val_auc

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
KINDS = ("plain", "weighted", "80 clusters", "20 clusters", "cross-validated")
POSITIVES, AUCS, RATIOS = (10, 30, 100), (0.6, 0.8, 0.95), (1, 20)
WITHIN = 0.3
"""Correlation of two rows of one cluster."""

ORDERED = "## Concordance"
"""The title of the last section."""

FEATURES, FOLDS = 5, 5
COVERED, REJECTED = (93.0, 97.0), (3.5, 6.5)
ENOUGH = 30
"""Positives, and clusters, from which on the bars hold."""


class Setting(NamedTuple):
    """What is simulated."""

    kind: str
    n_pos: int
    auc: float
    ratio: int

    @property
    def clusters(self) -> int:
        """How many groups of rows; 0 where each row stands alone."""
        return int(self.kind.split()[0]) if self.kind.endswith("clusters") else 0

    @property
    def is_possible(self) -> bool:
        """Whether every cluster can have two rows."""
        return self.n_pos * (1 + self.ratio) >= 2 * self.clusters

    @property
    def has_bar(self) -> bool:
        """Whether there are enough positives and clusters for the bars."""
        return self.n_pos >= ENOUGH and (not self.clusters or self.clusters >= ENOUGH)


class Shares(NamedTuple):
    """Percentages: true AUCs that intervals cover, true null hypotheses that tests reject."""

    covered: float
    rejected: float
    rejected_by_ledell: float | None = None
    """By `compare_cross_val_auc(method="ledell")`."""


class MeanDifference(ClassifierMixin, BaseEstimator):
    """Scores rows along the difference of the class means of some columns."""

    def __init__(self, first: int = 0) -> None:
        self.first = first

    def fit(self, X: np.ndarray, y: np.ndarray) -> "MeanDifference":
        own = X[:, self.first : self.first + FEATURES]
        self.classes_ = np.array([0, 1])
        self.coef_ = own[y == 1].mean(axis=0) - own[y == 0].mean(axis=0)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X[:, self.first : self.first + FEATURES] @ self.coef_


def rows(setting: Setting, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Labels, two scores of the same AUC, and weights or groups."""
    n = setting.n_pos * (1 + setting.ratio)
    y, given = np.arange(n) < setting.n_pos, {}
    noise = rng.normal(size=(3, n))
    if setting.kind == "weighted":
        given["sample_weight"] = rng.gamma(2.0, size=n)
    elif setting.clusters:
        given["groups"] = group = rng.permutation(np.arange(n) % setting.clusters)
        shared = rng.normal(size=(3, setting.clusters))[:, group]
        noise = np.sqrt(WITHIN) * shared + np.sqrt(1.0 - WITHIN) * noise
    shift = np.sqrt(2.0) * ndtri(setting.auc) * y
    first, second = (np.sqrt(0.5) * (noise[0] + noise[k]) + shift for k in (1, 2))
    return y, first, second, given


def of_scores(setting: Setting, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether an interval covers and a test rejects, of one sample."""
    y, first, second, given = rows(setting, rng)
    found = auc_interval(y, first, **given)
    return found.low <= setting.auc <= found.high, compare_auc(y, first, second, **given).pvalue < 0.05


def of_folds(setting: Setting, rng: np.random.Generator) -> tuple[bool, bool, bool]:
    """Whether the interval covers the fitted models' mean true AUC, and both tests reject that two models are equal.

    Both models see as many columns, each shifted alike; the AUC of the setting is the best possible one.
    """
    n = setting.n_pos * (1 + setting.ratio)
    y = (np.arange(n) < setting.n_pos).astype(int)
    shift = np.sqrt(2.0) * ndtri(setting.auc) / np.sqrt(FEATURES)
    X = rng.normal(size=(n, 2 * FEATURES)) + shift * y[:, None]
    order = rng.permutation(n)
    X, y = X[order], y[order]
    found = cross_val_auc(MeanDifference(), X, y, cv=FOLDS)
    fitted = [MeanDifference().fit(X[train], y[train]) for train, _ in StratifiedKFold(FOLDS).split(X, y)]
    true = [ndtr(shift * m.coef_.sum() / np.linalg.norm(m.coef_) / np.sqrt(2.0)) for m in fitted]
    models = MeanDifference(), MeanDifference(FEATURES)
    tests = [compare_cross_val_auc(*models, X, y, cv=FOLDS, method=method) for method in ("nadeau-bengio", "ledell")]
    return found.low <= np.mean(true) <= found.high, tests[0].pvalue < 0.05, tests[1].pvalue < 0.05


def measured(runs: int, runs_of_folds: int) -> Iterator[tuple[Setting, Shares]]:
    """The shares of every setting, as they are found."""
    for setting in (Setting(*each) for each in product(KINDS, POSITIVES, AUCS, RATIOS)):
        if setting.is_possible:
            once, count = (of_folds, runs_of_folds) if setting.kind == "cross-validated" else (of_scores, runs)
            rng = np.random.default_rng([setting.n_pos, int(100 * setting.auc), setting.ratio])
            yield setting, Shares(*(100.0 * np.mean([once(setting, rng) for _ in range(count)], axis=0)))


def misses(setting: Setting, shares: Shares) -> bool:
    """Whether a setting that has bars misses one."""
    inside = COVERED[0] <= shares.covered <= COVERED[1] and REJECTED[0] <= shares.rejected <= REJECTED[1]
    return setting.has_bar and not inside


def table(kind: str, found: dict[Setting, Shares]) -> list[str]:
    """The lines of one kind's table."""
    names = [name for name in Shares._fields if kind == "cross-validated" or name != "rejected_by_ledell"]
    heads = [f"{name.replace('_', ' ')}, 1 : {ratio}" for name in names for ratio in RATIOS]
    lines = [f"| positives | AUC | {' | '.join(heads)} |", "|" + "--:|" * (2 + len(heads))]
    for n_pos, auc in product(POSITIVES, AUCS):
        of = [found.get(Setting(kind, n_pos, auc, ratio)) for ratio in RATIOS]
        cells = [_cell(shares, name, Setting(kind, n_pos, auc, 1)) for name in names for shares in of]
        lines.append(f"| {n_pos} | {auc} | {' | '.join(cells)} |")
    return lines


def _cell(shares: Shares | None, name: str, setting: Setting) -> str:
    """A percentage; bold where a bar is missed."""
    if shares is None:
        return "–"
    value, bar = getattr(shares, name), COVERED if name == "covered" else REJECTED
    return f"**{value:.1f}**" if setting.has_bar and not bar[0] <= value <= bar[1] else f"{value:.1f}"


def page(found: dict[Setting, Shares], runs: int, runs_of_folds: int) -> str:
    """The page of all tables."""
    counts = {kind: runs_of_folds if kind == "cross-validated" else runs for kind in KINDS}
    parts = [INTRODUCTION.format(*COVERED, *REJECTED, ENOUGH, 100 * np.sqrt(0.95 * 0.05 / runs) * 1.96)]
    for kind in KINDS:
        parts += [f"## {kind.capitalize()}", TEXTS[kind].format(counts[kind]), "\n".join(table(kind, found))]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """# Coverage of intervals, and level of tests

Made by `python benchmarks/coverage_intervals.py`. *Covered* is the percentage of samples whose 95 % interval holds
the true AUC: `auc_interval` and `cross_val_auc` with their defaults. *Rejected* is the percentage of true null
hypotheses that `compare_auc` and `compare_cross_val_auc` reject at p < 0.05. The columns differ in the
negatives for each positive.

The bars are {0:g} to {1:g} % and {2:g} to {3:g} % from {4} positives and {4} clusters on. Figures that miss one are
bold. Figures below {4} positives or clusters say what to expect there. A coverage of 95 % is measured to
± {5:.1f} here."""

TEXTS = {
    "plain": "Independent rows with normal scores of equal variance. The two scores that are compared are\n"
    "correlated by one half. {:,} samples each, all of them with the same number of rows of each class.\n"
    "With few rows of both classes intervals are long for two reasons. DeLong's variance is too large\n"
    "on average: by 5 to 12 % with 10 rows of each class, by 1 to 3 % with 30. And Student's t has few\n"
    "degrees of freedom where a few misranked rows make most of the variance. At an AUC of 0.95 and 1 :\n"
    "1 so few rows are misranked that a difference of two AUCs takes few values, and the test rejects\n"
    "less than it may.",
    "weighted": "The same with weights of a gamma distribution of shape 2: a hundred rows are worth 67 of equal\n"
    "weight. {:,} samples each. 30 such positives are worth 20. At 1 : 20 and an AUC of 0.95 the\n"
    "interval is too short, since the badly ranked positives that make the variance are missing from\n"
    "many samples. With weights that vary more (exponential: thirty rows are worth 15) it covered 90 to\n"
    "92.6 % there.",
    "80 clusters": "The same rows spread at random over 80 groups; two rows of one group are correlated by 0.3. {:,}\n"
    "samples each; – where groups would have fewer than two rows. 30 positives lie in about 25 of the\n"
    "groups.",
    "20 clusters": "The same with 20 groups, of which `auc_interval` warns. {:,} samples each.",
    "cross-validated": "Five folds. The model is the difference of the class means of five columns, and AUC is the\n"
    "best that is possible. Covered is the mean true AUC of the five fitted models. The comparison is of two\n"
    "sets of columns that are equally good. {:,} samples each.\n\n"
    "Intervals allow for training rows that the folds share. Without that they cover 88 to 93 % at an\n"
    "AUC of 0.6. A fold of 30 + 30 rows tests six rows of each class, where DeLong's variance is too\n"
    "large, as in the first table: there intervals are too long.\n\n"
    "Nadeau and Bengio's correction, the default of the test, takes test folds to be correlated by\n"
    "their share of all rows. That holds the level where training rows matter most, at a weak signal.\n"
    "With a strong one folds are nearly independent, and the test rejects less than it may.\n"
    "`method=\"ledell\"` measures how much the models depend on their training rows and is nearer to the\n"
    "level from an AUC of 0.8 on.",
}


def main(runs: int = 2000, runs_of_folds: int = 500) -> None:
    """Simulate, print what misses a bar, and write the page."""
    warnings.simplefilter("ignore")
    found = {}
    for setting, shares in measured(runs, runs_of_folds):
        found[setting] = shares
        told = [f"{share:.1f}" for share in shares if share is not None]
        print(*setting, *told, "MISSES" if misses(setting, shares) else "", flush=True)
    last = PAGE.read_text(encoding="utf-8").partition(ORDERED)  # which coverage_ordered.py makes
    PAGE.write_text(page(found, runs, runs_of_folds) + "\n" + "".join(last[1:]), encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
