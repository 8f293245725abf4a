"""The pages say what the record says: every count, verdict and sentence follows from the rows."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, ttest_1samp

from auclid import algorithms
from auclid_papers import (
    Record,
    claims,
    comparison,
    experiments,
    figures,
    intervals,
    lessons,
    load_results,
    markdown,
    overview,
    pages,
    pairwise,
    published,
    rates,
    variants,
)

AUC = {(row.paper, row.dataset, row.method): row.published for row in published().query("metric == 'auc'").itertuples()}
SVG = "{http://www.w3.org/2000/svg}"


def summary(folder):
    return comparison.summary(load_results(folder))


def page(folder, name):
    """The text of a page of a folder."""
    return (folder / f"{name}.md").read_text("utf-8")


def section(text, title):
    """The text below a heading that begins with these words."""
    return text.partition(f"## {title}")[2].partition("\n## ")[0]


def cells(text):
    """The cells of all tables of a text, without the padding."""
    rows = [line.strip("|").split("|") for line in re.sub(r"\\\|", "", text).splitlines() if line.startswith("|")]
    return [cell.strip() for row in rows for cell in row]


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


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A record with the results of one table: one value is beaten, one missed."""
    folder, shifts = tmp_path_factory.mktemp("record"), {("diabetes", "SPAM-L2"): 0.1, ("german", "SPAM-L2"): -0.1}
    fill(folder, "spam-2", lambda dataset, method: shifts.get((dataset, method), 0.0))
    return folder


@pytest.fixture(scope="module")
def written(record, tmp_path_factory):
    """The folder of its pages."""
    folder = tmp_path_factory.mktemp("pages")
    pages.write(record, folder)
    return folder


# --- counts --------------------------------------------------------------------------------------------------------


def test_an_empty_record_has_every_page_and_every_value_is_accounted_for(tmp_path):
    paths = pages.write(tmp_path / "none", tmp_path / "out")
    chapters = {f"khalid-{number}" for number in (1, 3, 4, 5, 6, 7)}
    names = {"index", "spam", "solam", "khalid", "qsg", *chapters, *overview.OTHER_PAGES}
    assert {path.name for path in paths} == {f"{name}.md" for name in names}
    counts = comparison.tally(summary(tmp_path / "none"))
    assert counts["missing"] + counts["not run"] + counts["not ours"] == len(published()) == counts.sum()
    for name in ("what-we-learned", "what-we-learned-tables", "pays"):
        assert "no runs" in page(tmp_path / "out", name)


def test_the_tally_adds_up(record):
    frame = summary(record)
    counts = comparison.tally(frame)
    assert counts.sum() - counts["judged"] == len(frame)
    assert counts["judged"] + counts["not counted"] + counts["times"] == frame["mean"].notna().sum()
    spam = comparison.tally(frame[frame["paper"] == "SPAM"])
    assert (spam["better"], spam["worse"]) == (1, 1) and spam["judged"] == spam["met"] + 2 > 32
    share, words = (spam["met"] + 1) / (spam["met"] + 2), comparison.tally_sentences(frame[frame["paper"] == "SPAM"])
    assert f"{spam['met']} met, 1 beaten, 1 missed ({share:.1%} met or beaten)" in words
    assert f"{spam['missing']} without data" in words


@pytest.mark.parametrize(
    ("only", "datasets", "runs", "expected"),
    [
        ((), 2, 50, claims.UNKNOWN),
        ((), 3, 1, claims.HOLDS),
        (("sector",), 1, 9, claims.UNKNOWN),
        (("sector",), 1, 10, claims.HOLDS),
    ],
)
def test_a_claim_is_not_judged_by_a_few_runs(only, datasets, runs, expected):
    claim = claims.Claim("one", "SPAM", "abstract", "One is better.", only=only)
    found = claims.Finding(claim, won=datasets, compared=datasets, datasets=datasets, runs=runs, median=0.1)
    assert found.verdict == expected
    assert found._replace(won=0).verdict == (claims.FAILS if expected == claims.HOLDS else expected)
    assert found.sentence().endswith("Too few to tell.") == (expected == claims.UNKNOWN)


# --- pages ---------------------------------------------------------------------------------------------------------


