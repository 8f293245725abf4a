"""Types of what users pass."""

from os import PathLike
from typing import Any, TypeAlias

from numpy.typing import ArrayLike
from scipy import sparse

from auclid.data.files import Rows

RowsLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix | Rows | Any
"""What X may be: an array, a sparse matrix, a frame (pandas, polars, pyarrow), rows of files or a Dask collection.

Frames and Dask collections are optional dependencies, hence Any.
"""

OutputFile: TypeAlias = str | PathLike[str] | None
"""Where a method writes its answers for rows of files: a ``.npy`` file; None returns them."""
