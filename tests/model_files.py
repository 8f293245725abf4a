"""Model files taken apart and put together again with a right checksum, whatever is in them."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from auclid import save
from auclid.io._container import checksum


def opened(path: Path) -> dict[str, bytes]:
    """The entries of a file, by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def signed(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED, **head: Any) -> bytes:
    """A file with a right checksum; ``head`` replaces fields of its head."""
    entries = dict(entries)
    fields = {**json.loads(entries.pop("head.json")), **head}
    fields.pop("sha256", None)
    fields["sha256"] = checksum(fields, entries)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in {"head.json": json.dumps(fields).encode(), **entries}.items():
            archive.writestr(name, content)
    return file.getvalue()


def npy(array: Any) -> bytes:
    """An array in NumPy's format."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), version=(1, 0), allow_pickle=False)
    return file.getvalue()


def forged(folder: Path, model: Any, change: Callable[[Any, dict[str, bytes]], Any]) -> Path:
    """A file of a model, with what ``change`` makes of its JSON and its entries, signed anew."""
    save(folder / "good", model)
    entries = opened(folder / "good")
    tree = json.loads(entries["model.json"])
    tree = change(tree, entries) or tree
    entries["model.json"] = json.dumps(tree).encode()
    (folder / "bad").write_bytes(signed(entries))
    return folder / "bad"


def holders(tree: Any, name: str) -> list[dict[str, Any]]:
    """The attributes of every object of a class in a file's JSON."""
    if isinstance(tree, list):
        return [found for item in tree for found in holders(item, name)]
    if not isinstance(tree, dict):
        return []
    inside = [found for item in tree.values() for found in holders(item, name)]
    tagged = (tree[tag] for tag in ("sklearn", "estimator", "struct") if isinstance(tree.get(tag), list))
    return inside + [attributes for owner, attributes in tagged if owner == name]
