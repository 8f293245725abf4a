"""Profiles: counts of what a model has learnt from, to be compared with what it scores later. No row is kept."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from auclid.baselines import scores as scores_of
from auclid.baselines import threshold as own_threshold
from auclid.columns._levels import TextCounts, count_texts
from auclid.data.encoding import Column, as_numbers, as_texts, is_missing, table_columns
from auclid.errors import InvalidValueError
from auclid.metrics import auc_interval, concordance_interval
from auclid.metrics._stability import bin_counts, bin_edges
from auclid.monitoring.chart import auc_standard_error
from auclid.ordered._meta import ranks_order
from auclid.validation import decoded_parts, own_columns, own_labels
from auclid.validation.outcomes import group_codes, ordered_values, survival_target

ORDER = np.dtype([("value", np.float64), ("event", np.int8), ("group", object)])
"""What a row is ordered by: a level or time, NaN where it is not known yet; 1 of an event, 0 of a censored time and
`NO_EVENT` of a level; the group that it is compared within."""

NO_EVENT = -1
"""In place of an event: a greater value is ranked above, not an earlier time."""

COLUMN_BINS, SCORE_BINS = 10, 20
"""Bins of a column of numbers, and of the scores."""

MAX_COUNTED_LEVELS = 50
"""Levels of a category that are counted one by one, the most frequent ones."""

PART_VALUES = 2_000
"""Values of a column, of each part of the rows, from which the edges of its bins come."""

PROFILE_FORMAT = "auclid-profile"


class ColumnProfile(NamedTuple):
    """Counts of a column: of bins between edges, or of levels and all other levels; and of missing values."""

    name: str
    """The column; "score" for the score."""
    kind: str
    """"number", "date" or "text"."""
    edges: list[float]
    """Upper edges of the bins of a number or date, all but the last."""
    levels: list[str]
    """Levels of a text that are counted one by one."""
    counts: list[int]
    """Rows of each bin or level, of all other levels, and (last) missing ones; a number has no other levels."""
    low: float | None
    """The least number; None where there is none."""
    high: float | None
    """The greatest number; None where there is none."""

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(self.counts)


class Profile(NamedTuple):
    """Counts of the columns and the scores of some rows, and how well the model ranked them."""

    rows: int
    """All rows."""
    columns: list[ColumnProfile]
    """The columns that the model takes."""
    score: ColumnProfile
    """The scores of the rows."""
    alert_rate: float | None
    """The share of rows that the model calls positive."""
    positives: float | None
    """The share of positive rows, where there were labels."""
    auc: float | None
    """The AUC that the model is expected to have: None where only training rows are known."""
    auc_se: float | None
    """Its standard error."""
    spreads: tuple[float, float] | None
    """The variances of the placements of positives and of negatives, where the AUC was measured: divided by the
    numbers of rows, they add up to the variance of an AUC."""

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold; `Profile.from_dict` reads it."""
        columns = [column._asdict() for column in self.columns]
        return {"format": PROFILE_FORMAT, **self._asdict(), "columns": columns, "score": self.score._asdict()}

    @classmethod
    def from_dict(cls, told: Any) -> "Profile":
        """The profile that `to_dict` wrote."""
        if not isinstance(told, dict) or told.get("format") != PROFILE_FORMAT:
            raise InvalidValueError("A profile must be a dict that Profile.to_dict wrote; got something else.")
        try:
            fields = {name: told[name] for name in cls._fields}
            columns = [ColumnProfile(**column) for column in told["columns"]]
            spreads = None if told["spreads"] is None else tuple(map(float, told["spreads"]))
            return cls(**{**fields, "columns": columns, "score": ColumnProfile(**told["score"]), "spreads": spreads})
        except (KeyError, TypeError):
            raise InvalidValueError(
                "A profile must have all the fields that Profile.to_dict writes; some lack."
            ) from None