def test_a_page_shows_ours_beside_theirs_with_the_verdict(record, written):
    shown, frame = cells(section(page(written, "spam"), "SPAM, table 2: ")), summary(record)
    for mark, dataset in (("▲ better", "diabetes"), ("▼ worse", "german")):
        mine = next(f for f in frame.itertuples() if (f.paper, f.dataset, f.method) == ("SPAM", dataset, "SPAM-L2"))
        (cell,) = [cell for cell in shown if mark in cell and "(–)" not in cell]
        ours, theirs, difference, time = cell.split("<br>")
        assert (ours, time) == (f"{mine.mean:.4f} ± {mine.std:.4f}", "0.50 s")
        assert theirs == f"{mine.published:.4f} ± {mine.published_std:.4f}"
        assert difference.startswith(f"{markdown.signed(mine.mean - mine.published)} {mark}")
    uncounted = comparison.tally(frame[frame["paper"] == "SPAM"])["not counted"]
    assert sum("(–)" in cell for cell in shown) == uncounted > 0


def test_tables_are_whole(written):
    for name in ("spam", "index", "what-we-learned-tables"):
        tables = re.findall(r"(?:^\|.*\n)+", page(written, name), re.MULTILINE)
        assert tables
        for table in tables:
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_the_pages_become_html_that_needs_no_network(written, tmp_path):
    pages.build_html(written, tmp_path / "html")
    text = (tmp_path / "html" / "spam.html").read_text("utf-8")
    assert text.count("<table>") == page(written, "spam").count('<div class="record"')
    loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]*)"', text)
    assert loaded and not any(address.startswith(("http", "//")) for address in loaded)
    assert 'href="spam.html"' in (tmp_path / "html" / "index.html").read_text("utf-8")
    with pytest.raises(ValueError, match="site_dir"):
        pages.build_html(written, written / "html")


def test_what_is_missing_says_where_it_is_published(written):
    gone = [d for d in experiments()["spam-2"].datasets if d.missing]
    text = section(page(written, "spam"), "Datasets that we do not have")
    assert re.search(r"<https://[^ >]+>", text), "an address is a link"
    text = re.sub(r"<(https?://[^ >]+)>", r"\1", text)
    assert gone and all(re.search(rf"- {d.published}: \d+ values?; {re.escape(d.missing)}", text) for d in gone)


def test_a_missed_figure_is_listed_with_its_note(written):
    missed = section(page(written, "spam"), "Missed values")
    assert missed.count("SPAM-L2") == 1 and "german" in missed


def test_notes_are_numbered_once_and_every_number_has_its_note(written):
    text = section(page(written, "spam"), "SPAM, table 2: ")
    marks = {int(k) for k in re.findall(r"\[(\d+)\]", text)}
    listed = re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE)
    assert marks == {int(k) for k, _ in listed} == set(range(1, len(listed) + 1)) and len(listed) > 3
    assert len({note for _, note in listed}) == len(listed)


def test_a_note_for_one_method_is_not_given_to_the_row(tmp_path):
    one, frame = experiments()["spam-2"], summary(tmp_path)
    value = next(f for f in frame.itertuples() if f.paper == "SPAM" and f.dataset == "diabetes")
    texts = {"SPAM-L2": "Common.", "SPAM-NET": "Common. Its own."}
    by_cell = {("diabetes", name): value._replace(ours=name, note=text) for name, text in texts.items()}
    notes, report = markdown.Notes(), pages.Report(tmp_path, tmp_path)
    name, *row = report.row(one, one.datasets[0], "auc", by_cell, notes)
    assert notes.texts == ["Common.", "Its own."] and name.startswith("diabetes [1]\n")
    assert "[" not in row[0] and row[1].startswith("no run [2]\n")


def test_the_same_record_gives_the_same_bytes(record, written, tmp_path):
    paths = pages.write(record, tmp_path)
    assert {path.name: path.read_bytes() for path in paths} == {p.name: p.read_bytes() for p in written.glob("*.md")}


def test_text_cannot_leave_its_place():
    evil = "a|b <script>&amp;"
    text = markdown.table(pd.DataFrame([[evil, f"{evil}\n{evil}"]], columns=[evil, "plain"]))
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [3, 3, 3]
    assert lines[2].startswith("| a\\|b &lt;script>") and lines[2].count("<br>") == 1
    assert "<script" not in markdown.bullets([evil]) and "<script" not in markdown.heading(evil)


def rerun(folder, name, chosen):
    """The rows of a table again, with these parameters chosen."""
    record = Record(folder, name)
    rows = [row | {"chosen": chosen} for row in record.frame().to_dict("records")]
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
    text = "\n\n".join(pages.Report(tmp_path, tmp_path).paper("SPAM"))
    (cell,) = [cell for cell in cells(text) if "▲ better (" in cell]
    assert f"▲ better ({mark})" in cell
    assert f"- {mark}: 1 of 1;" in text
    assert ("SPAM, table 2, as published" in text) == (stays is not None)


