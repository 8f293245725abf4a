"""Packages import only from packages above them, and modules never in a circle.

ORDER is the layout of the package from the ground up: a new package takes its place in it, a new module of a package
needs none. What imports by other means than a statement (`import_module`, `__import__`, `sys.modules`,
`resources.files`) is seen where the name is written out, and refused where it is not, but for those who are EXCUSED.
"""

import ast
import re
import runpy
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent
SOURCE, IMAGES = ROOT / "src" / "auclid", ROOT / "docs" / "images"

ORDER = """
_version _sizes _hints _rounding errors _sparse _threads _compilation _generic _random _page
data _progress losses penalties schedules stats validation columns metrics solvers plot pairs objectives
base square pairwise online ordered kernels semi additive boost torch
registry warm baselines trees auto streams calibrated comparison exporters monitoring reports
datasets io cli __main__
""".split()

COMMAND = {"cli"}
"""Packages whose `__init__` holds code that their modules use."""

EXCUSED = {"io._names"}
"""Imports the classes that a model file names, all from tables of its own."""

DEFERRED = {("metrics._curve", "plot"), ("registry", "")}
"""Imports against the order, inside a function: `ROC.plot` draws with what is made of metrics; the registry finds
estimators by their public names."""

BY_NAME = {"import_module", "__import__", "find_spec", "files", "resolve_name", "run_module"}
"""Functions that import the module whose name they are given."""


def modules(root: Path) -> dict[str, Path]:
    """Dotted name below the root package, to file; a package goes by its own name, the root by ''."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path], package: str = "auclid"):
    """Yield (line, module) for each import, at any depth of the file, of a module of the package."""
    here = [package, *name.split(".")] if name else [package]
    if path.name != "__init__.py":
        here = here[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            targets = [f"{base}.{alias.name}" for alias in node.names]
        else:
            targets = [name for name in named_imports(node, ".".join(here)) if name is not None]
        for target in targets:
            if target.split(".")[0] != package:
                continue
            below = ".".join(target.split(".")[1:])
            yield node.lineno, below if below in known else below.rpartition(".")[0]


def named_imports(node: ast.AST, package: str):
    """Yield the modules that a node reaches by their names; None where the name is not written out."""
    if isinstance(node, ast.Call) and node.args:
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if function in BY_NAME:
            yield _written(node.args[0], package)
    if isinstance(node, ast.Subscript) and _is_modules(node.value):
        yield _written(node.slice, package)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_modules(node.func.value):
        yield _written(node.args[0], package) if node.args else None


def _is_modules(node: ast.AST) -> bool:
    """Whether it is `sys.modules`."""
    return isinstance(node, ast.Attribute) and node.attr == "modules" and getattr(node.value, "id", "") == "sys"


def _written(node: ast.AST, package: str) -> str | None:
    if isinstance(node, ast.Name) and node.id == "__name__":
        return package
    if not isinstance(node, ast.Constant):
        return None
    name = str(node.value)
    return f"{package}.{name.lstrip('.')}" if name.startswith(".") else name


def hidden(path: Path) -> list[int]:
    """The lines on which a file imports something whose name is not written out."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node.lineno for node in nodes if None in list(named_imports(node, ""))]


def breaches(root: Path) -> list[str]:
    """A sentence for each import of a package that is not above, and for each package without a place."""
    known, wrong = modules(root), []
    for name, path in known.items():
        if path.name == "__init__.py":
            continue
        top = name.split(".")[0]
        if top not in ORDER:
            wrong.append(f"{name} has no place in ORDER")
            continue
        if name not in EXCUSED:
            wrong += [f"{name}:{line} imports something whose name cannot be read" for line in hidden(path)]
        for line, target in imports(name, path, known):
            package = target.split(".")[0]
            inside = (package == top and (target != top or top in COMMAND)) or (name, target) in DEFERRED
            if not inside and (package not in ORDER or ORDER.index(package) >= ORDER.index(top)):
                wrong.append(f"{name}:{line} imports {target or 'the package itself'}, which is not above it")
    return wrong


def circle(root: Path) -> list[str]:
    """The modules of a circle of imports, or an empty list; `__init__` files, which re-export, do not count."""
    known = modules(root)
    graph = {
        name: {target for _, target in imports(name, path, known) if known.get(target, path).name != "__init__.py"}
        for name, path in known.items()
        if path.name != "__init__.py"
    }
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return error.args[1]
    return []


def test_packages_import_only_from_above():
    assert breaches(SOURCE) == []


def test_no_modules_import_one_another_in_a_circle():
    assert circle(SOURCE) == []


