"""Groups of rows, given beside X wherever its rows are."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from auclid.data.dask import column_parts, is_dask
from auclid.stats.labelled import LabelledDataset


class Groups(NamedTuple):
    """The group of each row, cut in the same places as the rows; in memory, or promised by a cluster."""

    owner: str
    parts: list
    sizes: np.ndarray
    """Rows of each part."""
    name: str = "groups"

    def at(self, places: list[np.ndarray]) -> np.ndarray:
        """The groups of the rows that are at these places of each part."""
        if isinstance(self.parts[0], np.ndarray):
            return np.concatenate([part[at] for part, at in zip(self.parts, places, strict=True)])
        import dask

        pick = dask.delayed(groups_at, pure=True)
        picked = [pick(self.owner, self.name, *each) for each in zip(self.parts, self.sizes, places, strict=True)]
        return np.concatenate(dask.compute(*picked))


def checked_groups(owner: str, groups: Any, X: Any, rows: LabelledDataset, name: str = "groups") -> Groups:
    """Groups, or times, as a user gives them beside X, refused unless there is one for each row."""
    part_sizes = rows.every.sum(axis=1)
    if is_dask(groups) and is_dask(X):
        return Groups(owner, column_parts(owner, name, groups, X, len(part_sizes)) or [], part_sizes, name)
    if is_dask(groups):
        raise TypeError(
            f"The {name} of {owner} must be an array of shape ({rows.n_rows},) where X is no dask collection; got "
            f"{type(groups).__name__} of dask. Take them into memory with {name}.compute()."
        )
    if np.shape(groups) != (rows.n_rows,):
        got = f"shape {np.shape(groups)}" if np.ndim(groups) else repr(groups)
        raise ValueError(f"The {name} of {owner} must be an array of shape ({rows.n_rows},), one a row; got {got}.")
    checked = check_array(groups, ensure_2d=False, dtype=None, input_name=name)
    return Groups(owner, np.split(checked, np.cumsum(part_sizes)[:-1]), part_sizes, name)


def groups_at(owner: str, name: str, groups: Any, size: int, places: np.ndarray) -> np.ndarray:
    """The groups at these places of a partition, in which there must be one for each of its rows."""
    own = np.asarray(groups)
    if own.shape != (size,):
        raise ValueError(
            f"The {name} given to {owner} must be cut in the same places as X; a partition of {size} rows has {name} "
            f"of shape {own.shape}. Take both from one frame, or rechunk them."
        )
    return own[places]
