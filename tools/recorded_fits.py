"""Record what many small fits find, and compare two records, before and after a change of code.

    python -m tools.recorded_fits write before.json           about 700 fits
    python -m tools.recorded_fits write after.json --jobs 2   in two processes
    python -m tools.recorded_fits write some.json --quick     every tenth of them
    python -m tools.recorded_fits compare before.json after.json

``compare`` counts the fits that have equal results, names each that differs and in what, and has
the exit code 1 if there is one.

A record has, for each fit by its name, digests of labels, parents, medoids, exemplars, numbers,
stability (rounded to 1e-6), linkage heights (rounded to six digits) and ``predict``. Only the public
API is used, so that the same file runs before and after a refactoring. A fit that raises is recorded
with its error.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    Birch,
    KMeans,
    MeanShift,
    MiniBatchKMeans,
)
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_moons
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from cohirf import CoHiRF, SampledMedoid, load, merge, open_source
from cohirf.clusterers import SCSRGF, GridDBSCAN, KernelKMeans

Record = dict[str, dict[str, Any]]

QUICK_STEP = 10  # --quick takes every tenth fit
STABILITY_DECIMALS = 6
HEIGHT_DIGITS = 6  # significant ones
MOST_LINKED_ROWS = 5_000  # the linkage of more rows takes long: that of their clusters is recorded


# -- data


def _blobs() -> Any:
    return make_blobs(500, n_features=8, centers=5, random_state=1)[0]


def _uneven() -> Any:
    deviations = (0.3, 1.0, 2.0, 0.6)
    return make_blobs((60, 300, 200, 40), 6, cluster_std=deviations, random_state=2)[0]


def _moons() -> Any:
    return make_moons(400, noise=0.06, random_state=3)[0]


def _uniform() -> Any:
    return np.random.default_rng(4).uniform(size=(300, 5))


def _repeated() -> Any:
    """Return rows of small integers: many are identical, and distances tie."""
    return np.random.default_rng(5).integers(0, 4, size=(300, 3)).astype(float)


def _wine() -> Any:
    return StandardScaler().fit_transform(load_wine().data)


def _many_rows() -> Any:
    return make_blobs(2_000, n_features=4, centers=7, random_state=6)[0]


def _wide() -> Any:
    """Return rows with more features than the kernels of DBSCAN take: local batches stay small."""
    return make_blobs(900, 18, centers=9, center_box=(-40, 40), random_state=7)[0]


def _large_moons() -> Any:
    """Return as many rows as two local batches of DBSCAN have at least."""
    return make_moons(270_000, noise=0.05, random_state=8)[0]


def _large_wide() -> Any:
    """Return as many rows as three local batches of HDBSCAN have at least with many features."""
    return make_blobs(21_000, n_features=17, centers=5, random_state=9)[0]


DATA: dict[str, Callable[[], Any]] = {
    "blobs": _blobs,
    "uneven": _uneven,
    "moons": _moons,
    "uniform": _uniform,
    "repeated": _repeated,
    "wine": _wine,
    "iris": lambda: load_iris().data,
    "digits": lambda: load_digits().data[:400],
    "many rows": _many_rows,
    "wide": _wide,
    "large moons": _large_moons,
    "large wide": _large_wide,
}


@cache
def _rows(name: str) -> Any:
    X = DATA[name]()
    X.flags.writeable = False
    return X


# -- forms of the same rows


def _with_gaps(X: Any, folder: Path) -> Any:
    is_missing = np.random.default_rng(10).uniform(size=X.shape) < 0.05
    return np.where(is_missing, np.nan, X)


def _as_npy(X: Any, folder: Path) -> Any:
    np.save(folder / "rows.npy", X)
    return open_source(folder / "rows.npy")


def _as_table(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"f{number}" for number in range(X.shape[1])])


def _as_parquet(X: Any, folder: Path) -> Any:
    _as_table(X).to_parquet(folder / "rows.parquet", index=False)
    return open_source(folder / "rows.parquet")


def _as_parquet_folder(X: Any, folder: Path) -> Any:
    parts = folder / "parts"
    parts.mkdir()
    for number, part in enumerate(np.array_split(X, 3)):
        _as_table(part).to_parquet(parts / f"{number}.parquet", index=False)
    return open_source(parts)


def _as_csv(X: Any, folder: Path) -> Any:
    _as_table(X).to_csv(folder / "rows.csv", index=False)
    return open_source(folder / "rows.csv")


def _as_feather(X: Any, folder: Path) -> Any:
    _as_table(X).to_feather(folder / "rows.feather")
    return open_source(folder / "rows.feather")


def _as_zarr(X: Any, folder: Path) -> Any:
    import zarr

    stored = zarr.create_array(
        store=folder / "rows.zarr", shape=X.shape, chunks=(200, X.shape[1]), dtype=X.dtype
    )
    stored[:] = X
    return open_source(folder / "rows.zarr")


def _as_dask_array(X: Any, folder: Path) -> Any:
    import dask.array as da

    return da.from_array(X, chunks=(150, X.shape[1]))


def _as_dask_table(X: Any, folder: Path) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(_as_table(X), npartitions=3)


def _on_device(X: Any, folder: Path) -> Any:
    """Return an array that refuses to become one of NumPy, as those on a GPU do."""
    import array_api_strict

    return array_api_strict.asarray(X, device=array_api_strict.Device("device1"))


FORMS: dict[str, Callable[[Any, Path], Any]] = {
    "array": lambda X, folder: X,
    "float32": lambda X, folder: X.astype(np.float32),
    "sparse": lambda X, folder: sparse.csr_array(np.where(np.abs(X) < 0.5, 0, X)),
    "gaps": _with_gaps,
    "table": lambda X, folder: _as_table(X),
    "source in memory": lambda X, folder: open_source(X),
    "npy": _as_npy,
    "parquet": _as_parquet,
    "parquet folder": _as_parquet_folder,
    "csv": _as_csv,
    "feather": _as_feather,
    "zarr": _as_zarr,
    "dask array": _as_dask_array,
    "dask table": _as_dask_table,
    "device": _on_device,
}
NEEDS = {
    "table": "pandas",
    "parquet": "pyarrow",
    "parquet folder": "pyarrow",
    "csv": "pyarrow",
    "feather": "pyarrow",
    "zarr": "zarr",
    "dask array": "dask",
    "dask table": "dask",
    "device": "array_api_strict",
}


WEIGHTS: dict[str | None, Callable[[np.random.Generator, int], Any]] = {
    None: lambda rng, n_rows: None,
    "fractions": lambda rng, n_rows: rng.uniform(0.1, 3.0, n_rows),
    "counts": lambda rng, n_rows: rng.integers(1, 4, n_rows).astype(float),
    "zeros": lambda rng, n_rows: rng.integers(0, 3, n_rows).astype(float),
}


class NearestSeeds(ClusterMixin, BaseEstimator):
    """Assign each row to the nearest mean of a few random rows, after two steps of Lloyd's.

    It computes with the array API alone, and returns labels where the rows are, as methods for GPUs
    do.
    """

    def __init__(self, n_clusters: int = 5, *, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NearestSeeds:
        """Find the clusters."""
        xp = X.__array_namespace__()
        chosen = check_random_state(self.random_state).choice(
            X.shape[0], self.n_clusters, replace=False
        )
        means = xp.stack([X[int(row), :] for row in np.sort(chosen)])
        weights = xp.ones(X.shape[0], dtype=X.dtype, device=X.device)
        if sample_weight is not None:
            weights = xp.astype(sample_weight, X.dtype)
        numbers = xp.arange(self.n_clusters, device=X.device)
        for _ in range(3):
            squares = xp.sum((X[:, None, :] - means[None, :, :]) ** 2, axis=2)
            labels = xp.argmin(squares, axis=1)
            mass = xp.astype(labels[:, None] == numbers[None, :], X.dtype) * weights[:, None]
            total = xp.sum(mass, axis=0)[:, None]
            means = xp.where(
                total > 0, xp.matmul(mass.T, X) / xp.where(total > 0, total, 1.0), means
            )
        self.labels_ = labels
        return self


# -- what is done with a model


Steps = Iterator[tuple[str, Any]]


def _fit(model: Any, X: Any, weights: Any, folder: Path) -> Steps:
    yield "", model.fit(X, sample_weight=weights)


def _update(model: Any, X: Any, weights: Any, folder: Path) -> Steps:
    thirds = np.array_split(np.arange(X.shape[0]), 3)
    for number, rows in enumerate(thirds):
        part = None if weights is None else weights[rows]
        yield f"update {number}", model.partial_fit(X[rows], sample_weight=part)


def _fit_and_update(model: Any, X: Any, weights: Any, folder: Path) -> Steps:
    half = X.shape[0] // 2
    later = X[half:].copy()
    later[::3] += 30.0  # far from all known rows
    model.fit(X[:half])
    yield "born", model.partial_fit(later)
    yield "reclustered", model.recluster()


def _forget(model: Any, X: Any, weights: Any, folder: Path) -> Steps:
    for rows in np.array_split(np.arange(X.shape[0]), 3):
        model.partial_fit(X[rows])
    yield "rows", model.forget(np.arange(0, X.shape[0], 7))
    yield "update", model.forget(updates=1)
    yield "reclustered", model.recluster()
    yield "more rows", model.partial_fit(X[:50])


def _merge(model: Any, X: Any, weights: Any, folder: Path) -> Steps:
    parts = np.array_split(np.arange(X.shape[0]), (X.shape[0] // 2, 3 * X.shape[0] // 4))
    models = [clone(model).fit(X[rows]) for rows in parts]
    merged = merge(models)
    yield "merged", merged
    yield "more rows", merged.partial_fit(X[:60])


def _merge_exemplars(model: Any, X: Any, weights: Any, folder: Path) -> Steps:
    models = [clone(model).fit(rows) for rows in np.array_split(X, 3)]
    yield "merged", merge(models, exemplars_only=True)


def _store(model: Any, X: Any, weights: Any, folder: Path) -> Steps:
    half = X.shape[0] // 2
    model.fit(X[:half]).save(folder / "model")
    loaded = load(folder / "model")
    yield "loaded", loaded
    loaded.partial_fit(X[half:]).save(folder / "model", overwrite=True)
    yield "loaded again", load(folder / "model")
    yield "without the first", load(folder / "model").forget(updates=0)


def _resume(model: Any, X: Any, weights: Any, folder: Path) -> Steps:
    model.set_params(checkpoint=folder / "checkpoint")
    yield "first", model.fit(X, sample_weight=weights)
    yield "resumed", clone(model).fit(X, sample_weight=weights)


# -- cases


@dataclass(frozen=True)
class Case:
    """A model, the rows that it is fitted to, and what is done with it."""

    name: str
    model: Any
    data: str
    form: str = "array"
    weights: str | None = None
    steps: Callable[[Any, Any, Any, Path], Steps] = _fit

    def run(self) -> dict[str, Any]:
        """Return what is found, by the names of steps and results."""
        rows = _rows(self.data)
        weights = WEIGHTS[self.weights](np.random.default_rng(11), len(rows))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            X = FORMS[self.form](rows, folder)
            if self.form == "device" and weights is not None:
                weights = FORMS["device"](weights, folder)
            found: dict[str, Any] = {}
            for step, model in self.steps(clone(self.model), X, weights, folder):
                for key, value in _results(model, X).items():
                    found[f"{step}: {key}" if step else key] = value
            return found


def _results(model: Any, X: Any) -> dict[str, Any]:
    predicted = _here(model.predict(X))
    model.gather()
    hierarchy = model.hierarchy_
    if hierarchy.n_rows > MOST_LINKED_ROWS:
        hierarchy = hierarchy.condense()
    return {
        "clusters": int(model.n_clusters_),
        "labels": _digest(model.labels_),
        "parents": _digest(model.parents_),
        "medoids": _digest(model.medoid_indices_),
        "exemplars": _digest(model.exemplar_indices_),
        "numbers": _digest(model.cluster_numbers_),
        "stability": _digest(np.round(model.stability_.astype(float), STABILITY_DECIMALS)),
        "levels": _digest(model.hierarchy_.absorbed_at),
        "linkage": _digest(_round_to_digits(hierarchy.to_linkage(), HEIGHT_DIGITS)),
        "predict": _digest(predicted),
    }


def _here(values: Any) -> Any:
    """Return values of a Dask array, or of an array on a device, as an array of NumPy."""
    if hasattr(values, "compute"):
        return values.compute()
    if isinstance(values, np.ndarray):
        return values
    import array_api_strict

    return np.asarray(values.to_device(array_api_strict.Device("CPU_DEVICE")))


def _round_to_digits(values: Any, digits: int) -> Any:
    magnitude = np.ceil(np.log10(np.abs(values), where=values != 0, out=np.zeros(values.shape)))
    scale = 10.0 ** (digits - magnitude)
    return np.round(values * scale) / scale


def _digest(values: Any) -> str:
    """Return a digest of the values of an array, whatever the width of its numbers."""
    values = np.asarray(values)
    width = np.float64 if values.dtype.kind == "f" else np.int64
    wide = values.astype(width) + 0  # -0.0 becomes 0.0
    content = f"{wide.shape}".encode() + np.ascontiguousarray(wide).tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


def _seeded(
    family: str,
    models: Mapping[str, Any],
    data: Sequence[str],
    n_seeds: int,
    *,
    forms: Sequence[str] = ("array",),
    **options: Any,
) -> Iterator[Case]:
    """Yield a case for each model, each data set, each form and each seed."""
    for kind, model in models.items():
        for rows in data:
            for form in forms:
                for seed in range(n_seeds):
                    name = f"{family}, {kind}, {rows}, {form}, seed {seed}"
                    seeded = clone(model).set_params(random_state=seed)
                    yield Case(name, seeded, rows, form, **options)


K_MEANS = KMeans(5, n_init=1)
HALF = {"views": 4, "max_features": 0.5}
published = CoHiRF.as_published


def _published() -> Iterator[Case]:
    consensus_kinds = {
        "strict": published(K_MEANS, **HALF),
        "relaxed": published(K_MEANS, consensus="relaxed", **HALF),
        "relaxed 0.6": published(K_MEANS, consensus=0.6, **HALF),
        "majority": published(K_MEANS, consensus="majority", **HALF),
    }
    yield from _seeded(
        "as published", consensus_kinds, ("blobs", "uneven", "wine", "uniform", "repeated"), 2
    )
    yield from _seeded("as published", {"defaults": published()}, ("blobs", "iris", "moons"), 2)
    batched = {
        "batched": published(K_MEANS, batch_size=120, **HALF),
        "batched relaxed": published(K_MEANS, batch_size=120, consensus="relaxed", **HALF),
        "batched mass": published(K_MEANS, batch_size=120, medoid_weights=True),
    }
    yield from _seeded("as published", batched, ("blobs", "uneven", "uniform"), 2)
    yield from _seeded("as published", {"batched": batched["batched"]}, ("many rows",), 3)
    medoids = {
        "euclidean": published(K_MEANS, medoid="euclidean", **HALF),
        "rbf": published(K_MEANS, medoid="rbf", **HALF),
        "laplacian": published(K_MEANS, medoid="laplacian", **HALF),
        "sampled": published(K_MEANS, medoid=SampledMedoid(most=50), **HALF),
        "mass": published(K_MEANS, medoid_weights=True, **HALF),
        "one level": published(K_MEANS, max_iter=1, **HALF),
        "small clusters": published(KMeans(20, n_init=1), min_cluster_size=0.05, **HALF),
    }
    yield from _seeded("as published", medoids, ("blobs", "wine"), 2)
    views: list[Any] = [K_MEANS, (AgglomerativeClustering(4), slice(0, 4)), GaussianMixture(3)]
    methods = {
        "views": published(views=views),
        "DBSCAN": published(DBSCAN(eps=2.0), **HALF),
        "DBSCAN batched": published(DBSCAN(eps=2.5), views=2, batch_size=150),
        "agglomerative": published(AgglomerativeClustering(5), **HALF),
        "agglomerative batched": published(AgglomerativeClustering(5), batch_size=120, **HALF),
        "kernel K-Means": published(KernelKMeans(4, gamma=0.05), views=2),
        "SC-SRGF": published(SCSRGF(4, n_affinities=4), views=2),
        "pipeline": published(make_pipeline(StandardScaler(), K_MEANS), views=3),
        "mini-batch": published(MiniBatchKMeans(4, n_init=1), views=3),
    }
    yield from _seeded("as published", methods, ("uneven", "wine"), 2)
    yield from _seeded("as published", {"DBSCAN": published(DBSCAN(eps=0.2))}, ("moons",), 2)
    plain = {"K-Means": published(K_MEANS, **HALF), "batched": batched["batched"]}
    for weights in ("counts", "fractions", "zeros"):
        yield from _seeded(f"as published, {weights}", plain, ("blobs", "wine"), 2, weights=weights)
    yield from _seeded(
        "as published",
        plain,
        ("blobs", "digits"),
        2,
        forms=("sparse", "float32", "npy"),
    )
    yield from _seeded("as published, Dask", batched, ("blobs",), 1, forms=("dask array",))


def _defaults() -> Iterator[Case]:
    round_data = ("blobs", "uneven", "wine", "moons", "uniform", "repeated")
    given = {"k=2": CoHiRF(n_clusters=2), "k=5": CoHiRF(n_clusters=5)}
    yield from _seeded("k given", given, (*round_data, "digits"), 2)
    merges = {way: CoHiRF(n_clusters=4, merge=way) for way in ("compact", "connected", "graph")}
    yield from _seeded("merge=", merges, ("blobs", "moons", "wine", "digits"), 2)
    batched_merges = {
        way: CoHiRF(n_clusters=4, merge=way, batch_size=100)
        for way in ("auto", "compact", "connected", "graph")
    }
    yield from _seeded("merge=, batched", batched_merges, ("moons", "wine"), 2)
    yield from _seeded("k not given", {"defaults": CoHiRF()}, (*round_data, "iris", "digits"), 2)
    options = {
        "cosine": CoHiRF(n_clusters=4, metric="cosine"),
        "half of the features": CoHiRF(n_clusters=4, **HALF),
        "strict": CoHiRF(n_clusters=4, consensus="strict", **HALF),
        "relaxed": CoHiRF(n_clusters=4, consensus="relaxed", **HALF),
        "one view": CoHiRF(n_clusters=4, views=1),
        "no mass": CoHiRF(n_clusters=4, medoid_weights=False),
        "euclidean": CoHiRF(n_clusters=4, medoid="euclidean"),
        "smallest size": CoHiRF(n_clusters=6, min_cluster_size=50),
        "levels": CoHiRF(n_clusters="levels"),
        "auto": CoHiRF(n_clusters="auto", min_cluster_size=10),
    }
    yield from _seeded("options", options, ("blobs", "wine"), 2)
    methods = {
        "K-Means": CoHiRF(K_MEANS),
        "K-Means, auto": CoHiRF(K_MEANS, n_clusters="auto"),
        "K-Means, k=3": CoHiRF(K_MEANS, n_clusters=3),
        "mixture": CoHiRF(GaussianMixture(4)),
        "mixture, auto": CoHiRF(GaussianMixture(3), n_clusters="auto", views=2),
        "agglomerative": CoHiRF(AgglomerativeClustering(4), **HALF),
        "Birch": CoHiRF(Birch(n_clusters=4), views=2),
        "mean shift": CoHiRF(MeanShift(bandwidth=3.0, bin_seeding=True), views=1),
        "kernel K-Means": CoHiRF(KernelKMeans(4, gamma=0.05), views=2),
        "DBSCAN": CoHiRF(DBSCAN(eps=2.0)),
        "DBSCAN, k=3": CoHiRF(DBSCAN(eps=2.0), n_clusters=3),
        "grid DBSCAN": CoHiRF(GridDBSCAN(eps=2.0)),
        "HDBSCAN": CoHiRF(HDBSCAN(min_cluster_size=10, copy=True)),
        "HDBSCAN, k=3": CoHiRF(HDBSCAN(min_cluster_size=10, copy=True), n_clusters=3),
        "views": CoHiRF(views=[K_MEANS, (AgglomerativeClustering(4), [0, 1, 2])], n_clusters=4),
    }
    yield from _seeded("methods", methods, ("uneven", "wine"), 2)


def _batches() -> Iterator[Case]:
    told = {
        f"{batches}, {kind}": model.set_params(batches=batches)
        for batches in ("random", "local")
        for kind, model in {
            "k given": CoHiRF(n_clusters=5, batch_size=130),
            "k not given": CoHiRF(batch_size=200),
            "K-Means": CoHiRF(K_MEANS, batch_size=130, **HALF),
            "agglomerative": CoHiRF(AgglomerativeClustering(5), batch_size=130),
            "mixture": CoHiRF(GaussianMixture(5), batch_size=200, views=2),
            "levels": CoHiRF(K_MEANS, n_clusters="levels", batch_size=130),
        }.items()
    }
    yield from _seeded("batches", told, ("blobs", "uneven"), 1)
    yield from _seeded(
        "batches", {"k given": CoHiRF(n_clusters=7, batch_size=250)}, ("many rows",), 3
    )
    found = {
        "mean shift": CoHiRF(MeanShift(bandwidth=3.0, bin_seeding=True), batch_size=200, views=1),
        "OPTICS": CoHiRF(OPTICS(min_samples=8), batch_size=200, views=1),
        "DBSCAN random": CoHiRF(DBSCAN(eps=2.0), batch_size=150, batches="random"),
        "DBSCAN, some features": CoHiRF(DBSCAN(eps=1.5), batch_size=150, views=2, max_features=0.7),
        "DBSCAN, k=3": CoHiRF(DBSCAN(eps=2.0), batch_size=150, n_clusters=3),
        "HDBSCAN random": CoHiRF(
            HDBSCAN(min_cluster_size=10, copy=True), batch_size=200, batches="random"
        ),
    }
    yield from _seeded("batches", found, ("uneven", "blobs"), 1)


def _density() -> Iterator[Case]:
    wide = {
        "eps 4": CoHiRF(DBSCAN(eps=4.0), batch_size=150),
        "eps 5": CoHiRF(DBSCAN(eps=5.0), batch_size=150),
        "Chebyshev": CoHiRF(DBSCAN(eps=1.6, metric="chebyshev"), batch_size=150),
    }
    forms = ("array", "npy", "dask array", "float32")
    yield from _seeded("DBSCAN local", wide, ("wide",), 1, forms=forms)
    flat = {"eps 0.2": CoHiRF(DBSCAN(eps=0.2, min_samples=8), batch_size=100)}
    for weights in ("fractions", "zeros"):
        yield from _seeded(f"DBSCAN local, {weights}", flat, ("moons",), 3, weights=weights)
    large = {"DBSCAN": CoHiRF(DBSCAN(eps=0.02, min_samples=10), batch_size=1_000)}
    yield from _seeded("large local", large, ("large moons",), 1, forms=("array", "npy"))
    spanned = {
        "HDBSCAN": CoHiRF(HDBSCAN(min_cluster_size=50, copy=True), batch_size=1_000),
    }
    yield from _seeded("large local", spanned, ("large wide",), 1)


CONTAINED = {
    "k given": CoHiRF(n_clusters=5, batch_size=150),
    "k not given": CoHiRF(batch_size=150),
    "K-Means": CoHiRF(K_MEANS, batch_size=150, **HALF),
    "agglomerative": CoHiRF(AgglomerativeClustering(5), batch_size=150),
}


def _containers() -> Iterator[Case]:
    files = ("npy", "parquet", "csv", "feather", "zarr", "parquet folder", "source in memory")
    yield from _seeded("sources", CONTAINED, ("blobs",), 1, forms=files)
    yield from _seeded("sources", CONTAINED, ("uneven",), 2, forms=("npy", "parquet"))
    yield from _seeded(
        "Dask", CONTAINED, ("blobs", "uneven"), 2, forms=("dask array", "dask table")
    )
    density = {
        "DBSCAN": CoHiRF(DBSCAN(eps=2.0), batch_size=200),
        "HDBSCAN": CoHiRF(HDBSCAN(min_cluster_size=10, copy=True), batch_size=200),
    }
    yield from _seeded("density", density, ("uneven",), 2, forms=("npy", "dask array", "table"))
    of_weights = {"K-Means": CONTAINED["K-Means"]}
    for weights, forms in {"fractions": ("npy", "dask array"), "zeros": ("npy",)}.items():
        family = f"containers, {weights}"
        yield from _seeded(family, of_weights, ("blobs",), 2, forms=forms, weights=weights)
    on_device = {
        "defaults": CoHiRF(NearestSeeds()),
        "strict": CoHiRF(NearestSeeds(), consensus="strict", max_features=0.5),
        "relaxed": CoHiRF(NearestSeeds(), consensus="relaxed", max_features=0.5),
        "batches": CoHiRF(NearestSeeds(), batch_size=120),
        "levels": CoHiRF(NearestSeeds(), n_clusters="levels"),
        "auto": CoHiRF(NearestSeeds(), n_clusters="auto"),
        "published": published(NearestSeeds(), max_features=0.5),
        "rbf": CoHiRF(NearestSeeds(), medoid="rbf"),
    }
    yield from _seeded("device", on_device, ("blobs", "uneven"), 2, forms=("device",))
    few = {name: on_device[name] for name in ("defaults", "batches")}
    yield from _seeded("device, weights", few, ("blobs",), 2, forms=("device",), weights="counts")


def _kinds_of_rows() -> Iterator[Case]:
    models = {
        "k given": CoHiRF(n_clusters=5),
        "k not given": CoHiRF(),
        "batches": CoHiRF(n_clusters=5, batch_size=130),
        "K-Means": CoHiRF(K_MEANS, **HALF),
        "cosine": CoHiRF(n_clusters=4, metric="cosine"),
    }
    yield from _seeded("rows", models, ("blobs", "digits"), 2, forms=("float32", "sparse"))
    tables = {name: models[name] for name in ("k given", "batches")}
    yield from _seeded("tables", tables, ("wine",), 2, forms=("table",))
    imputing = make_pipeline(SimpleImputer(), K_MEANS)
    with_gaps = {
        "HDBSCAN": CoHiRF(HDBSCAN(min_cluster_size=10, copy=True)),
        "imputed": CoHiRF(imputing, n_clusters=5, **HALF),
        "imputed in batches": CoHiRF(imputing, n_clusters=5, batch_size=130),
        "published": published(imputing, **HALF),
    }
    yield from _seeded("rows with gaps", with_gaps, ("blobs", "wine"), 2, forms=("gaps",))
    for weights in ("counts", "fractions", "zeros"):
        yield from _seeded(f"weights, {weights}", models, ("uneven",), 2, weights=weights)


def _sequences() -> Iterator[Case]:
    models = {
        "k given": CoHiRF(n_clusters=4),
        "k not given": CoHiRF(),
        "batches": CoHiRF(n_clusters=4, batch_size=100),
        "K-Means": CoHiRF(K_MEANS, **HALF),
        "levels": CoHiRF(K_MEANS, n_clusters="levels", batch_size=100),
    }
    density = {
        "DBSCAN": CoHiRF(DBSCAN(eps=2.0)),
        "HDBSCAN": CoHiRF(HDBSCAN(min_cluster_size=10, copy=True)),
    }
    everywhere = {
        "updates": _update,
        "a fit and an update": _fit_and_update,
        "forget": _forget,
        "merge": _merge,
        "save and load": _store,
    }
    for name, steps in everywhere.items():
        yield from _seeded(name, models, ("blobs", "uneven"), 1, steps=steps)
        yield from _seeded(name, density, ("uneven",), 1, steps=steps)
    few = {name: models[name] for name in ("k given", "batches")}
    yield from _seeded("merge of exemplars", few, ("blobs",), 2, steps=_merge_exemplars)
    yield from _seeded("updates, sparse", few, ("blobs",), 2, forms=("sparse",), steps=_update)
    weighted = {"K-Means": models["K-Means"], "batches": models["batches"]}
    yield from _seeded("updates, weights", weighted, ("blobs",), 2, weights="zeros", steps=_update)
    resumed = {
        "batches": models["batches"],
        "levels": models["levels"],
        "published": published(K_MEANS, batch_size=100, **HALF),
    }
    yield from _seeded("checkpoint", resumed, ("blobs",), 2, steps=_resume)


@cache
def all_cases() -> dict[str, Case]:
    """Return the cases by their names, without those whose package is not installed."""
    families = (
        _published,
        _defaults,
        _batches,
        _density,
        _containers,
        _kinds_of_rows,
        _sequences,
    )
    named: dict[str, Case] = {}
    for case in (case for family in families for case in family() if _can_run(case)):
        if case.name in named:
            raise ValueError(f"Two cases are called {case.name!r}: give one of them another name.")
        named[case.name] = case
    return named


def _can_run(case: Case) -> bool:
    return case.form not in NEEDS or find_spec(NEEDS[case.form]) is not None


# -- the program


def record_one(name: str) -> dict[str, Any]:
    """Return the results of a case, or its error."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        try:
            return all_cases()[name].run()
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}


