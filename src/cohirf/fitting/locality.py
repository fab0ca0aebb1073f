"""Whether the batches of a fit are local, and how wide their halos should be."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.contract_batch import Contraction
from cohirf.beyond.local_batches import LARGEST_BATCH, Locality
from cohirf.beyond.reach import REACH_MARGIN, can_be_local, find_reach
from cohirf.clusterers.density_labels import DensityLabels
from cohirf.clusterers.grid_dbscan import GridDBSCAN, has_kernels
from cohirf.data import Data
from cohirf.data.on_dask import OnDask
from cohirf.fitting.settings import Settings
from cohirf.optional import import_optional, is_installed
from cohirf.planning.memory import format_bytes, resident_bytes
from cohirf.planning.plan import Room
from cohirf.rows.arrays import is_here
from cohirf.rows.metric_spaces import find_space
from cohirf.rows.storage import ArrayWeights
from cohirf.spanning.settings import SpanningSettings, find_obstacle, settings_of
from cohirf.spanning.spanning_labels import LONGEST_LIST, SpanningLabels, may_miss_neighbours

# A spanning tree takes about 300 bytes per row, and the larger a batch, the fewer edges of the tree
# of all rows leave it. So its batches have at least so many rows. With many features, the time for
# a row grows with the batch, and neighbours that batches miss are found afterwards: batches are so
# many times smaller.
SPANNED_ROWS = 2**17
SMALLER_LISTED = 16
SPANNED_BYTES = 350  # of a row of a batch, beside its values and its neighbours
# Kept for each row of the data, where edges and lists of neighbours are in files, and where in
# memory. Only the first was measured; the others are estimates.
SPANNED_KEPT = (36, 120)
LISTED_KEPT = (240, 640)
# Rows of a halo that does not follow from a radius, in multiples of the rows of its cell. With 1,
# each row is clustered about twice; wider halos cost as much more. Spanning trees need less: edges
# that no batch has are found afterwards.
OVERLAP = 1.0
SPANNED_OVERLAP = 0.5
# Kernels of DBSCAN take about 150 bytes per row, and no longer for each row of a larger batch. So
# its batches have at least so many rows.
DENSITY_ROWS = 2**17
DENSITY_BYTES = 150
# measured, while they are compiled
KERNELS = "cohirf.clusterers.grid_kernels"
KERNEL_BYTES = 160_000_000
SPARSE_FEATURES = 256  # sparse rows with more features are not made dense for spanning trees
MAX_SPANNED = 2**30 - 1  # the nodes of the tree of merges are numbered by 32-bit integers


def choose_locality(
    settings: Settings, data: Data, n_rows: int, contraction: Contraction, weights: Any = None
) -> tuple[Locality | None, SpanningLabels | DensityLabels | None]:
    """Return how the local batches of a fit are made, and what labels them if the base method does
    not.

    The first is None if batches are random, or if there is only one.
    """
    views = contraction.views
    batch_size = contraction.batch_size
    if (
        batch_size is None
        or count_batches(n_rows, batch_size) == 1
        or not are_local(settings, views.method.prototype)
    ):
        return None, None
    if isinstance(views.method.prototype, Pipeline):
        raise ValueError(  # noqa: TRY004 - not a wrong type, but a wrong combination
            'batches="local" cannot be combined with a pipeline: its first steps would treat each '
            "batch differently. "
            'Transform X before the fit, or use batches="random".'
        )
    method = views.method.prototype
    density = choose_density(data, contraction, weights)
    if density is not None:
        if density.has_kernels:
            size = max(batch_size, DENSITY_ROWS)
        else:
            size = batch_size
        grown = Locality(
            size, OVERLAP, density.reach, views.entropy, grows=True, embed=density.space.embed
        )
        return grown, density
    spanned = choose_settings(data, n_rows, contraction)
    if spanned is not None:
        batch_size = max(batch_size, count_spanned(data, spanned))
    elif not can_be_local(method, data.n_features):
        raise ValueError(
            f"{views.method.name} with metric={method.metric!r} cannot be divided into local "
            "batches, which would cut clusters where they meet: set batch_size=None, which "
            "contracts all rows together, or choose "
            'batches="random". Local batches can have metric="euclidean"; with a radius, such as '
            "eps of DBSCAN, also "
            '"manhattan", "chebyshev" or "minkowski"; and with DBSCAN or HDBSCAN and all '
            'features, "haversine" or "cosine".'
        )
    elif _sees_everything(data, contraction) and (obstacle := find_obstacle(method)) is not None:
        raise ValueError(
            f"{views.method.name} with {obstacle} cannot be divided into local batches: its "
            "spanning tree over several batches is not computed for this. Leave "
            f"{obstacle.partition('=')[0]} at its default; or set batch_size=None, which runs "
            f"{views.method.name} on all rows together; or choose "
            'batches="random".'
        )
    if _sees_everything(data, contraction):
        reach = find_reach(method, data.n_features)
    else:
        reach = None
    space = contraction.space
    found = Locality(batch_size, choose_overlap(spanned), reach, views.entropy, embed=space.embed)
    if spanned is None:
        return found, None
    has_gaps = data.column_means is not None
    return found, SpanningLabels(spanned, found, has_gaps, data.n_features, settings.n_jobs, space)


def are_local(settings: Settings, method: Any) -> bool:
    """Return whether the batches of a fit are local, if there are several.

    ``method`` is its base method.
    """
    if settings.is_local is None:
        return finds_number_itself(method)
    return settings.is_local


def choose_density(data: Data, contraction: Contraction, weights: Any) -> DensityLabels | None:
    """Return the settings of DBSCAN if its labels in local batches are computed.

    None for other base methods.
    """
    method = contraction.views.method.prototype
    space = contraction.space
    if not isinstance(method, GridDBSCAN):
        return None
    has_space = find_space(method) is space
    radius = space.radius(float(method.eps))
    if has_space:
        reach: float | None = 2 * radius * REACH_MARGIN
    else:
        reach = find_reach(method, data.n_features)
    if reach is None or not _sees_everything(data, contraction):
        return None
    if data.n_features > SPARSE_FEATURES and sparse.issparse(data.take(np.arange(1))):
        return None  # dense batches of so many features might not fit into memory
    # weights on a cluster or on a device are not looked at
    is_known = weights is None or (isinstance(weights, ArrayWeights) and is_here(weights.values))
    known = None if weights is None or not is_known else weights.values
    is_quick = (
        has_space and is_installed("numba") and is_known and has_kernels(data.n_features, known)
    )
    norm = {} if has_space else {"metric": method.metric, "p": method.p}
    return DensityLabels(space, radius, int(method.min_samples), is_quick, reach, norm)


def choose_overlap(spanned: SpanningSettings | None) -> float:
    """Return the number of rows in a halo, in multiples of the rows of its cell."""
    return OVERLAP if spanned is None else SPANNED_OVERLAP


def count_spanned(data: Data, spanned: SpanningSettings, room: Room | None = None) -> int:
    """Return the smallest number of rows of a batch whose spanning tree is computed.

    If the ``room`` of a limit of memory is too small, an error says what is needed.
    """
    may_miss = may_miss_neighbours(data.n_features)
    is_found_later = may_miss and spanned.min_samples <= LONGEST_LIST
    n_rows = SPANNED_ROWS // SMALLER_LISTED if is_found_later else SPANNED_ROWS
    if room is not None and not isinstance(data, OnDask):
        row_bytes = SPANNED_BYTES + 24 * data.n_features + 12 * spanned.min_samples
        batch_bytes = room.n_jobs * int(LARGEST_BATCH * row_bytes * min(n_rows, data.rows.n_rows))
        kept_bytes = (LISTED_KEPT if may_miss else SPANNED_KEPT)[
            room.held_bytes is None
        ] * data.rows.n_rows
        _take_room(
            room.memory_limit, "HDBSCAN", batch_bytes, "cohirf.spanning.batch_kernels", kept_bytes
        )
    return n_rows


def count_dense(data: Data, memory_limit: int, *, must_fit: bool) -> int | None:
    """Return the number of rows of a batch that kernels label.

    None for one batch, which is faster if it has room.

    If a batch ``must_fit`` and does not, an error says what it needs.
    """
    n_rows: int = data.rows.n_rows
    if isinstance(data, OnDask):
        return min(n_rows, DENSITY_ROWS)
    row_bytes = DENSITY_BYTES + data.n_features * np.dtype(data.dtype).itemsize
    if resident_bytes() + _compiled_bytes(KERNELS) + row_bytes * n_rows <= memory_limit:
        return None
    if must_fit:
        _take_room(
            memory_limit,
            "DBSCAN",
            int((1 + OVERLAP) * row_bytes * min(n_rows, DENSITY_ROWS)),
            KERNELS,
        )
    return min(n_rows, DENSITY_ROWS)


def _compiled_bytes(kernels: str) -> int:
    return 0 if kernels in sys.modules else KERNEL_BYTES


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
            f'Allow more, such as batch_size="{format_bytes(1.2 * (taken + batch_bytes))}".'
        )


def choose_settings(data: Data, n_rows: int, contraction: Contraction) -> SpanningSettings | None:
    """Return the settings of HDBSCAN if spanning trees label the local batches.

    None for other base methods.
    """
    settings = settings_of(contraction.views.method.prototype)
    if settings is None or not _sees_everything(data, contraction):
        return None
    if data.n_features > SPARSE_FEATURES and sparse.issparse(data.take(np.arange(1))):
        return None  # dense batches of so many features might not fit into memory
    if n_rows > MAX_SPANNED:
        raise ValueError(
            f"HDBSCAN in local batches takes at most {MAX_SPANNED:,} rows, and X has {n_rows:,}: "
            'use batches="random", '
            f"or DBSCAN."
        )
    import_optional("numba", "fast", 'HDBSCAN in local batches, but not with batches="random",')
    return settings


def _sees_everything(data: Data, contraction: Contraction) -> bool:
    """Return whether the base method clusters each batch once, with all features."""
    views = contraction.views
    return views.n_features == data.n_features and views.n_runs(data.n_features) == 1


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
    return method.told is None and takes_features
