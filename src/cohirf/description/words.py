"""Words for what sets a cluster apart: "older", "long tenure", "low spend", "region: north"."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from cohirf.description.table import Feature

# A feature whose name ends in one of these words: the word is replaced ("petal length" becomes "long petal").
REPLACED = {
    "age": ("older", "younger"),
    "height": ("tall", "short"),
    "length": ("long", "short"),
    "size": ("large", "small"),
    "weight": ("heavy", "light"),
    "width": ("wide", "narrow"),
}
# Words that have adjectives of their own, and stay ("long tenure").
KEPT = {
    "distance": ("long", "short"),
    "duration": ("long", "short"),
    "tenure": ("long", "short"),
    "time": ("long", "short"),
}
OTHERS = ("high", "low")
DATES = ("late", "early")
UNITS = {"cm", "eur", "g", "kg", "km", "m", "mg", "mm", "ms", "pct", "s", "usd"}
MOST, FEW = 0.5, 0.1  # shares of rows with a level, from which it is said without "often" or "rarely"
MAX_NAME = 40  # characters of a feature's name


def say_number(feature: Feature, *, is_high: bool) -> str:
    """Return a phrase for numbers that are higher or lower than elsewhere.

    Examples
    --------
    >>> from cohirf.description.table import Feature
    >>> from cohirf.description.words import say_number
    >>> [say_number(Feature(name), is_high=True) for name in ("age", "petal length (cm)", "tenure_years", "spend")]
    ['older', 'long petal', 'high tenure years', 'high spend']
    """
    name = plain_name(feature.name)
    rest, _, last = name.rpartition(" ")
    place = 0 if is_high else 1
    if feature.kind == "date":
        return f"{DATES[place]} {name}"
    if last.lower() in REPLACED:
        return f"{REPLACED[last.lower()][place]} {rest}".strip()
    return f"{KEPT.get(last.lower(), OTHERS)[place]} {name}"


def say_level(feature: Feature, inside: float, outside: float) -> str:
    """Return a phrase for a level of a category, from its share of the rows inside and outside of the cluster.

    Examples
    --------
    >>> from cohirf.description.table import Feature
    >>> from cohirf.description.words import say_level
    >>> north = Feature("region", "level", "north")
    >>> say_level(north, 0.9, 0.2), say_level(north, 0.4, 0.2), say_level(north, 0.02, 0.5)
    ('region: north', 'region: often north', 'region: not north')
    """
    name, level = plain_name(feature.name), _cut(feature.level)
    if inside > outside:
        return f"{name}: {level}" if inside >= MOST else f"{name}: often {level}"
    opposite = {"yes": "no", "no": "yes"}.get(level)
    if opposite is not None and inside <= MOST:
        return f"{name}: {opposite}"
    return f"{name}: not {level}" if inside <= FEW else f"{name}: rarely {level}"


def plain_name(name: str) -> str:
    """Return the name of a feature without underscores and units.

    Examples
    --------
    >>> from cohirf.description.words import plain_name
    >>> plain_name("flipper_length_mm"), plain_name("petal width (cm)")
    ('flipper length', 'petal width')
    """
    words = re.sub(r"\s*[(\[][^()\[\]]*[)\]]\s*$", "", name).replace("_", " ").split()
    if len(words) > 1 and words[-1].lower() in UNITS:
        words.pop()
    return _cut(" ".join(words) or name)


def say_value(value: float, kind: str = "number") -> str:
    """Return a number with three digits, a share as a percentage, or a date.

    Examples
    --------
    >>> from cohirf.description.words import say_value
    >>> say_value(0.012345), say_value(61.24), say_value(45123.4), say_value(0.25, "level"), say_value(19000, "date")
    ('0.0123', '61.2', '45,123', '25%', '2022-01-08')
    """
    if kind == "level":
        return f"{value:.0%}"
    if kind == "date":
        return datetime.fromtimestamp(value * 86400, UTC).date().isoformat()
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