def profile(model: Any, X: Any, y: Any = None, *, held_out: bool = False, groups: Any = None) -> Profile:
    """Count the training rows of a model, so that `monitor` can tell later what has changed.

    Parameters
    ----------
    model : fitted classifier or ranker of ordered rows
    X : array, frame, `Rows` or dask collection of shape (n, d)
        The rows that the model was fitted to, or others of the same kind.
    y : array of shape (n,), optional
        Their labels, or levels or times; `Rows` have their own labels.
    held_out : bool, default=False
        Whether the model has not seen these rows. Then their AUC is what is expected of it later; else that is the
        cross-validated AUC of the model, where it has one (`AUCClassifier`, `Scorecard`). For ordered rows it is the
        concordance.
    groups : array of shape (n,), optional
        For a ranker of ordered rows: only rows of one group are compared.

    Returns
    -------
    Profile
        Counts only: edges of bins, levels of categories, and how many rows have each. ``to_dict()`` can go into a model
        file: ``auclid.save(path, model, about={"profile": counts.to_dict()})``.

    Examples
    --------
    >>> from auclid import LeastSquaresAUC
    >>> from auclid.datasets import load_mammography
    >>> from auclid.monitoring import profile
    >>> X, y = load_mammography(return_X_y=True)
    >>> counts = profile(LeastSquaresAUC().fit(X, y), X, y)
    >>> counts.rows, len(counts.columns), counts.score.rows
    (11183, 6, 11183)
    """
    scores = model_scores(model, X)
    columns = profile_columns(X)
    if ranks_order(model):
        order = None if y is None or not held_out else outcomes("profile", y, groups)
        counts = number_profile("score", "number", scores, SCORE_BINS)
        value, _, _, se = (None,) * 4 if order is None else order_concordance(order, scores)
        return Profile(len(scores), columns, counts, None, None, value, se, None)
    y = own_labels(X, y)
    is_pos = None if y is None else np.asarray(y) == model.classes_[1]
    expected = expected_auc(model, scores, is_pos, held_out)
    alert_rate = float(np.mean(called_positive(model, scores)))
    positives = None if is_pos is None else float(np.mean(is_pos))
    counts = number_profile("score", "number", scores, SCORE_BINS)
    return Profile(len(scores), columns, counts, alert_rate, positives, *expected)


def unknown_order(count: int) -> np.ndarray:
    """The order of rows of which nothing is known yet."""
    order: np.ndarray = np.empty(count, dtype=ORDER)
    order["value"], order["event"], order["group"] = np.nan, NO_EVENT, 0
    return order


def outcomes(owner: str, y: Any, groups: Any) -> np.ndarray:
    """What rows are ordered by, an `ORDER` each: of levels (NaN: not known yet), or of events and times."""
    event: Any = NO_EVENT
    if getattr(getattr(y, "dtype", None), "names", None) or hasattr(y, "columns"):
        survival = survival_target(owner, y)
        values, event = survival.time, survival.event
    else:
        missing = np.array([is_missing(each) for each in np.asarray(y).tolist()], dtype=bool)
        values = np.full(len(missing), np.nan)
        values[~missing] = ordered_values(owner, "y", np.asarray(y)[~missing] if missing.any() else y)
    order, own = unknown_order(len(values)), group_codes(owner, groups, len(values))
    order["value"], order["event"] = values, event
    if own is not None:
        order["group"] = own
    return order


def order_concordance(order: np.ndarray, scores: np.ndarray) -> tuple[float, float, float, float]:
    """The concordance of scores with outcomes, the ends of its interval and its standard error; groups are clusters."""
    codes = np.unique(order["group"].astype(str), return_inverse=True)[1]
    groups = codes if codes.any() else None
    event = None if (order["event"] == NO_EVENT).any() else order["event"] == 1
    interval = concordance_interval(order["value"], scores, event=event, groups=groups, clusters=groups)
    return interval.concordance, interval.low, interval.high, interval.se


def model_scores(model: Any, X: Any) -> np.ndarray:
    """The scores of all rows, wherever they are."""
    return np.asarray(scores_of(model, X), dtype=np.float64).ravel()


