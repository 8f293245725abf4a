"""What an AUC loss gains for a network: BCE, focal loss, LibAUC's AUCM and `auclid.torch` on two imbalanced tasks.

    python benchmarks/quality_deep.py [mnist] [covtype] [--seeds 5] [--only BCE AUCM ...]

Training rows are thinned to 240 positives and 12,000 negatives (2 %), drawn anew for each seed; test rows keep their
share of positives. Every method trains the same network (d-128-64-1, ReLU) for the same number of steps with batches
of 128 rows, with Adam at 1e-3 unless it brings an optimiser of its own, and with three weight decays; the learning rate
falls tenfold after half and after three quarters of the steps. Printed are means over the seeds and their standard
errors of test AUC, average precision and partial AUC up to a false-positive rate of 0.1 (after McClish), paired
differences in AUC to BCE, and seconds. Nothing is chosen by test rows. LibAUC's lines need ``pip install libauc`` and
are left out without it; its sampler needs torchvision besides, so `BalancedSampler` draws its half-positive batches.
"""

import argparse
import sys
from time import perf_counter

import numpy as np
from sklearn.metrics import average_precision_score
from tables import require_data, split

from auclid.metrics import partial_auc, roc_auc

try:
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits as bce
except ModuleNotFoundError:
    print("skipped: PyTorch is not installed")
    sys.exit(0)

from torch import nn

from auclid.torch import BalancedSampler, MomentLoss, PairLoss, head

