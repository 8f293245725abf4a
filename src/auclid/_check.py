"""Input validation and its error sentences, once for the whole library."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import validate_data

from auclid._generic import GenericFunction, as_floats, implemented_for
from auclid._labels import both_weighed as both_weighed
from auclid._labels import check_relative_weights as check_relative_weights
from auclid._labels import known_labels as known_labels
from auclid._labels import labels as labels
from auclid._labels import one_kind as one_kind
from auclid._labels import owner_name as _name
from auclid._labels import two_classes as two_classes
from auclid._labels import warn_if_common_on_top as warn_if_common_on_top
from auclid._labels import weighed_classes as weighed_classes
from auclid._labels import weights as weights
from auclid._sources import file_table, not_dask, own_labels
from auclid._sparse import FORMATS, fault
from auclid.data import Table, as_table
from auclid.data.files import Rows

S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])

MEETINGS = 100.0
"""Times that a row of a batch may be met, in the mean: more are a scale of weights that was not meant so."""


def checked(method: F, trust_parts: bool = True) -> F:
    """Decorates fit and partial_fit: checks the constructor's parameters first, winds callbacks up afterwards, and
    leaves the estimator as it was when anything is wrong."""
    inner = _fit_context(prefer_skip_nested_validation=trust_parts)(method)

    @wraps(method)
    def all_or_nothing(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(estimator).copy()
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # said once, in a sentence, where results are not finite
                return inner(estimator, *args, **kwargs)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    decorated: Any = all_or_nothing
    return decorated


def checked_with_parts(method: F) -> F:
    """`checked` for an estimator made of others: their parameters come from the user too."""
    return checked(method, trust_parts=False)


class Whole(Interval):
    """An interval of whole numbers, to which True and False do not belong."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is one of them."""
        return not isinstance(val, bool | np.bool_) and super().is_satisfied_by(val)


def at_least(low: int) -> Interval:
    """Constraint: a whole number, ``low`` or more."""
    return Whole(Integral, low, None, closed="left")


def real(low: float | None = 0.0, high: float | None = None, closed: str = "left") -> Interval:
    """Constraint: a real number in an interval, from ``low`` (included unless ``closed`` says otherwise)."""
    return Interval(Real, low, high, closed=closed)


DTYPES = [np.float64, np.float32]


def rows(estimator: Any, X: Any, reset: bool = False) -> Any:
    """The table of X, float rows with the features the estimator knows."""
    if isinstance(X, Rows):
        return _known_files(estimator, X, reset)
    if isinstance(X, Table):
        return _table(estimator, X, reset)
    not_dask(estimator, X)
    in_order(estimator, X)
    return as_table(in_order(estimator, _validated(estimator, X, reset=reset), made_of=X))


def rows_and_labels(estimator: Any, X: Any, y: Any, reset: bool = True) -> tuple[Any, np.ndarray]:
    """The table of X, and y as one label a row; rows of files have their own where y is None."""
    if isinstance(X, Rows):
        y = own_labels(estimator, X) if y is None else y
        check_consistent_length(X, y)
        return _known_files(estimator, X, reset), labels(y)
    labelled(estimator, y)
    if isinstance(X, Table):
        check_consistent_length(X, y)
        return _table(estimator, X, reset), labels(validate_data(estimator, y=y))
    not_dask(estimator, X)
    in_order(estimator, X)
    rows, y = _validated(estimator, X, y, reset=reset)
    return as_table(in_order(estimator, rows, made_of=X)), labels(y)


def in_order(estimator: Any, X: Any, made_of: Any = None) -> Any:
    """X itself; raises where it is a sparse matrix whose indices lead compiled code out of it.

    ``made_of`` is what X was before it was converted: a matrix that was looked at then is not looked at again.
    """
    looked_at = sparse.issparse(made_of) and made_of.format in FORMATS
    wrong = fault(X) if sparse.issparse(X) and not looked_at else None
    if wrong:
        raise ValueError(
            f"X of {_name(estimator)} must be a sparse matrix whose indices lie inside of it; it has {wrong}. "
            "Make it anew from its entries, for instance with scipy.sparse.coo_array."
        )
    return X


