"""The verdict: whether to trust a fit, in words, from its figures.

``benchmarks/quality/diagnose.py`` measures how often the statements are right, on data sets with known classes. Nothing
that it measured, silhouette and Calinski-Harabasz score included, told reliably that CoHiRF is better than the base
method. So the verdict only says that both are the same, or that the base method is better, or that it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass

from cohirf.algorithm.base_method import BaseMethod
from cohirf.diagnosis.base_alone import STARTS, Comparison
from cohirf.diagnosis.problems import Problem

WHOLE = ("exact", "spanning")  # kinds of levels that find what the base method finds on all rows
ALONE, EITHER, UNKNOWN = "use the base method alone", "either", "unknown"
# From this adjusted Rand index on, two partitions are the same for most purposes.
SAME = 0.95
# The base method is better if the model agrees with its runs this much less than these agree with each other, and if
# its silhouette is this much lower, or undefined. One of the two is not enough: clusters can differ and be as good.
LOST, WORSE_SILHOUETTE = 0.15, 0.02
# A method that goes by density is also better if the fit calls this share of the rows noise, and the method does not.
MORE_NOISE = 0.1
# Shares of rows that have their nearest neighbour in their own cluster: nearly all, and too few.
NEIGHBOURS_KEPT, NEIGHBOURS_TORN = 0.9, 0.7


@dataclass(frozen=True)
class Facts:
    """The figures that the verdict is based on.

    Attributes
    ----------
    comparison : Comparison
        The model compared with the base method alone.
    finds_number : bool
        Whether the base method finds the number of clusters itself, as methods do that go by density.
    is_k_means : bool
        Whether the base method is a kind of K-Means.
    ran_once : bool
        Whether the fit is one run of a deterministic base method on all rows, of which nothing was merged.
    neighbours_together : float or None
        Share of sampled rows whose nearest neighbour is in their final cluster.
    problem : Problem or None
        What makes the clusters useless.
    as_published : bool
        Whether the model runs the algorithm of the paper.
    n_batches : int
        Number of batches of the first level.
    kind : str
        Kind of the first level, as in ``LevelRecord``; "local" unless the clusters are surely those of all rows.
    is_part : bool
        Whether the base method ran on some rows of the fit, not on all.
    """

    comparison: Comparison
    finds_number: bool
    is_k_means: bool
    ran_once: bool
    neighbours_together: float | None
    problem: Problem | None
    as_published: bool
    n_batches: int
    kind: str = "all"
    is_part: bool = False

    @property
    def may_cut(self) -> bool:
        """Whether the base method may cut clusters that the fit rightly has, at the border of the rows compared."""
        return self.finds_number and self.kind == "local" and self.is_part

    @property
    def is_whole(self) -> bool:
        """Whether the clusters are those of the base method on all rows, by the way in which they were found."""
        return self.ran_once or self.kind in WHOLE


@dataclass(frozen=True)
class Finding:
    """A question about a fit, and its answer.

    Attributes
    ----------
    question : str
        The question.
    answer : str
        A short answer.
    reason : str
        The figures behind the answer, what they mean, and what to do about it.
    tone : {"good", "fair", "poor", "unknown"}
        Whether the answer is good news.
    """

    question: str
    answer: str
    reason: str
    tone: str


def recommend(facts: Facts) -> str:
    """Return which of the two to use, if the base method can run on all rows."""
    found = facts.comparison
    if facts.is_whole:
        return EITHER
    if found.same is None or found.agreement is None or found.reproducibility is None:
        return UNKNOWN
    if found.same >= SAME:
        return EITHER
    if facts.is_k_means and not facts.as_published:
        # The fit merges finer clusters of K-Means by the criterion of K-Means. If the two differ, no figure tells which
        # one is better: the rule below was right in 10 of 15 statements.
        return UNKNOWN
    if facts.finds_number and found.noise[0] > found.noise[1] + MORE_NOISE:
        return ALONE
    if facts.may_cut:
        # The rule below said of three fits in local batches that they had lost clusters of DBSCAN. On all rows, DBSCAN
        # was not better in any of the three.
        return UNKNOWN
    return ALONE if is_lost(found.agreement - found.reproducibility, found.silhouette) else UNKNOWN


def is_lost(
    gap: float,
    silhouette: tuple[float | None, float | None],
    lost: float = LOST,
    worse: float = WORSE_SILHOUETTE,
) -> bool:
    """Return whether a model has lost clusters that the base method finds.

    Parameters
    ----------
    gap : float
        How well the model agrees with runs of the base method, minus how well these agree with each other.
    silhouette : tuple of (float or None)
        Silhouette of the model, and of the base method.
    lost, worse : float
        Thresholds.
    """
    ours, alone = silhouette
    # without a silhouette, the base method has a single cluster, or none: then there is nothing to lose
    is_worse = alone is not None and (ours is None or ours < alone - worse)
    return gap < -lost and is_worse


def verdict(facts: Facts) -> list[Finding]:
    """Answer the questions about a fit.

    Parameters
    ----------
    facts : Facts
        The figures.

    Returns
    -------
    findings : list of Finding
        Two questions: would the base method alone do better, and are neighbouring rows in the same cluster? One more
        if the clusters are useless.
    """
    findings = [judge_base_alone(facts), judge_neighbours(facts)]
    problem = facts.problem
    if problem is not None:
        tone = "poor" if problem.spoils_all else "fair"
        findings.insert(0, Finding("Are the clusters usable?", problem.what, problem.message, tone))
    return findings


def judge_base_alone(facts: Facts) -> Finding:
    """Answer whether the base method alone finds better clusters in the same rows."""
    found, said = facts.comparison, recommend(facts)
    question = f"Would {found.base} alone do better?"
    if facts.is_whole:
        return Finding(question, "It is the same.", f"{_say_why_whole(facts)}.", "good")
    if found.reason:
        return Finding(question, "Not known.", found.reason, "unknown")
    measured = _measured(found)
    if said == EITHER:
        return Finding(question, "It finds the same clusters.", measured, "good")
    if said == ALONE:
        reason = f"{measured} The fit has lost clusters that {found.base} finds."
        return Finding(question, "Probably.", reason, "poor")
    reason = f"{measured} The two differ, and {_say_why_unknown(facts)}."
    return Finding(question, "Not known.", reason, "unknown")


def judge_neighbours(facts: Facts) -> Finding:
    """Answer whether nearest neighbours are in the same cluster."""
    question, together = "Are neighbouring rows in the same cluster?", facts.neighbours_together
    if together is None:
        return Finding(question, "Not measured.", "The sample has too few rows of clusters.", "unknown")
    measured = f"{together:.0%} of the sampled rows have their nearest neighbour in their own cluster."
    if together >= NEIGHBOURS_KEPT:
        return Finding(question, "Yes.", measured, "good")
    if together >= NEIGHBOURS_TORN:
        reason = f"{measured} Some borders between clusters run through dense regions."
        return Finding(question, "Mostly.", reason, "fair")
    return Finding(question, "Hardly.", f"{measured} Borders between clusters run through dense regions.", "poor")


def in_one_line(facts: Facts) -> str:
    """Return whether to trust the clusters, in one line."""
    found, said = facts.comparison, recommend(facts)
    if facts.problem is not None and facts.problem.spoils_all:
        return f"Do not trust these clusters: {_uncapitalised(facts.problem.message)}"
    if facts.is_whole:
        return f"Trust these clusters as you would trust {found.base}: {_uncapitalised(_say_why_whole(facts))}."
    if said == EITHER:
        return (
            f"Trust these clusters as you would trust {found.base}: it finds the same ones in {found.n_rows:,} rows "
            f"(adjusted Rand index {found.same:.2f})."
        )
    if said == ALONE and facts.finds_number:
        return (
            f"Do not trust these clusters: in {found.n_rows:,} rows, {found.base} alone finds "
            f"{_count(found.n_clusters[1])} and {found.noise[1]:.0%} noise, and the fit {found.n_clusters[0]:,} and "
            f"{found.noise[0]:.0%}. Use {found.base} alone, if it can run on all rows."
        )
    if said == ALONE:
        return (
            f"Do not trust these clusters: in {found.n_rows:,} rows, runs of {found.base} agree with each other "
            f"(adjusted Rand index {found.reproducibility:.2f}), and much less with the fit ({found.agreement:.2f}). "
            f"Use {found.base} alone, if it can run on all rows."
        )
    if found.reason:
        return f"Whether {found.base} alone would do better is not known: {found.reason}"
    return (
        f"Whether {found.base} alone would do better is not known: in {found.n_rows:,} rows it finds other clusters "
        f"(adjusted Rand index {found.same:.2f}), and {_say_why_unknown(facts)}."
    )


def advise(facts: Facts) -> list[str]:
    """Return options to try, the most promising first; an empty list if the fit gives no reason to change anything."""
    if recommend(facts) != ALONE:
        return []
    tips = []
    if facts.as_published:
        tips.append("the defaults of CoHiRF instead of the algorithm as published")
    if facts.n_batches > 1 and facts.finds_number and facts.kind == "random":
        tips.append('batches="local": random batches are thinner than the data')
    elif facts.n_batches > 1:
        tips.append("a larger batch_size, or none: each batch sees only some of the rows")
    return [*tips, f"{facts.comparison.base} alone, if it can run on all rows"]


def _say_why_whole(facts: Facts) -> str:
    """Return why the clusters of a fit are those of the base method on all rows."""
    base = facts.comparison.base
    if facts.kind == "exact":
        return (
            f"The {facts.n_batches:,} local batches have all rows that their labels depend on, so the clusters are "
            f"those of {base} on all rows; only a border row that is near to two clusters may be in the other one"
        )
    if facts.kind == "spanning":
        return (
            f"The clusters are those of {base} on all rows, as far as the {facts.n_batches:,} local batches overlap "
            f"enough: its spanning tree was put together from theirs"
        )
    return f"The fit is one run of {base} on all rows, and has its clusters"


def _say_why_unknown(facts: Facts) -> str:
    """Return why a difference between the fit and the base method does not tell which one is better."""
    if facts.may_cut:
        return f"{facts.comparison.base} may have cut clusters at the border of these rows"
    return "nothing in the data tells which of the two is better"


def why_not_comparable(rival: BaseMethod, n_sampled: int, n_rows: int, n_batches: int, kind: str) -> str:
    """Return why a method that finds the number of clusters itself is not compared on a random sample."""
    name = type(rival.clusterer).__name__
    thinner = (
        f"{name} goes by the density of the rows, and a sample of {n_sampled:,} of {n_rows:,} rows is thinner than the "
        f"data."
    )
    if kind == "local":
        return f"{thinner} Local batches are not, but clusters that reach over several of them may be cut or joined."
    if n_batches > 1:
        return (
            f"{thinner} So are random batches: each of the {n_batches:,} batches had about {n_rows // n_batches:,} "
            f'rows. Use batches="local", or compare with {name} alone on all rows.'
        )
    return thinner


def say_too_few(rival: BaseMethod, n_kept: int, n_rows: int) -> str:
    """Return why a method is not compared on the rows that a model keeps, and what to do."""
    name = type(rival.clusterer).__name__
    return (
        f"{name} needs more rows than the {n_kept:,} of {n_rows:,} that the model keeps. A merge with "
        f"exemplars_only=True keeps only exemplars: diagnose the models before they are merged."
    )


def _measured(found: Comparison) -> str:
    parts = [f"In {found.n_rows:,} rows, {found.base} alone{_starts(found)} finds {_count(found.n_clusters[1])}"]
    if found.n_clusters[0] != found.n_clusters[1]:
        parts.append(f" where the fit has {found.n_clusters[0]:,}")
    if max(found.noise) > 0:
        parts.append(f", and {found.noise[1]:.0%} noise where the fit has {found.noise[0]:.0%}")
    parts.append(
        f". The adjusted Rand index of the two is {found.same:.2f}. Without a fifth of the rows, {found.base} agrees "
        f"with itself by {found.reproducibility:.2f}, and with the fit by {found.agreement:.2f}."
    )
    ours, alone = found.silhouette
    if ours is not None and alone is not None:
        parts.append(f" Its silhouette is {alone:.2f}, and that of the fit {ours:.2f}.")
    return "".join(parts)


def _starts(found: Comparison) -> str:
    return f" with {STARTS} starts" if found.base == "KMeans" else ""


def _count(n_clusters: int) -> str:
    return f"{n_clusters:,} cluster{'' if n_clusters == 1 else 's'}"


def _uncapitalised(text: str) -> str:
    return text[:1].lower() + text[1:]
