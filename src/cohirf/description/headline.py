"""The headline of a result, in words: how many clusters, how large, how far apart, and whether to trust them."""

from __future__ import annotations

from dataclasses import dataclass

from cohirf.description.described import Description
from cohirf.diagnosis.diagnose import Diagnosis
from cohirf.diagnosis.problems import ways_to_less_noise
from cohirf.diagnosis.verdict import ALONE, EITHER

# Shares of rows between two clusters up to which clusters are clearly apart, touch, and overlap.
APART, TOUCHING, OVERLAPPING = 0.05, 0.2, 0.4


@dataclass(frozen=True)
class Headline:
    """The headline of a result, in sentences.

    Attributes
    ----------
    count : str
        How many clusters there are, and how much noise.
    sizes : str
        How large they are; empty if there is none.
    separation : str
        How sure it is to which cluster a row belongs; empty if there are fewer than two clusters.
    trust : str
        Whether to trust the clusters; empty without a diagnosis.
    tone : {"good", "fair", "poor", "unknown"}
        Whether this is good news.
    """

    count: str
    sizes: str
    separation: str
    trust: str
    tone: str

    def __str__(self) -> str:
        """Return all sentences."""
        return " ".join(part for part in (self.count, self.sizes, self.separation, self.trust) if part)


def make_headline(description: Description, diagnosis: Diagnosis | None) -> Headline:
    """Return the headline of a result.

    Parameters
    ----------
    description : Description
        What ``describe_clusters`` returned.
    diagnosis : Diagnosis or None
        What ``CoHiRF.diagnose`` returned; None leaves out whether to trust the clusters.

    Returns
    -------
    headline : Headline
        Sentences; ``str`` joins them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.description import describe_clusters, make_headline
    >>> X = load_iris(as_frame=True).data
    >>> model = CoHiRF(n_clusters=3, random_state=0).fit(X)
    >>> headline = make_headline(describe_clusters(model, X), model.diagnose())
    >>> print(headline.count, headline.sizes)
    3 clusters in 150 rows. The largest has 64 rows (43%), the smallest 36 (24%).
    >>> print(headline.separation)
    They are clearly apart: 2% of the rows are between two clusters.
    """
    if len(description.sizes) == 0:
        remedy = f"To find some, {ways_to_less_noise(description.model)}."
        return Headline(say_count(description), "", "", remedy, "poor")
    trust, tone = ("", "unknown") if diagnosis is None else say_trust(diagnosis)
    separation = ""
    if len(description.sizes) > 1 and tone != "poor":
        share = description.badly_fitting.share_between
        separation = say_separation(share)
        tone = "fair" if tone == "good" and share > TOUCHING else tone
    return Headline(say_count(description), say_sizes(description), separation, trust, tone)


def say_count(description: Description) -> str:
    """Return how many clusters there are, and how much noise."""
    n_clusters, n_rows = len(description.sizes), description.n_rows
    if n_clusters == 0:
        return f"No clusters: all {n_rows:,} rows are noise."
    text = f"{n_clusters:,} cluster{'' if n_clusters == 1 else 's'} in {n_rows:,} rows"
    share = description.n_noise / n_rows
    return f"{text}; {percent(share)} of the rows are noise, in no cluster." if description.n_noise else f"{text}."


def say_sizes(description: Description) -> str:
    """Return how large the clusters are."""
    if len(description.sizes) < 2:
        return ""
    largest, smallest = int(description.sizes.max()), int(description.sizes.min())
    shares = [percent(size / description.n_rows) for size in (largest, smallest)]
    if largest == smallest:
        return f"Each has {_rows(largest)} ({shares[0]})."
    return f"The largest has {_rows(largest)} ({shares[0]}), the smallest {smallest:,} ({shares[1]})."


def say_separation(share: float) -> str:
    """Return how far apart clusters are, from the share of rows that are between two of them.

    Examples
    --------
    >>> from cohirf.description.headline import say_separation
    >>> say_separation(0.12)
    'They touch: 12% of the rows are between two clusters.'
    """
    between = f"{percent(share)} of the rows are between two clusters" if share else "no rows are between two clusters"
    if share <= APART:
        return f"They are clearly apart: {between}."
    if share <= TOUCHING:
        return f"They touch: {between}."
    if share <= OVERLAPPING:
        return f"They overlap: {between}, where the border could as well be elsewhere."
    return f"They are not separate: {between}. Read them as regions of one cloud of rows, not as kinds of rows."


def say_trust(diagnosis: Diagnosis) -> tuple[str, str]:
    """Return whether to trust the clusters, and whether this is good news."""
    base = diagnosis.comparison.base
    problem = diagnosis.findings[0] if len(diagnosis.findings) > 2 else None
    if problem is not None and problem.tone == "poor":
        return f"Do not use them: {problem.reason[:1].lower()}{problem.reason[1:]}", "poor"
    if diagnosis.recommendation == ALONE:
        return (
            f"Do not trust them: {base} alone finds other clusters, and finds them again in part of the rows. Use "
            f"{base} alone, if it can run on all rows.",
            "poor",
        )
    if diagnosis.recommendation == EITHER:
        return f"Trust them as you would trust {base}: it finds the same clusters alone.", "good"
    if diagnosis.comparison.reason:
        return f"Look at some rows of each before you trust them: {base} alone could not be compared.", "unknown"
    return (
        f"Look at some rows of each before you trust them: {base} alone finds other clusters, and no figure tells "
        f"which are better.",
        "fair",
    )


def percent(share: float) -> str:
    """Return a share in percent; 0% and 100% only if they are exact.

    Examples
    --------
    >>> from cohirf.description.headline import percent
    >>> percent(0.001), percent(0.253), percent(0.9999)
    ('less than 1%', '25%', 'more than 99%')
    """
    if 0 < share <= 0.005:
        return "less than 1%"
    return "more than 99%" if 0.995 < share < 1 else f"{share:.0%}"


def _rows(n_rows: int) -> str:
    return f"{n_rows:,} row{'' if n_rows == 1 else 's'}"
