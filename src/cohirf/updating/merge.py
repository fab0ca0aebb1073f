"""Merge models that were fitted to different rows, by what they keep of these rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cohirf import validation
from cohirf.data import InMemory
from cohirf.fitting.settings import Settings
from cohirf.landmarks import Landmarks
from cohirf.rows.grouping import IntArray
from cohirf.summary.model import Model, base_method_of, set_state, state_of
from cohirf.summary.numbers import Step
from cohirf.summary.rows import RowMap, replace_results
from cohirf.summary.summary import ContractedBatches, RowGroups, Summary, stack
from cohirf.updating.methods import bring_here
from cohirf.updating.rerun import Kind, Transition, find_clusters, known_landmarks, rerun
from cohirf.updating.update import goes_on, refuse_rows, summary_of


def merge(models: Sequence[Any], *, exemplars_only: bool = False) -> Any:
    """Return one model out of several that were fitted to different rows with the same features.

    The rows are not needed: the groups of rows that the models keep are put together, and the
    levels above them run again. While there are few rows, the clusters are those of a ``fit`` to
    all rows, the largest model first; see
    :meth:`CoHiRF.partial_fit`. So the clusters do not depend on the order of the models, if these
    have the same parameters. Only methods that find the number of clusters themselves see the rows
    in the given order. If the number of clusters is given, there are as many as in the model with
    most, where some may have been born since its fit.

    The numbers of the first model last: a cluster of the result that has most rows of one of its
    clusters, or consists mostly of such rows, keeps the number of that one. The clusters of the
    second model are numbered after those of the first, and so on, and any other cluster of the
    result has one of these numbers. ``changes_`` says which clusters have merged. The history of
    the first model goes on, and so do names.

    Parameters
    ----------
    models : list of CoHiRF
        Fitted models. Their base methods should be the same; the result has the parameters of the
        first. Results that are on a device are loaded into this process; of models that were fitted
        on Dask, call ``gather()`` before.
    exemplars_only : bool, default=False
        Reduce each model to its clusters first: of each cluster, only the exemplar, the mean and
        the number of rows are used. This needs a base method that takes the number of clusters, and
        models without noise. The result is coarser: whole clusters merge.
        ``merge([model], exemplars_only=True)`` reduces a single model, and a place can do so before
        it sends the model elsewhere.

    Returns
    -------
    model : CoHiRF
        A model with the rows of all models, one after the other. The given models are not changed.

    Raises
    ------
    ValueError
        If the models have other features, or do not keep what a merge needs.

    Notes
    -----
    A model has, and its saved directory contains:

    - values of some rows: the medoid of each group, up to 10,000 landmarks, the medoid and the
      exemplar of each cluster, and rows that are not in a group yet; with few rows, all of them
      (see ``partial_fit``),
    - the mean, the number of rows and the weight of each group,
    - for each row, in order, its group, its cluster and its stability, but not its values.

    With ``exemplars_only=True``, the values are one row and one mean for each cluster. This is
    less, but not anonymous: an exemplar is a row of the data as it is, the mean and the size of a
    small cluster can give away a single row, and differences between two versions of a model show
    the rows that came between them. Nothing here protects single rows in the sense of differential
    privacy. If exemplars must not leave a place, do not send the model.

    See Also
    --------
    CoHiRF.partial_fit : Adds rows to a model.

    Examples
    --------
    >>> from sklearn.base import clone
    >>> from sklearn.datasets import make_blobs
    >>> import cohirf
    >>> X, y = make_blobs(900, n_features=20, centers=3, random_state=0)
    >>> model = cohirf.CoHiRF(n_clusters=3, random_state=0)
    >>> sites = [clone(model).fit(X[start : start + 300]) for start in (0, 300, 600)]
    >>> model = cohirf.merge(sites)
    >>> model.n_clusters_, len(model.labels_)
    (3, 900)
    >>> print(model.changes_)
    Update 2: models merged, 600 rows added, 0 older rows have another number
      grown: 0 (217 rows); 1 (191 rows); 2 (192 rows)
      merged: 1 <- 3, 7; 0 <- 4, 6; 2 <- 5, 8
    """
    models = [load_results(model) for model in models]
    check_models(models, exemplars_only=exemplars_only)
    summaries = [
        reduce_to_clusters(model) if exemplars_only else summary_of(model) for model in models
    ]
    merged = copy(models[0])
    merged.names_ = join_names(models, summaries)
    merged.history_ = models[0].history_ or (Step.first(summaries[0].labels, summaries[0].sizes),)
    if depends_on_order(merged):
        order = order_models(summaries)
    else:
        order = np.arange(len(models))
    set_state(merged, column_means=state_of(models[order[0]]).column_means)
    join_landmarks(merged, models, exemplars_only=exemplars_only)
    transition = join_summaries(merged, models, summaries)
    n_wanted = count_wanted(models)
    if (order[1:] < order[:-1]).any() or n_wanted != Settings.of(merged).family.n_clusters:
        # clusters are found in another order than that of the rows, or more than at the fit; then
        # they go on in this
        ordered = copy(merged)
        ordered.n_clusters = merged.n_clusters if n_wanted is None else n_wanted
        join_landmarks(ordered, [models[one] for one in order], exemplars_only=exemplars_only)
        transition = find_in_order(ordered, models, summaries, order, transition)
        merged.choice_ = ordered.choice_
    attributes = rerun(merged, transition)
    replace_results(merged, copy(merged), attributes)
    return merged


def join_names(models: list[Any], summaries: list[Summary]) -> dict[int, str]:
    """Return the names of the clusters of all models.

    Those of the second are numbered after the first, and so on.
    """
    starts = np.cumsum([0, *(summary.next_number for summary in summaries)]).tolist()
    pairs = zip(models, starts, strict=False)
    return {start + number: name for model, start in pairs for number, name in model.names_.items()}


def depends_on_order(model: Model) -> bool:
    """Return whether the clusters of a model depend on the order of its rows, by which random
    numbers are drawn.
    """
    return Kind.of(model, None).takes_k or Settings.of(model).family.clusters_last


def count_wanted(models: Sequence[Any]) -> int | None:
    """Return the number of clusters of a merged model, if that is given: clusters that were born
    since the fit count.

    None if the number is chosen, or found by the base method.
    """
    given: int | None = Settings.of(models[0]).family.n_clusters
    if given is None or len(models) == 1:
        return given
    return max(given, *(int(model.n_clusters_) for model in models))


def order_models(summaries: list[Summary]) -> IntArray:
    """Return an order of models that is the same however they are given: the largest first, then by
    their values.
    """
    keys = [
        (-summary.n_rows, InMemory(summary.groups.values).fingerprint()) for summary in summaries
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__))


def find_largest(models: Sequence[Any]) -> int:
    """Return the position of the model with most rows.

    Of several, always the same one, in whatever order they are.
    """
    return int(order_models([summary_of(model) for model in models])[0])


def find_in_order(
    ordered: Any,
    models: list[Any],
    summaries: list[Summary],
    order: IntArray,
    transition: Transition,
) -> Transition:
    """Return the change to a merged model whose clusters are found with the rows of the models in
    an ``order``.

    The model ``ordered`` has the landmarks in this order, and gets the choice of the number of
    clusters.
    """
    of_order = join_summaries(
        ordered, [models[one] for one in order], [summaries[one] for one in order]
    )
    attributes, labels = find_clusters(ordered, of_order.after, None)
    ordered.choice_ = attributes["choice_"]
    bounds = np.cumsum([len(summaries[one].groups) for one in order])[:-1]
    of_models = dict(zip(order.tolist(), np.split(labels, bounds), strict=True))
    found = np.concatenate([of_models[number] for number in range(len(models))])
    return replace(transition, after=replace(transition.after, labels=found), goes_on=True)


def load_results(model: Model) -> Any:
    """Return a copy of a fitted model.

    Results that are on a device are in this process, as after an update.
    """
    check_is_fitted(model, "n_clusters_")
    loaded = copy(model)
    bring_here(loaded, None)
    return loaded


def in_other_units(model: Model, factor: Any, shift: Any) -> Any:
    """Return a copy of a model whose values are multiplied by the factor of their feature, and
    shifted.

    Only what merges use is converted: groups, landmarks and exemplars.
    """

    def convert(values: Any) -> Any:
        return (values * factor + shift).astype(values.dtype)

    converted = copy(model)
    summary = summary_of(model)
    groups = replace(
        summary.groups, values=convert(summary.groups.values), means=convert(summary.groups.means)
    )
    landmarks = state_of(model).landmarks
    landmarks = replace(landmarks, points=convert(landmarks.points), cells=None)
    set_state(converted, summary=replace(summary, groups=groups), landmarks=landmarks)
    converted.exemplars_ = convert(model.exemplars_)
    return converted


def check_models(models: list[Any], *, exemplars_only: bool) -> None:
    """Raise unless the models can be merged."""
    if not models:
        raise ValueError("models is empty: pass at least one fitted model.")
    first = models[0]
    for number, model in enumerate(models):
        if not summary_of(model).row_map.is_here:
            raise ValueError(
                f"The rows of model {number} are on Dask: call gather() first, which loads 8 bytes "
                "per row."
            )
        if _features_of(model) != _features_of(first):
            raise ValueError(
                f"Model {number} has other features than the first one: fit all models to the same "
                "features."
            )
        if model.metric != first.metric:
            raise ValueError(
                f"Model {number} has metric={model.metric!r}, and the first one "
                f"metric={first.metric!r}: rows of length 1 cannot be merged with others. Fit all "
                "models with the same metric."
            )
        one, other = (type(base_method_of(each)).__name__ for each in (first, model))
        if one != other:
            raise ValueError(
                f"Model {number} has the base method {other}, and the first one {one}: their "
                "groups cannot be merged. Fit all models with the same base method."
            )
        if exemplars_only and not Kind.of(model, None).takes_k:
            name = type(base_method_of(model)).__name__
            raise ValueError(
                f"exemplars_only=True does not work with {name}, which depends on the density of "
                "rows."
            )
        if exemplars_only and (summary_of(model).labels < 0).any():
            raise ValueError(
                "exemplars_only=True needs models in which every row has a cluster, but model "
                f"{number} has noise: use a base method that finds none, and min_cluster_size=1."
            )


def _features_of(model: Model) -> tuple[Any, ...]:
    return model.n_features_in_, *getattr(model, "feature_names_in_", ())


def reduce_to_clusters(model: Model) -> Summary:
    """Return the summary of a model with one group for each cluster: its exemplar, its mean and its
    number of rows.
    """
    summary = summary_of(model)
    groups = summary.groups.completed(state_of(model).column_means)
    numbers = model.cluster_numbers_
    label = np.searchsorted(numbers, summary.labels)
    rows = model.exemplar_indices_
    order = np.argsort(rows)
    whole = groups.joined(np.zeros(len(numbers), dtype=np.int64), label, 1)
    clusters = replace(
        whole,
        rows=rows,
        values=model.exemplars_,
        stability=np.full(len(numbers), np.nan, dtype=np.float32),
        is_stand_in=np.isin(rows, summary.unknown_rows),
    )
    return replace(
        summary,
        groups=clusters.take(order),
        row_map=summary.row_map.moved(np.argsort(order)[label]),
        batches=_one_batch(model, summary.n_rows) if summary.keeps_all else summary.batches,
        labels=numbers[order],
    )


def _one_batch(model: Model, n_rows: int) -> ContractedBatches:
    costs = np.array([[validation.count_views(model.views), np.nan, 1.0, 0.0, 0.0, 0.0]])
    return ContractedBatches(np.array([n_rows]), costs, np.zeros((2, model.n_features_in_)))


def join_landmarks(merged: Any, models: list[Any], *, exemplars_only: bool) -> None:
    """Give the merged model the landmarks of all models; none if only exemplars are used."""
    starts = np.cumsum([0, *(summary_of(model).n_rows for model in models)])
    of_models, parts = zip(*map(known_landmarks, models), strict=True)
    rows = np.concatenate(
        [of_model + start for of_model, start in zip(of_models, starts, strict=False)]
    )
    some = np.arange(0 if exemplars_only else len(rows))
    points = stack([part.points for part in parts])[some]
    labels = np.concatenate([part.labels for part in parts])[some]
    landmarks = Landmarks(points, labels, metric=parts[0].metric)
    set_state(merged, landmark_rows=rows[some], landmarks=landmarks)


def join_summaries(merged: Any, models: list[Any], summaries: list[Summary]) -> Transition:
    """Return the change from several models to one with the rows of all."""
    first = summaries[0]
    numbers = np.cumsum([0, *(summary.next_number for summary in summaries)])
    before = [
        np.where(summary.labels < 0, -1, summary.labels + number)
        for summary, number in zip(summaries, numbers, strict=False)
    ]
    joined = replace(
        first,
        next_number=int(numbers[-1]),
        update_rows=tuple(n_rows for summary in summaries for n_rows in summary.update_rows),
    )
    kind = Kind.of(merged, first.batch_size)
    n_rows = sum(summary.n_rows for summary in summaries)
    sizes = np.concatenate([summary.sizes for summary in summaries])
    keeps_all = all(summary.keeps_all for summary in summaries) and kind.keeps_all(n_rows)
    if not keeps_all and not kind.takes_k:
        refuse_rows(merged, n_rows)
    after = _join_groups(joined, summaries)
    if not keeps_all:
        after = replace(after, batches=_join_batches(models, summaries))
    going_on = len(models) == 1 and goes_on(models[0], first)
    return Transition(
        after,
        np.concatenate(before),
        np.arange(len(sizes)),
        sizes,
        n_rows - first.n_rows,
        goes_on=going_on,
        n_first=first.next_number,
        verb="merge",
    )


def _join_groups(joined: Summary, summaries: list[Summary]) -> Summary:
    """Return the summary with the groups of all models."""
    row_starts = np.cumsum([0, *(summary.n_rows for summary in summaries)])
    group_starts = np.cumsum([0, *(len(summary.groups) for summary in summaries)])
    groups = [
        summary.groups.shifted(int(start))
        for summary, start in zip(summaries, row_starts, strict=False)
    ]
    parts = [
        part
        for summary, (start, stop) in zip(summaries, pairwise(group_starts.tolist()), strict=True)
        for part in summary.row_map.moved(np.arange(start, stop)).parts
    ]
    return replace(joined, groups=RowGroups.join(groups), row_map=RowMap(tuple(parts)))


def _join_batches(models: list[Any], summaries: list[Summary]) -> ContractedBatches:
    batches = [summary.batches for summary in summaries if not summary.keeps_all]
    if not batches:
        batches = [
            _one_batch(model, summary.n_rows)
            for model, summary in zip(models, summaries, strict=True)
        ]
    return ContractedBatches(
        np.concatenate([each.sizes for each in batches]),
        np.concatenate([each.costs for each in batches]),
        np.sum([each.tally for each in batches], axis=0),
    )
