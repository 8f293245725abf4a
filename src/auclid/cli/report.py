"""report.html: one file with everything in it, readable on a phone, on paper, by day and by night."""

import re
from collections.abc import Mapping
from html import escape
from importlib.util import find_spec
from io import StringIO
from typing import Any

import numpy as np

from auclid._hints import count_of
from auclid._page import cells, filled, named_row, number_table, with_ends
from auclid._page import page as whole_page
from auclid.additive._html import shape_figure, shape_title
from auclid.additive._shapes import by_importance
from auclid.cli import plots
from auclid.cli.compare import HeldOutComparison
from auclid.cli.verdict import Answer, likely, measured_by, signed
from auclid.comparison import ComparedModel, TableComparison
from auclid.metrics import lift_table
from auclid.metrics._rates import wilson
from auclid.metrics._roc import roc_curve
from auclid.plot import critical_difference
from auclid.reports import curves
from auclid.reports._numbers import Scored, numbers
from auclid.reports._section import script, section


def report(result: HeldOutComparison) -> str:
    """The page of a comparison, as text."""
    rows, is_pos = result.comparison.ranked, result.is_pos
    scored = [Scored(f"{k + 1} {row.name}", row.scores, row.probabilities) for k, row in enumerate(rows)]
    figures = [numbers(is_pos, each) for each in scored]
    models = [_model(k, row, is_pos) for k, row in enumerate(rows)]
    classes = result.data.classes[0], result.data.classes[1]
    body = filled(
        "compare.html",
        source=escape(result.data.source),
        answers=_answers(result.answers),
        tests=escape(_tests(result)),
        tuning=_TUNED if result.tune else _DEFAULTS,
        pooled=escape(_pooled(result)),
        measure=_measure(result),
        region=_region(result.max_fpr),
        facts=escape(_facts(result, is_pos)),
        leaderboard=_leaderboard(result.comparison.models),
        **_plots(result),
        blocks=_blocks(result),
        explained=_explained(result),
        decisions=section(figures, classes) if figures else "",
        histograms="".join(model["histogram"] for model in models),
        alternatives="".join(model["alternatives"] for model in models),
        lift="".join(model["lift"] for model in models),
        positive=escape(result.data.classes[1]),
        negative=escape(result.data.classes[0]),
        notes="".join(f"<li>{escape(note)}</li>" for note in result.notes),
    )
    return whole_page(f"auclid compare: {escape(result.data.source)}", body, script(figures))


def _plots(result: HeldOutComparison) -> dict[str, str]:
    """ROC curves, intervals and times of the models; nothing where none could be fitted."""
    rows, best, rival = result.comparison.ranked, result.best(ours=True), result.best(ours=False)
    if not rows:
        return {"roc": "", "forest": "", "time": ""}
    return {
        "roc": plots.roc_plot(result.is_pos, rows, best, rival, result.max_fpr),
        "forest": plots.forest_plot(rows, rival, result.max_fpr),
        "time": plots.time_plot(rows, result.max_fpr),
    }


def _answers(answers: list[Answer]) -> str:
    return "".join(f"<dt>{escape(each.question)}</dt><dd>{escape(each.text)}</dd>" for each in answers)


def _tests(result: HeldOutComparison) -> str:
    """How differences were tested."""
    if len(result.comparison.splits) == 1:
        return "Intervals and p-values of the AUC are DeLong's, those of the average precision by influence values."
    return (
        "AUC and average precision are means over splits. Intervals allow for the choice of test rows (LeDell), "
        "p-values for training rows that splits share (Nadeau and Bengio)."
    )


def _pooled(result: HeldOutComparison) -> str:
    """Where the scores of curves and thresholds come from, where there are several splits."""
    if len(result.comparison.splits) == 1:
        return ""
    return (
        " Curves, thresholds and lists below have one score of each row, from the first split that holds it out; "
        "since these come from several models, areas differ a little from the leaderboard's."
    )


_DEFAULTS = "Default parameters throughout, except for methods that tune themselves."
_TUNED = "Every model tried the same number of settings, except for methods that tune themselves."


