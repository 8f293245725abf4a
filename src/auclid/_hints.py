"""Words of messages: names near to one that is not known, lists, counts."""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence

CLEARLY = 0.1
"""How much less alike than the first a second name may be, to be asked for as well."""


def did_you_mean(wanted: object, known: Iterable[str], *, show: Callable[[str], str] = str, cutoff: float = 0.6) -> str:
    """A question with the known names nearest to one that is not known, or nothing where none is near.

    Parameters
    ----------
    wanted : object
        What was given in place of a name.
    known : names
    show : function, default=str
        How a name is written; ``repr`` where it should stand between quotes.
    cutoff : float in [0, 1], default=0.6
        How much alike two names must be; case and punctuation count for nothing.

    Examples
    --------
    >>> from auclid._hints import did_you_mean
    >>> did_you_mean("spamm l2", ["SPAM-L2", "SOLAM"])
    'Did you mean SPAM-L2?'
    >>> did_you_mean("forest", ["SPAM-L2", "SOLAM"])
    ''
    """
    by_plain: dict[str, str] = {}
    for name in known:
        by_plain.setdefault(plain(name), name)
    near = difflib.get_close_matches(plain(wanted), by_plain, n=2, cutoff=cutoff)
    alike = [difflib.SequenceMatcher(None, name, plain(wanted)).ratio() for name in near]
    near = [name for name, ratio in zip(near, alike, strict=True) if ratio > alike[0] - CLEARLY]
    return f"Did you mean {' or '.join(show(by_plain[name]) for name in near)}?" if near else ""


def plain(name: object) -> str:
    """A name by its letters and digits alone, so that "SPAM-L2" and "spam l2" are one.

    Examples
    --------
    >>> from auclid._hints import plain
    >>> plain("SPAM-L2")
    'spaml2'
    """
    return re.sub(r"[\W_]", "", str(name).casefold())


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first names, quoted, and how many more there are.

    Examples
    --------
    >>> from auclid._hints import listed
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def joined(words: Iterable[str], last: str = "and") -> str:
    """Words as a sentence lists them.

    Examples
    --------
    >>> from auclid._hints import joined
    >>> joined(["a", "b", "c"]), joined([".csv", ".xlsx"], "or"), joined(["a"])
    ('a, b and c', '.csv or .xlsx', 'a')
    """
    *most, end = words
    return f"{', '.join(most)} {last} {end}" if most else end


def reads_as_number(text: str) -> bool:
    """Whether a text is a number.

    Examples
    --------
    >>> from auclid._hints import reads_as_number
    >>> reads_as_number("-1e3"), reads_as_number("1st")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def count_of(number: int, thing: str) -> str:
    """A number of things, in words that fit it.

    Examples
    --------
    >>> from auclid._hints import count_of
    >>> count_of(1, "row"), count_of(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
