"""Typed errors: who was asked for what, what came instead, and what to do about it.

A raiser fills in the fields of an error. A `Wording` makes a sentence of them: the library's own, which is
``str(error)``, speaks of parameters; the command has one of its own that speaks of its options. Nobody has to read or
change a sentence to say the same thing elsewhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from auclid._hints import did_you_mean, listed, reads_as_number


class Setting(NamedTuple):
    """A parameter with a value, such as ``drop=[NAME]``, inside a hint: each interface writes it its own way."""

    parameter: str
    value: str


Text: TypeAlias = str | Sequence[str | Setting]
"""A sentence, or the parts of one of which some are settings."""


class AuclidError(Exception):
    """Base class of the errors of auclid, with the parts of what they say.

    Parameters
    ----------
    message : str, optional
        A whole sentence, where there are no parts.
    owner : str or estimator
        The function or class that was asked.
    parameter : str
        Its parameter that is wrong.
    subject : str
        What the sentence is about, where that is not the parameter itself: "The table".
    expected : str
        What must be so, beginning with a verb: "be a float in (0.0, 1.0]".
    got : str
        What came instead, as it is to be shown.
    hint : str, or sequence of str and Setting
        What to do about it, as a sentence.

    Examples
    --------
    >>> from auclid.errors import InvalidValueError
    >>> error = InvalidValueError(owner="SPAM", parameter="alpha", expected="be a float in [0.0, inf)", got="-1")
    >>> print(error)
    The 'alpha' parameter of SPAM must be a float in [0.0, inf). Got -1 instead.
    >>> error.parameter, error.got
    ('alpha', '-1')
    """

    def __init__(
        self,
        message: str = "",
        *,
        owner: Any = "",
        parameter: str = "",
        subject: str = "",
        expected: str = "",
        got: str = "",
        hint: Text = "",
    ) -> None:
        self.message, self.owner = message, owner_name(owner)
        self.parameter, self.subject = parameter, subject
        self.expected, self.got, self.hint = expected, got, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        return PYTHON.sentence(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), dict(vars(self)))  # for processes that send their errors home


def _rebuild(kind: type[AuclidError], fields: Mapping[str, Any]) -> AuclidError:
    error = kind()
    vars(error).update(fields)
    error.args = (str(error),)
    return error


class InvalidValueError(AuclidError, ValueError):
    """A value that a parameter cannot take."""


class InvalidTypeError(AuclidError, TypeError):
    """A value of a type that a parameter cannot take."""


class UnknownNameError(InvalidValueError):
    """A name of a method, a loss or another thing that does not exist."""


class DataError(InvalidValueError):
    """A file or table that cannot be used."""


class SourceNotFoundError(DataError, FileNotFoundError):
    """A file, folder or glob that is not there."""


class ColumnError(DataError):
    """Columns that a table lacks, or that cannot be used; ``columns`` are their names."""

    def __init__(self, message: str = "", *, columns: Sequence[str] = (), **parts: Any) -> None:
        self.columns = list(columns)
        super().__init__(message, **parts)


class ColumnNotFoundError(ColumnError):
    """A column that a table does not have."""


class ColumnTypeError(ColumnError):
    """A column of a type that cannot be used."""


class IdentifierWarning(UserWarning):
    """Columns look like identifiers; ``columns`` are their names.

    Examples
    --------
    >>> from auclid.errors import IdentifierWarning
    >>> IdentifierWarning("'id' has a different value in every row.", ["id"]).columns
    ['id']
    """

    def __init__(self, message: str, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = list(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.columns)


class Wording:
    """How an interface says what an error holds; this one speaks of parameters, as scikit-learn does."""

    def subject(self, error: AuclidError) -> str:
        """What the sentence is about."""
        if error.subject:
            return error.subject
        if not error.parameter:
            return error.owner
        return f"The '{error.parameter}' parameter" + (f" of {error.owner}" if error.owner else "")

    def expected(self, error: AuclidError) -> str:
        """What must be so."""
        return error.expected

    def got(self, error: AuclidError) -> str:
        """What came instead, from the end of what was expected on."""
        if not error.got:
            return "."
        return f". Got {error.got} instead." if error.parameter and not error.subject else f"; got {error.got}."

    def hint(self, error: AuclidError) -> str:
        """What to do about it."""
        parts = [error.hint] if isinstance(error.hint, str) else error.hint
        return "".join(self.setting(part) if isinstance(part, Setting) else part for part in parts)

    def setting(self, setting: Setting) -> str:
        """A parameter with a value."""
        return f"{setting.parameter}={setting.value}"

    def sentence(self, error: AuclidError) -> str:
        """The whole of it."""
        if error.message:
            return error.message
        what = f"{self.subject(error)} must {self.expected(error)}{self.got(error)}"
        return f"{what} {self.hint(error)}".rstrip()


PYTHON = Wording()
"""The library's own wording."""


