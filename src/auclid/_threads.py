"""Threads: those of the numerical libraries limited for a while, and independent pieces of work side by side.

What comes out does not depend on how many threads there are.
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
R = TypeVar("R")


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of this process; looking for them takes some milliseconds, longer than many a fit."""
    from sklearn import cluster  # noqa: F401  it loads the OpenMP of scikit-learn, which is to be among them

    return ThreadpoolController()


def limited(threads: int | None, api: str | None = None) -> AbstractContextManager[Any]:
    """A context in which BLAS and OpenMP, or the one named, use so many threads; None leaves them as they are."""
    return _libraries().limit(limits=threads, user_api=api)


@cache
def _blas() -> list[Any]:
    """Those of BLAS alone, which are loaded by now: importing others would take longer than most fits."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


def allowed() -> int:
    """As many threads as BLAS may use now: so OMP_NUM_THREADS and threadpoolctl's limits hold here, too."""
    return min((int(library.num_threads or 1) for library in _blas()), default=1)


def thread_map(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The function of each item, in their order. It should leave Python's lock alone most of the time, as kernels do.

    Examples
    --------
    >>> from auclid._threads import thread_map
    >>> thread_map(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    threads = min(allowed(), len(items)) if len(items) > 1 else 1
    if threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


def bounded_thread_map(function: Callable[[T], R], items: Iterable[T], most: int) -> Iterator[R]:
    """The function of each item, in their order, of at most so many at a time: few are made before they are wanted.

    Examples
    --------
    >>> from auclid._threads import bounded_thread_map
    >>> list(bounded_thread_map(abs, [-1, 2, -3], most=4))
    [1, 2, 3]
    """
    threads = min(allowed(), most) if most > 1 else 1
    if threads < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        left = iter(items)
        coming = deque(pool.submit(function, item) for item in islice(left, threads + 1))
        try:
            while coming:
                answer = coming.popleft().result()
                coming.extend(pool.submit(function, item) for item in islice(left, 1))
                yield answer
        finally:
            pool.shutdown(cancel_futures=True)  # after an error, no more are begun
