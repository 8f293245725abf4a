"""Simulated samples with a known truth, and what intervals and tests of auclid.metrics make of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate
from scipy.stats import norm
from sklearn.model_selection import StratifiedKFold

from auclid import LeastSquaresAUC
from auclid.metrics import (
    StreamingAUC,
    auc_by_group,
    auc_interval,
    auc_power,
    compare_auc,
    compare_auc_unpaired,
    compare_cross_val_auc,
    compare_many,
    cross_val_auc,
    multiclass_auc,
    operating_point_interval,
    rates_at,
    sample_size,
)

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


def many() -> Case:
    """Three scores of one quality."""

    def draw(rng):
        three = dict(zip("abc", [*two_scores(rng), scores(rng)], strict=True))
        got = compare_many(IS_POS, three)
        return None, got.pvalue < 0.05

    return Case(draw)


def any_of_many() -> Case:
    """Three scores of one quality: does Holm call any two of them different?"""

    def draw(rng):
        three = dict(zip("abc", [*two_scores(rng), scores(rng)], strict=True))
        return None, min(pair.adjusted for pair in compare_many(IS_POS, three).pairs) < 0.05

    return Case(draw)


def labelled_rows(rng, d=6):
    """Rows in which three columns say something, in any order of classes."""
    X = rng.normal(size=(len(IS_POS), d))
    y = rng.permutation(IS_POS)
    X[:, ::2] += 0.6 * y[:, None]
    return X, y


def true_auc(model, d=6):
    """Of a linear model on `labelled_rows`."""
    w = model.coef_[0]
    return norm.cdf(0.6 * w[::2].sum() / np.sqrt(2.0 * w @ w))


class Some(LeastSquaresAUC):
    """A model of some of the columns."""

    def __init__(self, first=0, alpha=1e-4):
        super().__init__(alpha)
        self.first = first

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_[0, : self.first] = 0.0
        return self


def folds() -> Case:
    """The mean true AUC of the models that the folds gave."""

    def draw(rng):
        X, y = labelled_rows(rng)
        cv = StratifiedKFold(5)
        got = cross_val_auc(LeastSquaresAUC(), X, y, cv=cv)
        truth = np.mean([true_auc(LeastSquaresAUC().fit(X[at], y[at])) for at, _ in cv.split(X, y)])
        return got.low <= truth <= got.high, None

    return Case(draw, 1500)


def paired_folds() -> Case:
    """The mean true difference of two models on the same folds."""

    def draw(rng):
        X, y = labelled_rows(rng)
        cv, models = StratifiedKFold(5), (LeastSquaresAUC(), Some(2))
        got = compare_cross_val_auc(*models, X, y, cv=cv, method="ledell")
        gaps = [np.subtract(*(true_auc(m.fit(X[at], y[at])) for m in models)) for at, _ in cv.split(X, y)]
        return got.low <= np.mean(gaps) <= got.high, None

    return Case(draw, 1500)


def classes(**how: Any) -> Case:
    """Three classes of 50, 250 and 250 rows; each pair's AUC is 0.8."""
    label = np.repeat([0, 1, 2], [50, 250, 250])

    def draw(rng):
        table = rng.normal(size=(550, 3)) + APART * (label[:, None] == np.arange(3))
        got = multiclass_auc(label, table, **how)
        return got.low <= 0.8 <= got.high, None

    return Case(draw, 2000)


def rate(which="tpr", **how: Any) -> Case:
    """A rate of the threshold that was found, or with the bootstrap at the point itself."""

    def draw(rng):
        group = None
        is_pos, score = IS_POS, scores(rng)
        if how.get("in_groups"):
            is_pos, (score,), group = patients(rng)
        got = rates_at(
            is_pos, score, groups=group, random_state=rng, **{k: v for k, v in how.items() if k != "in_groups"}
        )
        at = norm.isf(how["fpr"]) if "method" in how else got.threshold
        truth = norm.sf(at - APART * (which == "tpr"))
        return getattr(got, f"{which}_low") <= truth <= getattr(got, f"{which}_high"), None

    return Case(draw, 1000 if "method" in how else 4000)


