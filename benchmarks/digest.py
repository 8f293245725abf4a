"""The bits of every method of the registry on small fixed tables, for two checkouts to be compared.

    python benchmarks/digest.py > before.txt      # in one checkout
    python benchmarks/digest.py > after.txt       # in another
    diff before.txt after.txt

A line a method and a table: a digest of the bits of its weights and scores, its AUC on fresh rows and the mean of
|score|, by which a difference of rounding can be told from another answer. A method that refuses a table says why.
Words after the command choose methods by a part of their name, case forgiven: `python benchmarks/digest.py spam`.
"""

import hashlib
import inspect
import sys
import warnings

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from auclid import AUCClassifier, algorithms, make
from auclid.metrics import roc_auc

N_TRAIN, N_TEST, N_COLUMNS = 240, 120, 12
SMALL = {
    "n_components": 16, "n_iter": 20, "batch_size": 16, "n_epochs": 2, "buffer_size": 20, "rank": 4, "random_state": 7,
}  # fmt: skip
"""Parameters that make a method quick here, where it has them."""

VARIANTS = [
    ("B-LS-SVM", {"l1": 0.05}),
    ("B-LS-SVM", {"positive": True}),
    ("B-LS-SVM", {"solver": "products"}),
    ("B-LS-SVM", {"solver": "products", "l1": 0.05}),
    ("SPAM-L2", {"l1": 0.01, "average": False}),
    ("SPAM-L2", {"shuffle": False, "schedule": "constant"}),
    ("SOLAM", {"radius": 0.5}),
    ("FSAUC", {"radius": 0.5}),
    ("AdaOAM", {"delta": 0.1}),
    ("ASAM", {"loss": "logistic"}),
    ("ASAM", {"loss": "squared_hinge"}),
    ("PSAM", {"loss": "squared_hinge"}),
    ("RankSVM", {"alpha": "auto"}),
    ("OAM", {"buffer": "reservoir"}),
    ("CBR", {"confidence": 0.9}),
    ("KernelRankSVM", {"kernel": "laplacian"}),
    ("NBAM", {"kernel": "laplacian"}),
    ("FBAM", {"kernel": "laplacian"}),
    ("SAMULT", {"unlabeled_weight": 0.5}),
    ("QSG-S2AUC", {"unlabeled_weight": 0.5}),
]
"""Settings that take other ways through the code than the defaults."""


def tables():
    """Name to (X, y, X_test, y_test): a curved task with a fifth of positives in four layouts, and a wide one."""
    rng = np.random.default_rng(2024)
    X = rng.standard_normal((N_TRAIN + N_TEST, N_COLUMNS))
    X[:, 6:] *= rng.random((len(X), N_COLUMNS - 6)) < 0.3
    pull = X[:, 0] - 0.7 * X[:, 1] + 0.5 * X[:, 6] + X[:, 2] ** 2 + rng.standard_normal(len(X))
    y = (pull > np.quantile(pull, 0.8)).astype(int)
    laid = {
        "dense": X,
        "csr": sparse.csr_matrix(X),
        "dense32": X.astype(np.float32),
        "csr32": sparse.csr_matrix(X.astype(np.float32)),
    }
    wide = sparse.random(len(X), 300, density=0.02, format="csr", random_state=np.random.RandomState(5))
    laid["wide"] = sparse.hstack([laid["csr"], wide], format="csr")
    return {name: (Z[:N_TRAIN], y[:N_TRAIN], Z[N_TRAIN:], y[N_TRAIN:]) for name, Z in laid.items()}


def built(name, params=None):
    """The method with the small settings that it knows."""
    model = make(name, **(params or {}))
    return model.set_params(
        **{key: SMALL[key.rpartition("__")[2]] for key in model.get_params() if _changes(model, key)}
    )


def _changes(model, key):
    """Whether a parameter, nested ones too, is to be made small; None stays None, so that OPAUC stays no OPAUCr."""
    word, params = key.rpartition("__")[2], model.get_params()
    return word in SMALL and (word == "random_state" or params[key] is not None)


def partly_labelled(y):
    """The labels with -1 for the unlabelled, every second row."""
    return np.where(np.arange(len(y)) % 2, -1, y)


