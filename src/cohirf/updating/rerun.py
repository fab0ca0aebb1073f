"""Run the levels of a model again after its rows have changed: from a summary to fitted attributes.

All updates end here. A model that keeps all its rows is fitted to them; of others, the upper levels
run on the groups. Then clusters get the numbers that they had before.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cohirf import progress, validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.get_clusters import mean_of_tally
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.choice import Choice
from cohirf.data import InMemory
from cohirf.data.first_level import FirstLevel
from cohirf.engines.local import one_thread
from cohirf.error_contexts import showing_warnings_once
from cohirf.fitting import Fit, fit_data
from cohirf.fitting.contraction import make_contraction
from cohirf.fitting.results import Clusters, KeptRows, attributes_by_cluster
from cohirf.fitting.settings import Settings, Settled
from cohirf.landmarks import MAX_LANDMARKS, Landmarks, sample_landmarks
from cohirf.rows.grouping import IntArray, Mass
from cohirf.summary.model import Model, base_method_of, set_state, state_of
from cohirf.summary.numbers import Changes, Overlap, Step, continue_history, keep_names
from cohirf.summary.rows import BY_ROW, RowResults
from cohirf.summary.summary import KEPT_ROWS, RowGroups, Summary, stack

BY_CLUSTER = ("medoid_indices_", "medoids_", "exemplar_indices_", "exemplars_")


@dataclass(frozen=True)
class Kind:
    """What an update does with rows."""

    # whether the base method takes the number of clusters. Its rows are then contracted in blocks;
    # of other methods, which depend on the density of rows, all rows are kept
    takes_k: bool
    block_size: int  # number of rows of a block

    @classmethod
    def of(cls, model: Model, batch_size: int | None) -> Kind:
        """Return what the updates of a model do."""
        takes_k = BaseMethod.of(base_method_of(model)).told is not None
        return cls(takes_k, MAX_LANDMARKS if batch_size is None else batch_size)

    def keeps_all(self, n_rows: int) -> bool:
        """Return whether a model of ``n_rows`` rows keeps all of them, so that an update is a fit
        to all.
        """
        if self.takes_k:
            return count_batches(n_rows, self.block_size) == 1
        return n_rows <= KEPT_ROWS


@dataclass(frozen=True, eq=False)
class Transition:
    """The rows of a model after a change, and where those from before it are now."""

    after: (
        Summary  # the summary after the change. Unless clusters go on, its labels are not known yet
    )
    before: IntArray  # for each group from before, the number of its cluster before
    now: IntArray  # the position, after the change, of the group that it belongs to
    sizes: IntArray  # the number of its rows that are still there
    n_rows: int  # number of rows that have come, or gone if it is negative
    # for each cluster number before, how many rows of it were forgotten
    lost: dict[int, int] = field(default_factory=dict)
    goes_on: bool = False  # whether the clusters go on, so that those of all rows are known
    n_first: int = (
        0  # numbers below this are those of the first model of a merge, which last before others
    )
    verb: str = "update"  # what changes the rows, as in ``Changes``


def rerun(model: Model, transition: Transition) -> dict[str, Any]:
    """Return the fitted attributes of a model after a change of its rows."""
    after = transition.after
    attributes, labels = find_clusters(model, after, after.labels if transition.goes_on else None)
    if transition.goes_on:
        attributes["choice_"] = _keep_choice(model.choice_, int(after.sizes[labels < 0].sum()))
    numbers, changes = match_numbers(transition, labels, attributes["n_clusters_"])
    if model.verbose:
        progress.say(str(changes))
    named = np.append(numbers, -1)  # the last entry is that of noise
    next_number = max(after.next_number, int(numbers.max(initial=-1)) + 1)
    summary = replace(after, labels=named[labels], next_number=next_number).settled()
    history = getattr(model, "history_", ())
    if not history and len(transition.before):  # the model was fitted
        history = (Step.first(transition.before, transition.sizes),)
    history = continue_history(history, Step.of(changes, summary.labels, summary.sizes))
    names = keep_names(getattr(model, "names_", {}), numbers, history)
    found = rename(attributes, numbers, named)
    found |= {"changes_": changes.named(names, {}), "history_": history, "names_": names}
    return {**found, "_summary": summary}


def find_clusters(
    model: Model, summary: Summary, former: IntArray | None
) -> tuple[dict[str, Any], IntArray]:
    """Return fitted attributes from what a model keeps of its rows, and the cluster of each group,
    from 0, or -1.

    Clusters of groups from before, the ``former`` ones, go on.
    """
    if summary.keeps_all:
        attributes = fit_kept(model, summary, former)
        return attributes, attributes["_rows"].look_up_labels()
    attributes = climb(model, summary, Kind.of(model, summary.batch_size).block_size, former)
    return attributes, attributes["_rows"].labels


def _keep_choice(choice: Choice | None, n_noise: int) -> Choice | None:
    """Return the choice of clusters that go on, with the number of rows that are in none of them
    now.
    """
    if choice is None or choice.min_share == 0 or choice.n_aside == n_noise:
        return choice
    return replace(choice, n_aside=n_noise)


def fit_kept(model: Model, summary: Summary, former: IntArray | None) -> dict[str, Any]:
    """Fit a model to all its rows, which it has kept.

    Clusters of rows from before, the ``former`` ones, go on.
    """
    values = summary.groups.values
    weights = summary.groups.weights
    fills = isinstance(values, np.ndarray) and validation.take_nan(model)
    data = InMemory(values, validation.column_means(values) if fills else None)
    set_state(model, column_means=data.column_means)
    settled = Settled(summary.entropy, summary.batch_size)
    attributes = dict(fit_data(Settings.of(model), data, weights, settled, former).attributes)
    if "_later" in attributes:  # the update makes another summary
        attributes["_later"] = {
            name: make for name, make in attributes["_later"].items() if name == "_tree"
        }
    return attributes


def climb(model: Model, summary: Summary, size: int, former: IntArray | None) -> dict[str, Any]:
    """Run the upper levels on the groups of a summary, in batches of about a size, and return
    fitted attributes.

    Clusters of groups from before, the ``former`` ones, go on.
    """
    with ExitStack() as contexts:
        contexts.enter_context(one_thread())
        contexts.enter_context(showing_warnings_once())
        groups = summary.groups.completed(state_of(model).column_means)
        batches = summary.batches
        data = InMemory(groups.values, state_of(model).column_means)
        settings = Settings.of(model)
        weighted = groups.weights is not None or settings.sum_mass
        settled = Settled(summary.entropy, size)
        contraction = make_contraction(
            settings, data, settled, weighted=weighted, n_batches=len(batches.sizes) + 1
        )
        if weighted:
            mass = upper_mass(groups, sum_mass=settings.sum_mass)
        else:
            mass = None
        first_level = FirstLevel.of_groups(groups.as_survivors(data.rows, mass, batches))
        fit = Fit(settings, data, None, summary.n_rows, contraction)
        state, records, tally = fit.climb(first_level, None, stays=former is not None)
        ending = fit.end(first_level, state, former)
        clusters = Clusters.of(settings, data, first_level, ending)
        fit.warn_of_problem(clusters.sizes)
        kept = keep_landmarks(model, summary, data, clusters)
        return {
            **attributes_by_cluster(data, None, clusters, ending, kept),
            "_landmarks": Landmarks(
                kept.points, clusters.labels[kept.leaves], metric=fit.contraction.space.name
            ),
            "_landmark_rows": kept.rows,
            "diagnostics_": records,
            "n_iter_": state.level,
            "batch_size_": summary.batch_size,
            "feature_agreement_": mean_of_tally(batches.tally + tally),
            "_rows": RowResults.of(
                summary.row_map, groups.rows, clusters.labels, summary.sizes, ending.state.fusions
            ),
            **(
                {"_later": {"_tree": ending.tree}}
                if callable(ending.tree)
                else {"_tree": ending.tree}
            ),
        }


def upper_mass(groups: RowGroups, *, sum_mass: bool) -> Mass:
    """Return the mass of groups in the upper levels: their total weight or, without ``sum_mass``, 1
    for each medoid.

    Rows that the first level has not clustered are not medoids, and keep their weight.
    """
    if sum_mass:
        return groups.mass
    return np.where(np.isnan(groups.stability), groups.mass, 1.0)


def keep_landmarks(model: Model, summary: Summary, data: InMemory, clusters: Clusters) -> KeptRows:
    """Choose rows to keep for ``predict``: among those that stand for groups and those that were
    kept before.
    """
    own = clusters.first_level.leaves.rows
    rows = own
    leaves = np.arange(len(own))
    points = fill_missing(data.X, data.column_means)
    before = getattr(model, "_landmark_rows", np.empty(0, dtype=np.int64))
    is_new = ~np.isin(before, own)
    if is_new.any():
        rows = np.concatenate([own, before[is_new]])
        leaves = np.concatenate([leaves, summary.row_map.find_leaves(before[is_new])])
        points = stack([points, state_of(model).landmarks.points[is_new]])
    order = np.argsort(rows)
    medoids = np.searchsorted(rows[order], own[clusters.medoids])
    rng = generator_at(summary.entropy, Draw.LANDMARKS)
    some = order[sample_landmarks(clusters.labels[leaves[order]], medoids, rng)]
    return KeptRows(rows[some], leaves[some], points[some])


def known_landmarks(model: Model) -> tuple[IntArray, Landmarks]:
    """Return row numbers and landmarks of a model whose values are those of rows, and not of
    stand-ins.

    The others stand for groups of the model, which an update chooses landmarks from anyway.
    """
    state = state_of(model)
    rows = state.landmark_rows
    landmarks = state.landmarks
    if state.summary is None:
        unknown: IntArray = np.arange(0)
    else:
        unknown = state.summary.unknown_rows
    if len(unknown) == 0:
        return rows, landmarks
    some = ~np.isin(rows, unknown)
    return rows[some], Landmarks(
        landmarks.points[some], landmarks.labels[some], metric=landmarks.metric
    )


# ---- numbers that last


def match_numbers(
    transition: Transition, labels: IntArray, n_clusters: int
) -> tuple[IntArray, Changes]:
    """Return the number of each cluster, and what has changed.

    ``labels`` has the cluster of each group of rows, numbered from 0 by first row, or -1.
    """
    after = transition.after
    overlap = Overlap.of(transition.before, labels[transition.now], transition.sizes)
    numbers = overlap.match(n_clusters, after.next_number, transition.n_first)
    clustered = labels >= 0
    rows_in = np.bincount(
        labels[clustered], weights=after.sizes[clustered], minlength=n_clusters
    ).astype(np.int64)
    update = len(after.update_rows) - 1
    changes = overlap.describe(
        numbers, rows_in, update, transition.n_rows, transition.lost, transition.n_first
    )
    return numbers, replace(changes, verb=transition.verb)


def rename(attributes: dict[str, Any], numbers: IntArray, named: IntArray) -> dict[str, Any]:
    """Return attributes of clusters with their lasting numbers, sorted by these."""
    order = np.argsort(numbers)
    # these are in former numbers
    found = {name: value for name, value in attributes.items() if name not in BY_ROW}
    return {
        **found,
        **{name: attributes[name][order] for name in BY_CLUSTER},
        "cluster_numbers_": numbers[order],
        "_landmarks": attributes["_landmarks"].renamed(named),
        "_rows": attributes["_rows"].renamed(named),
    }
