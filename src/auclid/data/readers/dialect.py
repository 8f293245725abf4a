"""How a csv file is written: what parts its cells, and what stands for a missing one."""

from pathlib import Path

MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "?"]

MARKS = ",;\t"
"""What may part cells."""


def sniff_delimiter(path: Path) -> tuple[str, int]:
    """The mark that parts the cells of a file's first line, packed or not, and how many cells there are."""
    import pyarrow as pa

    with pa.input_stream(str(path), compression="detect") as stream:
        start = stream.read(1 << 16)
    if b"\0" in start:
        raise UnicodeError("it is no text in UTF-8")
    first = start.partition(b"\n")[0]
    mark = max(MARKS, key=lambda mark: first.count(mark.encode()))
    return mark, first.count(mark.encode()) + 1
