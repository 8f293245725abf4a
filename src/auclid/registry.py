"""Every method by the name its paper gives it."""

from collections.abc import Callable
from functools import cache, partial
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from auclid._hints import plain
from auclid.errors import unknown_name

if TYPE_CHECKING:
    from auclid.kernels import Kernelized


@cache
def _classes() -> dict[str, type]:
    """The estimators by the names of their classes."""
    from auclid import additive, boost, kernels, online, pairwise, semi, square

    packages = (additive, boost, kernels, online, pairwise, semi, square)
    return {name: getattr(package, name) for package in packages for name in package.__all__}


class Deferred:
    """An estimator class that is imported when it is first used: a list of methods needs none of them.

    Examples
    --------
    >>> from auclid.registry import Deferred
    >>> Deferred("SPAM")(alpha=0.01)
    SPAM(alpha=0.01)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **params: Any) -> Any:
        return _classes()[self.name](*args, **params)

    @property
    def __signature__(self) -> Signature:
        return signature(_classes()[self.name])


Scorecard, RankBoost = Deferred("Scorecard"), Deferred("RankBoost")
KMeansNystroem, RandomFourier = Deferred("KMeansNystroem"), Deferred("RandomFourier")
CBR, OAM, UniExp = Deferred("CBR"), Deferred("OAM"), Deferred("UniExp")
FactorizationRanker = Deferred("FactorizationRanker")
ASAM, PSAM, KernelRankSVM, RankSVM = Deferred("ASAM"), Deferred("PSAM"), Deferred("KernelRankSVM"), Deferred("RankSVM")
PNUAUC, QSGS2AUC, SAMULT = Deferred("PNUAUC"), Deferred("QSGS2AUC"), Deferred("SAMULT")
FSAUC, OPAUC, SOLAM, SPAM, AdaOAM = map(Deferred, ("FSAUC", "OPAUC", "SOLAM", "SPAM", "AdaOAM"))
LeastSquaresAUC, LeastSquaresAUCCV = Deferred("LeastSquaresAUC"), Deferred("LeastSquaresAUCCV")


class Method(NamedTuple):
    """One method of the literature."""

    name: str
    build: Callable[..., Any]
    reference: str
    good_for: str
    online: bool = True
    sparse: bool = True
    kernel: bool = False
    semi_supervised: bool = False
    differs: str = ""  # where the name's defaults are not the paper's algorithm, and what gives that


CHAPELLE = "Chapelle & Keerthi 2010, Efficient algorithms for ranking with SVMs"
DING = "Ding, Zhao, Hoi & Ong 2015, An adaptive gradient method for online AUC maximization"
GAO = "Gao, Jin, Zhu & Zhou 2013, One-pass AUC optimization"
JOACHIMS = "Joachims 2005, A support vector method for multivariate performance measures"
KHALID = "Khalid 2019, Scalable large margin pairwise learning algorithms"
KOTLOWSKI = "Kotłowski et al. 2011, Bipartite ranking through minimization of univariate loss"
KUO = "Kuo, Lee & Lin 2014, Large-scale kernel RankSVM"
LARGE = "Ding, Liu, Zhao & Lim 2017, Large scale kernel methods for online AUC maximization"
LI = "Li, Jin & Zhou 2014, Top rank optimization in linear time"
LIU = "Liu, Zhang, Chen, Wang & Yang 2018, Fast stochastic AUC maximization with O(1/n)-convergence rate"
NARASIMHAN = "Narasimhan & Agarwal 2013, SVM_pAUC^tight: optimizing partial AUC based on a tight convex upper bound"
NATOLE = "Natole, Ying & Lyu 2018, Stochastic proximal algorithms for AUC maximization"
SAKAI = "Sakai, Niu & Sugiyama 2018, Semi-supervised AUC optimization based on positive-unlabeled learning"
SHI = "Shi, Gu, Li, Geng & Huang 2019, Quadruply stochastic gradients for large scale nonlinear semi-supervised AUC"
XIE = "Xie & Li 2018, Semi-supervised AUC optimization without guessing labels of unlabeled data"
YING = "Ying, Wen & Lyu 2016, Stochastic online AUC maximization"
ZHAO = "Zhao, Hoi, Jin & Yang 2011, Online AUC maximization"

OWN_SPAM = (
    "Our own steps, bounded for long rows, five passes and a weighted average. As published: schedule='thm3' or "
    "'thm2', average=False."
)
OWN_SOLAM = "Our own steps, bounded for long rows, five passes and a weighted average. As published: zeta=a number."
OWN_FSAUC = "Our own steps, bounded for long rows, and a bound of |w|₂. As published: step=a number, norm='l1'."
OWN_OPAUC = "Our own falling steps, bounded for long rows. As published, a constant one: step=a number."
OWN_OPAUCR = (
    "Our own falling steps, and a sketch centred and shrunk towards the variances. As published: step=a number, "
    "sketch='plain'."
)
OWN_ADAOAM = "Our own first step, from the rows' lengths. As published: step=a number."
OWN_OAM = "Late rows in the buffers, one C and a weighted average. As published: OAMseq and OAMgra."
OWN_CBR = (
    "The covariance's step as it is derived (Wang, Zhao & Hoi 2012); the dissertation's print makes it indefinite."
)
OWN_DIAGONAL = "The diagonal of the derived step. As the dissertation prints it: covariance='printed'."
OWN_UNI_EXP = "Implicit steps and a weighted average. As published: update='gradient'."
OWN_TOP = "The top's edge is softened, and the optimum found to a gap. As published: a softness near 0."
OWN_QSG = "Steps theta/(i + offset), which do not blow up. As published: offset=0."

SQUARE = [
    Method("B-LS-SVM", LeastSquaresAUC, GAO, "the exact square-loss answer in one mergeable pass"),
    Method("LeastSquaresAUCCV", LeastSquaresAUCCV, GAO, "the same with alpha cross-validated", online=False),
    Method("SPAM-L2", SPAM, NATOLE, "wide sparse rows, streams", differs=OWN_SPAM),
    Method("SPAM-NET", partial(SPAM, l1=1e-3), NATOLE, "few features out of many", differs=OWN_SPAM),
    Method("SOLAM", SOLAM, YING, "wide sparse rows, streams; weights in a ball", differs=OWN_SOLAM),
    Method(
        "SOLAM-L2",
        partial(SOLAM, alpha=1e-4),
        NATOLE,
        "the same with a penalty in place of the ball",
        differs=OWN_SOLAM,
    ),
    Method("FSAUC", FSAUC, LIU, "wide sparse rows, in few passes", online=False, differs=OWN_FSAUC),
    Method("OPAUC", OPAUC, GAO, "a single pass over up to a thousand columns", differs=OWN_OPAUC),
    Method("OPAUCr", partial(OPAUC, rank=50), GAO, "a single pass over more columns, roughly", differs=OWN_OPAUCR),
    Method("AdaOAM", AdaOAM, DING, "a single pass over columns of unlike frequency", differs=OWN_ADAOAM),
]

PAIRWISE = [
    Method("SAM", partial(ASAM, average=False), KHALID, "the plain step that ASAM and PSAM improve on"),
    Method("ASAM", ASAM, KHALID, "very many rows, in a few passes"),
    Method("PSAM", PSAM, KHALID, "the same with steps that cannot overshoot"),
    Method("RankSVM", RankSVM, CHAPELLE, "all pairs exactly, up to millions of rows", online=False),
    Method("BAM", RankSVM, KHALID, "the same, by the name of its batch baseline", online=False),
    Method("PRSVM+", RankSVM, CHAPELLE, "the same, by the name of its solver", online=False),
    Method("B-SVM-OR", partial(RankSVM, loss="hinge"), JOACHIMS, "all pairs with the hinge", online=False),
    Method(
        "SVMpAUC",
        partial(RankSVM, loss="hinge", max_fpr=0.1),
        NARASIMHAN,
        "the top of the list",
        online=False,
        differs=OWN_TOP,
    ),
    Method(
        "TopPush",
        partial(RankSVM, max_fpr="top"),
        LI,
        "the very first rows of the list",
        online=False,
        differs=OWN_TOP,
    ),
    Method("RBF-RankSVM", KernelRankSVM, KUO, "curves in some thousand rows", online=False, kernel=True),
    Method(
        "RBF-RankSVM-subsample",
        partial(KernelRankSVM, subsample=0.2),
        KUO,
        "curves in some ten thousand rows, roughly",
        online=False,
        kernel=True,
    ),
]

PUBLISHED_OAM = partial(OAM, buffer="reservoir", average=False)
GRADIENT_OAM = partial(PUBLISHED_OAM, update="gradient")
RESERVOIR_CBR = partial(CBR, buffer="reservoir")

ONLINE = [
    Method("OAM", OAM, ZHAO, "streams, where a buffer of rows pays", differs=OWN_OAM),
    Method("OAMseq", PUBLISHED_OAM, ZHAO, "comparison; OAM's own defaults rank better"),
    Method("OAMgra", GRADIENT_OAM, ZHAO, "the same, one update a row"),
    Method("CBR-RS", RESERVOIR_CBR, KHALID, "streams of up to some hundred columns", differs=OWN_CBR),
    Method("CBR-FIFO", CBR, KHALID, "the same, late rows first", differs=OWN_CBR),
    Method(
        "CBR-diag",
        partial(CBR, covariance="diagonal"),
        KHALID,
        "streams of wide or sparse rows",
        differs=OWN_DIAGONAL,
    ),
    Method("Uni-Exp", UniExp, KOTLOWSKI, "streams, at the least cost a row", differs=OWN_UNI_EXP),
]


def mapped(feature_map: Callable[..., Any], ranker: Callable[..., Any]) -> "Callable[..., Kernelized]":
    """A builder of `Kernelized` that hands each keyword to the map or to the ranker, a seed to both."""

    def build(**params: Any) -> "Kernelized":
        from auclid.kernels import Kernelized

        to_map = {key: value for key, value in params.items() if key in signature(feature_map).parameters}
        seed = {"random_state"} & set(signature(ranker).parameters)
        to_ranker = {key: value for key, value in params.items() if key not in to_map or key in seed}
        return Kernelized(feature_map(**to_map), ranker(**to_ranker))

    return build


FOURIER_300 = partial(RandomFourier, n_components=300)
EMBEDDED: list[tuple[str, Callable[..., Any], Callable[..., Any], str, str, bool]] = [
    ("NBAM", KMeansNystroem, RankSVM, KHALID, "curved rankings of any number of rows, all pairs exactly", False),
    ("FBAM", RandomFourier, RankSVM, KHALID, "the same with random waves for landmarks", False),
    ("NASAM", KMeansNystroem, ASAM, KHALID, "curved rankings, a pair a step", True),
    ("FASAM", RandomFourier, ASAM, KHALID, "the same with random waves for landmarks", True),
    ("NPSAM", KMeansNystroem, PSAM, KHALID, "curved rankings, a pair a step that cannot overshoot", True),
    ("NSOLAM", KMeansNystroem, SOLAM, KHALID, "curved rankings, a row a step", True),
    ("NOAMseq", KMeansNystroem, PUBLISHED_OAM, LARGE, "comparison; NPSAM ranks better", True),
    ("NOAMgra", KMeansNystroem, GRADIENT_OAM, LARGE, "the same, one update a row", True),
    ("FOAM", FOURIER_300, PUBLISHED_OAM, LARGE, "comparison; FCBR ranks better", True),
    ("FCBR-RS", FOURIER_300, RESERVOIR_CBR, KHALID, "curved rankings of streams, all rows alike", True),
    ("FCBR-FIFO", FOURIER_300, CBR, KHALID, "curved rankings of streams, late rows first", True),
]

OWN_EMBEDDED = {"NSOLAM": OWN_SOLAM, "FCBR-RS": OWN_CBR, "FCBR-FIFO": OWN_CBR}

KERNEL = [
    Method(
        name,
        mapped(feature_map, ranker),
        reference,
        good_for,
        online=online,
        kernel=True,
        differs=OWN_EMBEDDED.get(name, ""),
    )
    for name, feature_map, ranker, reference, good_for, online in EMBEDDED
]

PU_AUC, NU_AUC = (partial(PNUAUC, unlabeled_weight=weight) for weight in (1.0, -1.0))

SEMI = [
    Method("SAMULT", SAMULT, XIE, "few labelled, very many unlabelled rows; no class prior", semi_supervised=True),
    Method("PNU-AUC", PNUAUC, SAKAI, "the same by way of the class prior", semi_supervised=True),
    Method("PU-AUC", PU_AUC, SAKAI, "positive and unlabelled rows only", semi_supervised=True),
    Method("NU-AUC", NU_AUC, SAKAI, "negative and unlabelled rows only", semi_supervised=True),
    Method(
        "QSG-S2AUC",
        QSGS2AUC,
        SHI,
        "curved rankings from any number of rows",
        kernel=True,
        semi_supervised=True,
        differs=OWN_QSG,
    ),
]

HASTIE = "Hastie & Tibshirani 1990, Generalized additive models"

ADDITIVE = [Method("Scorecard", Scorecard, HASTIE, "scores that can be read: one shape a column, and pairs")]

RENDLE = "Rendle 2010, Factorization machines"

FACTORIZED = [
    Method("FactorizationRanker", FactorizationRanker, RENDLE, "wide one-hot rows: users and items, words, categories"),
]

FREUND = "Freund, Iyer, Schapire & Singer 2003, An efficient boosting algorithm for combining preferences"
AMINI = "Amini, Truong & Goutte 2008, Learning bipartite ranking functions with partially labeled data"

NEAR_LABELS = partial(RankBoost, n_neighbors=5)

BOOST = [
    Method("RankBoost", RankBoost, FREUND, "comparison; Scorecard fits the same kind of model exactly", online=False),
    Method("SSRankBoost", NEAR_LABELS, AMINI, "the same, near rows sharing labels", online=False, semi_supervised=True),
]

METHODS = [*SQUARE, *PAIRWISE, *ONLINE, *KERNEL, *FACTORIZED, *ADDITIVE, *BOOST, *SEMI]

ALIASES = {"LeastSquaresAUC": "B-LS-SVM", "SPAM": "SPAM-L2", "CBR": "CBR-FIFO", "KernelRankSVM": "RBF-RankSVM"}
"""Names of classes, where a paper calls the method otherwise."""


def algorithms() -> list[Method]:
    """All methods that `make` knows, as a list of records.

    Each record has ``name``, ``reference``, ``good_for``, ``online``, ``sparse``, ``kernel``, ``semi_supervised``, and
    ``differs``: where the name's defaults are not the paper's algorithm, and which parameters give that.

    Examples
    --------
    >>> from auclid import algorithms
    >>> [m.name for m in algorithms() if m.name.startswith("SPAM")]
    ['SPAM-L2', 'SPAM-NET']
    """
    return list(METHODS)


def make(name: str, **params: Any) -> Any:
    """The estimator a paper calls ``name``; case and punctuation are forgiven.

    Parameters
    ----------
    name : str
        A name that `algorithms` lists, or a class's own name.
    **params
        Constructor keywords, over the method's own.

    Returns
    -------
    estimator, not fitted

    Examples
    --------
    >>> from auclid import make
    >>> make("spam l2", alpha=0.01)
    SPAM(alpha=0.01)
    """
    return find(name).build(**params)


def find(name: str) -> Method:
    """The record of a method."""
    known = {plain(method.name): method for method in METHODS}
    known.update({plain(alias): known[plain(target)] for alias, target in ALIASES.items()})
    if plain(name) not in known:
        names = [method.name for method in METHODS]
        raise unknown_name("make", "name", "be the name of a method", name, names, ALIASES)
    return known[plain(name)]
