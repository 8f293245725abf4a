"""The table of names in files: every estimator and every struct that a model may hold.

A struct that moves to another module changes nothing here but an import. One whose fields change says in its line
how those of older files become today's: `auclid.io._wire.was`. One that no line names cannot be saved.
"""

from auclid import losses, penalties, schedules
from auclid.additive import Scorecard, _basis, _columns, _features, _shapes
from auclid.auto import AUCClassifier, _blend, _columns_0_1, _search
from auclid.boost import RankBoost
from auclid.calibrated import Calibrated
from auclid.columns import Columns, _levels, _numbers
from auclid.io import _older
from auclid.io._wire import Estimator, Struct, estimators, structs, was
from auclid.kernels import Kernelized, KMeansNystroem, RandomFourier, _kernel_block
from auclid.online import CBR, OAM, UniExp
from auclid.pairwise import ASAM, PSAM, FactorizationRanker, KernelRankSVM, RankSVM
from auclid.pairwise import factorization as factorization_ranker
from auclid.semi import PNUAUC, QSGS2AUC, SAMULT
from auclid.solvers import (
    buffered,
    confidence_weighted,
    factorization,
    gaussian,
    iterate,
    one_pass,
    random_pairs,
    row_steps,
    saddle,
    stumps,
    univariate,
)
from auclid.square import (
    FSAUC,
    OPAUC,
    SOLAM,
    SPAM,
    AdaOAM,
    ConstrainedAUC,
    LeastSquaresAUC,
    LeastSquaresAUCCV,
    MinimaxAUC,
    MulticlassAUC,
)
from auclid.stats import buffers, class_means, class_sums, moments, odds, prior, samples, sets
from auclid.trees import structs as trees

ESTIMATORS = estimators(
    Estimator(AdaOAM, upgrade=_older.stream),
    Estimator(ASAM, upgrade=_older.pair_sampler),
    Estimator(AUCClassifier, added={"max_fpr": 1.0, "threads": 1}),
    Estimator(Calibrated),
    Estimator(CBR, upgrade=_older.stream),
    Estimator(Columns),
    Estimator(FSAUC, added={"step": None, "norm": "l2"}),
    Estimator(Kernelized),
    Estimator(FactorizationRanker),
    Estimator(KernelRankSVM),
    Estimator(KMeansNystroem),
    Estimator(LeastSquaresAUC),
    Estimator(LeastSquaresAUCCV),
    Estimator(ConstrainedAUC),
    Estimator(MinimaxAUC),
    Estimator(MulticlassAUC),
    Estimator(OAM, upgrade=_older.stream),
    Estimator(OPAUC, added={"sketch": "shrunk"}, upgrade=_older.stream),
    Estimator(PNUAUC),
    Estimator(PSAM, upgrade=_older.pair_sampler),
    Estimator(QSGS2AUC, added={"_anew": False}),
    Estimator(RandomFourier),
    Estimator(RankBoost),
    Estimator(RankSVM, added={"max_fpr": 1.0, "min_tpr": 0.0, "softness": 0.1}),
    Estimator(SAMULT),
    Estimator(Scorecard),
    Estimator(SOLAM, upgrade=_older.stream),
    Estimator(SPAM, added={"guard": True}, upgrade=_older.stream),
    Estimator(UniExp, added={"update": "implicit"}, upgrade=_older.stream),
)
"""The estimators a file may name. A parameter that a later release adds says here what older files mean by its absence:
``Estimator(RankSVM, added={"max_fpr": 1.0})``."""

