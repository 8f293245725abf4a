"""The recipes of docs/developing.md are true: each adds its thing to a copy of the project in the files it names only.

The copy is then held to the tests that a newcomer must pass: layout, house rules, laws, reference, scikit-learn's
checks. Kernels run as plain Python there, so that nothing is compiled.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

STRUCTS = "STRUCTS = NameTable(\n"
"""Where the table of structs in files begins."""


class Copy:
    """A copy of the project, and which of its files were touched."""

    def __init__(self, folder: Path) -> None:
        self.root, self.touched = folder, set()
        ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc", "record")
        for name in ("src", "tests", "docs", "examples", "tools"):
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        shutil.copytree(ROOT / "docs" / "record", folder / "docs" / "record")
        for name in ("README.md", "CONTRIBUTING.md", "mkdocs.yml", "pyproject.toml", "conftest.py"):
            shutil.copy(ROOT / name, folder / name)

    def write(self, name: str, text: str) -> None:
        """A new file."""
        assert not (self.root / name).exists()
        (self.root / name).write_text(text, encoding="utf-8")
        self.touched.add(name)

    def append(self, name: str, text: str) -> None:
        path = self.root / name
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
        self.touched.add(name)

    def after(self, name: str, anchor: str, text: str) -> None:
        """Put a text behind another, which is there."""
        path = self.root / name
        old = path.read_text(encoding="utf-8")
        assert anchor in old, f"{name} has no {anchor!r}"
        path.write_text(old.replace(anchor, anchor + text, 1), encoding="utf-8")
        self.touched.add(name)

    def run(self, *command: str) -> str:
        """What a Python of the copy prints; all must be well."""
        env = {**os.environ, "PYTHONPATH": str(self.root / "src"), "NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run(
            [sys.executable, *command], cwd=self.root, env=env, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
        return done.stdout


def a_loss(copy: Copy) -> None:
    copy.append(
        "src/auclid/losses.py",
        '''

class SmoothHinge(NamedTuple):
    """l(m) = 0 for m >= 1, (1 - m)^2 / 2 for 0 < m < 1, 1/2 - m below"""


LOSSES["smooth_hinge"] = SmoothHinge


@value.implement(SmoothHinge)
def _(loss: SmoothHinge, m: float) -> float:
    if m >= 1.0:
        return 0.0
    return 0.5 * (1.0 - m) ** 2 if m > 0.0 else 0.5 - m


@slope.implement(SmoothHinge)
def _(loss: SmoothHinge, m: float) -> float:
    return min(0.0, max(-1.0, m - 1.0))


@hinges.implement(SmoothHinge)
def _(loss: SmoothHinge) -> tuple[tuple[float, float], ...]:
    return ((0.5, 1.0), (-0.5, 0.0))
''',
    )
    copy.after("src/auclid/io/_names.py", STRUCTS, '    Entry("SmoothHinge", "auclid.losses.SmoothHinge"),\n')


def a_map(copy: Copy) -> None:
    copy.write(
        "src/auclid/kernels/random_signs.py",
        '''"""RandomSigns: on which side of random planes a row lies."""

from collections.abc import Callable

import numpy as np

from auclid._random import RandomState
from auclid.kernels._kernel_block import floats
from auclid.kernels._map import FeatureMap
from auclid.data import Table
from auclid.data.blocks import Block


class RandomSigns(FeatureMap):
    """Signs of random projections, whose products are 1 - 2 angle(x, y) / pi on average.

    Parameters
    ----------
    n_components : int in [1, inf), default=100
    random_state : int, RandomState, Generator or None, default=None

    References
    ----------
    Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002.

    Examples
    --------
    >>> from auclid import RandomSigns
    >>> RandomSigns(8, random_state=0).fit_transform([[1.0], [-1.0]]).shape
    (2, 8)
    """

    _parameter_constraints: dict = {
        key: FeatureMap._parameter_constraints[key] for key in ("n_components", "random_state")
    }

    def __init__(self, n_components: int = 100, *, random_state: RandomState = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _draw(self, table: Table, rng: np.random.Generator, dtype: np.dtype) -> None:
        self._planes = rng.standard_normal((table.shape[1], self.n_components)).astype(dtype)
        self.gamma_ = None

    def _sound(self) -> bool:
        return not hasattr(self, "_planes") or floats((self._planes, (self.n_features_in_, self.n_components)))

    @property
    def _dtype(self) -> np.dtype:  # type: ignore[override]
        return self._planes.dtype

    @property
    def _n_features_out(self) -> int:  # type: ignore[override]
        return self._planes.shape[1]

    def _values(self) -> Callable[[Block], np.ndarray]:
        planes = self._planes

        def values(block: Block) -> np.ndarray:
            side = np.asarray(block @ planes) > 0.0
            return ((2.0 * side - 1.0) / np.sqrt(planes.shape[1])).astype(planes.dtype)

        return values
''',
    )
    learnt = 'TRANSFORMER + "_planes:real[d,*] gamma_:none"'
    exported(copy, "kernels.random_signs.RandomSigns", '{"n_components": ANY, "random_state": None}', learnt)


def a_stream(copy: Copy) -> None:
    copy.write(
        "src/auclid/solvers/centroids.py",
        '''"""The line through both class means."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import RowStruct
