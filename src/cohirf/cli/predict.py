"""cohirf predict: assign new rows to clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cohirf.cli.console import Console
from cohirf.cli.data_options import NewRowsOptions
from cohirf.cli.grids import Grid
from cohirf.cli.models import open_model
from cohirf.cli.new_rows import find_ids, read_new_rows
from cohirf.cli.options import Screen
from cohirf.cli.summary import MOST_SIZES, agreement, agreement_rows, shown_sizes, sizes_of
from cohirf.cli.targets import save_labels
from cohirf.cli.writing import TABLES, check_file
from cohirf.summary.numbers import positions_of


def predict(
    model: Path,
    data: Path,
    out: Path,
    reading: NewRowsOptions,
    screen: Screen,
    *,
    escape_formulas: bool,
    force: bool,
) -> None:
    """Assign new rows to the clusters of a model."""
    console = Console.on(screen)
    check_file(out, "--out", TABLES, force=force, data=data)
    fitted, preparation = open_model(model)
    prepared = read_new_rows(data, preparation, reading, console)
    ids = find_ids(prepared, out, reading.id_column)
    labels = fitted.predict(prepared.source)
    sizes = sizes_of(positions_of(labels, fitted.cluster_numbers_), fitted.n_clusters_)
    document = {
        "command": "predict",
        "rows": len(labels),
        "clusters": int(np.count_nonzero(sizes)),
        "rows_in_no_cluster": len(labels) - sum(sizes),
        "sizes": [size for size in sizes[:MOST_SIZES] if size],
        **agreement(labels, prepared.classes()),
        "written": {"labels": str(out)},
    }
    save_labels(out, labels, None if ids is None else prepared.ids(), ids, console, escape=escape_formulas)
    rows = [
        ("rows", f"{len(labels):,}"),
        ("clusters", f"{document['clusters']:,} of {fitted.n_clusters_:,}"),
        ("sizes", shown_sizes(document["sizes"], document["clusters"])),
        *agreement_rows(document),
    ]
    console.show(document, Grid(rows), f"Written: {out} (labels)")
