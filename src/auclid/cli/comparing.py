"""`auclid compare`: read one table or several, compare, write the report, and say what came out."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from auclid.cli import _show, models
from auclid.cli._show import OURS, THEIRS, airy_table, escape
from auclid.cli.compare import HeldOutComparison, Protocol, TimeBlock
from auclid.cli.compare import compare as compared
from auclid.cli.data import BinaryTable, Options, embedded_table, load_table, open_task, with_test_rows
from auclid.cli.paths import check_ending, check_paths
from auclid.cli.report import ranks_page, report
from auclid.cli.settings import own_settings
from auclid.cli.tables import TABLE_ENDINGS, check_writer, write_columns
from auclid.cli.verdict import SIGNIFICANCE, Answer, likely, signed
from auclid.comparison import ComparedModel, ModelComparison, TableComparison
from auclid.comparison._ranks import ranked_tables
from auclid.errors import DataError
from auclid.io import replacing


class Outputs(NamedTuple):
    """The files that a comparison writes."""

    report: Path
    table: Path | None = None

    def check(self, reads: dict[str, Path | None]) -> None:
        """Refuse files that are read, and endings that are not written."""
        check_paths(reads, {"--output": self.report, "--table": self.table})
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
    outputs.write(report(result), {table.source: result.comparison})
    _tell_comparison(result)
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
    comparisons = {name: result.comparison for name, result in results.items()}
    ranks = ranked_tables(comparisons)
    outputs.write(ranks_page(ranks, results), comparisons)
    for result in results.values():
        _tell_comparison(result)
    _tell_ranks(ranks)
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
    return f"auclid fit {' '.join(map(shlex.quote, words))} --model model.auclid{_behind(best, result.comparison.best)}"


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


# What is printed


def _tell_comparison(result: HeldOutComparison) -> None:
    """The leaderboard, the notes and the answers."""
    measure = "AUC" if result.max_fpr == 1.0 else "partial AUC"
    table = airy_table("model", measure, "95 % interval", "gap", "p", "AP", "fit, s")
    table.columns[0].no_wrap = False  # in a narrow terminal names fold; figures never do
    table.columns[0].overflow = "fold"
    table.title = f"Measured on {len(result.comparison.rows):,} rows, by {result.comparison.how}"
    for model in result.comparison.models:
        name = f"[{THEIRS if model.is_baseline else OURS}]{escape(model.name)}[/]"
        table.add_row(name, *(["failed"] if model.trouble else _figures(model)))
    Console().print(table)
    colours = f"[{OURS}]Ours[/] and [{THEIRS}]baselines[/]. " if Console().color_system else ""
    test = "DeLong's" if len(result.comparison.splits) == 1 else "Nadeau and Bengio's"
    _show.say(f"{colours}The gap is to the best baseline; p is {test}, paired. AP: average precision.")
    _show.say("A fit is timed in seconds of one processor, after one on a few rows: compiling is not counted.")
    if result.blocks:
        _tell_blocks(result.comparison.best.name, result.blocks)
    _show.remarks([*result.notes, *(f"{m.name} failed: {m.trouble}" for m in result.comparison.models if m.trouble)])
    _show.say("")
    for answer in result.answers:
        _show.say(f"[bold]{escape(answer.question)}[/] {escape(answer.text)}")


def _tell_blocks(name: str, blocks: list[TimeBlock]) -> None:
    """The AUC and the average precision of a model over time."""
    table = airy_table("from", "rows", "positives", "AUC (95 %)", "AP (95 %)")
    table.title = f"{escape(name)} over time, until {blocks[-1].end}"
    for block in blocks:
        auc, ap = block.auc, block.ap
        figures = f"{auc.auc:.4f} ({auc.low:.2f}–{auc.high:.2f})", f"{ap.ap:.4f} ({ap.low:.2f}–{ap.high:.2f})"
        table.add_row(block.start, f"{block.rows:,}", f"{block.positives:,}", *figures)
    Console().print(table)


def _tell_ranks(ranks: TableComparison) -> None:
    """Mean ranks over several tables, and which models differ."""
    table = airy_table("model", "mean rank", "mean AUC")
    table.title = f"Mean ranks over {len(ranks.tables)} tables"
    for name, rank, aucs in zip(ranks.names, ranks.ranks, ranks.aucs, strict=True):
        table.add_row(escape(name), f"{rank:.2f}", f"{aucs.mean():.4f}")
    Console().print(table)
    friedman = "" if ranks.pvalue != ranks.pvalue else f"; Friedman's test of all: p {likely(ranks.pvalue, '= ')}"
    apart = f"{ranks.critical_difference:.2f} apart"
    _show.say(f"Mean ranks less than {apart} do not differ significantly (Nemenyi){friedman}.")


def _figures(model: ComparedModel) -> tuple[str, ...]:
    gap = ("", "") if model.gap is None else (signed(model.gap.difference), likely(model.gap.pvalue))
    interval = f"[dim]{model.low:.4f}–{model.high:.4f}[/dim]"
    return f"{model.auc:.4f}", interval, *gap, f"{model.ap:.4f}", f"{model.seconds:.3f}"
