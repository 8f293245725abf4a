"""How model files of auclid 0.1 describe their columns; only to score with what was learnt then."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from auclid.data import as_array


class OldColumns(NamedTuple):
    """What was learnt of the columns, without labels."""

    filler: SimpleImputer
    fences: np.ndarray | None
    """The lowest and the highest value that is believed, of each column; None where columns are sparse."""
    scaler: Pipeline


def old_scaled(columns: OldColumns, X: Any) -> Any:
    """X without gaps, columns alike: what linear and kernel models of such a file were fitted on."""
    if columns.fences is None:
        return columns.scaler.transform(columns.filler.transform(X))
    return columns.scaler.transform(np.clip(columns.filler.transform(as_array(X)), *columns.fences))
