"""Monitoring: counts of profiles, drift, periods, and the control chart."""

import html
import json
import re
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import auclid
from auclid import LeastSquaresAUC, Scorecard
from auclid.metrics import population_stability, roc_auc
from auclid.metrics._auc import auc_from_parts
from auclid.metrics._stability import drift_test
from auclid.monitoring import Period, Profile, auc_standard_error, chart, control_chart, monitor, profile
from auclid.monitoring.profiles import placement_spreads, unknown_order
from auclid.monitoring.report import _chart, _ordered_period
from browser import browse, in_browser


def make_table(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    day = rng.integers(0, 70, n)
    table = pd.DataFrame({
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + shift),
        "city": rng.choice(["Bern", "Basel", "Chur"], n),
        "opened": np.datetime64("2024-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]"),
    })  # fmt: skip
    y = (np.nan_to_num(table["income"]) + (table["city"] == "Chur") + rng.logistic(size=n) > 1.5).astype(int)
    return table, y.to_numpy(), np.datetime64("2026-01-05") + day.astype("timedelta64[D]")


@pytest.fixture(scope="module")
def model():
    table, y, _ = make_table(3_000, 0)
    return Scorecard(interactions=0, random_state=0).fit(table, y)


@pytest.fixture(scope="module")
def before(model):
    table, y, _ = make_table(3_000, 1)
    return profile(model, table, y, held_out=True)


# --- the index ---


def test_the_index_is_its_formula():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=5_000), rng.normal(0.3, 1.2, size=3_000)
    edges = np.quantile(a, np.arange(1, 10) / 10)
    e, o = (np.bincount(np.searchsorted(edges, x), minlength=10) / len(x) for x in (a, b))
    assert population_stability(a, b) == pytest.approx(np.sum((o - e) * np.log(o / e)), rel=1e-12)
    assert population_stability(a, a) == 0.0


def test_the_index_of_texts_and_missing_values():
    assert population_stability(["a", "b"] * 50, ["b", "a"] * 20) == 0.0
    assert population_stability(["a", "b"] * 50, ["a", "c"] * 50) > 1.0
    assert population_stability([1.0, 2.0] * 50, [1.0, np.nan] * 50) > 1.0
    mixed = [np.array(values * 10, dtype=object) for values in ([True, 1, "a"], [1, True, "a"], [1, 1, "a"])]
    assert population_stability(mixed[0], mixed[1]) == 0.0 and population_stability(mixed[0], mixed[2]) > 1.0
    assert np.isfinite(population_stability([1.0] * 10, [2.0] * 10))


@pytest.mark.parametrize("bad", [[], [[1.0, 2.0]]])
def test_the_index_refuses(bad):
    with pytest.raises(ValueError, match="'actual' parameter of population_stability must be one value or more"):
        population_stability([1.0, 2.0], bad)


def test_the_drift_test_holds_its_level():
    rng = np.random.default_rng(0)
    shares = [0.4, 0.3, 0.2, 0.09, 0.01]
    found = [drift_test(rng.multinomial(2_000, shares), rng.multinomial(300, shares)).pvalue for _ in range(400)]
    assert 0.02 < np.mean(np.array(found) < 0.05) < 0.09


# --- profiles ---


def test_a_profile_counts_and_keeps_no_row(before):
    assert before.rows == 3_000
    assert [column.kind for column in before.columns] == ["number", "text", "date"]
    assert all(column.rows == 3_000 for column in (*before.columns, before.score))
    assert before.columns[1].levels == ["Basel", "Bern", "Chur"]
    assert len(json.dumps(before.to_dict())) < 10_000
    assert Profile.from_dict(json.loads(json.dumps(before.to_dict()))) == before


def test_a_profile_travels_in_the_model_file(model, before, tmp_path):
    auclid.save(tmp_path / "m.auclid", model, about={"profile": before.to_dict()})
    assert Profile.from_dict(auclid.io.about(tmp_path / "m.auclid")["profile"]) == before


