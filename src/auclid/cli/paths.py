"""The files that a command reads and writes, compared before any work: nothing that is read is ever replaced."""

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from auclid._hints import joined
from auclid.data.readers.open import ENDINGS, file_ending, source_paths
from auclid.errors import DataError
from auclid.io import may_write


def check_paths(reads: Mapping[str, Path | None], writes: Mapping[str, Path | None]) -> None:
    """Refuse a file to write that is read, that is written twice, or that cannot be written.

    ``reads`` are files, folders and globs by the argument that names each, ``writes`` files by the option that names
    each, or by what they are; None of options that were not given.
    """
    named = [(option, path) for option, path in writes.items() if path is not None]
    for option, path in named:
        if not Path(os.path.realpath(path)).parent.is_dir():
            raise DataError(f"{option} must be in a folder that exists; got {str(path)!r}.")
        may_write(path)
        for argument, source in reads.items():
            if source is not None and _is_read(source, path):
                said = f"{str(path)!r} is {argument}, or would be a part of it"
                raise DataError(f"{option} must be another file than those that are read; {said}.")
    for k, (option, path) in enumerate(named):
        for other, earlier in named[:k]:
            if _same(path, earlier):
                raise DataError(f"{option} must be another file than {other}; got {str(path)!r} for both.")


def check_ending(option: str, path: Path, endings: Sequence[str]) -> None:
    """Refuse a file whose ending promises a format that is not written; a name without an ending is fine."""
    if path.suffix and path.suffix.lower() not in endings:
        raise DataError(f"{option} must end in {joined(endings, 'or')}; got {str(path)!r}.")


def check_new(what: str, path: Path, owner: Path) -> None:
    """Refuse to replace a file that is left beside another one, unless that one is there too and will be replaced."""
    if path.exists() and not owner.exists():
        raise DataError(
            f"{what} would replace {str(path)!r}, which is there although {str(owner)!r} is not. Name another --model, "
            "or remove that file."
        )


def companions(path: Path) -> list[Path]:
    """The files that are read along with one: the labels beside an npy or npz file."""
    return [path.with_suffix(".y.npy")] if path.suffix.lower() in (".npy", ".npz") else []


def _is_read(source: Path, path: Path) -> bool:
    """Whether a file is read, or would be once it is there, as a part of a source."""
    if any(_same(each, path) for each in _read_from(source)):
        return True
    real = Path(os.path.realpath(path))
    if source.is_dir():
        folder = Path(os.path.realpath(source))
        return real.is_relative_to(folder) and file_ending(real) in ENDINGS
    pattern = Path(os.path.realpath(source))
    return glob.has_magic(str(source)) and not source.exists() and _matches(real.parts, pattern.parts)


def _read_from(source: Path) -> Iterator[Path]:
    """The files of a source that are there, and the one that it names."""
    yield source
    yield from companions(source)
    if source.is_file():
        return
    try:
        files = source_paths(source)
    except (DataError, OSError):  # reading it will raise again
        return
    for file in files:
        yield file
        yield from companions(file)


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path fit those of a glob."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[k:], pattern[1:]) for k in range(len(parts) + 1))
    return bool(parts) and fnmatch(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _same(a: Path, b: Path) -> bool:
    """Whether two paths are one file, which need not be there."""
    if os.path.normcase(os.path.realpath(a)) == os.path.normcase(os.path.realpath(b)):
        return True
    try:
        return os.path.samefile(a, b)
    except (OSError, ValueError):
        return False
