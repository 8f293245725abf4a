"""Methods for the square loss (1 - m)^2, which depends on the rows only through the class moments."""

from auclid.square.adaoam import AdaOAM
from auclid.square.constrained import ConstrainedAUC
from auclid.square.fsauc import FSAUC
from auclid.square.least_squares import LeastSquaresAUC
from auclid.square.least_squares_cv import LeastSquaresAUCCV
from auclid.square.minimax import MinimaxAUC
from auclid.square.multiclass import MulticlassAUC
from auclid.square.opauc import OPAUC
from auclid.square.solam import SOLAM
from auclid.square.spam import SPAM

__all__ = [
    "LeastSquaresAUC",
    "LeastSquaresAUCCV",
    "SPAM",
    "SOLAM",
    "FSAUC",
    "OPAUC",
    "AdaOAM",
    "MulticlassAUC",
    "ConstrainedAUC",
    "MinimaxAUC",
]
