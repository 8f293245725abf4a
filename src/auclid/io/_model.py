"""save and load."""

import json
import os
from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from auclid.io import _archive
from auclid.io._archive import ModelFileError
from auclid.io._values import Reader, Writer

Path = str | os.PathLike[str]

MODEL = "model.json"

LONGEST = 400
"""Characters of a reason: some name what a hostile file holds."""


def save(path: Any, model: Any, *, about: Any = None, trusted: Sequence[str] = ()) -> None:
    """Write a model to a file that anybody may load: arrays and JSON, no pickle.

    Estimators of auclid are kept as they are, with their state, so that a loaded online model goes on
    learning to the same bits. scikit-learn's parts around and inside them (pipelines, scalers, boosted trees,
    calibrators) are kept through skops (``pip install 'auclid[io]'``). The file is written beside ``path``,
    then renamed.

    Parameters
    ----------
    path : str or path-like
        It may also come second, as in joblib: ``save(model, path)``.
    model : estimator, fitted
        One that auclid exports, or a scikit-learn one. Functions, such as a callable kernel, are refused.
    about : dict, optional
        Anything JSON can hold, to go along with the model; `auclid.io.about` reads it back.
    trusted : sequence of str, optional
        Types of scikit-learn, with their modules, that are not on the list of those that `load` takes from anybody. Who
        loads the file must trust them too.

    Examples
    --------
    >>> import tempfile, auclid
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = auclid.LeastSquaresAUC().fit(X, y)
    >>> path = tempfile.mkdtemp() + "/model.auclid"
    >>> auclid.save(path, model)
    >>> bool((auclid.load(path).decision_function(X) == model.decision_function(X)).all())
    True
    """
    if isinstance(path, BaseEstimator) and not isinstance(model, BaseEstimator):
        path, model = model, path
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"save must be given an estimator; got {type(model).__name__}.")
    if isinstance(path, BaseEstimator):
        raise TypeError(f"save must be given a path for the model; got another one, {type(path).__name__}.")
    writer = Writer(tuple(trusted))
    structure = json.dumps(writer.item(model)).encode()
    if not is_fitted(model):
        raise NotFittedError(
            f"save must be given a fitted model; this {type(model).__name__} has learnt nothing yet. Fit it first."
        )
    _archive.write(path, {MODEL: structure, **writer.members}, {"about": about})


def is_fitted(model: BaseEstimator) -> bool:
    """Whether a model has learnt anything: scikit-learn's own question, or attributes that no parameter is."""
    last = model.steps[-1][1] if hasattr(model, "steps") and model.steps else model
    if not isinstance(last, BaseEstimator):
        return True
    if not get_tags(last).requires_fit:
        return True
    own = {name for name in vars(last) if name.endswith("_") and not name.startswith("__")}
    return bool(own) or bool(set(vars(last)) - set(last.get_params(deep=False)) - {"_skl_callbacks"})


def load(path: Path, *, trusted: Sequence[str] = ()) -> Any:
    """The model that `save` wrote. No code from the file runs, whoever wrote it.

    Parameters
    ----------
    path : str or path-like
    trusted : sequence of str, optional
        Types of scikit-learn, with their modules, to load besides those that can be taken from anybody. Such a file can
        end the process (an index out of range in compiled code), so name them only if you know who made it.

    Returns
    -------
    estimator

    Raises
    ------
    auclid.io.ModelFileError
        A ValueError: the file is damaged, hostile, of a newer format or no model file at all.
    """
    members = _archive.read(path)[1]
    try:
        model = Reader(members, tuple(trusted)).item(_archive.parsed(members.pop(MODEL)))
        if not isinstance(model, BaseEstimator):
            raise ModelFileError(f"it describes a {type(model).__name__}, no estimator.")
        return model
    except ImportError:
        raise
    except Exception as error:  # a file with a right checksum may still hold anything
        reason = str(error) if isinstance(error, ModelFileError) else f"{type(error).__name__}: {error}"
        reason = " ".join(reason.split())[:LONGEST]
        raise ModelFileError(f"{str(path)!r} must describe a model that auclid knows; {reason}") from None


def about(path: Path) -> Any:
    """What `save` was given to go along with the model.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict or None
    """
    return _archive.read(path)[0].get("about")
