"""Randomness: what random_state may be, and that draws belong to rows, not to batches."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from auclid import ASAM, Kernelized, KMeansNystroem, LeastSquaresAUC, RandomFourier, _random
from auclid._random import draw_pairs, generator, set_random_state


@pytest.mark.parametrize("seed", [0, np.int64(3), 2**32 - 1])
def test_a_number_is_a_seed(seed):
    assert (generator(seed).random(3) == generator(seed).random(3)).all()
    assert (generator(seed).random(3) != generator(int(seed) + 1).random(3)).all()


def test_a_generator_is_used_and_moved_on():
    rng = np.random.default_rng(0)
    assert generator(rng) is rng


def test_a_random_state_gives_the_same_generator_from_the_same_state_and_moves_on():
    state = np.random.RandomState(0)
    first, second = generator(state).random(), generator(state).random()
    assert first != second and first == generator(np.random.RandomState(0)).random()


def test_none_is_random():
    assert generator(None).random() != generator(None).random()


def test_pairs_are_uniform_over_all_pairs():
    pos, neg = draw_pairs(generator(0), 3, 4, 24_000)
    counts = np.bincount(4 * pos + neg, minlength=12)
    assert pos.dtype == neg.dtype == np.int64
    assert (abs(counts - 2000) < 5 * np.sqrt(2000)).all()


def test_pairs_drawn_in_other_batches_are_the_same():
    at_once, in_parts = generator(0), generator(0)
    whole = draw_pairs(at_once, 5, 7, 10)
    parts = [draw_pairs(in_parts, 5, 7, size) for size in (1, 4, 0, 5)]
    for k in range(2):
        np.testing.assert_array_equal(whole[k], np.concatenate([part[k] for part in parts]))


def test_no_other_module_reads_random_state():
    """Others hand it on to `generator`, or to scikit-learn."""
    from pathlib import Path

    for path in Path(_random.__file__).parent.rglob("*.py"):
        if path.name != "_random.py":
            text = path.read_text(encoding="utf-8")
            assert "np.random.seed" not in text and "check_random_state" not in text, path.name


def test_every_seed_of_a_model_and_of_its_parts_is_set():
    model = make_pipeline(RandomFourier(4), Kernelized(KMeansNystroem(), ASAM()))
    params = set_random_state(model, 5).get_params()
    seeds = {name: value for name, value in params.items() if name.endswith("random_state")}
    assert len(seeds) == 3 and set(seeds.values()) == {5}
    assert set_random_state(LeastSquaresAUC(), 5).get_params() == LeastSquaresAUC().get_params()
