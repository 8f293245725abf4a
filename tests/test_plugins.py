"""Other packages add sub-commands to `auclid` through entry points."""

from importlib.metadata import EntryPoint

import pytest

typer = pytest.importorskip("typer")
from typer.testing import CliRunner  # noqa: E402

from auclid.cli import _plugins  # noqa: E402
from auclid.cli._app import app  # noqa: E402

guest = typer.Typer(help="A guest.", no_args_is_help=True)


@guest.command()
def greet(name: str) -> None:
    """Greet somebody."""
    if name == "nobody":
        raise ValueError("NAME must be somebody.")
    typer.echo(f"Hello, {name}")


@guest.command()
def leave() -> None:
    """Go."""


def installed(monkeypatch, *points):
    """Let the environment have these entry points and no others."""

    def entry_points(group, name=None):
        return [point for point in points if point.group == group and name in (None, point.name)]

    monkeypatch.setattr(_plugins, "entry_points", entry_points)


def run(*words):
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, " ".join(done.output.split())


def test_a_sub_command_of_another_package_is_listed_and_run(monkeypatch):
    installed(monkeypatch, EntryPoint("guest", f"{__name__}:guest", "auclid.commands"))
    code, told = run("--help")
    assert code == 0 and "A guest." in told and "evaluate" in told
    assert run("guest", "greet", "Ada") == (0, "Hello, Ada")
    code, told = run("guest", "greet", "nobody")
    assert code == 2 and told.endswith("NAME must be somebody.")


def test_experiments_without_their_package_say_what_to_install(monkeypatch):
    installed(monkeypatch)
    code, told = run("experiments", "list")
    assert code == 2
    assert "`auclid experiments` needs the package auclid-papers: `pip install auclid-papers`" in told
    assert "experiments" not in run("--help")[1]
    code, told = run("nonsense")
    assert code == 2 and "No such command" in told
