"""New rows for a saved model: prepared as those of its fit, with the names that they have in the output."""

from __future__ import annotations

from pathlib import Path

from cohirf.cli.console import Console
from cohirf.cli.data_options import NewDataOptions
from cohirf.cli.writing import check_ids
from cohirf.preparation import Preparation, Prepared
from cohirf.preparation.kinds import Name
from cohirf.sources.source import listed


def read_new_rows(path: Path, preparation: Preparation, reading: NewDataOptions, console: Console) -> Prepared:
    """Prepare the rows of a file, and say which of its columns the model does not know."""
    with console.watching():
        prepared = preparation.apply(path, **reading.arguments())
    if prepared.ignored:
        console.note(f"ignored, because the model was fitted without them: {listed(prepared.ignored)}")
    return prepared


def find_ids(rows: Prepared, out: Path | None, given: str | None) -> Name | None:
    """Return the column of names that the output gets; an array has none, unless the user asks for it, in vain."""
    is_array = out is not None and out.suffix.lower() == ".npy"
    ids = given if is_array else rows.preparation.id_column
    check_ids(out, ids)
    return ids
