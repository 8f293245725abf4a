"""Parameters of estimators and functions: their constraints, and the decorator of `fit` that checks them."""

import numbers
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from auclid._generic import GenericFunction, as_floats, implemented_for
from auclid._hints import joined
from auclid.errors import invalid_value, owner_name

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")
Method: TypeAlias = Callable[Concatenate[S, P], T]


def checked(method: Method[S, P, T], trust_parts: bool = True) -> Method[S, P, T]:
    """Decorates fit and partial_fit: checks the constructor's parameters first, winds callbacks up afterwards, and
    leaves the estimator as it was when anything is wrong."""
    inner = _fit_context(prefer_skip_nested_validation=trust_parts)(method)

    @wraps(method)
    def all_or_nothing(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(estimator).copy()
        if method.__name__ == "fit":
            vars(estimator).pop("threshold_", None)  # it was chosen for scores of another fit
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # said once, in a sentence, where results are not finite
                return inner(estimator, *args, **kwargs)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    decorated: Any = all_or_nothing
    return decorated


def checked_with_parts(method: Method[S, P, T]) -> Method[S, P, T]:
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


def between(low: int, high: int) -> Interval:
    """Constraint: a whole number from ``low`` to ``high``, both included."""
    return Whole(Integral, low, high, closed="both")


def real(low: float | None = 0.0, high: float | None = None, closed: str = "left") -> Interval:
    """Constraint: a real number in an interval, from ``low`` (included unless ``closed`` says otherwise)."""
    return Interval(Real, low, high, closed=closed)


def implements(estimator: Any, parameter: str, struct: S, needs: Sequence[GenericFunction[..., Any]]) -> S:
    """The struct given for a parameter, its numbers made floats; or one sentence with each function it does not have.

    ``estimator`` is the estimator, or the name of the function, that the error names.
    """
    lacking = [function.__name__ for function in needs if type(struct) not in implemented_for(function)]
    if lacking:
        name = type(struct).__name__
        hints = ", ".join(f"@{function}.implement({name})" for function in lacking)
        raise TypeError(
            f"The '{parameter}' parameter of {owner_name(estimator)} must have {joined(f.__name__ for f in needs)} "
            f"implemented. Got {name} without {joined(lacking)} instead: add {hints}."
        )
    return as_floats(struct)


def unchanged(estimator: Any, name: str, now: object, begun: object) -> None:
    """Raise where a parameter that a stream's state was built for has changed since."""
    if now != begun:
        expected = f"stay what it was when the stream began, {begun!r}"
        raise invalid_value(estimator, name, expected, now, "Begin anew with fit.")


def number_in(owner: str, name: str, value: Any, low: float, high: float, *, closed: str = "") -> float:
    """`value` as a float inside (low, high); `closed` lists the ends that belong to the range."""
    ends = ("[" if "l" in closed else "(", "]" if "r" in closed else ")")
    inside = isinstance(value, numbers.Real) and bool(
        low < value < high  # type: ignore[operator]
        or ("l" in closed and value == low)
        or ("r" in closed and value == high)
    )
    if not inside:
        raise invalid_value(owner, name, f"be a float in {ends[0]}{low}, {high}{ends[1]}", value)
    return float(value)


def whole_number(owner: str, name: str, value: Any, low: int, high: int | None = None) -> int:
    """`value` as an int, `low` or more (and `high` or less)."""
    fits = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    if not fits or value < low or (high is not None and value > high):
        end = "inf)" if high is None else f"{high}]"
        raise invalid_value(owner, name, f"be an int in [{low}, {end}", value)
    return int(value)


def only_one(owner: str, given: Mapping[str, Any]) -> tuple[str, Any]:
    """The name and the value of the one parameter of several that is given."""
    asked = [(name, value) for name, value in given.items() if value is not None]
    if len(asked) != 1:
        said = ", ".join(name for name, _ in asked) or "none"
        raise ValueError(f"{owner} expects exactly one of {joined(given)}. Got {said} instead.")
    return asked[0]


def one_of(owner: str, name: str, value: Any, choices: tuple[str, ...]) -> str:
    """`value`, where it is one of the words."""
    if not isinstance(value, str) or value not in choices:
        raise invalid_value(owner, name, f"be one of {choices}", value)
    return value
