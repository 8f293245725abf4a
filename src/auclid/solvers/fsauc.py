"""The saddle point of the square loss, met in stages of halved steps and shrinking balls (FSAUC)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import Table, row_axpy_two, row_dot
from auclid.solvers.iterate import Trail, begin_trail, fetch_ahead, trail_average
from auclid.solvers.saddle import ACTIVE, clip, saddle_step, unit
from auclid.stats.class_means import FirstPass
from auclid.stats.epochs import EpochSampler


class Stage(NamedTuple):
    """What stays fixed in a stage. Lengths of (w, a, b) are measured with w in units of 1/sqrt(E|x|^2)."""

    p: float
    step: float
    size: float  # E|x|^2
    longest_square: float  # max |x|^2
    radius: float
    ball: float  # how far (w, a, b) may go from where the stage began
    dual: float  # how far alpha may
    start: np.ndarray  # w, where the stage began
    point: np.ndarray  # (b, a, alpha) there
    guarded: bool  # whether steps along long rows are bounded
    absolute: bool  # whether the radius bounds |w|_1, not |w|_2


class Progress(NamedTuple):
    """What a stage changes."""

    trail: Trail
    point: np.ndarray  # (b, a, alpha)
    point_sum: np.ndarray  # the sum of (b, a, alpha)
    w_square: float  # |w|^2
    path: float  # no less than the way of w from where the stage began
    met_ball: float  # the last step that met the ball |w| <= radius

    @property
    def bound_at_end(self) -> bool:
        """Whether steps still met the ball at the end."""
        return self.met_ball > ACTIVE * self.trail.weight


@dataclass(frozen=True)
class Stages:
    """Constant steps inside a ball around the last stage's average, both halved from stage to stage."""

    step: float
    radius: float
    relative_radius: bool  # whether the radius is for rows of mean square length 1
    untuned: bool = True  # whether the step is for rows of mean square length 1, and bounded for longer ones
    absolute: bool = False  # whether the radius bounds |w|_1

    def first(self, known: FirstPass) -> Stage:
        """The first stage, at the origin."""
        p, size, longest = known.n[1] / known.n.sum(), unit(known.mean_square), known.squares.max()
        radius = self.radius / np.sqrt(size) if self.relative_radius else self.radius
        if not self.untuned:
            size = 1.0
        ball = 2.0 * np.sqrt(size + 2.0 * longest) * radius
        step = self.step / (4.0 * p * (1.0 - p)) if self.untuned else self.step
        return Stage(
            p=float(p),
            step=float(step),
            size=float(size),
            longest_square=float(longest),
            radius=float(radius),
            ball=float(ball),
            dual=_dual(ball, longest, size),
            start=np.zeros_like(known.centre),
            point=np.zeros(3),
            guarded=self.untuned,
            absolute=self.absolute,
        )

    def run(self, table: Table, is_pos: np.ndarray, order: np.ndarray, stage: Stage, known: FirstPass) -> Progress:
        """One step for each row of ``order``, in pieces."""
        w, label = stage.start.copy(), is_pos.astype(np.int8)
        progress = Progress(begin_trail(w), stage.point.copy(), np.zeros(3), float(w @ w), 0.0, 0.0)
        for rows, (at,), part in table.sweep(order, centre=known.centre):
            chosen = order[part]
            progress = sweep(rows, at, label[chosen], known.squares[chosen], stage, progress)
        return progress

    def following(self, stage: Stage, progress: Progress, known: FirstPass) -> Stage:
        """The next stage: it begins at the average, with half the step and half the ball."""
        w, point = trail_average(progress.trail), progress.point_sum / progress.trail.weight
        point[2] = w @ (known.mean[0] - known.mean[1])
        ball = 0.5 * stage.ball
        dual = _dual(ball, stage.longest_square, stage.size)
        return stage._replace(step=0.5 * stage.step, ball=ball, dual=dual, start=w, point=point)


def n_stages(n: int) -> int:
    """How many stages n samples allow."""
    return max(1, int(0.5 * np.log2(2.0 * n / np.log2(n))) - 1)


