"""What the documentation shows is true: its code runs, prints what it says, and names everything.

tools/pages.py says how a page is run. Shell lines that do not begin with ``auclid`` are in NOT_RUN.
"""

import ast
import importlib.util
import inspect
import re
import runpy
import shlex
from pathlib import Path

import pytest

import auclid

ROOT = Path(__file__).parent.parent
DOCS, EXAMPLES = ROOT / "docs", sorted((ROOT / "examples").glob("*.py"))
SHOWN = {DOCS, DOCS / "tutorials", DOCS / "reference"}
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if path.parent in SHOWN)]

NOT_RUN = {
    "make demo": "installs; it is `auclid compare`, which is run",
    "make test": "would run this test",
    "pip install '.[cli,plot,io]'": "installs",
    "pip install '.[cli,plot,io]' pandas lightgbm": "installs",
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

PAGE_TOOLS = runpy.run_path(str(ROOT / "tools" / "pages.py"))
blocks, commands, check_printed, run_page, run_in_shell = (
    PAGE_TOOLS[name] for name in ("blocks", "commands", "check_printed", "run_page", "run_in_shell")
)


def marked(path):
    return pytest.param(path, id=path.stem, marks=NEEDS.get(path.stem, []))


def invoke(line, *more):
    """What an `auclid` line prints in this process, which has imported everything. Exit code 3 is an alarm."""
    runner, app = pytest.importorskip("typer.testing").CliRunner(), importlib.import_module("auclid.cli._app").app
    done = runner.invoke(app, [*shlex.split(line)[1:], *more])
    assert done.exit_code in (0, 3), f"{line}\n{done.output}"
    return done.output


def run_command(line):
    """An `auclid` line whose output is not shown; comparisons end after one split, for want of time."""
    invoke(line, *(["--budget", "1"] if line.startswith("auclid compare") else []))


def run_shown(line):
    """A line of a console block: by bash if more than one command is in it."""
    return run_in_shell(line) if set(line) & set("|;>") or not line.startswith("auclid ") else invoke(line)


@pytest.mark.parametrize("path", [marked(path) for path in PAGES if blocks(path)])
def test_the_code_of_a_page_runs_and_prints_what_it_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    seed_files(path, tmp_path)
    run_page(path, run_command, NOT_RUN, run_shown=run_shown)


def seed_files(path, folder):
    """The files that the shell lines of a page speak of, where its own code does not write them."""
    if "table.csv" in path.read_text(encoding="utf-8") and path.stem != "command":
        X, y = auclid.datasets.load_mammography(return_X_y=True)
        kept = [*range(0, len(y), 40), *(y == 1).nonzero()[0][:40]]
        lines = [",".join(map(str, [*X[k], y[k]])) for k in kept]
        for name in ("table", "new", "test"):
            (folder / f"{name}.csv").write_text("\n".join(["a,b,c,d,e,f,y", *lines]) + "\n", encoding="utf-8")


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path)], ids=lambda path: path.stem)
def test_a_page_shows_numbers_and_not_that_they_compare(path):
    """`print(auc > 0.8)` and `assert auc > 0.8` serve a test, not a reader."""
    shown = [line for kind, text, _ in blocks(path) if kind in ("text", "console") for line in text.splitlines()]
    assert not [line for line in shown if re.search(r"(^(\S+ )?|: )(True|False)\b", line)]
    code = [line for kind, text, _ in blocks(path) if kind == "python" for line in text.splitlines()]
    assert not [line for line in code if line.lstrip().startswith("assert ")]


