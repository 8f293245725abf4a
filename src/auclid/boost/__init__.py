"""Boosting."""

from auclid.boost.rank_boost import RankBoost

__all__ = ["RankBoost"]
