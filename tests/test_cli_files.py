"""The files of the command: what is read is never replaced, and a stream goes on exactly where it stopped."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import auclid

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")
testing = pytest.importorskip("typer.testing")

from auclid.cli import checkpoint, main  # noqa: E402
from auclid.cli._app import app  # noqa: E402
from auclid.cli.paths import check_ending, check_paths  # noqa: E402
from auclid.cli.tables import cell  # noqa: E402
from auclid.errors import DataError  # noqa: E402
from auclid.io import about  # noqa: E402

posix = pytest.mark.skipif(os.name != "posix", reason="links by name")


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    return {"a": rng.normal(size=n) + y, "b": rng.normal(size=n), "y": y}


def write_csv(path, columns):
    Path(path).parent.mkdir(exist_ok=True)
    lines = [",".join(columns), *(",".join(map(str, line)) for line in zip(*columns.values(), strict=True))]
    Path(path).write_text("\n".join(lines) + "\n")


def run(*words, code=0):
    done = testing.CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, (done.output, done.exception)
    return " ".join(done.output.split())


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in: fold/a.csv and fold/b.csv, one.csv, n.npy with its labels, and a model m."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUCLID_DEBUG", "1")
    for k, name in enumerate(("fold/a.csv", "fold/b.csv", "one.csv")):
        write_csv(name, rows(60, k))
    X = np.column_stack([rows(60)["a"], rows(60)["b"]])
    np.save("n.npy", X)
    np.save("n.y.npy", rows(60)["y"])
    np.savez("z.npz", X=X)
    np.save("z.y.npy", rows(60)["y"])
    run("fit", "one.csv", "--target", "y", "--method", "LeastSquaresAUC", "--model", "m")
    return tmp_path


# --- outputs that are inputs -----------------------------------------------------------------------

FIT = ("--target", "y", "--method", "LeastSquaresAUC")
CARD = ("--target", "y", "--method", "Scorecard")
QUICK = ("--target", "y", "--methods", "LeastSquaresAUC", "--against", "ridge")

OVERWRITES = {
    "predict into its folder": ["predict", "m", "fold", "--output", "fold/b.csv"],
    "predict beside what it reads": ["predict", "m", "fold", "--output", "fold/scores.csv"],
    "predict into its glob": ["predict", "m", "fold/*.csv", "--output", "fold/a.csv"],
    "predict where its glob will find it": ["predict", "m", "fold/*.csv", "--output", "fold/new.csv"],
    "predict where a deep glob will find it": ["predict", "m", "**/*.csv", "--output", "fold/new.csv"],
    "predict over the model": ["predict", "m", "one.csv", "--output", "m"],
    "fit over a file of its folder": ["fit", "fold", *FIT, "--model", "fold/a.csv"],
    "fit over its labels": ["fit", "n.npy", "--method", "LeastSquaresAUC", "--model", "n.y.npy"],
    "fit over labels of an npz": ["fit", "z.npz", "--method", "LeastSquaresAUC", "--model", "z.y.npy"],
    "compare over a file of its folder": ["compare", "fold", *QUICK, "--output", "fold/a.html"],
    "points over the data": ["fit", "z.points.csv", *CARD, "--model", "z.auclid"],
    "the page over the model": ["fit", "one.csv", *CARD, "--model", "m.html"],
    "the page over a report": ["fit", "one.csv", *CARD, "--model", "report.auclid"],
    "the checkpoint over the model": ["fit", "one.csv", *FIT, "--model", "new", "--checkpoint", "new"],
    "the checkpoint over the data": ["fit", "one.csv", *FIT, "--model", "new", "--checkpoint", "./one.csv"],
    "the checkpoint over the page": [
        "fit", "one.csv", *CARD, "--model", "new.auclid", "--checkpoint", "new.html",
    ],
    "a picture over the data": ["evaluate", "m", "picture.svg", "--target", "y", "--plot", "picture.svg"],
}  # fmt: skip


@pytest.mark.parametrize("case", OVERWRITES)
def test_nothing_that_is_read_or_written_is_replaced(here, case):
    write_csv("z.points.csv", rows(60))
    write_csv("picture.svg", rows(60))
    Path("report.html").write_text("a report")
    (here / "fold" / "a.html").symlink_to("a.csv")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    run(*OVERWRITES[case], code=2)
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_other_files_are_written(here):
    run("fit", "fold", *FIT, "--model", "fold/model.auclid")
    (here / "fold" / "out").mkdir()
    run("predict", "m", "fold/*.csv", "--output", "fold/out/scores.csv")
    run("fit", "one.csv", *CARD, "--model", "card.auclid")
    run("fit", "one.csv", *CARD, "--model", "card.auclid")  # its own page and points may be replaced
    assert Path("card.html").exists() and Path("card.points.csv").exists()


@posix
def test_links_are_followed(here):
    Path("link.csv").symlink_to("one.csv")
    Path("door").symlink_to("fold")
    pairs = ("one.csv", "link.csv"), ("link.csv", "one.csv"), ("fold", "door/a.csv"), ("door", "fold/a.csv")
    for source, output in pairs:
        with pytest.raises(DataError, match="another file than those that are read"):
            check_paths({"DATA": Path(source)}, {"--output": Path(output)})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "one.csv", *FIT, "--checkpoint", "no/folder/x"], "--checkpoint must be in a folder that exists"),
        (["predict", "m", "one.csv", "--output", "scores.xls"], "--output must end in .csv, .parquet, .pq or .xlsx"),
        (["compare", "one.csv", *QUICK, "--output", "report.pdf"], "--output must end in .html or .htm"),
        (["evaluate", "m", "one.csv", "--target", "y", "--plot", "a.bmp"], "--plot must end in .png, .svg or .pdf"),
        (
            ["fit", "one.csv", *FIT, "--model", "new", "--checkpoint", "c", "--scheduler", "tcp://127.0.0.1:1"],
            "--checkpoint must be used without --scheduler",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_before_work(here, monkeypatch, words, said):
    monkeypatch.setattr("auclid.cli.comparing.open_task", None)
    monkeypatch.setattr("auclid.cli.fitting.open_task", None)
    monkeypatch.setattr("auclid.cli.saved.load", None)
    before = sorted(here.rglob("*"))
    assert said in run(*words, code=2)
    assert sorted(here.rglob("*")) == before


def test_endings_are_read_whatever_their_case(here):
    check_ending("--output", Path("S.CSV"), (".csv", ".parquet"))
    check_ending("--output", Path("scores"), (".csv", ".parquet"))
    for more in ([], ["--memory", "1GB"]):
        run("predict", "m", "one.csv", "--output", "S.PARQUET", *more)
        assert parquet.read_table("S.PARQUET").num_rows == 60


# --- identifiers and formulas ----------------------------------------------------------------------

ODD = ["NA", "null", "None", "nan", "?", "", "N/A", "NaN", "-nan", "NULL", "#N/A", "007", " x ", "1e5", "true"]


@pytest.mark.parametrize("how", [[], ["--memory", "1GB"]], ids=["memory", "blocks"])
def test_identifiers_are_copied_as_they_came(here, how):
    columns = rows(60)
    write_csv("ids.csv", {"key": [ODD[k % len(ODD)] for k in range(60)], **columns})
    run("predict", "m", "ids.csv", "--id", "key", "--output", "s.csv", *how)
    run("predict", "m", "ids.csv", "--id", "key", "--output", "s.parquet", *how)
    found = [line.split(",")[0] for line in Path("s.csv").read_text().splitlines()[1:]]
    assert found == parquet.read_table("s.parquet")["key"].to_pylist() == [ODD[k % len(ODD)] for k in range(60)]


def test_texts_that_spreadsheets_would_run_are_marked(here):
    keys = ["=1+1", "+41 79", "-2+3", "@sum", "-5", "+1.5e3", "plain", "-1_0"]
    write_csv("ids.csv", {"key": [keys[k % 8] for k in range(60)], **rows(60)})
    run("predict", "m", "ids.csv", "--id", "key", "--output", "s.csv")
    found = [line.split(",")[0] for line in Path("s.csv").read_text().splitlines()[1:9]]
    assert found == ["'=1+1", "'+41 79", "'-2+3", "'@sum", "-5", "+1.5e3", "plain", "'-1_0"]
    assert (cell(-5), cell(-0.5), cell(None), cell('=A1,"b"')) == ("-5", "-0.5", "", '"\'=A1,""b"""')
    columns = rows(60)
    text = np.where(columns["y"] == 1, "=cmd", "+other")
    write_csv("card.csv", {"=kind": text, "b": columns["b"], "y": columns["y"]})
    run("fit", "card.csv", *CARD, "--model", "card.auclid")
    lines = Path("card.points.csv").read_text().splitlines()
    assert any(line.startswith(("'=kind,'=cmd,", "'=kind,\"'=cmd,")) for line in lines)
    assert not [line for line in lines if line.startswith(("=", "+", "@"))]


