"""Figures of each estimator over all splits, and paired tests of differences."""

from typing import Any, NamedTuple

import numpy as np

from auclid.comparison._measure import SplitTrial
from auclid.comparison._model import ComparedModel
from auclid.metrics import (
    PairComparison,
    auc_interval,
    average_precision_interval,
    compare_auc,
    compare_average_precision,
)
from auclid.metrics._compare import answer, checked_question
from auclid.metrics._cross_val import CrossValRows, corrected_error, mean_area, scored_folds
from auclid.metrics._many import corrected
from auclid.metrics._sample import Region
from auclid.metrics._variance import share_interval


class Judgement(NamedTuple):
    """The rows of a comparison, and how models are measured on them."""

    rows: CrossValRows
    """``splits`` are those that were run."""
    region: Region
    level: float

    @property
    def one_split(self) -> bool:
        """Whether there is one split: models are then compared by DeLong's test on its rows."""
        return len(self.rows.splits) == 1

    @property
    def held_out(self) -> np.ndarray:
        """Numbers of the rows that a split holds out."""
        return np.unique(np.concatenate([test for _, test in self.rows.splits]))

    def labels(self, numbers: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """(Which rows are positive, their weights and groups as metrics take them), of the rows of these numbers."""
        groups, weight = (None if each is None else each[numbers] for each in (self.rows.cluster, self.rows.weight))
        return self.rows.is_pos[numbers], {"groups": groups, "sample_weight": weight, "level": self.level}


def measured(name: str, trials: list[SplitTrial], judge: Judgement) -> ComparedModel:
    """The figures of one estimator over all splits."""
    trouble = next((trial.trouble for trial in trials if trial.trouble), "")
    if trouble:
        return ComparedModel(name, np.nan, np.nan, np.nan, np.full(len(trials), np.nan), trouble=trouble)
    return ComparedModel(
        name,
        *_auc(trials, judge),
        *_average_precision(trials, judge),
        seconds=float(np.mean([trial.seconds for trial in trials])),
        scores=_first_of_each([trial.scores for trial in trials], judge),
        probabilities=_first_of_each([trial.probabilities for trial in trials], judge),
        fitted=trials[0].fitted,
        converged=all(trial.converged for trial in trials),
    )


def _auc(trials: list[SplitTrial], judge: Judgement) -> tuple[float, float, float, np.ndarray]:
    """(Mean AUC, ends of its interval, AUC of each split)."""
    region = judge.region
    if judge.one_split:
        is_pos, how = judge.labels(judge.rows.splits[0][1])
        one = auc_interval(is_pos, trials[0].scores, max_fpr=region.max_fpr, **how)
        return one.auc, one.low, one.high, np.array([one.auc])
    folds = scored_folds("compare", judge.rows, region, [[trial.of_partition] for trial in trials])
    found = mean_area(judge.rows, folds, region, judge.level)
    return found.auc, found.low, found.high, found.folds


def _average_precision(trials: list[SplitTrial], judge: Judgement) -> tuple[float, float, float, np.ndarray]:
    """(Mean average precision, ends of its interval, average precision of each split).

    Splits that hold out different rows are independent, repeats of the same rows are taken for fully dependent:
    se² = mean(se_v²) · r / J for J splits that hold out a row r times.
    """
    found = []
    for (_, test), trial in zip(judge.rows.splits, trials, strict=True):
        is_pos, how = judge.labels(test)
        found.append(average_precision_interval(is_pos, trial.scores, **how))
    folds = np.array([one.ap for one in found])
    if judge.one_split:
        return found[0].ap, found[0].low, found[0].high, folds
    times = sum(len(test) for _, test in judge.rows.splits) / len(judge.held_out)
    se = float(np.sqrt(np.mean([one.se**2 for one in found]) * times / len(found)))
    mean, positives = float(folds.mean()), int(judge.rows.is_pos[judge.held_out].sum())
    return mean, *share_interval(mean, se, positives, judge.level), folds


def _first_of_each(values: list[Any], judge: Judgement) -> np.ndarray | None:
    """One value of each held-out row, from the first split that holds it out."""
    if any(each is None for each in values):
        return None
    every = np.full(len(judge.rows.y), np.nan)
    for (_, test), own in reversed(list(zip(judge.rows.splits, values, strict=True))):
        every[test] = own
    return every[judge.held_out]


def paired_differences(
    pairs: list[tuple[ComparedModel, ComparedModel]], judge: Judgement, correction: str, metric: str = "auc"
) -> list[PairComparison]:
    """The difference of the AUC, or of the average precision ("ap"), of each pair of models, with a paired test.

    One split: DeLong's test, or its like for average precision. Several: Student's t with the variance of Nadeau and
    Bengio, which allows for training rows that splits share.
    """
    found = [_difference(a, b, judge, metric) for a, b in pairs]
    adjusted = corrected(np.array([each.pvalue for each in found]), correction)
    return [
        PairComparison(a.name, b.name, each.difference, each.low, each.high, each.pvalue, float(p), se=each.se)
        for (a, b), each, p in zip(pairs, found, adjusted, strict=True)
    ]


def _difference(a: ComparedModel, b: ComparedModel, judge: Judgement, metric: str) -> Any:
    is_pos, how = judge.labels(judge.held_out)
    if judge.one_split and metric == "ap":
        return compare_average_precision(is_pos, a.scores, b.scores, **how)
    if judge.one_split:
        return compare_auc(is_pos, a.scores, b.scores, max_fpr=judge.region.max_fpr, **how)
    gaps = a.ap_folds - b.ap_folds if metric == "ap" else a.folds - b.folds
    se, df = corrected_error(judge.rows, gaps)
    question = checked_question("compare", judge.level, "two-sided", 0.0)
    return answer(float(gaps.mean()), se, int(is_pos.sum()), question, df)
