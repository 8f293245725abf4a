"""Run the code of documentation pages and compare what it prints with what the pages show.

`python tools/pages.py PAGE...` runs pages in an environment where auclid is installed, each in a folder of its own;
`make dist` does so with the tutorials and the wheel. tests/test_docs.py runs every page through the same functions.
`python tools/pages.py --write PAGE...` also writes outputs that have changed into the pages.

The blocks of a page run in order, in one namespace. A ``text`` block after a ``python`` block is what that one prints:
words must be equal, decimals may differ by one unit of the last place or by half a percent, "..." stands for anything.
Lines of ``sh`` blocks go through the command if they begin with ``auclid``. In a ``console`` block commands stand after
"$ ", and what each prints stands below it; these lines, and those of ``sh`` blocks with a pipe, are run by bash, if no
other way is given.
"""

import contextlib
import io
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", flags=re.M | re.S)
DECIMAL = re.compile(r"[-+]?(?:\d[\d,]*)?\.\d+(?:e[-+]?\d+)?|[-+]?\d+e[-+]?\d+|[-+]?\d+(?=\s?%)")
"""A number that may differ by rounding: with a decimal point, exponent or percent sign. Whole numbers are counts."""

NOT_CODE = {"bibtex"}
"""Languages of blocks that are only shown."""


def blocks(path: Path) -> list[tuple[str, str, int]]:
    """(language, text, line) of each fenced block of a page."""
    page = path.read_text(encoding="utf-8")
    return [(m[1], m[2], page.count("\n", 0, m.start()) + 2) for m in FENCE.finditer(page)]


def commands(text: str) -> list[str]:
    """The lines of a shell block without comments and empty lines."""
    lines = (line.split(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def pattern(expected: str) -> str:
    """A regular expression of an output, with a group for each decimal."""
    parts, end = [], 0
    for number in DECIMAL.finditer(expected):
        parts += [literal(expected[end : number.start()]), f"({DECIMAL.pattern})"]
        end = number.end()
    return "".join([r"\s*", *parts, literal(expected[end:].rstrip()), r"\s*"])


def literal(text: str) -> str:
    """A regular expression of a text: any white space for white space, anything for "..."."""
    anything = re.sub(r"\\\.\\\.\\\.", ".*?", re.escape(text))
    return re.sub(r"(?:\\?\s)+", r"\\s+", anything)


def unit_of_last_place(number: str) -> float:
    """One unit of the last digit that a number shows."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def is_close(shown: str, printed: str) -> bool:
    """Whether two decimals agree to one unit of the last shown place, or to half a percent."""
    a, b = (float(number.replace(",", "")) for number in (shown, printed))
    return math.isclose(a, b, rel_tol=5e-3, abs_tol=1.001 * unit_of_last_place(shown))


def check_printed(printed: str, expected: str, where: str) -> None:
    """Refuse an output that is not what a page shows."""
    match = re.fullmatch(pattern(expected), printed, flags=re.S)
    shown = [number[0] for number in DECIMAL.finditer(expected)]
    if not match or not all(map(is_close, shown, match.groups())):
        raise AssertionError(f"{where} shows\n{expected}but its code prints\n{printed}")


def run_page(
    path: Path,
    run_command: Callable[[str], None],
    not_run: Collection[str] = (),
    check: Callable[[str, str, str], None] = check_printed,
    run_shown: Callable[[str], str] | None = None,
    last: int | None = None,
) -> None:
    """Run all blocks of a page in the current folder.

    ``check`` gets what was printed, what is shown, and where; ``run_shown`` runs a command of a console block; ``last``
    is the line of the last block to run.
    """
    names, printed = {"__name__": "page"}, ""
    for language, text, line in blocks(path):
        if last is not None and line > last:
            return
        where = f"{path.name}:{line}"
        if language == "python":
            code = compile("\n" * (line - 1) + text, str(path), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, names)
            printed = out.getvalue()
        elif language == "text":
            check(printed, text, where)
        elif language == "sh":
            run_lines(commands(text), run_command, not_run, where)
        elif language == "console":
            run_console(text, run_shown or run_in_shell, check, where)
        elif language not in NOT_CODE:
            raise AssertionError(f"{where}: a block is python, text, sh or console, not {language!r}")


def run_lines(lines: list[str], run_command: Callable[[str], None], not_run: Collection[str], where: str) -> None:
    """Run the `auclid` lines of a shell block; all others must be among those that are not run."""
    for line in lines:
        if "| auclid" in line:
            run_in_shell(line)
        elif line.startswith("auclid"):
            run_command(line)
        elif line not in not_run:
            raise AssertionError(f"{where} shows {line!r}, which no test runs")


def run_console(
    text: str, run_shown: Callable[[str], str], check: Callable[[str, str, str], None], where: str
) -> None:
    """Run the commands of a console block, and compare what each prints with what stands below it."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        check(without_progress(run_shown(command)), shown, where)


def run_in_shell(line: str) -> str:
    """What a line of bash prints, in which `python` and `auclid` are those of this Python.

    Exit code 3 is an alarm of `monitor`.
    """
    own = f'python() {{ "{sys.executable}" "$@"; }}; auclid() {{ python -m auclid.cli "$@"; }}'
    script = f"{own}; set -o pipefail; {line}"
    done = subprocess.run(
        ["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    if done.returncode not in (0, 3):
        raise AssertionError(f"{line} ends with exit code {done.returncode}:\n{done.stdout}")
    return done.stdout


def without_progress(printed: str) -> str:
    """An output without its lines of progress."""
    return re.sub(r"^auclid: (?:pass|fitting|checkpoint|AUCClassifier tries) .*\n", "", printed, flags=re.M)


def run_installed(line: str) -> None:
    """Run a line by the `auclid` command of this environment."""
    program = Path(sys.executable).with_name("auclid.exe" if os.name == "nt" else "auclid")
    subprocess.run([str(program), *shlex.split(line)[1:]], check=True, stdout=subprocess.DEVNULL)


def update_page(page: Path) -> None:
    """Run a page and write outputs that have changed into it."""
    text = page.read_text(encoding="utf-8")

    def replace(printed: str, shown: str, where: str) -> None:
        nonlocal text
        try:
            check_printed(printed, shown, where)
        except AssertionError:
            text = text.replace(f"```text\n{shown}```", f"```text\n{printed}```", 1)

    run_page(page, run_installed, check=replace)
    page.write_text(text, encoding="utf-8")


def main(words: list[str]) -> None:
    """Run pages, each in a folder of its own."""
    os.environ.setdefault("MPLBACKEND", "agg")
    pages = [Path(word).resolve() for word in words if word != "--write"]
    for page in pages:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            update_page(page) if "--write" in words else run_page(page, run_installed)
        print(f"{page.name} runs and prints what it shows.")


if __name__ == "__main__":
    main(sys.argv[1:])
