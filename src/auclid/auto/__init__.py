"""AUCClassifier: compares, tunes, blends and calibrates models for any table."""

from auclid.auto.classifier import AUCClassifier

__all__ = ["AUCClassifier"]
