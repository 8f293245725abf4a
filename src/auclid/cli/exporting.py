"""`auclid export`: a model file as code in another language."""

from pathlib import Path
from typing import Any

import typer

from auclid._hints import joined
from auclid.cli import _show
from auclid.cli._show import escape
from auclid.cli.paths import check_paths
from auclid.cli.saved import SavedModel
from auclid.errors import DataError
from auclid.exporters import export as exported
from auclid.io import replacing
from auclid.ordered._meta import ranks_order

EXPORT_FORMATS = {".sql": "sql", ".onnx": "onnx", ".pmml": "pmml", ".json": "json", ".py": "python"}
"""What an ending asks for."""


def export(model: Path, output: Path | None, to: str, **of_sql: Any) -> None:
    """Write, or print, the code of a model; ``of_sql`` are keywords of `auclid.export` for SQL."""
    of_sql = {name: value for name, value in of_sql.items() if value}
    to = _format(output, to, list(of_sql))
    check_paths({"MODEL": model}, {"--output": output})
    saved = SavedModel.open(model, ordered=True)
    written = exported(saved.estimator, to=to, columns=saved.names, **of_sql)
    if output is None:
        typer.echo(written)
        return
    with replacing(output, "wb") as file:
        file.write(written.encode("utf-8") if isinstance(written, str) else written)
    meaning = "the higher a row is ranked" if ranks_order(saved.estimator) else f"the more likely {saved.positive}"
    _show.say(escape(f"{to}: {output}; the higher the score, {meaning}."))


def _format(output: Path | None, to: str, of_sql: list[str]) -> str:
    """What to write, which must suit the output and the other options."""
    to = to or ("sql" if output is None else _by_ending(output))
    if output is None and to == "onnx":
        raise DataError("--output must name a file for ONNX, which is not text.")
    if to != "sql" and of_sql:
        names = ", ".join(f"--{name}" for name in of_sql)
        raise DataError(f"{names} must be used with SQL; got {to}. Leave it out: other formats hold all that there is.")
    return to


def _by_ending(output: Path) -> str:
    to = EXPORT_FORMATS.get(output.suffix.lower())
    if to is None:
        endings = joined(EXPORT_FORMATS, "or")
        raise DataError(f"--output must end in {endings}, or --to must say what to write; got {str(output)!r}.")
    return to
