"""Whole fits of PSAM and ASAM, one epoch, against scikit-learn's SGDClassifier in turn, in seconds of the processor."""

import time
import warnings

import numpy as np
from clock import best, report
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from tables import require_data, split

from auclid import ASAM, PSAM

warnings.simplefilter("ignore")
require_data()


def one_epoch(name, X, y, bar):
    """Time both methods and SGDClassifier in turn."""
    jobs = [
        lambda: PSAM(n_epochs=1, random_state=0).fit(X, y),
        lambda: ASAM(n_epochs=1, random_state=0).fit(X, y),
        lambda: SGDClassifier(loss="hinge", max_iter=1, tol=None, random_state=0).fit(X, y),
    ]
    psam, asam, peer = best(*jobs, repeats=9, clock=time.process_time)
    report(f"PSAM one epoch, {name}", "SGDClassifier(max_iter=1)", psam, peer, bar)
    report(f"ASAM one epoch, {name}", "SGDClassifier(max_iter=1)", asam, peer, bar)


X, y, _, _ = split("covtype")
one_epoch("covtype 465k x 54 float32", np.ascontiguousarray(X, dtype=np.float32), y, 1.0)
X, y, _, _ = split("news20")
one_epoch("news20 CSR, 62,061 columns", X, y, 3.0)
rng = np.random.default_rng(0)
wide = sparse.random(20_000, 60_000, density=1e-3, format="csr", random_state=rng)
one_epoch("made up, 20,000 x 60,000 CSR", wide, rng.random(20_000) < 0.2, 3.0)
