"""`auclid.compare`, and the command's `--set`."""

import numpy as np
import pytest
from scipy.stats import friedmanchisquare
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline

import auclid
from auclid import Columns, LeastSquaresAUC, Scorecard, compare, compare_tables, mean_ranks
from auclid.cli.models import every_method, ours
from auclid.cli.verdict import answers, signed
from auclid.comparison import _measure
from auclid.comparison._tuning import tuned
from auclid.metrics import average_precision_interval, compare_auc, compare_cross_val_auc, cross_val_auc


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.logistic(size=600) > 1.5).astype(int)


def test_figures_are_those_of_the_metrics(rows):
    X, y = rows
    a, b = LeastSquaresAUC(), LogisticRegression()
    found = compare({"a": a, "b": b}, X, y)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
    assert found.how == "3 repeats of 5 folds" and len(found.rows) == len(y)
    found = compare({"a": a, "b": b}, X, y, cv=folds)
    by_name = {model.name: model for model in found.models}
    alone, pair = cross_val_auc(a, X, y, cv=folds), compare_cross_val_auc(a, b, X, y, cv=folds)
    assert by_name["a"][1:4] == pytest.approx((alone.auc, alone.low, alone.high), abs=1e-12)
    assert found.pairs[0].difference == pytest.approx(pair.difference, abs=1e-12)
    assert found.pairs[0].pvalue == pytest.approx(pair.pvalue, abs=1e-12)
    assert found.best.auc == max(model.auc for model in found.models)
    assert "a − b" in str(found)


@pytest.mark.parametrize("how", [{"repeats": 1}, {"test_size": 0.5}])
def test_the_command_says_how_sure_the_adjusted_tests_are(rows, how):
    X, y = rows
    models = {"one": LeastSquaresAUC(), "two": LogisticRegression()}
    assert "It is not measurably better than any of the others." in answers(compare(models, X, y, **how), y)[2].text
    found = compare(models | {"flat": DummyClassifier()}, X, y, **how)
    pair = next(pair for pair in found.against(found.best.name) if pair.b == "flat")
    p = f"≤ {pair.adjusted:.2g}" if pair.adjusted >= 1e-4 else "< 0.0001"
    ends = f"{signed(pair.low)} to {signed(pair.high)}"
    said = f"than flat: by {signed(pair.difference)} (95 % interval {ends}) or more, p {p} allowing for 2 tests."
    assert said in answers(found, y)[2].text


def test_a_baseline_repeats_and_names(rows):
    X, y = rows
    found = compare(["LeastSquaresAUC", LogisticRegression(), "SPAM"], X, y, baseline="SPAM", cv=3, repeats=2)
    assert len(found.best.folds) == 6
    assert [(pair.a, pair.b) for pair in found.pairs] == [("LeastSquaresAUC", "SPAM"), ("LogisticRegression", "SPAM")]
    assert all(pair.adjusted >= pair.pvalue for pair in found.pairs)
    assert len(compare([LeastSquaresAUC()], X, y, cv=TimeSeriesSplit(3)).best.folds) == 3


@pytest.mark.parametrize(
    ("estimators", "how", "said"),
    [
        ("SPAM", {}, "'estimators' parameter of compare must be a dict"),
        ([], {}, "must have one name or more"),
        ([LeastSquaresAUC(), LeastSquaresAUC(alpha=1.0)], {}, "each once"),
        ([LeastSquaresAUC], {}, "hold estimators"),
        (["SPAM"], {"baseline": "x"}, "'baseline' parameter of compare must be one of SPAM"),
        (["SPAM"], {"cv": TimeSeriesSplit(3), "repeats": 2}, "'cv' parameter of compare must be an int where repeats"),
        (["SPAMM"], {}, "Did you mean"),
        (["SPAM"], {"correction": "x"}, "'correction' parameter of compare must be one of"),
    ],
)
def test_wrong_input(rows, estimators, how, said):
    with pytest.raises((ValueError, TypeError), match=said):
        compare(estimators, *rows, **how)


# --- parameters of the command ---


