"""The container of a model file: a zip archive of uncompressed entries, with a head that identifies and signs them.

``head.json`` names the format, its version, the versions of the libraries that wrote the file, and a SHA-256 checksum.
Arrays are entries in NumPy's npy format. Nothing is compressed, so a file never unpacks to more than its own size.
"""

import hashlib
import json
import os
import re
from io import BytesIO
from stat import S_ISREG
from typing import IO, Any, TypeAlias
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import sklearn
from numpy.lib import format as npy

from auclid._version import __version__
from auclid.io._files import replacing

FORMAT, FORMAT_VERSION = "auclid model", 1
HEAD = "head.json"
ENTRY_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of every entry, so that the same model gives the same bytes."""

MAX_REASON = 300
"""Characters quoted from an error about a damaged file: the error may quote the file at length."""

MAX_JSON_VALUES = 1 << 22
"""Values in one JSON text. Two bytes of text can become sixty bytes of Python objects."""


MAX_EMPTY_LENGTH = 1 << 25
"""The longest side of an array without entries. It takes no byte of the file, and its sums would take any memory."""


class ModelFileError(ValueError):
    """The file is not a model file, or not one that this version of auclid can read safely."""


def write_container(path: str | os.PathLike[str], entries: dict[str, bytes], head: dict[str, Any]) -> None:
    """Write entries (name to bytes) under a head; ``head`` holds what the standard fields do not."""
    libraries = {"auclid": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}
    head = {"format": FORMAT, "version": FORMAT_VERSION, **libraries, **head}
    head["sha256"] = checksum(head, entries)
    with replacing(path) as file, ZipFile(file, "w", ZIP_STORED) as archive:
        for name, content in {HEAD: json.dumps(head, indent=1).encode(), **entries}.items():
            archive.writestr(ZipInfo(name, ENTRY_DATE), content)


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return (head, entries) after checking format, sizes and checksum; raise `ModelFileError` otherwise."""
    if not S_ISREG(os.stat(path).st_mode):  # before it is opened: a pipe would block, a device may never end
        raise ModelFileError(f"{os.fspath(path)!r} must be a file; it is a folder, a pipe or a device.")
    with open(path, "rb") as file:
        try:
            return _read_archive(file)
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)!r} {error}") from None
        except Exception as error:  # zipfile fails on damaged files in more ways than it documents
            reason = f"{type(error).__name__}: {str(error)[:MAX_REASON]}".rstrip(".: ")
            raise ModelFileError(
                f"{os.fspath(path)!r} must be an auclid model file; it is another kind of file, or damaged ({reason})."
            ) from None


def _read_archive(file: IO[bytes]) -> tuple[dict[str, Any], dict[str, bytes]]:
    with ZipFile(file) as archive:
        infos = archive.infolist()
        check_stored(infos, os.fstat(file.fileno()).st_size)
        if HEAD not in {info.filename for info in infos}:
            raise ModelFileError("must be an auclid model file; it is some other zip file.")
        head = parse_json(archive.read(HEAD))
        _check_format(head)
        entries = {info.filename: archive.read(info) for info in infos if info.filename != HEAD}
    if head.pop("sha256", None) != checksum(head, entries):
        raise ModelFileError("must be a whole auclid model file; its checksum is wrong, so it is damaged.")
    return head, entries


def check_stored(infos: list[ZipInfo], size: int) -> None:
    """Raise unless the entries are uncompressed, have distinct names, and fit into ``size`` bytes."""
    if any(info.compress_type != ZIP_STORED or info.flag_bits & 1 for info in infos):
        raise ModelFileError("must hold plain entries only; it holds compressed or encrypted ones.")
    if len({info.filename for info in infos}) < len(infos):
        raise ModelFileError("must hold entries of different names only; it holds two of one name.")
    if sum(info.file_size for info in infos) > size:
        raise ModelFileError("must be as large as what it holds; it claims to hold more than its own size.")


