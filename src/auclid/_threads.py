"""Threads: limits for the thread pools of numerical libraries, and ordered maps over independent work items.

Results do not depend on the number of threads.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
ReturnT = TypeVar("ReturnT")


@cache
def _all_libraries() -> ThreadpoolController:
    """The thread pools of this process. Finding them takes milliseconds, longer than many a fit, hence the cache."""
    from sklearn import cluster  # noqa: F401  loads scikit-learn's OpenMP, which must be among them

    return ThreadpoolController()


def limit_threads(threads: int | None, api: str | None = None) -> AbstractContextManager[Any]:
    """A context in which BLAS and OpenMP, or the named API, use this many threads; None leaves them unchanged."""
    return _all_libraries().limit(limits=threads, user_api=api)


@cache
def _blas_libraries() -> list[Any]:
    """The loaded BLAS libraries. Loading others only to ask them would take longer than most fits."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


def allowed_threads() -> int:
    """The number of threads that BLAS may use now, so that OMP_NUM_THREADS and threadpoolctl's limits apply here."""
    return min((int(library.num_threads or 1) for library in _blas_libraries()), default=1)


def thread_map(function: Callable[[T], ReturnT], items: Sequence[T]) -> list[ReturnT]:
    """The results of a function for each item, in their order.

    Threads help only if the function releases the global interpreter lock most of the time, as kernels do.

    Examples
    --------
    >>> from auclid._threads import thread_map
    >>> thread_map(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    threads = min(allowed_threads(), len(items)) if len(items) > 1 else 1
    if threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


def bounded_thread_map(function: Callable[[T], ReturnT], items: Iterable[T], max_threads: int) -> Iterator[ReturnT]:
    """The results of a function for each item, in their order, with few results computed ahead of their use.

    Examples
    --------
    >>> from auclid._threads import bounded_thread_map
    >>> list(bounded_thread_map(abs, [-1, 2, -3], max_threads=4))
    [1, 2, 3]
    """
    threads = min(allowed_threads(), max_threads) if max_threads > 1 else 1
    if threads < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        remaining = iter(items)
        pending = deque(pool.submit(function, item) for item in islice(remaining, threads + 1))
        try:
            while pending:
                result = pending.popleft().result()
                pending.extend(pool.submit(function, item) for item in islice(remaining, 1))
                yield result
        finally:
            pool.shutdown(cancel_futures=True)  # after an error no further item is started
