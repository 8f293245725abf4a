"""How many figures there are and what became of them, and what "met" is worth."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from auclid_papers.render import counted
from auclid_papers.verdicts import LEAST, RIVALS, Figure, verdict

MARKS = {"better": "▲ better", "met": "= met", "worse": "▼ worse"}


class Tally(NamedTuple):
    """How many published figures there are, and what became of them."""

    total: int
    rerun: int
    met: int
    better: int
    worse: int
    uncounted: int
    timed: int
    missing: int
    waiting: int
    foreign: int
    due: int  # of those waiting, how many count

    @classmethod
    def of(cls, found: Iterable[Figure]) -> "Tally":
        """Of figures as `summary` gives them."""
        found = list(found)
        said, every = Counter(f.verdict for f in found if f.counted), Counter(f.verdict for f in found)
        rerun = [f for f in found if f.mean is not None]
        return cls(
            total=len(found),
            rerun=len(rerun),
            met=said["met"],
            better=said["better"],
            worse=said["worse"],
            uncounted=sum(not f.counted and f.verdict in MARKS for f in rerun),
            timed=sum(f.verdict == "shown" for f in rerun),
            missing=every["missing"],
            waiting=every["not run"],
            foreign=every["not ours"],
            due=said["not run"],
        )

    @property
    def judged(self) -> int:
        return self.met + self.better + self.worse

    @property
    def good(self) -> int:
        return self.met + self.better

    def __str__(self) -> str:
        if not self.total:
            return "The paper prints no figures in tables; its plots are rerun."
        share = ""
        if self.judged:
            every = f"; {self.good / (self.judged + self.due):.1%} of all that count, {self.due} not run yet"
            share = f" ({self.good / self.judged:.1%} met or beaten{every if self.due else ''})"
        rest = {
            "compared but not counted": self.uncounted,
            "times shown without a verdict": self.timed,
            "not runnable for want of data": self.missing,
            "not run yet": self.waiting,
            "of methods that are not ours to run": self.foreign,
        }
        others = ", ".join(f"{number:,} {what}" for what, number in rest.items() if number)
        return (
            f"{counted(self.total, 'published figure')}, {self.rerun:,} rerun. Of {self.judged:,} counted, "
            f"{self.met:,} met, {self.better:,} beaten, {self.worse:,} missed{share}."
            f"{f' Besides: {others}.' if others else ''}"
        )


def judged(found: Iterable[Figure]) -> list[Figure]:
    """The figures that count and were run."""
    return [f for f in found if f.counted and f.verdict in MARKS]


class Weight(NamedTuple):
    """What "met" is worth in some figures: who else would meet them, and how wide their tolerance is."""

    judged: int
    good: int
    rivals: dict[str, tuple[int, int]]  # baseline: how many of how many figures it would meet or beat
    tolerance: float  # the median
    errors: float | None  # the median distance in standard errors
    flat: int  # missed by more than LEAST

    @classmethod
    def of(cls, found: Iterable[Figure]) -> "Weight | None":
        """Of the figures that count among these; None where there are none."""
        some = judged(found)
        if not some:
            return None
        beside = {name: [f.rivals[name] for f in some if name in f.rivals] for name in RIVALS}
        errors = [abs(f.errors) for f in some if f.errors is not None]
        return cls(
            judged=len(some),
            good=sum(f.verdict != "worse" for f in some),
            rivals={name: (sum(v != "worse" for v in said), len(said)) for name, said in beside.items() if said},
            tolerance=float(np.median([f.tolerance for f in some])),
            errors=float(np.median(errors)) if errors else None,
            flat=sum(verdict(f.mean or 0.0, f.published) == "worse" for f in some),
        )

    def __str__(self) -> str:
        others = " ".join(
            f"{name} in the same cells would meet {good} of {n} ({good / n:.0%})."
            for name, (good, n) in self.rivals.items()
        )
        errors = "" if self.errors is None else f" Median distance from the paper: {self.errors:.1f} standard errors."
        return (
            f"Of {counted(self.judged, 'counted figure')}, {self.good} met or beaten ({self.good / self.judged:.0%}). "
            f"{others} Median tolerance: {self.tolerance:.4f}; with a flat {LEAST} in its place {self.flat} would be "
            f"missed.{errors}"
        )
