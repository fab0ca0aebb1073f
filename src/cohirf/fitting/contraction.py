"""Turn the parameters of a model into the functions that contract a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.choose_medoids import (
    CallableSimilarity,
    SampledMedoid,
    choose_central_medoids,
    choose_sampled_medoids,
    cosine_centrality,
    euclidean_centrality,
    laplacian_similarity,
    rbf_similarity,
)
from cohirf.algorithm.consensus import Codes, Consensus, relaxed_consensus, strict_consensus
from cohirf.algorithm.contract_batch import ChooseMedoids, Contraction
from cohirf.algorithm.get_clusters import View, Views
from cohirf.algorithm.majority import majority_consensus
from cohirf.algorithm.metric_spaces import EUCLIDEAN, find_space
from cohirf.algorithm.randomness import Entropy
from cohirf.clusterers.grid_dbscan import computed
from cohirf.data import Data
from cohirf.fitting.goal import Goal, is_k_means
from cohirf.summary.model import Model, base_method_of
from cohirf.validation import count_view_features

CENTRALITY = {"cosine": cosine_centrality, "euclidean": euclidean_centrality}
# With few batches, the finer groups of the strict consensus gave better clusters. With many, they are contracted too
# slowly, and were no better.
FEW_BATCHES = 50
RELAXED = 0.8  # h of the paper's experiments
MAJORITY = 0.5
# Kernels compare pairs of rows, so of a larger cluster a random sample is compared: 1,000 rows take 8 MB, all rows of a
# large batch would take more than there is.
MAX_CANDIDATES = 1000
SIMILARITY = {"rbf": rbf_similarity, "laplacian": laplacian_similarity}


@dataclass(frozen=True)
class Settled:
    """Settings that the parameters may leave open, resolved: the entropy of the fit, and the batch size."""

    entropy: Entropy
    batch_size: int | None


def make_contraction(
    model: Model,
    data: Data,
    settled: Settled,
    *,
    weighted: bool,
    n_batches: int | None = None,
    n_chosen: int | None = None,
) -> Contraction:
    """Return how the fit of a model contracts batches of the data, perhaps for a number of clusters that was chosen.

    The number of batches follows from their size, unless this is not known yet.
    """
    if n_batches is None:
        n_batches = count_batches(data.rows.n_rows, settled.batch_size)
    goal = Goal.of(model, n_chosen)
    views = _make_views(model, data.n_features, goal, settled.entropy, several_batches=n_batches > 1)
    device = model.device if data.device is None else data.device
    sees_all = isinstance(model.views, Integral) and views.n_features == data.n_features and device is None
    known = find_space(views.method.prototype) if sees_all and views.method.told is None else None
    return Contraction(
        views=views,
        consensus=_consensus_function(model, goal, n_batches),
        choose_medoids=_medoid_function(model),
        batch_size=settled.batch_size,
        weighted=weighted,
        sum_mass=model.medoid_weights,
        column_means=data.column_means,
        space=EUCLIDEAN if known is None else known,
        keeps_means=True,
        bounds_groups=goal.bounds_groups and views.n_views > 1,
        device=device,
    )


def _make_views(model: Model, n_features: int, goal: Goal, entropy: Entropy, *, several_batches: bool) -> Views:
    """Return the views of a model: a list of them, or so many equal ones."""
    n_views = validation.count_views(model.views)
    if isinstance(model.views, Integral):
        n_sampled = count_view_features(model.max_features, n_features)
        is_repeated = n_sampled == n_features and BaseMethod.of(base_method_of(model)).is_deterministic
        method = goal.method(model.estimator, several_batches=several_batches, one_view=n_views == 1 or is_repeated)
        return Views(method, n_views, n_sampled, entropy)
    each = []
    for estimator, columns in validation.list_views(model, n_features):
        method = BaseMethod.of(computed(estimator))
        if method.n_told in (None, goal.n_clusters):  # other numbers are what the user wants to differ
            method = goal.method(estimator, several_batches=several_batches, one_view=n_views == 1)
        each.append(View(method, n_features if columns is None else len(columns), columns))
    # What is special for K-Means, or for methods that find the number of clusters, needs all views to be of this kind.
    leading = min(each, key=lambda view: (view.method.told is None, is_k_means(view.method)))
    return Views(leading.method, n_views, max(view.n_features for view in each), entropy, tuple(each))


def _consensus_function(model: Model, goal: Goal, n_batches: int) -> Callable[[Codes], Consensus]:
    consensus = model.consensus
    if consensus == "auto":
        consensus = "strict" if 1 < n_batches <= FEW_BATCHES else "majority"
    if consensus == "strict":
        return strict_consensus
    if consensus != "majority":
        return partial(relaxed_consensus, threshold=RELAXED if consensus == "relaxed" else float(consensus))
    if n_batches > 1 or goal.n_clusters is None:
        return partial(majority_consensus, majority=MAJORITY)
    return partial(ample_majority, majority=MAJORITY, n_clusters=goal.n_clusters)


def ample_majority(codes: Codes, majority: float, n_clusters: int) -> Consensus:
    """Return the majority consensus, or the strict one if that leaves fewer than ``n_clusters`` groups."""
    found = majority_consensus(codes, majority)
    return found if found.n_clusters - found.n_noise >= n_clusters else strict_consensus(codes)


def _medoid_function(model: Model) -> ChooseMedoids:
    if not callable(model.medoid) and model.medoid in CENTRALITY:
        return partial(choose_central_medoids, centrality=CENTRALITY[model.medoid])
    return partial(
        choose_sampled_medoids,
        similarity=CallableSimilarity(model.medoid) if callable(model.medoid) else SIMILARITY[model.medoid],
        **_limits_of(model.medoid),
    )


def _limits_of(medoid: Any) -> dict[str, Any]:
    if isinstance(medoid, SampledMedoid):
        return {"max_candidates": medoid.most, "share": medoid.share}
    return {"max_candidates": MAX_CANDIDATES}
