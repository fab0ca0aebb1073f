"""Labels that vote: cohirf consensus makes one partition out of given ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cohirf.cli.console import Console, TextGrid
from cohirf.cli.errors import read_count
from cohirf.cli.outputs import LABEL_FILES, check_file, check_ids, save_labels, say_written
from cohirf.cli.summary import MOST_SIZES, shown_sizes, sizes_of
from cohirf.preparation import Data
from cohirf.preparation.data import find_column
from cohirf.voting import consensus as agree


def consensus(
    labels: Path,
    *,
    clusters: str | None = None,
    id_column: str | None = None,
    out: Path,
    json: bool = False,
    force: bool = False,
) -> None:
    """Make one partition out of several: each column of a file has the labels of one of them.

    Parameters
    ----------
    labels : LABELS
        A Parquet, CSV, Arrow, .npy or Zarr file with a column of integers for each partition; -1 and empty cells mean
        no opinion on a row.
    clusters : int, default=as many as most partitions agree on
        Exactly this many clusters.

    Examples
    --------
    cohirf consensus labels.parquet --out agreed.parquet
    cohirf consensus labels.csv --id-column customer --clusters 8 --out agreed.csv
    """
    console = Console(as_json=json)
    check_file(out, "--out", LABEL_FILES, force=force, data=labels)
    n_clusters = None if clusters is None else read_count("--clusters", clusters)
    data = Data.open(labels)
    ids = None if id_column is None else find_column(data.name, data.columns, id_column, f"--id-column {id_column!r}")
    check_ids(out, ids)
    votes = data.open_numbers([name for name in data.candidates if name != ids])
    with console.watching():
        found = agree(votes, n_clusters=n_clusters)
    names = None if ids is None else data.read(ids)
    save_labels(out, found.labels, names, ids, console, escape=True)
    sizes = sizes_of(found.labels, found.n_clusters)
    vectors = [str(name) for name in data.candidates if name != ids]
    document: dict[str, Any] = {
        "command": "consensus",
        "rows": len(found.labels),
        "clusters": found.n_clusters,
        "rows_in_no_cluster": len(found.labels) - sum(sizes),
        "sizes": sorted(sizes, reverse=True)[:MOST_SIZES],
        "stability": float(np.nanmean(found.stability)),
        "agreement": dict(zip(vectors, found.agreement.tolist(), strict=True)),
        "warnings": console.warned,
        "written": {"labels": str(out)},
    }
    facts = TextGrid(
        [
            ("rows", f"{document['rows']:,}"),
            ("clusters", f"{found.n_clusters:,}"),
            ("sizes", shown_sizes(document["sizes"], found.n_clusters)),
            ("stability", f"{document['stability']:.2f}"),
        ]
    )
    lines = [(name, f"{value:.2f}") for name, value in document["agreement"].items()]
    console.show(document, facts, TextGrid(lines, ("partition", "agreement")), say_written(document["written"]))
