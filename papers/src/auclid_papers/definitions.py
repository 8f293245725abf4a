"""The definition of each experiment: read from its TOML file, and resolved for one dataset and one method."""

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from auclid.datasets import catalogue

Settings = dict[str, Any]

SETTINGS = {
    "split", "folds", "repeats", "test_size", "inner_folds", "scale", "dense", "max_rows", "train_rows", "test_rows",
    "tune_rows", "only", "positive", "grid", "fixed",
}  # fmt: skip
"""The settings that a protocol, a dataset, a method, or a method on one dataset may have.

A later one of these overrides an earlier one, but of several ``repeats`` the smallest is used (0 leaves a cell out),
and ``fixed`` parameters are merged. If ``scale`` is a list, inner folds choose from it, as from a grid.
"""


@dataclass(frozen=True)
class Dataset:
    """A dataset of an experiment and its binary task.

    ``missing`` says where a dataset that few users have is published. ``differs`` says how the available data differs
    from the paper's. If ``name`` is a sample, ``whole`` is the name of the whole dataset.
    """

    published: str
    name: str | None = None
    whole: str | None = None
    task: str = ""
    missing: str | None = None
    counted: bool = True
    reason: str = ""
    differs: str = ""
    note: str = ""
    settings: Settings = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        """Its name in a data folder; a ValueError if it is not available anywhere."""
        if self.name is None:
            raise ValueError(f"{self.published} cannot be run: {self.missing}.")
        return self.name

    def as_whole(self) -> "Dataset":
        """The whole dataset in place of a sample."""
        return replace(self, name=self.whole, whole=None, differs="") if self.whole else self


@dataclass(frozen=True)
class Method:
    """A column of a table: a method of the registry, or a baseline.

    ``published`` is None if the paper does not have it; ``make`` is its name in the registry if that is another one.
    """

    name: str
    published: str | None = None
    make: str | None = None
    ours: bool = True
    settings: Settings = field(default_factory=dict)
    on: dict[str, Settings] = field(default_factory=dict)

    @property
    def registry_name(self) -> str:
        """The name to build it by."""
        return self.make or self.name


@dataclass(frozen=True)
class Experiment:
    """One table of a paper (or two from the same runs) or one figure."""

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
    beside: tuple[str, ...] = ()  # the experiments whose cells it runs with other settings
    form: str = "as published"  # the name of these settings
    extra: tuple[str, ...] = ()  # columns of results that other tables do not have

    @property
    def kind(self) -> str:
        """ "table", "curve" or "box"."""
        return self.figure.get("kind", "table")

    @property
    def source(self) -> str:
        """The id of the experiment that has its results: its own, except for a figure of a table's times."""
        return self.sweep.get("of", self.id)

    def dataset(self, published: str) -> Dataset:
        """The dataset with this published name."""
        return next(d for d in self.datasets if d.published == published)

    def method(self, name: str) -> Method:
        """The method with this name."""
        return next(m for m in self.methods if m.name == name)

    def settings(self, dataset: Dataset, method: Method, quick: bool = False) -> Settings:
        """The protocol of a method on a dataset; a quick one also limits ``grid_size``."""
        merged: dict[str, Any] = {"grid": {}, "fixed": {}}
        for part in (self.protocol, dataset.settings, method.settings, method.on.get(dataset.published, {})):
            repeats = min(part.get("repeats", np.inf), merged.get("repeats", np.inf))
            merged |= {**part, "fixed": merged["fixed"] | part.get("fixed", {}), "repeats": repeats}
        if quick:
            for name, most in {"grid_size": 4, **self.quick}.items():
                merged[name] = most if merged.get(name) is None else min(merged[name], most)
        return merged

    def protocol_hash(self, dataset: Dataset, method: Method, quick: bool = False) -> str:
        """Eight hexadecimal digits that identify the protocol of a cell: data, method and settings."""
        settings = {"data": dataset.name, "method": method.registry_name, "sweep": self.sweep}
        settings |= self.settings(dataset, method, quick)
        split = settings["split"]
        unused = {"folds": ("holdout", "given"), "test_size": ("folds", "given"), "repeats": (split,)}
        kept = {key: value for key, value in settings.items() if value and split not in unused.get(key, ())}
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:8]

    def runs(self, dataset: Dataset, method: Method, quick: bool = False) -> int:
        """The number of train/test runs of a method on a dataset."""
        settings = self.settings(dataset, method, quick)
        return settings["repeats"] * (settings["folds"] if settings["split"] == "folds" else 1)

    def cell_notes(self, dataset: Dataset, method: str | None, metric: str = "auc") -> list[str]:
        """The notes on one cell."""
        return [note["note"] for note in self._notes_on(dataset, method, metric)]

    def miss(self, dataset: Dataset, method: str | None, metric: str = "auc") -> str:
        """Why the value of a cell is missed, in a few words; an empty string if no note says it."""
        return next((note["miss"] for note in self._notes_on(dataset, method, metric) if "miss" in note), "")

    def _notes_on(self, dataset: Dataset, method: str | None, metric: str) -> list[Settings]:
        cell = (("datasets", dataset.published), ("methods", method), ("metrics", metric))
        return [note for note in self.notes if all(value in note.get(key, [value]) for key, value in cell)]


