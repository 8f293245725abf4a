"""The runner of the papers' tables, on tiny tables of data; and the tables' own files."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from typer.testing import CliRunner

from auclid import SPAM, algorithms, make
from auclid.cli._app import app
from auclid.datasets import catalogue
from auclid.kernels import KMeansNystroem
from auclid.metrics import roc_auc
from auclid_papers import (
    Plan,
    Record,
    experiment,
    experiments,
    load_results,
    methods,
    pages,
    protocol,
    published,
    rates,
    run,
    summary,
    sweeps,
    variants,
    verdict,
)  # fmt: skip
from auclid_papers.data import is_positive
from auclid_papers.definitions import SETTINGS, grid_values, parse, shared_datasets
from auclid_papers.protocol import SCALERS, SPLITS

TINY = """
title = "A tiny table"
paper = "SPAM"
reference = "none"
full = "much"
reduced = "little"
covers = [{table = "2", metric = "auc"}]

[protocol]
split = "folds"
folds = 2
repeats = 2
inner_folds = 2
test_size = 0.25
scale = "columns"

[quick]
repeats = 1
grid_size = 2

[[datasets]]
name = "tiny"
published = "diabetes"
task = "label 1"
positive = [1]

[[datasets]]
published = "acoustic"
missing = "it is elsewhere"

[[methods]]
name = "SPAM-L2"
published = "SPAM-L2"
grid = {alpha = "10^[-3:0]"}

[[methods]]
name = "OAMseq"
published = "OAMseq"
grid = {C = [0.1, 1.0]}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with a table of 60 rows whose first column numbers them, and one with a test part."""
    rng = np.random.default_rng(0)
    y = np.tile([1, 2, 3], 20)
    X = np.column_stack([np.arange(60.0), rng.normal(size=(60, 2)) + (y == 1)[:, None]])
    np.savez(tmp_path / "tiny.npz", X=X, y=y)
    np.savez(tmp_path / "parts.train.npz", X=X[:40], y=y[:40])
    np.savez(tmp_path / "parts.test.npz", X=X[40:], y=y[40:])
    monkeypatch.setenv("AUCLID_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def tiny():
    return parse("tiny-2", TINY)


def rows_of(folder, name="tiny-2"):
    """The results of an experiment as dictionaries."""
    return Record(folder, name).frame().to_dict("records")


def without_seconds(record):
    return record.frame().drop(columns="fit_seconds").to_dict("records")


# --- running, stopping, going on ------------------------------------------------------------------------------------


def test_a_run_has_one_row_a_cell_and_keeps_what_was_chosen(folder, tiny):
    run(tiny, folder / "record")
    rows = rows_of(folder / "record")
    cells = {("diabetes", method, k) for method in ("SPAM-L2", "OAMseq") for k in range(4)}
    assert {(row["dataset"], row["method"], row["run"]) for row in rows} == cells
    assert all(0.0 <= row["auc"] <= 1.0 and 0.5 <= row["accuracy_at_optroc"] <= 1.0 for row in rows)
    assert all(row["chosen"]["C"] in (0.1, 1.0) for row in rows if row["method"] == "OAMseq")


class Stop(Exception):
    pass


def test_a_run_that_was_stopped_goes_on_and_gives_the_same_csv(folder, tiny):
    run(tiny, folder / "whole")
    made = []

    def stop(progress):
        if progress.finished == 3:
            raise Stop

    with pytest.raises(Stop):
        run(tiny, folder / "broken", tell=stop)
    broken = Record(folder / "broken", "tiny-2")
    assert len(broken.frame()) == 3
    with broken.path.open("a") as file:
        file.write("diabetes,SPAM-L2,3,0.9")  # a row that a kill cut off
    run(tiny, folder / "broken", tell=lambda progress: made.append(progress.last))
    assert len(made) == 1 + 5, "a finished cell was run again"
    assert without_seconds(broken) == without_seconds(Record(folder / "whole", "tiny-2"))


KILLED = """
import sys
from auclid_papers import run
from auclid_papers.definitions import parse
import time
run(parse("tiny-2", open(sys.argv[1]).read()), sys.argv[2], tell=lambda progress: time.sleep(0.2))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_process_leaves_a_record_that_another_one_completes(folder, tiny):
    (folder / "tiny.toml").write_text(TINY)
    record = Record(folder / "killed", "tiny-2")
    command = [sys.executable, "-c", KILLED, str(folder / "tiny.toml"), str(folder / "killed")]
    process = subprocess.Popen(command, env=os.environ)
    deadline = time.monotonic() + 120
    while len(record.frame()) < 2 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 2 <= len(record.frame()) < 8
    run(tiny, folder / "killed")
    run(tiny, folder / "whole")
    assert without_seconds(record) == without_seconds(Record(folder / "whole", "tiny-2"))


WORKERS = """
import multiprocessing, sys, time
from auclid_papers import run
from auclid_papers.definitions import parse

def tell(progress):
    if progress.finished == 1:
        print(*[process.pid for process in multiprocessing.active_children()], flush=True)
        time.sleep(60)

if __name__ == "__main__":
    run(parse("tiny-2", open(sys.argv[1]).read()), sys.argv[2], jobs=2, tell=tell)
"""


def lives(process):
    """Whether a folder of /proc is that of a process which still does something."""
    try:
        return (process / "stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no list of processes to look at")
