"""Local batches of a fit: whether it has them, how wide their halos are, and what labels them.

Methods that find the number of clusters go by the density of the data, which neighbouring rows
have and random ones have not. ``families.py`` has what differs for DBSCAN and HDBSCAN.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.contract_batch import Contraction
from cohirf.beyond.fuse_batches import find_parts, number_parts
from cohirf.beyond.local_batches import Locality
from cohirf.beyond.policy import CELL
from cohirf.beyond.reach import REACH_MARGIN, can_be_local, find_reach, links_every_row
from cohirf.clusterers.density_labels import DensityLabels
from cohirf.clusterers.grid_dbscan import GridDBSCAN, has_kernels
from cohirf.data import Data
from cohirf.data.first_level import FirstLevel
from cohirf.fitting.policy import LOCAL
from cohirf.optional import import_optional, is_installed
from cohirf.planning.memory import format_bytes, resident_bytes
from cohirf.planning.plan import Room
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import IntArray
from cohirf.rows.metric_spaces import find_space
from cohirf.rows.storage import ArrayWeights
from cohirf.spanning.policy import LISTS
from cohirf.spanning.settings import SpanningSettings, find_obstacle, settings_of
from cohirf.spanning.spanning_labels import SpanningLabels, may_miss_neighbours
from cohirf.wording import setting


@dataclass(frozen=True)
class LocalData:
    """The rows that the local batches of a fit are made of, and how these are contracted."""

    data: Data
    n_rows: int  # number of rows that take part
    contraction: Contraction
    weights: Any = None  # sample weights

    @property
    def method(self) -> Any:
        """The base method."""
        return self.contraction.views.method.prototype

    @property
    def name(self) -> str:
        """Name of the base method in messages."""
        return self.contraction.views.method.name

    @property
    def sees_everything(self) -> bool:
        """Whether the base method clusters each batch once, with all features."""
        views = self.contraction.views
        n_features = self.data.n_features
        return views.n_features == n_features and views.n_runs(n_features) == 1

    @property
    def are_dense(self) -> bool:
        """Whether a batch of the rows has room in memory as an array.

        Sparse rows of very many features might have none.
        """
        if self.data.n_features <= LOCAL.sparse_features:
            return True
        return container_of(self.data.take(np.arange(1))).is_dense


@dataclass(frozen=True)
class LocalSize:
    """What is known of the size of local batches before any is measured."""

    is_known: bool = False  # whether none is measured, because the base method is not called
    n_rows: int | None = None  # the size, if it is known; None for one batch
    may_grow: bool = False  # whether batches become larger until their halos have room


@dataclass(frozen=True)
class LocalPlan:
    """How the local batches of a fit are made, labelled, and put together."""

    locality: Locality
    method: Any  # the base method
    # Labels the rows of all batches in one go; None if the base method is called on each
    label_batches: DensityLabels | SpanningLabels | None = None
    labelled_kind: str = "exact"  # the kind of a level that was labelled in one go

    def kind_of(self, first_level: FirstLevel) -> str:
        """Return the kind of a first level, as in its record."""
        local = first_level.local
        if first_level.known is not None:
            return self.labelled_kind
        assert local is not None  # batches are local
        if local.n_batches == 1:
            return "all"
        if local.is_exact and (self._one_link_is_enough(first_level) or len(local.halo) == 0):
            return "exact"
        return "local"

    def find_parts(self, first_level: FirstLevel, taking_part: IntArray | None) -> IntArray | None:
        """Return a number for each leaf, the same for parts of one cluster.

        None if batches have nothing in common. ``taking_part`` are the rows of positive weight, or
        None for all.
        """
        links = first_level.links
        local = first_level.local
        leaves = first_level.leaves
        if first_level.known is not None:
            return number_parts(first_level.known)
        if not links or local is None:
            return None
        batch = None
        if not self._one_link_is_enough(first_level):
            batch = local.find_batches(
                leaves.rows if taking_part is None else np.searchsorted(taking_part, leaves.rows)
            )
        return find_parts(links, first_level.part.leaf_of, leaves, batch)

    def _one_link_is_enough(self, first_level: FirstLevel) -> bool:
        """Return whether a single row in common makes clusters of two batches one.

        A core row of DBSCAN in a batch is a core row of the data, and all rows of a single linkage
        are.
        """
        links = first_level.links
        are_core = len(links) > 0 and all(part.by_core for part in links)
        return are_core or links_every_row(self.method)


def refuse_pipeline(method: Any) -> None:
    """Raise for a pipeline in local batches."""
    if isinstance(method, Pipeline):
        raise ValueError(  # noqa: TRY004 - not a wrong type, but a wrong combination
            'batches="local" cannot be combined with a pipeline: its first steps would treat each '
            "batch differently. "
            'Transform X before the fit, or use batches="random".'
        )


def plan_by_reach(rows: LocalData) -> LocalPlan:
    """Return the plan of a base method that is called on each batch.

    Halos follow from its radius, or have as many rows as their cells.
    """
    method = rows.method
    batch_size = rows.contraction.batch_size
    assert batch_size is not None  # there are several batches
    if not can_be_local(method, rows.data.n_features):
        raise ValueError(
            f"{rows.name} with metric={method.metric!r} cannot be divided into local "
            "batches, which would cut clusters where they meet: set batch_size=None, which "
            "contracts all rows together, or choose "
            'batches="random". Local batches can have metric="euclidean"; with a radius, such as '
            "eps of DBSCAN, also "
            '"manhattan", "chebyshev" or "minkowski"; and with DBSCAN or HDBSCAN and all '
            'features, "haversine" or "cosine".'
        )
    if rows.sees_everything:
        reach = find_reach(method, rows.data.n_features)
    else:
        reach = None
    locality = _make_locality(rows, batch_size, LOCAL.overlap, reach)
    return LocalPlan(locality, method)


def _make_locality(
    rows: LocalData, batch_size: int, overlap: float, reach: float | None
) -> Locality:
    views = rows.contraction.views
    embed = rows.contraction.space.embed
    return Locality(batch_size, overlap, reach, views.entropy, embed=embed)


# ---- DBSCAN


def find_density(rows: LocalData) -> DensityLabels | None:
    """Return the settings of DBSCAN if its labels in local batches are computed.

    None if it is called on each batch.
    """
    method = rows.method
    data = rows.data
    weights = rows.weights
    space = rows.contraction.space
    if not isinstance(method, GridDBSCAN):
        return None
    has_space = find_space(method) is space
    radius = space.radius(float(method.eps))
    if has_space:
        reach: float | None = 2 * radius * REACH_MARGIN
    else:
        reach = find_reach(method, data.n_features)
    if reach is None or not rows.sees_everything or not rows.are_dense:
        return None
    # weights on a cluster or on a device are not looked at
    known = weights.in_process if isinstance(weights, ArrayWeights) else None
    is_known = weights is None or known is not None
    is_quick = (
        has_space and is_installed("numba") and is_known and has_kernels(data.n_features, known)
    )
    norm = {} if has_space else {"metric": method.metric, "p": method.p}
    return DensityLabels(space, radius, int(method.min_samples), is_quick, reach, norm)


def plan_density(rows: LocalData, density: DensityLabels) -> LocalPlan:
    """Return the plan of DBSCAN whose labels are computed."""
    batch_size = rows.contraction.batch_size
    assert batch_size is not None  # there are several batches
    if density.has_kernels:
        size = max(batch_size, LOCAL.density_rows)
    else:
        size = batch_size
    locality = Locality(
        size,
        LOCAL.overlap,
        density.reach,
        rows.contraction.views.entropy,
        grows=True,
        embed=density.space.embed,
    )
    return LocalPlan(locality, rows.method, density)


# ---- HDBSCAN


def find_spanning(rows: LocalData) -> SpanningSettings | None:
    """Return the settings of HDBSCAN if spanning trees label the local batches.

    None if it is called on each batch.
    """
    settings = settings_of(rows.method)
    if settings is None or not rows.sees_everything or not rows.are_dense:
        return None
    if rows.n_rows > LOCAL.most_spanned:
        raise ValueError(
            f"HDBSCAN in local batches takes at most {LOCAL.most_spanned:,} rows, and X has "
            f'{rows.n_rows:,}: use batches="random", '
            f"or DBSCAN."
        )
    import_optional("numba", "fast", 'HDBSCAN in local batches, but not with batches="random",')
    return settings


def plan_spanning(rows: LocalData, spanned: SpanningSettings) -> LocalPlan:
    """Return the plan of HDBSCAN whose labels follow from spanning trees."""
    data = rows.data
    batch_size = rows.contraction.batch_size
    assert batch_size is not None  # there are several batches
    size = max(batch_size, count_spanned(data, spanned))
    locality = _make_locality(
        rows, size, LOCAL.spanned_overlap, find_reach(rows.method, data.n_features)
    )
    has_gaps = data.column_means is not None
    space = rows.contraction.space
    labels = SpanningLabels(spanned, locality, has_gaps, data.n_features, space)
    return LocalPlan(locality, rows.method, labels, "spanning")


def refuse_obstacle(rows: LocalData) -> None:
    """Raise for parameters of HDBSCAN with which local batches are no part of it."""
    obstacle = find_obstacle(rows.method)
    if obstacle is not None and rows.sees_everything:
        raise ValueError(
            f"{rows.name} with {obstacle} cannot be divided into local batches: its "
            "spanning tree over several batches is not computed for this. Leave "
            f"{obstacle.partition('=')[0]} at its default; or set batch_size=None, which runs "
            f"{rows.name} on all rows together; or choose "
            'batches="random".'
        )


def count_spanned(data: Data, spanned: SpanningSettings, room: Room | None = None) -> int:
    """Return the smallest number of rows of a batch whose spanning tree is computed.

    If the ``room`` of a limit of memory is too small, an error says what is needed.
    """
    may_miss = may_miss_neighbours(data.n_features)
    is_found_later = may_miss and spanned.min_samples <= LISTS.longest
    n_rows = LOCAL.spanned_rows // LOCAL.smaller_listed if is_found_later else LOCAL.spanned_rows
    if room is not None and not data.is_on_cluster:
        row_bytes = LOCAL.spanned_bytes + 24 * data.n_features + 12 * spanned.min_samples
        batch_bytes = room.n_jobs * int(
            CELL.largest_batch * row_bytes * min(n_rows, data.rows.n_rows)
        )
        kept_bytes = (LOCAL.listed_kept if may_miss else LOCAL.spanned_kept)[
            room.held_bytes is None
        ] * data.rows.n_rows
        _take_room(
            room.memory_limit, "HDBSCAN", batch_bytes, "cohirf.spanning.batch_kernels", kept_bytes
        )
    return n_rows


# ---- memory


def count_dense(data: Data, memory_limit: int, *, must_fit: bool) -> int | None:
    """Return the number of rows of a batch that kernels label.

    None for one batch, which is faster if it has room.

    If a batch ``must_fit`` and does not, an error says what it needs.
    """
    n_rows: int = data.rows.n_rows
    if data.is_on_cluster:
        return min(n_rows, LOCAL.density_rows)
    row_bytes = LOCAL.density_bytes + data.n_features * np.dtype(data.dtype).itemsize
    if (
        resident_bytes() + _compiled_bytes("cohirf.clusterers.grid_kernels") + row_bytes * n_rows
        <= memory_limit
    ):
        return None
    if must_fit:
        _take_room(
            memory_limit,
            "DBSCAN",
            int((1 + LOCAL.overlap) * row_bytes * min(n_rows, LOCAL.density_rows)),
            "cohirf.clusterers.grid_kernels",
        )
    return min(n_rows, LOCAL.density_rows)


def _compiled_bytes(kernels: str) -> int:
    return 0 if kernels in sys.modules else LOCAL.kernel_bytes


def _take_room(
    memory_limit: int, method: str, batch_bytes: int, kernels: str, kept_bytes: int = 0
) -> None:
    """Raise an error if batches, and what is kept for all rows, have no room in memory."""
    compiled = _compiled_bytes(kernels)
    taken = resident_bytes() + compiled + kept_bytes
    if taken + batch_bytes > memory_limit:
        if kept_bytes:
            kept = f" and {format_bytes(kept_bytes)} for what is kept of all rows"
        else:
            kept = ""
        raise ValueError(
            f"{format_bytes(memory_limit)} of memory is too little: this process takes "
            f"{format_bytes(taken)}, of which {format_bytes(compiled)} for compiled code{kept}, "
            f"and a batch of {method} takes {format_bytes(batch_bytes)}. "
            "Allow more, such as "
            f"{setting('batch_size', format_bytes(1.2 * (taken + batch_bytes)))}."
        )


def finds_number_itself(estimator: Any) -> bool:
    """Return whether a clustering method finds the number of clusters itself, and takes rows of
    features.

    The steps of a pipeline before it must see random rows: a scaler would give each local batch
    another scale.
    """
    if hasattr(estimator, "_base_method"):  # a model of ours
        return estimator.n_clusters is None and finds_number_itself(estimator._base_method())
    method = BaseMethod.of(estimator)
    takes_features = (
        method.clusterer is method.prototype
        and getattr(method.clusterer, "metric", None) != "precomputed"
    )
    return method.number_name is None and takes_features
