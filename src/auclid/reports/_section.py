"""The interactive section of a report: a threshold and what it does, curves, one model or two."""

from collections.abc import Mapping
from html import escape

import numpy as np

from auclid._page import embedded_json, filled, named_row, number_table, read, signed, with_ends
from auclid.metrics import GroupAUC
from auclid.metrics._results import Comparison
from auclid.reports._charts import VIEWS, charts
from auclid.reports._numbers import COSTS, PER, RATES, Numbers

CUT_ROWS = {**RATES, "alerts": f"Rows flagged of {PER:,}", "cost": f"Cost of {PER:,} rows, in false alarms"}
"""Lines of the table of rates."""


def script(models: list[Numbers]) -> str:
    """The script of the section; before it stands a constant, the numbers that it looks up."""
    return f"const models = {_json(models)};\n{read('decisions.js')}"


def _json(models: list[Numbers]) -> str:
    """The numbers of models, as JSON."""
    found = []
    for model in models:
        columns = model.data()
        columns["cell_alerts"] = [[None if x is None else PER * x for x in row] for row in columns["alert_rate"]]
        found.append(columns)
    return embedded_json(found)


def section(models: list[Numbers], classes: tuple[str, str]) -> str:
    """The section, filled in for the first model, so that it can be read without a script."""
    first = models[0]
    drawn = charts(models)
    absent = "" if "calibration" in drawn else " No model here has probabilities, so there is no calibration curve."
    return filled(
        "decisions.html",
        options="".join(f'<option value="{k}">{escape(model.name)}</option>' for k, model in enumerate(models)),
        purposes="".join(f'<option value="{k}">{escape(name)}</option>' for k, (name, _) in enumerate(first.choices)),
        prices="".join(f'<option value="{price}"{" selected" * (price == 10)}>{price}</option>' for price in COSTS),
        summary=escape(_summary(first)),
        rows=f"{first.curve.n_pos + first.curve.n_neg:,.0f}",
        matrix=_matrix(first, classes),
        first=escape(first.name),
        rates="".join(_rate(first, name, title) for name, title in CUT_ROWS.items()),
        views="".join(_radio(view) for view in drawn),
        figures="".join(f'<figure data-figure="{view}">{svg}</figure>' for view, svg in drawn.items()),
        absent=absent,
    )


def difference_section(found: Mapping[str, Comparison], first: str, second: str) -> str:
    """Two models compared on the same rows, and in a sentence which differences are more than chance."""
    lines = []
    for what, each in found.items():
        gap, low, high = map(signed, each[:3])
        models = [f"{each.estimate_a:.4f}", f"{each.estimate_b:.4f}"]
        lines.append(named_row(what, [*models, f"{gap} <small>{low} – {high}</small>", f"{each.pvalue:.2g}"]))
    return (
        f'<section class="wide"><h2>{escape(first)} against {escape(second)}</h2>'
        f"<p>{escape(describe_differences(found))}</p>"
        f"{number_table(['measure', first, second, 'difference', 'p'], lines)}"
        '<p class="caption">Paired on the same rows; 95 % intervals.</p></section>'
    )


def group_section(found: GroupAUC, name: str) -> str:
    """The AUC of each group with its interval, and of the positives of each against the negatives of each."""
    lines = []
    for (group, one), row in zip(found.intervals.items(), found.table, strict=True):
        counts = f"{one.n_positive:,}", f"{one.n_negative:,}"
        lines.append(named_row(str(group), [with_ends(*one[:3]), *counts, *(f"{auc:.4f}" for auc in row)]))
    heads = ["group", "AUC", "positives", "negatives", *(f"against {group}" for group in found.intervals)]
    return (
        f'<section class="wide"><h2>{escape(name)} by group</h2><p>{escape(describe_groups(found))}</p>'
        f"{number_table(heads, lines)}"
        '<p class="caption">AUC within each group, with 95 % intervals; "against": its positives and the negatives '
        "of that group. P-values allow for the choice of the pair.</p></section>"
    )


def describe_groups(found: GroupAUC) -> str:
    """The two groups that differ most, and the pair of groups that is ranked worst."""
    gap, worst = found.gap, found.worst
    return (
        f"Most different: {gap.first} and {gap.second}, {signed(gap.comparison.difference)} AUC "
        f"(p = {gap.comparison.pvalue:.2g}). Ranked worst: positives of {worst.first} against negatives of "
        f"{worst.second}, AUC {worst.auc:.4f}, {signed(worst.comparison.difference)} to all rows "
        f"(p = {worst.comparison.pvalue:.2g})."
    )


def describe_differences(found: Mapping[str, Comparison]) -> str:
    """Which of AUC and average precision differs by more than chance."""
    said = []
    for what in ("AUC", "average precision"):
        pvalue = found[what].pvalue
        said.append(f"{what} {'differs' if pvalue < 0.05 else 'does not differ significantly'} (p = {pvalue:.2g})")
    return "; ".join(said) + "."


def _radio(view: str) -> str:
    checked = " checked" if view == "roc" else ""
    return f'<label><input type="radio" name="view" value="{view}"{checked}> {VIEWS[view]}</label> '


def _summary(model: Numbers) -> str:
    """One sentence on what the first threshold does; the script says the same of others."""
    flagged = PER * model.columns["alert_rate"][model.start]
    tp, fp, fn = (model.columns[f"cell_{cell}"][model.start][0] for cell in ("tp", "fp", "fn"))
    return (
        f"Of {PER:,} rows {_count(flagged[0])} are flagged ({_count(flagged[1])} – {_count(flagged[2])}): {_count(tp)} "
        f"positives and {_count(fp)} false alarms. {_count(fn)} positives are missed."
    )


def _matrix(model: Numbers, classes: tuple[str, str]) -> str:
    at = model.stops[model.start]
    tp, fp = int(model.curve.tp[at]), int(model.curve.fp[at])
    negative, positive = (escape(str(name)) for name in classes)
    return (
        f"<tr><th scope='row'>is {positive}</th><td id='tp' class='right'>{tp:,}</td>"
        f"<td id='fn' class='wrong'>{model.curve.n_pos - tp:,.0f}</td></tr>"
        f"<tr><th scope='row'>is {negative}</th><td id='fp' class='wrong'>{fp:,}</td>"
        f"<td id='tn' class='right'>{model.curve.n_neg - fp:,.0f}</td></tr>"
    )


def _rate(model: Numbers, name: str, title: str) -> str:
    column = {"alerts": "alert_rate", "cost": "cost_10"}.get(name, name)
    triple = model.columns[column][model.start] * (PER if name == "alerts" else 1.0)
    show = _count if name in ("alerts", "cost") else _plain if name in ("lift", "f1") else _percent
    value, low, high = (show(x) for x in triple)
    return (
        f'<tr data-metric="{name}"><th scope="row">{title}</th><td>{value} <small>{low} – {high}</small></td>'
        "<td hidden></td></tr>"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if np.isfinite(share) else "–"


def _plain(number: float) -> str:
    return f"{number:.3g}" if np.isfinite(number) else "–"


def _count(number: float) -> str:
    """A number of rows to three digits."""
    return f"{float(f'{number:.3g}'):,g}" if np.isfinite(number) else "–"
