"""One file a kind of source; `open_source` finds the right one."""

from auclid.rows.readers.open import open_source
from auclid.rows.readers.reader import Block, Reader, Wanted

__all__ = ["Block", "Reader", "Wanted", "open_source"]
