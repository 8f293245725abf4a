"""Simulated samples with a known truth, and what intervals and tests of auclid.metrics make of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate
from scipy.stats import norm

from auclid.metrics import auc_interval, compare_auc, compare_auc_unpaired

N_POS, N_NEG = 50, 500
IS_POS = np.arange(N_POS + N_NEG) < N_POS
APART = np.sqrt(2.0) * norm.ppf(0.8)
"""Distance of the class means at which the AUC of normal scores is 0.8."""


class Case(NamedTuple):
    """A way to draw (covered, rejected): whether an interval held the truth, and a test rejected it; None for none."""

    draw: Callable[[np.random.Generator], tuple[bool | None, bool | None]]
    times: int = 4000


def simulate(case: Case, times: int, seed: int = 0) -> tuple[float, float]:
    """Share of simulations in which the interval covered, and in which the test rejected."""
    rng = np.random.default_rng(seed)
    told = [case.draw(rng) for _ in range(times)]
    return tuple(float(np.mean([t[k] for t in told])) if told[0][k] is not None else np.nan for k in (0, 1))


def scores(rng, apart=APART, n_pos=N_POS, n_neg=N_NEG):
    """Normal scores of both classes."""
    return rng.normal(size=n_pos + n_neg) + apart * (np.arange(n_pos + n_neg) < n_pos)


def two_scores(rng, apart=APART):
    """Two scores of the same rows, alike in law and correlated by one half."""
    common, own = rng.normal(size=len(IS_POS)), rng.normal(size=(2, len(IS_POS)))
    return (common + own) / np.sqrt(2.0) + apart * IS_POS


def patients(rng, apart=APART, count=100, within=0.5, n_scores=1):
    """Rows of both classes from `count` groups, correlated within a group; about 50 and 500 of them."""
    group = np.repeat(np.arange(count), rng.integers(2, 10, count))
    is_pos = rng.random(len(group)) < N_POS / len(IS_POS)
    size = (n_scores, len(group))
    score = np.sqrt(within) * rng.normal(size=(n_scores, count))[:, group] + np.sqrt(1 - within) * rng.normal(size=size)
    return is_pos, score + apart * is_pos, group


def true_partial(max_fpr, min_tpr, apart=APART):
    """McClish's partial AUC of the normal scores."""
    whole = integrate.quad(
        lambda u: max(norm.sf(norm.isf(u) - apart) - min_tpr, 0.0),
        0.0,
        max_fpr,
        points=[min(max_fpr, norm.sf(norm.isf(min_tpr) + apart))] if min_tpr > 0.0 else None,
        epsabs=1e-10,
    )[0]
    chance, best = max(max_fpr - min_tpr, 0.0) ** 2 / 2.0, max_fpr * (1.0 - min_tpr)
    return 0.5 * (1.0 + (whole - chance) / (best - chance))


def interval(auc=0.8, **how: Any) -> Case:
    """The interval of one score."""
    apart = np.sqrt(2.0) * norm.ppf(auc)
    truth = true_partial(how.get("max_fpr", 1.0), how.get("min_tpr", 0.0), apart)

    def draw(rng):
        got = auc_interval(IS_POS, scores(rng, apart), random_state=rng, **how)
        return got.low <= truth <= got.high, None

    return Case(draw, 1500 if "method" in how else 4000)


def weighted(**how: Any) -> Case:
    """Weights that undo a biased choice of rows: high scores were seen three times as often."""

    def draw(rng):
        pool = rng.normal(size=4 * len(IS_POS)) + APART * np.repeat(IS_POS, 4)
        chance = np.where(pool > 1.0, 0.6, 0.2)
        seen = rng.random(len(pool)) < chance
        rows = np.repeat(IS_POS, 4)[seen], pool[seen]
        got = auc_interval(*rows, sample_weight=1 / chance[seen], random_state=rng, **how)
        return got.low <= 0.8 <= got.high, None

    return Case(draw, 1500 if "method" in how else 4000)


