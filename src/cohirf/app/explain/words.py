"""Words: text that fits on a page, counts, values, phrases such as "low spend", and names of
clusters made of these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.app.explain.facts import Fact, say_all
from cohirf.app.explain.policy import LEVEL, WORD
from cohirf.wording import number_repeated, percent

if TYPE_CHECKING:
    from cohirf.app.explain.effects import Trait
    from cohirf.app.explain.table import Feature

# A feature whose name ends in one of these words: the word is replaced ("petal length" becomes
# "long petal").
REPLACED = {
    "age": ("older", "younger"),
    "height": ("tall", "short"),
    "length": ("long", "short"),
    "weight": ("heavy", "light"),
    "width": ("wide", "narrow"),
}
# Words that have adjectives of their own, and stay ("long tenure").
KEPT = {
    "distance": ("long", "short"),
    "duration": ("long", "short"),
    "size": ("large", "small"),
    "tenure": ("long", "short"),
    "time": ("long", "short"),
    "year": ("late", "early"),
}
# a share or a mean in a phrase
FIGURE = r"(?:(?<=: )\d+(?=%)|(?<= in )\d+(?=%)|(?<=\(mean )[^()]+(?=\)))"


def clean(text: Any) -> str:
    """Return text as valid UTF-8; characters that cannot be encoded become question marks."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def shorten(text: Any, length: int = WORD.text) -> str:
    """Return text as one line of at most ``length`` characters."""
    line = " ".join(clean(text).split())
    if len(line) <= length:
        return line
    return f"{line[: length - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def say_number(name: str, kind: str, *, is_high: bool) -> str:
    """Return a phrase for numbers that are higher or lower than elsewhere, given the plain name of
    the feature.
    """
    rest, _, last = name.rpartition(" ")
    place = 0 if is_high else 1
    if kind == "date":
        return f"{'late' if is_high else 'early'} {name}"
    if last.lower() in REPLACED:
        return f"{REPLACED[last.lower()][place]} {rest}".strip()
    adjectives = KEPT.get(last.lower(), ("high", "low"))
    return f"{adjectives[place]} {name}"


def say_level(feature: Feature, inside: float, outside: float) -> str:
    """Return a phrase for a level of a category, from its share of the rows inside and outside of
    the cluster.
    """
    name = plain_name(feature.name)
    level = shorten(feature.level, WORD.levels)
    if inside > outside:
        if inside >= LEVEL.nearly_all:
            return f"{name}: {level}"
        return say_share(name, level, inside)
    if feature.opposite and inside <= LEVEL.hardly:
        return f"{name}: {feature.opposite}"
    if feature.opposite and inside <= LEVEL.mostly:
        return say_share(name, feature.opposite, 1 - inside)
    if inside <= LEVEL.hardly:
        return f"{name}: not {level}"
    return f"{name}: rarely {level}"


def say_share(name: str, level: str, share: float) -> str:
    """Return which share of the rows has a level."""
    if level[:1].isdigit():  # not: 81% 0
        return f"{name}: {level} in {percent(share)}"
    return f"{name}: {percent(share)} {level}"


