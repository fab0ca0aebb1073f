"""What is compared: the paper's base methods, alone and in variants of CoHiRF."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from sklearn.base import clone
from sklearn.cluster import KMeans

from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF, GridDBSCAN, KernelKMeans
from experiments.tuning import paper_space

ALONE = "alone"
KERNEL_K_MEANS = "kernel K-Means"
THRESHOLD = 0.8  # h in the paper

BASES: dict[str, Any] = {
    "K-Means": KMeans(),
    KERNEL_K_MEANS: KernelKMeans(n_components=500),
    "DBSCAN": GridDBSCAN(),
    "SC-SRGF": SCSRGF(graph="local"),
}
# what the authors' searches try first, alone and in CoHiRF
FIRST: dict[str, dict[str, Any]] = {
    "K-Means": {"n_clusters": 8},
    KERNEL_K_MEANS: {"n_clusters": 8, "gamma": 1.0},
    "DBSCAN": {"eps": 0.5, "min_samples": 5},
    "SC-SRGF": {"n_clusters": 8, "n_affinities": 20, "sampling_ratio": 0.5},
}
FIRST_VIEWS: dict[str, Any] = {"max_features": 0.3, "views": 5}
FIRST_CLUSTERS = 3  # of each view


@dataclass(frozen=True)
class Variant:
    """The base method alone, or CoHiRF around it in one of its forms.

    Attributes
    ----------
    options : dict
        Options of CoHiRF.
    alone : bool
        Whether there is no CoHiRF.
    n_batches : int or None
        Number of batches, if there are several.
    ranges : dict of str to distribution
        Parameters of the base method that are searched in other ranges than the paper's.
    all_options : bool
        Whether options of CoHiRF that are not part of the paper are searched, too.
    """

    options: dict[str, Any] = field(default_factory=dict)
    alone: bool = False
    n_batches: int | None = None
    ranges: dict[str, Any] = field(default_factory=dict)
    all_options: bool = False


RELAXED: dict[str, Any] = {"consensus": THRESHOLD}
WEIGHTS: dict[str, Any] = {"medoid_weights": True}
MAJORITY: dict[str, Any] = {"consensus": "majority"}
FEW_CLUSTERS: dict[str, Any] = {"n_clusters": IntDistribution(2, 5)}
LARGE_EPS: dict[str, Any] = {"eps": FloatDistribution(0.1, 60.0)}
SMALL_GAMMA: dict[str, Any] = {"gamma": FloatDistribution(1e-5, 30.0, log=True)}
# of SC-SRGF; the paper does not name it
NEIGHBORS: dict[str, Any] = {"n_neighbors": IntDistribution(2, 30)}
ALL_OPTIONS: dict[str, Any] = {
    "consensus": CategoricalDistribution(("strict", "relaxed", "majority")),
    "medoid_weights": CategoricalDistribution((False, True)),
}
VARIANTS = {
    ALONE: Variant(alone=True),
    "alone, eps to 60": Variant(alone=True, ranges=LARGE_EPS),
    "alone, gamma from 1e-5": Variant(alone=True, ranges=SMALL_GAMMA),
    "alone, neighbours to 30": Variant(alone=True, ranges=NEIGHBORS),
    "CoHiRF": Variant(),
    "R-CoHiRF": Variant(RELAXED),
    "CoHiRF, weights": Variant(WEIGHTS),
    "R-CoHiRF, weights": Variant(RELAXED | WEIGHTS),
    "majority, weights": Variant(MAJORITY | WEIGHTS),
    "all options": Variant(all_options=True),
    "CoHiRF, k to 5": Variant(ranges=FEW_CLUSTERS),
    "R-CoHiRF, k to 5": Variant(RELAXED, ranges=FEW_CLUSTERS),
    "CoHiRF, gamma from 1e-5": Variant(ranges=SMALL_GAMMA),
    "R-CoHiRF, gamma from 1e-5": Variant(RELAXED, ranges=SMALL_GAMMA),
    "majority, gamma from 1e-5, weights": Variant(MAJORITY | WEIGHTS, ranges=SMALL_GAMMA),
    "CoHiRF, R=1": Variant({"views": 1}),
    "CoHiRF, R=1, k to 5": Variant({"views": 1}, ranges=FEW_CLUSTERS),
    "CoHiRF, R=1, neighbours to 30": Variant({"views": 1}, ranges=NEIGHBORS),
    "CoHiRF, R=2": Variant({"views": 2}),
    "CoHiRF, R=2, k to 5": Variant({"views": 2}, ranges=FEW_CLUSTERS),
    "CoHiRF, R=2, neighbours to 30": Variant({"views": 2}, ranges=NEIGHBORS),
    "CoHiRF, R=2, all options": Variant(
        {"views": 2}, ranges=NEIGHBORS, all_options=True
    ),  # neighbours among them
    "CoHiRF, 10 batches": Variant(n_batches=10),
    "R-CoHiRF, 10 batches": Variant(RELAXED, n_batches=10),
    "CoHiRF, 10 batches, weights": Variant(WEIGHTS, n_batches=10),
    "CoHiRF, R=1, 100 batches": Variant({"views": 1}, n_batches=100),
}
OF_THE_PAPER = (ALONE, "CoHiRF", "R-CoHiRF")
WITH_WEIGHTS = (*OF_THE_PAPER, "CoHiRF, weights", "R-CoHiRF, weights", "majority, weights")
OURS = (*WITH_WEIGHTS, "all options")


def make_model(base: str, variant: str, n_rows: int) -> Any:
    """Return an estimator whose parameters are still to be tuned."""
    chosen = VARIANTS[variant]
    if chosen.alone:
        return BASES[base]
    batches = {} if chosen.n_batches is None else {"batch_size": max(2, n_rows // chosen.n_batches)}
    return CoHiRF.as_published(BASES[base], **chosen.options, **batches)


def search_space(model: Any, variant: str) -> dict[str, Any]:
    """Return the paper's ranges, changed as the variant says."""
    chosen = VARIANTS[variant]
    space = paper_space(model) | (ALL_OPTIONS if chosen.all_options else {})
    if "views" in chosen.options:
        space.pop("views", None)
    prefix = "" if chosen.alone else "estimator__"
    return space | {f"{prefix}{name}": values for name, values in chosen.ranges.items()}


def first_trial(base: str, space: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the first trial, as far as they are searched."""
    inner = {f"estimator__{name}": value for name, value in FIRST[base].items()}
    first = FIRST[base] | inner | FIRST_VIEWS | {"estimator__n_clusters": FIRST_CLUSTERS}
    return {name: first[name] for name in space if name in first}


def with_floored_views(model: Any, n_features: int) -> Any:
    """Return a model whose views have as many features as in the authors' program, which rounds
    down.
    """
    share = model.get_params(deep=False).get("max_features")
    if not isinstance(share, float):
        return model
    return clone(model).set_params(max_features=max(1, int(share * n_features)))
