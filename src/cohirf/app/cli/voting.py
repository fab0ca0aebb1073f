"""Labels that vote: cohirf consensus on given partitions, cohirf party on columns of several
owners.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cohirf import consensus as agree
from cohirf.app.cli.console import Console, TextGrid
from cohirf.app.cli.errors import BadInputError, read_count
from cohirf.app.cli.fit import read_base_method
from cohirf.app.cli.options import MethodOptions
from cohirf.app.cli.outputs import LABEL_FILES, check_file, check_ids, save_labels, say_written
from cohirf.app.cli.policy import DEFAULT
from cohirf.app.cli.summary import describe_sizes, size_rows
from cohirf.app.preparation import Data, prepare
from cohirf.app.preparation.data import find_column
from cohirf.parties import Party, run_folder
from cohirf.parties import join as take_part
from cohirf.sources import NotNumbersError
from cohirf.wording import count_of


def agree_on_labels(
    labels: Path,
    *,
    clusters: str | None,
    id_column: str | None,
    out: Path,
    json: bool,
    force: bool,
) -> None:
    """Make one partition out of several, the columns of a file: cohirf consensus."""
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


def join_parties(
    folder: Path, data: Path, method: MethodOptions, *, name: str, id_column: str | None
) -> None:
    """Take part as the owner of some columns: cohirf party join."""
    prepared = prepare(data, scaling="standard", id_column=id_column)
    names = None if id_column is None else prepared.ids()
    if names is None:
        ids = None
    else:
        ids = (cell for part in names for cell in part.to_pylist())
    party = Party(
        prepared.source,
        read_base_method(method.estimator or DEFAULT.base_method, method.param),
        name=name,
        ids=ids,
        log=Path(f"{name}.sent.jsonl"),
        random_state=DEFAULT.seed,
    )
    labels = take_part(folder, party)
    Console(as_json=False).show(
        {}, f"Done: {count_of(labels.max() + 1, 'cluster')} of {count_of(len(labels), 'row')}."
    )


def run_parties(
    folder: Path, *, parties: str, clusters: str | None, out: Path, json: bool, force: bool
) -> None:
    """Coordinate parties that join in a folder: cohirf party run."""
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