def parse_json(content: bytes) -> Any:
    """Parse JSON, unless it has so many values that they would take many times the memory of the text."""
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > MAX_JSON_VALUES:
        raise ModelFileError(f"must be described by at most {MAX_JSON_VALUES} values; it has more.")
    return json.loads(content)


def _check_format(head: Any) -> None:
    if not isinstance(head, dict) or head.get("format") != FORMAT or type(head.get("version")) is not int:
        raise ModelFileError("must be an auclid model file; its head names no such format.")
    if not 1 <= head["version"] <= FORMAT_VERSION:
        writer = str(head.get("auclid"))[:20]
        raise ModelFileError(
            f"was written by auclid {writer} in format {head['version']}; auclid {__version__} reads "
            f"formats up to {FORMAT_VERSION}. Upgrade auclid."
        )


def checksum(head: dict[str, Any], entries: dict[str, bytes]) -> str:
    """SHA-256 over the head without its checksum, and the names, sizes and bytes of all entries."""
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    for name in sorted(entries):
        digest.update(f"\0{name}\0{len(entries[name])}\0".encode())
        digest.update(entries[name])
    return digest.hexdigest()


# --- arrays ---------------------------------------------------------------------------------------------

ArrayHeader: TypeAlias = tuple[tuple[int, ...], bool, np.dtype, int]
"""Shape, whether in Fortran order, type, and the offset of the first value."""

SIMPLE_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|][a-zA-Z]\d{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n",
    re.DOTALL,
)
"""The header as NumPy writes it for simple types. Parsing it so saves a tenth of the time of a small load."""

HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def array_to_bytes(value: np.ndarray) -> bytes:
    """An array in npy format, in the order of its axes in memory: another order gives products other last bits."""
    file, value = BytesIO(), np.asarray(value)
    contiguous = value.flags.c_contiguous or value.flags.f_contiguous
    npy.write_array(file, value if contiguous else value.copy(order="K"), version=(1, 0), allow_pickle=False)
    return file.getvalue()


def array_from_bytes(content: bytes) -> np.ndarray:
    """The array of npy bytes, in the byte order of this machine."""
    shape, fortran, dtype, start = read_array_header(content)
    count = _count_entries(shape)
    flat = np.frombuffer(content, dtype, count, offset=start) if count else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="), order="K")


def read_array_header(content: bytes) -> ArrayHeader:
    """Parse the header of npy bytes; raise unless exactly the bytes follow that shape and type require."""
    shape, fortran, dtype, start = _simple_header(content) or _numpy_header(content)
    count = _count_entries(shape)
    right_size = min(shape, default=1) >= 0 and count * dtype.itemsize == len(content) - start
    if dtype.hasobject or not right_size or dtype.itemsize > len(content):
        raise ModelFileError(f"it holds an array of {dtype} that does not have the {count} entries it claims.")
    if count == 0 and max(shape) > MAX_EMPTY_LENGTH:
        raise ModelFileError(f"it holds an array of shape {shape}: more columns than are believed without an entry.")
    return shape, fortran, dtype, start


def _simple_header(content: bytes) -> ArrayHeader | None:
    """The header if it is a `SIMPLE_HEADER`, else None."""
    match = SIMPLE_HEADER.match(content)
    if match is None or match.end() != 10 + int.from_bytes(content[8:10], "little"):
        return None
    kind, fortran, lengths = match.groups()
    shape = tuple(int(x) for x in lengths.split(b",") if x.strip())
    return shape, fortran == b"True", np.dtype(kind.decode()), match.end()


def _numpy_header(content: bytes) -> ArrayHeader:
    """The header as NumPy parses it."""
    file = BytesIO(content)
    version = npy.read_magic(file)
    if version not in HEADER_READERS:
        raise ModelFileError("it holds an array of an unknown version of NumPy's format.")
    return (*HEADER_READERS[version](file), file.tell())


def _count_entries(shape: tuple[int, ...]) -> int:
    """The product of the lengths, in integers of any size."""
    return int(np.prod([int(k) for k in shape], dtype=object))
