"""Forward and backward passes of `auclid.torch.PairLoss` against one `torch.sort` of the same scores, on the CPU.

    python benchmarks/bench_torch.py

The bar is 3 sorts for 100,000 float32 scores of which 1 % or half are positive. The peer in the last lines is the
matrix of all pairs, by autograd, at a size where that fits.
"""

import sys

from clock import best, report

try:
    import torch

    from auclid.torch import MomentLoss, PairLoss
except ModuleNotFoundError:
    print("skipped: PyTorch is not installed")
    sys.exit(0)

REPEATS = 15


def batch(n, share):
    """Scores that need a gradient, and labels."""
    generator = torch.Generator().manual_seed(0)
    y = torch.rand(n, generator=generator) < share
    return (torch.randn(n, generator=generator) + y).requires_grad_(), y


def both_ways(loss, scores, y):
    """A job: forward and backward."""

    def job():
        scores.grad = None
        loss(scores, y).backward()

    return job


def double_loop(scores, y):
    """The squared hinge by the matrix of all pairs."""
    return (1.0 - (scores[y][:, None] - scores[~y])).clamp_min(0.0).square().mean()


def main():
    """Print the ratios."""
    torch.set_num_threads(1)
    met = True
    for share in (0.01, 0.5):
        scores, y = batch(100_000, share)
        values = scores.detach()
        for name in ("squared_hinge", "hinge", "square", "logistic"):
            ours, sort = best(both_ways(PairLoss(name), scores, y), lambda: torch.sort(values), repeats=REPEATS)
            met &= report(f"PairLoss({name!r}), {share:.0%} positive", "torch.sort", ours, sort, 3.0)
        ours, sort = best(both_ways(MomentLoss(), scores, y), lambda: torch.sort(values), repeats=REPEATS)
        report(f"MomentLoss(), {share:.0%} positive", "torch.sort", ours, sort, 3.0)
        for region in ({"max_fpr": 0.1}, {"max_fpr": 0.1, "min_tpr": 0.5}):
            told = ", ".join(f"{key}={value}" for key, value in region.items())
            ours, sort = best(both_ways(PairLoss(**region), scores, y), lambda: torch.sort(values), repeats=REPEATS)
            met &= report(f"PairLoss({told}), {share:.0%} positive", "torch.sort", ours, sort, 3.0)
    for n in (256, 5_000):
        scores, y = batch(n, 0.5)
        jobs = both_ways(PairLoss(), scores, y), both_ways(double_loop, scores, y)
        report(f"PairLoss(), {n:,} scores, half positive", "matrix of all pairs", *best(*jobs, repeats=REPEATS), 3.0)
    return met


if __name__ == "__main__":
    main()
