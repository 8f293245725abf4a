"""ConstrainedAUC: the square loss over all pairs under a bound on the gaps between groups."""

import warnings
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid.base import LinearRanker
from auclid.data.types import RowsLike
from auclid.metrics import auc_by_group, roc_auc
from auclid.solvers.iterative import at_most, coordinate_descent, run
from auclid.solvers.least_squares import quadratic, solve_symmetric
from auclid.square._groups import all_groups, group_members, group_moments, joined_groups, sound_groups
from auclid.stats.labelled import LabelledDataset
from auclid.stats.moments import Moments, require_room
from auclid.validation import RowAccess

INSTEAD = "Choose columns, or map them to fewer; SPAM takes any number, without groups."

MULTIPLIER_TOL, MAX_ITER = 1e-14, 100_000
"""Relative change of the multipliers at which coordinate descent stops, and passes over them at the most."""


class GapPoint(NamedTuple):
    """A point of `ConstrainedAUC.gap_curve`."""

    max_gap: float
    """The bound on the surrogate gaps."""
    surrogate_gap: float
    """The largest surrogate gap of the solution: at most ``max_gap``."""
    auc: float
    """The AUC on the rows."""
    gap: float
    """The largest measured gap between two groups: of xAUCs, of AUCs within groups, or the larger of both."""


