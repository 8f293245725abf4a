"""Makes docs/images/scorecard.png: the shapes of the guide's scorecard. `python docs/images/make_scorecard.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pandas as pd

from auclid import Scorecard
from auclid.datasets import load_mammography

table = load_mammography()
X = pd.DataFrame(table.data, columns=[f"measure_{k}" for k in range(1, 7)])
axes = Scorecard(interactions=0, random_state=0).fit(X, table.target).plot()
axes[0, 0].figure.savefig(Path(__file__).parent / "scorecard.png", dpi=90)