def called_positive(model: Any, scores: np.ndarray, threshold: float | None = None) -> np.ndarray:
    """Which rows are alerts: those above a threshold, or those that the model calls positive."""
    return scores > (own_threshold(model) if threshold is None else threshold)


Expected = tuple[float | None, float | None, tuple[float, float] | None]


def expected_auc(model: Any, scores: np.ndarray, is_pos: np.ndarray | None, held_out: bool) -> Expected:
    """The AUC of held-out rows, its standard error and spreads, or what cross-validation found in the training rows."""
    both = is_pos is not None and bool(is_pos.any()) and not is_pos.all()
    if held_out and is_pos is not None and 2 <= is_pos.sum() <= len(is_pos) - 2:  # as an interval needs
        measured = auc_interval(is_pos, scores)
        return measured.auc, measured.se, placement_spreads(is_pos, scores)
    line = _chosen_line(model)
    if line is not None:
        return float(line.auc), float(line.high - line.low) / (2.0 * 1.96), None
    aucs = getattr(model, "cv_auc_", None)
    if not both or not isinstance(aucs, float) or not np.isfinite(aucs):
        return None, None, None
    assert is_pos is not None
    return float(aucs), auc_standard_error(aucs, int(is_pos.sum()), int((~is_pos).sum())), None


def _chosen_line(model: Any) -> Any:
    """The line of the leaderboard for the model in use, where it has an AUC; else None."""
    names = (getattr(model, "best_", None), "blend")
    line = next((line for line in getattr(model, "leaderboard_", []) if line.name in names), None)
    return line if line is not None and np.isfinite(line.auc) else None


