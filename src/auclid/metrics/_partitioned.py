"""Areas of scores in parts: each part places its rows of the larger class among all rows of the rarer one.

The scores of the rarer class are gathered and sorted. A part returns how much weight of the larger class lies at each
place between and at them: these counts add up, and areas and DeLong's variance are made of them, as in memory.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid.data.dask import counted
from auclid.data.dataset import Dataset, Part, Totals
from auclid.errors import missing_label, quoted_value
from auclid.metrics._places import twice_above, twice_below
from auclid.metrics._sample import Sample, checked_sample
from auclid.metrics._variance import degrees_of_sums, welch_degrees
from auclid.stats.pair_sums import running_sums
from auclid.validation.vectors import declared_positive, partitioned_columns, refuse_text

SHARE_ROUNDING = 1e-14
"""Shares that are closer than this are equal, but for rounding."""


class RarerClass(NamedTuple):
    """Scores (models, rows) and weights of the rarer class in the order of the parts; for each model, their order."""

    scores: np.ndarray
    own: np.ndarray
    order: np.ndarray

    def ranked(self, model: int) -> np.ndarray:
        """The sorted scores of a model."""
        return self.scores[model][self.order[model]]

    def shares(self, model: int) -> np.ndarray:
        """The share of this class below a score with so many sorted rows below it, twice: a tie counts once."""
        ranked, mass = self.ranked(model), running_sums(self.own[self.order[model]])
        first, last = tie_groups(ranked)
        table = np.repeat(mass, 2)[:-1]  # at odd places only ties have a meaning
        table[first + last] = 0.5 * (mass[first] + mass[last])
        return table / mass[-1]


def tie_groups(ranked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each group of equal sorted scores begins, and where it ends."""
    # compared, not subtracted: the difference of two infinities would be NaN
    first = np.concatenate([[0], np.flatnonzero(ranked[1:] != ranked[:-1]) + 1])
    return first, np.append(first[1:], len(ranked))


