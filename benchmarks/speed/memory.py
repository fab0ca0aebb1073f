"""Does the memory of a fit that reads a file grow with the number of rows?

Each fit has a process of its own and comes after a small one, so that everything is imported and
compiled; then the peak resident size is reset. It includes Python, the packages, and cached pages
of mapped files. "in the fit" is how far the peak rises above what the process has before the fit.
The fit keeps four vectors with an entry per row, in unnamed files: parents, levels, stability and
labels. Growth is how much more the peak rises than in the fit with the fewest rows, beyond these
vectors, as a share of the peak of that fit; ``raw`` is the growth with them. How many pages of the
packages are in memory before a fit differs from process to process by several percent, and is no
growth.

    python -m benchmarks.speed.memory [--rows 100000 1000000 10000000] [--format npy] [--base
    k-means]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
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
from cohirf.sources.source import Source

BASES = {"grid-dbscan": GridDBSCAN(eps=0.2), "k-means": KMeans(10, n_init=1)}
FORMATS = ("npy", "parquet")
LIMIT = 0.05


@dataclass(frozen=True)
class Measured:
    """The memory of a fit, in bytes."""

    peak: int
    rise: int  # by how much the fit raised the peak
    vectors: int
    n_clusters: int

    @property
    def beyond_vectors(self) -> int:
        """By how much the fit raised the peak, beyond the vectors."""
        return self.rise - self.vectors


def measure(path: Path, base: str, batch_size: int) -> Measured:
    """Fit in a process of its own."""
    model = CoHiRF.as_published(BASES[base], views=1, batch_size=batch_size, random_state=0)
    model.fit(open_source(make_spheres(3 * batch_size, random_state=0)[0].astype("float32")))
    rise, n_bytes = peak_rise(lambda: fit_and_look_up(model, open_source(path)))
    return Measured(peak_bytes(), rise, n_bytes, model.n_clusters_)


def fit_and_look_up(model: CoHiRF, source: Source) -> int:
    """Fit, and return the bytes of the vectors, which are made when they are first read."""
    model.fit(source)
    vectors = (model.parents_, model.hierarchy_.absorbed_at, model.stability_, model.labels_)
    return sum(vector.nbytes for vector in vectors)


def bench(rows: list[int], form: str, base: str, batch_size: int, limit: float) -> bool:
    columns = {"rows": ">12,", "peak MB": ">8.1f", "in the fit": ">11.1f", "vectors": ">8.1f"}
    table = Table(columns | {"growth": ">7.1%", "raw": ">7.1%", "clusters": ">9,"})
    first: Measured | None = None
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
            if first is None:
                # what numba compiles, it keeps in a file
                in_fresh_process(measure, path, base, batch_size)
            fit = in_fresh_process(measure, path, base, batch_size)
            first = first or fit
            growth = (fit.beyond_vectors - first.beyond_vectors) / first.peak
            raw = (fit.rise - first.rise) / first.peak
            good = good and growth < limit
            sizes = [fit.peak / 1e6, fit.rise / 1e6, fit.vectors / 1e6]
            table.row(n_rows, *sizes, growth, raw, fit.n_clusters)
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