def _known_files(estimator: Any, X: Rows, reset: bool) -> Table:
    """The table of rows of files, whose columns may have names."""
    table = _table(estimator, file_table(estimator, X, reset), reset)
    if reset and table.columns is not None:
        estimator.feature_names_in_ = np.array(table.columns, dtype=object)
    return table


@contextmanager
def names_known() -> Iterator[None]:
    """While arrays stand for rows whose columns were compared by name before: scikit-learn need not miss the names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def labelled(estimator: Any, y: Any) -> None:
    """Raise where there are no labels."""
    if y is None:
        raise ValueError(f"requires y to be passed, but the target y is None: {_name(estimator)} learns from labels.")


def _table(estimator: Any, X: Table, reset: bool) -> Table:
    """A table made by another estimator: its columns have a number and no names."""
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
    known_width(estimator, X.shape[1])
    return X


def known_width(estimator: Any, width: int) -> None:
    """Raise, in scikit-learn's words, where there are not as many columns as the estimator has learnt from."""
    if width != estimator.n_features_in_:
        raise ValueError(
            f"X has {width} features, but {_name(estimator)} is expecting {estimator.n_features_in_} features as input."
        )


def _validated(estimator: Any, *given: Any, reset: bool) -> Any:
    """Rows (and labels): float32 or float64, dense or CSR; missing values only where the estimator's tags allow."""
    missing = "allow-nan" if get_tags(estimator).input_tags.allow_nan else True
    kinds: dict[str, Any] = {"accept_sparse": "csr", "dtype": DTYPES, "order": None, "ensure_all_finite": missing}
    try:
        return validate_data(estimator, *given, reset=reset, **kinds)
    except OverflowError:
        raise ValueError(
            f"X of {_name(estimator)} must hold numbers that a float can hold; it has a whole number beyond 1e308. "
            "Scale the columns of X, or leave that one out."
        ) from None


def finite(estimator: Any, w: Any) -> Any:
    """w itself, or one sentence when the arithmetic overflowed."""
    if not np.all(np.isfinite(w)):
        raise ValueError(
            f"{_name(estimator)} must end with finite weights, but its steps overflowed. "
            "Scale the columns of X (for instance with StandardScaler) or use a smaller step, where there is one."
        )
    return w


def implements(estimator: Any, parameter: str, struct: S, needs: Sequence[GenericFunction[..., Any]]) -> S:
    """The struct given for a parameter, its numbers made floats; or one sentence with each function it does not have.

    ``estimator`` is who asks: an estimator, or the name of a function.
    """
    lacking = [function.__name__ for function in needs if type(struct) not in implemented_for(function)]
    if lacking:
        name = type(struct).__name__
        hints = ", ".join(f"@{function}.implement({name})" for function in lacking)
        raise TypeError(
            f"The '{parameter}' parameter of {_name(estimator)} must have {_and(f.__name__ for f in needs)} "
            f"implemented. Got {name} without {_and(lacking)} instead: add {hints}."
        )
    return as_floats(struct)


def _and(words: Iterable[str]) -> str:
    """a, b and c"""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def finite_state(estimator: Any, state: Any, longest: int) -> Any:
    """The state itself, or one sentence where numbers in it overflowed; arrays beyond ``longest`` are left out.

    A sum that overflowed stays so, whatever comes after it: such a batch must not be learnt from.
    """
    if not all(np.isfinite(x).all() for x in _arrays(state) if x.size <= longest):
        raise ValueError(
            f"{_name(estimator)} must go on with finite numbers, but these rows make its sums overflow. Nothing was "
            "learnt from them. Scale the columns of X, for instance with StandardScaler."
        )
    return state


def _arrays(state: Any) -> Iterator[np.ndarray]:
    """The arrays of floating numbers in a state."""
    if isinstance(state, tuple):
        for part in state:
            yield from _arrays(part)
    elif isinstance(state, np.ndarray) and state.dtype.kind == "f":
        yield state


