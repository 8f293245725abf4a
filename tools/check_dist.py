"""Check what was built: the files of the sdist and the wheels, and the wheels at work in a clean environment.

`python tools/check_dist.py [DIST]`, after `python -m build`; `make dist` does both.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, PAPERS = ROOT / "src" / "auclid", ROOT / "papers" / "src" / "auclid_papers"

MUST_COME = ["src/auclid", "papers", "tests", "docs", "examples", "benchmarks", "tools", "constraints"]
ALONE = """
README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE Makefile conftest.py
""".split()
JUNK = ("__pycache__", ".pyc", ".nbi", ".nbc", "_cache/", ".DS_Store")

SMOKE = """
import tempfile
from pathlib import Path

import auclid
from auclid.datasets import load_mammography

assert "site-packages" in auclid.__file__, auclid.__file__
assert (Path(auclid.__file__).parent / "py.typed").exists()
X, y = load_mammography(return_X_y=True)
model = auclid.RankSVM().fit(X, y)
print(f"auclid {auclid.__version__}: RankSVM on the embedded table, AUC {model.score(X, y):.3f}")
assert model.score(X, y) > 0.9
path = Path(tempfile.mkdtemp()) / "model.auclid"
auclid.save(path, model)
assert (auclid.load(path).decision_function(X) == model.decision_function(X)).all()
for method in auclid.algorithms():
    auclid.make(method.name)
"""


def files_of(folder: Path) -> set[str]:
    """The files of a folder that belong to the project, by their path from its root."""
    listed = subprocess.run(["git", "ls-files", str(folder)], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if not any(junk in str(path) for junk in JUNK)}


def complain(what: str, missing: set[str], strange: set[str]) -> list[str]:
    """Sentences on what an archive lacks and on what it should not hold."""
    said = [f"{what} lacks {name}" for name in sorted(missing)]
    return said + [f"{what} should not hold {name}" for name in sorted(strange)]


EMBEDDED = {f"auclid/datasets/{name}.npz" for name in ("mammography", "gbsg2", "travel_modes", "anes96")}
"""The tables that come with the package."""


def is_data(name: str) -> bool:
    """Whether a file is data other than the embedded tables."""
    return name.endswith((".npz", ".npy", ".csv", ".parquet", ".auclid")) and name not in EMBEDDED


def check_wheel(path: Path, package: Path = PACKAGE) -> list[str]:
    """The package, all of it, and nothing else: no tests, no papers, no data beyond the embedded tables."""
    with zipfile.ZipFile(path) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
        told = {name.partition(".dist-info/")[2] for name in wheel.namelist() if ".dist-info/" in name}
    source = package.parent.relative_to(ROOT).as_posix()
    meant = {name.removeprefix(f"{source}/") for name in files_of(package)}
    lacks = {name for name in ("METADATA", "entry_points.txt", "licenses/LICENSE") if name not in told}
    stray = {name for name in inside if name.startswith("auclid/experiments") or (is_data(name) and package == PACKAGE)}
    return complain(path.name, (meant - inside) | lacks, (inside - meant) | stray)


def check_sdist(path: Path) -> list[str]:
    """All that is needed to test and to document it, and nothing that a build leaves behind."""
    with tarfile.open(path) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    meant = set(ALONE).union(*(files_of(ROOT / folder) for folder in MUST_COME))
    return complain(path.name, meant - inside, {name for name in inside if any(junk in name for junk in JUNK)})


def smoke(wheel: Path, papers: Path) -> None:
    """Install the wheels into an empty environment; fit, save, load, run the command and the tutorials there."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        bin_ = Path(folder, "Scripts" if os.name == "nt" else "bin")
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        clean["NUMBA_CACHE_DIR"] = str(Path(folder, "kernels"))

        def run(*words: str, code: int = 0) -> None:
            ended = subprocess.run([str(bin_ / words[0]), *words[1:]], cwd=folder, env=clean).returncode
            if ended != code:
                raise SystemExit(f"`{' '.join(words)}` must end with exit code {code}; it ended with {ended}.")

        def install(*what: str) -> None:
            run("python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *what)

        install(f"{wheel}[cli]")
        run("python", "-c", SMOKE)
        run("auclid", "--version")
        compare = "compare --methods LeastSquaresAUC --against logistic --cv 3 --repeats 1 --output report.html"
        run("auclid", *compare.split())
        if not Path(folder, "report.html").stat().st_size > 10_000:
            raise SystemExit("auclid compare must leave a report; it left none.")
        install(f"{wheel}[cli,plot,io]", "pandas", "lightgbm")
        tutorials = [str(page) for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")) if page.stem != "index"]
        run("python", str(ROOT / "tools" / "pages.py"), *tutorials)
        run("auclid", "experiments", "list", code=2)
        install(str(papers))
        run("auclid", "experiments", "list")


def main(dist: Path) -> None:
    """Check the one wheel and the one sdist of a folder, and the wheel of auclid-papers below it."""
    (wheel,), (sdist,), (papers,) = (list(dist.glob(name)) for name in ("*.whl", "*.tar.gz", "papers/*.whl"))
    wrong = check_wheel(wheel) + check_sdist(sdist) + check_wheel(papers, PAPERS)
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"{wheel.name}, {sdist.name} and {papers.name} hold what they should.")
    smoke(wheel.resolve(), papers.resolve())
    print("The wheels work in a clean environment, and the tutorials run there.")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
