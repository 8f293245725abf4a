"""Every number on the record's pages is what an independent recount of the raw files gives."""

import csv
import math
import re
import runpy
import statistics
import tomllib
from collections import Counter, defaultdict
from itertools import permutations
from math import comb, log10, sqrt

import pytest
from scipy.stats import t as student

from recount import (
    COLUMN,
    FIGURES,
    OWN,
    PLAIN,
    RAW,
    RECORD,
    RIVALS,
    ROOT,
    RUN,
    TABLES,
    WORD,
    data,
    duration,
    json_of,
    judge,
    lead,
    numbers,
    page,
    plain,
    read_tables,
    section,
    signed,
    spread,
    told,
)

PAGES = {"SPAM": "spam", "SOLAM": "solam", "Khalid": "khalid"}
METRIC = {"AUC": "auc", "accuracy": "accuracy_at_optroc", "seconds of training": "seconds"}
JUDGED = [f for f in FIGURES if f.counted and f.verdict]


def tally(found):
    found = list(found)
    said = Counter(f.verdict for f in found if f.counted and f.verdict)
    return {
        "total": len(found),
        "rerun": sum(f.mean is not None for f in found),
        "judged": said.total(),
        "met": said["met"],
        "beaten": said["better"],
        "missed": said["worse"],
        "uncounted": sum(bool(f.verdict) and not f.counted for f in found),
        "timed": sum(f.metric == "seconds" and f.mean is not None for f in found),
        "missing": sum(f.absent for f in found),
        "waiting": sum(f.mean is None and not f.absent for f in found),
    }


def headline(t):
    """The numbers of a page's first sentence."""
    share = f"{100 * (t['met'] + t['beaten']) / t['judged']:.1f}"
    first = [t["total"], t["rerun"], t["judged"], t["met"], t["beaten"], t["missed"]]
    rest = [n for n in (t["uncounted"], t["timed"], t["missing"], t["waiting"]) if n]
    return [f"{n:,}" for n in first] + [share] + [f"{n:,}" for n in rest]


def worth(found):
    """The numbers that tell what "met" is worth."""
    some = [f for f in found if f.counted and f.verdict]
    good = sum(f.verdict != "worse" for f in some)
    out = [str(len(some)), str(good), f"{100 * good / len(some):.0f}"]
    for name in RIVALS:
        said = [f.rivals[name] for f in some if name in f.rivals]
        if said:
            met = sum(v != "worse" for v in said)
            out += [str(met), str(len(said)), f"{100 * met / len(said):.0f}"]
    flat = sum(judge(f.mean, f.theirs, None) == "worse" for f in some)
    out += [f"{statistics.median(max(f.their_std or 0.0, 0.005) for f in some):.4f}", "0.005", str(flat)]
    errors = [f.errors for f in some if f.errors is not None]
    return out + ([f"{statistics.median(errors):.1f}"] if errors else [])


# --- the first page, and claims -------------------------------------------------------------------------------------


def test_the_first_page():
    text = page("index")
    (_, header, rows), *_ = read_tables(text)
    names = {"SPAM": "SPAM", "SOLAM": "SOLAM", "Khalid's dissertation": "Khalid", "QSG-S2AUC": "QSG"}
    published = {paper: as_published(paper) for paper in names.values()}
    for (name,), *cells in rows:
        t, (met, total) = tally(f for f in FIGURES if f.paper == names[name]), published[names[name]]
        good = f"{t['met'] + t['beaten']} of {t['judged']}" if t["judged"] else ""
        words = [f"{t['total']:,}", f"{t['rerun']:,}", f"{t['judged']:,}", good, f"{met} of {total}" if total else ""]
        assert [cell[0] for cell in cells] == [*words, f"{t['missing']:,}"], name
    assert len(rows) == len(names) and header[-1] == "no data"
    t, (met, total) = tally(FIGURES), map(sum, zip(*published.values(), strict=True))
    first = [f"{t['total']:,}", f"{t['rerun']:,}", str(t["met"] + t["beaten"]), str(t["judged"]), str(met), str(total)]
    assert numbers(lead(text)) == first
    assert text.index("claims.md") < text.index("details.md")


def test_what_is_missed_on_the_papers_own_data():
    body = section(page("index"), "Missed on the papers' own data")
    some = [f for f in JUDGED if f.like]
    missed = [f for f in some if f.verdict == "worse"]
    good = len(some) - len(missed)
    share = f"{100 * good / len(some):.1f}"
    assert numbers(body) == [str(good), str(len(some)), share, str(len(missed))]
    (rows,) = [rows for _, header, rows in read_tables(page("index")) if header[0] == "why"]
    told_values = {}
    for (why,), (count,), (values,) in rows:
        told_values[why] = sorted(values.split("; "))
        assert count == str(len(told_values[why]))
    expected = defaultdict(list)
    for f in missed:
        cell = {"datasets": f.dataset, "methods": f.method, "metrics": f.metric}
        notes = [n for n in TABLES[f.one]["notes"] if all(v in n.get(k, [v]) for k, v in cell.items()) and "miss" in n]
        expected[notes[0]["miss"]].append(f"{f.dataset}, {f.method} (table {f.table})")
    assert told_values == {why: sorted(values) for why, values in expected.items()}


ALREADY_PRINTED = """
RankSVM RBF-RankSVM RBF-RankSVM-subsample BAM B-SVM-OR B-LS-SVM OAMseq OAMgra AdaOAM ASAM PSAM
""".split()
"""Methods that differ from their papers in nothing but what is tuned."""


def own_forms(one):
    """[(method, dataset, whether it was rerun as published)] of the cells with our form of a method."""
    reruns = [
        name
        for name, table in TABLES.items()
        if one in table.get("beside", []) and table.get("form", "as published") == "as published"
    ]
    return [
        (method["name"], entry["published"], any(RAW[name][entry["published"], method["name"]] for name in reruns))
        for method in TABLES[one]["methods"]
        for entry in TABLES[one]["datasets"]
        if method.get("published") and method["name"] not in ALREADY_PRINTED
        if method["name"] != "OPAUC" or "step" not in method["grid"]  # a constant step is the printed form
        if RAW[one][entry["published"], method["name"]]
    ]


