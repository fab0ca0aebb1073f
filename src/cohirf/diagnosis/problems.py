"""What makes a partition useless, seen from the sizes of its clusters: nothing fused, nearly all is noise, crumbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.grouping import IntArray

FEW_ROWS = 20  # fewer are not judged: it can be right that none of them fuse
MOSTLY_NOISE = 0.9  # share of rows
# A cluster of at most so many rows beside one of at least so many; DBSCAN by itself has clusters of four rows.
CRUMB, LARGE = 3, 1000
RADII = ("eps", "distance_threshold")  # parameters of base methods; rows that are nearer than this fuse


@dataclass(frozen=True)
class Problem:
    """What is wrong, in a few words, and a sentence with what to change; whether it spoils all clusters."""

    what: str
    message: str
    spoils_all: bool


def find_problem(model: Any, sizes: IntArray, n_noise: int) -> Problem | None:
    """Return the worst problem of a partition, or None.

    Parameters
    ----------
    model : CoHiRF
        The parameters; what to change depends on them.
    sizes : array of int
        Number of rows of each cluster.
    n_noise : int
        Number of noise rows.
    """
    n_rows, largest = int(sizes.sum()) + n_noise, int(sizes.max(initial=0))
    if n_rows < FEW_ROWS:
        return None
    if n_noise > MOSTLY_NOISE * n_rows:
        return _mostly_noise(model, n_noise / n_rows)
    if largest == 1 and len(sizes) > 1:
        return _nothing_fused(model, n_rows)
    smallest = 2 if _keeps_noise_apart(model) else 1
    n_crumbs = int(((sizes >= smallest) & (sizes <= CRUMB)).sum())
    if n_crumbs and largest >= LARGE:
        return _crumbs(n_crumbs, sizes)
    return None


def _keeps_noise_apart(model: Any) -> bool:
    """Return whether noise rows of the base method are clusters of one row as in the paper."""
    return model.n_clusters == "levels" and BaseMethod.of(model._base_method()).told is None


def ways_to_less_noise(model: Any) -> str:
    """Return which parameters to change, so that fewer rows are noise."""
    name, ways = _ways_to_fuse_more(model)
    if model.min_cluster_size != 1 and model.small_clusters == "noise":
        ways.insert(0, f"lower min_cluster_size={model.min_cluster_size}")
    return ", or ".join(ways or [f"let {name} accept sparser clusters"])


def _mostly_noise(model: Any, share: float) -> Problem:
    return Problem(
        "Nearly everything is noise.",
        f"{_percent(share)} of the rows are noise: {ways_to_less_noise(model)}.",
        spoils_all=True,
    )


def _nothing_fused(model: Any, n_rows: int) -> Problem:
    name, ways = _ways_to_fuse_more(model)
    ways += ["use fewer views (n_views)"] if model.n_views > 1 and model.consensus == "strict" else []
    ways = ways or [f"let {name} find fewer and larger clusters"]
    finding = f"Nothing fused: each of the {n_rows:,} rows is a cluster of its own."
    return Problem("Nothing fused.", f"{finding} To change that, {', or '.join(ways)}.", spoils_all=True)


def _crumbs(n_crumbs: int, sizes: IntArray) -> Problem:
    have = "has" if n_crumbs == 1 else "have"
    message = (
        f"{n_crumbs:,} of {len(sizes):,} clusters {have} at most {CRUMB} rows, and the largest has "
        f"{int(sizes.max()):,}. With min_cluster_size={CRUMB + 1} or more, their rows become noise; with "
        f"small_clusters='nearest' as well, they join the nearest cluster."
    )
    return Problem("Some have only a few rows.", message, spoils_all=False)


def _ways_to_fuse_more(model: Any) -> tuple[str, list[str]]:
    """Return the name of the base method, and changes of parameters that let it fuse more rows."""
    clusterer = BaseMethod.of(model._base_method()).clusterer
    given = clusterer.get_params(deep=False) if hasattr(clusterer, "get_params") else {}
    name = type(clusterer).__name__
    ways = [f"raise {radius} of {name}" for radius in RADII if given.get(radius) is not None]
    ways += [f"lower min_samples of {name}"] if given.get("min_samples") is not None else []
    ways += ["raise batch_size"] if model.batch_size is not None else []
    return name, ways


def _percent(share: float) -> str:
    return "All" if share == 1 else f"{share:.0%}" if share < 0.995 else "More than 99%"