def test_a_killed_run_takes_its_processes_with_it(folder):
    (folder / "tiny.toml").write_text(TINY)
    (folder / "workers.py").write_text(WORKERS)
    command = [sys.executable, *(str(folder / name) for name in ("workers.py", "tiny.toml", "killed"))]
    process = subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, text=True)
    workers = [Path("/proc") / pid for pid in process.stdout.readline().split()]
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(workers) == 2
    deadline = time.monotonic() + 30
    while any(map(lives, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(lives, workers))


def test_a_second_run_of_a_table_is_refused_while_the_first_is_at_it(folder, tiny):
    def again(progress):
        if progress.finished == 1:
            with pytest.raises(ValueError, match="is being written by another run"):
                run(tiny, folder / "record")

    run(tiny, folder / "record", tell=again)
    assert len(rows_of(folder / "record")) == 8


def test_a_broken_record_is_named(folder, tiny):
    record = Record(folder / "record", "tiny-2")
    run(tiny, folder / "record", runs=1)
    record.path.write_text(record.path.read_text().replace("SPAM-L2,0", "SPAM-L2,x"))
    with pytest.raises(ValueError, match=r"tiny-2.csv' must hold results of an experiment: .*'?x'?"):
        record.frame()
    record.path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"tiny-2.csv' must have the columns dataset, method, run"):
        record.frame()


def test_processes_give_the_same_csv(folder, tiny):
    run(tiny, folder / "one")
    run(tiny, folder / "two", jobs=2)
    assert without_seconds(Record(folder / "two", "tiny-2")) == without_seconds(Record(folder / "one", "tiny-2"))


def test_quick_runs_are_fewer_and_have_a_folder_of_their_own(folder, tiny):
    run(tiny, folder / "record", quick=True)
    assert len(rows_of(folder / "record" / "quick")) == 4
    assert not rows_of(folder / "record")
    how = tiny.settings(tiny.datasets[0], tiny.methods[0], quick=True)
    assert methods.candidates(how) == [{"alpha": 0.001}, {"alpha": 1.0}]


def test_more_runs_leave_the_earlier_ones_alone(folder, tiny):
    run(tiny, folder / "record", runs=1)
    first = rows_of(folder / "record")
    assert len(first) == 2
    run(tiny, folder / "record")
    assert all(row in rows_of(folder / "record") for row in first)


def test_what_another_protocol_made_is_run_again_in_its_place(folder, tiny):
    run(tiny, folder / "record")
    record = Record(folder / "record", "tiny-2")
    before = record.frame().to_dict("records")
    changed = parse("tiny-2", TINY.replace("C = [0.1, 1.0]", "C = [0.5]"))
    assert {cell[1] for cell in Plan.of(changed, record.done()).cells} == {"OAMseq"}
    run(changed, folder / "record", runs=1)
    assert len(record.frame()) == 4 + 1, "what another protocol made must not be told as its own"
    run(changed, folder / "record")
    after = record.frame().to_dict("records")
    assert len(after) == len(before)
    assert [row for row in after if row["method"] == "SPAM-L2"] == [row for row in before if row["method"] == "SPAM-L2"]
    assert all(row["chosen"] == {"C": 0.5} for row in after if row["method"] == "OAMseq")


def test_a_cell_that_another_table_has_run_alike_is_taken_from_it(folder, tiny, monkeypatch):
    run(tiny, folder / "record")
    monkeypatch.setattr(methods, "cell", lambda *_: pytest.fail("it was run again"))
    other = parse("tiny-3", TINY.replace('published = "diabetes"', 'published = "sick"'))
    run(other, folder / "record")
    first, second = (rows_of(folder / "record", name) for name in ("tiny-2", "tiny-3"))
    assert [row | {"dataset": "sick"} for row in first] == second


def test_a_plan_names_what_is_missing_and_refuses_unknown_names(folder, tiny):
    plan = Plan.of(tiny)
    assert plan.missing == (("acoustic", "it is elsewhere; `auclid experiments fetch acoustic` downloads it"),)
    assert len(plan.cells) == 8
    assert len(Plan.of(tiny, methods_=["OAMseq"]).cells) == 4
    with pytest.raises(ValueError, match="--datasets must be some of diabetes, acoustic; got 'iris'"):
        Plan.of(tiny, datasets=["iris"])


def test_a_table_that_was_missing_runs_as_soon_as_it_is_there_and_then_counts(folder):
    one = parse("spam-2", TINY)
    assert [name for name, _ in Plan.of(one).missing] == ["acoustic"]
    (folder / "acoustic.npz").write_bytes((folder / "tiny.npz").read_bytes())
    assert Plan.of(one).missing == ()
    run(one, folder / "record", datasets=["acoustic"])
    frame = summary(load_results(folder / "record"))
    (found,) = frame.query("table == '2' and dataset == 'acoustic' and method == 'SPAM-L2'").itertuples()
    assert found.runs == 4 and found.status != "missing" and "Missing" not in found.note


def test_a_whole_dataset_takes_the_place_of_its_sample_as_soon_as_it_is_there(folder, monkeypatch):
    sample = 'name = "tiny"\nwhole = "huge"\ndiffers = "A sample."'
    one = parse("spam-2", TINY.replace('name = "tiny"', sample))
    monkeypatch.setitem(experiments(), "spam-2", one)

    def found():
        run(one, folder / "record", methods=["OAMseq"])
        frame = summary(load_results(folder / "record"))
        (value,) = frame.query("table == '2' and dataset == 'diabetes' and method == 'OAMseq'").itertuples()
        return value.runs, value.same_data, "A sample." in value.note

    assert found() == (4, False, True)
    (folder / "huge.npz").write_bytes((folder / "tiny.npz").read_bytes())
    assert found() == (4, True, False)


@pytest.mark.parametrize(
    ("said", "expected"), [([1, 3], [1, 0, 1, 0]), ("rarest", [0, 0, 0, 1]), ("2 to 3", [0, 1, 1, 0])]
)
def test_positives_by_label_by_range_or_the_rarest(said, expected):
    labels = np.array([1, 2, 3, 7])
    rows = [0, 0, 1, 1, 2, 2, 3]
    assert (is_positive(labels[rows], said) == np.array(expected, dtype=bool)[rows]).all()


