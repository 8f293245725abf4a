"""SAMULT: unlabelled rows beneath the positives and above the negatives, without a class prior."""

from typing import Any

from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid.semi._closed_form import ClosedForm
from auclid.solvers.semi_supervised import Samult
from auclid.stats.sets import SemiSupervisedStats, Sets


class SAMULT(ClosedForm):
    """Semi-supervised least-squares AUC that needs no class prior, in closed form.

    With P, N and U the positive, negative and unlabelled rows, and R_AB the mean over all pairs of A and B of
    (1 − f(a) + f(b))², f(x) = w·x, minimises

        (1 − u) R_PN + u (R_PU + R_NU − ½) + (alpha/2) |w|²,      u = unlabeled_weight, 1 − γ in the papers.

    Each R is an exact quadratic in w, known from the mean and covariance of its two sets. So one pass over the rows is
    enough, any number of unlabelled rows takes the same memory, and moments of chunks add up: `partial_fit` on any
    chunks, or `merge` of models fitted elsewhere, gives the model of one `fit` on all rows.

    Parameters
    ----------
    unlabeled_weight : float in [0, 1] or "auto", default="auto"
        What unlabelled rows count; 0 is supervised. "auto": by cross-validation, and 0 unless another is clearly
        better.
    alpha : float in [0, inf) or "auto", default="auto"
        Strength of the squared penalty. "auto": by cross-validation.
    unlabeled : "auto", a label, or None, default="auto"
        What marks an unlabelled row in y. None and NaN always do. "auto": so does −1 where y is numeric and holds
        exactly two other labels; y of −1 and +1 alone is two classes. None: nothing else does.

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the labelled rows; after `partial_fit` or `merge`, or of
        rows in files or in dask, minus the score halfway between the class means. It cannot change an AUC.
    classes_ : array of shape (2,)
    unlabeled_weight_, alpha_ : float
        The values used.
    n_iter_ : int
        1: the solution is in closed form.

    Notes
    -----
    For the 0–1 loss R_PU + R_NU − ½ equals R_PN, which is why no class prior is needed. For the square loss it exceeds
    it by ½ + 2 w·(πΣ₊ + (1 − π)Σ₋)·w: unlabelled rows add a penalty on the variance within classes, estimated from very
    many rows. That helps where the labelled rows alone cannot tell it: a linear model, few labels for its columns,
    correlated columns. Do not expect much: on seven tables with 20 to 200 labels some tenths of a point of AUC on
    average, one to two points where positives are rarest, with 1,000 labels nothing. Under a kernel map a well chosen
    alpha does the same, and nothing is gained on average; where alpha is held large, unlabelled rows seem to help, as a
    smaller alpha would. `benchmarks/quality_semi.py` has the figures.

    The paper has a kernel on all rows, in O(n³): ``make("SAMULT", published=True)``.

    "auto" tries weights and penalties on up to 2,000 labelled rows a class, kept as a uniform sample. That takes some
    hundreds of solutions of d × d systems: with thousands of columns, give numbers.

    References
    ----------
    Xie & Li, "Semi-supervised AUC optimization without guessing labels of unlabeled data", AAAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import SAMULT
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) % 20 == 0, y, -1)  # one row in twenty keeps its label
    >>> round(SAMULT().fit(X, few).score(X, y), 2)
    0.92

    In a pipeline, put unlabelled rows into X and mark them in y, so that each step sees them:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> round(make_pipeline(StandardScaler(), SAMULT()).fit(X, few).score(X, y), 1)
    0.9

    A kernel: ``Kernelized(KMeansNystroem(300), SAMULT())``, whose map learns from unlabelled rows too.
    """

    _parameter_constraints: dict = {
        "unlabeled_weight": [validation.real(0.0, 1.0, closed="both"), StrOptions({"auto"})],
        "alpha": [validation.real(), StrOptions({"auto"})],
        "unlabeled": "no_validation",
    }

    def __init__(
        self, unlabeled_weight: float | str = "auto", *, alpha: float | str = "auto", unlabeled: Any = "auto"
    ) -> None:
        self.unlabeled_weight = unlabeled_weight
        self.alpha = alpha
        self.unlabeled = unlabeled

    def _family(self, seen: SemiSupervisedStats) -> Samult:
        return Samult()

    def _refusal(self, sets: Sets) -> str | None:
        if sets.both_labelled:
            return None
        return (
            f"SAMULT must have labelled rows of both classes; got {sets.pos.n:.0f} positive and {sets.neg.n:.0f} "
            "negative ones. PNUAUC(unlabeled_weight=1) learns from positive and unlabelled rows."
        )
