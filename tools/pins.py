"""Which versions an environment is to have: those that were tested, or the oldest that the projects admit.

`python tools/pins.py tested`: the file with the tested versions of this Python (constraints/3.11.txt, say), as pip
takes it; of a Python that has no such file, nothing, and a sentence.
`python tools/pins.py floors`: every requirement of pyproject.toml and papers/pyproject.toml at its oldest version.
`python tools/pins.py write`: the versions of this environment become the tested ones of this Python. `make constraints`
does so with the environment of `make test-newest`, once that has passed.
"""

import datetime
import importlib.metadata
import platform
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
NOT_PINNED = {"auclid", "auclid-papers", "pip", "setuptools", "wheel"}
"""What is tested, and what comes with an environment."""

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[\w, -]+)\])?(?:>=(?P<floor>[\w.]+))?(?:,<[\w.]+)?")


def plain(name: str) -> str:
    """A package's name in the one spelling that compares."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins_of(python: str) -> Path:
    """The file of the tested versions of a Python, there or not."""
    return ROOT / "constraints" / f"{python}.txt"


def tested() -> str:
    """The file of this Python as a URL, which pip takes from any folder and with spaces in its name; else nothing."""
    file = pins_of(PYTHON)
    if file.exists():
        return file.as_uri()
    there = sorted((path.stem for path in file.parent.glob("*.txt")), key=lambda python: int(python.split(".")[1]))
    known = f"only for {', '.join(there)}" if there else "for none"
    print(f"No versions were tested for Python {PYTHON}, {known}: the newest are installed.", file=sys.stderr)
    return ""


def requirements(project: dict, extra: str) -> list[str]:
    """What the package and one of its extras require, with the extras that this one includes."""
    mine, found = [extra], list(project["dependencies"])
    for name in mine:  # which grows
        for line in project["optional-dependencies"][name]:
            match = REQUIREMENT.fullmatch(line)
            if match and plain(match["name"]) == project["name"]:
                mine += [other.strip() for other in match["extras"].split(",")]
            else:
                found.append(line)
    return found


def floors(extra: str = "dev") -> dict[str, str]:
    """The oldest version of each package that pyproject.toml (with an extra) and papers/pyproject.toml admit."""
    told, papers = (tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8")) for folder in ("", "papers"))
    lines = requirements(told["project"], extra) + told["build-system"]["requires"]
    lines += [line for line in papers["project"]["dependencies"] if not line.startswith("auclid")]
    oldest: dict[str, str] = {}
    for line in lines:
        match = REQUIREMENT.fullmatch(line)
        if not match or not match["floor"]:
            raise SystemExit(f"A requirement names its oldest version, as in 'numpy>=2.0'; not {line!r}.")
        oldest[plain(match["name"])] = match["floor"]
    return oldest


def write() -> Path:
    """The versions of this environment into the file of this Python."""
    found = {plain(it.metadata["Name"]): it.version for it in importlib.metadata.distributions()}
    lines = [f"{name}=={version}" for name, version in sorted(found.items()) if name not in NOT_PINNED]
    file, day = pins_of(PYTHON), datetime.date.today().isoformat()
    file.parent.mkdir(exist_ok=True)
    head = f"# `make constraints`, {day}: Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    file.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    return file


def main(verb: str) -> None:
    """Print what the verb asks for."""
    if verb == "tested":
        print(tested())
    elif verb == "floors":
        print("\n".join(f"{name}=={version}" for name, version in floors().items()))
    elif verb == "write":
        print(f"Written: {write().relative_to(ROOT).as_posix()}")
    else:
        raise SystemExit(f"tools/pins.py takes tested, floors or write; got {verb!r}.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