def test_a_cell_that_fails_is_told_and_not_recorded(folder, tiny, monkeypatch):
    def broken(name, dataset, how, run):
        raise ValueError("no")

    monkeypatch.setattr(methods, "cell", broken)
    progress = run(tiny, folder / "record", runs=1)
    assert [cell[:3] for cell, _ in progress.failed] == [("diabetes", "SPAM-L2", 0), ("diabetes", "OAMseq", 0)]
    assert all(why.startswith("ValueError: no (test_experiments.py:") for _, why in progress.failed)
    assert not rows_of(folder / "record")


def test_a_killed_worker_ends_the_run_with_one_sentence(folder, tiny):
    others = {process.pid for process in multiprocessing.active_children()}  # idle workers of other tests

    def kill(progress):
        if progress.finished == 1:
            for process in multiprocessing.active_children():
                if process.pid not in others:
                    process.kill()

    with pytest.raises(ChildProcessError, match="A process of the run was killed; the finished cells are saved"):
        run(tiny, folder / "record", jobs=2, tell=kill)
    assert 1 <= len(rows_of(folder / "record")) < 8


# --- no leak --------------------------------------------------------------------------------------------------------


class Spy(BaseEstimator):
    """Remembers the numbers of all rows that it learns from, and of those it scores last."""

    learned, scored = set(), set()

    def __init__(self, strength=1.0):
        self.strength = strength

    def fit(self, X, y):
        Spy.learned |= set(np.asarray(X)[:, 0].tolist())
        return self

    def decision_function(self, X):
        Spy.scored = set(np.asarray(X)[:, 0].tolist())
        return np.asarray(X)[:, 1]


HOW = {"folds": 3, "repeats": 1, "test_size": 0.25, "inner_folds": 2, "positive": [1], "grid": {}, "fixed": {}}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("turn", [0, 1, 4])
def test_test_rows_are_only_scored(folder, monkeypatch, split, turn):
    monkeypatch.setitem(methods.BASELINES, "Spy", Spy)
    monkeypatch.setattr(methods, "_compiled", set())
    Spy.learned, Spy.scored = set(), set()
    how = {**HOW, "split": split, "scale": "none", "grid": {"strength": [1.0, 2.0]}, "tune_rows": 20}
    name = "parts" if split == "given" else "tiny"
    parts = protocol.make_split(name, how, turn)
    methods.cell("Spy", name, how, turn)
    assert Spy.scored == set(parts.X_test[:, 0])
    assert Spy.learned == set(parts.X[:, 0])
    assert not Spy.learned & Spy.scored
    assert len(Spy.learned) + len(Spy.scored) == 60


def test_a_given_test_part_must_be_there(folder):
    with pytest.raises(ValueError, match="tiny must come with a test part here; AUCLID_DATA has none"):
        protocol.make_split("tiny", {**HOW, "split": "given", "scale": "none"}, 0)


def test_folds_hold_each_row_once_and_each_pass_shuffles(folder):
    how = {**HOW, "split": "folds", "scale": "none"}
    tests = [set(protocol.make_split("tiny", how, k).X_test[:, 0]) for k in range(6)]
    assert set.union(*tests[:3]) == set.union(*tests[3:]) == set(range(60))
    assert sum(map(len, tests)) == 120
    assert tests[0] != tests[3]


@pytest.mark.parametrize("scale", ["columns", "range", "largest"])
def test_scaling_is_learned_from_training_rows(folder, scale):
    how = {**HOW, "split": "holdout"}
    raw, scaled = (protocol.make_split("tiny", {**how, "scale": name}, 2) for name in ("none", scale))
    expected = SCALERS[scale](raw.X).fit(raw.X)
    np.testing.assert_allclose(scaled.X_test, expected.transform(raw.X_test))


def test_sparse_columns_are_not_centred(folder):
    X = sparse.random(40, 5, density=0.4, format="csr", random_state=0)
    sparse.save_npz(folder / "thin.npz", X)
    np.save(folder / "thin.y.npy", np.arange(40) % 2)
    parts = protocol.make_split("thin", {**HOW, "split": "holdout", "scale": "columns"}, 0)
    assert sparse.issparse(parts.X)
    assert parts.X.nnz + parts.X_test.nnz == X.nnz


def test_caps_keep_the_share_of_positives(folder):
    how = {**HOW, "split": "holdout", "scale": "none", "max_rows": 48, "train_rows": 12, "test_rows": 6}
    parts = protocol.make_split("tiny", how, 0)
    assert (len(parts.y), parts.y.sum(), len(parts.y_test), parts.y_test.sum()) == (12, 4, 6, 2)


def test_a_map_is_shared_by_the_methods_of_a_run_only(folder, monkeypatch):
    how = {**HOW, "split": "folds", "scale": "columns", "fixed": {"n_components": 8}, "grid": {"alpha": [1e-3, 1e-1]}}
    maps, fit = [], KMeansNystroem.fit

    def counted(self, X, y=None):
        maps.append(self.n_components)
        return fit(self, X, y)

    monkeypatch.setattr(KMeansNystroem, "fit", counted)
    for turn in (0, 1):
        parts = protocol.make_split("tiny", how, turn)
        for name in ("NPSAM", "NBAM"):
            found = methods.cell(name, "tiny", how, turn)
            seen = len(maps)
            alone = methods.build(name, how["fixed"] | found["chosen"], turn).fit(parts.X, parts.y)
            assert found["auc"] == pytest.approx(alone.score(parts.X_test, parts.y_test), abs=0.02)
            del maps[seen:]
    assert maps.count(8) == 2


