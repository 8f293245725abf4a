"""Fitted models as expressions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from auclid.additive import Scorecard
from auclid.auto import AUCClassifier
from auclid.base import LinearRanker, Ranker
from auclid.baselines import threshold
from auclid.boost import RankBoost
from auclid.calibrated import Calibrated
from auclid.columns import Columns
from auclid.data import as_array
from auclid.errors import InvalidValueError, invalid_type, invalid_value
from auclid.exporters._columns import TRANSFORMERS, columns_features, input_columns, level_codes, parsed_numbers
from auclid.exporters._scorecards import card_columns, card_terms
from auclid.exporters.expression import (
    ColumnRef,
    Expression,
    KernelSum,
    LogOdds,
    Number,
    Piece,
    Piecewise,
    Score,
    TreeSum,
    affine,
    linear,
    total,
)
from auclid.kernels import Kernelized, KMeansNystroem, RandomFourier
from auclid.ordered._base import LinearOrderRanker
from auclid.pairwise import KernelRankSVM
from auclid.stats.odds import LINEAR_LOG_ODDS, LOG_ODDS_STEP, Odds
from auclid.trees.structs import Trees
from auclid.validation import last_step

CAN = (
    "linear rankers, Scorecard, RankBoost, Kernelized and KernelRankSVM (rbf, laplacian), AUCClassifier and Calibrated "
    "made of these, linear models of scikit-learn, and pipelines that begin with Columns or a scaler"
)
"""What can be exported, in words."""

Inputs = Sequence[Expression]


ORDER_CLASSES = np.array(["lower", "higher"])
"""What stands for classes where a model ranks ordered rows."""


def score_of(model: Any, names: Sequence[str] | None = None) -> Score:
    """The `Score` of a fitted model; ``names`` are those of its columns, where it was fitted to an array."""
    check_is_fitted(model)
    own = _own_names(model)
    inputs = tuple(_input_columns(model, _checked_names(model, own, names)))
    expression = raw_score(model, inputs)
    classes = getattr(model, "classes_", ORDER_CLASSES).tolist()
    return Score(
        expression, _log_odds_line(model), inputs, own is not None or names is not None,
        (classes[0], classes[1]), type(model).__name__, threshold(model),
    )  # fmt: skip


def _own_names(model: Any) -> list[str] | None:
    """The names of the columns of the frame that a model was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and isinstance(model, Pipeline):
        names = getattr(model.steps[0][1], "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _checked_names(model: Any, own: list[str] | None, given: Sequence[str] | None) -> list[str]:
    width = int(model.n_features_in_)
    if given is None:
        return own or [f"x{k}" for k in range(width)]
    if len(given) != width or len(set(given)) != width:
        raise invalid_value("export", "columns", f"be {width} different names", list(given))
    return [str(name) for name in given]


def _input_columns(model: Any, names: list[str]) -> list[ColumnRef]:
    """The columns of the table, as the first step that reads them does."""
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and not isinstance(step, str)]
        return _input_columns(steps[0], names)
    if isinstance(model, Calibrated):
        return _input_columns(model.ranker_, names)
    if isinstance(model, AUCClassifier):
        own = model.models_[0] if hasattr(model, "models_") else model
        return input_columns(own._columns, names)
    if isinstance(model, Columns):
        return input_columns(model, names)
    if isinstance(model, Scorecard):
        return [ColumnRef(name, each.kind) for name, each in zip(names, card_columns(model), strict=True)]
    return [ColumnRef(name) for name in names]


def raw_score(model: Any, inputs: Inputs) -> Expression:
    """What `decision_function` gives."""
    for kind, make in MODELS.items():
        if isinstance(model, kind):
            return make(model, inputs)
    raise invalid_type("export", "model", "be a model whose score can be written down", model, f"Exported are {CAN}.")


def _no_export(model: Any, why: str, hint: str = "") -> InvalidValueError:
    hint = hint or f"Exported are {CAN}."
    return InvalidValueError(f"{type(model).__name__} cannot be exported: {why}. {hint}")


# Models


def _linear(model: Any, inputs: Inputs) -> Expression:
    coef = np.asarray(model.coef_, dtype=np.float64)
    if coef.ndim != 2 or len(coef) != 1:
        raise _no_export(model, f"it has {len(coef)} scores a row", "Export a model of two classes.")
    return linear(inputs, coef[0].tolist(), float(np.ravel(model.intercept_)[0]))


def _pipeline(model: Pipeline, inputs: Inputs) -> Expression:
    for _, step in model.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        make = next((make for kind, make in TRANSFORMERS.items() if isinstance(step, kind)), None)
        if make is None:
            names = ", ".join(kind.__name__ for kind in TRANSFORMERS)
            why = f"its step {type(step).__name__} has no expression"
            raise _no_export(model, why, f"Exported are pipelines of {names} with a model.")
        inputs = make(step, inputs)
    return raw_score(model.steps[-1][1], inputs)


def _scorecard(model: Scorecard, inputs: Inputs) -> Expression:
    return total([card_terms(model, inputs), Number(float(model.intercept_[0]))])


def _rank_boost(model: RankBoost, inputs: Inputs) -> Expression:
    terms: list[Expression] = []
    for stump in model.stumps_:
        cut = float(np.nextafter(stump.threshold, np.inf))  # above the threshold, not at it
        alpha = float(stump.alpha)
        below, above = Piece(0.0, 0.0, 0.0), Piece(0.0, alpha, 0.0)
        cuts, pieces = ((cut,), (below, above)) if np.isfinite(cut) else ((), (below,))
        terms.append(Piecewise(inputs[stump.column], cuts, pieces, alpha if stump.missing else 0.0))
    return total([*terms, Number(float(np.ravel(model.intercept_)[0]))])


