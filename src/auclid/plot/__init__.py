"""Plots of rankings: ROC, precision-recall and decision curves with bands, intervals, scores, calibration, lift,
AUC over time and by group.

Every function draws into a given matplotlib axis or a new one, and returns it. matplotlib is imported when it is used.
"""

from auclid.plot._curves import gap_curve, lift, roc
from auclid.plot._decisions import decision_curve, precision_recall
from auclid.plot._forest import intervals
from auclid.plot._order import auc_over_time, group_auc
from auclid.plot._ranks import critical_difference
from auclid.plot._scores import calibration, scores
from auclid.plot._shapes import shapes
from auclid.plot._time import over_time

__all__ = [
    "auc_over_time",
    "calibration",
    "critical_difference",
    "decision_curve",
    "gap_curve",
    "group_auc",
    "intervals",
    "lift",
    "over_time",
    "precision_recall",
    "roc",
    "scores",
    "shapes",
]
