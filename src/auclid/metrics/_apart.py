"""Areas of scores that lie in the partitions of a dask collection: the larger class is placed into the rarer one.

The scores of the rarer class are gathered and sorted; each partition places its own rows of the larger class among
them. What it gives are sums, and for each place how much of the larger class lies there: these add up.
"""

from typing import Any, NamedTuple

import numpy as np

from auclid.data.dask import DaskDataset, counted, is_dask, vector_parts
from auclid.data.dataset import Part, Totals
from auclid.metrics._variance import degrees_of_sums, welch_degrees
from auclid.stats.pair_sums import count_below, merged_counts, running_sums
from auclid.validation.vectors import declared_positive, refuse_text

ROUNDING = 1e-14
"""Shares that are closer than this are equal, but for rounding."""


def lie_apart(*columns: Any) -> bool:
    """Whether one of the columns is a dask collection."""
    return any(is_dask(column) for column in columns)


class Gathered(NamedTuple):
    """The rarer class: scores (models, rows) and weights as the partitions have them; for each model, their order."""

    scores: np.ndarray
    own: np.ndarray
    order: np.ndarray


class PlacedClasses(NamedTuple):
    """All that areas and their variances need, as long as the rarer class."""

    few_is_pos: bool
    gathered: Gathered
    below: np.ndarray
    """(models, rows + 1): the weight of the larger class that has so many sorted rows below it."""
    not_above: np.ndarray
    """The same for sorted rows that are not above it."""
    mass: float
    """The weight of the larger class."""
    rows: int
    squares: np.ndarray
    """(models + 1, models + 1): sums of w^2 (1, V)(1, V)' over the larger class, V the share of the rarer below."""
    fourths: np.ndarray
    """(models, 5): sums of w^4 (1, V, ..., V^4) over the larger class."""

    @property
    def shares(self) -> np.ndarray:
        """(models, rows): the share of the larger class below each row of the rarer, ties one half, in their order."""
        sums = 0.5 * (np.cumsum(self.below, axis=1) + np.cumsum(self.not_above, axis=1))[:, :-1] / self.mass
        out = np.empty_like(sums)
        np.put_along_axis(out, self.gathered.order, sums, axis=1)
        return out

    @property
    def areas(self) -> np.ndarray:
        """The AUC of each model."""
        own = self.gathered.own
        beaten = self.shares @ own / own.sum()
        return beaten if self.few_is_pos else 1.0 - beaten

    def covariance(self) -> np.ndarray:
        """DeLong's covariance of the areas, weighted where rows are."""
        few, many = self._products()
        n = len(self.gathered.own)
        own = few * (n / (n - 1.0)) if n > 1 else np.full(few.shape, np.nan)
        return own + many * (self.rows / (self.rows - 1.0))

    def degrees(self) -> float:
        """Degrees of freedom of the variance of the first model's area."""
        few, many = self._products()
        mean = float(self._centre[0])
        power = np.array([mean**4, -4.0 * mean**3, 6.0 * mean**2, -4.0 * mean, 1.0])
        fourth = np.sum(self._terms[0] ** 4), max(float(self.fourths[0] @ power), 0.0) / self.mass**4
        counts = len(self.gathered.own), self.rows
        return degrees_of_sums((few[0, 0], many[0, 0]), fourth, counts, self.trials - 1.0)

    def welch_degrees(self, contrast: np.ndarray) -> float:
        """Degrees of freedom of the variance of a contrast of areas."""
        second = [float(contrast @ part @ contrast) for part in self._products()]
        return welch_degrees(np.maximum(second, 0.0), (len(self.gathered.own), self.rows))

    @property
    def _terms(self) -> np.ndarray:
        """(models, rows): what each row of the rarer class adds to the error of an area."""
        share, shares = self.gathered.own / self.gathered.own.sum(), self.shares
        terms = share * (shares - (shares @ share)[:, None])
        terms[np.ptp(shares, axis=1) <= ROUNDING] = 0.0
        return terms

    @property
    def _centre(self) -> np.ndarray:
        """The mean of V over the larger class, for each model."""
        return 1.0 - self.shares @ (self.gathered.own / self.gathered.own.sum())

    def _products(self) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the rarer and over the larger class of products of two models' terms."""
        # sum w^2 (V - A)(V - A)', from the sums of w^2 (1, V)(1, V)'; V is the share below, so A = 1 - beaten.
        left = np.column_stack([-self._centre, np.eye(len(self._centre))])
        many = left @ self.squares @ left.T
        many[np.abs(many) <= 10.0 * ROUNDING * self.squares[0, 0]] = 0.0
        return self._terms @ self._terms.T, many / self.mass**2

    @property
    def counts(self) -> dict[str, Any]:
        """Rows of each class, as results tell them."""
        few, many = len(self.gathered.own), self.rows
        n_pos, n_neg = (few, many) if self.few_is_pos else (many, few)
        return {"n_positive": n_pos, "n_negative": n_neg, "n_groups": None}

    @property
    def trials(self) -> int:
        """Disjoint pairs of rows."""
        return min(len(self.gathered.own), self.rows)

    def compressed(self, model: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(is_pos, place, weight): few rows with the same ROC curve, one for each place that holds some weight."""
        scores = self.gathered.scores[model][self.gathered.order[model]]
        own = self.gathered.own[self.gathered.order[model]]
        new = scores[1:] != scores[:-1]  # a difference of two infinities would be NaN
        first = np.concatenate([[0], np.flatnonzero(new) + 1])
        levels = np.cumsum(np.concatenate([[0], new]))
        few = np.bincount(levels, own)
        tied_or_below = running_sums(self.not_above[model])[1:]
        strictly = running_sums(self.below[model])[1:]
        ends = np.append(first[1:], len(scores))
        # Below a level are those with at most `first` sorted rows not above them; with ties, at most `first` below.
        under, with_ties = tied_or_below[first], strictly[first]
        many = np.diff(np.concatenate([[0.0], np.ravel(np.column_stack([under, with_ties])), [strictly[ends[-1]]]]))
        place = np.concatenate([2 * np.arange(len(few)) + 1, np.arange(len(many))])
        weight = np.concatenate([few, np.maximum(many, 0.0)])
        is_pos = np.arange(len(place)) < len(few)
        kept = weight > 0.0
        return (is_pos if self.few_is_pos else ~is_pos)[kept], place[kept], weight[kept]


class First(NamedTuple):
    """What a first look at a part tells: its labels, and the rows of the one that is rarer in it."""

    counts: dict
    label: Any
    scores: np.ndarray
    weight: np.ndarray


def part_first(part: Part, owner: str) -> First:
    """The labels of a part, and scores and weights of the rarer of two; none where there is but one."""
    counts = counted(owner, part.number, part.y, part.weight)
    rarer = min(counts, key=lambda label: counts[label].weighed) if len(counts) == 2 and None not in counts else None
    return First(counts, rarer, *part_few(part, rarer))


def first_counts(found: list[First]) -> tuple[list[dict], list]:
    """The labels of each part, and which one's rows it gave."""
    return [each.counts for each in found], [each.label for each in found]


def gather_first(found: list[First]) -> Gathered:
    """`gather` of the rows that a first look gave."""
    return gather([(each.scores, each.weight) for each in found])


def part_few(part: Part, label: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores and weights of a part's rows of one class."""
    at = part.members(label)
    return part.X[at], part.weights(at)


def gather(found: list[tuple[np.ndarray, np.ndarray]]) -> Gathered:
    """The rows of all parts in one place, with their order."""
    scores = np.ascontiguousarray(np.concatenate([each[0] for each in found]).T)
    return Gathered(scores, np.concatenate([each[1] for each in found]), np.argsort(scores, axis=1, kind="stable"))


def part_places(part: Part, label: Any, few: Gathered) -> Totals:
    """What the rows of the larger class in a part add."""
    at = part.members(label)
    if part.weight is None and few.scores.shape[0] == 1:
        return _merged(np.sort(part.X[at, 0]), few)
    own = part.weights(at)
    n, below, not_above, shares = few.scores.shape[1], [], [], [np.ones(len(at))]
    for model in range(few.scores.shape[0]):
        ranked, score = few.scores[model][few.order[model]], np.ascontiguousarray(part.X[at, model])
        places, upper = count_below(ranked, score), count_below(ranked, np.nextafter(score, np.inf))
        upper[score == np.inf] = n
        mass = running_sums(few.own[few.order[model]])
        below.append(np.bincount(places, own, minlength=n + 1))
        not_above.append(np.bincount(upper, own, minlength=n + 1))
        shares.append(0.5 * (mass[places] + mass[upper]) / mass[-1])
    terms = own * np.array(shares)
    fourths = [own**4 @ np.vander(share, 5, increasing=True) for share in shares[1:]]
    return Totals([np.array(below), np.array(not_above), float(own.sum()), len(at), terms @ terms.T, np.array(fourths)])


def _merged(many: np.ndarray, few: Gathered) -> Totals:
    """`part_places` of one model without weights: two sorted lists are walked through once."""
    ranked = few.scores[0][few.order[0]]
    below, not_above, squares = merged_counts(ranked, many)
    n, m = len(ranked), len(many)
    places = np.arange(n + 1, dtype=np.float64)
    first = 0.5 * (float(below @ places) + float(not_above @ places)) / n
    terms = np.array([[float(m), first], [first, squares / (4.0 * n * n)]])
    masses = below[None].astype(np.float64), not_above[None].astype(np.float64)
    return Totals([*masses, float(m), m, terms, _powers(ranked, below, not_above)])


def _powers(ranked: np.ndarray, below: np.ndarray, not_above: np.ndarray) -> np.ndarray:
    """(1, 5): sums of (1, V, ..., V^4), from how many rows have so many sorted ones below and not above them.

    Between two different sorted scores the two numbers are one; at a score they are its first and its last place.
    """
    n = len(ranked)
    first = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    last = np.append(first[1:], n)
    tied = np.cumsum(below)[first] - np.cumsum(not_above)[first]  # not below the score, and not above it
    ends = np.append(first, n)
    between = not_above[ends].astype(np.float64)
    between[1:] -= tied
    share = np.concatenate([ends / n, 0.5 * (first + last) / n])
    return (np.concatenate([between, tied]) @ np.vander(share, 5, increasing=True))[None]


def whole_and_plain(owner: str, method: str, groups: Any, whole: bool) -> None:
    """Refuse what partitions cannot answer."""
    if method != "delong" or groups is not None or not whole:
        asked = "groups" if groups is not None else "a part of the curve" if not whole else f"method={method!r}"
        raise ValueError(
            f"{owner} of dask collections must be asked for the whole area by method='delong'; got {asked}. "
            "Compute the columns first: they then fit in memory, or a sample of them does."
        )


def placed_both(owner: str, y: Any, scores: list[Any], weight: Any, pos_label: Any) -> PlacedClasses:
    """`placed_classes`, with at least two rows of each class."""
    found = placed_classes(owner, y, scores, weight, pos_label, only_ranked=False)
    if found is None or found.trials < 2:
        fewest = 0 if found is None else found.trials
        raise ValueError(f"{owner} expects at least 2 rows of each class, for a variance. Got {fewest} of one instead.")
    return found


def placed_classes(
    owner: str, y: Any, scores: list[Any], weight: Any, pos_label: Any, only_ranked: bool = True
) -> PlacedClasses | None:
    """The larger class placed into the rarer; None where there is one class only."""
    parts: DaskDataset = vector_parts(owner, y, scores, weight, only_ranked)
    pos_label = declared_positive(y, pos_label)
    first = parts.persist(parts.map(part_first, owner))
    counts, given = parts.compute(parts.merge(first_counts, first))
    totals = _rows_by_label(owner, counts, pos_label)
    if len(totals) < 2 or not all(totals.values()):
        return None
    positive = max(totals) if pos_label is None else pos_label
    negative = next(label for label in totals if label != positive)
    few, many = (positive, negative) if totals[positive] <= totals[negative] else (negative, positive)
    if all(label == few if label is not None else few not in part for label, part in zip(given, counts, strict=True)):
        gathered = parts.persist(parts.merge(gather_first, first))
    else:  # what is rarer in some part is not so in all
        gathered = parts.persist(parts.merge(gather, parts.map(part_few, few)))
    del first
    sums = parts.compute(parts.reduce(part_places, many, gathered))
    return PlacedClasses(few == positive, parts.compute(gathered), *sums)


def _rows_by_label(owner: str, counts: list[dict], pos_label: Any) -> dict[Any, int]:
    """How many rows of each label weigh something; raises where labels are missing or too many."""
    labels = sorted({label for part in counts for label in part if label is not None})
    if any(None in part for part in counts):
        raise ValueError(f"y_true of {owner} must have a label in each row; some are missing.")
    if len(labels) > 2:
        raise ValueError(f"y_true of {owner} must hold two labels; got {len(labels)}: {labels[:3]}. Use y == label.")
    if pos_label is None:
        refuse_text(owner, labels)
    elif pos_label not in labels:
        raise ValueError(f"The 'pos_label' parameter of {owner} must be a label of y_true. Got {pos_label!r} instead.")
    return {label: sum(part[label].weighed for part in counts if label in part) for label in labels}
