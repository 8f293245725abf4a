"""Sources of rows under attack: damaged files, other blocks, many threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attack_sources import blocks_case, damaged_case, threads_case

pytest.importorskip("pyarrow")

SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@settings(max_examples=60)
def test_damaged_files_are_refused_by_name_or_read(seed):
    damaged_case(np.random.default_rng(seed))


@given(SEEDS)
@settings(max_examples=40)
def test_blocks_and_memory_agree(seed):
    blocks_case(np.random.default_rng(seed))


@given(SEEDS)
@settings(max_examples=10)
def test_threads_agree(seed):
    threads_case(np.random.default_rng(seed))
