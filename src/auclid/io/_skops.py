"""Parts of scikit-learn in skops' format: looked through before anything is made of them."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from auclid.io._archive import ModelFileError, parsed, stored
from auclid.io._arrays import array_header
from auclid.io._trusted import BESIDES, check_part, is_listed

ROOM = 1 << 24
"""Bytes that the sparse matrices of a part, which skops compresses, may have whatever their size in the file."""

RATIO = 20
"""How much larger than in the file such a matrix may be otherwise."""


def dumped(value: Any) -> bytes:
    """A part in skops' format."""
    content: bytes = _skops().dumps(value)
    return content


def loaded(content: bytes, trusted: tuple[str, ...] = ()) -> Any:
    """The part of some bytes: its types are trusted, its sizes true, and what compiled code follows is sound."""
    strange = _unlisted(_check_members(content)) - set(trusted)
    value = None
    if not strange:
        try:
            value = _skops().loads(content, trusted=sorted(BESIDES | set(trusted)))
        except TypeError:  # what skops raises for types that are not trusted, among others
            strange = set(strange_types(content, trusted))
            if not strange:
                raise
    if strange:
        raise ModelFileError(
            f"it holds {', '.join(sorted(strange))}, which auclid loads from nobody it does not know. "
            f"If you know who made the file, pass trusted={sorted(strange)}."
        )
    check_part(value)
    return value


def strange_types(content: bytes, trusted: tuple[str, ...] = ()) -> list[str]:
    """The types in a part that are not trusted."""
    with ZipFile(BytesIO(content)) as archive:
        unlisted = _unlisted(list(_nodes(parsed(archive.read("schema.json")))))
    return sorted((unlisted | set(_skops().get_untrusted_types(data=content)) - BESIDES) - set(trusted))


def _unlisted(nodes: list[dict[str, Any]]) -> set[str]:
    """The types of scikit-learn among those named that are on no list."""
    return {name for node in nodes if not is_listed(name := f"{node['__module__']}.{node['__class__']}")}


def _check_members(content: bytes) -> list[dict[str, Any]]:
    """What its description names; raises unless nothing is larger than it seems, and no member asked for twice."""
    with ZipFile(BytesIO(content)) as archive:
        stored(archive.infolist(), len(content))
        owners: dict[str, Any] = {}
        nodes = list(_nodes(parsed(archive.read("schema.json"))))
        for node in nodes:
            if "file" in node and owners.setdefault(node["file"], node.get("__id__")) != node.get("__id__", owners):
                raise ModelFileError("it holds an array that is asked for more than once.")
        for name in archive.namelist():
            if name.endswith(".npy"):
                array_header(archive.read(name))
            elif name.endswith(".npz"):
                _check_sparse(archive.read(name))
            elif name != "schema.json":
                raise ModelFileError(f"it holds a member {name!r} that is neither an array nor a matrix.")
    return nodes


def _check_sparse(content: bytes) -> None:
    """Raise unless the arrays of a matrix have the bytes they claim, and these are not too many."""
    with ZipFile(BytesIO(content)) as archive:
        infos = archive.infolist()
        if sum(info.file_size for info in infos) > max(ROOM, RATIO * len(content)):
            raise ModelFileError("it holds a sparse matrix that is compressed beyond belief.")
        for info in infos:
            array_header(archive.read(info))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object that skops' description names a class for."""
    if isinstance(tree, dict):
        if "__class__" in tree and "__module__" in tree:
            yield tree
        for inside in tree.values():
            yield from _nodes(inside)
    elif isinstance(tree, list):
        for inside in tree:
            yield from _nodes(inside)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ImportError(
            "Models with parts of scikit-learn are saved and loaded through skops, which is not installed: "
            "pip install 'auclid[io]'."
        ) from None
    return skops.io
