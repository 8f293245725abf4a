"""All pairs of a positive and a negative score at once, in O(n log n) time and O(n) memory.

`value`, `gradient` and `curvature_product` are for any learner that wants gradients of scores. Solvers use
`Pairs` directly: one `Pairs.rank` of the scores serves value, slopes and any number of products.
"""

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions, validate_params
from sklearn.utils.validation import check_consistent_length

from auclid import _check
from auclid._generic import kernel

FARTHEST = 1e140
"""Scores up to which sums of squared margins stay finite."""

_PARAMETERS: dict = {"loss": [StrOptions({"squared_hinge", "hinge", "square"})]}


@validate_params(_PARAMETERS, prefer_skip_nested_validation=True)
def value(y_true, y_score, *, loss="squared_hinge", sample_weight=None):
    """The mean of a pair loss over all n₊·n₋ pairs.

    With the margin m = s_i − s_j of a positive i and a negative j, this is

        Σ w_i w_j l(m) / Σ w_i w_j,    l(m) = (1−m)₊², (1−m)₊ or (1−m)².

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind; the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores.
    loss : {"squared_hinge", "hinge", "square"}, default="squared_hinge"
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a pair weighs the product of its two rows' weights.

    Returns
    -------
    float

    References
    ----------
    Chapelle & Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval 13, 2010.

    Examples
    --------
    >>> from auclid import pairs
    >>> pairs.value([0, 1, 1], [0.0, 2.0, 0.5], loss="hinge")
    0.25
    """
    cut = _cut("pairs.value", y_true, y_score, loss, sample_weight)
    return cut.linear_value() if loss == "hinge" else cut.square_value()


@validate_params(_PARAMETERS, prefer_skip_nested_validation=True)
def gradient(y_true, y_score, *, loss="squared_hinge", sample_weight=None):
    """The derivatives of `value` by each score.

    The hinge has a kink at margin 1; a pair that lies on it pushes no score.

    Parameters
    ----------
    y_true, y_score, loss, sample_weight
        As in `value`.

    Returns
    -------
    array of shape (n,), float64

    Examples
    --------
    >>> from auclid import pairs
    >>> pairs.gradient([0, 1, 1], [0.0, 0.75, 0.5], loss="hinge")
    array([ 1. , -0.5, -0.5])
    """
    cut = _cut("pairs.gradient", y_true, y_score, loss, sample_weight)
    return cut.linear_slope() if loss == "hinge" else cut.square_slope()


@validate_params(_PARAMETERS, prefer_skip_nested_validation=True)
def curvature_product(y_true, y_score, direction, *, loss="squared_hinge", sample_weight=None):
    """The second derivatives of `value` by the scores, times a direction.

    With u the direction, that is 2 Σ w_i w_j (e_i − e_j)(u_i − u_j) / Σ w_i w_j, where the first sum is over
    the pairs with margin below 1 (squared hinge) or over all pairs (square). The hinge has no curvature.

    Parameters
    ----------
    y_true, y_score, loss, sample_weight
        As in `value`.
    direction : array-like of shape (n,)

    Returns
    -------
    array of shape (n,), float64

    Examples
    --------
    >>> from auclid import pairs
    >>> pairs.curvature_product([0, 1], [0.0, 0.5], [0.0, 1.0])
    array([-2.,  2.])
    """
    direction = _numbers("direction", direction)
    cut = _cut("pairs.curvature_product", y_true, y_score, loss, sample_weight, direction)
    return np.zeros(len(direction)) if loss == "hinge" else cut.square_product(direction)


def _cut(owner, y_true, y_score, loss, sample_weight, *others):
    """The checked arguments of a public function, ranked and cut where its loss begins."""
    y, score = _check.labels(y_true), _numbers("y_score", y_score)
    check_consistent_length(y, score, *others)
    weight = _check.weights(sample_weight, score)
    is_pos = y == _check.two_classes(owner, y)[1]
    _check.both_weighed(owner, is_pos, weight)
    if np.abs(score).max() > FARTHEST:
        raise ValueError(f"y_score of {owner} must lie within ±{FARTHEST:g}, so that margins have squares. Scale it.")
    ranked = Pairs(is_pos, weight).rank(score)
    return ranked.cut(1.0, everywhere=loss == "square")


def _numbers(name, values):
    return check_array(values, ensure_2d=False, dtype=np.float64, input_name=name).ravel()


class Pairs:
    """All pairs of rows of weight above zero, one of each class.

    The smaller class is sorted, and each row of the larger one is placed into it. Which class is which only
    turns the scores round: a pair is active where s_j > s_i − 1, or else where −s_i > −s_j − 1.
    """

    def __init__(self, is_pos, weight=None):
        pos, neg = (np.flatnonzero(c if weight is None else c & (weight > 0.0)) for c in (is_pos, ~is_pos))
        self.is_pos, self.weight, self.n = is_pos, weight, len(is_pos)
        self.sign = 1.0 if len(pos) <= len(neg) else -1.0
        self.few, self.many = (pos, neg) if len(pos) <= len(neg) else (neg, pos)
        self.few_mass, self.many_mass = (_mass(weight, index) for index in (self.few, self.many))
        self.total = float(self.few_mass.sum()) * float(self.many_mass.sum())

    def rank(self, score):
        """The scores in the order that every sum over pairs needs."""
        return Ranked(self, score)

    def sample(self, size):
        """Up to ``size`` rows of each class, the same ones every time, in the order of the rows."""
        rng = np.random.default_rng(0)
        return np.sort(np.concatenate([_some(rng, index, size) for index in (self.few, self.many)]))

    def only(self, chosen):
        """The pairs among the chosen rows."""
        return Pairs(self.is_pos[chosen], None if self.weight is None else self.weight[chosen])


