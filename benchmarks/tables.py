"""The benchmark tables and their tasks, read from the folder that AUCLID_DATA names."""

import os
import sys
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from auclid.datasets import catalogue
from auclid_papers.data import is_positive

POSITIVE = {table.name: table.labels for table in catalogue()}
"""Which labels are positive; of a table that is not here, the rarest."""

SHORT = {"german": "german.numer", "skin": "skin_nonskin", "sector": "sector.scale"}

GIVEN_TEST = {"a9a", "mnist", "letter", "sector.scale", "splice", "pendigits", "usps", "madelon", "dota2"}
"""Tables that come with a test part which holds both classes."""


HALVES = {"development": slice(0, None, 2), "confirmation": slice(1, None, 2)}
"""Which of the sorted names: rules are chosen on the one half, and confirmed on the other."""


def names():
    """All tables at hand, sorted; training and test parts count once."""
    files = (path.name.removesuffix(".npz") for path in folder().glob("*.npz"))
    return sorted({name.removesuffix(".train").removesuffix(".test") for name in files})


def main_part(name):
    """`raw` of all rows, or of the training part of a table that comes in two."""
    return raw(name, "train" if (folder() / f"{name}.train.npz").exists() else None)


def capped(is_pos, cap):
    """Numbers of at most ``cap`` rows (0: all): positives in proportion, yet a hundred where there are so many."""
    if not cap or len(is_pos) <= cap:
        return np.arange(len(is_pos))
    rng, rare = np.random.default_rng(0), is_pos.sum()
    n_rare = int(max(round(cap * rare / len(is_pos)), min(rare, 100)))
    parts = ((is_pos, n_rare), (~is_pos, cap - n_rare))
    return np.sort(np.concatenate([rng.choice(np.flatnonzero(part), n, replace=False) for part, n in parts]))


def folder():
    """The data folder, or None."""
    path = os.environ.get("AUCLID_DATA")
    return Path(path) if path and Path(path).is_dir() else None


def require_data():
    """The data folder; ends the script, saying so, where there is none."""
    if folder() is None:
        print("skipped: set AUCLID_DATA to the folder with the benchmark tables")
        sys.exit(0)
    return folder()


def raw(name, part=None):
    """X (dense float32, or CSR float32) and the original labels of one file."""
    stem = folder() / ".".join([SHORT.get(name, name), *([part] if part else [])])
    labels = Path(f"{stem}.y.npy")
    if labels.exists():
        return sparse.csr_matrix(sparse.load_npz(f"{stem}.npz")).astype(np.float32), np.load(labels)
    with np.load(f"{stem}.npz") as file:
        return file["X"].astype(np.float32), file["y"]


def positive(name, y, among=None):
    """Labels as booleans, after the task of the table; the rarest is the rarest ``among`` others, where those count."""
    name = SHORT.get(name, name)
    if name in POSITIVE:
        return is_positive(y, POSITIVE[name])
    labels = y if among is None else among
    return np.isin(y, labels[is_positive(labels, "rarest")])


def split(name, seed=0, dense=None, scale=True):
    """(X_train, y_train, X_test, y_test): the given test part, or a stratified 80/20 split by ``seed``.

    Standardised when dense, max-abs scaled when sparse. ``dense=True`` makes a sparse table dense first.
    """
    name = SHORT.get(name, name)
    has_parts = (folder() / f"{name}.train.npz").exists()
    X, labels = raw(name, "train" if has_parts else None)
    y = positive(name, labels)
    if name in GIVEN_TEST:
        X_test, labels_test = raw(name, "test")
        y_test = positive(name, labels_test, labels)  # a test part may have another rarest label
    else:
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    if dense and sparse.issparse(X):
        X, X_test = X.toarray(), X_test.toarray()
    if scale:
        scaler = (MaxAbsScaler() if sparse.issparse(X) else StandardScaler()).fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if sparse.issparse(X):
        X, X_test = X.tocsr(), X_test.tocsr()
    return X, y.astype(int), X_test, y_test.astype(int)
