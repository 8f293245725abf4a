"""`auclid.report`: one HTML file about one fitted model or several, with everything in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid._page import filled, header, named_row, with_ends
from auclid._page import page as whole_page
from auclid.baselines import threshold
from auclid.metrics import GroupAUC, auc_by_group
from auclid.metrics._scorer import scores_of
from auclid.reports._numbers import Numbers, Scored, differences, numbers
from auclid.reports._section import difference_section, group_section, script, section
from auclid.validation.rows import require_labels_to_score
from auclid.validation.vectors import both_classes, column, positives, same_length


def report(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    path: str | Path | None = None,
    *,
    groups: ArrayLike | None = None,
    by: ArrayLike | None = None,
    pos_label: Any = None,
    title: str | None = None,
) -> str:
    """Write an interactive report on fitted models: one HTML file that works offline.

    It has AUC and average precision with intervals, and for a threshold that one moves the confusion matrix,
    precision, recall, alerts and cost with intervals; curves to switch between (ROC, precision and recall, lift,
    calibration and net benefit); two models compared on the same rows; and the AUC of each group of rows where asked.

    Parameters
    ----------
    model : fitted classifier, or dict of them by name
        With `decision_function` or `predict_proba`. Calibration and net benefit need the latter.
    X : array, frame, CSR matrix or `Rows` of shape (n, d)
        Rows that the models have not learnt from.
    y : array-like of shape (n,), optional
        Their labels; the rows' own target where X is `Rows`.
    path : str or path, optional
        The file to write; None writes none.
    groups : array-like of shape (n,), optional
        Which rows belong together: intervals then allow for it.
    by : array-like of shape (n,), optional
        The group of each row, where the page is to show the AUC of each group with its interval, as
        `auclid.metrics.auc_by_group` measures it.
    pos_label : label, optional
        The positive label, where that is not the model's second class.
    title : str, optional
        The heading of the page; else the names of the models.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import auclid
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = auclid.LeastSquaresAUC().fit(X[::2], y[::2])
    >>> page = auclid.report(model, X[1::2], y[1::2])
    >>> page.startswith("<!doctype html>")
    True
    """
    models = model if isinstance(model, Mapping) else {type(model).__name__: model}
    if not models:
        raise ValueError("report expects one fitted model or more by name. Got none.")
    owner = "report"
    require_labels_to_score(owner, X, y)
    labels = column(owner, "y", X if y is None else y)
    is_pos = _positives(next(iter(models.values())), labels, pos_label)
    scored = [scored_model(str(name), each, X) for name, each in models.items()]
    for each in scored:
        same_length(owner, y=labels, scores=each.score)
    names = [str(each) for each in np.unique(labels).tolist()]
    pair = (names[0], names[-1]) if is_pos[labels == np.unique(labels)[-1]].any() else (names[-1], names[0])
    clusters = None if groups is None else column(owner, "groups", groups)
    by_group = [] if by is None else [auc_by_group(is_pos, each.score, by) for each in scored]
    page = render(is_pos, scored, pair, groups=clusters, by_group=by_group, title=title)
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page


def _positives(model: Any, labels: np.ndarray, pos_label: Any) -> np.ndarray:
    """Which rows are positive: those of a label, or of the model's second class."""
    classes: Any = getattr(model, "classes_", ())
    if pos_label is None and len(classes) == 2:
        pos_label = classes[1]
    is_pos = positives("report", labels, pos_label, "y")
    both_classes("report", labels, is_pos, pos_label)
    return is_pos


def scored_model(name: str, model: Any, X: Any) -> Scored:
    """Scores and, where the model has them, probabilities of some rows."""
    score = np.asarray(scores_of("report", model, X), dtype=np.float64)
    probability = np.asarray(model.predict_proba(X))[:, 1] if hasattr(model, "predict_proba") else None
    return Scored(name, score, probability, threshold(model))


def render(
    is_pos: np.ndarray,
    scored: list[Scored],
    classes: tuple[str, str],
    *,
    groups: np.ndarray | None = None,
    by_group: Sequence[GroupAUC] = (),
    title: str | None = None,
) -> str:
    """The page about scored rows; ``by_group`` has the AUCs by group of each model, or nothing."""
    models = [numbers(is_pos, each, groups) for each in scored]
    apart = ""
    if len(scored) > 1:
        found = differences(is_pos, scored[0], scored[1], groups)
        apart = difference_section(found, scored[0].name, scored[1].name)
    rows, n_pos = len(is_pos), int(is_pos.sum())
    allowed = "" if groups is None else f", allowing for rows that belong together ({len(np.unique(groups)):,} groups)"
    title = escape(title or " and ".join(each.name for each in scored))
    facts = f"{rows:,} rows, {n_pos:,} of them positive ({n_pos / rows:.2%}), label {escape(classes[1])}."
    body = filled(
        "report.html",
        header=header("auclid report", title, facts),
        summary="".join(_line(model) for model in models),
        how=allowed,
        prevalence=f"{n_pos / rows:.3g}",
        differences=apart,
        by_group="".join(group_section(found, each.name) for found, each in zip(by_group, scored, strict=False)),
        decisions=section(models, classes),
    )
    return whole_page(f"auclid report: {title}", body, script(models))


def _line(model: Numbers) -> str:
    """The line of a model in the table at the top."""
    figures = [with_ends(*model.auc[:3]), with_ends(*model.ap[:3]), "–", "–"]
    if model.brier is not None:
        fit = model.calibration
        figures[2:] = with_ends(*model.brier[:3]), with_ends(fit.slope, fit.slope_low, fit.slope_high)
    return named_row(model.name, figures, spare=(2, 3))