def test_every_line_that_is_not_run_is_shown_somewhere():
    decode = {line for path in PAGES for kind, text, _ in blocks(path) if kind == "sh" for line in commands(text)}
    assert set(NOT_RUN) <= decode


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("0.95\n", "0.93\n"),
        ("0.93 a\n", "0.93 b\n"),
        ("4 rows\n", "3 rows\n"),
        ("12 %\n", "9 %\n"),
        ("0.93 0.95\n", "0.93\n"),
        ("", "0.93\n"),
        ("3.1e-06", "3.1e-05"),
    ],
)
def test_a_wrong_output_would_be_seen(printed, shown):
    with pytest.raises(AssertionError, match="prints"):
        check_printed(printed, shown, "here")


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("0.94\n", "0.93\n"),
        ("1,234.6", "1,230.0"),
        ("p = 3e-17, 12%", "p = ..., 11%"),
        ("a   0.10\nb", "a 0.11\nb\n"),
        ("-0.00", "0.00"),
    ],
)
def test_an_output_may_differ_by_rounding(printed, shown):
    check_printed(printed, shown, "here")


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


def reference_entries():
    """The names that the pages of the reference have entries for."""
    expand = runpy.run_path(str(DOCS / "hooks" / "reference.py"))["expand"]
    pages = "\n".join(expand(path.read_text(encoding="utf-8")) for path in sorted((DOCS / "reference").glob("*.md")))
    return re.findall(r"^(?:#+ )?::: (\S+)$", pages, flags=re.M)


def test_the_reference_has_every_public_name_once():
    entries = reference_entries()
    assert len(entries) == len(set(entries))
    assert set(public_names()) - set(entries) == set()


