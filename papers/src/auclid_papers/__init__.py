"""Every table and figure of the papers, as data, and one runner that reruns them."""

from auclid_papers.definitions import Experiment, experiment, experiments
from auclid_papers.record import Record
from auclid_papers.runner import Plan, folder_of, run
from auclid_papers.verdicts import Figure, published, summary, verdict

__all__ = [
    "Experiment", "Figure", "Plan", "Record", "experiment", "experiments", "folder_of", "published", "run", "summary",
    "verdict",
]  # fmt: skip
