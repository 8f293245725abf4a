"""``make(name, published=True)`` is the algorithm as its paper prints it: held against straight transcriptions."""

import numpy as np
import pytest

import reference_published as paper
from auclid import algorithms, make
from auclid.data import as_table
from auclid.solvers.fsauc import n_stages, stage_orders
from auclid.solvers.quadruply_stochastic import ScoredBatches
from auclid.stats.epochs import EpochSampler
from reference_sam import drawn_pairs

pytestmark = pytest.mark.filterwarnings("ignore:The radius of", "ignore:KMeansNystroem has", "ignore:PNUAUC uses")

N, D = 60, 4


def problem():
    """Rows that are not centred, labels +1 and -1."""
    rng = np.random.default_rng(5)
    y = np.where(rng.permutation(N) < 20, 1, -1)
    X = rng.normal(size=(N, D)) + 0.7
    X[:, 0] += 0.8 * (y == 1)
    return X / 2, y


X, y = problem()
ORDER = np.arange(N)
ONE_PASS = {"n_epochs": 1, "shuffle": False}
P = np.mean(y == 1)


def fitted(name, **params):
    model = make(name, published=True, **params)
    seeds = [key for key in model.get_params() if key.endswith("random_state")]
    return model.set_params(**dict.fromkeys(seeds, 0)).fit(X, y)


def uniforms():
    """What a stream of these rows draws with random_state=0."""
    return np.random.default_rng(0).random(N)


def weights(model):
    return model.coef_[0]


def stages(epochs):
    rows = EpochSampler(as_table(X), y == 1)
    found = list(stage_orders(np.random.default_rng(0), rows, epochs, n_stages(N * epochs)))
    assert [len(order) for order in found] == paper.fsauc_stages(N * epochs)
    return found


