"""Hostile rows, in memory and in files: refused in a sentence, or learnt from."""

import os
from itertools import pairwise
from numbers import Real

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils._param_validation import Interval

import auclid
from attack_fits import CLASSES, batch_case, broken_case, ends_case, fit_case, small
from auclid import CBR, OAM, SPAM, LeastSquaresAUC, RankSVM
from auclid._sparse import fault
from auclid.datasets import DataError, read_table

SEEDS = st.integers(0, 2**32)

STREAMS = [cls for cls in CLASSES if hasattr(cls, "partial_fit") and cls is not auclid.Kernelized]


def sample(n=60, d=4):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 0.5 * y[:, None], y


def bad(kind, X):
    matrix = (sparse.csc_matrix if kind.startswith("csc") else sparse.csr_matrix)(X)
    if kind.endswith("one too far"):
        matrix.indices[3] = X.shape[1] if kind.startswith("csr") else X.shape[0]
    elif kind.endswith("negative"):
        matrix.indices[3] = -1
    elif kind.endswith("far"):
        matrix.indices[3] = 2**31 - 1
    elif kind.endswith("falling ends"):
        matrix.indptr[2] = 10**6
    else:
        matrix.indptr[1:-1], matrix.indptr[-1] = 10**8, 0
    return matrix