def placement_spreads(is_pos: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """The variance of the share of the other class that a positive, and a negative, is ranked right of."""
    n_pos, n_neg = int(is_pos.sum()), int((~is_pos).sum())
    every = rankdata(scores)
    pos = (every[is_pos] - rankdata(scores[is_pos])) / n_neg
    neg = (every[~is_pos] - rankdata(scores[~is_pos])) / n_pos
    return float(pos.var(ddof=1 if n_pos > 1 else 0)), float(neg.var(ddof=1 if n_neg > 1 else 0))


# Counting columns, part by part


def profile_columns(X: Any) -> list[ColumnProfile]:
    """The counts of all columns, in two passes over the rows: edges and levels, then bins."""
    names = own_columns(X)
    sketches = [each for each in decoded_parts("monitoring", X, sketch_columns) if each]
    merged = [merge_sketches([part[k] for part in sketches]) for k in range(len(sketches[0]))]
    counted = decoded_parts("monitoring", X, ColumnCounter(merged))
    out = []
    for k, sketch in enumerate(merged):
        counts = np.sum([part[k].counts for part in counted if part], axis=0).tolist()
        name = sketch.name if names is None else str(names[k])
        out.append(sketch.profile(name, [int(count) for count in counts]))
    return out


class Sketch(NamedTuple):
    """What a part tells of a column before its bins are known."""

    name: str
    kind: str
    values: np.ndarray
    """Some numbers, evenly spread over the sorted ones of the part."""
    weight: np.ndarray
    texts: TextCounts
    low: float
    high: float

    @property
    def edges(self) -> list[float]:
        """The edges of the bins."""
        return bin_edges(self.values, COLUMN_BINS, self.weight).tolist()

    @property
    def levels(self) -> list[str]:
        """The levels that are counted one by one."""
        rows = {text: count for text, (count, _) in self.texts.items() if text is not None}
        return sorted(sorted(rows, key=lambda text: (-rows[text], text))[:MAX_COUNTED_LEVELS])

    def profile(self, name: str, counts: list[int]) -> ColumnProfile:
        """The profile with these counts."""
        ends = [None if np.isnan(end) else float(end) for end in (self.low, self.high)]
        is_text = self.kind == "text"
        return ColumnProfile(
            name, self.kind, [] if is_text else self.edges, self.levels if is_text else [], counts, *ends
        )


def sketch_columns(table: Any) -> list[Sketch]:
    """The sketches of a part's columns; nothing of a part without rows."""
    return [_sketch(column) for column in table_columns("monitoring", table)] if table.shape[0] else []


def _sketch(column: Column) -> Sketch:
    nothing = np.zeros(0)
    if column.kind in ("category", "text"):
        return Sketch(column.name, "text", nothing, nothing, count_texts(as_texts(column)), np.nan, np.nan)
    values = as_numbers("monitoring", column)
    there = np.sort(values[~np.isnan(values)])
    some = (
        there[np.unique(np.linspace(0, len(there) - 1, min(len(there), PART_VALUES)).astype(np.intp))]
        if len(there)
        else there
    )
    weight = np.full(len(some), len(there) / max(len(some), 1))
    ends = (there[0], there[-1]) if len(there) else (np.nan, np.nan)
    kind = "date" if column.kind == "date" else "number"
    return Sketch(column.name, kind, some, weight, TextCounts(), float(ends[0]), float(ends[1]))


def merge_sketches(parts: Sequence[Sketch]) -> Sketch:
    """One sketch of a column; it is of texts where any part is."""
    kinds = {part.kind for part in parts if len(part.values) or part.texts} or {parts[0].kind}
    texts = sum((part.texts for part in parts), TextCounts())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of parts without any number
        low, high = np.nanmin([part.low for part in parts]), np.nanmax([part.high for part in parts])
    values, weight = (np.concatenate(each) for each in zip(*((p.values, p.weight) for p in parts), strict=True))
    kind = "text" if "text" in kinds else "date" if "date" in kinds else "number"
    return Sketch(parts[0].name, kind, values, weight, texts, float(low), float(high))


def number_profile(name: str, kind: str, values: np.ndarray, bins: int) -> ColumnProfile:
    """The profile of numbers in memory."""
    edges = bin_edges(values, bins)
    counts, ends = bin_counts(values, edges).tolist(), (np.nanmin(values), np.nanmax(values))
    return ColumnProfile(name, kind, edges.tolist(), [], counts, float(ends[0]), float(ends[1]))


class PartCounts(NamedTuple):
    """The counts of a part in the bins of a profile, and what the profile has never seen."""

    counts: np.ndarray
    unseen: TextCounts
    """Levels that the profile does not know, where it knows all there were."""
    outside: int
    """Numbers below the least or above the greatest one."""


def count_column(column: Column, known: Any) -> PartCounts:
    """The counts of a column in the bins of a profile or sketch."""
    if known.kind == "text":
        levels = known.levels
        index: dict = {level: k for k, level in enumerate(levels)} | {None: len(levels) + 1}
        texts = as_texts(column)
        places = [index.get(text, len(levels)) for text in texts]
        other = count_texts(np.array([text for text in texts if text not in index], dtype=object))
        return PartCounts(np.bincount(places, minlength=len(levels) + 2), other, 0)
    values = as_numbers("monitoring", column._replace(kind=known.kind))
    low, high = (np.nan if end is None else end for end in (known.low, known.high))
    with np.errstate(invalid="ignore"):
        outside = int(np.sum((values < low) | (values > high)))
    return PartCounts(bin_counts(values, np.asarray(known.edges)), TextCounts(), outside)


class ColumnCounter:
    """Counts the columns of a part in the bins of known columns: a function that can be sent to a cluster."""

    def __init__(self, known: Sequence[Any]) -> None:
        self.known = list(known)

    def __call__(self, table: Any) -> list[PartCounts]:
        if not table.shape[0]:
            return []
        columns = table_columns("monitoring", table)
        if len(columns) != len(self.known):
            raise InvalidValueError(
                f"Rows to monitor must have the {len(self.known)} columns of the profile; got {len(columns)}."
            )
        return [count_column(column, known) for column, known in zip(columns, self.known, strict=True)]
