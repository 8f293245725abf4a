"""What predicting `score > threshold` does: rates, predictive values, costs, each with its influence values.

A confusion matrix is three shares of all rows: true positives, false positives, and positives. Every rate is a smooth
function of them, so its influence values follow from its gradient: with g = grad f, the row (y, flagged) has
g . (y flagged - tp, (1 - y) flagged - fp, y - p) / n.

Where the threshold is not given but found (the k highest rows, a false positive rate, a recall), it is an estimate too.
Moving it by a little changes tp and fp in proportion to v = (r, 1 - r, 0), r the share of positives among the rows near
the threshold. If c is the function of the shares that is held fixed, g is replaced by g - (g.v / grad c.v) grad c.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from auclid.metrics._results import MetricInterval
from auclid.metrics._sample import Sample, effective_count
from auclid.metrics._variance import quantile

STEP = 1e-20
"""Imaginary step of a derivative: far below the rounding of the real part, so that it adds no error."""

ROUNDING = 1e-12
"""Of the weight of a class, what is less than sums of weights can tell from nothing."""

Function = Callable[[Any, Any, Any], Any]
"""A function of the shares of true positives, of false positives and of positives."""


class Metric(NamedTuple):
    """A function of the confusion matrix, and on which scale its interval is symmetric."""

    value: Function
    scale: str = "share"
    """"share" (in [0, 1], Wilson's interval), "ratio" (logarithm) or "plain"."""
    basis: Function = lambda tp, fp, p: 1.0
    """The share of rows of which a share is one."""


def f_score(beta: float = 1.0) -> Metric:
    """The F score, which counts recall `beta` times as much as precision."""
    square = beta * beta

    def value(tp: Any, fp: Any, p: Any) -> Any:
        return (1.0 + square) * tp / (square * p + tp + fp)

    return Metric(value, "share", lambda tp, fp, p: p)


def cost_metric(false_positive: float, false_negative: float, true_positive: float, true_negative: float) -> Metric:
    """The mean cost of a row."""

    def value(tp: Any, fp: Any, p: Any) -> Any:
        missed, passed = p - tp, 1.0 - p - fp
        return true_positive * tp + false_positive * fp + false_negative * missed + true_negative * passed

    return Metric(value, "plain")


METRICS: dict[str, Metric] = {
    "tpr": Metric(lambda tp, fp, p: tp / p, "share", lambda tp, fp, p: p),
    "fpr": Metric(lambda tp, fp, p: fp / (1.0 - p), "share", lambda tp, fp, p: 1.0 - p),
    "specificity": Metric(lambda tp, fp, p: 1.0 - fp / (1.0 - p), "share", lambda tp, fp, p: 1.0 - p),
    "precision": Metric(lambda tp, fp, p: tp / (tp + fp), "share", lambda tp, fp, p: tp + fp),
    "npv": Metric(lambda tp, fp, p: (1.0 - p - fp) / (1.0 - tp - fp), "share", lambda tp, fp, p: 1.0 - tp - fp),
    "accuracy": Metric(lambda tp, fp, p: 1.0 - p + tp - fp),
    "balanced_accuracy": Metric(
        lambda tp, fp, p: 0.5 * (1.0 + tp / p - fp / (1.0 - p)), "share", lambda tp, fp, p: np.minimum(p, 1.0 - p)
    ),
    "f1": f_score(),
    "alert_rate": Metric(lambda tp, fp, p: tp + fp),
    "lift": Metric(lambda tp, fp, p: tp / (p * (tp + fp)), "ratio"),
    "lr_positive": Metric(lambda tp, fp, p: tp * (1.0 - p) / (p * fp), "ratio"),
    "lr_negative": Metric(lambda tp, fp, p: (p - tp) * (1.0 - p) / (p * (1.0 - p - fp)), "ratio"),
}
"""Metrics of a confusion matrix by name."""

SYNONYMS = {"recall": "tpr", "sensitivity": "tpr", "ppv": "precision"}


class Shares(NamedTuple):
    """True positives, false positives and positives as shares of all rows; numbers, or an array for many thresholds."""

    tp: Any
    fp: Any
    p: Any

    @classmethod
    def of(cls, sample: Sample, flagged: np.ndarray, prevalence: float | None = None) -> "Shares":
        """Those of the flagged rows; at another prevalence where one is given. Ties may be flagged in part."""
        weight = sample.weights
        of_pos, of_neg = float(weight[sample.is_pos].sum()), float(weight[~sample.is_pos].sum())
        tp, fp = (float(weight[of] @ flagged[of]) for of in (sample.is_pos, ~sample.is_pos))
        if prevalence is None:
            found = cls(tp / (of_pos + of_neg), fp / (of_pos + of_neg), of_pos / (of_pos + of_neg))
        else:
            found = cls(prevalence * tp / of_pos, (1.0 - prevalence) * fp / of_neg, prevalence)
        return found.rounded()

    def rounded(self) -> "Shares":
        """These, where a class that is flagged but for rounding is flagged as a whole: nothing is left to divide by."""
        of_class = (self.tp, self.p), (self.fp, 1.0 - self.p)
        tp, fp = (np.where(whole - flagged <= ROUNDING * whole, whole, flagged)[()] for flagged, whole in of_class)
        return self._replace(tp=tp, fp=fp)

    @property
    def cells(self) -> np.ndarray:
        """Shares of true positives, false negatives, false positives and true negatives."""
        return np.array([self.tp, self.p - self.tp, self.fp, 1.0 - self.p - self.fp])

    def value(self, metric: Metric) -> Any:
        """The metric; nan or inf where it has no denominator."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(metric.value(*(np.asarray(x, dtype=np.float64) for x in self)))[()]

    def gradient(self, metric: Metric) -> np.ndarray:
        """The three derivatives of the metric, by complex steps (Squire & Trapp 1998)."""
        found = []
        with np.errstate(divide="ignore", invalid="ignore"):
            for k in range(3):
                moved = [np.asarray(x) + (1j * STEP if k == j else 0.0) for j, x in enumerate(self)]
                found.append(np.imag(metric.value(*moved)) / STEP)
        return np.array(np.broadcast_arrays(*found))


class Given(NamedTuple):
    """What is held fixed when the threshold is found: the function of the shares, and which rows are counted for it."""

    held: Metric
    counted: str
    """"rows", "pos" or "neg"."""


GIVEN = {
    "fpr": Given(METRICS["fpr"], "neg"),
    "tpr": Given(METRICS["tpr"], "pos"),
    "alerts": Given(METRICS["alert_rate"], "rows"),
    "alert_rate": Given(METRICS["alert_rate"], "rows"),
}
"""What a threshold can be found by."""


class Cut(NamedTuple):
    """A threshold of a score, the rows it flags (1, or a share of a tie), and what is held fixed to find it."""

    score: np.ndarray
    threshold: float
    flagged: np.ndarray
    given: Given | None = None

    @classmethod
    def at(cls, score: np.ndarray, threshold: float, given: Given | None = None) -> "Cut":
        """The rows that score above a threshold."""
        return cls(score, threshold, (score > score.dtype.type(threshold)).astype(np.float64), given)


def found_gradient(metric: Metric, shares: Shares, sample: Sample, cut: Cut) -> np.ndarray:
    """The gradient of a metric at a cut; what is held fixed moves the threshold with the sample."""
    own = shares.gradient(metric)
    if cut.given is None or not np.isfinite(own).all():
        return own
    r = share_near(sample, cut, cut.given.counted, shares.p)
    along, held = np.array([r, 1.0 - r, 0.0]), shares.gradient(cut.given.held)
    slope = float(held @ along)
    level = not abs(slope) > ROUNDING * float(np.abs(held) @ along)  # what is held fixed does not tell the threshold
    return own if level or not np.isfinite(slope) else own - float(own @ along) / slope * held


def share_near(sample: Sample, cut: Cut, counted: str, prevalence: float) -> float:
    """The share of positives among the rows nearest to a threshold, at a prevalence.

    The window reaches as many rows of those that are counted up and down as the 4/5 power of the smaller number of
    them on a side, at least five.
    """
    of = {"rows": np.ones(len(cut.score), bool), "pos": sample.is_pos, "neg": ~sample.is_pos}[counted]
    ranked = np.sort(cut.score[of])
    place, size = int(np.searchsorted(ranked, cut.threshold, side="right")), len(ranked)
    reach = max(5, int(np.ceil(max(min(place, size - place), 1) ** 0.8)))
    low, high = ranked[max(place - reach, 0)], ranked[min(place + reach, size) - 1]
    near = (cut.score >= low) & (cut.score <= high)
    weight = sample.weights
    shares = [float(weight[near & side].sum()) / float(weight[side].sum()) for side in (sample.is_pos, ~sample.is_pos)]
    pos, neg = prevalence * shares[0], (1.0 - prevalence) * shares[1]
    return pos / (pos + neg) if pos + neg > 0.0 else prevalence


class Terms(NamedTuple):
    """A metric's value, and what each independent unit adds to its error: a row, or a group of rows."""

    value: float
    terms: np.ndarray
    corrected: bool
    """Whether units are groups or have weights, so that their number corrects the variance."""

    def __sub__(self, other: "Terms") -> "Terms":
        """The difference of two metrics of the same rows."""
        return self._replace(value=self.value - other.value, terms=self.terms - other.terms)

    @property
    def se(self) -> float:
        """The standard error of the value."""
        n = len(self.terms)
        correction = n / (n - 1.0) if self.corrected and n > 1 else 1.0
        return float(np.sqrt(np.sum(self.terms**2) * correction))

    @property
    def df(self) -> float:
        """Degrees of freedom of the standard error."""
        return max(len(self.terms) - 1.0, 1.0) if self.corrected else np.inf


def metric_terms(
    sample: Sample, cut: Cut, metric: Metric, prevalence: float | None = None, shares: Shares | None = None
) -> Terms:
    """A metric at a cut, and the terms of its error.

    Without a prevalence the rows are a random sample, whose share of positives is an estimate; with one the classes
    are two samples and the share is known.
    """
    shares = Shares.of(sample, cut.flagged, prevalence) if shares is None else shares
    gradient = found_gradient(metric, shares, sample, cut)
    if not np.all(np.isfinite(gradient)):  # a ratio whose denominator is empty has no standard error
        gradient = np.full(3, np.nan)
    y, f = sample.is_pos.astype(np.float64), cut.flagged
    weight = sample.weights
    if prevalence is None:
        row = gradient[0] * (y * f - shares.tp) + gradient[1] * ((1.0 - y) * f - shares.fp)
        row = (row + gradient[2] * (y - shares.p)) * (weight / weight.sum())
    else:
        of_pos, of_neg = weight[sample.is_pos].sum(), weight[~sample.is_pos].sum()
        share = np.where(sample.is_pos, shares.p / of_pos, (1.0 - shares.p) / of_neg)
        rate = np.where(sample.is_pos, shares.tp / shares.p, shares.fp / (1.0 - shares.p))
        row = np.where(sample.is_pos, gradient[0], gradient[1]) * share * weight * (f - rate)
    corrected = sample.cluster is not None or sample.weight is not None
    return Terms(float(shares.value(metric)), sample.by_unit(row), corrected)


def measure(
    sample: Sample, cut: Cut, metric: Metric, *, prevalence: float | None = None, level: float
) -> MetricInterval:
    """A metric at a cut, with its interval."""
    shares = Shares.of(sample, cut.flagged, prevalence)
    terms = metric_terms(sample, cut, metric, prevalence, shares)
    if metric.scale == "ratio":
        low, high = _ratio_interval(terms, shares, metric, effective_units(sample), level)
    elif metric.scale == "share":
        basis = float(np.asarray(metric.basis(*shares))) * effective_units(sample)
        low, high = map(float, wilson_interval(terms.value, terms.se, basis, level, terms.df))
    else:
        reach = quantile(level, terms.df) * terms.se
        low, high = terms.value - reach, terms.value + reach
    how: dict[str, Any] = {"threshold": cut.threshold, "df": terms.df, "level": level, "method": "delta"}
    return MetricInterval(terms.value, low, high, terms.se, **how)


def effective_units(sample: Sample) -> float:
    """Rows, or groups, that count fully."""
    plain = sample.weight is None and sample.cluster is None
    return float(len(sample.is_pos)) if plain else effective_count(sample.by_unit(sample.weights))


def wilson_interval(share: Any, se: Any, basis: Any, level: float, df: float = np.inf) -> tuple[Any, Any]:
    """Wilson's interval of a share with a standard error: that of as many trials as would have it.

    Where the share is 0 or 1 no variance is seen, and the trials are `basis`. A share that is not defined has the
    interval [0, 1].
    """
    share, z = np.asarray(share, dtype=np.float64), quantile(level, df)
    spread = np.maximum(share * (1.0 - share), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where((spread > 0.0) & (np.asarray(se) > 1e-14), spread / np.square(se), basis)
        room = z * np.sqrt(spread * size + z * z / 4.0)
        low, high = (np.clip((share * size + z * z / 2.0 + x) / (size + z * z), 0.0, 1.0) for x in (-room, room))
    unknown = ~np.isfinite(share)
    return np.where(unknown, 0.0, low)[()], np.where(unknown, 1.0, high)[()]


def _ratio_interval(found: Terms, shares: Shares, metric: Metric, n: float, level: float) -> tuple[float, float]:
    """An interval symmetric in the logarithm; half a row is added to each cell where one of them is empty."""
    told, cells = found.value, shares.cells
    if np.isnan(told):
        return 0.0, np.inf
    if cells.min() > 1e-12:
        reach = quantile(level, found.df) * found.se / told
        return told * float(np.exp(-reach)), told * float(np.exp(reach))
    # An empty cell shows no variance: that of a multinomial table with half a row more in each cell.
    filled = _filled(cells, n)
    value = float(filled.value(metric))
    reach = quantile(level) * float(_multinomial_error(filled, metric, n)) / value
    low, high = value * float(np.exp(-reach)), value * float(np.exp(reach))
    return (0.0 if told == 0.0 else low), (high if np.isfinite(told) else np.inf)


def measure_counts(
    tp: np.ndarray, fp: np.ndarray, n_pos: int, n_neg: int, metric: Metric, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(value, low, high) of a metric at many given thresholds at once, of rows that stand alone and weigh alike."""
    n = float(n_pos + n_neg)
    shares = Shares(np.asarray(tp) / n, np.asarray(fp) / n, np.full(len(tp), n_pos / n)).rounded()
    cells = shares.cells
    value, se = shares.value(metric), _multinomial_error(shares, metric, n)
    if metric.scale == "share":
        low, high = wilson_interval(value, se, np.asarray(metric.basis(*shares)) * n, level)
        return value, low, high
    z = quantile(level)
    if metric.scale == "plain":
        return value, value - z * se, value + z * se
    seen = cells.min(axis=0) > 1e-12
    used = Shares(*(np.where(seen, own, more) for own, more in zip(shares, _filled(cells, n), strict=True)))
    centre = used.value(metric)
    reach = np.exp(z * _multinomial_error(used, metric, n) / centre)
    low, high = np.where(value == 0.0, 0.0, centre / reach), np.where(np.isfinite(value), centre * reach, np.inf)
    return value, np.where(np.isnan(value), 0.0, low), high


def _filled(cells: np.ndarray, n: float) -> Shares:
    """The shares of a table of n rows with half a row more in each cell."""
    tp, fn, fp, _ = (np.maximum(cells, 0.0) + 0.5 / n) / (1.0 + 2.0 / n)
    return Shares(tp, fp, tp + fn)


def _multinomial_error(shares: Shares, metric: Metric, n: float) -> np.ndarray:
    """The standard error of a metric of a multinomial table of n rows."""
    slope, cells = shares.gradient(metric), shares.cells
    with np.errstate(invalid="ignore"):
        by_cell = np.array([slope[0] + slope[2], slope[2], slope[1], np.zeros_like(slope[0])])
        spread = np.sum(by_cell**2 * cells, axis=0) - np.sum(by_cell * cells, axis=0) ** 2
        return np.sqrt(np.maximum(spread, 0.0) / n)


def predictive_value(ratio: MetricInterval, prevalence: float, sign: int) -> MetricInterval:
    """PPV (sign 1) or NPV (-1) at a prevalence from a likelihood ratio: logit PPV = logit(prevalence) + log LR+."""
    odds = logit(prevalence)
    with np.errstate(divide="ignore", invalid="ignore"):
        value, *ends = (float(expit(sign * (odds + np.log(x)))) for x in ratio[:3])
        se = float(np.divide(value * (1.0 - value) * ratio.se, ratio.value))
    low, high = ends[::sign]
    return ratio._replace(value=value, low=low, high=high, se=se)
