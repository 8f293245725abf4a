"""Every method by the name its paper gives it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from auclid._hints import plain
from auclid.errors import unknown_name

if TYPE_CHECKING:
    from auclid.kernels import Kernelized


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
        return self._class(*args, **params)

    @property
    def _class(self) -> type:
        import auclid

        return getattr(auclid, self.name)

    @property
    def __signature__(self) -> Signature:
        return signature(self._class)


Scorecard, RankBoost = Deferred("Scorecard"), Deferred("RankBoost")
KMeansNystroem, RandomFourier = Deferred("KMeansNystroem"), Deferred("RandomFourier")
CBR, OAM, UniExp = Deferred("CBR"), Deferred("OAM"), Deferred("UniExp")
FactorizationRanker = Deferred("FactorizationRanker")
OrderedRanker, SurvivalRanker = Deferred("OrderedRanker"), Deferred("SurvivalRanker")
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
    published: Callable[..., Any] | Mapping[str, Any] | None = None
    """What builds the paper's algorithm, or the parameters that give it, where the defaults differ from it."""
    target: str = "classes"
    """What y holds: two "classes", "levels" or "times"."""
    ours: bool = False
    """Whether no paper prints its algorithm: the reference is what it builds on."""

    def builder(self, published: bool) -> Callable[..., Any]:
        """What builds it, as published or with our defaults."""
        if not published or self.published is None:
            return self.build
        return self.published if callable(self.published) else partial(self.build, **self.published)


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
    "Our own steps, bounded for long rows, five passes over centred rows and a weighted average. Published: one pass, "
    "the last iterate, schedule='thm2' or 'thm3', average=False, centre=False; alpha and l1 are tuned."
)
OWN_SOLAM = (
    "Our own steps, bounded for long rows, five passes over centred rows and a weighted average. Published: one pass, "
    "the share of positives so far, centre=False; zeta and radius are tuned."
)
OWN_SOLAM_L2 = (
    "Our own steps, bounded for long rows, five passes over centred rows and a weighted average. Published: one pass, "
    "the share of positives so far, centre=False; zeta and alpha are tuned."
)
OWN_FSAUC = (
    "Our own steps, bounded for long rows, centred rows and a bound of |w|₂. Published: norm='l1', centre=False and "
    "the class means so far; step and radius are tuned."
)
OWN_OPAUC = "Our own falling steps, bounded for long rows. Published: a constant step=, which is tuned."
OWN_OPAUCR = (
    "Our own falling steps, and a sketch centred and shrunk towards the variances. Published: sketch='plain' and a "
    "constant step=, which is tuned."
)
OWN_ADAOAM = "Our own first step, from the rows' lengths. Published: a number step=, which is tuned."
OWN_OAM = (
    "Late rows in the buffers, one C and a weighted average. Published: buffer='reservoir', average=False, tuned C=."
)
OWN_C = "Our own C, from the rows' lengths. Published: C= is tuned."
OWN_CBR = (
    "The covariance's step as it is derived (Wang, Zhao & Hoi 2012), and our own C. Published: "
    "covariance='printed_full', which can become indefinite; C= is tuned."
)
OWN_DIAGONAL = "The diagonal of the derived step, and our own C. Published: covariance='printed'; C= is tuned."
OWN_UNI_EXP = (
    "Implicit steps, centred rows and a weighted average. Published: update='gradient', centre=False; step= is tuned."
)
OWN_SAM = (
    "alpha from norms and class sizes, of kernels by cross-validation of the square loss. Published: alpha= from "
    "10^-10 to 10^-7, tuned; t0, rskip and askip are not printed, so ours stay."
)
OWN_TOP = (
    "The top's edge is softened. Published: a hard edge, up to rounding, by softness=1e-12 (SVMpAUC) or 1e-10 "
    "(TopPush); alpha= is tuned."
)
OWN_QSG = (
    "Steps theta/(i + offset), which do not blow up. Published: offset=0, alpha= and gamma= tuned. Equation 16 prints "
    "the step j where the update rule above it has i: we follow the rule."
)
OWN_KERNEL_FORM = (
    "A linear model. Published: a kernel on all rows, in O(n³): KMeansNystroem(None) in Kernelized; "
    "alpha= and unlabeled_weight= are tuned."
)
OWN_PNU = OWN_KERNEL_FORM + " Where the risk is not convex, the weight is reduced, here as well."

