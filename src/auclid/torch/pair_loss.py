"""A pair loss over all pairs of a batch, as a module of PyTorch."""

from typing import Any

import torch
from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints
from torch import Tensor

from auclid import losses, validation
from auclid._generic import as_floats
from auclid.losses import Hinge, Logistic, Square, SquaredHinge
from auclid.torch._batch import ScoreBatch, as_batch, attach, exact_sums, no_loss, warn_no_pairs
from auclid.torch._buffers import SizedByFirstBatch, check_columns
from auclid.torch._hinges import AllPairs, HingeSums, RowwisePairSums, SquareSums, SumOfHinges
from auclid.torch._logistic import DOUBLE, SINGLE, Precision, logistic_sums
from auclid.torch._top import TopShares, select_pairs

_PARAMETERS: dict = {
    "loss": [StrOptions(set(losses.LOSSES)), tuple],
    "margin": [validation.real(0.0, None, closed="neither")],
    "max_fpr": [validation.real(0.0, 1.0, closed="right")],
    "min_tpr": [validation.real(0.0, 1.0, closed="left")],
    "softness": [validation.real(0.0, None, closed="left")],
    "memory": [validation.at_least(0)],
}


NAMED = (Hinge, Logistic, Square, SquaredHinge)


class PairLoss(SizedByFirstBatch):
    """The mean of a pair loss over all pairs of a positive and a negative row of the batch.

    With the margin m = s_i - s_j of a positive i and a negative j, the loss of a batch is

        sum_ij w_i w_j l(m_ij) / sum_ij w_i w_j

    where l is one of

        "squared_hinge"   max(0, margin - m)^2
        "hinge"           max(0, margin - m)
        "square"          (margin - m)^2
        "logistic"        margin log(1 + exp(-m / margin))

    Value and gradient are exact: O(n log n) time by one sort and cumulative sums, O(n) memory. The logistic loss has no
    such form; it is summed to rounding by polynomials in O(n), or pair by pair in chunks where pairs are few or scores
    span more than n units. Sums are kept in float64 (float32 on devices without it), under autocast too.

    The module has no parameters: any optimiser, scheduler, gradient scaler and trainer will do.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "square", "logistic"} or struct, default="squared_hinge"
        A struct of your own is a sum of squared hinges: it has `auclid.losses.hinges` implemented, and ``margin`` is 1.
    margin : float in (0, inf), default=1.0
        The margin that is asked for; of the logistic loss, the unit of the scores.
    max_fpr : float in (0, 1], default=1.0
        Only pairs with the share ``max_fpr`` of the negatives that have the highest losses count (one-way partial AUC).
        Not for the square loss, which rises again with the margin.
    min_tpr : float in [0, 1), default=0.0
        Only pairs with the share 1 - ``min_tpr`` of the positives that have the highest losses count.
    softness : float in [0, inf), default=0.1
        Rows come into that share gradually, over this range of their mean loss, which makes the loss smooth. 0 is a
        hard cut by score. The loss with a soft cut is the maximum over row weights 0 <= q_j <= 1/k, sum q = 1, of
        sum_j q_j L_j - softness/2 (k sum q_j^2 - 1), with L_j the mean loss of row j and k the number of rows in
        the share; it exceeds the hard one by ``softness`` for each cut class at the most.
    memory : int in [0, inf), default=0
        Rows of past batches whose scores are kept, as constants, and meet the rows of this batch. The value is that
        of all these rows together. The gradient is its derivative by the scores of the batch, times the number of all
        rows over that of the batch: the rows of the batch stand for all. In evaluation mode nothing is kept and no
        kept row is used.

    Notes
    -----
    A column of scores without both classes counts for nothing; if all columns are so, the loss is zero, still connected
    to the graph, and a warning says so. Second derivatives are not available. `torch.compile` runs this module outside
    the compiled graph.

    References
    ----------
    Joachims, "A support vector method for multivariate performance measures", ICML 2005; Chapelle & Keerthi, "Efficient
    algorithms for ranking with SVMs", Information Retrieval 13, 2010.

    Examples
    --------
    >>> import torch
    >>> from auclid.torch import PairLoss
    >>> scores = torch.tensor([0.0, 2.0, 0.5], requires_grad=True)
    >>> loss = PairLoss("hinge")(scores, torch.tensor([0, 1, 1]))
    >>> loss.backward()
    >>> loss.item(), scores.grad
    (0.25, tensor([ 0.5000, 0.0000, -0.5000]))
    """

    STATE = ("past_scores", "past_pos", "past_neg")

    def __init__(
        self,
        loss: Any = "squared_hinge",
        *,
        margin: float = 1.0,
        max_fpr: float = 1.0,
        min_tpr: float = 0.0,
        softness: float = 0.1,
        memory: int = 0,
    ) -> None:
        given = {
            "loss": loss, "margin": margin, "max_fpr": max_fpr, "min_tpr": min_tpr, "softness": softness,
            "memory": memory,
        }  # fmt: skip
        validate_parameter_constraints(_PARAMETERS, given, caller_name="PairLoss")
        super().__init__()
        self.loss, self.margin, self.memory = losses.as_loss(loss), float(margin), memory
        self.region = TopShares(float(max_fpr), float(min_tpr), float(softness))
        self._check_loss()

    def _check_loss(self) -> None:
        if not isinstance(self.loss, NAMED):
            validation.implements("PairLoss", "loss", self.loss, [losses.hinges])
            if self.margin != 1.0:
                raise ValueError(f"PairLoss takes margin=1.0 with a loss of your own. Got {self.margin:g} instead.")
        if isinstance(self.loss, Square) and not self.region.is_all:
            raise ValueError(
                "The loss of PairLoss must not rise with the margin where max_fpr or min_tpr cut; Square does. "
                "Use loss='squared_hinge'."
            )

    def extra_repr(self) -> str:
        """The parameters, as PyTorch prints them."""
        shown = [f"{type(self.loss).__name__}", f"margin={self.margin:g}"]
        if not self.region.is_all:
            shown += [f"{name}={value:g}" for name, value in self.region._asdict().items()]
        return ", ".join(shown + [f"memory={self.memory}"] * (self.memory > 0))

    @torch.compiler.disable
    def forward(self, scores: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
        """The loss of a batch.

        Parameters
        ----------
        scores : floating-point tensor of shape (n,) or (n, columns)
            Each column is a label of its own; the loss is the mean over the columns that hold both classes.
        targets : tensor of as many values
            1 is positive, and 0 or -1 negative; or booleans. NaN is no label. Other values, soft labels included, are
            refused.
        weight : tensor of shape (n,) or that of the scores, optional
            Weights in [0, inf); a pair weighs the product of its two rows' weights.

        Returns
        -------
        tensor of shape (), of the scores' type or, of half-precision scores, float32
        """
        with exact_sums("PairLoss", scores):
            batch, finite = as_batch("PairLoss", scores, targets, weight)
            precision = DOUBLE if scores.dtype == torch.float64 else SINGLE
            value, slope = self._value_and_slope(batch, precision) if finite else no_loss(batch)
        return attach(scores, value, slope)

    def _value_and_slope(self, batch: ScoreBatch, precision: Precision) -> tuple[Tensor, Tensor]:
        """The loss of a batch, and its derivatives by the scores, of shape (columns, n)."""
        rows = self._with_memory(batch) if self.memory > 0 and self.training else batch
        columns = rows.has_pairs
        if not bool(columns.any()):
            warn_no_pairs("PairLoss")
            return no_loss(batch)
        values, slopes = self._columns(rows.select(columns), precision)
        slope = torch.zeros_like(batch.scores)
        slope[columns] = slopes[:, : batch.scores.shape[1]] / len(values)
        if rows is not batch:
            slope *= representation(batch, rows)
        return values.mean(), slope

    def _columns(self, batch: ScoreBatch, precision: Precision) -> tuple[Tensor, Tensor]:
        """Value and slopes of columns that all hold both classes."""
        if self.region.is_all:
            shares = (own / own.sum(-1, keepdim=True) for own in (batch.pos, batch.neg))
            return self._all_pairs(batch, precision).value_and_slope(*shares)
        sums = self._sums(batch, precision)
        pos, neg = select_pairs(sums, batch, self.region, precision.tol)
        value, slope = sums.value_and_slope(pos.weight, neg.weight)
        return value - pos.penalty - neg.penalty, slope

    def _all_pairs(self, batch: ScoreBatch, precision: Precision) -> AllPairs:
        if isinstance(self.loss, Square):
            return SquareSums(batch.scores, self.margin)
        return self._sums(batch, precision)

    def _sums(self, batch: ScoreBatch, precision: Precision) -> RowwisePairSums:
        if isinstance(self.loss, Logistic):
            return logistic_sums(batch, self.margin, precision)
        if isinstance(self.loss, Hinge | SquaredHinge):
            return HingeSums(batch.scores, batch.pos > 0.0, self.margin, 1 if isinstance(self.loss, Hinge) else 2)
        return SumOfHinges(batch.scores, batch.pos > 0.0, losses.hinges(as_floats(self.loss)))

    def _with_memory(self, batch: ScoreBatch) -> ScoreBatch:
        """The rows of the batch and, after them, those kept of earlier ones; the newest are kept from now on."""
        state = self._state()
        check_columns("PairLoss", state, len(batch.scores))
        if state is None:  # places that weigh nothing, so that shapes never change
            empty = batch.scores.new_zeros(len(batch.scores), self.memory)
            state = (empty + batch.scores[:, :1], empty, empty)
        rows = batch.join(ScoreBatch(*state))
        self._set_state(*(values[:, : self.memory].clone() for values in rows))
        return rows


def representation(batch: ScoreBatch, rows: ScoreBatch) -> Tensor:
    """How many rows, the kept ones included, each row of a batch stands for: a number a column."""
    own, every = ((part.pos + part.neg).sum(-1, keepdim=True) for part in (batch, rows))
    return every / own.clamp_min(torch.finfo(own.dtype).tiny)
