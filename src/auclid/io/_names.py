"""Names in model files: which class of auclid each name stands for, and what its objects hold.

A name is not a module path, so classes can move while files stay readable. The table holds strings; a class is imported
when a file is found to hold it. An object of a class that is not in the table can be neither saved nor loaded.

The attributes of an estimator, and the fields of the structs whose sizes must fit its columns, are described in the
language of `auclid.io._learnt`: ``coef_:double[1,d]`` is an array of finite float64 numbers with a column for each
feature.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from auclid.io._container import ModelFileError


class Change(NamedTuple):
    """How the fields that older files hold become the fields of today.

    Parameters
    ----------
    renamed : dict of str to str
        Old name of a field to its new name.
    added : dict of str to anything
        Fields that older files lack, and their values there.
    upgrade : function, optional
        From a dict of fields to a dict of fields, for all other changes; applied last. It is given the fields of new
        files too, and must return those unchanged.

    Examples
    --------
    >>> from auclid.io._names import Change
    >>> Change(renamed={"lag": "delay"}, added={"n": 0}).apply({"w": 1.0, "lag": 2.0})
    {'n': 0, 'w': 1.0, 'delay': 2.0}
    """

    renamed: Mapping[str, str] = {}
    added: Mapping[str, Any] = {}
    upgrade: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def apply(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of today."""
        fields = {**self.added, **{self.renamed.get(name, name): value for name, value in fields.items()}}
        return fields if self.upgrade is None else self.upgrade(fields)


class Entry(NamedTuple):
    """A class that files may name.

    Parameters
    ----------
    name : str
        Its name in files.
    path : str
        Its module and name in the package.
    holds : str
        Its attributes or fields, in the language of `auclid.io._learnt`. For an estimator: all that are no parameters.
    change : Change
        What files under the same name lack or say differently.
    older : dict of str to Change
        Names that older files use for the class, and how their fields become today's.
    """

    name: str
    path: str
    holds: str = ""
    change: Change = Change()
    older: Mapping[str, Change] = {}

    @property
    def cls(self) -> type[Any]:
        """The class, imported if need be."""
        return find_class(self.path)

    def changes(self) -> dict[str, Change]:
        """Every name that files use for the class, with its change."""
        return {self.name: self.change, **self.older}


class NameTable:
    """Entries by name and by class."""

    def __init__(self, *entries: Entry) -> None:
        self._by_path = {entry.path: entry for entry in entries}
        self._by_name: dict[str, tuple[Entry, Change]] = {}
        for entry in entries:
            for name, change in entry.changes().items():
                if name in self._by_name:
                    raise ValueError(f"A name in files must mean one class; {name!r} means two.")
                self._by_name[name] = entry, change

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._by_path.values())

    def of(self, value: Any) -> Entry | None:
        """The entry of an object's class, or None."""
        return self._by_path.get(class_path(type(value)))

    def find(self, name: Any) -> tuple[Entry, Change]:
        """The entry that a name in a file stands for, and the change that its fields need."""
        if not isinstance(name, str) or name not in self._by_name:
            raise ModelFileError(f"it holds a {name!r}, which this version of auclid does not have.")
        return self._by_name[name]


def class_path(cls: type) -> str:
    """Module and name of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def find_class(path: str) -> Any:
    """Import the class of a path. Paths come from the tables of this package, never from a file."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


BINARY = "n_features_in_:=d feature_names_in_:str[d] classes_:label[2] threshold_:finite "
LINEAR = BINARY + "coef_:double[1,d] intercept_:double[1] "
STREAM = LINEAR + "n_iter_:count _state:any _rng:generator _dense:bool "
ORDERED = (
    "n_features_in_:=d feature_names_in_:str[d] coef_:double[1,d] intercept_:double[1] alpha_:real alphas_:real[m] "
    "cv_concordance_:real[*,m] n_iter_:count objective_:real gap_:real "
)
TRANSFORMER = "n_features_in_:=d feature_names_in_:str[d] _sklearn_output_config:output "