def test_settings_reach_the_method():
    card = ours("Scorecard", 0, settings=["interactions=0", "monotone.age=-1", "monotone.debt=1", "smooth=auto"])[1]
    assert card.interactions == 0 and card.monotone == {"age": -1, "debt": 1} and card.smooth == "auto"
    assert ours("SPAM", 0, settings=["alpha=1e-3"])[1][-1].alpha == 1e-3
    assert ours("auto", 0, settings=["cv=3", "budget=none"])[1].cv == 3


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("alpha", "--set must be NAME=VALUE; got 'alpha'"),
        ("alfa=1", "Did you mean alpha"),
        ("alpha=-1", "The 'alpha' parameter of RankSVM must be"),
        ("alpha=many", "The 'alpha' parameter of RankSVM must be"),
    ],
)
def test_settings_are_checked_as_in_python(setting, said):
    with pytest.raises(ValueError, match=said):
        ours("RankSVM", 0, settings=[setting])


def test_the_command_takes_settings_and_all_methods(tmp_path, monkeypatch, rows):
    runner = pytest.importorskip("typer.testing").CliRunner()
    from auclid.cli._app import app

    monkeypatch.chdir(tmp_path)
    X, y = rows
    np.savetxt("t.csv", np.column_stack([X[:200], y[:200]]), delimiter=",", header="a,b,c,d,y", comments="")
    words = ["fit", "t.csv", "--target", "y", "--method", "RankSVM", "--model", "m.auclid"]
    assert runner.invoke(app, [*words, "--set", "alpha=0.5"]).exit_code == 0
    assert auclid.load("m.auclid").ranker_[-1].alpha == 0.5
    done = runner.invoke(app, [*words, "--set", "alpha=-1"])
    assert done.exit_code == 2 and "'alpha' parameter of RankSVM" in " ".join(done.stderr.split())
    assert "auto" in every_method() and "SPAM-L2" in every_method() and len(every_method()) > 20


