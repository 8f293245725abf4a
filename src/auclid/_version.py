"""The version of the package: what model files and reports say who wrote them."""

__version__ = "1.0.0"