# --- any terminal ----------------------------------------------------------------------------------


def in_a_process(words, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONUTF8", None)
    command = [sys.executable, "-m", "auclid.cli", *words]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_this_process(words, encoding):
    with pytest.MonkeyPatch.context() as patch, io.BytesIO() as said:
        patch.setattr(sys, "argv", ["auclid", *words])
        patch.setattr(sys, "stdout", io.TextIOWrapper(said, encoding=encoding))
        with pytest.raises(SystemExit) as end:
            main()
        sys.stdout.flush()
        assert end.value.code == 0
        return said.getvalue()


@pytest.mark.parametrize(
    ("encoding", "output_of"),
    [("ascii", in_a_process), ("cp1252", in_this_process), ("latin-1", in_this_process), ("utf-8", in_this_process)],
)
def test_compare_keeps_its_report_whatever_the_terminal_can_show(here, encoding, output_of):
    write_csv("Zürich−1.csv", rows(90))
    said = output_of(["compare", "Zürich−1.csv", *QUICK], encoding).decode(encoding)
    assert "Does optimising AUC pay" in said and "95 % interval" in said
    assert ("rich−1.csv" if encoding == "utf-8" else "rich-1.csv") in said
    assert "Zürich−1.csv" in Path("report.html").read_text("utf-8")


def test_the_report_is_there_before_anything_is_said_of_it(here, monkeypatch):
    def broken(result):
        raise OSError("no terminal")

    monkeypatch.setattr("auclid.cli.comparing._tell_comparison", broken)
    assert "no terminal" in run("compare", "one.csv", *QUICK, code=2)
    assert Path("report.html").read_text().startswith("<!doctype html>")


# --- checkpoints -----------------------------------------------------------------------------------

STREAM = ("--target", "y", "--method", "SPAM-L2", "--checkpoint", "c")


def weights(path):
    return auclid.load(path).ranker_[-1].coef_.tobytes()


def stopped(monkeypatch, *words, after=1):
    """Run a fit that is interrupted after so many checkpoints."""
    write, left = checkpoint.Checkpoint.write, [after]

    def killed(self, model, count):
        write(self, model, count)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint.Checkpoint, "write", killed)
        testing.CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("every", [25, 7, 40, 1000])