def point(which="threshold", criterion="youden") -> Case:
    """The threshold of Youden's J is halfway between the means."""
    truth = {"threshold": APART / 2, "tpr": norm.sf(-APART / 2), "fpr": norm.sf(APART / 2)}[which]

    def draw(rng):
        got = operating_point_interval(IS_POS, scores(rng), criterion=criterion, n_bootstrap=300, random_state=rng)
        return getattr(got, f"{which}_low") <= truth <= getattr(got, f"{which}_high"), None

    return Case(draw, 600)


def groups_apart(what: str, count: int = 2) -> Case:
    """Groups of one quality."""
    group = np.arange(len(IS_POS)) % count

    def draw(rng):
        got = getattr(auc_by_group(IS_POS, scores(rng), group), what).comparison
        return None, got.pvalue < 0.05

    return Case(draw, 2000)


def stream() -> Case:
    """A stream in 256 bins."""

    def draw(rng):
        order = rng.permutation(len(IS_POS))
        got = StreamingAUC(capacity=256).update(IS_POS[order], scores(rng)[order]).interval()
        return got.low <= 0.8 <= got.high, None

    return Case(draw, 1000)


def powered(null=0.65, **how: Any) -> float:
    """Share of simulated studies of the advised size that leave the null out; the power asked for is 0.8."""
    n_pos, n_neg = sample_size(0.8, null=null, power=0.8, ratio=2.0, **how)
    assert auc_power(0.8, n_pos, n_neg, null=null, **how) >= 0.8
    is_pos, rng, seen = np.arange(n_pos + n_neg) < n_pos, np.random.default_rng(0), []
    r = how.get("correlation", 0.0)
    for _ in range(1500):
        base = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=len(is_pos)).T
        a, b = (row + np.sqrt(2) * norm.ppf(auc) * is_pos for row, auc in zip(base, (0.8, null), strict=True))
        if "correlation" in how:
            seen.append(compare_auc(is_pos, a, b).pvalue < 0.05)
        else:
            got = auc_interval(is_pos, a)
            seen.append(not got.low <= null <= got.high)
    return float(np.mean(seen))


def exponential(rng, auc, n_pos, n_neg):
    """Scores whose ratio of means gives the AUC."""
    return np.concatenate([auc / (1.0 - auc) * rng.exponential(size=n_pos), rng.exponential(size=n_neg)])


def wide_positives(rng, auc, n_pos, n_neg):
    """Normal scores; those of the positives spread twice as wide."""
    return np.concatenate([2.0 * rng.normal(size=n_pos) + np.sqrt(5.0) * norm.ppf(auc), rng.normal(size=n_neg)])


def other_rows(law, auc, n_pos, n_neg, **how: Any) -> Case:
    """The interval of scores of another law, or of other numbers of rows."""
    is_pos = np.arange(n_pos + n_neg) < n_pos

    def draw(rng):
        got = auc_interval(is_pos, law(rng, auc, n_pos, n_neg), random_state=rng, **how)
        return got.low <= auc <= got.high, None

    return Case(draw, 1000 if "method" in how else 4000)


def other_pairs(n_pos=30, n_neg=150, auc=0.9, correlation=0.8, **how: Any) -> Case:
    """Two scores of one quality, more alike and of fewer rows."""
    is_pos, apart = np.arange(n_pos + n_neg) < n_pos, np.sqrt(2.0) * norm.ppf(auc)

    def draw(rng):
        common, own = rng.normal(size=len(is_pos)), rng.normal(size=(2, len(is_pos)))
        a, b = np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own + apart * is_pos
        got = compare_auc(is_pos, a, b, random_state=rng, **how)
        return got.low <= 0.0 <= got.high, got.pvalue < 0.05

    return Case(draw, 1000 if "method" in how else 4000)


