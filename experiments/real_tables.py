"""The paper's tables on real data: which rows each has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from experiments.budgets import Budget
from experiments.cells import Cell
from experiments.methods import ALONE, KERNEL_K_MEANS, OF_THE_PAPER, OURS, WITH_WEIGHTS
from experiments.paper import METRICS

Rows = dict[str, tuple[str, ...]]  # base method: variants

SPECTRAL = (ALONE, "CoHiRF, R=1", "CoHiRF, R=2")
FEW_CLUSTERS = ("CoHiRF, k to 5", "R-CoHiRF, k to 5")


@dataclass(frozen=True)
class Table:
    """A table of the paper: its heading, data sets and rows; and trials and seeds of rows that take hours."""

    heading: str
    data: tuple[str, ...]
    rows: Rows
    dear: dict[str, tuple[int, int]] = field(default_factory=dict)

    def cells(self, budget: Budget) -> Iterator[Cell]:
        """Yield what is to be tuned; cheap methods first, all metrics of a search one after another."""
        for data in self.data:
            for base, variants in self.rows.items():
                affordable = budget.at_most(*self.dear[base]) if base in self.dear else budget
                for variant in variants:
                    for seed in range(affordable.n_seeds):
                        for metric in METRICS:
                            yield Cell(data, base, variant, metric, seed, affordable.n_trials, budget.max_rows)


TABLES = {
    "iris": Table(
        "Iris",
        ("iris",),
        {"K-Means": (*OURS, *FEW_CLUSTERS), KERNEL_K_MEANS: (*WITH_WEIGHTS, *FEW_CLUSTERS)},
    ),
    "gene_expression": Table(
        "Gene expression",
        ("alizadeh-2000-v2", "garber-2001"),
        {"K-Means": OURS, KERNEL_K_MEANS: WITH_WEIGHTS, "DBSCAN": OF_THE_PAPER, "SC-SRGF": SPECTRAL},
    ),
    "shuttle": Table(
        "Statlog Shuttle",
        ("shuttle",),
        {
            "K-Means": OURS,
            KERNEL_K_MEANS: WITH_WEIGHTS,
            "DBSCAN": (*OF_THE_PAPER, "CoHiRF, 10 batches", "R-CoHiRF, 10 batches", "CoHiRF, 10 batches, weights"),
            "SC-SRGF": ("CoHiRF, R=1, 100 batches",),
        },
        dear={KERNEL_K_MEANS: (60, 3), "SC-SRGF": (10, 2)},
    ),
    "coil20": Table(
        "COIL-20",
        ("coil-20",),
        {
            "K-Means": (*OURS, *FEW_CLUSTERS),
            KERNEL_K_MEANS: WITH_WEIGHTS,
            "DBSCAN": (*OF_THE_PAPER, "CoHiRF, weights", "alone, eps to 60"),
            "SC-SRGF": (*SPECTRAL, "CoHiRF, R=1, k to 5"),
        },
        dear={KERNEL_K_MEANS: (10, 3), "SC-SRGF": (10, 3)},
    ),
    "nursery": Table("Nursery", ("nursery",), {"K-Means": OURS}),
}