def test_a_printed_range_has_ends_and_a_list_of_widths_has_gaps():
    printed = {"C": [1.0, 2.0, 4.0], "gamma": [0.1, 10.0]}
    for C, gamma, outside in ((1.0, 0.1, False), (4.1, 0.1, True), (3.0, 0.19, False), (3.0, 1.0, True)):
        assert variants.is_outside({"C": C, "gamma": gamma}, printed) == outside
    assert variants.is_outside({"C": 2.0}, printed)  # our default width is none that is listed
    assert not variants.is_outside({"C": 2.0}, {"C": [1.0, 4.0], "zeta": [1.0, 100.0]})


def test_a_name_that_is_not_the_papers_algorithm_says_so_on_a_page(written):
    texts = [path.read_text("utf-8") for path in written.glob("*.md")]
    for method in (m for m in algorithms() if m.differs):
        assert any(f"- {method.name}: {markdown.escape(method.differs)}\n" in text for text in texts), method.name


def test_two_settings_of_a_method_are_two_columns(tmp_path):
    fill(tmp_path, "spam-2", lambda d, m: 0.0)
    fill(tmp_path, "spam-2-published", lambda d, m: AUC["SPAM", d, _paper_name(m)] - 0.83, runs=2)
    one, results = experiments()["spam-2-published"], load_results(tmp_path)
    runs = variants.paired_runs(one, results).query("method == 'OPAUC' and dataset == 'splice'")
    differences = runs["auc_default"] - runs["auc"]
    assert len(runs) == 2 and differences.mean() == pytest.approx(0.03, abs=0.01)
    text = "\n".join(variants.section(one, results))
    head, _, *rows = [line for line in text.splitlines() if line.startswith("|")]
    names = ["table 2: AUC", "as published", "our defaults", "difference", "paper", "as published minus paper"]
    assert cells(head) == names
    (row,) = [line for line in rows if line.startswith("| OPAUC, splice")]
    error = np.std(differences, ddof=1) * np.sqrt(1 / 2 + 1 / 4)
    assert f"{markdown.signed(differences.mean())} ± {error:.4f}" in cells(row)
    assert text.index("Two settings of a method") < text.index("| table 2: AUC")


def test_how_hard_a_table_is_stands_beside_it(record, written):
    frame = summary(record)
    mine = comparison.judged(frame[frame["paper"] == "SPAM"])
    text = page(written, "spam")
    assert f"Table 2. {comparison.difficulty(mine)}" in text
    assert text.index("A cell shows") < text.index("| table 2: AUC")
    variance = (mine["std"] ** 2 + mine["published_std"] ** 2) / mine["runs"]
    distance = np.median(np.abs(mine["difference"]) / np.sqrt(variance))
    met = {rival: (mine[rival] != "worse").sum() for rival in comparison.RIVALS}
    good = [f"{rival} would meet or beat {number} of {len(mine)}" for rival, number in met.items()]
    assert all(words in text for words in (f"from the paper is {distance:.1f} standard errors", *good))


# --- figures -------------------------------------------------------------------------------------------------------


def points(method, runs):
    rows = [(k, x, y) for k, run in enumerate(runs) for x, y in run]
    return pd.DataFrame(rows, columns=["run", "x", "y"]).assign(dataset="splice", method=method)


def drawing(figure, tmp_path):
    """The SVG of a figure."""
    figures.save(figure, tmp_path / "figure.svg", "title")
    return ElementTree.parse(tmp_path / "figure.svg")


def line_of(svg, name):
    """The points of a curve."""
    (group,) = [group for group in svg.iter(f"{SVG}g") if group.get("id") == f"curve {name}"]
    return np.array(re.findall(r"-?[\d.]+", group.find(f"{SVG}path").get("d")), dtype=float).reshape(-1, 2)


def test_a_curve_is_the_mean_of_runs_as_far_as_all_go():
    curve = figures.mean_curve(points("A", [[(2.0, 0.7), (1.0, 0.5), (9.0, 0.9)], [(1.2, 0.7), (2.2, 0.8)]]))
    np.testing.assert_allclose(curve["x"], [1.1, 2.1])
    np.testing.assert_allclose(curve["y"], [0.6, 0.75])
    np.testing.assert_allclose(curve["std"], np.std([[0.5, 0.7], [0.7, 0.8]], axis=1, ddof=1))


