"""The paper's tables on real data: which rows each has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from experiments.budgets import Budget
from experiments.cells import Cell
from experiments.methods import ALONE, KERNEL_K_MEANS, OF_THE_PAPER, OURS, WITH_WEIGHTS
from experiments.paper import METRICS

Rows = dict[str, tuple[str, ...]]  # base method: variants
Efforts = dict[str, tuple[int, int]]  # metric: trials and seeds

SPECTRAL = (ALONE, "CoHiRF, R=1", "CoHiRF, R=2")
WITH_NEIGHBORS = (
    "alone, neighbours to 30",
    "CoHiRF, R=1, neighbours to 30",
    "CoHiRF, R=2, neighbours to 30",
)
WITH_SMALL_GAMMA = (
    "alone, gamma from 1e-5",
    "CoHiRF, gamma from 1e-5",
    "R-CoHiRF, gamma from 1e-5",
    "majority, gamma from 1e-5, weights",
)
WITH_FEW_CLUSTERS = ("CoHiRF, k to 5", "R-CoHiRF, k to 5")
# ten trials come before the sampler's first proposal
RANDOM_SEARCH: Efforts = dict.fromkeys(METRICS, (10, 3))
MORE_FOR_ARI: Efforts = RANDOM_SEARCH | {"ari": (60, 3)}


@dataclass(frozen=True)
class Table:
    """A table of the paper: its heading, data sets and rows.

    And what is spent on base methods that take long.
    """

    heading: str
    data: tuple[str, ...]
    rows: Rows
    dear: dict[str, Efforts] = field(default_factory=dict)

    def cells(self, budget: Budget) -> Iterator[Cell]:
        """Yield what is to be tuned.

        Cheap methods first, all metrics of a search one after another.
        """
        for data in self.data:
            for base, variants in self.rows.items():
                dear = self.dear.get(base, {})
                affordable = {
                    metric: budget.at_most(*dear[metric]) if dear else budget for metric in METRICS
                }
                for variant in variants:
                    for seed in range(budget.n_seeds):
                        for metric, spent in affordable.items():
                            if seed < spent.n_seeds:
                                yield Cell(
                                    data,
                                    base,
                                    variant,
                                    metric,
                                    seed,
                                    spent.n_trials,
                                    budget.max_rows,
                                )


TABLES = {
    "iris": Table(
        "Iris",
        ("iris",),
        {"K-Means": (*OURS, *WITH_FEW_CLUSTERS), KERNEL_K_MEANS: (*OURS, *WITH_FEW_CLUSTERS)},
    ),
    "gene_expression": Table(
        "Gene expression",
        ("alizadeh-2000-v2", "garber-2001"),
        {
            "K-Means": (*OURS, *WITH_FEW_CLUSTERS),
            KERNEL_K_MEANS: (*WITH_WEIGHTS, *WITH_SMALL_GAMMA),
            "DBSCAN": OF_THE_PAPER,
            "SC-SRGF": (*SPECTRAL, *WITH_NEIGHBORS, "CoHiRF, R=2, all options"),
        },
    ),
    "shuttle": Table(
        "Statlog Shuttle",
        ("shuttle",),
        {
            "K-Means": OURS,
            KERNEL_K_MEANS: WITH_WEIGHTS,
            "DBSCAN": (
                *OF_THE_PAPER,
                "CoHiRF, 10 batches",
                "R-CoHiRF, 10 batches",
                "CoHiRF, 10 batches, weights",
            ),
            "SC-SRGF": ("CoHiRF, R=1, 100 batches",),
        },
        dear={KERNEL_K_MEANS: MORE_FOR_ARI, "SC-SRGF": dict.fromkeys(METRICS, (10, 2))},
    ),
    "coil20": Table(
        "COIL-20",
        ("coil-20",),
        {
            "K-Means": (*OURS, *WITH_FEW_CLUSTERS),
            KERNEL_K_MEANS: (*WITH_WEIGHTS, *WITH_SMALL_GAMMA),
            "DBSCAN": (*OF_THE_PAPER, "CoHiRF, weights", "all options", "alone, eps to 60"),
            "SC-SRGF": (*SPECTRAL, "CoHiRF, R=1, k to 5"),
        },
        dear={KERNEL_K_MEANS: MORE_FOR_ARI, "SC-SRGF": RANDOM_SEARCH},
    ),
    "nursery": Table("Nursery", ("nursery",), {"K-Means": OURS}),
}
