"""Files that are either whole or not there."""

import os
import uuid
from contextlib import contextmanager
from pathlib import Path

TEXT = {"encoding": "utf-8", "newline": "\n"}


@contextmanager
def beside(path, mode="wb"):
    """Open a file beside ``path`` that takes its place once all is written; an error leaves ``path`` alone.

    Parameters
    ----------
    path : str or path-like
    mode : {"wb", "w"}
        Bytes, or text in UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auclid.io import beside
    >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> with beside(path, "w") as file:
    ...     _ = file.write("score")
    >>> path.read_text()
    'score'
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"Cannot write {str(path)!r}: it is a folder.")
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        file = open(temporary, mode.replace("w", "x"), **({} if "b" in mode else TEXT))  # noqa: SIM115
    except OSError as error:
        raise type(error)(f"Cannot write {str(path)!r}: {error.strerror}.") from None
    try:
        with file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
