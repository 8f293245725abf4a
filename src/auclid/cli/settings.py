"""Options that become parameters in Python: `--set name=value` of a method, and those of the points of a scorecard."""

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from auclid._hints import plain
from auclid.errors import DataError, unknown_name

Settings = Sequence[str]
"""Texts of the form name=value; name.key=value is an entry of a dict."""

WORDS = {"true": True, "false": False, "none": None, "null": None}


def with_settings(model: BaseEstimator, settings: Settings) -> BaseEstimator:
    """The model with parameters set, checked as its class checks them.

    Examples
    --------
    >>> from auclid import Scorecard
    >>> from auclid.cli.settings import with_settings
    >>> with_settings(Scorecard(), ["interactions=0", "monotone.age=-1"])
    Scorecard(interactions=0, monotone={'age': -1})
    """
    params: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise DataError(f"--set must be NAME=VALUE; got {setting!r}.")
        name, dot, key = name.strip().partition(".")
        known = model.get_params()
        if name not in known:
            owner = type(model).__name__
            raise unknown_name(owner, name, f"name a parameter of {owner}", name, sorted(known), subject="--set")
        if dot:
            params.setdefault(name, {})[key] = parsed(value)
        else:
            params[name] = parsed(value)
    model.set_params(**params)
    if params and hasattr(model, "_validate_params"):
        model._validate_params()
    return model


def settings_by_method(settings: Settings, methods: Sequence[str]) -> dict[str, list[str]]:
    """The settings of each method: NAME=VALUE is for all of them, METHOD:NAME=VALUE for one.

    Examples
    --------
    >>> from auclid.cli.settings import settings_by_method
    >>> settings_by_method(["Scorecard:interactions=0"], ["Scorecard", "SPAM"])
    {'Scorecard': ['interactions=0'], 'SPAM': []}
    """
    named = [setting.partition(":")[0] for setting in settings if not _is_for_all(setting)]
    strange = [name for name in named if name not in methods]
    if strange:
        raise DataError(f"--set must name a method that is compared ({', '.join(methods)}); got {strange[0]!r}.")
    return {method: own_settings(settings, method) for method in methods}


def _is_for_all(setting: str) -> bool:
    """Whether a setting names no method: a value may hold a colon, too."""
    method, colon, _ = setting.partition(":")
    return not colon or "=" in method


def own_settings(settings: Settings, method: str) -> list[str]:
    """The settings of one method: those for all, and its own without its name.

    Examples
    --------
    >>> from auclid.cli.settings import own_settings
    >>> own_settings(["scorecard:interactions=0", "SPAM:alpha=1"], "Scorecard")
    ['interactions=0']
    """
    found = []
    for setting in settings:
        name, _, rest = setting.partition(":")
        if _is_for_all(setting):
            found.append(setting)
        elif plain(name) == plain(method):
            found.append(rest)
    return found


def parsed(text: str) -> Any:
    """A value as Python writes it, true, false and none in any case; anything else is a text.

    Examples
    --------
    >>> from auclid.cli.settings import parsed
    >>> parsed("1e-3"), parsed("none"), parsed("auto"), parsed("[1, 2]")
    (0.001, None, 'auto', [1, 2])
    """
    text = text.strip()
    if text.casefold() in WORDS:
        return WORDS[text.casefold()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class PointTableOptions(NamedTuple):
    """How points are made, as the options say it; None: as `auclid fit` was told, else as `Scorecard.points` does."""

    scale: str | None = None
    base: float | None = None
    odds: float | None = None
    max_bins: str | None = None
    higher: str | None = None
    max_lines: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that are not None."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def keywords(self) -> dict[str, Any]:
        """The keywords of `Scorecard.points`."""
        found = self.given
        if self.scale not in (None, "auto"):
            found["scale"] = _number("--scale", str(self.scale), float)
        if self.max_bins not in (None, "auto"):
            most = str(self.max_bins)
            found["max_bins"] = None if most.lower() == "none" else _number("--max-bins", most, int)
        return found

    def bin_keywords(self) -> dict[str, Any]:
        """The keywords of `Scorecard.auc_lost`."""
        return {name: value for name, value in self.keywords().items() if name in ("scale", "max_bins", "max_lines")}


def _number(option: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise DataError(f"{option} must be a number, or a word that its help names; got {text!r}.") from None
