"""Labels that vote: cohirf consensus on given partitions, cohirf party on columns of several owners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cohirf.cli.console import Console, TextGrid
from cohirf.cli.errors import read_count
from cohirf.cli.fit import read_base_method
from cohirf.cli.outputs import LABEL_FILES, check_file, check_ids, save_labels, say_written
from cohirf.cli.parameters import BASE_METHOD
from cohirf.cli.summary import MOST_SIZES, shown_sizes, sizes_of
from cohirf.parties import Party, run_folder
from cohirf.parties import join as take_part
from cohirf.preparation import Data, prepare
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


def join(
    folder: Path,
    data: Path,
    *,
    name: str,
    estimator: str | None = None,
    param: list[str] | None = None,
    views: str = "1",
    seed: str = "0",
    id_column: str | None = None,
) -> None:
    """Take part as the owner of some columns: labels and ranks leave the file, values do not.

    Parameters
    ----------
    folder : FOLDER
        A folder that all parties and cohirf party run can read and write to.
    name : str
        Name of this party. What leaves it is listed in NAME.sent.jsonl in the current folder.
    views : int, default=1
        Number of runs of the base method at each level.
    seed : int, default=0
        Seed of the base method.
    id_column : name
        Column with the names of the rows: not a feature. Other parties find out if their rows are in another order.

    Examples
    --------
    cohirf party join shared/ bank.parquet --name bank --param n_clusters=5 --id-column customer
    """
    prepared = prepare(data, scaling="standard", id_column=id_column)
    names = None if id_column is None else prepared.ids()
    ids = None if names is None else (cell for part in names for cell in part.to_pylist())
    party = Party(
        prepared.source,
        read_base_method(estimator or BASE_METHOD, param),
        name=name,
        views=read_count("--views", views),
        ids=ids,
        log=Path(f"{name}.sent.jsonl"),
        random_state=read_count("--seed", seed, least=0),
    )
    labels = take_part(folder, party)
    Console(as_json=False).show({}, f"Done: {labels.max() + 1:,} clusters of {len(labels):,} rows.")


def run(
    folder: Path,
    *,
    parties: str,
    clusters: str | None = None,
    out: Path,
    json: bool = False,
    force: bool = False,
) -> None:
    """Coordinate parties: wait for them in a folder, and cluster their rows from labels and ranks.

    Parameters
    ----------
    folder : FOLDER
        The folder that the parties join in.
    parties : int
        How many parties to wait for.
    clusters : int, default=the algorithm of the paper: levels until nothing fuses
        Exactly this many clusters.

    Examples
    --------
    cohirf party run shared/ --parties 3 --clusters 5 --out labels.parquet
    """
    console = Console(as_json=json)
    check_file(out, "--out", LABEL_FILES, force=force)
    n_parties = read_count("--parties", parties)
    n_clusters = None if clusters is None else read_count("--clusters", clusters)
    with console.watching():
        found = run_folder(folder, n_parties, n_clusters=n_clusters)
    save_labels(out, found.labels, None, None, console, escape=True)
    sizes = sorted(sizes_of(found.labels, found.n_clusters), reverse=True)
    document: dict[str, Any] = {"command": "party run", "rows": len(found.labels), "clusters": found.n_clusters}
    document |= {"sizes": sizes[:MOST_SIZES], "levels": found.n_iter, "medoids": found.medoid_indices.tolist()}
    document |= {"warnings": console.warned, "written": {"labels": str(out)}}
    facts = [("rows", f"{len(found.labels):,}"), ("clusters", f"{found.n_clusters:,}")]
    facts.append(("sizes", shown_sizes(document["sizes"], found.n_clusters)))
    console.show(document, TextGrid(facts), say_written(document["written"]))
