"""The pages say what the record says: every count, verdict and sentence follows from the rows."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp

from auclid._page.svg import Frame
from auclid.registry import algorithms
from auclid_papers import (
    beside,
    experiments,
    figures,
    gaps,
    learned,
    lessons,
    pages,
    pays,
    published,
    render,
    summary,
    tally,
)
from auclid_papers.record import Record

AUC = {(row["paper"], row["dataset"], row["method"]): row["mean"] for row in published() if row["metric"] == "auc"}
VOID = {"meta", "br", "link", "img"}


class Tags(HTMLParser):
    """Checks that tags are closed in order, and keeps what could reach outside the page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.reach, self.cells = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append([dict(attributes).get("class", ""), ""])
        self.reach += [v for k, v in attributes if k in ("src", "href") or (k == "http-equiv" and v == "refresh")]
        assert tag not in ("script", "img", "link", "iframe")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1][1] += data + "\n"


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    monkeypatch.delenv("AUCLID_DATA", raising=False)


def fill(folder, name, shift, runs=8, seconds=None, noise=0.001):
    """Rows of a table: each method at its published AUC (baselines at 0.8), shifted as told."""
    one, rng, rows = experiments()[name], np.random.default_rng(0), []
    for dataset in (d for d in one.datasets if d.missing is None):
        for method in one.methods:
            auc = AUC.get((one.paper, dataset.published, method.published), 0.8)
            for run in range(runs):
                value = auc + shift(dataset.published, method.name) + noise * rng.normal()
                time = (seconds or (lambda method: 0.5))(method.name)
                rows.append({"dataset": dataset.published, "method": method.name, "run": run, "auc": min(value, 1.0)})
                rows[-1] |= {"accuracy_at_optroc": 0.8, "fit_seconds": time, "chosen": {"alpha": 0.1}}
    Record(folder, name).add(rows)


@pytest.fixture
def record(tmp_path):
    shifts = {("diabetes", "SPAM-L2"): 0.1, ("german", "SPAM-L2"): -0.1}
    fill(tmp_path, "spam-2", lambda dataset, method: shifts.get((dataset, method), 0.0))
    return tmp_path


# --- counts --------------------------------------------------------------------------------------------------------


def test_an_empty_record_has_every_page_and_every_figure_is_accounted_for(tmp_path):
    paths = pages.write(tmp_path / "none", tmp_path / "out")
    named = {"index", "spam", "solam", "khalid", "qsg", learned.NAME, lessons.NAME, pays.NAME, "not-counted"}
    assert {path.name for path in paths} == {f"{name}.{ending}" for name in named for ending in ("html", "md")}
    tally = pages.Tally.of(summary(tmp_path / "none"))
    assert tally.total == len(published()) == tally.missing + tally.waiting + tally.foreign
    for name in (learned.NAME, lessons.NAME, pays.NAME):
        assert "no runs" in (tmp_path / "out" / f"{name}.md").read_text("utf-8")


def test_the_tally_adds_up(record):
    found = list(summary(record))
    tally = pages.Tally.of(found)
    parts = tally.judged + tally.uncounted + tally.timed + tally.missing + tally.waiting + tally.foreign
    assert parts == tally.total and tally.judged + tally.uncounted + tally.timed == tally.rerun
    spam = pages.Tally.of(f for f in found if f.paper == "SPAM")
    assert spam.rerun == sum(f.mean is not None for f in found) and (spam.better, spam.worse) == (1, 1)
    assert spam.met == sum(f.counted and f.verdict == "met" for f in found) > 30
    share = (spam.met + 1) / (spam.met + 2)
    assert f"{spam.met} met, 1 beaten, 1 missed ({share:.1%} met or beaten)" in str(spam)
    assert f"{spam.missing} not runnable for want of data" in str(spam)


# --- pages ---------------------------------------------------------------------------------------------------------