def test_what_is_not_covered():
    body = section(page("index"), "Not covered")
    cells = [cell for one, table in TABLES.items() if table.get("covers") for cell in own_forms(one)]
    rerun = [cell for cell in cells if cell[2]]
    assert numbers(body) == [str(n) for n in (tally(FIGURES)["missing"], len(cells), len(rerun))]
    assert "but for" not in body and {cell[0] for cell in cells} == {cell[0] for cell in rerun}


@pytest.mark.parametrize("one", [name for name, table in TABLES.items() if table.get("covers")])
def test_a_table_names_what_was_not_run_as_published(one):
    """Below the heading of each table, for each method the datasets."""
    found = re.search(
        r"^Not run in the form that the paper prints: (.*)\.$",
        section(page(PAGES[TABLES[one]["paper"]]), TABLES[one]["title"]),
        re.MULTILINE,
    )
    told_cells = dict(part.split(" on ") for part in found[1].split("; ")) if found else {}
    expected = defaultdict(list)
    for method, dataset, rerun in own_forms(one):
        if not rerun:
            expected[method].append(dataset)
    assert {method: words.split(", ") for method, words in told_cells.items()} == expected


def as_published(paper):
    """(met or beaten, all) of the cells that were rerun as published."""
    said = []
    for name, table in TABLES.items():
        if "beside" in table and table["paper"] == paper and table.get("form", "as published") == "as published":
            main = TABLES[table["beside"][0]]
            for method in table["methods"]:
                printed = next(m.get("published") for m in main["methods"] if m["name"] == method["name"])
                for entry in (d["published"] for d in table["datasets"]):
                    values = paired_runs(name, table["beside"][0], entry, method["name"])
                    if values:
                        key = (paper, main["covers"][0]["table"], entry, printed, "auc")
                        f = next(f for f in FIGURES if f.key == key)
                        said.append(judge(statistics.fmean(a for a, _ in values), f.theirs, f.their_std))
    return sum(verdict != "worse" for verdict in said), len(said)


CLAIMS = tomllib.loads((OWN / "claims.toml").read_text("utf-8"))["claims"]


def score(rows, measure):
    """What a method has on a dataset, the higher the better."""
    if measure in ("auc", "seconds"):
        values = [float(row[{"auc": "auc", "seconds": "fit_seconds"}[measure]]) for row in rows]
        return statistics.fmean(values) * (1 if measure == "auc" else -1)
    if measure == "median":
        return statistics.median(float(row["y"]) for row in rows)
    start = min(float(row["x"]) for row in rows)
    values = [float(row["y"]) for row in rows if measure != "first" or float(row["x"]) == start]
    return statistics.fmean(values) * (-1 if measure == "time" else 1)


def over_time(rows, end):
    """The mean AUC of the latest model from 0 to `end`, by a sum over the moments at which it changes."""
    moments = sorted((float(row["x"]), float(row["y"])) for row in rows if float(row["x"]) <= end)
    area, since, now = 0.0, 0.0, 0.5
    for x, y in moments:
        area, since, now = area + now * (x - since), x, y
    return (area + now * (end - since)) / end


def beyond(pair, measure):
    """What the first of two methods has beyond the second."""
    if measure == "over_time":
        end = min(max(float(row["x"]) for row in side) for side in pair)
        return over_time(pair[0], end) - over_time(pair[1], end)
    return score(pair[0], measure) - score(pair[1], measure)


def counted_again(claim, found):
    """(verdict, the numbers of the sentence, where it was lost) of a claim, from the rows of its experiment."""
    differences, datasets, runs, lost = [], set(), [], set()
    for dataset in sorted({dataset for dataset, _ in found}):
        for ours in claim["ours"]:
            for rival in claim["rivals"]:
                pair = found.get((dataset, ours)), found.get((dataset, rival))
                if all(pair) and (not claim.get("only") or dataset in claim["only"]):
                    differences.append(beyond(pair, claim["measure"]))
                    datasets.add(dataset)
                    lost |= {dataset} if differences[-1] <= -claim.get("margin", 0.0) else set()
                    runs += [len({row["run"] for row in side}) for side in pair]
    won = sum(difference > -claim.get("margin", 0.0) for difference in differences)
    verdict = "holds" if won >= claim["need"] * len(differences) else "does not hold"
    if min(runs) < 10 if claim.get("only") else len(datasets) < 3:
        verdict = "cannot be told here"
    margin = [f"{claim['margin']:g}"] if claim.get("margin") else []
    counts = [won, len(differences), len(datasets), min(runs)]
    return verdict, [*margin, *map(str, counts), signed(statistics.median(differences))], sorted(lost)


BOUNDS = {
    "1/T": lambda T: 1 / T,
    "log T / T": lambda T: math.log(T) / T,
    "log T √(log(4T/0.05)) / √T": lambda T: math.log(T) * math.sqrt(math.log(4 * T / 0.05) / T),
    "d": lambda d: d,
}


def slope(curve):
    """The exponent of the last six points of {x: y}."""
    last = sorted(curve.items())[-6:]
    logs = [[math.log(pair[k]) for pair in last] for k in range(2)]
    means = [statistics.fmean(values) for values in logs]
    both = sum((a - means[0]) * (b - means[1]) for a, b in zip(*logs, strict=True))
    return both / sum((a - means[0]) ** 2 for a in logs[0])


