"""Train models that put positives above negatives, and measure how well they do.

Where to start:

- ``AUCClassifier`` chooses, tunes, blends and calibrates models for any table;
- ``LeastSquaresAUCCV`` and ``RankSVM`` are linear, ``Scorecard`` is a sum of one readable shape per column;
- ``auclid.metrics`` has AUC, average precision and concordance with intervals and tests, ``auclid.plot`` draws them;
- ``auclid.scan`` opens files that do not fit in memory, ``auclid.save`` and ``auclid.load`` keep models;
- ``auclid.algorithms()`` lists every method with its paper, ``auclid.make(name)`` builds one.

A public name is imported on first use, so `import auclid` itself is fast.
"""

import ast
import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

from auclid._version import __version__ as __version__

if TYPE_CHECKING:
    from auclid import datasets as datasets
    from auclid import metrics as metrics
    from auclid import monitoring as monitoring
    from auclid import objectives as objectives
    from auclid import pairs as pairs
    from auclid import plot as plot
    from auclid.additive import *  # noqa: F403
    from auclid.auto import *  # noqa: F403
    from auclid.boost import *  # noqa: F403
    from auclid.calibrated import Calibrated as Calibrated
    from auclid.columns import *  # noqa: F403
    from auclid.comparison import compare as compare
    from auclid.comparison import compare_ordered as compare_ordered
    from auclid.comparison import compare_tables as compare_tables
    from auclid.comparison import mean_ranks as mean_ranks
    from auclid.data.files import Rows as Rows
    from auclid.data.files import scan as scan
    from auclid.exporters import export as export
    from auclid.io import load as load
    from auclid.io import save as save
    from auclid.kernels import *  # noqa: F403
    from auclid.online import *  # noqa: F403
    from auclid.ordered import *  # noqa: F403
    from auclid.pairwise import *  # noqa: F403
    from auclid.registry import algorithms as algorithms
    from auclid.registry import make as make
    from auclid.reports import report as report
    from auclid.semi import *  # noqa: F403
    from auclid.square import *  # noqa: F403
    from auclid.streams import RiverAdapter as RiverAdapter

FAMILIES = ("additive", "auto", "boost", "columns", "kernels", "online", "ordered", "pairwise", "semi", "square")
"""Packages whose exported names are all public; each lists them once, in its ``__all__``."""

OTHER_NAMES = {
    "calibrated": ("Calibrated",),
    "comparison": ("compare", "compare_ordered", "compare_tables", "mean_ranks"),
    "data.files": ("Rows", "scan"),
    "exporters": ("export",),
    "io": ("load", "save"),
    "registry": ("algorithms", "make"),
    "reports": ("report",),
    "streams": ("RiverAdapter",),
}
"""Public names of other modules."""


PUBLIC_MODULES = ("datasets", "metrics", "monitoring", "objectives", "pairs", "plot")

OTHER_MODULES = (
    "base", "baselines", "cli", "data", "errors", "losses", "penalties", "schedules", "solvers", "stats", "torch",
    "trees", "warm",
)  # fmt: skip
"""Modules that are attributes of the package without being public names."""


def _exported(package: str) -> list[str]:
    """The ``__all__`` of a package, read from its source without importing it."""
    try:
        source = pkgutil.get_data(__name__, f"{package}/__init__.py") or b""
    except OSError:  # installed without sources
        return import_module(f"auclid.{package}").__all__
    assigned = [node for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    (names,) = [node.value for node in assigned if ast.unparse(node.targets[0]) == "__all__"]
    return ast.literal_eval(names)


NAME_MODULES = {name: package for package in FAMILIES for name in _exported(package)}
NAME_MODULES |= {name: module for module, names in OTHER_NAMES.items() for name in names}
"""The module from which each public name is imported."""

__all__ = sorted([*NAME_MODULES, *PUBLIC_MODULES])

MODULES = {*PUBLIC_MODULES, *OTHER_MODULES, *NAME_MODULES.values()}


def __getattr__(name: str) -> Any:
    if name in NAME_MODULES:
        value = getattr(import_module(f"auclid.{NAME_MODULES[name]}"), name)
    elif name in MODULES:
        value = import_module(f"auclid.{name}")
    else:
        raise AttributeError(f"module 'auclid' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
