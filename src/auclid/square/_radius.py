"""The ball |w| <= radius of SOLAM and FSAUC: its default, and a warning where it binds."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

GENEROUS = 30.0
"""The default radius, for rows of mean square length 1: a bound that does not bind."""


def warn_if_bound(estimator: Any, active: bool) -> None:
    """Say that the ball is too small where steps still meet it at the end."""
    if active:
        warnings.warn(
            f"The radius of {type(estimator).__name__} must exceed the length of the best weights, but steps "
            f"still meet the ball |w| <= {estimator.radius_:.3g} at the end. Use a larger radius.",
            ConvergenceWarning,
            stacklevel=2,
        )
