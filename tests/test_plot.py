"""auclid.plot as pictures: everything on the page, nothing clipped, readable without colours."""

import io
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import auclid
from auclid import LeastSquaresAUC, Scorecard, plot
from auclid.metrics import (
    ROC,
    auc_by_group,
    auc_interval,
    auc_over_time,
    average_precision,
    compare_many,
    concordance_interval,
    cross_val_auc,
    group_auc,
    interval_at,
    lift_table,
    net_benefit,
    reliability,
    roc_auc,
)
from auclid.metrics._band import GRID, band, simultaneous_deviate
from auclid.metrics._roc import roc_curve
from auclid.metrics._sample import checked_sample

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.collections import LineCollection  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return y, rng.normal(size=n) + 1.2 * y


def models(n=400):
    y, a = rows(n)
    rng = np.random.default_rng(1)
    return y, {"a model of a rather long name": a, "b": a + rng.normal(size=n), "c": rng.normal(size=n)}


def probability(score):
    return 1.0 / (1.0 + np.exp(-score))


RECORDS = [
    {"name": "age of the youngest driver", "kind": "number", "knots": [18, 30, 50, 90], "levels": None,
     "values": [1.0, 0.2, -0.3, 0.4], "missing": 0.6, "error": [0.3, 0.1, 0.1, 0.5]},
    {"name": "town", "kind": "category", "knots": None,
     "levels": ["Oslo", "Rome", "a town with a very long name", "(other)"],
     "values": [0.2, -0.4, 0.9, 0.0], "missing": 0.0, "error": [0.1, 0.1, 0.2, 0.0]},
    {"name": ("age", "town"), "kind": "pair", "knots": ([18, 50, 90], None), "levels": (None, ["Oslo", "Rome"]),
     "values": np.arange(6.0).reshape(3, 2), "missing": 0.0, "error": None},
]  # fmt: skip

def times(n=300):
    """Times, risks of two models, and events."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    time, end = rng.exponential(np.exp(-x)), rng.exponential(1.5, size=n)
    return np.minimum(time, end), {"risk": x + rng.normal(size=n), "another risk": rng.normal(size=n)}, time <= end


DRAWN = {
    "roc": lambda ax=None: plot.roc(*models(), ax=ax),
    "roc, a region": lambda ax=None: plot.roc(*models(), ax=ax, max_fpr=0.5, min_tpr=0.1),
    "roc, one": lambda ax=None: plot.roc(*rows(), ax=ax),
    "roc, bare": lambda ax=None: plot.roc(*rows(), ax=ax, level=None),
    "roc, specificity": lambda ax=None: plot.roc(*rows(), ax=ax, x_axis="specificity", max_fpr=0.3),
    "roc, weights": lambda ax=None: plot.roc(*rows(), ax=ax, sample_weight=np.arange(1.0, 401.0)),
    "intervals": lambda ax=None: plot.intervals(*models(), ax=ax),
    "intervals, region": lambda ax=None: plot.intervals(*models(), ax=ax, max_fpr=0.2),
    "intervals, measured": lambda ax=None: plot.intervals(compare_many(*models()).intervals, ax=ax, sort=False),
    "intervals of concordance": lambda ax=None: plot.intervals(
        {name: concordance_interval(times()[0], risk, event=times()[2]) for name, risk in times()[1].items()}, ax=ax
    ),
    "AUC over time": lambda ax=None: plot.auc_over_time(*times(), ax=ax),
    "AUC by group": lambda ax=None: plot.group_auc(*rows(), np.arange(400) // 10, ax=ax),
    "scores": lambda ax=None: plot.scores(*rows(), ax=ax, name="a model of a rather long name"),
    "scores, huge": lambda ax=None: plot.scores(rows()[0], 1e9 * rows()[1], ax=ax, threshold="accuracy"),
    "calibration": lambda ax=None: plot.calibration(rows()[0], probability(rows()[1] - 1.5), ax=ax),
    "gain": lambda ax=None: plot.lift(*models(), ax=ax),
    "lift": lambda ax=None: plot.lift(*models(), ax=ax, kind="lift"),
    "shapes": lambda ax=None: plot.shapes(RECORDS, ax=ax),
    "shape": lambda ax=None: plot.shapes(RECORDS, "town", ax=ax),
    "pair": lambda ax=None: plot.shapes(RECORDS, ["age × town"], ax=ax),
}
every = pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)


def ticks(axis):
    """The labels of the ticks that are in view; matplotlib keeps others beyond both ends."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


