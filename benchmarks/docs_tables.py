"""The measured tables of the documentation, written to docs/tables/.

`python benchmarks/docs_tables.py when`: test AUC of AUC rankers, logistic regression and boosted trees on real tables.
`python benchmarks/docs_tables.py times`: seconds to fit and test AUC of every method, on a dense and a sparse table.
"""

import argparse
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from tables import require_data, split

from auclid import LeastSquaresAUCCV, RankSVM, make
from auclid._random import set_random_state
from auclid.baselines import SmallLightGBM, lightgbm, scores
from auclid.metrics import compare_auc, roc_auc

DOCS = Path(__file__).parent.parent / "docs" / "tables"

TABLES = """
mammography ijcnn1 a9a w8a german diabetes splice svmguide3 magic04 cod-rna letter banana
keel-yeast1 keel-car-good
""".split()
SEEDS, LEARNED = range(5), 10_000


def write(name, lines):
    """A Markdown file, shown as well."""
    DOCS.mkdir(exist_ok=True)
    (DOCS / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def bar(cells):
    """A line of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def some(X, y, seed):
    """At most LEARNED rows to learn from, drawn anew for each seed."""
    kept = np.sort(np.random.default_rng(seed).permutation(len(y))[:LEARNED])
    return X[kept], y[kept]


def rivals(seed):
    """The six of the first table."""
    return {
        "logistic": LogisticRegressionCV(
            Cs=np.logspace(-4, 4, 9), cv=5, scoring="roc_auc", max_iter=500,
            use_legacy_attributes=False, l1_ratios=(0,),
        ),
        "least squares": LeastSquaresAUCCV(),
        "RankSVM": RankSVM(),
        "NBAM": make("NBAM", random_state=seed),
        "LightGBM": lightgbm(n_jobs=1, random_state=seed),
        "LightGBM, small trees": SmallLightGBM(random_state=seed),
    }  # fmt: skip


def duel(y, ours, theirs):
    """+1, -1 or 0: which of two scores ranks better, where DeLong's paired test is sure (5 %)."""
    gap = compare_auc(y, ours, theirs)
    return int(np.sign(gap.difference)) * (gap.pvalue < 0.05)


def one_table(name):
    """The line of one table: its shape, the mean test AUC of each rival, and how the linear ones stand."""
    aucs, duels = {}, []
    for seed in SEEDS:
        X, y, X_test, y_test = split(name, seed, dense=True)
        X, y = some(X, y, seed)
        found = {}
        for key, model in rivals(seed).items():
            found[key] = scores(model.fit(X, y), X_test)
            aucs.setdefault(key, []).append(roc_auc(y_test, found[key]))
        duels.append(duel(y_test, found["least squares"], found["logistic"]))
    means = {key: np.mean(values) for key, values in aucs.items()}
    best = max(means.values())
    cells = [f"{mean:.4f}" for mean in means.values()]
    cells = [f"**{cell}**" if cell == f"{best:.4f}" else cell for cell in cells]
    better, worse = (sum(d == sign for d in duels) for sign in (1, -1))
    return [name, f"{X.shape[0]:,} × {X.shape[1]}", f"{y.mean():.1%}", *cells, f"{better} / {worse}"]


def when():
    """Does optimising AUC pay? Five splits of each table."""
    head = ["table", "learned from", "positive", *rivals(0), "better / worse"]
    lines = [bar(head), bar(["---", "---:", "---:", *["---:"] * len(rivals(0)), ":---:"])]
    for name in TABLES:
        lines.append(bar(one_table(name)))
        print(lines[-1], flush=True)
    write("when", lines)


METHODS = """
LeastSquaresAUC LeastSquaresAUCCV RankSVM SPAM-L2 SOLAM FSAUC OPAUC AdaOAM ASAM PSAM OAM CBR-FIFO CBR-diag Uni-Exp
NBAM NPSAM NSOLAM FCBR-FIFO logistic LightGBM
""".split()
DENSE_ONLY = {"OPAUC", "AdaOAM", "LeastSquaresAUCCV", "CBR-FIFO", "NBAM", "NPSAM", "NSOLAM", "FCBR-FIFO", "LightGBM"}


def built(name):
    """A contender by name, with its defaults."""
    if name == "logistic":
        return LogisticRegression(max_iter=1000)
    if name == "LightGBM":
        return lightgbm(n_jobs=1)
    return set_random_state(make(name), 0)


def timed(name, X, y, X_test, y_test):
    """Seconds of a fit, after one on some rows that compiles what is to be compiled; and the test AUC."""
    few = np.concatenate([np.flatnonzero(y == 1)[:450], np.flatnonzero(y == 0)[:450]])
    built(name).fit(X[few], y[few])
    model, start = built(name), perf_counter()
    model.fit(X, y)
    return f"{perf_counter() - start:.2f}", f"{roc_auc(y_test, scores(model, X_test)):.4f}"


def times():
    """Every method on a dense and on a wide sparse table."""
    dense, wide = split("ijcnn1", dense=True), split("news20")
    shapes = [f"{name} ({X.shape[0]:,} × {X.shape[1]:,})" for name, (X, *_) in (("ijcnn1", dense), ("news20", wide))]
    lines = [bar(["method", f"{shapes[0]}: fit, s", "AUC", f"{shapes[1]}: fit, s", "AUC"])]
    lines.append(bar(["---", *["---:"] * 4]))
    for name in METHODS:
        cells = timed(name, *dense) + (("", "") if name in DENSE_ONLY else timed(name, *wide))
        lines.append(bar([name, *cells]))
        print(lines[-1], flush=True)
    write("times", lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    require_data()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["when", "times"])
    {"when": when, "times": times}[parser.parse_args().table]()
