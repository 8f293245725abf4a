"""Compare ways to learn on the same held-out rows, of one table or of several: what `auclid compare` does."""

from auclid.comparison._compare import behind_columns, compare
from auclid.comparison._ordered import compare_ordered
from auclid.comparison._ranks import TableComparison, compare_tables, mean_ranks
from auclid.comparison._results import ModelComparison
from auclid.comparison._tests import ComparedModel

__all__ = [
    "ComparedModel",
    "ModelComparison",
    "TableComparison",
    "behind_columns",
    "compare",
    "compare_ordered",
    "compare_tables",
    "mean_ranks",
]