def words(ax):
    """All texts that are drawn, those of axes inside included."""
    inside = [ax, *ax.child_axes, *(other for other in ax.figure.axes if other is not ax)]
    for one in inside:
        if one.axison:
            yield from (one.title, one.xaxis.label, one.yaxis.label, *ticks(one.xaxis), *ticks(one.yaxis))
        if one.get_legend() is not None:
            yield from one.get_legend().get_texts()


@every
def test_nothing_is_clipped(draw):
    ax = draw()
    figure = ax.figure
    figure.canvas.draw()
    page = figure.bbox
    seen = 0
    for text in words(ax):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            seen += 1
            assert box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1, text.get_text()
            assert box.y0 >= page.y0 - 1 and box.y1 <= page.y1 + 1, text.get_text()
    assert seen >= 4


@every
def test_texts_of_an_axis_do_not_lie_on_one_another(draw):
    ax = draw()
    ax.figure.canvas.draw()
    for labels in (ticks(ax.xaxis), ticks(ax.yaxis)):
        boxes = [text.get_window_extent() for text in labels if text.get_text() and ax.axison]
        for a, b in pairwise(boxes):
            assert not a.overlaps(b)


@every
def test_a_given_axis_is_drawn_into_and_returned(draw):
    figure, (left, right) = pyplot.subplots(1, 2, layout="constrained", figsize=(11, 6))
    assert draw(ax=right) is right and not left.lines
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=50)
    picture = pyplot.imread(io.BytesIO(file.getvalue()))
    assert picture.shape[:2] == (300, 550) and picture[:, 300:].std() > 0.01


@every
def test_a_new_figure_has_a_sensible_size(draw):
    width, height = draw().figure.get_size_inches()
    assert 3.0 <= width <= 12.0 and 1.4 <= height <= 10.0


def test_lines_differ_without_colours():
    ax = plot.roc(*models())
    lines = [line for line in ax.lines if line.get_label() and not line.get_label().startswith("_")]
    assert len(lines) == 3
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in lines}) == 3
    grey = [np.dot(to_rgb(line.get_color()), [0.299, 0.587, 0.114]) for line in lines]
    assert np.diff(sorted(grey)).min() > 0.05


def test_the_legend_tells_auc_and_interval():
    y, s = rows()
    text = plot.roc(y, s, name="mine").get_legend().get_texts()[0].get_text()
    got = auc_interval(y, s)
    assert text == f"mine: AUC {got.auc:.3f} [{got.low:.3f}, {got.high:.3f}]"
    assert "partial AUC" in plot.roc(y, s, max_fpr=0.1).get_legend().get_texts()[0].get_text()


def test_the_curve_is_the_curve():
    y, s = rows()
    line = next(line for line in plot.roc(y, s, name="mine").lines if str(line.get_label()).startswith("mine"))
    assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(roc_auc(y, s), abs=2e-3)


def test_a_roc_object_is_drawn_as_its_rows_are():
    y, score = rows()
    weight, groups = np.arange(1.0, 401.0), np.arange(400) // 2
    given = {"sample_weight": weight, "groups": groups}
    curve = ROC(y, score, **given)
    for draw in (plot.roc, plot.precision_recall):
        ours, theirs = draw(curve, name="a"), draw(y, score, name="a", **given)
        for mine, other in zip(ours.lines, theirs.lines, strict=True):
            np.testing.assert_array_equal(mine.get_xydata(), other.get_xydata())
        assert ours.get_legend_handles_labels()[1] == theirs.get_legend_handles_labels()[1]
        both = draw({"a": curve, "b": ROC(y[:200], -score[:200])})  # of other rows
        assert len(both.get_legend().get_texts()) >= 2
        with pytest.raises(ValueError, match=r"'groups' parameter of plot\.\w+ must be None where a ROC"):
            draw(curve, groups=groups)
        with pytest.raises(ValueError, match=r"'y_score' parameter of plot\.\w+ must be given"):
            draw(y)
    mine, other = (ax.get_legend_handles_labels()[1] for ax in (curve.plot(name="a"), plot.roc(curve, name="a")))
    assert mine == other


