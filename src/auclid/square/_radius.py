"""The constraint |w| <= radius of SOLAM and FSAUC: its default, and a warning if it is binding."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

DEFAULT_RADIUS = 30.0
"""The default radius, for rows of mean square length 1: large enough not to be binding."""


def warn_if_binding(estimator: Any, is_binding: bool) -> None:
    """Warn that the radius is too small if it is still binding at the end."""
    if is_binding:
        warnings.warn(
            f"The radius of {type(estimator).__name__} must exceed the length of the best weights, but steps "
            f"still meet the ball |w| <= {estimator.radius_:.3g} at the end. Use a larger radius.",
            ConvergenceWarning,
            stacklevel=2,
        )
