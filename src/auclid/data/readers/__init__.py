"""The only parsers of files and tables, a module for each kind of source; `open_source` finds the right one."""

from auclid.data.readers.open import open_source
from auclid.data.readers.reader import Block, ColumnSelection, Reader, Run, SchemaChanged

__all__ = ["Block", "ColumnSelection", "Reader", "Run", "SchemaChanged", "open_source"]
