"""Coverage of intervals of the concordance: levels, censored times, rows within groups.

`python benchmarks/coverage_ordered.py [runs]` simulates and renews the last section of docs/coverage.md.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from auclid.metrics import concordance, concordance_interval

PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"
TITLE = "## Concordance"
LARGE = 400_000
"""Rows from which the true concordance comes."""

SIZES = {"levels": (30, 50, 100), "censored times": (60, 100, 200), "groups of 5": (20, 50, 100)}
"""Rows, or groups, of a sample; of censored times about 58 % are events."""

GROUP_ROWS = 5


def sample(kind: str, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Values, scores, and the options of the metric."""
    n = size * GROUP_ROWS if kind == "groups of 5" else size
    s = rng.normal(size=n)
    if kind == "censored times":
        time, end = rng.exponential(size=n) * np.exp(-s), 1.5 * rng.exponential(size=n)
        return np.minimum(time, end), s, {"event": time <= end}
    latent = s + rng.normal(size=n)
    if kind == "levels":
        return np.digitize(latent, [-1.0, 0.0, 1.0]), s, {}
    groups = np.repeat(np.arange(size), GROUP_ROWS)
    return np.digitize(latent + 2.0 * rng.normal(size=size)[groups], [-2.0, 0.0, 2.0]), s, {"groups": groups}


def covered(kind: str, size: int, clusters: bool, runs: int) -> tuple[float, float]:
    """(Percentage of samples whose 95 % interval holds the true concordance, their mean standard error over the true
    one)."""
    rng = np.random.default_rng([size, clusters])
    values, s, options = sample(kind, LARGE // (GROUP_ROWS if kind == "groups of 5" else 1), rng)
    true, inside, found = concordance(values, s, **options), 0, np.empty((runs, 2))
    for k in range(runs):
        values, s, options = sample(kind, size, rng)
        one = concordance_interval(values, s, **options, clusters=options["groups"] if clusters else None)
        inside += one.low <= true <= one.high
        found[k] = one.concordance, one.se
    return 100.0 * inside / runs, float(found[:, 1].mean() / found[:, 0].std(ddof=1))


def lines(runs: int) -> Iterator[str]:
    """The section of the page."""
    yield TITLE
    yield (
        "\nMade by `python benchmarks/coverage_ordered.py`: the percentage of samples whose 95 % interval of\n"
        "`concordance_interval` holds the true concordance, and the mean standard error as a multiple of the true\n"
        f"one. Four levels; censored times with about 58 % events; levels within groups of five rows. {runs:,}\n"
        "samples each. The bar is 93 to 97 % from 50 events, or rows of levels, on.\n\n"
        "With `groups` alone rows are taken for independent and groups for fixed, as R's `survival::concordance` does\n"
        "with strata: a row's influence holds the mean of its group, which the group's other rows share, so errors\n"
        "are too large and intervals too long. `clusters=groups` adds rows of a group up first; the command does so.\n"
    )
    yield "| rows | size | covered | standard error |\n|:--|--:|--:|--:|"
    for kind, sizes in SIZES.items():
        for clusters in (False, True) if kind == "groups of 5" else (False,):
            for size in sizes:
                share, ratio = covered(kind, size, clusters, runs)
                name = f"{kind}, `clusters=groups`" if clusters else kind
                unit = "groups" if kind == "groups of 5" else "rows"
                line = f"| {name} | {size} {unit} | {share:.1f} | {ratio:.2f} |"
                print(line, flush=True)
                yield line


def main(runs: int = 2000) -> None:
    """Renew the section."""
    page = PAGE.read_text(encoding="utf-8").partition(TITLE)[0].rstrip()
    PAGE.write_text(page + "\n\n" + "\n".join(lines(runs)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
