"""scikit-learn's callbacks (ProgressBar, ScoringMonitor, ...), where the installed version has them."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9: estimators work without callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Placeholder: this version of scikit-learn has no callbacks."""


def fit_iterations(
    estimator: Any, max_iter: int | None, attributes: Callable[[], dict[str, Any]], X: Any = None, y: Any = None
) -> Iterator[int]:
    """Yield 0 to ``max_iter`` - 1, calling the estimator's callbacks; stop early if one of them asks for it.

    ``attributes`` returns the fitted attributes as they would be if the fit stopped now. It is called only when a
    callback inspects the model. With ``max_iter`` None the caller breaks the loop.
    """
    numbers = count() if max_iter is None else range(max_iter)
    init_context = getattr(estimator, "_init_callback_context", None)
    if init_context is None or not getattr(estimator, "_skl_callbacks", None):
        yield from numbers
        return
    root = init_context(max_subtasks=max_iter)
    root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    try:
        for number in numbers:
            task = root.subcontext(task_name=f"step {number}")
            task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
            try:
                yield number
            finally:  # also if the caller breaks on convergence
                stop = task.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=attributes)
            if stop:
                break
    finally:
        root.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=attributes)
