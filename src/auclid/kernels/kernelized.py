"""Kernelized: any feature map under any ranker."""

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if

from auclid import _sizes, validation
from auclid.base import LinearScores, Ranker, TableScores
from auclid.data import Embedded, Table, as_table
from auclid.data.dataset import Part
from auclid.data.embedded import working_type
from auclid.data.types import RowsLike
from auclid.kernels._kernel_block import floats
from auclid.kernels._map import FeatureMap, embedded
from auclid.kernels.kmeans_nystroem import KMeansNystroem
from auclid.kernels.random_fourier import RandomFourier
from auclid.ordered._base import LinearOrderRanker
from auclid.ordered._meta import MetaRanker
from auclid.ordered._rows import PartitionedRows, dataset_of
from auclid.square import LeastSquaresAUC, LeastSquaresAUCCV
from auclid.stats.labelled import LabelledDataset, sampled
from auclid.validation import RowAccess

N_COMPONENTS = 800
"""Landmarks, or Fourier features, where no map is given."""


class Kernelized(TableScores, MetaRanker):
    """A ranker f(x) = w·ψ(x) + b on top of a feature map ψ: a kernel method for any number of rows.

    The ranker is handed a table of embedded rows that does not exist: products with it are products with kernel values,
    which are made by blocks, and rows appear only for a ranker that steps from one to the next. So memory is bounded,
    whatever the number of rows, and of many rows nothing is ever kept in float64.

    Parameters
    ----------
    feature_map : transformer, or None, default=None
        `KMeansNystroem`, `RandomFourier` or any transformer of scikit-learn. It is fitted on all rows, unlabelled ones
        included; wrapped in ``FrozenEstimator`` it is used as it is. None: KMeansNystroem with up to 800 landmarks
        in `fit`, RandomFourier in a stream.
    ranker : ranker, or None, default=None
        Any linear ranker of this package; `OrderedRanker` and `SurvivalRanker` with y, ``groups`` and `score` of their
        own. None: `LeastSquaresAUCCV` in `fit`, `LeastSquaresAUC` in a stream.

    Attributes
    ----------
    feature_map_ : transformer
        The fitted map.
    ranker_ : ranker
        The ranker fitted on embedded rows.
    classes_ : array of shape (2,)
    n_features_in_ : int
    feature_names_in_ : array of shape (d,), where X has column names

    Notes
    -----
    Scale the columns first, for instance ``make_pipeline(StandardScaler(), Kernelized())``.

    Which ranker? On nine benchmark tables with the default map (``benchmarks/quality_kernels.py``; mean test AUC over
    five seeds, two for mnist) `RankSVM` was best on magic04, letter, cod-rna, ijcnn1, connect-4 and
    mnist, by 0.0016 to 0.006 over `LeastSquaresAUCCV`. ``PSAM(alpha=1e-5)`` was best on mammography,
    `LeastSquaresAUCCV` on w8a; on skin all were alike.

    float64 rows are embedded in float32 where the embedding would take more than 16 MB: twice as fast, in half the
    memory, and scores agree to four or five digits. A map fitted beforehand works in the type of the rows it was
    fitted on.

    References
    ----------
    Khalid, "Scalable large margin pairwise learning algorithms", 2019: NBAM, NPSAM, FCBR, … are such compositions.

    Examples
    --------
    >>> from auclid import PSAM, Kernelized, KMeansNystroem
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = Kernelized(KMeansNystroem(100, random_state=0), PSAM(alpha="cv", random_state=0))
    >>> round(model.fit(X, y).score(X, y), 2)
    0.97
    """

    _row_access = RowAccess.PARTS

    _fitted_attribute = "ranker_"
    _parameter_constraints: dict = {
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "ranker": [Ranker, LinearOrderRanker, None],
    }

    def __init__(self, feature_map: Any = None, ranker: Any = None) -> None:
        self.feature_map = feature_map
        self.ranker = ranker

    @property
    def classes_(self) -> np.ndarray:  # type: ignore[override]
        """The two labels."""
        return self.ranker_.classes_

    @validation.checked_with_parts
    def fit(self, X: RowsLike, y: Any = None, X_unlabeled: Any = None, **params: Any) -> Self:
        """Fit the map on all rows, then the ranker on what it makes of them.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), labels as the ranker takes them
        X_unlabeled : array, CSR matrix or frame of shape (m, d), optional
            More rows, for a semi-supervised ranker.
        **params
            For the ranker's `fit`: ``sample_weight`` and ``groups``, where it takes them. The map does not see them.

        Returns
        -------
        self
        """
        if isinstance(self.ranker, LinearOrderRanker):
            return self._fit_ordered(X, y, **params)
        ranker = LeastSquaresAUCCV() if self.ranker is None else clone(self.ranker)
        groups = {"groups": params.pop("groups")} if "groups" in params else {}
        rows = ranker._labelled_dataset(X, y, X_unlabeled=X_unlabeled, **params)
        validation.remember_columns(self, getattr(ranker, "feature_names_in_", None), rows.width)
        table, labels = _rows_for_map(rows, self.feature_map)
        default = KMeansNystroem(min(N_COMPONENTS, table.shape[0]), random_state=0)
        feature_map = default if self.feature_map is None else self.feature_map
        self.feature_map_ = fitted_map(feature_map, table, labels, rows.n_rows)
        if self.ranker is None and rows.counts.sum(axis=0).min() < _sizes.MIN_CLASS_ROWS_FOR_CV:
            ranker = LeastSquaresAUC()
        columns = embedded(table, self.feature_map_).shape[1]
        self.ranker_ = ranker.fit(rows.transformed(partial(embedded_part, self.feature_map_), columns), **groups)
        return self._publish(embedded(table, self.feature_map_))

    def _fit_ordered(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Ordered rows: the map learns from all rows, or from a sample of rows in parts; the ranker from what it makes
        of each part."""
        parts, sizes = dataset_of(self, X)
        table, n = parts.table(sizes), int(sizes.sum())
        default = KMeansNystroem(min(N_COMPONENTS, n), random_state=0)
        feature_map = default if self.feature_map is None else self.feature_map
        if parts.partitioned:
            size = min(n, max(_sizes.MAP_ROWS, 20 * getattr(feature_map, "n_components", N_COMPONENTS)))
            table = as_table(table.part(np.sort(np.random.default_rng(0).choice(n, size, replace=False))))
        self.feature_map_ = fitted_map(feature_map, table, None, n)
        rows = embedded(table, self.feature_map_)
        made = parts.transformed(partial(embedded_part, self.feature_map_), rows.shape[1])
        weight = validation.own_weight(X, sample_weight)
        ranker, y = clone(self.ranker), validation.own_outcome(self, X, y)
        self.ranker_ = ranker.fit(PartitionedRows(made, sizes), y, sample_weight=weight, **params)
        return self._publish(rows)

    @available_if(lambda self: hasattr(getattr(self, "ranker_", self.ranker) or LeastSquaresAUC, "partial_fit"))
    @validation.checked_with_parts
    def partial_fit(self, X: RowsLike, y: ArrayLike, classes: ArrayLike | None = None, **params: Any) -> Self:
        """Learn from a batch, with a map that is fitted on the first one unless it is frozen.

        Only where the ranker has a `partial_fit`.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        **params
            For the ranker's `partial_fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "ranker_")
        table = self._rows(X, y, reset=first)
        if first:
            default = RandomFourier(N_COMPONENTS, random_state=0)
            enough_rows(self.feature_map, table)
            feature_map = default if self.feature_map is None else self.feature_map
            self.feature_map_ = fitted_map(feature_map, table, y, table.shape[0])
            self.ranker_ = LeastSquaresAUC() if self.ranker is None else clone(self.ranker)
        rows = embedded(table, self.feature_map_)
        if not isinstance(self.ranker_, LinearOrderRanker):
            params["classes"] = classes
        self.ranker_.partial_fit(rows, y, **params)
        return self._publish(rows)

    def _assemble(self, feature_map: Any, ranker: Ranker, rows: Embedded) -> Self:
        """Take a fitted map, and a ranker that was fitted on the rows it makes."""
        self.feature_map_, self.ranker_, self.n_features_in_ = feature_map, ranker, feature_map.n_features_in_
        return self._publish(rows)

    def _publish(self, rows: Embedded) -> Self:
        """Keep w and P w, the weights of the values: to make these takes longer than to score a row."""
        if isinstance(self.ranker_, LinearScores):
            w = self.ranker_.coef_[0].copy()
            self._weights = w, rows.values_weights(w)
        return self

    def _table_scores(self, table: Table) -> np.ndarray:
        rows = embedded(table, self.feature_map_, self.ranker_.n_features_in_)
        if not isinstance(self.ranker_, LinearScores):
            return self.ranker_.decision_function(rows)
        return rows.values_matmul(self._values_weights(rows)) + self.ranker_.intercept_[0]

    def _values_weights(self, rows: Embedded) -> np.ndarray:
        """The weights of the values; anew where the ranker has learnt more by itself, as its `merge` lets it."""
        w, (made_of, weights) = self.ranker_.coef_[0], self._weights
        return weights if np.array_equal(w, made_of) else rows.values_weights(w)

    def _sound(self) -> bool:
        """Whether a loaded model has as many weights as its map makes columns, and as many again as values."""
        if not isinstance(getattr(self, "ranker_", None), LinearScores):
            return True
        rows = embedded(as_table(np.empty((0, self.n_features_in_))), self.feature_map_, self.ranker_.n_features_in_)
        columns, (made_of, weights) = rows.shape[1:], self._weights
        return floats((self.ranker_.coef_[0], columns), (made_of, columns), (weights, (rows.width,)))

    def _rows(self, X: Any, y: ArrayLike, reset: bool) -> Table:
        """Checked rows; what the labels mean is the ranker's business."""
        validation.require_labels(self, y)
        table = validation.check_rows(self, X, reset=reset)
        check_consistent_length(table, y)
        return table


def _rows_for_map(rows: LabelledDataset, feature_map: Any) -> tuple[Table, np.ndarray | None]:
    """The rows that a map learns from, and their classes if all have one: all in memory, a sample of rows in parts."""
    labelled = rows.counts.shape[1] == len(rows.classes)
    if not rows.partitioned:
        return rows.table(), rows.labels()[0] if labelled else None
    counts = rows.counts.sum(axis=0)
    components = getattr(feature_map, "n_components", None) or N_COMPONENTS
    size = min(int(counts.sum()), max(_sizes.MAP_ROWS, 20 * components))
    drawn = np.random.default_rng(0).multivariate_hypergeometric(counts, size, method="marginals")
    X, labels, _ = sampled(rows, drawn.tolist())
    return as_table(X), labels if labelled else None


def embedded_part(feature_map: Any, part: Part) -> Part:
    """The part with rows as the map makes them, when they are asked for."""
    return part._replace(X=embedded(as_table(part.X), feature_map))


def fitted_map(feature_map: Any, table: Table, y: ArrayLike | None, count: int) -> Any:
    """A copy of the map, fitted on a table, of some of ``count`` rows; a frozen one as it is."""
    feature_map = clone(feature_map)
    if isinstance(feature_map, FeatureMap):
        columns = getattr(feature_map, "n_components", None) or table.shape[0]
        return feature_map._fit(table, working_type(count, columns, table.dtype))
    feature_map.fit(table.part(slice(None)), y)
    columns, known = table.shape[1], getattr(feature_map, "n_features_in_", table.shape[1])
    if columns != known:
        raise ValueError(
            f"The frozen feature_map of Kernelized must know the columns of X; it knows {known}, X has {columns}."
        )
    return feature_map


def enough_rows(feature_map: Any, table: Table) -> None:
    """Refuse to look for more landmarks than the first batch of a stream has rows."""
    if isinstance(feature_map, KMeansNystroem) and table.shape[0] < (feature_map.n_components or 0):
        raise ValueError(
            f"The first batch of a stream must hold at least the n_components={feature_map.n_components} landmarks of "
            f"KMeansNystroem; got {table.shape[0]} rows. Fit the map beforehand and pass FrozenEstimator(feature_map), "
            "or use RandomFourier."
        )
