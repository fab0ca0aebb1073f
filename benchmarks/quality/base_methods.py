"""The paper's four base methods, alone and in CoHiRF, on five real data sets.

Features are standardised. K-Means, kernel K-Means and SC-SRGF are told the true number of clusters; kernel K-Means has
gamma = 1 / number of features. DBSCAN has min_samples=5, and learns of the number of clusters through eps: the largest
percentile of the distances to the fifth neighbour, from the 99th down, that gives as many clusters or more; where none
does, the 90th. Nothing else is tuned. SC-SRGF has two views; on shuttle, whose rows it cannot hold, it runs in batches
with one view, as in the paper. Data sets are read as in benchmarks/quality.py.

Every fit is written to a file as soon as it is done, and is not run again while it stands there: a run that was stopped
goes on where it was. The file knows the settings of a fit, not the code: delete it after a change of the code.

    python benchmarks/base_methods.py [--data-sets iris shuttle] [--bases DBSCAN SC-SRGF] [--seeds 5]
    python benchmarks/base_methods.py --hypercube [--seeds 3]    # SC-SRGF in batches: 10,000 rows, 10,010 features
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from quality import data_sets
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF, KernelKMeans

DATA_SETS = ("iris", "alizadeh-2000-v2", "garber-2001", "coil-20", "shuttle")
MAX_SPECTRAL_ROWS = 5000
VARIANTS: dict[str, dict[str, Any]] = {
    "strict": {},
    "relaxed": {"consensus": "relaxed"},
    "weights": {"medoid_weights": True},
}


@dataclass(frozen=True)
class Results:
    """Fits that are done, in a file of one JSON object per line."""

    path: Path

    def of(self, fit: str, settings: str, run: Callable[[], dict[str, float]]) -> dict[str, float]:
        """Return what the file has of a fit with these settings; run it and write it down if there is nothing yet."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        done = {(entry["fit"], entry["settings"]): entry["figures"] for entry in map(json.loads, lines)}
        if (fit, settings) not in done:
            figures = run()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps({"fit": fit, "settings": settings, "figures": figures}) + "\n")
            print(f"  {fit}: " + ", ".join(f"{name} {value:.3g}" for name, value in figures.items()), flush=True)
            return figures
        return done[fit, settings]


def fifth_neighbour_distances(X: np.ndarray) -> np.ndarray:
    rows = X if len(X) <= 5000 else X[np.random.default_rng(0).choice(len(X), 5000, replace=False)]
    return NearestNeighbors(n_neighbors=6).fit(X).kneighbors(rows)[0][:, 5]


def choose_eps(X: np.ndarray, k: int) -> dict[str, float]:
    distances = fifth_neighbour_distances(X)
    for percentile in range(99, 0, -1):
        eps = float(np.percentile(distances, percentile))
        clusters = int(DBSCAN(eps=eps).fit(X).labels_.max()) + 1
        if clusters >= k:
            return {"eps": eps, "percentile": percentile, "clusters": clusters}
    return {"eps": float(np.percentile(distances, 90)), "percentile": 90}


def base_methods(name: str, X: np.ndarray, k: int, results: Results) -> dict[str, Callable[[], Any]]:
    return {
        "K-Means": lambda: KMeans(k),
        "kernel K-Means": lambda: KernelKMeans(k, gamma=1 / X.shape[1]),
        "DBSCAN": lambda: DBSCAN(eps=results.of(name, f"eps for {k} clusters", lambda: choose_eps(X, k))["eps"]),
        "SC-SRGF": lambda: SCSRGF(k),
    }


def models(base: Any, n_rows: int, batch_size: int) -> Iterator[tuple[str, Any]]:
    """Yield the base alone and in the variants of CoHiRF; None in the place of those that cannot run."""
    if not isinstance(base, SCSRGF):
        yield "alone", base
        yield from ((variant, CoHiRF(base, **options)) for variant, options in VARIANTS.items())
        return
    in_batches = n_rows > MAX_SPECTRAL_ROWS
    common: dict[str, Any] = {"n_views": 1, "batch_size": batch_size} if in_batches else {"n_views": 2}
    yield "alone", None if in_batches else base
    yield "strict", CoHiRF(base, **common)
    yield "relaxed", None if in_batches else CoHiRF(base, **common, consensus="relaxed")  # of one view, it is strict
    yield "weights", None  # SC-SRGF takes none


