"""Names that the help of the command shows, apart from the modules that need NumPy."""

BASELINE_NAMES = ("logistic", "ridge", "lightgbm", "lightgbm-small", "boosting", "boosting-small")
"""What `auclid compare --against` takes."""

AGAINST = ("logistic", "ridge", "lightgbm", "lightgbm-small")
"""What it takes unless told otherwise."""

BUDGET = 600.0
"""Seconds that `auclid compare` takes, about, unless told otherwise."""
