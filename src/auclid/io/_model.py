"""save and load."""

import json

from auclid.io import _archive
from auclid.io._archive import ModelFileError
from auclid.io._values import Reader, Writer

MODEL = "model.json"


def save(path, model, *, about=None):
    """Write a model to a file that anybody may load: arrays and JSON, no pickle.

    Estimators of auclid are kept as they are, with their state, so that a loaded online model goes on
    learning to the same bits. scikit-learn's parts around and inside them (pipelines, scalers, boosted trees,
    calibrators) are kept through skops (``pip install 'auclid[io]'``). The file is written beside ``path``,
    then renamed.

    Parameters
    ----------
    path : str or path-like
    model : estimator
        One that auclid exports, or a scikit-learn one. Functions, such as a callable kernel, are refused.
    about : dict, optional
        Anything JSON can hold, to go along with the model; `auclid.io.about` reads it back.

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
    writer = Writer()
    structure = json.dumps(writer.item(model)).encode()
    _archive.write(path, {MODEL: structure, **writer.members}, {"about": about})


def load(path):
    """The model that `save` wrote. No code from the file runs, whoever wrote it.

    Parameters
    ----------
    path : str or path-like

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
        return Reader(members).item(json.loads(members[MODEL]))
    except ImportError:
        raise
    except Exception as error:  # a file with a right checksum may still hold anything
        reason = str(error) if isinstance(error, ModelFileError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{str(path)!r} must describe a model that auclid knows; {reason}") from None


def about(path):
    """What `save` was given to go along with the model.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict or None
    """
    return _archive.read(path)[0].get("about")
