"""Makes the kept model files of this folder. Run it for a new format or a new State only, and keep the old files.

A folder is named by the version that wrote it. Of each model it keeps the file as it was after half of the rows,
its scores then, and the scores after it went on to the rest of the stream where it is one.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import auclid
from auclid import penalties, schedules

HERE = Path(__file__).parent


def rows():
    """Sixty rows of two classes, with zeros for the sparse ones among the models."""
    rng = np.random.default_rng(7)
    y = np.arange(60) % 3 == 0
    X = rng.normal(size=(60, 3)) + y[:, None]
    return np.where(rng.random(X.shape) < 0.2, 0.0, X), np.where(y, "yes", "no")


def models():
    """Name and estimator: each class, and each parameter that gives a State another shape."""
    exported = {name: getattr(auclid, name) for name in auclid.__all__}
    for name, cls in exported.items():
        if isinstance(cls, type) and issubclass(cls, BaseEstimator) and name != "Kernelized":
            yield name, cls()
    yield "SPAM-l1", auclid.SPAM(l1=1e-3)
    yield "SPAM-structs", auclid.SPAM(penalty=penalties.ElasticNet(1e-3, 1e-3), schedule=schedules.Power(0.1, 0.5))
    yield "SPAM-harmonic", auclid.SPAM(schedule=schedules.Harmonic(1.0, 1.0))
    yield "SPAM-constant", auclid.SPAM(schedule="constant", average=False)
    yield "SOLAM-L2", auclid.SOLAM(alpha=1e-3, radius=5.0, zeta=0.1)
    yield "OPAUCr", auclid.OPAUC(rank=2, step=0.01)
    yield "SAM", auclid.ASAM(average=False, loss="squared_hinge", t0=10)
    yield "OAMgra", auclid.OAM(buffer="reservoir", update="gradient", average=False, buffer_size=5)
    yield "CBR-diag", auclid.CBR(covariance="diagonal", buffer="reservoir", buffer_size=5)
    yield "Kernelized", auclid.Kernelized(auclid.KMeansNystroem(8))
    yield "Fourier-OAM", auclid.Kernelized(auclid.RandomFourier(8), auclid.OAM(buffer_size=5))
    yield "Fourier-CBR", auclid.Kernelized(auclid.RandomFourier(8, kernel="laplacian"), auclid.CBR(buffer_size=5))
    yield "Nystroem-PSAM", auclid.Kernelized(auclid.KMeansNystroem(5), auclid.PSAM())
    yield "Nystroem-SPAM", auclid.Kernelized(auclid.KMeansNystroem(5, kernel="polynomial"), auclid.SPAM())
    yield "Nystroem-RankSVM", auclid.Kernelized(auclid.KMeansNystroem(5), auclid.RankSVM(alpha="auto"))
    yield "Scaled-SAMULT", auclid.Kernelized(MaxAbsScaler(), auclid.SAMULT())
    yield "Laplacian", auclid.KernelRankSVM(kernel="laplacian")
    yield "pipeline", make_pipeline(MaxAbsScaler(), auclid.LeastSquaresAUC(alpha=0.01))


def seeded(model):
    """The model with every random_state set, and few landmarks."""
    params = model.get_params()
    seeds = {name: 0 for name in params if name.split("__")[-1] == "random_state"}
    small = {"n_components": 8, "n_iter": 20, "batch_size": 8}
    small = {name: small[name.split("__")[-1]] for name in params if name.split("__")[-1] in small}
    return model.set_params(**seeds, **small)


def scores(model, X):
    """What a model says of rows."""
    for name in ("decision_function", "transform"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X))
    raise AssertionError(f"{model} gives no numbers")


def resumed(model, X, y):
    """What it says after going on: the rest of the stream, or nothing more to learn."""
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[30:], y[30:])
    return scores(model, X)


def keep(folder):
    """Fit, save, and keep what the models say."""
    X, y = rows()
    folder.mkdir(exist_ok=True)
    kept = {"X": X, "y": y}
    for name, model in models():
        for kind, table in (("dense", X), ("sparse", sparse.csr_array(X))):
            grown = seeded(clone(model))
            begin = getattr(grown, "partial_fit", grown.fit)
            begin(table[:30], y[:30])
            auclid.save(folder / f"{name}.{kind}.auclid", grown)
            kept[f"{name}.{kind}"] = scores(grown, table)
            kept[f"{name}.{kind}.resumed"] = resumed(grown, table, y)
            if hasattr(grown, "partial_fit"):
                fitted = seeded(clone(model)).fit(table, y)
                auclid.save(folder / f"{name}.{kind}-fit.auclid", fitted)
                kept[f"{name}.{kind}-fit"] = scores(fitted, table)
                kept[f"{name}.{kind}-fit.resumed"] = resumed(fitted, table, y)
    np.savez_compressed(folder / "kept.npz", **kept)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    keep(HERE / (sys.argv[1] if len(sys.argv) > 1 else auclid.__version__))
