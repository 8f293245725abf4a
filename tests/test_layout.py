"""A module imports only from modules listed above it; `__init__` files may import anything.

ORDER is the layout of the package from the ground up. A new module takes its place in it. An import
of a package (`from auclid.metrics import roc_auc`) counts as an import of the last module in it.
"""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "auclid"

ORDER = """
_version _generic
rows.structs rows.blocks rows.sizes rows.table rows.memory rows.stacked rows.embedded
_random _check _kinds _progress
losses penalties schedules stats.moments stats.means pairs stats.buffers
metrics._labels metrics._cells metrics._places metrics._roc metrics._sample metrics._auc
metrics._placements metrics._variance metrics._bootstrap metrics._interval metrics._compare
metrics._operating_point metrics._streaming
base
solvers.closed_form
square.least_squares square.least_squares_cv
square.spam square.solam square.fsauc square.opauc square.adaoam
pairwise.sam pairwise._newton pairwise._goals pairwise.rank_svm pairwise.kernel_rank_svm
online._buffered online._gaussian online.oam online.cbr online.uni_exp
maps._kernel_block maps._map maps.random_fourier maps.kmeans_nystroem maps.kernelized
semi._labels semi._sample semi._prior semi._choose semi._closed_form semi.samult semi.pnu semi._waves semi.qsg
registry
auto._columns auto._candidates auto._trial auto._choose auto._leaderboard auto._odds auto._search auto.classifier
datasets io _page.svg experiments cli
""".split()

# Packages that stand in ORDER as a whole: their modules may import one another freely.
OPEN = {"datasets", "io", "cli", "experiments"}


def place(module: str) -> int | None:
    """Where a module (dotted, without 'auclid.') stands in ORDER; a package is where its last module is."""
    inside = [k for k, name in enumerate(ORDER) if name == module or name.startswith(module + ".")]
    return inside[-1] if inside else None


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
            continue
        for target in targets:
            if target.split(".")[0] != package:
                continue
            below = ".".join(target.split(".")[1:])
            yield node.lineno, below if below in known else below.rpartition(".")[0]


def breaches(root: Path) -> list[str]:
    """A sentence for each import that does not point upwards, and for each module without a place."""
    known, wrong = modules(root), []
    for name, path in known.items():
        if path.name == "__init__.py":
            continue
        top = name.split(".")[0]
        unit = top if top in OPEN else name
        if unit not in ORDER:
            wrong.append(f"{name} has no place in ORDER")
            continue
        for line, target in imports(name, path, known):
            if top in OPEN and target.split(".")[0] == top:
                continue
            there = place(target.split(".")[0] if target.split(".")[0] in OPEN else target)
            if there is None or there >= ORDER.index(unit):
                wrong.append(f"{name}:{line} imports {target or 'the package itself'}, which is not above it")
    return wrong


def test_modules_import_only_from_above():
    assert breaches(SOURCE) == []


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