def rated_again(claim, found):
    """(verdict, the numbers of the sentence) of a claim with a bound."""
    slopes, won, runs, bound_of = [], 0, [], BOUNDS[TABLES[claim["experiment"]]["figure"]["bound"]]
    for (_, method), rows in found.items():
        if rows and method in claim["ours"]:
            curves = defaultdict(dict)
            for row in rows:
                curves[row["run"]][float(row["x"])] = float(row["y"])
            mean = {x: statistics.fmean(curve[x] for curve in curves.values()) for x in curves["0"]}
            error = statistics.stdev(map(slope, curves.values())) / math.sqrt(len(curves))
            bound = slope({x: bound_of(x) for x in mean})
            slopes.append(slope(mean))
            won += slopes[-1] <= bound + 2 * error
            runs.append(len(curves))
    verdict = "holds" if won == len(slopes) >= 3 else "cannot be told here"
    exponents = [f"{x:.2f}".replace("-", "−") for x in (statistics.median(slopes), bound)]
    return verdict, [str(won), str(len(slopes)), str(min(runs)), *exponents]


def told_claim(claim):
    """(place, verdict, words) of a claim on its page."""
    rows = {cells[0][0]: cells for _, _, some in read_tables(page("claims")) for cells in some}
    _, (place,), (verdict,), (words, *_) = rows[claim["claim"]]
    return place, verdict, words


COMPARED = [claim for claim in CLAIMS if "rivals" in claim]
RATED = [claim for claim in CLAIMS if "experiment" in claim and "rivals" not in claim]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["id"])
def test_a_claim_is_counted_again(claim):
    place, verdict, words = told_claim(claim)
    assert place == claim["place"]
    if claim in RATED:
        expected, counts = rated_again(claim, RAW[claim["experiment"]])
        assert verdict == expected and numbers(words)[: len(counts)] == counts
        assert words.endswith(claim.get("why", f"bound's {counts[-1]}."))
        return
    if claim not in COMPARED:
        assert verdict == "cannot be told here" and words == claim["why"]
        return
    expected, counts, lost = counted_again(claim, RAW[claim["experiment"]])
    assert verdict == expected
    where = re.search(r"Lost on (.*?)\.(?: |$)", words)
    assert (where[1].split(", ") if where else []) == (lost if verdict == "does not hold" else [])
    assert numbers(words)[: len(counts)] == counts
    assert words.endswith("Too few to tell.") == (verdict == "cannot be told here")


@pytest.mark.parametrize("claim", COMPARED, ids=lambda claim: claim["id"])
def test_another_raw_value_is_another_sentence(claim):
    """The count can fail: with a method far above or far below its values on one dataset the page is wrong."""
    found = {key: rows for key, rows in RAW[claim["experiment"]].items() if rows}
    column = {"auc": "auc", "seconds": "fit_seconds"}.get(claim["measure"], "y")
    rivals = {dataset for dataset, method in found if method in claim["rivals"]}
    key = min((d, m) for d, m in found if m in claim["ours"] and d in rivals & set(claim.get("only", rivals)))
    said = numbers(told_claim(claim)[2])
    for shift in (-1e3, 1e3):
        moved = [{**row, column: str(float(row[column]) + shift)} for row in found[key]]
        _, counts, _ = counted_again(claim, {**found, key: moved})
        if counts != said[: len(counts)]:
            return
    raise AssertionError(f"{key} does not count")


@pytest.mark.parametrize("claim", RATED, ids=lambda claim: claim["id"])
def test_another_exponent_is_another_sentence(claim):
    """The count can fail: with an error that does not fall, or a step that takes d² time, the claim does not hold."""
    found = {key: rows for key, rows in RAW[claim["experiment"]].items() if rows}
    key = min(key for key in found if key[1] in claim["ours"])
    steeper = [{**row, "y": str(float(row["y"]) * float(row["x"]) ** 2)} for row in found[key]]
    verdict, counts = rated_again(claim, {**found, key: steeper})
    assert verdict == "cannot be told here" and counts != numbers(told_claim(claim)[2])[: len(counts)]


def test_the_radius_that_hides_the_rate_of_solam():
    """What the claim's sentence says of R = 10."""
    claim = next(claim for claim in RATED if claim["id"] == "solam-rate")
    _, (won, *_) = rated_again({**claim, "ours": ["SOLAM (R = 10)"]}, RAW[claim["experiment"]])
    assert won == "1" and "on two of three datasets" in told_claim(claim)[2]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["id"])
def test_what_is_faster_is_measured_in_seconds(claim):
    """The points of curves over time say nothing by themselves: one method may make twenty while another waits."""
    found = RAW.get(claim.get("experiment"), {})
    if "faster" in claim["claim"] and any("x" in row for rows in found.values() for row in rows):
        assert claim["measure"] in ("over_time", "time", "first")


def test_the_claims_are_added_up():
    verdicts = Counter(cells[2][0] for _, _, some in read_tables(page("claims")) for cells in some)
    expected = [len(CLAIMS), verdicts["holds"], verdicts["does not hold"], verdicts["cannot be told here"]]
    assert numbers(lead(page("claims"))) == [str(n) for n in expected]
    assert verdicts.total() == len(CLAIMS) >= 20


def curves(one, name):
    """The mean y over all points of each dataset of a method."""
    return {d: statistics.fmean(float(row["y"]) for row in rows) for (d, m), rows in RAW[one].items() if m == name}


def test_what_explains_a_claim_that_fails_is_so():
    spam = curves("spam-fig-1", "SPAM-L2")
    above = [curves("spam-fig-1", rival)[d] - spam[d] for rival in ("SOLAM-L2", "OPAUC") for d in spam]
    assert 0.001 < statistics.median(above) < 0.01, "some thousandths above"
    printed = {(f.dataset, f.method): f.theirs for f in FIGURES if f.table == "6.3" and f.metric == "seconds"}
    ratios = [printed[d, "BAM"] / printed[d, "ASAM"] for d, m in printed if m == "BAM" and printed[d, "ASAM"]]
    assert f"{statistics.median(ratios):.1f} times as long as ASAM" in page("claims")


