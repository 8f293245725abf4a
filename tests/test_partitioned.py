"""Rows that lie in files are learnt from as rows in memory are: the same folds, the same weights, the same scores."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit

import auclid
from auclid import (
    ASAM,
    CBR,
    FSAUC,
    OAM,
    OPAUC,
    PNUAUC,
    PSAM,
    QSGS2AUC,
    SAMULT,
    SOLAM,
    SPAM,
    AdaOAM,
    AUCClassifier,
    Kernelized,
    KernelRankSVM,
    KMeansNystroem,
    LeastSquaresAUC,
    LeastSquaresAUCCV,
    MulticlassAUC,
    RandomFourier,
    RankSVM,
    UniExp,
    _sizes,
)
from auclid.auto._sampling import draw_sample
from auclid.data.dataset import tree_sum
from auclid.data.file_dataset import FileDataset
from auclid.metrics import auc_interval, roc_auc
from auclid.validation import labelled_dataset

EXACT = [
    LeastSquaresAUC(),
    LeastSquaresAUC(l1=0.01, positive=True),
    LeastSquaresAUCCV(cv=3),
    RankSVM(tol=1e-7),
    RankSVM(loss="hinge", tol=1e-6),
    RankSVM(alpha="auto", tol=1e-7),
]
STREAMS = [SPAM, SOLAM, FSAUC, OPAUC, AdaOAM, ASAM, PSAM, OAM, CBR, UniExp]
by_name = pytest.mark.parametrize("model", EXACT, ids=lambda model: str(model).replace(" ", ""))


def table(n=600, d=4, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    y[:4] = 0, 1, 0, 1
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None] * (np.arange(d) < 2)
    weight = np.where(rng.random(n) < 0.2, 0.0, rng.random(n) + 0.1)
    weight[:4] = 1.0
    return X, y, weight


def by_blocks(X, y, weight=None, size=97, memory=None):
    def blocks():
        for k in range(0, len(y), size):
            part = slice(k, k + size)
            yield (X[part], y[part]) if weight is None else (X[part], y[part], weight[part])

    return auclid.scan(blocks, memory=memory)


@by_name
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0.15, 0.7])
def test_blocks_are_learnt_from_as_one_table(model, weighted, share):
    X, y, weight = table(share=share)
    weight = weight if weighted else None
    whole, parts = clone(model).fit(X, y, weight), clone(model).fit(by_blocks(X, y, weight, memory=1000))
    near = 1e-10 if isinstance(model, LeastSquaresAUC | LeastSquaresAUCCV) else 2e-3
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=near, atol=near * np.abs(whole.coef_).max())
    if hasattr(whole, "objective_"):
        assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-6)
    if hasattr(whole, "cv_auc_"):
        np.testing.assert_allclose(parts.cv_auc_, whole.cv_auc_, rtol=1e-12)
    assert list(parts.classes_) == [0, 1] and parts.n_features_in_ == 4


@given(
    size=st.integers(1, 90),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 99),
    kind=st.sampled_from(["dense", "csr", "float32"]),
    memory=st.sampled_from([0, 3000, None]),
)
def test_any_blocks_give_the_same(size, share, seed, kind, memory):
    X, y, weight = table(90, 3, share, seed)
    X[X < -0.5] = 0.0
    X = {"dense": X, "csr": sparse.csr_matrix(X), "float32": X.astype(np.float32)}[kind]
    rows = by_blocks(X, y, weight, size, memory)
    for model in (LeastSquaresAUC(), LeastSquaresAUCCV(cv=2)):
        whole, parts = clone(model).fit(X, y, weight), clone(model).fit(rows)
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    whole, parts = RankSVM(tol=1e-6).fit(X, y, weight), RankSVM(tol=1e-6).fit(rows)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-6)
    scores = parts.decision_function(rows)
    np.testing.assert_allclose(scores, parts.decision_function(X), rtol=1e-5, atol=1e-6)
    assert parts.score(rows) == pytest.approx(parts.score(X, y, weight), abs=1e-9)


@pytest.mark.parametrize("model", [SAMULT(), PNUAUC(0.2), SAMULT(0.5, alpha=0.1)], ids=str)
@pytest.mark.parametrize("mark", [-1, np.nan])
def test_unlabelled_rows_among_the_others(model, mark):
    X, y, _ = table(900)
    few = np.where(np.arange(len(y)) % 4 == 0, y, mark)
    whole, parts = clone(model).fit(X, few), clone(model).fit(by_blocks(X, few))
    # A prior that is estimated comes from another sample.
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=0.2 if isinstance(model, PNUAUC) else 1e-9)
    assert parts.unlabeled_weight_ == whole.unlabeled_weight_


@pytest.mark.parametrize("kind", STREAMS, ids=lambda kind: kind.__name__)
def test_streams_sweep_over_shuffled_blocks(kind):
    X, y, _ = table(1500)
    rows = by_blocks(X, y, memory=5000)
    whole = roc_auc(y, kind(random_state=0).fit(X, y).decision_function(X))
    parts = kind(random_state=0).fit(rows)
    assert parts.score(rows) > whole - 0.02
    np.testing.assert_array_equal(kind(random_state=0).fit(rows).coef_, parts.coef_)


def test_an_order_meets_each_row_once_and_mixes_blocks():
    X, y, _ = table(500)
    parts = FileDataset(by_blocks(X, y, size=20))
    order = parts.table(parts.part_sizes()).order(np.random.default_rng(0))
    assert sorted(order) == list(range(500))
    assert len({row // 20 for row in order[:60]}) > 3  # not block after block


@pytest.mark.parametrize(
    "model",
    [
        Kernelized(KMeansNystroem(20, random_state=0), LeastSquaresAUC()),
        Kernelized(RandomFourier(20, random_state=0), LeastSquaresAUCCV(cv=3)),
        Kernelized(RandomFourier(20, random_state=0), RankSVM(tol=1e-7)),
        Kernelized(RandomFourier(20, random_state=0), SPAM(random_state=0)),
    ],
    ids=lambda model: type(model.ranker).__name__ + type(model.feature_map).__name__,
)
def test_maps_learn_from_a_sample_and_rankers_from_all(model):
    X, y, _ = table(800)
    rows = by_blocks(X, y)
    whole, parts = clone(model).fit(X, y), clone(model).fit(rows)
    assert parts.score(rows) == pytest.approx(whole.score(X, y), abs=0.01)
    np.testing.assert_array_equal(parts.predict(rows), parts.predict(X))
    np.testing.assert_allclose(parts.feature_map_.transform(rows), parts.feature_map_.transform(X))


@pytest.mark.parametrize("given", [by_blocks, lambda X, y: X], ids=["by blocks", "in memory"])
def test_unlabelled_rows_for_who_learns_from_labels_alone_are_refused(given):
    X, y, _ = table()
    rows, model = given(X, y), Kernelized(RandomFourier(8), LeastSquaresAUC())
    with pytest.raises(TypeError, match="X_unlabeled"):
        model.fit(rows, None if rows is not X else y, X_unlabeled=X)


def test_names_are_remembered_and_checked():
    pa = pytest.importorskip("pyarrow")
    X, y, _ = table(100)
    frame = pa.table({**dict(zip("abcd", X.T, strict=True)), "y": np.where(y == 1, "yes", "no")})
    model = LeastSquaresAUC().fit(auclid.scan(frame, target="y"))
    assert list(model.feature_names_in_) == list("abcd") and list(model.classes_) == ["no", "yes"]
    assert set(model.predict(auclid.scan(frame, columns=list("abcd")))) == {"no", "yes"}
    with pytest.raises(ValueError, match=r"must be those it was fitted with; .* Name them in scan"):
        model.predict(auclid.scan(frame, columns=list("dcba")))
    with pytest.raises(ValueError, match="'c' is missing"):
        model.predict(auclid.scan(frame, columns=list("ab")))
    spam = SPAM(random_state=0).fit(auclid.scan(frame, target="y"))
    assert list(spam.feature_names_in_) == list("abcd")


def test_scores_can_be_written_by_blocks(tmp_path):
    X, y, _ = table()
    rows = by_blocks(X, y)
    model = LeastSquaresAUC().fit(rows)
    written = model.decision_function(rows, out=tmp_path / "scores.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), model.decision_function(X))
    np.testing.assert_array_equal(written, model.decision_function(rows))
    with pytest.raises(ValueError, match="'out' of decision_function is for rows of files"):
        model.decision_function(X, out=tmp_path / "scores.npy")


def test_a_bad_block_leaves_the_file_of_before_and_no_other(tmp_path):
    X, y, _ = table()
    model = LeastSquaresAUC().fit(X, y)
    before = np.array(model.decision_function(by_blocks(X, y), out=tmp_path / "scores.npy"))
    X[300, 1] = np.nan
    with pytest.raises(ValueError, match="has NaN in column"):
        model.decision_function(by_blocks(X, y), out=tmp_path / "scores.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["scores.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), before)


def test_predictions_can_be_written_by_blocks(tmp_path):
    X, y, _ = table()
    rows = by_blocks(X, np.where(y == 1, "sick", "well"))
    model = LeastSquaresAUC().fit(rows)
    np.testing.assert_array_equal(model.predict(rows, out=tmp_path / "y.npy"), model.predict(X))


def test_metrics_take_the_labels_of_rows():
    X, y, _ = table()
    rows = by_blocks(X, y)
    scores = LeastSquaresAUC().fit(rows).decision_function(rows)
    assert roc_auc(rows, scores) == roc_auc(y, scores)
    assert auc_interval(rows, scores) == auc_interval(y, scores)


def test_scores_are_measured_with_the_weights_given_or_else_with_those_of_the_rows():
    X, y, weight = table()
    model, rows = LeastSquaresAUC().fit(X, y), by_blocks(X, y, weight)
    assert model.score(rows) == model.score(X, y, weight) != model.score(X, y)
    assert model.score(rows, sample_weight=weight[::-1]) == model.score(X, y, weight[::-1])


@pytest.mark.parametrize("model", [MulticlassAUC(), AUCClassifier(methods=["LeastSquaresAUC"])], ids=str)
def test_several_classes_of_rows_are_scored_as_those_in_memory(model):
    X, y, weight = table()
    y = y + (np.arange(len(y)) % 3 == 0)
    model, rows = model.fit(X, y), by_blocks(X, y, weight)
    assert model.score(rows) == model.score(X, y, weight) != model.score(X, y)
    assert model.score(rows, sample_weight=weight[::-1]) == model.score(X, y, weight[::-1])


def test_the_front_door_compares_on_what_fits_and_says_so():
    X, y, _ = table(400)
    rows = by_blocks(X, y)
    model = AUCClassifier(methods=["LeastSquaresAUC", "logistic"], random_state=0).fit(rows)
    whole = AUCClassifier(methods=["LeastSquaresAUC", "logistic"], random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(rows), whole.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(rows), whole.predict_proba(X))
    assert not any("memory" in line.note for line in model.leaderboard_)


def test_a_sample_keeps_the_shares_of_the_classes(monkeypatch):
    monkeypatch.setattr(_sizes, "MIN_DRAWN_ROWS", 100)
    X, y, weight = table(4000, share=0.1)
    rows = by_blocks(X, y, weight, memory=0)
    sample, source = draw_sample(labelled_dataset(AUCClassifier(), rows, multiclass=True, raw=True))
    assert 98 <= len(sample.labels) == len(sample.X) == len(sample.weight) <= 102 and 9 <= sample.labels.sum() <= 12
    assert source.note == f"fitted on {len(sample.labels)} of 4,000 rows, a sample that fits in memory"


# ---- bad input ----


@pytest.mark.parametrize("apart", [False, True], ids=["in memory", "by blocks"])
def test_groups_must_be_one_a_row(apart, monkeypatch):
    """Also where they are as many as the rows that are drawn."""
    monkeypatch.setattr(_sizes, "MIN_DRAWN_ROWS", 100)
    X, y, _ = table(400)
    given, model = (by_blocks(X, y, memory=0),) if apart else (X, y), AUCClassifier(methods=["logistic"])
    drawn = len(draw_sample(labelled_dataset(AUCClassifier(), by_blocks(X, y, memory=0)))[0].labels)
    for groups, got in [
        (np.arange(drawn), rf"shape \({drawn},\)"),
        (list(range(401)), r"shape \(401,\)"),
        (np.zeros((400, 2)), r"shape \(400, 2\)"),
        (5, "5"),
        ("town", "'town'"),
    ]:
        with pytest.raises(ValueError, match=rf"groups of AUCClassifier must be an array .* \(400,\).*; got {got}\."):
            model.fit(*given, groups=groups)
    assert model.fit(*given, groups=np.arange(400) // 2).score(X, y) > 0.5


def test_a_missing_label_is_told_by_the_front_door_too():
    X, y, _ = table()
    holed = np.where(np.arange(len(y)) == 410, np.nan, y)
    with pytest.raises(ValueError, match="a missing one in block 4"):
        AUCClassifier(methods=["LeastSquaresAUC"]).fit(by_blocks(X, holed))


@pytest.mark.parametrize("model", [LeastSquaresAUC(), RankSVM(), SPAM()], ids=lambda model: type(model).__name__)
def test_bad_rows_are_told_in_a_sentence_and_nothing_changes(model):
    X, y, _ = table()
    before = dict(vars(model))
    y3 = y.copy()
    y3[400] = 2
    holed = np.where(np.arange(len(y)) == 410, np.nan, y)
    bad = X.copy()
    bad[450, 1] = np.nan
    for rows, said in [
        (by_blocks(X, y3), "Only binary.* A third, 2, first comes in block 4"),
        (by_blocks(X, holed), r"a missing one in block 4"),
        (by_blocks(bad, y), r"block 4 has NaN in column 'x1', row 450"),
        (auclid.scan(X), "no target"),
        (by_blocks(X, np.zeros(len(y))), "two classes"),
    ]:
        with pytest.raises(ValueError, match=said):
            model.fit(rows)
        assert vars(model) == before
    with pytest.raises(ValueError, match="two classes of positive weight"):
        model.fit(by_blocks(X, y, np.where(y == 1, 0.0, 1.0)))
    with pytest.raises(ValueError, match="with their own target and weight; got another y"):
        model.fit(by_blocks(X, y), y)


@pytest.mark.parametrize("model", [KernelRankSVM(), QSGS2AUC()], ids=lambda model: type(model).__name__)
def test_who_needs_all_rows_in_memory_says_so_and_names_another(model):
    X, y, _ = table(60)
    with pytest.raises(TypeError, match="must have all rows in memory and cannot take rows of files"):
        model.fit(by_blocks(X, y))


FOLDS = [ShuffleSplit(3, random_state=0), KFold(4, shuffle=True, random_state=1), [(np.arange(50), np.arange(50, 100))]]


@pytest.mark.parametrize("cv", FOLDS)
def test_any_folds_give_the_same_as_in_memory(cv):
    X, y, _ = table()
    whole, parts = LeastSquaresAUCCV(cv=cv).fit(X, y), LeastSquaresAUCCV(cv=cv).fit(by_blocks(X, y))
    np.testing.assert_allclose(parts.cv_auc_, whole.cv_auc_, atol=1e-12)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8)


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_alpha_is_chosen_by_the_same_rows_as_in_memory(monkeypatch, share):

    monkeypatch.setattr(_sizes, "MAX_SEARCH_ROWS", 60)
    X, y, _ = table(share=share)
    assert RankSVM().fit(by_blocks(X, y)).alpha_ == pytest.approx(RankSVM().fit(X, y).alpha_, rel=1e-9)


@given(values=st.lists(st.integers(-5, 5), min_size=1, max_size=40))
def test_a_tree_of_sums_depends_on_the_number_of_values_only(values):
    assert tree_sum(values) == sum(values)
    depth = tree_sum([f"({value})" for value in values])
    assert depth == "".join(f"({value})" for value in values)


@pytest.mark.parametrize("order", ["C", "F"])
def test_means_of_very_many_rows_keep_their_digits(order):
    """Sums of a million numbers, one after the other, would be wrong in the eleventh."""
    from auclid.stats.moments import grouped_moments

    X = np.random.default_rng(0).standard_normal((1_000_000, 3)).astype(np.float32) + np.float32(1.0)
    for found in grouped_moments(np.asarray(X, order=order), (np.arange(len(X)) % 3 == 0).astype(np.int8), 2):
        rows = X[::3] if found.n < 500_000 else np.delete(X, np.s_[::3], axis=0)
        exact = [math.fsum(column.tolist()) / len(rows) for column in rows.T]
        np.testing.assert_allclose(found.mean, exact, rtol=3e-15)


@given(n=st.integers(1, 60), d=st.integers(1, 5), groups=st.integers(1, 4), seed=st.integers(0, 99), far=st.booleans())
def test_moments_by_the_compiled_loop_are_those_by_blas(n, d, groups, seed, far):
    from auclid.stats import moments

    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, d)) + (1e4 if far else 0.0), rng.integers(-1, groups + 1, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sizes, "BLOCK_BYTES", 200)
        for layout in (X, np.asfortranarray(X), np.asfortranarray(X.astype(np.float32)), X.astype(np.float32)):
            theirs = moments.grouped_moments(layout, group, groups)
            with patch.context() as few:
                few.setattr(_sizes, "MIN_COMPILED_VALUES", 0)
                few.setattr(moments, "PIECE", 25)
                ours = moments.grouped_moments(layout, group, groups)
            for a, b in zip(ours, theirs, strict=True):
                assert a.n == b.n
                np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-7, atol=1e-7)
