"""How much memory a fit of a row of a table takes: ``python -m experiments.peak_memory CELL.json``
prints it.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from experiments.cells import Cell, data_for
from experiments.fresh_process import measure, peak_mb, report
from experiments.keeping import is_kept, kept, path_of
from experiments.methods import make_model


def peak_of(cell: Cell, folder: Path, *, may_fit: bool) -> float | None:
    """Return the peak memory in MB of a process that fits the best model of a cell that was tuned.

    None if it is not known, and must not be found out.
    """
    path = path_of(folder, cell.about())
    about = {"peak memory of": path.stem}
    if not may_fit and not is_kept(folder, about):
        return None
    return float(kept(folder, about, lambda: measure("experiments.peak_memory", path))["peak_mb"])


def main(path: Path) -> None:
    """Fit the best model of a cell, and print the peak."""
    cell: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    X, _ = data_for(cell["base"], cell["data"], cell.get("max_rows"))
    model = make_model(cell["base"], cell["variant"], len(X)).set_params(**cell["params"])
    if cell["random_state"] is not None:
        model.set_params(random_state=cell["random_state"])
    warnings.simplefilter("ignore")
    model.fit(X)
    report({"peak_mb": peak_mb()})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