def clustered(**how: Any) -> Case:
    """Rows that come in groups."""
    truth = true_partial(how.get("max_fpr", 1.0), how.get("min_tpr", 0.0))

    def draw(rng):
        is_pos, (score,), group = patients(rng)
        got = auc_interval(is_pos, score, groups=group, random_state=rng, **how)
        return got.low <= truth <= got.high, None

    return Case(draw, 1500 if "method" in how else 4000)


def paired(**how: Any) -> Case:
    """Two scores of one quality."""
    def draw(rng):
        a, b = two_scores(rng)
        got = compare_auc(IS_POS, a, b, random_state=rng, **how)
        return got.low <= 0.0 <= got.high, got.pvalue < 0.05

    return Case(draw, 1500 if "method" in how else 4000)


def paired_clustered(**how: Any) -> Case:
    """The same, of rows that come in groups."""
    def draw(rng):
        is_pos, (a, b), group = patients(rng, n_scores=2)
        got = compare_auc(is_pos, a, b, groups=group, random_state=rng, **how)
        return got.low <= 0.0 <= got.high, got.pvalue < 0.05

    return Case(draw, 1500 if "method" in how else 4000)


def not_worse() -> Case:
    """A score that is worse by exactly the margin: the test must not show that it is not."""
    margin = 0.8 - norm.cdf(0.8 * APART / np.sqrt(2.0))

    def draw(rng):
        a, b = two_scores(rng)
        a = a - 0.2 * APART * IS_POS
        return None, compare_auc(IS_POS, a, b, alternative="greater", margin=margin).pvalue < 0.05

    return Case(draw)


def unpaired(**how: Any) -> Case:
    """One score in two samples."""
    def draw(rng):
        got = compare_auc_unpaired(IS_POS, scores(rng), IS_POS, scores(rng), random_state=rng, **how)
        return got.low <= 0.0 <= got.high, got.pvalue < 0.05

    return Case(draw, 1000 if "method" in how else 4000)


DRAWS = {"method": "bootstrap", "n_bootstrap": 500}
BCA = {"method": "bca", "n_bootstrap": 1000}

CASES = {
    "auc_interval, AUC 0.6": interval(0.6),
    "auc_interval, AUC 0.8": interval(),
    "auc_interval, AUC 0.95": interval(0.95),
    "auc_interval, bootstrap": interval(**DRAWS),
    "auc_interval, bootstrap, AUC 0.95": interval(0.95, **DRAWS),
    "auc_interval, BCa": interval(**BCA),
    "auc_interval, weights": weighted(),
    "auc_interval, weights, bootstrap": weighted(**DRAWS),
    "auc_interval, groups": clustered(),
    "auc_interval, groups, bootstrap": clustered(**DRAWS),
    "auc_interval, groups, BCa": clustered(**BCA),
    "partial, FPR <= 0.1": interval(max_fpr=0.1),
    "partial, FPR <= 0.3": interval(max_fpr=0.3),
    "partial, FPR <= 0.1, bootstrap": interval(max_fpr=0.1, **DRAWS),
    "partial, FPR <= 0.1, BCa": interval(max_fpr=0.1, **BCA),
    "partial, FPR <= 0.1, groups": clustered(max_fpr=0.1),
    "two-way, FPR <= 0.5, TPR >= 0.4": interval(max_fpr=0.5, min_tpr=0.4),
    "two-way, FPR <= 0.3, TPR >= 0.5, bootstrap": interval(max_fpr=0.3, min_tpr=0.5, **DRAWS),
    "two-way, FPR <= 0.3, TPR >= 0.5, BCa": interval(max_fpr=0.3, min_tpr=0.5, **BCA),
    "compare_auc": paired(),
    "compare_auc, bootstrap": paired(**DRAWS),
    "compare_auc, BCa": paired(**BCA),
    "compare_auc, groups": paired_clustered(),
    "compare_auc, FPR <= 0.1": paired(max_fpr=0.1),
    "compare_auc, FPR <= 0.3, TPR >= 0.3": paired(max_fpr=0.5, min_tpr=0.3),
    "compare_auc, one-sided": paired(alternative="greater"),
    "compare_auc, not worse by a margin": not_worse(),
    "compare_auc_unpaired": unpaired(),
    "compare_auc_unpaired, bootstrap": unpaired(**DRAWS),
}
"""What is simulated; the tests that take minutes run some of them."""
