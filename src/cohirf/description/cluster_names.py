"""Names of clusters, made from what sets each of them apart: "older, long tenure, low spend"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from cohirf.description.traits import Trait
from cohirf.description.words import plain_name, say_value

FEWEST, MOST = 3, 5  # traits in a name; more than three only if two clusters would have the same name
WEAK = 0.3  # standard deviations; a weaker trait says nothing
FAINT = 0.35  # a trait is left out of the name if it is weaker than this share of the strongest
N_VALUES = 2  # features whose values tell clusters apart that have the same traits
PLAIN, ALL_ROWS = "average", "all rows"


def name_clusters(traits: Sequence[Sequence[Trait]]) -> list[str]:
    """Return a name for each cluster, from its traits; no two clusters have the same name.

    A name has up to three traits, the strongest first. Clusters that would have the same name get further traits, then
    the values of their strongest features, and at last a number.

    Parameters
    ----------
    traits : sequence of sequence of Trait
        The traits of each cluster, the strongest first, as ``find_traits`` returns them.

    Returns
    -------
    names : list of str
        A name for each cluster. A cluster without traits is called "average", or "all rows" if it is the only one.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from cohirf.description import find_traits, name_clusters, read_table
    >>> X = pd.DataFrame({"age": [61, 64, 23, 25], "spend": [90.0, 110.0, 480.0, 510.0]})
    >>> name_clusters(find_traits(read_table(X, np.arange(4)), np.array([0, 0, 1, 1]), np.array([0, 1])))
    ['low spend, older', 'high spend, younger']
    """
    if len(traits) == 1 and not traits[0]:
        return [ALL_ROWS]
    names = [_join(of_cluster, FEWEST) for of_cluster in traits]
    for n_traits in range(FEWEST + 1, MOST + 1):
        names = _replace_repeated(names, [_join(of_cluster, n_traits) for of_cluster in traits])
    names = _replace_repeated(names, [_with_values(of_cluster) for of_cluster in traits])
    return [*_number_repeated(names)]


def _join(traits: Sequence[Trait], n_traits: int) -> str:
    """Return the phrases of the strongest traits; of weak ones only if more than three are asked for."""
    strongest = traits[0].strength if traits else 0.0
    weakest = max(WEAK, FAINT * strongest) if n_traits == FEWEST else 0.0
    phrases = [trait.phrase for trait in traits[:n_traits] if trait.strength >= weakest]
    return ", ".join(phrases) or PLAIN


def _with_values(traits: Sequence[Trait]) -> str:
    parts = [
        f"{plain_name(trait.feature.name)} {trait.feature.level} {say_value(trait.inside, trait.feature.kind)}"
        for trait in traits[:N_VALUES]
    ]
    return ", ".join(" ".join(part.split()) for part in parts) or PLAIN


def _replace_repeated(names: list[str], longer: list[str]) -> list[str]:
    """Return the names, with those that occur more than once replaced."""
    counts = Counter(names)
    return [other if counts[name] > 1 else name for name, other in zip(names, longer, strict=True)]


def _number_repeated(names: list[str]) -> Iterator[str]:
    """Yield the names, with a number behind those that occur again."""
    given, used = set(names), set[str]()
    for name in names:
        unique = name
        if name in used:
            numbered = (f"{name} ({number})" for number in count(2))
            unique = next(other for other in numbered if other not in used and other not in given)
        used.add(unique)
        yield unique