def test_a_page_shows_ours_beside_theirs_with_the_verdict(record, tmp_path):
    pages.write(record, tmp_path / "out")
    text = (tmp_path / "out" / "spam.html").read_text("utf-8")
    tags = Tags(text)
    assert {where for where in tags.reach if not where.startswith("https://")} == {"index.html"}
    for verdict, mark, dataset in (("better", "▲ better", "diabetes"), ("worse", "▼ worse", "german")):
        (cell,) = [words for kind, words in tags.cells if kind == verdict]
        mine = next(f for f in summary(record) if (f.paper, f.dataset, f.method) == ("SPAM", dataset, "SPAM-L2"))
        assert mark in cell and "0.50 s" in cell
        assert cell.startswith(f"{mine.mean:.4f} ± {mine.std:.4f}\n{mine.published:.4f} ± {mine.published_std:.4f}\n")
    uncounted = [words for kind, words in tags.cells if "(–)" in words]
    assert len(uncounted) == pages.Tally.of(f for f in summary(record) if f.paper == "SPAM").uncounted > 0
    assert all(kind == "" for kind, words in tags.cells if "(–)" in words)


def test_markdown_has_the_same_cells(record, tmp_path):
    pages.write(record, tmp_path / "out")
    cells = [words for _, words in Tags((tmp_path / "out" / "spam.html").read_text("utf-8")).cells]
    table = [line for line in (tmp_path / "out" / "spam.md").read_text("utf-8").splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table[:10]}) == 1
    flat = "\n".join(table).replace("<br>", "\n")
    assert all(words.strip() in flat for words in cells) and sum("▼ worse" in line for line in table) == 1


def test_what_is_missing_says_where_it_is_published(record, tmp_path):
    pages.write(record, tmp_path / "out")
    gone = [d for d in experiments()["spam-2"].datasets if d.missing]
    text = (tmp_path / "out" / "spam.md").read_text("utf-8").partition("## Not runnable")[2]
    assert re.search(r"<https://[^ >]+>", text), "an address is a link"
    text = re.sub(r"<(https?://[^ >]+)>", r"\1", text)
    assert gone and all(re.search(rf"- {d.published}: \d+ figures?; {re.escape(d.missing)}", text) for d in gone)


def test_a_missed_figure_is_listed_with_its_note(record, tmp_path):
    pages.write(record, tmp_path / "out")
    missed = (tmp_path / "out" / "spam.md").read_text("utf-8").partition("## Missed figures")[2].partition("##")[0]
    assert missed.count("SPAM-L2") == 1 and "german" in missed


def test_notes_are_numbered_once_and_every_number_has_its_note(record, tmp_path):
    pages.write(record, tmp_path / "out")
    section = (tmp_path / "out" / "spam.md").read_text("utf-8").split("## ")[1]
    marks = {int(k) for k in re.findall(r"\[(\d+)\]", section)}
    listed = re.findall(r"^(\d+)\. (.*)$", section, re.MULTILINE)
    assert marks == {int(k) for k, _ in listed} == set(range(1, len(listed) + 1)) and len(listed) > 3
    assert len({note for _, note in listed}) == len(listed)


def test_a_note_for_one_method_is_not_given_to_the_row():
    figure = next(f for f in summary("nowhere") if f.paper == "SPAM" and f.dataset == "diabetes")
    one = experiments()["spam-2"]
    said = {"SPAM-L2": "Common.", "SPAM-NET": "Common. Its own."}
    found = {("diabetes", m): figure._replace(method=m, note=note) for m, note in said.items()}
    notes = render.Notes()
    name, cells = pages._line(one, one.datasets[0], "auc", found, {}, {}, notes)
    assert notes.all == ["Common.", "Its own."] and name.lines[0] == "diabetes [1]"
    assert "[" not in cells[0].lines[0] and cells[1].lines[0].endswith("[2]")