class ConstrainedAUC(LinearRanker):
    """Least-squares ranker under a bound on the gaps between groups.

    Minimises over all pairs of a positive and a negative row, with z = x⁺ − x⁻,

        mean (1 − w·z)² + (alpha/2) |w|²   subject to   |c_k·w| ≤ max_gap for each pair k of groups (a, b),

    where c_k·w is the mean margin of the positives of a over the negatives of b, less that of the positives of b over
    the negatives of a (the surrogate of the difference of xAUCs), or the difference of the mean margins within a and
    within b. Everything follows from the moments of group and class: the dual has one multiplier for each constraint
    and is solved exactly. Moments of chunks add up, so `partial_fit` and `merge` give the model of one `fit`.

    Parameters
    ----------
    max_gap : float in [0, inf], default=0.05
        Bound on each surrogate gap, in units of the score: the square loss asks for a margin of 1. 0 makes the mean
        margins equal; inf gives `LeastSquaresAUC`.
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty.
    between : {"xauc", "auc", "both"}, default="xauc"
        Which gaps are bounded: of the AUCs across groups, of those within groups, or both.

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit` or `merge`, minus the
        score halfway between the class means. It cannot change an AUC.
    classes_ : array of shape (2,)
    groups_ : array of shape (G,)
        The groups, sorted.
    pairs_ : array of shape (constraints, 2)
        The two groups of each constraint.
    gaps_ : array of shape (constraints,)
        c_k·w at the solution.
    multipliers_ : array of shape (constraints,)
        What a unit of each bound costs in the objective; zero where the constraint is not active.
    residual_ : float
        The largest violation of the optimality conditions (stationarity, feasibility, complementarity), relative.

    Notes
    -----
    The surrogate bounds mean margins, not AUCs: `gap_curve` shows, for a range of bounds, the AUC and the measured
    gaps, and `auclid.metrics.auc_by_group` measures AUCs by group with intervals and tests. A group without rows of a
    class has no constraints.

    References
    ----------
    Kallus & Zhou, "The fairness of risk scores beyond classification: bipartite ranking and the xAUC metric",
    NeurIPS 2019. Narasimhan, Cotter, Gupta & Wang, "Pairwise fairness for ranking and regression", AAAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import ConstrainedAUC
    >>> rng = np.random.default_rng(0)
    >>> y, group = np.arange(600) % 2, np.arange(600) // 400
    >>> X = rng.normal(size=(600, 3)) + y[:, None] * [1.0, 0.5, 0.0] + group[:, None] * [0.0, 1.0, 0.0]
    >>> model = ConstrainedAUC(max_gap=0.05).fit(X, y, group)
    >>> float(abs(model.gaps_).max().round(6)), model.residual_ < 1e-8
    (0.05, True)
    """

    _row_access = RowAccess.PARTS

    _parameter_constraints: dict = {
        "max_gap": [validation.real(0.0, np.inf, closed="both")],
        "alpha": [validation.real()],
        "between": [StrOptions({"xauc", "auc", "both"})],
    }

    def __init__(self, max_gap: float = 0.05, alpha: float = 1e-4, *, between: str = "xauc") -> None:
        self.max_gap = max_gap
        self.alpha = alpha
        self.between = between

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels
        groups : array of shape (n,), optional
            The group of each row. Without groups there are no constraints.
        sample_weight : array of shape (n,), optional
            A pair weighs the product of its two rows' weights.

        Returns
        -------
        self
        """
        rows = self._labelled_dataset(X, y, sample_weight)
        labels, member = self._members(rows.width, groups, rows.n_rows)
        w = self._learn(labels, group_moments(rows, member, len(labels)))
        return self._publish_fit(rows, w)

    @validation.checked
    def partial_fit(
        self, X: RowsLike, y: Any, groups: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add a batch of rows; the model is then that of one `fit` on all rows added so far.

        A batch may hold one class only, and new groups; until both classes were seen, ``coef_`` and all scores are
        zero.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        groups : array of shape (n,), optional
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        table, is_pos, weight, first = self._begin_partial(X, y, classes, sample_weight)
        labels, member = self._members(table.shape[1], groups, table.shape[0])
        rows = LabelledDataset.in_memory(table, is_pos, weight, self.classes_)
        moments = group_moments(rows, member, len(labels))
        if not first:
            labels, moments = joined_groups("ConstrainedAUC", self.groups_, self._moments, labels, moments)
        return self._resume(labels, moments)

    def merge(self, other: "ConstrainedAUC") -> Self:
        """Add the rows another model has seen, of the same groups or others; returns self.

        Parameters
        ----------
        other : ConstrainedAUC
            Fitted on other rows with the same parameters, features and classes.

        Returns
        -------
        self
        """
        validation.mergeable(self, other)
        joined = joined_groups("ConstrainedAUC", self.groups_, self._moments, other.groups_, other._moments)
        return self._resume(*joined)

    def gap_curve(
        self, X: RowsLike, y: ArrayLike, groups: ArrayLike, *, max_gaps: ArrayLike | None = None, n_points: int = 20
    ) -> list[GapPoint]:
        """The AUC and the measured gap on these rows for a range of bounds, from the moments of the fitted model.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Rows to measure on, best held-out ones.
        y : array of shape (n,)
        groups : array of shape (n,)
            Each group needs two rows of each class.
        max_gaps : array of floats in [0, inf), optional
            The bounds. None: ``n_points`` of them from 0 to the gap of the solution without constraints.
        n_points : int in [2, inf), default=20

        Returns
        -------
        list of GapPoint
            In the order of the bounds.
        """
        validation.fitted(self, "coef_")
        free = self._solved(np.inf)
        largest = float(np.abs(free.gaps).max(initial=0.0))
        bounds = np.linspace(0.0, largest, n_points) if max_gaps is None else np.asarray(max_gaps, dtype=np.float64)
        table, is_pos = validation.check_rows(self, X), np.asarray(y) == self.classes_[1]
        points = []
        for bound in bounds:
            solved = self._solved(float(bound))
            scores = table.matmul(solved.w)
            gap = measured_gap(is_pos, scores, groups, self.between)
            points.append(GapPoint(float(bound), solved.gap, roc_auc(is_pos, scores), gap))
        return points

    def _members(self, width: int, groups: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        require_room("The moments of ConstrainedAUC", width, INSTEAD)
        return group_members("ConstrainedAUC", groups, n)

    def _resume(self, labels: np.ndarray, moments: list[Moments]) -> Self:
        w = self._learn(labels, moments)
        return self._publish(w, w @ all_groups(moments).midpoint)

    def _learn(self, labels: np.ndarray, moments: list[Moments]) -> np.ndarray:
        """The weights; sets everything else that is fitted."""
        self.groups_, self._moments = labels, moments
        solved = self._solved(float(self.max_gap))
        validation.finite(self, solved.w)
        self.pairs_ = labels[np.array(solved.pairs, dtype=np.intp).reshape(-1, 2)]
        self.gaps_, self.multipliers_, self.residual_ = solved.gaps, solved.multipliers, solved.residual
        if solved.residual > 1e-6:
            warnings.warn(
                f"ConstrainedAUC violates its optimality conditions by {solved.residual:.1e}. Scale the columns of X, "
                "or use a larger alpha.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solved.w

    def _solved(self, max_gap: float) -> "Constrained":
        return solve_constrained(self._moments, max_gap, float(self.alpha), self.between)

    def _sound(self) -> bool:
        """Whether groups and moments, as a file has them, fit together."""
        return sound_groups(self)


class Constrained(NamedTuple):
    """The solution of `solve_constrained`."""

    w: np.ndarray
    pairs: list[tuple[int, int]]
    gaps: np.ndarray
    multipliers: np.ndarray
    residual: float

    @property
    def gap(self) -> float:
        """The largest surrogate gap."""
        return float(np.abs(self.gaps).max(initial=0.0))


def constraint_rows(moments: list[Moments], between: str) -> tuple[list[tuple[int, int]], np.ndarray]:
    """The pair of groups of each constraint, and its coefficients c_k, a row each."""
    pairs: list[tuple[int, int]] = []
    rows: list[np.ndarray] = []
    whole = [g for g in range(len(moments) // 2) if moments[2 * g].n > 0.0 and moments[2 * g + 1].n > 0.0]
    for a, b in combinations(whole, 2):
        neg_a, pos_a, neg_b, pos_b = (moments[k].mean for k in (2 * a, 2 * a + 1, 2 * b, 2 * b + 1))
        if between != "auc":
            pairs.append((a, b))
            rows.append((pos_a - neg_b) - (pos_b - neg_a))
        if between != "xauc":
            pairs.append((a, b))
            rows.append((pos_a - neg_a) - (pos_b - neg_b))
    return pairs, np.array(rows).reshape(len(rows), len(moments[0].mean))


def solve_constrained(moments: list[Moments], max_gap: float, alpha: float, between: str) -> Constrained:
    """min_w ½ w·A·w − b·w subject to |C w| ≤ max_gap, by its dual.

    With multipliers λ of either sign, w = A⁻¹(b − C'λ), and λ minimises ½ λ·G·λ − q·λ + max_gap |λ|₁ with
    G = C A⁻¹ C' and q = C A⁻¹ b: as many unknowns as constraints.
    """
    total = all_groups(moments)
    pairs, C = constraint_rows(moments, between)
    if not total.complete:
        return Constrained(np.zeros(C.shape[1]), pairs, np.zeros(len(C)), np.zeros(len(C)), 0.0)
    A, b = quadratic(total, alpha)
    free = solve_symmetric(A, b, minimum_norm=alpha == 0.0)
    if not len(C) or max_gap == np.inf:
        return Constrained(free, pairs, C @ free, np.zeros(len(C)), 0.0)
    columns = np.column_stack([solve_symmetric(A, c, minimum_norm=alpha == 0.0) for c in C])
    G, q = C @ columns, C @ free
    iterates = coordinate_descent(0.5 * (G + G.T), q, max_gap, False)
    dual = run(iterates, np.zeros_like(q), MULTIPLIER_TOL, at_most(MAX_ITER)).w
    multipliers = _refined(G, q, max_gap, dual)
    w = free - columns @ multipliers
    gaps = C @ w
    scale = max(1.0, float(np.abs(b).max()))
    stationarity = float(np.abs(A @ w - b + C.T @ multipliers).max()) / scale
    feasibility = float(np.maximum(np.abs(gaps) - max_gap, 0.0).max())
    complementarity = float(np.abs(multipliers * (max_gap - np.sign(multipliers) * gaps)).max())
    return Constrained(w, pairs, gaps, multipliers, max(stationarity, feasibility, complementarity))


def _refined(G: np.ndarray, q: np.ndarray, max_gap: float, dual: np.ndarray) -> np.ndarray:
    """The multipliers with those that are not zero solved for exactly, where no sign changes by that."""
    active = np.flatnonzero(dual)
    if not len(active):
        return dual
    sign = np.sign(dual[active])
    exact = linalg.lstsq(G[np.ix_(active, active)], q[active] - max_gap * sign, check_finite=False)[0]
    if (np.sign(exact) != sign).any():
        return dual
    out = np.zeros_like(dual)
    out[active] = exact
    return out


def measured_gap(is_pos: np.ndarray, scores: np.ndarray, groups: ArrayLike, between: str) -> float:
    """The largest difference of AUCs across groups, within groups, or of either, on these rows."""
    table = auc_by_group(is_pos, scores, groups).table
    across, within = np.abs(table - table.T).max(), np.ptp(np.diag(table))
    return float({"xauc": across, "auc": within, "both": max(across, within)}[between])
