"""What a comparison says: which model to take, how good it will be, how sure that is, and whether the loss mattered."""

from typing import TYPE_CHECKING, Any, NamedTuple

from auclid._hints import joined
from auclid._page import signed

if TYPE_CHECKING:  # what is only named must not be imported for a list of methods, or for help
    import numpy as np

    from auclid.comparison import ComparedModel, ModelComparison
    from auclid.metrics import PairComparison

SIGNIFICANCE = 0.05

AUTO = "AUCClassifier"
"""The model that `auclid fit` makes: a blend, of models with several losses."""


MAX_NAMES = 6
"""Models that a sentence names, at the most."""


class Answer(NamedTuple):
    """A question that a reader has, and its answer."""

    question: str
    text: str


def measured_by(max_fpr: float = 1.0) -> str:
    """What models are ranked by: the AUC, or its part on the left."""
    return "AUC" if max_fpr == 1.0 else f"partial AUC up to a false-positive rate of {max_fpr:g}"


def question(max_fpr: float = 1.0) -> str:
    """What the verdict answers."""
    return f"Does optimising {measured_by(max_fpr)} pay on this table?"


def answers(comparison: "ModelComparison", is_pos: "np.ndarray", max_fpr: float = 1.0) -> list[Answer]:
    """Which model to take, how good it will be, how sure that is, and whether the loss made the difference."""
    if not comparison.ranked:
        return [Answer("Which model?", "None: no model could be fitted.")]
    best, pairs = comparison.best, comparison.against(comparison.best.name)
    return [
        Answer("Which model?", _which(comparison, pairs)),
        Answer("How good will it be?", _how_good(best, float(is_pos.mean()), max_fpr)),
        Answer("How sure is that?", _how_sure(comparison, is_pos, pairs)),
        Answer(question(max_fpr), f"{verdict(comparison, max_fpr)} {like_for_like(comparison)}".rstrip()),
    ]


def _which(comparison: "ModelComparison", pairs: "list[PairComparison]") -> str:
    """The best model, those that do not differ measurably from it, and which of them all leads by average precision."""
    equal = [pair.b for pair in pairs if pair.pvalue >= SIGNIFICANCE]
    if not equal:
        return f"{comparison.best.name}."
    told = (
        f"{comparison.best.name}; {_listed(equal)} {'does' if len(equal) == 1 else 'do'} not differ measurably from it."
    )
    top = max((m for m in comparison.ranked if m.name in {comparison.best.name, *equal}), key=lambda model: model.ap)
    return (
        told
        if top is comparison.best
        else f"{told} Of these {top.name} has the highest average precision, {top.ap:.4f}."
    )


def _how_good(best: "ComparedModel", prevalence: float, max_fpr: float) -> str:
    measure = measured_by(max_fpr)
    told = f"{measure} {best.auc:.4f} (95 % interval {best.low:.4f} to {best.high:.4f})"
    if max_fpr == 1.0:
        told += f": of 100 pairs of a positive and a negative row it ranks {100 * best.auc:.0f} right"
    ap = f"Average precision {best.ap:.4f} ({best.ap_low:.4f} to {best.ap_high:.4f}; {prevalence:.4f} is guessing)"
    return f"{told}. {ap}. This holds for rows like these."


def _how_sure(comparison: "ModelComparison", is_pos: "np.ndarray", pairs: "list[PairComparison]") -> str:
    rows = f"{len(comparison.rows):,} rows with {int(is_pos[comparison.rows].sum()):,} positives"
    told = f"Measured on {rows} that the models had not learnt from, by {comparison.how}."
    beaten = [pair for pair in pairs if pair.adjusted < SIGNIFICANCE]
    if not pairs:
        return told
    if not beaten:
        return f"{told} It is not measurably better than any of the others."
    nearest = beaten[0]
    return (
        f"{told} It is measurably better than {_listed([pair.b for pair in beaten])}: by {signed(nearest.difference)} "
        f"(95 % interval {signed(nearest.low)} to {signed(nearest.high)}) or more, p "
        f"{likely(max(pair.adjusted for pair in beaten), equals='≤ ')} allowing for {len(pairs)} tests."
    )


