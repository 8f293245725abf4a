"""Set-up of all tests: where compiled kernels lie, and how hypothesis behaves."""

import os
from importlib.util import find_spec
from pathlib import Path

from hypothesis import settings

# Before auclid is imported. Below it, auclid makes a folder named by a hash of its sources.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parent / ".numba_cache"))
# Several test processes share the cores, and a matrix of test size gains nothing from threads.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile("auclid", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("auclid")

collect_ignore = [] if find_spec("torch") else ["src/auclid/torch"]
"""Without PyTorch the docstrings of `auclid.torch` are not collected; `make test-torch` runs them."""
