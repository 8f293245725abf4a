"""The saddle-point form of the square loss, solved in stages of halved steps and shrinking balls (FSAUC)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import RowStruct, Table, row_axpy_two, row_dot
from auclid.solvers.averaging import LaggedAverage, lagged_average, prefetch_ahead, start_average
from auclid.solvers.saddle import BINDING_SHARE, clip_aux, row_scale, saddle_step
from auclid.stats.class_means import FirstPass
from auclid.stats.epochs import EpochSampler


class Stage(NamedTuple):
    """The constants of a stage. Distances of (w, a, b) are measured with w in units of 1/sqrt(E|x|^2)."""

    p: float
    step: float
    size: float  # E|x|^2
    max_row_square: float  # max |x|^2
    radius: float
    ball: float  # the largest distance of (w, a, b) from the start of the stage
    dual: float  # the largest distance of alpha from the start of the stage
    start: np.ndarray  # w at the start of the stage
    aux: np.ndarray  # (b, a, alpha) there
    guarded: bool  # whether steps along long rows are bounded; if not, p is the share of positives so far
    l1_ball: bool  # whether the radius bounds |w|_1 instead of |w|_2


class StageState(NamedTuple):
    """The variables of a stage."""

    average: LaggedAverage
    aux: np.ndarray  # (b, a, alpha)
    aux_sum: np.ndarray  # the sum of (b, a, alpha) over the steps
    w_square: float  # |w|^2
    path: float  # an upper bound of the distance of w from the start of the stage
    last_projection: float  # the last step that was projected onto the ball |w| <= radius
    seen: np.ndarray  # (2,): rows of each class in this stage and the stages before

    @property
    def is_binding(self) -> bool:
        """Whether steps were still projected onto the ball at the end."""
        return self.last_projection > BINDING_SHARE * self.average.weight


@dataclass(frozen=True)
class MultiStageSolver:
    """Constant steps inside a ball around the last stage's average; each stage halves the step and the ball."""

    step: float
    radius: float
    relative_radius: bool  # whether the radius is for rows of mean square length 1
    automatic: bool = True  # whether the step is for rows of mean square length 1, and bounded for longer ones
    l1_ball: bool = False  # whether the radius bounds |w|_1
    centred: bool = True  # whether dense rows are centred

    def first_stage(self, summary: FirstPass) -> Stage:
        """The first stage, which starts at the origin."""
        p, size, longest = summary.n[1] / summary.n.sum(), row_scale(summary.mean_square), summary.squares.max()
        radius = self.radius / np.sqrt(size) if self.relative_radius else self.radius
        if not self.automatic:
            size = 1.0
        ball = 2.0 * np.sqrt(size + 2.0 * longest) * radius
        step = self.step / (4.0 * p * (1.0 - p)) if self.automatic else self.step
        return Stage(
            p=float(p),
            step=float(step),
            size=float(size),
            max_row_square=float(longest),
            radius=float(radius),
            ball=float(ball),
            dual=_dual_bound(ball, longest, size),
            start=np.zeros_like(summary.centre),
            aux=np.zeros(3),
            guarded=self.automatic,
            l1_ball=self.l1_ball,
        )

    def run(
        self,
        table: Table,
        is_pos: np.ndarray,
        order: np.ndarray,
        stage: Stage,
        summary: FirstPass,
        seen: np.ndarray,
    ) -> StageState:
        """The state after one step for each row of ``order``; ``seen`` rows of each class came in earlier stages."""
        w, label = stage.start.copy(), is_pos.astype(np.int8)
        state = StageState(start_average(w), stage.aux.copy(), np.zeros(3), float(w @ w), 0.0, 0.0, seen.copy())
        for rows, (at,), steps in table.sweep(order, centre=summary.centre if self.centred else None):
            index = order[steps]
            state = sweep_stage(rows, at, label[index], summary.squares[index], stage, state)
        return state

    def next_stage(self, stage: Stage, state: StageState, mean: np.ndarray) -> Stage:
        """The next stage, which starts at the average of the last one; ``mean`` holds the class means."""
        w, aux = lagged_average(state.average), state.aux_sum / state.average.weight
        aux[2] = w @ (mean[0] - mean[1])
        ball = 0.5 * stage.ball
        dual = _dual_bound(ball, stage.max_row_square, stage.size)
        return stage._replace(step=0.5 * stage.step, ball=ball, dual=dual, start=w, aux=aux)


def n_stages(n: int) -> int:
    """The number of stages for n samples."""
    return max(1, int(0.5 * np.log2(2.0 * n / np.log2(n))) - 1)


def stage_orders(rng: np.random.Generator, epochs: EpochSampler, n_epochs: int, count: int) -> Iterator[np.ndarray]:
    """The rows of each stage: epochs in random order, one after the other, cut into equal parts."""
    remaining = np.empty(0, dtype=np.intp)
    for _ in range(count):
        pieces, missing = [], epochs.length * n_epochs // count
        while missing:
            remaining = remaining if len(remaining) else epochs.order(rng)
            pieces.append(remaining[:missing])
            remaining, missing = remaining[missing:], missing - len(pieces[-1])
        yield np.concatenate(pieces)


