"""Online methods: each row is met once, in order, alone or against two buffers of earlier rows."""

from auclid.online.cbr import CBR
from auclid.online.oam import OAM
from auclid.online.uni_exp import UniExp

__all__ = ["CBR", "OAM", "UniExp"]
