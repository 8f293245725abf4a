"""Areas under ROC curves, how sure they are, and where to cut: exact, with ties counted one half."""

from auclid.metrics._auc import partial_auc, roc_auc
from auclid.metrics._compare import AUCComparison, compare_auc, compare_auc_unpaired
from auclid.metrics._interval import AUCInterval, auc_interval
from auclid.metrics._operating_point import OperatingPoint, operating_point
from auclid.metrics._streaming import AUCBounds, StreamingAUC

__all__ = [
    "AUCBounds",
    "AUCComparison",
    "AUCInterval",
    "OperatingPoint",
    "StreamingAUC",
    "auc_interval",
    "compare_auc",
    "compare_auc_unpaired",
    "operating_point",
    "partial_auc",
    "roc_auc",
]
