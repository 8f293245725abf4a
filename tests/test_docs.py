"""What the documentation shows is true: its code runs, prints what it says, and names everything.

The blocks of a page run in order, in one namespace and one folder. A ``text`` block after a ``python`` block is what
that one prints. Lines of ``sh`` blocks are run if they speak of ``auclid``, through a shell where they have a pipe; the
others are in NOT_RUN. In a ``console`` block commands stand behind ``$``, and below each is what it prints: numbers may
differ by a tenth, and ``...`` stands for anything.
"""

import ast
import contextlib
import doctest
import importlib.util
import io
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import auclid

ROOT = Path(__file__).parent.parent
DOCS, EXAMPLES = ROOT / "docs", sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if path.parent in (DOCS, DOCS / "reference"))]

NOT_RUN = {
    "make demo": "installs; it is `auclid compare`, which is run",
    "make test": "would run this test",
    "pip install '.[cli,plot,io]'": "installs",
}
"""Shell lines that are not run, and why not."""

needs_callbacks = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="this scikit-learn has no callbacks"
)
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: `make test-torch` runs these"
)
NEEDS = {"monitoring": [needs_callbacks], "deep": [needs_torch], "deep_network": [needs_torch]}
"""Pages and examples that run where something is installed."""
MONITOR_ALARM = 3
"""The exit code of `auclid monitor` where something calls for action."""

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", flags=re.M | re.S)


def blocks(path):
    """(language, text, line) of each fenced block of a page."""
    page = path.read_text(encoding="utf-8")
    return [(m[1], m[2], page.count("\n", 0, m.start()) + 2) for m in FENCE.finditer(page)]


def marked(path):
    return pytest.param(path, id=path.stem, marks=NEEDS.get(path.stem, []))