def measurable(estimator: Any, distances: Any) -> Any:
    """Distances, or what is made of them; one sentence where they are beyond floating point."""
    if not np.isfinite(np.sum(distances)):
        raise ValueError(
            f"{_name(estimator)} must measure how far rows are apart, but the squares of their distances are beyond "
            "floating point. Scale the columns of X, for instance with StandardScaler."
        )
    return distances


def finite_scores(estimator: Any, scores: np.ndarray, dtype: Any, what: str = "scores") -> np.ndarray:
    """Scores in a floating type, or one sentence where some are no finite numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = scores.astype(dtype, copy=False)
        suspect = not np.isfinite(scores.sum())  # quicker than to look at each, and right unless a sum overflows
    if suspect and not np.isfinite(scores).all():
        count = int((~np.isfinite(scores)).sum())
        raise ValueError(
            f"{_name(estimator)} must give finite {what}, but {count} of them are beyond {scores.dtype}. "
            "Scale the columns of X, for instance with StandardScaler."
        )
    return scores


TINY, HUGE = 1e-140, 1e140
"""Numbers whose squares, times a table's size, stay within floating point."""


def warn_if_constant_scores(
    estimator: Any, table: Table, scores: np.ndarray, said: str = "gives every row the same score"
) -> None:
    """Warn where all scores are equal because the squares of the rows are beyond floating point."""
    if not len(scores) or scores.min() < scores.max():
        return
    size = largest(table)
    if size > 0.0 and not TINY < size < HUGE:
        warnings.warn(
            f"{_name(estimator)} {said}: rows of size {size:.1g} have squares beyond floating "
            "point. Scale the columns of X, for instance with StandardScaler.",
            UserWarning,
            stacklevel=4,
        )


def largest(table: Table) -> float:
    """The size of the largest entry."""
    entries = (block.data if sparse.issparse(block) else block for _, block in table.blocks())
    return float(max((np.abs(part).max(initial=0.0) for part in entries), default=0.0))


def fitted(estimator: Any, attribute: str = "classes_") -> None:
    """Raise scikit-learn's error when the estimator has not been fitted."""
    if not hasattr(estimator, attribute):
        raise NotFittedError(
            f"This {_name(estimator)} instance is not fitted yet. Call 'fit' with appropriate arguments "
            "before using this estimator."
        )


def mergeable(a: Any, b: Any) -> None:
    """Raise unless b's state can be added to a's: same class, parameters, features and labels."""
    if type(a) is not type(b):
        raise TypeError(f"merge must be given another {_name(a)}; got {_name(b)}.")
    fitted(a, "n_features_in_")
    fitted(b, "n_features_in_")
    for what, of_a, of_b in (
        ("parameters", a.get_params(), b.get_params()),
        ("number of features", a.n_features_in_, b.n_features_in_),
        ("feature names", *(list(getattr(m, "feature_names_in_", [])) for m in (a, b))),
        ("classes", *(np.asarray(getattr(m, "classes_", [])).tolist() for m in (a, b))),
    ):
        if not _equal(of_a, of_b):
            raise ValueError(f"merge must be given a {_name(a)} with the same {what}; got {of_b}, expected {of_a}.")


def _equal(a: Any, b: Any) -> bool:
    """a == b, also where a parameter is NaN."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b or (a != a and b != b))


def unchanged(estimator: Any, name: str, now: object, begun: object) -> None:
    """Raise where a parameter that a stream's state was built for has changed since."""
    if now != begun:
        raise ValueError(
            f"The '{name}' parameter of {_name(estimator)} must stay what it was when the stream began, {begun!r}. "
            f"Got {now!r} instead. Begin anew with fit."
        )


def check_weight_scale(estimator: Any, weight: np.ndarray | None) -> None:
    """Raise where the weights of a batch would have its rows met very often."""
    if weight is not None and len(weight) and weight.sum() > MEETINGS * len(weight):
        raise ValueError(
            f"sample_weight of {_name(estimator)}.partial_fit must be at most {MEETINGS:.0f} in the mean of a batch, "
            f"since it says how often a row is met; got {weight.mean():.4g}. Divide all weights by about that."
        )
