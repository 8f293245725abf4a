"""The bill of materials of a release (SBOM), in CycloneDX 1.6: what was built, and every package it was tested with.

`tools/make_dist.py` writes it to dist/sbom.cdx.json. The versions are those of constraints/, the lock of the
development environment. Scope "required" is what `pip install auclid` brings, "optional" what only the extras, the
tests and the documentation need. The same sources give the same bytes.
"""

import datetime
import uuid
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def read_pins(path: Path) -> dict[str, str]:
    """Name and version of every line of a file of constraints."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def needed_by(package: str) -> list[str]:
    """The installed packages that a package requires without extras, and those that these require, in order of name."""
    found, queue = set(), [package]
    while queue:
        for line in requires(queue.pop()) or ():
            requirement = Requirement(line)
            name = canonicalize_name(requirement.name)
            if name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                found.add(name)
                queue.append(name)
    return sorted(found)


def component(name: str, version: str, required: Iterable[str]) -> dict[str, object]:
    """The entry of a package."""
    entry: dict[str, object] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "scope": "required" if name in required else "optional",
    }
    try:
        licence = metadata(name).get("License-Expression")
    except PackageNotFoundError:
        licence = None
    return entry | ({"licenses": [{"expression": licence}]} if licence else {})


def bill_of_materials(
    version: str, licence: str, archives: Mapping[str, str], pins: Mapping[str, str], epoch: str
) -> dict[str, object]:
    """The bill of a version of auclid: its archives by SHA-256, the pinned packages, and which of them it requires."""
    reference, required = f"pkg:pypi/auclid@{version}", needed_by("auclid")
    files = [
        {"type": "file", "bom-ref": name, "name": name, "hashes": [{"alg": "SHA-256", "content": sha}]}
        for name, sha in sorted(archives.items())
    ]
    packages = [component(name, pins[name], required) for name in sorted(pins)]
    made = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC).isoformat().replace("+00:00", "Z")
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, "".join([reference, *archives.values()])).urn,
        "version": 1,
        "metadata": {
            "timestamp": made,
            "component": {
                "type": "library",
                "bom-ref": reference,
                "name": "auclid",
                "version": version,
                "purl": reference,
                "licenses": [{"expression": licence}],
            },
        },
        "components": files + packages,
        "dependencies": [
            {"ref": reference, "dependsOn": [f"pkg:pypi/{name}@{pins[name]}" for name in required if name in pins]}
        ],
    }
