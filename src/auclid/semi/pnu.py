"""PNU-AUC: unlabelled rows as the mixture they are, by way of the class prior."""

import warnings
from typing import Any

from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid.semi._closed_form import ClosedForm
from auclid.solvers.semi_supervised import PNU
from auclid.stats.prior import energy_prior
from auclid.stats.sets import SemiSupervisedStats, Sets


class PNUAUC(ClosedForm):
    """Semi-supervised least-squares AUC by way of the class prior, in closed form.

    With P, N and U the positive, negative and unlabelled rows, R_AB the mean over all pairs of A and B of
    (1 − f(a) + f(b))², f(x) = w·x (R_PP, R_NN over pairs of different rows), and π the share of positives in U,

        R_PU* = (R_PU − π R_PP) / (1 − π)        R_NU* = (R_NU − (1 − π) R_NN) / π

    both equal R_PN on average. Minimises, with η = unlabeled_weight,

        (1 − η) R_PN + η R_PU* + (alpha/2) |w|²   for η ≥ 0,        (1 + η) R_PN − η R_NU* + (alpha/2) |w|²   for η < 0.

    One pass, moments that merge, memory that does not grow: as in `SAMULT`.

    Parameters
    ----------
    unlabeled_weight : float in [-1, 1] or "auto", default="auto"
        η. 0 is supervised, 1 is PU-AUC (positives and unlabelled rows), −1 is NU-AUC (negatives and unlabelled rows).
        "auto": by cross-validation, and 0 unless another is clearly better; 1 where no row is labelled negative.
    prior : float in (0, 1) or None, default=None
        π. None: estimated from labelled and unlabelled rows, by matching energy distances on up to 2,000 rows of each
        set, and kept within [0.01, 0.99]; with a warning where it would lie outside or the rows determine it poorly.
        It must be given where no row is labelled negative. In `partial_fit` it is estimated anew at each call.
    alpha : float in [0, inf) or "auto", default="auto"
        Strength of the squared penalty. "auto": by cross-validation.
    unlabeled : "auto", a label, or None, default="auto"
        What marks an unlabelled row in y. None and NaN always do. "auto": so does −1 where y is numeric and holds
        exactly two other labels; y of −1 and +1 alone is two classes. None: nothing else does. Positive and unlabelled
        data must say it: then the one class that is labelled is positive, and the other is called by the mark (by 0 or
        "not ..." where that is None or NaN).

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the labelled rows; after `partial_fit` or `merge`, of rows
        in files or in dask, or without labelled negatives, minus the score halfway between the means. It cannot change
        an AUC.
    classes_ : array of shape (2,)
    unlabeled_weight_, alpha_, prior_ : float
        The values used. ``prior_`` is nan where the risk does not need it.
    n_iter_ : int
        1: the solution is in closed form.

    Notes
    -----
    Differences of estimated risks need not be convex, and often are not with few labelled rows, π above ½ and η > 0
    (below ½ and η < 0). Then |η| is reduced, with a warning, until along every direction three quarters of the
    supervised risk's curvature are left: near the brink the minimiser is noise. Where η = 1 and no row is labelled
    negative it cannot be reduced, and the fit is refused.

    Negatives and unlabelled rows only (η = −1): `fit` takes a single labelled class for the positive one, so name the
    classes, ``partial_fit(X, y, classes=[negative, positive])``.

    The paper has a kernel on all rows, in O(n³): ``make("PNU-AUC", published=True)``.

    Unbiased is not accurate: the terms with R_PP or R_NN add noise, most of all with few labelled rows, and on most
    tables no η beats the supervised fit by much. η near 1 is for data without labelled negatives; otherwise a small η
    on the side of the rarer class is the one worth trying, or `SAMULT`.

    References
    ----------
    Sakai, Niu & Sugiyama, "Semi-supervised AUC optimization based on positive-unlabeled learning", Machine Learning
    107, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import PNUAUC
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) % 20 == 0, y, -1)  # one row in twenty keeps its label
    >>> round(PNUAUC(0.2).fit(X, few).score(X, y), 2)
    0.92

    Positives and unlabelled rows only:

    >>> half = np.where(np.arange(len(y)) % 2 == 0, y, 0)  # 1: known to be positive, 0: not known
    >>> model = PNUAUC(prior=0.01, unlabeled=0).fit(X, half)
    >>> model.unlabeled_weight_, round(model.score(X, y), 2)
    (1.0, 0.93)
    """

    _parameter_constraints: dict = {
        "unlabeled_weight": [validation.real(-1.0, 1.0, closed="both"), StrOptions({"auto"})],
        "prior": [validation.real(0.0, 1.0, closed="neither"), None],
        "alpha": [validation.real(), StrOptions({"auto"})],
        "unlabeled": "no_validation",
    }

    def __init__(
        self,
        unlabeled_weight: float | str = "auto",
        *,
        prior: float | None = None,
        alpha: float | str = "auto",
        unlabeled: Any = "auto",
    ) -> None:
        self.unlabeled_weight = unlabeled_weight
        self.prior = prior
        self.alpha = alpha
        self.unlabeled = unlabeled

    def _family(self, seen: SemiSupervisedStats) -> PNU:
        if self.unlabeled_weight == 0.0 or not seen.sets.unl.n:
            return PNU(float("nan"))
        if self.prior is not None:
            return PNU(float(self.prior))
        prior = energy_prior(*(sample.rows for sample in seen.samples))
        if prior.doubt:
            warnings.warn(
                f"{type(self).__name__} uses the class prior {prior.value:.2f}, but {prior.doubt} (standard error "
                f"{prior.error:.2g}). Pass prior=, the share of positives among unlabelled rows.",
                UserWarning,
                stacklevel=6,
            )
        return PNU(prior.value)

    def _published(self, family: PNU) -> dict[str, float]:  # type: ignore[override]
        return {"prior_": family.prior}

    def _convex_weight(self, family: PNU, sets: Sets, weight: float) -> float:  # type: ignore[override]
        """The weight asked for where the risk is convex, else the nearest to it at which the risk is steady."""
        if weight == 0.0 or family.risk(sets, weight).convex():
            return weight
        if not sets.both_labelled:
            raise ValueError(
                f"The risk of PNUAUC must be convex, but with prior={family.prior:.2g} and these rows it is not, "
                "and without labelled rows of both classes unlabeled_weight cannot be reduced. Label more rows, or "
                "pass a smaller prior."
            )
        reduced = weight * family.steady_share(sets, weight)
        warnings.warn(
            f"The risk of PNUAUC is not convex at unlabeled_weight={weight:.2g} (prior {family.prior:.2g}, and too "
            f"few labelled rows for it), so unlabeled_weight was reduced to {reduced:.2g}.",
            UserWarning,
            stacklevel=7,
        )
        return reduced

    def _refusal(self, sets: Sets) -> str | None:
        needs = self._lacking(sets)
        if needs is None and self.prior is None and not sets.both_labelled:
            needs = "prior=, since without labelled rows of both classes no row tells it"
        if needs is None:
            return None
        return (
            f"PNUAUC(unlabeled_weight={self.unlabeled_weight!r}) must have {needs}; "
            f"got {sets.pos.n:.0f} positive and {sets.neg.n:.0f} negative rows."
        )

    def _lacking(self, sets: Sets) -> str | None:
        """The labelled rows that the risk needs, where it has fewer."""
        weight: Any = self.unlabeled_weight
        if weight == 0.0 or not sets.unl.n:
            return None if sets.both_labelled else "labelled rows of both classes"
        if weight == "auto":
            enough = sets.both_labelled or sets.pos.n > 1
            return None if enough else "labelled rows of both classes, or two positive ones"
        return self._lacking_of_weight(sets, weight)

    @staticmethod
    def _lacking_of_weight(sets: Sets, weight: float) -> str | None:
        """The labelled rows that the risk of a given weight other than zero needs, where it has fewer."""
        pos, neg = sets.pos.n, sets.neg.n
        own, other, name = (pos, neg, "positive") if weight > 0.0 else (neg, pos, "negative")
        if own > 1 and (other > 0.0 or abs(weight) == 1.0):
            return None
        needs = f"two {name} rows (its risk takes pairs of them), and rows of the other class unless |weight| is 1"
        if weight < 0.0 and not own:
            needs += "; a single class is taken for the positive one unless partial_fit is given classes="
        return needs
