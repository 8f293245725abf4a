"""`auclid.torch`: losses against the double loop, by gradcheck, and by their laws."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_pairs as reference
from auclid import losses, pairs

torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-torch` runs these")

from auclid.torch import MomentLoss, PairLoss, _batch, _logistic  # noqa: E402

LOSSES = ["squared_hinge", "hinge", "square", "logistic"]
CUTTABLE = [name for name in LOSSES if name != "square"]

eighths = st.integers(-40, 40).map(lambda k: k / 8)
"""Scores that tie, and whose margins meet 1 exactly."""


def value_and_gradient(loss, scores, targets, weight=None):
    """Of a loss at scores, as NumPy numbers."""
    scores = scores.clone().requires_grad_()
    value = loss(scores, targets, weight)
    value.backward()
    return value.item(), scores.grad.double().numpy()


def batch(n, share=0.3, seed=0, scale=1.0, dtype=torch.float64):
    """Scores, labels of both classes, and weights."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    y[0], y[-1] = False, True
    return (
        torch.tensor(scale * rng.standard_normal(n) + y, dtype=dtype),
        torch.tensor(y),
        torch.tensor(rng.random(n) + 0.1),
    )


@st.composite
def problems(draw):
    """Labels with both classes, scores, and weights or None."""
    n = draw(st.integers(2, 12))
    y = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    y[0], y[-1] = False, True
    score = np.array(draw(st.lists(eighths, min_size=n, max_size=n)))
    weight = draw(st.none() | st.lists(st.integers(1, 5).map(float), min_size=n, max_size=n).map(np.array))
    return y, score, weight


# --- PairLoss over all pairs --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@given(problem=problems())
def test_value_and_gradient_are_those_of_the_double_loop(loss, problem):
    y, score, weight = problem
    given_weight = None if weight is None else torch.tensor(weight)
    value, gradient = value_and_gradient(PairLoss(loss), torch.tensor(score), torch.tensor(y), given_weight)
    np.testing.assert_allclose(value, reference.value(y, score, loss, weight), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, reference.gradient(y, score, loss, weight), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("dtype", "bar"), [(torch.float64, 1e-12), (torch.float32, 1e-6), (torch.bfloat16, 1e-2)])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_many_scores_keep_their_digits(loss, dtype, bar, scale):
    score, y, weight = batch(3000, scale=scale, dtype=dtype)
    value, gradient = value_and_gradient(PairLoss(loss), score, y, weight)
    kept = {"loss": loss, "sample_weight": weight.numpy()}
    expected = pairs.gradient(y.numpy(), score.double().numpy(), **kept)
    np.testing.assert_allclose(value, pairs.value(y.numpy(), score.double().numpy(), **kept), rtol=max(bar, 1e-12))
    np.testing.assert_allclose(gradient, expected, atol=bar * np.abs(expected).max())


@pytest.mark.parametrize("loss", CUTTABLE)
def test_far_scores_do_not_cost_near_ones_their_digits(loss):
    score, y, _ = batch(200)
    score[1], y[1] = 1e9, True  # an easy pair with every negative
    score[2], y[2] = -1e9, False
    value, gradient = value_and_gradient(PairLoss(loss), score, y)
    near = np.clip(score.numpy(), -1e3, 1e3)  # as easy
    np.testing.assert_allclose(value, pairs.value(y.numpy(), near, loss=loss), rtol=1e-12)
    np.testing.assert_allclose(gradient, pairs.gradient(y.numpy(), near, loss=loss), atol=1e-14)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("margin", [0.3, 1.0, 2.5])
def test_a_margin_is_the_unit_of_the_scores(loss, margin):
    score, y, weight = batch(60)
    value, gradient = value_and_gradient(PairLoss(loss, margin=margin), margin * score, y, weight)
    power = 1 if loss in ("hinge", "logistic") else 2
    unit_value, unit_gradient = value_and_gradient(PairLoss(loss), score, y, weight)
    np.testing.assert_allclose(value, margin**power * unit_value, rtol=1e-12)
    np.testing.assert_allclose(gradient, margin ** (power - 1) * unit_gradient, rtol=1e-11, atol=1e-15)