def means_of_seen(table: Table, is_pos: np.ndarray, times: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """(2, d): the class means of rows that were seen so many times, minus the centre; zero for an unseen class."""
    weights = [times * ~is_pos, times * is_pos]
    return np.stack([table.rmatmul(w) / max(w.sum(), 1.0) - centre * (w.sum() > 0.0) for w in weights])


def _dual_bound(ball: float, max_row_square: float, size: float) -> float:
    """D_k = 2 sqrt(2) kappa R_k"""
    return float(2.0 * np.sqrt(2.0 * max_row_square / size) * ball)


@kernel
def sweep_stage(
    rows: RowStruct, at: np.ndarray, label: np.ndarray, squares: np.ndarray, stage: Stage, state: StageState
) -> StageState:
    """One primal-dual step per row, in O(nnz) while no constraint is active and O(d) otherwise."""
    w, lag, t = state.average.w, state.average.lag, state.average.weight
    aux, aux_sum = state.aux, state.aux_sum
    w_square, path, last_projection = state.w_square, state.path, state.last_projection
    start, first, seen, p = stage.start, stage.aux, state.seen, stage.p
    for k in range(at.shape[0]):
        prefetch_ahead(rows, at, k)
        i, q = at[k], squares[k]
        score = row_dot(rows, i, w)
        aux_sum += aux
        t += 1.0
        seen[label[k]] += 1.0
        if not stage.guarded:
            p = seen[1] / (seen[0] + seen[1])
        move = saddle_step(score, q, label[k], p, stage.step, stage.size, stage.guarded, aux)
        row_axpy_two(rows, i, move, w, t * move, lag)
        w_square = max(0.0, w_square + move * (2.0 * score + move * q))
        path += abs(move) * np.sqrt(q)
        if stage.l1_ball:
            if project_to_l1_ball(w, lag, t, stage.radius):
                path, w_square, last_projection = distance(w, start), np.sum(w * w), t
        elif w_square > stage.radius**2:
            path += np.sqrt(w_square) - stage.radius
            combine(w, lag, t, start, 0.0, stage.radius / np.sqrt(w_square))
            w_square = stage.radius**2
            last_projection = t
        clip_aux(aux, stage.radius, stage.max_row_square)
        aux_square = (aux[0] - first[0]) ** 2 + (aux[1] - first[1]) ** 2
        if stage.size * path * path + aux_square > stage.ball**2:
            path = distance(w, start)
            length = np.sqrt(stage.size * path * path + aux_square)
            if length > stage.ball:
                share = stage.ball / length
                combine(w, lag, t, start, 1.0 - share, share)
                combine(aux[:2], aux_sum[:2], 0.0, first, 1.0 - share, share)
                path, w_square = share * path, np.sum(w * w)
        aux[2] = min(max(aux[2], first[2] - stage.dual), first[2] + stage.dual)
    return StageState(
        average=LaggedAverage(w=w, lag=lag, weight=t),
        aux=aux,
        aux_sum=aux_sum,
        w_square=w_square,
        path=path,
        last_projection=last_projection,
        seen=seen,
    )


@kernel(inner=True)
def combine(w: np.ndarray, lag: np.ndarray, t: float, target: np.ndarray, a: float, b: float) -> None:
    """w <- a target + b w; the sum of the iterates before it stays the same."""
    for j in range(w.shape[0]):
        new = a * target[j] + b * w[j]
        lag[j] += t * (new - w[j])
        w[j] = new


@kernel(allocates=False, inner=True)
def project_to_l1_ball(w: np.ndarray, lag: np.ndarray, t: float, radius: float) -> bool:
    """Project w onto |w|_1 <= radius, by a threshold that rises until no more entries fall below it (Michelot 1986).

    Returns whether w changed; the sum of the iterates before it stays the same.
    """
    total, kept, threshold = 0.0, w.shape[0], 0.0
    for j in range(w.shape[0]):
        total += abs(w[j])
    if total <= radius:
        return False
    above = kept
    while above > 0:
        kept, threshold = above, (total - radius) / above
        total, above = 0.0, 0
        for j in range(w.shape[0]):
            if abs(w[j]) > threshold:
                total += abs(w[j])
                above += 1
        if above >= kept:  # an entry at the threshold may come back by rounding
            break
    for j in range(w.shape[0]):
        new = np.sign(w[j]) * max(0.0, abs(w[j]) - threshold)
        lag[j] += t * (new - w[j])
        w[j] = new
    return True


@kernel(inner=True)
def distance(w: np.ndarray, target: np.ndarray) -> float:
    """|w - target|"""
    total = 0.0
    for j in range(w.shape[0]):
        total += (w[j] - target[j]) ** 2
    return np.sqrt(total)
