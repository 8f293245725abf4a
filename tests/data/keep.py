"""Writes the kept model files of this folder. Run it for a new release, and keep the files of older ones.

A folder is named by the version that wrote it. Of each model it has the file as it was after half of the rows, its
scores then, and the scores after it went on to the rest of the stream where it is one.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder

import auclid
from auclid import penalties, schedules

HERE = Path(__file__).parent

KINDS = {
    **dict.fromkeys(["OAM", "KMeansNystroem", "KernelRankSVM", "QSGS2AUC", "PNUAUC"], ("dense", "sparse")),
    "Columns": ("dense", "sparse", "mixed"),
    "Scorecard-pairs": ("pairs",),
    **dict.fromkeys(["OrderedRanker", "OrderedRanker-hinge"], ("levels",)),
    **dict.fromkeys(["SurvivalRanker", "SurvivalRanker-hinge"], ("times",)),
}
"""The tables on which a model is kept, where it is not the dense one only."""

EVENT_AND_TIME = [("event", bool), ("time", float)]


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Sixty rows of two classes, with zeros for the sparse ones among the models."""
    rng = np.random.default_rng(7)
    y = np.arange(60) % 3 == 0
    X = rng.normal(size=(60, 3)) + y[:, None]
    return np.where(rng.random(X.shape) < 0.2, 0.0, X), np.where(y, "yes", "no")


def tables(said: Mapping[str, np.ndarray]) -> dict[str, tuple[Any, np.ndarray]]:
    """Kind to rows and labels, of the arrays that ``kept.npz`` has."""
    X, y = said["X"], said["y"]
    mixed = X.astype(object)
    mixed[5, 1] = 1e4
    mixed[:, 2] = np.where(X[:, 2] > 0.5, "high", np.where(X[:, 2] > 0.0, "low", "none"))
    rng = np.random.default_rng(8)
    pairs = rng.normal(size=(240, 3)) if "pairs" not in said else said["pairs"]
    return {
        "dense": (X, y),
        "sparse": (sparse.csr_array(X), y),
        "mixed": (mixed, y),
        "levels": (X, np.digitize(X[:, 0], [0.0, 1.0])),
        "times": (X, np.array(list(zip(X[:, 1] > 0.0, np.exp(-X[:, 0]), strict=True)), dtype=EVENT_AND_TIME)),
        "pairs": (pairs, pairs[:, 0] * pairs[:, 1] > 0.0),
    }


def models() -> Iterator[tuple[str, Any]]:
    """Name and estimator: each class, and each parameter that gives its state another shape."""
    exported = {name: getattr(auclid, name) for name in auclid.__all__}
    for name, cls in exported.items():
        if isinstance(cls, type) and issubclass(cls, BaseEstimator) and name != "Kernelized":
            yield name, cls()
    yield "SPAM-structs", auclid.SPAM(penalty=penalties.ElasticNet(1e-3, 1e-3), schedule=schedules.Power(0.1, 0.5))
    yield "SPAM-harmonic", auclid.SPAM(penalty=penalties.Ball(5.0), schedule=schedules.Harmonic(1.0, 1.0))
    yield "OPAUCr", auclid.OPAUC(rank=2, step=0.01)
    yield "CBR-diagonal", auclid.CBR(covariance="diagonal", buffer="reservoir", buffer_size=5)
    yield "Kernelized", auclid.Kernelized(auclid.KMeansNystroem(8, kernel="polynomial"))
    yield "Fourier-OAM", auclid.Kernelized(auclid.RandomFourier(8), auclid.OAM(buffer_size=5))
    yield "AUCClassifier-trees", auclid.AUCClassifier(methods=["boosting"], cv=2)
    yield "AUCClassifier-network", auclid.AUCClassifier(methods=["network"], cv=2)
    yield "AUCClassifier-few", auclid.AUCClassifier(methods=["LeastSquaresAUC", "logistic"], cv=2)
    yield "Scorecard-pairs", auclid.Scorecard(n_knots=4, interactions=1)
    yield "OrderedRanker-hinge", auclid.OrderedRanker("squared_hinge")
    yield "SurvivalRanker-hinge", auclid.SurvivalRanker("squared_hinge")
    yield "Scorecard-edited", auclid.Scorecard(n_knots=4, interactions=0)
    yield "pipeline", make_pipeline(MaxAbsScaler(), auclid.LeastSquaresAUC(alpha=0.01))
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    yield "scikit-learn", make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2))


def seeded(model: Any) -> Any:
    """The model with every random_state set, and few landmarks and iterations."""
    params = model.get_params()
    seeds = {name: 0 for name in params if name.split("__")[-1] == "random_state"}
    small = {"n_components": 8, "n_iter": 20, "batch_size": 8, "n_estimators": 5}
    small = {name: small[name.split("__")[-1]] for name in params if name.split("__")[-1] in small}
    return model.set_params(**seeds, **small)


def scores(model: Any, X: Any) -> np.ndarray:
    """What a model says of rows."""
    for name in ("decision_function", "transform"):
        if hasattr(model, name):
            answer = getattr(model, name)(X)
            return answer.toarray() if sparse.issparse(answer) else np.asarray(answer)
    raise AssertionError(f"{model} gives no numbers")


def resumed(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """What it says after the rest of the stream, if it can go on."""
    if hasattr(model, "partial_fit") and getattr(model, "loss", "square") != "squared_hinge":
        half = X.shape[0] // 2
        model.partial_fit(X[half:], y[half:])
    return scores(model, X)


def keep(folder: Path) -> None:
    """Fit, save, and keep what the models say."""
    X, y = rows()
    folder.mkdir(exist_ok=True)
    kept = {"X": X, "y": y}
    kept["pairs"] = tables(kept)["pairs"][0]
    for name, model in models():
        for kind in KINDS.get(name, ("dense",)):
            table, labels = tables(kept)[kind]
            half = table.shape[0] // 2
            grown = seeded(clone(model))
            whole = kind == "pairs" or name.endswith("-hinge")  # only fit finds pairs of columns, and minimises hinges
            begin = grown.fit if whole else getattr(grown, "partial_fit", grown.fit)
            begin(table[:half], labels[:half])
            if name == "Scorecard-edited":
                grown.edit("x0", "remove", reason="not known in time")
            auclid.save(folder / f"{name}.{kind}.auclid", grown)
            kept[f"{name}.{kind}"] = scores(grown, table)
            kept[f"{name}.{kind}.resumed"] = resumed(grown, table, labels)
    np.savez_compressed(folder / "kept.npz", **kept)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    keep(HERE / (sys.argv[1] if len(sys.argv) > 1 else auclid.__version__))
