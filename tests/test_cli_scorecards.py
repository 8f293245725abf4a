"""`auclid points` and `auclid edit`: a scorecard handed over and edited from the command line."""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import auclid

pytest.importorskip("typer")
from typer.testing import CliRunner

from auclid.cli._app import app


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return " ".join((result.stdout + result.stderr).split())


@pytest.fixture
def card(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age, debt, job = rng.integers(18, 80, 600), rng.exponential(size=600).round(3), rng.choice(["clerk", "judge"], 600)
    bad = -0.05 * age + debt + (job == "judge") + rng.logistic(size=600) > 0
    lines = zip(age, debt, job, np.where(bad, "bad", "good"), strict=True)
    Path("loans.csv").write_text("age,debt,job,y\n" + "".join(f"{a},{d},{j},{y}\n" for a, d, j, y in lines))
    run("fit", "loans.csv", "--target", "y", "--positive", "bad", "--method", "Scorecard", "--model", "card.auclid")
    return auclid.load("card.auclid")


def table(path):
    header, *lines = [line.split(",") for line in Path(path).read_text().splitlines() if '"' not in line]
    return [dict(zip(header, line, strict=True)) for line in lines]


def test_points_are_written_with_the_scale_that_is_asked_for(card):
    said = run("points", "card.auclid", "--scale", 20, "--base", 500, "--odds", 10, "--higher", "safer",
               "--max-bins", 4, "--page", "card2.html")  # fmt: skip
    assert "points.csv" in said and "card2.html" in said
    lines = table("points.csv")
    assert lines[0]["column"] == "(base)" and {line["column"] for line in lines} >= {"age", "debt"}
    expected = card.points(scale=20, base=500, odds=10, higher="safer", max_bins=4)
    assert lines[0]["points"] == str(expected["points"].iloc[0])
    assert sum(line["column"] == "age" for line in lines) <= 4
    page = Path("card2.html").read_text("utf-8")
    assert "higher chance of good: 500 points are odds of 10 to one, and 20 more double them." in page
    run("points", "card.auclid", "--max-bins", "none", "--output", "exact.csv")
    assert len(table("exact.csv")) > len(lines)


def test_edits_are_applied_measured_and_kept(card):
    edits = [{"column": "age", "action": "set", "low": 30, "high": 40, "value": 0.5, "reason": "policy"},
             {"column": "job", "action": "remove"}]  # fmt: skip
    Path("edits.json").write_text(json.dumps({"edits": edits}))
    before = Path("card.auclid").read_bytes()
    said = run("edit", "card.auclid", "edits.json", "--data", "loans.csv", "--output", "new.auclid")
    assert "set age 30 to below 40 value 0.5 (policy)" in said and "remove job: AUC 0." in said
    assert "Edits: 2, in all 2: new.auclid" in said and Path("card.auclid").read_bytes() == before
    new = auclid.load("new.auclid")
    assert [edit["action"] for edit in new.edits_] == ["set", "remove"]
    assert new.edits_[-1]["effect"]["rows"] == 600
    assert auclid.io.about("new.auclid") == auclid.io.about("card.auclid")
    run("predict", "new.auclid", "loans.csv", "--output", "new.csv")
    run("predict", "card.auclid", "loans.csv", "--output", "old.csv")
    assert Path("new.csv").read_text() != Path("old.csv").read_text()
    Path("none.json").write_text("[]")
    assert "in all 0" in run("edit", "new.auclid", "none.json", "--replace")
    run("predict", "new.auclid", "loans.csv", "--output", "again.csv")
    assert Path("again.csv").read_text() == Path("old.csv").read_text()


def test_the_editor_holds_rows_only_if_told_so(card):
    assert "editor.html" in run("edit", "card.auclid", "--page", "editor.html", "--data", "loans.csv")
    run("edit", "card.auclid", "--page", "rows.html", "--data", "loans.csv", "--with-rows")
    bare, full = (Path(name).read_text("utf-8") for name in ("editor.html", "rows.html"))
    assert "holds no rows" in bare and "the values of 600 rows" in full
    assert '"name":"age"' in bare


BAD = {
    "no edits": (["edit", "card.auclid"], "must be given EDITS"),
    "rows without data": (["edit", "card.auclid", "--page", "e.html", "--with-rows"], "--with-rows must be used with"),
    "another model": (["points", "line.auclid"], "MODEL must hold a Scorecard"),
    "no number": (["points", "card.auclid", "--scale", "big"], "--scale must be a number"),
    "no bins": (["points", "card.auclid", "--max-bins", "0"], "at least 1"),
    "no lines": (["points", "card.auclid", "--max-lines", "1"], "'max_lines' of Scorecard.points must be an int of"),
    "a strange direction": (["points", "card.auclid", "--higher", "up"], "'riskier' or 'safer'"),
    "over the model": (["points", "card.auclid", "--output", "card.auclid"], "--output must"),
    "over the edits": (["edit", "card.auclid", "edits.json", "--output", "edits.json"], "--output must"),
    "an unknown column": (["edit", "card.auclid", "edits.json"], "must be one of age, debt, job"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_a_sentence(card, case):
    Path("edits.json").write_text('[{"column": "height", "action": "remove"}]')
    fit = ["fit", "loans.csv", "--target", "y", "--positive", "bad"]
    run(*fit, "--method", "LeastSquaresAUC", "--model", "line.auclid")
    arguments, says = BAD[case]
    assert says in run(*arguments, code=2)


def test_fit_makes_the_points_that_it_is_told_and_keeps_how(card):
    words = ["fit", "loans.csv", "--target", "y", "--positive", "bad", "--method", "Scorecard", "--model", "own.auclid"]
    run(*words, "--scale", 20, "--base", 500, "--odds", 10, "--higher", "safer", "--max-bins", 4)
    asked = ["--scale", 20, "--base", 500, "--odds", 10, "--higher", "safer", "--max-bins", 4]
    run("points", "card.auclid", *asked, "--output", "asked.csv")
    assert Path("own.points.csv").read_text() == Path("asked.csv").read_text()
    assert "500 points are odds of 10 to one, and 20 more double them." in Path("own.html").read_text("utf-8")
    run("points", "own.auclid", "--output", "again.csv")
    assert Path("again.csv").read_text() == Path("asked.csv").read_text()
    run("points", "own.auclid", "--scale", 40, "--output", "other.csv")
    assert Path("other.csv").read_text() != Path("asked.csv").read_text()
    assert "The 'higher' of Scorecard.points must be 'riskier' or 'safer'" in run(*words, "--higher", "up", code=2)
    refused = run("fit", "loans.csv", "--target", "y", "--positive", "bad", "--method", "RankSVM", "--base", 1, code=2)
    assert "--base must be used with --method Scorecard; RankSVM has no points." in refused


def test_fit_says_where_points_lose_much(card):
    words = ["fit", "loans.csv", "--target", "y", "--positive", "bad", "--method", "Scorecard", "--model", "few.auclid"]
    said = run(*words, "--max-lines", 3)
    assert re.search(r"the \d lines of points lose 0\.\d+ of the AUC on these rows.* give --max-lines \d", said), said
    assert len(Path("few.points.csv").read_text().splitlines()) <= 4
    assert "lines of points lose" not in run(*words)
    assert "'max_lines' of Scorecard.points must be an int of at least 2" in run(*words, "--max-lines", 0, code=2)


def test_points_as_a_workbook(card):
    openpyxl = pytest.importorskip("openpyxl")
    run("points", "card.auclid", "--output", "points.xlsx")
    run("points", "card.auclid", "--output", "points.csv")
    cells = list(openpyxl.load_workbook("points.xlsx").active.values)
    lines = Path("points.csv").read_text().splitlines()
    assert list(cells[0]) == lines[0].split(",") and len(cells) == len(lines) and isinstance(cells[1][4], int)
    refused = run("points", "card.auclid", "--output", "points.doc", code=2)
    assert "--output must end in .csv, .parquet, .pq, .xlsx or .txt" in refused


def test_a_cost_below_zero_is_called_a_gain():
    cost_of_points = importlib.import_module("auclid.cli.scorecards").cost_of_points
    said = cost_of_points("AUC", "these rows", -0.00092, -0.000001)
    assert said == (
        "The points cost -0.00092 of the AUC on these rows; rounding alone, without bins, 0.00000. "
        "A cost below zero is a gain."
    )
    assert "gain" not in cost_of_points("AUC", "these rows", 0.001, 0.0)
