"""Interactive reports: `report` writes one about fitted models; `auclid compare` uses the same section."""

from auclid.reports._report import report

__all__ = ["report"]
