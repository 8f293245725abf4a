"""Plots as SVG: a few lines of text each, coloured by the page's style sheet, sharp at any size."""

import math
from collections.abc import Callable, Iterable
from html import escape

import numpy as np
from numpy.typing import ArrayLike

WIDTH, HEIGHT = 440, 330
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 40
ASIDE = 16
"""Where the label of the upright axis stands: the larger letters of a phone need so much."""

LETTER, LONG = 9.0, 6
"""The width of a letter of a phone, at the most; labels of ticks with more letters are kept inside of the picture."""

Span = tuple[float, float]


class Frame:
    """Axes: what a pair of numbers is in pixels, and the lines and words around them."""

    def __init__(
        self, x: Span, y: Span, *, left: float = LEFT, height: float = HEIGHT, below: float = 0, log: bool = False
    ) -> None:
        self.x, self.y, self.left, self.height, self.below, self.log = x, y, left, height, below, log

    def across(self, x: ArrayLike) -> np.ndarray:
        """Pixels from the left."""
        low, high = np.log10(self.x) if self.log else self.x
        x = np.log10(x) if self.log else np.asarray(x)
        return self.left + (x - low) / (high - low) * (WIDTH - self.left - RIGHT)

    def up(self, y: ArrayLike) -> np.ndarray:
        """Pixels from the top."""
        low, high = self.y
        return self.height - BOTTOM - (np.asarray(y) - low) / (high - low) * (self.height - TOP - BOTTOM)

    def path(self, x: ArrayLike, y: ArrayLike) -> str:
        """The ``d`` of a line through some points."""
        pairs = zip(np.ravel(self.across(x)), np.ravel(self.up(y)), strict=True)
        return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in pairs)

    def line(self, x: ArrayLike, y: ArrayLike, css: str = "line", title: str = "") -> str:
        """A line through some points."""
        return _path(self.path(x, y), css, title)

    def area(self, x: ArrayLike, y: ArrayLike, css: str = "band", title: str = "") -> str:
        """What a closed line through some points surrounds."""
        return _path(f"{self.path(x, y)}Z", css, title)

    def band(self, x: np.ndarray, low: np.ndarray, high: np.ndarray, css: str = "band") -> str:
        """What lies between two lines."""
        return self.area(np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]]), css)

    def histogram(self, edges: np.ndarray, heights: np.ndarray, css: str) -> str:
        """Bars without gaps."""
        return self.area(np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(heights, 2), [0.0]]), css)

    def vertical(self, x: float, css: str, y: Span | None = None) -> str:
        """An upright line: all the way up, or from one height to another."""
        at, (low, high) = float(self.across(x)), map(float, self.up(self.y if y is None else y))
        return f'<line class="{css}" x1="{at:.1f}" x2="{at:.1f}" y1="{high:.1f}" y2="{low:.1f}"/>'

    def dot(self, x: float, y: float, css: str, radius: float, title: str = "") -> str:
        """A round mark."""
        end = f"><title>{escape(title)}</title></circle>" if title else "/>"
        place = f'cx="{float(self.across(x)):.1f}" cy="{float(self.up(y)):.1f}"'
        return f'<circle class="{css}" {place} r="{radius:g}"{end}'

    def axes(
        self,
        x_label: str,
        y_label: str,
        x_ticks: Iterable[float],
        y_ticks: Iterable[float],
        x_format: Callable[[float], str] | None = None,
        y_format: Callable[[float], str] | None = None,
    ) -> str:
        parts = []
        for tick in x_ticks:
            at = float(self.across(tick))
            parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{self.height - BOTTOM}"/>')
            label = (x_format or _number)(tick)
            half = 0.5 * LETTER * len(label)
            inside = min(max(at, self.left + half - LETTER), WIDTH - half)
            parts.append(text(inside if len(label) > LONG else at, self.height - BOTTOM + 16, label, "middle"))
        for tick in y_ticks:
            at = float(self.up(tick))
            parts.append(f'<line class="grid" x1="{self.left}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
            parts.append(text(self.left - 6, at + 4, (y_format or _number)(tick), "end"))
        middle = (self.left + WIDTH - RIGHT) / 2
        parts.append(text(middle, self.height - 6, x_label, "middle", "label"))
        if y_label:
            turn = f'transform="rotate(-90 {ASIDE} {self.height / 2 - 10})"'
            parts.append(text(ASIDE, self.height / 2 - 10, y_label, "middle", "label", turn))
        return "".join(parts)

    def svg(self, title: str, body: str, extra: str = "") -> str:
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.height + self.below}" role="img" aria-label="{escape(title)}" {extra}>'
            f"<title>{escape(title)}</title>{body}</svg>"
        )


def _path(d: str, css: str, title: str) -> str:
    end = f"><title>{escape(title)}</title></path>" if title else "/>"
    return f'<path class="{css}" d="{d}"{end}'


def text(x: float, y: float, words: str, anchor: str, css: str = "tick", extra: str = "") -> str:
    """A line of text at a place."""
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{escape(words)}</text>'


def _number(value: float) -> str:
    return f"{value:.6g}"


def nice(low: float, high: float, count: int = 5) -> list[float]:
    """The multiples of 1, 2 or 5 times a power of ten between two bounds, about ``count`` of them."""
    power = 10.0 ** math.floor(math.log10((high - low) / count))
    step = next(k * power for k in (1.0, 2.0, 5.0, 10.0) if (high - low) / (k * power) <= count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def span(values: Iterable[float]) -> Span:
    """(low, high) around values of AUC, with some room."""
    kept = list(values)
    low, high = min(kept), max(kept)
    room = max(0.06 * (high - low), 0.002)
    return low - room, min(high + room, 1.0 + room / 2)