def test_specificity_runs_from_one_to_zero():
    y, score = rows()
    usual, turned = plot.roc(y, score), plot.roc(y, score, x_axis="specificity")
    assert (turned.get_xlabel(), turned.get_ylabel()) == ("specificity", "sensitivity")
    left, right = turned.get_xlim()
    assert left > 1.0 > 0.0 > right
    for a, b in zip(usual.lines, turned.lines, strict=True):
        np.testing.assert_allclose(a.get_xdata(), 1.0 - np.asarray(b.get_xdata()))
    with pytest.raises(ValueError, match=r"'x_axis' parameter of plot.roc must be one of"):
        plot.roc(y, score, x_axis="tnr")


@pytest.mark.parametrize("given", [{"sample_weight": np.arange(1.0, 401.0)}, {"groups": np.arange(400) // 4}], ids=str)
def test_bands_allow_for_weights_and_groups(given):
    y, score = rows()
    ax = plot.roc(y, score, **given)
    edge = ax.collections[0].get_paths()[0].vertices
    at = interval_at(y, score, "tpr", at={"fpr": 0.25}, **given)
    heights = edge[np.isclose(edge[:, 0], 0.25), 1]
    assert heights.min() == pytest.approx(at.low) and heights.max() == pytest.approx(at.high)
    wide = plot.roc(y, score, band="simultaneous", **given).collections[0].get_paths()[0].vertices
    there = wide[np.isclose(wide[:, 0], 0.25), 1]
    assert there.min() < at.low and there.max() > at.high


def test_groups_of_equal_rows_widen_a_simultaneous_band():
    y, score = rows(100)
    twice = np.repeat(y, 4), np.repeat(score, 4)
    alone, grouped = (
        plot.roc(*twice, band="simultaneous", groups=groups).collections[0].get_paths()[0].vertices
        for groups in (np.arange(400), np.arange(400) // 4)
    )
    widths = [np.ptp(edge[np.isclose(edge[:, 0], 0.25), 1]) for edge in (alone, grouped)]
    assert widths[1] > 1.25 * widths[0]


@pytest.mark.parametrize("draw", ["roc", "precision_recall", "lift", "decision_curve", "calibration"])
def test_colours_and_line_styles_are_the_users(draw):
    y, score = rows()
    two = {"a": probability(score - 1.5), "b": probability(-score)}
    drawn = {line.get_label().split(":")[0]: line for line in getattr(plot, draw)(y, two, colors="grey").lines}
    greys = [to_rgb(drawn[name].get_color()) for name in two]
    assert all(len(set(grey)) == 1 for grey in greys) and greys[0] != greys[1]
    ax = getattr(plot, draw)(y, two, colors=["red", "blue"], linestyles=["-", ":"])
    drawn = {line.get_label().split(":")[0]: line for line in ax.lines}
    assert [drawn[name].get_color() for name in two] == ["red", "blue"]
    assert [drawn[name].get_linestyle() for name in two] == ["-", ":"]


@every
def test_a_figure_is_saved_as_pdf(draw, tmp_path):
    draw().figure.savefig(tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_gain_is_that_of_the_table():
    y, s = rows()
    ax, table = plot.lift(y, s, name="mine"), lift_table(y, s)
    line = next(line for line in ax.lines if line.get_label() == "mine")
    np.testing.assert_allclose(np.interp(table.top, line.get_xdata(), line.get_ydata()), table.gain, atol=5e-3)


def test_from_an_estimator_or_several():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.arange(200) % 3 == 0
    X[:, 0] += y
    both = {"ours": LeastSquaresAUC().fit(X, y), "logistic": LogisticRegression().fit(X, y)}
    for draw in (plot.roc, plot.lift, plot.intervals):
        assert draw.from_estimator(both, X, y) is not None
    ax = plot.roc.from_estimator(both["ours"], X, y)
    assert ax.get_legend().get_texts()[0].get_text().startswith("LeastSquaresAUC: AUC")
    assert plot.scores.from_estimator(both["ours"], X, y).get_xlabel() == "score of LeastSquaresAUC"
    points = plot.calibration.from_estimator(both["logistic"], X, y).lines[-1]
    want = plot.calibration(y, both["logistic"].predict_proba(X)[:, 1]).lines[-1]
    np.testing.assert_array_equal(points.get_xydata(), want.get_xydata())
    with pytest.raises(TypeError, match=r"plot.calibration expects a classifier with predict_proba. Got a LeastSq"):
        plot.calibration.from_estimator(both["ours"], X, y)
    line = plot.roc.from_predictions(y, both["ours"].decision_function(X)).lines[1]
    np.testing.assert_array_equal(line.get_xydata(), ax.lines[1].get_xydata())


def test_intervals_of_any_kind():
    y, s = rows()
    X = s[:, None] + np.zeros((1, 2))
    plot.intervals(auc_by_group(y, s, np.arange(400) % 3).intervals)
    plot.intervals({"folds": cross_val_auc(LeastSquaresAUC(), X, y), "rows": auc_interval(y, s)})
    plot.intervals(auc_interval(y, s))


def test_concordances_are_in_the_order_of_their_values():
    y, models, event = times()
    found = {name: concordance_interval(y, risk, event=event) for name, risk in models.items()}
    ax = plot.intervals(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["risk", "another risk"]
    assert ax.get_xlabel() == "concordance"


def test_auc_over_time_draws_the_metric():
    y, models, event = times()
    ax = plot.auc_over_time(y, models, event)
    found = auc_over_time(y, models["risk"], event)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), np.column_stack([found.times, found.auc]))
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == found.low.min() and band[:, 1].max() == found.high.max()


def test_group_auc_draws_every_group_and_the_mean():
    y, s = rows()
    groups = np.arange(400) // 10
    ax = plot.group_auc(y, s, groups, weight="equal")
    both = sum(0 < y[groups == group].sum() < 10 for group in range(40))
    assert sum(bar.get_height() for bar in ax.patches[:-1]) == both  # the last patch is the interval
    assert ax.lines[0].get_xdata()[0] == group_auc(y, s, groups, weight="equal").auc
    with pytest.raises(ValueError, match="both classes in some group"):
        plot.group_auc(y, s, np.arange(400))


def test_a_scorecard_is_drawn():
    if not hasattr(auclid, "Scorecard"):
        pytest.skip("no Scorecard in this version")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 2
    X[:, 1] += y
    model = auclid.Scorecard().fit(X, y)
    titles = [one.get_title() for one in plot.shapes(model).figure.axes if one.get_title()]
    assert len(titles) == min(9, len(model.shapes_))
    assert plot.shapes(model, str(model.shapes_[0].name)).lines


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plot.roc([0, 0, 0], [1, 2, 3]), "plot.roc expects rows of both classes"),
        (lambda: plot.roc(*rows(), level=95), "'level' parameter of plot.roc must be a float"),
        (lambda: plot.roc(rows()[0], {}), "plot.roc expects the scores of one model or more by name. Got none"),
        (lambda: plot.calibration(*rows()), r"plot.calibration expects probabilities in \[0, 1\]. Got scores from"),
        (lambda: plot.scores(*models()), "plot.scores expects the scores of one model. Got 3"),
        (lambda: plot.scores([0, 1], [0, np.inf]), "must hold finite numbers"),
        (lambda: plot.scores(*rows(), threshold="best"), "'threshold' parameter of plot.scores must be one of"),
        (lambda: plot.lift(*rows(), kind="loss"), "'kind' parameter of plot.lift"),
        (lambda: plot.intervals({"a": 3}), "intervals with auc, low and high by name. Got a int"),
        (lambda: plot.shapes(LeastSquaresAUC()), "expects a fitted Scorecard"),
        (lambda: plot.shapes(RECORDS, "salary"), "expects some of the columns .* Got 'salary'"),
    ],
)
def test_bad_input_gets_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_matplotlib_is_imported_only_when_used_and_its_absence_says_what_to_install():
    code = (
        "import sys, auclid; assert 'matplotlib' not in sys.modules; sys.modules['matplotlib'] = None\n"
        "try: auclid.plot.roc([0, 0, 1, 1], [1, 2, 3, 4])\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "auclid.plot needs matplotlib: pip install 'auclid[plot]'"


@pytest.mark.parametrize("bins", [1, 10_001, 10**9])
def test_a_number_of_bins_out_of_range_gets_a_sentence(bins):
    with pytest.raises(ValueError, match=r"The 'bins' parameter of plot.scores must be an int in"):
        plot.scores([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], bins=bins)


def test_precision_recall_draws_the_steps_and_the_band():
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.2
    s = rng.normal(size=400) + y
    ax = plot.precision_recall(y, {"a": s, "b": -s})
    lines = {line.get_label(): line for line in ax.get_lines()}
    (label,) = [name for name in lines if name.startswith("a: AP ")]
    assert label.startswith(f"a: AP {average_precision(y, s):.3f} [")
    recall, precision = lines[label].get_data()
    assert recall[-1] == 1.0 and precision[-1] == pytest.approx(y[s >= s[y].min()].mean())
    assert len(ax.collections) == 2
    assert len(plot.precision_recall(y, s, level=None, iso_f1=False).get_lines()) == 2


def test_decision_curve_draws_net_benefit_beside_the_defaults():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = rng.random(400) < p
    ax = plot.decision_curve(y, p, name="mine", thresholds=[0.1, 0.2, 0.5])
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert set(lines) == {"mine", "treat all", "treat none"}
    found = net_benefit(y, p, [0.1, 0.2, 0.5])
    np.testing.assert_allclose(lines["mine"].get_ydata(), found.net_benefit)
    np.testing.assert_allclose(lines["treat all"].get_ydata(), found.treat_all)
    assert len(ax.collections) == 1
    with pytest.raises(ValueError, match="probabilities"):
        plot.decision_curve(y, p + 1.0)


def test_calibration_does_not_depend_on_the_order_of_rows_with_one_probability():
    rng = np.random.default_rng(0)
    given = rng.choice([0.1, 0.3, 0.35, 0.8], 203, p=[0.5, 0.2, 0.1, 0.2])
    y, weight, groups = rng.random(203) < given, rng.random(203) + 0.5, rng.integers(0, 60, 203)
    order = np.argsort(-y.astype(float), kind="stable")
    for keywords in ({}, {"sample_weight": weight}, {"groups": groups}):
        own = {name: values[order] for name, values in keywords.items()}
        one, other = plot.calibration(y, given, **keywords), plot.calibration(y[order], given[order], **own)
        np.testing.assert_allclose(one.lines[-1].get_xydata(), other.lines[-1].get_xydata(), atol=1e-12)
        assert set(one.lines[-1].get_xdata().round(12)) == {0.1, 0.3, 0.35, 0.8}
    whole = plot.calibration(y, given, sample_weight=weight).lines[-1].get_ydata()
    assert whole[0] == pytest.approx(np.average(y[given == 0.1], weights=weight[given == 0.1]))


def test_calibration_bins_hold_about_equally_many_rows():
    rng = np.random.default_rng(0)
    given = rng.random(1000)
    points = plot.calibration(rng.random(1000) < given, given, n_bins=5).lines[-1].get_xdata()
    want = [part.mean() for part in np.array_split(np.sort(given), 5)]
    assert list(points) == pytest.approx(want, abs=1e-9)


def test_the_axis_of_a_heavy_tail_shows_the_central_values_and_its_labels_do_not_collide():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(rng.normal(8.5, 1.2, 2000)), rng.normal(size=2000)])
    X[0, 0] = 3e6
    y = rng.random(2000) < 1.0 / (1.0 + np.exp(np.log(X[:, 0]) - 8.5))
    model = Scorecard(interactions=0).fit(X, y)
    axis = plot.shapes(model, "x0")
    axis.figure.canvas.draw()
    low, high = axis.get_xlim()
    inside = ((X[:, 0] >= low) & (X[:, 0] <= high)).mean()
    assert high < 3e5 and 0.96 < inside < 0.995
    boxes = [label.get_window_extent() for label in axis.get_xticklabels() if label.get_text()]
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    half = axis.transData.transform([(np.median(X[:, 0]), 0.0)])[0, 0]
    ends = axis.transData.transform([(low, 0.0), (high, 0.0)])[:, 0]
    assert 0.2 < (half - ends[0]) / (ends[1] - ends[0]) < 0.8  # half of the rows on each side
    behind = [other for other in axis.figure.axes if other is not axis]
    assert max(bar.get_height() for bar in behind[0].patches) > 2.0 * min(bar.get_height() for bar in behind[0].patches)
    matplotlib.pyplot.close(axis.figure)


