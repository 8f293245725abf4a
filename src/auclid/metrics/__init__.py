"""Areas under ROC curves, how sure they are, and where to cut: exact, with ties counted one half."""

from auclid.metrics._auc import partial_auc, roc_auc
from auclid.metrics._average_precision import average_precision, average_precision_interval, compare_average_precision
from auclid.metrics._by_group import auc_by_group
from auclid.metrics._compare import compare_auc, compare_auc_unpaired
from auclid.metrics._cross_val import compare_cross_val_auc, cross_val_auc
from auclid.metrics._curve import ROC
from auclid.metrics._design import auc_power, sample_size
from auclid.metrics._interval import auc_interval, auc_test
from auclid.metrics._lift import gini, ks, lift_table, precision_at_k
from auclid.metrics._many import compare_many
from auclid.metrics._multiclass import multiclass_auc
from auclid.metrics._points import operating_point, operating_point_interval
from auclid.metrics._rates import rates_at
from auclid.metrics._results import (
    APComparison,
    APInterval,
    AUCBounds,
    AUCComparison,
    AUCInterval,
    AUCTest,
    CrossValAUC,
    CrossValComparison,
    GroupAUC,
    GroupPair,
    LiftTable,
    ManyComparison,
    OperatingPoint,
    OperatingPointInterval,
    PairComparison,
    RatesAt,
    Result,
    SampleSize,
)
from auclid.metrics._scorer import partial_auc_scorer
from auclid.metrics._streaming import StreamingAUC

__all__ = [
    "APComparison",
    "APInterval",
    "AUCBounds",
    "AUCComparison",
    "AUCInterval",
    "AUCTest",
    "CrossValAUC",
    "CrossValComparison",
    "GroupAUC",
    "GroupPair",
    "LiftTable",
    "ManyComparison",
    "OperatingPoint",
    "OperatingPointInterval",
    "PairComparison",
    "ROC",
    "RatesAt",
    "Result",
    "SampleSize",
    "StreamingAUC",
    "auc_by_group",
    "auc_interval",
    "auc_power",
    "auc_test",
    "average_precision",
    "average_precision_interval",
    "compare_auc",
    "compare_auc_unpaired",
    "compare_average_precision",
    "compare_cross_val_auc",
    "compare_many",
    "cross_val_auc",
    "gini",
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