KINDS = [f"{f}, {k}" for f in ("csr", "csc") for k in ("one too far", "negative", "far", "falling ends", "nothing")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cls", [SPAM, OAM, RankSVM, LeastSquaresAUC, CBR, auclid.KMeansNystroem, auclid.Kernelized])
def test_indices_out_of_range_are_refused(cls, kind):
    X, y = sample()
    model = small(cls())
    with pytest.raises(ValueError, match="indices lie inside"):
        model.fit(bad(kind, X), y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="indices lie inside"):
        getattr(model, "decision_function" if hasattr(model, "decision_function") else "transform")(bad(kind, X))


@given(st.data())
@settings(max_examples=60)
def test_the_look_at_indices_agrees_with_a_slow_one(data):
    n, d = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    ends = data.draw(st.lists(st.integers(-1, 6), min_size=n + 1, max_size=n + 1))
    indices = data.draw(st.lists(st.integers(-1, 5), max_size=6))
    X = sparse.csr_matrix((n, d))
    X.data, X.indices, X.indptr = np.ones(len(indices)), np.array(indices, np.int32), np.array(ends, np.int32)
    rises = ends[0] == 0 and all(a <= b for a, b in pairwise(ends)) and ends[-1] <= len(indices)
    good = rises and all(0 <= k < d for k in indices[: max(0, ends[-1])])
    assert (fault(X) is None) == good


def test_a_good_matrix_of_every_format_is_learnt_from():
    X, y = sample()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    expected = LeastSquaresAUC().fit(sparse.csr_matrix(X), y).coef_
    for name in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        np.testing.assert_array_equal(LeastSquaresAUC().fit(sparse.csr_matrix(X).asformat(name), y).coef_, expected)


@pytest.mark.parametrize("weight", [1e155, 1e308, 1e-155, 1e-308])
@pytest.mark.parametrize("cls", [LeastSquaresAUC, RankSVM, auclid.LeastSquaresAUCCV, auclid.KernelRankSVM])
def test_only_ratios_of_weights_count(cls, weight):
    X, y = sample()
    ones = cls().fit(X, y, sample_weight=np.ones(len(y)))
    same = cls().fit(X, y, sample_weight=np.full(len(y), weight))
    np.testing.assert_allclose(same.decision_function(X), ones.decision_function(X), rtol=1e-6, atol=2e-3)


@pytest.mark.parametrize("power", [600, -600])
def test_a_power_of_two_times_the_weights_changes_no_stump(power):
    """Which of two equal stumps is taken is up to rounding, and such a factor rounds nothing."""
    X, y = sample()
    half, far = (auclid.RankBoost(n_rounds=10).fit(X, y, sample_weight=np.full(len(y), w)) for w in (0.5, 2.0**power))
    np.testing.assert_array_equal(far.decision_function(X), half.decision_function(X))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", STREAMS)
@pytest.mark.parametrize("size", [1e308, 1e200, 1e160])
@pytest.mark.parametrize(("below", "count"), [(-1.0, 60), (1.0, 2)])
def test_a_batch_that_would_poison_a_stream_is_refused_whole(cls, size, below, count):
    """Also where it is two rows alike, which do no harm before they meet others."""
    X, y = sample()
    model, other = (small(cls()).partial_fit(X, y) for _ in range(2))
    before = answers(model, X)
    try:
        model.partial_fit((np.full_like(X, size) * np.where(y, 1.0, below)[:, None])[:count], y[:count])
    except ValueError:
        np.testing.assert_array_equal(answers(model, X), before)
        np.testing.assert_array_equal(answers(model.partial_fit(X, y), X), answers(other.partial_fit(X, y), X))
    else:
        assert np.isfinite(answers(model.partial_fit(X, y), X)).all()


def answers(model, X):
    """Scores of a ranker, or rows of a transformer."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.transform(X)


@pytest.mark.parametrize("cls", [SPAM, LeastSquaresAUC])
def test_scores_beyond_floating_point_are_an_error(cls):
    X, y = sample()
    model = small(cls()).fit(X, y)
    model.coef_ = 100.0 * model.coef_
    with pytest.raises(ValueError, match="must give finite scores"):
        model.decision_function(np.full((3, 4), 1.7e308) * np.sign(model.coef_))


def test_absurd_scales_are_told():
    X, y = sample()
    with pytest.warns(UserWarning, match="gives every row the same score"):
        SPAM(random_state=0).fit(1e-200 * X, y)
    with pytest.raises(ValueError, match="Scale the columns"):
        SPAM(random_state=0).fit(1e170 * X, y)


@pytest.mark.parametrize("line", ["1 2000000000:1", "1 10000000000000000000:1", "1 -5:1", "x", "1 1:y"])
def test_wild_columns_of_a_libsvm_file_are_refused(line, tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text(line + "\n")
    with pytest.raises(DataError, match="must be a libsvm file"):
        read_table(path)
    with pytest.raises(ValueError, match="must be a libsvm file"):
        list(auclid.scan(path).blocks())


def test_a_number_too_large_for_a_column_is_told(tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text("1 10000000000000000000:1\n")
    for read in (read_table, lambda path: list(auclid.scan(path).blocks())):
        with pytest.raises(ValueError, match="it names a column beyond 4194304"):
            read(path)


def test_columns_beyond_those_asked_for_are_left_out(tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text("1 2:3 2000000000:1\n")
    np.testing.assert_array_equal(read_table(path, columns=["1", "2", "3"]).X.toarray(), [[0.0, 3.0, 0.0]])


def test_a_csv_file_of_many_columns_is_read(tmp_path):
    names, cells = ",".join(f"c{k}" for k in range(16_000)), ",".join(["1"] * 16_000)
    (tmp_path / "wide.csv").write_text(f"{names},y\n{cells},0\n{cells},1\n")
    table = read_table(tmp_path / "wide.csv", "y")
    assert table.X.shape == (2, 16_000) and (np.asarray(table.X) == 1).all() and table.y.tolist() == [0, 1]


def test_odd_npz_files_are_told(tmp_path):
    X, y = sample()
    path = tmp_path / "a.npz"
    for parts, said in (
        ({"X": X, "y": y, "feature_names": ["a", "b"]}, "2 feature_names for 4 columns"),
        ({"X": X, "y": y, "feature_names": list("aabc")}, "different names"),
        ({"X": X.astype(complex), "y": y}, "must be a table of numbers"),
        ({"X": np.array([["a"]]), "y": y[:1]}, "must be a table of numbers"),
    ):
        np.savez(path, **parts)
        with pytest.raises(DataError, match=said):
            read_table(path)
    matrix = sparse.csr_matrix(X)
    matrix.indices[0] = 10**6
    sparse.save_npz(path, matrix)
    with pytest.raises(DataError, match="a column index of 1000000 in 4 columns"):
        read_table(path)


def test_a_target_of_lists_is_told(tmp_path):
    pa = pytest.importorskip("pyarrow")

    pa.parquet.write_table(pa.table({"a": [1, 2], "y": [[1], [2, 3]]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="must hold one label a row"):
        read_table(tmp_path / "a.parquet", "y")


@pytest.mark.skipif(os.name != "posix", reason="pipes by name")
def test_what_is_no_file_is_told(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, said in (("fifo", "a pipe"), (".", "a folder without"), ("loop", "a link"), ("none", "that exists")):
        with pytest.raises(DataError, match=said):
            read_table(tmp_path / name)
    for name in ("fifo", "loop"):
        with pytest.raises(ValueError, match="a pipe, a device or a link to nothing"):
            auclid.scan(tmp_path / name)


@given(SEEDS)
@settings(max_examples=25)
def test_fits_on_hostile_tables_end_well(seed):
    fit_case(np.random.default_rng(seed))


@given(SEEDS)
@settings(max_examples=5)
def test_broken_matrices_and_bad_batches_end_well(seed):
    broken_case(np.random.default_rng(seed))
    batch_case(np.random.default_rng(seed))


TIMES = ("n_epochs", "n_iter", "n_rounds", "n_jobs", "cv")
"""Whole numbers that say how often something is done: a large one is asked to take for ever."""


@pytest.mark.parametrize("cls", CLASSES)
def test_a_parameter_at_the_ends_of_its_range_is_refused_or_learnt_with(cls):
    for name, constraints in cls._parameter_constraints.items():
        for interval in (each for each in constraints if isinstance(each, Interval) and name not in TIMES):
            ends = (5e-324, 1e-155, 1e155, 1.7e308) if interval.type is Real else (2**40, 2**63, 2**1300)
            for value in (end for end in ends if interval.is_satisfied_by(end)):
                ends_case(cls, name, value, stream=False)
                if hasattr(cls, "partial_fit"):
                    ends_case(cls, name, value, stream=True)


@pytest.mark.long
@given(SEEDS)
@settings(max_examples=1500)
def test_many_fits_on_hostile_tables_end_well(seed):
    fit_case(np.random.default_rng(seed))
    broken_case(np.random.default_rng(seed))
    batch_case(np.random.default_rng(seed))
