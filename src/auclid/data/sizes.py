"""Numbers of bytes and of rows that users give."""

import re
from numbers import Integral

from auclid import _sizes
from auclid.errors import invalid_value

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def as_bytes(memory: int | str | None) -> int:
    """A number of bytes from a number, a text with a unit, or None.

    Examples
    --------
    >>> from auclid.data.sizes import as_bytes
    >>> as_bytes("1.5 GB")
    1500000000
    """
    if memory is None:
        return _sizes.DEFAULT_MEMORY
    if isinstance(memory, Integral) and not isinstance(memory, bool) and memory >= 0:
        return int(memory)
    match = re.fullmatch(r"\s*(\d+\.?\d*)\s*([A-Za-z]*)\s*", memory) if isinstance(memory, str) else None
    if match is None or match[2].upper() not in UNITS:
        raise invalid_value("scan", "memory", "be a number of bytes or a text such as '500MB' or '2GB'", memory)
    return int(float(match[1]) * UNITS[match[2].upper()])


def as_count(owner: str, n: int) -> int:
    """The n of a method of Rows, a whole number of rows."""
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"The 'n' of Rows.{owner} must be a whole number, 1 or more. Got {n!r} instead.")
    return int(n)
