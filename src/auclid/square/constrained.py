"""ConstrainedAUC: the square loss over all pairs under a bound on the gaps between groups."""

import warnings
from collections.abc import Iterable
from functools import partial
from itertools import combinations, product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid.data.types import RowsLike
from auclid.metrics import roc_auc
from auclid.solvers.iterative import at_most, coordinate_descent, run
from auclid.solvers.least_squares import quadratic, solve_symmetric
from auclid.solvers.threshold import all_scores, scored_part
from auclid.square._groups import GroupMomentsRanker, all_groups, group_members
from auclid.stats.labelled import LabelledDataset
from auclid.stats.moments import ClassMoments, Moments

MULTIPLIER_TOL, MAX_ITER = 1e-14, 100_000
"""Relative change of the multipliers at which coordinate descent stops, and passes over them at the most."""

RESIDUAL_TOL = 1e-6
"""Violation of the optimality conditions above which a warning says so."""

GAP_TOL, MAX_LINEARIZATIONS, WIDENING = 1e-4, 30, 1e-3
"""Excess of a measured gap at which linearizing it stops, linearizations at the most, and what a bound that no weights
meet is widened by."""


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


class ConstrainedAUC(GroupMomentsRanker):
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
    gap : {"margin", "measured"}, default="margin"
        What ``max_gap`` bounds: the gap of mean margins, or the measured gap of AUCs on the training rows. The measured
        gap is linearized at the current weights until the bound holds to 1e-4, with a pass over the rows for each
        linearization (about five); `partial_fit` and `merge` keep no rows and take "margin" only. The gaps of three
        groups or more depend on one another, so that a bound near 0 may not be met: a warning then says by how much.

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
        c_k·w at the solution; with ``gap="measured"`` the measured gaps on the training rows.
    multipliers_ : array of shape (constraints,)
        What a unit of each bound costs in the objective; zero where the constraint is not active.
    residual_ : float
        The largest violation of the optimality conditions (stationarity, feasibility, complementarity), relative.

    Notes
    -----
    The default bounds mean margins, not AUCs: `gap_curve` shows, for a range of bounds, the AUC and the measured
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

    _parameter_constraints: dict = {
        "max_gap": [validation.real(0.0, np.inf, closed="both")],
        "alpha": [validation.real()],
        "between": [StrOptions({"xauc", "auc", "both"})],
        "gap": [StrOptions({"margin", "measured"})],
    }

    def __init__(
        self, max_gap: float = 0.05, alpha: float = 1e-4, *, between: str = "xauc", gap: str = "margin"
    ) -> None:
        self.max_gap = max_gap
        self.alpha = alpha
        self.between = between
        self.gap = gap

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
        labels, member, moments = self._group_moments(rows, groups)
        solved = self._solved(moments)
        if self.gap == "measured":
            solved = self._linearized(moments, rows, member)
        return self._publish_fit(rows, self._learn(labels, moments, solved))

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
            Each group needs a row of each class.
        max_gaps : array of floats in [0, inf), optional
            The bounds. None: ``n_points`` of them from 0 to the gap of the solution without constraints.
        n_points : int in [2, inf), default=20

        Returns
        -------
        list of GapPoint
            In the order of the bounds.
        """
        validation.fitted(self, "coef_")
        free = solve_constrained(self._moments, np.inf, self.alpha, self.between)
        largest = float(np.abs(free.gaps).max(initial=0.0))
        bounds = np.linspace(0.0, largest, n_points) if max_gaps is None else np.asarray(max_gaps, dtype=np.float64)
        table, is_pos = validation.check_rows(self, X), np.asarray(y) == self.classes_[1]
        labels, member = group_members("ConstrainedAUC", groups, len(is_pos))
        _refuse_half_groups(is_pos, member, labels)
        pairs = group_pairs(range(len(labels)), self.between)
        points = []
        for bound in bounds:
            solved = solve_constrained(self._moments, float(bound), self.alpha, self.between)
            scores = table.matmul(solved.w)
            gaps = measured_gaps(xauc_table(is_pos, scores, None, member), pairs, self.between)
            gap = float(np.abs(gaps).max(initial=0.0))
            points.append(GapPoint(float(bound), solved.gap, roc_auc(is_pos, scores), gap))
        return points

    def _resume(self, labels: np.ndarray, moments: list[Moments]) -> Self:
        if self.gap == "measured":
            raise ValueError(
                "ConstrainedAUC(gap='measured') measures on all rows of one fit; partial_fit and merge keep moments "
                "only. Use gap='margin' there."
            )
        w = self._learn(labels, moments, self._solved(moments))
        return self._publish(w, w @ all_groups(moments).midpoint)

    def _learn(self, labels: np.ndarray, moments: list[Moments], solved: "Constrained") -> np.ndarray:
        """The weights of the solution; sets everything else that is fitted."""
        validation.finite(self, solved.w)
        self.groups_, self._moments = labels, moments
        self.pairs_ = labels[np.array(solved.pairs, dtype=np.intp).reshape(-1, 2)]
        self.gaps_, self.multipliers_, self.residual_ = solved.gaps, solved.multipliers, solved.residual
        if solved.residual > RESIDUAL_TOL:
            warnings.warn(
                f"ConstrainedAUC violates its optimality conditions by {solved.residual:.1e}. Scale the columns of X, "
                "or use a larger alpha.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solved.w

    def _solved(self, moments: list[Moments]) -> "Constrained":
        return solve_constrained(moments, float(self.max_gap), float(self.alpha), self.between)

    def _linearized(self, moments: list[Moments], rows: LabelledDataset, member: np.ndarray) -> "Constrained":
        """The solution under a bound on the measured gaps, by linearizing these at the solution found last.

        With gaps m_k measured at w and slope s of an AUC in its margin, |m_k + s c_k·(v − w)| ≤ max_gap bounds
        c_k·v to max_gap / s around c_k·w − m_k / s. Where v = w solves this, the bound holds for the measured gaps,
        whatever the slope.
        """
        free = solve_constrained(moments, np.inf, self.alpha, self.between)
        slope, bound = margin_slope(all_groups(moments), free.w), float(self.max_gap)
        solved = solve_constrained(moments, bound / slope, self.alpha, self.between)
        for _ in range(MAX_LINEARIZATIONS):
            measured = self._measured_gaps(rows, solved, member)
            excess = float(np.abs(measured).max(initial=0.0)) - bound
            if excess <= GAP_TOL and (excess >= -GAP_TOL or not solved.multipliers.any()):
                break
            center = solved.gaps - measured / slope
            solved = solve_constrained(moments, bound / slope, self.alpha, self.between, center)
            while solved.residual > RESIDUAL_TOL:  # no weights meet all linearized bounds
                bound += WIDENING
                solved = solve_constrained(moments, bound / slope, self.alpha, self.between, center)
        excess += bound - self.max_gap
        if excess > GAP_TOL:
            warnings.warn(
                f"ConstrainedAUC found no weights with measured gaps of at most {self.max_gap:g}; the nearest exceed "
                f"it by {excess:.1e}. Use a larger max_gap.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solved._replace(gaps=measured)

    def _measured_gaps(self, rows: LabelledDataset, solved: "Constrained", member: np.ndarray) -> np.ndarray:
        """The measured gap of each constraint on the training rows."""
        scored = rows.parts.cached(partial(scored_part, "ConstrainedAUC", solved.w))
        found = scored.compute(scored.map(all_scores))
        scores, is_pos, weight = zip(*found, strict=True)
        table = xauc_table(
            np.concatenate(is_pos),
            np.concatenate(scores),
            None if weight[0] is None else np.concatenate(weight),
            member,
        )
        return measured_gaps(table, solved.pairs, self.between)


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


def group_pairs(groups: Iterable[int], between: str) -> list[tuple[int, int]]:
    """The two groups of each constraint: with "both" each pair stands twice, first across and then within groups."""
    times = 2 if between == "both" else 1
    return [pair for pair in combinations(groups, 2) for _ in range(times)]


def constraint_rows(moments: list[Moments], between: str) -> tuple[list[tuple[int, int]], np.ndarray]:
    """The pair of groups of each constraint, and its coefficients c_k, a row each."""
    whole = [g for g in range(len(moments) // 2) if moments[2 * g].n > 0.0 and moments[2 * g + 1].n > 0.0]
    pairs = group_pairs(whole, between)
    neg, pos = (np.array([each.mean for each in moments[side::2]]) for side in (0, 1))
    a, b = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    across, within = (pos[a] - neg[b]) - (pos[b] - neg[a]), (pos[a] - neg[a]) - (pos[b] - neg[b])
    return pairs, _of_kind(across, within, between)


def _of_kind(across: np.ndarray, within: np.ndarray, between: str) -> np.ndarray:
    """The rows that belong to the constraints of `group_pairs`."""
    if between == "both":
        chosen = across.copy()
        chosen[1::2] = within[1::2]
        return chosen
    return across if between == "xauc" else within


def _refuse_half_groups(is_pos: np.ndarray, member: np.ndarray, labels: np.ndarray) -> None:
    for g, name in enumerate(labels):
        if len(np.unique(is_pos[member == g])) < 2:
            raise ValueError(
                f"ConstrainedAUC.gap_curve expects rows of both classes in every group. Got one class in {name!r}. "
                "Leave it out, or join it with another."
            )


def margin_slope(moments: ClassMoments, w: np.ndarray) -> float:
    """How fast an AUC grows with the mean margin, were the scores of both classes normal."""
    spread = np.sqrt(max(float(w @ moments.within @ w), np.finfo(np.float64).tiny))
    return float(norm.pdf(float(w @ moments.delta) / spread) / spread)


def xauc_table(is_pos: np.ndarray, scores: np.ndarray, weight: np.ndarray | None, member: np.ndarray) -> np.ndarray:
    """The AUC of the positives of each group against the negatives of each; NaN where either has no rows."""
    size = int(member.max(initial=-1)) + 1
    table = np.full((size, size), np.nan)
    for a, b in product(range(size), repeat=2):
        rows = np.flatnonzero(np.where(is_pos, member == a, member == b))
        if 0 < np.count_nonzero(is_pos[rows]) < len(rows):
            table[a, b] = roc_auc(is_pos[rows], scores[rows], sample_weight=None if weight is None else weight[rows])
    return table


def measured_gaps(table: np.ndarray, pairs: list[tuple[int, int]], between: str) -> np.ndarray:
    """The measured gap of each constraint of `constraint_rows`, from the AUCs between groups."""
    a, b = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return _of_kind(table[a, b] - table[b, a], table[a, a] - table[b, b], between)


def solve_constrained(
    moments: list[Moments], max_gap: float, alpha: float, between: str, center: np.ndarray | float = 0.0
) -> Constrained:
    """min_w ½ w·A·w − b·w subject to |C w − center| ≤ max_gap, by its dual.

    With multipliers λ of either sign, w = A⁻¹(b − C'λ), and λ minimises ½ λ·G·λ − q·λ + max_gap |λ|₁ with
    G = C A⁻¹ C' and q = C A⁻¹ b − center: as many unknowns as constraints.
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
    G, q = C @ columns, C @ free - center
    iterates = coordinate_descent(0.5 * (G + G.T), q, max_gap, False)
    dual = run(iterates, np.zeros_like(q), MULTIPLIER_TOL, at_most(MAX_ITER)).w
    multipliers = _refined(G, q, max_gap, dual)
    w = free - columns @ multipliers
    gaps = C @ w
    scale = max(1.0, float(np.abs(b).max()))
    stationarity = float(np.abs(A @ w - b + C.T @ multipliers).max()) / scale
    feasibility = float(np.maximum(np.abs(gaps - center) - max_gap, 0.0).max())
    complementarity = float(np.abs(multipliers * (max_gap - np.sign(multipliers) * (gaps - center))).max())
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
