"""CBR: confidence-weighted bipartite ranking with two buffers."""

from scipy.special import ndtri
from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid._random import RandomState
from auclid.online._buffered import BufferedRanker
from auclid.solvers.confidence_weighted import ConfidenceWeightedSolver
from auclid.stats.moments import require_room


class CBR(BufferedRanker):
    """Confidence-weighted bipartite ranking with two buffers.

    The weights are a Gaussian N(μ, Σ), initially N(0, I). Each new row is paired with the buffered rows of the
    opposite class; for such a pair, with z = y (x − x'), m = μ·z, v = z·Σz and
    φ = Φ⁻¹(confidence), the step

        argmin KL(N(μ', Σ') ‖ N(μ, Σ)) + C max(0, φ √(z·Σ'z) − μ'·z)

    moves μ by α Σz and Σ⁻¹ by (αφ/√u) zzᵀ, where ψ = 1 + φ²/2, ζ = 1 + φ² and

        α = min(C, max(0, (−mψ + √(m²φ⁴/4 + vφ²ζ)) / (vζ))),   √u = ½ (√(α²v²φ² + 4v) − αvφ).

    A pair with m ≥ φ√v has no loss and changes nothing; most of these are detected in O(d).

    Parameters
    ----------
    C : float in (0, inf) or None, default=None
        The largest step that one pair may cause. None: 0.03/E|z|² · 50/buffer_size, where the mean is over
        all pairs of rows seen so far.
    confidence : float in [0.5, 1), default=0.7
        The probability with which a pair should be ranked correctly. At 0.5 nothing is learned, since zero weights
        have no loss.
    buffer_size : int, default=50
        Buffered rows of each class.
    buffer : {"fifo", "reservoir"}, default="fifo"
        "fifo" keeps the latest rows, "reservoir" a uniform sample of all rows so far.
    covariance : {"full", "diagonal", "printed", "printed_full"}, default="full"
        "full" keeps Σ: d² numbers, and O(d²) for each pair with a loss. "diagonal" keeps the diagonal of Σ⁻¹:
        O(nnz) per pair, for wide or sparse rows. "printed" is the diagonal form as printed in the dissertation: v is
        the sum of z²/(G + C) with G = diag Σ⁻¹, and G grows by αφ/√(u + vαφ) z². "printed_full" is the full form as
        printed there: Σ loses αφ/√(u + vαφ) Σz(Σz)ᵀ, which can make it indefinite; pairs with v ≤ 0 are skipped.
    mean_step : float in (0, inf), default=1.0
        The factor of α in the step of μ. Proposition 3 of the dissertation, for FCBR, prints ½.
    n_epochs : int, default=1
    shuffle : bool, default=True
        Whether `fit` shuffles the rows of each epoch. With False it does exactly what `partial_fit` does.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
        μ.
    intercept_ : array of shape (1,)
        Minus the score halfway between the class means of the rows so far, also after `fit`.
    classes_ : array of shape (2,)
    n_iter_ : int
        Number of epochs.
    C_ : float
        The C of the last step.

    Notes
    -----
    The step is the one derived in the references, not the one printed in the dissertation: ``make("CBR-FIFO",
    published=True)`` and ``make("CBR-diag", published=True)`` are as printed.

    Σ starts at I, and the default C is relative to E|z|². If one column contributes nearly all of E|z|², the weights of
    the others hardly change. So scale the columns first: standardise dense ones, divide sparse ones by their largest
    absolute value.

    Sparse rows are not centred. A column whose mean is 10⁷ times its spread leaves few digits of E|z|² and of the
    default C. Give C, or dense rows, which are measured from the first row.

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
        "confidence": [validation.real(0.5, 1.0)],
        "covariance": [StrOptions({"full", "diagonal", "printed", "printed_full"})],
        "mean_step": [validation.real(closed="neither")],
    }

    def __init__(
        self,
        C: float | None = None,
        *,
        confidence: float = 0.7,
        buffer_size: int = 50,
        buffer: str = "fifo",
        covariance: str = "full",
        mean_step: float = 1.0,
        n_epochs: int = 1,
        shuffle: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.C = C
        self.confidence = confidence
        self.buffer_size = buffer_size
        self.buffer = buffer
        self.covariance = covariance
        self.mean_step = mean_step
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _solver(self) -> ConfidenceWeightedSolver:
        full, C = self.covariance in ("full", "printed_full"), None if self.C is None else float(self.C)
        if full:
            hint = "Use covariance='diagonal', which keeps 2d numbers."
            require_room(f"covariance={self.covariance!r} of CBR", self.n_features_in_, hint)
        phi, as_printed = float(ndtri(self.confidence)), self.covariance.startswith("printed")
        return ConfidenceWeightedSolver(C, self.buffer_size, self.buffer, phi, full, as_printed, float(self.mean_step))
