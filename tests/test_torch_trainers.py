"""`auclid.torch` in other people's training loops: Lightning, Hugging Face's Trainer, skorch, torch.compile.

`make test-torch` installs them; where one is missing, its tests are skipped, saying so.
"""

import os

import numpy as np
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # models are made here, none is fetched

torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-torch` runs these")

from auclid import metrics as array_metrics  # noqa: E402
from auclid.torch import BalancedSampler, MomentLoss, PairLoss, StreamingAUC, metrics  # noqa: E402

MISSING = "is not installed: `make test-torch` installs it"


def table(n=400, d=5, seed=0):
    """Rows and labels of which one in five is positive."""
    generator = torch.Generator().manual_seed(seed)
    y = (torch.arange(n) % 5 == 0).float()
    return torch.randn(n, d, generator=generator) + y[:, None], y


def network(d=5, seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(d, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


def auc(model, X, y):
    """Training AUC of a network."""
    with torch.no_grad():
        return metrics.roc_auc(y, model(X).squeeze(1))


# --- Lightning ----------------------------------------------------------------------------------------


def lightning_module(criterion):
    lightning = pytest.importorskip("lightning", reason=f"Lightning {MISSING}")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network, self.criterion, self.metric = network(), criterion, StreamingAUC()

        def training_step(self, batch, _):
            return self.criterion(self.network(batch[0]).squeeze(1), batch[1])

        def validation_step(self, batch, _):
            self.metric.update(self.network(batch[0]), batch[1])

        def on_validation_epoch_end(self):
            self.log("auc", self.metric.compute())
            self.metric.reset()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    return lightning, Model


def loaders(X, y):
    data = torch.utils.data.TensorDataset(X, y)
    return (
        torch.utils.data.DataLoader(data, batch_sampler=BalancedSampler(y, 32, 8)),
        torch.utils.data.DataLoader(data, batch_size=100),
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options",
    [{}, {"precision": "bf16-mixed"}, {"accumulate_grad_batches": 4, "gradient_clip_val": 1.0}],
    ids=["plain", "mixed precision", "accumulated"],
)
@pytest.mark.parametrize("criterion", [PairLoss(memory=32), MomentLoss()], ids=["pairs", "moments"])
def test_lightning_trains_with_the_loss_and_the_sampler(options, criterion, tmp_path):
    criterion.reset()
    lightning, Model = lightning_module(criterion)
    X, y = table()
    model = Model()
    trainer = lightning.Trainer(
        max_epochs=8, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        enable_checkpointing=False, use_distributed_sampler=False, default_root_dir=tmp_path, **options,
    )  # fmt: skip
    trainer.fit(model, *loaders(X, y))
    steps = 8 * len(BalancedSampler(y, 32, 8)) // options.get("accumulate_grad_batches", 1)
    assert trainer.global_step >= steps and auc(model.network, X, y) > 0.85
    assert trainer.callback_metrics["auc"].item() == pytest.approx(auc(model.network, X, y), abs=0.01)
    trainer.save_checkpoint(tmp_path / "kept.ckpt")
    again = torch.load(tmp_path / "kept.ckpt", weights_only=True)["state_dict"]
    assert all(torch.equal(again[f"criterion.{name}"], value) for name, value in criterion.state_dict().items())
    assert criterion.state_dict()


# --- Hugging Face -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_trainer_of_hugging_face_takes_the_loss(outputs, accumulate, tmp_path):
    """A tiny BERT with random weights; the label says whether the first word is a rare one."""
    transformers = pytest.importorskip("transformers", reason=f"transformers {MISSING}")
    pytest.importorskip("accelerate", reason=f"accelerate {MISSING}")
    rng = np.random.default_rng(0)
    words = rng.integers(2, 30, size=(256, 8))
    y = words[:, 0] > 22
    rows = [{"input_ids": row.tolist(), "labels": int(label)} for row, label in zip(words, y, strict=True)]
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=8, num_labels=outputs, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model, criterion = transformers.BertForSequenceClassification(config), PairLoss()

    def score(logits):
        return logits[:, 0] if outputs == 1 else logits[:, 1] - logits[:, 0]

    settings = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=60, per_device_train_batch_size=32, gradient_accumulation_steps=accumulate,
        learning_rate=1e-2, report_to=[], save_strategy="no", disable_tqdm=True, use_cpu=True, seed=0,
        logging_strategy="no",
    )  # fmt: skip
    trainer = transformers.Trainer(
        model=model,
        args=settings,
        train_dataset=rows,
        compute_loss_func=lambda answer, labels, **_: criterion(score(answer["logits"]), labels),
    )
    trainer.train()
    with torch.no_grad():
        scores = score(model(input_ids=torch.tensor(words)).logits)
    assert trainer.state.global_step == 60
    assert metrics.roc_auc(y, scores) > 0.9


# --- skorch -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("criterion", [PairLoss, MomentLoss])
def test_skorch_takes_the_loss(criterion):
    skorch = pytest.importorskip("skorch", reason=f"skorch {MISSING}")
    X, y = table()
    options = {"criterion__loss": "logistic", "lr": 0.5} if criterion is PairLoss else {"lr": 0.05}
    net = skorch.NeuralNet(
        network, criterion=criterion, max_epochs=15, batch_size=100, train_split=None, verbose=0, **options
    )
    net.fit(X.numpy(), y.numpy()[:, None])
    assert array_metrics.roc_auc(y.numpy(), net.predict(X.numpy())[:, 0]) > 0.85


def test_skorch_takes_the_sampler():
    skorch = pytest.importorskip("skorch", reason=f"skorch {MISSING}")
    X, y = table()
    net = skorch.NeuralNet(
        network, criterion=PairLoss, max_epochs=5, optimizer=torch.optim.Adam, lr=1e-2, train_split=None, verbose=0,
        iterator_train__batch_sampler=BalancedSampler(y, 32, 8), batch_size=1, iterator_train__shuffle=False,
    )  # fmt: skip
    net.fit(X.numpy(), y.numpy()[:, None])
    assert array_metrics.roc_auc(y.numpy(), net.predict(X.numpy())[:, 0]) > 0.85


# --- torch.compile ------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", [PairLoss(), MomentLoss()], ids=["pairs", "moments"])
def test_a_compiled_network_trains_with_the_loss(criterion):
    X, y = table()
    model = network()
    compiled, optimizer = torch.compile(model, backend="aot_eager"), torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion.reset()
    for epoch in range(3):
        for rows in BalancedSampler(y, 32, 8, seed=epoch):
            optimizer.zero_grad()
            criterion(compiled(X[rows]).squeeze(1), y[rows]).backward()
            optimizer.step()
    assert auc(model, X, y) > 0.85
