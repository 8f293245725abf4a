"""Sub-commands that other distributions add to `auclid` through the entry-point group ``auclid.commands``."""

from importlib.metadata import entry_points
from typing import Any

import typer.main

GROUP = "auclid.commands"

DISTRIBUTIONS = {"experiments": "auclid-papers"}
"""Our own sub-commands that are not part of the package auclid, and the distribution that has them."""


def names() -> list[str]:
    """The sub-commands that are installed."""
    return sorted({found.name for found in entry_points(group=GROUP)})


def command(name: str) -> Any:
    """The sub-command of a name, as click knows it, or None.

    Raises
    ------
    ImportError
        If it is one of ours and its distribution is not installed.
    """
    for found in entry_points(group=GROUP, name=name):
        group = typer.main.get_group(found.load())
        group.name = name
        return group
    if name in DISTRIBUTIONS:
        package = DISTRIBUTIONS[name]
        raise ImportError(
            f"`auclid {name}` needs the package {package}: `pip install {package}`, or `pip install ./papers` in a "
            "checkout of auclid."
        )
    return None
