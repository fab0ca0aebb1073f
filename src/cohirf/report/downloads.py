"""Labels and names of all rows, packed for a page: labels of one cut, from which the page derives coarser cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cohirf.report.cuts import Cut
from cohirf.report.explore import is_whole
from cohirf.report.original import RowNames
from cohirf.report.packing import compress_to_text, pack

MAX_ROWS = 5_000_000  # a browser could not write a CSV file with more lines
MAX_CHARACTERS = 1_200_000  # of the page, for labels; and as many for names


def pack_labels(cuts: Sequence[Cut], max_characters: int = MAX_CHARACTERS) -> dict[str, Any] | None:
    """Return the labels of all rows at the finest cut whose labels fit into the page.

    Parameters
    ----------
    cuts : sequence of Cut
        The cuts to choose from.
    max_characters : int
        Largest number of characters that the packed labels may have.

    Returns
    -------
    packed : dict or None
        ``cut`` is the number of the cut, and ``labels`` are the labels of all rows. None if those of no cut fit.
    """
    if len(cuts[0].leaf_of_row) > MAX_ROWS:
        return None
    for number in range(len(cuts) - 1, -1, -1):
        if is_whole(cuts[number]):
            labels = pack(cuts[number].labels)
            if len(labels["data"]) <= max_characters:
                return {"cut": number, "labels": labels}
    return None


def pack_names(row_names: RowNames | None, max_characters: int = MAX_CHARACTERS) -> dict[str, Any] | None:
    """Return the names of all rows, one per line, and that of their column; ``names`` is None if they do not fit."""
    if row_names is None:
        return None
    lines = "\n".join(" ".join(name.split()) for name in row_names.names)
    packed = compress_to_text(lines.encode("utf-8", "replace")) if len(row_names.names) <= MAX_ROWS else None
    fits = packed is not None and len(packed) <= max_characters
    return {"column": row_names.column, "names": packed if fits else None}
