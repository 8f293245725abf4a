"""Files outlive the code: every model file that a released version wrote loads, scores alike, and goes on."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from auclid import load
from data.keep import resumed, scores

FILES = sorted((Path(__file__).parent / "data").glob("*/*.auclid"))


@pytest.fixture(scope="module")
def kept():
    return {folder: dict(np.load(folder / "kept.npz")) for folder in {path.parent for path in FILES}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_of_an_old_version_goes_on(path, kept):
    said = kept[path.parent]
    table = sparse.csr_array(said["X"]) if ".sparse" in path.name else said["X"]
    model = load(path)
    assert_alike(scores(model, table), said[path.stem])
    assert_alike(resumed(model, table, said["y"]), said[f"{path.stem}.resumed"])


def assert_alike(now, then):
    """Equal up to the rounding of another machine's BLAS, far below what a changed method would do."""
    np.testing.assert_allclose(now, then, rtol=1e-9, atol=1e-11)


def test_every_class_and_state_is_kept():
    assert len(FILES) > 100