class PartitionedSample(NamedTuple):
    """What areas and their covariance need of scores in parts; as long as the rarer class."""

    few_is_pos: bool
    few: RarerClass
    placed: np.ndarray
    """(models, 2 rows + 1): the weight of the larger class with so many rows of the rarer one below it, twice."""
    mass: float
    """The weight of the larger class."""
    rows: int
    squares: np.ndarray
    """(models + 1, models + 1): sums of w^2 (1, V)(1, V)' over the larger class, V the share of the rarer below."""
    fourths: np.ndarray
    """(models, 5): sums of w^4 (1, V, ..., V^4) over the larger class."""
    weighted: bool = False

    @property
    def units(self) -> tuple[int, int]:
        """Positive and negative rows."""
        few, many = len(self.few.own), self.rows
        return (few, many) if self.few_is_pos else (many, few)

    @property
    def trials(self) -> int:
        """Disjoint pairs of rows."""
        return min(self.units)

    @property
    def counts(self) -> dict[str, Any]:
        """Rows of each class, as results tell them."""
        return dict(zip(("n_positive", "n_negative", "n_groups"), (*self.units, None), strict=True))

    def is_plain(self, fewest: int) -> bool:
        """Whether rows are of one weight, and each class has at least `fewest` of them."""
        return not self.weighted and self.trials >= fewest

    def _shares(self) -> np.ndarray:
        """(models, rows): the share of the larger class below each row of the rarer, ties one half, in their order."""
        out = np.empty_like(self.few.scores)
        for model, placed in enumerate(self.placed):
            out[model][self.few.order[model]] = 1.0 - 0.5 * twice_above(self.few.ranked(model), placed) / self.mass
        return out

    def areas(self) -> np.ndarray:
        """The AUC of each model."""
        beaten = self._shares() @ self.few.own / self.few.own.sum()
        return beaten if self.few_is_pos else 1.0 - beaten

    def standard_error(self, contrast: Sequence[float]) -> float:
        """DeLong's, of a contrast of areas; weighted where rows are."""
        (of_few, of_many), n = self._products(), len(self.few.own)
        covariance = of_few * (n / (n - 1.0)) + of_many * (self.rows / (self.rows - 1.0))
        return float(np.sqrt(max(float(np.dot(contrast, covariance @ contrast)), 0.0)))

    def degrees(self) -> float:
        """Degrees of freedom of the variance of the first model's area."""
        of_few, of_many = self._products()
        mean = 1.0 - float(self._shares()[0] @ self.few.own) / self.few.own.sum()
        power = np.array([mean**4, -4.0 * mean**3, 6.0 * mean**2, -4.0 * mean, 1.0])
        fourths = np.sum(self._terms()[0] ** 4), max(float(self.fourths[0] @ power), 0.0) / self.mass**4
        return degrees_of_sums((of_few[0, 0], of_many[0, 0]), fourths, (len(self.few.own), self.rows))

    def welch_degrees(self, contrast: Sequence[float]) -> float:
        """Degrees of freedom of the variance of a contrast of areas."""
        second = [float(np.dot(contrast, products @ contrast)) for products in self._products()]
        return welch_degrees(np.maximum(second, 0.0), (len(self.few.own), self.rows))

    def _terms(self) -> np.ndarray:
        """(models, rows): what each row of the rarer class adds to the error of an area."""
        share, shares = self.few.own / self.few.own.sum(), self._shares()
        terms = share * (shares - (shares @ share)[:, None])
        terms[np.ptp(shares, axis=1) <= SHARE_ROUNDING] = 0.0
        return terms

    def _products(self) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the rarer and over the larger class of products of two models' terms."""
        # sum w^2 (V - A)(V - A)', from the sums of w^2 (1, V)(1, V)'; V is the share below, so A = 1 - beaten.
        terms, mean = self._terms(), 1.0 - self._shares() @ (self.few.own / self.few.own.sum())
        left = np.column_stack([-mean, np.eye(len(mean))])
        of_many = left @ self.squares @ left.T
        of_many[np.abs(of_many) <= 10.0 * SHARE_ROUNDING * self.squares[0, 0]] = 0.0
        return terms @ terms.T, of_many / self.mass**2

    def compressed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(is_pos, place, weight): few rows with the ROC curve of the first model, one for each place with weight."""
        first, last = tie_groups(self.few.ranked(0))
        own = np.add.reduceat(self.few.own[self.few.order[0]], first)
        between, tied = self.placed[0][2 * np.append(first, len(self.few.own))], self.placed[0][first + last]
        level = np.arange(len(first))
        place = np.concatenate([2 * level + 1, 2 * np.arange(len(between)), 2 * level + 1])
        weight = np.concatenate([own, between, tied])
        is_few = np.arange(len(place)) < len(own)
        kept = weight > 0.0
        return (is_few if self.few_is_pos else ~is_few)[kept], place[kept], weight[kept]


class PartLabels(NamedTuple):
    """The labels of a part, and the rows of the one that is rarer in it."""

    counts: dict
    label: Any
    scores: np.ndarray
    weight: np.ndarray


def part_labels(part: Part, owner: str) -> PartLabels:
    """The labels of a part, and scores and weights of the rarer of two; none where there is but one."""
    counts = counted(owner, part.number, part.y, part.weight)
    rarer = min(counts, key=lambda label: counts[label].weighed) if len(counts) == 2 and None not in counts else None
    return PartLabels(counts, rarer, *part_members(part, rarer))


def all_labels(summaries: list[PartLabels]) -> tuple[list[dict], list]:
    """The labels of each part, and which one's rows it gave."""
    return [each.counts for each in summaries], [each.label for each in summaries]


def gather_labels(summaries: list[PartLabels]) -> RarerClass:
    """The rows that the summaries of all parts have, in one place."""
    return gather([(each.scores, each.weight) for each in summaries])


