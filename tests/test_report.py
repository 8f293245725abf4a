"""auclid.report: every number equals the metric functions', and the page works in a real browser, without network."""

import json
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from auclid import LeastSquaresAUC, report
from auclid.datasets import load_mammography
from auclid.metrics import (
    auc_by_group,
    auc_interval,
    average_precision_interval,
    compare_at,
    compare_average_precision,
    interval_at,
    net_benefit,
    rates_at,
    reliability,
    top_k,
)
from auclid.reports._numbers import COSTS
from browser import browse, in_browser


@pytest.fixture(scope="module")
def judged():
    X, y = load_mammography(return_X_y=True)
    models = {
        "logistic": LogisticRegression().fit(X[::2], y[::2]),
        "least <squares>": LeastSquaresAUC().fit(X[::2], y[::2]),
    }
    return models, X[1::2], y[1::2], report(models, X[1::2], y[1::2])


def numbers_of(page):
    return json.loads(page.split("const models = ")[1].split(";\n")[0])


def test_every_number_is_that_of_a_metric_function(judged):
    models, X, y, page = judged
    for model, (name, estimator) in zip(numbers_of(page), models.items(), strict=True):
        score = estimator.decision_function(X)
        assert model["name"] == name
        for k in range(0, len(model["threshold"]), 11):
            flagged = score > model["threshold"][k]
            assert [model["hits"][k], model["alarms"][k]] == [flagged[y == 1].sum(), flagged[y == 0].sum()]
            point = rates_at(y, score, threshold=model["threshold"][k])
            for metric, own in (("precision", "precision"), ("tpr", "tpr"), ("npv", "npv"), ("accuracy", "accuracy")):
                expected = [getattr(point, own), getattr(point, f"{own}_low"), getattr(point, f"{own}_high")]
                if flagged.any() and not flagged.all():
                    assert model[metric][k] == pytest.approx(expected, rel=1e-4)
            if flagged.any():
                f1 = interval_at(y, score, "f1", at={"threshold": model["threshold"][k]})
                assert model["f1"][k] == pytest.approx(f1[:3], rel=1e-4)
            assert model["cell_tp"][k][0] == pytest.approx(1000 * flagged[y == 1].sum() / len(y), rel=1e-4)
            for price in COSTS:
                cost = (flagged & (y == 0)).sum() + price * (~flagged & (y == 1)).sum()
                assert model[f"cost_{price}"][k][0] == pytest.approx(1000 * cost / len(y), rel=1e-4)
        auc, ap = auc_interval(y, score), average_precision_interval(y, score)
        assert f"{auc.auc:.4f} <small>{auc.low:.4f} – {auc.high:.4f}" in page
        assert f"{ap.ap:.4f} <small>{ap.low:.4f} – {ap.high:.4f}" in page


def test_calibration_and_net_benefit_are_there_where_there_are_probabilities(judged):
    models, X, y, page = judged
    probability = models["logistic"].predict_proba(X)[:, 1]
    first, second = numbers_of(page)
    expected = np.column_stack(tuple(reliability(y, probability)))
    np.testing.assert_allclose(np.array(first["reliability"]), expected, rtol=1e-4)
    at = np.array(first["benefit"])[:, 0]
    np.testing.assert_allclose(np.array(first["benefit"])[:, 1], net_benefit(y, probability, at).net_benefit, atol=2e-4)
    assert "reliability" not in second
    alone = report(LeastSquaresAUC().fit(X, y), X, y)
    assert "No model here has probabilities" in alone and 'value="calibration"' not in alone


def test_two_models_are_compared(judged):
    models, X, y, page = judged
    a, b = (model.decision_function(X) for model in models.values())
    gap = compare_average_precision(y, a, b)
    told = "differs" if gap.pvalue < 0.05 else "does not differ significantly"
    assert f"average precision {told} (p = {gap.pvalue:.2g})" in page
    point = compare_at(y, a, b, "tpr", at={"specificity": 0.9})
    assert f"<td>{point.estimate_a:.4f}</td><td>{point.estimate_b:.4f}</td>" in page