from auclid.solvers.stream import Batch, StreamSolver
from auclid.stats.class_means import RunningMeans, add_row, class_midpoint, empty_means


class CentroidsState(NamedTuple):
    """The class means of the rows so far."""

    means: RunningMeans


@dataclass(frozen=True)
class CentroidsSolver(StreamSolver[CentroidsState]):
    """w = mean of the positives - mean of the negatives."""

    def init(self, d: int) -> CentroidsState:
        return CentroidsState(empty_means(d))

    def update(self, batch: Batch, state: CentroidsState) -> CentroidsState:
        for rows, at, label, _ in batch.chunks(state.means.centre):
            state = sweep_centroids(rows, at, label, state)
        return state

    def weights(self, state: CentroidsState) -> tuple[np.ndarray, float]:
        total, n = state.means.total, state.means.n
        if not n.all():
            return np.zeros(total.shape[1]), 0.0
        w = total[1] / n[1] - total[0] / n[0]
        return w, w @ class_midpoint(total, n)


@kernel
def sweep_centroids(rows: RowStruct, at: np.ndarray, label: np.ndarray, state: CentroidsState) -> CentroidsState:
    """Add each row to its class's mean."""
    means = state.means
    for k in range(at.shape[0]):
        add_row(means, rows, at[k], label[k])
    return CentroidsState(means=means)
''',
    )
    copy.write(
        "src/auclid/online/centroids.py",
        '''"""Centroids: rank along the line through both class means."""

from auclid._random import RandomState
from auclid.base import StreamRanker
from auclid.solvers.centroids import CentroidsSolver


class Centroids(StreamRanker):
    """The difference of the class means, w = mean(x | positive) - mean(x | negative), kept from row to row.

    Parameters
    ----------
    n_epochs : int in [1, inf), default=1
    shuffle : bool, default=True
    random_state : int, RandomState, Generator or None, default=None

    References
    ----------
    Rocchio, "Relevance feedback in information retrieval", 1971.

    Examples
    --------
    >>> from auclid import Centroids
    >>> Centroids().fit([[0.0], [1.0]], [0, 1]).coef_
    array([[1.]])
    """

    _causal = True

    def __init__(self, *, n_epochs: int = 1, shuffle: bool = True, random_state: RandomState = None) -> None:
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _solver(self) -> CentroidsSolver:
        return CentroidsSolver()
