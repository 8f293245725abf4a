"""Additive rankers: scorecards."""

from auclid.additive.scorecard import Scorecard

__all__ = ["Scorecard"]
