"""One file a kind of source; `open_source` finds the right one."""

from auclid.rows.readers.open import open_source
from auclid.rows.readers.reader import Block, Reader, Run, Wanted

__all__ = ["Block", "Reader", "Run", "Wanted", "open_source"]