def stage_orders(rng: np.random.Generator, epochs: EpochSampler, n_epochs: int, count: int) -> Iterator[np.ndarray]:
    """The rows of each stage: epochs in random order, end to end, cut into equal parts."""
    left = np.empty(0, dtype=np.intp)
    for _ in range(count):
        pieces, missing = [], epochs.length * n_epochs // count
        while missing:
            left = left if len(left) else epochs.order(rng)
            pieces.append(left[:missing])
            left, missing = left[missing:], missing - len(pieces[-1])
        yield np.concatenate(pieces)


def _dual(ball: float, longest_square: float, size: float) -> float:
    """D_k = 2 sqrt(2) kappa R_k"""
    return float(2.0 * np.sqrt(2.0 * longest_square / size) * ball)


@kernel
def sweep(rows, at, label, squares, stage, progress):
    """One primal-dual step a row, O(nnz) each while no ball binds and O(d) where one does."""
    w, behind, t = progress.trail.w, progress.trail.behind, progress.trail.weight
    point, point_sum = progress.point, progress.point_sum
    w_square, path, met_ball = progress.w_square, progress.path, progress.met_ball
    start, first = stage.start, stage.point
    for k in range(at.shape[0]):
        fetch_ahead(rows, at, k)
        i, q = at[k], squares[k]
        f = row_dot(rows, i, w)
        point_sum += point
        t += 1.0
        move = saddle_step(f, q, label[k], stage.p, stage.step, stage.size, stage.guarded, point)
        row_axpy_two(rows, i, move, w, t * move, behind)
        w_square = max(0.0, w_square + move * (2.0 * f + move * q))
        path += abs(move) * np.sqrt(q)
        if stage.absolute:
            if shorten(w, behind, t, stage.radius):
                path, w_square, met_ball = distance(w, start), np.sum(w * w), t
        elif w_square > stage.radius**2:
            path += np.sqrt(w_square) - stage.radius
            pull(w, behind, t, start, 0.0, stage.radius / np.sqrt(w_square))
            w_square = stage.radius**2
            met_ball = t
        clip(point, stage.radius, stage.longest_square)
        aside = (point[0] - first[0]) ** 2 + (point[1] - first[1]) ** 2
        if stage.size * path * path + aside > stage.ball**2:
            path = distance(w, start)
            far = np.sqrt(stage.size * path * path + aside)
            if far > stage.ball:
                share = stage.ball / far
                pull(w, behind, t, start, 1.0 - share, share)
                pull(point[:2], point_sum[:2], 0.0, first, 1.0 - share, share)
                path, w_square = share * path, np.sum(w * w)
        point[2] = min(max(point[2], first[2] - stage.dual), first[2] + stage.dual)
    return Progress(
        trail=Trail(w=w, behind=behind, weight=t),
        point=point,
        point_sum=point_sum,
        w_square=w_square,
        path=path,
        met_ball=met_ball,
    )


@kernel(inner=True)
def pull(w, behind, t, goal, a, b):
    """w <- a goal + b w, and the sum of iterates before it stays what it was."""
    for j in range(w.shape[0]):
        new = a * goal[j] + b * w[j]
        behind[j] += t * (new - w[j])
        w[j] = new


@kernel(allocates=False, inner=True)
def shorten(w, behind, t, radius):
    """w <- the nearest point with |w|_1 <= radius, by a cut that rises until no more entries fall below it
    (Michelot 1986); returns whether that moved it."""
    total, kept, cut = 0.0, w.shape[0], 0.0
    for j in range(w.shape[0]):
        total += abs(w[j])
    if total <= radius:
        return False
    above = kept
    while above > 0:
        kept, cut = above, (total - radius) / above
        total, above = 0.0, 0
        for j in range(w.shape[0]):
            if abs(w[j]) > cut:
                total += abs(w[j])
                above += 1
        if above >= kept:  # an entry at the cut may come back by rounding
            break
    for j in range(w.shape[0]):
        new = np.sign(w[j]) * max(0.0, abs(w[j]) - cut)
        behind[j] += t * (new - w[j])
        w[j] = new
    return True


@kernel(inner=True)
def distance(w, goal):
    """|w - goal|"""
    total = 0.0
    for j in range(w.shape[0]):
        total += (w[j] - goal[j]) ** 2
    return np.sqrt(total)