def other_folds(n=300, share=0.3, shift=0.4, cv=10) -> Case:
    """Ten folds of other rows."""

    def draw(rng):
        y = np.arange(n) < share * n
        X = rng.normal(size=(n, 4)) + shift * y[:, None]
        folds_of = StratifiedKFold(cv, shuffle=True, random_state=0)
        got = cross_val_auc(LeastSquaresAUC(), X, y, cv=folds_of)
        weights = [LeastSquaresAUC().fit(X[at], y[at]).coef_[0] for at, _ in folds_of.split(X, y)]
        truth = np.mean([norm.cdf(shift * w.sum() / np.sqrt(2.0 * w @ w)) for w in weights])
        return got.low <= truth <= got.high, None

    return Case(draw, 600)


def other_groups(what="gap", count=3, n_pos=60, n_neg=180) -> Case:
    """Three groups of one quality and other sizes."""
    is_pos = np.arange(n_pos + n_neg) < n_pos
    group = np.arange(n_pos + n_neg) % count

    def draw(rng):
        got = getattr(auc_by_group(is_pos, exponential(rng, 0.75, n_pos, n_neg), group), what).comparison
        return None, got.pvalue < 0.05

    return Case(draw, 2000)


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
    "compare_auc, FPR <= 0.5, TPR >= 0.3": paired(max_fpr=0.5, min_tpr=0.3),
    "compare_auc, one-sided": paired(alternative="greater"),
    "compare_auc, not worse by a margin": not_worse(),
    "compare_auc_unpaired": unpaired(),
    "compare_auc_unpaired, bootstrap": unpaired(**DRAWS),
    "compare_many, all alike": many(),
    "compare_many, any pair after Holm": any_of_many(),
    "cross_val_auc": folds(),
    "compare_cross_val_auc": paired_folds(),
    "multiclass_auc, Hand & Till": classes(),
    "multiclass_auc, one against the rest": classes(multi_class="ovr"),
    "rates_at, TPR at FPR <= 0.1": rate(fpr=0.1),
    "rates_at, FPR at FPR <= 0.1": rate("fpr", fpr=0.1),
    "rates_at, TPR at 60 alerts": rate(alerts=60),
    "rates_at, TPR, groups": rate(fpr=0.2, in_groups=True),
    "rates_at, FPR, groups": rate("fpr", threshold=1.0, in_groups=True),
    "rates_at, TPR at FPR <= 0.1, bootstrap": rate(fpr=0.1, method="bootstrap", n_bootstrap=500),
    "operating_point_interval, threshold": point(),
    "operating_point_interval, TPR": point("tpr"),
    "auc_by_group, two groups differ": groups_apart("gap"),
    "auc_by_group, most different of four": groups_apart("gap", 4),
    "auc_by_group, worst of four pairs": groups_apart("worst"),
    "StreamingAUC.interval, 256 bins": stream(),
}
"""What is simulated; the tests that take minutes run some of them."""

ELSEWHERE = {
    f"{name}{', ' + how['method'] if how else ''}": other_rows(*setting, **how)
    for name, setting in {
        "exponential, 30 + 300, AUC 0.9": (exponential, 0.9, 30, 300),
        "wide positives, 80 + 200, AUC 0.95": (wide_positives, 0.95, 80, 200),
        "wide positives, 50 + 500, AUC 0.95": (wide_positives, 0.95, 50, 500),
        "exponential, 200 + 40, AUC 0.75": (exponential, 0.75, 200, 40),
    }.items()
    for how in ({}, DRAWS, BCA)
} | {
    "compare_auc, 30 + 150, AUC 0.9": other_pairs(),
    "compare_auc, 30 + 150, AUC 0.9, bootstrap": other_pairs(**DRAWS),
    "compare_auc, 30 + 150, AUC 0.9, BCa": other_pairs(**BCA),
    "cross_val_auc, 90 + 210, ten folds": other_folds(),
    "auc_by_group, most different of three": other_groups(),
    "auc_by_group, worst of nine pairs": other_groups("worst"),
}
"""Other laws and numbers of rows, on which no rule was chosen."""
