"""The library's words for what a caller may give, in those of the command."""

from collections.abc import Iterator
from contextlib import contextmanager

from auclid.datasets import DataError

AS_OPTIONS = {
    "The 'target' parameter of read_table": "--target",
    "The 'drop' parameter of read_table": "--drop",
    "The 'groups' parameter of read_table": "--groups",
    "The 'target' parameter of scan": "--target",
    "The 'memory' parameter of scan": "--memory",
    "scan must be given": "DATA must be",
    "one_hot=True": "--one-hot",
    "drop=[NAME]": "--drop NAME",
    "The table must": "DATA must",
    "make must be given the name of a method": "A method must be one that `auclid methods` lists",
}


def rate(value: float) -> float:
    """The value of --max-fpr, or a sentence where it is no rate."""
    if not 0.0 < value <= 1.0:
        raise DataError(f"--max-fpr must be a float in (0.0, 1.0]; got {value:g}.")
    return value


def as_options(sentence: str) -> str:
    """A sentence of the library as the command says it.

    Examples
    --------
    >>> from auclid.cli._words import as_options
    >>> as_options("Pass one_hot=True to make a column of each value, or drop=[NAME].")
    'Pass --one-hot to make a column of each value, or --drop NAME.'
    """
    for words, option in AS_OPTIONS.items():
        sentence = sentence.replace(words, option)
    return sentence


@contextmanager
def in_options() -> Iterator[None]:
    """Errors about a table, raised inside, speak of options."""
    try:
        yield
    except DataError as error:
        raise DataError(as_options(str(error))) from None
