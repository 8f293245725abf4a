"""Every table and figure of the papers, as data, and one runner that reruns them."""

from auclid.experiments.definitions import Experiment, experiment, experiments
from auclid.experiments.record import Record
from auclid.experiments.runner import Plan, folder_of, run
from auclid.experiments.verdicts import Figure, published, summary, verdict

__all__ = [
    "Experiment", "Figure", "Plan", "Record", "experiment", "experiments", "folder_of", "published", "run", "summary",
    "verdict",
]  # fmt: skip
