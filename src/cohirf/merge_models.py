"""Merge models that were fitted to different rows, by what they keep of these rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from cohirf.fitting.settings import Settings
from cohirf.rows.later import Later
from cohirf.summary.summary import Summary
from cohirf.updating.joining import Member, join, order_members


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
    clusters, or consists mostly of such rows, keeps the number of that one. Where several could
    keep it, or several numbers, as few rows of the first model as possible get another one. The
    clusters of the second model are numbered after those of the first, and so on, and any other
    cluster of the result has one of these numbers. ``changes_`` says which clusters have merged.
    The history of the first model goes on, and so do names.

    Unlike an update, a merge finds the clusters anew, with the rows of all models. So rows of the
    first model can come to another cluster, and then they have its number: where clusters overlap,
    those near a border; where clusters come apart or merge, more. ``changes_.n_moved`` counts them.

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
    members = [as_member(model) for model in models]
    check_models(models, members, exemplars_only=exemplars_only)
    return copy(models[0])._become(join(members, exemplars_only=exemplars_only))


def as_member(model: Any) -> Member:
    """Return the settings and the state of a fitted model; results on a device are loaded."""
    check_is_fitted(model, "n_clusters_")
    parameters = model._parameters
    parameters.refuse_updates()
    model._state.refuse_links()
    return Member(Settings.of(parameters, model._columns), model._state.in_this_process())


def find_largest(models: Sequence[Any]) -> int:
    """Return the position of the model with most rows.

    Of several, always the same one, in whatever order they are.
    """
    return int(order_members([as_member(model) for model in models])[0])


def in_other_units(model: Any, factor: Any, shift: Any) -> Any:
    """Return a copy of a model whose values are multiplied by the factor of their feature, and
    shifted.

    Only what merges use is converted: groups, landmarks and exemplars.
    """

    def convert(values: Any) -> Any:
        return (values * factor + shift).astype(values.dtype)

    member = as_member(model)
    state = member.state
    groups = member.summary.groups
    groups = replace(groups, values=convert(groups.values), means=convert(groups.means))
    landmarks = replace(state.landmarks, points=convert(state.landmarks.points), cells=None)
    clusters = replace(state.clusters, exemplars=convert(state.clusters.exemplars))
    summary: Later[Summary | None] = Later.known(replace(member.summary, groups=groups))
    state = replace(state, clusters=clusters, landmarks=landmarks, summary=summary)
    return copy(model)._become(state)


def check_models(models: Sequence[Any], members: Sequence[Member], *, exemplars_only: bool) -> None:
    """Raise unless the models can be merged."""
    if not models:
        raise ValueError("models is empty: pass at least one fitted model.")
    first = models[0]
    for number, (model, member) in enumerate(zip(models, members, strict=True)):
        member.summary.row_map.require_here(f"The rows of model {number}")
        if model._columns != first._columns:
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
        one = members[0].settings.base_name
        other = member.settings.base_name
        if one != other:
            raise ValueError(
                f"Model {number} has the base method {other}, and the first one {one}: their "
                "groups cannot be merged. Fit all models with the same base method."
            )
        if exemplars_only and not member.settings.family.contracts_updates:
            raise ValueError(
                f"exemplars_only=True does not work with {other}, which depends on the density of "
                "rows."
            )
        if exemplars_only and (member.summary.labels < 0).any():
            raise ValueError(
                "exemplars_only=True needs models in which every row has a cluster, but model "
                f"{number} has noise: use a base method that finds none, and min_cluster_size=1."
            )