@pytest.mark.parametrize("name", [name for name, one in experiments().items() if one.kind != "table"])
def test_every_figure_names_its_dataset_and_methods(name, tmp_path):
    one, rng, rows = experiments()[name], np.random.default_rng(0), []
    for dataset in one.datasets:
        for method in one.methods:
            for run in range(3):
                xs = [np.nan] if one.kind == "box" else np.cumsum(rng.uniform(0.1, 1, 6))
                rows += [(dataset.published, method.name, run, x, rng.uniform()) for x in xs]
    drawn = figures.draw(one, pd.DataFrame(rows, columns=["dataset", "method", "run", "x", "y"]))
    assert list(drawn) == [dataset.published for dataset in one.datasets]
    dataset, figure = next(iter(drawn.items()))
    words = {node.text for node in drawing(figure, tmp_path).iter(f"{SVG}text")}
    assert {dataset, one.figure["y"], *(method.name for method in one.methods)} <= words
    assert ("bound" in one.figure) == any(f"in proportion to {bound}" in words for bound in rates.BOUNDS)


def test_lines_are_where_the_numbers_are(tmp_path):
    x = np.arange(1.0, 11.0)
    one = experiments()["spam-fig-1"]
    methods, heights = [method.name for method in one.methods[:2]], (0.5 + 0.04 * x, 0.9 - 0.03 * x)
    rows = [points(name, [list(zip(x, y, strict=True))]) for name, y in zip(methods, heights, strict=True)]
    svg = drawing(figures.draw(one, pd.concat(rows))["splice"], tmp_path)
    lines = [line_of(svg, method) for method in methods]
    for axis, values in enumerate(([x, x], heights)):
        drawn, expected = np.concatenate([line[:, axis] for line in lines]), np.concatenate(values)
        slope, offset = np.polyfit(expected, drawn, 1)  # one linear map serves both lines
        np.testing.assert_allclose(drawn, slope * expected + offset, atol=0.01)
        assert (slope > 0) == (axis == 0), "y runs downwards in SVG"


def test_boxes_have_quartiles_and_outliers():
    rows = points("A", [[(np.nan, value)] for value in (0.70, 0.80, 0.81, 0.82, 0.83, 0.84)])
    axes = figures.Figure().add_subplot()
    figures.boxes(axes, {"A": rows})
    first, middle, third = np.quantile(rows["y"], [0.25, 0.5, 0.75])
    heights = [line.get_ydata() for line in axes.lines]
    assert any(np.allclose(y, middle) and len(y) == 2 for y in heights)
    assert any(np.allclose(sorted(set(y)), [first, third]) for y in heights if len(set(y)) == 2)
    assert any(list(y) == [0.70] for y in heights)


def test_long_ranges_are_logarithmic():
    for factor, scale in ((1.5, "linear"), (5.0, "log")):
        axes = figures.Figure(layout="constrained").add_subplot()
        figures.curves(axes, {"A": points("A", [[(factor**k, 0.5 + 0.01 * k) for k in range(6)]])})
        assert (axes.get_xscale(), axes.get_yscale()) == (scale, "linear")
        axes = figures.Figure(layout="constrained").add_subplot()
        figures.curves(axes, {"A": points("A", [[(1.0 + k, factor**-k) for k in range(6)]])})
        assert (axes.get_xscale(), axes.get_yscale()) == ("linear", scale)


def test_a_bound_is_a_line_through_the_first_of_the_last_points():
    axes, x = figures.Figure(layout="constrained").add_subplot(), 2.0 ** np.arange(8)
    figures.curves(axes, {"A": points("A", [list(zip(x, 3.0 / x**2, strict=True))])})
    figures.slope_of(axes, "1/T")
    bound = axes.lines[-1]
    np.testing.assert_allclose(bound.get_xdata(), x[2:])
    np.testing.assert_allclose(bound.get_ydata(), 3.0 / 16.0 * 4.0 / x[2:])