N_POS, N_NEG, N_TEST, BATCH, EPOCHS = 240, 12_000, 20_000, 128, 12
STEPS = EPOCHS * -(-N_NEG // (BATCH // 2))
DROPS = [STEPS // 2, 3 * STEPS // 4]
"""Where the step falls tenfold, as in LibAUC's tutorials: for every method."""


def task(name, seed):
    """Thinned training rows and test rows, as tensors."""
    X, y, X_test, y_test = split(name, seed, scale=name != "mnist")
    if name == "mnist":
        X, X_test = X / X.max(), X_test / X.max()
    rng = np.random.default_rng(seed)
    kept = np.concatenate([rng.choice(np.flatnonzero(y == k), n, replace=False) for k, n in ((1, N_POS), (0, N_NEG))])
    test = rng.permutation(len(y_test))[:N_TEST]
    parts = X[kept], y[kept], X_test[test], y_test[test]
    return [torch.tensor(np.nan_to_num(part), dtype=torch.float32) for part in parts]


def network(d, seed):
    """The same weights for the same seed."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(d, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))


def shuffled_by(size):
    """Batches of so many rows of all, without end."""

    def batches(y, seed):
        generator = torch.Generator().manual_seed(seed)
        while True:
            yield from torch.randperm(len(y), generator=generator)[: len(y) // size * size].split(size)

    return batches


def balanced(positives):
    """Batches with so many positives, without end."""

    def batches(y, seed):
        sampler = BalancedSampler(y, BATCH, positives, seed=seed)
        while True:
            yield from map(torch.tensor, sampler)

    return batches


shuffled, small = shuffled_by(BATCH), shuffled_by(BATCH // 8)
half, eighth = balanced(BATCH // 2), balanced(BATCH // 8)


def focal(scores, y, gamma=2.0, alpha=0.25):
    """Lin et al. 2017."""
    p = torch.sigmoid(scores)
    right = torch.where(y > 0.5, p, 1.0 - p)
    return (torch.where(y > 0.5, alpha, 1.0 - alpha) * (1.0 - right) ** gamma * bce(scores, y, reduction="none")).mean()


def class_balanced(scores, y):
    """BCE where both classes weigh the same in all rows."""
    return bce(scores, y, pos_weight=torch.tensor(N_NEG / N_POS))


def trained(loss, batches):
    """A method: a loss with Adam. ``loss`` makes a criterion."""

    def fit(X, y, seed, decay):
        model, criterion = network(X.shape[1], seed), loss()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=decay)
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, DROPS)
        for _, rows in zip(range(STEPS), batches(y, seed), strict=False):
            optimizer.zero_grad()
            criterion(model(X[rows]).squeeze(1), y[rows]).backward()
            optimizer.step()
            scheduler.step()
        return model

    return fit


def pair_loss(batches, *args, **keywords):
    """PairLoss with some parameters."""
    return trained(lambda: PairLoss(*args, **keywords), batches)


def with_head(fit):
    """A method, and then the optimum of its last layer."""

    def refitted(X, y, seed, decay):
        model = fit(X, y, seed, decay)
        head(model, zip(X.split(1024), y.split(1024), strict=True))
        return model

    return refitted


def aucm(version="v1", **keywords):
    """LibAUC's AUCM with PESG."""

    def fit(X, y, seed, decay):
        from libauc.losses import AUCMLoss
        from libauc.optimizers import PESG

        model, criterion = network(X.shape[1], seed), AUCMLoss(version=version)
        changed = {"weight_decay": decay, **keywords} if decay else keywords
        optimizer = PESG(model.parameters(), loss_fn=criterion, verbose=False, **changed)
        for step, rows in zip(range(STEPS), half(y, seed), strict=False):
            if step in DROPS:
                optimizer.update_regularizer(decay_factor=10)
            optimizer.zero_grad()
            criterion(torch.sigmoid(model(X[rows])), y[rows]).backward()
            optimizer.step()
        return model

    return fit


MAIN = {
    "BCE": trained(lambda: bce, shuffled),
    "BCE, class-balanced": trained(lambda: class_balanced, shuffled),
    "focal loss": trained(lambda: focal, shuffled),
    "BCE, half-positive batches": trained(lambda: bce, half),
    "LibAUC AUCM v2, PESG": aucm("v2"),
    "LibAUC AUCM v2, PESG in Adam's mode, lr 1e-3": aucm("v2", mode="adam", lr=1e-3),
    "PairLoss(), shuffled": pair_loss(shuffled),
    "PairLoss()": pair_loss(half),
    "PairLoss('logistic')": pair_loss(half, "logistic"),
    "PairLoss(max_fpr=0.1)": pair_loss(half, max_fpr=0.1),
}
"""Methods that are tried with each weight decay."""

OTHERS = {
    "LibAUC AUCM v1, PESG": aucm(),
    "LibAUC AUCM v2, PESG, lr 0.5": aucm("v2", lr=0.5),
    "PairLoss('hinge')": pair_loss(half, "hinge"),
    "PairLoss('square')": pair_loss(half, "square"),
    "MomentLoss()": trained(MomentLoss, half),
    "MomentLoss(), shuffled": trained(MomentLoss, shuffled),
    "PairLoss(), 16 positives a batch": pair_loss(eighth),
    "PairLoss(memory=1024), shuffled": pair_loss(shuffled, memory=1024),
    "PairLoss(memory=8192), shuffled": pair_loss(shuffled, memory=8192),
    "BCE, shuffled batches of 16": trained(lambda: bce, small),
    "PairLoss(), shuffled batches of 16": pair_loss(small),
    "PairLoss(memory=256), shuffled batches of 16": pair_loss(small, memory=256),
    "PairLoss(memory=2048), shuffled batches of 16": pair_loss(small, memory=2048),
    "MomentLoss(), shuffled batches of 16": trained(MomentLoss, small),
    "MomentLoss(decay=0.99), shuffled batches of 16": trained(lambda: MomentLoss(decay=0.99), small),
    "BCE, then head": with_head(trained(lambda: bce, shuffled)),
    "PairLoss(), then head": with_head(pair_loss(half)),
}
"""Methods that are tried without weight decay."""

DECAYS = (0.0, 1e-4, 1e-3)


def measure(fit, data, seed, decay):
    """AUC, average precision and partial AUC on test rows, and seconds."""
    X, y, X_test, y_test = data
    start = perf_counter()
    model = fit(X, y, seed, decay)
    seconds = perf_counter() - start
    with torch.no_grad():
        scores, labels = model(X_test).squeeze(1).numpy(), y_test.numpy()
    areas = roc_auc(labels, scores), average_precision_score(labels, scores), partial_auc(labels, scores, max_fpr=0.1)
    return [*areas, seconds]


def told(values):
    """Mean and standard error over seeds."""
    values = np.asarray(values)
    return f"{values.mean():.4f} ± {values.std(ddof=1) / len(values) ** 0.5:.4f}"


def table(name, seeds, runs):
    """One line for each method and weight decay, as Markdown; differences are to the first line."""
    print(f"{name}, {STEPS:,} steps of {BATCH} rows, {seeds} seeds", flush=True)
    print("| method | weight decay | AUC | less the first | average precision | partial AUC to 0.1 | s |")
    print("|---|---|---|---|---|---|---|")
    tasks, base = [task(name, seed) for seed in range(seeds)], None
    for method, fit, decay in runs:
        try:
            found = np.array([measure(fit, data, seed, decay) for seed, data in enumerate(tasks)])
        except ModuleNotFoundError as error:
            print(f"{method}: left out, {error}")
            continue
        base = found[:, 0] if base is None else base
        cells = [told(found[:, 0]), told(found[:, 0] - base), told(found[:, 1]), told(found[:, 2])]
        print(f"| {method} | {decay:g} | {' | '.join(cells)} | {found[:, 3].mean():.1f} |", flush=True)


if __name__ == "__main__":
    require_data()
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="*", default=["mnist", "covtype"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[""], help="methods whose names hold one of these words")
    given = parser.parse_args()
    runs = [(name, fit, decay) for decay in DECAYS for name, fit in MAIN.items()]
    runs += [(name, fit, 0.0) for name, fit in OTHERS.items()]
    wanted = [run for run in runs if any(word in run[0] for word in given.only)]
    torch.set_num_threads(1)
    for name in given.tasks:
        table(name, given.seeds, wanted)
