"""Labels of all rows, packed for a page: those of one cut, from which the page derives those of coarser cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cohirf.report.cuts import Cut
from cohirf.report.explore import is_whole
from cohirf.report.packing import pack

MAX_ROWS = 5_000_000  # a browser could not write a CSV file with more lines
MAX_CHARACTERS = 3_000_000  # of the page


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
