"""cohirf predict: the clusters of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from cohirf.cli import spec
from cohirf.cli.console import Console, Grid
from cohirf.cli.data import DataFile, prepare_alike
from cohirf.cli.models import open_model
from cohirf.cli.spec import Option
from cohirf.cli.summary import MOST_SIZES, agreement, agreement_rows, shown_sizes, sizes_of
from cohirf.cli.tables import CsvFormat
from cohirf.cli.writing import TABLES, check_file, check_ids, write_labels


def predict(
    model: spec.ModelPath,
    data: spec.DataPath,
    out: Annotated[
        Path, Option(("--out",), "Where to write the clusters: .parquet, .csv or .npy.", spec.OUTPUT, "FILE")
    ],
    label_column: spec.LabelColumn = None,
    id_column: spec.IdColumn = None,
    delimiter: spec.Delimiter = None,
    header: spec.Header = None,
    force: spec.Force = False,
    json: spec.AsJson = False,
    quiet: spec.Quiet = False,
) -> None:
    """Give new rows the clusters of a model."""
    console = Console(json, quiet)
    check_file(out, "--out", TABLES, force=force, data=data)
    fitted, preparation = open_model(model)
    file = DataFile.open(data, CsvFormat(delimiter, header))
    prepared = prepare_alike(file, preparation, label_column=label_column, id_column=id_column)
    check_ids(out, prepared.preparation.id_column)
    labels = fitted.predict(prepared.source)
    sizes = sizes_of(labels, fitted.n_clusters_)
    document = {
        "command": "predict",
        "rows": len(labels),
        "clusters": int(np.count_nonzero(sizes)),
        "rows_in_no_cluster": len(labels) - sum(sizes),
        "sizes": [size for size in sizes[:MOST_SIZES] if size],
        **agreement(labels, prepared.classes()),
        "written": {"labels": str(out)},
    }
    write_labels(out, labels, prepared.ids(), prepared.preparation.id_column)
    rows = [
        ("rows", f"{len(labels):,}"),
        ("clusters", f"{document['clusters']:,} of {fitted.n_clusters_:,}"),
        ("sizes", shown_sizes(document["sizes"], document["clusters"])),
        *agreement_rows(document),
    ]
    console.show(document, Grid(rows), f"Written: {out} (labels)")
