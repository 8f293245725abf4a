"""One function, many structs, in Python and in Numba; and the cache of what was compiled.

A *struct* is a ``NamedTuple`` of floats and arrays: a loss, a penalty, a schedule, a kind of rows.
A *generic* function has one body per struct. A *kernel* is a compiled loop over such calls.
This is the only module that touches Numba's extension API and its on-disk cache.
"""

import hashlib
import os
import warnings
from functools import singledispatch
from pathlib import Path

import numba
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.extending import overload
from numba.misc.appdirs import AppDirs

PACKAGE = Path(__file__).resolve().parent


def generic(stub):
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

    def unknown(struct, *args):
        raise TypeError(missing(function, struct))

    unknown.__name__, unknown.__doc__, unknown.__module__ = stub.__name__, stub.__doc__, stub.__module__
    function = singledispatch(unknown)

    def implement(struct_class, **jit_options):
        def register(body):
            function.register(struct_class, body)

            @overload(function, strict=False, jit_options=jit_options)
            def choose(struct, *args):
                return body if getattr(struct, "instance_class", None) is struct_class else None

            return body

        return register

    function.implement = implement
    return function


def missing(function, struct):
    """The sentence for a struct that has no body of a generic function."""
    known = ", ".join(sorted(cls.__name__ for cls in function.registry if cls is not object))
    name = function.__name__
    return (
        f"'{name}' must have an implementation for {type(struct).__name__}; it has one for {known}. "
        f"Add yours with @{name}.implement({type(struct).__name__})."
    )


def require(function, struct):
    """Raise one clear sentence, before any compiling, when ``function`` has no body for ``struct``."""
    if type(struct) not in function.registry:
        raise TypeError(missing(function, struct))
    return struct


def floats(struct):
    """The struct with its plain numbers made floats: 0 and 0.0 would compile twice."""
    return struct._make(float(x) if isinstance(x, (int, float)) else x for x in struct)


def kernel(function=None, *, fastmath=False):
    """Compile a loop on first call; find the compiled code again in the next process.

    Compiled code lies in a folder named by a hash of every file of the package that defines kernels or
    structs, so an upgrade never runs stale code. The folder is below ``NUMBA_CACHE_DIR`` where that is set
    and in the user's cache folder otherwise; where neither can be written, code stays in memory.
    """
    if function is None:
        return lambda f: kernel(f, fastmath=fastmath)
    compiled = numba.njit(nogil=True, fastmath=fastmath)(function)
    if not numba.config.DISABLE_JIT and cache_folder() is not None:
        compiled._cache = _Cache(function)
    return compiled


REORDER = {"reassoc", "contract", "nsz"}
"""What a dot product may do to its sum; NaN and infinity stay honest."""


def source_files():
    """Every file of the package that defines kernels or structs."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if _defines_compiled_code(path.read_bytes())]


def _defines_compiled_code(source):
    return b"_generic import" in source or b".implement(" in source


def source_hash():
    """A hash of all code that can end up in a kernel."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in source_files():
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


_folder: list = []


def cache_folder():
    """Where compiled code is kept, or None (with one warning) when no folder can be written."""
    if not _folder:
        base = os.environ.get("NUMBA_CACHE_DIR") or AppDirs(appname="auclid", appauthor=False).user_cache_dir
        path = Path(base) / f"auclid-{source_hash()}"
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            _no_cache(error)
            path = None
        _folder.append(path)
    return _folder[0]


def _no_cache(error):
    warnings.warn(
        f"auclid cannot keep its compiled code on disk ({error}), so every process compiles again. "
        "Set NUMBA_CACHE_DIR to a folder that can be written.",
        RuntimeWarning,
        stacklevel=2,
    )


class _Locator(_CacheLocator):
    """All kernels lie in one folder whose name already says which sources they came from."""

    def __init__(self, py_func):
        self._module = py_func.__module__

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func)

    def get_cache_path(self):
        return str(cache_folder())

    def get_source_stamp(self):
        return "named by the folder"

    def get_disambiguator(self):
        return self._module


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _Cache(FunctionCache):
    """Numba's cache, but structs made by users stay in memory: nothing tells when their source changes."""

    _impl_class = _CacheImpl

    def load_overload(self, sig, target_context):
        return super().load_overload(sig, target_context) if _ours(sig) else None

    def save_overload(self, sig, data):
        if not _ours(sig):
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            if self._enabled:
                self.disable()
                _no_cache(error)


def _ours(sig):
    return all(_module(t).startswith("auclid.") for t in sig if isinstance(t, types.BaseNamedTuple))


def _module(struct_type):
    return struct_type.instance_class.__module__
