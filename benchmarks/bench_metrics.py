"""Speed of auclid.metrics: ratios to scikit-learn in the same run. `python benchmarks/bench_metrics.py`."""

import time
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from auclid.metrics import (
    StreamingAUC,
    auc_interval,
    average_precision_interval,
    compare_auc,
    compare_average_precision,
    partial_auc,
    roc_auc,
)
from auclid.metrics._auc import auc_from_parts
from auclid.metrics._operating_point import best_threshold


def seconds(call, repeat=5):
    """Least wall time of `repeat` calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def table(n, share, dtype=np.float64, seed=0):
    """Labels and normal scores, positives one deviation above."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return y, (rng.normal(size=n) + y).astype(dtype)


def report(what, ours, peer, peer_name, bar=None):
    """One line: our time, the peer's, the ratio and the bar it must stay under."""
    said = f"{what:46s} {1e3 * ours:8.2f} ms  {ours / peer:6.3f} x {peer_name} ({1e3 * peer:.1f} ms)"
    print(said + (f"  bar {bar}" if bar else ""), flush=True)


def bench_roc_auc():
    """Whole public call, by share of positives, floating type and shape of the scores."""
    for share in (0.05, 0.5, 0.95):
        for dtype in (np.float64, np.float32):
            y, s = table(1_000_000, share, dtype)
            peer = seconds(lambda y=y, s=s: roc_auc_score(y, s), 3)
            ours = seconds(lambda y=y, s=s: roc_auc(y, s))
            report(
                f"roc_auc 1e6 {share:.0%} {dtype.__name__}",
                ours,
                peer,
                "roc_auc_score",
                0.12 if share == 0.05 else None,
            )
    y, s = table(1_000_000, 0.05)
    shapes = {
        "cubed": s**3,
        "logistic": 1 / (1 + np.exp(-3 * s)),
        "exp(5 s)": np.exp(5 * s),
        "100 values": np.round(20 * s),
    }
    for name, s in shapes.items():
        peer = seconds(lambda s=s: roc_auc_score(y, s), 3)
        report(f"roc_auc 1e6 5% {name}", seconds(lambda s=s: roc_auc(y, s)), peer, "roc_auc_score", 0.12)
    y, s = table(93_000, 0.086)
    peer = seconds(lambda: roc_auc_score(y, s))
    report("auc_from_parts 93k 8.6%", seconds(lambda: auc_from_parts(y == 1, s), 20), peer, "roc_auc_score")


def bench_intervals():
    """Intervals and tests at a million rows; the bootstrap at a hundred thousand."""
    for share in (0.05, 0.5):
        y, s = table(1_000_000, share)
        t = s + np.random.default_rng(1).normal(size=len(s))
        patient = np.arange(len(s)) // 5
        peer = seconds(lambda y=y, s=s: roc_auc_score(y, s), 3)
        calls = {
            "auc_interval": (lambda y=y, s=s: auc_interval(y, s), 0.2),
            "compare_auc": (lambda y=y, s=s, t=t: compare_auc(y, s, t), 1.0),
            "average_precision_interval": (lambda y=y, s=s: average_precision_interval(y, s), 0.3),
            "compare_average_precision": (lambda y=y, s=s, t=t: compare_average_precision(y, s, t), None),
            "auc_interval, groups": (lambda y=y, s=s, g=patient: auc_interval(y, s, groups=g), None),
            "compare_auc, groups": (lambda y=y, s=s, t=t, g=patient: compare_auc(y, s, t, groups=g), None),
            "auc_interval, FPR <= 0.1": (lambda y=y, s=s: auc_interval(y, s, max_fpr=0.1), None),
        }
        for name, (call, bar) in calls.items():
            report(f"{name} 1e6 {share:.0%}", seconds(call, 3), peer, "roc_auc_score", bar)
    y, s = table(100_000, 0.1)
    for how in ({}, {"max_fpr": 0.1}, {"groups": np.arange(len(s)) // 5}):
        took = seconds(lambda how=how: auc_interval(y, s, method="bootstrap", random_state=0, **how), 1)
        print(f"bootstrap 1e5 rows, 2,000 draws{', ' + next(iter(how)) if how else '':10s} {took:.1f} s  bar: seconds")


def bench_others():
    """The rest, against the nearest call of scikit-learn."""
    y, s = table(1_000_000, 0.05)
    peer = seconds(lambda: roc_auc_score(y, s), 3)
    weight = np.random.default_rng(2).random(len(s))
    report(
        "roc_auc 1e6, weights", seconds(lambda: roc_auc(y, s, sample_weight=weight)), peer, "roc_auc_score"
    )
    report("partial_auc 1e6", seconds(lambda: partial_auc(y, s, max_fpr=0.1), 3), peer, "roc_auc_score")
    report(
        "StreamingAUC 1e6 in one batch",
        seconds(lambda: StreamingAUC().update(y, s).result(), 2),
        peer,
        "roc_auc_score",
    )
    bounds = StreamingAUC().update(y, s).result()
    off = abs(bounds.auc - roc_auc(y, s))
    print(f"  bounds {bounds.high - bounds.low:.1e} apart, estimate off by {off:.1e}")
    for dtype in (np.float64, np.float32):
        y, s = table(465_000, 0.086, dtype)
        is_pos = y == 1
        peer = seconds(lambda y=y, s=s: roc_curve(y, s), 3)
        ours = seconds(lambda is_pos=is_pos, s=s: best_threshold(is_pos, s))
        report(f"best_threshold 465k {dtype.__name__}", ours, peer, "roc_curve")


if __name__ == "__main__":
    warnings.simplefilter("error")
    bench_roc_auc()
    bench_intervals()
    bench_others()