def test_the_command_compares_several_tables(tmp_path, monkeypatch, rows):
    runner = pytest.importorskip("typer.testing").CliRunner()
    from auclid.cli._app import app

    monkeypatch.chdir(tmp_path)
    X, y = rows
    for name, part in (("a.csv", slice(0, 300)), ("b.csv", slice(300, 600))):
        cells = np.column_stack([X[part], y[part]])
        np.savetxt(name, cells, delimiter=",", header="a,b,c,d,y", comments="")
    words = ["compare", "a.csv", "b.csv", "--target", "y", "--methods", "RankSVM,Scorecard", "--against", "logistic"]
    done = runner.invoke(app, [*words, "--cv", "2", "--set", "Scorecard:interactions=0", "--table", "all.csv"])
    assert done.exit_code == 0, done.output
    assert "Mean ranks over 2 tables" in done.stdout and "2 folds" in done.stdout
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page and "Nemenyi" in page and "http-equiv" in page
    figures = np.genfromtxt("all.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    assert sorted(set(figures["table"])) == ["a.csv", "b.csv"] and len(figures) == 6
    assert set(figures["kind"]) == {"auclid", "baseline"} and np.all(figures["auc_low"] < figures["auc"])
    refused = runner.invoke(app, [*words, "--table", "all.txt"])
    assert refused.exit_code == 2 and "--table must end in .csv, .parquet, .pq or .xlsx" in refused.stderr
    refused = runner.invoke(app, [*words, "--set", "SPAM:alpha=1"])
    assert refused.exit_code == 2 and "--set must name a method that is compared" in refused.stderr


# --- splits, time and budget ---


def test_splits_by_time_learn_from_the_past(rows):
    X, y = rows
    when = np.random.default_rng(1).permutation(len(y))
    rolling = compare([LeastSquaresAUC()], X, y, time=when, cv=3)
    assert len(rolling.splits) == 3 and "rolling origin" in rolling.how
    for train, test in rolling.splits:
        assert when[train].max() < when[test].min()
    latest = compare([LeastSquaresAUC()], X, y, time=when, test_size=0.25)
    ((train, test),) = latest.splits
    assert when[train].max() < when[test].min() and len(test) == 150
    weight = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    weighed = compare([LeastSquaresAUC()], X, y, time=when, cv=3, sample_weight=weight)
    kept = when[weight > 0.0]
    assert all(kept[train].max() < kept[test].min() for train, test in weighed.splits)


def test_groups_stay_together_in_every_repeat(rows):
    X, y = rows
    groups = np.arange(len(y)) // 4
    found = compare([LeastSquaresAUC()], X, y, groups=groups, cv=3, repeats=2)
    assert len(found.splits) == 6 and not np.array_equal(found.splits[0][1], found.splits[3][1])
    for train, test in found.splits:
        assert not set(groups[train]) & set(groups[test])


def test_one_split_has_the_tests_of_its_rows(rows):
    X, y = rows
    found = compare({"a": LeastSquaresAUC(), "b": LogisticRegression()}, X, y, test_size=0.4, baseline="b")
    a, b = sorted(found.models, key=lambda model: model.name)
    by_hand = compare_auc(y[found.rows], a.scores, b.scores)
    assert (a.gap.difference, a.gap.pvalue) == (by_hand.difference, by_hand.pvalue)
    alone = average_precision_interval(y[found.rows], a.scores)
    assert (a.ap, a.ap_low, a.ap_high) == (alone.ap, alone.low, alone.high)
    assert b.gap is None and b.is_baseline and a.seconds > 0.0


def test_a_budget_leaves_out_repeats(rows):
    X, y = rows
    assert compare([LeastSquaresAUC()], X, y, budget=1e-9).how == "one split, 20% of the rows held out"
    short = compare([LeastSquaresAUC()], X, y, cv=3, repeats=4, budget=1e-9)
    assert short.how == "3 folds" and len(short.best.folds) == 3 and "4 repeats" in short.notes[0]
    assert compare([LeastSquaresAUC()], X, y, budget=1e9).how == "3 repeats of 5 folds"


@pytest.mark.parametrize(("budget", "how"), [(20.0, "3 repeats of 5 folds"), (10.0, "2 repeats of 5 folds")])
def test_a_budget_does_not_count_compiling(rows, monkeypatch, budget, how):
    seconds, fits = [0.0], []
    monkeypatch.setattr(_measure, "perf_counter", lambda: seconds[0])

    class CompilesFirst(LogisticRegression):
        """The first fit takes a thousand seconds of the clock above, others one."""

        def fit(self, X, y):
            seconds[0] += 1.0 if fits else 1000.0
            fits.append(len(y))
            return super().fit(X, y)

    assert compare([CompilesFirst()], *rows, budget=budget).how == how


def test_the_best_of_several_baselines_is_compared_with(rows):
    X, y = rows
    weak = LogisticRegression(C=1e-9)
    found = compare({"a": LeastSquaresAUC(), "l": LogisticRegression(), "w": weak}, X, y, baseline=["l", "w"], cv=3)
    best = max((model for model in found.models if model.is_baseline), key=lambda model: model.auc)
    assert {pair.b for pair in found.pairs} == {best.name} and len(found.pairs) == 2
    pairs = found.against("a")
    assert {pair.b for pair in pairs} == {"l", "w"} and pairs[0].difference <= pairs[1].difference
    with pytest.raises(ValueError, match="'name' parameter of against must be one of"):
        found.against("x")


def test_failures_are_raised_or_kept(rows):
    class Broken(LeastSquaresAUC):
        def fit(self, X, y):
            raise ValueError("no luck")

    with pytest.raises(ValueError, match="no luck"):
        compare({"a": Broken()}, *rows)
    found = compare({"a": Broken(), "b": LeastSquaresAUC()}, *rows, error="keep", cv=2)
    assert found.best.name == "b" and found.models[1].trouble == "no luck" and "failed: no luck" in str(found)


def test_parallel_splits_give_the_same_figures(rows):
    one, two = (compare([LeastSquaresAUC()], *rows, cv=3, repeats=1, n_jobs=jobs) for jobs in (1, 2))
    assert one.best.folds.tolist() == two.best.folds.tolist()


# --- tuning ---


def test_every_estimator_tries_as_many_settings(rows):
    named = {"log": LogisticRegression(), "ls": make_pipeline(Columns(), LeastSquaresAUC()), "card": Scorecard()}
    every = tuned(named, 6, {}, 1.0, 0)
    assert len(every["log"].param_grid) == len(every["ls"][-1].param_grid) == 6
    assert every["log"].param_grid[0] == {} and every["card"] is named["card"]
    own = tuned(named, 3, {"card": {"interactions": [0, 1, 2]}}, 1.0, 0)
    assert len(own["card"].param_grid) == 3
    with pytest.raises(ValueError, match="'grids' parameter of compare must name estimators"):
        tuned(named, 3, {"x": {}}, 1.0, 0)


def test_tuning_mends_a_poor_setting():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 200))
    y = (X[:, 0] + 0.5 * rng.logistic(size=300) > 0.0).astype(int)
    loose = {"r": LeastSquaresAUC(alpha=1e-9)}
    before, after = (compare(loose, X, y, cv=2, repeats=1, tune=count) for count in (0, 8))
    assert after.best.auc > before.best.auc + 0.02


