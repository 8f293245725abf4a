"""Files outlive the code: every model file that a released version wrote loads, scores alike, and goes on."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import auclid
from auclid import load
from auclid.io._names import ESTIMATORS, STRUCTS
from data.keep import resumed, scores, tables

FILES = sorted((Path(__file__).parent / "data").glob("*/*.auclid"))

NOT_KEPT = {"Constant", "L2", "Square", "Hinge", "SquaredHinge", "Logistic", "Kernelized"}
"""Parameters, whose structs are as simple as those that are kept."""


@pytest.fixture(scope="module")
def kept():
    return {folder: dict(np.load(folder / "kept.npz")) for folder in {path.parent for path in FILES}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_of_an_old_version_goes_on(path, kept):
    said = kept[path.parent]
    table, labels = tables(said)[path.stem.rpartition(".")[2]]
    model = load(path)
    assert_alike(scores(model, table), said[path.stem])
    assert_alike(resumed(model, table, labels), said[f"{path.stem}.resumed"])


def assert_alike(now, then):
    """Equal up to the rounding of another machine's BLAS, far below what a changed method would do."""
    np.testing.assert_allclose(now, then, rtol=1e-9, atol=1e-11)


def names_in(tree):
    """The names of classes in a file's JSON."""
    if isinstance(tree, list):
        return set().union(*map(names_in, tree))
    if not isinstance(tree, dict):
        return set()
    own = {tree[tag][0] for tag in ("struct", "estimator") if tag in tree}
    return own.union(*map(names_in, tree.values()))


def test_every_class_and_state_of_this_version_is_kept():
    names = set()
    for path in FILES:
        if path.parent.name == auclid.__version__:
            with zipfile.ZipFile(path) as archive:
                names |= names_in(json.loads(archive.read("model.json")))
    listed = {entry.name for entry in (*ESTIMATORS, *STRUCTS)}
    assert listed - names - NOT_KEPT == set(), "run `python data/keep.py` in tests/"