class Described(str):
    """Words about what came instead of what was expected: `quoted_value` does not put them between quotes."""

    __slots__ = ()


def owner_name(owner: Any) -> str:
    """The name for an error: that of an estimator's class, or the name of a function as it is given."""
    return owner if isinstance(owner, str) else type(owner).__name__


def quoted_value(value: Any) -> str:
    """A value as a sentence shows it: as Python writes it, a scalar of NumPy as Python's own.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.errors import Described, quoted_value
    >>> quoted_value(np.str_("good")), quoted_value(np.int64(1)), quoted_value(Described("3 rows"))
    ("'good'", '1', '3 rows')
    """
    if isinstance(value, Described):
        return str(value)
    kind = getattr(getattr(value, "dtype", None), "kind", "O")
    is_scalar = type(value).__module__ == "numpy" and kind in "biufU" and not value.shape
    return repr(value.item() if is_scalar else value)


def invalid_value(owner: Any, parameter: str, expected: str, got: Any, hint: Text = "") -> InvalidValueError:
    """The error for a value that a parameter cannot take, which is shown as Python writes it.

    Examples
    --------
    >>> from auclid.errors import invalid_value
    >>> str(invalid_value("scan", "memory", "be a number of bytes", "much"))
    "The 'memory' parameter of scan must be a number of bytes. Got 'much' instead."
    """
    return InvalidValueError(owner=owner, parameter=parameter, expected=expected, got=quoted_value(got), hint=hint)


def invalid_type(owner: Any, parameter: str, expected: str, got: Any, hint: Text = "") -> InvalidTypeError:
    """The error for a value of a type that a parameter cannot take; the type is shown, not the value.

    Examples
    --------
    >>> from auclid.errors import invalid_type
    >>> str(invalid_type("scan", "source", "be a file, a folder or a table", 5))
    "The 'source' parameter of scan must be a file, a folder or a table. Got int instead."
    """
    return InvalidTypeError(owner=owner, parameter=parameter, expected=expected, got=type(got).__name__, hint=hint)


def unknown_name(
    owner: Any,
    parameter: str,
    expected: str,
    got: Any,
    names: Sequence[str],
    aliases: Iterable[str] = (),
    subject: str = "",
) -> UnknownNameError:
    """The error for a name that does not exist, with those near to it, or all there are but aliases.

    Examples
    --------
    >>> from auclid.errors import unknown_name
    >>> str(unknown_name("make", "name", "be the name of a method", "spamm", ["SPAM-L2", "SOLAM"]))
    "The 'name' parameter of make must be the name of a method. Got 'spamm' instead. Did you mean SPAM-L2?"
    """
    hint = did_you_mean(got, [*names, *aliases]) or f"Known are: {', '.join(names)}."
    parts = {"owner": owner, "parameter": parameter, "subject": subject, "expected": expected}
    return UnknownNameError(**parts, got=quoted_value(got), hint=hint)


def missing_label(got: str, *, owner: Any = "", parameter: str = "y", subject: str = "", hint: str = "") -> DataError:
    """The error for labels of which some are missing; ``got`` says how many, or where.

    Examples
    --------
    >>> from auclid.errors import missing_label
    >>> str(missing_label("NaN in 1 of 9 rows", owner="SPAM"))
    "The 'y' parameter of SPAM must have a label in each row. Got NaN in 1 of 9 rows instead. Leave such rows out."
    """
    hint = hint or "Leave such rows out."
    expected = "have a label in each row"
    return DataError(owner=owner, parameter=parameter, subject=subject, expected=expected, got=got, hint=hint)


def unknown_column(owner: Any, parameter: str, name: str, names: Sequence[str], where: str) -> ColumnNotFoundError:
    """The error for a parameter that names a column which a table does not have; a near name is suggested.

    Examples
    --------
    >>> from auclid.errors import unknown_column
    >>> str(unknown_column("scan", "target", "Y", ["a", "y"], "'rows.csv'"))
    "The 'target' parameter of scan must name a column of 'rows.csv'. Got 'Y' instead. Did you mean 'y'?"
    """
    hint = did_you_mean(name, names, show=repr) or f"There are: {listed(names)}."
    if names and all(reads_as_number(each) for each in names):
        hint = "The first line holds only numbers: is the line of column names missing?"
    parts = {"owner": owner, "parameter": parameter, "expected": f"name a column of {where}"}
    return ColumnNotFoundError(columns=[name], got=repr(name), hint=hint, **parts)
