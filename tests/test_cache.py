"""Compiled code on disk: found again, never stale, safe for several processes, and not needed."""

import compileall
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import auclid
from auclid._compilation import _CacheFiles, cache_folder, source_files, source_hash

pytestmark = pytest.mark.jit

PACKAGE = Path(auclid.__file__).parent

FIT = """
    import sys, warnings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import numpy as np
        from auclid import LeastSquaresAUC
        from auclid import SPAM
        from auclid.stats.class_means import stable_step
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
        stable_step(np.ones(2), np.ones(1))
        models = [LeastSquaresAUC(l1=0.01).fit(X, y)]
        if {spam}:
            models.append(SPAM(random_state=0).fit(X, y))
    from auclid._generic import Kernel
    modules = [vars(m) for name, m in list(sys.modules.items()) if name.startswith("auclid")]
    named = {id(v): v for names in modules for v in names.values() if isinstance(v, Kernel)}.values()
    kernels = [kernel.compiled for kernel in named]
    said = dict(
        coef=[m.coef_.tolist() for m in models],
        hits=sum(sum(k.stats.cache_hits.values()) for k in kernels),
        misses=sum(sum(k.stats.cache_misses.values()) for k in kernels),
        warned=[str(w.message) for w in caught if "auclid" in str(w.message)],
    )
"""


FIT_ALL, FIT = (FIT.replace("{spam}", str(spam)) for spam in (True, False))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A copy of the package, so that nothing a developer edits meanwhile can matter."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, folder / "auclid", ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(folder, quiet=1)
    return folder


