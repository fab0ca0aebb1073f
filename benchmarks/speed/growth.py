"""How does the time of a default fit grow with rows, clusters, features and cores?

    python -m benchmarks.speed.growth                          all four, with 20,000 to 20 million rows
    python -m benchmarks.speed.growth --vary rows features     some of them
    python -m benchmarks.speed.growth --share 0.01             a hundredth of the rows

One of the four changes at a time. The exponent is that of the best line through the logarithms of
all times: 1 is linear. Seconds are by the clock, and the best of two fits, as long as a fit takes
less than ten seconds. Labels must be the same for every number of jobs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks._common import Table, add_write_option, make_parser, parse, timed
from cohirf import CoHiRF

SHORT_SECONDS = 10.0


@lru_cache(maxsize=1)
def draw_blobs(n_rows: int, n_clusters: int, n_features: int) -> NDArray[np.float32]:
    """Return rows of clusters around random centres; scikit-learn's function takes longer."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    centres = rng.uniform(-10, 10, size=(n_clusters, n_features)).astype(np.float32)
    X += centres[rng.integers(0, n_clusters, n_rows)]
    return X


@dataclass(frozen=True)
class Work:
    """A default fit of blobs."""

    rows: int = 200_000
    clusters: int = 10
    features: int = 20
    jobs: int = 1

    def measure(self) -> tuple[float, NDArray[np.integer]]:
        """Return the seconds of a fit, and its labels."""
        X = draw_blobs(self.rows, self.clusters, self.features)
        model = CoHiRF(n_clusters=self.clusters, n_jobs=self.jobs, random_state=0)
        seconds, fitted = timed(lambda: model.fit(X), time.perf_counter)
        if seconds < SHORT_SECONDS:
            seconds = min(seconds, timed(lambda: model.fit(X), time.perf_counter)[0])
        return seconds, np.array(fitted.labels_)


def make_series(share: float) -> dict[str, list[Work]]:
    """Return fits of which one thing differs, by the name of that."""
    middle = Work(rows=int(200_000 * share))
    large = Work(rows=int(2_000_000 * share))
    n_cores = os.cpu_count() or 1
    return {
        "rows": [Work(rows=int(n * share)) for n in (20_000, 200_000, 2_000_000, 20_000_000)],
        "clusters": [replace(middle, clusters=k) for k in (10, 30, 100, 300, 1000)],
        "features": [replace(middle, features=d) for d in (5, 20, 80, 320, 768)],
        "jobs": [replace(large, jobs=jobs) for jobs in (1, 2, 4, 8, 16) if jobs <= n_cores],
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table of times, with the exponent of each series."""
    parser = make_parser(__doc__)
    parser.add_argument("--vary", nargs="+", choices=list(make_series(1)), default=None)
    parser.add_argument("--share", type=float, default=1.0, help="share of the rows")
    add_write_option(parser)
    options = parse(parser, argv, share=0.01)
    table = Table(
        {
            "varies": "<10",
            "rows": ">12,",
            "clusters": ">8",
            "features": ">8",
            "jobs": ">5",
            "seconds": ">9.2f",
            "exponent": ">9",
        }
    )
    Work(rows=3_000, jobs=2).measure()  # what is imported and loaded once
    for name, series in make_series(options.share).items():
        if options.vary and name not in options.vary:
            continue
        times: list[float] = []
        first = None
        for work in series:
            seconds, labels = work.measure()
            if name == "jobs":
                first = labels if first is None else first
                assert (labels == first).all(), f"other labels with {work.jobs} jobs"
            times.append(seconds)
            exponent = "-"
            if len(times) == len(series) > 1:
                values = [getattr(each, name) for each in series]
                exponent = f"{np.polyfit(np.log(values), np.log(times), 1)[0]:.2f}"
            table.row(name, work.rows, work.clusters, work.features, work.jobs, seconds, exponent)
    table.write(options.write, "growth")


if __name__ == "__main__":
    main()