@pytest.mark.parametrize("kind", ["pointwise", "simultaneous"])
def test_the_legend_says_what_the_band_covers(kind):
    is_pos, score = rows()
    ax = plot.roc(is_pos, {"a": score, "b": -score}, band=kind, level=0.9)
    assert [text.get_text() for text in ax.get_legend().get_texts()].count(f"90 % band, {kind}") == 1
    assert len(plot.roc(is_pos, score, band=None).collections) == 0
    with pytest.raises(ValueError, match=r"'band' parameter of plot.roc must be one of"):
        plot.roc(is_pos, score, band="both")


def test_a_simultaneous_band_holds_the_pointwise_one():
    is_pos, score = rows()
    curve = roc_curve(is_pos, score)
    sample = checked_sample("f", is_pos, {"s": score})
    deviate = simultaneous_deviate(sample, score, 0.95)
    assert 2.0 < deviate < 6.0
    (upper, lower), (top, bottom) = band(curve, 0.95), band(curve, 0.95, deviate)
    assert np.all(top[1] >= upper[1]) and np.all(bottom[1] <= lower[1])
    middle = np.interp(upper[0], curve.fpr, curve.tpr)
    assert np.all((lower[1] <= middle) & (middle <= upper[1]))


@pytest.mark.long
@pytest.mark.parametrize(("n_pos", "n_neg", "auc"), [(30, 600, 0.8), (100, 100, 0.8), (100, 100, 0.95)])
def test_bands_cover_what_they_say(n_pos, n_neg, auc):
    rng, apart = np.random.default_rng(0), np.sqrt(2) * norm.ppf(auc)
    is_pos, at, whole = np.arange(n_pos + n_neg) < n_pos, [], []
    points = np.searchsorted(GRID, [0.05, 0.1, 0.2, 0.5])
    true = norm.cdf(apart + norm.ppf(GRID))
    for _ in range(200):
        score = rng.normal(size=len(is_pos)) + apart * is_pos
        sample = checked_sample("f", is_pos, {"s": score})
        for found, deviate in ((at, None), (whole, simultaneous_deviate(sample, score, 0.95))):
            upper, lower = band(roc_curve(is_pos, score), 0.95, deviate)
            found.append((lower[1] <= true + 1e-9) & (true <= upper[1] + 1e-9))
    assert np.mean(at, axis=0)[points] == pytest.approx(0.955, abs=0.045)
    assert np.mean(np.all(whole, axis=1)) == pytest.approx(0.95, abs=0.05)


def test_calibration_draws_the_band_of_the_metric():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p
    found = reliability(y, p)
    ax = plot.calibration(y, p)
    (band,) = [each for each in ax.collections if not isinstance(each, LineCollection)]
    corners = band.get_paths()[0].vertices
    assert corners[:, 1].min() == pytest.approx(found.line_low.min())
    assert corners[:, 1].max() == pytest.approx(found.line_high.max())
    assert len(plot.calibration(y, p, band=False).collections) == len(ax.collections) - 1