@pytest.fixture
def start(site, tmp_path):
    """Start a fresh Python that runs some code with some cache folder and prints the variable `said`."""

    def start(code, cache=tmp_path / "cache", site=site):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(code) + "\nimport json\nprint(json.dumps(said))\n")
        own = {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([sys.executable, script], env={**os.environ, **own}, **pipes)

    return start


@pytest.fixture
def run(start):
    return lambda *args, **kwargs: finish(start(*args, **kwargs))


def finish(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def files(folder):
    return sorted(path.name for path in folder.rglob("*.nb[ci]"))


def test_the_next_process_finds_the_code_again_and_damaged_files_count_as_absent(run, tmp_path):
    cache = tmp_path / "cache"
    first = run(FIT_ALL)
    written = files(cache)
    assert first["misses"] > 0 and first["hits"] == 0 and written
    second = run(FIT_ALL)
    assert second["misses"] == 0 and second["hits"] > 0 and files(cache) == written
    for path in cache.rglob("*.nb[ci]"):
        path.write_bytes(path.read_bytes()[:20])
    third = run(FIT)
    fourth = run(FIT)
    assert third["hits"] == 0 and third["misses"] > 0 and fourth["misses"] == 0
    assert first["coef"] == second["coef"] and first["coef"][:1] == third["coef"] == fourth["coef"]
    assert first["warned"] == second["warned"] == third["warned"] == []


def test_what_is_warm_need_not_be_compiled(run):
    run("from auclid.warm import warm\nsaid = [name for name, _ in warm(['SPAM'])]")
    found = run(FIT_ALL.replace("LeastSquaresAUC(l1=0.01).fit(X, y)", "SPAM(random_state=1).fit(X, y)"))
    assert found["misses"] <= 1 and found["hits"] > 1  # stable_step is called from Python here and nowhere else


def test_without_a_writable_folder_all_works_with_one_warning(run, tmp_path):
    (tmp_path / "file").touch()  # a folder below a file cannot be made, not even by root
    said = run(FIT, tmp_path / "file" / "cache")
    assert len(said["warned"]) == 1 and "NUMBA_CACHE_DIR" in said["warned"][0]
    assert said["hits"] == 0 and len(said["coef"]) == 1


def test_a_folder_that_is_lost_later_costs_one_warning(run):
    lose = """
        import auclid, shutil
        from auclid._compilation import cache_folder
        shutil.rmtree(cache_folder())
        cache_folder().touch()
    """
    said = run(textwrap.dedent(lose) + textwrap.dedent(FIT))
    assert len(said["warned"]) == 1 and "NUMBA_CACHE_DIR" in said["warned"][0]


PROBE = """
from auclid._generic import kernel
from auclid.losses import slope


@kernel
def probe(loss, m):
    return slope(loss, m)
"""

USE_PROBE = """
    from auclid.probe import probe
    from auclid.losses import Square
    said = [probe(Square(), 0.0), sum(probe.compiled.stats.cache_hits.values())]
"""


def test_an_upgrade_never_runs_stale_code_though_file_times_are_kept(run, site, tmp_path):
    """Two versions that differ in one digit of a loss, at the same place, with the same sizes and times."""
    package = tmp_path / "site" / "auclid"
    shutil.copytree(site / "auclid", package)
    (package / "probe.py").write_text(PROBE)
    losses, old, new = package / "losses.py", "return -2.0 * (1.0 - m)\n", "return -3.0 * (1.0 - m)\n"
    text = losses.read_text()
    assert text.count(old) == 1

    def said():
        for path in package.rglob("*.py"):
            os.utime(path, (1e9, 1e9))
        return run(USE_PROBE, site=package.parent)

    assert said() == [-2.0, 0]
    losses.write_text(text.replace(old, new))
    assert said() == [-3.0, 0]
    losses.write_text(text)
    assert said() == [-2.0, 1]


def test_the_folder_is_named_by_all_files_with_kernels_or_structs():
    named = {path.relative_to(PACKAGE).as_posix() for path in source_files()}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        if "@kernel" in text or ("(NamedTuple)" in text and ".implement(" in text):
            assert path.relative_to(PACKAGE).as_posix() in named
    some = {"_compilation.py", "data/structs.py", "losses.py", "penalties.py", "schedules.py", "square/spam.py"}
    assert some <= named
    assert re.fullmatch("auclid-[0-9a-f]{16}", cache_folder().name) and len(source_hash()) == 16


def test_two_processes_compile_at_once(start, run):
    a, b = [finish(process) for process in [start(FIT), start(FIT)]]
    later = run(FIT)
    assert a["coef"] == b["coef"] == later["coef"] and a["warned"] == b["warned"] == []
    assert later["hits"] > 0


def test_code_saved_at_the_same_moment_is_never_mixed_up(tmp_path, monkeypatch):
    """One process stops between naming its file and writing it, while another saves something else."""
    a, b, later = (_CacheFiles(str(tmp_path), "kernel", "stamp") for _ in range(3))
    kept = []
    monkeypatch.setattr(a, "_save_data", lambda name, data: kept.append((name, data)))
    seen_before = a._load_index()
    monkeypatch.setattr(b, "_load_index", lambda: dict(seen_before))
    a.save("int", "code for int")
    b.save("float", "code for float")
    monkeypatch.undo()
    for name, data in kept:
        a._save_data(name, data)
    assert later.load("float") == "code for float"
    assert later.load("int") in (None, "code for int")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_started_by(method, run):
    code = f"""
        import multiprocessing
        import numpy as np
        from auclid import LeastSquaresAUC

        def fit(seed):
            rng = np.random.default_rng(seed)
            X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
            return LeastSquaresAUC(l1=0.01).fit(X, y).coef_.tolist()

        said = None
        if __name__ == "__main__":
            if "{method}" not in multiprocessing.get_all_start_methods():
                said = "no such method here"
            else:
                here = [fit(seed) for seed in range(3)]
                with multiprocessing.get_context("{method}").Pool(2) as pool:
                    said = pool.map(fit, range(3)) == here
    """
    said = run(code)
    if said == "no such method here":
        pytest.skip(said)
    assert said is True


OWN = """
    from typing import NamedTuple
    import numpy as np
    from auclid import SPAM
    from auclid._compilation import cache_folder
    from auclid._generic import kernel
    from auclid.penalties import ElasticNet, prox

    class Mine(NamedTuple):
        l1: float
        l2: float

    @prox.implement(Mine)
    def _(penalty, w, step):
        for k in range(w.shape[0]):
            size = abs(w[k]) - step * penalty.l1
            w[k] = np.sign(w[k]) * size / (1.0 + step * penalty.l2) if size > 0.0 else 0.0

    @kernel
    def own(x):
        return x + 1.0

    own(1.0)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    mine = SPAM(penalty=Mine(1, 0.01), random_state=0).fit(X, y)
    kept = [path.name for path in cache_folder().iterdir()]
    ours = SPAM(penalty=ElasticNet(1, 0.01), random_state=0).fit(X, y)
    said = dict(
        equal=bool(np.allclose(mine.coef_, ours.coef_, rtol=1e-12, atol=1e-15)),
        mine=[name for name in kept if "sweep_any" in name or "own" in name],
        ours=[path.name for path in cache_folder().iterdir() if "sweep_any" in path.name],
    )
"""


def test_structs_and_kernels_of_users_work_and_are_not_written_to_disk(run):
    said = run(OWN)
    assert said["equal"] and said["mine"] == [] and said["ours"]


WITHOUT_NUMBA = """
    import sys
    sys.modules["numba"] = sys.modules["llvmlite"] = None  # as if they were not installed
    import numpy as np
    import auclid
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    a, b, groups = rng.normal(size=2000) + y, rng.normal(size=2000) + 0.5 * y, np.arange(2000) // 4
    metrics = auclid.metrics
    said = dict(
        auc=metrics.auc_interval(y, a).auc - metrics.roc_auc(y, a),
        pvalue=metrics.compare_auc(y, a, b).pvalue,
        precision=metrics.average_precision_interval(y, a, groups=groups).low,
        threshold=metrics.choose_threshold(y, a, alerts=100, random_state=0).threshold,
    )
    try:
        auclid.SPAM().fit(a[:, None], y)
    except ImportError as error:
        said["error"] = str(error)
"""


def test_small_metrics_do_without_numba_and_a_fit_says_what_to_install(run):
    said = run(WITHOUT_NUMBA)
    assert said["auc"] == 0.0 and said["pvalue"] < 1e-6 and 0.5 < said["precision"] < 1.0 and said["threshold"] > 1.0
    assert "numba is not installed: pip install numba" in said["error"]


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="this is such a run")
def test_kernels_also_run_as_plain_python():
    here = Path(__file__).parent
    chosen = ["test_generic.py", "test_losses.py", "test_penalties.py", "test_schedules.py", "test_spam.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not long and not jit", "-p", "no:cacheprovider"]
        + [str(here / name) for name in chosen],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
