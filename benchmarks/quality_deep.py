"""What an AUC loss gains for a network: BCE, focal loss, LibAUC's AUCM and `auclid.torch` on two imbalanced tasks.

    python benchmarks/quality_deep.py [mnist] [covtype] [--seeds 5] [--only BCE AUCM ...]

Training rows are thinned to 240 positives and 12,000 negatives (2 %), drawn anew for each seed; test rows keep their
share of positives. Every method trains the same network (d-128-64-1, ReLU) for the same number of steps with batches of 128
rows, with Adam at 1e-3 unless it brings an optimiser of its own. Printed are means over the seeds and their standard
errors of test AUC, average precision and partial AUC up to a false-positive rate of 0.1 (after McClish), paired
differences in AUC to BCE, and seconds. LibAUC's lines need ``pip install libauc`` and are left out without it; its sampler
needs torchvision besides, so `BalancedSampler` draws its half-positive batches.
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


def shuffled(y, seed):
    """Batches of all rows, without end."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from torch.randperm(len(y), generator=generator)[: len(y) // BATCH * BATCH].split(BATCH)


def balanced(positives):
    """Batches with so many positives, without end."""

    def batches(y, seed):
        sampler = BalancedSampler(y, BATCH, positives, seed=seed)
        while True:
            yield from map(torch.tensor, sampler)

    return batches


half, eighth = balanced(BATCH // 2), balanced(BATCH // 8)


def focal(scores, y, gamma=2.0, alpha=0.25):
    """Lin et al. 2017."""
    p = torch.sigmoid(scores)
    right = torch.where(y > 0.5, p, 1.0 - p)
    return (torch.where(y > 0.5, alpha, 1.0 - alpha) * (1.0 - right) ** gamma * bce(scores, y, reduction="none")).mean()


def class_balanced(scores, y):
    """BCE where both classes weigh the same in all rows."""
    return bce(scores, y, pos_weight=torch.tensor(N_NEG / N_POS))


def trained(loss, batches, lr=1e-3):
    """A method: any loss, with Adam."""

    def fit(X, y, seed):
        model = network(X.shape[1], seed)
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        criterion = loss() if isinstance(loss, type) or getattr(loss, "__name__", "") == "<lambda>" else loss
        for _, rows in zip(range(STEPS), batches(y, seed), strict=False):
            optimizer.zero_grad()
            criterion(model(X[rows]).squeeze(1), y[rows]).backward()
            optimizer.step()
        return model

    return fit


def with_head(fit):
    """A method, and then the optimum of its last layer."""

    def refitted(X, y, seed):
        model = fit(X, y, seed)
        head(model, zip(X.split(1024), y.split(1024), strict=True))
        return model

    return refitted


def aucm(version="v1", **keywords):
    """LibAUC's AUCM with PESG; the step falls tenfold at 50 % and 75 % of the way, as in its tutorials."""

    def fit(X, y, seed):
        from libauc.losses import AUCMLoss
        from libauc.optimizers import PESG

        model = network(X.shape[1], seed)
        criterion = AUCMLoss(version=version)
        optimizer = PESG(model.parameters(), loss_fn=criterion, verbose=False, **keywords)
        for step, rows in zip(range(STEPS), half(y, seed), strict=False):
            if step in (STEPS // 2, 3 * STEPS // 4):
                optimizer.update_regularizer(decay_factor=10)
            optimizer.zero_grad()
            criterion(torch.sigmoid(model(X[rows])), y[rows]).backward()
            optimizer.step()
        return model

    return fit


METHODS = {
    "BCE": trained(bce, shuffled),
    "BCE, class-balanced": trained(class_balanced, shuffled),
    "focal loss": trained(focal, shuffled),
    "BCE, half-positive batches": trained(bce, half),
    "BCE, 16 positives a batch": trained(bce, eighth),
    "LibAUC AUCM, PESG, its defaults": aucm(),
    "LibAUC AUCM v2, PESG, its defaults": aucm("v2"),
    "LibAUC AUCM v2, PESG, lr 0.5": aucm("v2", lr=0.5),
    "LibAUC AUCM v2, PESG, lr 0.02": aucm("v2", lr=0.02),
    "LibAUC AUCM v2, PESG adam, lr 1e-3": aucm("v2", mode="adam", lr=1e-3),
    "PairLoss()": trained(lambda: PairLoss(), half),
    "PairLoss(), 16 positives a batch": trained(lambda: PairLoss(), eighth),
    "PairLoss('logistic')": trained(lambda: PairLoss("logistic"), half),
    "PairLoss('logistic'), 16 positives": trained(lambda: PairLoss("logistic"), eighth),
    "PairLoss('hinge')": trained(lambda: PairLoss("hinge"), half),
    "PairLoss('square')": trained(lambda: PairLoss("square"), half),
    "MomentLoss()": trained(lambda: MomentLoss(), half),
    "PairLoss(), shuffled": trained(lambda: PairLoss(), shuffled),
    "PairLoss(memory=1024), shuffled": trained(lambda: PairLoss(memory=1024), shuffled),
    "PairLoss(memory=8192), shuffled": trained(lambda: PairLoss(memory=8192), shuffled),
    "MomentLoss(), shuffled": trained(lambda: MomentLoss(), shuffled),
    "PairLoss(max_fpr=0.1)": trained(lambda: PairLoss(max_fpr=0.1), half),
    "PairLoss(max_fpr=0.1), 16 positives": trained(lambda: PairLoss(max_fpr=0.1), eighth),
    "PairLoss(max_fpr=0.3)": trained(lambda: PairLoss(max_fpr=0.3), half),
    "BCE, then head": with_head(trained(bce, shuffled)),
    "PairLoss(), then head": with_head(trained(lambda: PairLoss(), half)),
}


def measure(fit, data, seed):
    """AUC, average precision and partial AUC on test rows, and seconds."""
    X, y, X_test, y_test = data
    start = perf_counter()
    model = fit(X, y, seed)
    seconds = perf_counter() - start
    with torch.no_grad():
        scores, labels = model(X_test).squeeze(1).numpy(), y_test.numpy()
    areas = roc_auc(labels, scores), average_precision_score(labels, scores), partial_auc(labels, scores, max_fpr=0.1)
    return [*areas, seconds]


def told(values):
    """Mean and standard error over seeds."""
    values = np.asarray(values)
    return f"{values.mean():.4f} ± {values.std(ddof=1) / len(values) ** 0.5:.4f}"


def table(name, seeds, methods):
    """One line a method, as Markdown."""
    print(f"{name}, {STEPS:,} steps of {BATCH} rows, {seeds} seeds", flush=True)
    print("| method | AUC | less BCE | average precision | partial AUC to 0.1 | s |\n|---|---|---|---|---|---|")
    tasks = [task(name, seed) for seed in range(seeds)]
    base = None
    for method in methods:
        try:
            found = np.array([measure(METHODS[method], data, seed) for seed, data in enumerate(tasks)])
        except ModuleNotFoundError as error:
            print(f"{method}: left out, {error}")
            continue
        base = found[:, 0] if base is None else base
        cells = [method, told(found[:, 0]), told(found[:, 0] - base), told(found[:, 1]), told(found[:, 2])]
        print(f"| {' | '.join(cells)} | {found[:, 3].mean():.1f} |", flush=True)


if __name__ == "__main__":
    require_data()
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="*", default=["mnist", "covtype"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="methods whose names hold one of these words; BCE first")
    given = parser.parse_args()
    wanted = [name for name in METHODS if not given.only or any(word in name for word in given.only)]
    torch.set_num_threads(1)
    for name in given.tasks:
        table(name, given.seeds, wanted)
