"""Columns to point out: constants, identifiers, texts that no two rows share; and the sentences about them."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from auclid import _sizes
from auclid._hints import listed
from auclid.validation.vectors import MAX_EXACT_INTEGER

HEAD_ROWS = 1_000
"""Rows that are looked at before all are: most columns show there that they are no identifiers."""

RANKED = "so normal scores stand for the values"
"""What is said of columns with values far from all others."""

OTHER_DATE = re.compile(r"\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(\D.*)?")
"""Texts such as 31.12.2024, 12/31/24 and 2024-12-31 10h."""


class Findings(NamedTuple):
    """Names of columns to point out."""

    constants: list[str]
    identifiers: list[str]
    left_out: list[str]
    other_dates: list[str]
    """Columns of texts that seem to be dates, in a form that is not read."""

    def add_texts(self, name: str, texts: Iterable[str | None], rows: int, used: bool) -> None:
        """Take note of a column with these distinct texts in so many rows; ``used``: whether columns come out of it."""
        distinct = list(texts)
        if all(text is None or OTHER_DATE.fullmatch(text) for text in distinct):
            self.other_dates.append(name)
        if len(distinct) == 1:
            self.constants.append(name)
        elif len(distinct) == rows >= _sizes.MIN_ROWS_FOR_IDENTIFIER:
            self.identifiers.append(name)
        if not used:
            self.left_out.append(name)


def is_identifier(x: np.ndarray) -> bool:
    """Whether all numbers are whole and no two are equal."""
    if len(x) > HEAD_ROWS and not is_identifier(x[:HEAD_ROWS]):
        return False
    whole = np.all(x == np.floor(x)) and np.abs(x).max(initial=0.0) < MAX_EXACT_INTEGER
    return bool(whole) and len(np.unique(x)) == len(x)


def notes(findings: Findings, ranked: list[str]) -> list[str]:
    """A sentence for each kind of finding."""
    out = []
    if findings.identifiers:
        out.append(
            f"{listed(findings.identifiers)} {_has(findings.identifiers)} a different value in every row, like an "
            "identifier: leave it out unless it means something."
        )
    others = [name for name in findings.left_out if name not in findings.identifiers + findings.constants]
    if others:
        out.append(f"{listed(others)} {_has(others)} no text that is frequent: left out.")
    if findings.other_dates:
        seem = "seems" if len(findings.other_dates) == 1 else "seem"
        out.append(
            f"{listed(findings.other_dates)} {seem} to hold dates: written as 2024-12-31 they would be read as such."
        )
    if findings.constants:
        out.append(f"{listed(findings.constants)} {_has(findings.constants)} the same value in every row.")
    if ranked:
        out.append(f"{listed(ranked)}: a few values are far from all others, {RANKED}.")
    return out


def _has(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"
