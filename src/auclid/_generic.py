"""Generic functions over structs, compiled kernels, and the on-disk cache of compiled code.

A *struct* is a ``NamedTuple`` of floats and arrays: a loss, a penalty, a schedule, a storage format of rows.
A *generic* function has one implementation per struct class, in Python and in Numba. A *kernel* is a compiled loop that
may call generic functions. Only this module uses Numba's extension API and Numba's cache.
"""

import hashlib
import os
import typing
import uuid
import warnings
from collections.abc import Callable, Mapping
from functools import singledispatch, wraps
from numbers import Real
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.extending import intrinsic, overload, register_jitable
from numba.misc.appdirs import AppDirs

PACKAGE = Path(__file__).resolve().parent

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Body = TypeVar("Body", bound=Callable[..., Any])
Struct = TypeVar("Struct")

INTERNAL_OPTIONS: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Numba options of code that only compiled code calls: the wrapper for calls from Python takes a third of the compile
time."""


class GenericFunction(Protocol[P, R_co]):
    """What `generic` returns: a function that dispatches on the class of its first argument."""

    __name__: str
    __doc__: str | None

    @property
    def registry(self) -> Mapping[type, Callable[..., Any]]:
        """The implementation of each struct class; ``object`` stands for all others."""

    @property
    def implement(self) -> Callable[..., Callable[[Body], Body]]:
        """``@f.implement(StructClass, **jit_options)`` registers an implementation."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


def generic(stub: Callable[P, R]) -> GenericFunction[P, R]:
    """Turn a documented stub into a generic function; ``@f.implement(Struct)`` adds an implementation.

    The class of the first argument selects the implementation. Inside a kernel the selection happens while compiling,
    so a generic call costs as little as a direct one.

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

    @wraps(stub)
    def not_implemented(struct: Any, *args: Any) -> Any:
        raise TypeError(missing_implementation(dispatcher, struct))

    dispatcher: Any = singledispatch(not_implemented)

    def implement(struct_class: type, **jit_options: Any) -> Callable[[Body], Body]:
        options: Any = {**INTERNAL_OPTIONS, **jit_options}

        def register(body: Body) -> Body:
            dispatcher.register(struct_class, body)

            @overload(dispatcher, strict=False, jit_options=options)
            def select(struct: Any, *args: Any) -> Body | None:
                return body if getattr(struct, "instance_class", None) is struct_class else None

            return body

        return register

    dispatcher.implement = implement
    return dispatcher


def missing_implementation(function: GenericFunction[..., Any], struct: object) -> str:
    """The error message for a struct without an implementation of a generic function."""
    implemented = ", ".join(sorted(cls.__name__ for cls in implemented_for(function)))
    name = function.__name__
    return (
        f"'{name}' must have an implementation for {type(struct).__name__}; it has one for {implemented}. "
        f"Add yours with @{name}.implement({type(struct).__name__})."
    )


def implemented_for(function: GenericFunction[..., Any]) -> set[type]:
    """The struct classes for which a generic function has an implementation."""
    return function.registry.keys() - {object}


def as_floats(struct: Struct) -> Struct:
    """The struct with its plain numbers converted to float: 0 and 0.0 would compile twice."""
    fields: Any = struct
    return fields._make(float(x) if isinstance(x, Real) else x for x in fields)


@typing.overload
def kernel(function: Callable[P, R], /) -> Callable[P, R]: ...


@typing.overload
def kernel(
    *, fastmath: bool | set[str] = False, allocates: bool = True, inner: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    fastmath: bool | set[str] = False,
    allocates: bool = True,
    inner: bool = False,
) -> Any:
    """Compile a function on its first call, and load the compiled code from disk in later processes.

    The cache folder is named by a hash of every file of the package that defines kernels or structs, so stale code
    never runs. It lies below ``NUMBA_CACHE_DIR`` where that is set, else in the user's cache folder. Where neither is
    writable, compiled code stays in memory.

    Parameters
    ----------
    function : the function to compile; None where ``kernel`` is used with options
    fastmath : LLVM fast-math flags, for instance `REORDER`
    allocates : False for hot loops that create no array and return only whole arrays that they were given. Numba then
        counts no array references, which costs as much as the arithmetic of a short row.
    inner : True for functions that only kernels call. They compile faster, and run as plain Python when called there.
    """
    if function is None:
        return lambda f: _compile(f, fastmath, allocates, inner)
    return _compile(function, fastmath, allocates, inner)


def _compile(function: Callable[..., Any], fastmath: bool | set[str], allocates: bool, inner: bool) -> Any:
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "_nrt": allocates, "no_cfunc_wrapper": True}
    if inner:
        return register_jitable(**options, no_cpython_wrapper=True)(function)
    compiled: Any = numba.njit(**options)(function)
    jit_enabled = not getattr(numba.config, "DISABLE_JIT", False)
    if jit_enabled and _is_own_module(function.__module__) and cache_folder() is not None:
        compiled._cache = _Cache(function)
    return compiled


def prefetch(array: np.ndarray, start: int, count: int) -> None:
    """Hint to the processor that ``count`` entries of a C-ordered array, from entry ``start`` on, will soon be read.

    It affects time only: rows in random order spend longer waiting for memory than in arithmetic. The processor itself
    anticipates the rest of a long row, so the hint covers half a kilobyte at most.
    """


@overload(prefetch, jit_options=INTERNAL_OPTIONS)
def _prefetch(array: Any, start: Any, count: Any) -> Callable[..., None]:
    line = 512 // array.dtype.bitwidth

    def body(array: Any, start: Any, count: Any) -> None:  # Numba requires the annotations of the outer function
        for k in range(start, start + min(count, 8 * line), line):
            _prefetch_line(array, k)  # type: ignore[call-arg]

    return body


@intrinsic
def _prefetch_line(context: Any, array: Any, k: Any) -> Any:
    """Prefetch one cache line: llvm.prefetch for reading, with the highest temporal locality."""

    def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = target.make_array(signature.args[0])(target, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        int32 = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [address.type, int32, int32, int32])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [address.type], function_type)
        builder.call(instruction, [address, int32(0), int32(3), int32(1)])
        return target.get_dummy_value()

    return types.void(array, types.intp), generate


REORDER = {"reassoc", "contract", "nsz"}
"""Fast-math flags of dot products: sums may be reordered, NaN and infinity keep their meaning."""


def source_files() -> list[Path]:
    """Every file of the package that defines kernels or structs."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if _defines_compiled_code(path.read_bytes())]


