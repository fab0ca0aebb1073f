"""How long does a neighbour graph of many nodes take on one core, and how much memory?

    python -m benchmarks.speed.graphs [--nodes 1000000] [--write]
    python -m benchmarks.speed.graphs --nodes 10000000 --from-file [--write]

Points in three dimensions: clusters of about 5,000, and a tenth of the points anywhere. The graph
has the distances to the 15 nearest neighbours of each, as ``kneighbors_graph(mode="distance")``
writes it, in float64. Each fit runs in a process of its own on one core, after a small one that
compiles. Time is that of the processor, memory what the fit adds to the graph, and the peak of the
whole process; with ``--from-file``, the fit reads the graph from a .npz file, and adds it, too.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.cluster import HDBSCAN
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    add_write_option,
    in_fresh_process,
    make_parser,
    parse,
    peak_rise,
    show_table,
    timed,
)
from cohirf import CoHiRF, open_source
from cohirf.planning.memory import peak_bytes

N_NEIGHBORS = 15
CLUSTER_NODES = 5_000
BLOCK = 1_000_000


def write_graph(path: Path, n_nodes: int) -> None:
    """Write the neighbour graph of random points to a .npz file."""
    rng = np.random.default_rng(0)
    side = 100 * (n_nodes / 1e6) ** (1 / 3)  # so that a larger graph is as dense
    centres = rng.uniform(0, side, size=(n_nodes // CLUSTER_NODES + 1, 3))
    X = centres[rng.integers(len(centres), size=n_nodes)] + rng.normal(size=(n_nodes, 3))
    X[: n_nodes // 10] = rng.uniform(0, side, size=(n_nodes // 10, 3))
    tree = KDTree(X)
    indices = np.empty((n_nodes, N_NEIGHBORS), dtype=np.int32)
    data = np.empty((n_nodes, N_NEIGHBORS))
    for start in range(0, n_nodes, BLOCK):
        block = slice(start, start + BLOCK)
        distances, neighbours = tree.query(X[block], N_NEIGHBORS + 1, workers=-1)
        data[block] = distances[:, 1:]
        indices[block] = neighbours[:, 1:]
    indptr = np.arange(n_nodes + 1, dtype=np.int32) * N_NEIGHBORS
    graph = sparse.csr_matrix((data.ravel(), indices.ravel(), indptr), shape=(n_nodes, n_nodes))
    sparse.save_npz(path, graph, compressed=False)


def make_model(method: str) -> CoHiRF:
    """Return the model with a name."""
    base = HDBSCAN(min_cluster_size=N_NEIGHBORS, copy=True) if method == "HDBSCAN" else None
    return CoHiRF(base, metric="precomputed", random_state=0)


def measure(method: str, path: Path, compiled: Path, from_file: bool) -> dict[str, Any]:
    """Return the figures of a fit, on one core, in a process of its own."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        make_model(method).fit(sparse.load_npz(compiled))
        graph = open_source(path, graph=True) if from_file else sparse.load_npz(path)
        model = make_model(method)
        rise, (seconds, _) = peak_rise(lambda: timed(lambda: model.fit(graph)))
    return {
        "seconds": seconds,
        "rise": rise,
        "peak": peak_bytes(),
        "clusters": model.n_clusters_,
        "noise": float((model.labels_ < 0).mean()),
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--from-file", action="store_true")
    parser.add_argument("--methods", nargs="+", default=["HDBSCAN", "default"])
    add_write_option(parser)
    arguments = parse(parser, argv, nodes=20_000)
    cells = [["nodes", "method", "seconds", "MB added", "MB peak", "clusters", "noise"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.npz"
        write_graph(path, arguments.nodes)
        compiled = Path(folder) / "compiled.npz"
        write_graph(compiled, 100_000)  # large enough for compiled loops
        for method in arguments.methods:
            found = in_fresh_process(measure, method, path, compiled, arguments.from_file)
            cells.append(
                [
                    f"{arguments.nodes:,}",
                    method,
                    f"{found['seconds']:.1f}",
                    f"{found['rise'] / 1e6:,.0f}",
                    f"{found['peak'] / 1e6:,.0f}",
                    f"{found['clusters']:,}",
                    f"{found['noise']:.1%}",
                ]
            )
    name = "graph_file_speed" if arguments.from_file else "graph_speed"
    show_table(arguments.write, name, cells)


if __name__ == "__main__":
    main()
