"""Equivalence: that a difference is smaller than what matters, by two one-sided tests."""

from typing import Any

import numpy as np

from auclid.metrics._decision_results import Equivalence
from auclid.metrics._results import Comparison
from auclid.metrics._variance import normal_pvalue, quantile
from auclid.validation.parameters import number_in


def equivalence(comparison: Comparison, margin: float, *, level: float = 0.95) -> Equivalence:
    """Test that two models differ by less than a margin, from any comparison of this package (TOST).

    Two one-sided tests at 1 - level, against a difference of -margin or less and of margin or more; the p-value is the
    larger of the two. It is below 1 - level exactly where the interval of coverage 1 - 2 (1 - level), which is
    returned, lies within (-margin, margin).

    Parameters
    ----------
    comparison : result of `compare_auc`, `compare_average_precision`, `compare_at`, `compare_brier`, ...
        A difference with its standard error.
    margin : float in (0, inf)
        Differences that are smaller do not matter.
    level : float in (0.5, 1)
        1 - level is the size of the test.

    Returns
    -------
    Equivalence
        Unpacks to (difference, low, high, pvalue); `equivalent` says whether the test succeeds.

    Examples
    --------
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import compare_auc, equivalence
    >>> X, y = load_mammography(return_X_y=True)
    >>> noisy = X[:, 3] + 0.01 * X[:, 0]
    >>> equivalence(compare_auc(y, X[:, 3], noisy), margin=0.02).equivalent
    True

    References
    ----------
    Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach, Journal of
    Pharmacokinetics and Biopharmaceutics 15.
    """
    owner = "equivalence"
    margin = number_in(owner, "margin", margin, 0.0, np.inf)
    level = number_in(owner, "level", level, 0.5, 1.0)
    if not isinstance(comparison, Comparison) or comparison.se is None:
        raise TypeError(
            f"{owner} expects a comparison with a standard error, as compare_auc gives. Got {comparison!r} instead."
        )
    gap, se = comparison.difference, comparison.se
    df = np.inf if comparison.df is None else comparison.df
    how: dict[str, Any] = {name: getattr(comparison, name) for name in ("n_positive", "n_negative", "n_groups")}
    how |= {"margin": margin, "se": se, "df": df, "level": 2.0 * level - 1.0, "method": "tost"}
    if se == 0.0:
        inside = abs(gap) < margin
        return Equivalence(gap, gap, gap, 0.0 if inside else 1.0, equivalent=inside, **how)
    pvalue = max(normal_pvalue(gap, se, side, margin, df) for side in ("greater", "less"))
    reach = quantile(2.0 * level - 1.0, df) * se
    return Equivalence(gap, gap - reach, gap + reach, pvalue, equivalent=pvalue < 1.0 - level, **how)
