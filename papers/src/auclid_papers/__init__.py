"""The tables and figures of the papers as data, and a runner that reruns them."""

from importlib import import_module
from typing import Any

_HOMES = {
    "comparison": ["load_results", "published", "summary", "verdict"],
    "definitions": ["Experiment", "experiment", "experiments"],
    "record": ["Record"],
    "runner": ["Plan", "results_folder", "run"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `auclid --help` loads this package and must not wait for pandas."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
