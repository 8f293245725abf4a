"""Model files that can be loaded from strangers: arrays and JSON in one file; no code runs on load."""

from auclid.io._container import ModelFileError
from auclid.io._files import may_write, replacing
from auclid.io._model import about, load, save

__all__ = ["ModelFileError", "about", "load", "may_write", "replacing", "save"]
