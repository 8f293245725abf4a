"""report.html in a real browser: no console errors, plots are there, controls work, a screenshot is made."""

import re

import pytest

from auclid.cli.compare import compare
from auclid.cli.data import embedded_table
from auclid.cli.report import report
from browser import browse, in_browser

pytestmark = [pytest.mark.long, in_browser]

PROBE = """
<script>
window.addEventListener("load", () => {
  const troubles = [];
  const check = (fine, what) => { if (!fine) troubles.push(what); };
  check(document.documentElement.scrollWidth <= window.innerWidth, "wider than the window");
  const height = (svg) => svg.getBoundingClientRect().height;
  const shown = [...document.querySelectorAll("svg")].filter((svg) => height(svg) > 50);
  check(shown.length === 5, shown.length + " plots are shown");
  for (const svg of shown) check(svg.getBBox().width > 200, svg.getAttribute("aria-label") + " is empty");
  const slider = document.getElementById("threshold"), cell = document.getElementById("tp");
  const line = () => document.querySelector("[data-model='1'] .cut").getAttribute("x1");
  const model = document.getElementById("model");
  model.value = "1";
  model.dispatchEvent(new Event("change"));
  check(document.querySelector("[data-model='0']").hidden, "the first model stays");
  const [count, place] = [cell.textContent, line()];
  slider.value = 0;
  slider.dispatchEvent(new Event("input"));
  check(cell.textContent !== count, "the slider does not fill the matrix");
  check(line() !== place, "the slider does not move the line");
  check(document.getElementById("fn").textContent === "0", "the lowest threshold misses positives");
  document.title = "checked: " + (troubles.join("; ") || "fine");
});
</script>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    result = compare(embedded_table(), ["SPAM", "LeastSquaresAUC"], ["logistic", "ridge"])
    path.write_text(report(result), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_works(page, width):
    probed = page.with_name(f"probed-{width}.html")
    probed.write_text(page.read_text("utf-8").replace("</body>", PROBE + "</body>"), encoding="utf-8")
    (title,) = re.findall(r"<title>(checked: .*?)</title>", browse(probed, "--dump-dom", width=width))
    assert title == "checked: fine"


def test_an_error_in_the_page_would_be_seen(page):
    broken = page.with_name("broken.html")
    broken.write_text(page.read_text("utf-8").replace("const models", "missing(); const models"), "utf-8")
    with pytest.raises(AssertionError, match="missing is not defined"):
        browse(broken, "--dump-dom")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_screenshot_is_made_by_day_and_by_night(page, scheme):
    image = page.with_name(f"{scheme}.png")
    browse(page, f"--screenshot={image}", f"--blink-settings=preferredColorScheme={int(scheme == 'light')}")
    assert image.stat().st_size > 50_000
    PIL = pytest.importorskip("PIL.Image")
    corner = PIL.open(image).convert("L").getpixel((2, 2))
    assert corner > 200 if scheme == "light" else corner < 60
