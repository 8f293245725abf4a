"""AUCClassifier: the front door, for someone who does not want to choose."""

from auclid.auto.classifier import AUCClassifier

__all__ = ["AUCClassifier"]