def ranks_page(ranks: TableComparison, results: Mapping[str, HeldOutComparison]) -> str:
    """The page of several tables: mean ranks, and the leaderboard of each table."""
    after = "95 % interval", "against best baseline", "p", "average precision", "p", "fit, s"
    sections = "".join(
        f'<section class="wide"><h2>{escape(name)}</h2><p class="facts">{escape(_facts(each, each.is_pos))}</p>'
        f"{number_table(['', 'model', _measure(each), *after], _leaderboard(each.comparison.models))}</section>"
        for name, each in results.items()
    )
    lines = "".join(
        named_row(name, [f"{rank:.2f}", f"{aucs.mean():.4f}"])
        for name, rank, aucs in zip(ranks.names, ranks.ranks, ranks.aucs, strict=True)
    )
    body = filled(
        "ranks.html",
        count=len(ranks.tables),
        diagram=_diagram(ranks),
        difference=f"{ranks.critical_difference:.2f}",
        friedman="" if np.isnan(ranks.pvalue) else f" Friedman's test of all: p {likely(ranks.pvalue, '= ')}.",
        ranks=lines,
        tables=sections,
    )
    return whole_page(f"auclid compare: {len(ranks.tables)} tables", body)


def _diagram(ranks: TableComparison) -> str:
    """The critical-difference diagram as SVG, where matplotlib is installed."""
    if find_spec("matplotlib") is None:
        return "<p class=\"caption\">With matplotlib (pip install 'auclid[plot]') a diagram stands here.</p>"
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    critical_difference(ranks, ax=figure.add_subplot())
    height = 1.6 + 0.3 * len(ranks.names)
    figure.set_size_inches(8.0, height)
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return f"<figure>{svg[svg.index('<svg') :]}</figure>"


def _measure(result: HeldOutComparison) -> str:
    return "AUC" if result.max_fpr == 1.0 else "partial AUC"


def _region(max_fpr: float) -> str:
    """What the shaded part of the curves is."""
    if max_fpr == 1.0:
        return ""
    return (
        f" Shaded: the region that counts, left of a false positive rate of {max_fpr:g}. Models are ranked and "
        f"compared by {escape(measured_by(max_fpr))}, standardised so that guessing is 0.5 and a perfect ranking 1."
    )


def _explained(result: HeldOutComparison) -> str:
    """The columns that the best of ours looks at, and its shapes where it is a scorecard."""
    best = result.best(ours=True)
    if best is None or not result.reasons:
        return ""
    lines = [named_row(reason.name, [signed(reason.loss), f"{reason.spread:.4f}"]) for reason in result.reasons]
    heads = "column", f"{_measure(result)} lost when shuffled", "spread"
    shapes = "".join(
        f"<figure><h3>{escape(shape_title(shape))}</h3>{shape_figure(shape)}</figure>"
        for shape in by_importance(result.shapes)[:SHAPES]
    )
    return (
        f'<section class="wide"><h2>What {escape(best.name)} looks at</h2>{number_table(heads, lines)}'
        '<p class="caption">On rows that it has not learnt from, each column shuffled three times. Columns that say '
        "the same share what they are worth.</p>"
        f'<div class="shapes">{shapes}</div></section>'
    )


def _blocks(result: HeldOutComparison) -> str:
    """The best model over time."""
    if not result.blocks:
        return ""
    lines = []
    for each in result.blocks:
        figures = f"{each.rows:,}", f"{each.positives:,}", with_ends(*each.auc[:3]), with_ends(*each.ap[:3])
        lines.append(named_row(f"{each.start} to {each.end}", figures))
    heads = "tested on", "rows", "positives", "AUC", "average precision"
    return (
        f'<section class="wide"><h2>{escape(result.comparison.best.name)} over time</h2>{number_table(heads, lines)}'
        '<p class="caption">Each block after a model of all rows before it, with 95 % intervals.</p></section>'
    )


SHAPES = 6
"""Shapes of a scorecard that are shown."""