def test_a_scaling_is_chosen_by_inner_folds_and_ranges_go_by_the_length_of_rows(folder, monkeypatch):
    monkeypatch.setitem(methods.BASELINES, "Spy", Spy)
    how = {**HOW, "split": "holdout", "scale": ["none", "largest"], "grid": {"strength": "2^[0:1] / length^2"}}
    tried = []

    def held_out(model, X, *_):
        tried.append(model.strength)
        return float(np.abs(X).max() <= 1.0)

    monkeypatch.setattr(methods, "_fold_auc", held_out)
    parts, chosen = methods.tune("Spy", "tiny", how, 0)
    assert chosen["scale"] == "largest" and np.abs(parts.X).max() == 1.0
    splits = [protocol.make_split("tiny", how | {"scale": scale}, 0) for scale in ("none", "largest")]
    lengths = [protocol.row_norm(split.X) for split in splits]
    expected = [power / length**2 for length in lengths for power in (1.0, 2.0)]
    np.testing.assert_allclose(tried, np.repeat(expected, 2))
    assert chosen["strength"] == pytest.approx(expected[2])
    assert methods.parameters(how, chosen) == {"strength": chosen["strength"]}


def test_the_length_of_rows(folder):
    X = np.array([[3.0, 4.0], [0.0, 5.0], [0.0, 0.0]])
    assert protocol.row_norm(X) == protocol.row_norm(sparse.csr_matrix(X)) == pytest.approx(np.sqrt(50 / 3))


# --- the clock ------------------------------------------------------------------------------------------------------


def test_timing_leaves_out_compilation(folder, monkeypatch):
    seconds, fits = [0.0], []

    class Compiled(Spy):
        """The first fit takes a thousand seconds of a clock of its own, others one."""

        def fit(self, X, y):
            seconds[0] += 1.0 if fits else 1000.0
            fits.append(len(y))
            return super().fit(X, y)

    monkeypatch.setattr(methods, "perf_counter", lambda: seconds[0])
    monkeypatch.setitem(methods.BASELINES, "Compiled", Compiled)
    monkeypatch.setattr(methods, "_compiled", set())
    found = methods.cell("Compiled", "tiny", {**HOW, "split": "holdout", "scale": "none"}, 0)
    assert len(fits) >= 2 and found["fit_seconds"] == 1.0


# --- verdicts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "theirs", "std", "said"),
    [
        (0.90, 0.90, None, "met"),
        (0.905, 0.90, 0.0, "met"),
        (0.9051, 0.90, 0.0, "better"),
        (0.895, 0.90, 0.001, "met"),
        (0.8949, 0.90, 0.001, "worse"),
        (0.88, 0.90, 0.02, "met"),
        (0.8799, 0.90, 0.02, "worse"),
        (0.93, 0.90, 0.02, "better"),
    ],
)
def test_verdict(mean, theirs, std, said):
    assert verdict(mean, theirs, std) == said


def test_summary_has_one_record_a_published_figure(tmp_path):
    record = Record(tmp_path, "spam-2")
    rows = [{"dataset": "diabetes", "method": "SPAM-L2", "run": k, "auc": auc, "fit_seconds": 1.0} for k, auc in
            enumerate([0.84, 0.86])]  # fmt: skip
    record.add(rows)
    frame = summary(load_results(tmp_path))
    assert len(frame) == len(published()) == 1296
    (one,) = frame[frame["runs"] > 0].itertuples()
    assert (one.dataset, one.method, one.published) == ("diabetes", "SPAM-L2", 0.8272)
    assert one.verdict == one.status == "met"
    assert one.mean == pytest.approx(0.85)
    assert one.difference == pytest.approx(0.0228)
    assert one.std == pytest.approx(np.std([0.84, 0.86], ddof=1))
    assert set(frame.loc[frame["dataset"] == "acoustic", "status"]) == {"missing"}
    assert set(frame.loc[frame["metric"] == "seconds", "status"]) <= {"missing", "not run", "not ours"}


# --- the tables' files ----------------------------------------------------------------------------------------------

ALL = pytest.mark.parametrize("name", experiments())


@ALL
def test_a_file_is_whole(name):
    one = experiments()[name]
    assert one.title and one.full and one.reduced and one.reference
    assert len({d.published for d in one.datasets}) == len(one.datasets)
    assert len({m.name for m in one.methods}) == len(one.methods)
    assert set(one.protocol) <= SETTINGS
    assert set(one.quick) <= SETTINGS | {"grid_size"}
    for dataset in one.datasets:
        assert dataset.missing or dataset.name
        assert not dataset.missing or "http" in dataset.missing
        assert dataset.counted or dataset.reason
        assert dataset.task or dataset.name is None
    for method in one.methods:
        assert set(method.on) <= {d.published for d in one.datasets}
    if one.kind == "table":
        assert bool(one.covers) != bool(one.beside or one.extra)
        assert all(experiments()[name].covers for name in one.beside)
    else:
        assert one.kind in ("curve", "box") and one.figure["y"]
        assert experiments()[one.source].kind == "table" if one.source != name else one.sweep["over"] in sweeps.SWEEPS
    for note in one.notes:
        assert note["note"] and set(note) <= {"note", "datasets", "methods", "metrics", "miss"}
        assert set(note.get("datasets", [])) <= {d.published for d in one.datasets}
        assert set(note.get("methods", [])) <= {m.name if one.beside else m.published for m in one.methods}