def test_another_every_learns_no_row_twice(here, monkeypatch, every):
    """Batches of other sizes are other batches only where they are cut: the rows and their order are the same."""
    met = []
    learn = auclid.SPAM.partial_fit

    def noted(self, X, y, **more):
        met.extend(np.asarray(y).tolist())
        return learn(self, X, y, **more)

    stopped(monkeypatch, "fit", "fold", *STREAM, "--model", "x", "--every", "25", after=2)
    assert not Path("x").exists()
    monkeypatch.setattr(auclid.SPAM, "partial_fit", noted)
    said = run("fit", "fold", *STREAM, "--model", "x", "--every", every)
    assert "resuming at row 50" in said
    y = [*rows(60, 0)["y"], *rows(60, 1)["y"]]
    assert met == y[50:]


def test_the_same_every_gives_the_same_bits(here, monkeypatch):
    run("fit", "fold", *STREAM[:-1], "whole", "--model", "whole.auclid", "--every", "25")
    stopped(monkeypatch, "fit", "fold", *STREAM, "--model", "x", "--every", "25", after=3)
    run("fit", "fold", *STREAM, "--model", "x", "--every", "25")
    assert weights("x") == weights("whole.auclid")
    said = run("fit", "fold", *STREAM, "--model", "x", "--every", "25")
    assert "resuming at row 120" in said and weights("x") == weights("whole.auclid")