@pytest.mark.parametrize("told", [None, {"format": "other"}, {"format": "auclid-profile", "rows": 3}])
def test_what_is_no_profile_is_refused(told):
    with pytest.raises(ValueError, match="A profile must"):
        Profile.from_dict(told)


def test_profiles_of_files_and_dask_are_those_of_memory(model, before, tmp_path):
    pytest.importorskip("pyarrow")
    table, y, _ = make_table(3_000, 1)
    table.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=1_000)
    rows = auclid.scan(tmp_path / "rows.parquet", target="y", memory=10_000)
    others = [profile(model, rows, held_out=True)]
    dd = pytest.importorskip("dask.dataframe")
    others.append(profile(model, dd.from_pandas(table, npartitions=3), y, held_out=True))
    for other in others:
        assert other.rows == before.rows
        assert other.auc == pytest.approx(before.auc, abs=1e-12)
        for a, b in zip(other.columns, before.columns, strict=True):
            assert (a.name, a.kind, a.levels, a.low, a.high) == (b.name, b.kind, b.levels, b.low, b.high)
            np.testing.assert_allclose(a.edges, b.edges, atol=0.02 * ((b.high or 0.0) - (b.low or 0.0)))
            np.testing.assert_allclose(np.cumsum(a.counts), np.cumsum(b.counts), atol=45)


def test_files_and_dask_are_monitored_as_memory(model, before, tmp_path):
    pytest.importorskip("pyarrow")
    table, y, _ = make_table(2_000, 2, shift=0.5)
    expected = monitor(model, table, y, reference=before)
    table.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    found = [monitor(model, auclid.scan(tmp_path / "rows.parquet", target="y"), reference=before)]
    dd = pytest.importorskip("dask.dataframe")
    found.append(monitor(model, dd.from_pandas(table, npartitions=4), y, reference=before))
    for each in found:
        assert json.dumps(each.to_dict()) == json.dumps(expected.to_dict())


# --- what is found ---


def test_nothing_is_said_where_nothing_has_changed(model, before):
    table, y, time = make_table(3_000, 3)
    found = monitor(model, table, y, reference=before, time=time)
    assert found.alarms == [] and found.notes == []
    assert [each.name for each in found.periods][:2] == ["2026-01-05", "2026-01-12"]
    assert sum(each.rows for each in found.periods) == 3_000
    low, high = found.alert_rate[1:]
    assert low < found.alert_rate_before < high


def test_drift_unseen_levels_and_ranges_are_found(model, before):
    table, _, _ = make_table(3_000, 4, shift=1.0)
    table.loc[::20, "city"] = "Genf"
    table.loc[::25, "opened"] = pd.NaT
    found = monitor(model, table, reference=before)
    by_name = {each.name: each for each in found.columns}
    assert by_name["income"].drifted and found.score.drifted and by_name["opened"].drifted
    assert by_name["city"].unseen == ["Genf"] and by_name["city"].unseen_share == pytest.approx(0.05)
    assert any("opened is missing in 4.0% of rows, and never was before" in note for note in found.notes)
    assert found.chart is None


def test_periods_measure_what_metrics_measure(model, before):
    table, y, time = make_table(3_000, 5)
    labels = y.astype(object)
    late = time >= np.datetime64("2026-02-23")
    labels[late] = None  # labels that have not come in
    found = monitor(model, table, labels, reference=before, time=time, period="month")
    assert [each.name for each in found.periods] == ["2026-01-01", "2026-02-01", "2026-03-01"]
    january = time < np.datetime64("2026-02-01")
    first, last = found.periods[0], found.periods[-1]
    assert first.auc[0] == pytest.approx(roc_auc(y[january], model.decision_function(table[january])), abs=1e-12)
    assert first.positives == y[january].sum()
    assert first.predicted[1] < first.observed < first.predicted[2]
    assert last.auc is None and last.labelled == 0