ESTIMATORS = NameTable(
    Entry("AdaOAM", "auclid.square.adaoam.AdaOAM", STREAM + "step_:real"),
    Entry("ASAM", "auclid.pairwise.sam.ASAM", STREAM + "alpha_:real t0_:real"),
    Entry("AUCClassifier", "auclid.auto.classifier.AUCClassifier",
          "n_features_in_:=d feature_names_in_:str[d] classes_:label[k] models_:list<AUCClassifier>[k] best_:str "
          "threshold_:finite members_:list<Member> leaderboard_:list<LeaderboardEntry> _columns:Columns _odds:Odds",
          change=Change(added={"metric": "roc_auc", "quality": "default"})),
    Entry("Calibrated", "auclid.calibrated.Calibrated", BINARY + "ranker_:part _odds:Odds _window:ScoreWindow?"),
    Entry("CBR", "auclid.online.cbr.CBR", STREAM + "C_:real"),
    Entry("Columns", "auclid.columns.transformer.Columns",
          TRANSFORMER + "_levels:dict _numbers:NumericScaling|SparseScaling _periods:dict _sparse:bool constants_:list "
          "identifiers_:list kinds_:list notes_:list ranked_:list"),
    Entry("FSAUC", "auclid.square.fsauc.FSAUC", LINEAR + "n_iter_:count radius_:real"),
    Entry("Kernelized", "auclid.kernels.kernelized.Kernelized",
          "n_features_in_:=d feature_names_in_:str[d] threshold_:finite feature_map_:part ranker_:part _weights:tuple"),
    Entry("KernelRankSVM", "auclid.pairwise.kernel_rank_svm.KernelRankSVM",
          BINARY + "dual_coef_:double[1,m] intercept_:double[1] support_:int[m] support_vectors_:real[m,d]|sparse[m,d] "
          "gamma_:real? n_iter_:count objective_:real"),
    Entry("KMeansNystroem", "auclid.kernels.kmeans_nystroem.KMeansNystroem",
          TRANSFORMER + "_kernel:any gamma_:real? landmarks_:real[m,d]|sparse[m,d] whitening_:real[*,*]"),
    Entry("LeastSquaresAUC", "auclid.square.least_squares.LeastSquaresAUC",
          LINEAR + "n_iter_:count solver_:str _moments:ClassMoments"),
    Entry("LeastSquaresAUCCV", "auclid.square.least_squares_cv.LeastSquaresAUCCV",
          LINEAR + "alpha_:real alphas_:real[m] cv_auc_:real[*,m]", change=Change(added={"metric": "roc_auc"})),
    Entry("ConstrainedAUC", "auclid.square.constrained.ConstrainedAUC",
          LINEAR + "groups_:label[*] pairs_:label[c,2] gaps_:double[c] multipliers_:double[c] residual_:real "
          "_moments:list<Moments>"),
    Entry("FactorizationRanker", "auclid.pairwise.factorization.FactorizationRanker",
          LINEAR + "factors_:double[d,r] alpha_:real rank_:=r|count n_iter_:count _rng:generator _stream:StreamState?"),
    Entry("MinimaxAUC", "auclid.square.minimax.MinimaxAUC",
          LINEAR + "n_iter_:count gap_:real groups_:label[*] pair_weights_:real[*,*] risks_:real[*,*] "
          "_moments:list<Moments>|list<list<Moments>>|list<tuple<Moments>>"),
    Entry("MulticlassAUC", "auclid.square.multiclass.MulticlassAUC",
          "n_features_in_:=d feature_names_in_:str[d] classes_:label[k] threshold_:finite coef_:double[*,d] "
          "intercept_:double[*] _moments:list<Moments>[k]"),
    Entry("OAM", "auclid.online.oam.OAM", STREAM + "C_:real"),
    Entry("OPAUC", "auclid.square.opauc.OPAUC", STREAM + "step_:real"),
    Entry("OrderedRanker", "auclid.ordered.ordered_ranker.OrderedRanker", ORDERED + "_stream:OrderedMoments?"),
    Entry("PNUAUC", "auclid.semi.pnu.PNUAUC",
          LINEAR + "n_iter_:count alpha_:real prior_:real unlabeled_weight_:real _seen:SemiSupervisedStats"),
    Entry("PSAM", "auclid.pairwise.sam.PSAM", STREAM + "alpha_:real t0_:real"),
    Entry("QSGS2AUC", "auclid.semi.qsg.QSGS2AUC",
          BINARY + "amplitudes_:double[t,m] phases_:double[t,m] gamma_:real intercept_:finite kernel_:str "
          "n_iter_:count seed_:int _rng:generator _samples:SetSamples"),
    Entry("RandomFourier", "auclid.kernels.random_fourier.RandomFourier",
          TRANSFORMER + "_waves:real[d,*] gamma_:real phases_:real[*]"),
    Entry("RankBoost", "auclid.boost.rank_boost.RankBoost",
          BINARY + "intercept_:finite n_iter_:count stumps_:list<Stump>"),
    Entry("RankSVM", "auclid.pairwise.rank_svm.RankSVM",
          LINEAR + "n_iter_:count alpha_:real gap_:real objective_:real softness_:real?",
          change=Change(added={"metric": "roc_auc"})),
    Entry("SAMULT", "auclid.semi.samult.SAMULT",
          LINEAR + "n_iter_:count alpha_:real unlabeled_weight_:real _seen:SemiSupervisedStats"),
    Entry("Scorecard", "auclid.additive.scorecard.Scorecard",
          BINARY + "intercept_:double[1] alpha_:real cv_auc_:real focus_:real interactions_:list knots_:dict loss_:str "
          "scale_:finite shapes_:list smooth_:real _card:Card _chosen:tuple _counts:CardCounts? _edits:list "
          "_features:list<Feature> "
          "_kept_columns:list<ColumnSpec> _odds:Odds _seen:tuple _unedited:tuple? _unit:double[2]?",
          change=Change(added={"metric": "roc_auc"})),
    Entry("SOLAM", "auclid.square.solam.SOLAM", STREAM + "radius_:real zeta_:real a_:finite b_:finite dual_:finite"),
    Entry("SPAM", "auclid.square.spam.SPAM", STREAM + "schedule_:any a_:finite b_:finite dual_:finite"),
    Entry("SurvivalRanker", "auclid.ordered.survival_ranker.SurvivalRanker", ORDERED),
    Entry("UniExp", "auclid.online.uni_exp.UniExp", STREAM + "step_:real"),
)  # fmt: skip
"""The estimators that files may name, each by its class's name.

A parameter that a later release adds says what older files mean by its absence:
``Entry("RankSVM", ..., change=Change(added={"max_fpr": 1.0}))``."""

