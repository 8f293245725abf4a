"""The editor of a scorecard in a real browser: drag, save, apply, and the same numbers as in Python."""

import copy
import html
import json
import re

import numpy as np
import pytest

from auclid import Scorecard
from auclid.metrics import roc_auc
from browser import browse, in_browser

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, 900).astype(float), "debt": rng.exponential(size=900)})
    X["job <b>"] = rng.choice(["clerk", "judge"], 900)
    score = -0.05 * X["age"] + X["debt"] + (X["job <b>"] == "judge")
    y = (score + rng.logistic(size=900) > 0).to_numpy()
    X.loc[::11, "debt"] = np.nan
    return Scorecard(interactions=0, random_state=0).fit(X, y), X, y


def test_rows_are_on_the_page_only_where_they_are_asked_for(fitted, tmp_path):
    model, X, y = fitted
    bare, full = model.editor(tmp_path / "editor.html"), model.editor(X=X, y=y, max_rows=300)
    assert (tmp_path / "editor.html").read_text("utf-8") == bare
    assert "://" not in bare.replace("http://www.w3.org", "")
    data = [json.loads(re.search(r"id='card'>(.*?)</script>", page).group(1)) for page in (bare, full)]
    assert data[0]["rows"] is None and "holds no rows" in bare
    assert len(data[1]["rows"]["labels"]) == 300 and "the values of 300 rows" in full
    exact = [float(X["debt"].max()), float(X["debt"].iloc[3])]
    assert str(exact[1]) in full and str(exact[1]) not in bare
    with pytest.raises(ValueError, match=r"'max_rows' of Scorecard.editor must be an int of at least 1; got 0"):
        model.editor(X=X, y=y, max_rows=0)


DRAG = """
<script>
window.addEventListener("load", () => {
  const send = (target, type, x, y) =>
    target.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: x, clientY: y, pointerId: 1 }));
  const drag = (k, by) => {
    const dot = document.querySelector(`[data-handle="${k}"]`), box = dot.getBoundingClientRect();
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    send(dot, "pointerdown", x, y);
    send(window, "pointermove", x, y + by / 2);
    send(window, "pointermove", x, y + by);
    send(window, "pointerup", x, y + by);
  };
  const choose = (j) => {
    document.getElementById("column").value = j;
    document.getElementById("column").dispatchEvent(new Event("change"));
  };
  const before = document.getElementById("auc").textContent;
  drag(1, -60);
  choose(1);
  const last = document.querySelectorAll("[data-handle]").length - 1;
  drag(last, 40);
  document.getElementById("reason").value = "few rows";
  document.getElementById("reason").dispatchEvent(new Event("input"));
  choose(2);
  drag(0, 50);
  choose(0);
  document.getElementById("bins").click();
  drag(2, 45);
  let name = "", saved = null;
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => { saved = blob; return make(blob); };
  HTMLAnchorElement.prototype.click = function () { name = this.download; };
  document.getElementById("save").click();
  const shown = { auc: document.getElementById("auc").textContent, psi: document.getElementById("psi").textContent,
    before, name, size: saved.size, wide: document.documentElement.scrollWidth <= window.innerWidth };
  const out = document.createElement("pre");
  out.id = "answer";
  out.textContent = JSON.stringify({ shown, edits: JSON.parse(document.getElementById("json").value) });
  document.body.append(out);
});
</script>
"""


@in_browser
@pytest.mark.parametrize("width", [500, 1200])
def test_what_is_dragged_is_saved_and_gives_the_same_numbers_in_python(fitted, tmp_path, width):
    model, X, y = fitted
    page = tmp_path / "editor.html"
    page.write_text(model.editor(X=X, y=y).replace("</body>", DRAG + "</body>"), encoding="utf-8")
    dom = browse(page, "--dump-dom", width=width, height=1600)
    answer = json.loads(html.unescape(re.search(r'<pre id="answer">(.*?)</pre>', dom, re.S).group(1)))
    shown, edits = answer["shown"], answer["edits"]
    assert shown["wide"] and shown["name"] == "edits.json" and shown["size"] > 100
    kinds = [sorted(set(edit) & {"at", "levels", "missing", "low", "high"}) for edit in edits["edits"]]
    assert kinds == [["at"], ["high", "low"], ["missing"], ["levels"]]
    assert edits["edits"][2]["reason"] == "few rows"
    card = copy.deepcopy(model).apply(json.dumps(edits), X, y)
    assert float(shown["before"]) == pytest.approx(roc_auc(y, model.decision_function(X)), abs=1e-6)
    assert float(shown["auc"]) == pytest.approx(roc_auc(y, card.decision_function(X)), abs=1e-6)
    assert card.edits_[-1]["effect"]["auc_after"] == pytest.approx(float(shown["auc"]), abs=1e-6)
    assert float(shown["psi"]) > 0.0 and shown["auc"] != shown["before"]
