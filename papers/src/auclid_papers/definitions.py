"""What a table or figure of a paper is: read from its TOML file, checked, and resolved for one dataset and method."""

import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from auclid._hints import did_you_mean
from auclid.datasets import catalogue

Settings = dict[str, Any]

SETTINGS = {
    "split", "folds", "repeats", "test_size", "inner_folds", "scale", "dense", "max_rows", "train_rows", "test_rows",
    "tune_rows", "only", "positive", "grid", "fixed",
}  # fmt: skip
"""What a protocol, a dataset, a method or a method on a dataset may set.

The later of these wins, but of repeats the fewest do (none leave a cell out), and fixed parameters add up. Where
``scale`` is a list, inner folds choose from it, as from a grid.
"""


@dataclass(frozen=True)
class Dataset:
    """A table of data in an experiment, and the binary task made of it.

    ``missing`` says where a table is published that few have at hand; without a ``name`` it cannot be fetched either.
    ``differs`` says how what is at hand differs from what the paper had.
    """

    published: str
    name: str | None = None
    task: str = ""
    missing: str | None = None
    counted: bool = True
    reason: str = ""
    differs: str = ""
    note: str = ""
    settings: Settings = field(default_factory=dict)

    @property
    def known_name(self) -> str:
        """Its name in a folder of data; an error where it has none."""
        if self.name is None:
            raise ValueError(f"{self.published} cannot be run: {self.missing}.")
        return self.name


@dataclass(frozen=True)
class Method:
    """A column of a table: a method of the registry, or a baseline; ``published`` is None for those the paper lacks.

    ``make`` is the registry's name where the column goes by another one.
    """

    name: str
    published: str | None = None
    make: str | None = None
    ours: bool = True
    settings: Settings = field(default_factory=dict)
    on: dict[str, Settings] = field(default_factory=dict)

    @property
    def built(self) -> str:
        """The name to build it by."""
        return self.make or self.name


@dataclass(frozen=True)
class Experiment:
    """One table (or two of the same runs) or one figure of a paper."""

    id: str
    title: str
    paper: str
    reference: str
    full: str
    reduced: str
    datasets: tuple[Dataset, ...]
    methods: tuple[Method, ...]
    protocol: Settings = field(default_factory=dict)
    quick: Settings = field(default_factory=dict)
    covers: tuple[tuple[str, str], ...] = ()
    notes: tuple[Settings, ...] = ()
    figure: Settings = field(default_factory=dict)
    sweep: Settings = field(default_factory=dict)
    beside: tuple[str, ...] = ()  # the tables whose cells it runs in another way
    form: str = "as published"  # that way
    extra: tuple[str, ...] = ()  # what it measures that other tables do not

    @property
    def kind(self) -> str:
        """ "table", "curve" or "box"."""
        return self.figure.get("kind", "table")

    @property
    def source(self) -> str:
        """The id of the experiment whose runs it is drawn from: its own, but for a figure of a table's times."""
        return self.sweep.get("of", self.id)

    def dataset(self, published: str) -> Dataset:
        """The dataset of a published name."""
        return next(d for d in self.datasets if d.published == published)

    def settings(self, dataset: Dataset, method: Method, quick: bool = False) -> Settings:
        """The protocol as it holds for a method on a dataset; quick ones have a ``grid_size`` too."""
        parts = [self.protocol, dataset.settings, method.settings, method.on.get(dataset.published, {})]
        merged: dict[str, Any] = {"grid": {}, "fixed": {}}
        for part in parts:
            fewest = min(part.get("repeats", np.inf), merged.get("repeats", np.inf))
            merged |= {**part, "fixed": merged["fixed"] | part.get("fixed", {}), "repeats": fewest}
        if quick:
            for name, most in {"grid_size": 4, **self.quick}.items():
                known = merged.get(name)
                merged[name] = most if known is None else min(known, most)
        return merged

    def protocol_of(self, dataset: Dataset, method: Method, quick: bool = False) -> str:
        """Eight letters that tell one protocol from another: what is said of a cell, not what its data holds."""
        told = {"data": dataset.name, "method": method.built, "sweep": self.sweep}
        told |= self.settings(dataset, method, quick)
        useless = {"folds": ("holdout", "given"), "test_size": ("folds", "given"), "repeats": (told["split"],)}
        told = {key: value for key, value in told.items() if value and told["split"] not in useless.get(key, ())}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:8]

    def runs(self, dataset: Dataset, method: Method, quick: bool = False) -> int:
        """How many train/test runs a method makes on a dataset."""
        how = self.settings(dataset, method, quick)
        return how["repeats"] * (how["folds"] if how["split"] == "folds" else 1)

    def note(self, dataset: Dataset, method: str | None, metric: str = "auc") -> str:
        """What is to be said beside a figure: of the dataset, and of this very cell."""
        return " ".join(filter(None, [dataset.differs, dataset.note, *self.reasons(dataset, method, metric)]))

    def reasons(self, dataset: Dataset, method: str | None, metric: str = "auc") -> list[str]:
        """The notes of this very cell."""
        asked = (("datasets", dataset.published), ("methods", method), ("metrics", metric))
        return [note["note"] for note in self.notes if all(value in note.get(key, [value]) for key, value in asked)]