@ALL
def test_a_file_names_known_methods_with_known_parameters(name):
    one = experiments()[name]
    names = {method.name for method in algorithms()} | set(methods.BASELINES) | set(methods.ESTIMATORS)
    for method in (m for m in one.methods if m.ours):
        assert method.registry_name in names
        if not methods.is_installed(method.registry_name) or one.source != name:
            continue
        for dataset in (d for d in one.datasets if d.name):
            how = one.settings(dataset, method)
            assert how["split"] in SPLITS and set(methods.scales(how)) <= set(SCALERS)
            for choice in methods.candidates(how):
                params = methods.parameters(how, choice)
                if one.sweep.get("over") == "semi" and choice:  # the width is that of landmarks
                    sweeps._with_width(method.registry_name, params, 100, 0)
                else:
                    methods.build(method.registry_name, params, 0)


@ALL
def test_a_quick_run_is_small(name):
    one = experiments()[experiments()[name].source]
    for dataset in (d for d in one.datasets if d.name):
        for method in one.methods:
            how = one.settings(dataset, method, quick=True)
            assert one.runs(dataset, method, quick=True) <= 2
            assert len(methods.candidates(how)) <= 9
            assert min(how.get(key) or np.inf for key in ("max_rows", "train_rows")) <= 3000


def test_the_page_of_the_papers_has_every_table_and_figure():
    page = (RAW.parent.parent / "papers.md").read_text("utf-8")
    named = re.findall(r"`((?:spam|solam|khalid|qsg)-[\w.-]+)`", page)
    assert sorted(named) == sorted(one.id for one in experiments().values() if not one.beside and one.id != "pays")


PRINTED = [one.id for one in experiments().values() if one.beside and one.form == variants.PUBLISHED]


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_rerun_as_published_is_the_published_form(name):
    """Steps, averages, maps and losses are those of `make(..., published=True)`; ranges and sizes are the table's."""
    one = experiments()[name]
    for dataset in one.datasets:
        for method in (m for m in one.methods if one.runs(dataset, m)):
            settings = one.settings(dataset, method)
            params = methods.parameters(settings, methods.candidates(settings)[0])
            mine, printed = (
                methods.build(method.registry_name, params | more, 0).get_params() for more in ({}, {"published": True})
            )
            parts = {"feature_map", "ranker"}
            different = {key for key in mine if key not in parts and repr(mine[key]) != repr(printed[key])}
            assert mine.keys() == printed.keys() and not different, (dataset.published, method.name)


def test_a_table_that_is_not_as_published_does_not_say_so():
    for one in experiments().values():
        if one.beside and one.form != variants.PUBLISHED:
            assert "published" not in one.title and not one.id.endswith("published")
            assert one.id not in PRINTED


def test_every_published_figure_has_its_place():
    covered = [(one.paper, *cover) for one in experiments().values() for cover in one.covers]
    assert len(covered) == len(set(covered)), "two files claim one table"
    assert set(covered) == set(published()[["paper", "table", "metric"]].itertuples(index=False, name=None))
    owner = {cover: one for one in experiments().values() for cover in [(one.paper, *c) for c in one.covers]}
    for row in published().itertuples():
        one = owner[row.paper, row.table, row.metric]
        assert row.dataset in {d.published for d in one.datasets}
        assert row.method in {m.published for m in one.methods}


def test_a_datasets_own_task_is_defined_once():
    own = {table.name: list(table.labels) for table in catalogue()}
    for entry in shared_datasets().values():
        if entry.get("name") in own:
            assert entry.get("positive") != own[entry["name"]], f"{entry['name']}: the catalogue has it already"
        else:
            assert "positive" in entry or "name" not in entry


def test_the_later_setting_wins_the_fewest_repeats_do_and_fixed_parameters_add_up():
    text = TINY.replace('positive = [1]', 'positive = [1]\nrepeats = 5\ntrain_rows = 30\nfixed = {n_epochs = 2}')
    text = text.replace('published = "OAMseq"', 'published = "OAMseq"\nrepeats = 1\nfixed = {buffer_size = 9}')
    one = parse("tiny-2", text + 'on = {diabetes = {train_rows = 20, grid = {C = [3.0]}}}')
    spam, oam = (one.settings(one.datasets[0], method) for method in one.methods)
    assert (spam["repeats"], oam["repeats"]) == (2, 1)
    assert (spam["train_rows"], oam["train_rows"]) == (30, 20)
    assert oam["grid"] == {"C": [3.0]}
    assert oam["fixed"] == {"n_epochs": 2, "buffer_size": 9}


def test_a_table_is_found_by_its_own_number_too():
    assert experiment("khalid-4.4") is experiment("khalid-4.3")
    assert experiment("khalid-3.3").id == "khalid-3.2"


def test_grids_are_read_as_papers_write_them():
    assert grid_values("2^[-1:1]") == [0.5, 1.0, 2.0]
    assert grid_values("10^[-4:2:0]") == [1e-4, 1e-2, 1.0]
    np.testing.assert_allclose(grid_values("10^[-1:1] * length^2", 3.0), [0.9, 9.0, 90.0])
    np.testing.assert_allclose(grid_values("10^[-1:1] / length", 2.0), [0.05, 0.5, 5.0])
    with pytest.raises(ValueError, match="range of powers like"):
        grid_values("1:9:100")


RAW = Path(__file__).parent.parent.parent / "docs" / "record" / "raw"


