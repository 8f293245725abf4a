"""The command under attack: one sentence and an exit code; nothing half-written, nothing that a terminal obeys."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import auclid
from attack_command import command_case, reader_case
from attack_outputs import output_case
from auclid.cli._app import app

SEEDS = st.integers(0, 2**32)
ABOUT = {"columns": ["a", "b"], "classes": ["no", "yes"], "dense": True, "target": "y", "method": "x"}
posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and devices by name")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with a table and a model, where an error that was not foreseen is raised."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUCLID_DEBUG", "1")
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) + y[:, None]
    rows = [f"{a},{b},{'yes' if label else 'no'}" for (a, b), label in zip(X.tolist(), y, strict=True)]
    Path("t.csv").write_text("\n".join(["a,b,y", *rows]))
    auclid.save("m", auclid.LeastSquaresAUC().fit(X, y), about=ABOUT)
    return tmp_path


def said(*words, code=2):
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output and "\x1b[31mred" not in result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    "change",
    [{"columns": 5}, {"columns": [1, 2]}, {"classes": ["a"]}, {"classes": [["a"], ["b"]]}, {"target": 7}],
    ids=str,
)
def test_odd_stories_about_a_model_are_refused(folder, change):
    auclid.save("odd", auclid.load("m"), about={**ABOUT, **change})
    assert "must say the names" in said("predict", "odd", "t.csv")


def test_a_transformer_gives_no_labels(folder):
    auclid.save("map", auclid.RandomFourier(4, random_state=0).fit(np.zeros((3, 2))))
    assert "holds a RandomFourier" in said("predict", "map", "t.csv")


def test_names_of_classes_reach_no_terminal_raw(folder):
    auclid.save("red", auclid.load("m"), about={**ABOUT, "classes": ["no", "\x1b[31mred"]})
    Path("red.csv").write_text(Path("t.csv").read_text().replace("yes", "\x1b[31mred"))
    shown = said("evaluate", "red", "red.csv", "--target", "y", code=0)
    assert "\\x1b[31mred" in shown and "\x1b[31mred" not in shown


@posix
def test_links_pipes_and_devices(folder):
    Path("loop").symlink_to("loop")
    os.mkfifo("fifo")
    fit = ("fit", "t.csv", "--target", "y", "--method", "LeastSquaresAUC", "--model")
    for path in ("loop", "fifo", "/dev/null", "."):
        assert "Cannot write" in said(*fit, path)
    for path in ("loop", "fifo", "."):
        said("predict", path, "t.csv")
    for path in ("loop", "fifo"):
        said("predict", "m", path)
    assert "is a pipe" in said("fit", "fifo", "--target", "y", "--model", "new")
    Path("link").symlink_to("real")
    said(*fit, "link", code=0)
    assert Path("link").is_symlink() and Path("real").is_file()
    assert not list(folder.glob(".auclid-*"))


@pytest.mark.parametrize("seed", ["-1", "4294967296", "x"])
def test_a_seed_is_a_whole_number(folder, seed):
    said("fit", "t.csv", "--target", "y", "--model", "new", "--seed", seed)
    assert not Path("new").exists()


def test_what_was_not_foreseen_is_a_sentence_too(folder, monkeypatch):
    monkeypatch.delenv("AUCLID_DEBUG")
    monkeypatch.setattr("auclid.cli.saved.load", lambda path: {}["nothing"])
    assert "was not foreseen (KeyError: 'nothing')" in said("predict", "m", "t.csv", code=1)


@given(SEEDS)
@settings(max_examples=15)
def test_hostile_commands_end_well(seed):
    command_case(np.random.default_rng(seed))


@given(SEEDS)
@settings(max_examples=25)
def test_outputs_never_replace_inputs(seed):
    output_case(np.random.default_rng(seed))


@given(SEEDS)
@settings(max_examples=25)
def test_hostile_data_files_end_well(seed):
    reader_case(np.random.default_rng(seed))


@pytest.mark.long
@given(SEEDS)
@settings(max_examples=600)
def test_many_hostile_commands_and_files_end_well(seed):
    command_case(np.random.default_rng(seed))
    output_case(np.random.default_rng(seed))
    reader_case(np.random.default_rng(seed))
