"""The house rules that a script can check: few arguments, types wherever Numba does not compile.

Kernels and the bodies of generic functions are left to Numba; constructors and published signatures may be long.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import auclid
import auclid.metrics
import auclid.plot

ROOT = Path(__file__).parent.parent
SOURCE, PAPERS = ROOT / "src" / "auclid", ROOT / "papers" / "src" / "auclid_papers"
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
FILES = sorted([*SOURCE.rglob("*.py"), *PAPERS.rglob("*.py")])

MOST_ARGUMENTS = 8

COMPILED = {"kernel", "implement", "generic", "overload", "intrinsic", "register_jitable"}
"""Decorators of what Numba compiles, or of what stands for it."""

HANDED_OVER = "points", "total_points", "to_html", "edit"
"""Methods of `Scorecard` whose keywords users give by name."""

MODULES = auclid.metrics, auclid.monitoring, auclid.plot
PUBLISHED = {*auclid.__all__, *(name for module in MODULES for name in module.__all__), *HANDED_OVER}


def functions(path: Path) -> Iterator[tuple[ast.FunctionDef, bool, bool]]:
    """(function, whether it is a method, whether Numba has it) of all functions of a file, nested ones too."""

    def visit(node: ast.AST, in_class: bool, compiled: bool) -> Iterator[tuple[ast.FunctionDef, bool, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                inside = compiled or any(_name(decorator) in COMPILED for decorator in child.decorator_list)
                yield child, in_class, inside
                yield from visit(child, False, inside)
            else:
                yield from visit(child, isinstance(child, ast.ClassDef), compiled)

    return visit(ast.parse(path.read_text(encoding="utf-8")), False, False)


def _name(decorator: ast.expr) -> str:
    while isinstance(decorator, ast.Call):
        decorator = decorator.func
    return decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")


def arguments(function: ast.FunctionDef, is_method: bool) -> list[ast.arg]:
    """All arguments of a function, but for ``self`` and ``cls``."""
    every = function.args
    found = [*every.posonlyargs, *every.args, *every.kwonlyargs, *filter(None, [every.vararg, every.kwarg])]
    static = any(_name(decorator) == "staticmethod" for decorator in function.decorator_list)
    return found[1:] if is_method and not static else found


def crowded(path: Path) -> list[str]:
    """Functions of a file with too many arguments."""
    found = []
    for function, is_method, _ in functions(path):
        command = any(_name(decorator) == "command" for decorator in function.decorator_list)
        excused = function.name in PUBLISHED or function.name in ("__init__", "__new__") or command
        count = len(arguments(function, is_method))
        if count > MOST_ARGUMENTS and not excused:
            found.append(f"{function.name} takes {count} arguments")
    return found


def untyped(path: Path) -> list[str]:
    """Functions of a file with an argument or a result that is not annotated."""
    found = []
    for function, is_method, compiled in functions(path):
        bare = [one.arg for one in arguments(function, is_method) if one.annotation is None]
        silent = function.returns is None and function.name != "__init__"
        if not compiled and (bare or silent):
            found.append(f"{function.name}, line {function.lineno}, does not say the type of {bare or 'its result'}")
    return found


def relative(path: Path) -> str:
    return path.relative_to(SOURCE if path.is_relative_to(SOURCE) else PAPERS.parent).as_posix()


def test_nobody_compiles_past_our_cache():
    """Numba's own does not see that a helper in another file has changed."""
    for path in FILES:
        assert relative(path) == "_compilation.py" or "njit" not in path.read_text(encoding="utf-8"), relative(path)


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_file_keeps_the_rules(path):
    assert crowded(path) == []
    assert untyped(path) == []


def test_the_checks_see_what_they_should(tmp_path):
    path = tmp_path / "some.py"
    path.write_text(
        "class A:\n"
        "    def __init__(self, a, b, c, d, e, f, g, h, i): ...\n"
        "    def f(self, a: int) -> int:\n"
        "        def inner(x): ...\n"
        "@kernel(fastmath=True)\n"
        "def loop(a, b, c, d, e, f, g, h, i):\n"
        "    def inside(x): ...\n"
        "@value.implement(Hinge)\n"
        "def _(loss, m): ...\n"
        "def plain(x: int): ...\n"
    )
    assert [said.split(",")[0] for said in untyped(path)] == ["__init__", "inner", "plain"]
    assert crowded(path) == ["loop takes 9 arguments"]


def test_mypy_excuses_no_module():
    assert "check_untyped_defs = true" in PYPROJECT and "disallow_untyped_defs = true" in PYPROJECT
    assert "[[tool.mypy.overrides]]" not in PYPROJECT


def test_no_text_holds_the_marks_of_a_merge():
    folders = [ROOT / name for name in ("docs", "src", "papers", "tests", "benchmarks", "examples", "tools")]
    ends = "md", "py", "toml", "html", "css", "js", "yml", "csv", "svg", "txt"
    texts = [path for folder in folders for end in ends for path in folder.rglob(f"*.{end}")]
    mark = re.compile(r"^(<{7}|>{7}|\|{7})( |$)", re.MULTILINE)
    assert [path for path in [*texts, *ROOT.glob("*.*")] if path.is_file() and mark.search(_text(path))] == []


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")
