"""Atomic writes: a file is replaced as a whole, or not at all."""

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
except ImportError:  # on Windows an open file cannot be removed, which serves as well
    fcntl = None  # type: ignore[assignment]

DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Errors of a disk that is full or broken."""


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
        target = _target(path)
        _sweep(target)
        file = _open_temporary(target, mode)
    except OSError as error:
        raise _write_error(path, error) from None
    temporary = Path(file.name)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            _copy_permissions(target, temporary)
            if fcntl is not None:  # while it is locked, no other process removes it
                os.replace(temporary, target)
        if fcntl is None:
            os.replace(temporary, target)
        _sync_folder(target.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and (error.errno in DISK_ERRORS or error.filename == str(temporary)):
            raise _write_error(path, error) from None
        raise


def may_write(path: str | os.PathLike[str]) -> None:
    """Raise, before any work is done, where `replacing` would refuse to write.

    Parameters
    ----------
    path : str or path-like
    """
    try:
        _target(path)
    except OSError as error:
        raise _write_error(path, error) from None


def _target(path: str | os.PathLike[str]) -> Path:
    """The file that a path means, through symbolic links; raises where something else is there."""
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return target  # a new file, or one that a link promises
    if S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, no file")
    return target


def _write_error(path: str | os.PathLike[str], error: OSError) -> OSError:
    """The error, with a message that names the path."""
    said = type(error)(f"Cannot write {os.fspath(path)!r}: {error.strerror or error}.")
    said.errno = error.errno
    return said


def _prefix(target: Path) -> str:
    """How the names of temporary files for a target begin."""
    return f".auclid-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}-"


def _open_temporary(target: Path, mode: str) -> IO[Any]:
    """A new file beside the target, locked for as long as it is open."""
    while True:
        name = target.with_name(f"{_prefix(target)}{uuid.uuid4().hex[:8]}.part")
        file = open(name, "xb") if "b" in mode else open(name, "x", encoding="utf-8", newline="\n")  # noqa: SIM115
        _lock(file)
        if name.exists():
            return file
        file.close()  # another process removed it before it was locked
        name.unlink(missing_ok=True)


def _sweep(target: Path) -> None:
    """Remove what killed processes left beside the target."""
    for name in os.listdir(target.parent):
        if name.startswith(_prefix(target)):
            with contextlib.suppress(OSError):
                _remove_unless_locked(target.parent / name)


def _remove_unless_locked(path: Path) -> None:
    """Remove a regular file that no process has locked; raise OSError where one has."""
    if fcntl is None:
        path.unlink()
        return
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)  # a pipe would wait for a writer
    try:
        if S_ISREG(os.fstat(handle).st_mode):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(handle)


def _lock(file: IO[Any]) -> None:
    """Lock a file, where the file system supports it."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)


def _copy_permissions(target: Path, temporary: Path) -> None:
    """Give the temporary file the permissions of the target."""
    with contextlib.suppress(OSError):
        os.chmod(temporary, os.stat(target).st_mode & 0o777)


def _sync_folder(folder: Path) -> None:
    """Flush the folder's new entry to the disk, where the system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