def commands(text):
    """The lines of a shell block without comments, and without what is empty then."""
    lines = (line.split(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def run_command(line):
    """An `auclid` line, driven as a user would."""
    runner, app = pytest.importorskip("typer.testing").CliRunner(), importlib.import_module("auclid.cli._app").app
    done = runner.invoke(app, shlex.split(line)[1:])
    assert done.exit_code == 0, f"{line}\n{done.output}"


def run_in_shell(line, folder):
    """A line of a shell, in which `auclid` is that of this Python; what it prints."""
    pytest.importorskip("typer")
    shell = shutil.which("bash") or pytest.skip("there is no bash to run a pipe")
    script = f'auclid() {{ "{sys.executable}" -m auclid.cli "$@"; }}; set -o pipefail; {line}'
    done = subprocess.run([shell, "-c", script], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode in (0, MONITOR_ALARM), f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def run_console(text, folder, where):
    """The commands of a block, each compared with what stands below it."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        said = run_in_shell(command, folder)
        assert alike(expected, said), f"{where} shows\n{expected}but {command!r} prints\n{said}"


def alike(expected, said):
    """Whether a text says what is expected: the same words, numbers within a tenth; "..." stands for anything."""
    parts = [part.split() for part in expected.split("...")]
    words, place = said.split(), 0
    for number, part in enumerate(parts):
        last = len(words) - len(part)
        starts = [place] if number == 0 else [last] if number == len(parts) - 1 else range(place, last + 1)
        if number == 0 and len(parts) == 1 and len(part) != len(words):
            return False
        found = next((at for at in starts if place <= at <= last and all(map(same_word, part, words[at:]))), None)
        if found is None:
            return False
        place = found + len(part)
    return True


def same_word(expected, said):
    """Whether two words are the same, or numbers that differ by a tenth or by .01 at the most."""
    if expected == said:
        return True
    stripped = [re.fullmatch(r"([^\d+−-]*)([+−-]?[\d,]*\.?\d+(?:e-?\d+)?)(\D*)", word) for word in (expected, said)]
    if None in stripped or stripped[0].group(1, 3) != stripped[1].group(1, 3):
        return False
    a, b = (float(match[2].replace(",", "").replace("−", "-")) for match in stripped)
    return abs(a - b) <= max(0.01, 0.1 * abs(a))


def test_what_is_alike():
    assert alike("AUC 0.91, 95 % interval ... rows", "AUC 0.90, 95 % interval 0.8 to 0.9\n30 rows\n")
    assert alike("...\nPage: x.html", "One.\nTwo.\nPage: x.html") and alike("a 1,000", "a 1,050")
    for expected, said in (("AUC 0.91", "AUC 0.71"), ("a b", "a b c"), ("a ... c", "a b"), ("1 row", "1 rows")):
        assert not alike(expected, said), (expected, said)


def check_printed(said, expected, where):
    same = doctest.OutputChecker().check_output(expected, said, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert same, f"{where} shows\n{expected}but its code prints\n{said}"


@pytest.mark.parametrize("path", [marked(path) for path in PAGES if blocks(path)])
def test_the_code_of_a_page_runs_and_prints_what_it_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seed_files(path, tmp_path)
    names, said = {"__name__": "page"}, ""
    for language, text, line in blocks(path):
        where = f"{path.name}:{line}"
        if language == "python":
            code = compile("\n" * (line - 1) + text, str(path), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(code, names)
            said = printed.getvalue()
        elif language == "text":
            check_printed(said, text, where)
        elif language == "sh":
            for command in commands(text):
                if "|" in command:
                    run_in_shell(command, tmp_path)
                elif command.startswith("auclid"):
                    run_command(command)
                else:
                    assert command in NOT_RUN, f"{where} shows {command!r}, which no test runs"
        elif language == "console":
            run_console(text, tmp_path, where)
        else:
            raise AssertionError(f"{where}: a block is python, text, sh or console, not {language!r}")


def seed_files(path, folder):
    """The files that the shell lines of a page speak of, where its own code does not write them."""
    if "table.csv" in path.read_text(encoding="utf-8") and path.stem != "command":
        X, y = auclid.datasets.load_mammography(return_X_y=True)
        kept = [*range(0, len(y), 40), *(y == 1).nonzero()[0][:40]]
        lines = [",".join(map(str, [*X[k], y[k]])) for k in kept]
        for name in ("table", "new", "test"):
            (folder / f"{name}.csv").write_text("\n".join(["a,b,c,d,e,f,y", *lines]) + "\n", encoding="utf-8")


def test_every_line_that_is_not_run_is_shown_somewhere():
    decode = {line for path in PAGES for kind, text, _ in blocks(path) if kind == "sh" for line in commands(text)}
    assert set(NOT_RUN) <= decode


def test_a_wrong_output_would_be_seen():
    with pytest.raises(AssertionError, match="prints"):
        check_printed("0.93\n", "0.94\n", "here")


@pytest.mark.parametrize(
    "path",
    [marked(path) for path in EXAMPLES],
)
def test_an_example_runs_and_leaves_its_picture(path, tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    matplotlib.pyplot.close("all")
    assert [left.name for left in tmp_path.iterdir()] == [f"{path.stem}.png"]
    assert (tmp_path / f"{path.stem}.png").stat().st_size > 5_000
    assert capsys.readouterr().out  # the gallery shows it


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_a_text(path):
    title, _, text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).partition("\n\n")
    assert 10 < len(title) < 90 and "\n" not in title and len(text) > 100


def test_the_gallery_has_at_least_eight_examples():
    assert len(EXAMPLES) >= 8


MODULES = {
    "metrics": auclid.metrics.__all__,
    "monitoring": auclid.monitoring.__all__,
    "plot": auclid.plot.__all__,
    "datasets": auclid.datasets.__all__,
    "pairs": ["value", "gradient", "curvature_product"],
    "objectives": auclid.objectives.__all__,
}
"""The public modules, and what they hold."""


def public_names():
    """Everything a user may import."""
    for name in auclid.__all__:
        yield from (f"auclid.{name}.{own}" for own in MODULES[name]) if name in MODULES else [f"auclid.{name}"]
    yield from (f"auclid.torch.{name}" for name in torch_names() if name != "metrics")


def torch_names():
    """The names of `auclid.torch`, which need not be importable here."""
    tree = ast.parse((ROOT / "src" / "auclid" / "torch" / "__init__.py").read_text(encoding="utf-8"))
    (names,) = [node.value for node in tree.body if isinstance(node, ast.Assign)]
    return ast.literal_eval(names)


def test_the_reference_has_every_public_name_once():
    expand = runpy.run_path(str(DOCS / "hooks" / "reference.py"))["expand"]
    pages = "\n".join(expand(path.read_text(encoding="utf-8")) for path in sorted((DOCS / "reference").glob("*.md")))
    entries = re.findall(r"^::: (\S+)$", pages, flags=re.M)
    assert len(entries) == len(set(entries))
    assert set(public_names()) - set(entries) == set()


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.M)
    pages = {str(path.relative_to(DOCS).as_posix()) for path in PAGES[1:]}
    assert set(listed) - {"gallery/index.md"} == pages


def test_links_between_pages_lead_somewhere():
    made = {f"gallery/{path.stem}.md" for path in EXAMPLES} | {"gallery/index.md"}
    for path in PAGES[1:]:
        prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            target = (path.parent / link).resolve()
            known = target.exists() or target.relative_to(DOCS).as_posix() in made
            assert known, f"{path.name} links to {link}"
