"""What our pages share: a style sheet, axes for plots, and how a difference is written."""

from importlib import resources


def style(*parts: str) -> str:
    """The style sheet of every page (by day, by night, on a phone, on paper), or just some parts of it."""
    return "".join(read(f"{part}.css") for part in parts or ("svg", "page"))


def read(name: str) -> str:
    """A file of this package, as text."""
    return (resources.files(__name__) / name).read_text("utf-8")


def signed(number: float | None) -> str:
    """A difference of AUCs, with a sign that is as wide as the other one."""
    return "" if number is None else f"{number:+.4f}".replace("-", "−")