def test_the_sizes_that_explain_a_claim_are_so():
    """Rows of the kernel methods, landmarks and the rank of a sketch, as the tables' files and the code have them."""
    kernel = TABLES["khalid-3.2"]
    methods = {m["name"]: m for m in kernel["methods"]}
    rows, landmark_rows = methods["RBF-RankSVM"]["train_rows"], kernel["protocol"]["train_rows"]
    assert not any("train_rows" in settings for settings in methods["RBF-RankSVM"]["on"].values())
    assert "train_rows" not in methods["NBAM"]
    orders = told_claim(next(c for c in CLAIMS if c["id"] == "nbam-orders"))[2]
    assert [n.strip(",") for n in numbers(orders)] == [f"{rows:,}", f"{landmark_rows:,}"]
    landmarks = re.search(r"^LANDMARKS = (\d+)$", (OWN / "sweeps.py").read_text("utf-8"), re.MULTILINE)[1]
    assert f"{landmarks} landmarks" in told_claim(next(c for c in CLAIMS if c["id"] == "qsg-faster"))[2]
    registry = (ROOT / "src" / "auclid" / "registry.py").read_text("utf-8")
    rank = re.search(r"partial\(OPAUC, rank=(\d+)\)", registry)[1]
    assert f"rank {rank}" in told_claim(next(c for c in CLAIMS if c["id"] == "opaucr-time"))[2]


def test_what_the_gallery_measures_is_so(tmp_path, monkeypatch, capsys):
    """The gallery's page on convergence shows the theorems' rates on data of its own: here it is run."""
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "convergence.py"))
    printed = capsys.readouterr().out
    slopes = {name: float(x) for name, x in re.findall(r"^(.*?): slope (-?[\d.]+)", printed, re.MULTILINE)}
    times = {name: float(x) for name, x in re.findall(r"^(\w+): .* takes ([\d.]+) times", printed, re.MULTILINE)}
    assert -1.25 < slopes["SPAM, steps 1/(βt): |w − w*|²"] < -0.75
    assert slopes["SOLAM: duality gap"] < -0.5
    for name in ("SPAM", "SOLAM"):
        assert times[name] < min(3.0, times["OPAUC"]) and 2.5 < times["OPAUC"] < 7.0, printed  # 2, 2 and 4, idle


def test_where_spam_is_ahead_is_so():
    rows = RAW["spam-fig-1"]
    ahead = {
        (dataset, rival): beyond((rows[dataset, "SPAM-L2"], rows[dataset, rival]), "over_time")
        for dataset in ("a9a", "splice", "usps")
        for rival in ("SOLAM-L2", "OPAUC")
    }
    assert [ahead[dataset, "OPAUC"] > 0 for dataset in ("a9a", "usps", "splice")] == [True, True, False]
    assert abs(ahead["a9a", "SOLAM-L2"]) < 0.001 and max(ahead["splice", "SOLAM-L2"], ahead["usps", "SOLAM-L2"]) < 0
    psam, asam = ({d: score(rows, "first") for (d, m), rows in RAW["khalid-fig-7.1"].items() if m == name}
                  for name in ("PSAM", "ASAM"))  # fmt: skip
    assert statistics.median(abs(psam[d] - asam[d]) for d in psam) < 0.001, "the two methods hardly differ"


def test_the_file_of_values():
    rows = list(csv.DictReader((RECORD / "values.csv").read_text("utf-8").splitlines()))
    assert len(rows) == len(FIGURES)
    found = {tuple(row[k] for k in ("paper", "table", "dataset", "method", "metric")): row for row in rows}
    for f in FIGURES:
        row = found[f.key]
        assert float(row["published"]) == pytest.approx(f.theirs, rel=1e-5)
        assert row["verdict"] == (f.verdict or "") and int(row["runs"]) == f.n
        assert row["same_data"] == str(f.like)
        if f.mean is not None:
            assert float(row["mean"]) == pytest.approx(f.mean, rel=1e-5)


# --- the page of details ------------------------------------------------------------------------------------


def test_the_headline():
    words = numbers(lead(page("details")))
    expected = headline(tally(FIGURES))
    for like in (True, False):
        t = tally(f for f in FIGURES if f.like == like)
        good = t["met"] + t["beaten"]
        expected += [str(good), str(t["judged"]), f"{100 * good / t['judged']:.1f}"]
    gains = Counter(cause(f).split()[0] for f in JUDGED if f.verdict == "better")
    own = gains["range"] + gains["scaling"]
    expected += [str(n) for n in (gains.total(), gains["method"], own, gains["data"])]
    expected += [str(gains["not"])] if gains["not"] else []
    assert words == expected + worth(f for f in FIGURES if f.metric == "auc")


def test_the_first_pages_tables():
    pages, split = read_tables(page("details"))[:2]
    names = {"SPAM": "SPAM", "SOLAM": "SOLAM", "Khalid's dissertation": "Khalid", "QSG-S2AUC": "QSG"}
    seen = []
    for (name, *_), *cells in pages[2]:
        t = tally(f for f in FIGURES if f.paper == names[name])
        order = ("total", "judged", "met", "beaten", "missed", "uncounted", "timed", "missing")
        assert [cell[0] for cell in cells] == [f"{t[key]:,}" for key in order], name
        seen.append(name)
    assert seen == list(names)
    for (words, *_), *cells in split[2]:
        some = [f for f in FIGURES if {"same": f.like, "other": not f.like, "all": True}[words]]
        t = tally(some)
        flat = sum(judge(f.mean, f.theirs, None) == "worse" for f in some if f.counted and f.verdict)
        share = f"{(t['met'] + t['beaten']) / t['judged']:.1%}"
        expected = [t["judged"], t["met"], t["beaten"], t["missed"], share, flat]
        assert [cell[0] for cell in cells] == [str(n) for n in expected], words


def test_duplicates_are_told():
    cells = {(f.rows[0]["protocol"], f.metric, f.n) for f in JUDGED}
    names = {f.dataset for f in FIGURES if f.mean is not None}
    files = {f.entry["name"] for f in FIGURES if f.mean is not None}
    sentence = next(line for line in page("details").splitlines() if "Tables share cells" in line)
    assert numbers(sentence) == [str(len(x)) for x in (JUDGED, cells, names, files)]


