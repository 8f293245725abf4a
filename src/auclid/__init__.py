"""Train models that maximise the area under the ROC curve.

A name is imported when it is first asked for, with what it needs and no more: `import auclid` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from auclid._version import __version__ as __version__

if TYPE_CHECKING:
    from auclid import datasets, metrics, objectives, pairs, plot
    from auclid.additive import Scorecard
    from auclid.auto import AUCClassifier
    from auclid.boost import RankBoost
    from auclid.calibrated import Calibrated
    from auclid.columns import Columns
    from auclid.data.files import Rows, scan
    from auclid.io import load, save
    from auclid.kernels import Kernelized, KMeansNystroem, RandomFourier
    from auclid.online import CBR, OAM, UniExp
    from auclid.pairwise import ASAM, PSAM, FactorizationRanker, KernelRankSVM, RankSVM
    from auclid.registry import algorithms, make
    from auclid.semi import PNUAUC, QSGS2AUC, SAMULT
    from auclid.square import (
        FSAUC,
        OPAUC,
        SOLAM,
        SPAM,
        AdaOAM,
        ConstrainedAUC,
        LeastSquaresAUC,
        LeastSquaresAUCCV,
        MinimaxAUC,
        MulticlassAUC,
    )

__all__ = [
    "ASAM",
    "AUCClassifier",
    "CBR",
    "FSAUC",
    "OAM",
    "OPAUC",
    "PNUAUC",
    "PSAM",
    "QSGS2AUC",
    "SAMULT",
    "SOLAM",
    "SPAM",
    "AdaOAM",
    "Calibrated",
    "Columns",
    "ConstrainedAUC",
    "FactorizationRanker",
    "KMeansNystroem",
    "KernelRankSVM",
    "Kernelized",
    "LeastSquaresAUC",
    "LeastSquaresAUCCV",
    "MinimaxAUC",
    "MulticlassAUC",
    "RandomFourier",
    "RankBoost",
    "RankSVM",
    "Rows",
    "Scorecard",
    "UniExp",
    "algorithms",
    "datasets",
    "load",
    "make",
    "metrics",
    "objectives",
    "pairs",
    "plot",
    "save",
    "scan",
]

HOMES = {
    "additive": ["Scorecard"],
    "auto": ["AUCClassifier"],
    "boost": ["RankBoost"],
    "calibrated": ["Calibrated"],
    "columns": ["Columns"],
    "io": ["load", "save"],
    "kernels": ["KMeansNystroem", "Kernelized", "RandomFourier"],
    "online": ["CBR", "OAM", "UniExp"],
    "pairwise": ["ASAM", "PSAM", "FactorizationRanker", "KernelRankSVM", "RankSVM"],
    "registry": ["algorithms", "make"],
    "data.files": ["Rows", "scan"],
    "semi": ["PNUAUC", "QSGS2AUC", "SAMULT"],
    "square": [
        "FSAUC", "OPAUC", "SOLAM", "SPAM", "AdaOAM", "ConstrainedAUC", "LeastSquaresAUC", "LeastSquaresAUCCV",
        "MinimaxAUC", "MulticlassAUC",
    ],
}  # fmt: skip
"""Where each public name is defined."""

MODULES = {
    "base", "baselines", "cli", "data", "datasets", "errors", "losses", "metrics", "objectives", "pairs", "penalties",
    "plot", "schedules", "solvers", "stats", "torch", "trees", "warm", *HOMES,
}  # fmt: skip
"""Modules that are there as attributes, without an import of their own."""

_HOME = {name: module for module, names in HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"auclid.{_HOME[name]}"), name)
    elif name in MODULES:
        value = import_module(f"auclid.{name}")
    else:
        raise AttributeError(f"module 'auclid' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
