"""report.html: one file with everything in it, readable on a phone, on paper, by day and by night."""

import re
from collections.abc import Container, Iterable
from html import escape
from importlib import resources
from string import Template
from typing import Any

import numpy as np

from auclid._page import style
from auclid._version import __version__
from auclid.additive._html import shape_figure, shape_title
from auclid.additive._plot import by_importance
from auclid.cli import plots
from auclid.cli.compare import HeldOutComparison, Row
from auclid.cli.verdict import likely, measured_by, question, signed
from auclid.metrics import lift_table
from auclid.reports import curves
from auclid.reports._numbers import Scored, numbers
from auclid.reports._section import data, script, section


def report(result: HeldOutComparison) -> str:
    """The page of a comparison, as text."""
    page = resources.files("auclid.cli") / "page"
    template = (page / "report.html").read_text("utf-8")
    rows, is_pos = result.ranked, result.data.is_pos[result.test]
    best, rival = result.best(ours=True), result.best(ours=False)
    scored = [Scored(f"{k + 1} {row.name}", row.scores, row.probabilities) for k, row in enumerate(rows)]
    found = [numbers(is_pos, each) for each in scored]
    models = [_model(k, row, is_pos) for k, row in enumerate(rows)]
    classes = result.data.classes[0], result.data.classes[1]
    return Template(template).substitute(
        style=style(),
        script=script(),
        source=escape(result.data.source),
        question=escape(question(result.max_fpr)),
        verdict=escape(result.verdict),
        measure=_measure(result),
        region=_region(result.max_fpr),
        facts=escape(_facts(result, is_pos)),
        leaderboard=_leaderboard(result.rows),
        roc=plots.roc_plot(is_pos, rows, best, rival, result.max_fpr) if rows else "",
        forest=plots.forest_plot(rows, rival, result.max_fpr) if rows else "",
        time=plots.time_plot(rows, result.max_fpr) if rows else "",
        explained=_explained(result),
        decisions=section(found, classes) if found else "",
        histograms="".join(model["histogram"] for model in models),
        alternatives="".join(model["alternatives"] for model in models),
        lift="".join(model["lift"] for model in models),
        data=data(found),
        positive=escape(result.data.classes[1]),
        negative=escape(result.data.classes[0]),
        notes="".join(f"<li>{escape(note)}</li>" for note in result.notes),
        version=escape(__version__),
    )


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
    lines = "".join(
        f'<tr><th scope="row" class="name">{escape(reason.name)}</th><td>{signed(reason.loss)}</td>'
        f"<td>{reason.spread:.4f}</td></tr>"
        for reason in result.reasons
    )
    shapes = "".join(
        f"<figure><h3>{escape(shape_title(shape))}</h3>{shape_figure(shape)}</figure>"
        for shape in by_importance(result.shapes)[:SHAPES]
    )
    return (
        f'<section class="wide"><h2>What {escape(best.name)} looks at</h2><div class="scroll"><table class="numbers">'
        f'<thead><tr><th class="name">column</th><th>{_measure(result)} lost when shuffled</th>'
        "<th>spread</th></tr></thead>"
        f'<tbody>{lines}</tbody></table></div><p class="caption">On rows that it has not learnt from, each column '
        "shuffled three times. Columns that say the same share what they are worth.</p>"
        f'<div class="shapes">{shapes}</div></section>'
    )


SHAPES = 6
"""Shapes of a scorecard that are shown."""


def _facts(result: HeldOutComparison, is_pos: np.ndarray) -> str:
    n, d = result.data.X.shape
    learnt = result.data.is_pos[result.train]
    return (
        f"{n:,} rows, {d:,} columns, {result.data.is_pos.mean():.2%} positive. "
        f"Learnt from {len(learnt):,} rows ({learnt.sum():,} positive), "
        f"measured on {len(is_pos):,} others ({is_pos.sum():,} positive). Seed {result.seed}."
    )


def _leaderboard(rows: list[Row]) -> str:
    return "".join(_failed(row) if row.trouble else _ranked(k + 1, row) for k, row in enumerate(rows))


def _ranked(number: int, row: Row) -> str:
    auc, low, high, _ = row.interval
    gap = "–" if row.gap is None else signed(row.gap.difference)
    pvalue = "" if row.gap is None else escape(likely(row.gap.pvalue))
    ap = f"{row.ap.ap:.4f} <small>{row.ap.low:.4f} – {row.ap.high:.4f}</small>"
    ap_pvalue = "" if row.ap_gap is None else escape(likely(row.ap_gap.pvalue))
    cells = f"{auc:.4f}", f"{low:.4f} – {high:.4f}", gap, pvalue, ap, ap_pvalue, f"{row.seconds:.3f}"
    return f"<tr>{_name(number, row)}{_cells(cells, spare=(2, 5, 6))}</tr>"


def _cells(texts: Iterable[str], spare: Container[int]) -> str:
    """Cells of a table; those numbered in ``spare`` are left out on a phone."""
    return "".join(f"<td{' class=spare' if k in spare else ''}>{text}</td>" for k, text in enumerate(texts))


def _failed(row: Row) -> str:
    return f'<tr>{_name("–", row)}<td class="trouble" colspan="7">failed: {escape(row.trouble)}</td></tr>'


def _breakable(name: str) -> str:
    """A name that a narrow screen may cut before its capitals, and nowhere else."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", escape(name))


def _name(number: int | str, row: Row) -> str:
    css = "ours" if row.ours else "rival"
    return f'<td class="{css}">{number}</td><th scope="row" class="{css}">{_breakable(row.name)}</th>'


def _model(number: int, row: Row, is_pos: np.ndarray) -> dict[str, str]:
    """What the page shows of one model besides its decisions: histogram, alternatives and lift."""
    curve = curves.roc(is_pos, row.scores)
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
    cells = f"{curve.threshold[at]:.4g}".replace("-", "−"), *rates, f"{flagged:,}"
    return f"<tr><th scope='row'>{escape(name)}</th>{_cells(cells, spare=(4,))}</tr>"


def _lift(is_pos: np.ndarray, scores: np.ndarray) -> str:
    """The very top of the list, and its tenths."""
    table = lift_table(is_pos, scores, top=curves.lift_ends(len(scores)))
    lines = []
    for k in range(len(table.top)):
        score, hits = f"{table.threshold[k]:.4g}".replace("-", "−"), f"{round(table.positives[k], 1):g}"
        cells = score, hits, f"{table.precision[k]:.1%}", f"{table.lift[k]:.2f}", f"{table.gain[k]:.1%}"
        lines.append(f"<tr><th scope='row'>{100 * table.top[k]:.3g}%</th>{_cells(cells, spare=(0,))}</tr>")
    return "".join(lines)


def _rate(count: float, total: float) -> str:
    """A share in percent, with Wilson's interval."""
    low, high = curves.wilson(count, total, curves.LEVEL)
    return f"{100 * count / total:.1f}<small>{100 * low:.1f}–{100 * high:.1f}</small>"