def test_missing_data_is_counted():
    for name in ("details", *PAGES.values()):
        body = section(page(name), "Datasets that we do not have")
        papers = {"details": set(PAGES)}.get(name, {p for p, n in PAGES.items() if n == name})
        lost = Counter(f.dataset for f in FIGURES if f.absent and f.paper in papers)
        decode = dict(re.findall(r"^- ([\w-]+): (\d+) values?;", body, re.MULTILINE))
        assert decode == {k: str(n) for k, n in lost.items()}


def test_what_does_not_count():
    some = [f for f in FIGURES if f.verdict and not f.counted]
    said = Counter(f.verdict for f in some)
    counts = (len(some), said["better"], said["met"], said["worse"])
    assert numbers(lead(page("not-counted"))) == [str(n) for n in counts]
    ((_, _, rows),) = read_tables(page("not-counted"))
    expected = [
        [
            [f"{f.dataset}, {f.method}", f"{f.paper}, table {f.table}"],
            [told(f.mean, f.std)],
            [told(f.theirs, f.their_std)],
            [f"{signed(f.mean - f.theirs)} {WORD[f.verdict]}"],
        ]
        for f in some
    ]
    assert [row[:4] for row in rows] == expected


# --- the papers' pages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAGES)
def test_a_papers_headline_and_what_its_tables_are_worth(paper):
    text = page(PAGES[paper])
    mine = [f for f in FIGURES if f.paper == paper]
    auc = [f for f in mine if f.metric == "auc"]
    assert numbers(lead(text)) == headline(tally(mine)) + worth(auc)
    told_of = dict(re.findall(r"^Table ([\d.]+?)\. (Of .*)$", plain(text), re.MULTILINE))
    tables = {f.table for f in mine if f.counted and f.verdict}
    assert set(told_of) == tables
    for table in tables:
        assert numbers(told_of[table]) == worth(f for f in mine if f.table == table and f.metric != "seconds"), table


def cause(f):
    """Where a gain comes from, by the raw files."""
    if not f.like:
        return "data"
    said, printed = defaultdict(list), {}
    for name, table in TABLES.items():
        rows = RAW[name][f.dataset, f.name]
        beside = f.one in table.get("beside", []) and bool(rows)
        if beside and data(name, f.dataset).get("positive") == f.entry.get("positive"):
            mean = spread(rows, COLUMN[f.metric])[0]
            said[name.endswith("-scaled")].append(judge(mean, f.theirs, f.their_std))
            method = next(m for m in table["methods"] if m["name"] == f.name)
            grid = (method | method.get("on", {}).get(f.dataset, {})).get("grid", {})
            printed |= {key: grid_ends(key, words) for key, words in grid.items() if "length" not in words}
    if not said:
        return "not rerun"
    if "better" in said[False]:
        return "scaling" if said[True] and "better" not in said[True] else "method"
    chosen = [json_of(row) for row in f.rows]
    own = [{"gamma": float("inf")} | c for c in chosen]  # our default width is none that is listed
    wide = [any(not inside(c[key]) for key, inside in printed.items() if key in c) for c in own]
    other = [c.get("scale", "columns") != "columns" for c in chosen]
    outside, rescaled = sum(wide) > len(wide) / 2, sum(other) > len(other) / 2
    return " or ".join(["range"] * outside + ["scaling"] * rescaled) or "method"


def grid_ends(key, words):
    """Tells whether a value lies between the ends of a range of powers or a list; a width, near one that is listed."""
    if isinstance(words, str):
        base, low, high = (int(n) for n in re.fullmatch(r"(\d+)\^\[(-?\d+):(?:\d+:)?(-?\d+)\]", words).groups())
        step = int((re.search(r":(\d+):", words) or [0, 1])[1])
        words = [float(base) ** k for k in range(low, high + 1, step)]
    if key == "gamma":
        return lambda x: min(max(x / w, w / x) for w in words) <= 2
    return lambda x: 0.99 * min(words) <= x <= 1.01 * max(words)


def expected_cell(f):
    theirs = told(f.theirs, f.their_std)
    if f.metric == "seconds":
        if f.mean is None:
            return ["no run", duration(f.theirs)]
        return [duration(f.mean), duration(f.theirs), f"× {f.mean / f.theirs:.2g}" if f.theirs else "–"]
    if f.mean is None:
        return ["no run", theirs]
    behind = " (–)" if not f.counted else f" ({cause(f)})" if f.verdict == "better" else ""
    took = spread(f.rows, "fit_seconds")[0]
    lines = [told(f.mean, f.std), theirs, f"{signed(f.mean - f.theirs)} {WORD[f.verdict]}{behind}"]
    return lines + ([] if took is None else [duration(took)])


@pytest.mark.parametrize("paper", PAGES)
def test_every_cell_of_a_papers_tables(paper):
    figures = {f.key: f for f in FIGURES if f.paper == paper}
    seen = set()
    for heading, header, rows in read_tables(page(PAGES[paper])):
        found = re.fullmatch(r"table ([\d.]+): (.*)", header[0])
        if not found or heading in {t["title"] for t in TABLES.values() if "beside" in t}:
            continue
        table, metric = found[1], METRIC[found[2]]
        cover = {"table": table, "metric": metric}
        one = next(k for k, t in TABLES.items() if cover in t.get("covers", []) and t["paper"] == paper)
        columns = TABLES[one]["methods"]
        for (name, *below), *cells in rows:
            name = re.sub(r" \[\d+\]$", "", name)
            counts = [len(RAW[one][name, m["name"]]) for m in columns]
            counts = [n for n in counts if n]
            if counts:
                low, high = min(counts), max(counts)
                assert below[-1] == (f"{low} run{'s' if low > 1 else ''}" if low == high else f"{low} to {high} runs")
            for column, cell in zip(columns, cells, strict=True):
                decode = [re.sub(r" \[\d+\]$", "", line) for line in cell]
                f = figures.get((paper, table, name, column.get("published"), metric))
                if f is not None:
                    assert decode == expected_cell(f), (table, name, column["name"])
                    seen.add(f.key)
                else:
                    mean, std, _ = spread(RAW[one][name, column["name"]], COLUMN[metric])
                    took = spread(RAW[one][name, column["name"]], "fit_seconds")[0]
                    if mean is None:
                        assert decode == [""]
                    elif metric == "seconds":
                        assert decode == [duration(mean)]
                    else:
                        assert decode == [told(mean, std), duration(took)]
    assert seen == set(figures)