REGIONS = [{"max_fpr": 0.3}, {"min_tpr": 0.4}, {"max_fpr": 0.4, "min_tpr": 0.3}]


@pytest.mark.parametrize(
    ("loss", "region"),
    [*((loss, {}) for loss in LOSSES), *((loss, region) for loss in CUTTABLE for region in REGIONS)],
)
def test_gradcheck(loss, region):
    score, y, weight = batch(14, seed=3)
    module = PairLoss(loss, **region)
    columns = torch.stack([score, 2.0 * score.flip(0)], dim=1).requires_grad_()
    targets = torch.stack([y, y.flip(0)], dim=1)
    assert torch.autograd.gradcheck(lambda s: module(s, targets, weight), (columns,))
    assert torch.autograd.gradcheck(lambda s: module(s, y), (score.requires_grad_(),))


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "square"])
def test_gradcheck_where_scores_tie(loss):
    score = torch.tensor([0.0, 0.0, 0.5, 0.5, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0, 1, 0, 1, 0, 1])
    assert torch.autograd.gradcheck(lambda s: PairLoss(loss)(s, y), (score,))


@pytest.mark.parametrize("module", [PairLoss("hinge"), PairLoss("logistic", max_fpr=0.5), MomentLoss()])
def test_a_batch_of_one_class_is_zero_in_the_graph_with_a_warning(module):
    score = torch.tensor([0.2, -1.0], dtype=torch.float64, requires_grad=True)
    with pytest.warns(UserWarning, match="without a pair of a positive and a negative row"):
        value = module(score, torch.zeros(2))
    value.backward()
    assert value.item() == 0.0 and score.grad.tolist() == [0.0, 0.0]
    empty = torch.zeros(0, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.autograd.gradcheck(lambda s: PairLoss()(s, torch.ones(2)), (score,))
        module.eval()(empty, torch.zeros(0)).backward()
    assert empty.grad.shape == (0,)


def test_a_column_of_one_class_counts_for_nothing():
    score, y, weight = batch(20)
    columns = torch.stack([score, score, -score], dim=1)
    targets = torch.stack([y, torch.zeros_like(y), y], dim=1).float()
    value, gradient = value_and_gradient(PairLoss(), columns, targets, weight)
    parts = [value_and_gradient(PairLoss(), s, y, weight) for s in (score, -score)]
    np.testing.assert_allclose(value, np.mean([part[0] for part in parts]), rtol=1e-12)
    np.testing.assert_allclose(gradient[:, [0, 2]], np.stack([part[1] for part in parts], axis=1) / 2, atol=1e-15)
    assert not gradient[:, 1].any()


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_without_a_label_or_a_weight_count_for_nothing(loss):
    score, y, weight = batch(30)
    value, gradient = value_and_gradient(PairLoss(loss), score[:20], y[:20], weight[:20])
    labels = torch.where(torch.arange(30) < 20, y.double(), torch.nan)
    zeros = torch.where(torch.arange(30) < 20, weight, 0.0)
    for given_labels, given_weight in ((labels, weight), (y, zeros)):
        more, slopes = value_and_gradient(PairLoss(loss), score, given_labels, given_weight)
        np.testing.assert_allclose(more, value, rtol=1e-12)
        np.testing.assert_allclose(slopes[:20], gradient, atol=1e-14)
        assert not slopes[20:].any()


@pytest.mark.parametrize("labels", [lambda y: y.long(), lambda y: 2.0 * y - 1.0, lambda y: y[:, None].float()])
def test_labels_may_be_of_several_kinds_and_shapes(labels):
    score, y, _ = batch(20)
    plain = value_and_gradient(PairLoss(), score, y)
    value, gradient = value_and_gradient(PairLoss(), score[:, None], labels(y))
    assert value == plain[0] and np.array_equal(gradient[:, 0], plain[1])


class TwoHinges(NamedTuple):
    """l(m) = max(0, 1 - m)^2 + strength max(0, 3 - m)^2 / 10"""

    strength: float = 2


@losses.hinges.implement(TwoHinges)
def _(loss):
    return ((1.0, 1.0), (loss.strength / 10.0, 3.0))


def test_a_loss_of_your_own_is_a_sum_of_squared_hinges():
    score, y, weight = batch(50)
    value, gradient = value_and_gradient(PairLoss(TwoHinges()), score, y, weight)
    kept = {"loss": TwoHinges(), "sample_weight": weight.numpy()}
    np.testing.assert_allclose(value, pairs.value(y.numpy(), score.numpy(), **kept), rtol=1e-12)
    np.testing.assert_allclose(gradient, pairs.gradient(y.numpy(), score.numpy(), **kept), atol=1e-13)
    assert torch.autograd.gradcheck(lambda s: PairLoss(TwoHinges(), max_fpr=0.2)(s, y), (score.requires_grad_(),))


def test_a_struct_of_the_library_is_its_name():
    score, y, _ = batch(20)
    assert (
        value_and_gradient(PairLoss(losses.Hinge()), score, y)[0] == value_and_gradient(PairLoss("hinge"), score, y)[0]
    )


# --- the logistic loss --------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.1, 3.0, 200.0])
@pytest.mark.parametrize("columns", [1, 3])
def test_cells_and_pairs_agree_on_the_logistic_loss(spread, columns):
    rng = np.random.default_rng(0)
    scores = torch.tensor(spread * rng.standard_normal((columns, 400)))
    pos = torch.tensor(rng.random((columns, 400)) * (rng.random((columns, 400)) < 0.4))
    neg = torch.tensor(rng.random((columns, 400))) * (pos == 0)
    rows = _logistic.ScoreBatch(scores, pos, neg)
    low, high = scores.min().item(), scores.max().item()
    n_cells = int((high - low) / _logistic.CELL_WIDTH) + 1
    cells = _logistic.CellSums(scores, low, n_cells, _logistic.DOUBLE, chunk=3000)
    direct = _logistic.DirectSums(rows, chunk=3000)
    for found, expected in zip(cells.value_and_slope(pos, neg), direct.value_and_slope(pos, neg), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13 * expected.abs().max().item())
    for own, others, as_pos in ((pos, neg, True), (neg, pos, False)):
        found, expected = cells.losses(others, as_pos), direct.losses(others, as_pos)
        np.testing.assert_allclose(found[own > 0], expected[own > 0], atol=1e-13 * expected.abs().max().item())


def test_the_cheaper_way_is_taken():
    def way(n, spread):
        score, y, _ = batch(n, scale=spread)
        own = torch.ones_like(score)
        return type(
            _logistic.logistic_sums(
                _logistic.ScoreBatch(score[None], (own * y)[None], (own * ~y)[None]), 1.0, _logistic.DOUBLE
            )
        )

    assert way(100, 1.0) is _logistic.DirectSums
    assert way(4000, 1.0) is _logistic.CellSums
    assert way(1000, 1e7) is _logistic.DirectSums


# --- partial AUC --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", CUTTABLE)
@pytest.mark.parametrize("region", [(0.3, 0.0), (1.0, 0.4), (0.35, 0.25)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_soft_top_is_that_of_explicit_pairs(loss, region, weighted):
    score, y, weight = batch(40, seed=5)
    weight = weight if weighted else None
    max_fpr, min_tpr = region
    own = None if weight is None else weight.numpy()
    for softness in (0.03, 0.1, 3.0):
        expected = reference.soft_top(y.numpy(), score.numpy(), loss, softness, max_fpr, min_tpr, own)
        module = PairLoss(loss, max_fpr=max_fpr, min_tpr=min_tpr, softness=softness)
        np.testing.assert_allclose(module(score, y, weight).item(), expected[0], rtol=1e-9)


@pytest.mark.parametrize("loss", CUTTABLE)
@given(problem=problems(), region=st.sampled_from([(0.3, 0.0), (1.0, 0.4), (0.55, 0.25)]))
def test_a_hard_cut_is_that_of_pairs(loss, problem, region):
    y, score, weight = problem
    max_fpr, min_tpr = region
    module = PairLoss(loss, max_fpr=max_fpr, min_tpr=min_tpr, softness=0.0)
    own = None if weight is None else torch.tensor(weight)
    value, gradient = value_and_gradient(module, torch.tensor(score), torch.tensor(y), own)
    kept = {"loss": loss, "sample_weight": weight, "max_fpr": max_fpr, "min_tpr": min_tpr}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = pairs.value(y, score, **kept), pairs.gradient(y, score, **kept)
        except ValueError:  # less than one row is left
            return
    np.testing.assert_allclose(value, expected[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-11)


def test_softness_leads_from_the_hard_cut_to_all_pairs():
    score, y, _ = batch(200)
    hard, everything = (PairLoss(max_fpr=rate, softness=0.0)(score, y).item() for rate in (0.1, 1.0))
    soft = [PairLoss(max_fpr=0.1, softness=softness) for softness in (1e-6, 1e8)]
    assert abs(soft[0](score, y).item() - hard) < 1e-5
    np.testing.assert_allclose(
        value_and_gradient(soft[1], score, y)[1], value_and_gradient(PairLoss(), score, y)[1], atol=1e-7
    )
    assert hard > everything


# --- memory -------------------------------------------------------------------------------------------


def with_constants(loss, batches):
    """Gradients by the definition: all pairs of all rows, of which only the last ones have derivatives."""
    scores, y = (torch.cat([part[k] for part in batches]) for k in (0, 1))
    now = batches[-1][0].clone().requires_grad_()
    scores = torch.cat([scores[: -len(now)], now])
    loss = (1.0 - (scores[y][:, None] - scores[~y])).clamp_min(0.0) ** (2 if loss == "squared_hinge" else 1)
    loss.mean().backward()
    return now.grad.numpy() * len(scores) / len(now)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_kept_rows_meet_those_of_the_batch_as_constants(loss):
    batches = [batch(10, seed=seed)[:2] for seed in range(4)]
    module = PairLoss(loss, memory=20)
    for part in batches[:-1]:
        module(*part)
    value, gradient = value_and_gradient(module, *batches[-1])
    kept = batches[1:]
    np.testing.assert_allclose(gradient, with_constants(loss, kept), atol=1e-14)
    scores, y = (torch.cat([part[k] for part in kept]).numpy() for k in (0, 1))
    np.testing.assert_allclose(value, pairs.value(y, scores, loss=loss), rtol=1e-12)


def test_a_batch_of_one_class_meets_the_kept_rows():
    first, y, _ = batch(10)
    module = PairLoss(memory=10)
    module(first, y)
    negatives = torch.tensor([0.3, -0.2], dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, gradient = value_and_gradient(module, negatives, torch.zeros(2))
    labels = torch.zeros(2, dtype=torch.bool)
    np.testing.assert_allclose(gradient, with_constants("squared_hinge", [(first, y), (negatives, labels)]), atol=1e-14)
    assert value > 0.0


def test_memory_longer_than_all_batches_changes_nothing_else():
    score, y, weight = batch(30)
    long, none = (value_and_gradient(PairLoss("logistic", memory=memory), score, y, weight) for memory in (500, 0))
    np.testing.assert_allclose(long[0], none[0], rtol=1e-12)
    np.testing.assert_allclose(long[1], none[1], atol=1e-14)


@pytest.mark.parametrize("make", [lambda: PairLoss(memory=15), lambda: MomentLoss(decay=0.5)])
def test_state_goes_through_a_state_dict(make):
    module, fresh = make(), make()
    batches = [batch(10, seed=seed)[:2] for seed in range(3)]
    module(*batches[0]), module(*batches[1])
    outer = torch.nn.ModuleDict({"loss": fresh})
    outer.load_state_dict({f"loss.{name}": value for name, value in module.state_dict().items()})
    assert value_and_gradient(fresh, *batches[2])[0] == value_and_gradient(module, *batches[2])[0]
    fresh.reset()
    assert fresh.state_dict() == {} and make().state_dict() == {}
    assert fresh(*batches[2]).item() == make()(*batches[2]).item()


@pytest.mark.parametrize("module", [PairLoss(memory=15), MomentLoss(decay=0.5)])
def test_evaluation_neither_keeps_nor_uses_rows(module):
    first, second = (batch(10, seed=seed)[:2] for seed in (0, 1))
    module.train()
    module(*first)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    alone = PairLoss() if isinstance(module, PairLoss) else PairLoss("square")
    np.testing.assert_allclose(module.eval()(*second).item(), alone(*second).item(), rtol=1e-12)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


@pytest.mark.parametrize("module", [PairLoss(memory=15), MomentLoss()])
def test_another_number_of_columns_is_refused(module):
    score, y, _ = batch(6)
    module(score, y)
    with pytest.raises(ValueError, match="expects 1 columns of scores, as in earlier batches"):
        module(torch.stack([score, score], dim=1), torch.stack([y, y], dim=1))


# --- MomentLoss ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 2])
def test_moments_of_one_batch_are_the_square_loss_over_all_pairs(columns):
    score, y, weight = batch(30)
    scores, targets = (torch.stack([x] * columns, dim=1) for x in (score, y))
    for module in (MomentLoss(margin=0.7, decay=0.0), MomentLoss(margin=0.7)):
        found = value_and_gradient(module, scores, targets, weight)
        expected = value_and_gradient(PairLoss("square", margin=0.7), scores, targets, weight)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-14)


def test_running_moments_are_those_of_faded_batches():
    batches = [batch(10, seed=seed) for seed in range(3)]
    module = MomentLoss(decay=0.8)
    values = [module(score, y, weight).item() for score, y, weight in batches]
    scores, y = (torch.cat([part[k] for part in batches]) for k in (0, 1))
    weight = torch.cat([0.8 ** (2 - k) * part[2] for k, part in enumerate(batches)])
    np.testing.assert_allclose(values[-1], PairLoss("square")(scores, y, weight).item(), rtol=1e-12)


@pytest.mark.parametrize("make", [lambda: MomentLoss(decay=0.99), lambda: PairLoss("square", memory=500)])
def test_small_batches_push_as_all_pairs_do_in_the_mean(make):
    """Most of the batches hold no positive: kept rows must not make the classes of those that do count for less."""
    rng = np.random.default_rng(0)
    score, y, _ = batch(400, share=0.1, seed=1)
    module, total = make(), np.zeros(400)
    everything = value_and_gradient(PairLoss("square"), score, y)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(2200):
            rows = rng.choice(400, 4)
            gradient = value_and_gradient(module, score[rows], y[rows])[1]
            if turn >= 200:
                np.add.at(total, rows, gradient / 2000)
    sums = [[part[own].sum() for own in (y.numpy(), ~y.numpy())] for part in (total, everything)]
    np.testing.assert_allclose(sums[0], sums[1], rtol=0.25)
    assert abs(sum(sums[0])) < 0.05 * abs(sums[0][0])


def test_one_sided_means_far_apart_are_not_pulled_together():
    score, y = torch.tensor([0.0, 0.1, 5.0, 5.3], dtype=torch.float64), torch.tensor([0, 0, 1, 1])
    gradient = value_and_gradient(MomentLoss(one_sided=True), score, y)[1]
    np.testing.assert_allclose(gradient, [-0.05, 0.05, -0.15, 0.15], atol=1e-15)
    pulled = value_and_gradient(MomentLoss(), score, y)[1]
    assert pulled[2] > 1.0 and pulled[0] < -1.0


# --- what can go wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("module", [PairLoss("hinge"), PairLoss("logistic", memory=5), MomentLoss()])
def test_scores_that_are_not_finite_are_seen(module, bad):
    score, y, _ = batch(10)
    score[y.nonzero()[0]] = bad
    value, gradient = value_and_gradient(module, score, y)
    assert np.isnan(value) and np.isnan(gradient).all()
    assert module.state_dict() == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"loss": "huber"}, "'loss' parameter of PairLoss"),
        ({"loss": "square", "max_fpr": 0.5}, "must not rise with the margin"),
        ({"margin": 0.0}, "'margin' parameter of PairLoss"),
        ({"max_fpr": 0.0}, "'max_fpr' parameter of PairLoss"),
        ({"min_tpr": 1.0}, "'min_tpr' parameter of PairLoss"),
        ({"softness": -0.1}, "'softness' parameter of PairLoss"),
        ({"memory": 1.5}, "'memory' parameter of PairLoss"),
        ({"loss": TwoHinges(), "margin": 2.0}, "margin=1.0 with a loss of your own"),
    ],
)
def test_parameters_are_checked(arguments, said):
    with pytest.raises(ValueError, match=said):
        PairLoss(**arguments)


