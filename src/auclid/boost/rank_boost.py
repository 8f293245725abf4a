"""RankBoost: boosted stumps on the exponential pair loss, optionally with labels of neighbouring rows."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags

from auclid import validation
from auclid._progress import CallbackSupportMixin, fit_iterations
from auclid.base import TableScores
from auclid.data import Table, as_array
from auclid.data.types import RowsLike
from auclid.metrics._operating_point import best_threshold
from auclid.semi._labels import PartlyLabelled
from auclid.solvers.stumps import Entries, Stump, add_stumps, boost
from auclid.stats.sets import POSITIVE, UNLABELED, members


class RankBoost(CallbackSupportMixin, TableScores, PartlyLabelled):
    """Boosted stumps for ranking (RankBoost), and its semi-supervised form (SSRankBoost).

    Minimises, stump by stump, the mean over all pairs of a positive and a negative row of

        exp(−(f(x⁺) − f(x⁻))),    f(x) = Σₜ αₜ hₜ(x),    hₜ(x) = 1 if a column is above a threshold, else 0.

    Weights of pairs are products of weights of rows, so no pair is formed: a round costs O(n·d) after one sort of each
    column. Missing values (NaN) go to the side that ranks better.

    With ``n_neighbors`` = K > 0, the K nearest unlabelled rows of each labelled row are assigned its label, and the
    mean over pairs of such rows is added with the weight ``unlabeled_weight``.

    Parameters
    ----------
    n_rounds : int in [1, inf), default=200
        The largest number of stumps; boosting stops earlier if no stump lowers the loss.
    n_neighbors : int in [0, inf), default=0
        Unlabelled neighbours that are assigned the label of a labelled row. 0: unlabelled rows are not used.
    unlabeled_weight : float in [0, inf), default=0.5
        The weight of pairs of assigned labels, relative to pairs of given ones.
    unlabeled : "auto", a label, or None, default="auto"
        What marks an unlabelled row in y. None and NaN always do. "auto": so does −1 where y is numeric and holds
        exactly two other labels; y of −1 and +1 alone is two classes. None: nothing else does.

    Attributes
    ----------
    stumps_ : list of records
        ``column``, ``threshold``, ``alpha``, ``missing`` (whether a missing value counts as above).
    intercept_ : float
        Minus the threshold that maximises Youden's J on the labelled rows. It cannot change an AUC.
    classes_ : array of shape (2,)
    n_iter_ : int
        Stumps found.

    Notes
    -----
    Columns need no scaling. Distances between rows are those of standardised columns, with missing values at the mean.
    Sparse rows are made dense. f is a sum of step functions of single columns: `auclid.Scorecard` fits such a sum
    exactly, and faster; RankBoost is here for comparison with the papers.

    References
    ----------
    Freund, Iyer, Schapire & Singer, "An efficient boosting algorithm for combining preferences", JMLR 4, 2003.

    Amini, Truong & Goutte, "A boosting algorithm for learning bipartite ranking functions with partially labeled
    data", SIGIR 2008.

    Examples
    --------
    >>> from auclid import RankBoost
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(RankBoost(n_rounds=50).fit(X, y).score(X, y), 2)
    0.97
    """

    _fitted_attribute = "stumps_"
    _parameter_constraints: dict = {
        "n_rounds": [validation.at_least(1)],
        "n_neighbors": [validation.at_least(0)],
        "unlabeled_weight": [validation.real()],
        "unlabeled": "no_validation",
    }

    def __init__(
        self,
        n_rounds: int = 200,
        *,
        n_neighbors: int = 0,
        unlabeled_weight: float = 0.5,
        unlabeled: Any = "auto",
    ) -> None:
        self.n_rounds = n_rounds
        self.n_neighbors = n_neighbors
        self.unlabeled_weight = unlabeled_weight
        self.unlabeled = unlabeled

    @validation.checked
    def fit(
        self, X: RowsLike, y: ArrayLike | None = None, X_unlabeled: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from labelled rows, and from unlabelled ones near them.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            NaN is a missing value.
        y : array of shape (n,)
            Labels, and marks on unlabelled rows; see ``unlabeled``.
        X_unlabeled : array, CSR matrix or frame of shape (m, d), optional
            More unlabelled rows.
        sample_weight : array of shape (n,), optional
            The weight of a pair is the product of its rows' weights. An unlabelled row has the weight of the labelled
            one whose label it is assigned.

        Returns
        -------
        self
        """
        dataset = self._labelled_dataset(X, y, sample_weight, X_unlabeled)
        table, (sets, given) = dataset.table(), dataset.labels()
        weight = np.ones(len(sets)) if given is None else given
        neg, pos, unlabelled = members(np.where(weight > 0.0, sets, -1))
        if not (len(neg) and len(pos)):
            raise ValueError(
                f"RankBoost must have labelled rows of both classes; got {len(pos)} positive and {len(neg)} negative "
                "ones. PNUAUC(unlabeled_weight=1) learns from positive and unlabelled rows."
            )
        assigned = [assign_labels(table, rows, unlabelled, self.n_neighbors) for rows in (neg, pos)]
        entries = make_entries(table, weight, (neg, pos), assigned, float(self.unlabeled_weight))
        labelled = np.sort(np.concatenate([neg, pos]))
        attributes = partial(self._attributes, table=table, rows=labelled, is_pos=sets[labelled] == POSITIVE)
        stumps: list[Stump] = []
        rounds = boost(entries)
        for _ in fit_iterations(self, self.n_rounds, lambda: attributes(stumps), X, y):
            stump = next(rounds, None)
            if stump is None:
                break
            stumps.append(stump)
        self.__dict__.update(attributes(stumps, weight=None if given is None else weight[labelled]))
        return self

    def _uses_unlabelled(self) -> bool:
        """Whether unlabelled rows near labelled ones count."""
        return bool(self.n_neighbors > 0)

    def _row_weights(self, sample_weight: Any, n_rows: int, sets: np.ndarray) -> np.ndarray | None:
        """The weights of the rows of X, of which only ratios count; an unlabelled row gets that of a labelled one."""
        given = validation.check_relative_weights(sample_weight, np.empty((n_rows, 0)))
        if given is None:
            return None
        weight = np.concatenate([given, np.ones(len(sets) - n_rows)])
        is_labelled = sets != UNLABELED
        validation.both_weighed(self, sets[is_labelled] == POSITIVE, weight[is_labelled])
        return weight

    def _attributes(
        self, stumps: list[Stump], *, table: Table, rows: np.ndarray, is_pos: np.ndarray, weight: Any = None
    ) -> dict[str, Any]:
        """The fitted attributes of a model of these stumps."""
        threshold = best_threshold(is_pos, stump_scores(stumps, table.dense(rows)), weight)
        return {"stumps_": list(stumps), "n_iter_": max(1, len(stumps)), "intercept_": -float(threshold)}

    def _table_scores(self, table: Table) -> np.ndarray:
        scores = np.empty(table.shape[0])
        for where, block in table.blocks():
            scores[where] = stump_scores(self.stumps_, as_array(block))
        return scores + self.intercept_

    def _sound(self) -> bool:
        """Whether the stumps of a loaded model are of existing columns, since kernels do not check."""
        stumps = getattr(self, "stumps_", [])
        return isinstance(stumps, list) and all(
            isinstance(stump, Stump) and 0 <= stump.column < self.n_features_in_ for stump in stumps
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def make_entries(
    table: Table,
    weight: np.ndarray,
    labelled: Sequence[np.ndarray],
    assigned: Sequence[tuple[np.ndarray, np.ndarray]],
    share: float,
) -> Entries:
    """The labelled rows of each class, and the unlabelled rows with assigned labels, of this relative weight."""
    rows = [*labelled, *(neighbour for neighbour, _ in assigned)]
    weights = [*(weight[index] for index in labelled), *(weight[source] for _, source in assigned)]
    kind = np.repeat(np.arange(4), [len(index) for index in rows])
    return Entries(np.ascontiguousarray(table.dense(np.concatenate(rows))), kind, np.concatenate(weights), share)


def assign_labels(
    table: Table, labelled: np.ndarray, unlabelled: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest unlabelled rows of each labelled row, and that row for each of them."""
    n_neighbors = min(count, len(unlabelled))
    if not n_neighbors:
        return unlabelled[:0], unlabelled[:0]
    scaler = StandardScaler()
    candidates = np.nan_to_num(scaler.fit_transform(table.dense(unlabelled)), nan=0.0)
    queries = np.nan_to_num(scaler.transform(table.dense(labelled)), nan=0.0)
    nearest = NearestNeighbors(n_neighbors=n_neighbors).fit(candidates).kneighbors(queries, return_distance=False)
    return unlabelled[nearest.ravel()], np.repeat(labelled, n_neighbors)


def stump_scores(stumps: list[Stump], X: np.ndarray) -> np.ndarray:
    """Sum of alpha h(x) of each row."""
    scores = np.zeros(len(X))
    if stumps:
        columns, thresholds, alphas, missing = (np.array(values) for values in zip(*stumps, strict=True))
        add_stumps(np.asarray(X, dtype=np.float64), columns, thresholds, alphas, missing, scores)
    return scores