def test_no_module_has_the_name_of_what_it_holds():
    """The reference would show the module in its place."""
    names = {name for name in public_names() if name.count(".") > 1}
    paths = {".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in (ROOT / "src").rglob("*.py")}
    assert names & paths == set()


def test_the_default_of_a_choice_stands_first():
    """The reference takes the first of the values in braces for the default, as numpydoc does."""
    choice = re.compile(r'^ +\w+ : \{([^},]+)[^}]*\}.*default=(.+)$', flags=re.M)
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    found = [match.groups() for source in sources for match in choice.finditer(source)]
    assert len(found) > 3 and [pair for pair in found if pair[0] != pair[1]] == []


def imported_names(code):
    """The names of auclid that a piece of code imports from its modules."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    own = [node for node in nodes if (node.module or "").partition(".")[0] == "auclid"]
    return {f"{node.module}.{alias.name}" for node in own for alias in node.names}


def test_every_name_that_a_page_or_an_example_imports_is_in_the_reference():
    codes = [text for path in PAGES for kind, text, _ in blocks(path) if kind == "python"]
    codes += [path.read_text(encoding="utf-8") for path in EXAMPLES]
    used = set().union(*map(imported_names, codes))
    modules = {f"auclid.{name}" for name in (*auclid.PUBLIC_MODULES, "torch")} | {"auclid.torch.metrics"}
    assert {"auclid.losses.slope", "auclid.metrics.roc_auc"} <= used
    assert used - modules - set(reference_entries()) == set()


def called(code):
    """The public functions and classes that a piece of code calls, each with the names of its keywords."""
    space = {name: getattr(auclid, name) for name in auclid.__all__} | {"auclid": auclid}
    space |= {name: getattr(auclid.metrics, name) for name in auclid.metrics.__all__}
    space |= {"metrics": auclid.metrics, "plot": auclid.plot}
    for node in ast.walk(ast.parse(code.replace("…", "..."), mode="eval")):
        if isinstance(node, ast.Call) and "torch" not in ast.unparse(node.func):
            *path, name = ast.unparse(node.func).split(".")
            if not path and name in space:
                yield space[name], [each.arg for each in node.keywords]
            elif len(path) == 1 and path[0] in ("auclid", "metrics", "plot"):
                yield getattr(space[path[0]], name), [each.arg for each in node.keywords]


def test_calls_in_a_sentence_have_parameters_that_exist():
    """Code in a block is run; `code` in a sentence is not."""
    wrong = []
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for code in re.findall(r"`([^`]+)`", prose):
            try:
                calls = list(called(" ".join(code.split())))
            except SyntaxError:  # a line of the shell, or a formula
                continue
            for function, names in calls:
                known = inspect.signature(function).parameters.values()
                open_ended = any(each.kind is each.VAR_KEYWORD for each in known)
                if not open_ended and not set(names) <= {each.name for each in known}:
                    wrong.append(f"{page.name}: {code}")
    assert wrong == []


def test_signatures_of_the_reference_show_no_types():
    """The parameters have words of their own for their types; annotations name internal classes."""
    assert "show_signature_annotations: false" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.M)
    pages = {str(path.relative_to(DOCS).as_posix()) for path in PAGES[1:]}
    assert set(listed) - {"gallery/index.md", "record/index.md"} == pages


def saved_pictures(path):
    """The pictures that the code of a page saves; `make docs` puts them beside it."""
    return re.findall(r'savefig\("([\w-]+\.png)"', path.read_text(encoding="utf-8"))


def test_a_picture_that_a_page_saves_is_shown_on_it():
    pages = [path for path in PAGES if saved_pictures(path)]
    assert len(pages) >= 5
    for path in pages:
        shown = re.findall(r"!\[(.+)\]\(([\w-]+\.png)\)", path.read_text(encoding="utf-8"))
        assert {name for _, name in shown} == set(saved_pictures(path)) and all(len(words) > 15 for words, _ in shown)


def test_links_between_pages_lead_somewhere():
    made = {f"gallery/{path.stem}.md" for path in EXAMPLES} | {"gallery/index.md"}
    for path in PAGES[1:]:
        made |= {(path.parent / name).relative_to(DOCS).as_posix() for name in saved_pictures(path)}
        prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            target = (path.parent / link).resolve()
            known = target.exists() or target.relative_to(DOCS).as_posix() in made
            assert known, f"{path.name} links to {link}"


NUMBERS = [DOCS / f"{name}.md" for name in ("quality", "speed", "coverage")]
FIGURE = re.compile(r"(?<![\d.])0?(\.\d{3,4})\b")


def prose(path):
    """A page without its code."""
    return re.sub(r"`[^`]+`", "", re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S))


def linked_numbers(path):
    """The text of the pages of numbers that a page links to, with the tables that they and the page show."""
    links = re.findall(r"\]\(([^)#:]+\.md)", path.read_text(encoding="utf-8"))
    targets = {(path.parent / link).resolve() for link in links}
    pages = [page for page in (*NUMBERS, *(DOCS / "record").glob("*.md")) if page.resolve() in targets]
    shown = "\n".join(page.read_text(encoding="utf-8") for page in (path, *pages))
    tables = [DOCS / "tables" / name for name in re.findall(r'^--8<-- "(.+)"$', shown, flags=re.M)]
    return "\n".join(each.read_text(encoding="utf-8") for each in (*pages, *tables))


def test_a_figure_that_prose_quotes_is_on_a_page_of_numbers_that_it_links_to():
    examples = {DOCS / "migrating.md", *(DOCS / "tutorials").glob("*.md")}  # their figures are results of their code
    for path in PAGES:
        if path not in NUMBERS and path not in examples:
            strange = set(FIGURE.findall(prose(path))) - set(FIGURE.findall(linked_numbers(path)))
            assert not strange, f"{path.name} quotes {strange}, which no page of numbers that it links to has"


def test_the_readme_quotes_the_means_of_the_quality_page():
    pages = ROOT / "README.md", DOCS / "quality.md"
    readme, quality = (" ".join(path.read_text(encoding="utf-8").split()) for path in pages)
    (quoted,) = re.findall(r"Mean AUC on 42 tables.*?:(.*?)\(", readme)
    (measured,) = re.findall(r"On 42 tables.*?the mean AUC is(.*?);", quality)
    figures = re.findall(r"(?<!\d)\.\d{3}\b", quoted)
    assert len(figures) == 4 and figures == re.findall(r"(?<!\d)\.\d{3}\b", measured)


def test_every_script_that_the_readme_names_exists():
    named = re.findall(r"\b((?:benchmarks|docs|examples|tools)/[\w/]+\.py)", (ROOT / "README.md").read_text("utf-8"))
    assert len(named) >= 3 and all((ROOT / name).exists() for name in named)
