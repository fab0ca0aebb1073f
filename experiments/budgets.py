"""How much an experiment may take: trials, seeds and rows."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Budget:
    """Trials of a search, seeds of a row of a table, and how many rows of the data are looked at,
    if not all.
    """

    n_trials: int
    n_seeds: int
    max_rows: int | None = None

    def at_most(self, n_trials: int, n_seeds: int) -> Budget:
        """Return this budget, lowered where it is above the given figures."""
        return replace(
            self, n_trials=min(n_trials, self.n_trials), n_seeds=min(n_seeds, self.n_seeds)
        )


BUDGETS = {"small": Budget(3, 2, max_rows=300), "full": Budget(60, 5)}
