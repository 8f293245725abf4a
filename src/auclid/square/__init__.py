"""Methods for the square loss (1 - m)^2, where everything lies in the class moments."""

from auclid.square.least_squares import LeastSquaresAUC
from auclid.square.least_squares_cv import LeastSquaresAUCCV
from auclid.square.spam import SPAM

__all__ = ["SPAM", "LeastSquaresAUC", "LeastSquaresAUCCV"]