def _facts(result: HeldOutComparison, is_pos: np.ndarray) -> str:
    n, d = result.data.X.shape
    return (
        f"{count_of(n, 'row')}, {count_of(d, 'column')}, "
        f"{result.data.is_pos.mean():.2%} positive. Measured by {result.comparison.how}, on "
        f"{len(is_pos):,} rows ({is_pos.sum():,} positive). Seed {result.seed}."
    )


def _leaderboard(rows: list[ComparedModel]) -> str:
    return "".join(_failed(row) if row.trouble else _ranked(k + 1, row) for k, row in enumerate(rows))


def _ranked(number: int, row: ComparedModel) -> str:
    gap = "–" if row.gap is None else signed(row.gap.difference)
    pvalue = "" if row.gap is None else escape(likely(row.gap.pvalue))
    ap, seconds = with_ends(row.ap, row.ap_low, row.ap_high), f"{row.seconds:.3f}"
    ap_pvalue = "" if row.ap_gap is None else escape(likely(row.ap_gap.pvalue))
    figures = f"{row.auc:.4f}", f"{row.low:.4f} – {row.high:.4f}", gap, pvalue, ap, ap_pvalue, seconds
    return f"<tr>{_name(number, row)}{cells(figures, spare=(2, 5, 6))}</tr>"


def _failed(row: ComparedModel) -> str:
    return f'<tr>{_name("–", row)}<td class="trouble" colspan="7">failed: {escape(row.trouble)}</td></tr>'


def _breakable(name: str) -> str:
    """A name that a narrow screen may cut where one of its words begins with a capital, and nowhere else."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "<wbr>", escape(name))


def _name(number: int | str, row: ComparedModel) -> str:
    css = "rival" if row.is_baseline else "ours"
    return f'<td class="{css}">{number}</td><th scope="row" class="{css}">{_breakable(row.name)}</th>'


def _model(number: int, row: ComparedModel, is_pos: np.ndarray) -> dict[str, str]:
    """What the page shows of one model besides its decisions: histogram, alternatives and lift."""
    curve = roc_curve(is_pos, row.scores)
    choices = curves.alternatives(is_pos, row.scores, curve)
    chosen = choices[0][1]
    hidden = "" if number == 0 else " hidden"
    lines = "".join(_alternative(name, curve, at) for name, at in choices)
    return {
        "histogram": f'<div data-model="{number}"{hidden}>'
        f"{plots.histogram_plot(is_pos, row, curve.threshold[chosen])}</div>",
        "alternatives": f'<tbody data-model="{number}"{hidden}>{lines}</tbody>',
        "lift": f'<tbody data-model="{number}"{hidden}>{_lift(is_pos, row.scores)}</tbody>',
    }


def _alternative(name: str, curve: Any, at: int) -> str:
    flagged = curve.tp[at] + curve.fp[at]
    precision = f"{curve.tp[at] / flagged:.1%}" if flagged else "–"
    rates = _rate(curve.tp[at], curve.n_pos), _rate(curve.fp[at], curve.n_neg), precision
    figures = f"{curve.threshold[at]:.4g}".replace("-", "−"), *rates, f"{flagged:,}"
    return named_row(name, figures, spare=(4,))


def _lift(is_pos: np.ndarray, scores: np.ndarray) -> str:
    """The very top of the list, and its tenths."""
    table = lift_table(is_pos, scores, top=curves.lift_ends(len(scores)))
    lines = []
    for k in range(len(table.top)):
        score, hits = f"{table.threshold[k]:.4g}".replace("-", "−"), f"{round(table.positives[k], 1):g}"
        figures = score, hits, f"{table.precision[k]:.1%}", f"{table.lift[k]:.2f}", f"{table.gain[k]:.1%}"
        lines.append(named_row(f"{100 * table.top[k]:.3g}%", figures, spare=(0,)))
    return "".join(lines)


def _rate(count: float, total: float) -> str:
    """A share in percent, with Wilson's interval."""
    low, high = wilson(count, total, curves.LEVEL)
    return f"{100 * count / total:.1f}<small>{100 * low:.1f}–{100 * high:.1f}</small>"
