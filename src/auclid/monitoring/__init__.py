"""Monitoring: what has changed since a model was made, and whether it still ranks as well."""

from auclid.monitoring.chart import ControlChart, auc_standard_error, control_chart
from auclid.monitoring.profiles import ColumnProfile, Profile, profile
from auclid.monitoring.report import ColumnDrift, MonitorReport, Period, monitor

__all__ = [
    "ColumnDrift",
    "ColumnProfile",
    "ControlChart",
    "MonitorReport",
    "Period",
    "Profile",
    "auc_standard_error",
    "control_chart",
    "monitor",
    "profile",
]
