"""Areas under ROC curves, how sure they are, and where to cut: exact, with ties counted one half."""

from auclid.metrics._auc import partial_auc, roc_auc
from auclid.metrics._average_precision import (
    APInterval,
    average_precision,
    average_precision_interval,
    compare_average_precision,
)
from auclid.metrics._by_group import GroupAUC, GroupPair, auc_by_group
from auclid.metrics._compare import AUCComparison, compare_auc, compare_auc_unpaired
from auclid.metrics._concordance import ConcordanceInterval, compare_concordance, concordance, concordance_interval
from auclid.metrics._cross_val import CrossValAUC, CrossValComparison, compare_cross_val_auc, cross_val_auc
from auclid.metrics._design import SampleSize, auc_power, sample_size
from auclid.metrics._group_auc import group_auc
from auclid.metrics._interval import AUCInterval, auc_interval
from auclid.metrics._lift import LiftTable, gini, ks, lift_table, precision_at_k
from auclid.metrics._many import ManyComparison, PairComparison, compare_many
from auclid.metrics._multiclass import multiclass_auc
from auclid.metrics._over_time import AUCOverTime, auc_over_time
from auclid.metrics._points import OperatingPoint, OperatingPointInterval, operating_point, operating_point_interval
from auclid.metrics._rates import RatesAt, rates_at
from auclid.metrics._scorer import partial_auc_scorer
from auclid.metrics._streaming import AUCBounds, StreamingAUC

__all__ = [
    "APInterval",
    "AUCBounds",
    "AUCComparison",
    "AUCInterval",
    "AUCOverTime",
    "ConcordanceInterval",
    "CrossValAUC",
    "CrossValComparison",
    "GroupAUC",
    "GroupPair",
    "LiftTable",
    "ManyComparison",
    "OperatingPoint",
    "OperatingPointInterval",
    "PairComparison",
    "RatesAt",
    "SampleSize",
    "StreamingAUC",
    "auc_by_group",
    "auc_interval",
    "auc_over_time",
    "auc_power",
    "average_precision",
    "average_precision_interval",
    "compare_auc",
    "compare_auc_unpaired",
    "compare_average_precision",
    "compare_concordance",
    "compare_cross_val_auc",
    "compare_many",
    "concordance",
    "concordance_interval",
    "cross_val_auc",
    "gini",
    "group_auc",
    "ks",
    "lift_table",
    "multiclass_auc",
    "operating_point",
    "operating_point_interval",
    "partial_auc",
    "partial_auc_scorer",
    "precision_at_k",
    "rates_at",
    "roc_auc",
    "sample_size",
]