def test_the_same_record_gives_the_same_bytes(record, tmp_path):
    first, second = (pages.write(record, tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_words_cannot_leave_their_place(tmp_path):
    evil = "a|b <script>&amp;"
    table = render.Table([render.Cell((evil,))], [(render.Cell((evil, evil)), [])])
    blocks = [table, render.Points([evil]), render.Paragraph(evil)]
    page = render.Page("evil", evil, evil, evil, [render.Section(evil, blocks)])
    Tags(render.html(page))
    (row,) = [line for line in render.markdown(page).splitlines() if line.startswith("| a") and "<br>" in line]
    assert row.startswith("| a\\|b &lt;script>") and len(re.findall(r"(?<!\\)\|", row)) == 2


def rerun(folder, name, chosen):
    """The rows of a table again, with these parameters chosen."""
    record = Record(folder, name)
    rows = [row | {"chosen": chosen} for row in record.rows()]
    record.path.unlink()
    record.add(rows)


@pytest.mark.parametrize(
    ("C", "scale", "stays", "mark"),
    [
        (1e-6, "columns", 0.0, "range"),
        (1e-6, "largest", 0.0, "range or scaling"),
        (1.0, "largest", 0.0, "scaling"),
        (1.0, "columns", 0.0, "method"),
        (1e-6, "largest", 0.05, "method"),
        (1e-6, "columns", None, "not rerun"),
    ],
)
def test_a_gain_is_marked_by_what_becomes_of_it_with_the_printed_range(tmp_path, C, scale, stays, mark):
    gain = {("splice", "OAMseq"): 0.05}
    fill(tmp_path, "spam-2", lambda d, m: gain.get((d, m), 0.0))
    rerun(tmp_path, "spam-2", {"C": C, "scale": scale})
    if stays is not None:
        fill(tmp_path, "spam-2-published", lambda d, m: AUC["SPAM", d, _paper_name(m)] - 0.8 + stays, runs=3)
    pages.write(tmp_path, tmp_path / "out")
    text = (tmp_path / "out" / "spam.md").read_text("utf-8")
    (cell,) = [c for c in text.replace("|", "\n").splitlines() if "▲ better (" in c and "ours" not in c]
    assert f"▲ better ({mark})" in cell
    assert f"- {mark}: 1 of 1;" in text
    assert ("SPAM, table 2, as published" in text) == (stays is not None)


def test_a_printed_range_has_ends_and_a_list_of_widths_has_gaps():
    printed = {"C": [1.0, 2.0, 4.0], "gamma": [0.1, 10.0]}
    for C, gamma, outside in ((1.0, 0.1, False), (4.1, 0.1, True), (3.0, 0.19, False), (3.0, 1.0, True)):
        assert beside._is_outside({"C": C, "gamma": gamma}, printed) == outside
    assert beside._is_outside({"C": 2.0}, printed)  # our default width is none that is listed
    assert not beside._is_outside({"C": 2.0}, {"C": [1.0, 4.0], "zeta": [1.0, 100.0]})


def test_a_name_that_is_not_the_papers_algorithm_says_so_on_a_page(record, tmp_path):
    texts = [path.read_text("utf-8") for path in pages.write(record, tmp_path / "out") if path.suffix == ".md"]
    for method in (m for m in algorithms() if m.differs):
        assert any(f"- {method.name}: {render._md_words(method.differs)}\n" in text for text in texts), method.name


def test_two_forms_of_a_method_are_two_columns(tmp_path):
    fill(tmp_path, "spam-2", lambda d, m: 0.0)
    fill(tmp_path, "spam-2-published", lambda d, m: AUC["SPAM", d, _paper_name(m)] - 0.83, runs=2)
    found = beside.pairs(experiments()["spam-2-published"], tmp_path)
    pair = found["OPAUC", "splice"]
    assert len(pair.ours) == len(pair.theirs) == 2 and pair.gain == pytest.approx(0.03, abs=0.01)
    section = render.markdown(
        render.Page("p", "", "", "", [beside.section(experiments()["spam-2-published"], tmp_path)])
    )
    head, _, *rows = [line for line in section.splitlines() if line.startswith("|")]
    words = [cell.strip() for cell in head.split("|")[1:-1]]
    assert words == ["table 2: AUC", "as published", "our defaults", "difference", "paper", "as published less paper"]
    (row,) = [line for line in rows if line.startswith("| OPAUC, splice")]
    error = np.std(np.subtract(pair.ours, pair.theirs), ddof=1) * np.sqrt(1 / 2 + 1 / 4)
    assert f"| {pages.signed(pair.gain)} ± {error:.4f} |" in row
    assert section.index("Two forms of a method") < section.index("| table 2: AUC")


def test_what_met_is_worth_is_told_beside_a_table(record, tmp_path):
    weight = tally.Weight.of(f for f in summary(record) if f.paper == "SPAM")
    assert weight.judged - weight.good == 1 and set(weight.rivals) == {"LogisticRegression", "LightGBM"}
    mine = next(f for f in summary(record) if (f.dataset, f.method) == ("german", "SPAM-L2"))
    assert mine.errors == pytest.approx(mine.difference / np.sqrt((mine.std**2 + mine.published_std**2) / mine.runs))
    pages.write(record, tmp_path / "out")
    text = (tmp_path / "out" / "spam.md").read_text("utf-8")
    assert f"Table 2. {weight}" in text and text.index("In a cell, from above") < text.index("| table 2: AUC")


# --- figures -------------------------------------------------------------------------------------------------------


def points(method, runs):
    return [
        {"dataset": "splice", "method": method, "run": k, "x": x, "y": y} for k, run in enumerate(runs) for x, y in run
    ]


def test_a_curve_is_the_mean_of_runs_as_far_as_all_go():
    rows = points("A", [[(2.0, 0.7), (1.0, 0.5), (9.0, 0.9)], [(1.2, 0.7), (2.2, 0.8)]])
    x, y, spread = figures.mean_curve(rows)
    np.testing.assert_allclose(x, [1.1, 2.1])
    np.testing.assert_allclose(y, [0.6, 0.75])
    np.testing.assert_allclose(spread, np.std([[0.5, 0.7], [0.7, 0.8]], axis=1, ddof=1))


def test_every_figure_is_well_formed_and_has_its_methods(tmp_path):
    rng, drawn = np.random.default_rng(0), 0
    for one in (one for one in experiments().values() if one.kind != "table"):
        rows = []
        for dataset in (d.published for d in one.datasets):
            for method in (m.name for m in one.methods):
                for run in range(3):
                    x = [None] if one.kind == "box" else np.cumsum(rng.uniform(0.1, 1, 6))
                    rows += [{"dataset": dataset, "method": method, "run": run, "x": v, "y": rng.uniform()} for v in x]
        for dataset, svg in figures.draw(one, rows).items():
            for text in (svg, figures.alone(svg)):
                words = " ".join(ElementTree.fromstring(text).itertext())
                assert dataset in words and all(m.name in words for m in one.methods)
            drawn += 1
    assert drawn > 20


def test_lines_are_where_the_numbers_are():
    rows = points("A", [[(x, 0.5 + 0.04 * x) for x in range(1, 11)]])
    svg = ElementTree.fromstring(figures.curves("t", {"A": rows}, "x", "y"))
    (line,) = [path for path in svg.iter("path") if path.get("class") == "line c0" and path.find("title") is not None]
    drawn = np.array(re.findall(r"[\d.]+", line.get("d")), dtype=float).reshape(-1, 2)
    frame = Frame(figures._wide(np.array([1.0, 10.0]), False), figures._room(0.54, 0.9))
    np.testing.assert_allclose(drawn[:, 0], frame.across(np.arange(1, 11)), atol=0.06)
    np.testing.assert_allclose(drawn[:, 1], frame.up(0.5 + 0.04 * np.arange(1, 11)), atol=0.06)


def test_boxes_tell_quartiles_and_outliers():
    values = [0.70, 0.80, 0.81, 0.82, 0.83, 0.84]
    rows = points("A", [[(None, value)] for value in values])
    svg = figures.boxes("t", {"A": rows}, "", "AUC")
    first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
    assert f"median {middle:.4f}, half of 6 runs between {first:.4f} and {third:.4f}" in svg
    assert svg.count('class="dot"') == 1


def test_long_ranges_are_logarithmic():
    for factor, log in ((1.5, False), (5.0, True)):
        rows = points("A", [[(factor**k, 0.5 + 0.01 * k) for k in range(6)]])
        assert ("log scale" in figures.curves("t", {"A": rows}, "seconds", "AUC")) == log


def test_a_page_holds_its_figures(tmp_path):
    one = experiments()["spam-fig-1"]
    rows = [row for method in one.methods for row in points(method.name, [[(1.0, 0.5), (2.0, 0.7)]])]
    Record(tmp_path / "record", one.id, figure=True).add(rows)
    pages.write(tmp_path / "record", tmp_path / "out")
    text = (tmp_path / "out" / "spam.html").read_text("utf-8")
    assert text.count("<figure>") == 1 and "Not run yet: usps, a9a." in text
    Tags(text)
    assert "![splice](figures/spam-fig-1-splice.svg)" in (tmp_path / "out" / "spam.md").read_text("utf-8")
    ElementTree.parse(tmp_path / "out" / "figures" / "spam-fig-1-splice.svg")


# --- what we learned -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 5, 6, 7, 12, 25])
def test_the_interval_is_the_sign_tests(n):
    """Zero is outside the interval exactly when the sign test rejects it."""
    rng = np.random.default_rng(n)
    for shift in np.linspace(-2, 2, 21):
        sample = rng.normal(shift, size=n)
        gap = gaps.median_gap(sample)
        rejected = binomtest(int(np.sum(sample > 0)), n, 0.5).pvalue <= 0.05
        assert (gap.sign != 0) == rejected and gap.middle == np.median(sample)
        assert not rejected or gap.sign == np.sign(np.median(sample))


def test_overlapping_runs_widen_the_interval_of_students():
    sample = np.random.default_rng(0).normal(0.3, size=9)
    plain, gap = gaps.mean_gap(sample, overlap=0.0), gaps.mean_gap(sample)
    expected = ttest_1samp(sample, 0.0).confidence_interval()
    np.testing.assert_allclose((plain.low, plain.high), expected)
    assert (gap.high - gap.low) / (plain.high - plain.low) == pytest.approx(np.sqrt((1 / 9 + 0.25) * 9))
    assert gaps.mean_gap([0.1]).sign == 0


def test_an_empty_common_ground_is_left_out(tmp_path):
    """Methods of one task that share no run are not compared."""
    rows = [{"dataset": "diabetes", "auc": 0.8, "fit_seconds": 1.0, "chosen": {}}] * 2
    rows = [row | {"method": m, "run": k} for k, (row, m) in enumerate(zip(rows, ("OPAUC", "LightGBM"), strict=True))]
    Record(tmp_path, "spam-2").add(rows)
    assert lesson(tmp_path, "Where logistic") == ""


def lesson(folder, title):
    text = render.markdown(learned.page(folder))
    return text.partition(f"## {title}")[2].partition("\n## ")[0]


@pytest.mark.parametrize(("shift", "word"), [(0.05, "Better"), (-0.05, "Worse")])
def test_sentences_follow_the_sign(tmp_path, shift, word):
    moved = {"OPAUC": shift, "LightGBM": -shift}
    fill(tmp_path, "spam-2", lambda d, m: moved.get(m, 0.0) + 0.8 - AUC.get(("SPAM", d, _paper_name(m)), 0.8))
    tasks = learned.runs(tmp_path)
    gap = learned.gaps(tasks, learned.auc_gap)["OPAUC", "LogisticRegression"]
    at = f"{learned.signed(gap.middle)}, {learned.signed(gap.low)} to {learned.signed(gap.high)}, {gap.n} datasets"
    quality = lesson(tmp_path, "Quality")
    assert re.search(rf"{word} than LogisticRegression: OPAUC \({re.escape(at)}\)", quality)
    opposite = {"Better": "Worse", "Worse": "Better"}[word]
    assert f"{opposite} than LogisticRegression: LightGBM (" in quality
    assert re.search(r"Not to be told from it: [^.]*B-LS-SVM", quality)
    assert ("Beaten by none: OPAUC" in quality) == (shift > 0) == ("Beaten by none: LightGBM" not in quality)


def _paper_name(name):
    return next(m.published for m in experiments()["spam-2"].methods if m.name == name)


def test_speed_is_told_as_a_ratio(tmp_path):
    fill(tmp_path, "spam-2", lambda d, m: 0.0, seconds=lambda m: {"SPAM-L2": 0.05, "LightGBM": 5.0}.get(m, 0.5))
    time = lesson(tmp_path, "Time")
    assert "Faster than LogisticRegression: SPAM-L2 (10×, 10× to 10×, " in time
    assert "Slower than LogisticRegression: LightGBM (0.1×, " in time


def test_five_datasets_are_too_few(tmp_path):
    fill(tmp_path, "khalid-3.2", lambda d, m: 0.0, runs=1)
    rows = Record(tmp_path, "khalid-3.2").rows()
    five = list(dict.fromkeys(row["dataset"] for row in rows))[:5]
    Record(tmp_path, "khalid-3.2").path.unlink()
    Record(tmp_path, "khalid-3.2").add([row for row in rows if row["dataset"] in five])
    quality = lesson(tmp_path, "Quality")
    assert quality == "", "a section that concludes nothing is left out"


def test_a_baseline_that_wins_is_named_with_its_datasets(tmp_path):
    level = {"LightGBM": 0.1, "LogisticRegression": 0.0}
    fill(tmp_path, "spam-2", lambda d, m: level.get(m, -0.2) if d == "diabetes" else -0.3 * (m in learned.BASELINES))
    section = lesson(tmp_path, "Where logistic")
    assert re.search(r"LightGBM wins on diabetes \(spam-2, −0\.\d{4}\)\.", section)
    total = len({row["dataset"] for row in Record(tmp_path, "spam-2").rows()})
    assert f"Of {total} tasks with both, the best of ours ranks better in {total - 1}, a baseline in 1; 0" in section


def test_few_positives_and_text_are_told_by_the_facts_on_record(tmp_path):
    fill(tmp_path, "spam-2", lambda d, m: 0.0)
    datasets = {row["dataset"] for row in Record(tmp_path, "spam-2").rows()}
    lines = [f"spam-2,{d},1000,{8 if d == 'sector' else 90000},{0.01 if d != 'sector' else 0.5},0.01" for d in datasets]
    head = "experiment,dataset,rows,columns,positive,filled"
    (tmp_path / "datasets.csv").write_text("\n".join([head, *lines]) + "\n")
    assert f"{len(datasets) - 1} datasets |" in lesson(tmp_path, "Few positives")
    assert f"{len(datasets) - 1} datasets |" in lesson(tmp_path, "Sparse text")
    (tmp_path / "datasets.csv").unlink()
    assert lesson(tmp_path, "Few positives") == ""


def test_facts_are_counted_from_the_data_and_kept(tmp_path, monkeypatch):
    fill(tmp_path / "record", "spam-2", lambda d, m: 0.0, runs=1)
    (tmp_path / "data").mkdir()
    y = np.where(np.arange(50) < 5, -1, 1)
    np.savez(tmp_path / "data" / "diabetes.npz", X=np.eye(50)[:, :4], y=y)
    monkeypatch.setenv("AUCLID_DATA", str(tmp_path / "data"))
    known = learned.facts(tmp_path / "record")
    assert known == {("spam-2", "diabetes"): learned.Facts(50, 4, 0.1, 0.02)}
    monkeypatch.delenv("AUCLID_DATA")
    assert learned.facts(tmp_path / "record") == known


def test_a_stream_is_one_pass_of_a_method_that_can_go_on():
    assert learned.one_pass("khalid-4.3", "diabetes", "CBR-RS")
    assert not learned.one_pass("khalid-6.3", "cod-rna", "SOLAM")  # 15 passes
    assert not learned.one_pass("khalid-6.3", "cod-rna", "BAM")
    assert not learned.one_pass("khalid-6.3", "cod-rna", "LogisticRegression")


def test_methods_are_compared_on_the_runs_that_both_made():
    a, b = learned.Run({0: 0.9, 1: 0.7}, {0: 1.0, 1: 1.0}), learned.Run({1: 0.6, 2: 0.1}, {1: 10.0, 2: 1.0})
    assert learned.auc_gap(a, b) == pytest.approx(0.1) and learned.time_gap(a, b) == pytest.approx(1.0)
    assert learned.auc_gap(a, learned.Run({5: 0.1}, {5: 1.0})) is None


def test_markdown_prints_words_as_they_are():
    words = "a|b *c* `d` _e_ sector_v2 \\ [1](2) [3] <i>"
    page = render.Page("p", words, words, "", [render.Section(words, [render.Paragraph(words)])])
    printed = "a\\|b \\*c\\* \\`d\\` \\_e\\_ sector_v2 \\\\ [1]\\(2) [3] &lt;i>"
    assert render.markdown(page).split("\n\n") == [f"# {printed}", printed, f"## {printed}", printed + "\n"]
