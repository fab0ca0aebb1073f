"""Begin a fit: choose the batch size, open the checkpoint, and say so if the fit will take long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from cohirf import progress
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.randomness import Entropy
from cohirf.beyond.local_batches import grown_batch_size
from cohirf.beyond.reach import count_neighbours, lists_neighbours
from cohirf.clusterers.grid_dbscan import GridDBSCAN, has_kernels
from cohirf.data import Data
from cohirf.data.first_level import DataWeights
from cohirf.error_contexts import warn_caller
from cohirf.fitting.contraction import make_contraction
from cohirf.fitting.locality import LocalData, LocalSize
from cohirf.fitting.policy import LOCAL, WARNING
from cohirf.fitting.settings import Settings, Settled
from cohirf.optional import is_installed
from cohirf.planning import (
    Neighbourhood,
    draw_rows,
    plan_batches,
    plan_for_device,
    read_memory_limit,
)
from cohirf.rows.containers import container_of
from cohirf.rows.metric_spaces import find_space
from cohirf.spanning.settings import is_hdbscan
from cohirf.store.checkpoint import open_checkpoint


def valid_weights(settings: Settings, data: Data, sample_weight: Any) -> DataWeights:
    """Return valid sample weights where the rows are."""
    without = [
        each.name for each in settings.methods if each is not None and each.weight_argument is None
    ]
    if without:
        raise ValueError(
            f"sample_weight needs a base method whose fit takes it, but {without[0]}.fit does not: "
            "choose another base method, such as KMeans or DBSCAN, or leave sample_weight out."
        )
    return data.check_weights(sample_weight)


def open_or_measure(
    settings: Settings, data: Data, weights: DataWeights | None, entropy: Entropy, stack: ExitStack
) -> tuple[Settled, Any]:
    """Resolve settings that the parameters leave open, or restore them from a checkpoint.

    Also returns the journal of the checkpoint, in which runs are recorded, or None.
    """
    given = settings.random_state
    if settings.checkpoint is None:
        return measure_batches(settings, data, entropy, weights), None
    fit = settings.describe(
        rows=data.rows.n_rows,
        features=data.n_features,
        reading=data.reading,
        data=data.fingerprint(),
        sample_weight=None if weights is None else weights.describe(),
        random_state=entropy if isinstance(given, np.random.RandomState) else given,
    )
    journal = stack.enter_context(
        open_checkpoint(
            settings.checkpoint,
            fit,
            lambda: asdict(measure_batches(settings, data, entropy, weights)),
            data.rows.n_rows,
        )
    )
    settled = journal.beginning.settled
    return Settled(tuple(settled["entropy"]), settled["batch_size"]), journal


def measure_batches(
    settings: Settings, data: Data, entropy: Entropy, weights: DataWeights | None
) -> Settled:
    """Return the entropy and the batch size, which is measured if it is "auto" or an amount of
    memory.
    """
    if not isinstance(settings.batch_size, str):
        return Settled(entropy, settings.batch_size)
    n_rows = data.rows.n_rows
    weighted = weights is not None or settings.sum_mass
    contraction = make_contraction(
        settings, data, Settled(entropy, None), weighted=weighted, n_batches=2
    )
    if contraction.device is not None:
        return Settled(entropy, _fit_into_device(settings.batch_size, data, contraction))
    room = data.room(read_memory_limit(settings.batch_size), settings.n_jobs)
    options = dict[str, Any]()
    must_fit = settings.batch_size != "auto"
    size = LocalSize()
    read_sample: Callable[[int], Any] = partial(_draw_sample, data, entropy)
    if settings.are_local(contraction.views.method.prototype):
        rows = LocalData(data, n_rows, contraction, weights)
        size = settings.family.size_local(rows, room, must_fit=must_fit)
        if size.is_known:
            return Settled(entropy, size.n_rows)
        neighbourhood = Neighbourhood(data.rows, data.column_means, entropy)
        read_sample = neighbourhood.take
        options = {"overlap": LOCAL.overlap, "n_readable": neighbourhood.n_rows}
        if size.may_grow and must_fit:
            options["grow"] = partial(_grow_batches, settings, rows)
    plan = plan_batches(read_sample, n_rows, contraction, room, **options)
    if settings.verbose:
        may_grow = size.may_grow and plan.n_batches > 1
        progress.say(replace(plan, grows=may_grow))
    return Settled(entropy, plan.batch_size)


def _grow_batches(settings: Settings, rows: LocalData, batch_size: int) -> int:
    """Return the size to which local batches of a size will grow."""
    rows = replace(rows, contraction=replace(rows.contraction, batch_size=batch_size))
    locality = settings.family.plan_local(rows).locality
    return grown_batch_size(rows.data.rows, locality, rows.data.column_means)


def warn_of_long_fit(settings: Settings, data: Data, contraction: Contraction) -> None:
    """Warn before a fit begins that will take long, because the base method lists very many
    neighbours.
    """
    method = contraction.views.method
    n_rows = data.rows.n_rows
    if n_rows < WARNING.rows or contraction.device is not None:
        return
    if is_hdbscan(method.prototype):
        _warn_of_many_samples(method, n_rows)
        return
    if is_installed("numba") and _has_kernels(method.prototype, data.n_features):
        return
    if method.clusterer is not method.prototype or data.n_features != contraction.views.n_features:
        return  # a pipeline has other features, and so has a view
    if not lists_neighbours(method.prototype):
        return
    sample = _draw_sample(data, contraction.views.entropy, WARNING.sampled_rows)
    if not container_of(sample).is_dense:
        return
    batch_rows = min(n_rows, contraction.batch_size or n_rows)
    seen = n_rows if settings.are_local(method.prototype) else batch_rows
    found = count_neighbours(method.prototype, fill_missing(sample, data.column_means), seen)
    if found is None:
        return
    name, radius, n_neighbours = found
    n_neighbours = min(n_neighbours, batch_rows)
    seconds = n_rows * n_neighbours * WARNING.seconds_per_neighbour
    if n_neighbours >= WARNING.neighbours and seconds >= WARNING.seconds:
        warn_caller(
            f"This fit will take long: {method.name} lists all neighbours within "
            f"{name}={radius:g}, about {n_neighbours:,.0f} of each of {n_rows:,} rows. "
            f"{_remedy(method.prototype, name, data.n_features)}",
            UserWarning,
        )


def _warn_of_many_samples(method: BaseMethod, n_rows: int) -> None:
    """Warn if HDBSCAN takes very many neighbours of each row from its smallest cluster."""
    size = method.prototype.min_cluster_size
    is_implied = method.prototype.min_samples is None and isinstance(size, Integral)
    if not is_implied or size < WARNING.samples:
        return
    if n_rows * size * WARNING.seconds_per_sample >= WARNING.seconds:
        warn_caller(
            f"This fit will take long: without min_samples, {method.name} takes it from "
            f"min_cluster_size={size}, and finds as many neighbours of each of {n_rows:,} rows. "
            "Set min_samples=10: it says how dense a cluster is, and not how large.",
            UserWarning,
        )


def _has_kernels(method: Any, n_features: int) -> bool:
    """Return whether kernels that numba compiles find the clusters of a method, without lists of
    neighbours.
    """
    is_dbscan = isinstance(method, GridDBSCAN) and find_space(method) is not None
    return is_dbscan and has_kernels(n_features, None)


def _remedy(method: Any, radius: str, n_features: int) -> str:
    """Return what helps against long lists of neighbours; if numba would, it is not installed."""
    if _has_kernels(method, n_features):
        return (
            'Install numba, with which DBSCAN lists none: pip install "cohirf[fast]". Or lower '
            f"{radius}."
        )
    other = ""
    if has_kernels(n_features, None):
        other = (
            "use DBSCAN with a Euclidean, haversine or cosine metric, which lists none with "
            "numba; or "
        )
    return f"Lower {radius}, or {other}use HDBSCAN, which needs no radius."


def _fit_into_device(memory: str, data: Data, contraction: Contraction) -> int | None:
    """Return how many rows are contracted together on a device.

    None if there is room for all of them.
    """
    share = contraction.views.n_features / data.n_features
    row_bytes = data.n_features * np.dtype(data.dtype).itemsize
    return plan_for_device(
        contraction.device, row_bytes, share, read_memory_limit(memory), data.rows.n_rows
    )


def _draw_sample(data: Data, entropy: Entropy, size: int) -> Any:
    return data.rows.take(draw_rows(data.rows.n_rows, size, entropy))
