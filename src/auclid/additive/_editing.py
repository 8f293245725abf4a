"""How a fitted scorecard is edited by hand: one edit, or a file of them, kept with the model."""

import json
import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Self

import numpy as np

from auclid import validation
from auclid.additive._columns import cell_block
from auclid.additive._editor import EvaluationRows, editor_page
from auclid.additive._edits import check_edit, edited_card, edited_shapes
from auclid.additive._point_table import BinSettings, renamed
from auclid.additive._points import range_text
from auclid.additive._shapes import Card, PairShape, Shape, locked, read_only
from auclid.errors import DataError, InvalidValueError
from auclid.metrics import compare_auc, compare_concordance, roc_auc
from auclid.validation import labels_to_score, partwise


class Editable:
    """The methods of `Scorecard` that change its shapes by hand."""

    shapes_: list
    knots_: dict
    classes_: np.ndarray
    scale_: float
    _card: Any
    _counts: Any
    _odds: Any
    _order_ranker: Any
    _edits: list = []
    _unedited: tuple[Card, list] | None = None
    """The card and the shapes as they were learnt, of an edited model."""
    _binned: Any
    _cells: Any
    _kept_columns: list
    contributions: Any
    decision_function: Any

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        self._lock()

    def _lock(self) -> None:
        """Make the arrays of shapes read-only: changed in place, they would change some answers and not the others."""
        if hasattr(self, "shapes_"):
            self.shapes_ = read_only(self.shapes_)
            self.knots_ = {name: locked(value) for name, value in self.knots_.items()}

    @property
    def _learnt_card(self) -> Card:
        """The card before any edit: moments are those of its basis."""
        return self._card if self._unedited is None else self._unedited[0]

    @property
    def edits_(self) -> list[dict[str, Any]]:
        """The edits made since the fit, in their order: dicts that `apply` takes, with the effect that was measured."""
        return deepcopy(self._edits)

    def edit(
        self,
        column: Any,
        action: str,
        *,
        low: float | None = None,
        high: float | None = None,
        at: float | None = None,
        levels: Sequence[str] | None = None,
        missing: bool = False,
        value: float | None = None,
        points: float | None = None,
        lower: float | None = None,
        upper: float | None = None,
        direction: int | None = None,
        reason: str = "",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Change the shape of a column by hand; scores, probabilities, points and plots follow.

        Parameters
        ----------
        column : str, or tuple of two
            The column, or the two of a pair, which can be capped and removed.
        action : "set", "merge", "cap", "remove", "monotone" or "freeze"
            - "set": one ``value`` in the part that is named, or of the shape ``at`` one value of the column.
            - "merge": one value in the part: the mean of the shape over its training rows.
            - "cap": no value below ``lower`` or above ``upper``.
            - "remove": the column, or the part, adds nothing.
            - "monotone": the nearest shape that only rises (``direction=1``) or only falls (-1). Pairs of the column
              stay as they are.
            - "freeze": later edits that would change the part are refused, and a model that learns on keeps its numbers
              (not their share of the score, where `partial_fit` goes on by another loss: see ``loss_``).
        low, high : float, optional
            The part low <= x < high of a column of numbers; else all of it. Dates are days since 1970.
        at : float, optional
        levels : list of str, optional
            The part of a category; else all levels.
        missing : bool, default=False
            Whether missing cells are the part, or belong to it.
        value : float, optional
            What the part adds to the score.
        points : float, optional
            In place of ``value``: how many points it adds, with the scale ``scale_``; they rise with ``classes_[1]``.
        lower, upper : float, optional
        direction : 1 or -1, optional
        reason : str, default=""
            Kept with the edit.
        X, y, sample_weight : rows with labels, optional
            Rows on which the change in AUC is measured, with its 95 % interval: ``edits_[-1]["effect"]``.

        Returns
        -------
        self

        Examples
        --------
        >>> from auclid import Scorecard
        >>> from auclid.datasets import load_mammography
        >>> X, y = load_mammography(return_X_y=True)
        >>> model = Scorecard(interactions=0).fit(X, y)
        >>> model = model.edit("x1", "set", low=2.0, high=3.0, value=0.5, reason="few rows", X=X, y=y)
        >>> X[:1, 1] = 2.5
        >>> float(model.contributions(X[:1])[0, 1]), model.edits_[0]["reason"]
        (0.5, 'few rows')
        """
        validation.fitted(self, "shapes_")
        if points is not None:
            if value is not None:
                raise InvalidValueError("Scorecard.edit must have a value or points; got both.")
            value = float(points) * np.log(2.0) / (self.scale_ * self._odds.slope)
        named = list(column) if isinstance(column, tuple) else column
        given = {"column": named, "action": action, "low": low, "high": high, "at": at, "value": value,
                 "levels": None if levels is None else list(levels), "missing": missing or None, "lower": lower,
                 "upper": upper, "direction": direction, "reason": reason}  # fmt: skip
        return self.apply([given], X, y, sample_weight)

    def apply(
        self, edits: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, replace: bool = False
    ) -> Self:
        """Make several edits, all of them or none.

        Parameters
        ----------
        edits : list of dict, dict with the list as "edits", JSON text, or path of a JSON file
            Each a dict with the parameters of `edit`; what ``edits_`` holds, and what the editor's page saves.
        X, y, sample_weight : rows with labels, optional
            Rows on which the change in AUC by all of these edits is measured; the last has it as its ``effect``.
        replace : bool, default=False
            Whether earlier edits are taken back first. ``apply([], replace=True)`` gives the card as it was learnt.

        Returns
        -------
        self
        """
        validation.fitted(self, "shapes_")
        new = [_plain(check_edit(edit)) for edit in read_edits(edits)]
        before = None if X is None else self.decision_function(X)
        old = self._card, self.shapes_, self._edits, self._unedited
        self._replay([*([] if replace else deepcopy(self._edits)), *new])
        try:
            if X is not None and new:
                self._edits[-1]["effect"] = self._effect(before, X, y, sample_weight)
        except Exception:
            self._card, self.shapes_, self._edits, self._unedited = old
            raise
        return self

    def editor(
        self,
        path: Any = None,
        *,
        X: Any = None,
        y: Any = None,
        max_rows: int = 2_000,
        max_bins: int | str = "auto",
        names: Any = None,
        title: str = "Scorecard editor",
    ) -> str:
        """An HTML page on which the points of shapes, or bins, are dragged; it saves a JSON file for `apply`.

        The page is one file and needs no network.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write.
        X, y : rows with labels, optional
            Evaluation rows. Their values are written into the page, which then shows how AUC, stability and rates
            change. Without them the page holds no rows.
        max_rows : int of at least 1, default=2000
            Rows that are written, at the most: every k-th where there are more.
        max_bins : int of at least 1 or "auto", default="auto"
            As for `points`.
        names : list of str, optional
            What to call the columns, where X had no names.
        title : str, default="Scorecard editor"

        Returns
        -------
        str
        """
        validation.fitted(self, "shapes_")
        binned = None if max_bins is None else self._binned(BinSettings(max_bins))
        if binned is None:
            raise InvalidValueError("Scorecard.editor must have bins; fit the model anew, or give max_bins=8.")
        rows = None if X is None else self._evaluation_rows(X, y, max_rows)
        factor = self.scale_ * self._odds.slope / np.log(2.0)
        shapes = renamed(self.shapes_, [column.name for column in self._kept_columns], names)
        page = editor_page(title, shapes, binned, factor, rows)
        if path is not None:
            Path(os.fspath(path)).write_text(page, encoding="utf-8")
        return page

    def _evaluation_rows(self, X: Any, y: Any, max_rows: int) -> EvaluationRows:
        """Some rows, with what the card says of them."""
        if not isinstance(max_rows, (int, np.integer)) or isinstance(max_rows, bool) or max_rows < 1:
            raise InvalidValueError(
                f"The 'max_rows' of Scorecard.editor must be an int of at least 1; got {max_rows!r}."
            )
        if self._order_ranker is not None:
            raise InvalidValueError("The page of Scorecard.editor must have rows of two classes, or none. Leave out X.")
        y, _ = labels_to_score(self, X, y, None)
        cells, parts, scores = self._dense_cells(X), self.contributions(X), self.decision_function(X)
        some = slice(None, None, max(1, -(-len(scores) // int(max_rows))))
        labels = np.asarray(y)[some] == self.classes_[1]
        return EvaluationRows(cells[some], labels, np.asarray(scores, np.float64)[some], parts[some])

    @partwise
    def _dense_cells(self, X: Any) -> np.ndarray:
        return cell_block(self._cells(X), slice(None))

    def _replay(self, edits: list[dict[str, Any]]) -> None:
        """The card as it was learnt, with all of these edits."""
        card, learnt = (self._card, self.shapes_) if self._unedited is None else self._unedited
        shapes = read_only(edited_shapes(learnt, self._counts, edits))
        self._card = edited_card(card, shapes) if edits else card
        self.shapes_ = shapes if edits else learnt
        self._edits, self._unedited = edits, (card, learnt) if edits else None

    def _effect(self, before: Any, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """The AUC of rows before and after, and the interval of the difference."""
        y, weight = labels_to_score(self, X, y, sample_weight)
        after, ranker = self.decision_function(X), self._order_ranker
        if ranker is None:
            more = {"sample_weight": weight, "pos_label": self.classes_[1]}
            change = compare_auc(y, after, before, **more)
            both = [float(roc_auc(y, scores, **more)) for scores in (before, after)]
        else:
            values, options = ranker._measured(y)
            change = compare_concordance(values, after, before, sample_weight=weight, **options)
            both = [ranker._concordance(scores, y, None, weight) for scores in (before, after)]
        found = {"rows": len(np.asarray(before)), "auc_before": both[0], "auc_after": both[1]}
        return found | {"difference": float(change.difference), "low": float(change.low), "high": float(change.high)}


def _plain(edit: dict[str, Any]) -> dict[str, Any]:
    """The edit in JSON's own types, so that it can be kept in a file."""
    try:
        return json.loads(json.dumps(edit, default=lambda x: x.item() if isinstance(x, np.generic) else list(x)))
    except (TypeError, ValueError):
        raise InvalidValueError(f"An edit of a Scorecard must hold numbers, texts and lists; got {edit!r}.") from None


def read_edits(edits: Any) -> list[Any]:
    """The list of edits of a list, a dict, JSON text or a file."""
    if isinstance(edits, (str, os.PathLike)):
        text = str(edits)
        if not text.lstrip().startswith(("[", "{")):
            path = Path(edits)
            if not path.exists():
                raise DataError(f"The edits must be a JSON file; there is no {str(path)!r}.")
            text = path.read_text(encoding="utf-8")
        try:
            edits = json.loads(text)
        except json.JSONDecodeError as error:
            raise DataError(f"The edits must be JSON; {error}.") from None
    if isinstance(edits, Mapping):
        edits = edits.get("edits", [edits] if "action" in edits else None)
    if not isinstance(edits, (list, tuple)):
        raise DataError("The edits must be a list of dicts, or a dict with such a list as 'edits'.")
    return list(edits)


def edit_text(edit: Mapping[str, Any], shapes: Sequence[Shape | PairShape]) -> str:
    """An edit as a line to print."""
    name = edit["column"]
    kind = next((shape.kind for shape in shapes if shape.name == name), "number")
    name = " × ".join(map(str, name)) if isinstance(name, (list, tuple)) else str(name)
    where = _where(edit, kind)
    numbers = [f"{key} {edit[key]:g}" for key in ("value", "lower", "upper", "direction") if key in edit]
    words = [edit["action"], name, *where, *numbers]
    reason = f" ({edit['reason']})" if edit.get("reason") else ""
    return " ".join(words) + reason + _effect_text(edit.get("effect"))


def _where(edit: Mapping[str, Any], kind: str) -> list[str]:
    out = [f"at {edit['at']:g}"] if "at" in edit else []
    if "low" in edit or "high" in edit:
        out.append(range_text(kind, edit.get("low", -np.inf), edit.get("high", np.inf)))
    if "levels" in edit:
        out.append(", ".join(map(str, edit["levels"])))
    return [*out, *(["missing"] if edit.get("missing") else [])]


def _effect_text(effect: Mapping[str, float] | None) -> str:
    if effect is None:
        return ""
    low, high = effect["low"], effect["high"]
    return f": AUC {effect['auc_after']:.4f}, {effect['difference']:+.4f} ({low:+.4f} to {high:+.4f})"
