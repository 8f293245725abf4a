"""Numba at work: compiled kernels, what Numba is told of generic functions, and the on-disk cache of compiled code.

Importing this module imports Numba and LLVM, so `auclid._generic` imports it when the first kernel is called. Only this
module uses Numba's extension API and Numba's cache.
"""

import functools
import gc
import hashlib
import os
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import lower_builtin, overload, register_jitable, type_callable
from numba.misc.appdirs import AppDirs

PACKAGE = Path(__file__).resolve().parent


class _InlinedLibrary(JITCodeLibrary):
    """The code of a function that is inlined wherever it is called: LLVM optimizes it there, and not here as well.

    Functions with fast-math flags are not compiled so: their loops are vectorized less well once they are inlined.
    """

    def _optimize_final_module(self) -> None:
        """Leave the code as it is."""


class _InlinedCompiler(Compiler):
    """Numba's compiler of functions that are always inlined."""

    def define_pipelines(self) -> Any:
        self.state.library = _InlinedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


INTERNAL_OPTIONS: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
"""Numba options of code that only compiled code calls. The wrapper for calls from Python takes a third of the compile
time. Rows and states are some seventy machine words: a call passes all of them, which takes longer than the arithmetic
of a row of thirty columns, so these functions are inlined whatever LLVM estimates."""


def compile_kernel(function: Callable[..., Any], fastmath: bool | set[str], allocates: bool) -> Any:
    """The compiled function; what it compiles is kept on disk if the function belongs to this package."""
    compiled: Any = numba.njit(**_options(fastmath, allocates))(function)
    if not getattr(numba.config, "DISABLE_JIT", False):
        compiled.compile = _without_collections(compiled.compile)
        if _is_own_module(function.__module__) and cache_folder() is not None:
            compiled._cache = _Cache(function)
    return compiled


def _without_collections(compile_signature: Callable[..., Any]) -> Callable[..., Any]:
    """The function with Python's garbage collector off.

    Numba makes so many objects that the collector takes a sixth of the time. It finds some 10 to 25 MB more afterwards.
    """

    @functools.wraps(compile_signature)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not gc.isenabled():  # by the user, or by another compilation, which may end before this one
            return compile_signature(*args, **kwargs)
        try:
            gc.disable()
            return compile_signature(*args, **kwargs)
        finally:
            gc.enable()

    return call


def register_inner_kernel(function: Callable[..., Any], fastmath: bool | set[str], allocates: bool) -> None:
    """Let kernels call a function; Python goes on calling it as it is."""
    register_jitable(**_inlined(_options(fastmath, allocates)))(function)


def _options(fastmath: bool | set[str], allocates: bool) -> dict[str, Any]:
    return {"nogil": True, "fastmath": fastmath, "_nrt": allocates, "no_cfunc_wrapper": True}


def _inlined(options: dict[str, Any]) -> Any:
    """Options of a function that only compiled code calls."""
    compiler = {} if options.get("fastmath") else {"pipeline_class": _InlinedCompiler}
    return INTERNAL_OPTIONS | compiler | options


def register_implementation(
    dispatcher: Any, struct_class: type, body: Callable[..., Any], jit_options: dict[str, Any]
) -> None:
    """Let kernels call a generic function with a struct of this class."""

    @overload(dispatcher, strict=False, jit_options=_inlined(jit_options))
    def select(struct: Any, *args: Any) -> Callable[..., Any] | None:
        return body if getattr(struct, "instance_class", None) is struct_class else None


def register_prefetch(prefetch: Callable[[np.ndarray, int, int], None]) -> None:
    """Let `prefetch` hint to the processor where a kernel calls it."""
    type_callable(prefetch)(lambda context: lambda array, start, count: types.none)
    lower_builtin(prefetch, types.Array, types.Integer, types.Integer)(_prefetch)


def _prefetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Prefetch up to eight cache lines: llvm.prefetch for reading, with the highest temporal locality."""
    array = signature.args[0]
    data = context.make_array(array)(context, builder, args[0]).data
    start, count = (context.cast(builder, args[k], signature.args[k], types.intp) for k in (1, 2))
    line, word = 512 // array.dtype.bitwidth, ir.IntType(32)
    most, pointer = count.type(8 * line), ir.IntType(8).as_pointer()
    count = builder.select(builder.icmp_signed("<", count, most), count, most)
    function_type = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
    instruction = builder.module.declare_intrinsic("llvm.prefetch", [pointer], function_type)
    with cgutils.for_range_slice(builder, start, builder.add(start, count), count.type(line)) as (k, _):
        address = builder.bitcast(builder.gep(data, [k]), pointer)
        builder.call(instruction, [address, word(0), word(3), word(1)])
    return context.get_dummy_value()


def source_files() -> list[Path]:
    """Every file of the package that defines kernels or structs, and this one, which says how they are compiled."""
    own = Path(__file__).resolve()
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path == own or _defines_compiled_code(path.read_bytes())]


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