ENTRIES = (
    # parameters
    Struct("L2", penalties.L2, was("penalties.L2")),
    Struct("ElasticNet", penalties.ElasticNet, was("penalties.ElasticNet")),
    Struct("Ball", penalties.Ball, was("penalties.Ball")),
    Struct("Constant", schedules.Constant, was("schedules.Constant")),
    Struct("Power", schedules.Power, was("schedules.Power")),
    Struct("Harmonic", schedules.Harmonic, was("schedules.Harmonic")),
    Struct("Square", losses.Square, was("losses.Square")),
    Struct("Hinge", losses.Hinge, was("losses.Hinge")),
    Struct("SquaredHinge", losses.SquaredHinge, was("losses.SquaredHinge")),
    Struct("Logistic", losses.Logistic, was("losses.Logistic")),
    # what is known of rows
    Struct("moments", moments.Moments, was("moments.Moments")),
    Struct("class moments", moments.ClassMoments, was("moments.ClassMoments")),
    Struct("buffers", buffers.Buffers, was("buffers.Buffers")),
    Struct("class sums", class_sums.ClassSums, was("online._buffered.Seen")),
    Struct("class scatter", class_sums.ClassScatter),
    Struct("running class means", class_means.Running),
    Struct("sample", samples.Sample, was("semi._sample.Sample")),
    Struct("samples", samples.Samples, was("semi._sample.Samples")),
    Struct("labelled and unlabelled moments", sets.Sets, was("semi._closed_form.Sets")),
    Struct(
        "labelled and unlabelled rows",
        sets.SemiSupervisedStats,
        was("semi._closed_form.Seen", added={"by_content": False}),
    ),
    Struct("prior", prior.Prior, was("semi._prior.Prior")),
    Struct("stump", stumps.Stump),
    # states of streams
    Struct("factors", iterate.Factors),
    Struct("iterate", iterate.Iterate),
    Struct("trail", iterate.Trail),
    Struct("SPAM clock", row_steps.Clock),
    Struct("SPAM state", row_steps.State, was("square.spam.State", build=_older.spam)),
    Struct("SOLAM state", saddle.State, was("square.solam.State", build=_older.solam)),
    Struct("OPAUC state", one_pass.State, was("square.opauc.State", build=_older.opauc)),
    Struct("OPAUC scatter", one_pass.Full, was("square.opauc.Full")),
    Struct("OPAUC sketch", one_pass.Sketch, was("square.opauc.Sketch", build=_older.sketch)),
    Struct("OPAUC steps", one_pass.Gradient, was("square.opauc.Gradient", build=_older.gradient)),
    Struct("AdaOAM steps", one_pass.AdaGrad, was("square.adaoam.AdaGrad", build=_older.adagrad)),
    Struct("factorization model", factorization.FactorizationState),
    Struct("factorization stream", factorization_ranker.StreamState),
    Struct("SAM walk", random_pairs.Walk),
    Struct("SAM state", random_pairs.State, was("pairwise.sam.State", build=_older.sam)),
    Struct("OAM state", buffered.State, was("online.oam.State", build=_older.oam)),
    Struct("CBR state", confidence_weighted.State, was("online.cbr.State", build=_older.cbr)),
    Struct("full covariance", gaussian.Full),
    Struct("diagonal covariance", gaussian.Diagonal),
    Struct("UniExp state", univariate.State, was("online.uni_exp.State", build=_older.uni_exp)),
    # parts of fitted models
    Struct("Gaussian kernel", _kernel_block.Gaussian, was("maps._kernel_block.Gaussian")),
    Struct("kernel", _kernel_block.Pairwise, was("maps._kernel_block.Pairwise")),
    Struct("numbers", _numbers.NumericScaling),
    Struct("sparse numbers", _numbers.SparseScaling),
    Struct("normal scores", _numbers.NormalScores),
    Struct("levels", _levels.Levels),
    Struct("trees", trees.Trees),
    Struct("columns", _columns_0_1.OldColumns, was("auto._columns.Columns")),
    Struct("member", _search.Member, was("auto._search.Member")),
    Struct("leaderboard entry", _blend.Entry, was("auto._leaderboard.Entry")),
    Struct("scorecard column", _columns.ColumnSpec),
    Struct("scorecard feature", _features.Feature),
    Struct("scorecard basis", _basis.Basis),
    Struct("scorecard values", _shapes.Card),
    Struct("shape", _shapes.Shape),
    Struct("shape of a pair", _shapes.PairShape),
    Struct("odds", odds.Odds, was("auto._odds.Odds")),
)

STRUCTS = structs(*ENTRIES)
"""Every name of a struct that a file may hold, to what makes it of the fields beside it."""

WRITTEN = {entry.cls: entry for entry in ENTRIES}
"""The structs that can be saved."""
