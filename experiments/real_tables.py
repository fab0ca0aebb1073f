"""The paper's tables on real data: which rows each has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from experiments.cells import Cell
from experiments.methods import ALONE, OF_THE_PAPER, WITH_WEIGHTS
from experiments.paper import METRICS

Rows = dict[str, tuple[str, ...]]  # base method: variants

SPECTRAL = (ALONE, "CoHiRF, R=1", "CoHiRF, R=2")
FEW_CLUSTERS = ("CoHiRF, k to 5", "R-CoHiRF, k to 5")


@dataclass(frozen=True)
class Table:
    """A table of the paper: its heading, data sets and rows."""

    heading: str
    data: tuple[str, ...]
    rows: Rows

    def cells(self, n_trials: int, n_seeds: int) -> Iterator[Cell]:
        """Yield what is to be tuned; cheap methods first, all seeds of a row after another."""
        for data in self.data:
            for base, variants in self.rows.items():
                for metric in METRICS:
                    for variant in variants:
                        for seed in range(n_seeds):
                            yield Cell(data, base, variant, metric, seed, n_trials)


TABLES = {
    "iris": Table(
        "Iris",
        ("iris",),
        {"K-Means": (*WITH_WEIGHTS, *FEW_CLUSTERS), "kernel K-Means": (*WITH_WEIGHTS, *FEW_CLUSTERS)},
    ),
    "gene_expression": Table(
        "Gene expression",
        ("alizadeh-2000-v2", "garber-2001"),
        {"K-Means": WITH_WEIGHTS, "kernel K-Means": WITH_WEIGHTS, "DBSCAN": OF_THE_PAPER, "SC-SRGF": SPECTRAL},
    ),
    "shuttle": Table(
        "Statlog Shuttle",
        ("shuttle",),
        {
            "K-Means": WITH_WEIGHTS,
            "kernel K-Means": WITH_WEIGHTS,
            "DBSCAN": (*OF_THE_PAPER, "CoHiRF, 10 batches", "R-CoHiRF, 10 batches", "CoHiRF, 10 batches, weights"),
            "SC-SRGF": ("CoHiRF, R=1, 100 batches",),
        },
    ),
    "coil20": Table(
        "COIL-20",
        ("coil-20",),
        {
            "K-Means": (*WITH_WEIGHTS, *FEW_CLUSTERS),
            "kernel K-Means": WITH_WEIGHTS,
            "DBSCAN": (*OF_THE_PAPER, "CoHiRF, weights"),
            "SC-SRGF": SPECTRAL,
        },
    ),
    "nursery": Table("Nursery", ("nursery",), {"K-Means": WITH_WEIGHTS}),
}
