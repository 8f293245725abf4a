"""One function, many structs, in Python and in Numba; and the cache of what was compiled.

A *struct* is a ``NamedTuple`` of floats and arrays: a loss, a penalty, a schedule, a kind of rows.
A *generic* function has one body per struct. A *kernel* is a compiled loop over such calls.
This is the only module that touches Numba's extension API and its on-disk cache.
"""

import hashlib
import os
import uuid
import warnings
from collections.abc import Callable
from functools import singledispatch
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.extending import intrinsic, overload, register_jitable
from numba.misc.appdirs import AppDirs

PACKAGE = Path(__file__).resolve().parent


Body = Callable[..., Any]
Struct = TypeVar("Struct")
"""A ``NamedTuple``; what is made of one is of the same class."""


UNCALLED: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of code that only compiled code calls: what a call from Python needs takes a third of the time to compile."""


def generic(stub: Any) -> Any:
    """Open a documented stub: ``@f.implement(Struct)`` adds a body, in Python and in Numba.

    The first argument chooses the body. Inside a kernel the choice is made while compiling, so a generic
    call costs nothing against a hand-written one.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from auclid._generic import generic
    >>> @generic
    ... def area(shape):
    ...     "Area of a shape."
    >>> class Square(NamedTuple):
    ...     side: float
    >>> @area.implement(Square)
    ... def _(shape):
    ...     return shape.side**2
    >>> area(Square(3.0))
    9.0
    """

    def unknown(struct: Any, *args: Any) -> Any:
        raise TypeError(missing(function, struct))

    unknown.__name__, unknown.__doc__, unknown.__module__ = stub.__name__, stub.__doc__, stub.__module__
    function: Any = singledispatch(unknown)

    def implement(struct_class: type, **jit_options: Any) -> Callable[[Body], Body]:
        options: Any = {**UNCALLED, **jit_options}

        def register(body: Body) -> Body:
            function.register(struct_class, body)

            @overload(function, strict=False, jit_options=options)
            def choose(struct: Any, *args: Any) -> Body | None:
                return body if getattr(struct, "instance_class", None) is struct_class else None

            return body

        return register

    function.implement = implement
    return function


def missing(function: Any, struct: object) -> str:
    """The sentence for a struct that has no body of a generic function."""
    known = ", ".join(sorted(cls.__name__ for cls in function.registry if cls is not object))
    name = function.__name__
    return (
        f"'{name}' must have an implementation for {type(struct).__name__}; it has one for {known}. "
        f"Add yours with @{name}.implement({type(struct).__name__})."
    )


def registered(function: Any) -> set[type]:
    """The structs that a generic function has a body for."""
    return function.registry.keys() - {object}


def floats(struct: Struct) -> Struct:
    """The struct with its plain numbers made floats: 0 and 0.0 would compile twice."""
    fields: Any = struct
    return fields._make(float(x) if isinstance(x, Real) else x for x in fields)


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    fastmath: bool | set[str] = False,
    allocates: bool = True,
    inner: bool = False,
) -> Any:
    """Compile a loop on first call; find the compiled code again in the next process.

    Compiled code lies in a folder named by a hash of every file of the package that defines kernels or
    structs, so an upgrade never runs stale code. The folder is below ``NUMBA_CACHE_DIR`` where that is set
    and in the user's cache folder otherwise; where neither can be written, code stays in memory.

    ``allocates=False`` is for hot loops that make no array and return whole ones they were given: Numba then counts no
    references to arrays, which costs as much as a short row's arithmetic wherever a loop hands arrays to a function.
    ``inner`` is for what only kernels call: it compiles faster, and is plain, slow Python when called from there.
    """
    if function is None:
        return lambda f: kernel(f, fastmath=fastmath, allocates=allocates, inner=inner)
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "_nrt": allocates, "no_cfunc_wrapper": True}
    if inner:
        return register_jitable(**options, no_cpython_wrapper=True)(function)
    compiled: Any = numba.njit(**options)(function)
    if not getattr(numba.config, "DISABLE_JIT", False) and _ours(function.__module__) and cache_folder() is not None:
        compiled._cache = _Cache(function)
    return compiled


def prefetch(array: np.ndarray, start: int, count: int) -> None:
    """Hint that ``count`` entries of a C-ordered array, from the ``start``-th on, will soon be read.

    It changes nothing but time: rows in random order wait for the memory longer than they are computed with.
    The processor by itself sees the rest of a long row coming, so only half a kilobyte is asked for.
    """


@overload(prefetch, jit_options=UNCALLED)
def _prefetch(array, start, count):
    line = 512 // array.dtype.bitwidth

    def body(array, start, count):
        for k in range(start, start + min(count, 8 * line), line):
            _ask(array, k)

    return body


@intrinsic
def _ask(context, array, k):
    """One cache line towards the processor: llvm.prefetch for reading, to be kept in all caches."""

    def generate(target, builder, signature, args):
        data = target.make_array(signature.args[0])(target, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(ask, [place, number(0), number(3), number(1)])
        return target.get_dummy_value()

    return types.void(array, types.intp), generate


REORDER = {"reassoc", "contract", "nsz"}
"""What a dot product may do to its sum; NaN and infinity stay honest."""


def source_files() -> list[Path]:
    """Every file of the package that defines kernels or structs."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if _defines_compiled_code(path.read_bytes())]


