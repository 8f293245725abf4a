"""What is read or summed up side by side gives the very bits, and the very sentences, of one after the other."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import auclid
from auclid import _sizes, _threads
from auclid._threads import bounded_thread_map
from auclid.data import as_table, files, parallel_read
from auclid.data.dataset import subtrees, tree_sum, whole
from auclid.data.readers import reader
from auclid.data.readers.parquet import group_runs
from auclid.stats.class_means import first_pass

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N, D, ROWS = 2000, 3, 12


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of twelve rows."""
    monkeypatch.setattr(reader, "READ_BYTES", ROWS * D * 4)


@pytest.fixture
def threads(monkeypatch):
    """Say how many threads there may be; returns the list of those that answered a run."""
    who = []
    answer = parallel_read._answer

    def told(*args):
        who.append(threading.get_ident())
        return answer(*args)

    def limit(count):
        for module in (_threads, files):
            monkeypatch.setattr(module, "allowed_threads", lambda: count)
        monkeypatch.setattr(parallel_read, "_answer", told)
        who.clear()
        return who

    return limit


def rows_of(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N)
    return (rng.normal(size=(N, D)) + 0.5 * y[:, None]).astype(np.float32), y


def written(path, X, y, group=130, **others):
    columns = {f"x{k}": X[:, k] for k in range(X.shape[1])}
    parquet.write_table(pa.table({**columns, "y": y, **others}), path, row_group_size=group)
    return path


def scanned(path, **options):
    return auclid.scan(path, target="y", memory=0, **options)


@pytest.mark.parametrize("labels", [(0, 1), ("ham", "spam")])
@pytest.mark.parametrize("weighted", [False, True])
def test_bits_do_not_depend_on_threads(tmp_path, threads, labels, weighted):
    X, code = rows_of()
    y, w = np.array(labels)[code], np.random.default_rng(1).random(N)
    path, weight = written(tmp_path / "a.parquet", X, y, w=w), "w" if weighted else None
    fits = []
    for count in (1, 2, 3):
        who = threads(count)
        rows = scanned(path, sample_weight=weight, columns=[f"x{k}" for k in range(D)])
        fits.append(auclid.LeastSquaresAUC().fit(rows))
        assert bool(who) == (count > 1)  # else nothing was read side by side, and this test says nothing
        assert rows.passes == 2  # moments, and the threshold
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes() == fits[2].coef_.tobytes()
    kept = auclid.scan(path, target="y", sample_weight=weight, columns=[f"x{k}" for k in range(D)], memory="1GB")
    assert auclid.LeastSquaresAUC().fit(kept).coef_.tobytes() == fits[0].coef_.tobytes()
    inside = auclid.LeastSquaresAUC().fit(X, y, w if weighted else None)
    np.testing.assert_allclose(fits[0].coef_, inside.coef_, rtol=1e-10)


def test_several_files_missing_numbers_and_other_types(tmp_path, threads):
    X, y = rows_of()
    for k, part in enumerate(np.array_split(np.arange(N), 3)):
        own = X[part].astype(np.float64 if k == 1 else np.float32)  # the second file is wider than the first says
        written(tmp_path / f"{k}.parquet", own, y[part], group=57)
    threads(2)
    two = auclid.LeastSquaresAUC().fit(scanned(tmp_path))
    threads(1)
    assert two.coef_.tobytes() == auclid.LeastSquaresAUC().fit(scanned(tmp_path)).coef_.tobytes()


@pytest.mark.parametrize(("name", "value"), [("MIN_RUNS", 10**6), ("MIN_RUN_BLOCKS", 10**6), ("MAX_RUN_COLUMNS", 0)])
def test_both_sides_of_reading_in_parallel_agree(tmp_path, threads, monkeypatch, name, value):
    path = written(tmp_path / "a.parquet", *rows_of())
    who = threads(2)
    side_by_side = auclid.LeastSquaresAUC().fit(scanned(path)).coef_
    assert who
    who.clear()
    monkeypatch.setattr(_sizes, name, value)
    np.testing.assert_allclose(auclid.LeastSquaresAUC().fit(scanned(path)).coef_, side_by_side, rtol=1e-12)
    assert not who


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_first_bad_number_is_named_whoever_meets_one_first(tmp_path, threads, bad):
    X, y = rows_of()
    X[700, 1] = X[1900, 2] = bad
    path = written(tmp_path / "a.parquet", X, y)
    said = []
    for count in (1, 2):
        who = threads(count)
        with pytest.raises(ValueError, match="column 'x1', row 700") as error:
            auclid.LeastSquaresAUC().fit(scanned(path))
        assert bool(who) == (count > 1)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_a_file_that_changed_is_refused(tmp_path, threads):
    X, y = rows_of()
    path = written(tmp_path / "a.parquet", X, y)
    threads(2)
    rows = scanned(path)
    rows.labels()
    written(path, X[:-200], y[:-200])
    with pytest.raises(ValueError, match="must stay as it is"):
        auclid.LeastSquaresAUC().fit(rows)


