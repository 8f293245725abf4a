"""scikit-learn's callbacks (ProgressBar, ScoringMonitor, ...), where the installed version has them."""

from collections.abc import Callable, Iterator
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9: estimators work, callbacks are not offered

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks in this version of scikit-learn."""


def steps(
    estimator: Any, count: int | None, attributes: Callable[[], dict[str, Any]], X: Any = None, y: Any = None
) -> Iterator[int]:
    """Count from 0 to ``count`` - 1, telling the estimator's callbacks; stop early where one of them says so.

    ``attributes`` is a function that gives the fitted attributes as they would be if the fit stopped now; it is
    called only when a callback wants to look at the model. ``count`` None means: until the caller breaks.
    """
    begin = getattr(estimator, "_init_callback_context", None)
    if begin is None or not getattr(estimator, "_skl_callbacks", None):
        yield from _count(count)
        return
    root = begin(max_subtasks=count)
    root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    try:
        for number in _count(count):
            task = root.subcontext(task_name=f"step {number}")
            task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
            try:
                yield number
            finally:  # also where the caller breaks, having converged
                stop = task.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=attributes)
            if stop:
                break
    finally:
        root.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=attributes)


def _count(count: int | None) -> Iterator[int]:
    number = 0
    while count is None or number < count:
        yield number
        number += 1