def _defines_compiled_code(source: bytes) -> bool:
    return b"_generic import" in source or b".implement(" in source


def source_hash() -> str:
    """A hash of all code that a kernel can contain, and of Numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in source_files():
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


_cache_folder: list[Path | None] = []


def cache_folder() -> Path | None:
    """The folder of compiled code, or None (after one warning) if no folder is writable."""
    if not _cache_folder:
        base = os.environ.get("NUMBA_CACHE_DIR") or AppDirs(appname="auclid", appauthor=False).user_cache_dir
        path = Path(base) / f"auclid-{source_hash()}"
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
            _cache_folder.append(path)
        except OSError as error:
            _warn_no_cache(error)
            _cache_folder.append(None)
    return _cache_folder[0]


def _warn_no_cache(error: OSError) -> None:
    warnings.warn(
        f"auclid cannot keep its compiled code on disk ({error}), so every process compiles again. "
        "Set NUMBA_CACHE_DIR to a folder that can be written.",
        RuntimeWarning,
        stacklevel=2,
    )


class _Locator(_CacheLocator):
    """Puts all kernels into one folder, whose name identifies the sources."""

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


class _CacheFiles(IndexDataCacheFile):
    """Numba's cache files of one kernel, made safe against concurrent writers and damaged files.

    Numba numbers data files by the contents of the index, so two processes that save at once could write different code
    under one name and load each other's. Here a data file has a random name, and an unreadable file counts as absent.
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
    """Numba's cache without signatures of users' structs, since nothing reveals a change of their source."""

    _impl_class = _CacheImpl

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        locator = self._impl.locator
        self._cache_file = _CacheFiles(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return super().load_overload(sig, target_context) if _only_own_structs(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        if cache_folder() is None or not _only_own_structs(sig):
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _cache_folder[:] = [None]
            _warn_no_cache(error)


def _only_own_structs(sig: Any) -> bool:
    """Whether every struct among these types, at any depth, is defined in this package."""
    tuples: list[Any] = [t for t in sig if isinstance(t, types.BaseTuple)]
    structs: list[Any] = [t for t in tuples if isinstance(t, types.BaseNamedTuple)]
    own = all(_is_own_module(t.instance_class.__module__) for t in structs)
    return own and all(_only_own_structs(t.types) for t in tuples)


def _is_own_module(module: str) -> bool:
    return module.startswith("auclid.")