def test_categories_that_end_with_their_row_group_make_no_other_blocks(tmp_path):
    X, y = rows_of()
    words = pa.array(np.array(["a", "b", "c"])[np.arange(N) % 3]).dictionary_encode()
    path = written(tmp_path / "a.parquet", X, y, word=words)
    rows = scanned(path)
    sizes = rows.block_sizes()
    blocks = list(rows.blocks())
    assert [len(labels) for _, labels in blocks] == sizes
    np.testing.assert_array_equal(np.concatenate([np.asarray(block["x0"]) for block, _ in blocks]), X[:, 0])
    assert [each for block, _ in blocks for each in block["word"].to_pylist()] == words.to_pylist()


def test_scores_and_samples_are_those_of_the_rows(tmp_path, threads):
    X, y = rows_of()
    path = written(tmp_path / "a.parquet", X, y)
    threads(2)
    model = auclid.RankSVM(alpha=1e-2).fit(scanned(path))
    np.testing.assert_allclose(model.coef_, auclid.RankSVM(alpha=1e-2).fit(X, y).coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(scanned(path).target(), y)


def test_row_groups_beyond_what_is_decoded_whole_are_read_in_turn(tmp_path, threads):
    X, y = rows_of()
    path = written(tmp_path / "a.parquet", X, y, group=ROWS * _sizes.MAX_RUN_BLOCKS + 1)
    who = threads(2)
    auclid.LeastSquaresAUC().fit(scanned(path))
    assert not who


@settings(max_examples=60)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(1, 5))
def test_row_groups_come_together_in_their_order(sizes, rows):
    found = group_runs(sizes, rows)
    assert [k for groups in found for k in groups] == list(range(len(sizes)))
    assert all(sum(sizes[k] for k in groups) >= 8 * rows for groups in found[:-1])
    assert all(sum(sizes[k] for k in groups[:-1]) < 8 * rows for groups in found)


class Shown(str):
    """A sum that shows its tree."""

    def __add__(self, other):
        return Shown(f"({self!s}{other!s})")


@settings(max_examples=100)
@given(st.integers(1, 70), st.data())
def test_subtrees_of_any_runs_make_the_same_tree(n, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, n), max_size=8)) | {0, n})
    values = [(k, Shown(f" {k} ")) for k in range(n)]
    trees = [tree for a, b in pairwise(cuts) for tree in subtrees(values[a:b])]
    assert str(whole(trees)) == str(tree_sum(value for _, value in values))
    assert all(len(subtrees(values[a:b])) <= 2 * n.bit_length() for a, b in pairwise(cuts))


def test_in_turn_holds_few_answers_and_raises_in_order(monkeypatch):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 4)
    begun, taken = [], 0

    def answer(k):
        begun.append(k)
        if k in (50, 53):
            raise ValueError(str(k))
        return k

    with pytest.raises(ValueError, match="50"):
        for k in bounded_thread_map(answer, range(100), max_threads=3):
            assert k == taken
            taken += 1
            assert len(begun) <= taken + 4
    assert taken == 50


@pytest.mark.parametrize("kind", ["C", "F", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_first_passes_and_products_do_not_depend_on_threads(monkeypatch, kind, weighted):
    monkeypatch.setattr(_sizes, "BLOCK_BYTES", 8 * D * 5)  # twenty rows a piece
    monkeypatch.setattr("auclid._sizes.MIN_COMPILED_VALUES", 0)
    X, y = rows_of()
    X = sparse.csr_matrix(np.where(abs(X) > 0.7, X, 0)) if kind == "sparse" else np.asarray(X, order=kind)
    table, weight = as_table(X), np.random.default_rng(1).integers(0, 3, N).astype(float) if weighted else None
    assert len(table.pieces(N)) > 8
    found = []
    for count in (1, 3):
        monkeypatch.setattr(_threads, "allowed_threads", lambda count=count: count)
        passed = first_pass(table, y == 1, products=True, weight=weight)
        found.append([*passed, table.matmul(np.arange(1.0, D + 1))])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    rows, mass = np.asarray(X.todense() if kind == "sparse" else X, np.float64), 1.0 if weight is None else weight
    total = [((mass * (y == c)) @ rows) for c in (0, 1)]
    np.testing.assert_allclose(found[0][0], total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[0][-1], rows @ np.arange(1.0, D + 1), rtol=1e-12)
