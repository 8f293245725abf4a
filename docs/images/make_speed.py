"""Makes docs/images/speed.svg, the ratios of the first table of docs/speed.md: `python docs/images/make_speed.py`."""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
ROW = re.compile(r"^\| (?P<work>`.+?) \| .+? \| (?P<peer>.+?) \| .+? \| (?P<ratio>[\d. /]+) \|$", flags=re.M)

rows = list(ROW.finditer((HERE.parent / "speed.md").read_text(encoding="utf-8")))
names = [f"{row['work']} / {row['peer']}".replace("`", "") for row in rows][::-1]
ratios = [float(row["ratio"].split("/")[0]) for row in rows][::-1]
plt.rcParams.update({"svg.hashsalt": "speed", "svg.fonttype": "none"})
figure, ax = plt.subplots(figsize=(9, 0.34 * len(rows) + 0.9), layout="constrained")
colours = ["#2a6fbb" if ratio <= 1.0 else "#b3541e" for ratio in ratios]
bars = ax.barh(names, [ratio - 1.0 for ratio in ratios], left=1.0, color=colours)
ax.bar_label(bars, [f"{ratio:g}" for ratio in ratios], padding=3, fontsize=8)
ax.axvline(1.0, color="grey", linestyle=":")
ax.set(xscale="log", xlabel="our time over the peer's; left of 1 we are faster")
ax.tick_params(axis="y", labelsize=8)
ax.margins(x=0.12)
figure.savefig(HERE / "speed.svg", metadata={"Date": None})
