"""How the command words errors and warnings of the library: in terms of its own arguments and options."""

from collections.abc import Iterable

from auclid.errors import (
    AuclidError,
    ColumnNotFoundError,
    ColumnTypeError,
    DataError,
    IdentifierWarning,
    Setting,
    Wording,
)

READERS = ("scan", "read_table")
"""Functions whose parameters are arguments and options of the command."""

ORDER_OWNERS = ("auclid", "compare_ordered", "concordance_interval", "OrderedRanker", "SurvivalRanker")
"""What checks the columns that rows are ordered by."""

OPTIONS = {
    "source": "DATA",
    "path": "DATA",
    "target": "--target",
    "drop": "--drop",
    "groups": "--groups",
    "group": "--group",
    "event": "--event",
    "time": "--time",
    "score": "--score",
    "memory": "--memory",
}
"""The argument or option behind each parameter of a function that reads tables."""

ORDER_WORDS = {"y": "The target", "time": "--time", "event": "--event", "groups": "--group"} | {
    name: OPTIONS[name] for name in ("target", "group")
}
"""What a user of the command calls what rows are ordered by."""

COMPARISON = {"y": "The target", "cv": "--cv", "repeats": "--repeats", "test_size": "--test-size", "time": "--time"}
"""What a user of `auclid compare` calls the parameters of `auclid.compare`."""

OTHER_OPTIONS = {
    "compare": COMPARISON,
    "monitor": {"time": "--time", "period": "--period"},
    "export": {name: f"--{name}" for name in ("to", "dialect", "table", "keep")},
}
"""The options behind the parameters of functions that one verb calls."""

LEAVE_OUT = "Leave a column out with --drop NAME."


class CommandWording(Wording):
    """Sentences that speak of the command's arguments and options.

    Examples
    --------
    >>> from auclid.cli.wording import COMMAND
    >>> from auclid.errors import unknown_column
    >>> COMMAND.sentence(unknown_column("scan", "target", "Y", ["a", "y"], "'rows.csv'"))
    "--target must name a column of 'rows.csv'; got 'Y'. Did you mean 'y'?"
    """

    def subject(self, error: AuclidError) -> str:
        if (error.owner, error.parameter) == ("make", "name"):
            return "A method"
        if self._of_the_model(error):
            return "DATA"
        options = dict.fromkeys(READERS, OPTIONS) | dict.fromkeys(ORDER_OWNERS, ORDER_WORDS) | OTHER_OPTIONS
        return options.get(error.owner, {}).get(error.parameter) or super().subject(error)

    def expected(self, error: AuclidError) -> str:
        if (error.owner, error.parameter) == ("make", "name"):
            return "be one that `auclid methods` lists"
        return "have the columns the model was fitted with" if self._of_the_model(error) else error.expected

    def got(self, error: AuclidError) -> str:
        if self._of_the_model(error):
            return f"; there is no {error.got}."
        return f"; got {error.got}." if error.got else "."

    def hint(self, error: AuclidError) -> str:
        if isinstance(error, ColumnTypeError) and error.parameter == "columns":
            return LEAVE_OUT
        return super().hint(error)

    def setting(self, setting: Setting) -> str:
        option = f"--{setting.parameter.replace('_', '-')}"
        return option if setting.value == "True" else f"{option} {setting.value.strip('[]')}"

    def _of_the_model(self, error: AuclidError) -> bool:
        """Whether a column is missing that the model knows: the command itself names no others to `scan`."""
        return isinstance(error, ColumnNotFoundError) and error.owner == "scan" and error.parameter == "columns"


COMMAND = CommandWording()


def sentence(error: BaseException) -> str:
    """What the command says of an error, in one line."""
    said = COMMAND.sentence(error) if isinstance(error, AuclidError) else str(error)
    return " ".join(said.split()) or type(error).__name__


def remarks(warned: Iterable[Warning | str]) -> list[str]:
    """What the command says of warnings, each once, with the option that helps.

    Examples
    --------
    >>> from auclid.cli.wording import remarks
    >>> from auclid.errors import IdentifierWarning
    >>> remarks([IdentifierWarning("'id' looks like an identifier.", ["id"])])
    ["'id' looks like an identifier.", 'Leave a column out with --drop NAME.']
    """
    every = list(warned)
    helps = [LEAVE_OUT] if any(isinstance(each, IdentifierWarning) for each in every) else []
    return list(dict.fromkeys([*map(str, every), *helps]))


MIN_MEMORY = 1000
"""Bytes below which --memory is a slip: fewer than a few rows."""


def memory_size(value: str | None) -> str | None:
    """The value of --memory; refused where it is too small to be meant."""
    if value is None:
        return None
    from auclid.data.sizes import as_bytes  # slow: `auclid --help` and mistyped options do not need it

    if as_bytes(value) < MIN_MEMORY:
        raise DataError(
            f"--memory must be a size of at least 1kB, with its unit, such as 500MB; got {value}. It bounds the rows "
            "that are kept; the process itself needs 300 MB to 450 MB besides."
        )
    return value


def rate(value: float) -> float:
    """The value of --max-fpr; refused where it is no rate."""
    if not 0.0 < value <= 1.0:
        raise DataError(f"--max-fpr must be a float in (0.0, 1.0]; got {value:g}.")
    return value
