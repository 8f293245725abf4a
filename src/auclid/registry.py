"""Every method by the name its paper gives it."""

import difflib
import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from auclid.square import SPAM, LeastSquaresAUC, LeastSquaresAUCCV


class Method(NamedTuple):
    """One method of the literature."""

    name: str
    build: Callable
    reference: str
    good_for: str
    online: bool = True
    sparse: bool = True
    kernel: bool = False
    semi_supervised: bool = False


GAO = "Gao, Jin, Zhu & Zhou 2013, One-pass AUC optimization"
NATOLE = "Natole, Ying & Lyu 2018, Stochastic proximal algorithms for AUC maximization"

SQUARE = [
    Method("B-LS-SVM", LeastSquaresAUC, GAO, "the exact square-loss answer in one mergeable pass"),
    Method("LeastSquaresAUCCV", LeastSquaresAUCCV, GAO, "the same with alpha cross-validated", online=False),
    Method("SPAM-L2", SPAM, NATOLE, "wide sparse rows, streams"),
    Method("SPAM-NET", partial(SPAM, l1=1e-3), NATOLE, "few features out of many"),
]

METHODS = [*SQUARE]

ALIASES = {"LeastSquaresAUC": "B-LS-SVM", "SPAM": "SPAM-L2"}
"""Names of classes, where a paper calls the method otherwise."""


def algorithms():
    """All methods that `make` knows, as a list of records.

    Each record has ``name``, ``reference``, ``good_for``, ``online``, ``sparse``, ``kernel``, ``semi_supervised``.

    Examples
    --------
    >>> from auclid import algorithms
    >>> [m.name for m in algorithms() if m.name.startswith("SPAM")]
    ['SPAM-L2', 'SPAM-NET']
    """
    return list(METHODS)


def make(name, **params):
    """The estimator a paper calls ``name``; case and punctuation are forgiven.

    Parameters
    ----------
    name : str
        A name that `algorithms` lists, or a class's own name.
    **params
        Constructor keywords, over the method's own.

    Returns
    -------
    estimator, not fitted

    Examples
    --------
    >>> from auclid import make
    >>> make("spam l2", alpha=0.01)
    SPAM(alpha=0.01)
    """
    return find(name).build(**params)


def find(name):
    """The record of a method."""
    known = {_plain(method.name): method for method in METHODS}
    known.update({_plain(alias): known[_plain(target)] for alias, target in ALIASES.items()})
    if _plain(name) not in known:
        names = [method.name for method in METHODS]
        near = [known[k].name for k in difflib.get_close_matches(_plain(name), known, n=3)]
        hint = f"Did you mean {' or '.join(dict.fromkeys(near))}?" if near else f"Known are: {', '.join(names)}."
        raise ValueError(f"make must be given the name of a method; got {name!r}. {hint}")
    return known[_plain(name)]


def _plain(name):
    return re.sub(r"[^a-z0-9]", "", str(name).casefold())