def relabelled(here):
    path = here / "fold" / "a.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *(line[:-1] + str(1 - int(line[-1])) for line in lines[1:])]) + "\n")


CHANGES = {
    "labels of equal size": (relabelled, [], "has other content than it had"),
    "a file in front": (lambda here: write_csv("fold/0.csv", rows(60, 9)), [], "is number 1"),
    "a file that is gone": (lambda here: (here / "fold" / "b.csv").unlink(), [], "is number 2"),
    "a file that grew": (lambda here: write_csv("fold/b.csv", rows(80, 9)), [], "b.csv' has changed: it had"),
    "a file that shrank": (lambda here: write_csv("fold/b.csv", rows(20, 1)), [], "has changed: it had"),
    "an earlier file that grew": (lambda here: append_csv("fold/a.csv", rows(5, 9)), [], "has changed: it had"),
    "another method": (None, ["--method", "SOLAM"], "written for another --method"),
    "another seed": (None, ["--seed", "3"], "written for another --seed"),
    "another column less": (None, ["--drop", "b"], "written for another --drop"),
    "another positive label": (None, ["--positive", "0"], "written for other labels, or another --positive"),
    "a model": (lambda here: (here / "c").write_bytes((here / "m").read_bytes()), [], "it holds no checkpoint"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_checkpoint_of_other_data_or_settings_is_refused(here, monkeypatch, case):
    change, more, said = CHANGES[case]
    stopped(monkeypatch, "fit", "fold", *STREAM, "--model", "x", "--every", "50", after=2)
    if change is not None:
        change(here)
    before = Path("c").read_bytes()
    told = run("fit", "fold", *STREAM, "--model", "x", "--every", "50", *more, code=2)
    assert "--checkpoint must be a file that the same command wrote for the same data" in told and said in told
    assert not Path("x").exists() and Path("c").read_bytes() == before


def test_columns_and_labels_are_compared_once_they_are_known(tmp_path):
    path = tmp_path / "c"
    first = checkpoint.Checkpoint(path, 10)
    first.agree(columns=[["a", "number"]], classes=["0", "1"])
    first.identity["files"] = []
    first.write(auclid.SPAM().fit(np.eye(4), [0, 1, 0, 1]), 10)
    again = checkpoint.Checkpoint(path, 20)
    again.agree(columns=[["a", "number"]], classes=["0", "1"])
    assert again.resumed()[1] == 10
    for facts, said in (({"columns": [["a", "string"]]}, "other columns"), ({"classes": ["1", "0"]}, "other labels")):
        with pytest.raises(DataError, match=f"written for {said}"):
            again.agree(**facts)


def test_files_that_come_after_the_others_are_learnt_too(here):
    run("fit", "fold", *STREAM, "--model", "x", "--every", "50")
    write_csv("fold/c.csv", rows(60, 9))
    assert "resuming at row 120" in run("fit", "fold", *STREAM, "--model", "y", "--every", "50")
    assert weights("x") != weights("y")


def append_csv(path, table):
    """Write the rows of a table below those of a file."""
    write_csv("appended.csv", table)
    with open(path, "a") as file:
        file.write("".join(Path("appended.csv").read_text().splitlines(keepends=True)[1:]))


def test_lines_below_the_others_of_the_last_file_are_learnt_too(here):
    run("fit", "fold", *STREAM, "--model", "x", "--every", "50")
    append_csv("fold/b.csv", rows(60, 9))
    assert "resuming at row 120" in run("fit", "fold", *STREAM, "--model", "y", "--every", "50")
    assert about("c")["rows"] == 180
    assert weights("x") != weights("y")


def test_a_last_line_that_was_not_whole_is_not_taken_for_one(here):
    path = Path("fold/b.csv")
    path.write_text(path.read_text().rstrip("\n"))
    run("fit", "fold", *STREAM, "--model", "x", "--every", "50")
    append_csv("fold/b.csv", rows(5, 9))
    assert "has changed" in run("fit", "fold", *STREAM, "--model", "x", "--every", "50", code=2)


def test_labels_beside_an_array_belong_to_the_data(here):
    words = ("fit", "n.npy", "--method", "SPAM-L2", "--checkpoint", "c", "--model", "x")
    run(*words)
    np.save("n.y.npy", 1 - np.load("n.y.npy"))
    assert "has other content" in run(*words, code=2)


@pytest.mark.parametrize(
    "told",
    [{"rows": -1, "files": []}, {"rows": "x", "files": []}, {"rows": 5, "files": [["a", 1]]}, {"rows": 5}, 3],
    ids=str,
)
def test_odd_checkpoints_are_refused(here, told):
    auclid.save("c", auclid.load("m"), about=told)
    assert "it holds no checkpoint" in run("fit", "fold", *STREAM, "--model", "x", code=2)


# --- which label is positive -----------------------------------------------------------------------


@pytest.mark.parametrize("how", [[], ["--memory", "1GB"]], ids=["memory", "blocks"])
@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_a_common_label_is_not_ranked_on_top_by_its_spelling(here, verb, how):
    columns = rows(90)
    write_csv("fraud.csv", {**columns, "y": np.where(columns["y"] == 1, "fraud", "legit")})
    out = {"fit": ["--model", "f", "--method", "LeastSquaresAUC"], "compare": QUICK[2:]}[verb]
    before = sorted(here.rglob("*"))
    told = run(verb, "fraud.csv", "--target", "y", *out, *how, code=2)
    assert "--positive must say which label to rank on top: 'fraud', or 'legit', which 60 of 90 rows have." in told
    assert "--positive fraud or --positive legit" in told and sorted(here.rglob("*")) == before
    for label in ("fraud", "legit"):
        assert f"(label {label})" in run(verb, "fraud.csv", "--target", "y", "--positive", label, *out, *how)


def test_numbers_and_rare_words_need_no_question(here):
    columns = rows(90)
    for name, pair in (("numbers", (0, 1)), ("words", ("yes", "no"))):
        write_csv(f"{name}.csv", {**columns, "y": np.where(columns["y"] == 1, *pair)})
        assert f"(label {max(pair)})" in run("fit", f"{name}.csv", *FIT, "--model", name)


# --- quick answers ---------------------------------------------------------------------------------

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pyarrow", "pandas")


@pytest.mark.parametrize(
    ("words", "code"),
    [(["methods"], 0), (["--help"], 0), (["fit", "--help"], 0), (["fit", "--nope"], 2), (["--version"], 0)],
)
def test_lists_and_mistyped_options_import_nothing_heavy(words, code):
    program = (
        "import sys\nfrom auclid.cli import main\nsys.argv = ['auclid', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    code = end.code or 0\n"
        f"print([code, *(name for name in {HEAVY} if name in sys.modules)], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=60)
    assert done.stderr.strip().splitlines()[-1] == f"[{code}]"