@ALL
def test_the_record_was_made_with_the_protocol_as_it_stands(name):
    one = experiments()[name]
    if one.source != name:
        assert not Record(RAW, name).path.exists()
        return
    datasets, ours = {d.published: d for d in one.datasets}, {m.name: m for m in one.methods}
    rows = Record.of(RAW, one).frame().to_dict("records")
    for row in rows:
        dataset, method = datasets[row["dataset"]], ours[row["method"]]
        assert row["protocol"] == one.protocol_hash(dataset, method), row
        assert row["run"] < one.runs(dataset, method), row
    if not rows and not one.covers and not one.figure:
        return  # a table beside the papers' may wait for its run, and its page says so
    assert {row["method"] for row in rows} == {m.name for m in one.methods if m.ours}
    assert {row["dataset"] for row in rows} == {d.published for d in one.datasets if not d.missing}


def test_the_record_meets_its_bar_and_every_miss_has_its_reason():
    frame = summary(load_results(RAW))
    counted = frame[frame["status"].isin(["met", "better", "worse", "not run"])]
    missed = counted[~counted["status"].isin(["met", "better"])]
    assert len(missed) <= 0.15 * len(counted)
    for f in missed.itertuples():
        one = experiments()[f.experiment]
        dataset = one.dataset(f.dataset)
        assert dataset.differs or one.cell_notes(dataset, f.method, f.metric), f


LINE = re.compile(r'<g id="((?:curve|box) [^"]+)">\s*<path d="([^"]+)"')


def drawn(text):
    """The labels of an SVG, and its curves or boxes with each axis from 0 to 1: margins differ between versions."""
    numbers = {name: re.findall(r"-?\d+\.?\d*", path) for name, path in LINE.findall(text)}
    lines = {name: np.array(found, dtype=float).reshape(-1, 2) for name, found in numbers.items()}
    low, high = (end(np.concatenate(list(lines.values())), axis=0) for end in (np.min, np.max))
    scaled = {name: (line - low) / np.where(high > low, high - low, 1.0) for name, line in lines.items()}
    return set(re.findall(r"<text[^>]*>([A-Za-z][^<]*)", text)), scaled


@pytest.mark.long
def test_the_pages_are_those_of_the_record(tmp_path):
    pages.write(RAW, tmp_path)
    kinds = (".md", ".html", ".svg", ".js")
    stored = {path.relative_to(RAW.parent) for path in RAW.parent.rglob("*") if path.suffix in kinds}
    stored |= {path.relative_to(RAW.parent) for path in RAW.parent.glob("*.csv")}
    assert stored == {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    for path in stored:
        ours, theirs = ((folder / path).read_text(encoding="utf-8") for folder in (tmp_path, RAW.parent))
        again = f"{path}: run `auclid experiments report --record docs/record/raw --output docs/record`"
        if path.suffix in (".md", ".csv", ".js"):
            assert ours == theirs, again
            continue
        (labels, lines), (stored_labels, stored_lines) = drawn(ours), drawn(theirs)
        assert labels == stored_labels and list(lines) == list(stored_lines), again
        for name, line in lines.items():
            np.testing.assert_allclose(line, stored_lines[name], atol=1e-3, err_msg=again)


# --- figures --------------------------------------------------------------------------------------------------------

FIGURE = TINY.replace('covers = [{table = "2", metric = "auc"}]', "").replace("repeats = 2", "repeats = 1") + """
[figure]
kind = "curve"
x = "x"
y = "y"

[sweep]
"""


@pytest.mark.parametrize(
    ("sweep", "points"),
    [
        ('over = "parameter"\nname = "n_epochs"\nvalues = [1, 3]', 2),
        ('over = "seconds"\npasses = 2\nbatches = 3', 6),
        ('over = "ratio"\nvalues = [1, 2, 4]', 3),
    ],
)
def test_a_figure_has_its_points(folder, sweep, points):
    one = parse("tiny-fig-1", FIGURE + sweep)
    run(one, folder / "record")
    rows = rows_of(folder / "record", "tiny-fig-1")
    assert len(rows) == 2 * 2 * points
    assert all(0.0 <= row["y"] <= 1.0 for row in rows)
    xs = [row["x"] for row in rows if (row["method"], row["run"]) == ("OAMseq", 0)]
    assert xs == sorted(xs) and len(set(xs)) == points
    assert not Plan.of(one, Record.of(folder / "record", one).done()).cells


SEMI = [
    ('over = "unlabelled"\nlabelled = 8\nvalues = [5, 20]', {5.0, 20.0}),
    ('over = "semi"\nlabelled = 8\nunlabelled = 20', {None}),
]


@pytest.mark.parametrize(("sweep", "xs"), SEMI)
@pytest.mark.parametrize("method", ["SAMULT", "PNU-AUC", "QSG-S2AUC"])
def test_figures_of_few_labels(folder, sweep, xs, method):
    before, after = FIGURE[: FIGURE.index("[[methods]]")], FIGURE[FIGURE.index("[figure]") :]
    one = parse("tiny-fig-1", f'{before}[[methods]]\nname = "{method}"\n\n{after}{sweep}')
    assert not run(one, folder / "record", runs=1).failed
    rows = rows_of(folder / "record", "tiny-fig-1")
    assert {None if np.isnan(row["x"]) else row["x"] for row in rows} == xs and all(row["y"] >= 0.0 for row in rows)


@pytest.mark.parametrize("method", ["SAMULT", "PNU-AUC", "QSG-S2AUC"])
def test_few_labels_choose_all_parameters_by_folds_of_the_labelled_rows(folder, method, monkeypatch):
    """The best of the grid by held-out AUC is fitted, as a search by hand finds it."""
    built, with_width = [], sweeps._with_width
    monkeypatch.setattr(sweeps, "_with_width", lambda *args: built.append(args) or with_width(*args))
    grid = {"gamma": [0.1, 1.0], "alpha": [0.01, 1.0], "unlabeled_weight": [0.0, 0.5]}
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) < 30, np.arange(60) % 2, -1)
    X = rng.normal(size=(60, 2)) + (y == 1)[:, None]
    settings = {"grid": grid, "fixed": {"published": True} if method == "QSG-S2AUC" else {}}
    model = sweeps._tuned(method, X, y, settings, run=0)
    ((_, chosen, *_),) = built
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X[:30], y[:30]))
    aucs = {}
    for choice in methods.candidates(settings):
        tried = settings["fixed"] | choice
        if method == "QSG-S2AUC":
            tried |= {"n_iter": sweeps.TUNING_ITERATIONS}
        one = with_width(method, tried, 60, 0)
        parts = [np.setdiff1d(np.arange(60), test) for _, test in folds]
        if method != "QSG-S2AUC":  # the landmarks are those of all rows
            Z, one = one.feature_map.fit_transform(X), one.ranker
        else:
            Z = X
        scores = [roc_auc(y[test], clone(one).fit(Z[rest], y[rest]).decision_function(Z[test]))
                  for rest, (_, test) in zip(parts, folds, strict=True)]  # fmt: skip
        aucs[tuple(choice.values())] = np.mean(scores)
    assert aucs[tuple(chosen[name] for name in grid)] == pytest.approx(max(aucs.values()), abs=1e-9)
    assert model.fit(X, y).score(X[:30], y[:30]) > 0.6


