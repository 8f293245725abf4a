"""Train models that maximise the area under the ROC curve."""

from auclid import datasets, metrics, pairs, plot
from auclid._version import __version__ as __version__
from auclid.additive import Scorecard
from auclid.auto import AUCClassifier
from auclid.boost import RankBoost
from auclid.calibrated import Calibrated
from auclid.columns import Columns
from auclid.io import load, save
from auclid.maps import Kernelized, KMeansNystroem, RandomFourier
from auclid.online import CBR, OAM, UniExp
from auclid.pairwise import ASAM, PSAM, KernelRankSVM, RankSVM
from auclid.registry import algorithms, make
from auclid.rows.source import Rows, scan
from auclid.semi import PNUAUC, QSGS2AUC, SAMULT
from auclid.square import (
    FSAUC,
    OPAUC,
    SOLAM,
    SPAM,
    AdaOAM,
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
    "pairs",
    "plot",
    "save",
    "scan",
]
