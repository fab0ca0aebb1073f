"""Does SC-SRGF in batches find clusters among ten thousand features of noise, and in how much
memory?

    python -m benchmarks.quality.sc_srgf_batches [--seeds 3] [--rows 10000] [--noise 10000]

The data are the paper's hypercube: five corners in 10 features, and features of noise. SC-SRGF has
one view and batches of 1,000 rows. Each fit has a process of its own; memory is its peak resident
size, the data included.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks._common import Table, in_fresh_process, make_parser, parse, score_fit
from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF
from cohirf.datasets import make_hypercube
from cohirf.planning.memory import peak_bytes


def measure(n_rows: int, n_noise: int, seed: int) -> list[float]:
    """Fit, and return a row of the table; run in a process of its own."""
    X, y = make_hypercube(n_rows, n_informative=10, n_noise=n_noise, random_state=seed)
    found = score_fit(
        CoHiRF.as_published(SCSRGF(5, graph="local"), views=1, batch_size=1000, random_state=seed),
        X,
        y,
    )
    return [
        found["ari"],
        found["clusters"],
        found["seconds"],
        peak_bytes() / 1e6,
        peak_bytes() / X.nbytes,
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--noise", type=int, default=10_000, help="features of noise")
    arguments = parse(parser, argv, seeds=1, rows=3000, noise=100)
    columns = {"seed": ">5", "ARI": ">6.3f", "clusters": ">9", "CPU s": ">8.1f"}
    table = Table(columns | {"peak MB": ">8.0f", "/ data": ">7.1f"})
    for seed in range(arguments.seeds):
        table.row(seed, *in_fresh_process(measure, arguments.rows, arguments.noise, seed))


if __name__ == "__main__":
    main()
