"""Build the sdists and wheels of both packages, twice, and check that the bytes are the same.

`python tools/make_dist.py [DIST]`; `make dist` runs it. The second build starts from the first one's sdist, in another
folder, so that neither the path nor the time of a checkout can leak into an archive. DIST then also holds SHA256SUMS,
provenance.json (what was built from which commit, with which tools) and sbom.cdx.json (what it depends on).
"""

import hashlib
import json
import os
import platform
import runpy
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import metadata, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "constraints" / f"{sys.version_info[0]}.{sys.version_info[1]}.txt"
SBOM = runpy.run_path(str(ROOT / "tools" / "sbom.py"))
FALLBACK_EPOCH = "1580601600"
"""The time that hatchling writes into archives where nobody names one."""


def git(*words: str) -> str:
    """What git answers about the checkout; nothing outside of one."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def source_date_epoch() -> str:
    """The time stamp of every file in the archives: SOURCE_DATE_EPOCH, else that of the last commit."""
    return os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or FALLBACK_EPOCH


def build(source: Path, dist: Path, epoch: str) -> None:
    """Build sdist and wheel of auclid into a folder, and of auclid-papers into a folder below it."""
    for project, folder in ((source, dist), (source / "papers", dist / "papers")):
        command = [sys.executable, "-m", "build", "--outdir", str(folder), str(project)]
        done = subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": epoch}, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])


def checksums(dist: Path) -> dict[str, str]:
    """SHA-256 of every archive, by its path below the folder."""
    archives = sorted(path for path in dist.rglob("*") if path.name.endswith((".whl", ".tar.gz")))
    return {path.relative_to(dist).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in archives}


def rebuild(dist: Path, epoch: str) -> dict[str, str]:
    """Checksums of a second build, made from the sdist of the first."""
    (sdist,) = dist.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        build(Path(folder, sdist.name.removesuffix(".tar.gz")), Path(folder, "dist"), epoch)
        return checksums(Path(folder, "dist"))


def provenance(archives: dict[str, str], epoch: str) -> dict[str, object]:
    """From what, by what and when the archives were built."""
    return {
        "commit": git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(git("status", "--porcelain", "--untracked-files=no")),
        "source_date_epoch": int(epoch),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "build": version("build"),
        "constraints": {PINS.name: hashlib.sha256(PINS.read_bytes()).hexdigest()} if PINS.exists() else {},
        "built_twice_with_the_same_bytes": True,
        "sha256": archives,
    }


def bill_of_materials(archives: dict[str, str], epoch: str) -> dict[str, object]:
    """The archives, the packages they depend on, and those of the environment in which they were tested."""
    pins = SBOM["read_pins"](PINS)
    return SBOM["bill_of_materials"](version("auclid"), metadata("auclid")["License-Expression"], archives, pins, epoch)


def main(dist: Path) -> None:
    """Build, build again, compare, and write what was found beside the archives."""
    epoch = source_date_epoch()
    build(ROOT, dist, epoch)
    first, second = checksums(dist), rebuild(dist, epoch)
    differ = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    if differ:
        raise SystemExit(f"A second build must give the same bytes; these differ: {', '.join(differ)}.")
    (dist / "SHA256SUMS").write_text("".join(f"{sum_}  {name}\n" for name, sum_ in first.items()), encoding="utf-8")
    for name, note in (("provenance", provenance(first, epoch)), ("sbom.cdx", bill_of_materials(first, epoch))):
        (dist / f"{name}.json").write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
    print(f"{len(first)} archives, built twice with the same bytes; SOURCE_DATE_EPOCH={epoch}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "dist")
