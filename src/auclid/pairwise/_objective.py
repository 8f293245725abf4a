"""Which objective RankSVM minimises: all pairs, or those of the top, with the hinge or the squared hinge."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from auclid import validation
from auclid._generic import as_floats
from auclid.losses import LOSSES, Loss, as_loss, curvature, hinges, slope, smooth, value
from auclid.metrics._sample import Region
from auclid.penalties import ElasticNet, Penalty
from auclid.solvers import cutting_planes, newton, proximal_newton
from auclid.solvers.all_pairs import LinearSpace, RegularizedPairLoss, SmoothHinge, SmoothLoss, SquaredHinges
from auclid.solvers.partial_auc import SOFTEST, SoftTop, SoftTopHinge
from auclid.solvers.partitioned_pairs import partitioned_pairs
from auclid.stats.labelled import LabelledDataset, LabelledTable
from auclid.stats.pair_sums import Pairs

LOSS_NAMES = ("hinge", *(name for name, loss in LOSSES.items() if loss in {**hinges.registry, **smooth.registry}))
"""The losses whose sums over all pairs are fast, and the hinge, which sums of squared hinges approach."""


class Settings(NamedTuple):
    """What the objective is, but for alpha."""

    loss: str | Loss
    tol: float
    region: Region
    softness: float


def dataset_objective(rows: LabelledDataset, alpha: float, settings: Settings) -> RegularizedPairLoss:
    """The objective of all pairs or of the top, wherever the rows are.

    Sums of squared hinges over all pairs of rows in parts need memory for the rarer class only; other losses, and the
    top, keep the scores of all rows in memory.
    """
    hinged = settings.loss == "hinge" or type(as_loss(settings.loss)) in hinges.registry
    if rows.partitioned and settings.region.whole and hinged:
        return _all_pairs(*partitioned_pairs(rows), alpha, settings)
    return objective(rows.labelled_table(), alpha, settings)


def objective(rows: LabelledTable, alpha: float, settings: Settings) -> RegularizedPairLoss:
    """The objective of all pairs or of the top, for rows that are one table."""
    if not settings.region.whole:
        return _top(rows, alpha, settings)
    return _all_pairs(LinearSpace(rows.table), Pairs(rows.is_pos, rows.weight), alpha, settings)


def _all_pairs(space: LinearSpace, pairs: Pairs, alpha: float, settings: Settings) -> RegularizedPairLoss:
    """The objective of a loss over all pairs."""
    if settings.loss == "hinge":
        return SmoothHinge(space, pairs, alpha, settings.tol)
    loss = as_loss(settings.loss)
    if type(loss) in hinges.registry:
        return SquaredHinges(space, pairs, alpha, settings.tol, hinges(loss))
    return SmoothLoss(space, pairs, alpha, settings.tol, loss)


def _top(rows: LabelledTable, alpha: float, settings: Settings) -> SoftTop:
    """The soft top; the class that is cut is placed into the other, which is sorted."""
    region, cut_negatives = settings.region, settings.region.max_fpr < 1.0
    positives = 1.0 - region.min_tpr
    share, other = (region.max_fpr, positives) if cut_negatives else (positives, 1.0)
    shape: dict[str, Any] = {
        "share": share,
        "other_share": other,
        "least_softness": settings.softness,
        "softness": max(settings.softness, SOFTEST),
    }
    space, pairs = LinearSpace(rows.table), Pairs(rows.is_pos, rows.weight, sort_positives=cut_negatives)
    if settings.loss == "hinge":
        return SoftTopHinge(space, pairs, alpha, settings.tol, **shape)
    return SoftTop(space, pairs, alpha, settings.tol, hinges(as_loss(settings.loss)), **shape)


def checked_loss(owner: str, loss: str | Loss, region: Region) -> str | Loss:
    """The loss; or a sentence that says which functions of it are missing, for all pairs or for the top."""
    if loss == "hinge":
        return loss
    struct = as_loss(loss)
    if type(struct) in hinges.registry:
        struct = as_floats(struct)
        _check_convex(owner, struct)
        return struct
    if not region.whole:
        raise ValueError(
            f"The 'loss' parameter of {owner} must be 'hinge', 'squared_hinge' or a sum of squared hinges, with "
            f"auclid.losses.hinges implemented, where max_fpr or min_tpr cut. Got {loss!r} instead."
        )
    return validation.implements(owner, "loss", struct, [value, slope, curvature])


def _check_convex(owner: str, loss: Loss) -> None:
    """Refuse a sum of squared hinges that is not convex."""
    curvature = 0.0
    for c, _ in sorted(hinges(loss), key=lambda hinge: -hinge[1]):
        curvature += c
        if curvature < -1e-12:
            raise ValueError(
                f"The 'loss' parameter of {owner} must be convex; the hinges of {type(loss).__name__} bend downwards. "
                "From the right on, their factors must add up to no less than zero."
            )


def initial_state(objective: Any, penalty: Penalty | None, tol: float) -> Any:
    """Where the method starts: proximal Newton's with a penalty besides the squared one, else Newton's.

    With the hinge, planes take over from Newton's.
    """
    if penalty is not None:
        return proximal_newton.init(objective, penalty, tol)
    state = newton.init(objective)
    return cutting_planes.HingeState(*state) if cutting_planes.has_planes(objective) else state


def l1_penalty(owner: str, l1: float, loss: Any) -> Penalty | None:
    """l1 |w|₁; None where l1 is 0."""
    if not l1:
        return None
    require_smooth(owner, loss)
    return as_floats(ElasticNet(l1, 0.0))


def require_smooth(owner: str, loss: Any) -> None:
    """Refuse the hinge beside a penalty that proximal Newton's method deals with."""
    if loss == "hinge":
        raise ValueError(
            f"l1 and penalty of {owner} must have a smooth loss; got 'hinge'. Use 'squared_hinge' or 'logistic'."
        )


def publish_solution(estimator: Any, state: Any) -> np.ndarray:
    """Set what is known of the solution; returns the weights."""
    estimator.n_iter_ = max(1, state.n_iter)
    estimator.objective_, estimator.gap_ = state.value, state.relative_gap()
    return state.weights


def warn_unless_converged(estimator: BaseEstimator, state: Any) -> None:
    """Warn in the estimator's name, unless Newton's method has converged or a callback stopped it."""
    name, tol, most = type(estimator).__name__, estimator.tol, estimator.max_iter
    if not state.converged and (state.stuck or state.n_iter >= most):
        warnings.warn(
            f"{name} stopped after {state.n_iter} Newton steps before reaching tol={tol}. "
            "Scale the columns of X, or raise max_iter, alpha or tol.",
            ConvergenceWarning,
            stacklevel=5,
        )
