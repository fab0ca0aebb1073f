"""Does the memory of a fit that reads a file grow with the number of rows?

Each fit has a process of its own and comes after a small one, so that everything is imported and
compiled; then the peak resident size is reset. It includes Python, the packages, and cached pages
of mapped files. The fit keeps four vectors with an entry per row, in unnamed files: parents,
levels, stability and labels. Growth is measured against the fit with the fewest rows, beyond these
vectors; ``raw`` is the growth with them. "in the fit" is how far the peak rises above what the
process has before the fit.

    python -m benchmarks.speed.memory [--rows 100000 1000000 10000000] [--format npy] [--base
    k-means]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as arrow
from examples.synthetic import write_data
from pyarrow import parquet
from sklearn.cluster import KMeans

from benchmarks._common import Table, in_fresh_process, make_parser, parse, peak_rise
from cohirf import CoHiRF, open_source
from cohirf.clusterers import GridDBSCAN
from cohirf.datasets import make_spheres
from cohirf.planning.memory import peak_bytes

BASES = {"grid-dbscan": GridDBSCAN(eps=0.2), "k-means": KMeans(10, n_init=1)}
FORMATS = ("npy", "parquet")
LIMIT = 0.05


def measure(path: Path, base: str, batch_size: int) -> tuple[int, int, int, int]:
    """Return the peak, by how much the fit raised it, bytes of the vectors, and clusters.

    In a process of its own.
    """
    model = CoHiRF.as_published(BASES[base], views=1, batch_size=batch_size, random_state=0)
    model.fit(open_source(make_spheres(3 * batch_size, random_state=0)[0].astype("float32")))
    source = open_source(path)
    rise, _ = peak_rise(lambda: model.fit(source))
    vectors = (model.parents_, model.hierarchy_.absorbed_at, model.stability_, model.labels_)
    return peak_bytes(), rise, sum(vector.nbytes for vector in vectors), model.n_clusters_


def bench(rows: list[int], form: str, base: str, batch_size: int, limit: float) -> bool:
    columns = {"rows": ">12,", "peak MB": ">8.1f", "in the fit": ">11.1f", "vectors": ">8.1f"}
    table = Table(columns | {"growth": ">7.1%", "raw": ">7.1%", "clusters": ">9,"})
    first = 0
    good = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data.{form}"
        for n_rows in rows:
            write_data("spheres", path.with_suffix(".npy"), n_rows, random_state=0)
            if form == "parquet":
                columns = np.load(path.with_suffix(".npy")).T
                parquet.write_table(
                    arrow.table(dict(zip(("x0", "x1", "x2"), columns, strict=True))), path
                )
            if not first:
                # what numba compiles, it keeps in a file
                in_fresh_process(measure, path, base, batch_size)
            peak, rise, vectors, n_clusters = in_fresh_process(measure, path, base, batch_size)
            first = first or peak
            growth = (peak - vectors) / first - 1
            raw = peak / first - 1
            good = good and growth < limit
            table.row(n_rows, peak / 1e6, rise / 1e6, vectors / 1e6, growth, raw, n_clusters)
    return good


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--format", choices=FORMATS, default="npy")
    parser.add_argument("--base", choices=BASES, default="grid-dbscan")
    parser.add_argument("--batch-size", type=int, default=2000)
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help="growth at which the program ends with code 1"
    )
    arguments = parse(parser, argv, rows=[10**5, 10**6])
    good = bench(
        arguments.rows, arguments.format, arguments.base, arguments.batch_size, arguments.limit
    )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