def test_few_labels_hold_two_of_each_class_however_rare():
    y = np.zeros(200, dtype=bool)
    y[:2] = True
    parts = protocol.Split(np.arange(200.0)[:, None], y, None, None, ())
    X, labels = protocol.hide_labels(parts, 10, 50, run=3)
    assert len(labels) == 60 and (labels >= 0).sum() == 10 and (labels == 1).sum() == 2
    assert (y[X[:10, 0].astype(int)] == labels[:10]).all()
    with pytest.raises(ValueError, match="got 1 positives, 199 negatives and 10 labels"):
        protocol.hide_labels(protocol.Split(parts.X, np.arange(200) == 0, None, None, ()), 10, 50, run=0)


TINY_ROWS = {"split": "holdout", "test_size": 0.25, "scale": "columns", "positive": [1]}


@pytest.mark.parametrize(
    ("name", "error", "fixed"),
    [
        ("SPAM-L2", "distance", {"alpha": 10.0, "schedule": "thm3"}),
        ("SOLAM", "gap", {"zeta": 1.0, "radius": 1.0}),
    ],
)
def test_a_rates_error_is_that_of_a_pass_over_drawn_rows(folder, name, error, fixed):
    """One pass over T rows of the same training part whatever the run, which only draws other rows."""
    settings = TINY_ROWS | {"fixed": {"published": True, "shuffle": False, **fixed}}
    split = protocol.make_split("tiny", settings, 0)
    curve = rates.steps({"values": [20, 40], "error": error}, name, "tiny", settings, 3)
    assert [x for x, _ in curve] == [20.0, 40.0]
    drawn = np.random.default_rng([3, 40]).integers(len(split.y), size=40)
    model = make(name, **settings["fixed"]).fit(split.X[drawn], split.y[drawn])
    if error == "gap":
        expected = model.duality_gap(split.X, split.y)
    else:
        Z = (split.X[split.y][:, None, :] - split.X[~split.y][None, :, :]).reshape(-1, split.X.shape[1])
        best = np.linalg.solve(2 * Z.T @ Z / len(Z) + 10.0 * np.eye(Z.shape[1]), 2 * Z.mean(axis=0))
        expected = np.sum((model.coef_[0] - best) ** 2)
    assert curve[1][1] == pytest.approx(expected, rel=1e-9)


def test_scores_come_near_those_of_the_exact_minimiser(folder):
    settings = TINY_ROWS | {"fixed": {"published": True, "alpha": 1.0, "gamma": 1.0, "unlabeled_weight": 0.5}}
    sweep = {"labelled": 20, "unlabelled": 20, "values": [5, 500]}
    first, last = (y for _, y in rates.iterations(sweep, "QSG-S2AUC", "tiny", settings, 0))
    assert 0.0 < last < first / 20.0


def test_the_time_of_a_step_is_that_of_dense_rows_with_some_columns(folder, monkeypatch):
    rng, y, seen = np.random.default_rng(0), np.tile([1, 2, 3], 20), []
    X = np.where(rng.random((60, 9)) < 0.5, rng.random((60, 9)), 0.0)
    X[:, 7] = 1.0
    split = protocol.Split(sparse.csr_matrix(X), y == 1, None, None, ())
    monkeypatch.setattr(rates.protocol, "make_split", lambda *args: split)
    monkeypatch.setattr(rates, "PASSES", (1, 3))
    fit = SPAM.fit
    monkeypatch.setattr(SPAM, "fit", lambda self, X, y: seen.append((self.n_epochs, X, y)) or fit(self, X, y))
    curve = rates.columns({"values": [1, 4]}, "SPAM-L2", "tiny", {"fixed": {"published": True}}, 0)
    assert [x for x, _ in curve] == [1.0, 4.0] and all(y > 0.0 for _, y in curve)
    assert [n for n, _, _ in seen] == 2 * [1, *[1] * rates.REPEATS, *[3] * rates.REPEATS]
    assert {X.shape for _, X, _ in seen} == {(16, 1), (16, 4)} and all(y.sum() == 8 for _, _, y in seen)
    assert (seen[0][1] == 1.0).all(), "the column that is never zero comes first"


def test_a_figure_of_times_is_drawn_from_a_tables_record(folder, tiny):
    run(tiny, folder / "record")
    one = parse("tiny-fig-2", FIGURE.replace('"curve"', '"box"') + 'of = "tiny-2"')
    rows, times = pages.figure_rows(one, folder / "record"), Record(folder / "record", "tiny-2").frame()
    assert rows["y"].tolist() == (1000.0 * times["fit_seconds"]).tolist() and rows["x"].isna().all()


