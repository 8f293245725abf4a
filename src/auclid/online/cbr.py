"""CBR: confidence-weighted bipartite ranking with two buffers."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from sklearn.utils._param_validation import StrOptions

from auclid import _check
from auclid._generic import kernel
from auclid.online._buffered import BufferedRanker, Seen, nothing_seen
from auclid.online._gaussian import SLACK, arrive, ceiling, energy, leave, move, reach, work_on
from auclid.rows import row_dot
from auclid.stats.buffers import Buffers, admit, empty
from auclid.stats.moments import LARGEST

DUPLICATE = 1e-300
"""z . cov z below which a pair counts as two equal rows: its reciprocal would overflow."""


class State(NamedTuple):
    """The model N(mean, cov); a bound above x . cov x for each row held."""

    buffers: Buffers
    seen: Seen
    mean: np.ndarray
    cov: np.ndarray  # (d, d), of which the lower triangle counts, or the diagonal (d,)
    bound: np.ndarray  # (2, capacity)


class CBR(BufferedRanker):
    """Confidence-weighted bipartite ranking with two buffers.

    The weights are a Gaussian N(μ, Σ), at first N(0, I). Each new row meets the rows of the opposite class
    that are still in a buffer; for such a pair, with z = y (x − x'), m = μ·z, v = z·Σz and
    φ = Φ⁻¹(confidence), the step

        argmin KL(N(μ', Σ') ‖ N(μ, Σ)) + C max(0, φ √(z·Σ'z) − μ'·z)

    moves μ by α Σz and Σ⁻¹ by (αφ/√u) zzᵀ, where ψ = 1 + φ²/2, ζ = 1 + φ² and

        α = min(C, max(0, (−mψ + √(m²φ⁴/4 + vφ²ζ)) / (vζ))),   √u = ½ (√(α²v²φ² + 4v) − αvφ).

    A pair with m ≥ φ√v has no loss and changes nothing; most are found out in O(d).

    Parameters
    ----------
    C : float in (0, inf) or None, default=None
        How far one pair may move the weights. None takes 0.03/E|z|² · 50/buffer_size, where the mean is over
        all pairs of rows seen so far.
    confidence : float in [0.5, 1), default=0.7
        The probability with which a pair should be ranked rightly. At 0.5 nothing is learned: zero weights
        have no loss.
    buffer_size : int, default=50
        Rows kept of each class.
    buffer : {"fifo", "reservoir"}, default="fifo"
        "fifo" keeps the latest rows, "reservoir" a uniform sample of all rows so far.
    covariance : {"full", "diagonal"}, default="full"
        "full" keeps Σ: d² numbers, and O(d²) for each pair with a loss. "diagonal" keeps the diagonal of Σ⁻¹:
        O(nnz) a pair, for wide or sparse rows.
    n_epochs : int, default=1
    shuffle : bool, default=True
        Whether `fit` meets the rows in random order. With False it does exactly what `partial_fit` does.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
        μ.
    intercept_ : array of shape (1,)
        Minus the score halfway between the class means of the rows so far, after `fit` too.
    classes_ : array of shape (2,)
    n_iter_ : int
        Epochs made.
    C_ : float
        The C used last.

    Notes
    -----
    Σ starts at I, and the default C is a share of E|z|²: a column that carries nearly all of E|z|² takes all the
    learning, and the others hardly move. So bring columns to a like scale first: standardise dense ones, divide
    sparse ones by their largest value.

    Sparse rows are not centred. A column 10⁷ times as far from zero as it varies leaves E|z|², and with it the
    default C, few digits; give C, or dense rows, which are measured from the first one.

    References
    ----------
    Khalid, "Scalable large margin pairwise learning algorithms", Colorado State University 2019, ch. 4.
    Wang, Zhao & Hoi, "Exact soft confidence-weighted learning", ICML 2012 (the step; Khalid prints
    √(u + vαφ) for √u + vαφ in the form that updates Σ, which makes it indefinite for a larger C).

    Examples
    --------
    >>> from auclid import CBR
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(CBR(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **BufferedRanker._parameter_constraints,
        "confidence": [_check.real(0.5, 1.0)],
        "covariance": [StrOptions({"full", "diagonal"})],
    }

    def __init__(
        self,
        C=None,
        *,
        confidence=0.7,
        buffer_size=50,
        buffer="fifo",
        covariance="full",
        n_epochs=1,
        shuffle=True,
        random_state=None,
    ):
        self.C = C
        self.confidence = confidence
        self.buffer_size = buffer_size
        self.buffer = buffer
        self.covariance = covariance
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _open(self, d, survey):
        if self.covariance == "full" and d > LARGEST:
            raise ValueError(
                f"covariance='full' of CBR must be d x d, too large for d = {d} columns (at most {LARGEST}). "
                "Use covariance='diagonal', which keeps 2d numbers."
            )
        cov = np.eye(d) if self.covariance == "full" else np.ones(d)
        return State(empty(d), nothing_seen(d), np.zeros(d), cov, np.zeros((2, self.buffer_size)))

    def _meet(self, window, limit, state):
        _check.unchanged(self, "covariance", self.covariance, "full" if state.cov.ndim == 2 else "diagonal")
        model = work_on(state.cov, window.rows, window.held.sum() + len(window.at))
        sweep(window, limit, float(ndtri(self.confidence)), state.mean, model, state.bound)
        return state

    def _weights(self, state):
        return state.mean.copy()


@kernel
def confident_step(m, root_v, phi, C):
    """alpha, and the root of z . cov z after the step, from that before it; for a margin m < phi root_v."""
    zeta, psi = 1.0 + phi * phi, 1.0 + 0.5 * phi * phi
    r = m / root_v
    root = np.sqrt(0.25 * r * r * phi**4 + phi * phi * zeta)
    if r > 0.0:  # the same number, without the difference of two like ones
        alpha = (phi * phi - r * r) / (root + r * psi)
    else:
        alpha = (root - r * psi) / zeta
    alpha = min(C, alpha / root_v)
    a = alpha * root_v * phi
    return alpha, 2.0 * root_v / (a + np.sqrt(a * a + 4.0))


@kernel
def sweep(window, limit, phi, mean, model, bound):
    """Each row meets the opposite buffer; changes mean, model, bound; returns how many pairs had a loss."""
    rows, at, members, held = window.rows, window.at, window.members, window.held
    losses = 0
    for t in range(at.shape[0]):
        i, c = at[t], window.label[t]
        y = 1.0 if c else -1.0
        own = arrive(model, rows, i)
        admit(window, t)
        if window.slot[t] >= 0:
            bound[c, window.slot[t]] = own
        f = row_dot(rows, i, mean)
        for s in range(held[1 - c]):
            j, other = members[1 - c, s], bound[1 - c, s]
            m = y * (f - row_dot(rows, j, mean))
            # No covariance ever grows, so an energy once known bounds all later ones.
            if m > 0.0 and m * m >= phi * phi * reach(model, own, other):
                continue
            top, slack = ceiling(model, rows, j, own, other), SLACK * (own + other)
            if m > 0.0 and m * m >= phi * phi * (top + slack):
                continue
            v = energy(model, rows, i, j, own, top)
            bound[1 - c, s] = min(other, other + v - top + slack)  # its energy now, and no less
            if v <= DUPLICATE or m >= phi * np.sqrt(v):
                continue
            alpha, root = confident_step(m, np.sqrt(v), phi, limit[t])
            own, f = move(model, rows, i, j, alpha * y, alpha * phi / root, v, mean)
            losses += 1
        leave(model, rows, i)
    return losses
