"""Turn the parameters of a model into the functions that contract a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cohirf.algorithm.base_method import BaseMethod
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
from cohirf.algorithm.randomness import Entropy
from cohirf.data import Data

CENTRALITY = {"cosine": cosine_centrality, "euclidean": euclidean_centrality}
SIMILARITY = {"rbf": rbf_similarity, "laplacian": laplacian_similarity}


@dataclass(frozen=True)
class Settled:
    """Settings that the parameters may leave open, resolved: the entropy of the fit, and the batch size."""

    entropy: Entropy
    batch_size: int | None


def make_contraction(model: Any, data: Data, settled: Settled, *, weighted: bool) -> Contraction:
    """Return how the fit of a model contracts batches of the data, which has the relevant features only."""
    method = BaseMethod.of(model._base_method())
    if model.redraws and method.n_clusters is not None:
        raise ValueError(
            f"redraws={model.redraws} cannot be combined with a fixed number of clusters, and "
            f"{type(method.prototype).__name__} has n_clusters={method.n_clusters}: set redraws=0, or choose a "
            f"base method that finds the number of clusters itself, such as DBSCAN."
        )
    return Contraction(
        views=Views(method, model.n_views, model._count_view_features(), settled.entropy, model.scale_views),
        consensus=_consensus_function(model),
        choose_medoids=_medoid_function(model),
        batch_size=settled.batch_size,
        weighted=weighted,
        sum_mass=model.medoid_weights,
        column_means=data.column_means,
    )


def _consensus_function(model: Any) -> Callable[[Codes], Consensus]:
    if model.consensus == "strict":
        return strict_consensus
    if model.consensus == "majority":
        return partial(majority_consensus, majority=model.majority)
    return partial(relaxed_consensus, threshold=model.agreement_threshold)


def _medoid_function(model: Any) -> ChooseMedoids:
    if not callable(model.medoid) and model.medoid in CENTRALITY:
        return partial(choose_central_medoids, centrality=CENTRALITY[model.medoid])
    return partial(
        choose_sampled_medoids,
        similarity=CallableSimilarity(model.medoid) if callable(model.medoid) else SIMILARITY[model.medoid],
        max_candidates=model.max_candidates,
        candidate_fraction=model.candidate_fraction,
    )
