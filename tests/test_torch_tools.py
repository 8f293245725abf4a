"""`auclid.torch`: the last layer, metrics on tensors, and the machinery of PyTorch around the losses."""

import subprocess
import sys

import numpy as np
import pytest

import auclid
from auclid import LeastSquaresAUC, RankSVM
from auclid import metrics as array_metrics

torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-torch` runs these")

from auclid.torch import BalancedSampler, MomentLoss, PairLoss, StreamingAUC, head, metrics  # noqa: E402


def table(n=400, d=5, seed=0):
    """Rows and labels of which one in five is positive."""
    generator = torch.Generator().manual_seed(seed)
    y = (torch.arange(n) % 5 == 0).float()
    return torch.randn(n, d, generator=generator) + y[:, None], y


def network(d=5, outputs=1, seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(d, 8), torch.nn.Tanh(), torch.nn.Linear(8, outputs))


def batches(X, y, size=64):
    return zip(X.split(size), y.split(size), strict=True)


# --- the last layer -----------------------------------------------------------------------------------


def test_the_last_layer_becomes_the_optimum_on_its_inputs():
    X, y = table()
    model = network().double()
    (ranker,) = head(model, batches(X.double(), y))
    inputs = model[:2](X.double()).detach().numpy()
    expected = LeastSquaresAUC().fit(inputs, y.numpy())
    np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-8)
    np.testing.assert_allclose(model[2].weight.detach(), expected.coef_, rtol=1e-8)
    scores = model(X.double()).detach().numpy()[:, 0]
    np.testing.assert_allclose(scores, ranker.decision_function(inputs), rtol=1e-8, atol=1e-10)


def test_a_ranker_without_partial_fit_learns_from_all_batches():
    X, y = table()
    model = network().double()
    (ranker,) = head(model, batches(X.double(), y), ranker=RankSVM(alpha=1e-2))
    expected = RankSVM(alpha=1e-2).fit(model[:2](X.double()).detach().numpy(), y.numpy())
    np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-10)
    np.testing.assert_allclose(model[2].weight.detach(), expected.coef_, rtol=1e-10)


def test_several_outputs_and_a_layer_of_ones_own():
    X, y = table()
    model = torch.nn.ModuleDict({"body": network(outputs=2), "other": torch.nn.Linear(3, 1)})
    targets = torch.stack([y, y.flip(0)], dim=1)

    class Whole(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = model

        def forward(self, X):
            return self.parts["body"](X)

    rankers = head(Whole(), batches(X, targets), layer=model["body"][2])
    np.testing.assert_allclose(model["body"][2].weight.detach(), np.concatenate([r.coef_ for r in rankers]), rtol=1e-5)


def test_the_model_is_left_in_its_mode_and_without_hooks():
    X, y = table()
    model = torch.nn.Sequential(network(), torch.nn.Identity()).train()
    head(model, batches(X, y))
    assert model.training and not model[0][2]._forward_pre_hooks


@pytest.mark.parametrize(
    "batch",
    [
        lambda X, y: {"left": X, "right": X, "labels": y},
        lambda X, y: ((X, X), y),
        lambda X, y: ({"left": X, "right": X}, y[:, None]),
    ],
)
def test_batches_may_have_several_inputs(batch):
    X, y = table()

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = network(d=10)

        def forward(self, left, right):
            return self.body(torch.cat([left, right], dim=1))

    model, plain = Two(), network(d=10)
    (ranker,) = head(model, [batch(X, y)])
    (expected,) = head(plain, [(torch.cat([X, X], dim=1), y)])
    np.testing.assert_allclose(ranker.coef_, expected.coef_)


def test_what_head_cannot_do_is_told():
    X, y = table()
    with pytest.raises(ValueError, match=r"expects a model with a torch.nn.Linear layer"):
        head(torch.nn.ReLU(), [(X, y)])
    with pytest.raises(ValueError, match=r"expects 2 columns of targets, one for each output. Got 1"):
        head(network(outputs=2), [(X, y)])
    with pytest.raises(ValueError, match=r"head expects targets 0 and 1, .*Got the values 1, 2 instead"):
        head(network(), [(X, y + 1.0)])
    model = network()
    before = model[2].weight.detach().clone()
    for loader, counts in (([], r"Got \[0\] positive and \[0\]"), ([(X, 0 * y)], r"Got \[0\] positive and \[400\]")):
        for ranker in (LeastSquaresAUC(), RankSVM()):
            with pytest.raises(ValueError, match=f"loader with rows of both classes for each output. {counts}"):
                head(model, loader, ranker=ranker)
    assert torch.equal(model[2].weight, before)
    for wrong, said in (([X], "Tensor"), ([(X, y, y)], "tuple of 3"), ([{"X": X}], r"a mapping of \['X'\]")):
        with pytest.raises(TypeError, match=rf"batches \(inputs, targets\), or mappings with 'labels'. Got {said}"):
            head(model, wrong)
    for ranker in (auclid.FactorizationRanker(), "RankSVM"):
        with pytest.raises(TypeError, match="expects a linear ranker of auclid"):
            head(model, [(X, y)], ranker=ranker)
    with pytest.raises(ValueError, match="one row for each of the 400 targets"):
        head(network(), [(X[None].repeat(2, 1, 1), y)])


# --- metrics ------------------------------------------------------------------------------------------


def test_metrics_take_tensors_of_any_kind():
    X, y = table()
    scores = X[:, 0].clone().requires_grad_()
    expected = array_metrics.roc_auc(y.numpy(), X[:, 0].numpy())
    assert metrics.roc_auc(y, scores) == metrics.roc_auc(y, y_score=scores) == expected
    low = metrics.roc_auc(y.bool(), scores.bfloat16())
    assert low == array_metrics.roc_auc(y.numpy(), scores.detach().bfloat16().float().numpy())
    other = X[:, 1]
    assert metrics.compare_auc(y, scores, other) == array_metrics.compare_auc(y.numpy(), X[:, 0].numpy(), other.numpy())
    many = metrics.compare_many(y, {"a": scores, "b": other})
    assert str(many) == str(array_metrics.compare_many(y.numpy(), {"a": X[:, 0].numpy(), "b": other.numpy()}))


def test_metrics_have_the_names_of_the_library():
    with pytest.raises(AttributeError, match="no attribute 'roc_acu'"):
        _ = metrics.roc_acu
    assert "partial_auc" in dir(metrics) and metrics.partial_auc.__doc__ == array_metrics.partial_auc.__doc__


def test_a_streaming_auc_is_that_of_all_batches():
    X, y = table()
    metric, weighted = StreamingAUC(), StreamingAUC()
    for scores, labels in batches(X[:, :1], y):
        metric.update(scores, labels)
        weighted.update(scores, labels, torch.full_like(labels, 2.0))
    expected = array_metrics.roc_auc(y.numpy(), X[:, 0].numpy())
    assert metric.bounds() == (expected,) * 3
    assert metric.compute().item() == pytest.approx(expected, abs=1e-7)
    assert weighted.compute().item() == pytest.approx(expected, abs=1e-7)
    assert metric.interval() == pytest.approx(array_metrics.auc_interval(y.numpy(), X[:, 0].numpy()))
    before = metric.bounds()
    with pytest.raises(ValueError, match=r"StreamingAUC expects targets 0 and 1, .*Got the values 0, 0.5, 1 instead"):
        metric.update(torch.zeros(3), torch.tensor([0.0, 0.5, 1.0]))
    assert metric.bounds() == before
    metric.reset()
    assert metric.compute().isnan()


def test_streaming_aucs_of_several_processes_add():
    X, y = table()
    parts = [StreamingAUC(capacity=32) for _ in range(2)]
    for metric, (scores, labels) in zip(parts, batches(X[:, 0], y, 200), strict=True):
        metric.update(scores, labels)
    both = parts[0] + parts[1]
    assert both.bounds().low <= array_metrics.roc_auc(y.numpy(), X[:, 0].numpy()) <= both.bounds().high
    with pytest.raises(TypeError):
        parts[0] + 1


# --- optimisers, precision, trainers ------------------------------------------------------------------


def train(model, criterion, X, y, steps=60, **keywords):
    """A plain loop; gives the training AUC."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    sampler = BalancedSampler(y, 32, 8)
    for _, rows in zip(range(steps), (rows for _ in range(steps) for rows in sampler), strict=False):
        optimizer.zero_grad()
        criterion(model(X[rows]).squeeze(1), y[rows], **keywords).backward()
        optimizer.step()
    return metrics.roc_auc(y, model(X).squeeze(1))


@pytest.mark.parametrize(
    "criterion",
    [PairLoss(), PairLoss("logistic"), PairLoss(max_fpr=0.3), PairLoss(memory=64), MomentLoss()],
    ids=["squared_hinge", "logistic", "max_fpr", "memory", "moments"],
)
def test_a_network_learns(criterion):
    X, y = table(600)
    criterion.reset()
    model = network()
    before = metrics.roc_auc(y, model(X).squeeze(1))
    assert train(model, criterion, X, y) > max(0.85, before)


def test_any_optimiser_with_a_closure_takes_the_loss():
    X, y = table()
    model, criterion = network().double(), PairLoss()
    optimizer = torch.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe", max_iter=50)

    def closure():
        optimizer.zero_grad()
        loss = criterion(model(X.double()).squeeze(1), y)
        loss.backward()
        return loss

    first = closure().item()
    optimizer.step(closure)
    assert closure().item() < 0.8 * first


def test_gradients_accumulate():
    X, y = table(80)
    model, criterion = network().double(), PairLoss()
    halves = [(X[:40].double(), y[:40]), (X[40:].double(), y[40:])]
    for inputs, labels in halves:
        (0.5 * criterion(model(inputs), labels)).backward()
    added = model[0].weight.grad.clone()
    model.zero_grad()
    torch.stack([criterion(model(inputs), labels) for inputs, labels in halves]).mean().backward()
    torch.testing.assert_close(model[0].weight.grad, added)


@pytest.mark.parametrize("criterion", [PairLoss("hinge"), PairLoss("logistic"), MomentLoss()])
def test_under_autocast_sums_keep_their_precision(criterion):
    X, y = table()
    model = network()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = model(X).squeeze(1)
        loss = criterion(scores, y)
    assert scores.dtype == torch.bfloat16 and loss.dtype == torch.float32
    criterion.reset()
    exact = criterion(scores.detach().double(), y)
    assert loss.item() == pytest.approx(exact.item(), rel=1e-6)
    loss.backward()
    assert model[0].weight.grad.dtype == torch.float32 and model[0].weight.grad.abs().sum() > 0


def test_a_gradient_scaler_scales_before_half_precision():
    score = torch.tensor([0.0, 1e-3] * 500, dtype=torch.float16, requires_grad=True)
    y = torch.tensor([0, 1] * 500)
    (PairLoss("hinge")(score, y) * 65536.0).backward()
    np.testing.assert_allclose(score.grad.float().numpy(), np.tile([131.0, -131.0], 500), rtol=2e-2)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("criterion", [PairLoss(), PairLoss("logistic", max_fpr=0.5), MomentLoss()])
def test_torch_compile(backend, criterion):
    X, y = table(64)
    model = network()

    def step(inputs, labels):
        return criterion(model(inputs).squeeze(1), labels)

    criterion.reset()
    plain = step(X, y)
    plain.backward()
    expected = model[0].weight.grad.clone()
    criterion.reset()
    model.zero_grad()
    compiled = torch.compile(step, backend=backend)(X, y)
    compiled.backward()
    torch.testing.assert_close(compiled, plain)
    torch.testing.assert_close(model[0].weight.grad, expected)


# --- the package --------------------------------------------------------------------------------------


def test_the_package_is_an_attribute_and_imports_the_real_torch():
    assert auclid.torch.PairLoss is PairLoss
    assert torch.__name__ == "torch" and hasattr(torch, "Tensor")


def test_the_core_does_not_import_torch():
    code = "import sys, auclid.cli._app, auclid.metrics, auclid.auto, auclid.io; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
