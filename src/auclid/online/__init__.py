"""Online methods: one step per row in the order of the stream, alone or paired with buffers of earlier rows."""

from auclid.online.cbr import CBR
from auclid.online.oam import OAM
from auclid.online.uni_exp import UniExp

__all__ = ["OAM", "CBR", "UniExp"]
