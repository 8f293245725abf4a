"""`auclid.torch.BalancedSampler`: every batch alike, every row seen, the same again from the same seed."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-torch` runs these")

from auclid.torch import BalancedSampler  # noqa: E402

Y = np.arange(50) % 7 == 0
"""8 positives and 42 negatives."""


def epochs(sampler, count=2):
    """Batches of several epochs."""
    return [list(sampler) for _ in range(count)]


@given(
    n_pos=st.integers(1, 9),
    n_neg=st.integers(1, 40),
    size=st.integers(2, 12),
    positives=st.integers(1, 11),
    world=st.integers(1, 3),
)
def test_an_epoch_shows_every_row_in_equal_batches(n_pos, n_neg, size, positives, world):
    positives = min(positives, size - 1)
    y = np.repeat([1, 0], [n_pos, n_neg])
    ranks = [BalancedSampler(y, size, positives, rank=rank, world_size=world) for rank in range(world)]
    batches = [list(sampler) for sampler in ranks]
    assert {len(part) for part in batches} == {len(ranks[0])}
    rows = [row for part in batches for batch in part for row in batch]
    assert all(len(batch) == size and y[batch].sum() == positives for part in batches for batch in part)
    assert set(rows) == set(range(len(y)))
    counts = Counter(rows)
    for label in (0, 1):
        of_class = [counts[row] for row in np.flatnonzero(y == label)]
        assert max(of_class) - min(of_class) <= 1
    needed = max(-(-n_pos // (positives * world)), -(-n_neg // ((size - positives) * world)))
    assert len(ranks[0]) == needed


def test_ranks_share_the_rows_of_the_class_that_is_read_once():
    y = np.repeat([1, 0], [6, 40])
    parts = [list(BalancedSampler(y, 4, 2, rank=rank, world_size=2)) for rank in (0, 1)]
    negatives = [{row for batch in part for row in batch if not y[row]} for part in parts]
    assert negatives[0] | negatives[1] == set(range(6, 46)) and not negatives[0] & negatives[1]


def test_batches_depend_on_seed_and_epoch_only():
    first, again, other = (epochs(BalancedSampler(Y, 8, seed=seed)) for seed in (3, 3, 4))
    assert first == again and first != other and first[0] != first[1]
    sampler = BalancedSampler(torch.tensor(Y), 8, seed=3)
    sampler.set_epoch(1)
    assert list(sampler) == first[1] and sampler.epoch == 2


def test_a_sampler_goes_on_where_another_was():
    whole = epochs(BalancedSampler(Y, 6, 2, seed=1), 3)
    sampler = BalancedSampler(Y, 6, 2, seed=1)
    list(sampler)
    reading = iter(sampler)
    seen = [next(reading) for _ in range(3)]
    resumed = BalancedSampler(Y, 6, 2)
    resumed.load_state_dict(sampler.state_dict())
    resumed.set_epoch(1)  # trainers say so at the start of an epoch
    assert seen == whole[1][:3] and list(resumed) == whole[1][3:] and list(resumed) == whole[2]


def test_a_reading_that_was_broken_off_begins_anew():
    sampler = BalancedSampler(Y, 6, 2)
    first = next(iter(sampler))
    assert next(iter(sampler)) == first and sampler.epoch == 0
    assert len(list(sampler)) == len(sampler)


def test_the_end_of_an_epoch_can_be_resumed():
    sampler = BalancedSampler(Y, 6, 2)
    list(sampler)
    resumed = BalancedSampler(Y, 6, 2)
    resumed.load_state_dict(sampler.state_dict())
    assert resumed.epoch == 1 and list(resumed) == list(sampler)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_data_loader_takes_it(workers):
    data = torch.utils.data.TensorDataset(torch.arange(50.0), torch.tensor(Y))
    loader = torch.utils.data.DataLoader(data, batch_sampler=BalancedSampler(Y, 6), num_workers=workers)
    assert len(loader) == 14
    assert all(int(y.sum()) == 3 and len(y) == 6 for _, y in loader)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((np.zeros(5), 4), "rows of both classes. Got 0 positive and 5 negative"),
        ((np.array([1, 2, 1]), 2), "BalancedSampler expects targets 0 and 1.*Got the values 1, 2"),
        (([0.0, 1.0, np.nan], 2), "Got the values 0, 1, nan"),
        ((np.column_stack([Y, Y]), 4), r"targets of shape \(n,\). Got \(50, 2\) instead"),
        ((Y, 1), "'batch_size'|batch_size of BalancedSampler"),
        ((Y, 4, 4), "positives"),
        ((Y, 4, 0), "positives"),
    ],
)
def test_arguments_are_checked(arguments, said):
    with pytest.raises(ValueError, match=said):
        BalancedSampler(*arguments)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({}, r"expects what state_dict\(\) gave.*Got \[\] instead"),
        ({"seed": 0, "epoch": "first", "batch": 1}, "'epoch' parameter"),
        ({"seed": 0, "epoch": 0, "batch": 99}, "'batch' parameter"),
    ],
)
def test_states_are_checked(state, said):
    sampler = BalancedSampler(Y, 6, seed=1)
    with pytest.raises(ValueError, match=said):
        sampler.load_state_dict(state)
    assert list(sampler) == list(BalancedSampler(Y, 6, seed=1))


def test_labels_of_words_are_refused():
    with pytest.raises(TypeError, match="BalancedSampler expects targets as a tensor, or what becomes one"):
        BalancedSampler(["yes", "no"], 2)


def test_ranks_are_checked():
    with pytest.raises(ValueError, match="rank"):
        BalancedSampler(Y, 4, rank=2, world_size=2)


def test_the_process_group_gives_rank_and_size(tmp_path):
    if not torch.distributed.is_available():
        pytest.skip("this PyTorch has no torch.distributed")
    torch.distributed.init_process_group("gloo", init_method=(tmp_path / "meeting").as_uri(), rank=0, world_size=1)
    try:
        sampler = BalancedSampler(Y, 4)
        assert (sampler.rank, sampler.world_size) == (0, 1)
    finally:
        torch.distributed.destroy_process_group()