@pytest.mark.parametrize(
    ("slope", "verdict"), [(-1.3, claims.HOLDS), (-0.9, claims.HOLDS), (-0.7, claims.UNKNOWN), (0.0, claims.UNKNOWN)]
)
def test_a_rate_holds_where_the_exponent_is_the_bounds_or_lower(tmp_path, slope, verdict):
    """-0.89 is that of log T / T at these steps; the runs differ by a factor, which leaves no error of an exponent."""
    one = experiments()["spam-fig-rate"]
    rows = [
        {"dataset": dataset.published, "method": "SPAM-L2", "run": run, "x": x, "y": (1 + run) * x**slope}
        for dataset in one.datasets
        for run in range(3)
        for x in map(float, one.sweep["values"])
    ]
    Record.of(tmp_path, one).add(rows)
    found = claims.find(next(claim for claim in claims.claims() if claim.id == "spam-rate"), tmp_path)
    assert found.verdict == verdict and found.won == (3 if verdict == claims.HOLDS else 0)
    assert found.median == pytest.approx(slope) and found.exponent == pytest.approx(-0.892, abs=1e-3)
    assert found.sentence().endswith(f"median {slope:.2f}, the bound's −0.89.".replace("-", "−"))


def test_a_rate_without_runs_cannot_be_told(tmp_path):
    found = claims.find(next(claim for claim in claims.claims() if claim.id == "spam-rate"), tmp_path)
    assert found.verdict == claims.UNKNOWN and found.sentence() == ""


def test_a_page_has_its_figures(tmp_path):
    one = experiments()["spam-fig-1"]
    rows = [points(method.name, [[(1.0, 0.5), (2.0, 0.7)]]) for method in one.methods]
    Record.of(tmp_path / "record", one).add(pd.concat(rows).to_dict("records"))
    pages.write(tmp_path / "record", tmp_path / "out")
    text = page(tmp_path / "out", "spam")
    assert text.count("![") == 1 and "![splice](figures/spam-fig-1-splice.svg)" in text
    assert "Not run yet: usps, a9a." in text
    ElementTree.parse(tmp_path / "out" / "figures" / "spam-fig-1-splice.svg")


# --- what we learned -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 5, 6, 7, 12, 25])
def test_the_interval_is_the_sign_tests(n):
    """Zero is outside the interval exactly when the sign test rejects it."""
    rng = np.random.default_rng(n)
    for shift in np.linspace(-2, 2, 21):
        sample = rng.normal(shift, size=n)
        found = intervals.median_interval(sample)
        rejected = binomtest(int(np.sum(sample > 0)), n, 0.5).pvalue <= 0.05
        assert (found.sign != 0) == rejected and found.estimate == np.median(sample)
        assert not rejected or found.sign == np.sign(np.median(sample))


def test_overlapping_runs_widen_the_t_interval():
    sample = np.random.default_rng(0).normal(0.3, size=9)
    plain, wide = intervals.mean_interval(sample, overlap=0.0), intervals.mean_interval(sample)
    expected = ttest_1samp(sample, 0.0).confidence_interval()
    np.testing.assert_allclose((plain.low, plain.high), expected)
    assert (wide.high - wide.low) / (plain.high - plain.low) == pytest.approx(np.sqrt((1 / 9 + 0.25) * 9))
    assert intervals.mean_interval([0.1]).sign == 0


def test_methods_without_a_run_in_common_are_not_compared(tmp_path):
    rows = [{"dataset": "diabetes", "auc": 0.8, "fit_seconds": 1.0, "chosen": {}}] * 2
    rows = [row | {"method": m, "run": k} for k, (row, m) in enumerate(zip(rows, ("OPAUC", "LightGBM"), strict=True))]
    Record(tmp_path, "spam-2").add(rows)
    assert lesson(tmp_path, "Where logistic") == ""


def lesson(folder, title):
    """A section of the page with all methods."""
    return section("\n\n".join(lessons.full_page(load_results(folder))[1]), title)


@pytest.mark.parametrize(("shift", "word"), [(0.05, "Better"), (-0.05, "Worse")])
def test_sentences_follow_the_sign(tmp_path, shift, word):
    moved = {"OPAUC": shift, "LightGBM": -shift}
    fill(tmp_path, "spam-2", lambda d, m: moved.get(m, 0.0) + 0.8 - AUC.get(("SPAM", d, _paper_name(m)), 0.8))
    runs = lessons.table_runs(load_results(tmp_path))
    gap = pairwise.Comparison(runs, pairwise.AUC)["OPAUC", "LogisticRegression"]
    estimate, low, high = (markdown.signed(number) for number in gap[:3])
    quality = lesson(tmp_path, "Quality")
    assert f"{word} than LogisticRegression: OPAUC {estimate} ({low} to {high}, {gap.n} datasets)" in quality
    opposite = {"Better": "Worse", "Worse": "Better"}[word]
    assert re.search(rf"{opposite} than LogisticRegression: LightGBM [+−]0\.", quality)
    assert re.search(r"No significant difference: [^.]*B-LS-SVM", quality)
    assert ("Beaten by none: OPAUC" in quality) == (shift > 0) == ("Beaten by none: LightGBM" not in quality)