def _kernelized(model: Kernelized, inputs: Inputs) -> Expression:
    if not isinstance(model.ranker_, LinearRanker):
        raise _no_export(model, f"its ranker {type(model.ranker_).__name__} is not linear")
    feature_map = getattr(model.feature_map_, "estimator", model.feature_map_)
    intercept = Number(float(model.ranker_.intercept_[0]))
    return total([_kernel(model, feature_map, tuple(inputs)), intercept])


def _kernel(model: Kernelized, feature_map: Any, inputs: tuple[Expression, ...]) -> Expression:
    if isinstance(feature_map, RandomFourier):
        return _waves(feature_map, model.ranker_.coef_[0], inputs)
    if not isinstance(feature_map, KMeansNystroem) or feature_map.kernel not in ("rbf", "laplacian"):
        kernel = getattr(feature_map, "kernel", type(feature_map).__name__)
        raise _no_export(model, f"its map {kernel!r} has no expression; rbf and laplacian kernels have one")
    weights = feature_map._projection @ model.ranker_.coef_[0]
    centres = feature_map.landmarks_.astype(np.float64)
    return KernelSum(inputs, feature_map.kernel, centres, weights, float(feature_map.gamma_ or 1.0))


def _waves(feature_map: RandomFourier, w: np.ndarray, inputs: tuple[Expression, ...]) -> Expression:
    """Sines are cosines a quarter of a turn later."""
    theta, phases, count = feature_map.frequencies_.T, feature_map.phases_.astype(np.float64), feature_map.n_components
    rest = count - len(theta)
    centres = np.vstack([theta, theta[:rest]])
    angles = np.concatenate([phases, phases[:rest] - 0.5 * np.pi])
    return KernelSum(inputs, "cosine", centres, w * np.sqrt(2.0 / count), phases=angles)


def _kernel_rank_svm(model: KernelRankSVM, inputs: Inputs) -> Expression:
    support, beta = model.support_vectors_, model.dual_coef_[0]
    intercept = float(model.intercept_[0])
    if model.kernel == "linear":
        return linear(inputs, np.asarray(beta @ support).ravel().tolist(), intercept)
    if model.kernel not in ("rbf", "laplacian"):
        raise _no_export(model, f"its kernel {model.kernel!r} has no expression; linear, rbf and laplacian have one")
    centres = as_array(support).astype(np.float64)
    return total([KernelSum(tuple(inputs), model.kernel, centres, beta, float(model.gamma_ or 1.0)), Number(intercept)])


def _log_odds(odds: Odds, expression: Expression) -> LogOdds:
    return LogOdds(affine(expression, float(odds.slope), float(odds.offset)), LINEAR_LOG_ODDS, LOG_ODDS_STEP)


def _calibrated(model: Calibrated, inputs: Inputs) -> Expression:
    if not hasattr(model.ranker_, "decision_function"):
        raise _no_export(model, f"its ranker {type(model.ranker_).__name__} has no decision_function")
    return _log_odds(model._odds, raw_score(model.ranker_, inputs))


def _classifier(model: AUCClassifier, inputs: Inputs) -> Expression:
    if hasattr(model, "models_"):
        hint = "Export models_[k], which tells one class from the rest."
        raise _no_export(model, f"it has {len(model.classes_)} classes", hint)
    columns = model._columns
    scaled = columns_features(columns, inputs)
    plain = [*parsed_numbers(columns, inputs), *level_codes(columns, inputs)]
    terms = []
    for member in model.members_:
        expression = _member(member.model, plain if member.raw else scaled)
        share = member.weight / member.spread
        terms.append(affine(expression, share, -share * member.middle))
    return _log_odds(model._odds, total(terms))


def _member(model: Any, inputs: Inputs) -> Expression:
    """What a member adds: its score without the intercept of a ranker."""
    if isinstance(model, Trees):
        return TreeSum(tuple(inputs), model)
    expression = raw_score(model, inputs)
    if not isinstance(model, Ranker):
        return expression
    ranker = getattr(model, "ranker_", model)
    return total([expression, Number(-float(np.ravel(getattr(ranker, "intercept_", 0.0))[0]))])


MODELS: dict[type, Callable[[Any, Inputs], Expression]] = {
    Pipeline: _pipeline,
    Scorecard: _scorecard,
    RankBoost: _rank_boost,
    Kernelized: _kernelized,
    KernelRankSVM: _kernel_rank_svm,
    AUCClassifier: _classifier,
    Calibrated: _calibrated,
    LinearRanker: _linear,
    LinearOrderRanker: _linear,
    LinearClassifierMixin: _linear,
}
"""Models that can be exported."""


def _log_odds_line(model: Any) -> tuple[float, float] | None:
    """The slope and offset of the log-odds of the positive class as a line in the score, where the model has them."""
    if isinstance(model, Scorecard) and hasattr(model, "predict_proba"):
        slope = float(model._odds.slope)
        return slope, float(model._odds.offset) - slope * float(model.intercept_[0])
    is_log_odds = isinstance(model, AUCClassifier | Calibrated) or isinstance(last_step(model), LogisticRegression)
    return (1.0, 0.0) if is_log_odds else None
