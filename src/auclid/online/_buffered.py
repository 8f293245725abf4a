"""The base class of the estimators of buffered online methods."""

from typing import Any

from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid.base import StreamRanker
from auclid.solvers.buffered import BufferedSolver
from auclid.stats.buffers import POLICIES


class BufferedRanker(StreamRanker):
    """A stream in which each row is paired with the buffered rows of the opposite class."""

    _causal = True

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "C": [validation.real(closed="neither"), None],
        "buffer_size": [validation.at_least(1)],
        "buffer": [StrOptions(set(POLICIES))],
    }

    def _publish_settings(self, solver: BufferedSolver[Any], state: Any) -> None:
        self.C_ = solver.last_limit(state)
