"""Draws layout.svg, how a table flows to an answer, from the list of packages in tests/test_layout.py.

`python docs/images/make_layout.py` writes it anew; a test fails where the list knows a package that the picture lacks.
"""

import ast
from html import escape
from pathlib import Path
from textwrap import wrap

HERE = Path(__file__).resolve().parent
LAYOUT = HERE.parent.parent / "tests" / "test_layout.py"

STAGES = [
    ("Data", "memory, files and Dask behind one protocol"),
    ("Statistics", "sums that add up: one pass, any order"),
    ("Minimise", "a loss over pairs + a penalty, by a solver"),
    ("Estimators", "parameters → solver → published attributes"),
    ("Choose", "a method by its paper's name, or the best"),
    ("Answer", "areas with intervals, pictures, files"),
]

WORDS = {
    "datasets": (0, "files and known tables"),
    "data": (0, "Table: products, blocks, sweeps, of any source"),
    "stats": (1, "moments, class sums, buffers, samples"),
    "pairs": (1, "all pairs of scores in O(n log n)"),
    "errors": (0, "typed, worded by each interface"),
    "validation": (0, "rows, labels, parameters"),
    "objectives": (2, "pair losses for boosters"),
    "losses": (2, "of a pair's difference"),
    "penalties": (2, "and their proximal steps"),
    "schedules": (2, "how long a step is"),
    "solvers": (2, "settings, state, update"),
    "base": (3, "scikit-learn's demands, once"),
    "square": (3, "square loss"),
    "pairwise": (3, "hinges over pairs"),
    "ordered": (3, "levels, groups, censored times"),
    "online": (3, "streams with buffers"),
    "kernels": (3, "kernels as columns"),
    "semi": (3, "few labels"),
    "additive": (3, "scorecards"),
    "trees": (3, "random and boosted trees"),
    "boost": (3, "stumps"),
    "torch": (3, "losses for networks"),
    "multiclass": (3, "several classes"),
    "columns": (3, "any table to numbers"),
    "registry": (4, "make(name)"),
    "warm": (4, "compiled beforehand"),
    "baselines": (4, "honest peers"),
    "auto": (4, "AUCClassifier"),
    "calibrated": (4, "probabilities"),
    "streams": (4, "pipelines, dict rows"),
    "metrics": (5, "areas, intervals, tests"),
    "plot": (5, "curves and bands"),
    "exporters": (5, "SQL, ONNX, PMML, JSON, Python"),
    "reports": (5, "pages to decide on"),
    "comparison": (5, "estimators on equal folds"),
    "monitoring": (5, "drift, AUC over time"),
    "io": (5, "model files"),
    "cli": (5, "the command"),
}
"""Public packages and modules: the stage each stands in, and what it is."""

GROUND = "modules with an underscore: compiled loops, random numbers, hints, threads, callbacks"

WIDTH, TOP, BAND, LEFT, GAP = 960, 56, 84, 236, 10

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1c2330; } .name { font: 600 13px ui-monospace, monospace; }
  .small { font-size: 11px; fill: #5a6473; } .title { font-weight: 600; font-size: 15px; }
  .band { fill: #f4f6fa; stroke: #d5dbe6; } .box { fill: #ffffff; stroke: #8794ab; }
  .flow { stroke: #3f51b5; stroke-width: 2.5; fill: none; } .head { fill: #3f51b5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e9f0; } .small { fill: #a9b2c2; } .band { fill: #232936; stroke: #3a4356; }
    .box { fill: #2d3546; stroke: #66738c; } .flow { stroke: #9fa8da; } .head { fill: #9fa8da; }
  }
"""


def order() -> list[str]:
    """The names of ORDER in the layout test, read without running it."""
    for node in ast.parse(LAYOUT.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ORDER":
            return ast.literal_eval(node.value.func.value).split()
    raise ValueError(f"{LAYOUT} must have a list ORDER.")


def units() -> list[str]:
    """Packages and modules at the top of the package, in their order, but for those beneath all of it."""
    return [name for name in dict.fromkeys(name.partition(".")[0] for name in order()) if not name.startswith("_")]


def drawing() -> str:
    """The picture."""
    public = units()
    strange = [name for name in public if name not in WORDS]
    if strange:
        raise ValueError(f"{', '.join(strange)} must have words and a stage in {Path(__file__).name}.")
    height = TOP + BAND * len(STAGES) + 64
    parts = [_arrow(k) for k in range(len(STAGES))]
    parts.append(_text(LEFT, 24, "A table: array, CSR matrix, frame, file, stream", "title"))
    for k, (title, words) in enumerate(STAGES):
        parts += _band(k, title, words, [name for name in public if WORDS[name][0] == k])
    parts.append(_text(20, height - 36, "Beneath all of it", "title"))
    parts.append(_text(LEFT, height - 36, GROUND, "small"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    head += f"\n<title>How a table flows to an answer</title>\n<style>{STYLE}</style>"
    return "\n".join([head, *parts, "</svg>\n"])


def _band(k: int, title: str, words: str, names: list[str]) -> list[str]:
    y = TOP + k * BAND
    parts = [f'<rect class="band" x="8" y="{y}" width="{WIDTH - 16}" height="{BAND - 18}" rx="8"/>']
    parts.append(_text(20, y + 26, title, "title"))
    parts += [_text(20, y + 44 + 13 * line, piece, "small") for line, piece in enumerate(wrap(words, 34))]
    width = (WIDTH - 20 - LEFT - GAP * (len(names) - 1)) / max(len(names), 1)
    for number, name in enumerate(names):
        x = LEFT + number * (width + GAP)
        parts.append(f'<rect class="box" x="{x:.1f}" y="{y + 8}" width="{width:.1f}" height="{BAND - 34}" rx="5"/>')
        parts.append(_text(x + 8, y + 25, name, "name"))
        said = wrap(WORDS[name][1], max(int(width / 6.2), 8))[:2]
        parts += [_text(x + 8, y + 40 + 12 * line, piece, "small") for line, piece in enumerate(said)]
    return parts


def _arrow(k: int) -> str:
    """From the band above into band k."""
    y = TOP + k * BAND
    return (
        f'<path class="flow" d="M{WIDTH / 2} {y - 18}V{y - 6}"/>'
        f'<path class="head" d="M{WIDTH / 2 - 6} {y - 8}h12l-6 8z"/>'
    )


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


if __name__ == "__main__":
    (HERE / "layout.svg").write_text(drawing(), encoding="utf-8", newline="\n")
