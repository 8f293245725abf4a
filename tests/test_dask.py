"""Dask collections are learnt from where they lie: the bits of one process, whatever the number of workers."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import auclid
from auclid import (
    PNUAUC,
    QSGS2AUC,
    SAMULT,
    Kernelized,
    KernelRankSVM,
    LeastSquaresAUC,
    LeastSquaresAUCCV,
    RandomFourier,
    RankSVM,
    _sizes,
)
from auclid.auto._sampling import draw_sample
from auclid.metrics import auc_interval, compare_auc, partial_auc, roc_auc
from auclid.validation import checked_groups, labelled_dataset, partwise

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

EXACT = [LeastSquaresAUC(), LeastSquaresAUCCV(cv=3), RankSVM(tol=1e-7), RankSVM(loss="hinge", tol=1e-6)]
models = pytest.mark.parametrize("model", EXACT, ids=lambda model: str(model).replace(" ", ""))


def table(n=400, d=4, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    y[:4] = 0, 1, 0, 1
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None] * (np.arange(d) < 2)
    weight = np.where(rng.random(n) < 0.2, 0.0, rng.random(n) + 0.1)
    weight[:4] = 1.0
    return X, y, weight


def cut(array, ends):
    """A dask array with partitions that end there, empty ones too."""
    sizes = tuple(int(size) for size in np.diff([0, *sorted(ends), len(array)]))
    return da.from_array(array, chunks=(sizes, *array.shape[1:]))


@pytest.fixture(autouse=True)
def one_thread(request):
    """The plainest scheduler, but where a cluster is at hand."""
    if "bits" in request.fixturenames:
        yield
        return
    with dask.config.set(scheduler="synchronous"):
        yield


@models
@pytest.mark.parametrize("weighted", [False, True])
def test_partitions_are_learnt_from_as_one_table(model, weighted):
    X, y, weight = table()
    weight = weight if weighted else None
    ends = [0, 50, 50, 171, 399]
    given_weight = None if weight is None else cut(weight, ends)
    whole, parts = clone(model).fit(X, y, weight), clone(model).fit(cut(X, ends), cut(y, ends), given_weight)
    near = 1e-10 if isinstance(model, LeastSquaresAUC | LeastSquaresAUCCV) else 2e-3
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=near, atol=near * np.abs(whole.coef_).max())
    if hasattr(whole, "objective_"):
        assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-6)


@settings(max_examples=10)
@given(ends=st.lists(st.integers(0, 80), max_size=5), share=st.floats(0.1, 0.9), seed=st.integers(0, 50))
def test_any_partitions_give_the_same(ends, share, seed):
    X, y, weight = table(80, 3, share, seed)
    dX, dy, dw = (cut(part, ends) for part in (X, y, weight))
    with dask.config.set(scheduler="synchronous"):
        model = LeastSquaresAUC().fit(dX, dy, dw)
        np.testing.assert_allclose(model.coef_, LeastSquaresAUC().fit(X, y, weight).coef_, rtol=1e-8, atol=1e-10)
        scores = model.decision_function(dX)
        np.testing.assert_allclose(scores.compute(), model.decision_function(X))
        assert model.score(dX, dy) == pytest.approx(model.score(X, y), abs=1e-12)


@given(ends=st.lists(st.integers(0, 60), max_size=4), digits=st.integers(0, 8), seed=st.integers(0, 99))
def test_areas_of_partitions_are_those_of_the_whole(ends, digits, seed):
    rng = np.random.default_rng(seed)
    y, (a, b) = rng.random(60) < rng.uniform(0.1, 0.9), rng.normal(size=(2, 60)).round(digits)
    y[:4], ranked = [0, 1, 0, 1], a.copy()
    ranked[5], ranked[6] = np.inf, -np.inf
    weight = rng.integers(0, 3, 60) + 0.5 if seed % 2 else None
    apart = [cut(part, ends) for part in (y, a, b)]
    own, theirs = {"sample_weight": weight}, {"sample_weight": None if weight is None else cut(weight, ends)}
    with dask.config.set(scheduler="synchronous"):
        assert roc_auc(apart[0], apart[1], **theirs) == pytest.approx(roc_auc(y, a, **own), abs=1e-12)
        ends_of_list = roc_auc(apart[0], cut(ranked, ends), **theirs)
        assert ends_of_list == pytest.approx(roc_auc(y, ranked, **own), abs=1e-12)
        with pytest.raises(ValueError, match=r"auc_interval must be finite numbers; partition . has an infinity"):
            auc_interval(apart[0], cut(ranked, ends), **theirs)
        region = {"max_fpr": 0.3, "min_tpr": 0.1}
        np.testing.assert_allclose(partial_auc(*apart[:2], **region, **theirs), partial_auc(y, a, **region, **own))
        np.testing.assert_allclose(auc_interval(*apart[:2], **theirs), auc_interval(y, a, **own), atol=1e-9)
        np.testing.assert_allclose(compare_auc(*apart, **theirs), compare_auc(y, a, b, **own), atol=1e-8)


def test_frames_series_unknown_chunks_and_columns_cut_too():
    X, y, _ = table()
    whole = LeastSquaresAUC().fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=np.where(y == 1, "yes", "no"))
    ddf = dd.from_pandas(frame, npartitions=5)
    model = LeastSquaresAUC().fit(ddf[list("abcd")], ddf["y"])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10)
    assert list(model.feature_names_in_) == list("abcd") and list(model.classes_) == ["no", "yes"]
    assert set(model.predict(ddf[list("abcd")]).compute()) == {"no", "yes"}
    unknown = ddf[list("abcd")].to_dask_array()
    np.testing.assert_allclose(LeastSquaresAUC().fit(unknown, ddf["y"]).coef_, whole.coef_, rtol=1e-10)
    columns_too = da.from_array(X, chunks=(100, 3))
    np.testing.assert_allclose(LeastSquaresAUC().fit(columns_too, y).coef_, whole.coef_, rtol=1e-10)
    blocks = da.from_array(X, chunks=(100, 4)).map_blocks(sparse.csr_matrix)
    of_csr = LeastSquaresAUC().fit(blocks, da.from_array(y, chunks=100))
    np.testing.assert_allclose(of_csr.coef_, whole.coef_, rtol=1e-8)


@pytest.mark.parametrize("model", [SAMULT(0.5, alpha=0.1), PNUAUC(0.2, prior=0.3, alpha=0.1)], ids=str)
def test_unlabelled_rows_among_the_others(model):
    X, y, _ = table()
    few = np.where(np.arange(len(y)) % 4 == 0, y, -1)
    parts = clone(model).fit(cut(X, [90, 200]), cut(few, [90, 200]))
    np.testing.assert_allclose(parts.coef_, clone(model).fit(X, few).coef_, rtol=1e-9)


@pytest.mark.parametrize("ranker", [LeastSquaresAUC(), RankSVM(tol=1e-6)], ids=lambda ranker: type(ranker).__name__)
def test_maps(ranker):
    X, y, _ = table()
    model = Kernelized(RandomFourier(20, random_state=0), ranker).fit(cut(X, [90, 200]), cut(y, [90, 200]))
    whole = Kernelized(RandomFourier(20, random_state=0), ranker).fit(X, y)
    assert model.score(X, y) == pytest.approx(whole.score(X, y), abs=0.01)
    lazy = model.feature_map_.transform(cut(X, [90, 200]))
    assert lazy.shape == (400, 20)
    np.testing.assert_allclose(lazy.compute(), model.feature_map_.transform(X))


def test_answers_are_lazy():
    X, y, _ = table()
    seen = []
    arrays = da.from_array(X, chunks=(100, 4))
    lazy = arrays.map_blocks(lambda block: seen.append(1) or block, dtype=X.dtype, meta=X[:0])
    scores = LeastSquaresAUC().fit(X, y).decision_function(lazy)
    assert not seen and scores.shape == (400,) and scores.dtype == np.float64
    scores.compute()
    assert len(seen) == 4


def texts(n=400, seed=0):
    """A frame of numbers and texts with 30 levels, in five partitions, and its labels."""
    rng = np.random.default_rng(seed)
    X, y, _ = table(n, seed=seed)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        t=[f"level {k}" for k in rng.integers(0, 30, n)], u=np.where(rng.random(n) < 0.1, None, "red")
    )
    return frame, y, dd.from_pandas(frame, npartitions=5)


@pytest.mark.parametrize("ranker", [LeastSquaresAUC(), RankSVM(tol=1e-7), auclid.SPAM(random_state=0)], ids=str)
@pytest.mark.parametrize("maps", [[], [RandomFourier(20, random_state=0)]], ids=["columns", "columns and map"])
def test_columns_of_texts_are_made_a_block_at_a_time(monkeypatch, ranker, maps):
    frame, y, ddf = texts(2000)
    labels = cut(y, [400, 800, 1200, 1600])
    pipeline = make_pipeline(auclid.Columns(), *maps, ranker)
    whole = clone(pipeline).fit(frame, y)
    rows, transform = [], auclid.Columns.transform.__wrapped__
    monkeypatch.setattr(_sizes, "STRETCH_BYTES", 8 * 38 * 20)

    def counted(self, X, **options):
        rows.append(len(X))
        return transform(self, X, **options)

    monkeypatch.setattr(auclid.Columns, "transform", partwise(counted))
    parts = clone(pipeline).fit(ddf, labels)
    scores = parts.decision_function(ddf).compute()
    assert min(rows) < 400
    if isinstance(ranker, LeastSquaresAUC) and not maps:  # others draw samples, or hold all rows that memory may hold
        assert max(rows) < 400
    near = 2e-3 if isinstance(ranker, RankSVM) else 1e-8
    np.testing.assert_allclose(scores, whole.decision_function(frame), rtol=near, atol=near)


def test_rows_made_of_an_empty_partition_or_of_infinities():
    frame, y, ddf = texts()
    empty = ddf.map_partitions(lambda part, info=None: part.iloc[:0], meta=ddf._meta)
    rows = dd.concat([ddf.partitions[:2], empty.partitions[2], ddf.partitions[2:]])
    labels = cut(y, [80, 160, 160, 240, 320])
    pipeline = make_pipeline(auclid.Columns(), LeastSquaresAUC())
    whole = clone(pipeline).fit(frame, y)[-1].coef_
    np.testing.assert_allclose(clone(pipeline).fit(rows, labels)[-1].coef_, whole, rtol=1e-9, atol=1e-12)
    infinite = ddf.assign(a=ddf.a.where(ddf.a < 1.0, np.inf))
    columns = auclid.Columns().fit(frame)
    with pytest.raises(ValueError, match=r"Column 'a' of Columns must hold finite numbers, .*got infinity"):
        LeastSquaresAUC().fit(columns.transform(infinite), cut(y, [80, 160, 240, 320]))


def test_a_lazy_array_that_was_assigned_to_is_what_it_holds_now():
    frame, y, ddf = texts()
    columns = auclid.Columns().fit(frame)
    lazy = columns.transform(ddf)
    X = columns.transform(frame)
    np.testing.assert_array_equal(lazy.compute(), X)
    lazy[lazy > 0.5] = 0.0
    X[X > 0.5] = 0.0
    labels = cut(y, [80, 160, 240, 320])
    np.testing.assert_allclose(LeastSquaresAUC().fit(lazy, labels).coef_, LeastSquaresAUC().fit(X, y).coef_, rtol=1e-9)


# ---- bad input ----


def test_bad_partitions_are_told_in_a_sentence_and_nothing_changes():
    X, y, weight = table()
    ends = [100, 200]
    holed, three, gone = X.copy(), y.copy(), y.astype(float)
    holed[250, 2], three[350], gone[150] = np.nan, 2, np.nan
    model = RankSVM()
    before = dict(vars(model))
    for X_bad, y_bad, w_bad, said in [
        (cut(holed, ends), cut(y, ends), None, r"Partition 2 of X given to RankSVM .* it has NaN in column 2"),
        (cut(X, ends), cut(three, ends), None, "A third, 2, first comes in partition 2"),
        (cut(X, ends), cut(gone, ends), None, "a missing one in partition 1"),
        (cut(X, ends), cut(y, [100]), None, "it has 2 partitions, X has 3"),
        (cut(X, ends), cut(y, [100, 210]), None, "must be cut in the same places"),
        (cut(X, ends), cut(np.ones(400), ends), None, "two classes"),
        (cut(X, ends), cut(y, ends), cut(-weight, ends), r"finite and not negative; partition \d is not"),
        (cut(X, ends), y[:-1], None, "must be a dask collection cut in the same places as X"),
    ]:
        with pytest.raises(ValueError, match=said):
            model.fit(X_bad, y_bad, w_bad)
        assert vars(model) == before
    text = dd.from_pandas(pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}), npartitions=1)
    with pytest.raises(ValueError, match="must be numbers; 'a' is not"):
        model.fit(text, text["b"])
    with pytest.raises(ValueError, match="by method='delong'; got method='bootstrap'"):
        auc_interval(cut(y, ends), cut(X[:, 0], ends), method="bootstrap")
    with pytest.raises(ValueError, match=r"scores given to roc_auc must not be NaN; partition 2"):
        roc_auc(cut(y, ends), cut(holed[:, 2], ends))


@pytest.mark.parametrize(("model", "other"), [(KernelRankSVM(), "Kernelized"), (QSGS2AUC(), "SAMULT")], ids=str)
def test_who_cannot_says_so_and_names_who_can(model, other):
    X, y, _ = table()
    said = rf"must have all rows in memory and cannot take a dask collection\. Use .*{other}.*, such as X\[:n\]"
    with pytest.raises(TypeError, match=said):
        model.fit(cut(X, [100]), cut(y, [100]))


def test_a_worker_that_dies_for_ever_gets_a_sentence():
    class KilledWorker(Exception):
        """By this name the scheduler gives up on a task."""

    def deadly(block):
        raise KilledWorker

    X, y, _ = table()
    lethal = da.from_array(X, chunks=(100, 4)).map_blocks(deadly, dtype=X.dtype, meta=X[:0])
    with pytest.raises(RuntimeError, match="workers of the dask cluster must live through a task"):
        LeastSquaresAUC().fit(lethal, da.from_array(y, chunks=100))


def test_dask_is_not_imported_for_arrays():
    code = (
        "import sys, numpy as np, auclid\n"
        "auclid.LeastSquaresAUC().fit(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1])\n"
        "print('dask' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert done.stdout.split() == ["False"], done.stderr


# ---- real clusters ----


def cluster(workers):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, worker_dashboard_address=None
    )


def kill_first(block, path):
    """Kill the process of the first task of all, which leaves its number at ``path``."""
    try:
        with open(path, "x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)


def fitted(path=None):
    X, y, _ = table(600)
    dX, dy = (da.from_array(part, chunks=(100, *part.shape[1:])) for part in (X, y))
    dX = dX.map_blocks(kill_first, path, dtype=X.dtype, meta=X[:0]) if path else dX
    return RankSVM(tol=1e-6).fit(dX, dy)


@pytest.fixture
def bits():
    """The weights that one thread of one process finds."""
    with dask.config.set(scheduler="synchronous"):
        return fitted().coef_.tobytes()


def test_two_workers_one_of_them_killed_give_the_bits_of_one_process(bits, tmp_path):
    with cluster(2) as two, distributed.Client(two) as client:
        pids = set(client.run(os.getpid).values())
        assert fitted().coef_.tobytes() == bits
        assert fitted(str(tmp_path / "killed")).coef_.tobytes() == bits
        killed = int((tmp_path / "killed").read_text())
        assert killed in pids and killed not in client.run(os.getpid).values()


def test_the_command_learns_on_a_running_cluster(tmp_path, bits):
    """The weights of the same command in memory; ``bits`` is asked for so that the cluster's own scheduler is used."""
    from typer.testing import CliRunner

    from auclid.cli._app import app

    X, y, _ = table()
    columns = {f"a{k}": X[:, k] for k in range(X.shape[1])}
    pd.DataFrame({**columns, "y": np.where(y == y.max(), "yes", "no")}).to_csv(tmp_path / "rows.csv", index=False)
    found = []
    with cluster(2) as two:
        for name, more in (("cluster", ["--scheduler", two.scheduler_address]), ("here", [])):
            words = ["fit", str(tmp_path / "rows.csv"), "--target", "y", "--method", "LeastSquaresAUC", *more]
            done = CliRunner().invoke(app, [*words, "--model", str(tmp_path / name)])
            assert done.exit_code == 0, done.output
            found.append(auclid.load(tmp_path / name).ranker_[-1].coef_)
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_several_classes_and_scorecards():
    X, _, weight = table()
    several = np.array(list("abc"))[np.arange(len(X)) % 3]
    ends = [0, 50, 50, 171, 399]
    whole = auclid.MulticlassAUC().fit(X, several, weight)
    parts = auclid.MulticlassAUC().fit(cut(X, ends), cut(several, ends), cut(weight, ends))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(parts.decision_function(cut(X, ends)).compute(), whole.decision_function(X), rtol=1e-9)
    y = several == "a"
    card = auclid.Scorecard(interactions=0, random_state=0)
    whole, parts = clone(card).fit(X, y), clone(card).fit(cut(X, ends), cut(y, ends))
    np.testing.assert_allclose(parts.decision_function(cut(X, ends)).compute(), whole.decision_function(X), rtol=1e-9)
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    whole, parts = clone(card).fit(holed, y), clone(card).fit(cut(holed, ends), cut(y, ends))
    np.testing.assert_allclose(parts.predict_proba(cut(holed, ends)).compute(), whole.predict_proba(holed), rtol=1e-9)
    holed[7, 1] = np.inf
    with pytest.raises(ValueError, match=r"Partition 1 of X given to Scorecard .* it has infinity in column 1. Clip"):
        clone(card).fit(cut(holed, ends), cut(y, ends))


