"""The `auclid` command."""

import sys


def main() -> None:
    """Run the command; says what to install where typer or rich are missing."""
    try:
        import rich
        import typer
    except ImportError as error:
        missing = error.name or "typer"
        print(f"auclid: the command needs {missing}: pip install 'auclid[cli]'", file=sys.stderr)
        sys.exit(2)
    del rich, typer
    from auclid.cli._app import app

    app(prog_name="auclid")
