"""Rankers for any order: levels, numbers, rows compared within groups, and censored times."""

from auclid.ordered.ordered_ranker import OrderedRanker
from auclid.ordered.survival_ranker import SurvivalRanker

__all__ = ["OrderedRanker", "SurvivalRanker"]
