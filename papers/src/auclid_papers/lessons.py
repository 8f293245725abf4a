"""What the record says about methods: the pages "What we learned", short and with all methods."""

from collections.abc import Iterator
from functools import cache

import pandas as pd

from auclid import algorithms
from auclid_papers import pays
from auclid_papers.definitions import experiments
from auclid_papers.intervals import Interval, mean_interval
from auclid_papers.markdown import TEXTS, bullets, counted, heading, link, signed, table
from auclid_papers.methods import BASELINES, build
from auclid_papers.overview import OTHER_PAGES
from auclid_papers.pairwise import AUC, LOGISTIC, SPEED, TASK, TREES, Comparison, Measure, complete_runs, ratio

WORDS = TEXTS["lessons"]


def table_runs(results: pd.DataFrame) -> pd.DataFrame:
    """The complete runs of the papers' tables."""
    tables = [one.id for one in experiments().values() if one.covers]
    return complete_runs(results[results["experiment"].isin(tables)])


def _lead(runs: pd.DataFrame) -> str:
    datasets, tables = counted(runs["dataset"].nunique(), "dataset"), counted(runs["experiment"].nunique(), "table")
    return f"From {len(runs):,} runs on {datasets} in {tables} of the record."


# --- the page with all methods -------------------------------------------------------------------------------------


def full_page(results: pd.DataFrame) -> tuple[str, list[str]]:
    """The page with all methods: title and blocks."""
    runs = table_runs(results)
    cells = runs[[*TASK, "method"]].itertuples(index=False, name=None)
    is_stream = [method in BASELINES or is_one_pass(one, dataset, method) for one, dataset, method in cells]
    sections = [
        *_situation("Quality", runs, AUC),
        *_situation("Time", runs, SPEED),
        *_situation("Streams: one-pass methods, and baselines", runs.loc[is_stream], AUC),
        *_where_baselines_win(runs),
    ]
    nothing = [heading("Quality"), WORDS["no_runs"]]
    return OTHER_PAGES["what-we-learned-tables"], [_lead(runs), WORDS["method"], *(sections or nothing)]


@cache
def is_one_pass(name: str, published: str, method: str) -> bool:
    """Whether a method sees each row once in an experiment, and has partial_fit."""
    if method not in {m.name for m in algorithms() if m.online}:
        return False
    one = experiments()[name]
    params = build(method, one.settings(one.dataset(published), one.method(method))["fixed"], 0).get_params()
    epochs = [value for param, value in params.items() if param.split("__")[-1] == "n_epochs"]
    return epochs in ([], [1])


def _situation(title: str, runs: pd.DataFrame, measure: Measure) -> list[str]:
    """A section on which method beats which: sentences, and a table; no section if no interval is known."""
    found = Comparison(runs, measure)
    names = sorted({a for a, _ in found})
    signs = {a: [gap.sign for (name, _), gap in found.items() if name == a and gap.known] for a in names}
    if not any(signs.values()):
        return []
    beats, beaten = ({a: signs[a].count(sign) for a in names} for sign in (1, -1))
    best = sorted((a for a in names if beats[a] and not beaten[a]), key=lambda a: -beats[a])
    leaders = "; ".join(f"{a}, {measure.better} than {beats[a]} of {len(signs[a])}" for a in best) or "no method"
    rivals = [rival for rival in (LOGISTIC, TREES) if rival in names]
    sentences = [f"Beaten by none: {leaders}.", *(_against(found, rival) for rival in rivals)]
    rows = [
        [a, *map(str, (beats[a], beaten[a], len(signs[a]))), found.lines(a, LOGISTIC), found.lines(a, TREES)]
        for a in sorted(names, key=lambda a: (beaten[a] - beats[a], a))
    ]
    heads = ["method", "beats", "beaten by", "of", f"against {LOGISTIC}", f"against {TREES}"]
    return [heading(title), bullets(sentences), table(pd.DataFrame(rows, columns=heads))]


def _against(found: Comparison, rival: str) -> str:
    """Which methods are better than a baseline, which worse, and which are undecided."""
    mine = {a: gap for (a, b), gap in found.items() if b == rival}
    sentences = []
    for sign, word in ((1, found.measure.better), (-1, found.measure.worse)):
        some = sorted((a for a in mine if mine[a].sign == sign), key=lambda a: -sign * mine[a].estimate)
        sentences.append(f"{word.capitalize()} than {rival}: {found.listed(some, rival) or 'no method'}.")
    undecided = [a for a, gap in mine.items() if gap.known and not gap.sign]
    few = [a for a, gap in mine.items() if not gap.known]
    sentences += [f"No significant difference: {', '.join(undecided)}."] if undecided else []
    sentences += [f"Too few datasets for an interval: {', '.join(few)}."] if few else []
    return " ".join(sentences)


def _best_of_each(runs: pd.DataFrame) -> Iterator[tuple[str, str, str, str, Interval]]:
    """(dataset, experiment, our best method, the best baseline, difference) of each task."""
    for (dataset, name), group in runs.groupby(["dataset", "experiment"]):
        aucs = group.pivot(index="run", columns="method", values="auc")
        is_baseline = aucs.columns.isin(BASELINES)
        if is_baseline.all() or not is_baseline.any():
            continue
        ours, theirs = (aucs.loc[:, side].mean().idxmax() for side in (~is_baseline, is_baseline))
        differences = (aucs[ours] - aucs[theirs]).dropna()
        one = experiments()[name]
        if one.settings(one.dataset(dataset), one.methods[0])["split"] == "given":
            differences = differences.groupby(lambda run: 0).mean()  # all runs have the same test rows
        if len(differences):
            yield dataset, name, ours, theirs, mean_interval(differences)