@pytest.mark.parametrize("rare", [0, 1])
def test_a_period_with_one_row_of_a_class_has_no_auc(model, before, rare):
    table, y, day = make_table(1_200, 2)
    y = y.copy()
    first = np.flatnonzero(day < day.min() + 7)
    y[first] = 1 - rare
    y[first[0]] = rare
    report = monitor(model, table, y, time=day, reference=before)
    assert report.periods[0].auc is None and report.periods[0].average_precision is None
    assert report.periods[0].positives == (1 if rare else len(first) - 1)
    assert all(each.auc is not None for each in report.periods[1:])
    pytest.importorskip("matplotlib")
    ax = auclid.plot.over_time(y, y + 0.0, day)
    assert len(ax.containers[0].lines[0].get_xdata()) == len(report.periods) - 1


def test_rows_with_one_positive_give_no_expected_auc(model):
    table, _, _ = make_table(200, 3)
    y = (np.arange(200) == 0).astype(int)
    assert profile(model, table, y, held_out=True).auc == pytest.approx(model.cv_auc_)


def test_a_fall_is_found(model, before):
    table, y, time = make_table(6_000, 6)
    rng = np.random.default_rng(0)
    fallen = time >= np.datetime64("2026-02-02")
    y = np.where(fallen & (rng.random(len(y)) < 0.6), rng.permutation(y), y)
    found = monitor(model, table, y, reference=before, time=time)
    assert found.chart.alarm is not None and found.periods[found.chart.since].name >= "2026-01-26"
    assert any("AUC has fallen" in each for each in found.alarms)


def test_without_an_expected_auc_the_first_periods_give_it(model):
    table, y, time = make_table(3_000, 7)
    plain = LeastSquaresAUC().fit(np.nan_to_num(table[["income"]]), y)
    X = np.nan_to_num(table[["income"]])
    found = monitor(plain, X, y, reference=profile(plain, X, y), time=time)
    assert found.expected_from == "the first 4 periods"
    assert found.chart.alarm is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reference": None}, "'reference' parameter of monitor must be a Profile"),
        ({"period": "hour"}, "'period' parameter of monitor must be one of .'day', 'week'"),
        ({"time": [1.0]}, "must have a value for each of 3000 rows. Got shape .1,. instead"),
        ({"time": ["x"] * 3_000}, "must hold dates or numbers"),
        ({"time": [None, *range(2_999)]}, "must be known in each row. Got none in 1 of 3000 rows"),
        ({"y": [5] * 3_000}, "'y' parameter of monitor must hold the labels"),
    ],
)
def test_wrong_input(model, before, given, said):
    table, _, _ = make_table(3_000, 3)
    with pytest.raises(ValueError, match=said):
        monitor(model, table, **{"reference": before, **given})


# --- the chart ---


SHAPES = {
    "normal": lambda rng, gap, n: (rng.normal(gap, 1.0, n[0]), rng.normal(size=n[1])),
    "unequal": lambda rng, gap, n: (rng.normal(gap, 2.0, n[0]), rng.normal(size=n[1])),
    "skewed": lambda rng, gap, n: (rng.exponential(np.exp(gap), n[0]), rng.exponential(size=n[1])),
    "ties": lambda rng, gap, n: (np.round(rng.normal(gap, 1.0, n[0])), np.round(rng.normal(size=n[1]))),
}
"""Scores of positives and negatives, with a gap between them."""


class Weeks(NamedTuple):
    """A model in production: the shape of its scores, the sizes of a week, and the rows its AUC is known from."""

    shape: str
    gap: float
    n: tuple[int, int]
    reference: tuple[int, int]

    def period(self, rng, gap=None, n=None):
        """A period as `monitor` measures it, and the variances of its placements."""
        n = self.n if n is None else n
        is_pos = np.arange(sum(n)) < n[0]
        scores = np.concatenate(SHAPES[self.shape](rng, self.gap if gap is None else gap, n))
        pos, neg = placement_spreads(is_pos, scores)
        area, se = auc_from_parts(is_pos, scores, None), float(np.sqrt(pos / n[0] + neg / n[1]))
        measured = Period("", sum(n), sum(n), n[0], 0.0, 0, (0.0, 0.0, 0.0), (area, 0.0, 1.0), None, None, None, se)
        return measured, (pos, neg)

    def expected(self, rng, source):
        """The profile of a model whose AUC was measured, cross-validated, or is not known."""
        area, spreads = self.period(rng, n=self.reference)
        if source == "first periods":
            return EMPTY
        se = auc_standard_error(area.auc[0], *self.reference) if source == "cross-validated" else area.auc_se
        return EMPTY._replace(auc=area.auc[0], auc_se=se, spreads=None if source == "cross-validated" else spreads)