def test_choices_are_the_points_they_name(judged):
    models, X, y, page = judged
    model, score = numbers_of(page)[0], models["logistic"].decision_function(X)
    names = re.findall(r'<option value="(\d+)">([^<]*)</option>', page.split('id="purpose"')[1].split("</select>")[0])
    at = {name: model["choices"][int(k)] for k, name in names}
    assert model["threshold"][at["FPR at most 5%"]] == pytest.approx(rates_at(y, score, fpr=0.05).threshold, rel=1e-5)
    alerts = model["hits"][at["at most 1% of rows flagged"]] + model["alarms"][at["at most 1% of rows flagged"]]
    assert alerts == len(y) // 100
    assert model["hits"][at["at most 1% of rows flagged"]] == round(top_k(y, score, alerts).positives)
    costs = [row[0] for row in model["cost_10"]]
    assert costs[model["cheapest"][COSTS.index(10)]] == min(costs)


def test_the_page_is_one_file_that_asks_no_host(judged, tmp_path):
    *_, page = judged
    for address in ("http://", "https://", "src=", "@import", "url("):
        assert address not in page
    assert page.count("<script>") == page.count("</script>") == 1
    assert "least &lt;squares&gt;" in page and "least <squares>" not in page
    assert "default-src 'none'" in page and "@media print" in page and 'aria-live="polite"' in page


def test_missing_labels_are_said_to_be_missing(judged):
    models, X, _, _ = judged
    with pytest.raises(ValueError, match=r"The 'y' parameter of report must hold the labels of X. Got None instead"):
        report(models, X)


