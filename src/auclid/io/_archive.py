"""The container: a zip file of stored members under a head with format, versions and checksum.

Nothing in it is compressed, so what a file claims to hold can never exceed its own size.
"""

import hashlib
import json
import os
from stat import S_ISREG
from typing import IO, Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import sklearn

from auclid._version import __version__
from auclid.io._files import replacing

FORMAT, VERSION = "auclid model", 2
"""Format 2 has names of its own for structs; format 1, of auclid 0.1, had the modules they were in."""
HEAD = "head.json"
YEAR = (1980, 1, 1, 0, 0, 0)
"""The date of every member, so that the same model is the same bytes."""

MOST_SAID = 300
"""Letters of what a damaged file makes its reader say: it may quote the file at length."""

MOST_VALUES = 1 << 22
"""Values in one JSON text: two bytes of it can make sixty of memory. Names of four million columns are less."""


class ModelFileError(ValueError):
    """A file that is not, or no longer, a model that this version of auclid can read."""


def write(path: str | os.PathLike[str], members: dict[str, bytes], head: dict[str, Any]) -> None:
    """Write members (name to bytes) and what the head is to say."""
    libraries = {"auclid": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}
    head = {"format": FORMAT, "version": VERSION, **libraries, **head}
    head["sha256"] = checksum(head, members)
    with replacing(path) as file, ZipFile(file, "w", ZIP_STORED) as archive:
        for name, content in {HEAD: json.dumps(head, indent=1).encode(), **members}.items():
            archive.writestr(ZipInfo(name, YEAR), content)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """(head, members) of a file whose format, sizes and checksum are right; a `ModelFileError` otherwise."""
    if not S_ISREG(os.stat(path).st_mode):  # before it is opened: a pipe would wait, a device may never end
        raise ModelFileError(f"{os.fspath(path)!r} must be a file; it is a folder, a pipe or a device.")
    with open(path, "rb") as file:
        try:
            return _read(file)
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)!r} {error}") from None
        except Exception as error:  # a damaged zip file can fail in more ways than its reader documents
            reason = f"{type(error).__name__}: {str(error)[:MOST_SAID]}".rstrip(".: ")
            raise ModelFileError(
                f"{os.fspath(path)!r} must be an auclid model file; it is damaged or no such file ({reason})."
            ) from None


def _read(file: IO[bytes]) -> tuple[dict[str, Any], dict[str, bytes]]:
    with ZipFile(file) as archive:
        infos = archive.infolist()
        stored(infos, os.fstat(file.fileno()).st_size)
        if HEAD not in {info.filename for info in infos}:
            raise ModelFileError("must be an auclid model file; it is some other zip file.")
        head = parsed(archive.read(HEAD))
        _known(head)
        members = {info.filename: archive.read(info) for info in infos if info.filename != HEAD}
    if head.pop("sha256", None) != checksum(head, members):
        raise ModelFileError("must be a whole auclid model file; its checksum is wrong, so it is damaged.")
    return head, members


def stored(infos: list[ZipInfo], size: int) -> None:
    """Raise unless members are stored as they are, go by different names, and fit into ``size`` bytes."""
    if any(info.compress_type != ZIP_STORED or info.flag_bits & 1 for info in infos):
        raise ModelFileError("must hold plain members only; it holds compressed or encrypted ones.")
    if len({info.filename for info in infos}) < len(infos):
        raise ModelFileError("must hold members of different names only; it holds two of one name.")
    if sum(info.file_size for info in infos) > size:
        raise ModelFileError("must be as large as what it holds; it claims to hold more than its own size.")


def parsed(content: bytes) -> Any:
    """The value of a JSON text, unless it would take many times the memory of the text."""
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise ModelFileError(f"must be described by at most {MOST_VALUES} values; it has more.")
    return json.loads(content)


def _known(head: Any) -> None:
    if not isinstance(head, dict) or head.get("format") != FORMAT or type(head.get("version")) is not int:
        raise ModelFileError("must be an auclid model file; its head names no such format.")
    if not 1 <= head["version"] <= VERSION:
        writer = str(head.get("auclid"))[:20]
        raise ModelFileError(
            f"was written by auclid {writer} in format {head['version']}; auclid {__version__} reads "
            f"formats up to {VERSION}. Upgrade auclid."
        )


def checksum(head: dict[str, Any], members: dict[str, bytes]) -> str:
    """SHA-256 over the head (without its checksum) and the names, sizes and bytes of all members."""
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    for name in sorted(members):
        digest.update(f"\0{name}\0{len(members[name])}\0".encode())
        digest.update(members[name])
    return digest.hexdigest()
