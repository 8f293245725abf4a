"""Metrics and pair sums under attack: a number, or a sentence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attack_metrics import metric_case, pair_case, stream_case
from auclid import metrics

SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize("weight", [1e155, 1e308, 1e-155, 1e-308])
def test_only_ratios_of_weights_count(weight):
    rng = np.random.default_rng(0)
    y, s = np.arange(30) % 2, rng.normal(size=30)
    ones, same = np.ones(30), np.full(30, weight)
    assert metrics.roc_auc(y, s, sample_weight=same) == pytest.approx(metrics.roc_auc(y, s, sample_weight=ones))
    part = [metrics.partial_auc(y, s, max_fpr=0.3, sample_weight=w) for w in (ones, same)]
    assert part[0] == pytest.approx(part[1])


@given(SEEDS)
@settings(max_examples=60)
def test_hostile_arrays_end_well(seed):
    for case in (metric_case, stream_case, pair_case):
        case(np.random.default_rng(seed))


@pytest.mark.long
@given(SEEDS)
@settings(max_examples=3000)
def test_many_hostile_arrays_end_well(seed):
    for case in (metric_case, stream_case, pair_case):
        case(np.random.default_rng(seed))
