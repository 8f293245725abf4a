"""Any convex loss with a value, a slope and a curvature over all pairs, as an objective for Newton's method."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from auclid.losses import Loss
from auclid.solvers.all_pairs import PairPoint, SquaredHinges
from auclid.solvers.newton import Move, Preconditioner
from auclid.stats.loss_sums import LossCurvature, LossSums, evaluate

STEPS = 8
"""Steps of the stair that stands for the curvature in the preconditioner."""

SAMPLE = 256
"""Scores of each class whose margins say where the steps of that stair lie."""


class SmoothLossPoint(PairPoint):
    """Value, slopes and curvature of the mean of a loss over all pairs at one w."""

    objective: "SmoothLoss"

    def __init__(self, objective: "SmoothLoss", w: np.ndarray, scores: np.ndarray) -> None:
        self.objective, self.w, self.scores = objective, w, scores
        self.sums = LossSums(objective.loss, objective.pairs, scores)

    @cached_property
    def value(self) -> float:
        """The objective."""
        return self.sums.value() + 0.5 * self.objective.alpha * self.square

    @cached_property
    def slope(self) -> np.ndarray:
        """The derivatives of the mean loss by the scores."""
        return self.sums.slope()

    def product(self, move: Move) -> np.ndarray:
        """The Hessian times a direction."""
        bent = self.sums.product(move.scores)
        return self.objective.space.gradient(bent) + self.objective.alpha * move.w

    def preconditioner(self) -> Preconditioner:
        """That of a sum of squared hinges whose curvature is a stair beside the loss's own."""
        objective = self.objective
        stair = stair_of(objective.loss, *(part[:: max(1, len(part) // SAMPLE)] for part in self.sums.scores))
        near = SquaredHinges(objective.space, objective.pairs, objective.alpha, objective.tol, stair)
        return objective.space.preconditioner(near.at(self.w, self.scores))


@dataclass(frozen=True, eq=False)
class SmoothLoss(SquaredHinges):
    """mean over pairs of a loss, plus alpha/2 |w|^2, until the gradient is ``tol`` times as long as at w = 0."""

    loss: Loss = None

    def at(self, w: np.ndarray, scores: np.ndarray | None = None) -> SmoothLossPoint:
        """The objective seen from w."""
        return SmoothLossPoint(self, w, self.space.scores(w) if scores is None else scores)


def stair_of(loss: Loss, pos: np.ndarray, neg: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Squared hinges that bend as the loss does in the middle of each eighth of the margins, and nowhere else."""
    margins = np.unique(np.quantile(np.subtract.outer(pos, neg), np.linspace(0.0, 1.0, 2 * STEPS + 1)))
    edges, middles = np.append(margins[2::2], margins[-1] + 1.0), np.append(margins[1::2], margins[-1])
    bends = np.maximum(evaluate(LossCurvature(loss), middles[: len(edges)]), 0.0)
    falls = 0.5 * -np.diff(np.append(bends, 0.0))
    return tuple((float(c), float(edge)) for c, edge in zip(falls, edges[: len(bends)], strict=True))
