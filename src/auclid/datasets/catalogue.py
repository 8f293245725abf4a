"""The tables that papers on AUC maximisation use: their size, the task, and where they are to be had."""

from typing import NamedTuple


class Dataset(NamedTuple):
    """One table of the literature and the binary task made of it."""

    name: str
    rows: int
    columns: int
    positive: str
    home: str
    embedded: bool = False


LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/"

DATASETS = [
    Dataset("mammography", 11_183, 6, "label 1 (260 rows)", "inside auclid; OpenML 310", embedded=True),
    Dataset("a9a", 32_561, 123, "label +1", LIBSVM),
    Dataset("w8a", 49_749, 300, "label +1", LIBSVM),
    Dataset("ijcnn1", 49_990, 22, "label +1", LIBSVM),
    Dataset("german.numer", 1_000, 24, "the 300 bad credits", LIBSVM),
    Dataset("diabetes", 768, 8, "the 268 sick", LIBSVM),
    Dataset("splice", 1_000, 60, "label +1", LIBSVM),
    Dataset("svmguide3", 1_243, 22, "label +1", LIBSVM),
    Dataset("cod-rna", 59_535, 8, "label +1", LIBSVM),
    Dataset("magic04", 19_020, 10, "hadron, the smaller class", UCI),
    Dataset("skin_nonskin", 245_057, 3, "label 1", LIBSVM),
    Dataset("letter", 15_000, 16, "A to M", LIBSVM),
    Dataset("mnist", 60_000, 784, "digits 7, 8, 9", LIBSVM),
    Dataset("covtype", 581_012, 54, "classes 4 to 7", LIBSVM),
    Dataset("connect-4", 67_557, 126, "the class of 24.6 %", LIBSVM),
    Dataset("news20", 15_935, 62_061, "labels 1 to 5", LIBSVM),
    Dataset("sector.scale", 6_412, 55_197, "labels up to 10", LIBSVM),
]


def catalogue():
    """The tables that papers on AUC maximisation use, as a list of records.

    Each record has ``name``, ``rows`` and ``columns`` (of the training part where a table comes in two),
    ``positive`` (which rows are the positive class), ``home`` (where it is to be had; `auclid experiments
    fetch` downloads it from there) and ``embedded``.

    Examples
    --------
    >>> from auclid.datasets import catalogue
    >>> [table.name for table in catalogue() if table.embedded]
    ['mammography']
    """
    return list(DATASETS)
