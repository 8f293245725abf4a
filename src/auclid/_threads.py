"""Independent pieces of work side by side: what comes out does not depend on how many threads there are."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")


@cache
def _libraries() -> list[Any]:
    """The BLAS libraries of this process; looking for them takes some milliseconds."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


def allowed() -> int:
    """As many threads as BLAS may use now: so OMP_NUM_THREADS and threadpoolctl's limits hold here, too."""
    return min((int(library.num_threads or 1) for library in _libraries()), default=1)


def side_by_side(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The function of each item, in their order. It should leave Python's lock alone most of the time, as kernels do.

    Examples
    --------
    >>> from auclid._threads import side_by_side
    >>> side_by_side(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    threads = min(allowed(), len(items))
    if threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))
