"""`auclid.pairs` against the double loop, and by its laws."""

import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_pairs as reference
from auclid import losses, pairs
from auclid.stats import loss_sums
from auclid.stats.pair_sums import Pairs, count_below

LOSSES = ["squared_hinge", "hinge", "square", "logistic"]

eighths = st.integers(-40, 40).map(lambda k: k / 8)
"""Scores that tie, and whose margins meet 1 exactly."""


@st.composite
def problems(draw, scores=eighths):
    """Labels with both classes, scores, a direction, and weights or None."""
    n = draw(st.integers(2, 12))
    y = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    y[0], y[-1] = False, True
    column = lambda kind: np.array(draw(st.lists(kind, min_size=n, max_size=n)))  # noqa: E731
    score, direction = column(scores), column(eighths)
    weight = draw(st.sampled_from([None, column(st.integers(1, 5).map(float))]))
    return y, score, direction, weight


def agree(y, score, direction, weight, loss, rtol=1e-12):
    size = max(1.0, np.abs(score).max())
    close = lambda a, b, scale: np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-13 * scale)  # noqa: E731
    kw = {"loss": loss, "sample_weight": weight}
    close(pairs.value(y, score, **kw), reference.value(y, score, loss, weight), size)
    close(pairs.gradient(y, score, **kw), reference.gradient(y, score, loss, weight), size)
    product = reference.curvature_product(y, score, direction, loss, weight)
    close(pairs.curvature_product(y, score, direction, **kw), product, np.abs(direction).max())


@pytest.mark.parametrize("loss", LOSSES)
@settings(deadline=None, max_examples=100)
@given(problem=problems())
def test_the_double_loop_agrees_on_tied_scores_and_exact_margins(loss, problem):
    agree(*problem, loss)


