"""Facts about a fitted model by which its clusters are judged; the application says them in words.

They come from what the model has: the graph that its merges were compared by, the records of its
levels, and the rows that it stores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.randomness import Draw, generator_at, root_entropy
from cohirf.beyond.choose_merge import ComparedSample, centre
from cohirf.beyond.merge_tree import MAX_LINKED
from cohirf.beyond.neighbour_graph import NeighbourGraph, count_graph_rows
from cohirf.beyond.policy import CELL
from cohirf.choice import Choice, rate_number
from cohirf.estimator import CoHiRF
from cohirf.problems import Problem, Remedies, find_problem
from cohirf.rows.arrays import to_host
from cohirf.rows.grouping import IntArray, count_with_noise
from cohirf.summary.numbers import positions_of
from cohirf.validation import Columns


def cluster_positions(model: CoHiRF) -> Any:
    """Return, for each row of a model, the position of its cluster in arrays with an entry for each
    cluster; or -1.
    """
    return positions_of(model.labels_, model.cluster_numbers_)


def base_method_of(model: CoHiRF) -> Any:
    """Return the base method of a model, K-Means by default.

    Of several, one that finds the number of clusters.
    """
    return model._parameters.base_method


def remedies_for(model: CoHiRF) -> Remedies:
    """Return which parameters of a model to change, if its clusters are useless."""
    return model._parameters.remedies


def require_labels_here(model: CoHiRF) -> None:
    """Raise an error if a model is not fitted, or if its labels are on Dask or a device."""
    model._require_labels_here()


def give_names(model: CoHiRF, names: Mapping[int, str]) -> None:
    """Name some clusters; others keep their names, which last through updates and are saved."""
    model._become(model._state.named(names))


def refuse_limits(model: CoHiRF) -> None:
    """Raise if a model has limits of sizes or links: an update keeps all rows in their clusters."""
    model._parameters.refuse_limits()
    model._state.refuse_links()


def set_columns(model: CoHiRF, n_features: int, names: Sequence[str] | None) -> None:
    """Give a fitted model as many features, and names of them, if the rows of its fit had none."""
    model._become(model._state, Columns.of_source(n_features, names))


@dataclass(frozen=True)
class FitFacts:
    """Facts about a fitted model.

    Attributes
    ----------
    problem : Problem or None
        What makes the clusters useless.
    cut : float
        Share of the near neighbours of a row that are in another cluster, as a mean over clusters:
        that of the graph by which merges were compared, otherwise that of stored rows. NaN if
        these are few.
    same_as_base : {"", "one run", "exact", "spanning"}
        Why the clusters are those of the base method on all rows, if they are: the fit is one run
        of a deterministic method, or its local batches have the clusters of all rows.
    kind : str
        Kind of the first level, as in ``LevelRecord``; "local" unless its batches surely have the
        clusters of all rows.
    n_batches : int
        Number of batches of the first level.
    as_published : bool
        Whether the model runs the algorithm of the paper.
    choice : Choice or None
        The model's ``choice_``. If the number of clusters was given, and neither merge nor weights,
        with how much random halves of the stored rows agree on it, as if it had been chosen.
    """

    problem: Problem | None
    cut: float
    same_as_base: str
    kind: str
    n_batches: int
    as_published: bool
    choice: Choice | None = None

    @classmethod
    def of(cls, model: CoHiRF) -> FitFacts:
        """Return the facts about a model."""
        labels = cluster_positions(model)
        n_noise, *sizes = count_with_noise(labels, model.n_clusters_).tolist()
        kind = _find_kind(model, n_noise)
        same_as_base = kind if kind in ("exact", "spanning") else ""
        if _is_one_run(model, n_noise):
            same_as_base = "one run"
        as_published = model.n_clusters == "levels"
        finds_number = BaseMethod.of(base_method_of(model)).number_name is None
        return cls(
            problem=find_problem(sizes, n_noise, keeps_noise=as_published and finds_number),
            cut=measure_cut(model, labels),
            same_as_base=same_as_base,
            kind=kind,
            n_batches=model.diagnostics_[0].n_batches,
            as_published=as_published,
            choice=rate_choice(model),
        )


def rate_choice(model: CoHiRF) -> Choice | None:
    """Return the choice of a model, with how much halves agree if its number was given."""
    choice: Choice | None = model.choice_
    if choice is None or not choice.is_given or choice.is_merge_given or not choice.is_compared:
        return choice
    # after an update, or if small clusters are noise, these are not the clusters that were chosen
    if model.history_ or choice.n_clusters != model.n_clusters_:
        return choice
    if model._state.is_weighted:  # stored rows have no weights
        return choice
    seed = model.random_state if isinstance(model.random_state, Integral) else 0
    entropy = root_entropy(int(seed))
    points = model._state.landmarks.in_space.points
    most = count_graph_rows(model.n_features_in_)
    n_stored = points.shape[0]
    if n_stored < len(model.labels_) or n_stored > most:
        points = points[_draw_stored(model, most, generator_at(entropy, Draw.CHOICE, most))]
    points = centre(fill_missing(to_host(points), model._state.column_means))
    sample = ComparedSample(points, np.ones(points.shape[0]))
    return rate_number(choice, sample, generator_at(entropy, Draw.CHOICE))


def _draw_stored(model: CoHiRF, most: int, rng: np.random.Generator) -> IntArray:
    """Return positions of stored rows, in which clusters have about the shares of all rows."""
    labels = cluster_positions(model)
    stored = labels[model.landmark_indices_]
    sizes = count_with_noise(labels, model.n_clusters_)
    odds = (sizes / np.maximum(count_with_noise(stored, model.n_clusters_), 1))[stored + 1]
    n_drawn = min(most, (len(stored) + 1) // 2)  # at most half, so that the odds have an effect
    return np.sort(rng.choice(len(stored), n_drawn, replace=False, p=odds / odds.sum()))


def measure_cut(model: CoHiRF, labels: IntArray) -> float:
    """Return the share of near neighbours in other clusters, given the cluster of each row."""
    choice = model.choice_
    if choice is not None and choice.is_compared and not model.history_:
        return float(choice.cut)
    stored = model._state.landmarks.in_space
    of_stored = labels[model.landmark_indices_]
    # a model that was reduced to exemplars keeps fewer
    is_sample = 2 * len(of_stored) > len(labels) or len(of_stored) >= MAX_LINKED
    some = np.flatnonzero(of_stored >= 0)
    if len(some) < 2 or not is_sample:
        return np.nan
    some = some[:: -(-len(some) // MAX_LINKED)]
    graph = NeighbourGraph(stored.points[some].astype(np.float64))
    of_points = of_stored[some][graph.first_row]
    if len(np.unique(of_points)) == len(of_points):  # each cluster is copies of one row
        return np.nan
    return float(graph.cut_shares(of_points[None])[0])


def _is_one_run(model: CoHiRF, n_noise: int) -> bool:
    """Return whether the fit is one run of a deterministic base method on all rows, of which
    nothing was merged.
    """
    first, *later = model.diagnostics_
    is_whole = first.n_batches == 1 and first.rows_held_aside == 0 and not later
    n_features = model.n_features_in_
    views_differ = validation.count_view_features(model.max_features, n_features) < n_features
    return bool(
        is_whole
        and not views_differ
        and BaseMethod.of(base_method_of(model)).is_deterministic
        and first.rows_out == model.n_clusters_ + n_noise
    )


def _find_kind(model: CoHiRF, n_noise: int) -> str:
    first = model.diagnostics_[0]
    last = model.diagnostics_[-1]
    # not merged, nor left out
    is_kept = last.rows_out == model.n_clusters_ + n_noise and model.n_clusters != "levels"
    misses_edges = (
        first.kind == "spanning" and first.n_batches > 1 and model.n_features_in_ > CELL.max_axes
    )
    if first.kind in ("exact", "spanning") and (misses_edges or not is_kept):
        return "local"
    return str(first.kind)