def _paper_name(name):
    return next(m.published for m in experiments()["spam-2"].methods if m.name == name)


def test_speed_is_told_as_a_ratio(tmp_path):
    fill(tmp_path, "spam-2", lambda d, m: 0.0, seconds=lambda m: {"SPAM-L2": 0.05, "LightGBM": 5.0}.get(m, 0.5))
    time = lesson(tmp_path, "Time")
    assert "Faster than LogisticRegression: SPAM-L2 10× (10× to 10×, " in time
    assert "Slower than LogisticRegression: LightGBM 0.1× (" in time


def test_five_datasets_are_too_few(tmp_path):
    fill(tmp_path, "khalid-3.2", lambda d, m: 0.0, runs=1)
    frame = Record(tmp_path, "khalid-3.2").frame()
    five = frame["dataset"].unique()[:5]
    Record(tmp_path, "khalid-3.2").path.unlink()
    Record(tmp_path, "khalid-3.2").add(frame[frame["dataset"].isin(five)].to_dict("records"))
    quality = lesson(tmp_path, "Quality")
    assert quality == "", "a section that concludes nothing is left out"


def test_a_baseline_that_wins_is_named_with_its_datasets(tmp_path):
    level = {"LightGBM": 0.1, "LogisticRegression": 0.0}
    fill(tmp_path, "spam-2", lambda d, m: level.get(m, -0.2) if d == "diabetes" else -0.3 * (m in lessons.BASELINES))
    text = lesson(tmp_path, "Where logistic")
    assert re.search(r"LightGBM wins on diabetes \(spam-2, −0\.\d{4}\)\.", text)
    total = Record(tmp_path, "spam-2").frame()["dataset"].nunique()
    assert f"Of {total} tasks with both, the best of our methods is better in {total - 1}, a baseline in 1; 0" in text


def test_a_stream_is_one_pass_of_a_method_that_can_go_on():
    assert lessons.is_one_pass("khalid-4.3", "diabetes", "CBR-RS")
    assert not lessons.is_one_pass("khalid-6.3", "cod-rna", "SOLAM")  # 15 passes
    assert not lessons.is_one_pass("khalid-6.3", "cod-rna", "BAM")
    assert not lessons.is_one_pass("khalid-6.3", "cod-rna", "LogisticRegression")


def test_methods_are_compared_on_the_runs_that_both_have():
    rows = [("A", 0, 0.9, 1.0), ("A", 1, 0.7, 1.0), ("B", 1, 0.6, 10.0), ("B", 2, 0.1, 1.0)]
    results = pd.DataFrame(rows, columns=["method", "run", "auc", "fit_seconds"])
    runs = pairwise.complete_runs(results.assign(experiment="spam-2", dataset="a9a"))
    assert pairwise.Comparison(runs, pairwise.AUC)["A", "B"].estimate == pytest.approx(0.1)
    assert pairwise.Comparison(runs, pairwise.SPEED)["A", "B"].estimate == pytest.approx(1.0)
    apart = runs[(runs["method"] == "A") | (runs["run"] == 2)]
    assert pairwise.Comparison(apart, pairwise.AUC) == {}


def test_markdown_prints_text_as_it_is():
    text = "a|b *c* `d _e_ sector_v2 \\ [1](2) [3] <i>"
    printed = "a\\|b \\*c\\* \\`d \\_e\\_ sector_v2 \\\\ [1]\\(2) [3] &lt;i>"
    assert markdown.escape(text) == markdown.escape(markdown.escape(text)) == printed
    python_markdown = pytest.importorskip("markdown")
    html = python_markdown.markdown(markdown.escape(text), extensions=["tables"])
    assert html == "<p>a|b *c* `d _e_ sector_v2 \\ [1](2) [3] &lt;i&gt;</p>"


def test_backquotes_hold_code_but_no_html_and_no_end_of_a_cell():
    assert markdown.escape("so `f(*x)` is, not *x*") == "so `f(*x)` is, not \\*x\\*"
    for inside in ("<b>", "a|b"):
        escaped = markdown.escape(f"`{inside}`")
        assert escaped.startswith("\\`") and "<" not in escaped and "|" not in escaped.replace("\\|", "")
