"""Columns that hold no numbers, as numbers all the same: texts by their place in a list that grows, dates in days.

So blocks stay arrays of floats, which are kept, spooled, drawn and sent about as any others. `ColumnEncoding` says what
the floats of a column stand for, and `decode` turns rows back into a table. Columns are those of Arrow.
"""

import threading
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from auclid._kinds import DAY, EPOCH, word

MOST = 1 << 20
"""Different texts of a column, at the most: more name rows, not levels."""

_growing = threading.Lock()  # blocks are read ahead in other threads


class ColumnEncoding:
    """What the numbers of a column stand for; NaN stands for a missing cell.

    ``kind`` is "bool" (0 or 1), "date" (days since 1970), "duration" (days), "category" or "text" (places in
    ``levels``, the different texts in the order they were first met); ``told`` is what the source calls its type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from auclid.data.encoding import ColumnEncoding
    >>> colours = ColumnEncoding("text", "string")
    >>> colours.numbers(pa.array(["red", None, "blue", "red"]), "colour")
    array([ 0., nan,  1.,  0.])
    >>> colours.levels
    ['red', 'blue']
    """

    def __init__(self, kind: str, told: str, levels: Iterable[str] = ()) -> None:
        self.kind, self.told = kind, told
        self._place = {text: k for k, text in enumerate(levels)}

    @property
    def levels(self) -> list[str]:
        """The different texts met so far."""
        return list(self._place)

    @property
    def is_words(self) -> bool:
        """Whether numbers are places in ``levels``."""
        return self.kind in ("category", "text")

    def numbers(self, values: Any, name: str) -> np.ndarray:
        """The numbers of an Arrow column of that name."""
        return self._places(values, name) if self.is_words else READ[self.kind](values)

    def cells(self, numbers: np.ndarray) -> Any:
        """The Arrow column of these numbers."""
        import pyarrow as pa

        gone = np.isnan(numbers)
        known = np.where(gone, 0.0, numbers)
        if self.is_words:
            places = pa.array(known.astype(np.int32), mask=gone)
            coded = pa.DictionaryArray.from_arrays(places, pa.array(self.levels, pa.string()))
            return coded if self.kind == "category" else coded.cast(pa.string())
        if self.kind in ("date", "duration"):
            unit = "timedelta64[us]" if self.kind == "date" else self.told.replace("duration", "timedelta64")
            days = np.rint(known * (DAY / np.array(1, unit))).astype(unit)
            return pa.array(EPOCH + days if self.kind == "date" else days, mask=gone)
        return pa.array(known == 1.0, mask=gone)

    def _places(self, values: Any, name: str) -> np.ndarray:
        texts, index = _texts(values, name)
        with _growing:
            for text in texts:
                if text is not None and text not in self._place:
                    self._place[text] = len(self._place)
            if len(self._place) > MOST:
                raise ValueError(
                    f"Column {name!r} must hold at most {MOST:,} different texts; it has more, so that it rather names "
                    "rows than groups them. Leave it out with columns=[...]."
                )
        return np.array([*(self._place.get(text, np.nan) for text in texts), np.nan])[index]  # type: ignore[arg-type]

    def __add__(self, other: "ColumnEncoding") -> "ColumnEncoding":
        """What two parts of a column stand for: texts as soon as one of them holds some."""
        first = self if self.is_words or not other.is_words else other
        return ColumnEncoding(first.kind, first.told, dict.fromkeys([*self._place, *other._place]))


def _texts(values: Any, name: str) -> tuple[list[str | None], np.ndarray]:
    """The different cells of a column as texts, and the place of each cell among them; missing ones come last."""
    import pyarrow as pa

    try:
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        texts = [word(value) for value in coded.dictionary.to_pylist()]
    except pa.ArrowException:
        raise TypeError(
            f"Column {name!r} holds {values.type}; the argument must be a string, a number, a boolean or a date in "
            "each cell. Turn it into one of these first."
        ) from None
    return texts, coded.indices.cast("int64").fill_null(len(texts)).to_numpy(zero_copy_only=False)


def _days(values: Any) -> np.ndarray:
    import pyarrow as pa

    zone = getattr(values.type, "tz", None)
    moments = values.cast(pa.timestamp("us", zone), safe=False).to_numpy(zero_copy_only=False)
    return np.where(np.isnat(moments), np.nan, (moments - EPOCH) / DAY)


def _lengths(values: Any) -> np.ndarray:
    spans = values.to_numpy(zero_copy_only=False)
    return np.where(np.isnat(spans), np.nan, spans / DAY)


def _bits(values: Any) -> np.ndarray:
    return values.cast("uint8").to_numpy(zero_copy_only=False)


READ = {"date": _days, "duration": _lengths, "bool": _bits}
"""How cells that are no words become numbers."""


def meaning_of(kind: Any) -> ColumnEncoding | None:
    """What the numbers of a column of an Arrow type stand for; None: for themselves, or the type is none we know."""
    name = kind_of(kind)
    return None if name is None else ColumnEncoding(name, str(kind))


@cache
def kind_of(kind: Any) -> str | None:
    """The kind of such a meaning: asked for every column of every block."""
    import pyarrow as pa

    types = pa.types
    tests = {
        "bool": (types.is_boolean,),
        "date": (types.is_date, types.is_timestamp),
        "duration": (types.is_duration,),
        "category": (types.is_dictionary,),
        "text": (types.is_string, types.is_large_string, *_views(types)),
    }
    return next((name for name, known in tests.items() if any(test(kind) for test in known)), None)


def _views(types: Any) -> list:
    return [types.is_string_view] if hasattr(types, "is_string_view") else []


def decode(X: np.ndarray, columns: Iterable[str], meanings: Mapping[str, ColumnEncoding]) -> Any:
    """The rows as a table of what their numbers stand for."""
    import pyarrow as pa

    def column(name: str, numbers: np.ndarray) -> Any:
        return meanings[name].cells(numbers) if name in meanings else pa.array(np.ascontiguousarray(numbers))

    return pa.table({name: column(name, X[:, k]) for k, name in enumerate(columns)})


def others(meanings: Mapping[str, ColumnEncoding]) -> dict[str, ColumnEncoding]:
    """Those that a method which knows numbers only has no use for."""
    return {name: each for name, each in meanings.items() if each.kind != "bool"}


def together(a: Mapping[str, ColumnEncoding], b: Mapping[str, ColumnEncoding]) -> dict[str, ColumnEncoding]:
    """What the columns of two parts stand for."""
    return {name: a[name] + b[name] if name in a and name in b else (a.get(name) or b[name]) for name in {**a, **b}}
