"""Areas under ROC curves, how sure they are, and where to cut: exact, with ties counted one half.

A public function takes four steps, whatever it measures:

1. Columns become a checked `Sample` (`_sample`), or a `PartitionedSample` where they are Dask collections.
2. A figure is estimated, with what each row adds to its error: areas in `_placements`, average precision, concordance,
   scores of probabilities, and all that follows from a confusion matrix in `_confusion`.
3. These terms, or rows that are drawn anew (`_bootstrap`), give standard error and degrees of freedom (`_variance`),
   and these an interval or the test of a difference (`_inference`).
4. The numbers are returned as one of the classes of `_results`.

Below them, `_roc` has the curve and its points; `_cells` and `_places` count scores with few sorts.
"""

from auclid.metrics._at import compare_at, interval_at, top_k
from auclid.metrics._auc import gini, ks, partial_auc, roc_auc
from auclid.metrics._average_precision import average_precision, average_precision_interval, compare_average_precision
from auclid.metrics._by_group import auc_by_group, rates_by_group
from auclid.metrics._compare import compare_auc, compare_auc_unpaired, compare_many, equivalence
from auclid.metrics._concordance import auc_over_time, compare_concordance, concordance, concordance_interval, group_auc
from auclid.metrics._cross_val import compare_cross_val_auc, cross_val_auc
from auclid.metrics._curve import ROC
from auclid.metrics._interval import auc_interval, auc_test
from auclid.metrics._lift import lift_table, precision_at_k
from auclid.metrics._multiclass import multiclass_auc
from auclid.metrics._net_benefit import net_benefit
from auclid.metrics._points import operating_point, operating_point_interval
from auclid.metrics._power import (
    auc_power,
    comparison_power,
    comparison_sample_size,
    interval_sample_size,
    sample_size,
)
from auclid.metrics._probabilities import (
    brier_interval,
    calibration_slope,
    calibration_test,
    compare_brier,
    log_loss_interval,
    reliability,
)
from auclid.metrics._rates import rates_at
from auclid.metrics._results import (
    APComparison,
    APInterval,
    AUCBounds,
    AUCComparison,
    AUCInterval,
    AUCOverTime,
    AUCTest,
    CalibrationFit,
    CalibrationTest,
    Cell,
    ConcordanceComparison,
    ConcordanceInterval,
    CrossValAUC,
    CrossValComparison,
    Equivalence,
    GroupAUC,
    GroupPair,
    GroupRates,
    LiftTable,
    ManyComparison,
    MetricComparison,
    MetricInterval,
    NetBenefit,
    OperatingPoint,
    OperatingPointInterval,
    PairComparison,
    RatesAt,
    Reliability,
    Result,
    SampleSize,
    ScoreInterval,
    ThresholdChoice,
    TopK,
)
from auclid.metrics._scorer import partial_auc_scorer
from auclid.metrics._stability import population_stability
from auclid.metrics._streaming import StreamingAUC
from auclid.metrics._thresholds import choose_threshold

__all__ = [
    "APComparison",
    "APInterval",
    "AUCBounds",
    "AUCComparison",
    "AUCInterval",
    "AUCOverTime",
    "AUCTest",
    "CalibrationFit",
    "CalibrationTest",
    "Cell",
    "ConcordanceComparison",
    "ConcordanceInterval",
    "CrossValAUC",
    "CrossValComparison",
    "Equivalence",
    "GroupAUC",
    "GroupPair",
    "GroupRates",
    "LiftTable",
    "ManyComparison",
    "MetricComparison",
    "MetricInterval",
    "NetBenefit",
    "OperatingPoint",
    "OperatingPointInterval",
    "PairComparison",
    "ROC",
    "RatesAt",
    "Reliability",
    "Result",
    "SampleSize",
    "ScoreInterval",
    "StreamingAUC",
    "ThresholdChoice",
    "TopK",
    "auc_by_group",
    "auc_interval",
    "auc_over_time",
    "auc_power",
    "auc_test",
    "average_precision",
    "average_precision_interval",
    "brier_interval",
    "calibration_slope",
    "calibration_test",
    "choose_threshold",
    "compare_at",
    "compare_auc",
    "compare_auc_unpaired",
    "compare_average_precision",
    "compare_brier",
    "compare_concordance",
    "compare_cross_val_auc",
    "compare_many",
    "comparison_power",
    "comparison_sample_size",
    "concordance",
    "concordance_interval",
    "cross_val_auc",
    "equivalence",
    "gini",
    "group_auc",
    "interval_at",
    "interval_sample_size",
    "ks",
    "lift_table",
    "log_loss_interval",
    "multiclass_auc",
    "net_benefit",
    "operating_point",
    "operating_point_interval",
    "partial_auc",
    "partial_auc_scorer",
    "population_stability",
    "precision_at_k",
    "rates_at",
    "rates_by_group",
    "reliability",
    "roc_auc",
    "sample_size",
    "top_k",
]
