"""The figures of one way to learn."""

from typing import Any, NamedTuple

import numpy as np

from auclid.metrics import PairComparison


class ComparedModel(NamedTuple):
    """One way to learn, measured on rows that it has not learnt from."""

    name: str
    auc: float
    """Mean over splits; NaN where the model could not be fitted."""
    low: float
    high: float
    folds: np.ndarray
    """The AUC of each split."""
    ap: float = np.nan
    """Average precision, mean over splits."""
    ap_low: float = np.nan
    ap_high: float = np.nan
    ap_folds: np.ndarray = np.zeros(0)
    """The average precision of each split."""
    seconds: float = np.nan
    """Processor seconds of a fit, mean over splits, without compiling."""
    is_baseline: bool = False
    gap: PairComparison | None = None
    """AUC minus that of the best baseline, where there are baselines and it is not that one."""
    ap_gap: PairComparison | None = None
    """Average precision minus that of the best baseline."""
    scores: Any = None
    """A score of each row that was held out, `ModelComparison.rows`, from the first split that holds it out."""
    probabilities: Any = None
    """Probabilities of these rows, where the model has them."""
    fitted: Any = None
    """The model of the first split, fitted."""
    trouble: str = ""
    """Why there are no figures."""
    converged: bool = True