EMPTY = Profile(0, [], None, None, None, None, None, None)

SETTINGS = {
    "fifty positives": Weeks("normal", 1.19, (50, 950), (2_000, 38_000)),
    "five positives": Weeks("normal", 1.19, (5, 200), (100, 4_000)),
    "a high AUC": Weeks("normal", 3.0, (10, 300), (300, 9_000)),
    "a low AUC": Weeks("normal", 0.3, (30, 600), (600, 12_000)),
    "long tails": Weeks("skewed", 1.2, (50, 950), (2_000, 38_000)),
    "long tails, few rows": Weeks("skewed", 2.5, (20, 480), (400, 10_000)),
    "unequal spreads": Weeks("unequal", 1.5, (40, 600), (800, 12_000)),
    "ties": Weeks("ties", 1.2, (30, 500), (600, 10_000)),
}


def test_the_chart_takes_periods_without_labels():
    chart = control_chart([0.8, np.nan, 0.6, 0.6], [0.03, np.nan, 0.03, 0.03], 0.8)
    assert np.isnan(chart.statistic[1])
    assert chart.alarm in (2, 3)
    assert control_chart([np.nan], [np.nan], 0.8).alarm is None


def test_an_uncertain_expectation_raises_the_limit():
    weeks = [0.8] * 10, [0.03] * 10, 0.8
    assert control_chart(*weeks, 0.02).limit > 1.2 * control_chart(*weeks).limit


@pytest.mark.long
@pytest.mark.parametrize("source", ["held-out", "cross-validated", "first periods"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_false_alarms_are_as_rare_as_stated(monkeypatch, setting, source):
    """52 weeks without a change give an alarm in 5 % of the cases at the most, wherever the expected AUC is from."""
    monkeypatch.setattr(chart, "SIMULATIONS", 4_000)
    rng, weeks, repeats = np.random.default_rng(2), SETTINGS[setting], 200
    alarms = 0
    for _ in range(repeats):
        periods = [weeks.period(rng)[0] for _ in range(52)]
        alarms += _chart(periods, weeks.expected(rng, source), ordered=False)[0].alarm is not None
    assert alarms / repeats <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / repeats)


class OrderedWeeks(NamedTuple):
    """A model of ordered rows in production: the rows of a week and of the profile, censored or within groups."""

    n: int
    reference: int
    kind: str = "times"
    noise: float = 1.0

    def period(self, rng, n=None):
        """A period as `monitor` measures it."""
        n = self.n if n is None else n
        score, order = rng.normal(size=n), unknown_order(n)
        value = score + self.noise * rng.normal(size=n)
        if self.kind == "times":  # about three of ten are censored
            end = 1.0 + 1.5 * rng.normal(size=n)
            order["event"], value = -value <= end, np.exp(np.minimum(-value, end))
        elif self.kind == "groups":
            order["group"], value = np.arange(n) // 8, np.round(value)
        else:
            value = np.digitize(value, [-1.0, 0.0, 1.0])
        order["value"] = value
        return _ordered_period(Period("", n, n, 0, 0.0, 0, (0.0, 0.0, 0.0), None, None, None, None), order, score)

    def expected(self, rng, source):
        if source == "first periods":
            return EMPTY
        found = self.period(rng, self.reference)
        return EMPTY._replace(auc=found.auc[0], auc_se=found.auc_se)


ORDERED_SETTINGS = {
    "censored times": OrderedWeeks(150, 3_000),
    "few events": OrderedWeeks(40, 1_000),
    "a high concordance": OrderedWeeks(100, 2_000, noise=0.3),
    "levels": OrderedWeeks(100, 2_000, "levels"),
    "within groups": OrderedWeeks(200, 4_000, "groups"),
}


@pytest.mark.long
@pytest.mark.parametrize("source", ["held-out", "first periods"])
@pytest.mark.parametrize("setting", ORDERED_SETTINGS)
def test_false_alarms_of_the_concordance_are_as_rare_as_stated(monkeypatch, setting, source):
    """As of the AUC: at most 5 % in 52 weeks."""
    monkeypatch.setattr(chart, "SIMULATIONS", 4_000)
    rng, weeks, repeats = np.random.default_rng(3), ORDERED_SETTINGS[setting], 200
    alarms = 0
    for _ in range(repeats):
        periods = [weeks.period(rng) for _ in range(52)]
        alarms += _chart(periods, weeks.expected(rng, source), ordered=True)[0].alarm is not None
    assert alarms / repeats <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / repeats)