def _some(rng, index, size):
    return index if len(index) <= size else rng.choice(index, size, replace=False, shuffle=False)


def _mass(weight, index):
    """Weights of one class, the largest 1, so that no product of weights overflows."""
    if weight is None:
        return np.ones(len(index))
    return weight[index] / weight[index].max()


class Ranked:
    """The smaller class by ascending score, its sums up to each place, and the larger class as it stands.

    ``mass[k]``, ``mean[k]`` and ``spread[k]`` are weight, mean score and sum of squares about the mean of the
    first k. Squares about a mean are only ever added, so far scores cost no digits.
    """

    def __init__(self, pairs, score):
        few, many = score[pairs.few], score[pairs.many]
        # A whole number, so that margins of exactly 1 between round scores stay exact.
        centre = np.rint((few.sum() + many.sum()) / (len(few) + len(many)))
        order = np.argsort(pairs.sign * few)
        self.pairs = pairs
        self.rows, self.own = pairs.few[order], pairs.few_mass[order]
        self.few, self.many = pairs.sign * (few[order] - centre), pairs.sign * (many - centre)
        self.mass = _running(self.own)
        self.mean = _running(self.own * self.few)
        self.mean[1:] /= self.mass[1:]
        jump = self.few - self.mean[:-1]
        self.spread = _running(self.own * self.mass[:-1] / self.mass[1:] * jump * jump)

    def cut(self, margin, everywhere=False):
        """The pairs with margin below ``margin``, or all of them."""
        return Cut(self, margin, everywhere)


class Cut:
    """The active pairs, those with margin m < c, and sums over them of (c − m) and (c − m)².

    One array t_i = fl(s_i − c) decides for both rows of a pair: ``below[j]`` rows of the smaller class have
    t_i < s_j, and they are the first ones.
    """

    def __init__(self, ranked, margin, everywhere):
        self.ranked, self.t = ranked, ranked.few - margin
        n = len(ranked.many)
        self.below = np.full(n, len(self.t)) if everywhere else places(self.t, ranked.many)
        self.mass = ranked.mass[self.below]
        self.gap = ranked.many - (ranked.mean[self.below] - margin)

    def linear_value(self):
        """The mean over all pairs of (c − m)₊."""
        return float(self.ranked.pairs.many_mass @ (self.mass * self.gap)) / self.ranked.pairs.total

    def square_value(self):
        """The mean over all pairs of (c − m)₊²."""
        squares = self.mass * self.gap * self.gap + self.ranked.spread[self.below]
        return float(self.ranked.pairs.many_mass @ squares) / self.ranked.pairs.total

    def linear_slope(self):
        """The gradient of `linear_value`, an entry a row."""
        return self._rows(-self.partners(), self.mass, self.ranked.pairs.sign)

    def square_slope(self):
        """The gradient of `square_value`, an entry a row."""
        few = self.partners() * self.t - self.above(self.ranked.many)
        return self._rows(few, self.mass * self.gap, 2.0 * self.ranked.pairs.sign)

    def square_product(self, u):
        """The second derivatives of `square_value`, times u."""
        u = u - u.mean()  # a constant moves no margin, and its digits are wanted elsewhere
        few, many = u[self.ranked.rows], u[self.ranked.pairs.many]
        before = _running(self.ranked.own * few)[self.below]
        return self._rows(self.partners() * few - self.above(many), self.mass * many - before, 2.0)

    def active(self):
        """The share of pairs that are active and hold a row, an entry a row."""
        return self._rows(self.partners(), self.mass, 1.0)

    def partners(self):
        """For each of the smaller class: the weight of the rows it is active with."""
        return self.above(None)

    def above(self, u):
        """For each of the smaller class: the weighted sum of u over the rows it is active with."""
        mass = self.ranked.pairs.many_mass
        sums = np.bincount(self.below, mass if u is None else mass * u, minlength=len(self.t) + 1)
        return sums[:0:-1].cumsum()[::-1]

    def _rows(self, few, many, factor):
        """What was found for sorted and placed rows, weighted, where the rows stand in the table."""
        pairs = self.ranked.pairs
        out = np.zeros(pairs.n)
        out[self.ranked.rows] = few * self.ranked.own
        out[pairs.many] = many * pairs.many_mass
        out *= factor / pairs.total
        return out


def _running(values):
    """Sums of the first 0, 1, ... values."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


@kernel
def places(t, s):
    """For each of s, in any order: how many of the sorted t lie below it.

    A look into a table of equal cells leaves a handful of t to search, so nothing else needs sorting.
    """
    n = t.shape[0]
    count = 4 * n
    low, width = t[n // 64], t[n - 1 - n // 64] - t[n // 64]
    scale = min(count / width, 1e300) if width > 0.0 else 0.0
    starts = np.zeros(count + 1, np.int64)
    for k in range(n):
        starts[cell(t[k], low, scale, count) + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    out = np.empty(s.shape[0], np.int64)
    for j in range(s.shape[0]):
        c = cell(s[j], low, scale, count)
        a, b = starts[c], starts[c + 1]
        while a < b:
            middle = (a + b) >> 1
            if t[middle] < s[j]:
                a = middle + 1
            else:
                b = middle
        out[j] = a
    return out


@kernel
def cell(x, low, scale, count):
    """Which cell holds x: never falls as x rises, so cells keep the order of what is in them; NaN goes to the first."""
    place = (x - low) * scale
    if not place > 0.0:
        return 0
    return int(place) if place < count - 1.0 else count - 1
