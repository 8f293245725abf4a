"""What all attacks share: what counts as broken, and numbers that break things."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning

EXTREMES = [0.0, -0.0, 1.0, -1.0, 1e-12, 1e-155, 1e-200, 5e-324, 1e12, 1e155, -1e155, 1e200, 1e308, -1e308, 1.7e308]
"""Finite numbers whose squares, products and sums are not."""

SCALES = [1.0, 1.0, 1.0, 1e-3, 1e6, 1e-12, 1e12, 1e-100, 1e100, 1e-155, 1e155, 1e-200, 1e200, 1e-300, 1e300]

POLITE = (
    ValueError,
    TypeError,
    MemoryError,
    NotImplementedError,
    OSError,
    ImportError,
    AttributeError,
    UndefinedMetricWarning,
)
"""Errors that say in a sentence what was wrong; AttributeError is scikit-learn's way to say that there is no method."""


class Found(AssertionError):
    """An attack that got through: what kind of harm, and where."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind, self.detail = kind, detail


def attempt(what: str, call: Callable[[], Any], polite: tuple[type[BaseException], ...] = POLITE) -> Any:
    """The result, or None after a polite error; anything else is found."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.simplefilter("error", UndefinedMetricWarning)  # the way to say that a figure does not exist
        try:
            result = call()
        except np.linalg.LinAlgError as error:  # a ValueError, but it speaks of a matrix that nobody gave
            raise Found("unclear error", f"{what}: {error}") from error
        except polite as error:
            if not str(error).strip():
                raise Found("error without a word", f"{what}: {type(error).__name__}") from error
            return None
        except Exception as error:
            raise Found("unclear error", f"{what}: {type(error).__name__}: {str(error)[:200]}") from error
        finally:
            storm(what, heard)
    return result


def storm(what: str, heard: list[warnings.WarningMessage]) -> None:
    """One kind of warning is said once, or a few times."""
    said: dict[str, int] = {}
    for warning in heard:
        key = f"{warning.category.__name__} {str(warning.message)[:40]}"
        said[key] = said.get(key, 0) + 1
    for key, count in said.items():
        if count > 20:
            raise Found("storm of warnings", f"{what}: {count} times {key}")


def finite(what: str, values: Any) -> None:
    """Scores are numbers."""
    if values is None:
        return
    values = values.data if sparse.issparse(values) else np.asarray(values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise Found("not finite", f"{what}: {values[~np.isfinite(values)][:3]}")


def frozen(value: Any) -> bytes:
    """The bytes of an input, to see whether somebody changed it."""
    if sparse.issparse(value):
        return b"".join(np.asarray(part).tobytes() for part in _parts(value))
    return np.asarray(value).tobytes() if not np.asarray(value).dtype.hasobject else repr(np.asarray(value)).encode()


def _parts(matrix: Any) -> list[Any]:
    names = ("data", "indices", "indptr", "row", "col")
    return [getattr(matrix, name) for name in names if hasattr(matrix, name)]


def pick(rng: np.random.Generator, options: Any) -> Any:
    """One of the options."""
    options = list(options)
    return options[int(rng.integers(len(options)))]