# --- the command ----------------------------------------------------------------------------------------------------

command = partial(CliRunner().invoke, app)


def save_diabetes(folder):
    """A small table by that name, which the command can run."""
    rng, y = np.random.default_rng(0), np.tile([-1, 1], 30)
    np.savez(folder / "diabetes.npz", X=rng.normal(size=(60, 3)) + y[:, None], y=y)


def test_help_does_not_wait_for_numpy():
    code = (
        "import sys; from typer.testing import CliRunner; from auclid.cli._app import app\n"
        "told = [CliRunner().invoke(app, words).output for words in (['--help'], ['experiments', '--help'])]\n"
        "assert 'experiments' in told[0] and 'fetch' in told[1], told\n"
        "print([name for name in ('numpy', 'pandas', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_lists_and_refuses(folder):
    listed = command(["experiments", "list", "--record", str(folder / "record")])
    assert listed.exit_code == 0
    assert "spam-2" in listed.output and "khalid-4.3" in listed.output
    refused = command(["experiments", "run", "spam2"])
    assert refused.exit_code == 2
    assert "Did you mean 'spam-2'?" in " ".join(refused.output.split())


def test_the_command_runs_and_says_what_is_missing(folder, monkeypatch):
    save_diabetes(folder)
    asked = ["--datasets", "diabetes,acoustic", "--methods", "B-LS-SVM", "--runs", "1", "--record", str(folder / "r")]
    ran = command(["experiments", "run", "spam-2", *asked])
    assert ran.exit_code == 0, ran.output
    assert "acoustic was left out" in " ".join(ran.output.split())
    (row,) = rows_of(folder / "r", "spam-2")
    assert row["auc"] > 0.9
    monkeypatch.delenv("AUCLID_DATA")
    assert "AUCLID_DATA must name the folder" in " ".join(command(["experiments", "run", "spam-2"]).output.split())


def test_the_command_reports_quick_runs_apart_and_refuses_a_record_that_is_not_there(folder, monkeypatch):
    report = ["experiments", "report", "--record", str(folder / "r"), "--output", str(folder / "pages")]
    refused = command(report)
    assert refused.exit_code == 2 and "--record must be a folder that" in " ".join(refused.output.split())
    refused = command(["experiments", "list", "--record", str(folder / "tiny.npz")])
    assert refused.exit_code == 2 and "--record must be a folder; got the file" in " ".join(refused.output.split())
    save_diabetes(folder)
    only = ["--datasets", "diabetes", "--methods", "B-LS-SVM", "--record", str(folder / "r")]
    assert command(["experiments", "run", "spam-2", "--quick", *only]).exit_code == 0
    listed = command(["experiments", "list", "--quick", "--record", str(folder / "r")])
    assert any("spam-2" in line and line.split()[-1] == "1" for line in listed.output.splitlines()), listed.output
    assert command([*report, "--quick"]).exit_code == 0
    assert "diabetes" in (folder / "pages" / "spam.md").read_text()


def test_a_run_into_a_pipe_says_how_far_it_is(folder):
    """A bar is drawn for nobody; lines are."""
    save_diabetes(folder)
    only = ["--datasets", "diabetes", "--methods", "B-LS-SVM", "--runs", "2", "--record", str(folder / "r")]
    ran = command(["experiments", "run", "spam-2", *only])
    assert ran.exit_code == 0 and "2 of 2" in ran.output


def test_pages_of_quick_runs_lie_with_their_record(folder, monkeypatch, tmp_path_factory):
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    save_diabetes(folder)
    only = ["--datasets", "diabetes", "--methods", "B-LS-SVM", "--record", str(folder / "r")]
    assert command(["experiments", "run", "spam-2", "--quick", *only]).exit_code == 0
    assert command(["experiments", "report", "--quick", "--record", str(folder / "r")]).exit_code == 0
    assert "diabetes" in (folder / "r" / "quick" / "pages" / "spam.md").read_text()
    assert not list(here.iterdir())


def test_the_command_runs_all_tables_that_have_what_is_asked_for(folder):
    save_diabetes(folder)
    only = ["--datasets", "diabetes", "--methods", "LogisticRegression", "--runs", "1", "--record", str(folder / "r")]
    assert command(["experiments", "run", "all", *only]).exit_code == 0
    assert {path.stem for path in (folder / "r").glob("*.csv")} == {"khalid-4.3", "pays", "solam-3", "spam-2"}


def test_the_command_says_by_its_exit_code_that_a_cell_failed(folder, monkeypatch):
    def broken(name, dataset, how, run):
        raise ValueError("no")

    monkeypatch.setattr(methods, "cell", broken)
    save_diabetes(folder)
    only = ["--datasets", "diabetes", "--methods", "B-LS-SVM", "--runs", "1", "--record", str(folder / "r")]
    ran = command(["experiments", "run", "spam-2", *only])
    assert ran.exit_code == 1 and "B-LS-SVM on diabetes, run 0, failed" in " ".join(ran.output.split())


def test_a_cell_of_a_figure_is_on_record_whole_or_not_at_all(tmp_path, monkeypatch):
    points = [
        {"dataset": "d", "method": "m", "run": 0, "x": float(k), "y": 0.5, "protocol": "p"} for k in range(5)
    ]
    rows = Record(tmp_path, "f", figure=True)

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        rows.add(points)
    assert rows.done() == set()
    monkeypatch.undo()
    rows.add(points)
    assert rows.done() == {("d", "m", 0, "p")}
    assert len(rows.frame()) == 5
