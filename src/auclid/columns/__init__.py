"""Columns: numbers out of any table."""

from auclid.columns.transformer import Columns

__all__ = ["Columns"]
