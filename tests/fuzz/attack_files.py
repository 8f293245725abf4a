"""Attacks on model files: every value in a file, changed and signed anew, is refused or does no harm."""

import contextlib
import io
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auclid
from attack_fits import CLASSES, small
from auclid.io._container import array_from_bytes
from hostile import EXTREMES, POLITE, Found, attempt, finite, pick
from model_files import npy, signed
from sklearn_parts import specimens

KEPT = sorted((Path(__file__).parent.parent / "data").rglob("*.auclid"))

LONG = 10**8

INTEGERS = [0, 1, -1, 2, 7, 624, 625, 10**8, -(10**8), 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), 10**30]

TRAP = "');alert(1);('"
"""Text that would leave a string of JavaScript."""

LIMIT = 100 << 20
"""Bytes that a load may take beyond the size of the file."""

USE = 2 << 30
"""Bytes that one call of a loaded model may ask for."""


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of some JSON."""
    if isinstance(tree, dict):
        return [path, *(at for key, x in tree.items() for at in places(x, (*path, key)))]
    if isinstance(tree, list):
        return [path, *(at for key, x in enumerate(tree) for at in places(x, (*path, key)))]
    return [path]


def replaced(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The same JSON with another value at one place."""
    if not path:
        return value
    if isinstance(tree, dict):
        return {key: replaced(x, path[1:], value) if key == path[0] else x for key, x in tree.items()}
    return [replaced(x, path[1:], value) if key == path[0] else x for key, x in enumerate(tree)]


