"""Train models that maximise the area under the ROC curve."""

from auclid import datasets, metrics
from auclid.registry import algorithms, make
from auclid.square import SPAM, LeastSquaresAUC, LeastSquaresAUCCV

__version__ = "0.1.0"

__all__ = [
    "SPAM",
    "LeastSquaresAUC",
    "LeastSquaresAUCCV",
    "algorithms",
    "datasets",
    "make",
    "metrics",
]