@pytest.mark.parametrize("paper", PAGES)
def test_missed_figures(paper):
    text = page(PAGES[paper])
    missed = sorted(
        (f for f in JUDGED if f.paper == paper and f.verdict == "worse"), key=lambda f: round(f.mean - f.theirs, 12)
    )
    decode = [rows for heading, _, rows in read_tables(text) if heading == "Missed values"]
    words = {v: k for k, v in METRIC.items()}
    expected = [
        [
            [f"{f.dataset}, {f.method}", f"table {f.table}, {words[f.metric]}"],
            [told(f.mean, f.std)],
            [told(f.theirs, f.their_std)],
            [signed(f.mean - f.theirs)],
        ]
        for f in missed
    ]
    assert sorted(row[:4] for rows in decode for row in rows) == sorted(expected)
    notes = dict(re.findall(r"^(\d+)\. (.+)$", section(text, "Missed values"), re.MULTILINE))
    assert {row[4][0].strip("[]") for rows in decode for row in rows} - {""} == set(notes)


@pytest.mark.parametrize("name", ["details", *PAGES.values()])
def test_what_gains_come_from(name):
    papers = {"details": set(PAGES)}.get(name, {p for p, n in PAGES.items() if n == name})
    gains = Counter(cause(f) for f in JUDGED if f.paper in papers and f.verdict == "better")
    body = section(page(name), "What beaten values come from")
    found = {cause: numbers(rest)[:2] for cause, rest in re.findall(r"^- ([a-z ]+): (.*)$", body, re.MULTILINE)}
    assert found == {cause: [str(n), str(gains.total())] for cause, n in gains.items()}
    assert "not rerun" not in found


@pytest.mark.parametrize("name", [k for k, t in TABLES.items() if "beside" in t and k in RUN])
def test_cells_run_in_another_way(name):
    """Two columns, as published and our defaults, their paired difference and its standard error."""
    table = TABLES[name]
    form = table.get("form", "as published")
    main = TABLES[table["beside"][0]]
    number = main["covers"][0]["table"]
    text = page(PAGES[table["paper"]])
    ((_, header, rows),) = [found for found in read_tables(text) if found[0] == table["title"]]
    assert header == [f"table {number}: AUC", form, "our defaults", "difference", "paper", f"{form} minus paper"]
    decode = {name: (below, cells) for (name, *below), *cells in rows}
    assert len(decode) == len(rows)
    gains, met = [], Counter()
    for method in table["methods"]:
        printed = next(m.get("published") for m in main["methods"] if m["name"] == method["name"])
        means = []
        for entry in (d["published"] for d in table["datasets"]):
            values = paired_runs(name, table["beside"][0], entry, method["name"])
            if not values:
                continue
            f = next(f for f in FIGURES if f.key == (table["paper"], number, entry, printed, "auc"))
            below, cells = decode.pop(f"{method['name']}, {entry}")
            n, theirs, ours = len(values), *(deviation(side) for side in zip(*values, strict=True))
            apart = [b - a for a, b in values]
            error = f" ± {statistics.stdev(apart) * sqrt(1 / n + 0.25):.4f}" if n > 1 else ""
            said = judge(theirs[0], f.theirs, f.their_std)
            ends = [told(*theirs), told(*ours), signed(ours[0] - theirs[0]) + error, told(f.theirs, f.their_std)]
            last = f"{signed(theirs[0] - f.theirs)} {WORD[said]}"
            assert below == [f"{n} run{'s' if n > 1 else ''}"], (entry, method)
            assert [c[0] for c in cells[:4]] == ends, (entry, method)
            assert re.sub(r" \[\d+\]$", "", cells[4][0]) == last, (entry, method)
            met["theirs"] += said != "worse"
            met["ours"] += judge(ours[0], f.theirs, f.their_std) != "worse"
            gains.append(ours[0] - theirs[0])
            means.append((theirs[0], ours[0]))
        if len(means) > 1:
            _, cells = decode.pop(f"{method['name']}, mean of {len(means)}")
            theirs, ours = (statistics.fmean(side) for side in zip(*means, strict=True))
            error = statistics.stdev(b - a for a, b in means) / sqrt(len(means))
            expected = [told(theirs), told(ours), f"{signed(ours - theirs)} ± {error:.4f}", "", ""]
            assert [c[0] for c in cells] == expected, method
    assert not decode
    sentence = next(line for line in section(text, table["title"]).splitlines() if line.startswith("Met or beaten"))
    across = [min(gains), max(gains)] if len(gains) > 1 else []
    values = [signed(x) for x in (statistics.median(gains), *across)]
    assert numbers(sentence) == [str(met["theirs"]), str(len(gains)), str(met["ours"]), *values]


def paired_runs(name, main, dataset, method):
    """[(AUC in another way, AUC in the table)] of the runs that both made."""
    theirs, ours = ({r["run"]: float(r["auc"]) for r in RAW[one][dataset, method]} for one in (name, main))
    return [(theirs[run], ours[run]) for run in sorted(theirs.keys() & ours.keys(), key=int)]


def deviation(values):
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None


@pytest.mark.parametrize("name", [k for k, t in TABLES.items() if "beside" in t and k in RUN])
def test_every_miss_in_another_way_has_its_note(name):
    text = page(PAGES[TABLES[name]["paper"]])
    ((_, _, rows),) = [found for found in read_tables(text) if found[0] == TABLES[name]["title"]]
    notes = dict(re.findall(r"^(\d+)\. (.+)$", section(text, TABLES[name]["title"]), re.MULTILINE))
    last = {row[0][0]: row[5][0] for row in rows}
    marks = {cell: re.search(r"\[(\d+)\]$", words) for cell, words in last.items()}
    bare = [cell for cell, words in last.items() if WORD["worse"] in words and not marks[cell]]
    assert not bare
    assert {mark[1] for mark in marks.values() if mark} == set(notes)


