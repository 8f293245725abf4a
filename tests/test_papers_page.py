"""The page "The papers in code": every name, parameter and test on it exists."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import auclid
from auclid import algorithms, make

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "papers.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith("|---")]
CALLS = re.findall(r"`((?:make\(\"|[A-Z]\w+\()[^`]*\))`", PAGE)
ATTRIBUTES = re.findall(r"`([A-Z]\w+)\.(\w+)`", PAGE)


@pytest.mark.parametrize("text", sorted(set(CALLS)))
def test_every_call_can_be_made(text):
    call = ast.parse(text.replace("penalty=...", "penalty=None"), mode="eval").body
    names = {"make": make, **{name: getattr(auclid, name) for name in auclid.__all__}}
    model = eval(compile(ast.Expression(call), "page", "eval"), names)
    assert hasattr(model, "fit")


@pytest.mark.parametrize(("cls", "name"), sorted(set(ATTRIBUTES)))
def test_every_attribute_is_documented(cls, name):
    found = getattr(auclid, cls)
    assert hasattr(found, name) or name in inspect.getdoc(found)


def test_every_test_is_a_file():
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 10
    assert all((TESTS / f"{name}.py").exists() for name in named)


def test_every_name_with_a_published_form_of_its_own_is_on_the_page():
    families = {"CBR-RS", "NOAMgra", "OAM", "NSOLAM", "FASAM", "NU-AUC", "SVMpAUC", "TopPush"}
    missing = {m.name for m in algorithms() if m.published is not None and f'make("{m.name}"' not in PAGE}
    assert missing <= families
