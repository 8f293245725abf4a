"""Files that are either whole or not there."""

import contextlib
import errno
import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import IO, Any

try:
    import fcntl
except ImportError:  # elsewhere a file that is open cannot be removed, which serves as well
    fcntl = None  # type: ignore[assignment]

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What a disk says that takes no more."""


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file beside ``path`` that takes its place once all is written; an error leaves ``path`` alone.

    Where ``path`` is a symbolic link, the file it points to is replaced and the link stays. What is neither a file nor
    absent (a folder, a pipe, a device) is refused. The content is on the disk before it takes its place, so not even a
    crash of the machine leaves half a file. What a killed process left half-written is removed by the next one that
    writes to the same path.

    Parameters
    ----------
    path : str or path-like
    mode : {"wb", "w"}
        Bytes, or text in UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auclid.io import replacing
    >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> with replacing(path, "w") as file:
    ...     _ = file.write("score")
    >>> path.read_text()
    'score'
    """
    try:
        goal = _goal(path)
        _sweep(goal)
        file = _opened(goal, mode)
    except OSError as error:
        raise _refusal(path, error) from None
    temporary = Path(file.name)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            _keep_rights(goal, temporary)
            if fcntl is not None:  # while it is locked, nobody takes it for a left one
                os.replace(temporary, goal)
        if fcntl is None:
            os.replace(temporary, goal)
        _settle(goal.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and (error.errno in FULL or error.filename == str(temporary)):
            raise _refusal(path, error) from None
        raise


def may_write(path: str | os.PathLike[str]) -> None:
    """Raise, before any work is done, where `replacing` would refuse to write.

    Parameters
    ----------
    path : str or path-like
    """
    try:
        _goal(path)
    except OSError as error:
        raise _refusal(path, error) from None


def _goal(path: str | os.PathLike[str]) -> Path:
    """The file that a path means, through symbolic links; raises where something else is there."""
    goal = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return goal  # a new file, or one that a link promises
    if S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, no file")
    return goal


def _refusal(path: str | os.PathLike[str], error: OSError) -> OSError:
    """The same error, in a sentence that says what could not be written."""
    said = type(error)(f"Cannot write {os.fspath(path)!r}: {error.strerror or error}.")
    said.errno = error.errno
    return said


def _start(goal: Path) -> str:
    """How the names begin of files that are to take a file's place."""
    return f".auclid-{hashlib.sha256(os.fsencode(goal.name)).hexdigest()[:12]}-"


def _opened(goal: Path, mode: str) -> IO[Any]:
    """A new file beside the goal, locked for as long as it is open."""
    while True:
        name = goal.with_name(f"{_start(goal)}{uuid.uuid4().hex[:8]}.part")
        file = open(name, "xb") if "b" in mode else open(name, "x", encoding="utf-8", newline="\n")  # noqa: SIM115
        _lock(file)
        if name.exists():
            return file
        file.close()  # somebody took it for a left one, before it was locked
        name.unlink(missing_ok=True)


def _sweep(goal: Path) -> None:
    """Remove what killed processes left beside the goal: files that nobody has locked."""
    start = _start(goal)
    for name in os.listdir(goal.parent):
        if name.startswith(start):
            with contextlib.suppress(OSError), open(goal.parent / name, "rb") as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    (goal.parent / name).unlink()
            if fcntl is None:
                with contextlib.suppress(OSError):
                    (goal.parent / name).unlink()


def _lock(file: IO[Any]) -> None:
    """Lock a file, where the file system can."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)


def _keep_rights(goal: Path, temporary: Path) -> None:
    """Who may read and write the file stays as it was."""
    with contextlib.suppress(OSError):
        os.chmod(temporary, os.stat(goal).st_mode & 0o777)


def _settle(folder: Path) -> None:
    """Bring the folder's new entry to the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
