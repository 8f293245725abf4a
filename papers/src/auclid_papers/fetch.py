"""The original files of LIBSVM and UCI: where they are, how to get them, and what is in them.

The standard library does the downloading: pooch would spare some fifty lines, but brings requests and six more packages
into everyone's install for the sake of one verb that is seldom used.
"""

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np

from auclid._hints import did_you_mean
from auclid.datasets import read_table
from auclid.datasets.catalogue import LIBSVM, UCI
from auclid.io import replacing

HOMES = {"libsvm": LIBSVM, "uci": f"{UCI}ml/machine-learning-databases/"}
CHUNK = 1 << 20
PATIENCE = 60.0
"""Seconds without a byte after which a download counts as broken."""


class Source(NamedTuple):
    """One original file: a table, or its training or test part."""

    dataset: str
    part: str  # "all", "train" or "test"
    address: str
    checksum: str = ""  # "md5:..." or "sha256:...", where one is known
    target: str = ""  # the column with the labels, of a file without a line of names
    labels: str = ""  # the experiments' numbers for labels, where they differ: "g=1 h=-1"

    @property
    def file(self) -> str:
        return urlsplit(self.address).path.rpartition("/")[2]


Sources = dict[str, list[Source]]
"""Files by the name of their table."""


@cache
def sources() -> Sources:
    """All files that can be fetched, by the name of their table.

    Examples
    --------
    >>> from auclid_papers.fetch import sources
    >>> [source.file for source in sources()["a9a"]]
    ['a9a', 'a9a.t']
    """
    found: Sources = {}
    text = (resources.files("auclid_papers") / "sources.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        home, _, place = row.pop("address").partition(":")
        found.setdefault(row["dataset"], []).append(Source(address=HOMES[home] + place, **row))
    return found


def fetch(
    names: Iterable[str],
    folder: str | Path,
    *,
    tell: Callable[[str], None] | None = None,
    catalogue: Sources | None = None,
) -> list[Path]:
    """Download the original files of some tables into a folder.

    A file takes its name only once it is whole and its checksum is right; its SHA-256 is then kept beside it in
    ``NAME.sha256``. A file that is there already is not downloaded again, so a broken run goes on where it stopped.

    Parameters
    ----------
    names : list of str
        Tables, by the names of `sources`.
    folder : str or path-like
        Where to; it is made where it does not exist.
    tell : callable, optional
        Called with a sentence for each file.
    catalogue : dict, optional
        Other sources, of the shape that `sources` returns.

    Returns
    -------
    list of Path
        The files, downloaded now or earlier.
    """
    catalogue = sources() if catalogue is None else catalogue
    wanted = [source for name in names for source in _known(name, catalogue)]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [_get(source, folder / source.file, tell or (lambda sentence: None)) for source in wanted]


def _known(name: str, catalogue: Sources) -> list[Source]:
    if name not in catalogue:
        hint = did_you_mean(name, catalogue, show=repr) or f"There are: {', '.join(sorted(catalogue))}."
        raise ValueError(f"NAME must be a table that can be fetched; got {name!r}. {hint}")
    return catalogue[name]


def _get(source: Source, path: Path, tell: Callable[[str], None]) -> Path:
    if path.exists():
        _same_as_before(source, path)
        tell(f"{path}: there already.")
        return path
    tell(f"{path}: from {source.address}.")
    digests = _digests(source)
    with replacing(path) as file:
        for chunk in _chunks(source):
            file.write(chunk)
            for digest in digests.values():
                digest.update(chunk)
        _right(source, digests, f"what came from {source.address}")
    _note(path).write_text(f"{digests['sha256'].hexdigest()}  {path.name}\n", encoding="utf-8")
    return path


def _chunks(source: Source) -> Iterator[bytes]:
    """The bytes of an address; one sentence says why where they do not come."""
    try:
        with urlopen(source.address, timeout=PATIENCE) as answer:
            size, came = answer.headers.get("Content-Length"), 0
            while chunk := answer.read(CHUNK):
                came += len(chunk)
                yield chunk
        if size is not None and came != int(size):
            raise HTTPException(f"it broke off after {came:,} of {int(size):,} bytes")
    except HTTPError as error:
        raise _failed(source, f"the server answered {error.code} {error.reason}") from None
    except URLError as error:
        raise _failed(source, error.reason) from None
    except (HTTPException, OSError) as error:
        raise _failed(source, error) from None


def _failed(source: Source, reason: object) -> ConnectionError:
    return ConnectionError(
        f"Cannot download {source.dataset!r} from {source.address}: {' '.join(str(reason).split())}. "
        f"Try again, or put the file {source.file!r} into the folder by hand."
    )


def _same_as_before(source: Source, path: Path) -> None:
    """Raise where a file is not the one of its checksum, or of the note beside it."""
    digests = _digests(source)
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            for digest in digests.values():
                digest.update(chunk)
    _right(source, digests, repr(str(path)))
    note, now = _note(path), digests["sha256"].hexdigest()
    if note.exists() and note.read_text(encoding="utf-8").split()[:1] != [now]:
        raise ValueError(f"{str(path)!r} is not the file that was downloaded: its SHA-256 is {now}. Delete it first.")


def _digests(source: Source) -> dict[str, Any]:
    kinds = {"sha256", *filter(None, [source.checksum.partition(":")[0]])}
    return {kind: hashlib.new(kind, usedforsecurity=False) for kind in kinds}


def _right(source: Source, digests: dict[str, Any], what: str) -> None:
    kind, _, known = source.checksum.partition(":")
    if known and digests[kind].hexdigest() != known:
        raise ValueError(
            f"{source.dataset!r} must have the {kind} checksum {known}; {what} has {digests[kind].hexdigest()}."
        )


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def located(
    name: str, part: str, folder: str | Path, *, catalogue: Sources | None = None
) -> tuple[Source, Path] | None:
    """(Source, path) of a table's original file in a folder, or None where it is not there.

    Parameters
    ----------
    name : str
        A table of `sources`.
    part : {"train", "test"}
        A table that comes in one piece is all training part.
    folder : str or path-like
    catalogue : dict, optional
        Other sources, of the shape that `sources` returns.
    """
    known = (sources() if catalogue is None else catalogue).get(name, [])
    wanted = {"train": ("train", "all"), "test": ("test",)}[part]
    found = ((source, Path(folder) / source.file) for source in known if source.part in wanted)
    return next((pair for pair in found if pair[1].is_file()), None)


def original(
    name: str, part: str, folder: str | Path, *, catalogue: Sources | None = None
) -> tuple[Any, np.ndarray] | None:
    """(X, labels) of a table's original file, its checksum verified, labels as numbers; takes what `located` takes."""
    found = located(name, part, folder, catalogue=catalogue)
    if found is None:
        return None
    source, path = found
    _same_as_before(source, path)
    table = read_table(path, source.target or None)
    return table.X, _coded(table.y, source.labels)


def _coded(y: np.ndarray, labels: str) -> np.ndarray:
    """Labels by the numbers that the experiments know them by."""
    if not labels:
        return y
    number = dict(pair.split("=") for pair in labels.split())
    return np.array([float(number[label if isinstance(label, str) else f"{label:g}"]) for label in y])