def test_medians_of_few_labels():
    found = [t for t in read_tables(page("qsg")) if t[1][0] == "AUC"]
    ((_, header, rows),) = found
    assert header[1:] == [m["name"] for m in TABLES["qsg-fig-2"]["methods"]]
    for (name,), *cells in rows:
        for method, cell in zip(header[1:], cells, strict=True):
            values = sorted(float(row["y"]) for row in RAW["qsg-fig-2"][name, method])
            if not values:
                assert cell == [""]
                continue
            several = values if len(values) > 1 else 2 * values  # of one run all three are its value
            first, middle, third = statistics.quantiles(several, n=4, method="inclusive")
            assert cell == [told(middle), f"{told(first)} to {told(third)}"], (name, method)


# --- what we learned -----------------------------------------------------------------------------------------------


def interval(values):
    """Median and the sign test's 95 % interval."""
    ordered, n = sorted(values), len(values)
    k, below = 0, 0.0
    while k < n:
        below += comb(n, k) / 2**n
        if below > 0.025:
            break
        k += 1
    return statistics.median(ordered), (ordered[k - 1], ordered[n - k]) if k else None


def sign(gap):
    ends = gap[1]
    return 0 if ends is None or ends[0] <= 0.0 <= ends[1] else 1 if ends[0] > 0.0 else -1


def tasks():
    found = {}
    for one, table in TABLES.items():
        if table.get("covers"):
            for (dataset, method), rows in RAW[one].items():
                whole = [r for r in rows if r["auc"] and r["fit_seconds"]]
                runs = {r["run"]: (float(r["auc"]), float(r["fit_seconds"])) for r in whole}
                if runs:
                    found.setdefault((one, dataset), {})[method] = runs
    return found


TASKS = tasks()


ONE_PASS = """
AdaOAM B-LS-SVM CBR-FIFO CBR-RS CBR-diag FCBR-FIFO FCBR-RS FOAM NOAMgra NOAMseq OAMgra OAMseq OPAUC OPAUCr Uni-Exp
""".split()
STREAMS = {key: {m: r for m, r in methods.items() if m in PLAIN | set(ONE_PASS)} for key, methods in TASKS.items()}


def gaps(which, tasks=TASKS):
    """{(a, b): (median, interval, number)} of AUC or of the powers of ten in speed."""
    units = defaultdict(lambda: defaultdict(list))
    for (one, dataset), methods in tasks.items():
        for a, b in permutations(methods, 2):
            both = methods[a].keys() & methods[b].keys()
            pairs = [(methods[a][r], methods[b][r]) for r in sorted(both)]
            if which == "auc":
                values = [x[0] - y[0] for x, y in pairs]
            else:
                values = [log10(max(y[1], 1e-6) / max(x[1], 1e-6)) for x, y in pairs]
            if values:
                units[a, b][data(one, dataset)["name"]].append(statistics.fmean(values))
    found = {}
    for pair, some in units.items():
        values = [statistics.fmean(v) for v in some.values()]
        found[pair] = (*interval(values), len(values))
    return found


def ratio(power):
    x = 10.0**power
    return f"{x:,.0f}×" if x >= 10.0 else f"{x:.2g}×"


def gap_lines(gap, show):
    if gap is None:
        return [""]
    across = "too few for an interval" if gap[1] is None else f"{show(gap[1][0])} to {show(gap[1][1])}"
    return [show(gap[0]), across, f"{gap[2]} dataset{'' if gap[2] == 1 else 's'}"]


SITUATIONS = [
    ("Quality", TASKS, "auc", signed, "better"),
    ("Time", TASKS, "seconds", ratio, "faster"),
    ("Streams: one-pass methods, and baselines", STREAMS, "auc", signed, "better"),
]


@pytest.mark.parametrize(("title", "tasks", "which", "show", "better"), SITUATIONS)
def test_all_methods_compared(title, tasks, which, show, better):
    found = gaps(which, tasks)
    ((_, _, rows),) = [t for t in read_tables(page("what-we-learned-tables")) if t[0] == title]
    assert {row[0][0] for row in rows} == {a for a, _ in found}
    leaders = {}
    for (name,), beats, beaten, of, *against in rows:
        mine = {b: gap for (a, b), gap in found.items() if a == name}
        signs = Counter(sign(gap) for gap in mine.values() if gap[1] is not None)
        assert [beats, beaten, of] == [[str(signs[1])], [str(signs[-1])], [str(signs.total())]], name
        assert against == [gap_lines(mine.get(rival), show) for rival in RIVALS], name
        if signs[1] and not signs[-1]:
            leaders[name] = f"{better} than {signs[1]} of {signs.total()}"
    first, *others = [
        line[2:] for line in section(page("what-we-learned-tables"), title).splitlines() if line.startswith("- ")
    ]
    assert dict(re.findall(r"([\w-]+), (\w+ than \d+ of \d+)", first)) == leaders
    for sentence, rival in zip(others, RIVALS, strict=True):
        mine = {a: gap for (a, b), gap in found.items() if b == rival and gap[1] is not None}
        found_of = re.findall(r"([\w-]+) ([+−\d][^ ]*) \(([^)]*)\)", sentence)
        told_of = {name: [middle, *rest.split(", ")] for name, middle, rest in found_of}
        assert told_of == {a: gap_lines(gap, show) for a, gap in mine.items() if sign(gap)}
        ahead = sentence.partition({"better": "Worse", "faster": "Slower"}[better] + " than")[0]
        assert all((a in re.findall(r"([\w-]+) [^ ]+ \(", ahead)) == (sign(mine[a]) > 0) for a in told_of)


def test_sections_that_cannot_tell_are_left_out():
    for heading, _, rows in read_tables(page("what-we-learned-tables")):
        if "Where" not in heading:
            assert any("to" in line for row in rows for cell in row[1:] for line in cell if " to " in line), heading