LINEAR = {
    "B-LS-SVM": (lambda: fitted("B-LS-SVM", alpha=0.1), lambda: paper.least_squares(X, y, 0.1)),
    "SPAM-L2": (
        lambda: fitted("SPAM-L2", alpha=10.0, **ONE_PASS),
        lambda: paper.spam(X, y, ORDER, 10 * P * (1 - P), 0.0, "thm2"),
    ),
    "SPAM-L2, theorem 3": (
        lambda: fitted("SPAM-L2", alpha=10.0, schedule="thm3", **ONE_PASS),
        lambda: paper.spam(X, y, ORDER, 10 * P * (1 - P), 0.0, "thm3"),
    ),
    "SPAM-NET": (
        lambda: fitted("SPAM-NET", alpha=10.0, l1=0.1, schedule="thm3", **ONE_PASS),
        lambda: paper.spam(X, y, ORDER, 10 * P * (1 - P), 0.1 * P * (1 - P), "thm3"),
    ),
    "SOLAM": (
        lambda: fitted("SOLAM", zeta=2.0, radius=0.4, **ONE_PASS),
        lambda: paper.solam(X, y, ORDER, 2.0, 0.4)[0],
    ),
    "SOLAM, two passes": (
        lambda: fitted("SOLAM", zeta=0.5, radius=5.0, n_epochs=2, shuffle=False),
        lambda: paper.solam(X, y, np.tile(ORDER, 2), 0.5, 5.0)[0],
    ),
    "SOLAM-L2": (
        lambda: fitted("SOLAM-L2", zeta=0.5, alpha=0.3, **ONE_PASS),
        lambda: paper.solam(X, y, ORDER, 0.5, alpha_l2=0.3)[0],
    ),
    "FSAUC": (
        lambda: fitted("FSAUC", step=0.1, radius=0.3, n_epochs=9),
        lambda: paper.fsauc(X, y, stages(9), 0.1, 0.3),
    ),
    "OPAUC": (
        lambda: fitted("OPAUC", step=0.05, alpha=0.2, **ONE_PASS),
        lambda: paper.opauc(X, y, ORDER, 0.05, 0.1),
    ),
    "AdaOAM": (
        lambda: fitted("AdaOAM", step=0.05, alpha=0.2, **ONE_PASS),
        lambda: paper.opauc(X, y, ORDER, 0.05, 0.1, delta=0.5),
    ),
    "OAM": (
        lambda: fitted("OAM", C=0.1, buffer_size=5, **ONE_PASS),
        lambda: paper.oam(X, y, ORDER, 0.1, 5, uniforms(), True),
    ),
    "OAMseq": (
        lambda: fitted("OAMseq", C=0.1, buffer_size=5, **ONE_PASS),
        lambda: paper.oam(X, y, ORDER, 0.1, 5, uniforms(), True),
    ),
    "OAMgra": (
        lambda: fitted("OAMgra", C=0.1, buffer_size=5, **ONE_PASS),
        lambda: paper.oam(X, y, ORDER, 0.1, 5, uniforms(), False),
    ),
    "CBR-RS": (
        lambda: fitted("CBR-RS", C=0.5, buffer_size=5, **ONE_PASS),
        lambda: paper.cbr(X, y, ORDER, 0.5, 0.7, 5, uniforms()),
    ),
    "CBR-FIFO": (
        lambda: fitted("CBR-FIFO", C=0.5, buffer_size=5, **ONE_PASS),
        lambda: paper.cbr(X, y, ORDER, 0.5, 0.7, 5),
    ),
    "CBR-diag": (
        lambda: fitted("CBR-diag", C=0.5, buffer_size=5, **ONE_PASS),
        lambda: paper.cbr(X, y, ORDER, 0.5, 0.7, 5, diagonal=True),
    ),
    "Uni-Exp": (
        lambda: fitted("Uni-Exp", step=0.1, alpha=0.2, **ONE_PASS),
        lambda: paper.uni_exp(X, y, ORDER, 0.1, 0.2),
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_method_is_its_pseudo_code(name):
    ours, theirs = LINEAR[name]
    expected = theirs()
    np.testing.assert_allclose(weights(ours()), expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["OPAUCr"])
def test_opaucr_is_its_pseudo_code(name):
    model = fitted(name, rank=5, step=0.05, alpha=0.2, **ONE_PASS)
    sketch = np.random.default_rng(0).standard_normal((N, 5)) / np.sqrt(5)
    np.testing.assert_allclose(weights(model), paper.opauc(X, y, ORDER, 0.05, 0.1, sketch), rtol=1e-10)


def test_the_averages_of_solam_are_those_of_its_table():
    model = fitted("SOLAM", zeta=2.0, radius=0.4, **ONE_PASS)
    _, a, b, alpha = paper.solam(X, y, ORDER, 2.0, 0.4)
    np.testing.assert_allclose([model.a_, model.b_, model.dual_], [a, b, alpha], rtol=1e-10)


@pytest.mark.parametrize("name", ["SAM", "ASAM", "PSAM"])
def test_random_pairs_are_algorithms_10_and_11(name):
    model = fitted(name, alpha=0.01, t0=50.0, n_epochs=2)
    pairs, kind = drawn_pairs(X, y == 1, 2 * N, 0), {"proximal": name == "PSAM", "average": name != "SAM"}
    expected = paper.sam(pairs, 0.01, 50.0, 16, 16, **kind)
    np.testing.assert_allclose(weights(model), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["RankSVM", "BAM", "PRSVM+"])
def test_all_pairs_have_no_gradient_left(name):
    w = weights(fitted(name, alpha=0.1, tol=1e-13))
    np.testing.assert_allclose(paper.squared_hinge_gradient(w, X, y, 0.1), 0.0, atol=1e-11)


def separated():
    """The rows with classes so far apart that the top of the list can be ranked: elsewhere w = 0 is optimal."""
    return X + 1.2 * np.outer(y == 1, [1, 0, 0, 0])


OPTIMA = {
    "B-SVM-OR": paper.hinge_risk,
    "SVMpAUC": lambda w, X, y: paper.partial_hinge_risk(w, X, y, 0.1),
    "TopPush": paper.top_risk,
}
"""The risk that a name minimises with alpha/2 |w|^2."""


@pytest.mark.filterwarnings("ignore:RankSVM stopped")
@pytest.mark.parametrize("alpha", [0.002, 0.02, 0.2])
@pytest.mark.parametrize("name", OPTIMA)
def test_the_optimum_is_that_of_cutting_planes(name, alpha):
    """Values are compared, not weights: |w - w*|^2 <= 2 (F - F*) / alpha, so weights have half of their digits."""
    risk, rows = OPTIMA[name], separated()
    model = make(name, published=True, alpha=alpha, tol=1e-11, max_iter=1000)
    w = weights(model.fit(rows, y))
    optimum = paper.cutting_planes(lambda v: risk(v, rows, y), D, alpha)
    assert risk(w, rows, y)[0] + alpha / 2 * w @ w == pytest.approx(optimum, rel=1e-10, abs=0)


@pytest.mark.parametrize("name", ["RBF-RankSVM", "RBF-RankSVM-subsample"])
def test_a_kernel_rank_svm_has_no_gradient_left(name):
    model = fitted(name, alpha=0.1, gamma=1.5, tol=1e-13)
    rng, share = np.random.default_rng(0), model.subsample
    classes = [np.flatnonzero(y == 1), np.flatnonzero(y == -1)]
    if share < 1:
        classes = [rng.choice(rows, int(np.ceil(share * len(rows))), replace=False) for rows in classes]
    used = np.sort(np.concatenate(classes))
    b = np.zeros(N)
    b[model.support_] = model.dual_coef_[0]
    f = paper.gaussian(X[used], X[used], 1.5) @ b[used]
    expected = paper.kernel_rank_svm_dual(f, y[used], 0.1)
    np.testing.assert_allclose(b[used], expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    assert np.count_nonzero(b) <= len(used)


def mapped_rows(model, kind):
    feature_map = model.feature_map_
    if kind == "landmarks":
        return paper.nystroem(X, feature_map.landmarks_, feature_map.gamma_)
    if kind == "phases":
        return paper.phase_waves(X, feature_map.frequencies_, feature_map.phases_)
    return paper.paired_waves(X, feature_map.frequencies_)


SAM = {"lam": 0.01, "t0": 50.0, "rskip": 16, "askip": 16}
EMBEDDED = {
    "NSAM": ("landmarks", {"alpha": 0.01, "t0": 50.0}, lambda Z: paper.sam(mapped_pairs(Z), **SAM, average=False)),
    "NASAM": ("landmarks", {"alpha": 0.01, "t0": 50.0}, lambda Z: paper.sam(mapped_pairs(Z), **SAM)),
    "NPSAM": ("landmarks", {"alpha": 0.01, "t0": 50.0}, lambda Z: paper.sam(mapped_pairs(Z), **SAM, proximal=True)),
    "FASAM": ("phases", {"alpha": 0.01, "t0": 50.0}, lambda Z: paper.sam(mapped_pairs(Z), **SAM)),
    "NSOLAM": ("landmarks", {"zeta": 2.0, "radius": 0.4}, lambda Z: paper.solam(Z, y, ORDER, 2.0, 0.4)[0]),
    "NOAMseq": ("landmarks", {"C": 0.1, "buffer_size": 5}, lambda Z: paper.oam(Z, y, ORDER, 0.1, 5, uniforms(), True)),
    "NOAMgra": ("landmarks", {"C": 0.1, "buffer_size": 5}, lambda Z: paper.oam(Z, y, ORDER, 0.1, 5, uniforms(), False)),
    "FOAM": ("pairs", {"C": 0.1, "buffer_size": 5}, lambda Z: paper.oam(Z, y, ORDER, 0.1, 5, uniforms(), True)),
    "FCBR-RS": (
        "pairs",
        {"C": 0.5, "buffer_size": 5},
        lambda Z: paper.cbr(Z, y, ORDER, 0.5, 0.7, 5, uniforms(), halved=True),
    ),
    "FCBR-FIFO": ("pairs", {"C": 0.5, "buffer_size": 5}, lambda Z: paper.cbr(Z, y, ORDER, 0.5, 0.7, 5, halved=True)),
}


def mapped_pairs(Z):
    """The pairs that one epoch draws, in the feature space: `fit` sorts rows by their features."""
    return drawn_pairs(Z, y == 1, N, 0)


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_kernel_method_is_its_map_and_its_pseudo_code(name):
    kind, params, theirs = EMBEDDED[name]
    ranker = make(name, published=True).ranker
    params = params | {key: value for key, value in ONE_PASS.items() if key in ranker.get_params()}
    gamma = {} if kind == "landmarks" else {"gamma": 0.5}
    model = fitted(name, n_components=12, **gamma, **params)
    if kind == "landmarks":
        assert model.feature_map_.gamma_ == pytest.approx(1.0 / np.sum(X.var(axis=0)), rel=1e-12)
    Z = model.feature_map_.transform(X)  # the embedding by itself is held against the paper's below
    signs = mapped_rows(model, kind)
    np.testing.assert_allclose(Z @ Z.T, signs @ signs.T, rtol=1e-10, atol=1e-10)
    expected = theirs(Z)
    np.testing.assert_allclose(weights(model.ranker_), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["NBAM", "FBAM"])
def test_a_batch_kernel_method_is_its_map_and_has_no_gradient_left(name):
    gamma = {} if name == "NBAM" else {"gamma": 0.5}
    model = fitted(name, n_components=12, alpha=0.1, tol=1e-13, **gamma)
    if name == "NBAM":
        assert model.feature_map_.gamma_ == pytest.approx(1.0 / np.sum(X.var(axis=0)), rel=1e-12)
    Z = mapped_rows(model, "landmarks" if name == "NBAM" else "phases")
    mine = model.feature_map_.transform(X)
    np.testing.assert_allclose(mine @ mine.T, Z @ Z.T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(paper.squared_hinge_gradient(weights(model.ranker_), mine, y, 0.1), 0.0, atol=1e-10)


SETS = np.where(ORDER % 3 == 0, 0, np.where(y == 1, 2, 1))
"""0: unlabelled, 1: negative, 2: positive."""
U, NEG, POS = (np.flatnonzero(SETS == kind) for kind in range(3))


def half_labelled():
    return np.where(SETS == 0, np.nan, y.astype(float))


WIDTH = 30.0
"""So narrow a kernel that its matrix is well conditioned: both ways to solve lose its condition number's digits."""


@pytest.mark.parametrize("name", ["SAMULT"])
def test_samult_is_the_kernel_form_on_all_rows(name):
    model = make(name, published=True, gamma=WIDTH, alpha=0.2, unlabeled_weight=0.3).fit(X, half_labelled())
    expected = paper.samult(paper.gaussian(X, X, WIDTH), POS, NEG, U, 0.7, 0.2)
    ours = model.decision_function(X)
    np.testing.assert_allclose(ours - ours[0], expected - expected[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("name", "eta"), [("PNU-AUC", 0.2), ("PNU-AUC", -0.2), ("PU-AUC", 1.0), ("NU-AUC", -1.0)])
def test_pnu_auc_is_the_kernel_form_on_all_rows(name, eta):
    """Where the risk is convex: the prior is small enough, or the weight is."""
    prior = 0.02 if eta > 0 else 0.98
    params = {"unlabeled_weight": eta} if name == "PNU-AUC" else {}
    model = make(name, published=True, gamma=WIDTH, alpha=0.2, prior=prior, **params).fit(X, half_labelled())
    expected = paper.pnu(paper.gaussian(X, X, WIDTH), POS, NEG, U, eta, prior, 0.2)
    ours = model.decision_function(X)
    np.testing.assert_allclose(ours - ours[0], expected - expected[0], rtol=1e-10, atol=1e-10)


SLOPES = {
    "square": lambda m: -2 * (1 - m),
    "hinge": lambda m: -1.0 if m < 1 else 0.0,
    "squared_hinge": lambda m: -2 * max(0, 1 - m),
    "logistic": lambda m: -1 / (1 + np.exp(m)),
}


@pytest.mark.parametrize("name", ["QSG-S2AUC"])
@pytest.mark.parametrize("loss", SLOPES)
def test_qsg_is_algorithms_1_and_2_with_any_loss(loss, name, monkeypatch):
    drawn, init = [], ScoredBatches.__init__

    def recorded(self, f, table, draws):
        drawn.append(draws)
        init(self, f, table, draws)

    monkeypatch.setattr(ScoredBatches, "__init__", recorded)
    params = {"n_iter": 6, "n_components": 3, "batch_size": 2, "gamma": 1.5, "alpha": 0.6, "theta": 2.0}
    model = make(name, published=True, loss=loss, unlabeled_weight=0.4, random_state=0, **params)
    model.fit(X, half_labelled())
    omegas = [np.sqrt(3.0) * np.random.default_rng([model.seed_, i]).standard_normal((D, 3)) for i in range(6)]
    batches = [(X[rows[2:4]], X[rows[:2]], X[rows[4:]]) for rows in np.vstack(drawn)]
    f = paper.qsg(batches, omegas, 0.6, 0.6, 2.0, SLOPES[loss])
    expected = np.array([f(x) for x in X])
    np.testing.assert_allclose(
        model.decision_function(X) - model.intercept_, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max()
    )


@pytest.mark.parametrize("name", ["RankBoost"])
def test_rank_boost_is_its_pseudo_code(name):
    model = make(name, published=True, n_rounds=4).fit(X, y)
    pos, neg = paper.rank_boost(X[y == 1], X[y == -1], 4)
    ours = model.decision_function(X)
    np.testing.assert_allclose(
        ours[y == 1][:, None] - ours[y == -1][None, :], pos[:, None] - neg[None, :], rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("name", ["SSRankBoost"])
def test_ss_rank_boost_is_its_pseudo_code(name):
    model = make(name, published=True, n_rounds=4, n_neighbors=2, unlabeled_weight=0.3)
    ours = model.fit(X, half_labelled()).decision_function(X)
    pos, neg = paper.ss_rank_boost(X[POS], X[NEG], X[U], 2, 0.3, 4)
    np.testing.assert_allclose(
        ours[POS][:, None] - ours[NEG][None, :], pos[:, None] - neg[None, :], rtol=1e-10, atol=1e-12
    )


LANDMARKS = {"n_components": 1600, "rows_per_landmark": None, "gamma": "variance"}
SIZES = {
    "SPAM-L2 SPAM-NET SOLAM SOLAM-L2 FSAUC OPAUC Uni-Exp": {"n_epochs": 1},
    "OPAUCr": {"n_epochs": 1, "rank": 50},
    "AdaOAM": {"n_epochs": 1, "delta": 0.5},
    "OAM OAMseq OAMgra": {"n_epochs": 1, "buffer_size": 100},
    "CBR-RS CBR-FIFO CBR-diag": {"n_epochs": 1, "buffer_size": 50, "confidence": 0.7},
    "SAM ASAM PSAM": {"n_epochs": 15},
    "NBAM": LANDMARKS,
    "NSAM NASAM NPSAM NSOLAM": LANDMARKS | {"n_epochs": 15},
    "NOAMseq NOAMgra": LANDMARKS | {"n_epochs": 1, "buffer_size": 100},
    "FBAM": {"n_components": 1600},
    "FASAM": {"n_components": 1600, "n_epochs": 15},
    "FOAM": {"n_components": 300, "n_epochs": 1, "buffer_size": 100},
    "FCBR-RS FCBR-FIFO": {"n_components": 300, "n_epochs": 1, "buffer_size": 50, "confidence": 0.7},
    "SVMpAUC": {"max_fpr": 0.1},
    "TopPush": {"max_fpr": "top"},
    "RBF-RankSVM-subsample": {"subsample": 0.2},
    "SAMULT PNU-AUC PU-AUC NU-AUC": {"n_components": None},
    "QSG-S2AUC": {"offset": 0, "loss": "square"},
}
"""What the papers' sections of experiments print: passes, buffers, confidences, landmarks. Elsewhere tests set them."""


@pytest.mark.parametrize(("names", "sizes"), SIZES.items())
def test_published_sizes_are_the_printed_ones(names, sizes):
    for name in names.split():
        params = {key.split("__")[-1]: value for key, value in make(name, published=True).get_params().items()}
        assert {key: params[key] for key in sizes} == sizes, name


def test_every_published_form_has_its_sizes():
    named = set(" ".join(SIZES).split())
    assert {method.name for method in algorithms() if method.published is not None} <= named


def test_printed_forms_are_not_the_defaults():
    """The switch matters: each form that says it differs gives other scores than the default."""
    for method in algorithms():
        if method.published is not None:
            assert repr(make(method.name, published=True)) != repr(make(method.name)), method.name


OURS = {method.name for method in algorithms() if method.ours}
"""No paper prints an algorithm for these."""


def compared_names():
    """What the tests of this module take as ``name``: each of them holds it against a transcription."""
    tests = [thing for key, thing in globals().items() if key.startswith("test_")]
    marks = [mark.args for test in tests for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    for names, values in marks:
        columns = [names] if isinstance(names, str) else list(names)
        if "name" in columns:
            rows = [(value,) for value in values] if len(columns) == 1 else values
            yield from (row[columns.index("name")].partition(",")[0] for row in rows)


def test_every_name_of_the_registry_is_transcribed():
    registry = {method.name for method in algorithms()}
    assert registry - OURS == set(compared_names())
    assert all(method.published is None and not method.differs for method in algorithms() if method.ours)
    assert OURS == {"LeastSquaresAUCCV", "Scorecard", "FactorizationRanker", "OrderedRanker", "SurvivalRanker"}
