"""What pytest does not collect: without PyTorch, the docstrings of `auclid.torch`. `make test-torch` runs them."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/auclid/torch"]
