"""Generic functions over structs, and compiled kernels.

A *struct* is a ``NamedTuple`` of floats and arrays: a loss, a penalty, a schedule, a storage format of rows.
A *generic* function has one implementation per struct class, in Python and in Numba. A *kernel* is a compiled loop that
may call generic functions.

Numba is imported when the first kernel is called: what never calls one, such as a metric of some thousand rows, does
without it.
"""

import threading
import typing
from collections.abc import Callable, Mapping
from functools import cached_property, singledispatch, update_wrapper, wraps
from numbers import Real
from types import ModuleType
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Body = TypeVar("Body", bound=Callable[..., Any])
Struct = TypeVar("Struct")

_lock = threading.RLock()
_loaded: list[ModuleType] = []
_registrations: list[Callable[[ModuleType], None]] = []
"""What Numba is to be told once it is imported; later registrations reach it at once."""


def load_numba() -> ModuleType:
    """`auclid._compilation`, which imports Numba, with everything registered that was defined so far."""
    with _lock:
        if not _loaded:
            try:
                from auclid import _compilation as module
            except ModuleNotFoundError as error:
                raise ImportError(
                    f"Compiled loops need Numba, and {error.name} is not installed: pip install numba. Without it "
                    "metrics of small inputs work, and nothing else."
                ) from error
            for register in _registrations:
                register(module)
            _loaded.append(module)
        return _loaded[0]


def _when_numba_is_loaded(register: Callable[[ModuleType], None]) -> None:
    with _lock:
        if _loaded:
            register(_loaded[0])
        else:
            _registrations.append(register)


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
        def register(body: Body) -> Body:
            dispatcher.register(struct_class, body)
            _when_numba_is_loaded(
                lambda numba: numba.register_implementation(dispatcher, struct_class, body, jit_options)
            )
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
        return lambda f: _make_kernel(f, fastmath, allocates, inner)
    return _make_kernel(function, fastmath, allocates, inner)


def _make_kernel(function: Callable[..., Any], fastmath: bool | set[str], allocates: bool, inner: bool) -> Any:
    """The kernel of a function: the function itself, known to Numba, if only kernels call it."""
    if inner:
        _when_numba_is_loaded(lambda numba: numba.register_inner_kernel(function, fastmath, allocates))
        return function
    return Kernel(function, fastmath, allocates)


class Kernel:
    """A function that is compiled when it is first called, from Python or in another kernel."""

    def __init__(self, function: Callable[..., Any], fastmath: bool | set[str], allocates: bool) -> None:
        update_wrapper(self, function)
        self._settings = function, fastmath, allocates

    @cached_property
    def compiled(self) -> Any:
        """Numba's dispatcher of the function."""
        return load_numba().compile_kernel(*self._settings)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.compiled(*args, **kwargs)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes this object for where another kernel calls it."""
        return self.compiled._numba_type_

    def __reduce__(self) -> str:
        return self._settings[0].__qualname__  # other processes find it by its name


def prefetch(array: np.ndarray, start: int, count: int) -> None:
    """Hint to the processor that ``count`` entries of a C-ordered array, from entry ``start`` on, will soon be read.

    It affects time only: rows in random order spend longer waiting for memory than in arithmetic. The processor itself
    anticipates the rest of a long row, so the hint covers half a kilobyte at most.
    """


_when_numba_is_loaded(lambda numba: numba.register_prefetch(prefetch))

REORDER = {"reassoc", "contract", "nsz"}
"""Fast-math flags of dot products: sums may be reordered, NaN and infinity keep their meaning."""
