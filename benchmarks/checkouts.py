"""Are loads, fits and streams as fast as in another checkout? Both in one run, in turns.

    git worktree add ../before COMMIT
    python benchmarks/checkouts.py ../before            # all cases
    python benchmarks/checkouts.py ../before spam load  # cases whose name holds one of these words

Each checkout has a process of its own that does one case when asked to, now this one, now the other, and the least of
the times counts: what else the machine does falls on both alike. A ratio above 1 means that this checkout is slower.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
TURNS = 15
FILES = "LeastSquaresAUC.dense RankSVM.sparse SPAM.dense CBR.dense Kernelized.dense pipeline.dense AUCClassifier.dense"
FITS = "B-LS-SVM BAM SPAM-L2 SOLAM FSAUC OPAUC AdaOAM ASAM PSAM OAMseq CBR-FIFO Uni-Exp"
STREAMS = "SPAM-L2 SOLAM OPAUC PSAM OAMseq CBR-diag Uni-Exp"


def cases() -> Iterator[tuple[str, Callable[[], object]]]:
    """Every case by name. Data and files are the same in all checkouts."""
    import numpy as np
    from scipy import sparse

    import auclid

    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30))
    y = X[:, 0] + X[:, 1] + 2.0 * rng.standard_normal(len(X)) > 2.0
    rows = sparse.random(20_000, 2_000, 0.01, format="csr", random_state=0)
    for name in FILES.split():
        path = HERE / "tests" / "data" / "1.0.0" / f"{name}.auclid"
        if path.exists():
            yield f"load {name}", lambda path=path: auclid.load(path)
    for kind, table in (("float64", X), ("float32", X.astype(np.float32)), ("CSR", rows)):
        for name in FITS.split():
            wide = kind == "CSR" and name in ("B-LS-SVM", "OPAUC", "AdaOAM", "CBR-FIFO")
            few = slice(0, 2_000) if wide or name == "CBR-FIFO" else slice(None)
            kept = table[few][:, :200] if wide else table[few]
            yield f"fit {name}, {kind}", lambda name=name, kept=kept, few=few: _seeded(name).fit(kept, y[few])
        for name in STREAMS.split():
            wide = kind == "CSR" and name == "OPAUC"
            kept = table[:, :200] if wide else table
            yield f"stream {name}, {kind}", lambda name=name, kept=kept: _streamed(_seeded(name), kept, y)


def _seeded(name: str):
    from auclid import make

    model = make(name)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def _streamed(model, X, y):
    for start in range(0, 6_000, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100], classes=[False, True])
    return model


def work(words: list[str]) -> None:
    """Name the cases, then do whichever number comes in and answer with its seconds."""
    warnings.simplefilter("ignore")
    chosen = [(name, do) for name, do in cases() if not words or any(word in name.lower() for word in words)]
    for _, do in chosen:
        do()  # compiles
    print("\t".join(name for name, _ in chosen), flush=True)
    for line in sys.stdin:
        begun = time.perf_counter()
        chosen[int(line)][1]()
        print(time.perf_counter() - begun, flush=True)


def main(before: Path, words: list[str]) -> None:
    workers = [_worker(root, words) for root in (before, HERE)]
    names = [worker.stdout.readline().strip().split("\t") for worker in workers]
    if names[0] != names[1]:
        sys.exit(f"The two checkouts must have the same cases; they differ in {set(names[0]) ^ set(names[1])}.")
    for number, name in enumerate(names[0]):
        seconds = [[], []]
        for _ in range(TURNS):
            for worker, taken in zip(workers, seconds, strict=True):
                print(number, file=worker.stdin, flush=True)
                taken.append(float(worker.stdout.readline()))
        old, new = (min(taken) for taken in seconds)
        print(f"{name:40s} before {1e3 * old:9.2f} ms   now {1e3 * new:9.2f} ms   ratio {new / old:6.3f}", flush=True)
    for worker in workers:
        worker.stdin.close()
        worker.wait()


def _worker(root: Path, words: list[str]) -> subprocess.Popen:
    paths = [str(root / "src"), str(HERE / "benchmarks")]
    code = f"import sys; sys.path[:0] = {paths!r}; import checkouts; checkouts.work({words!r})"
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), [word.lower() for word in sys.argv[2:]])
