"""What a comparison gives: models, the best first, and paired differences."""

from typing import NamedTuple

import numpy as np

from auclid._page import table
from auclid.comparison._tests import ComparedModel, SplitJudge, paired_differences
from auclid.errors import invalid_value
from auclid.metrics import PairComparison


class ModelComparison(NamedTuple):
    """Models, the best first, and paired differences; ``str`` of it is a table."""

    models: list[ComparedModel]
    pairs: list[PairComparison]
    """Each model against the baseline, or all pairs where there is none."""
    level: float
    how: str = ""
    """How rows were split, in words."""
    splits: list[tuple[np.ndarray, np.ndarray]] = []
    """Numbers of the rows to learn from and to test on, of each split."""
    rows: np.ndarray = np.zeros(0, dtype=np.intp)
    """Numbers of the rows that were held out at least once, in order."""
    notes: list[str] = []
    judge: SplitJudge | None = None
    """How differences are tested."""

    def against(self, name: str, *, correction: str = "holm") -> list[PairComparison]:
        """The AUC of one model minus that of each other model, with paired tests; the smallest difference first.

        Parameters
        ----------
        name : str
            The name of a model.
        correction : {"holm", "bonferroni", "none"}, default="holm"
        """
        own = next((model for model in self.ranked if model.name == name), None)
        if own is None or self.judge is None:
            raise invalid_value("against", "name", f"be one of {', '.join(m.name for m in self.ranked)}", name)
        pairs = [(own, model) for model in self.ranked if model is not own]
        return sorted(paired_differences(pairs, self.judge, correction), key=lambda pair: pair.difference)

    @property
    def ranked(self) -> list[ComparedModel]:
        """The models that could be fitted, the best first."""
        return [model for model in self.models if not model.trouble]

    @property
    def best(self) -> ComparedModel:
        """The model with the highest AUC."""
        return self.models[0]

    def __str__(self) -> str:
        width = max(len(model.name) for model in self.models)
        lines = [f"{m.name:<{width}}  {m.auc:.4f}  ({m.low:.4f} to {m.high:.4f})" for m in self.ranked]
        lines += [f"{m.name:<{width}}  failed: {m.trouble}" for m in self.models if m.trouble]
        lines += [f"{p.a} − {p.b}: {p.difference:+.4f}, adjusted p = {p.adjusted:.2g}" for p in self.pairs]
        return "\n".join([*lines, *([f"Measured by {self.how}."] if self.how else [])])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The tables that notebooks show: models, and paired differences."""
        models = [
            {"model": m.name, "AUC": f"{m.auc:.4f}", "interval": f"{m.low:.4f} to {m.high:.4f}", "note": m.trouble}
            for m in self.models
        ]
        pairs = [
            {"difference": f"{p.a} − {p.b}", "AUC": f"{p.difference:+.4f}", "adjusted p": f"{p.adjusted:.2g}"}
            for p in self.pairs
        ]
        shown = [("Models, the best first", models), ("Paired differences", pairs)]
        return "".join(table(title, lines) for title, lines in shown if lines)
