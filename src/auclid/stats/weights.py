"""Weights of rows, of which only the ratios count."""

import numpy as np

MAX_MEAN_REPEATS = 5.0
"""Visits of a row in an epoch, in the mean, up to which weights are taken for numbers of repeats."""


def rescale_weights(weight: np.ndarray) -> np.ndarray:
    """Weights, or, where the largest is far from 1, a power of two times them: sums and products stay finite.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.weights import rescale_weights
    >>> rescale_weights(np.array([1.0, 2.0])), rescale_weights(np.array([1e200, 2e200])).round(2)
    (array([1., 2.]), array([0.33, 0.65]))
    """
    largest = weight.max(initial=0.0)
    if 1e-100 < largest < 1e100 or not largest:
        return weight
    return np.ldexp(weight, -int(np.frexp(largest)[1]))


def repeats(weight: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Visits of each row, in the mean: the least whole numbers in proportion to the weights, where they are few.

    Where those would be more than five in the mean, or there are none, the mean over the rows that count of each group
    (class) is one: a mean over pairs is the same whatever the scale of a class's weights. So weights in one proportion
    are the same, and whole numbers without a common divisor stand for repeated rows.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.weights import repeats
    >>> repeats(np.array([1.0, 1.5, 0.0]), np.array([0, 1, 1]))
    array([2., 3., 0.])
    >>> repeats(np.array([1.0, np.sqrt(2.0), np.pi]), np.array([0, 1, 1])).round(2)
    array([1.  , 0.62, 1.38])
    """
    there = weight[weight > 0.0]
    if not len(there):
        return weight
    least = there.min()
    for part in range(1, int(MAX_MEAN_REPEATS) + 1):
        count = there * (part / least)
        if count.mean() > MAX_MEAN_REPEATS:
            break
        if (np.abs(count - np.rint(count)) <= 1e-9 * count).all():
            return np.rint(weight * (part / least))
    count = weight.copy()
    for number in np.unique(group):
        chosen = group == number
        counted = chosen & (weight > 0.0)
        count[chosen] /= weight[counted].mean() if counted.any() else 1.0
    return count


def normalize_weights(weight: np.ndarray | None) -> np.ndarray | None:
    """Weights that count rows, of which only the ratios matter: `repeats` of all rows, of whatever class.

    They are the least whole numbers in proportion to the weights, where those are few, so that such weights stand for
    repeated rows; else their mean over the rows of positive weight is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.weights import normalize_weights
    >>> normalize_weights(np.array([0.0, 10.0, 30.0]))
    array([0., 1., 3.])
    >>> normalize_weights(np.array([0.0, 1.0, np.pi])).round(2)
    array([0.  , 0.48, 1.52])
    """
    return None if weight is None else repeats(weight, np.zeros(len(weight), dtype=np.int8))


def drawn(count: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers with these means, at random next to them: nothing is drawn where they are whole."""
    whole = np.floor(count)
    rest = count - whole
    if rest.any():
        whole += rng.random(len(count)) < rest
    return whole.astype(np.intp)