RANGE = re.compile(r"(\d+)\^\[(-?\d+):(?:(\d+):)?(-?\d+)\](?: ([*/]) length(\^2)?)?")


def grid_values(text: str | Sequence[float], length: float = 1.0) -> list[float]:
    """The values of a grid: a list, or a range of powers as papers write it, such as "2^[-10:10]" or "2^[-10:3:10]".

    A range followed by ``/ length^2`` or the like is scaled by the data: ``length`` is the root mean square of the
    Euclidean norms of the training rows.

    Examples
    --------
    >>> from auclid_papers.definitions import grid_values
    >>> grid_values("10^[-2:1]"), grid_values("2^[0:3:6]"), grid_values([1, 5])
    ([0.01, 0.1, 1.0, 10.0], [1.0, 8.0, 64.0], [1, 5])
    >>> grid_values("2^[0:1] / length^2", length=2.0)
    [0.25, 0.5]
    """
    if not isinstance(text, str):
        return list(text)
    match = RANGE.fullmatch(text)
    if not match:
        raise ValueError(f"A grid must be a list or a range of powers like '2^[-10:10] / length^2'; got {text!r}.")
    base, low, step, high, sign, squared = match.groups()
    power = {None: 0, "*": 1, "/": -1}[sign] * (2 if squared else 1)
    return [float(base) ** k * float(length) ** power for k in range(int(low), int(high) + 1, int(step or 1))]


# --- reading -------------------------------------------------------------------------------------------------------


def package_text(name: str) -> str:
    """The text of a data file of this package."""
    return (resources.files("auclid_papers") / name).read_text(encoding="utf-8")


@cache
def shared_datasets() -> dict[str, Settings]:
    """What all experiments have in common about a dataset, by its published name."""
    return tomllib.loads(package_text("datasets.toml"))


def _dataset(entry: Settings) -> Dataset:
    entry = shared_datasets().get(entry["published"], {}) | entry
    for table in catalogue():
        if table.name == entry.get("name"):
            entry = {"task": table.positive, "positive": list(table.labels)} | entry
    return _with_settings(Dataset, entry)


def _with_settings(kind: Any, entry: Settings) -> Any:
    """A Dataset or Method whose ``settings`` are the entries that are `SETTINGS`."""
    own = {name: value for name, value in entry.items() if name not in SETTINGS}
    return kind(settings={name: value for name, value in entry.items() if name in SETTINGS}, **own)


def parse(name: str, text: str) -> Experiment:
    """An experiment from the text of its TOML file."""
    entries = tomllib.loads(text)
    datasets = tuple(_dataset(entry) for entry in entries.pop("datasets"))
    methods = tuple(_with_settings(Method, entry) for entry in entries.pop("methods"))
    covers = tuple((entry["table"], entry["metric"]) for entry in entries.pop("covers", []))
    lists: dict[str, Any] = {key: tuple(entries.pop(key, [])) for key in ("notes", "beside", "extra")}
    return Experiment(name, datasets=datasets, methods=methods, covers=covers, **lists, **entries)


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by id, tables before figures.

    Examples
    --------
    >>> from auclid_papers import experiments
    >>> experiments()["spam-2"].covers
    (('2', 'auc'),)
    """
    names = sorted(path.name for path in (resources.files("auclid_papers") / "tables").iterdir())
    parsed = [parse(name.removesuffix(".toml"), package_text(f"tables/{name}")) for name in names]
    return {one.id: one for one in sorted(parsed, key=lambda one: one.kind != "table")}


def experiment(name: str) -> Experiment:
    """The experiment of an id, or of a table it covers: "khalid-4.4" is part of "khalid-4.3"."""
    by_name = {f"{one.paper.lower()}-{table}": one for one in experiments().values() for table, _ in one.covers}
    by_name |= experiments()
    if name not in by_name:
        hint = nearest(name, by_name)
        raise ValueError(f"TABLE must be an id that `auclid experiments list` shows; got {name!r}.{hint}")
    return by_name[name]


def nearest(name: str, names: Iterable[str]) -> str:
    """A question with the most similar name, or an empty string if there is none."""
    similar = difflib.get_close_matches(name, list(names), n=1, cutoff=0.4)
    return f" Did you mean {similar[0]!r}?" if similar else ""
