"""Code that scores rows without auclid: SQL, ONNX, PMML, JSON and Python."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from auclid._hints import did_you_mean
from auclid.errors import invalid_value
from auclid.exporters._json import json_text, python_module
from auclid.exporters._onnx import onnx_bytes
from auclid.exporters._pmml import pmml_text
from auclid.exporters._sql import DIALECTS, sql_text
from auclid.exporters.models import score_of

__all__ = ["export"]

TARGETS = ("sql", "onnx", "pmml", "json", "python")


def export(
    model: Any,
    path: Any = None,
    *,
    to: str = "sql",
    dialect: str = "ansi",
    table: str = "t",
    columns: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    probability: bool = False,
    dtype: str = "float32",
) -> str | bytes:
    """Write a fitted model as code that scores rows without auclid.

    Scores equal `decision_function` to 1e-9; those of ONNX with float32 inputs, or of trees, to about 1e-5.
    `AUCClassifier` and `Calibrated` round log-odds to multiples of 2⁻²⁸ = 3.7e-9, so in rare rows theirs differ by one
    such step.

    Parameters
    ----------
    model : fitted estimator
        A linear ranker, `Scorecard`, `RankBoost`, `Kernelized` or `KernelRankSVM` (kernels rbf and laplacian), a linear
        model of scikit-learn, `AUCClassifier` or `Calibrated` made of these, or a pipeline that begins with `Columns`
        or a scaler. What cannot be exported says why.
    path : str or path-like, optional
        A file to write as well.
    to : {"sql", "onnx", "pmml", "json", "python"}, default="sql"
        "sql": one SELECT of all columns of ``table`` and, last, ``score``. "onnx": a model with an input a column, or
        one input ``X`` where columns have no names, and the outputs ``score`` and ``probability``. "pmml": PMML
        4.4 with a Scorecard element, for models that are sums of functions of one or two columns. "json": an
        expression, documented in the guide. "python": a module with ``score(row: dict) -> float`` that needs no
        package.
    dialect : {"ansi", "sqlite", "duckdb", "postgresql", "spark"}, default="ansi"
        The dialect of SQL.
    table : str, default="t"
        The table that is selected from; ``schema.table`` names a schema.
    columns : sequence of str, optional
        The names of the columns, where the model was fitted to an array.
    keep : sequence of str, optional
        The columns of the table that SQL selects beside the score; None: all, and with some models columns
        ``auclid_1``, ``auclid_2``, … of intermediate values.
    probability : bool, default=False
        Whether SQL has a column ``probability`` before the score. Other targets always have one, where the model has.
    dtype : {"float32", "float64"}, default="float32"
        The type of numbers that an ONNX model takes and gives; inside, it calculates in float64.

    Returns
    -------
    str, or bytes of ONNX

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import LeastSquaresAUC, export
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 3.0]]), np.array([0, 0, 1, 1])
    >>> model = LeastSquaresAUC().fit(X, y)
    >>> print(export(model, dialect="sqlite", columns=["age", "debt"]).splitlines()[-1])
    FROM "t";
    """
    _check_choice("to", to, TARGETS)
    _check_choice("dialect", dialect, tuple(DIALECTS))
    _check_choice("dtype", dtype, ("float32", "float64"))
    score = score_of(model, columns)
    if to == "onnx":
        written: str | bytes = onnx_bytes(score, dtype)
    elif to == "sql":
        written = sql_text(score, dialect, table, keep, probability)
    else:
        written = {"pmml": pmml_text, "json": json_text, "python": python_module}[to](score)
    if path is not None:
        Path(os.fspath(path)).write_bytes(written.encode("utf-8") if isinstance(written, str) else written)
    return written


def _check_choice(parameter: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        hint = did_you_mean(value, choices)
        raise invalid_value("export", parameter, f"be one of {', '.join(choices)}", value, hint)