PUBLISHED_SPAM = {"schedule": "thm2", "guard": False, "average": False, "centre": False, "n_epochs": 1, "alpha": 1.0}
PUBLISHED_SOLAM = {"zeta": 1.0, "radius": 1.0, "centre": False, "n_epochs": 1}
PUBLISHED_SAM = {"alpha": 1e-8}
SMALL_STEP = {"step": 2.0**-6}

SQUARE = [
    Method("B-LS-SVM", LeastSquaresAUC, GAO, "the exact square-loss answer in one mergeable pass"),
    Method("LeastSquaresAUCCV", LeastSquaresAUCCV, GAO, "the same with alpha cross-validated", online=False, ours=True),
    Method("SPAM-L2", SPAM, NATOLE, "wide sparse rows, streams", differs=OWN_SPAM, published=PUBLISHED_SPAM),
    Method("SPAM-NET", partial(SPAM, l1=1e-3), NATOLE,
           "the same with small weights made smaller; B-LS-SVM with l1= makes them zero", differs=OWN_SPAM,
           published=PUBLISHED_SPAM),
    Method("SOLAM", SOLAM, YING, "wide sparse rows, streams; weights in a ball", differs=OWN_SOLAM,
           published=PUBLISHED_SOLAM),
    Method("SOLAM-L2", partial(SOLAM, alpha=1e-4), NATOLE, "the same with a penalty in place of the ball",
           differs=OWN_SOLAM_L2, published={"zeta": 1.0, "alpha": 1.0, "centre": False, "n_epochs": 1}),
    Method("FSAUC", FSAUC, LIU, "wide sparse rows, in few passes", online=False, differs=OWN_FSAUC,
           published={"radius": 1.0, "step": 0.1, "norm": "l1", "centre": False, "n_epochs": 1}),
    Method("OPAUC", OPAUC, GAO, "a single pass over up to a thousand columns", differs=OWN_OPAUC, published=SMALL_STEP),
    Method("OPAUCr", partial(OPAUC, rank=50), GAO, "a single pass over more columns, roughly", differs=OWN_OPAUCR,
           published={**SMALL_STEP, "sketch": "plain"}),
    Method("AdaOAM", AdaOAM, DING, "a single pass over columns of unlike frequency", differs=OWN_ADAOAM,
           published=SMALL_STEP),
]  # fmt: skip

PAIRWISE = [
    Method("SAM", partial(ASAM, average=False), KHALID, "the plain step that ASAM and PSAM improve on", differs=OWN_SAM,
           published=PUBLISHED_SAM),
    Method("ASAM", ASAM, KHALID, "very many rows, in a few passes", differs=OWN_SAM, published=PUBLISHED_SAM),
    Method("PSAM", PSAM, KHALID, "the same with steps that cannot overshoot", differs=OWN_SAM, published=PUBLISHED_SAM),
    Method("RankSVM", RankSVM, CHAPELLE, "all pairs exactly, up to millions of rows", online=False),
    Method("BAM", RankSVM, KHALID, "the same, by the name of its batch baseline", online=False),
    Method("PRSVM+", RankSVM, CHAPELLE, "the same, by the name of its solver", online=False),
    Method("B-SVM-OR", partial(RankSVM, loss="hinge"), JOACHIMS, "all pairs with the hinge", online=False),
    Method("SVMpAUC", partial(RankSVM, loss="hinge", max_fpr=0.1), NARASIMHAN, "the top of the list", online=False,
           differs=OWN_TOP, published={"softness": 1e-12}),
    Method("TopPush", partial(RankSVM, max_fpr="top"), LI, "the very first rows of the list", online=False,
           differs=OWN_TOP, published={"softness": 1e-10}),
    Method("RBF-RankSVM", KernelRankSVM, KUO, "curves in some thousand rows", online=False, kernel=True),
    Method("RBF-RankSVM-subsample", partial(KernelRankSVM, subsample=0.2), KUO,
           "curves in some ten thousand rows, roughly", online=False, kernel=True),
]  # fmt: skip

