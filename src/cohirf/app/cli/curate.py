"""cohirf curate: a smaller data set of vectors, without near duplicates, and spread evenly over
what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cohirf import CoHiRF
from cohirf.app.cli.console import Console, TextGrid
from cohirf.app.cli.errors import BadInputError, read_count, read_number
from cohirf.app.cli.options import settle_parameters
from cohirf.app.cli.outputs import check_file, say_written
from cohirf.app.cli.policy import DEFAULT, OUTPUT
from cohirf.app.preparation import Data, Prepared, prepare
from cohirf.curate import NearDuplicates, Vectors, near_duplicates
from cohirf.optional import import_optional
from cohirf.rows import IntArray
from cohirf.sources import NumberColumn, Source, write_tables
from cohirf.store import replacing


def curate_file(
    data: Path,
    *,
    vectors: str | None,
    deduplicate: str | None,
    sample: str | None,
    out: Path | None,
    json: bool,
) -> None:
    """Leave out near duplicates of vectors, and draw an even sample of them: cohirf curate."""
    console = Console(as_json=json)
    if deduplicate is None and sample is None:
        raise BadInputError(
            "curate needs something to do: give --deduplicate 0.95, --sample 1000, or both."
        )
    check_file(out, "--out", (".parquet", ".npy"), force=False, data=data)
    if deduplicate is None:
        threshold = None
    else:
        threshold = read_number("--deduplicate", deduplicate)
    n_wanted = None if sample is None else read_count("--sample", sample)
    with console.watching():
        prepared = _open_vectors(data, vectors)
    n_rows = prepared.source.n_rows
    if out is not None and out.suffix.lower() == ".parquet" and prepared.data.table is None:
        raise BadInputError(
            "--out: the data is an array: give a name that ends in .npy for the numbers of kept "
            "rows."
        )
    model = found = None
    if n_wanted is not None or n_rows > DEFAULT.paired_rows:
        n_clusters = int(np.clip(n_rows // DEFAULT.cluster_rows, 2, DEFAULT.clusters))
        options = settle_parameters(
            {"n_clusters": n_clusters, "metric": "cosine"}, n_rows, prepared.n_bytes
        )
        with console.watching():
            model = CoHiRF(**options).fit(prepared.rows())
    # in which rows are compared
    if model is None or n_rows <= DEFAULT.paired_rows:
        groups = None
    else:
        groups = model.labels_
    if threshold is not None:
        found = near_duplicates(prepared.source, threshold, groups=groups)
    kept = np.arange(n_rows) if found is None else found.kept
    n_distinct = len(kept)
    if n_wanted is not None and model is not None and n_wanted < n_distinct:
        kept = model.hierarchy_.sample(n_wanted, among=kept)
    document: dict[str, Any] = {
        "command": "curate",
        "data": str(data),
        "rows": n_rows,
        "kept": len(kept),
    }
    document |= {"near_duplicates": n_rows - n_distinct, "not_sampled": n_distinct - len(kept)}
    document |= {
        "removed": [] if found is None else _tell_removed(found, prepared.source),
        "warnings": console.warned,
    }
    if out is not None:
        with replacing(out) as file:
            if out.suffix.lower() == ".npy":
                np.save(file, kept)
            else:
                write_tables(file, ".parquet", _kept_tables(prepared.data.table, kept))
    document["written"] = {} if out is None else {"kept rows": str(out)}
    within = "" if groups is None else " within clusters"
    near = (
        f"{n_rows - n_distinct:,} rows with a cosine of at least {threshold}{within} to a kept row"
    )
    facts = [
        ("rows", f"{n_rows:,}"),
        ("near duplicates", "not looked for" if found is None else near),
    ]
    facts += [("not sampled", f"{document['not_sampled']:,}"), ("kept", f"{len(kept):,}")]
    told = [
        (f"row {one['row']}", f"{one['similarity']:.3f} to row {one['kept']}")
        for one in document["removed"]
    ]
    shown = [TextGrid(facts), *([TextGrid(told, ("removed", "cosine"))] if told else [])]
    console.show(
        document,
        *shown,
        say_written(document["written"], "give --out kept.parquet to keep the rows."),
    )


def _open_vectors(data: Path, vectors: str | None) -> Prepared:
    """Open the vectors of a table, or the rows of an array."""
    if vectors is not None:
        return prepare(data, vectors=vectors)
    opened = Data.open(data)
    if opened.table is None:
        return prepare(data, impute="none", scaling="none")
    columns = [NumberColumn.of(name, stored) for name, stored in opened.table.types.items()]
    found = [column.name for column in columns if column is not None and column.width is not None]
    if len(found) != 1:
        if found:
            there = f"it has {', '.join(map(repr, found))}"
        else:
            there = "it has none of lists of numbers"
        raise BadInputError(
            f"{data}: the column of vectors is not known, because {there}: give --vectors NAME."
        )
    return prepare(data, vectors=found[0])


def _tell_removed(found: NearDuplicates, data: Source) -> list[dict[str, Any]]:
    """Return the first removed rows, the rows that are kept in their place, and their cosines."""
    removed = np.flatnonzero(found.kept_for != np.arange(len(found.kept_for)))[
        : OUTPUT.removed_rows
    ]
    pairs = np.column_stack([found.kept_for[removed], removed])
    cosines = np.minimum(Vectors.of(data).measure(pairs), 1.0).tolist()
    told = zip(removed.tolist(), pairs[:, 0].tolist(), cosines, strict=True)
    return [{"row": row, "kept": kept, "similarity": cosine} for row, kept, cosine in told]


def _kept_tables(table: Any, kept: IntArray) -> Iterator[Any]:
    arrow = import_optional("pyarrow", "arrow", "Writing a Parquet file")
    start = 0
    for batch in table.read(list(table.types), row_bytes=2**12):
        here = (
            kept[np.searchsorted(kept, start) : np.searchsorted(kept, start + len(batch))] - start
        )
        yield arrow.Table.from_batches([batch.take(here)])
        start += len(batch)
