"""How many calls lie between `fit` and the loop that does the work: what a reader must follow to find it.

Kernels run as plain Python, and the hot loop of a fit is the kernel that most of its time is spent in. Counted are the
calls of functions of the package from `fit` on; wrappers, comprehensions and the counting of steps are no hops.
"""

import ast
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter

if os.environ.get("NUMBA_DISABLE_JIT") != "1":  # it must be known before Numba is imported
    sys.exit(subprocess.run([sys.executable, __file__], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}).returncode)

import numpy as np

import auclid

SOURCE = Path(auclid.__file__).parent
NO_HOP = {"all_or_nothing", "wrapper", "steps", "_count", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>"}


def kernels():
    """(file, name) of every function that is compiled as a loop of its own."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
                if any(getattr(name, "id", "") == "kernel" for name in names):
                    yield str(path), node.name


KERNELS = set(kernels())


def way(frame, model):
    """The functions from the model's `fit` to a kernel, or None where another kernel calls it."""
    names = [frame.f_code.co_name]
    while (frame := frame.f_back) is not None:
        code = frame.f_code
        if (code.co_filename, code.co_name) in KERNELS:
            return None
        if code.co_filename.startswith(str(SOURCE)) and code.co_name not in NO_HOP:
            names.append(code.co_name)
        if code.co_name == "fit" and frame.f_locals.get("self") is model:
            return tuple(reversed(names))
    return None


def hot_way(model, X, y):
    """The way to the kernel that most time of a fit is spent in; None where BLAS does it all."""
    spent, begun = Counter(), {}

    def watch(frame, event, _):
        if (frame.f_code.co_filename, frame.f_code.co_name) not in KERNELS:
            return
        if event == "call" and (found := way(frame, model)):
            begun[frame] = found, perf_counter()
        elif event == "return" and frame in begun:
            found, start = begun.pop(frame)
            spent[found] += perf_counter() - start

    sys.setprofile(watch)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    return max(spent, key=spent.get) if spent else None


def models():
    """Each with the most hops that its way may have."""
    for cls in (auclid.SPAM, auclid.SOLAM, auclid.FSAUC, auclid.OPAUC, auclid.AdaOAM, auclid.ASAM, auclid.PSAM):
        yield cls(random_state=0), 4
    for cls in (auclid.OAM, auclid.CBR, auclid.UniExp):
        yield cls(random_state=0), 4
    yield auclid.LeastSquaresAUC(l1=0.1), 4
    yield auclid.RankSVM(), 4
    yield auclid.KernelRankSVM(), 4
    yield auclid.Kernelized(auclid.KMeansNystroem(20, random_state=0), auclid.RankSVM()), 6


def main():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 5)), (rng.random(150) < 0.3).astype(int)
    X[:, 0] += y
    warnings.simplefilter("ignore")
    for model, bar in models():
        found = hot_way(model, X, y)
        hops = len(found) - 1
        verdict = "met" if hops <= bar else "MISSED"
        print(f"{type(model).__name__:<16} {hops:2} hops  bar {bar}  {verdict:<6}  {' > '.join(found)}")


if __name__ == "__main__":
    main()