def join_levels(levels: Sequence[str]) -> str:
    """Return a few levels as alternatives, such as "north or south".

    Without remarks in brackets, if they differ.
    """
    plain = [plain_name(level) for level in levels]
    some = plain if len(set(plain)) == len(plain) else levels
    return " or ".join(shorten(level, WORD.levels // len(levels) - 4) for level in some)


def splits_plainly(feature: Feature, inside: float, outside: float) -> bool:
    """Return whether most rows of one side have a level, and the phrase for the other side is
    without "rarely".
    """
    low = LEVEL.mostly if feature.opposite else LEVEL.hardly
    return max(inside, outside) >= LEVEL.mostly and (inside > outside or inside <= low)


@lru_cache(10_000)  # asked for again for each cluster and trait
def plain_name(name: str) -> str:
    """Return the name of a feature without underscores and units.

    "age (2)", a second column "age", stays.
    """
    words = re.sub(r"\s*[(\[](?!\d+[)\]])[^()\[\]]*[)\]]\s*$", "", name).replace("_", " ").split()
    units = {"cm", "eur", "g", "kg", "km", "km2", "m", "mg", "mm", "ms", "pct", "s", "usd"}
    if len(words) > 1 and words[-1].lower() in units:
        words.pop()
    return shorten(" ".join(words) or name, WORD.phrase)


def split_number(name: str) -> tuple[str, str]:
    """Return the name of a feature without the number at its end, and this number, which may be
    empty.
    """
    found = re.fullmatch(r"(.*?)(\d*)", plain_name(name))
    assert found is not None  # anything matches
    return found[1].strip(), found[2]


def say_value(value: float, kind: str = "number", name: str = "") -> str:
    """Return a number with three digits, a share as a percentage, a date, or a year, of a feature
    with this name.
    """
    if kind == "level":
        return percent(value)
    if kind == "date":
        return datetime.fromtimestamp(value * 86400, UTC).date().isoformat()
    if name.lower().split()[-1:] == ["year"] and WORD.first_year <= value <= WORD.last_year:
        return f"{value:.0f}"
    if abs(value) >= 1e15 or 0 < abs(value) < 1e-6:
        return f"{value:.3g}"
    if abs(value) >= 1e7:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else _without_exponent(value)


def _without_exponent(value: float) -> str:
    """Return a small number with three digits."""
    text = f"{value:.3g}"
    return np.format_float_positional(float(text), trim="-") if "e" in text else text


def join_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def uncapitalised(text: str) -> str:
    """Return a sentence as the second half of another."""
    return text[:1].lower() + text[1:]


@dataclass(frozen=True)
class ClusterName:
    """The name of a cluster, and the facts that it says."""

    text: str
    facts: tuple[Fact, ...] = ()

    @classmethod
    def of(cls, facts: list[Fact]) -> ClusterName:
        """Return the name that says these facts."""
        return cls(say_all(facts) or "average", tuple(facts))


def name_clusters(
    traits: Sequence[Sequence[Trait]], splits: Sequence[Trait | None] | None = None
) -> list[str]:
    """Return a name for each cluster, as :func:`choose_names` does, without its facts."""
    return [name.text for name in choose_names(traits, splits)]


def choose_names(
    traits: Sequence[Sequence[Trait]], splits: Sequence[Trait | None] | None = None
) -> list[ClusterName]:
    """Return a name for each cluster, from its traits; no two clusters have the same name.

    A name has up to three traits: what splits the cluster from its sibling in the tree, and what
    sets it apart from all other rows, the strongest first; and a fourth, if it is a level that all
    its rows have, or that is all theirs. Clusters that would have the same name get further traits,
    then the values of their strongest features, and at last a number. A cluster that differs from
    the others in hardly anything is named by these values, and "average" if it has no traits at
    all, or "all rows" if it is the only one.
    """
    if len(traits) == 1 and not traits[0]:
        return [ClusterName("all rows")]
    known = list(zip(traits, [None] * len(traits) if splits is None else splits, strict=True))
    names = [_join_phrases(*of_cluster, WORD.traits) for of_cluster in known]
    for n_traits in range(WORD.traits + 1, WORD.most_traits + 1):
        names = _replace_repeated(
            names, [_join_phrases(*of_cluster, n_traits) for of_cluster in known]
        )
    names = _replace_repeated(names, [_with_values(of_cluster) for of_cluster in traits])
    texts = number_repeated([name.text for name in names])
    return [replace(name, text=text) for name, text in zip(names, texts, strict=True)]


def _join_phrases(traits: Sequence[Trait], split: Trait | None, n_traits: int) -> ClusterName:
    """Return the phrases of the strongest traits.

    Of faint ones only if more than three are asked for.
    """
    weakest = WORD.weakest
    if traits and n_traits == WORD.traits:
        weakest = max(WORD.weakest, WORD.faint_share * traits[0].strength)
    strong = [trait for trait in traits if trait.strength >= weakest]
    if len(strong) == 1:  # a second one says more, if it is not faint
        strong += [trait for trait in traits[1:] if trait.strength >= WORD.second][:1]
    said = [trait for trait in strong if not trait.is_lack and not trait.is_rare] or strong[:1]
    if split is not None:  # without traits of the same column, or of the same series
        column = split.feature.name
        series = split_number(split.feature.name)[0] if split.span else None
        names = ((trait, trait.feature.name) for trait in said)
        others = [
            trait for trait, name in names if name != column and split_number(name)[0] != series
        ]
        if split.is_lack:
            said = [*others[: n_traits - 1], split]
        else:
            said = [split, *others]
    said = said[:n_traits] + [trait for trait in said[n_traits:] if trait.is_of_all][:1]
    return ClusterName.of([trait.fact for trait in said]) if said else _with_values(traits)


def _with_values(traits: Sequence[Trait]) -> ClusterName:
    return ClusterName.of([trait.value_fact for trait in traits[: WORD.values_in_name]])


def _replace_repeated(names: list[ClusterName], longer: list[ClusterName]) -> list[ClusterName]:
    """Return the names, with those replaced that occur more than once, or all of which is in
    another one.
    """
    counts = Counter(name.text for name in names)
    phrases = [{fact.words for fact in name.facts} for name in names]

    def is_vague(place: int) -> bool:
        is_part = bool(phrases[place]) and any(phrases[place] < others for others in phrases)
        return counts[names[place].text] > 1 or is_part

    return [longer[place] if is_vague(place) else name for place, name in enumerate(names)]


def is_true(name: str, phrases: Iterable[str]) -> bool:
    """Return whether a name consists of phrases that are true.

    Shares and means may be off by a tenth.

    Examples
    --------
    >>> is_true("low spend, region: 60% north", {"low spend", "region: 57% north", "older"})
    True
    >>> is_true("low spend, younger", {"low spend", "older"})
    False
    """
    known = [(re.compile(_as_pattern(phrase)), re.findall(FIGURE, phrase)) for phrase in phrases]
    rest = name
    while rest:
        found = (
            match
            for pattern, figures in known
            if (match := pattern.match(rest)) and all(map(_are_near, match.groups(), figures))
        )
        longest = max(found, key=lambda match: match.end(), default=None)
        if longest is None:
            return False
        rest = rest[longest.end() :].removeprefix(", ")
    return True


def _as_pattern(phrase: str) -> str:
    """Return a pattern of a phrase at the beginning of a name, with a group for each figure."""
    texts = map(re.escape, re.split(FIGURE, phrase))
    return rf"{'([^()%]+)'.join(texts)}(?=, |$)"


def _are_near(one: str, other: str) -> bool:
    """Return whether two figures differ by a tenth at most.

    What is not a number must be the same.
    """
    try:
        first, second = (float(text.replace(",", "")) for text in (one, other))
    except ValueError:
        return one == other
    return abs(first - second) <= WORD.near * max(abs(first), abs(second))