def _where_baselines_win(runs: pd.DataFrame) -> list[str]:
    """A section on the best of our methods against the best baseline, task by task."""
    rows: list[list[str]] = []
    wins: dict[str, list[str]] = {"ours": [], "undecided": []}
    for dataset, one, ours, theirs, gap in _best_of_each(runs):
        winner = {1: "ours", -1: theirs, 0: "undecided"}[gap.sign]
        wins.setdefault(winner, []).append(f"{dataset} ({one}, {signed(gap.estimate)})")
        ends = f"{signed(gap.low)} to {signed(gap.high)}" if gap.known else "one run has no interval"
        rows.append([f"{dataset}\n{one}", ours, theirs, f"{signed(gap.estimate)}\n{ends}\n{counted(gap.n, 'run')}"])
    if not rows:
        return []
    n, better, undecided = len(rows), len(wins["ours"]), len(wins["undecided"])
    sentences = [
        f"Of {n} tasks with both, the best of our methods is better in {better}, a baseline in "
        f"{n - better - undecided}; {undecided} are undecided.",
        *(f"{name} wins on {', '.join(tasks)}." for name, tasks in wins.items() if name in BASELINES),
    ]
    body = table(pd.DataFrame(rows, columns=["task", "best of ours", "best baseline", "difference"]))
    title = heading("Where logistic regression or boosted trees win")
    return [title, bullets(sentences), WORDS["best_of_each"], body]


# --- the short page ------------------------------------------------------------------------------------------------

FAMILIES = {
    "B-LS-SVM": "all pairs, square loss, closed form",
    "BAM": "all pairs, squared hinge",
    "PSAM": "one random pair per step",
    "OAMseq": "a buffer of rows, last iterate, as published",
    "NBAM": "all pairs on 1,600 landmarks",
    "NASAM": "one random pair per step on 1,600 landmarks",
}
"""The rows of the table: one method per family, chosen before we looked at the results."""

LINEAR = ("B-LS-SVM", "B-SVM-OR", "BAM", "SPAM-L2", "SOLAM-L2", "ASAM", "PSAM", "CBR-FIFO")
LAST_ITERATE = ("OAMseq", "OAMgra")
KERNEL = ("NBAM", "NASAM")


def short_page(results: pd.DataFrame) -> tuple[str, list[str]]:
    """The page with the main results: title and blocks."""
    runs, title = table_runs(results), OTHER_PAGES["what-we-learned"]
    quality, speed = Comparison(runs, AUC), Comparison(runs, SPEED)
    if not quality:
        return title, [_lead(runs), heading("Summary"), WORDS["no_runs"]]
    rows = [
        [f"{name}\n{what}", quality.lines(name, LOGISTIC), quality.lines(name, TREES), speed.lines(name, LOGISTIC)]
        for name, what in FAMILIES.items()
        if (name, LOGISTIC) in quality
    ]
    heads = ["method", f"against {LOGISTIC}", f"against {TREES}", f"speed over {LOGISTIC}"]
    summary = bullets(filter(None, [*_sentences(quality, speed), pays.sentence(results)]))
    more = link("what-we-learned-tables", "More: all methods")
    body = table(pd.DataFrame(rows, columns=heads))
    return title, [_lead(runs), WORDS["short_method"], heading("Summary"), summary, body, more]


def _sentences(quality: Comparison, speed: Comparison) -> Iterator[str]:
    """One sentence for each of the main results, as far as there are runs for it."""
    linear = {name: quality[name, LOGISTIC] for name in LINEAR if (name, LOGISTIC) in quality}
    if linear:
        low, high = (signed(end(gap.estimate for gap in linear.values())) for end in (min, max))
        better, worse = (", ".join(n for n, gap in linear.items() if gap.sign == sign) or "none" for sign in (1, -1))
        medians = f"the medians of {', '.join(linear)} are between {low} and {high}"
        yield f"Linear rankers rank like {LOGISTIC}: {medians}; significantly better: {better}; worse: {worse}."
    signs = [gap.sign for (_, rival), gap in quality.items() if rival == TREES and gap.known]
    if signs:
        shared = f"{signs.count(-1)} of the {len(signs)} methods that it shares six or more datasets with"
        yield f"{TREES} with its defaults is better than {shared}, and worse than {signs.count(1)}."
    if gaps := quality.listed(KERNEL, TREES):
        yield f"Kernels close that gap: against {TREES}, {gaps}."
    if gaps := quality.listed(LAST_ITERATE, LOGISTIC):
        yield f"Predicting with the last iterate, as published, costs AUC: against {LOGISTIC}, {gaps}."
    speeds = [f"{name} {ratio(speed[name, LOGISTIC].estimate)}" for name in FAMILIES if (name, LOGISTIC) in speed]
    if speeds:
        yield f"Speed relative to {LOGISTIC}: {', '.join(speeds)}."
