"""Arrays in NumPy's own format, whose header is read before anything is made of them."""

import re
from io import BytesIO
from typing import TypeAlias

import numpy as np
from numpy.lib import format as npy

from auclid.io._archive import ModelFileError

Header: TypeAlias = tuple[tuple[int, ...], bool, np.dtype, int]
"""Shape, Fortran order, type and first byte of an array."""

PLAIN = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|][a-zA-Z]\d{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n",
    re.DOTALL,
)

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def bytes_of(value: np.ndarray) -> bytes:
    """An array as bytes; C- and Fortran-ordered ones stay what they are."""
    file = BytesIO()
    npy.write_array(file, np.asarray(value), version=(1, 0), allow_pickle=False)
    return file.getvalue()


def array_of(content: bytes) -> np.ndarray:
    """The array of some bytes, in the byte order of this machine."""
    shape, fortran, dtype, start = array_header(content)
    count = _entries(shape)
    flat = np.frombuffer(content, dtype, count, offset=start) if count else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="), order="K")


def array_header(content: bytes) -> Header:
    """Shape, order, type and first byte of an array: plain values, and just the bytes that its shape asks for."""
    shape, fortran, dtype, start = _plain_header(content) or _any_header(content)
    count = _entries(shape)
    if dtype.hasobject or min(shape, default=1) < 0 or count * dtype.itemsize != len(content) - start:
        raise ModelFileError(f"it holds an array of {dtype} that does not have the {count} entries it claims.")
    return shape, fortran, dtype, start


def _plain_header(content: bytes) -> Header | None:
    """The header as NumPy writes it for plain types, or None: to read one as Python takes a tenth of a small load."""
    found = PLAIN.match(content)
    if found is None or found.end() != 10 + int.from_bytes(content[8:10], "little"):
        return None
    kind, fortran, lengths = found.groups()
    shape = tuple(int(x) for x in lengths.split(b",") if x.strip())
    return shape, fortran == b"True", np.dtype(kind.decode()), found.end()


def _any_header(content: bytes) -> Header:
    """The header as NumPy reads it."""
    file = BytesIO(content)
    version = npy.read_magic(file)
    if version not in HEADERS:
        raise ModelFileError("it holds an array of an unknown version of NumPy's format.")
    return (*HEADERS[version](file), file.tell())


def _entries(shape: tuple[int, ...]) -> int:
    """How many entries a shape asks for, however many that are."""
    return int(np.prod([int(k) for k in shape], dtype=object))
