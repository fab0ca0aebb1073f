"""How a fit contracts its batches: settings and data as the steps of the paper."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.cluster import DBSCAN, HDBSCAN, KMeans

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.choose_medoids import cosine_centrality
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.get_clusters import View, Views
from cohirf.algorithm.randomness import Entropy
from cohirf.beyond.majority import join_rare_groups
from cohirf.clusterers.grid_dbscan import GridDBSCAN, computed_dbscan
from cohirf.clusterers.policy import GRID
from cohirf.clusterers.quick_start import quick_start
from cohirf.data import Data
from cohirf.fitting.families import is_k_means
from cohirf.fitting.settings import Settings, Settled
from cohirf.optional import is_installed
from cohirf.rows.metric_spaces import EUCLIDEAN, find_space
from cohirf.spanning.computed import computed_hdbscan


def make_contraction(
    settings: Settings,
    data: Data,
    settled: Settled,
    *,
    weighted: bool,
    n_batches: int | None = None,
) -> Contraction:
    """Return how a fit contracts batches of the data.

    Their number follows from their size, unless it is given.
    """
    if n_batches is None:
        n_batches = count_batches(data.rows.n_rows, settled.batch_size)
    views = _make_views(settings, data.n_features, settled.entropy, several_batches=n_batches > 1)
    device = settings.device if data.device is None else data.device
    sees_all = not settings.columns and views.n_features == data.n_features and device is None
    base = views.method.prototype
    known = None
    if sees_all and views.method.number_name is None and hasattr(base, "metric"):
        known = find_space(base)
    is_bounded = settings.family.bounds_groups and views.n_views > 1
    return Contraction(
        views=views,
        consensus=settings.consensus(n_batches, settings.family.n_clusters),
        **_central_rows(settings, views, data, device),
        batch_size=settled.batch_size,
        weighted=weighted,
        sum_mass=settings.sum_mass,
        column_means=data.column_means,
        space=EUCLIDEAN if known is None else known,
        keeps_means=True,
        bound_groups=join_rare_groups if is_bounded else None,
        device=device,
    )


def _central_rows(settings: Settings, views: Views, data: Data, device: Any) -> dict[str, Any]:
    """Return the functions that find the central rows of clusters: compiled ones, if the base
    method is compiled.
    """
    choose = settings.choose_medoids
    is_compiled = isinstance(views.method.prototype, GridDBSCAN) and is_installed("numba")
    if not is_compiled or device is not None or data.rows.n_rows < GRID.rows:
        return {"choose_medoids": choose}
    from cohirf.clusterers import central_rows

    by_cosine = getattr(choose, "keywords", {}).get("centrality") is cosine_centrality
    return {
        "choose_medoids": choose,
        "find_centres": partial(central_rows.find_centres, by_cosine=by_cosine),
        "find_nearest": central_rows.nearest_rows,
    }


def _make_views(
    settings: Settings, n_features: int, entropy: Entropy, *, several_batches: bool
) -> Views:
    """Return the views: those of a list, or a number of equal ones."""
    family = settings.family
    n_views = settings.n_views
    if not settings.columns:
        base = settings.methods[0]
        is_repeated = (
            settings.n_features == n_features and base is not None and base.is_deterministic
        )
        one_view = n_views == 1 or is_repeated
        given = _computed(BaseMethod.of(family.default_method()) if base is None else base)
        method = family.inner_method(given, several_batches=several_batches, one_view=one_view)
        return Views(method, n_views, settings.n_features, entropy)
    each = []
    for base, columns in zip(settings.methods, settings.columns, strict=True):
        assert base is not None  # a list has no default
        method = _computed(base)
        # other numbers are what the user wants to differ
        if method.n_told in (None, family.n_clusters):
            method = family.inner_method(
                method, several_batches=several_batches, one_view=n_views == 1
            )
        each.append(View(method, n_features if columns is None else len(columns), columns))
    # What is special for K-Means, or for methods that find the number of clusters, needs all views
    # to be of this kind.
    leading = min(each, key=lambda view: (view.method.number_name is None, is_k_means(view.method)))
    return Views(
        leading.method, n_views, max(view.n_features for view in each), entropy, tuple(each)
    )


def _computed(base: BaseMethod) -> BaseMethod:
    """Return the base method; for scikit-learn's DBSCAN, HDBSCAN and K-Means, a method that
    computes the same clusters in less time.
    """
    if type(base.prototype) is DBSCAN:
        return BaseMethod.of(computed_dbscan(base.prototype))
    if type(base.prototype) is HDBSCAN:
        return BaseMethod.of(computed_hdbscan(base.prototype))
    if type(base.prototype) is KMeans:
        return BaseMethod.of(quick_start(base.prototype))
    return base