def test_where_baselines_win():
    ((title, _, rows),) = [t for t in read_tables(page("what-we-learned-tables")) if t[0].startswith("Where")]
    decode = {(row[0][0], row[0][1]): row[1:] for row in rows}
    won = Counter()
    for (one, dataset), methods in TASKS.items():
        means = {name: statistics.fmean(auc for auc, _ in runs.values()) for name, runs in methods.items()}
        ours = max((m for m in means if m not in PLAIN), key=means.get, default=None)
        theirs = max((m for m in means if m in PLAIN), key=means.get, default=None)
        both = sorted(methods[ours].keys() & methods[theirs].keys()) if ours and theirs else []
        if not both:
            assert (dataset, one) not in decode
            continue
        differences = [methods[ours][r][0] - methods[theirs][r][0] for r in both]
        settings = TABLES[one]["protocol"] | data(one, dataset)
        if settings["split"] == "given":
            differences = [statistics.fmean(differences)]
        n, middle = len(differences), statistics.fmean(differences)
        lines = [signed(middle), "one run has no interval", f"{n} run{'' if n == 1 else 's'}"]
        if n > 1:
            reach = student.ppf(0.975, n - 1) * statistics.stdev(differences) * sqrt(1 / n + 0.25)
            lines[1] = f"{signed(middle - reach)} to {signed(middle + reach)}"
            won.update(ours=int(middle > reach), theirs=int(middle < -reach))
        best, rival, gap = decode.pop((dataset, one))
        assert (best, rival, gap) == ([ours], [theirs], lines), (one, dataset)
    assert not decode
    sentence = next(
        line for line in section(page("what-we-learned-tables"), title).splitlines() if "tasks with" in line
    )
    counts = (len(rows), won["ours"], won["theirs"], len(rows) - won.total())
    assert re.findall(r"\d+", sentence) == [str(n) for n in counts]


def test_the_page_on_one_screen():
    text = page("what-we-learned")
    quality, speed = gaps("auc"), gaps("seconds")
    runs = sum(len(runs) for methods in TASKS.values() for runs in methods.values())
    sizes = (runs, len({d for _, d in TASKS}), len({one for one, _ in TASKS}))
    assert numbers(lead(text)) == [f"{n:,}" for n in sizes]
    ((_, _, rows), *_) = read_tables(text)
    assert len(rows) == 6
    for (name, _), *cells in rows:
        expected = [(quality, RIVALS[0], signed), (quality, RIVALS[1], signed), (speed, RIVALS[0], ratio)]
        assert cells == [gap_lines(found.get((name, rival)), show) for found, rival, show in expected]
    sentences = [line[2:] for line in plain(text).splitlines() if line.startswith("- ")]
    assert len(sentences) == 5 + ("pays" in RUN)
    named = re.search("the medians of (.*?) are between", sentences[0])[1].split(", ")
    linear = [quality[name, RIVALS[0]][0] for name in named]
    assert numbers(sentences[0].partition("are between")[2]) == [signed(min(linear)), signed(max(linear))]
    trees = [sign(gap) for (_, b), gap in quality.items() if b == "LightGBM" and gap[1] is not None]
    assert re.findall(r"\d+", sentences[1]) == [str(trees.count(-1)), str(len(trees)), str(trees.count(1))]
    for sentence, rival in ((sentences[2], RIVALS[1]), (sentences[3], RIVALS[0])):
        for name, inside in re.findall(r"([A-Za-z]+) ([+−][^;]*\))", sentence):
            middle, ends, n = quality[name, rival]
            assert numbers(inside) == [signed(middle), signed(ends[0]), signed(ends[1]), str(n)]
    for name, decode in re.findall(r"([\w-]+) ([\d.,]+×)", sentences[4].partition(": ")[2]):
        assert decode == ratio(speed[name, RIVALS[0]][0])


# --- does it pay? --------------------------------------------------------------------------------------------------


@pytest.mark.skipif("pays" not in RUN, reason="not run yet")
def test_does_it_pay():
    text, columns = page("pays"), [m["name"] for m in TABLES["pays"]["methods"]]
    by_table = read_tables(text)
    gained = {}
    for k, metric in enumerate(("auc", "partial_auc")):
        means = {
            name: {d: spread(rows, metric)[0] for (d, m), rows in RAW["pays"].items() if m == name} for name in columns
        }
        common = set.intersection(*(set(m) for m in means.values()))
        best = Counter(max(columns, key=lambda name: means[name][d]) for d in common)
        assert [row[0][0] for row in by_table[k][2]] == columns
        for (name,), mean, *against, first, seconds in by_table[k][2]:
            expected = []
            for rival in RIVALS:
                values = [means[name][d] - means[rival][d] for d in means[name].keys() & means[rival].keys()]
                expected.append(gap_lines((*interval(values), len(values)) if name != rival else None, signed))
            took = [float(r["fit_seconds"]) for (_, m), rows in RAW["pays"].items() if m == name for r in rows]
            assert mean == [told(statistics.fmean(means[name][d] for d in common))]
            assert against == expected, name
            gained |= {(name, rival, metric): lines for rival, lines in zip(RIVALS, expected, strict=True)}
            assert first == [f"{best[name]} of {len(common)}"]
            assert seconds == [f"{statistics.median(took):.2g}"]
    for (name, *_), *cells in by_table[2][2]:
        for method, cell in zip(columns, cells, strict=True):
            rows = RAW["pays"][name, method]
            assert cell == ([told(spread(rows, m)[0]) for m in ("auc", "partial_auc")] if rows else [""])
    for sentence in (section(text, "Summary"), section(page("what-we-learned"), "Summary")):
        claims = re.findall(r"in AUC( up to FPR 0\.1)? against (\w+), ([A-Z][\w .]*) ([^ ]+) \(([^)]*)\)", sentence)
        assert len(claims) == 3
        for top, rival, name, middle, rest in claims:
            assert [middle, *rest.split(", ")] == gained[name, rival, "partial_auc" if top else "auc"]
