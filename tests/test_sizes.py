"""Results on both sides of every size of `auclid._sizes` at which rows take another path."""

import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

import auclid
from auclid import (
    OPAUC,
    SAMULT,
    SPAM,
    Columns,
    FactorizationRanker,
    Kernelized,
    KernelRankSVM,
    KMeansNystroem,
    LeastSquaresAUC,
    LeastSquaresAUCCV,
    OrderedRanker,
    RandomFourier,
    RankSVM,
    Scorecard,
    SurvivalRanker,
    _sizes,
    metrics,
)
from auclid.baselines import SmallLightGBM
from test_probabilities import CASES as PROBABILITY_CASES

SOURCE = Path(auclid.__file__).parent


class Case(NamedTuple):
    """A value that puts 400 rows on the other side of a size, and what is computed on both sides."""

    value: Any
    result: Callable[[], Any]
    others: tuple = ()
    """Other sizes that are changed on both sides."""
    rtol: float = 1e-6
    """How far results may differ; of paths that sample rows, areas."""


def table(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    return rng.normal(size=(n, d)) + 0.8 * y[:, None] * (np.arange(d) < 3), y.astype(int)


X, Y = table()
MANY = table(9000)
SINGLE, SPARSE = X.astype(np.float32), sparse.csr_matrix(np.where(X < 0.5, 0.0, X).astype(np.float32))
FEW_LABELS = np.where(np.arange(len(Y)) % 4 == 0, Y, -1)
LEVELS = np.digitize(X[:, 0] + X[:, 3], [-1.0, 0.0, 1.0])
GROUPS = np.arange(len(Y)) // 10
TIMES = np.array(list(zip(Y == 1, np.exp(-X[:, 0]), strict=True)), dtype=[("event", bool), ("time", float)])


def scores(model, rows=X, y=Y):
    return lambda: model.fit(rows, y).decision_function(rows)


def area(model, rows=X, y=Y):
    """The AUC on the training rows: what may be asked of paths that see other rows, or in another order."""
    return lambda: metrics.roc_auc(Y, model.fit(rows, y).decision_function(rows))


def scanned(n=400):
    rows, y = table(n)
    return auclid.scan(rows, target=y)


def stopped_area():
    """The AUC of the baseline that stops by held-out folds, on fresh rows."""
    pytest.importorskip("lightgbm")
    rows, y = table(3000, seed=1)
    return metrics.roc_auc(y, SmallLightGBM(random_state=0).fit(X, Y).predict_proba(rows)[:, 1])


def in_batches(model):
    for start in range(0, len(Y), 20):
        model.partial_fit(X[start : start + 20], Y[start : start + 20], classes=[0, 1])
    return model.coef_


def write_csv(path):
    np.savetxt(path, np.column_stack([X, Y]), delimiter=",", header="a,b,c,d,e,f,y", comments="")


def run(*words):
    """What the command says."""
    from typer.testing import CliRunner

    from auclid.cli._app import app

    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def by_command():
    """Predictions of the command, of a csv file."""

    def result():
        with tempfile.TemporaryDirectory() as folder:
            rows, model, answers = (f"{folder}/{name}" for name in ("rows.csv", "m.auclid", "scores.csv"))
            write_csv(rows)
            run("fit", rows, "--target", "y", "--method", "LeastSquaresAUC", "--model", model)
            run("predict", model, rows, "--output", answers)
            return np.genfromtxt(answers, delimiter=",", skip_header=1)[:, 0]

    return result


LINEAR = LeastSquaresAUC(alpha=0.01)
PRODUCTS = LeastSquaresAUC(alpha=0.01, solver="products", tol=1e-10)
FOURIER = RandomFourier(20, random_state=0)
STREAM = SPAM(random_state=0)
COMPILED = ("MIN_COMPILED_VALUES", 0)

CASES = {
    # rows
    "BLOCK_BYTES": Case(200, scores(PRODUCTS, SINGLE), rtol=1e-4),
    "LARGE_BYTES": Case(64, scores(PRODUCTS, SPARSE), rtol=1e-4),
    "COPY_BYTES": Case(0, scores(STREAM, np.asfortranarray(X))),
    "STRETCH_BYTES": Case(
        20_000, lambda: STREAM.fit(scanned()).decision_function(X), (("DEFAULT_MEMORY", 0),)
    ),
    "CENTRE_SAMPLE": Case(50, area(STREAM), rtol=0.02),
    "SWEEP": Case(7, scores(STREAM)),
    "DEFAULT_MEMORY": Case(0, lambda: LINEAR.fit(scanned()).decision_function(X)),
    "MIN_COMPILED_VALUES": Case(0, scores(PRODUCTS, SINGLE), rtol=1e-4),
    "EXACT_BYTES": Case(0, scores(Kernelized(FOURIER, LINEAR)), rtol=1e-2),
    "KEPT_VALUE_BYTES": Case(0, scores(Kernelized(FOURIER, RankSVM(alpha=0.1, tol=1e-8))), (("EXACT_BYTES", 0),), 1e-3),
    "KEPT_ROW_BYTES": Case(0, scores(Kernelized(FOURIER, STREAM)), (("EXACT_BYTES", 0),), 1e-4),
    "SWEPT_ROW_BYTES": Case(
        4000, scores(Kernelized(FOURIER, STREAM)), (("EXACT_BYTES", 0), ("KEPT_ROW_BYTES", 0)), 1e-4
    ),
    "MAX_COMPARED_LEVELS": Case(0, lambda: LINEAR.fit(scanned()).coef_),
    "MIN_BLOCK_ROWS": Case(50, lambda: Columns().fit(X).transform(X), (("LARGE_BYTES", 64),)),
    # statistics and solvers
    "MAX_SORTED_ROWS": Case(0, area(STREAM), rtol=0.02),
    "MAX_NARROW_COLUMNS": Case(0, lambda: LINEAR.fit(X, Y).coef_, (COMPILED,)),
    "MAX_MOMENT_GROUPS": Case(1, lambda: LINEAR.fit(X, Y).coef_, (COMPILED,)),
    "SAMPLE_CAPACITY": Case(40, area(SAMULT(), y=FEW_LABELS), rtol=0.05),
    "SMALL_BATCH_ROWS": Case(0, lambda: in_batches(OPAUC(random_state=0))),
    "MIN_COLUMNS_PER_ENTRY": Case(0, scores(SPAM(variance_reduction="saga", random_state=0), SPARSE), rtol=1e-4),
    "MAX_MOMENT_COLUMNS": Case(3, scores(LeastSquaresAUC(alpha=0.01, tol=1e-12)), rtol=1e-5),
    "MIN_THREADED_SCORES": Case(0, lambda: LeastSquaresAUCCV(cv=3).fit(X, Y).cv_auc_),
    "MAX_WHOLE_PATH_COLUMNS": Case(3, area(RankSVM()), rtol=0.02),
    "MAX_HESSIAN_COLUMNS": Case(3, scores(RankSVM(alpha=0.01, tol=1e-9)), rtol=1e-4),
    "MIN_ROUGH_BYTES": Case(0, area(KernelRankSVM(tol=1e-6)), rtol=1e-3),
    "MAX_ROUGH_BYTES": Case(0, area(KernelRankSVM(tol=1e-6)), (("MIN_ROUGH_BYTES", 0),), 1e-3),
    "MIN_GUIDE_ROWS": Case(20, scores(RankSVM(alpha=0.01, tol=1e-9)), rtol=1e-4),
    "MIN_TOP_ROWS_PER_COLUMN": Case(
        0, scores(RankSVM(alpha=0.01, max_fpr=0.5, tol=1e-10)), (("MIN_GUIDE_ROWS", 20),), 1e-3
    ),
    "SCORED_PATH_ROWS": Case(7, lambda: LeastSquaresAUCCV(cv=3).fit(X, Y).cv_auc_),
    "MAX_DIRECT_ROWS": Case(8, scores(OrderedRanker("logistic", alpha=0.01, tol=1e-9), y=LEVELS), rtol=1e-4),
    "SAMPLE_BYTES": Case(0, lambda: RankSVM(alpha=0.01, tol=1e-9).fit(scanned(9000)).coef_, rtol=1e-4),
    "MIN_ROWS_FOR_ONE_SPLIT": Case(0, area(SAMULT(), y=FEW_LABELS), rtol=0.05),
    "MAX_REPEATED_COLUMNS": Case(0, area(SAMULT(), y=FEW_LABELS), rtol=0.05),
    # rankers
    "MIN_SEARCH_ROWS": Case(50, area(RankSVM()), (("SEARCH_VALUES", 1),), 0.02),
    "MAX_SEARCH_ROWS": Case(50, area(RankSVM()), (("MIN_SEARCH_ROWS", 10),), 0.02),
    "SEARCH_VALUES": Case(300, area(RankSVM()), (("MIN_SEARCH_ROWS", 10),), 0.02),
    "MAX_WIDE_SEARCH_ROWS": Case(50, area(RankSVM(loss="logistic")), (("MAX_WHOLE_PATH_COLUMNS", 3),), 0.02),
    "MAX_TUNING_ROWS": Case(300, area(FactorizationRanker(2, n_epochs=3, random_state=0)), rtol=0.05),
    "MIN_TUNING_CLASS_ROWS": Case(1000, area(FactorizationRanker(2, n_epochs=3, random_state=0)), rtol=0.05),
    "MAP_ROWS": Case(
        50, lambda: Kernelized(RandomFourier(9, random_state=0), LINEAR).fit(scanned()).score(X, Y), rtol=0.05
    ),
    "VARIANCE_ROWS": Case(
        100, area(Kernelized(KMeansNystroem(20, gamma="variance", random_state=0), LINEAR)), rtol=0.02
    ),
    "MIN_CLASS_ROWS_FOR_CV": Case(1000, area(Kernelized(KMeansNystroem(20, random_state=0))), rtol=0.05),
    "MAX_ALPHA_ROWS": Case(100, area(OrderedRanker("squared_hinge"), y=LEVELS), rtol=0.02),
    "SLOPE_ROWS": Case(100, area(Scorecard(SurvivalRanker(), interactions=0), y=TIMES), rtol=0.05),
    # metrics and comparisons
    "MIN_COMPILED_SCORES": Case(1100, lambda: metrics.auc_interval(MANY[1], MANY[0][:, 0])[:4]),
    "SUMMED_SCORES": Case(100, lambda: metrics.roc_auc(MANY[1], MANY[0][:, 0]), (("MIN_COMPILED_SCORES", 1100),), 0.0),
    "MAX_SORTED_SCORES": Case(1100, lambda: LINEAR.fit(*MANY).intercept_),
    "MIN_ROWS_FOR_NORMAL_INTERVAL": Case(10**6, lambda: metrics.auc_interval(Y, X[:, 0])[:3], rtol=0.01),
    "MIN_ROWS_FOR_NORMAL_TEST": Case(10**6, lambda: metrics.compare_auc(Y, X[:, 0], X[:, 1])[:3], rtol=0.05),
    "MIN_CERTAIN_GROUPS": Case(10**6, lambda: metrics.auc_interval(Y, X[:, 0], groups=GROUPS)[:3]),
    "MIN_POSITIVES_IN_REGION": Case(10**6, lambda: metrics.auc_interval(Y, X[:, 0], max_fpr=0.5, min_tpr=0.2)[:3]),
    # the command
    "MIN_ROWS_FOR_ONE_FOLD": Case(0, stopped_area, rtol=0.02),
    "MAX_FOLDED_ENTRIES": Case(0, stopped_area, rtol=0.02),
    "COMMAND_BYTES": Case(1000, by_command()),
    "MAX_PROFILE_COLUMNS": Case(1, by_command()),
    "PROFILE_ROWS": Case(50, by_command(), (("COMMAND_BYTES", 1000),)),
}

REFUSED = {
    "MAX_STATE_COLUMNS": (3, lambda: OPAUC().fit(X, Y), "too large a state for d = 6 columns"),
    "MAX_KERNEL_BYTES": (1000, lambda: KernelRankSVM().fit(X, Y), "KernelRankSVM"),
    "MAX_LEVEL_MOMENT_VALUES": (10, lambda: OrderedRanker().partial_fit(X, LEVELS), "OrderedRanker"),
}
"""Sizes beyond which a sentence says what to do instead."""

ELSEWHERE = {
    "ORDERED_CARD_ROWS": "test_scorecard_ordered.py",
    "MAX_ORDER_LEVELS": "test_scorecard_ordered.py",
    "MIN_PACKED_ROWS": "test_sorting.py",
    "MIN_RUNS": "test_runs.py",
    "MIN_RUN_BLOCKS": "test_runs.py",
    "MAX_RUN_BLOCKS": "test_runs.py",
    "MAX_RUN_COLUMNS": "test_runs.py",
}
"""Sizes with both sides in another file."""

OWN_TESTS = {
    "MIN_ROWS_TO_HOLD_OUT", "MIN_LOADED_ROWS",
    "MAX_QUICK_COLUMNS", "MAX_MAP_COLUMNS", "MAX_MAP_ROWS", "MAX_KERNEL_ROWS",
}  # fmt: skip
"""Sizes whose sides choose another answer, on purpose: a test below for each."""


def test_every_size_has_a_case():
    sizes = {name for name in vars(_sizes) if name.isupper()}
    tested = [*CASES, *REFUSED, *ELSEWHERE, *OWN_TESTS, *PROBABILITY_CASES]
    assert sorted(sizes) == sorted(tested)
    for name, file in ELSEWHERE.items():
        assert name in (Path(__file__).parent / file).read_text(), name


@pytest.mark.parametrize("name", CASES)
def test_both_sides_agree(name, monkeypatch):
    case = CASES[name]
    for other, value in case.others:
        monkeypatch.setattr(_sizes, other, value)
    with warnings.catch_warnings(action="ignore"):
        this = np.asarray(case.result(), dtype=float)
        monkeypatch.setattr(_sizes, name, case.value)
        other = np.asarray(case.result(), dtype=float)
    np.testing.assert_allclose(other, this, rtol=case.rtol, atol=case.rtol * np.abs(this).max())


@pytest.mark.parametrize("name", REFUSED)
def test_too_large_a_table_gets_a_sentence(name, monkeypatch):
    value, fit, said = REFUSED[name]
    fit()
    monkeypatch.setattr(_sizes, name, value)
    with pytest.raises(ValueError, match=said):
        fit()


@pytest.mark.parametrize(("n_rows", "said"), [(300, "one split, 30% of the rows held out"), (1000, "5 folds")])
def test_few_rows_are_compared_by_folds_and_many_by_one_split(n_rows, said, monkeypatch):
    monkeypatch.setattr(_sizes, "MIN_ROWS_TO_HOLD_OUT", 0 if "split" in said else n_rows)
    result = auclid.compare({"a": LINEAR, "b": STREAM}, *table(n_rows))
    assert said in result.how


@pytest.mark.parametrize(("size", "loaded"), [(1000, 400), (300, 300)])
def test_compare_loads_some_rows_whatever_memory_allows(size, loaded, monkeypatch, tmp_path):
    monkeypatch.setattr(_sizes, "MIN_LOADED_ROWS", size)
    write_csv(tmp_path / "rows.csv")
    words = "--methods", "LeastSquaresAUC", "--against", "ridge", "--memory", "1kB", "--output"
    said = run("compare", str(tmp_path / "rows.csv"), "--target", "y", *words, str(tmp_path / "r.html"))
    assert ("Compared on 300 of 400 rows" in said) == (loaded < 400)


@pytest.mark.parametrize(
    ("name", "value", "method", "left_out"),
    [
        ("MAX_QUICK_COLUMNS", 3, "LeastSquaresAUC", "LeastSquaresAUCCV"),
        ("MAX_MAP_COLUMNS", 3, None, "NPSAM"),
        ("MAX_MAP_ROWS", 3, None, "NPSAM"),
        ("MAX_KERNEL_ROWS", 3, None, "RBF-RankSVM"),
        ("MAX_SCORECARD_COLUMNS", 3, None, "Scorecard"),
    ],
)
def test_compare_leaves_out_what_does_not_suit_the_table(name, value, method, left_out, monkeypatch):
    from auclid.cli.models import sensible

    suited = sensible(X)[0]
    monkeypatch.setattr(_sizes, name, value)
    expected = {each for each in suited if each != left_out} | ({method} - {None})
    assert left_out in suited and set(sensible(X)[0]) == expected


SIZE = re.compile(r"^(\w*(?:ROWS|COLUMNS|BYTES|VALUES|SCORES|ENTRIES|CELLS|BLOCKS))\b(?:, \w+)* = \(?\d", re.M)
NO_PATH = {
    "MIN_LEVEL_ROWS", "MIN_BIN_ROWS", "MIN_ONE_HOT_ROWS", "MIN_TEST_ROWS", "MIN_TAIL_ROWS", "MIN_WINDOW_ROWS",
    "MIN_GROUP_CLASS_ROWS", "SMOOTHED_ROWS",  # statistical minima of a cell
    "MAX_EXCEL_ROWS", "MAX_JSON_VALUES", "MAX_ROWS", "MAX_SHOWN_COLUMNS",  # limits of a page, a format or a number
    "MAX_CHECKED_ROWS", "MAX_CHECKED_COLUMNS", "MAX_EXPLAINED_ROWS", "MAX_EXPLAINED_COLUMNS", "CHECKED_ROWS",
    "HEAD_ROWS", "SCORED_ROWS", "WARM_UP_ROWS", "N_ROWS",  # looked at for a note, or to compile
}  # fmt: skip
BUFFERS = {
    "READ_BYTES", "PARSED_BYTES", "PIECE_BYTES", "SNIFFED_BYTES", "BUFFER_BYTES", "COPIED_ROWS", "PIECE_BLOCKS",
    "PENDING_BYTES", "MATRIX_ROWS", "BLOCK_VALUES", "BATCH_ENTRIES", "DENSE_BLOCK_ROWS", "CENTRE_PART_ROWS",
    "WINDOW_ROWS", "PART_VALUES", "STAIR_SCORES", "MOST_CELLS", "MAX_CELLS", "BLOCKS",
}  # fmt: skip
"""Lengths of buffers: how rows are cut there changes nothing but rounding. And of what is kept, or guides a search."""


def test_sizes_that_choose_a_path_are_in_one_module():
    found = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        if path.name != "_sizes.py"
        for name in SIZE.findall(path.read_text())
        if name not in NO_PATH | BUFFERS
    }
    assert not found
