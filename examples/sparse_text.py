"""Sparse rows of many columns, of which few matter

Bags of words: 20,000 columns, of which 40 are informative. The rows remain a CSR matrix throughout. With an l1 penalty
`LeastSquaresAUC` uses few words; the plot shows what that costs, or gains.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from auclid import LeastSquaresAUC

rng = np.random.default_rng(0)
words, told, length = 20_000, 40, 60


def texts(n):
    """Words are drawn with frequencies like 1/rank; positives use 40 of the frequent ones more often."""
    y = (rng.random(n) < 0.1).astype(int)
    common = 1.0 / np.arange(10, words + 10)
    leaning = common.copy()
    leaning[20 : 20 + told] *= 2.0
    shares = [np.cumsum(p / p.sum()) for p in (common, leaning)]
    usual, leant = (np.searchsorted(share, rng.random((n, length))) for share in shares)
    columns = np.minimum(np.where(y[:, None] == 1, leant, usual), words - 1).ravel()
    X = sparse.csr_matrix((np.ones(n * length), (np.repeat(np.arange(n), length), columns)), (n, words))
    return X / np.sqrt(length), y


(X, y), (X_test, y_test) = texts(3000), texts(2000)
penalties = [0.0, *np.logspace(-3, -1.5, 6)]
models = [LeastSquaresAUC(alpha=1e-2, l1=l1, tol=1e-3).fit(X, y) for l1 in penalties]
aucs = [model.score(X_test, y_test) for model in models]
kept = [np.count_nonzero(model.coef_) for model in models]
for l1, auc, count in zip(penalties, aucs, kept, strict=True):
    print(f"l1 {l1:.4f}: {count:6,} words, test AUC {auc:.3f}")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.semilogx(kept, aucs, "o-")
axes.axvline(told, color="k", ls=":", lw=1, label=f"{told} words tell")
axes.set(xlabel=f"words with a weight, of {words:,}", ylabel="test AUC", title="LeastSquaresAUC with growing l1")
axes.legend()
figure.savefig("sparse_text.png", dpi=110)
