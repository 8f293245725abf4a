"""The files around the code agree with one another: versions, Pythons, verbs, what a build holds."""

import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import auclid

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

TRIED = [name.rpartition(" ")[2] for name in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", name)]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_is_of_this_version_and_licence():
    told = dict(re.findall(r"^(\w[\w-]*): (.+)$", read("CITATION.cff"), flags=re.M))
    assert told["version"] == auclid.__version__ and told["license"] == PROJECT["project"]["license"]
    assert told["cff-version"] == "1.2.0" and told["type"] == "software"


def test_the_workflow_runs_every_python_and_system():
    workflow = read(".github/workflows/test.yml")
    (pythons,) = re.findall(r"python: \[(.+)\]", workflow)
    assert pythons == '"3.11", "3.12", "3.13", "3.14"'
    assert re.search(r"os: \[ubuntu-latest, macos-latest, windows-latest\]", workflow)
    assert all(f"make {verb} " in workflow for verb in ("lint", "test", "dist"))
    assert re.findall(r"^make (\w+)$", read(".ci/run"), flags=re.M) == ["lint", "test"]


def test_the_changelog_begins_with_this_version():
    version, date = re.findall(r"^## \[(.+)\] - (.+)$", read("CHANGELOG.md"), flags=re.M)[0]
    assert version == auclid.__version__
    assert f'date-released: "{date}"' in read("CITATION.cff")


def test_no_benchmark_hides_an_installed_package():
    """A script's folder comes first on the path: benchmarks/coverage.py would be numba's `import coverage`."""
    own = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    outside = {*sys.stdlib_module_names, *packages_distributions(), "coverage"}
    assert own & outside == set()


def test_the_bibtex_entry_is_of_this_version():
    entry = dict(re.findall(r"^  (\w+) +?= \{+(.+?)\}+,?$", read("docs/citing.md"), flags=re.M))
    told = dict(re.findall(r'^ *(?:- )?([\w-]+): "?(.+?)"?$', read("CITATION.cff"), flags=re.M))
    assert entry["version"] == auclid.__version__ and entry["license"] == told["license"]
    assert entry["title"] == told["title"] and entry["author"] == told["name"]
    assert told["date-released"].startswith(entry["year"])


def test_readme_and_contributing_stay_short():
    """A screen and a half, and two screens, of some sixty lines beside a picture."""
    assert len(read("README.md").splitlines()) <= 95 and len(read("CONTRIBUTING.md").splitlines()) <= 85


@pytest.mark.parametrize("name", ["docs", "release"])
def test_a_workflow_says_what_was_tried(name):
    workflow = read(f".github/workflows/{name}.yml")
    assert "# Tried by the developers: " in workflow
    assert f"make {'dist' if name == 'release' else name} PYTHON=python" in workflow


def test_what_was_tried_is_told_alike():
    words = f"Linux with Python {', '.join(TRIED[:-1])} and {TRIED[-1]}"
    for name in ("README.md", "docs/install.md", ".github/workflows/test.yml"):
        assert words in " ".join(read(name).replace("#", "").split()), f"{name} must say: {words}"


def test_every_verb_of_the_makefile_is_told_of():
    verbs = set(re.findall(r"^([a-z-]+):.*## ", read("Makefile"), flags=re.M)) - {"help"}
    assert verbs == set(re.findall(r"^\| `make ([a-z-]+)`", read("CONTRIBUTING.md"), flags=re.M))
    (phony,) = re.findall(r"^\.PHONY: (.+)$", read("Makefile"), flags=re.M)
    assert verbs | {"help"} == set(phony.split())


def numbers(version):
    return [int(part) for part in version.split(".")[:3]]


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(ROOT / "tools" / "pins.py"))


@pytest.mark.parametrize("python", TRIED)
def test_every_python_that_was_tried_has_its_versions(python, tool):
    head, *lines = read(f"constraints/{python}.txt").splitlines()
    assert re.fullmatch(rf"# `make constraints`, 20\d\d-\d\d-\d\d: Python {re.escape(python)}\.\d+, \w+ \w+", head)
    assert all(re.fullmatch(r"[a-z0-9-]+==\d[\w.]*", line) for line in lines), "plain name==version, nothing else"
    pins = dict(line.split("==") for line in lines)
    assert list(pins) == sorted(pins) and len(pins) == len(lines)
    for extra in ("dev", "docs"):
        for name, floor in tool["floors"](extra).items():
            assert numbers(pins[name]) >= numbers(floor), f"{name} {pins[name]} is older than pyproject.toml admits"


def test_only_pythons_that_were_tried_have_versions():
    assert sorted(path.stem for path in (ROOT / "constraints").iterdir()) == TRIED


def test_floors_are_read_from_the_requirements(tool):
    project = {
        "name": "auclid",
        "dependencies": ["numpy>=2.0"],
        "optional-dependencies": {
            "io": ["skops>=0.13"],
            "dask": ["dask[array]>=2025.1"],
            "dev": ["auclid[io,dask]", "a_b>=1,<2"],
        },
    }
    assert tool["requirements"](project, "dev") == ["numpy>=2.0", "a_b>=1,<2", "skops>=0.13", "dask[array]>=2025.1"]
    assert {"numpy", "typer", "dask", "pytest", "hatchling"} <= set(tool["floors"]())


