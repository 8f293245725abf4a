"""Tables: small real ones that come with the package, and those in your files."""

from typing import Literal, overload

import numpy as np
from sklearn.utils import Bunch

from auclid.datasets.entries import catalogue
from auclid.datasets.ordered import _arrays, load_anes96, load_gbsg2, load_travel_modes
from auclid.datasets.readers import TableFile, read_table
from auclid.errors import DataError

__all__ = [
    "DataError",
    "TableFile",
    "catalogue",
    "load_anes96",
    "load_gbsg2",
    "load_mammography",
    "load_travel_modes",
    "read_table",
]

_MAMMOGRAPHY = """\
Mammography: microcalcifications among candidate objects of digitised mammograms
--------------------------------------------------------------------------------

11,183 rows, 6 numeric columns, 260 positives (2.3 %), no missing values.
A row is an object segmented from a mammogram; target 1 is a microcalcification, 0 is not.

Columns: attr1 to attr6, the names in use for this table. They come standardised (mean 0, variance 1).
By later accounts of the paper they are six quantities of an object: area, mean grey level, gradient
strength at the perimeter, noise fluctuation, contrast with its border, and a shape moment. Which column
is which is not recorded with the table.

Repeats: 7,848 of the rows are distinct, so a random split can put equal rows on both sides.

Source: Woods, Doss, Bowyer, Solka, Priebe and Kegelmeyer, "Comparative evaluation of pattern
recognition techniques for detection of microcalcifications in mammography", International Journal
of Pattern Recognition and Artificial Intelligence 7(6), 1417-1436, 1993. The table is number 310
("mammography") on OpenML; this copy was taken by way of the ADBench collection and kept in single
precision.

Licence: reported as "Public" on OpenML (second-hand: the OpenML record itself was not consulted
when this copy was made). It is the authors' data and not covered by auclid's own licence.
"""


@overload
def load_mammography(*, return_X_y: Literal[False] = ...) -> Bunch: ...


@overload
def load_mammography(*, return_X_y: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...


def load_mammography(*, return_X_y: bool = False) -> Bunch | tuple[np.ndarray, np.ndarray]:
    """The mammography table: 11,183 rows, 6 columns, 2.3 % positive.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair (X, y) instead of a Bunch.

    Returns
    -------
    Bunch with
        data : ndarray (11183, 6), float64
        target : ndarray (11183,), int64; 1 is a microcalcification
        feature_names, target_names : lists of str
        DESCR : str; what the table is, its source and its licence

    Examples
    --------
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((11183, 6), 260)

    References
    ----------
    Woods et al., Comparative evaluation of pattern recognition techniques for detection of
    microcalcifications in mammography, IJPRAI 7(6), 1993.
    """
    table = _arrays("mammography.npz")
    X, y = np.ascontiguousarray(table["X"], dtype=np.float64), table["y"].astype(np.int64)
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        feature_names=[f"attr{k}" for k in range(1, 7)],
        target_names=["other", "microcalcification"],
        DESCR=_MAMMOGRAPHY,
    )