@pytest.mark.long
@pytest.mark.parametrize(
    ("setting", "fallen", "half", "most"),
    [
        ("fifty positives", 0.9539, 6, 12),  # an AUC of .80 falls to .75
        ("a low AUC", 0.12, 16, np.inf),  # .58 to .53, with 30 positives a week
        ("long tails", 0.915, 11, 22),  # .77 to .71
    ],
)
def test_falls_are_found(setting, fallen, half, most):
    """In half of the cases within so many weeks, and in nine of ten."""
    rng, weeks, start, delays = np.random.default_rng(1), SETTINGS[setting], 10, []
    for _ in range(150):
        periods = [weeks.period(rng, None if k < start else fallen)[0] for k in range(start + 40)]
        alarm = _chart(periods, weeks.expected(rng, "held-out"), ordered=False)[0].alarm
        delays.append(np.inf if alarm is None else alarm - start + 1)
    found = np.array([each for each in delays if each > 0])
    assert np.median(found) <= half and np.quantile(found, 0.9, method="higher") <= most


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_a_plot_over_time(metric):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    y, day = np.arange(300) % 2, np.datetime64("2026-01-05") + np.arange(300) // 10
    ax = auclid.plot.over_time(y, y + rng.normal(size=300), day, metric=metric, expected=0.7, name="m")
    assert ax.get_xticklabels()[0].get_text() == "2026-01-05"
    assert len(ax.containers[0].lines[0].get_xdata()) == 5
    with pytest.raises(ValueError, match="a period with two rows of each class"):
        auclid.plot.over_time([0, 1], [0.0, 1.0], [1, 2])


# --- the command ---