def test_a_circle_is_seen(tmp_path):
    for name, text in (("__init__", ""), ("a", "from pkg import b"), ("b", "from auclid import c"), ("c", "")):
        (tmp_path / f"{name}.py").write_text(text.replace("pkg", "auclid"))
    assert circle(tmp_path) == []
    (tmp_path / "c.py").write_text("def f():\n    from auclid import a")
    assert set(circle(tmp_path)) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("losses.py", "from auclid._random import x", []),
        ("losses.py", "from . import _random", []),
        ("losses.py", "import numpy.moments", []),
        ("square/spam.py", "from ..metrics import roc_auc\nfrom .least_squares import y", []),
        ("square/__init__.py", "from auclid.registry import z", []),
        ("cli/fit.py", "from .table import z\nfrom ..io import save", []),
        ("_random.py", "from .losses import x", ["_random:1 imports losses, which is not above it"]),
        ("_random.py", "def f():\n    import auclid.losses", ["_random:2 imports losses, which is not above it"]),
        ("losses.py", "from . import pairs", ["losses:1 imports pairs, which is not above it"]),
        ("losses.py", "from auclid import x", ["losses:1 imports the package itself, which is not above it"]),
        ("metrics/_auc.py", "from . import z", ["metrics._auc:1 imports metrics, which is not above it"]),
        ("metrics/_auc.py", "from ..base import z", ["metrics._auc:1 imports base, which is not above it"]),
        ("cli/fit.py", "from ..datasets.read import z", []),
        ("io.py", "from .cli.table import z", ["io:1 imports cli.table, which is not above it"]),
        ("datasets/read.py", "from ..io import z", ["datasets.read:1 imports io, which is not above it"]),
        ("stray.py", "", ["stray has no place in ORDER"]),
        ("losses.py", "sys.modules['auclid'].x", ["losses:1 imports the package itself, which is not above it"]),
        ("losses.py", "sys.modules.get('auclid.base')", ["losses:1 imports base, which is not above it"]),
        ("losses.py", "import_module('auclid.base')", ["losses:1 imports base, which is not above it"]),
        ("losses.py", "importlib.import_module('.base', 'auclid')", ["losses:1 imports base, which is not above it"]),
        ("losses.py", "x = __import__('auclid.base')", ["losses:1 imports base, which is not above it"]),
        ("losses.py", "resources.files('auclid.metrics')", ["losses:1 imports metrics, which is not above it"]),
        ("losses.py", "import_module(name)", ["losses:1 imports something whose name cannot be read"]),
        ("losses.py", "import_module('lightgbm')", []),
        ("io/_names.py", "import_module(name)", []),
        ("cli/fit.py", "resources.files('auclid.metrics')", []),
    ],
)
def test_the_check_sees_what_it_should(tmp_path, file, text, said):
    root = tmp_path / "auclid"
    for name in ("__init__", "_random", "losses", "pairs", "base", "io", "registry"):
        (root / f"{name}.py").parent.mkdir(exist_ok=True)
        (root / f"{name}.py").touch()
    for name in ("metrics/__init__", "square/__init__", "square/least_squares", "cli/table", "datasets/read"):
        (root / f"{name}.py").parent.mkdir(exist_ok=True)
        (root / f"{name}.py").touch()
    (root / file).parent.mkdir(exist_ok=True)
    (root / file).write_text(text)
    assert breaches(root) == said


def test_the_command_fits_a_users_model_without_the_runner_of_the_papers():
    code = "import sys, auclid.cli._app; print([name for name in sys.modules if name.startswith('auclid_papers')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_library_does_not_speak_of_the_commands_options():
    options = re.compile(r"[\s('\"]--[a-z]")
    for name, path in modules(SOURCE).items():
        if name.split(".")[0] == "cli":
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert not options.search(" " + node.value), f"{name}:{node.lineno} speaks of an option"


WHERE_ROWS_ARE = re.compile(r"\b(isinstance\([^()]*\b(Rows|FileDataset|DaskDataset)\b|is_dask\b)")


def test_only_data_and_validation_ask_where_rows_are():
    for name, path in modules(SOURCE).items():
        if name.split(".")[0] not in ("data", "validation"):
            found = WHERE_ROWS_ARE.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{name} asks where rows are: {found[0]}"


# --- the picture of the layout in docs/architecture.md ------------------------------------------------


@pytest.fixture
def picture():
    return runpy.run_path(str(IMAGES / "make_layout.py"))


def test_the_picture_is_the_one_of_today(picture):
    kept = (IMAGES / "layout.svg").read_text(encoding="utf-8")
    assert kept == picture["drawing"](), "run `python docs/images/make_layout.py`"


def test_the_picture_shows_every_part_of_the_package_once(picture):
    nodes = ElementTree.fromstring(picture["drawing"]()).iter()
    decode = [node.text for node in nodes if node.get("class") == "name"]
    assert sorted(decode) == sorted({name.split(".")[0] for name in modules(SOURCE) if name and name[0] != "_"})


def test_a_package_without_words_is_named(picture, monkeypatch):
    monkeypatch.setitem(picture["drawing"].__globals__, "order", lambda: ["data", "brandnew"])
    with pytest.raises(ValueError, match="brandnew must have words and a stage"):
        picture["drawing"]()
