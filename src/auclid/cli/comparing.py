"""`auclid compare`: read one table or several, compare, write the report, and say what came out."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auclid.cli import _show, models
from auclid.cli._show import escape
from auclid.cli.compare import HeldOutComparison, Protocol
from auclid.cli.compare import compare as compared
from auclid.cli.data import BinaryTable, Options, embedded_table, load_table, open_task, with_test_rows
from auclid.cli.paths import check_ending, check_paths
from auclid.cli.predictions import TABLE_ENDINGS, check_writer, write_columns
from auclid.cli.report import ranks_page, report
from auclid.cli.settings import own_settings
from auclid.cli.verdict import SIGNIFICANCE, Answer
from auclid.comparison import ComparedModel, ModelComparison
from auclid.comparison._ranks import ranked_tables
from auclid.errors import DataError
from auclid.io import replacing


class Outputs(NamedTuple):
    """The files that a comparison writes."""

    report: Path
    table: Path | None = None

    def check(self, reads: dict[str, Path | None]) -> None:
        """Refuse files that are read, and endings that are not written."""
        check_paths(reads, {"--output": self.report} | ({} if self.table is None else {"--table": self.table}))
        check_ending("--output", self.report, (".html", ".htm"))
        if self.table is not None:
            check_ending("--table", self.table, TABLE_ENDINGS)
            check_writer(self.table)

    def write(self, page: str, comparisons: Mapping[str, ModelComparison]) -> None:
        """Write the page, and the table of all models where one is asked for."""
        with replacing(self.report, "w") as file:
            file.write(page)
        if self.table is not None:
            _write_table(self.table, [(name, model) for name, each in comparisons.items() for model in each.models])

    def tell(self) -> None:
        """Say where the files are."""
        _show.say(escape(f"Report: {self.report}"))
        if self.table is not None:
            _show.say(escape(f"Table: {self.table}"))


class Contestants(NamedTuple):
    """The names of our methods, none for those that suit, and of the baselines."""

    methods: list[str]
    against: list[str]


def compare(
    data: Sequence[Path], how: Options, chosen: Contestants, protocol: Protocol, outputs: Outputs, test: Path | None
) -> None:
    """Compare methods and baselines on the same rows of each table."""
    outputs.check({"--test": test} | {f"DATA ({path})" if len(data) > 1 else "DATA": path for path in data})
    _check_sources(data, test, how)
    models.refuse_unknown(chosen.methods, chosen.against)
    if len(data) > 1:
        compare_several(data, how, chosen, protocol, outputs)
        return
    table = load_table(open_task(data[0], how), how) if data else embedded_table()
    table = table if test is None else with_test_rows(table, test, how)
    result = _run(table, how, chosen, protocol)
    result.answers.insert(-1, Answer("What next?", _next_line(data[0] if data else None, how, result)))
    outputs.write(report(result), {table.source: result.found})
    _show.comparison(result)
    outputs.tell()


def _check_sources(data: Sequence[Path], test: Path | None, how: Options) -> None:
    """Refuse files and options that do not go together."""
    if not data and (test is not None or how.time is not None):
        raise DataError("DATA must be given with --test and --time.")
    if test is not None and (how.time is not None or len(data) > 1):
        option = "--time" if how.time is not None else "Several tables"
        raise DataError(f"{option} must be used without --test: a file of its own says which rows to test on.")


def compare_several(
    data: Sequence[Path], how: Options, chosen: Contestants, protocol: Protocol, outputs: Outputs
) -> None:
    """Compare on each table, then by mean ranks over all of them."""
    tables = [load_table(open_task(path, how), how) for path in data]
    if not chosen.methods:
        suited = [models.sensible(table.X)[0] for table in tables]
        chosen = chosen._replace(methods=[name for name in suited[0] if all(name in each for each in suited)])
    results = {table.source: _run(table, how, chosen, protocol) for table in tables}
    comparisons = {name: result.found for name, result in results.items()}
    ranks = ranked_tables(comparisons)
    outputs.write(ranks_page(ranks, results), comparisons)
    for result in results.values():
        _show.comparison(result)
    _show.ranks(ranks)
    outputs.tell()


def _run(table: BinaryTable, how: Options, chosen: Contestants, protocol: Protocol) -> HeldOutComparison:
    _show.introduce(table.source, table.X.shape, table.is_pos.mean(), table.classes[1])
    if protocol.budget is not None:
        _show.say(f"At most about {protocol.budget:.0f} s for the comparison (--budget).")
    with _show.progress() as tell:
        return compared(
            table, *chosen, tell=tell, seed=how.seed, protocol=protocol, max_fpr=how.max_fpr, settings=how.settings
        )


def _next_line(data: Path | None, how: Options, result: HeldOutComparison) -> str:
    """The line that keeps the best of ours."""
    if data is None:
        return "auclid compare DATA --target NAME, with a table of your own."
    best = result.best(ours=True)
    method = "auto" if best is None or best.name == "AUCClassifier" else best.name
    chosen = [
        ("--target", how.target),
        ("--positive", how.positive),
        *(("--drop", name) for name in how.drop),
        ("--drop", how.time),
        ("--method", method),
        *(("--set", setting) for setting in own_settings(how.settings, method)),
        ("--max-fpr", f"{result.max_fpr:g}" if models.aims(method, result.max_fpr) else None),
    ]
    words = [str(data), *(word for name, value in chosen if value is not None for word in (name, value))]
    return f"auclid fit {' '.join(map(shlex.quote, words))} --model model.auclid{_behind(best, result.found.best)}"


def _behind(ours: ComparedModel | None, top: ComparedModel) -> str:
    """How far the best of ours is behind a baseline, where that is better."""
    if ours is None or not top.is_baseline:
        return ""
    measurable = ours.gap is not None and ours.gap.adjusted < SIGNIFICANCE
    return f" (the best of ours, {'' if measurable else 'not '}measurably behind {top.name})"


def _write_table(path: Path, rows: list[tuple[str, ComparedModel]]) -> None:
    """One line for each model on each table."""
    lines = [{"table": source, **_record(model)} for source, model in rows]
    columns: dict[str, np.ndarray] = {}
    for name, value in lines[0].items():
        columns[name] = np.array([line[name] for line in lines], dtype=object if isinstance(value, str) else float)
    write_columns(path, [columns])


def _record(model: ComparedModel) -> dict[str, Any]:
    """The figures of a model."""
    gap = model.gap
    compared = (np.nan,) * 5 if gap is None else (gap.difference, gap.low, gap.high, gap.pvalue, gap.adjusted)
    names = "gap", "gap_low", "gap_high", "p", "adjusted_p"
    return {
        "model": model.name, "kind": "baseline" if model.is_baseline else "auclid",
        "auc": model.auc, "auc_low": model.low, "auc_high": model.high,
        "average_precision": model.ap, "ap_low": model.ap_low, "ap_high": model.ap_high,
        **dict(zip(names, compared, strict=True)), "fit_seconds": model.seconds, "trouble": model.trouble,
    }  # fmt: skip
