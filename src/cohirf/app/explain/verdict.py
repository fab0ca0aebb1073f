"""The verdict: whether to trust a fit, in words, from its figures; and what makes clusters useless.

``benchmarks/quality/diagnose.py`` measures how often the statements are right, on data sets with
known classes. Nothing that it measured, silhouette and Calinski-Harabasz score included, told
reliably that CoHiRF is better than the base method. So the verdict only says that both are the
same, or that the base method is better, or that it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.app.explain.words import uncapitalised
from cohirf.rows.grouping import IntArray
from cohirf.summary.model import Model, base_method_of
from cohirf.wording import count_of, percent

JUDGED_ROWS = 20  # fewer are not judged: it can be right that none of them fuse
MOSTLY_NOISE = 0.9  # share of rows
# A cluster of at most this many rows next to one of at least this many; DBSCAN by itself has
# clusters of four rows.
CRUMB = 3
LARGE_CLUSTER = 1000
UNDIVIDED = (
    100  # if there are no other clusters, the same beside one of so many rows is no division at all
)
# parameters of base methods; rows that are nearer than this fuse
FUSING_RADII = (
    "eps",
    "distance_threshold",
)
WHOLE = ("exact", "spanning")  # kinds of levels that find what the base method finds on all rows
ALONE = "use the base method alone"
EITHER = "either"
UNKNOWN = "unknown"
# From this adjusted Rand index on, two partitions are the same for most purposes.
SAME = 0.95
# The base method is better if the model agrees with its runs this much less than these agree with
# each other, and if its silhouette is this much lower, or undefined. One of the two is not enough:
# clusters can differ and be as good.
LOST = 0.15
WORSE_SILHOUETTE = 0.02
# A method that goes by density is also better if the fit calls this share of the rows noise, and
# the method does not.
MORE_NOISE = 0.1
# A fit whose views differ has fragments if it has so many times the clusters that the base method
# alone finds.
FRAGMENTS = 1.5
# Shares of rows that have their nearest neighbour in their own cluster: nearly all, and too few.
NEIGHBOURS_KEPT = 0.9
NEIGHBOURS_TORN = 0.7
RIVAL_STARTS = 10  # of K-Means that runs alone: with a single one, it is an easy rival


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


def find_problem(model: Model, sizes: IntArray, n_noise: int) -> Finding | None:
    """Return the worst problem of a partition, or None: its tone is poor if all clusters are
    spoilt, otherwise fair.
    """
    question = "Are the clusters usable?"
    n_rows = int(sizes.sum()) + n_noise
    largest = int(sizes.max(initial=0))
    if n_rows < JUDGED_ROWS:
        return None
    if n_noise > MOSTLY_NOISE * n_rows:
        if n_noise == n_rows:
            share = "All"
        else:
            share = percent(n_noise / n_rows).capitalize()
        message = f"{share} of the rows are noise: {ways_to_less_noise(model)}."
        return Finding(question, "Nearly everything is noise.", message, "poor")
    if largest == 1 and len(sizes) > 1:
        name, ways = _ways_to_fuse_more(model)
        can_relax = validation.count_views(model.views) > 1 and model.consensus == "strict"
        ways = [*ways, *(["use fewer views (views)"] if can_relax else [])]
        said = ", or ".join(ways or [f"let {name} find fewer and larger clusters"])
        message = (
            f"Nothing fused: each of the {n_rows:,} rows is a cluster of its own. To change that, "
            f"{said}."
        )
        return Finding(question, "Nothing fused.", message, "poor")
    # as published, noise rows of the base method are clusters of one row, because the user wants
    # them to be
    keeps_noise = model.n_clusters == "levels" and BaseMethod.of(base_method_of(model)).told is None
    n_crumbs = int(((sizes >= 1 + keeps_noise) & (sizes <= CRUMB)).sum())
    is_undivided = n_crumbs == len(sizes) - 1 and largest >= UNDIVIDED
    if not n_crumbs or (largest < LARGE_CLUSTER and not is_undivided):
        return None
    message = (
        f"{n_crumbs:,} of {len(sizes):,} clusters {'has' if n_crumbs == 1 else 'have'} at most "
        f"{CRUMB} rows, and the largest has {largest:,}. With min_cluster_size={CRUMB + 1} or "
        "more, their rows become noise; hierarchy_.cut with fewer clusters merges them."
    )
    if is_undivided:
        message += (
            " All other rows are in one cluster, so nothing is divided: these few may be errors, "
            "or totals."
        )
    return Finding(
        question, "Some have only a few rows.", message, "poor" if is_undivided else "fair"
    )


def ways_to_less_noise(model: Model) -> str:
    """Return which parameters to change, so that fewer rows are noise."""
    name, ways = _ways_to_fuse_more(model)
    if model.min_cluster_size != 1:
        ways.insert(0, f"lower min_cluster_size={model.min_cluster_size}")
    return ", or ".join(ways or [f"let {name} accept sparser clusters"])


def _ways_to_fuse_more(model: Model) -> tuple[str, list[str]]:
    """Return the name of the base method, and changes of parameters that let it fuse more rows."""
    clusterer = BaseMethod.of(base_method_of(model)).clusterer
    if hasattr(clusterer, "get_params"):
        given = clusterer.get_params(deep=False)
    else:
        given = {}
    name = type(clusterer).__name__
    ways = [f"raise {radius} of {name}" for radius in FUSING_RADII if given.get(radius) is not None]
    ways += [f"lower min_samples of {name}"] if given.get("min_samples") is not None else []
    ways += ["raise batch_size"] if model.batch_size is not None else []
    return name, ways


@dataclass(frozen=True)
class Comparison:
    """The model compared with the base method alone, on the same rows.

    Pairs are of the model, and of the method.
    """

    base: str  # name of the base method
    n_rows: int = 0  # on which labels are compared; 0 if the base method did not run
    reason: str = ""  # why the base method did not run; empty if it did
    n_clusters: tuple[int, int] = (0, 0)  # in these rows
    noise: tuple[float, float] = (0.0, 0.0)  # share of these rows
    silhouette: tuple[float | None, float | None] = (None, None)  # mean; None if undefined
    ari: tuple[float | None, float | None] = (None, None)  # adjusted Rand index with known classes
    # adjusted Rand indices, None if the method did not run: of the model and the method; the mean
    # of those of the model and runs of the method on four fifths of the rows; and of the method on
    # all rows and these runs
    same: float | None = None
    agreement: float | None = None
    reproducibility: float | None = None


@dataclass(frozen=True)
class Facts:
    """The figures that the verdict is based on."""

    comparison: Comparison  # the model compared with the base method alone
    # whether the base method finds the number of clusters itself, as methods do that go by density
    finds_number: bool
    is_k_means: bool  # whether the base method is a kind of K-Means
    # whether the fit is one run of a deterministic base method on all rows, of which nothing was
    # merged
    ran_once: bool
    # share of sampled rows whose nearest neighbour is in their final cluster
    neighbours_together: float | None
    problem: Finding | None  # what makes the clusters useless
    as_published: bool  # whether the model runs the algorithm of the paper
    n_batches: int  # number of batches of the first level
    # kind of the first level, as in ``LevelRecord``; "local" unless the clusters are surely those
    # of all rows
    kind: str = "all"
    is_part: bool = False  # whether the base method ran on some rows of the fit, not on all
    is_given: bool = True  # whether the user gave n_clusters

    @property
    def may_cut(self) -> bool:
        """Whether the base method may cut clusters that the fit rightly has, at the border of the
        rows compared.
        """
        return self.finds_number and self.kind == "local" and self.is_part

    @property
    def has_fragments(self) -> bool:
        """Whether views that differ left more clusters than the base method finds, which nobody
        asked for.
        """
        ours, alone = self.comparison.n_clusters
        return (
            self.finds_number
            and not self.is_given
            and self.n_batches == 1
            and ours >= FRAGMENTS * alone > 0
        )

    @property
    def is_whole(self) -> bool:
        """Whether the clusters are those of the base method on all rows, by the way in which they
        were found.
        """
        return self.ran_once or self.kind in WHOLE


def is_lost(
    gap: float,
    silhouette: tuple[float | None, float | None],
    lost: float = LOST,
    worse: float = WORSE_SILHOUETTE,
) -> bool:
    """Return whether a model has lost clusters that the base method finds."""
    ours, alone = silhouette
    # without a silhouette, the base method has a single cluster, or none: then there is nothing to
    # lose
    is_worse = alone is not None and (ours is None or ours < alone - worse)
    return gap < -lost and is_worse


def judge_base_alone(facts: Facts) -> tuple[str, Finding, str]:
    """Return which of the two to use, if the base method can run on all rows; why.

    And both in one line.
    """
    found = facts.comparison
    base = facts.comparison.base
    question = f"Would {base} alone do better?"
    unknown = f"Whether {base} alone would do better is not known: "
    trust = f"Trust these clusters as you would trust {base}: "
    if facts.is_whole:
        why = _say_why_whole(facts)
        return (
            EITHER,
            Finding(question, "It is the same.", f"{why}.", "good"),
            f"{trust}{uncapitalised(why)}.",
        )
    if found.same is None or found.agreement is None or found.reproducibility is None:
        return (
            UNKNOWN,
            Finding(question, "Not known.", found.reason, "unknown"),
            f"{unknown}{found.reason}",
        )
    measured = _measured(found)
    index = f"adjusted Rand index {found.same:.2f}"
    if found.same >= SAME:
        line = f"{trust}it finds the same ones in {found.n_rows:,} rows ({index})."
        return EITHER, Finding(question, "It finds the same clusters.", measured, "good"), line
    has_more_noise = facts.finds_number and found.noise[0] > found.noise[1] + MORE_NOISE
    # If the defaults around K-Means differ from it, no figure tells which is better: the rule was
    # right in 10 of 15 statements. Of three fits in local batches it said that they had lost
    # clusters of DBSCAN, and was right in none.
    is_judged = (facts.as_published or not facts.is_k_means) and not facts.may_cut
    if has_more_noise or (
        is_judged and is_lost(found.agreement - found.reproducibility, found.silhouette)
    ):
        reason = f"{measured} The fit has lost clusters that {base} finds."
        line = (
            f"Do not trust these clusters: the fit has lost clusters that {base} finds in "
            f"{found.n_rows:,} rows"
        )
        return (
            ALONE,
            Finding(question, "Probably.", reason, "poor"),
            f"{line} ({index}). {_say_remedy(facts)}",
        )
    why = "nothing in the data tells which of the two is better"
    if facts.has_fragments:
        why = "the fit has fragments, because its views differ: give n_clusters"
    else:
        why = why
    if facts.may_cut:
        why = f"{base} may have cut clusters at the border of these rows"
    else:
        why = why
    line = f"{unknown}in {found.n_rows:,} rows it finds other clusters ({index}), and {why}."
    return (
        UNKNOWN,
        Finding(question, "Not known.", f"{measured} The two differ, and {why}.", "unknown"),
        line,
    )


def _say_remedy(facts: Facts) -> str:
    """Return what to use instead of a fit that has lost clusters."""
    tips = ["a number of clusters (n_clusters)"] if facts.has_fragments else []
    tips += ["the defaults of CoHiRF"] if facts.as_published else []
    if facts.n_batches > 1:
        is_thin = facts.finds_number and facts.kind == "random"
        tips.append(
            'batches="local", because random ones are thinner than the data'
            if is_thin
            else "larger batches"
        )
    return (
        f"Use {', or '.join([*tips, f'{facts.comparison.base} alone, if it can run on all rows'])}."
    )


def judge(facts: Facts) -> tuple[str, str, list[Finding]]:
    """Return which of the two to use, whether to trust the clusters in one line, and answers to
    questions.
    """
    (said, base_alone, line), problem = judge_base_alone(facts), facts.problem
    findings = [base_alone, judge_neighbours(facts)]
    if problem is None:
        return said, line, findings
    if problem.tone == "poor":
        line = f"Do not trust these clusters: {uncapitalised(problem.reason)}"
    else:
        line = line
    return said, line, [problem, *findings]


def judge_neighbours(facts: Facts) -> Finding:
    """Answer whether nearest neighbours are in the same cluster."""
    question = "Are neighbouring rows in the same cluster?"
    together = facts.neighbours_together
    if together is None:
        return Finding(
            question, "Not measured.", "The sample has too few rows of clusters.", "unknown"
        )
    measured = (
        f"{together:.0%} of the sampled rows have their nearest neighbour in their own cluster."
    )
    if together >= NEIGHBOURS_KEPT:
        return Finding(question, "Yes.", measured, "good")
    is_torn = together < NEIGHBOURS_TORN
    reason = (
        f"{measured} {'Borders' if is_torn else 'Some borders'} between clusters run through dense "
        "regions."
    )
    return Finding(
        question, "Hardly." if is_torn else "Mostly.", reason, "poor" if is_torn else "fair"
    )


def _say_why_whole(facts: Facts) -> str:
    """Return why the clusters of a fit are those of the base method on all rows."""
    base = facts.comparison.base
    if facts.kind == "exact":
        return (
            f"The {facts.n_batches:,} local batches have all rows that their labels depend on, so "
            f"the clusters are those of {base} on all rows; only a border row that is near to two "
            "clusters may be in the other one"
        )
    if facts.kind == "spanning":
        return (
            f"The clusters are those of {base} on all rows, as far as the {facts.n_batches:,} "
            "local batches overlap enough: its spanning tree was put together from theirs"
        )
    return f"The fit is one run of {base} on all rows, and has its clusters"


def why_not_comparable(
    rival: BaseMethod, n_sampled: int, n_rows: int, n_batches: int, kind: str
) -> str:
    """Return why a method that finds the number of clusters itself is not compared on a random
    sample.
    """
    name = type(rival.clusterer).__name__
    part = f"a sample of {n_sampled:,} of {n_rows:,} rows"
    thinner = f"{name} goes by the density of the rows, and {part} is thinner than the data."
    if kind == "local":
        return (
            f"{thinner} Local batches are not, but clusters that reach over several of them may be "
            "cut or joined."
        )
    if n_batches > 1:
        return (
            f"{thinner} So are random batches: each of the {n_batches:,} batches had about "
            f"{n_rows // n_batches:,} "
            f'rows. Use batches="local", or compare with {name} alone on all rows.'
        )
    return thinner


def say_too_few(rival: BaseMethod, n_kept: int, n_rows: int) -> str:
    """Return why a method is not compared on the rows that a model keeps, and what to do."""
    name = type(rival.clusterer).__name__
    return (
        f"{name} needs more rows than the {n_kept:,} of {n_rows:,} that the model keeps. A merge "
        "with exemplars_only=True keeps only exemplars: diagnose the models before they are "
        "merged."
    )


def _measured(found: Comparison) -> str:
    starts = f" with {RIVAL_STARTS} starts" if found.base == "KMeans" else ""
    n_found = count_of(found.n_clusters[1], "cluster")
    parts = [f"In {found.n_rows:,} rows, {found.base} alone{starts} finds {n_found}"]
    if found.n_clusters[0] != found.n_clusters[1]:
        parts.append(f" where the fit has {found.n_clusters[0]:,}")
    if max(found.noise) > 0:
        parts.append(f", and {found.noise[1]:.0%} noise where the fit has {found.noise[0]:.0%}")
    parts.append(
        f". The adjusted Rand index of the two is {found.same:.2f}. Without a fifth of the rows, "
        f"{found.base} agrees with itself by {found.reproducibility:.2f}, and with the fit by "
        f"{found.agreement:.2f}."
    )
    ours, alone = found.silhouette
    if ours is not None and alone is not None:
        parts.append(f" Its silhouette is {alone:.2f}, and that of the fit {ours:.2f}.")
    return "".join(parts)
