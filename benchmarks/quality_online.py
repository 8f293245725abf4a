"""How near online methods come, untuned and in one pass, to batch ones: mean test AUC over seeds 0 to 4."""

import sys

import numpy as np
from tables import require_data, split

from auclid import CBR, OAM, PSAM, LeastSquaresAUC, UniExp, make

DENSE = ["a9a", "german", "splice", "w8a", "ijcnn1", "magic04", "cod-rna", "letter", "svmguide3"]
SPARSE = ["news20", "sector"]

METHODS = {  # how to make it, how far below the batch method it may come
    "CBR": (CBR, 0.015),
    "CBR-diag": (lambda **kw: CBR(covariance="diagonal", **kw), 0.02),
    "OAM": (OAM, 0.02),
    "OAM gradient": (lambda **kw: OAM(update="gradient", **kw), 0.02),
    "UniExp": (UniExp, None),
    "OAMseq": (lambda **kw: make("OAMseq", **kw), None),
    "OAMgra": (lambda **kw: make("OAMgra", **kw), None),
    "CBR-RS": (lambda **kw: make("CBR-RS", **kw), None),
}


def auc(model, table):
    """Test AUC after learning from the training part."""
    X, y, X_test, y_test = table
    return model.fit(X, y).score(X_test, y_test)


def compare(name, batch, methods, **how):
    """One line: the batch method's AUC, and how much above it each online method comes."""
    tables = [split(name, seed, **how) for seed in range(5)]
    best = np.mean([auc(batch(seed), table) for seed, table in enumerate(tables)])
    line, missed = f"{name:10s} {best:.4f}", []
    for method in methods:
        build, bar = METHODS[method]
        gap = np.mean([auc(build(random_state=seed), table) for seed, table in enumerate(tables)]) - best
        line += f"  {gap:+12.4f}"
        if bar is not None and gap < -bar:
            missed.append(method)
    print(line + ("  MISSED: " + ", ".join(missed) if missed else ""), flush=True)


def heading(batch, methods):
    """What the columns are, and which bars they have."""
    bars = " ".join(f"{method} {METHODS[method][1] or '-'}" for method in methods)
    print(f"\nAUC of {batch}, and of each above it. Bars (may be lower by): {bars}")
    print(f"{'table':10s} {'batch':6s}" + "".join(f"  {method:>12s}" for method in methods))


if __name__ == "__main__":
    require_data()
    asked = sys.argv[1:]
    heading("LeastSquaresAUC", METHODS)
    for name in asked or DENSE:
        if name not in SPARSE:
            compare(name, lambda seed: LeastSquaresAUC(), METHODS, dense=True)
    sparse = [method for method in METHODS if method not in ("CBR", "CBR-RS")]
    heading("PSAM", sparse)
    for name in asked or SPARSE:
        if name in SPARSE:
            compare(name, lambda seed: PSAM(random_state=seed), sparse)