''',
    )
    parameters = "dict(shuffle=True, n_epochs=1, random_state=None)"
    exported(copy, "online.centroids.Centroids", parameters, "STREAM")
    line = '    Entry("Centroids state", "auclid.solvers.centroids.CentroidsState"),\n'
    copy.after("src/auclid/io/_names.py", STRUCTS, line)
    line = 'METHODS.append(Method("Centroids", Centroids, "Rocchio 1971", "a first look"))'
    copy.append("src/auclid/registry.py", f"\n\nfrom auclid.online import Centroids\n\n{line}\n")


def exported(copy: Copy, path: str, parameters: str, learnt: str) -> None:
    """What a new public estimator needs besides its own files: exports, a name in files, its contract in the tests."""
    family, module, name = path.split(".")
    line = f"from auclid.{family}.{module} import {name}\n"
    copy.after(f"src/auclid/{family}/__init__.py", "\n\n", line)
    copy.after(f"src/auclid/{family}/__init__.py", "__all__ = [", f'"{name}", ')
    line = f'    Entry({name!r}, "auclid.{path}", {learnt}),\n'
    copy.after("src/auclid/io/_names.py", "ESTIMATORS = NameTable(\n", line)
    copy.after("tests/test_common.py", "PARAMETERS = {\n", f"    {name!r}: {parameters},\n")


def a_metric(copy: Copy) -> None:
    copy.write(
        "src/auclid/metrics/_d_prime.py",
        '''"""Sensitivity as psychophysics measures it."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from auclid.metrics._auc import roc_auc


def d_prime(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """How far apart two normal distributions of unit variance with the same AUC are, sqrt(2) Phi^-1(AUC).

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_score : array-like of shape (n,)

    Returns
    -------
    float

    Examples
    --------
    >>> from auclid.metrics import d_prime
    >>> d_prime([0, 1, 0, 1], [1, 1, 0, 0])
    0.0

    References
    ----------
    Green & Swets (1966), Signal detection theory and psychophysics.
    """
    return float(np.sqrt(2.0) * ndtri(roc_auc(y_true, y_score)))
''',
    )
    copy.append(
        "src/auclid/metrics/__init__.py", "\nfrom auclid.metrics._d_prime import d_prime\n\n__all__ += ['d_prime']\n"
    )
    copy.append("docs/reference/metrics.md", "\n::: auclid.metrics.d_prime\n")


def a_source_of_rows(copy: Copy) -> None:
    copy.write(
        "src/auclid/data/readers/json_lines.py",
        '''"""Files of JSON, an object of numbers a line."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from auclid.data.readers.reader import SourceBlock, ColumnSelection, Reader, block_rows, select_columns


class JsonLines(Reader):
    """Lines such as {"age": 31, "sick": 0}; the first one says which columns there are."""

    slow = True
    dtype = np.dtype(np.float64)

    def __init__(self, paths: Sequence[Path], where: str, wanted: ColumnSelection) -> None:
        self.paths, self.where, self.wanted = list(paths), where, wanted
        with self.paths[0].open(encoding="utf-8") as file:
            names = list(json.loads(file.readline()))
        self.columns = select_columns(wanted, names, where)
        self.has_target, self.has_weight = wanted.target is not None, wanted.weight is not None

    def read(self) -> Iterator[SourceBlock]:
        for path in self.paths:
            with path.open(encoding="utf-8") as file:
                while lines := list(islice(file, block_rows(len(self.columns), self.dtype))):
                    yield self._block([json.loads(line) for line in lines])

    def _block(self, rows: list[dict]) -> SourceBlock:
        X = np.array([[row[name] for name in self.columns] for row in rows], dtype=self.dtype)
        apart = (self.wanted.target, self.wanted.weight)
        return SourceBlock(X, *(None if name is None else np.array([row[name] for row in rows]) for name in apart))
