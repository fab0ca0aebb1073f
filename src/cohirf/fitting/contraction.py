"""Turn the parameters of a model into the functions that contract a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.choose_medoids import (
    CallableSimilarity,
    choose_central_medoids,
    choose_sampled_medoids,
    cosine_centrality,
    euclidean_centrality,
    laplacian_similarity,
    rbf_similarity,
)
from cohirf.algorithm.consensus import Codes, Consensus, relaxed_consensus, strict_consensus
from cohirf.algorithm.contract_batch import ChooseMedoids, Contraction
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.majority import majority_consensus
from cohirf.algorithm.metric_spaces import EUCLIDEAN, find_space
from cohirf.algorithm.randomness import Entropy
from cohirf.data import Data
from cohirf.fitting.goal import Goal

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
    model: Any, data: Data, settled: Settled, *, weighted: bool, n_batches: int | None = None
) -> Contraction:
    """Return how the fit of a model contracts batches of the data.

    The number of batches follows from their size, unless this is not known yet.
    """
    if n_batches is None:
        n_batches = count_batches(data.rows.n_rows, settled.batch_size)
    goal, n_features = Goal.of(model), model._count_view_features()
    one_view = model.n_views == 1 or (
        n_features == data.n_features and BaseMethod.of(model._base_method()).is_deterministic
    )
    method = goal.method(model.estimator, several_batches=n_batches > 1, one_view=one_view)
    device = model.device if data.device is None else data.device
    sees_all = n_features == data.n_features and device is None and method.told is None
    known = find_space(method.prototype) if sees_all else None
    space = EUCLIDEAN if known is None else known
    return Contraction(
        views=Views(method, model.n_views, n_features, settled.entropy),
        consensus=_consensus_function(model, goal, n_batches),
        choose_medoids=_medoid_function(model),
        batch_size=settled.batch_size,
        weighted=weighted,
        sum_mass=model.medoid_weights,
        column_means=data.column_means,
        space=space,
        keeps_means=True,
        bounds_groups=goal.bounds_groups and model.n_views > 1,
        device=device,
    )


def _consensus_function(model: Any, goal: Goal, n_batches: int) -> Callable[[Codes], Consensus]:
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


def _medoid_function(model: Any) -> ChooseMedoids:
    if not callable(model.medoid) and model.medoid in CENTRALITY:
        return partial(choose_central_medoids, centrality=CENTRALITY[model.medoid])
    return partial(
        choose_sampled_medoids,
        similarity=CallableSimilarity(model.medoid) if callable(model.medoid) else SIMILARITY[model.medoid],
        max_candidates=MAX_CANDIDATES,
    )