STRUCTS = NameTable(
    # parameters
    Entry("L2", "auclid.penalties.L2"),
    Entry("ElasticNet", "auclid.penalties.ElasticNet"),
    Entry("Ball", "auclid.penalties.Ball"),
    Entry("Constant", "auclid.schedules.Constant"),
    Entry("Power", "auclid.schedules.Power"),
    Entry("Harmonic", "auclid.schedules.Harmonic"),
    Entry("Square", "auclid.losses.Square"),
    Entry("Hinge", "auclid.losses.Hinge"),
    Entry("SquaredHinge", "auclid.losses.SquaredHinge"),
    Entry("Logistic", "auclid.losses.Logistic"),
    # statistics of rows
    Entry("moments", "auclid.stats.moments.Moments", "n:weight mean:double[d] scatter:double[]|double[d,d]"),
    Entry("class moments", "auclid.stats.moments.ClassMoments", "pos:Moments neg:Moments"),
    Entry("pairs' moments", "auclid.stats.ordered_moments.SquareSystem", "A:double[d,d] b:double[d] total:weight"),
    Entry("levels' moments", "auclid.stats.ordered_moments.OrderedMoments",
          "levels:double[k] moments:list<Moments>[k] grouped:SquareSystem"),
    Entry("buffers", "auclid.stats.buffers.ClassBuffers"),
    Entry("class sums", "auclid.stats.class_sums.ClassSums"),
    Entry("class scatter", "auclid.stats.class_sums.ClassScatter"),
    Entry("running class means", "auclid.stats.class_means.RunningMeans"),
    Entry("sample", "auclid.stats.samples.ReservoirSample", "rows:double[*,d]|sparse[*,d]|none seen:count"),
    Entry("samples", "auclid.stats.samples.SetSamples", "neg:ReservoirSample pos:ReservoirSample unl:ReservoirSample"),
    Entry("labelled and unlabelled moments", "auclid.stats.sets.Sets", "neg:Moments pos:Moments unl:Moments"),
    Entry("labelled and unlabelled rows", "auclid.stats.sets.SemiSupervisedStats",
          "sets:Sets samples:SetSamples rng:generator"),
    Entry("stump", "auclid.solvers.stumps.Stump"),
    # states of streams, compared with a fresh state of the estimator
    Entry("scale factors", "auclid.solvers.averaging.ScaleFactors"),
    Entry("iterate", "auclid.solvers.averaging.AveragedIterate"),
    Entry("lagged average", "auclid.solvers.averaging.LaggedAverage"),
    Entry("SPAM shrinkage", "auclid.solvers.proximal.LazyShrinkage"),
    Entry("SPAM state", "auclid.solvers.proximal.ProximalState"),
    Entry("SOLAM state", "auclid.solvers.saddle.SaddleState"),
    Entry("OPAUC state", "auclid.solvers.one_pass.OnePassState"),
    Entry("OPAUC scatter", "auclid.solvers.one_pass.FullScatter"),
    Entry("OPAUC sketch", "auclid.solvers.one_pass.SketchedScatter"),
    Entry("factorization model", "auclid.solvers.factorization.FactorizationState",
          "w:double[d] V:double[d,r] w_squares:double[d] V_squares:double[d,r] w_sum:double[d] V_sum:double[d,r] "
          "z:double[d] inverse_rate:double[d] threshold:double[1] stamp:int[d] visits:int[d] t:int[1]"),
    Entry("factorization stream", "auclid.pairwise.factorization.StreamState",
          "model:FactorizationState total:double[2,d] n:double[2] buffers:any"),
    Entry("SAM iterate", "auclid.solvers.random_pairs.PairIterate"),
    Entry("SAM state", "auclid.solvers.random_pairs.RandomPairsState"),
    Entry("OAM state", "auclid.solvers.buffered.BufferedHingeState"),
    Entry("CBR state", "auclid.solvers.confidence_weighted.ConfidenceWeightedState"),
    Entry("full covariance", "auclid.solvers.confidence_weighted.FullCovariance"),
    Entry("diagonal covariance", "auclid.solvers.confidence_weighted.DiagonalCovariance"),
    Entry("UniExp state", "auclid.solvers.univariate.UnivariateState"),
    # parts of fitted models, checked by their estimators
    Entry("Gaussian kernel", "auclid.kernels._kernel_block.Gaussian"),
    Entry("kernel", "auclid.kernels._kernel_block.Pairwise"),
    Entry("numbers", "auclid.columns._numbers.NumericScaling",
          "median:finite[m] marked:int[*] size:positive[m] low:real[m] high:real[m] middle:finite[m] "
          "spread:positive[m] ranked:int[g] grids:list<NormalScores>[g] mass:weight",
          change=Change(added={"mass": 0.0})),
    Entry("sparse numbers", "auclid.columns._numbers.SparseScaling", "median:finite[m] marked:int[*] size:positive[m]"),
    Entry("normal scores", "auclid.columns._numbers.NormalScores", "values:finite[n] scores:finite[n]"),
    Entry("levels", "auclid.columns._levels.Levels"),
    Entry("trees", "auclid.trees.structs.Trees"),
    Entry("networks", "auclid.auto._network.Networks"),
    Entry("member", "auclid.auto._search.Member"),
    Entry("leaderboard entry", "auclid.auto._blend.LeaderboardEntry", change=Change(added={"ap": float("nan")})),
    Entry("scorecard column", "auclid.additive._columns.ColumnSpec"),
    Entry("scorecard feature", "auclid.additive._features.Feature"),
    Entry("scorecard basis", "auclid.additive._basis.Basis"),
    Entry("scorecard values", "auclid.additive._shapes.Card"),
    Entry("scorecard counts", "auclid.additive._counts.CardCounts"),
    Entry("counts of a column", "auclid.additive._counts.ColumnCounts"),
    Entry("counts of a pair", "auclid.additive._counts.PairCounts"),
    Entry("shape", "auclid.additive._shapes.Shape"),
    Entry("shape of a pair", "auclid.additive._shapes.PairShape"),
    Entry("odds", "auclid.stats.odds.Odds"),
    Entry("scores of a stream", "auclid.stats.odds.ScoreWindow",
          "scores:finite[n] is_pos:bool[n] weight:finite[n] masses:finite[2] unused:count"),
)  # fmt: skip
"""The named tuples and dataclasses that files may name.

Once a name has been released its fields are settled. A struct whose fields change gets a new name, and the old one
becomes an ``older`` of it: ``Entry("SPAM state 2", ..., older={"SPAM state": Change(added={"seen": 0.0})})``."""