@pytest.mark.parametrize("loss", LOSSES)
@settings(deadline=None, max_examples=50)
@given(problem=problems(st.floats(-1e6, 1e6, allow_nan=False, width=32)))
def test_the_double_loop_agrees_on_any_scores_where_no_margin_is_one(loss, problem):
    y, score, direction, weight = problem
    margins = np.subtract.outer(score[y], score[~y])
    if np.abs(margins - 1.0).min() > 1e-9:
        agree(y, score, direction, weight, loss, rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("few", ["one positive", "one negative", "half"])
@pytest.mark.parametrize("scores", ["random", "constant", "tied", "huge margins", "far away", "tiny"])
def test_the_double_loop_agrees_on_scores_of_every_kind(loss, few, scores):
    rng = np.random.default_rng(0)
    seventh = np.arange(60) == 7
    y = {"one positive": seventh, "one negative": ~seventh, "half": rng.random(60) < 0.5}[few]
    score = {
        "random": rng.standard_normal(60),
        "constant": np.full(60, 3.25),
        "tied": rng.integers(-3, 4, 60).astype(float),
        "huge margins": rng.standard_normal(60) * 10.0 ** rng.integers(-3, 9, 60),
        "far away": 1e6 + rng.standard_normal(60),
        "tiny": 1e-9 * rng.standard_normal(60),
    }[scores]
    agree(y, score, rng.standard_normal(60), rng.random(60), loss, rtol=1e-9)


@pytest.mark.parametrize("flip", [False, True])
def test_a_far_score_costs_the_near_ones_no_digits(flip):
    y = np.array([0, 0, 1, 1, 0])
    score = np.array([0.0, 0.25, 0.5, 0.75, -1e15])
    if flip:
        y, score = 1 - y, -score
    near = pairs.gradient(y[:4], score[:4])
    np.testing.assert_allclose(pairs.gradient(y, score)[:4] * 3 / 2, near, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_and_curvature_are_derivatives(loss):
    rng = np.random.default_rng(1)
    y, s, u = np.arange(50) % 3 == 0, rng.standard_normal(50), rng.standard_normal(50)
    h = 1e-7
    by_values = (pairs.value(y, s + h * u, loss=loss) - pairs.value(y, s - h * u, loss=loss)) / (2 * h)
    assert by_values == pytest.approx(pairs.gradient(y, s, loss=loss) @ u, rel=1e-5)
    by_slopes = (pairs.gradient(y, s + h * u, loss=loss) - pairs.gradient(y, s - h * u, loss=loss)) / (2 * h)
    np.testing.assert_allclose(by_slopes, pairs.curvature_product(y, s, u, loss=loss), atol=1e-6)


def test_weights_are_repetitions_and_zero_weights_are_absence():
    rng = np.random.default_rng(2)
    y, s, times = np.arange(40) % 4 == 0, rng.standard_normal(40), rng.integers(0, 4, 40)
    each = np.repeat(np.arange(40), times)
    assert pairs.value(y, s, sample_weight=times) == pytest.approx(pairs.value(y[each], s[each]), rel=1e-12)
    repeated = np.bincount(each, pairs.gradient(y[each], s[each]), minlength=40)
    np.testing.assert_allclose(pairs.gradient(y, s, sample_weight=times), repeated, rtol=1e-12, atol=1e-16)


def test_swapping_the_classes_turns_the_scores_round():
    rng = np.random.default_rng(3)
    y, s = rng.integers(0, 2, 80), rng.standard_normal(80)
    assert pairs.value(1 - y, -s) == pytest.approx(pairs.value(y, s), rel=1e-12)
    np.testing.assert_allclose(pairs.gradient(1 - y, -s), -pairs.gradient(y, s), rtol=1e-9, atol=1e-16)


@pytest.mark.jit
def test_pairs_beyond_any_integer_in_memory_of_the_rows():
    n = 400_000
    y = np.arange(n) % 2
    tracemalloc.start()
    assert pairs.value(y, np.zeros(n)) == 1.0
    slopes = pairs.gradient(y, np.zeros(n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(slopes, np.where(y == 1, -2.0, 2.0) / (n / 2), rtol=1e-13)
    assert peak < 300 * n


@settings(deadline=None)
@given(
    st.lists(eighths, min_size=1, max_size=30),
    st.lists(eighths, max_size=30),
    st.sampled_from([1.0, 1e-310, 1e300]),
)
def test_places_are_those_of_a_sorted_search(t, s, scale):
    t, s = np.sort(np.array(t) * scale), np.array(s) * scale
    np.testing.assert_array_equal(count_below(t, s), np.searchsorted(t, s))


def test_places_among_far_outliers():
    rng = np.random.default_rng(4)
    t, s = np.sort(rng.standard_cauchy(5000)), rng.standard_cauchy(5000)
    np.testing.assert_array_equal(count_below(t, s), np.searchsorted(t, s))


def test_any_labels_will_do():
    assert pairs.value(["no", "yes"], [0.0, 0.5]) == 0.25


@pytest.mark.parametrize(
    ("args", "kw", "said"),
    [
        (([0, 1], [0.0, np.nan]), {}, "NaN"),
        (([1, 1], [0.0, 1.0]), {}, "pairs.value must see two classes"),
        (([0, 1, 2], [0.0, 1.0, 2.0]), {}, "3 classes"),
        (([0, 1, 1], [0.0, 1.0]), {}, "inconsistent numbers of samples"),
        (([0, 1], [0.0, 1.0]), {"loss": "ramp"}, "'loss' parameter of value must be"),
        (([0, 1], [0.0, 1.0]), {"max_fpr": 0.0}, "'max_fpr' parameter of value must be"),
        (([0, 1], [0.0, 1.0]), {"min_tpr": 0.5}, "at least one of the 1 positive rows"),
        (([0, 0, 1], [0.0, 1.0, 2.0]), {"max_fpr": 0.5, "loss": "square"}, "must not rise with the margin"),
        (([0, 1], [0.0, 1.0]), {"sample_weight": [1.0, -1.0]}, "negative"),
        (([0, 1], [0.0, 1.0]), {"sample_weight": [1.0, 0.0]}, "zero on every positive row"),
    ],
)
def test_bad_input_is_told_in_one_sentence(args, kw, said):
    with pytest.raises(ValueError, match=said):
        pairs.value(*args, **kw)


@pytest.mark.parametrize("score", [[-1e308, 1e308], [1e308, -1e308], [1e200, -1e200]])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "square"])
def test_scores_whose_margins_have_no_square_get_one_sentence(score, loss):
    with pytest.raises(ValueError, match=r"y_score of pairs\.value must lie within"):
        pairs.value([0, 1], score, loss=loss)


def test_a_constant_direction_costs_no_digits():
    rng = np.random.default_rng(0)
    y, s, u = np.arange(50) % 3 == 0, rng.standard_normal(50), rng.standard_normal(50)
    np.testing.assert_allclose(pairs.curvature_product(y, s, u + 1e9), pairs.curvature_product(y, s, u), atol=1e-6)
    np.testing.assert_allclose(pairs.curvature_product(y, s, u + 1.0), pairs.curvature_product(y, s, u), atol=1e-14)


class Knee(NamedTuple):
    """l(m) = 0 for m >= 1, (1 - m)^2 down to m = 1 - width, a straight line below: two squared hinges."""

    width: float = 0.5


@losses.hinges.implement(Knee)
def _(loss):
    return ((1.0, 1.0), (-1.0, 1.0 - loss.width))


class Cosh(NamedTuple):
    """l(m) = log cosh(m - 1): no sum of squared hinges."""


@losses.value.implement(Cosh)
def _(loss, m):
    return abs(m - 1.0) + np.log1p(np.exp(-2.0 * abs(m - 1.0))) - np.log(2.0)


@losses.slope.implement(Cosh)
def _(loss, m):
    return np.tanh(m - 1.0)


reference.LOSSES[Knee()] = (
    lambda m: max(0, 1 - m) ** 2 - max(0, 0.5 - m) ** 2,
    lambda m: -2 * max(0, 1 - m) + 2 * max(0, 0.5 - m),
    lambda m: 2.0 * (m < 1) - 2.0 * (m < 0.5),
)


@settings(deadline=None, max_examples=50)
@given(problem=problems())
def test_a_loss_of_ones_own_made_of_squared_hinges(problem):
    agree(*problem, Knee())


def test_a_loss_of_ones_own_by_its_value_and_slope_and_what_is_missing():
    rng = np.random.default_rng(0)
    y, s = np.arange(40) % 3 == 0, rng.standard_normal(40)
    margins = np.subtract.outer(s[y], s[~y])
    assert pairs.value(y, s, loss=Cosh()) == pytest.approx(np.log(np.cosh(margins - 1.0)).mean(), rel=1e-12)
    np.testing.assert_allclose(
        pairs.gradient(y, s, loss=Cosh())[y], np.tanh(margins - 1.0).sum(axis=1) / margins.size, rtol=1e-12
    )
    with pytest.raises(TypeError, match=r"'loss' parameter of pairs.curvature_product .* Got Cosh without curvature"):
        pairs.curvature_product(y, s, s, loss=Cosh())
    with pytest.raises(ValueError, match="Cosh does"):
        pairs.value(y, s, loss=Cosh(), max_fpr=0.5)


@pytest.mark.parametrize("function", [loss_sums.LossValue, loss_sums.LossSlope, loss_sums.LossCurvature])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0, 300.0])
def test_sums_of_a_smooth_loss_by_cells_are_those_of_the_double_loop(function, spread):
    rng = np.random.default_rng(1)
    scores = loss_sums.ClassScores(spread * rng.standard_normal(300), spread * rng.standard_cauchy(200).clip(-9, 9))
    a, b = rng.random((300, 2)), rng.standard_normal((200, 2))
    f = function(losses.Logistic())
    by_cells = loss_sums._sums_by_cells(f, scores, a, b, loss_sums.CellGrid.over(scores, *losses.smooth(f.loss)))
    for found, expected in zip(by_cells, loss_sums._double_loop(f, *scores, a, b), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.jit
def test_the_logistic_loss_of_very_many_pairs_takes_no_double_loop():
    rng = np.random.default_rng(2)
    y, s = rng.random(200_000) < 0.5, rng.standard_normal(200_000)
    few = rng.choice(200_000, 4000, replace=False)
    assert pairs.value(y, s, loss="logistic") == pytest.approx(pairs.value(y[few], s[few], loss="logistic"), rel=0.05)


def explicit_top(y, s, weight, max_fpr, min_tpr):
    """Weights of the top, by sorting: whole rows, and a fraction of the one at the cut."""
    out = np.zeros(len(s))
    for rows, sign, share in ((np.flatnonzero(~y), -1.0, max_fpr), (np.flatnonzero(y), 1.0, 1.0 - min_tpr)):
        left = share * weight[rows].sum()
        for k in rows[np.argsort(sign * s[rows], kind="stable")]:
            out[k] = min(weight[k], left)
            left -= out[k]
    return out


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic", Knee()])
@pytest.mark.parametrize("region", [(0.3, 0.0), (1.0, 0.5), (0.4, 0.25)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_top_is_that_of_sorted_rows(loss, region, weighted):
    rng = np.random.default_rng(3)
    y, s, u = rng.random(40) < 0.4, rng.standard_normal(40), rng.standard_normal(40)
    weight = rng.random(40) + 0.1 if weighted else np.ones(40)
    kw = {"loss": loss, "sample_weight": weight, "max_fpr": region[0], "min_tpr": region[1]}
    top = explicit_top(y, s, weight, *region)
    assert pairs.value(y, s, **kw) == pytest.approx(reference.value(y, s, loss, top), rel=1e-10)
    np.testing.assert_allclose(pairs.gradient(y, s, **kw), reference.gradient(y, s, loss, top), atol=1e-12)
    expected = reference.curvature_product(y, s, u, loss, top)
    np.testing.assert_allclose(pairs.curvature_product(y, s, u, **kw), expected, atol=1e-12)


def test_ties_at_the_cut_share_its_fraction():
    y, s = np.array([0, 0, 0, 1]), np.array([0.5, 0.5, 0.0, 1.0])
    np.testing.assert_allclose(pairs.gradient(y, s, loss="hinge", max_fpr=1 / 3), [0.5, 0.5, 0.0, -1.0])


@pytest.mark.parametrize("lightest", ["lowest", "highest", "all"])
def test_sorted_rows_may_weigh_nothing_wherever_they_stand(lightest):
    rng = np.random.default_rng(0)
    is_pos, scores = np.arange(12) < 4, rng.standard_normal(12)
    inside = np.ones(4)
    inside[{"lowest": scores[:4].argmin(), "highest": scores[:4].argmax(), "all": slice(None)}[lightest]] = 0.0
    ranking = Pairs(is_pos).rank(scores)
    block = ranking.within(1.0).facing(ranking.reweighed(inside)).block
    shortfall = np.maximum(1.0 - np.subtract.outer(scores[:4], scores[4:]), 0.0)
    np.testing.assert_allclose(block.linear(), inside @ shortfall, atol=1e-14)
    np.testing.assert_allclose(block.squares(), inside @ shortfall**2, atol=1e-14)