def fitted(model, X, y, **kwargs):
    return model.fit(X, y, **kwargs)


def streamed(model, X, y):
    """The model after batches of one row, of a few and of many; landmarks need a first batch of some rows."""
    first = [40] if hasattr(model, "feature_map") else [1, 2, 9, 40]
    for rows in np.split(np.arange(len(y)), [*first, 41, 150]):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    return model


def restarted(model, X, y):
    """A stream after a fit."""
    model.fit(X[: N_TRAIN // 2], y[: N_TRAIN // 2])
    return model.partial_fit(X[N_TRAIN // 2 :], y[N_TRAIN // 2 :])


def merged(model, X, y):
    """Two halves of a stream, added."""
    halves = [built_like(model).partial_fit(X[k::2], y[k::2], classes=[0, 1]) for k in (0, 1)]
    return halves[0].merge(halves[1])


def built_like(model):
    return type(model)(**model.get_params(deep=False))


def jobs(method, laid):
    """Yield (what, function of a model, X_test, y_test) for one method."""
    model, weight = make(method.name), np.arange(N_TRAIN) % 3 + 0.5
    for name, (X, y, X_test, y_test) in laid.items():
        ends = X_test, y_test
        yield name, lambda m, X=X, y=y: fitted(m, X, y), *ends
        if method.semi_supervised:
            yield f"{name} unlabelled", lambda m, X=X, y=y: fitted(m, X, partly_labelled(y)), *ends
        if "sample_weight" in inspect.signature(model.fit).parameters:
            yield f"{name} weights", lambda m, X=X, y=y: fitted(m, X, y, sample_weight=weight), *ends
        if name == "wide":
            continue
        if hasattr(model, "partial_fit"):
            yield f"{name} stream", lambda m, X=X, y=y: streamed(m, X, y), *ends
        if hasattr(model, "partial_fit") and method.semi_supervised:
            yield f"{name} mixed stream", lambda m, X=X, y=y: streamed(m, X, partly_labelled(y)), *ends
    X, y, *ends = laid["dense"]
    if hasattr(model, "partial_fit"):
        yield "dense fit, then stream", lambda m: restarted(m, X, y), *ends
    if hasattr(model, "merge"):
        yield "dense merge", lambda m: merged(m, X, y), *ends


def line(model, job, X_test, y_test):
    """Digest, AUC and mean |score|; or the sentence of a refusal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = job(model)
            scores = model.decision_function(X_test)
    except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
        return f"refused: {type(error).__name__}: {str(error).splitlines()[0][:100]}"
    digest = hashlib.sha256(str(scores.dtype).encode() + np.ascontiguousarray(scores).tobytes())
    for name in ("coef_", "intercept_", "alpha_", "cv_auc_", "n_iter_"):
        if hasattr(model, name):
            digest.update(name.encode() + np.ascontiguousarray(getattr(model, name)).tobytes())
    return f"{digest.hexdigest()[:16]}  {roc_auc(y_test, scores):.6f}  {np.abs(scores, dtype=float).mean():.8g}"


def main(words):
    laid = tables()

    def wanted(name):
        return not words or any(word.casefold() in name.casefold() for word in words)

    for method in filter(lambda method: method.target == "classes" and wanted(method.name), algorithms()):
        for what, job, *ends in jobs(method, laid):
            print(f"{method.name:<22} {what:<24} {line(built(method.name), job, *ends)}", flush=True)
    for name, params in filter(lambda variant: wanted(variant[0]), VARIANTS):
        said = " ".join(f"{key}={value}" for key, value in params.items())
        for kind in ("dense", "csr"):
            X, y, *ends = laid[kind]
            y = partly_labelled(y) if "unlabeled_weight" in params else y
            answer = line(built(name, params), lambda m: fitted(m, X, y), *ends)
            print(f"{name:<22} {f'{kind} {said}':<40} {answer}", flush=True)
    for name, (X, y, *ends) in laid.items() if wanted("AUCClassifier") else ():
        model = AUCClassifier(methods=["B-LS-SVM", "RankSVM"], cv=3, random_state=7)
        print(f"{'AUCClassifier':<22} {name:<24} {line(model, lambda m: m.fit(X, y), *ends)}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):  # the sums of several threads may round otherwise
        main(sys.argv[1:])
