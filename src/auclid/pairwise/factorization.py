"""FactorizationRanker: a factorization machine that ranks, for wide one-hot rows."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.utils._param_validation import StrOptions

from auclid import _random, _sizes, validation
from auclid._progress import CallbackSupportMixin, fit_iterations
from auclid.base import Ranker, TableScores
from auclid.data import Table, as_table
from auclid.data.types import RowsLike
from auclid.losses import LOSSES, Loss, as_loss, slope
from auclid.metrics._auc import auc_from_parts
from auclid.metrics._operating_point import best_threshold
from auclid.solvers import factorization as solver
from auclid.solvers.random_pairs import RESERVOIR_CAPACITY, find_partners
from auclid.stats.buffers import ClassBuffers, advance_buffers, empty_buffers, reservoir
from auclid.stats.epochs import EpochSampler
from auclid.stats.labelled import LabelledTable

AUTO_ALPHAS = 1e-3, 1e-4, 1e-5
"""Penalties that alpha="auto" tries."""

AUTO_RANKS = 0, 4, 8, 16
"""Ranks that rank="auto" tries."""

FACTOR_STREAM_ALPHA, STREAM_RANK = 1e-4, 8
"""What "auto" stands for where nothing can be held out: in a stream, and where a class is small."""

FACTOR_SHARE = 10.0
"""The penalty of the factors, in units of that of the weights: pairs of columns are seen less often than columns."""

INIT_SCALE = 0.05
"""The standard deviation of the first factors."""

PAIRS_AT_ONCE = 1 << 16
"""Pairs that are drawn at a time."""


class StreamState(NamedTuple):
    """What a stream keeps: the model, sums of the rows of each class, and a reservoir of rows."""

    model: solver.FactorizationState
    total: np.ndarray
    n: np.ndarray
    buffers: ClassBuffers


class FactorizationRanker(CallbackSupportMixin, TableScores, Ranker):
    """Factorization machine for ranking: a weight for each column and a product of factors for each pair of columns.

    Scores are

        f(x) = w·x + Σ_{i<j} (v_i·v_j) x_i x_j,    v_j of ``rank`` numbers,

    computed in O(nnz·rank). Minimises the mean over all pairs of a positive and a negative row of the loss of
    f(x⁺) − f(x⁻), plus (alpha/2)|w|² + (10·alpha/2)|V|² + l1 |w|₁, by AdaGrad steps on random pairs; the model is the
    mean of the last half of the iterates.

    It is meant for wide one-hot rows (users and items, words, categories), where a linear model cannot express that
    two columns together mean more than each by itself, and kernels or trees are too expensive.

    Parameters
    ----------
    rank : int in [0, inf) or "auto", default=8
        Numbers in the factor of a column. 0 is a linear model. "auto": of 0, 4, 8 and 16, what ranks the held-out rows
        of ``alpha`` best; 8 in a stream, and where a class has fewer than 50 rows.
    loss : {"logistic", "hinge", "squared_hinge", "square"} or struct, default="logistic"
        The loss of a pair, with `auclid.losses.slope` implemented.
    alpha : float in [0, inf) or "auto", default="auto"
        Strength of the squared penalty. "auto": of 1e-3, 1e-4 and 1e-5, with factors and without, what ranks a held-out
        fifth of up to 40,000 rows best; without factors unless they pay. 1e-4 in a stream, and where a class has
        fewer than 50 rows.
    l1 : float in [0, inf), default=0
        Strength of the absolute penalty on w. It makes weights exactly zero, but no factors.
    step : float in (0, inf), default=0.1
        The first step of AdaGrad.
    n_epochs : int, default=8
        Passes of as many random pairs as there are rows.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    factors_ : array of shape (d, rank_)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, zero. It cannot
        change an AUC.
    alpha_ : float
        The ``alpha`` in use.
    rank_ : int
        The ``rank`` in use: 0 where "auto" found that factors do not pay.
    classes_ : array of shape (2,)
    n_iter_ : int
        Passes made.

    Notes
    -----
    The squared penalty acts on a column whenever a pair of rows holds it, multiplied by how rarely that is: in the mean
    it acts on all columns at every step. With ``l1`` the steps on w are those of FTRL-Proximal, and ``l1`` acts on all
    columns at every step, exactly.

    References
    ----------
    Rendle, "Factorization machines", ICDM 2010. Duchi, Hazan & Singer, "Adaptive subgradient methods", JMLR 2011.
    McMahan, "Follow-the-regularized-leader and mirror descent", AISTATS 2011.

    Khalid, "Scalable large margin pairwise learning algorithms", 2019 (AUC maximisation with factorization machines as
    future work).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import FactorizationRanker
    >>> rng = np.random.default_rng(0)
    >>> user, item = rng.integers(20, size=(2, 4000))
    >>> y = (user % 2 == item % 2) & (rng.random(4000) < 0.9)
    >>> X = np.hstack([np.eye(20)[user], np.eye(20)[item]])
    >>> model = FactorizationRanker(random_state=0).fit(X[:3000], y[:3000])
    >>> print(f"{model.score(X[3000:], y[3000:]):.1f}")
    0.9
    """

    _parameter_constraints: dict = {
        "rank": [validation.at_least(0), StrOptions({"auto"})],
        "loss": [StrOptions(set(LOSSES)), tuple],
        "alpha": [validation.real(), StrOptions({"auto"})],
        "l1": [validation.real()],
        "step": [validation.real(closed="neither")],
        "n_epochs": [validation.at_least(1)],
        "random_state": _random.RANDOM_STATE,
    }

    def __init__(
        self,
        rank: int | str = 8,
        *,
        loss: Any = "logistic",
        alpha: float | str = "auto",
        l1: float = 0.0,
        step: float = 0.1,
        n_epochs: int = 8,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.loss = loss
        self.alpha = alpha
        self.l1 = l1
        self.step = step
        self.n_epochs = n_epochs
        self.random_state = random_state

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from random pairs of all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            How often a row is drawn, beside the others of its class.

        Returns
        -------
        self
        """
        table, is_pos, weight = self._labelled_dataset(X, y, sample_weight).labelled_table()
        loss, rng = self._loss(), _random.generator(self.random_state)
        rows = LabelledTable(table, is_pos, weight)
        self.alpha_, self.rank_ = self._choose(rows, loss, rng)
        settings = self._steps(loss, self.alpha_)
        trainer = Trainer(rows, settings, self.rank_, rng)
        for number in fit_iterations(self, self.n_epochs, lambda: self._attributes(*trainer.model()), X, y):
            trainer.epoch(average=2 * number >= self.n_epochs - 1)
            self.n_iter_ = number + 1
        w, V = trainer.model()
        scores = validation.finite_scores(self, factorized_scores(table, w, V), np.float64)
        self._stream: StreamState | None = None
        self._rng = rng
        return self._publish(w, V, best_threshold(is_pos, scores, weight))

    @validation.checked
    def partial_fit(self, X: RowsLike, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows of a batch, once, in their order: each meets a row of the other class out of 1,000.

        A batch may hold one class only; until both were seen, the model ranks nothing. After `fit` a stream begins
        anew.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        sample_weight : None
            A stream takes no weights: repeat rows instead.

        Returns
        -------
        self
        """
        if sample_weight is not None:
            raise ValueError("FactorizationRanker.partial_fit must be given no sample_weight. Repeat rows instead.")
        table, is_pos, _, first = self._begin_partial(X, y, classes)
        loss, rank = self._loss(), self._fixed_rank()
        if first or self._stream is None:
            self._rng = _random.generator(self.random_state)
            model = solver.init(table.shape[1], rank, INIT_SCALE, self._rng)
            state = StreamState(model, np.zeros((2, table.shape[1])), np.zeros(2), empty_buffers(table.shape[1]))
        else:
            state = _copied(self._stream)
            validation.unchanged(self, "rank", rank, state.model.V.shape[1])
        rng = _random.copy_generator(self._rng)
        self.alpha_, self.rank_ = FACTOR_STREAM_ALPHA if self.alpha == "auto" else float(self.alpha), rank
        state = _after_batch(state, table, is_pos, self._steps(loss, self.alpha_), rng)
        both_seen = float(state.n.all())
        self._publish(state.model.w.copy(), both_seen * state.model.V, 0.0)
        self._stream, self._rng, self.n_iter_ = state, rng, 1
        return self

    def _table_scores(self, table: Table) -> np.ndarray:
        return factorized_scores(table, self.coef_[0], self.factors_) + self.intercept_[0]

    def _loss(self) -> Loss:
        return validation.implements(self, "loss", as_loss(self.loss), [slope])

    def _fixed_rank(self) -> int:
        """The rank where none is chosen."""
        return STREAM_RANK if self.rank == "auto" else int(self.rank)

    def _steps(self, loss: Loss, alpha: float) -> solver.FactorizationSteps:
        return solver.FactorizationSteps(loss, alpha, FACTOR_SHARE * alpha, float(self.l1), float(self.step))

    def _choose(self, rows: LabelledTable, loss: Loss, rng: np.random.Generator) -> tuple[float, int]:
        """The penalty, and the rank: zero where a linear model ranks held-out rows as well."""
        fixed = FACTOR_STREAM_ALPHA if self.alpha == "auto" else float(self.alpha), self._fixed_rank()
        if self.alpha != "auto" and self.rank != "auto":
            return fixed
        parts = held_out_parts(rows, int(rng.integers(2**31 - 1)))
        if parts is None:
            return fixed
        train, test = parts
        alphas = AUTO_ALPHAS if self.alpha == "auto" else (fixed[0],)
        tried = []
        for rank in dict.fromkeys(AUTO_RANKS if self.rank == "auto" else (0, fixed[1])):
            for alpha in alphas:
                trainer = Trainer(train, self._steps(loss, alpha), rank, np.random.default_rng(0))
                for number in range(self.n_epochs):
                    trainer.epoch(average=2 * number >= self.n_epochs - 1)
                scores = factorized_scores(test.table, *trainer.model())
                auc = auc_from_parts(test.is_pos, scores, test.weight) if np.isfinite(scores).all() else 0.0
                tried.append((auc, -rank, alpha))
        _, rank, alpha = max(tried)
        return alpha, -rank

    def _attributes(self, w: np.ndarray, V: np.ndarray) -> dict[str, np.ndarray]:
        return {"coef_": w.reshape(1, -1), "factors_": V, "intercept_": np.zeros(1)}

    def _publish(self, w: np.ndarray, V: np.ndarray, threshold: float) -> Self:
        validation.finite(self, w)
        self.coef_, self.factors_ = w.reshape(1, -1), validation.finite(self, V)
        self.intercept_ = np.array([-float(threshold)])
        return self

    def _sound(self) -> bool:
        """Whether arrays of a loaded file fit together."""
        if not hasattr(self, "coef_"):
            return True
        d, shape = self.n_features_in_, np.shape(self.factors_)
        return np.shape(self.coef_) == (1, d) and len(shape) == 2 and shape[0] == d


class Trainer:
    """Epochs of random pairs on labelled rows; the model is the mean of the iterates of the last epochs."""

    def __init__(
        self, rows: LabelledTable, settings: solver.FactorizationSteps, rank: int, rng: np.random.Generator
    ) -> None:
        self._rows, self._settings, self._rng = rows, settings, rng
        self._epochs = EpochSampler(rows.table, rows.is_pos, rows.weight)
        self._state = solver.init(rows.table.shape[1], rank, INIT_SCALE, rng)
        self._averaged_from: int | None = None

    def epoch(self, average: bool) -> None:
        """As many steps as rows, on pairs uniform over all pairs; iterates enter the average from the first that is
        asked to."""
        if average and self._averaged_from is None:
            solver.begin_average(self._state, self._settings.l1)
            self._averaged_from = int(self._state.t[0])
        order = self._epochs.order(self._rng, True)
        above = self._rows.is_pos[order]
        pos, neg = order[above], order[~above]
        for start in range(0, len(order), PAIRS_AT_ONCE):
            count = min(PAIRS_AT_ONCE, len(order) - start)
            i, j = _random.draw_pairs(self._rng, len(pos), len(neg), count)
            for rows, (at_pos, at_neg), _ in self._rows.table.sweep(pos[i], neg[j]):
                solver.sweep(rows, at_pos, at_neg, self._settings, self._state)

    def model(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights and factors: their mean over the averaged steps, or the last ones before any is averaged."""
        start = int(self._state.t[0]) if self._averaged_from is None else self._averaged_from
        return solver.averaged(self._state, start, self._settings.l1)


def held_out_parts(rows: LabelledTable, seed: int) -> tuple[LabelledTable, LabelledTable] | None:
    """Four fifths of up to `MAX_TUNING_ROWS` rows, and the last fifth; None where a class has too few rows."""
    counted = np.arange(len(rows.is_pos)) if rows.weight is None else np.flatnonzero(rows.weight > 0.0)
    label = rows.is_pos[counted]
    if min(label.sum(), (~label).sum()) < 5 * _sizes.MIN_TUNING_CLASS_ROWS:
        return None
    if len(counted) > _sizes.MAX_TUNING_ROWS:
        share = _sizes.MAX_TUNING_ROWS / len(counted)
        if share * min(label.sum(), (~label).sum()) >= 5 * _sizes.MIN_TUNING_CLASS_ROWS:
            counted = train_test_split(counted, train_size=_sizes.MAX_TUNING_ROWS, random_state=seed, stratify=label)[0]
    train, test = train_test_split(counted, test_size=0.2, random_state=seed, stratify=rows.is_pos[counted])
    return tuple(  # type: ignore[return-value]
        LabelledTable(as_table(rows.table.part(part)), *rows.held_out(part)) for part in (np.sort(train), np.sort(test))
    )


def factorized_scores(table: Table, w: np.ndarray, V: np.ndarray) -> np.ndarray:
    """w·x + ½ Σ_k [(Σ_j v_jk x_j)² − Σ_j v_jk² x_j²] of each row, by blocks."""
    out = np.empty(table.shape[0])
    for where, rows in table.blocks():
        block: Any = rows.astype(np.float64, copy=False)
        squares = block.multiply(block).tocsr() if sparse.issparse(block) else block * block
        pairs = np.square(block @ V).sum(axis=1) - squares @ np.square(V).sum(axis=1)
        out[where] = block @ w + 0.5 * pairs
    return out


def _copied(state: StreamState) -> StreamState:
    """A state with arrays of its own, so that a batch that fails changes nothing."""
    return state._replace(model=solver.copied(state.model), total=state.total.copy(), n=state.n.copy())


def _after_batch(
    state: StreamState,
    table: Table,
    is_pos: np.ndarray,
    settings: solver.FactorizationSteps,
    rng: np.random.Generator,
) -> StreamState:
    """The state after a step for each row, on that row and one of the other class out of its reservoir."""
    label, buffers = is_pos.astype(np.int8), state.buffers
    for part, rows in table.blocks():
        block, draws = rows.astype(np.float64, copy=False), rng.random((part.stop - part.start, 2))
        window, buffers = advance_buffers(buffers, block, label[part], RESERVOIR_CAPACITY, reservoir, draws[:, 0])
        pairs = np.empty((2, len(draws)), dtype=np.int64)
        neg, pos = pairs[:, : find_partners(window, draws, pairs, state.total, state.n)]
        solver.sweep(window.rows, pos, neg, settings, state.model)
    solver.settle(state.model, settings.l1)
    return state._replace(buffers=buffers)
