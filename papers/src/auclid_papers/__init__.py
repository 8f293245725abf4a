"""The tables and figures of the papers as data, and a runner that reruns them."""

from auclid_papers.comparison import load_results, published, summary, verdict
from auclid_papers.definitions import Experiment, experiment, experiments
from auclid_papers.record import Record
from auclid_papers.runner import Plan, results_folder, run

__all__ = [
    "Experiment", "Plan", "Record", "experiment", "experiments", "load_results", "published", "results_folder", "run",
    "summary", "verdict",
]  # fmt: skip
