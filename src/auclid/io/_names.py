"""The table of names in files: every estimator and every struct that a model may hold.

A struct that moves to another module changes nothing here but an import. One whose fields change says in its line
how those of older files become today's: `auclid.io._wire.was`. One that no line names cannot be saved.
"""

from auclid import losses, penalties, schedules
from auclid.additive import Scorecard, _basis, _shapes, _table
from auclid.additive import _odds as _scorecard_odds
from auclid.auto import AUCClassifier, _columns, _leaderboard, _odds, _search
from auclid.columns import Columns, _levels, _numbers
from auclid.io._wire import Estimator, Struct, estimators, structs, was
from auclid.maps import Kernelized, KMeansNystroem, RandomFourier, _kernel_block
from auclid.online import CBR, OAM, UniExp, _buffered, cbr, oam, uni_exp
from auclid.pairwise import ASAM, PSAM, KernelRankSVM, RankSVM, sam
from auclid.semi import PNUAUC, QSGS2AUC, SAMULT
from auclid.square import (
    FSAUC,
    OPAUC,
    SOLAM,
    SPAM,
    AdaOAM,
    LeastSquaresAUC,
    LeastSquaresAUCCV,
    MinimaxAUC,
    MulticlassAUC,
    adaoam,
    opauc,
    solam,
    spam,
)
from auclid.stats import buffers, moments, prior, samples, sets

ESTIMATORS = estimators(
    Estimator(AdaOAM),
    Estimator(ASAM),
    Estimator(AUCClassifier),
    Estimator(CBR),
    Estimator(Columns),
    Estimator(FSAUC),
    Estimator(Kernelized),
    Estimator(KernelRankSVM),
    Estimator(KMeansNystroem),
    Estimator(LeastSquaresAUC),
    Estimator(LeastSquaresAUCCV),
    Estimator(MinimaxAUC),
    Estimator(MulticlassAUC),
    Estimator(OAM),
    Estimator(OPAUC),
    Estimator(PNUAUC),
    Estimator(PSAM),
    Estimator(QSGS2AUC),
    Estimator(RandomFourier),
    Estimator(RankSVM),
    Estimator(SAMULT),
    Estimator(Scorecard),
    Estimator(SOLAM),
    Estimator(SPAM),
    Estimator(UniExp),
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
    Struct("class sums", _buffered.Seen, was("online._buffered.Seen")),
    Struct("sample", samples.Sample, was("semi._sample.Sample")),
    Struct("samples", samples.Samples, was("semi._sample.Samples")),
    Struct("labelled and unlabelled moments", sets.Sets, was("semi._closed_form.Sets")),
    Struct("labelled and unlabelled rows", sets.Seen, was("semi._closed_form.Seen")),
    Struct("prior", prior.Prior, was("semi._prior.Prior")),
    # states of streams
    Struct("SPAM state", spam.State, was("square.spam.State")),
    Struct("SOLAM state", solam.State, was("square.solam.State")),
    Struct("OPAUC state", opauc.State, was("square.opauc.State")),
    Struct("OPAUC scatter", opauc.Full, was("square.opauc.Full")),
    Struct("OPAUC sketch", opauc.Sketch, was("square.opauc.Sketch")),
    Struct("OPAUC steps", opauc.Gradient, was("square.opauc.Gradient")),
    Struct("AdaOAM steps", adaoam.AdaGrad, was("square.adaoam.AdaGrad")),
    Struct("SAM state", sam.State, was("pairwise.sam.State")),
    Struct("OAM state", oam.State, was("online.oam.State")),
    Struct("CBR state", cbr.State, was("online.cbr.State")),
    Struct("UniExp state", uni_exp.State, was("online.uni_exp.State")),
    # parts of fitted models
    Struct("Gaussian kernel", _kernel_block.Gaussian, was("maps._kernel_block.Gaussian")),
    Struct("kernel", _kernel_block.Pairwise, was("maps._kernel_block.Pairwise")),
    Struct("numbers", _numbers.Numbers),
    Struct("sparse numbers", _numbers.SparseNumbers),
    Struct("normal scores", _numbers.Grid),
    Struct("levels", _levels.Levels),
    Struct("columns", _columns.Columns, was("auto._columns.Columns")),
    Struct("member", _search.Member, was("auto._search.Member")),
    Struct("leaderboard entry", _leaderboard.Entry, was("auto._leaderboard.Entry")),
    Struct("scorecard column", _table.Kept),
    Struct("scorecard feature", _basis.Feature),
    Struct("scorecard basis", _basis.Basis),
    Struct("scorecard values", _shapes.Card),
    Struct("shape", _shapes.Shape),
    Struct("shape of a pair", _shapes.PairShape),
    Struct("scorecard odds", _scorecard_odds.Odds),
    Struct("odds", _odds.Odds, was("auto._odds.Odds")),
)

STRUCTS = structs(*ENTRIES)
"""Every name of a struct that a file may hold, to what makes it of the fields beside it."""

WRITTEN = {entry.cls: entry for entry in ENTRIES}
"""The structs that can be saved."""
