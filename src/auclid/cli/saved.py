"""A model file as `auclid predict` and `auclid evaluate` use it: the model, and what `auclid fit` recorded with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from auclid.cli.data import read, text
from auclid.errors import DataError
from auclid.io import about, load


class SavedModel(NamedTuple):
    """A fitted classifier and what `fit` recorded with it; nothing where the model was saved otherwise."""

    estimator: Any
    known: dict[str, Any]

    @classmethod
    def open(cls, path: Path) -> "SavedModel":
        """The model of a file."""
        if not path.exists():
            raise DataError(f"MODEL must be a file that `auclid fit` wrote; there is no {str(path)!r}.")
        model = load(path)
        if not is_classifier(model) or not hasattr(model, "classes_"):
            holds = f"{str(path)!r} holds a {type(model).__name__}, which gives no labels"
            raise DataError(f"MODEL must hold a fitted classifier; {holds}.")
        return cls(model, _known(path))

    @property
    def target(self) -> str | None:
        """The column with the labels, where it was recorded."""
        return self.known.get("target")

    @property
    def names(self) -> list[str] | None:
        """The columns the model was fitted to, where that was recorded."""
        names = self.known.get("columns")
        if names is None and hasattr(self.estimator, "feature_names_in_"):
            names = [str(name) for name in self.estimator.feature_names_in_]
        return names

    @property
    def positive(self) -> str:
        """The label that the model ranks on top."""
        return str(self.known["classes"][1] if "classes" in self.known else self.estimator.classes_[1])

    def labels(self, predicted: np.ndarray) -> list[str]:
        """Predictions by the names of their classes in the training file."""
        names = self.known.get("classes")
        return [names[int(label)] for label in predicted] if names else [str(label) for label in predicted]

    def expect(self, y: np.ndarray) -> None:
        """Refuse labels that a model of two named classes has never seen."""
        classes = self.known.get("classes")
        if classes is None or classes[0] == "rest":
            return
        strange = [text(label) for label in np.unique(y) if text(label) not in classes]
        if strange:
            raise DataError(
                f"The target must hold the model's classes, {classes[0]} and {classes[1]}; it has {strange[0]!r}. "
                "Compare one with the rest: --positive LABEL."
            )

    def rows(
        self, data: Path, target: str | None = None, but: Sequence[str] = ()
    ) -> tuple[Any, np.ndarray | None, list[str]]:
        """Rows as the model knows them: columns by the names that were recorded, dense or sparse.

        Those of ``but`` are left out without a word, unless the model knows them.
        """
        names, how = self.names, {}
        if self.known.get("frame") or (not self.known and names is not None):
            how = {"as_frame": True, "drop": [name for name in but if name not in (names or ())]}
        X, y, _, notes = read(data, target, columns=names, **how)  # type: ignore[arg-type]
        return X.toarray() if self.known.get("dense") and sparse.issparse(X) else X, y, notes


def _known(path: Path) -> dict[str, Any]:
    told = about(path)
    if not isinstance(told, dict) or not told.keys() >= {"columns", "classes", "dense"}:
        return {}
    columns, classes, target = told["columns"], told["classes"], told.get("target")
    texts = all(isinstance(names, list) and all(isinstance(x, str) for x in names) for names in (columns, classes))
    if not texts or len(classes) != 2 or not isinstance(target, str | None):
        raise DataError(f"MODEL must say the names of its columns and of two classes; {str(path)!r} does not.")
    return told
