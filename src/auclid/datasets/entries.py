"""The tables that papers on AUC maximisation use: their size, the task, and where they are to be had.

A table's own task is told here and nowhere else; an experiment says what its paper did otherwise.
"""

from typing import NamedTuple


class CatalogueEntry(NamedTuple):
    """One table of the literature and the binary task made of it."""

    name: str
    rows: int
    columns: int
    positive: str
    home: str
    labels: tuple[int, ...]
    embedded: bool = False


LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/"

DATASETS = [
    CatalogueEntry("mammography", 11_183, 6, "label 1 (260 rows)", "inside auclid; OpenML 310", (1,), embedded=True),
    CatalogueEntry("a9a", 32_561, 123, "label +1", LIBSVM, (1,)),
    CatalogueEntry("w8a", 49_749, 300, "label +1", LIBSVM, (1,)),
    CatalogueEntry("ijcnn1", 49_990, 22, "label +1", LIBSVM, (1,)),
    CatalogueEntry("german.numer", 1_000, 24, "the 300 bad credits", LIBSVM, (1,)),
    CatalogueEntry("diabetes", 768, 8, "the 268 sick", LIBSVM, (-1,)),
    CatalogueEntry("splice", 1_000, 60, "label +1", LIBSVM, (1,)),
    CatalogueEntry("svmguide3", 1_243, 22, "label +1", LIBSVM, (1,)),
    CatalogueEntry("cod-rna", 59_535, 8, "label +1", LIBSVM, (1,)),
    CatalogueEntry("magic04", 19_020, 10, "hadron, the smaller class", UCI, (-1,)),
    CatalogueEntry("skin_nonskin", 245_057, 3, "label 1", LIBSVM, (1,)),
    CatalogueEntry("letter", 15_000, 16, "A to M against N to Z", LIBSVM, tuple(range(1, 14))),
    CatalogueEntry("mnist", 60_000, 784, "digits 7, 8, 9 against the rest", LIBSVM, (7, 8, 9)),
    CatalogueEntry("covtype", 581_012, 54, "classes 4 to 7 against 1 to 3", LIBSVM, (4, 5, 6, 7)),
    CatalogueEntry("connect-4", 67_557, 126, "loss (16,635 games) against the rest", LIBSVM, (1,)),
    CatalogueEntry("news20", 15_935, 62_061, "labels up to 5 against the rest", LIBSVM, (1, 2, 3, 4, 5)),
    CatalogueEntry("sector.scale", 6_412, 55_197, "labels up to 10 against the rest", LIBSVM, tuple(range(1, 11))),
]


def catalogue() -> list[CatalogueEntry]:
    """The tables that papers on AUC maximisation use, as a list of records.

    Each record has ``name``, ``rows`` and ``columns`` (of the training part where a table comes in two),
    ``positive`` (which rows are the positive class), ``home`` (where it is to be had; `auclid experiments
    fetch` downloads it from there), ``labels`` (of the positive class, in the table's file) and ``embedded``.

    Examples
    --------
    >>> from auclid.datasets import catalogue
    >>> [table.name for table in catalogue() if table.embedded]
    ['mammography']
    """
    return list(DATASETS)
