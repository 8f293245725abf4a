"""Names that the help of the command shows, apart from the modules that need NumPy."""

BASELINE_NAMES = ("logistic", "ridge", "lightgbm", "boosting")
"""What `auclid compare --against` takes."""

AGAINST = ("logistic", "ridge", "lightgbm")
"""What it takes unless told otherwise."""
