"""GetClusters: labels of the base method on random feature views (paper, section 2.2.1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.consensus import (
    Codes,
    Consensus,
    FoldedViews,
    Stability,
    fold_views,
    mean_agreement,
    measure_stability,
    strict_consensus,
)
from cohirf.algorithm.randomness import Draw, Entropy, generator_at
from cohirf.error_contexts import warning_once_a_fit
from cohirf.rows.arrays import put_beside
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import IntArray
from cohirf.rows.storage import ArrayRows, Engine


@dataclass(frozen=True)
class View:
    """A base method, and the features that it clusters: given columns or random ones."""

    method: BaseMethod
    n_features: int
    columns: IntArray | None = None

    def features(self, rng: np.random.Generator, n_features: int) -> IntArray:
        """Return the features of the view, of ``n_features`` that there are."""
        if self.columns is None:
            return sample_features(rng, n_features, self.n_features)
        return self.columns


@dataclass(frozen=True)
class Views:
    """The views that are clustered."""

    # The base method; if there are several, the one that decides how batches are formed and groups
    # merge
    method: BaseMethod
    n_views: int  # number of views
    n_features: int  # number of features in each view; if views differ, the largest one
    entropy: Entropy  # seeds each view, together with its place
    each: tuple[View, ...] = ()  # all views, if they differ; otherwise empty

    def at(self, number: int) -> View:
        """Return the view with a number."""
        if self.each:
            return self.each[number]
        return View(self.method, self.n_features)

    def n_runs(self, n_features: int) -> int:
        """Return how often a base method runs on rows with ``n_features`` features: once if all
        views are equal.
        """
        are_equal = not self.each and self.method.is_deterministic and self.n_features == n_features
        return 1 if are_equal else self.n_views


@dataclass(frozen=True)
class ViewConsensus:
    """The consensus of the views, its stability, the agreement between views, and the time spent.

    ``core`` has the core rows of a method such as DBSCAN, if it ran once; otherwise None.
    """

    consensus: Consensus
    stability: Stability
    agreement: float
    base_seconds: float
    consensus_seconds: float
    core: IntArray | None = None


@dataclass(frozen=True)
class ViewLabels:
    """Labels of one view, the core rows or None, and the time that the base method took."""

    labels: Any
    seconds: float
    core: IntArray | None = None


def get_clusters(
    X: Any,
    sample_weight: Any,
    views: Views,
    agree: Callable[[Codes], Consensus],
    place: tuple[int, int],
    engine: Engine,
    seen: Any = None,
) -> ViewConsensus:
    """Cluster the rows of ``X`` on every view, and return their consensus by ``agree``.

    ``place`` is (level, batch). The base method may see more rows: ``seen`` has those of ``X``,
    followed by others, whose labels are not used.
    """
    started = perf_counter()
    n_rows = X.shape[0]
    shown = X if seen is None else seen
    memory = None
    if (
        engine.is_serial
        and not views.each
        and views.n_features < X.shape[1]
        and isinstance(shown, np.ndarray)
    ):
        # of all views, one after the other
        memory = np.empty((shown.shape[0], views.n_features), dtype=X.dtype)
    n_runs = views.n_runs(X.shape[1])
    if sample_weight is None:
        weights = None
    else:
        weights = engine.share(ArrayRows(sample_weight))
    rows = WeightedBatch(engine.share(ArrayRows(shown)), weights)
    tasks = ((rows, views, (*place, view), memory) for view in range(n_runs))
    folded = FoldedViews(n_rows)
    base_seconds = 0.0
    waited = 0.0
    core = None
    results = iter(engine.run(label_view, tasks, n_runs))
    for _ in range(n_runs):
        asked = perf_counter()
        result = next(results)
        waited += perf_counter() - asked
        base_seconds += result.seconds
        core = result.core
        folded.add(result.labels[:n_rows])
    next(results, None)  # lets the engine end
    codes = folded.codes(sample_weight)
    memory = None  # frees the memory of the last view
    if n_runs < views.n_views:
        codes = codes.repeated(views.n_views)
    agreement = mean_agreement(codes)
    found = agree(codes)
    stability = measure_stability(codes, found)
    consensus_seconds = perf_counter() - started - waited
    return ViewConsensus(
        found, stability, agreement, base_seconds, consensus_seconds, core if n_runs == 1 else None
    )


def agree_on(
    labels: Any,
    sample_weight: Any,
    n_views: int,
    agree: Callable[[Codes], Consensus] = strict_consensus,
) -> ViewConsensus:
    """Return the consensus of views that all have the same, known labels."""
    started = perf_counter()
    codes = fold_views([labels], labels.shape[0], sample_weight).repeated(n_views)
    found = agree(codes)
    return ViewConsensus(
        found, measure_stability(codes, found), mean_agreement(codes), 0.0, perf_counter() - started
    )


@dataclass(frozen=True)
class WeightedBatch:
    """Rows that the base method clusters, and their weights or None, which all views share."""

    rows: ArrayRows
    weights: ArrayRows | None = None

    @property
    def n_bytes(self) -> int:
        """Size of the values of the rows in memory."""
        return self.rows.n_bytes


def label_view(
    shown: WeightedBatch,
    views: Views,
    place: tuple[int, int, int],
    memory: NDArray[Any] | None = None,
) -> ViewLabels:
    """Label rows on the view at ``place``: (level, batch, view).

    Views that are labelled one after the other can share the ``memory`` into which their columns
    are copied.
    """
    X, sample_weight = shown.rows.X, None if shown.weights is None else shown.weights.X
    rng = generator_at(views.entropy, Draw.VIEW, *place)
    of_place = views.at(place[2])
    view = take_features(X, of_place.features(rng, X.shape[1]), memory)
    started = perf_counter()
    try:
        labels, core = of_place.method.find_core(
            view, rng, sample_weight, may_overwrite=view is not X
        )
    except ValueError as error:
        if place[0] <= 1:
            raise
        labels = _leave_apart(view, of_place.method, place[0], error)
        core = None
    return ViewLabels(labels, perf_counter() - started, core)


def _leave_apart(view: Any, method: BaseMethod, level: int, error: ValueError) -> Any:
    """Return another label for each row, and warn: what lower levels have found must not be
    lost.
    """
    with warning_once_a_fit():
        warnings.warn(
            f"{method.name} failed on {view.shape[0]} rows of level {level}, which stay apart in "
            f"this view: {error}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return put_beside(np.arange(view.shape[0], dtype=np.int32), view)


def sample_features(rng: np.random.Generator, n_features: int, n_sampled: int) -> NDArray[np.intp]:
    """Draw ``n_sampled`` distinct features, and return them sorted."""
    features: NDArray[np.intp] = rng.choice(n_features, size=n_sampled, replace=False)
    features.sort()
    return features


def take_features(X: Any, features: IntArray, out: NDArray[Any] | None = None) -> Any:
    """Return the given columns of ``X``, in ``out`` if given.

    If all columns are asked for, ``X`` itself.
    """
    if len(features) == X.shape[1]:
        return X
    return container_of(X).take_columns(X, features, out)


def tally_features(
    views: Views, n_features: int, level: int, survivors: Any, first_batch: int = 0
) -> NDArray[np.float64]:
    """Return, for each feature, the sum of the stability of the views that contained it, and of the
    rows in them.

    These are the views of all batches of a level, of which the first has the given number. Their
    features depend on the place alone, so they are drawn again.
    """
    sums = np.zeros((2, n_features))
    batches = zip(survivors.batch_sizes.tolist(), survivors.view_stability, strict=True)
    for number, (n_rows, of_view) in enumerate(batches, first_batch):
        for view, confirmed in enumerate(of_view.tolist()):
            of_place = views.at(view)
            features: IntArray | slice = slice(None)
            if of_place.n_features < n_features:
                rng = generator_at(views.entropy, Draw.VIEW, level, number, view)
                features = of_place.features(rng, n_features)
            sums[:, features] += [[n_rows * confirmed], [n_rows]]
    return sums


def mean_of_tally(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean stability of each feature, over all rows that were clustered with it.

    NaN if there were none.
    """
    means = np.full(sums.shape[1], np.nan)
    np.divide(sums[0], sums[1], out=means, where=sums[1] > 0)
    return means
