"""Figures of each estimator over all splits, and paired tests of differences."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from auclid.comparison._measure import SplitTrial
from auclid.metrics import (
    AUCComparison,
    PairComparison,
    auc_interval,
    average_precision_interval,
    compare_auc,
    compare_average_precision,
    compare_concordance,
    concordance_interval,
)
from auclid.metrics._compare import corrected
from auclid.metrics._cross_val import corrected_error, mean_area, scored_folds
from auclid.metrics._inference import answer, checked_question
from auclid.metrics._sample import Region
from auclid.metrics._variance import share_interval

Figures = tuple[float, float, float, np.ndarray]
"""(Mean over splits, ends of its interval, value of each split)."""


class ComparedModel(NamedTuple):
    """One way to learn, measured on rows that it has not learnt from."""

    name: str
    auc: float
    """Mean over splits; NaN where the model could not be fitted."""
    low: float
    high: float
    folds: np.ndarray
    """The AUC of each split."""
    ap: float = np.nan
    """Average precision, mean over splits."""
    ap_low: float = np.nan
    ap_high: float = np.nan
    ap_folds: np.ndarray = np.zeros(0)
    """The average precision of each split."""
    seconds: float = np.nan
    """Processor seconds of a fit, mean over splits, without compiling."""
    is_baseline: bool = False
    gap: PairComparison | None = None
    """AUC minus that of the best baseline, where there are baselines and it is not that one."""
    ap_gap: PairComparison | None = None
    """Average precision minus that of the best baseline."""
    scores: Any = None
    """A score of each row that was held out, `ModelComparison.rows`, from the first split that holds it out."""
    probabilities: Any = None
    """Probabilities of these rows, where the model has them."""
    fitted: Any = None
    """The model of the first split, fitted."""
    trouble: str = ""
    """Why there are no figures."""
    converged: bool = True


@dataclass(frozen=True)
class SplitJudge:
    """The rows of a comparison, and how models are measured on them."""

    rows: Any
    """``splits`` are those that were run."""
    level: float

    @property
    @abstractmethod
    def tests(self) -> dict[str, Callable[..., Any]]:
        """The paired test of two models' scores on one sample, by the metric: "auc" or "ap"."""

    @abstractmethod
    def sample(self, numbers: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """(Outcomes of the rows of these numbers, what metrics need beside them and the scores)."""

    @property
    def one_split(self) -> bool:
        """Whether there is one split: models are then compared by a test on its rows."""
        return len(self.rows.splits) == 1

    @property
    def held_out(self) -> np.ndarray:
        """Numbers of the rows that a split holds out."""
        return np.unique(np.concatenate([test for _, test in self.rows.splits]))

    @property
    def trials(self) -> int:
        """The held-out rows of the rarer kind: positives, or events."""
        return int(self.rows.is_pos[self.held_out].sum())

    @abstractmethod
    def auc(self, trials: list[SplitTrial]) -> Figures:
        """What models are ranked by."""

    def average_precision(self, trials: list[SplitTrial]) -> Figures:
        """The average precision, where rows have two classes."""
        return np.nan, np.nan, np.nan, np.zeros(0)

    def difference(self, a: ComparedModel, b: ComparedModel, metric: str) -> Any:
        """The difference of two models, with a paired test on the rows or over the splits."""
        if self.one_split:
            outcomes, how = self.sample(self.held_out)
            return self.tests[metric](outcomes, a.scores, b.scores, **how)
        gaps = a.ap_folds - b.ap_folds if metric == "ap" else a.folds - b.folds
        se, df = corrected_error(self.rows, gaps)
        question = checked_question("compare", self.level, "two-sided", 0.0)
        return answer(AUCComparison, float(gaps.mean()), se, self.trials, question, df)

    def over_splits(self, interval: Callable[..., Any], trials: list[SplitTrial]) -> Figures:
        """The mean over splits of a metric, which gives (value, low, high, standard error), with its interval.

        Splits that hold out different rows are independent, repeats of the same rows are taken for fully dependent:
        se² = mean(se_v²) · r / J for J splits that hold out a row r times.
        """
        intervals = []
        for (_, test), trial in zip(self.rows.splits, trials, strict=True):
            outcomes, how = self.sample(test)
            intervals.append(interval(outcomes, trial.scores, **how)[:4])
        folds = np.array([value for value, *_ in intervals])
        if self.one_split:
            return *intervals[0][:3], folds
        times = sum(len(test) for _, test in self.rows.splits) / len(self.held_out)
        se = float(np.sqrt(np.mean([se**2 for *_, se in intervals]) * times / len(intervals)))
        mean = float(folds.mean())
        return mean, *share_interval(mean, se, self.trials, self.level), folds


@dataclass(frozen=True)
class ClassJudge(SplitJudge):
    """Rows of two classes, by the AUC of a region and the average precision."""

    region: Region

    @property
    def tests(self) -> dict[str, Callable[..., Any]]:
        """DeLong's test, and its like for average precision."""
        return {"auc": partial(compare_auc, max_fpr=self.region.max_fpr), "ap": compare_average_precision}

    def sample(self, numbers: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """(Which rows are positive, their weights and groups), of the rows of these numbers."""
        groups, weight = (None if each is None else each[numbers] for each in (self.rows.cluster, self.rows.weight))
        return self.rows.is_pos[numbers], {"groups": groups, "sample_weight": weight, "level": self.level}

    def auc(self, trials: list[SplitTrial]) -> Figures:
        """The AUC, or the partial AUC."""
        region = self.region
        if self.one_split:
            return self.over_splits(partial(auc_interval, max_fpr=region.max_fpr), trials)
        folds = scored_folds("compare", self.rows, region, [[trial.of_partition] for trial in trials])
        found = mean_area(self.rows, folds, region, self.level)
        return found.auc, found.low, found.high, found.folds

    def average_precision(self, trials: list[SplitTrial]) -> Figures:
        """The average precision."""
        return self.over_splits(average_precision_interval, trials)


@dataclass(frozen=True)
class OrderJudge(SplitJudge):
    """Rows with an order, by the concordance; groups that are held out whole are clusters."""

    @property
    def tests(self) -> dict[str, Callable[..., Any]]:
        """The paired test of two concordances."""
        return {"auc": compare_concordance}

    def sample(self, numbers: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """(Values, and what metrics need of their order), of the rows of these numbers."""
        rows = self.rows
        columns = {"event": rows.event, "groups": rows.groups, "clusters": rows.cluster}
        how = {name: None if each is None else each[numbers] for name, each in columns.items()}
        return rows.values[numbers], {**how, "level": self.level}

    def auc(self, trials: list[SplitTrial]) -> Figures:
        """The concordance."""
        return self.over_splits(concordance_interval, trials)


def measured(name: str, trials: list[SplitTrial], judge: SplitJudge) -> ComparedModel:
    """The figures of one estimator over all splits."""
    trouble = next((trial.trouble for trial in trials if trial.trouble), "")
    if trouble:
        return ComparedModel(name, np.nan, np.nan, np.nan, np.full(len(trials), np.nan), trouble=trouble)
    return ComparedModel(
        name,
        *judge.auc(trials),
        *judge.average_precision(trials),
        seconds=float(np.mean([trial.seconds for trial in trials])),
        scores=_first_of_each([trial.scores for trial in trials], judge),
        probabilities=_first_of_each([trial.probabilities for trial in trials], judge),
        fitted=trials[0].fitted,
        converged=all(trial.converged for trial in trials),
    )


def _first_of_each(values: list[Any], judge: SplitJudge) -> np.ndarray | None:
    """One value of each held-out row, from the first split that holds it out."""
    if any(each is None for each in values):
        return None
    every = np.full(len(judge.rows.y), np.nan)
    for (_, test), own in reversed(list(zip(judge.rows.splits, values, strict=True))):
        every[test] = own
    return every[judge.held_out]


def paired_differences(
    pairs: list[tuple[ComparedModel, ComparedModel]], judge: SplitJudge, correction: str, metric: str = "auc"
) -> list[PairComparison]:
    """The difference of the AUC or concordance, or of the average precision ("ap"), of each pair of models, tested.

    One split: a paired test on its rows. Several: Student's t with the variance of Nadeau and Bengio, which allows for
    training rows that splits share.
    """
    found = [judge.difference(a, b, metric) for a, b in pairs]
    adjusted = corrected(np.array([each.pvalue for each in found]), correction)
    return [
        PairComparison(a.name, b.name, each.difference, each.low, each.high, each.pvalue, float(p), se=each.se)
        for (a, b), each, p in zip(pairs, found, adjusted, strict=True)
    ]