def test_a_class_that_is_rarer_in_some_partitions_only():
    """Then the rows of the rarer class are gathered in a second look."""
    rng = np.random.default_rng(0)
    y, s = np.arange(300) < 120, np.round(rng.normal(size=300), 1)
    for ends in ([0, 100, 200, 300], [0, 120, 300], [0, 130, 130, 300]):
        assert roc_auc(cut(y, ends), cut(s, ends)) == pytest.approx(roc_auc_score(y, s), abs=1e-12)


# ---- the front door ----

QUICK = auclid.AUCClassifier(methods=["LeastSquaresAUC", "logistic"], cv=2, random_state=0)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_front_door_of_few_rows_is_that_of_the_table(weighted):
    X, y, weight = table()
    weight = weight if weighted else None
    ends = [0, 50, 50, 171, 399]
    parts = clone(QUICK).fit(cut(X, ends), cut(y, ends), None if weight is None else cut(weight, ends))
    used = slice(None) if weight is None else weight > 0.0
    whole = clone(QUICK).fit(X[used], y[used], None if weight is None else weight[used])
    said = parts.decision_function(cut(X, ends))
    assert hasattr(said, "dask") and not any("fitted on" in line.note for line in parts.leaderboard_)
    np.testing.assert_allclose(said.compute(), whole.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(parts.predict_proba(cut(X, ends)).compute(), whole.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(parts.predict(cut(X, ends)).compute(), whole.predict(X))
    assert parts.score(cut(X, ends), cut(y, ends)) == pytest.approx(whole.score(X, y))


@pytest.mark.parametrize("few", [False, True], ids=["all rows", "a sample"])
@pytest.mark.parametrize("lazy", [False, True], ids=["in memory", "on the cluster"])
def test_groups_stay_with_their_rows(monkeypatch, few, lazy):
    """Each row's group is told by one of its columns."""
    if few:
        monkeypatch.setattr(_sizes, "MIN_DRAWN_ROWS", 150)
        monkeypatch.setattr(_sizes, "DEFAULT_MEMORY", 0)
    X, y, weight = table()
    groups, ends = np.repeat(np.arange(80), 5), [0, 50, 50, 171, 399]
    X[:, 3] = groups
    given = cut(groups, ends) if lazy else groups
    lazy = cut(X, ends)
    rows = labelled_dataset(clone(QUICK), lazy, cut(y, ends), cut(weight, ends), multiclass=True)
    sample, _ = draw_sample(rows)
    found = checked_groups("AUCClassifier", given, lazy, rows).at(sample.places)
    np.testing.assert_array_equal(found, sample.X[:, 3])
    assert (100 < len(found) < 160) if few else len(found) == len(y)
    if not few:
        used = weight > 0.0
        parts = clone(QUICK).fit(cut(X, ends), cut(y, ends), cut(weight, ends), groups=given)
        whole = clone(QUICK).fit(X[used], y[used], weight[used], groups=groups[used])
        np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_front_door_fits_what_it_can_on_the_cluster(monkeypatch, classes):
    monkeypatch.setattr(_sizes, "MIN_DRAWN_ROWS", 300)
    monkeypatch.setattr(_sizes, "DEFAULT_MEMORY", 0)
    X, y, _ = table(2000)
    if classes == 3:
        y = y + (X[:, 3] > 0.8)
    labels = np.array(["a", "b", "c"])[y]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(y == 1, "red", "blue"), y=labels)
    lazy = dd.from_pandas(frame, npartitions=5)
    model = clone(QUICK).fit(lazy[list("abcde")], lazy["y"])
    assert list(model.feature_names_in_) == list("abcde") and model.classes_.tolist() == ["a", "b", "c"][:classes]
    table_of = frame[list("abcde")]
    for own, label in zip(getattr(model, "models_", [model]), "abc"[classes == 2 :], strict=False):
        notes = {line.name: line.note for line in own.leaderboard_}
        assert "fitted on all 2,000 rows" in notes["LeastSquaresAUC"]
        assert "fitted on 300 of 2,000 rows, a sample that fits in memory" in notes["logistic"]
        member = next((member for member in own.members_ if member.name == "LeastSquaresAUC"), None)
        if member is not None:
            again = clone(member.model).fit(own._columns.transform(table_of), labels == label)
            np.testing.assert_allclose(member.model.coef_, again.coef_, rtol=1e-8, atol=1e-10)
    said = model.decision_function(lazy[list("abcde")])
    np.testing.assert_allclose(said.compute(), model.decision_function(table_of), rtol=1e-9)
    assert model.score(lazy[list("abcde")], lazy["y"]) > 0.8
    with pytest.raises(ValueError, match="must be those it was fitted with"):
        model.decision_function(lazy[list("bacde")])


def test_the_front_door_says_what_it_cannot_do_on_a_cluster():
    X, y, _ = table()
    for groups, said in [
        (np.arange(399), r"groups of AUCClassifier must be an array of shape \(400,\), one a row; got shape \(399,\)"),
        (cut(np.arange(400), [90]), r"cut in the same places as X; a partition of \d+ rows has groups of shape"),
        (cut(np.arange(400), [100, 200]), "groups given to AUCClassifier must be cut in .* rechunk groups"),
    ]:
        with pytest.raises(ValueError, match=said):
            clone(QUICK).fit(cut(X, [100]), cut(y, [100]), groups=groups)
    for rows in (X, auclid.scan(X, target=y)):
        with pytest.raises(TypeError, match=r"groups of AUCClassifier must be an array .* X is no dask collection"):
            clone(QUICK).fit(rows, y if rows is X else None, groups=cut(np.arange(400), [100]))
    with pytest.raises(ValueError, match="a missing one in partition 1"):
        clone(QUICK).fit(cut(X, [100]), cut(np.where(np.arange(400) == 200, np.nan, y), [100]))
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(QUICK).fit(cut(X, [100]))


@pytest.mark.parametrize("scores", [[-np.inf, -np.inf, 0, 1, np.inf, np.inf], [-np.inf, np.inf, np.inf, np.inf, 1, 1]])
def test_infinite_scores_that_tie_count_one_half(scores):
    y = np.array([0, 1, 0, 1, 0, 1])
    rows = [da.from_array(np.array(each, float), chunks=2) for each in (y, scores)]
    assert roc_auc(*rows) == pytest.approx(roc_auc(y, scores), abs=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["constant", "perfect", "reversed"])
def test_intervals_without_variance_are_those_of_memory(kind, weighted):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4 == 0
    scores = {"constant": np.ones(40), "perfect": y + rng.random(40) / 4, "reversed": rng.random(40) / 4 - y}[kind]
    weight = rng.random(40) + 0.1 if weighted else None
    lazy = [None if each is None else da.from_array(each, chunks=7) for each in (y, scores, weight)]
    told = auc_interval(lazy[0], lazy[1], sample_weight=lazy[2])
    np.testing.assert_allclose(told, auc_interval(y, scores, sample_weight=weight), atol=1e-12)