def test_a_struct_without_hinges_is_refused():
    class Nothing(NamedTuple):
        """No functions."""

    with pytest.raises(TypeError, match="must have hinges implemented"):
        PairLoss(Nothing())


@pytest.mark.parametrize(("arguments", "said"), [({"decay": 1.0}, "'decay'"), ({"one_sided": 3}, "'one_sided'")])
def test_parameters_of_moments_are_checked(arguments, said):
    with pytest.raises(ValueError, match=f"{said} parameter of MomentLoss"):
        MomentLoss(**arguments)


def test_shapes_and_types_are_checked():
    y = torch.tensor([0, 1])
    with pytest.raises(TypeError, match=r"scores as a floating-point tensor. Got torch.int64"):
        PairLoss()(y, y)
    with pytest.raises(TypeError, match="Got list instead"):
        PairLoss()([0.0, 1.0], y)
    with pytest.raises(ValueError, match=r"Got shapes \(3,\) and \(2,\)"):
        PairLoss()(torch.zeros(3), y)
    with pytest.raises(ValueError, match=r"Got shapes \(1,\) and \(\)"):
        PairLoss()(torch.zeros(1), torch.tensor(1))
    with pytest.raises(ValueError, match="a weight for each of 2 rows"):
        PairLoss()(torch.zeros(2), y, torch.ones(3))
    with pytest.raises(ValueError, match=r"weights in \[0, inf\). Got -1.0"):
        PairLoss()(torch.zeros(2), y, torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"weights in \[0, inf\). Got inf"):
        PairLoss()(torch.zeros(2), y, torch.tensor([1.0, torch.inf]))


