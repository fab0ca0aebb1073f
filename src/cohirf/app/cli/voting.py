"""Labels that vote: cohirf consensus on given partitions, cohirf party on columns of several
owners.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cohirf.app.cli.console import Console, TextGrid
from cohirf.app.cli.errors import BadInputError, read_count
from cohirf.app.cli.fit import read_base_method
from cohirf.app.cli.options import BASE_METHOD, DEFAULT_SEED
from cohirf.app.cli.outputs import LABEL_FILES, check_file, check_ids, save_labels, say_written
from cohirf.app.cli.summary import describe_sizes, size_rows
from cohirf.app.preparation import Data, prepare
from cohirf.app.preparation.data import find_column
from cohirf.parties import Party, run_folder
from cohirf.parties import join as take_part
from cohirf.sources.source import NotNumbersError
from cohirf.voting import consensus as agree
from cohirf.wording import count_of


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
        A Parquet, CSV, Arrow, .npy or Zarr file with a column of integers for each partition; -1
        and empty cells mean no opinion on a row.
    clusters : int, default=as many as most partitions agree on
        Exactly this many clusters.

    Examples
    --------
    cohirf consensus labels.parquet --out agreed.parquet
    cohirf consensus labels.csv --id-column customer --clusters 8 --out agreed.csv
    """
    console = Console(as_json=json)
    check_file(out, "--out", LABEL_FILES, force=force, data=labels)
    if clusters is None:
        n_clusters = None
    else:
        n_clusters = read_count("--clusters", clusters)
    data = Data.open(labels)
    if id_column is None:
        ids = None
    else:
        ids = find_column(data.name, data.columns, id_column, f"--id-column {id_column!r}")
    check_ids(out, ids)
    partitions = [name for name in data.candidates if name != ids]
    try:
        votes = data.open_numbers(partitions)
    except NotNumbersError as error:
        raise BadInputError(
            f"{data.name}: column {error.column!r} has no labels, which are integers: give "
            f"--id-column {error.column} if it names the rows, or leave it out of the file."
        ) from error
    with console.watching():
        found = agree(votes, n_clusters=n_clusters)
    save_labels(out, found.labels, console, data, [] if ids is None else [ids])
    document = {"command": "consensus", **describe_sizes(found.labels)}
    document["stability"] = float(np.nanmean(found.stability))
    document["agreement"] = dict(zip(map(str, partitions), found.agreement.tolist(), strict=True))
    document |= {"warnings": console.warned, "written": {"labels": str(out)}}
    facts = TextGrid([*size_rows(document), ("stability", f"{document['stability']:.2f}")])
    lines = [(name, f"{value:.2f}") for name, value in document["agreement"].items()]
    console.show(
        document,
        facts,
        TextGrid(lines, ("partition", "agreement")),
        say_written(document["written"]),
    )


def join(
    folder: Path,
    data: Path,
    *,
    name: str,
    estimator: str | None = None,
    param: list[str] | None = None,
    id_column: str | None = None,
) -> None:
    """Take part as the owner of some columns: labels and ranks leave the file, values do not.

    Parameters
    ----------
    folder : FOLDER
        A folder that all parties and cohirf party run can read and write to.
    name : str
        Name of this party. What leaves it is listed in NAME.sent.jsonl in the current folder.
    id_column : name
        Column with the names of the rows: not a feature. Other parties find out if their rows are
        in another order.

    Examples
    --------
    cohirf party join shared/ bank.parquet --name bank --param n_clusters=5 --id-column customer
    """
    prepared = prepare(data, scaling="standard", id_column=id_column)
    names = None if id_column is None else prepared.ids()
    if names is None:
        ids = None
    else:
        ids = (cell for part in names for cell in part.to_pylist())
    party = Party(
        prepared.source,
        read_base_method(estimator or BASE_METHOD, param),
        name=name,
        ids=ids,
        log=Path(f"{name}.sent.jsonl"),
        random_state=DEFAULT_SEED,
    )
    labels = take_part(folder, party)
    Console(as_json=False).show(
        {}, f"Done: {count_of(labels.max() + 1, 'cluster')} of {count_of(len(labels), 'row')}."
    )


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
    if clusters is None:
        n_clusters = None
    else:
        n_clusters = read_count("--clusters", clusters)
    with console.watching():
        found = run_folder(folder, n_parties, n_clusters=n_clusters)
    save_labels(out, found.labels, console)
    document = {"command": "party run", **describe_sizes(found.labels)}
    document |= {"levels": found.n_iter, "medoids": found.medoid_indices.tolist()}
    document |= {"warnings": console.warned, "written": {"labels": str(out)}}
    console.show(document, TextGrid(size_rows(document)), say_written(document["written"]))
