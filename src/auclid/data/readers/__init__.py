"""One file a kind of source; `open_source` finds the right one."""

from auclid.data.readers.open import open_source
from auclid.data.readers.reader import Block, ColumnSelection, Reader, Run

__all__ = ["Block", "Reader", "Run", "ColumnSelection", "open_source"]