def fit(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    started = time.perf_counter()
    labels = model.fit(X).labels_
    seconds = round(time.perf_counter() - started, 1)
    return {"ARI": adjusted_rand_score(y, labels), "clusters": int(labels.max()) + 1, "seconds": seconds}


def describe(found: list[float]) -> str:
    spread = f"±{np.std(found, ddof=1):.2f}" if len(found) > 1 else ""
    return f"{np.mean(found):.2f}{spread}"


def scores(model: Any, X: np.ndarray, y: np.ndarray, fits: str, n_seeds: int, results: Results) -> list[float]:
    found = []
    for seed in range(n_seeds):
        seeded = clone(model)
        if "random_state" in seeded.get_params():
            seeded.set_params(random_state=seed)
        settings = " ".join(repr(seeded).split())
        found.append(results.of(f"{fits}, seed {seed}", settings, partial(fit, seeded, X, y))["ARI"])
    return found


def table(names: list[str], bases: list[str], n_seeds: int, batch_size: int, results: Results) -> None:
    rows = []
    for name, X, y in data_sets():
        for base_name, make in base_methods(name, X, len(np.unique(y)), results).items():
            if name not in names or base_name not in bases:
                continue
            base, cells = make(), []
            n_fits = n_seeds if "random_state" in base.get_params() else 1  # all features, exact medoids: none is drawn
            for variant, model in models(base, len(X), batch_size):
                if model is None:
                    cells.append("-")
                    continue
                cells.append(describe(scores(model, X, y, f"{name}, {base_name}, {variant}", n_fits, results)))
            rows.append(f"{name:<18} {base_name:<15} " + " ".join(f"{cell:>10}" for cell in cells))
    print(f"{'data set':<18} {'base':<15} " + " ".join(f"{column:>10}" for column in ("alone", *VARIANTS)))
    print("\n".join(rows))


def make_hypercube(n_rows: int, n_informative: int, n_noise: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows around five corners of a hypercube with unit spread, and noise features."""
    rng = np.random.default_rng(seed)
    corners = rng.choice(2**n_informative, 5, replace=False)
    bits = (corners[:, None] >> np.arange(n_informative)) & 1
    y = rng.integers(0, 5, n_rows)
    X = np.empty((n_rows, n_informative + n_noise), dtype=np.float32)
    X[:, :n_informative] = bits[y] * 6 * np.sqrt(n_informative) + rng.standard_normal((n_rows, n_informative))
    X[:, n_informative:] = rng.standard_normal((n_rows, n_noise), dtype=np.float32)
    return X, y


def peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


def hypercube(n_seeds: int) -> None:
    for seed in range(n_seeds):
        X, y = make_hypercube(10_000, 10, 10_000, seed)
        model = CoHiRF(SCSRGF(5), n_views=1, batch_size=1000, random_state=seed)
        found = fit(model, X, y)
        print(
            f"seed {seed}: ARI {found['ARI']:.3f}, {model.hierarchy_}, {found['seconds']:.0f} s, "
            f"{peak_mb():,.0f} MB peak, {X.nbytes / 1e6:,.0f} MB of them data",
            flush=True,
        )
        del X, model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", nargs="+", choices=DATA_SETS, default=DATA_SETS)
    bases = ["K-Means", "kernel K-Means", "DBSCAN", "SC-SRGF"]
    parser.add_argument("--bases", nargs="+", choices=bases, default=bases)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=500, help="rows that SC-SRGF gets where it cannot hold all")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "base_methods.jsonl")
    parser.add_argument("--hypercube", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.hypercube:
        hypercube(arguments.seeds)
    else:
        results = Results(arguments.results)
        table(arguments.data_sets, arguments.bases, arguments.seeds, arguments.batch_size, results)


if __name__ == "__main__":
    main()
