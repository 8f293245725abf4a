"""The original files of LIBSVM and UCI: their addresses, the download (by pooch), and reading them."""

import csv
import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from auclid.datasets import read_table
from auclid.datasets.entries import LIBSVM, UCI
from auclid_papers.definitions import nearest, package_text

HOMES = {"libsvm": LIBSVM, "uci": f"{UCI}ml/machine-learning-databases/"}
TIMEOUT = 60.0
"""Seconds without a byte after which a download fails."""


class Source(NamedTuple):
    """One original file: a dataset, or its training or test part."""

    dataset: str
    part: str  # "all", "train" or "test"
    address: str
    checksum: str = ""  # "md5:..." or "sha256:...", if the publisher gives one
    target: str = ""  # the column with the labels, of a file without column names
    labels: str = ""  # the experiments' numbers for labels, if they differ: "g=1 h=-1"

    @property
    def file(self) -> str:
        """The name of the file."""
        return urlsplit(self.address).path.rpartition("/")[2]


@cache
def sources() -> dict[str, list[Source]]:
    """All files that can be downloaded, by the name of their dataset.

    Examples
    --------
    >>> from auclid_papers.fetch import sources
    >>> [source.file for source in sources()["a9a"]]
    ['a9a', 'a9a.t']
    """
    found: dict[str, list[Source]] = {}
    for row in csv.DictReader(package_text("sources.csv").splitlines()):
        home, _, path = row.pop("address").partition(":")
        found.setdefault(row["dataset"], []).append(Source(address=HOMES[home] + path, **row))
    return found


def fetch(names: Iterable[str], folder: str | Path, tell: Callable[[str], object] = len) -> list[Path]:
    """Download the original files of some datasets into a folder; returns the paths of the files.

    A file appears under its name only when it is complete and its checksum is right; its SHA-256 is then written to
    ``NAME.sha256``. A file that exists is not downloaded again. ``tell`` is called with a sentence for each file.
    """
    wanted = [source for name in names for source in _sources_of(name)]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [_fetch_file(source, folder / source.file, tell) for source in wanted]


def _sources_of(name: str) -> list[Source]:
    if name not in sources():
        hint = nearest(name, sources()) or f" There are: {', '.join(sorted(sources()))}."
        raise ValueError(f"NAME must be a dataset that can be downloaded; got {name!r}.{hint}")
    return sources()[name]


def _fetch_file(source: Source, path: Path, tell: Callable[[str], object]) -> Path:
    import pooch  # it is needed for downloads only, and slow to import
    from requests import RequestException

    if path.exists():
        _verify(source, path)
        tell(f"{path}: exists.")
        return path
    tell(f"{path}: from {source.address}.")
    pooch.get_logger().setLevel("ERROR")
    known, downloader = source.checksum or None, pooch.HTTPDownloader(timeout=TIMEOUT)
    try:
        pooch.retrieve(source.address, known, fname=path.name, path=path.parent, downloader=downloader)
    except RequestException as error:
        raise ConnectionError(
            f"Cannot download {source.dataset!r} from {source.address}: {' '.join(str(error).split())}. "
            f"Try again, or put the file {source.file!r} into the folder by hand."
        ) from None
    except ValueError as error:
        raise ValueError(f"Cannot use {source.address}: {' '.join(str(error).split())}") from None
    _checksum_file(path).write_text(f"{_digest(path, 'sha256')}  {path.name}\n", encoding="utf-8")
    return path


def _verify(source: Source, path: Path) -> None:
    """Raise an error if a file does not have the checksum of its source, or the one it was downloaded with."""
    kind, _, expected = source.checksum.partition(":")
    if expected and (found := _digest(path, kind)) != expected:
        raise ValueError(f"{source.dataset!r} must have the {kind} checksum {expected}; {str(path)!r} has {found}.")
    note, now = _checksum_file(path), _digest(path, "sha256")
    if note.exists() and note.read_text(encoding="utf-8").split()[:1] != [now]:
        raise ValueError(f"{str(path)!r} is not the file that was downloaded: its SHA-256 is {now}. Delete it first.")


def _digest(path: Path, kind: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


# --- reading -------------------------------------------------------------------------------------------------------


def located(name: str, part: str, folder: str | Path) -> tuple[Source, Path] | None:
    """(Source, path) of a dataset's "train" or "test" file in a folder, or None; one file for all is a "train" file."""
    for source in sources().get(name, []):
        path = Path(folder) / source.file
        if source.part in {"train": ("train", "all"), "test": ("test",)}[part] and path.is_file():
            return source, path
    return None


def original(name: str, part: str, folder: str | Path) -> tuple[Any, np.ndarray] | None:
    """(X, labels) of the file that `located` finds, with its checksum verified, or None."""
    found = located(name, part, folder)
    if found is None:
        return None
    source, path = found
    _verify(source, path)
    table = read_table(path, source.target or None)
    if not source.labels:
        return table.X, table.y
    numbers = dict(pair.split("=") for pair in source.labels.split())
    names = (label if isinstance(label, str) else f"{label:g}" for label in table.y)
    return table.X, np.array([float(numbers[label]) for label in names])
