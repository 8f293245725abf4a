"""One object for the ROC curve of a score: rows are given once, and every measure is a method."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from auclid.errors import InvalidValueError
from auclid.metrics._auc import auc_from_parts, partial_auc
from auclid.metrics._bootstrap import Progress
from auclid.metrics._compare import compare_auc, compare_auc_unpaired
from auclid.metrics._interval import auc_interval, auc_test
from auclid.metrics._points import operating_point, operating_point_interval
from auclid.metrics._rates import rates_at
from auclid.metrics._results import (
    AUCComparison,
    AUCInterval,
    AUCTest,
    OperatingPoint,
    OperatingPointInterval,
    RatesAt,
)
from auclid.metrics._roc import Curve, roc_curve
from auclid.metrics._sample import Sample, checked_sample
from auclid.validation.vectors import finite_column, same_length


class RegionOptions(TypedDict, total=False):
    """The part of the curve that counts."""

    max_fpr: float
    min_tpr: float


class BootstrapOptions(TypedDict, total=False):
    """How rows are drawn, where ``method`` is a bootstrap."""

    n_bootstrap: int
    random_state: Any


class IntervalOptions(RegionOptions, BootstrapOptions, total=False):
    """Keywords of `ROC.interval`, as those of `auc_interval`."""

    min_fpr: float
    level: float
    method: str
    transform: str | None
    progress: Progress


class ComparisonOptions(RegionOptions, BootstrapOptions, total=False):
    """Keywords of `ROC.compare`, as those of `compare_auc`."""

    level: float
    method: str
    alternative: str
    margin: float
    progress: Progress


class PointOptions(BootstrapOptions, total=False):
    """Keywords of `ROC.rates`, as those of `rates_at`."""

    fpr: float | None
    tpr: float | None
    specificity: float | None
    threshold: float | None
    alerts: int | None
    prevalence: float | None
    level: float
    method: str


class CriterionOptions(TypedDict, total=False):
    """Keywords of `ROC.operating_point`, as those of `operating_point`."""

    criterion: str
    cost_ratio: float
    prevalence: float | None
    beta: float


class CriterionIntervalOptions(CriterionOptions, BootstrapOptions, total=False):
    """Keywords of `ROC.operating_point_interval`, as those of `operating_point_interval`."""

    level: float
    progress: Progress


class ROC:
    """The ROC curve of one score: labels, weights and groups are checked once, and each measure is a method.

    Every method is the function of `auclid.metrics` of the same name, with the rows filled in.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels, at least two rows (or groups) of each; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores, greater for rows thought positive.
    groups : array-like of shape (n,), optional
        Which rows belong together.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf). Rows of weight zero are left out.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Attributes
    ----------
    auc : float
        The area under the curve.
    fpr, tpr, thresholds : ndarray
        The points of the curve, from the highest threshold to the lowest; `score > threshold` is predicted positive.
    n_positive, n_negative : int
        Rows of each class.

    Examples
    --------
    >>> from auclid.metrics import ROC
    >>> y, a, b = [0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], [3, 2, 4, 1, 5, 6]
    >>> roc = ROC(y, a)
    >>> round(roc.auc, 3), round(roc.interval().se, 3), round(roc.compare(b).difference, 3)
    (0.889, 0.157, 0.222)
    >>> roc.rates(fpr=0.0).tpr, round(roc.partial(max_fpr=0.5), 3), roc.operating_point().threshold
    (0.6666666666666666, 0.852, 4.5)
    """

    def __init__(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
    ) -> None:
        self._given = np.ones(1, bool) if sample_weight is None else np.asarray(sample_weight, np.float64).ravel() > 0.0
        rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
        self._sample: Sample = checked_sample("ROC", y_true, {"y_score": y_score}, **rows)
        self._curve: Curve = roc_curve(self._sample.is_pos, self._sample.scores[0], self._sample.weight)

    @property
    def auc(self) -> float:
        """The area under the curve."""
        return auc_from_parts(self._sample.is_pos, self._sample.scores[0], self._sample.weight)

    @property
    def fpr(self) -> np.ndarray:
        """False positive rates of the curve's points."""
        return self._curve.fpr

    @property
    def tpr(self) -> np.ndarray:
        """True positive rates of the curve's points."""
        return self._curve.tpr

    @property
    def thresholds(self) -> np.ndarray:
        """Thresholds of the curve's points, falling."""
        return self._curve.threshold

    @property
    def sample(self) -> Sample:
        """The checked rows of positive weight."""
        return self._sample

    @property
    def n_positive(self) -> int:
        """Positive rows."""
        return int(np.count_nonzero(self._sample.is_pos))

    @property
    def n_negative(self) -> int:
        """Negative rows."""
        return len(self._sample.is_pos) - self.n_positive

    def interval(self, **options: Unpack[IntervalOptions]) -> AUCInterval:
        """`auc_interval` of these rows."""
        return auc_interval(*self._rows, **self._how, **options)

    def test(self, null: float = 0.5, *, alternative: str = "two-sided", level: float = 0.95) -> AUCTest:
        """`auc_test` of these rows."""
        return auc_test(*self._rows, null=null, alternative=alternative, level=level, **self._how)

    def partial(self, *, standardize: bool = True, **region: Unpack[RegionOptions]) -> float:
        """`partial_auc` of these rows."""
        return partial_auc(*self._rows, standardize=standardize, sample_weight=self._sample.weight, **region)

    def compare(self, other: ArrayLike | ROC, **options: Unpack[ComparisonOptions]) -> AUCComparison:
        """`compare_auc` with another score of the same rows, or `compare_auc_unpaired` with the ROC of other rows.

        ``other`` is an array with a score for each row that was given, or a `ROC`. Two `ROC` with the same labels,
        weights and groups are of the same rows.
        """
        if not isinstance(other, ROC):
            return compare_auc(*self._rows, self._kept(other), **self._how, **options)
        mine, theirs = self._sample, other._sample
        if all(_same(a, b) for a, b in zip(_frame(mine), _frame(theirs), strict=True)):
            return compare_auc(*self._rows, theirs.scores[0], **self._how, **options)
        rows = {f"{name}_a": value for name, value in self._how.items()}
        rows |= {f"{name}_b": value for name, value in other._how.items()}
        return compare_auc_unpaired(*self._rows, *other._rows, **rows, **options)

    def rates(self, **options: Unpack[PointOptions]) -> RatesAt:
        """`rates_at` a point of this curve."""
        return rates_at(*self._rows, **self._how, **options)

    def operating_point(self, **options: Unpack[CriterionOptions]) -> OperatingPoint:
        """`operating_point` of these rows."""
        return operating_point(*self._rows, sample_weight=self._sample.weight, **options)

    def operating_point_interval(self, **options: Unpack[CriterionIntervalOptions]) -> OperatingPointInterval:
        """`operating_point_interval` of these rows."""
        return operating_point_interval(*self._rows, **self._how, **options)

    def plot(self, **options: Any) -> Any:
        """`auclid.plot.roc` of this curve, with its keywords; returns the matplotlib axis."""
        from auclid.plot import roc  # plots are made of metrics, and import matplotlib

        return roc(self, **options)

    def __repr__(self) -> str:
        return f"ROC(auc={self.auc:.4g}, n_positive={self.n_positive}, n_negative={self.n_negative})"

    @property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        return self._sample.is_pos, self._sample.scores[0]

    @property
    def _how(self) -> dict[str, Any]:
        return {"groups": self._sample.cluster, "sample_weight": self._sample.weight}

    def _kept(self, score: Any) -> np.ndarray:
        """Another score, of the rows of positive weight."""
        given = finite_column("ROC.compare", "other", score)
        if len(self._given) > 1:
            same_length("ROC.compare", sample_weight=self._given, other=given)
            given = given[self._given]
        if len(given) != len(self._sample.is_pos):
            raise InvalidValueError(
                owner="ROC.compare",
                parameter="other",
                expected=f"be a score of each of the {len(self._sample.is_pos)} rows, or a ROC of other rows",
                got=f"{len(given)} numbers",
            )
        return given


def _frame(sample: Sample) -> tuple[np.ndarray | None, ...]:
    """What two scores of the same rows share."""
    return sample.is_pos, sample.weight, sample.cluster


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)
