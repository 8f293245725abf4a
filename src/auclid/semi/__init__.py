"""Methods that learn from few labelled and many unlabelled rows."""

from auclid.semi.pnu import PNUAUC
from auclid.semi.qsg import QSGS2AUC
from auclid.semi.samult import SAMULT

__all__ = ["SAMULT", "PNUAUC", "QSGS2AUC"]
