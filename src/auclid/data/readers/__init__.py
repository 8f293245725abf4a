"""The only parsers of files and tables, a module for each kind of source; `open_source` finds the right one."""

from auclid.data.readers.open import open_source
from auclid.data.readers.reader import ColumnSelection, Reader, Run, SchemaChanged, SourceBlock

__all__ = ["ColumnSelection", "Reader", "Run", "SchemaChanged", "SourceBlock", "open_source"]
