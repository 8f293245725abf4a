"""The version of the package: what model files and reports say who wrote them."""

__version__ = "0.1.0"