def record(names: Sequence[str], n_jobs: int) -> Record:
    """Return the results of the named cases."""
    if n_jobs == 1:
        return {name: record_one(name) for name in names}
    with ProcessPoolExecutor(n_jobs) as processes:
        return dict(zip(names, processes.map(record_one, names, chunksize=8), strict=True))


def write(path: Path, *, is_quick: bool, n_jobs: int) -> None:
    """Run the cases and write their record."""
    names = list(all_cases())
    if is_quick:
        names = names[::QUICK_STEP]
    found = record(names, n_jobs)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    failed = {name: results["error"] for name, results in found.items() if "error" in results}
    print(f"{len(found)} fits recorded in {path}; {len(failed)} of them raised an error.")
    for name, error in failed.items():
        print(f"  {name}: {error}")
    for form, package in NEEDS.items():
        if find_spec(package) is None:
            print(f"  left out: {form}, because {package} is not installed")


def compare(before: Record, after: Record) -> int:
    """Print what two records have in common and where they differ; return how many fits differ."""
    common = [name for name in before if name in after]
    differing = {name: _differences(before[name], after[name]) for name in common}
    differing = {name: results for name, results in differing.items() if results}
    print(f"{len(common) - len(differing)} of {len(common)} fits are equal.")
    for name, results in differing.items():
        print(f"  {name}: {', '.join(results)}")
    for title, one, other in (("first", before, after), ("second", after, before)):
        alone = sum(name not in other for name in one)
        if alone:
            print(f"{alone} fits are only in the {title} record.")
    return len(differing)


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    for results in (before, after):
        if "error" in results and before != after:
            return [results["error"]]
    keys = dict.fromkeys([*before, *after])
    return [key for key in keys if before.get(key) != after.get(key)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="run the fits, and write what they find")
    writing.add_argument("file", type=Path)
    writing.add_argument("--quick", action="store_true", help="only every tenth fit")
    writing.add_argument("--jobs", type=int, default=1, help="number of processes")
    comparing = commands.add_parser("compare", help="say where two records differ")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    chosen = parser.parse_args(arguments)
    if chosen.command == "write":
        write(chosen.file, is_quick=chosen.quick, n_jobs=chosen.jobs)
        return 0
    before, after = (
        json.loads(path.read_text(encoding="utf-8")) for path in (chosen.before, chosen.after)
    )
    return min(compare(before, after), 1)


if __name__ == "__main__":
    sys.exit(main())