def _listed(names: list[str]) -> str:
    """Names in a sentence; of many the first ones, and how many others there are."""
    if len(names) > MAX_NAMES:
        names = [*names[: MAX_NAMES - 1], f"{len(names) - MAX_NAMES + 1} others"]
    return joined(names)


def verdict(comparison: "ModelComparison", max_fpr: float = 1.0) -> str:
    """Whether the best method that optimises AUC ranks better than the best baseline.

    AUCClassifier, a blend of models with several losses, is left aside where there is another of ours. P-values allow
    for the number of models that were compared with the best baseline.
    """
    mine = [model for model in comparison.ranked if not model.is_baseline]
    rivals = [model for model in comparison.ranked if model.is_baseline]
    if not mine:
        return "No verdict: none of our methods could be fitted."
    if not rivals:
        return f"No verdict: there is no baseline to compare {mine[0].name} with."
    best = next((model for model in mine if model.name != AUTO), mine[0])
    gap, rival = best.gap, rivals[0]
    assert gap is not None
    figures = _figures(gap, measured_by(max_fpr))
    if gap.adjusted >= SIGNIFICANCE:
        return (
            f"Not measurably: {best.name}, the best of ours, and {rival.name}, the best baseline, "
            f"do not differ significantly {figures}."
        )
    if gap.difference > 0.0:
        return f"Yes: {best.name} ranks better than the best baseline, {rival.name} {figures}."
    return f"No: {rival.name} ranks better than the best of ours, {best.name} {figures}."


def _figures(gap: "PairComparison", measure: str) -> str:
    told = f"{signed(gap.difference)} {measure}, 95 % interval {signed(gap.low)} to {signed(gap.high)}"
    told += f", p {likely(gap.pvalue, equals='= ')}"
    allowed = f", or {likely(gap.adjusted)} allowing for the number of models"
    return f"({told}{allowed if gap.adjusted > gap.pvalue and gap.pvalue < SIGNIFICANCE else ''})"


def like_for_like(comparison: "ModelComparison") -> str:
    """Whether the loss made the difference: linear models that optimise AUC against linear models that do not."""
    linear = [model for model in comparison.ranked if _is_linear(model.fitted)]
    mine, rival = (next((model for model in linear if model.is_baseline == side), None) for side in (False, True))
    if mine is None or rival is None:
        return ""
    gap = next(pair for pair in comparison.against(mine.name, correction="none") if pair.b == rival.name)
    loss = "the loss made a difference" if gap.pvalue < SIGNIFICANCE else "the loss made no measurable difference"
    figures = f"{signed(gap.difference)}, p {likely(gap.pvalue, equals='= ')}"
    return f"Among linear models, which differ in little else, {loss} ({mine.name} against {rival.name}: {figures})."


def _is_linear(fitted: Any) -> bool:
    """Whether the scores of a fitted model, after its columns were prepared, are a linear function."""
    last = fitted[-1] if hasattr(fitted, "steps") else fitted
    return hasattr(getattr(last, "best_estimator_", last), "coef_")


def by_average_precision(comparison: "ModelComparison") -> list[str]:
    """What average precision says of the best of ours and the best baseline, and whether that is what the AUC says."""
    best, rival = (next((m for m in comparison.ranked if m.is_baseline == side), None) for side in (False, True))
    if best is None or rival is None or best.gap is None or best.ap_gap is None:
        return []
    gap = best.ap_gap
    figures = f"{best.ap:.4f} against {rival.ap:.4f}, p {likely(gap.pvalue, equals='= ')}"
    of_auc, of_ap = (each.pvalue < SIGNIFICANCE for each in (best.gap, gap))
    if of_auc and of_ap:
        same = (best.gap.difference > 0.0) == (gap.difference > 0.0)
        told = "both differ, and in the same direction" if same else "both differ, in opposite directions"
    else:
        told = {
            (True, False): "only the AUC differs by more than chance",
            (False, True): "only the average precision differs by more than chance",
        }.get((of_auc, of_ap), "neither differs by more than chance")
    return [f"Average precision of {best.name} and {rival.name}: {figures}; of AUC and average precision, {told}."]


def likely(pvalue: float, equals: str = "") -> str:
    """A p-value as people write it."""
    return f"{equals}{pvalue:.2g}" if pvalue >= 1e-4 else "< 0.0001"
