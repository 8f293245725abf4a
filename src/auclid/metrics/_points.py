"""Where to cut the scores into predicted positives and negatives: by what is to be best, and how sure that is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._bootstrap import Masses, Progress, checked_draws, distinct, replicates
from auclid.metrics._operating_point import best_threshold, unit_prices
from auclid.metrics._rates import wilson
from auclid.metrics._results import OperatingPoint, OperatingPointInterval
from auclid.metrics._roc import RATE_ROUNDING, between, from_the_top, just_above, roc_curve
from auclid.metrics._sample import Sample, checked_prevalence, checked_sample
from auclid.validation.parameters import number_in, one_of

CRITERIA = ("youden", "accuracy", "cost", "fscore", "corner")


class Aim(NamedTuple):
    """What a threshold is to make best."""

    criterion: str = "youden"
    cost_ratio: float = 1.0
    prevalence: float | None = None
    beta: float = 1.0


def operating_point(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    criterion: str = "youden",
    cost_ratio: float = 1.0,
    prevalence: float | None = None,
    beta: float = 1.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> OperatingPoint:
    """Finite threshold whose predictions `score > threshold` serve a criterion best.

    criterion="youden" maximises TPR - cost_ratio FPR, however rare the positives; criterion="accuracy"
    maximises n+ TPR - cost_ratio n- FPR, which at cost_ratio 1 is the number of rows predicted right (OPTROC,
    the point of slope cost_ratio n- / n+). "cost" minimises prevalence (1 - TPR) + cost_ratio (1 - prevalence) FPR, the
    mean price where a share `prevalence` is positive; "fscore" maximises F = (1 + beta^2) TP / ((1 + beta^2) TP +
    beta^2 FN + FP); "corner" minimises (1 - TPR)^2 + FPR^2. The threshold lies midway between neighbouring distinct
    scores, or just outside the extreme score when all or no rows are best predicted positive. Of equally good
    thresholds the highest is taken.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive. A row of score +inf is always predicted positive, of -inf
        never.
    criterion : {"youden", "accuracy", "cost", "fscore", "corner"}
        What to make best.
    cost_ratio : float in (0, inf)
        Price of a false positive where a false negative costs one ("youden", "accuracy", "cost").
    prevalence : float in (0, 1), optional
        Share of positives where the threshold will be used ("cost"); else that of the sample.
    beta : float in (0, inf)
        How many times as much recall counts as precision ("fscore").
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    OperatingPoint
        Unpacks to (threshold, tpr, fpr). The threshold is exact in the floating type of the scores.

    Examples
    --------
    >>> from auclid.metrics import operating_point
    >>> operating_point([0, 0, 0, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0])
    OperatingPoint(threshold=2.5, tpr=1.0, fpr=0.3333333333333333)
    >>> operating_point([0, 0, 0, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0], criterion="accuracy").threshold
    4.5

    References
    ----------
    Youden (1950), Index for rating diagnostic tests, Cancer 3. Metz (1978), Seminars in Nuclear Medicine 8.
    van Rijsbergen (1979), Information retrieval. Perkins & Schisterman (2006), American Journal of Epidemiology 163.
    """
    owner = "operating_point"
    aim = _checked_aim(owner, criterion, cost_ratio, prevalence, beta)
    rows = {"sample_weight": sample_weight, "pos_label": pos_label}
    return _point(checked_sample(owner, y_true, {"y_score": y_score}, **rows, fewest=1, only_ranked=True), aim)


def operating_point_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    criterion: str = "youden",
    cost_ratio: float = 1.0,
    prevalence: float | None = None,
    beta: float = 1.0,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    progress: Progress = False,
) -> OperatingPointInterval:
    """The operating point, and how much it moves: it is found anew in each bootstrap draw.

    Draws are made with replacement within the classes, or among groups that hold the same classes. The threshold's
    interval has the (1 - level) / 2 and (1 + level) / 2 quantiles of the drawn thresholds. Rates of a threshold chosen
    on the rows they are measured on look too good. Their intervals are those of the rates that new rows will have:
    Wilson's around the rate less its optimism, which is the mean over the draws of the rate in the draw less that of
    the same threshold in all rows, with the variance of these differences.

    Parameters
    ----------
    y_true, y_score, criterion, cost_ratio, prevalence, beta, sample_weight, pos_label
        As in `operating_point`.
    level : float in (0, 1)
        Coverage of each interval.
    groups, n_bootstrap, random_state, progress
        As in `auc_interval`.

    Returns
    -------
    OperatingPointInterval
        Unpacks to (threshold, threshold_low, threshold_high, tpr, tpr_low, tpr_high, fpr, fpr_low, fpr_high).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.metrics import operating_point_interval
    >>> y = np.arange(200) % 4 == 0
    >>> s = np.random.default_rng(0).normal(size=200) + 2.0 * y
    >>> point = operating_point_interval(y, s, random_state=0, n_bootstrap=200)
    >>> print(f"{point.threshold:.2f} [{point.threshold_low:.2f}, {point.threshold_high:.2f}]")
    1.15 [0.71, 1.41]

    Notes
    -----
    In simulations of 30 and 100 positives, AUC .8 and .95, 1 to 20 negatives for each positive, intervals of 95 %
    covered the true rates of the chosen threshold in 93 to 97 %.

    References
    ----------
    Efron & Tibshirani (1993), An introduction to the bootstrap. Efron (1983), Estimating the error rate of a prediction
    rule, JASA 78.
    """
    owner = "operating_point_interval"
    aim = _checked_aim(owner, criterion, cost_ratio, prevalence, beta)
    level = number_in(owner, "level", level, 0.0, 1.0)
    plan = checked_draws(owner, n_bootstrap, random_state, progress)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"y_score": y_score}, **rows)
    value, steps = distinct(sample.is_pos, sample.scores[0])
    whole = roc_curve(sample.is_pos, sample.scores[0], sample.weight)

    def point(masses: list[Masses]) -> tuple[float, float, float]:
        tp, fp = map(from_the_top, masses[0])
        at = _best(tp, fp, aim, value)
        threshold = _drawn_threshold(value, tp + fp, at)
        here = int(np.count_nonzero(value > threshold))
        return threshold, tp[at] / tp[-1] - whole.tpr[here], fp[at] / fp[-1] - whole.fpr[here]

    drawn = replicates(sample, [steps], point, plan)
    found, tails = _point(sample, aim), [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    ends = [found.threshold, *np.quantile(drawn[:, 0], tails)]
    for rate, excess, units in zip(found[1:], drawn.T[1:], sample.units, strict=True):
        ends += [rate, *_after_choice(rate, excess, units, level)]
    return OperatingPointInterval(*map(float, ends), level=level, method="bootstrap", **sample.counts)


def _drawn_threshold(value: np.ndarray, above: np.ndarray, at: int) -> float:
    """The threshold of a point of a drawn curve: midway between the drawn scores on its two sides, as of any sample.

    ``above`` is the mass above each cut of the distinct scores ``value``, from none to all; scores that were not drawn
    have no mass.
    """
    first, last = np.searchsorted(above, above[at], side="left"), np.searchsorted(above, above[at], side="right") - 1
    low, high = value[0], value[-1]
    if first == 0:
        return just_above(high if last == 0 else value[len(value) - 1 - last], low, high)
    kept = value[len(value) - first]  # the lowest score that is predicted positive
    beyond = value[len(value) - 1 - last] if last < len(value) else value.dtype.type(-np.inf)
    return between(beyond, kept, low, high)


def _after_choice(rate: float, excess: np.ndarray, units: int, level: float) -> tuple[float, float]:
    """Wilson's interval of a rate whose threshold was chosen on the same rows.

    ``excess`` is by how much the rate in each draw exceeds that of the same threshold in all rows: its mean is what the
    choice adds to the rate, and its variance says how many independent rows the rate is worth, at most `units`.
    """
    if not excess.any():  # every draw agrees, as those of a perfect ranking do
        low, high = wilson(rate * units, units, level)
        return float(low), float(high)
    edge = 0.5 / units
    centre = float(np.clip(rate - excess.mean(), edge, 1.0 - edge))
    size = min(float(units), centre * (1.0 - centre) / max(float(excess.var()), 1e-12))
    low, high = wilson(centre * size, size, level)
    return float(low), float(high)


def _checked_aim(owner: str, criterion: str, cost_ratio: float, prevalence: float | None, beta: float) -> Aim:
    one_of(owner, "criterion", criterion, CRITERIA)
    cost_ratio = number_in(owner, "cost_ratio", cost_ratio, 0.0, np.inf)
    beta = number_in(owner, "beta", beta, 0.0, np.inf)
    return Aim(criterion, cost_ratio, checked_prevalence(owner, prevalence), beta)


def _point(sample: Sample, aim: Aim) -> OperatingPoint:
    is_pos, score, weight = sample.is_pos, sample.scores[0], sample.weight
    if aim.criterion in ("fscore", "corner"):
        curve = roc_curve(is_pos, score, weight)
        threshold = float(curve.threshold[_best(curve.tp, curve.fp, aim, np.unique(score))])
    else:
        threshold = best_threshold(is_pos, score, weight, *aim[:3])
    above = score > score.dtype.type(threshold)
    return OperatingPoint(threshold, *(_share(above[of], weight, of) for of in (is_pos, ~is_pos)))


def _share(above: np.ndarray, weight: np.ndarray | None, of: np.ndarray) -> float:
    if weight is None:
        return float(above.mean())
    return float(weight[of][above].sum() / weight[of].sum())


def _best(tp: np.ndarray, fp: np.ndarray, aim: Aim, value: np.ndarray) -> int:
    """The number of the best point of a curve; a row of infinite score is on one side of every finite threshold."""
    first, stop = int(value[-1] == np.inf), len(tp) - int(value[0] == -np.inf)
    worth = _worth(tp, fp, aim)
    worth = worth[first:stop]
    # Points that differ by rounding only are equally good; the first has the highest threshold.
    return first + int(np.argmax(worth >= worth.max() - RATE_ROUNDING * np.abs(worth).max()))


def _worth(tp: np.ndarray, fp: np.ndarray, aim: Aim) -> np.ndarray:
    """What the criterion is at each point of a curve: the greater, the better."""
    if aim.criterion == "corner":
        return -((1.0 - tp / tp[-1]) ** 2 + (fp / fp[-1]) ** 2)
    if aim.criterion == "fscore":
        return (1.0 + aim.beta**2) * tp / (aim.beta**2 * tp[-1] + tp + fp)
    gain, loss = unit_prices(float(tp[-1]), float(fp[-1]), *aim[:3])
    return gain * tp - loss * fp