@pytest.mark.parametrize("module", [PairLoss(), MomentLoss()])
@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([1, 2, 1], "Got the values 1, 2 instead; pass a comparison"),
        ([0.0, 0.9, 1.0], "Got the values 0, 0.9, 1 instead.*A soft label is two rows"),
        ([-1, 0, 1], "Got the values -1, 0, 1 instead"),
        ([0.0, torch.inf, torch.nan], "Got the values 0, inf, nan instead"),
    ],
)
def test_labels_without_a_meaning_are_refused(module, targets, said):
    with pytest.raises(ValueError, match=f"{type(module).__name__} expects targets 0 and 1, -1 and 1, or bool.*{said}"):
        module(torch.zeros(3), torch.tensor(targets))
    assert module.state_dict() == {}


def test_values_are_checked_with_one_wait_for_the_device(monkeypatch):
    """Reading a value back is what makes a GPU wait: labels, weights and scores are checked at once."""
    waits = []
    for name in ("tolist", "item", "__bool__", "__float__"):
        plain = getattr(torch.Tensor, name)
        monkeypatch.setattr(torch.Tensor, name, lambda self, plain=plain: waits.append(self) or plain(self))
    score, y, weight = batch(20)
    _batch.as_batch("PairLoss", score, y.double(), weight)
    assert len(waits) == 1


def test_second_derivatives_are_refused():
    score, y, _ = batch(10)
    score.requires_grad_()
    (gradient,) = torch.autograd.grad(PairLoss()(score, y), score, create_graph=True)
    with pytest.raises(RuntimeError, match="have no second derivatives"):
        gradient.sum().backward()


@pytest.mark.parametrize("module", [PairLoss("logistic"), MomentLoss(decay=0.0)])
def test_gradients_by_torch_func_are_those_of_backward(module):
    score, y, weight = batch(10)
    gradient = torch.func.grad(lambda scores: module(scores, y, weight))(score)
    np.testing.assert_allclose(gradient, value_and_gradient(module, score, y, weight)[1], atol=1e-15)


def test_modules_print_their_parameters():
    assert repr(PairLoss("hinge", max_fpr=0.1, memory=8)) == (
        "PairLoss(Hinge, margin=1, max_fpr=0.1, min_tpr=0, softness=0.1, memory=8)"
    )
    assert repr(PairLoss()) == "PairLoss(SquaredHinge, margin=1)"
    assert repr(MomentLoss()) == "MomentLoss(margin=1, decay=0.9, one_sided=False)"