RESERVOIR_OAM = partial(OAM, buffer="reservoir", average=False)
GRADIENT_OAM = partial(RESERVOIR_OAM, update="gradient")
RESERVOIR_CBR = partial(CBR, buffer="reservoir")
PUBLISHED_OAM = {"buffer": "reservoir", "average": False, "C": 2.0**-6}
PRINTED_COVARIANCE = {"covariance": "printed_full", "C": 1.0}

ONLINE = [
    Method("OAM", OAM, ZHAO, "streams, where a buffer of rows pays", differs=OWN_OAM, published=PUBLISHED_OAM),
    Method("OAMseq", RESERVOIR_OAM, ZHAO, "comparison; OAM's own defaults rank better", differs=OWN_C,
           published=PUBLISHED_OAM),
    Method("OAMgra", GRADIENT_OAM, ZHAO, "the same, one update a row", differs=OWN_C, published={"C": 2.0**-6}),
    Method("CBR-RS", RESERVOIR_CBR, KHALID, "streams of up to some hundred columns", differs=OWN_CBR,
           published=PRINTED_COVARIANCE),
    Method("CBR-FIFO", CBR, KHALID, "the same, late rows first", differs=OWN_CBR, published=PRINTED_COVARIANCE),
    Method("CBR-diag", partial(CBR, covariance="diagonal"), KHALID, "streams of wide or sparse rows",
           differs=OWN_DIAGONAL, published={"covariance": "printed", "C": 1.0}),
    Method("Uni-Exp", UniExp, KOTLOWSKI, "streams, at the least cost a row", differs=OWN_UNI_EXP,
           published={**SMALL_STEP, "update": "gradient", "centre": False}),
]  # fmt: skip


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
PUBLISHED_NYSTROEM = partial(KMeansNystroem, n_components=1600, gamma="variance", rows_per_landmark=None)
PHASES_1600 = partial(RandomFourier, n_components=1600, form="phase")
PRINTED_300 = partial(RandomFourier, n_components=300, form="printed", gamma=0.005)
PRINTED_FCBR = partial(CBR, mean_step=0.5, **PRINTED_COVARIANCE)

OWN_LANDMARKS = (
    "800 landmarks from k-means on ten rows each, and our own rule for the width. Published: n_components=1600, "
    "rows_per_landmark=None, gamma='variance'."
)
OWN_WAVES = (
    "800 paired waves (a cosine and a sine each), and our own rule for the width. Published: n_components=1600, "
    "form='phase' (equation 3.2); gamma= is tuned."
)
OWN_FOURIER_300 = (
    "Waves of length 1, and our own rule for the width. Published: form='printed' (equation 5.2), and gamma=0.005 for "
    "the printed width of 100, whose unit is not said."
)
OWN_FCBR = f"{OWN_FOURIER_300} {OWN_CBR} mean_step=0.5 (proposition 3)."


Parts = tuple[Callable[..., Any], Callable[..., Any]]
"""Builders of a feature map and of the ranker on top of it."""


def _on_map(
    name: str, own: Parts, published: Parts, reference: str, good_for: str, differs: str, online: bool = True
) -> Method:
    """A method on top of a feature map, by our defaults and as published."""
    published_form = mapped(*published)
    return Method(
        name, mapped(*own), reference, good_for, online, kernel=True, differs=differs, published=published_form
    )


def _on_landmarks(
    name: str,
    ranker: Callable[..., Any],
    published: Callable[..., Any],
    reference: str,
    good_for: str,
    differs: str = "",
    online: bool = True,
) -> Method:
    """A method on top of the k-means Nyström map."""
    own, published_form = (KMeansNystroem, ranker), (PUBLISHED_NYSTROEM, published)
    differs = f"{OWN_LANDMARKS} {differs}".strip()
    return _on_map(name, own, published_form, reference, good_for, differs, online)


SAM = partial(ASAM, average=False)
# Behind a feature map the search for alpha gains more than it costs beside the map.
SEARCHED_ASAM, SEARCHED_SAM = partial(ASAM, alpha="cv"), partial(ASAM, average=False, alpha="cv")