def part_members(part: Part, label: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores and weights of a part's rows of one class."""
    at = part.members(label)
    return part.X[at], part.weights(at)


def gather(of_parts: list[tuple[np.ndarray, np.ndarray]]) -> RarerClass:
    """The rows of all parts in one place, with their order."""
    scores = np.ascontiguousarray(np.concatenate([scores for scores, _ in of_parts]).T)
    return RarerClass(scores, np.concatenate([own for _, own in of_parts]), np.argsort(scores, axis=1, kind="stable"))


def part_places(part: Part, label: Any, few: RarerClass) -> Totals:
    """The counts at each place, the weight, the rows, the squares and the fourths of the larger class in a part."""
    at = part.members(label)
    own = None if part.weight is None else part.weight[at]
    counts, shares = [], [np.ones(len(at))]
    for model in range(few.scores.shape[0]):
        twice = twice_below(few.ranked(model), np.ascontiguousarray(part.X[at, model]))
        counts.append(np.bincount(twice, own, minlength=2 * few.scores.shape[1] + 1).astype(np.float64))
        shares.append(few.shares(model)[twice])
    terms = np.array(shares) if own is None else own * np.array(shares)
    mass = float(len(at)) if own is None else float(own.sum())
    power = np.ones(len(at)) if own is None else own**4
    fourths = np.array([power @ np.vander(share, 5, increasing=True) for share in shares[1:]])
    return Totals([np.array(counts), mass, len(at), terms @ terms.T, fourths])


def sample_anywhere(
    owner: str,
    y: Any,
    scores: dict[str, Any],
    *,
    method: str = "delong",
    whole: bool = True,
    sample_weight: Any = None,
    groups: Any = None,
    pos_label: Any = None,
) -> Sample | PartitionedSample:
    """Checked rows with at least two of each class, in memory or in a Dask collection."""
    parts = partitioned_columns(owner, y, list(scores.values()), sample_weight, only_ranked=False)
    if parts is None:
        rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
        return checked_sample(owner, y, scores, **rows)
    if method != "delong" or groups is not None or not whole:
        asked = "groups" if groups is not None else "a part of the curve" if not whole else f"method={method!r}"
        raise ValueError(
            f"{owner} of dask collections must be asked for the whole area by method='delong'; got {asked}. "
            "Compute the columns first: they then fit in memory, or a sample of them does."
        )
    sample = place_classes(owner, parts, declared_positive(y, pos_label))
    if sample is None or sample.trials < 2:
        fewest = 0 if sample is None else sample.trials
        raise ValueError(f"{owner} expects at least 2 rows of each class, for a variance. Got {fewest} of one instead.")
    return sample._replace(weighted=sample_weight is not None)


def place_classes(owner: str, parts: Dataset, pos_label: Any) -> PartitionedSample | None:
    """The larger class placed among the rarer one; None where there is one class only."""
    summaries = parts.persist(parts.map(part_labels, owner))
    counts, given = parts.compute(parts.merge(all_labels, summaries))
    totals = _rows_by_label(owner, counts, pos_label)
    if len(totals) < 2 or not all(totals.values()):
        return None
    positive = max(totals) if pos_label is None else pos_label
    negative = next(label for label in totals if label != positive)
    few, many = (positive, negative) if totals[positive] <= totals[negative] else (negative, positive)
    if all(label == few if label is not None else few not in part for label, part in zip(given, counts, strict=True)):
        gathered = parts.persist(parts.merge(gather_labels, summaries))
    else:  # what is rarer in some part is not so in all
        gathered = parts.persist(parts.merge(gather, parts.map(part_members, few)))
    del summaries
    placed = parts.compute(parts.reduce(part_places, many, gathered))
    return PartitionedSample(few == positive, parts.compute(gathered), *placed)


def _rows_by_label(owner: str, counts: list[dict], pos_label: Any) -> dict[Any, int]:
    """How many rows of each label weigh something; raises where labels are missing or too many."""
    labels = sorted({label for part in counts for label in part if label is not None})
    if any(None in part for part in counts):
        number = next(number for number, part in enumerate(counts) if None in part)
        raise missing_label(f"a missing one in partition {number}", owner=owner, parameter="y_true")
    if len(labels) > 2:
        raise ValueError(f"y_true of {owner} must hold two labels; got {len(labels)}: {labels[:3]}. Use y == label.")
    if pos_label is None:
        refuse_text(owner, labels)
    elif pos_label not in labels:
        got = quoted_value(pos_label)
        raise ValueError(f"The 'pos_label' parameter of {owner} must be a label of y_true. Got {got} instead.")
    return {label: sum(part[label].weighed for part in counts if label in part) for label in labels}