''',
    )
    start = "ENDINGS: dict[str, Callable[..., Reader]] = {\n"
    copy.after("src/auclid/data/readers/open.py", start, '    ".jsonl": JsonLines,\n')
    copy.after(
        "src/auclid/data/readers/open.py",
        "from auclid.data.readers.function import Function\n",
        "from auclid.data.readers.json_lines import JsonLines\n",
    )
    copy.after("src/auclid/data/files.py", "or libsvm file (.libsvm, .svm, .txt", ", or JSON lines, .jsonl")


RECIPES = {
    "A loss": a_loss,
    "A feature map": a_map,
    "A method that learns from a stream": a_stream,
    "A metric": a_metric,
    "A source of rows": a_source_of_rows,
}

NAMES = {
    "src/auclid/solvers/name.py": "src/auclid/solvers/centroids.py",
    "src/auclid/family/name.py": "src/auclid/online/centroids.py",
    "src/auclid/family/__init__.py": "src/auclid/online/__init__.py",
    "src/auclid/kernels/name.py": "src/auclid/kernels/random_signs.py",
    "src/auclid/metrics/_name.py": "src/auclid/metrics/_d_prime.py",
    "src/auclid/data/readers/name.py": "src/auclid/data/readers/json_lines.py",
}
"""What the recipes call a new file, and what it is called here."""


def files_of(recipe: str) -> set[str]:
    """The files that a recipe of docs/developing.md names, and as many as it says."""
    page = (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")
    found = re.search(rf"^### {re.escape(recipe)}: (\d+) files\n(.*?)(?=^##)", page, flags=re.M | re.S)
    assert found, f"docs/developing.md has no recipe {recipe!r}"
    files = re.findall(r"^\d+\. `([^`]+)`", found[2], flags=re.M)
    assert len(files) == len(set(files)) == int(found[1])
    return {NAMES.get(name, name) for name in files}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The copy with everything added, and the files each recipe took."""
    made, taken = Copy(tmp_path_factory.mktemp("project")), {}
    for recipe, add in RECIPES.items():
        made.touched = set()
        add(made)
        taken[recipe] = made.touched
    return made, taken


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_takes_the_files_it_names(recipe, copy):
    assert copy[1][recipe] == files_of(recipe)


USE = """
import json, tempfile
from pathlib import Path
import numpy as np
import auclid
from auclid.metrics import d_prime

rng = np.random.default_rng(0)
y = np.arange(80) % 4 == 0
X = rng.standard_normal((80, 3)) + y[:, None]
folder = Path(tempfile.mkdtemp())

models = [
    auclid.ASAM(loss="smooth_hinge", n_epochs=2, random_state=0),
    auclid.RankSVM(loss="smooth_hinge", alpha=0.1),
    auclid.Kernelized(auclid.RandomSigns(20, random_state=0), auclid.LeastSquaresAUC()),
    auclid.make("Centroids"),
]
for model in models:
    scores = model.fit(X, y).decision_function(X)
    assert d_prime(y, scores) > 0.5
    auclid.save(folder / "model.auclid", model)
    assert (auclid.load(folder / "model.auclid").decision_function(X) == scores).all()
stream = auclid.Centroids()
for rows in np.array_split(np.arange(80), 7):
    stream.partial_fit(X[rows], y[rows], classes=[False, True])
np.testing.assert_allclose(stream.coef_[0], X[y].mean(axis=0) - X[~y].mean(axis=0))

lines = [json.dumps(dict(zip("abc", row), y=int(label))) for row, label in zip(X.tolist(), y)]
(folder / "rows.jsonl").write_text("\\n".join(lines))
rows = auclid.scan(folder / "rows.jsonl", target="y")
assert rows.columns == ["a", "b", "c"]
assert rows.shape == X.shape and (rows.head(80)[0] == X).all() and (rows.target() == y).all()
"""


def test_what_was_added_works(copy):
    copy[0].run("-c", USE)


def test_what_was_added_passes_the_tests_of_the_house(copy):
    quick = ["-q", "-p", "no:cacheprovider", "-m", "not long and not jit"]
    new = "centroids or random_signs or d_prime or json_lines or losses or reference or above or circle or SmoothHinge"
    files = ["tests/test_layout.py", "tests/test_house.py", "tests/test_docs.py", "tests/test_losses.py"]
    assert " passed" in copy[0].run("-m", "pytest", *quick, *files, "-k", new)
    common = copy[0].run("-m", "pytest", *quick, "tests/test_common.py", "-k", "Centroids or RandomSigns")
    assert " passed" in common