def found(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def other_value(rng: np.random.Generator, old: Any, tree: Any) -> Any:
    """A hostile value instead of an old one: of its kind, of another, or from elsewhere in the file."""
    kind = rng.integers(4)
    if kind == 0:
        return found(tree, pick(rng, places(tree)))
    if isinstance(old, bool) or old is None or kind == 1:
        return pick(rng, [None, True, 0, -1, 10**8, 1e308, "x", [], {}, {"tuple": []}, {"dict": []}, "rbf", "full"])
    if isinstance(old, int):
        return pick(rng, INTEGERS)
    if isinstance(old, float):
        return pick(rng, [*EXTREMES, float("nan"), float("inf"), -float("inf")])
    if isinstance(old, str):
        return pick(rng, ["", "x", "\x1b[31mred", old * 1000, "SPAM", "0.npy", "MT19937", "../../etc", SCRIPT, TRAP])
    if isinstance(old, list):
        return pick(rng, [[], old[:1], old + old, old[::-1]])
    if isinstance(old, dict) and old:
        gone = pick(rng, list(old))
        return pick(rng, [{}, {key: x for key, x in old.items() if key != gone}, {**old, "stranger": 1}])
    return {}


def other_array(rng: np.random.Generator, old: np.ndarray) -> bytes:
    """An array of another shape, type or content, in NumPy's format; or one that lies about its size."""
    kind = rng.integers(9)
    if kind == 0:
        shape = pick(rng, [(0,), (1,), (0, LONG), (0, 3 * LONG), (2, 2), (), (1, 0), (*old.shape, 1)])
        return npy(np.zeros(shape, old.dtype))
    if kind == 1 and old.ndim:
        return npy(pick(rng, [old[:-1], np.concatenate([old, old]), old[:0], old.T.copy(), np.stack([old, old])]))
    if kind == 2:
        if old.dtype.kind in "US":
            return npy(np.char.add(old, "x") if old.dtype.kind == "U" else old)
        return npy(old.astype(pick(rng, ["f4", "f8", "i4", "i8", "u1", ">f8", ">i8", "c16", "?", "U3", "S2"])))
    if kind == 3 and old.dtype.kind in "iu":
        info = np.iinfo(old.dtype)
        wild = [x for x in INTEGERS if info.min <= x <= info.max]
        new = old.copy().reshape(-1)
        if len(new):
            new[rng.integers(len(new))] = pick(rng, wild)
        return npy(new.reshape(old.shape))
    if kind == 4 and old.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return npy(np.full_like(old, pick(rng, [*EXTREMES, np.nan, np.inf])))
    if kind == 5 and old.dtype.kind == "f" and old.size:
        new = old.copy().reshape(-1)
        with np.errstate(over="ignore"):
            new[rng.integers(len(new))] = pick(rng, [*EXTREMES, np.nan, np.inf])
        return npy(new.reshape(old.shape))
    if kind == 6:
        content = npy(np.zeros(4))
        return content.replace(b"(4,)", b"(4000000000000,)").replace(b" " * 12 + b"\n", b"\n")
    if kind == 7:
        return npy(np.asfortranarray(old))
    return npy(old)[: int(rng.integers(1, 200))]


def wild_records(rng: np.random.Generator, old: np.ndarray) -> bytes:
    """Nodes of a tree with one field out of range."""
    new = old.copy()
    name = pick(rng, old.dtype.names)
    if new.size:
        at = rng.integers(new.size)
        kind = new.dtype[name]
        if kind.kind in "iu":
            info = np.iinfo(kind)
            new[name][at] = pick(rng, [x for x in INTEGERS if info.min <= x <= info.max])
        else:
            new[name][at] = pick(rng, [np.nan, 1e308, -1.0])
    return npy(pick(rng, [new, new, new, new[:1], new[:0], new[::-1].copy()]))


SCRIPT = "<script>alert(1)</script>"

STRAYS = {
    "_doc_link_template": SCRIPT,
    "__doc_link_template": SCRIPT,
    "_doc_link_module": "auclid",
    "_repr_html_": SCRIPT,
    "_in_fit": True,
    "_estimator_type": "regressor",
    "n_jobs": 2,
    "memory": "cache",
    "_max_degree": 10**8,
    "transform": 1,
    "__class__": "x",
}
"""Attributes that act where scikit-learn finds them, and values for them."""


def mutated(rng: np.random.Generator, parts: dict[str, bytes]) -> dict[str, bytes]:
    """The entries of a file with one or two values changed, or with an attribute more."""
    parts = dict(parts)
    for _ in range(int(rng.integers(1, 3))):
        names = [name for name in parts if name.endswith(".npy")]
        kind = rng.random()
        if names and kind < 0.4:
            name = pick(rng, names)
            try:
                old = array_from_bytes(parts[name])
            except ValueError:
                continue  # changed already
            parts[name] = wild_records(rng, old) if old.dtype.names else other_array(rng, old)
            continue
        member = "model.json" if kind < 0.95 else "head.json"
        tree = json.loads(parts[member])
        if kind < 0.5:
            new = with_stray(rng, tree)
        else:
            at = pick(rng, places(tree))
            new = replaced(tree, at, other_value(rng, found(tree, at), tree))
        if member == "head.json" and not isinstance(new, dict):
            new = {"about": new}
        parts[member] = json.dumps(new).encode()
    return parts


def with_stray(rng: np.random.Generator, tree: Any) -> Any:
    """The JSON of a model with an attribute more in one of its objects."""
    ways = [at for at in places(tree) if len(at) >= 2 and at[-1] == 1 and at[-2] in ("sklearn", "estimator")]
    if not ways:
        return tree
    at, name = pick(rng, ways), pick(rng, STRAYS)
    old = found(tree, at)
    return replaced(tree, at, {**old, name: STRAYS[name]}) if isinstance(old, dict) else tree


_made: list[bytes] = []


def originals() -> list[bytes]:
    """Files of every class and state that a release wrote, and some of today."""
    if not _made:
        _made.extend(path.read_bytes() for path in KEPT)
        for model in todays():
            with tempfile.TemporaryDirectory() as folder:
                auclid.save(Path(folder) / "a", model)
                _made.append((Path(folder) / "a").read_bytes())
    return _made


def todays() -> Iterator[Any]:
    """Fitted models: every class of today, one with the trees of its members, and generators of several kinds."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    X[:, 0] += y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = np.array(list(zip(y == 1, 1.0 + np.arange(60), strict=True)), dtype=[("event", bool), ("time", float)])
        for cls in CLASSES:
            target = times if cls is auclid.SurvivalRanker else y
            yield small(cls()).fit(X, target, **({"groups": np.arange(60) % 3} if cls is auclid.MinimaxAUC else {}))
        yield auclid.AUCClassifier(cv=2, budget=1.0, random_state=0).fit(X, y)
        for name in ("forest", "boosting", "Scorecard"):
            yield auclid.AUCClassifier(methods=[name], cv=2, random_state=0).fit(X, y)
        yield auclid.MulticlassAUC().fit(X, np.arange(60) % 3)
        mixed = X.astype(object)
        mixed[:, 1] = np.array(["red", "green", None, "\x1b[31mblue"], dtype=object)[np.arange(60) % 4]
        mixed[:, 2] = np.where(rng.random(60) < 0.2, None, np.datetime64("2020-01-01") + np.arange(60))
        card = auclid.Scorecard(n_knots=4, interactions=1, random_state=0)
        yield from (auclid.Columns().fit(mixed), card.fit(mixed, y), auclid.Calibrated(clone(card), cv=2).fit(mixed, y))
        boosted = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)
        yield from (
            make_pipeline(StandardScaler(), boosted).fit(X, y),
            auclid.OAM(random_state=np.random.Generator(np.random.Philox(1)), buffer_size=5).partial_fit(X, y),
            auclid.SPAM(random_state=np.random.RandomState(1)).partial_fit(X, y),
            auclid.CBR(random_state=np.random.Generator(np.random.MT19937(1)), buffer_size=5).partial_fit(X, y),
        )


def file_case(rng: np.random.Generator) -> None:
    """A changed file is refused, or loads into something that can be used without harm."""
    original = pick(rng, originals())
    with zipfile.ZipFile(io.BytesIO(original)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    attack(signed(mutated(rng, parts)), len(original))


_parts: list[tuple[bytes, Any]] = []


def used_case(rng: np.random.Generator) -> None:
    """A changed file of a part of scikit-learn is refused, or can be used on the rows of that part without harm."""
    if not _parts:
        with tempfile.TemporaryDirectory() as folder:
            for model, rows in specimens():
                auclid.save(Path(folder) / "a", model)
                _parts.append(((Path(folder) / "a").read_bytes(), rows))
    original, rows = pick(rng, _parts)
    with zipfile.ZipFile(io.BytesIO(original)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    attack(signed(mutated(rng, parts)), len(original), rows)


def bytes_case(rng: np.random.Generator) -> None:
    """Flipped bits, cuts and splices, without a new signature."""
    content = bytearray(pick(rng, originals()))
    kind = rng.integers(3)
    if kind == 0:
        for at in rng.integers(8 * len(content), size=int(rng.integers(1, 4))):
            content[at // 8] ^= 1 << int(at % 8)
    elif kind == 1:
        content = content[: int(rng.integers(len(content)))]
    else:
        at = int(rng.integers(len(content)))
        content[at : at + int(rng.integers(40))] = rng.bytes(int(rng.integers(40)))
    attack(bytes(content), len(content))


def attack(content: bytes, size: int, rows: Any = None) -> None:
    """Load some bytes, and use what comes of them: on rows of a kind that the model knows, where these are given."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.auclid"
        path.write_bytes(content)
        start = reset_peak()
        try:
            model = auclid.load(path)
        except ValueError as error:
            if "\x1b" in str(error) or len(str(error)) > 2000:
                raise Found("raw text", repr(str(error))[:200]) from None
            return
        except Exception as error:
            raise Found("unclear error", f"load: {type(error).__name__}: {str(error)[:200]}") from error
        finally:
            if start is not None and peak() - start > LIMIT + 4 * size:
                raise Found("memory", f"a load of {size} bytes took {(peak() - start) >> 20} MB")
        if rows is None:
            use(model)
        else:
            use_part(model, rows)
        show(model)
        if os.listdir(folder) != ["model.auclid"]:
            raise Found("files written", f"by a {type(model).__name__}: {os.listdir(folder)}")


def use_part(model: Any, rows: Any) -> None:
    """What one may do with a part of scikit-learn."""
    before = _children()
    for name in ("transform", "predict_proba", "decision_function", "predict", "get_feature_names_out"):
        _quietly(model, name, *([] if name == "get_feature_names_out" else [rows]))
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "f" and rows.ndim == 2:
        _quietly(model, "transform", sparse.csr_matrix(rows))
        _quietly(model, "predict", sparse.csr_matrix(rows))
    if _children() - before:
        raise Found("processes started", f"by a {type(model).__name__}")


def _children() -> set[str]:
    """The processes that this one has started and that still run, where the system lists them."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(children.read_text().split()) if children.exists() else set()


class Acting(HTMLParser):
    """Finds script in a page that came from a file."""

    acts = False

    def handle_data(self, data: str) -> None:
        self.acts |= self.lasttag == "script" and "alert(1)" in data and "copyToClipboard" not in data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.acts |= any(name.startswith("on") and "alert(1)" in (value or "") for name, value in attrs)


def show(model: Any) -> None:
    """What a terminal and a notebook show of a model."""
    attempt("repr", lambda: repr(model), (Exception,))
    page = Acting()
    page.feed(_quietly(model, "_repr_html_") or "")
    if page.acts:
        raise Found("script in a notebook", type(model).__name__)


def use(model: Any) -> None:
    """All that one may do with a model that came from a stranger."""
    d = _quietly(model, "__getattribute__", "n_features_in_") or 4
    if not isinstance(d, int) or not 0 < d < 1000:
        return
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, d)), np.arange(20) % 2
    odd = X.astype(object)
    odd[::3] = "red"
    for rows in (X, sparse.csr_matrix(X), odd):
        for name in ("decision_function", "transform", "predict_proba", "predict"):
            finite(f"{name} of {type(model).__name__}", _quietly(model, name, rows))
    _quietly(model, "partial_fit", X, y)
    classes = _quietly(model, "__getattribute__", "classes_")
    if classes is not None and len(np.atleast_1d(classes)) == 2:
        _quietly(model, "partial_fit", X, np.asarray(classes)[y])
        _quietly(model, "partial_fit", sparse.csr_matrix(X), np.asarray(classes)[y])
    _quietly(model, "decision_function", X)


def _quietly(model: Any, name: str, *args: Any) -> Any:
    """What a method gives, or None: after an edited file any error will do, unless it is for want of memory."""
    try:
        with limited_memory(USE):
            return getattr(model, name)(*args)
    except MemoryError as error:
        raise Found("memory", f"{name} of a {type(model).__name__}: {str(error)[:200]}") from error
    except (*POLITE, Exception):
        return None


@contextlib.contextmanager
def limited_memory(more: int) -> Iterator[None]:
    """Let the process have so many bytes more than now, where the system can limit them; its end would say nothing."""
    if resource is None or not Path("/proc/self/statm").exists():
        yield
        return
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def reset_peak() -> int | None:
    """The memory in use, after the mark of the most that was in use is set back; None where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return peak()
    except OSError:
        return None


def peak() -> int:
    """The most memory that was in use."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