KERNEL = [
    _on_landmarks("NBAM", RankSVM, RankSVM, KHALID, "curved rankings of any number of rows, all pairs exactly",
                  online=False),
    _on_map("FBAM", (RandomFourier, RankSVM), (partial(PHASES_1600, gamma=0.005), RankSVM), KHALID,
            "the same with random waves for landmarks", OWN_WAVES, online=False),
    _on_landmarks("NSAM", SEARCHED_SAM, partial(SAM, **PUBLISHED_SAM), KHALID, "the plain step that NASAM improves on",
                  OWN_SAM),
    _on_landmarks("NASAM", SEARCHED_ASAM, partial(ASAM, **PUBLISHED_SAM), KHALID, "curved rankings, a pair a step",
                  OWN_SAM),
    _on_map("FASAM", (RandomFourier, SEARCHED_ASAM),
            (partial(PHASES_1600, gamma=0.1), partial(ASAM, **PUBLISHED_SAM)), KHALID,
            "the same with random waves for landmarks", f"{OWN_WAVES} {OWN_SAM}"),
    _on_landmarks("NPSAM", partial(PSAM, alpha="cv"), partial(PSAM, **PUBLISHED_SAM), KHALID,
                  "curved rankings, a pair a step that cannot overshoot", OWN_SAM),
    _on_landmarks("NSOLAM", SOLAM, partial(SOLAM, **PUBLISHED_SOLAM | {"n_epochs": 15}), KHALID,
                  "curved rankings, a row a step", f"{OWN_SOLAM} In the dissertation 15 passes."),
    _on_landmarks("NOAMseq", RESERVOIR_OAM, partial(RESERVOIR_OAM, C=2.0**-6), LARGE, "comparison; NPSAM ranks better",
                  OWN_C),
    _on_landmarks("NOAMgra", GRADIENT_OAM, partial(GRADIENT_OAM, C=2.0**-6), LARGE, "the same, one update a row",
                  OWN_C),
    _on_map("FOAM", (FOURIER_300, RESERVOIR_OAM), (PRINTED_300, partial(RESERVOIR_OAM, C=2.0**-6)), LARGE,
            "comparison; FCBR ranks better", f"{OWN_FOURIER_300} {OWN_C}"),
    _on_map("FCBR-RS", (FOURIER_300, RESERVOIR_CBR), (PRINTED_300, partial(PRINTED_FCBR, buffer="reservoir")), KHALID,
            "curved rankings of streams, all rows alike", OWN_FCBR),
    _on_map("FCBR-FIFO", (FOURIER_300, CBR), (PRINTED_300, PRINTED_FCBR), KHALID,
            "curved rankings of streams, late rows first", OWN_FCBR),
]  # fmt: skip

PU_AUC, NU_AUC = (partial(PNUAUC, unlabeled_weight=weight) for weight in (1.0, -1.0))
ALL_ROWS = partial(KMeansNystroem, n_components=None, gamma=1.0)


def _on_all_rows(ranker: Callable[..., Any], weight: float) -> "Callable[..., Kernelized]":
    """The published form of a semi-supervised closed form: a kernel on all rows."""
    return mapped(ALL_ROWS, partial(ranker, unlabeled_weight=weight, alpha=1.0))


SEMI = [
    Method("SAMULT", SAMULT, XIE, "few labelled, very many unlabelled rows; no class prior", semi_supervised=True,
           differs=OWN_KERNEL_FORM, published=_on_all_rows(SAMULT, 0.5)),
    Method("PNU-AUC", PNUAUC, SAKAI, "the same by way of the class prior", semi_supervised=True, differs=OWN_PNU,
           published=_on_all_rows(PNUAUC, 0.5)),
    Method("PU-AUC", PU_AUC, SAKAI, "positive and unlabelled rows only", semi_supervised=True, differs=OWN_PNU,
           published=_on_all_rows(PNUAUC, 1.0)),
    Method("NU-AUC", NU_AUC, SAKAI, "negative and unlabelled rows only", semi_supervised=True, differs=OWN_PNU,
           published=_on_all_rows(PNUAUC, -1.0)),
    Method("QSG-S2AUC", QSGS2AUC, SHI, "curved rankings from any number of rows", kernel=True, semi_supervised=True,
           differs=OWN_QSG, published={"offset": 0, "alpha": 1.0, "gamma": 1.0}),
]  # fmt: skip

