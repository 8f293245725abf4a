"""Does optimising AUC pay on this table? One sentence, whichever way it comes out."""

from collections.abc import Sequence
from typing import Any

from auclid._page import signed

SIGNIFICANCE = 0.05


def measured_by(max_fpr: float = 1.0) -> str:
    """What models are ranked by: the AUC, or its part on the left."""
    return "AUC" if max_fpr == 1.0 else f"partial AUC up to a false-positive rate of {max_fpr:g}"


def question(max_fpr: float = 1.0) -> str:
    """What the verdict answers."""
    return f"Does optimising {measured_by(max_fpr)} pay on this table?"


def verdict(rows: Sequence[Any], max_fpr: float = 1.0) -> str:
    """The sentence for rows, best first, each with its paired test against the best baseline.

    The best of several methods on the same test rows looks better than it is, so a p-value counts only after
    multiplication by the number of methods the best was chosen from (Bonferroni).
    """
    measured = [row for row in rows if not row.trouble]
    mine, rivals = [row for row in measured if row.ours], [row for row in measured if not row.ours]
    if not mine:
        return "No verdict: none of our methods could be fitted."
    if not rivals:
        return f"No verdict: there is no baseline to compare {mine[0].name} with."
    best, rival, gap = mine[0], rivals[0], mine[0].gap
    times = len(mine) if gap.difference > 0.0 else len(rivals)
    pvalue = min(1.0, times * gap.pvalue)
    figures = f"({signed(gap.difference)} {measured_by(max_fpr)}, 95 % interval {signed(gap.low)} to {signed(gap.high)}"
    allowed = f", p {likely(gap.pvalue, equals='= ')}"
    if times > 1 and gap.pvalue < SIGNIFICANCE:
        allowed += f", or {likely(pvalue)} allowing for the {times} it was chosen from"
    if pvalue >= SIGNIFICANCE:
        return (
            f"Not measurably: {best.name}, the best of ours, and {rival.name}, the best baseline, "
            f"cannot be told apart on these test rows {figures}{allowed})."
        )
    if gap.difference > 0.0:
        return f"Yes: {best.name} ranks better than the best baseline, {rival.name} {figures}{allowed})."
    return f"No: {rival.name} ranks better than the best of ours, {best.name} {figures}{allowed})."


def likely(pvalue: float, equals: str = "") -> str:
    """A p-value as people write it."""
    return f"{equals}{pvalue:.2g}" if pvalue >= 1e-4 else "< 0.0001"