# --- several tables ---


def test_mean_ranks_are_those_of_the_literature():
    aucs = {"a": [0.9, 0.8, 0.7, 0.9], "b": [0.9, 0.7, 0.6, 0.8], "c": [0.5, 0.6, 0.65, 0.7]}
    found = mean_ranks(aucs)
    assert found.names == ["a", "b", "c"] and found.ranks.tolist() == [1.125, 2.125, 2.75]
    assert found.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), abs=2e-3)  # Demšar's table 5
    assert found.pvalue == pytest.approx(friedmanchisquare(*aucs.values()).pvalue)
    assert found.groups == [(0, 2)]
    assert mean_ranks({name: 2 * values for name, values in aucs.items()}).groups == [(0, 1), (1, 2)]
    assert np.isnan(mean_ranks({"a": [1, 2], "b": [2, 1]}).pvalue)
    with pytest.raises(ValueError, match="'aucs' parameter of mean_ranks must hold finite figures"):
        mean_ranks({"a": [1.0]})


def test_tables_are_compared_and_drawn(rows):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, y = rows
    tables = {"first": (X[:300], y[:300]), "second": (X[300:], y[300:])}
    found = compare_tables({"a": LeastSquaresAUC(), "b": LogisticRegression()}, tables, cv=2, repeats=1)
    alone = compare({"a": LeastSquaresAUC()}, *tables["first"], cv=2, repeats=1)
    assert found.aucs[found.names.index("a"), 0] == alone.best.auc and found.tables == ["first", "second"]
    ax = auclid.plot.critical_difference(found)
    texts = " ".join(text.get_text() for text in ax.texts)
    assert all(name in texts for name in found.names) and f"CD = {found.critical_difference:.2f}" in texts
    pyplot.close("all")


def test_a_notebook_shows_models_and_differences(rows):
    X, y = rows
    found = compare({"<a>": LeastSquaresAUC(), "b": LogisticRegression()}, X, y, cv=3)
    shown = found._repr_html_()
    assert repr(found) == str(found) and ">note</th>" not in shown
    assert shown.count("<table>") == 2 and shown.count("<tr>") == 5
    assert "&lt;a&gt;" in shown and "<a>" not in shown


def test_names_stand_for_the_same_models_as_in_the_command(rows):
    frame = pytest.importorskip("pandas").DataFrame(rows[0]).rename(columns=str).assign(town=["Rome", "Oslo"] * 300)
    found = compare(["Scorecard", "RankSVM", "auto"], frame[:200], rows[1][:200], cv=2, repeats=1, random_state=None)
    fitted = {model.name: model.fitted for model in found.models}
    for name in ("Scorecard", "RankSVM", "auto"):
        assert type(fitted[name]) is type(ours(name, 0)[1])
    assert type(fitted["RankSVM"][-1]) is type(ours("RankSVM", 0)[1][-1])
