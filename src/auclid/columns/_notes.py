"""What is odd about columns: constants, identifiers, texts that no two rows share; and the sentences about it."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

FEW_ROWS = 20
"""Below so many rows, all different is nothing to remark on."""


SOME = 1_000
"""Rows that are looked at before all are."""


EXACT = 2.0**53
"""From here on every float is a whole number."""


RANKED = "so normal scores stand for the values"
"""What is said of columns with values far from all others."""


OTHER_DATE = re.compile(r"\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(\D.*)?")
"""Texts such as 31.12.2024, 12/31/24 and 2024-12-31 10h."""


class Findings(NamedTuple):
    """Names of odd columns."""

    constants: list[str]
    identifiers: list[str]
    left_out: list[str]
    other_dates: list[str]
    """Columns of texts that seem to be dates, in a form that is not read."""

    def texts(self, name: str, texts: Iterable[str | None], rows: int, used: bool) -> None:
        """Note what is odd about a column with these different texts in so many rows."""
        known = list(texts)
        different = len(known)
        if all(text is None or OTHER_DATE.fullmatch(text) for text in known):
            self.other_dates.append(name)
        if different == 1:
            self.constants.append(name)
        elif different == rows >= FEW_ROWS:
            self.identifiers.append(name)
        if not used:
            self.left_out.append(name)


def identifier(x: np.ndarray) -> bool:
    """Whether a column holds a different whole number in every row."""
    return len(x) >= FEW_ROWS and whole_and_different(x)


def identifiers(names: list[str], X: np.ndarray) -> list[str]:
    """The names of the columns that hold a different whole number in every row."""
    some = X[:SOME]
    whole = np.flatnonzero((some == np.floor(some)).all(axis=0))
    return [names[k] for k in whole if identifier(X[:, k])]


def whole_and_different(x: np.ndarray) -> bool:
    """Whether all numbers are whole and no two are alike: most columns show soon that theirs are not."""
    if len(x) > SOME and not whole_and_different(x[:SOME]):
        return False
    whole = np.all(x == np.floor(x)) and np.abs(x).max(initial=0.0) < EXACT
    return bool(whole) and len(np.unique(x)) == len(x)


def notes(found: Findings, ranked: list[str]) -> list[str]:
    """A sentence for each kind of oddity that was found."""
    said = []
    if found.identifiers:
        has = "has" if len(found.identifiers) == 1 else "have"
        said.append(
            f"{listed(found.identifiers)} {has} a different value in every row, like an identifier: "
            "leave it out unless it means something."
        )
    others = [name for name in found.left_out if name not in found.identifiers + found.constants]
    if others:
        said.append(f"{listed(others)} {'has' if len(others) == 1 else 'have'} no text that is frequent: left out.")
    if found.other_dates:
        seem = "seems" if len(found.other_dates) == 1 else "seem"
        names = listed(found.other_dates)
        said.append(f"{names} {seem} to hold dates: written as 2024-12-31 they would be read as such.")
    if found.constants:
        has = "has" if len(found.constants) == 1 else "have"
        said.append(f"{listed(found.constants)} {has} the same value in every row.")
    if ranked:
        said.append(f"{listed(ranked)}: a few values are far from all others, {RANKED}.")
    return said


def listed(names: list[str], most: int = 5) -> str:
    """Names in quotes; of many, the first ones."""
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