def _defines_compiled_code(source: bytes) -> bool:
    return b"_generic import" in source or b".implement(" in source


def source_hash() -> str:
    """A hash of all code that can end up in a kernel."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in source_files():
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


_folder: list[Path | None] = []


def cache_folder() -> Path | None:
    """Where compiled code is kept, or None (with one warning) when no folder can be written."""
    if not _folder:
        base = os.environ.get("NUMBA_CACHE_DIR") or AppDirs(appname="auclid", appauthor=False).user_cache_dir
        path = Path(base) / f"auclid-{source_hash()}"
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
            _folder.append(path)
        except OSError as error:
            _no_cache(error)
            _folder.append(None)
    return _folder[0]


def _no_cache(error: OSError) -> None:
    warnings.warn(
        f"auclid cannot keep its compiled code on disk ({error}), so every process compiles again. "
        "Set NUMBA_CACHE_DIR to a folder that can be written.",
        RuntimeWarning,
        stacklevel=2,
    )


class _Locator(_CacheLocator):
    """All kernels lie in one folder whose name already says which sources they came from."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._module, self._py_file = py_func.__module__, py_file

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_Locator":
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return "named by the folder"

    def get_disambiguator(self) -> str:
        return self._module


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _Files(IndexDataCacheFile):
    """Numba's files of one kernel, made safe for several writers and for damage.

    Numba numbers data files by what the index holds, so two processes that save at once could write different code
    under one name and load each other's. A file that cannot be read counts as absent.
    """

    def _data_name(self, number: int) -> str:
        return super()._data_name(uuid.uuid4().int)

    def _load_index(self) -> dict:
        try:
            return super()._load_index()
        except Exception:
            return {}

    def load(self, key: Any) -> Any:
        try:
            return super().load(key)
        except Exception:
            return None


class _Cache(FunctionCache):
    """Numba's cache, but structs made by users stay in memory: nothing tells when their source changes."""

    _impl_class = _CacheImpl

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        locator = self._impl.locator
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return super().load_overload(sig, target_context) if _only_ours(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        if cache_folder() is None or not _only_ours(sig):
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _folder[:] = [None]
            _no_cache(error)


def _only_ours(sig: Any) -> bool:
    """Whether every struct among these types, at any depth, is the package's own."""
    inside: list[Any] = [t for t in sig if isinstance(t, types.BaseTuple)]
    named: list[Any] = [t for t in inside if isinstance(t, types.BaseNamedTuple)]
    return all(_ours(t.instance_class.__module__) for t in named) and all(_only_ours(t.types) for t in inside)


def _ours(module: str) -> bool:
    return module.startswith("auclid.")
