"""What makes the clusters of a fit useless, as facts, and the warning of a fit that says so.

Nothing fused, nearly everything is noise, or a few rows stand beside one large cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.rows.grouping import IntArray
from cohirf.wording import setting


@dataclass(frozen=True)
class ProblemPolicy:
    """When clusters are useless. No table supports these figures: they only decide on a warning."""

    # rows; of fewer, it can be right that none fuse, or that all are in one cluster but a few
    judged_rows: int = 20
    noise: float = 0.9  # share of the rows that may be noise
    large: int = 1000  # rows of a cluster beside which one of a few rows is a problem


POLICY = ProblemPolicy()
# Up to three rows are not a cluster, however far from others they are. DBSCAN by itself has
# clusters of four.
CRUMB = 3


@dataclass(frozen=True)
class Remedies:
    """Which parameters to change, so that more rows fuse or fewer are noise; in words."""

    method: str  # name of the class of the base method
    raises: tuple[str, ...]  # changes that let the base method fuse more rows
    min_cluster_size: int | float = 1
    may_have_fewer_views: bool = (
        False  # whether a strict consensus of several views keeps groups apart
    )

    @classmethod
    def of(cls, clusterer: Any, batch_size: Any, **options: Any) -> Remedies:
        """Return the remedies for a base method and a batch size, which may be None."""
        given = clusterer.get_params(deep=False) if hasattr(clusterer, "get_params") else {}
        name = type(clusterer).__name__
        radii = ("eps", "distance_threshold")  # rows that are nearer than this fuse
        raises = [f"raise {radius} of {name}" for radius in radii if given.get(radius) is not None]
        if given.get("min_samples") is not None:
            raises.append(f"lower min_samples of {name}")
        if batch_size is not None:
            raises.append(f"raise {setting('batch_size')}")
        return cls(name, tuple(raises), **options)

    def to_less_noise(self) -> str:
        """Return what to change, so that fewer rows are noise."""
        ways = list(self.raises)
        if self.min_cluster_size != 1:
            ways.insert(0, f"lower {setting('min_cluster_size', self.min_cluster_size)}")
        return ", or ".join(ways or [f"let {self.method} accept sparser clusters"])

    def to_fuse_more(self) -> str:
        """Return what to change, so that more rows fuse."""
        ways = list(self.raises)
        if self.may_have_fewer_views:
            ways.append(f"use fewer views ({setting('views')})")
        return ", or ".join(ways or [f"let {self.method} find fewer and larger clusters"])


@dataclass(frozen=True)
class Problem:
    """What makes clusters useless.

    Attributes
    ----------
    kind : {"noise", "nothing fused", "crumbs"}
        Nearly all rows are noise, each row is a cluster of its own, or some clusters have only a
        few rows.
    n_rows, n_noise : int
        Number of rows, and of those that are noise.
    n_clusters, n_crumbs : int
        Number of clusters, and of those with only a few rows.
    largest : int
        Number of rows of the largest cluster.
    """

    kind: str
    n_rows: int
    n_noise: int
    n_clusters: int
    n_crumbs: int
    largest: int

    @property
    def is_undivided(self) -> bool:
        """Whether all other rows are in one cluster."""
        return self.kind == "crumbs" and self.n_crumbs == self.n_clusters - 1

    @property
    def spoils_all(self) -> bool:
        """Whether all clusters are useless, not only those with few rows."""
        return self.kind != "crumbs" or self.is_undivided

    def describe(self, remedies: Remedies) -> str:
        """Return the problem and its remedy in words, for a warning."""
        if self.kind == "noise":
            said = f"{self.n_noise:,} of {self.n_rows:,} rows are noise"
            if self.n_noise == self.n_rows:
                said = "All of the rows are noise"
            return f"{said}: {remedies.to_less_noise()}."
        if self.kind == "nothing fused":
            return (
                f"Nothing fused: each of the {self.n_rows:,} rows is a cluster of its own. To "
                f"change that, {remedies.to_fuse_more()}."
            )
        has = "has" if self.n_crumbs == 1 else "have"
        said = (
            f"{self.n_crumbs:,} of {self.n_clusters:,} clusters {has} at most {CRUMB} "
            f"rows, and the largest has {self.largest:,}. With "
            f"{setting('min_cluster_size', CRUMB + 1)} or more, their rows become noise; "
            f"{setting('hierarchy_.cut')} with fewer clusters merges them."
        )
        if self.is_undivided:
            said += (
                " All other rows are in one cluster, so nothing is divided: these few may be "
                "errors, or totals."
            )
        return said


def find_problem(
    sizes: Sequence[int] | IntArray, n_noise: int, *, keeps_noise: bool = False
) -> Problem | None:
    """Return the worst problem of clusters with the given numbers of rows, or None.

    As published, noise rows of a base method that finds the number of clusters are clusters of one
    row, because the user wants them to be (``keeps_noise``).

    Examples
    --------
    >>> from cohirf.problems import find_problem
    >>> find_problem([500, 1], n_noise=0).is_undivided
    True
    >>> find_problem([500, 300, 1], n_noise=0) is None
    True
    """
    of_cluster = np.asarray(sizes, dtype=np.int64)
    n_rows = int(of_cluster.sum()) + n_noise
    n_clusters = len(of_cluster)
    largest = int(of_cluster.max(initial=0))
    smallest = 2 if keeps_noise else 1
    n_crumbs = int(((of_cluster >= smallest) & (of_cluster <= CRUMB)).sum())
    if n_rows < POLICY.judged_rows:
        return None
    if n_noise > POLICY.noise * n_rows:
        kind = "noise"
    elif largest == 1 and n_clusters > 1:
        kind = "nothing fused"
    else:
        kind = "crumbs"
    found = Problem(kind, n_rows, n_noise, n_clusters, n_crumbs, largest)
    if kind == "crumbs":
        least = POLICY.judged_rows if found.is_undivided else POLICY.large
        if n_crumbs == 0 or largest < least:
            return None
    return found