HASTIE = "Hastie & Tibshirani 1990, Generalized additive models"

ADDITIVE = [Method("Scorecard", Scorecard, HASTIE, "scores that can be read: one shape a column, and pairs", ours=True)]

RENDLE = "Rendle 2010, Factorization machines"

FACTORIZED = [
    Method("FactorizationRanker", FactorizationRanker, RENDLE, "wide one-hot rows: users and items, words, categories",
           ours=True),
]  # fmt: skip

FREUND = "Freund, Iyer, Schapire & Singer 2003, An efficient boosting algorithm for combining preferences"
AMINI = "Amini, Truong & Goutte 2008, Learning bipartite ranking functions with partially labeled data"

NEAR_LABELS = partial(RankBoost, n_neighbors=5)

BOOST = [
    Method("RankBoost", RankBoost, FREUND, "comparison; Scorecard fits the same kind of model exactly", online=False),
    Method("SSRankBoost", NEAR_LABELS, AMINI, "the same, near rows sharing labels", online=False, semi_supervised=True),
]

LEE = "Lee & Lin 2014, Large-scale linear RankSVM"
VAN_BELLE = "Van Belle, Pelckmans, Suykens & Van Huffel 2007, Support vector machines for survival analysis"

ORDERED_METHODS = [
    Method("OrderedRanker", OrderedRanker, LEE, "levels, numbers, documents within queries", target="levels",
           ours=True),
    Method("SurvivalRanker", SurvivalRanker, VAN_BELLE, "censored times", online=False, target="times", ours=True),
]  # fmt: skip

METHODS = [*SQUARE, *PAIRWISE, *ONLINE, *KERNEL, *FACTORIZED, *ADDITIVE, *BOOST, *SEMI]
"""The methods of two classes."""

ALIASES = {"LeastSquaresAUC": "B-LS-SVM", "SPAM": "SPAM-L2", "CBR": "CBR-FIFO", "KernelRankSVM": "RBF-RankSVM"}
"""Names of classes, where a paper calls the method otherwise."""


def algorithms() -> list[Method]:
    """All methods that `make` knows, as a list of records.

    Each record has ``name``, ``reference``, ``good_for``, ``online``, ``sparse``, ``kernel``, ``semi_supervised``, and
    ``differs``: where the name's defaults are not the paper's algorithm, and which parameters give that; empty if they
    are. ``make(name, published=True)`` gives it. ``target`` is what y holds: two "classes", "levels" or "times".
    ``ours`` is whether no paper prints the algorithm; the reference is then what it builds on.

    Examples
    --------
    >>> from auclid import algorithms
    >>> [m.name for m in algorithms() if m.name.startswith("SPAM")]
    ['SPAM-L2', 'SPAM-NET']
    """
    return [*METHODS, *ORDERED_METHODS]


def make(name: str, published: bool = False, **params: Any) -> Any:
    """The estimator a paper calls ``name``; case and punctuation are forgiven.

    Parameters
    ----------
    name : str
        A name that `algorithms` lists, or a class's own name.
    published : bool, default=False
        Whether the algorithm is exactly as its paper prints it: steps, averaging, loss, and sizes and widths of feature
        maps. What a paper tunes has one value of the printed range: set it by ``params``. ``algorithms()`` tells in
        ``differs`` where the defaults are not the paper's.
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
    >>> make("SOLAM", published=True, zeta=10.0)
    SOLAM(centre=False, n_epochs=1, radius=1.0, zeta=10.0)
    """
    return find(name, algorithms()).builder(published)(**params)


def find(name: str, methods: Sequence[Method] = METHODS) -> Method:
    """The record of a method, by default one of two classes."""
    known = {plain(method.name): method for method in methods}
    known.update({plain(alias): known[plain(target)] for alias, target in ALIASES.items()})
    if plain(name) not in known:
        names = [method.name for method in methods]
        raise unknown_name("make", "name", "be the name of a method", name, names, ALIASES)
    return known[plain(name)]