def test_labels_groups_and_paths(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(rng.random(300) < 0.3, "bad", "good")
    X[:, 0] += 1.5 * (y == "bad")
    model = LogisticRegression().fit(X, y == "bad")
    model.classes_ = np.array(["good", "bad"])
    page = report(model, X, y, tmp_path / "page.html", groups=np.arange(300) // 3, pos_label="bad", title="A & B")
    assert (tmp_path / "page.html").read_text("utf-8") == page
    assert "label bad" in page and "is bad" in page and "100 groups" in page and "A &amp; B" in page
    plain = report(model, X, y, pos_label="bad")
    wide, narrow = (numbers_of(each)[0] for each in (page, plain))
    assert len(wide["threshold"]) < len(narrow["threshold"])
    with pytest.raises(ValueError, match="Got none"):
        report({}, X, y)
    with pytest.raises(ValueError, match="both classes"):
        report(model, X, np.full(300, "good"), pos_label="bad")


def test_the_auc_of_each_group_is_shown_with_its_interval():
    rng = np.random.default_rng(5)
    y, sex = rng.integers(2, size=400), np.where(rng.random(400) < 0.4, "F & <b>", "M")
    X = rng.normal(size=(400, 2)) + y[:, None]
    model = LeastSquaresAUC().fit(X, y)
    found = auc_by_group(y, model.decision_function(X), sex)
    page = report(model, X, y, by=sex)
    for one in found.intervals.values():
        assert f"<td>{one.auc:.4f} <small>{one.low:.4f} – {one.high:.4f}</small></td>" in page
    assert all(f"<td>{auc:.4f}</td>" in page for auc in found.table.ravel())
    assert "F &amp; &lt;b&gt;" in page
    assert "by group" not in report(model, X, y)


def test_evaluate_writes_the_page(tmp_path, monkeypatch):
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from auclid.cli._app import app

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.3).astype(int)
    lines = "\n".join(f"{a:.4f},{b}" for a, b in zip(rng.normal(size=200) + y, y, strict=True))
    (tmp_path / "d.csv").write_text(f"a,y\n{lines}\n")
    fitted = CliRunner().invoke(app, ["fit", "d.csv", "--target", "y", "--method", "LeastSquaresAUC", "--model", "m"])
    assert fitted.exit_code == 0, fitted.output
    done = CliRunner().invoke(app, ["evaluate", "m", "d.csv", "--target", "y", "--html", "page.html"])
    assert done.exit_code == 0, done.output
    assert "Average precision" in done.output and "Report: page.html" in done.output
    assert len(numbers_of((tmp_path / "page.html").read_text("utf-8"))) == 1
    assert CliRunner().invoke(app, ["evaluate", "m", "d.csv", "--html", "page.pdf"]).exit_code == 2


PROBE = """
<script>
window.addEventListener("load", () => {
  const troubles = [];
  const check = (fine, what) => { if (!fine) troubles.push(what); };
  const fire = (id, kind) => byId(id).dispatchEvent(new Event(kind));
  const text = (id) => byId(id).textContent;
  const seen = (element) => element.getBoundingClientRect().height > 0;
  check(document.documentElement.scrollWidth <= window.innerWidth, "wider than the window");
  check(text("tp") === models[0].hits[models[0].start].toLocaleString("en"), "the matrix is not that of the start");
  const before = text("rates");
  byId("threshold").value = 0;
  fire("threshold", "input");
  check(text("fn") === "0" && text("tn") === "0", "the lowest threshold flags not all");
  check(text("rates") !== before, "the slider does not change the rates");
  check(text("summary").includes("Of 1,000 rows 1,000 are flagged"), text("summary"));
  byId("field").value = models[0].threshold[30];
  fire("field", "input");
  check(Number(byId("threshold").value) === 30, "the field does not move the slider");
  check(text("tp") === models[0].hits[30].toLocaleString("en"), "the field does not fill the matrix");
  check(text("rates").includes((100 * models[0].precision[30][1]).toFixed(1)), "no interval of the precision");
  for (const view of ["pr", "lift", "calibration", "benefit", "roc"]) {
    document.querySelector(`input[value=${view}]`).click();
    const shown = [...document.querySelectorAll("#decide figure[data-figure]")].filter(seen);
    check(shown.length === 1 && shown[0].dataset.figure === view, view + " is not shown alone");
    check(shown[0].querySelector("svg").getBBox().width > 200, view + " is empty");
    const box = shown[0].querySelector("svg").getBoundingClientRect();
    const move = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
    shown[0].querySelector("svg").dispatchEvent(new PointerEvent("pointermove", move));
    check(text("hover").length > 20, view + " says nothing under the pointer");
  }
  const dot = document.querySelector("svg[data-view=roc] .mark.ours");
  check(Number(dot.getAttribute("cx")) > 0, "the mark is not on the curve");
  byId("other").value = "1";
  fire("other", "change");
  check(text("second-name") === models[1].name, "the second model has no column");
  const cell = document.querySelector("#rates tbody tr td:nth-child(3)");
  check(seen(cell) && cell.textContent.includes("%"), "the second model has no rates");
  check(document.querySelectorAll("svg[data-view=roc] g:not([hidden])").length === 2, "not two curves");
  byId("price").value = "100";
  byId("purpose").value = "cost";
  fire("purpose", "change");
  check(Number(byId("threshold").value) === models[0].cheapest[6], "the least cost is elsewhere");
  byId("model").value = "1";
  fire("model", "change");
  check(text("first-name") === models[1].name, "the model does not change");
  check(Number(byId("threshold").value) === models[1].cheapest[6], "the purpose is not kept");
  const named = [...document.querySelectorAll("#decide input, #decide select")];
  check(named.every((x) => x.labels.length || x.getAttribute("aria-label")), "a control has no name");
  document.title = "checked: " + (troubles.join("; ") || "fine");
});
</script>
"""


@in_browser
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_works_in_a_browser(judged, tmp_path, width):
    *_, page = judged
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    (title,) = re.findall(r"<title>(checked: .*?)</title>", browse(path, "--dump-dom", width=width))
    assert title == "checked: fine"


@in_browser
def test_the_page_prints_every_curve(judged, tmp_path):
    *_, page = judged
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    browse(path, f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert (tmp_path / "page.pdf").stat().st_size > 20_000