def test_a_python_without_tested_versions_is_told(tool, monkeypatch, capsys):
    assert tool["tested"]() == "" or tool["tested"]().startswith("file://")
    capsys.readouterr()
    monkeypatch.setitem(tool["tested"].__globals__, "PYTHON", "3.99")
    assert tool["tested"]() == ""
    told = f"No versions were tested for Python 3.99, only for {', '.join(TRIED)}: the newest are installed.\n"
    assert capsys.readouterr().err == told


def test_every_installation_says_which_versions():
    installs = [line for line in read("Makefile").splitlines() if "$(PIP) " in line and not line.startswith("PIP ")]
    assert len(installs) == 6 and "pip install" not in read("Makefile").replace("$(PIP)", "")
    assert all("$(pinned)" in line or "$(call with-pins," in line for line in installs)


def test_hooks_are_those_of_lint_and_the_formatter():
    hooks = re.findall(r"- id: (\S+)", read(".pre-commit-config.yaml"))
    assert hooks == ["ruff-check", "ruff-format", "mypy"]


def test_a_wheel_that_lacks_a_file_or_holds_a_strange_one_is_found(tmp_path):
    tools = runpy.run_path(str(ROOT / "tools" / "check_dist.py"))
    files = sorted(name.removeprefix("src/") for name in tools["files_of"](tools["PACKAGE"]))
    assert "auclid/__init__.py" in files and "auclid/py.typed" in files and "auclid/datasets/mammography.npz" in files
    told = [f"auclid-1.dist-info/{name}" for name in ("METADATA", "entry_points.txt", "licenses/LICENSE")]

    def wheel(names):
        path = tmp_path / "auclid-1-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "")
        return tools["check_wheel"](path)

    assert wheel(files + told) == []
    assert wheel(files[1:] + told) == [f"auclid-1-py3-none-any.whl lacks {files[0]}"]
    assert wheel([*files, *told, "tests/x.py"]) == ["auclid-1-py3-none-any.whl should not hold tests/x.py"]
    assert wheel(files + told[1:]) == ["auclid-1-py3-none-any.whl lacks METADATA"]
    stray = [f"auclid/experiments/{name}" for name in ("__init__.py", "published.csv")]
    assert wheel([*files, *told, *stray]) == [f"auclid-1-py3-none-any.whl should not hold {name}" for name in stray]
    assert wheel([*files, *told, "auclid_papers/cli.py"]) == [
        "auclid-1-py3-none-any.whl should not hold auclid_papers/cli.py"
    ]


def test_a_wheel_with_more_data_than_the_embedded_tables_is_found():
    is_data = runpy.run_path(str(ROOT / "tools" / "check_dist.py"))["is_data"]
    assert is_data("auclid/datasets/adult.csv") and not is_data("auclid/datasets/mammography.npz")
    assert is_data("auclid/datasets/adult.npz") and not is_data("auclid/datasets/gbsg2.npz")


def test_provenance_names_every_archive(tmp_path):
    tools = runpy.run_path(str(ROOT / "tools" / "make_dist.py"))
    (tmp_path / "papers").mkdir()
    for name in ("a.whl", "a.tar.gz", "papers/b.whl", "notes.txt"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    sums = tools["checksums"](tmp_path)
    assert sorted(sums) == ["a.tar.gz", "a.whl", "papers/b.whl"] and len(set(sums.values())) == 3
    note = tools["provenance"](sums, "1")
    assert note["sha256"] == sums and note["source_date_epoch"] == 1


def test_the_bill_of_materials_names_the_archives_and_every_pinned_package():
    tools = runpy.run_path(str(ROOT / "tools" / "sbom.py"))
    pins = tools["read_pins"](ROOT / "constraints" / f"{TRIED[0]}.txt")
    bill = tools["bill_of_materials"]("1.2.3", "BSD-3-Clause", {"a.whl": "00ff"}, pins, "0")
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/auclid@1.2.3"
    assert bill["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    archive, *packages = bill["components"]
    assert archive["hashes"] == [{"alg": "SHA-256", "content": "00ff"}]
    assert {each["name"]: each["version"] for each in packages} == pins and len(pins) > 50
    required = {each["name"] for each in packages if each["scope"] == "required"}
    assert {"numpy", "scipy", "scikit-learn", "numba", "llvmlite", "joblib"} <= required
    assert not required & {"pytest", "pandas", "typer", "mkdocs"}
    assert len(bill["dependencies"][0]["dependsOn"]) == len(required)
    assert bill == tools["bill_of_materials"]("1.2.3", "BSD-3-Clause", {"a.whl": "00ff"}, pins, "0")


@pytest.mark.skipif(os.name == "nt", reason="the workflow runs on Linux")
def test_only_archives_are_published(tmp_path):
    (tmp_path / "dist" / "papers").mkdir(parents=True)
    archives = {"auclid-1.tar.gz", "auclid-1-py3-none-any.whl"}
    for name in archives | {"SHA256SUMS", "provenance.json", "sbom.cdx.json", "papers/auclid_papers-1.tar.gz"}:
        (tmp_path / "dist" / name).touch()
    (command,) = re.findall(r"run: (rm -rf .+)", read(".github/workflows/release.yml"))
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    assert {path.name for path in (tmp_path / "dist").iterdir()} == archives


def test_the_two_packages_agree():
    papers = tomllib.loads(read("papers/pyproject.toml"))["project"]
    for name in ("requires-python", "license", "authors"):
        assert papers[name] == PROJECT["project"][name]
    assert papers["version"] == auclid.__version__ and read("papers/LICENSE") == read("LICENSE")
    assert list(papers["entry-points"]) == ["auclid.commands"]
