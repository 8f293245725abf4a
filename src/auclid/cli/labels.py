"""Which of two labels is ranked on top: asked for where only the spelling would decide it."""

import shlex
from collections.abc import Sequence
from typing import Any

from auclid.errors import DataError
from auclid.validation.vectors import common_text_on_top


def ask_for_positive(labels: Sequence[Any], counts: Sequence[int], positive: str | None) -> None:
    """Refuse to take the greater of two words for the positive label where it is the common one.

    Parameters
    ----------
    labels : sequence
        The different labels.
    counts : sequence of int
        The rows of each.
    positive : str or None
        What the user says.
    """
    if positive is not None or not common_text_on_top(labels, counts):
        return
    rare, common = sorted(map(str, labels))
    said = " or ".join(f"--positive {shlex.quote(label)}" for label in (rare, common))
    raise DataError(
        f"--positive must say which label to rank on top: {rare!r}, or {common!r}, which {max(counts):,} of "
        f"{sum(counts):,} rows have. Add {said}."
    )
