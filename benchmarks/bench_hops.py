"""How many calls lie between `fit` and the loop that does the work: what a reader must follow to find it.

Kernels run as plain Python, and the hot loop of a fit is the kernel that most of its time is spent in. Counted are all
calls of functions of the package between the user's `fit(X, y)` and that kernel: wrappers, lambdas and generators too.
Comprehensions, which are no calls from Python 3.12 on, and the call of the kernel itself do not count.
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
DISPATCHER = str(SOURCE / "_generic.py")
"""Calls a kernel, as Numba would where it compiles."""

COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


def kernels():
    """(file, name) of every function that is compiled as a loop of its own."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
                if any(getattr(name, "id", "") == "kernel" for name in names):
                    yield str(path), node.name


KERNELS = set(kernels())


def way(frame):
    """The functions of the package from the user's call to a kernel, or None where another kernel calls it."""
    names = [frame.f_code.co_name]
    while (frame := frame.f_back) is not None and frame.f_code is not hot_way.__code__:
        code = frame.f_code
        if (code.co_filename, code.co_name) in KERNELS:
            return None
        own = code.co_filename.startswith(str(SOURCE)) and code.co_filename != DISPATCHER
        if own and code.co_name not in COMPREHENSIONS:
            names.append(code.co_name)
    return tuple(reversed(names))


def hot_way(model, X, y):
    """The commonest way to the kernel that most time of a fit is spent in; nothing where BLAS does it all."""
    spent, ways, begun = Counter(), Counter(), {}

    def watch(frame, event, _):
        if (frame.f_code.co_filename, frame.f_code.co_name) not in KERNELS:
            return
        if event == "call" and (found := way(frame)):
            begun[frame] = perf_counter()
            ways[found] += 1
        elif event == "return" and frame in begun:
            spent[frame.f_code.co_name] += perf_counter() - begun.pop(frame)

    sys.setprofile(watch)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    hot = max(spent, key=spent.get, default=None)
    return max((found for found in ways if found[-1] == hot), key=ways.get, default=())


def models():
    """The estimators, by their families."""
    for cls in (auclid.SPAM, auclid.SOLAM, auclid.FSAUC, auclid.OPAUC, auclid.AdaOAM, auclid.ASAM, auclid.PSAM):
        yield cls(random_state=0)
    for cls in (auclid.OAM, auclid.CBR, auclid.UniExp):
        yield cls(random_state=0)
    yield auclid.LeastSquaresAUC(l1=0.1)
    yield auclid.RankSVM(alpha=1e-3)
    yield auclid.RankSVM()
    yield auclid.KernelRankSVM()
    yield auclid.Kernelized(auclid.KMeansNystroem(20, random_state=0), auclid.RankSVM())
    yield auclid.OrderedRanker()
    yield auclid.FactorizationRanker(random_state=0)
    yield auclid.RankBoost()
    yield auclid.Scorecard()
    yield auclid.AUCClassifier(random_state=0)


def main():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 5)), (rng.random(150) < 0.3).astype(int)
    X[:, 0] += y
    warnings.simplefilter("ignore")
    for model in models():
        found = hot_way(model, X, y)
        name = type(model).__name__ + ("(alpha)" if model.get_params().get("alpha") == 1e-3 else "")
        print(f"{name:<20} {max(len(found) - 1, 0):2} calls  {' > '.join(found)}", flush=True)


if __name__ == "__main__":
    main()