def run(*words):
    runner = pytest.importorskip("typer.testing").CliRunner()
    from auclid.cli._app import app

    return runner.invoke(app, list(map(str, words)))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model file that `auclid fit` wrote, and files of new rows."""
    folder = tmp_path_factory.mktemp("monitor")
    for name, seed, shift in (("train", 10, 0.0), ("same", 11, 0.0), ("moved", 12, 1.0)):
        table, y, time = make_table(1_500, seed, shift)
        words = np.where(y == 1, "bad", "good")
        table.assign(late=words, day=time).to_csv(folder / f"{name}.csv", index=False)
    done = run("fit", folder / "train.csv", "--target", "late", "--positive", "bad", "--drop", "day", "--method",
               "Scorecard", "--model", folder / "m.auclid")  # fmt: skip
    assert done.exit_code == 0, done.output
    return folder


def test_the_command_writes_page_and_json(files):
    said = files / "out.json"
    words = ["--time", "day", "--output", files / "out.html", "--json", said, "--period", "month"]
    done = run("monitor", files / "m.auclid", files / "same.csv", *words)
    assert done.exit_code == 0, done.output
    found = json.loads(said.read_text())
    assert found["alarms"] == [] and found["rows"] == 1_500
    assert [each["name"] for each in found["periods"]] == ["2026-01-01", "2026-02-01", "2026-03-01"]
    assert sum(each["positives"] for each in found["periods"]) > 100
    page = (files / "out.html").read_text(encoding="utf-8")
    assert "<svg" in page and "Nothing calls for action" in page and "http" not in page.split("</style>")[1]
    assert f"None of the {len(found['columns'])} columns compared has new levels" in page and "more than 1%" in page


def test_the_command_says_with_its_exit_code_that_something_has_changed(files):
    done = run("monitor", files / "m.auclid", files / "same.csv", files / "moved.csv", "--output", files / "o.html")
    assert done.exit_code == 3
    assert "income has drifted" in done.output
    other = run("monitor", files / "m.auclid", files / "same.csv", "--reference", files / "train.csv", "--output",
                files / "o.html")  # fmt: skip
    assert other.exit_code == 0, other.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["same.csv", "--target", "nix"], "--target must be a column of"),
        (["same.csv", "--time", "nix"], "--time must name a column of"),
        (["same.csv", "--time", "city"], "--time must hold dates or numbers in each row"),
        (["same.csv", "--period", "hour"], "--period must be one of"),
        (["same.csv", "--output", "page.txt"], "--output must end in .html"),
    ],
)
def test_the_command_refuses(files, monkeypatch, words, said):
    monkeypatch.chdir(files)
    done = run("monitor", "m.auclid", *words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_a_model_without_a_profile_asks_for_a_reference(model, files):
    auclid.save(files / "plain.auclid", model)
    done = run("monitor", files / "plain.auclid", files / "same.csv")
    assert done.exit_code == 2 and "--reference FILE" in " ".join(done.stderr.split())


# --- the page in a browser ---

PROBE = """
<script>
window.addEventListener("load", () => {
  const troubles = [];
  const check = (fine, what) => { if (!fine) troubles.push(what); };
  check(document.documentElement.scrollWidth <= window.innerWidth, "wider than the window");
  const plots = [...document.querySelectorAll("svg")];
  check(plots.length === 4, plots.length + " plots");
  const box = (element) => element.getBoundingClientRect();
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  for (const plot of plots) {
    const name = plot.getAttribute("aria-label"), texts = [...plot.querySelectorAll("text")];
    check(box(plot).width > 200 && plot.querySelector(".line, .dot"), name + " is empty");
    for (const text of texts) {
      const { left, right } = box(text);
      check(left >= box(plot).left - 1 && right <= box(plot).right + 1, name + " cuts " + text.textContent);
      const met = texts.find((other) => other !== text && !apart(box(text), box(other)));
      check(!met, name + ": " + text.textContent + " meets " + (met && met.textContent));
    }
  }
  document.title = "checked: " + (troubles.join("; ") || "fine");
});
</script>
"""


@in_browser
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_shows_in_a_browser_what_the_json_says(files, tmp_path, width):
    page, said = tmp_path / "monitor.html", tmp_path / "monitor.json"
    words = ["--time", "day", "--output", page, "--json", said]
    assert run("monitor", files / "m.auclid", files / "moved.csv", *words).exit_code == 3
    closed, opened = "default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';"
    probed = page.read_text(encoding="utf-8").replace(closed, opened).replace("</body>", PROBE + "</body>")
    page.write_text(probed, encoding="utf-8")
    dom, expected = browse(page, "--dump-dom", width=width), json.loads(said.read_text())
    assert re.findall(r"<title>(checked: .*?)</title>", dom) == ["checked: fine"]
    for alarm in expected["alarms"]:
        assert html.escape(alarm) in dom
    lines = [re.sub(r"<[^>]*>", " ", line).split() for line in re.findall(r"<tr.*?</tr>", dom, re.S)]
    by_name = {line[0]: line for line in lines if line}
    for each in [expected["score"], *expected["columns"]]:
        assert by_name[each["name"]][1:3] == [f"{each['psi']:.3f}", f"{each['pvalue']:.2g}"]
    for each in expected["periods"]:
        assert by_name[each["name"]][1] == f"{each['rows']:,}"
        assert f"{each['auc'][0]:.3f}" in by_name[each["name"]]
