"""DBSCAN in local batches: its labels on all rows, from the clusters of the batches; see ``density_parts``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import LocalBatches, Run, cut_into_runs
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.metric_spaces import MetricSpace
from cohirf.algorithm.runs import RunTask
from cohirf.algorithm.storage import RunRows, Storage
from cohirf.clusterers.density_parts import Parts, PartsOfRun
from cohirf.clusterers.grid_dbscan import call_dbscan, find_density_clusters
from cohirf.spanning.spanning_labels import read_points


@dataclass(frozen=True)
class DensityLabels:
    """Labels rows as DBSCAN does.

    Attributes
    ----------
    space : MetricSpace
        The metric.
    radius : float
        The radius, as a distance between points of the space.
    min_samples : int
        Smallest number of neighbours of a core row, or their smallest total weight.
    has_kernels : bool
        Whether compiled kernels find the clusters of a batch; otherwise, scikit-learn does.
    reach : float
        Width of the halos.
    norm : dict
        The metric of scikit-learn between points, if it is not Euclidean.
    """

    space: MetricSpace
    radius: float
    min_samples: int
    has_kernels: bool
    reach: float
    norm: dict[str, Any]

    def __call__(self, active: ActiveRows, batches: LocalBatches, engine: Engine, storage: Storage) -> IntArray:
        """Return the label of each active row, -1 for noise."""
        values = engine.share(active.values)
        cuts = cut_into_runs(batches.n_batches, active.n_rows)
        tasks = (
            (RunTask(run.among(active.index), 0, values), run, _masses(active, run), self) for run in batches.runs(cuts)
        )
        parts = Parts(active.n_rows)
        for found in engine.run(cluster_batches, tasks, len(cuts)):
            parts.add(found)
        return parts.join()


def _masses(active: ActiveRows, run: Run) -> list[NDArray[np.float64]] | None:
    """Return the mass of the rows of each batch of a run, those of its halo included."""
    mass = active.mass
    return None if mass is None else [mass[np.concatenate(both)] for both in run.with_halos()]


def cluster_batches(
    task: RunTask, run: Run, masses: list[NDArray[np.float64]] | None, settings: DensityLabels
) -> PartsOfRun:
    """Return the clusters of the batches of a task; there its rows have the numbers that they have in ``run``."""
    assert task.values is not None
    assert not isinstance(task.values, RunRows)  # runs with halos are not streamed
    find = find_density_clusters if settings.has_kernels else partial(call_dbscan, norm=settings.norm)
    found: list[PartsOfRun] = []
    n_parts = 0
    for number, (own, named) in enumerate(zip(task.run.with_halos(), run.with_halos(), strict=True)):
        X = np.concatenate([read_points(task.values, rows, settings.space) for rows in own])
        clusters = find(X, settings.radius, settings.min_samples, None if masses is None else masses[number])
        assert clusters is not None  # kernels are asked only where they answer
        found.append(PartsOfRun.of_batch(clusters, *named, n_parts))
        n_parts += len(found[-1].first_rows)
    return PartsOfRun.join(found)
