"""What an estimator says of a solver that did not come to its end."""

import warnings

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from auclid.solvers.newton import State


def warn_unless_converged(estimator: BaseEstimator, state: State) -> None:
    """Warn in the estimator's name, unless Newton's method has converged or a callback stopped it."""
    name, tol, most = type(estimator).__name__, estimator.tol, estimator.max_iter
    if not state.converged and (state.stuck or state.n_iter >= most):
        warnings.warn(
            f"{name} stopped after {state.n_iter} Newton steps before reaching tol={tol}. "
            "Scale the columns of X, or raise max_iter, alpha or tol.",
            ConvergenceWarning,
            stacklevel=5,
        )