RANGE = re.compile(r"(\d+)\^\[(-?\d+):(?:(\d+):)?(-?\d+)\](?: ([*/]) length(\^2)?)?")


def values(said: str | Sequence[float], length: float = 1.0) -> list[float]:
    """The values of a grid: a list, or a range of powers as papers write it, such as "2^[-10:10]" or "2^[-10:3:10]".

    Behind a range, ``/ length^2`` and the like make it one of the data's own scale: ``length`` is the root mean square
    of the lengths of the training rows.

    Examples
    --------
    >>> from auclid_papers.definitions import values
    >>> values("10^[-2:1]"), values("2^[0:3:6]"), values([1, 5])
    ([0.01, 0.1, 1.0, 10.0], [1.0, 8.0, 64.0], [1, 5])
    >>> values("2^[0:1] / length^2", length=2.0)
    [0.25, 0.5]
    """
    if not isinstance(said, str):
        return list(said)
    found = RANGE.fullmatch(said)
    if not found:
        raise ValueError(f"A grid must be a list or a range of powers like '2^[-10:10] / length^2'; got {said!r}.")
    base, low, step, high, sign, squared = found.groups()
    power = {None: 0, "*": 1, "/": -1}[sign] * (2 if squared else 1)
    return [float(base) ** k * float(length) ** power for k in range(int(low), int(high) + 1, int(step or 1))]


def thinned(grid: list, most: int | None) -> list:
    """At most so many values, evenly chosen, the ends among them."""
    if not most or len(grid) <= most:
        return grid
    return [grid[k] for k in np.unique(np.linspace(0, len(grid) - 1, most).round().astype(int))]


def _settings(entry: Settings) -> Settings:
    return {name: entry.pop(name) for name in list(entry) if name in SETTINGS}


@cache
def _shared() -> dict[str, Settings]:
    """What all experiments say of a table of data, by its published name, unless one of them says otherwise."""
    return tomllib.loads((resources.files("auclid_papers") / "datasets.toml").read_text(encoding="utf-8"))


def _dataset(entry: Settings) -> Dataset:
    entry = _shared().get(entry["published"], {}) | entry
    table = next((table for table in catalogue() if table.name == entry.get("name")), None)
    if table is not None:
        entry = {"task": table.positive, "positive": list(table.labels)} | entry
    return Dataset(settings=_settings(entry), **entry)


def _method(entry: Settings) -> Method:
    return Method(settings=_settings(entry), **entry)


def parse(name: str, text: str) -> Experiment:
    """An experiment from the text of its TOML file."""
    told = tomllib.loads(text)
    datasets = tuple(_dataset(entry) for entry in told.pop("datasets"))
    methods = tuple(_method(entry) for entry in told.pop("methods"))
    covers = tuple((entry["table"], entry["metric"]) for entry in told.pop("covers", []))
    lists: dict[str, Any] = {key: tuple(told.pop(key, [])) for key in ("notes", "beside", "extra")}
    return Experiment(name, datasets=datasets, methods=methods, covers=covers, **lists, **told)


def _files() -> list[Traversable]:
    folder = resources.files("auclid_papers") / "tables"
    return sorted((path for path in folder.iterdir() if path.name.endswith(".toml")), key=lambda path: path.name)


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by id, tables before figures.

    Examples
    --------
    >>> from auclid_papers import experiments
    >>> experiments()["spam-2"].covers
    (('2', 'auc'),)
    """
    found = [parse(path.name.removesuffix(".toml"), path.read_text(encoding="utf-8")) for path in _files()]
    return {one.id: one for one in sorted(found, key=lambda one: one.kind != "table")}


def experiment(name: str) -> Experiment:
    """The experiment of an id, or of a table that it covers: "khalid-4.4" is answered by the runs of "khalid-4.3"."""
    known = {f"{one.paper.lower()}-{table}": one for one in experiments().values() for table, _ in one.covers}
    known |= experiments()
    if name not in known:
        hint = did_you_mean(name, known, cutoff=0.4)
        raise ValueError(f"TABLE must be an id that `auclid experiments list` shows; got {name!r}. {hint}".rstrip())
    return known[name]
