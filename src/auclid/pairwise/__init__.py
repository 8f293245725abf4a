"""Methods that look at pairs of rows, one at random or all of them."""

from auclid.pairwise.factorization import FactorizationRanker
from auclid.pairwise.kernel_rank_svm import KernelRankSVM
from auclid.pairwise.rank_svm import RankSVM
from auclid.pairwise.sam import ASAM, PSAM

__all__ = ["RankSVM", "FactorizationRanker", "KernelRankSVM", "ASAM", "PSAM"]
