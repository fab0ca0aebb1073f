"""Labels of all rows at all cuts, packed for a page: labels of the finest level, and mappings to the later levels."""

from __future__ import annotations

from typing import Any

from cohirf.estimator import CoHiRF
from cohirf.report.cuts import make_cut
from cohirf.report.packing import pack

MAX_ROWS = 5_000_000  # a browser could not write a CSV file with more lines
MAX_CHARACTERS = 3_000_000  # of the page


def pack_labels(model: CoHiRF, levels: range, max_characters: int = MAX_CHARACTERS) -> dict[str, Any] | None:
    """Return the labels of all rows, from the finest level whose labels fit into the page.

    Parameters
    ----------
    model : CoHiRF
        The fitted model.
    levels : range
        The levels to choose from.
    max_characters : int
        Largest number of characters that the packed labels may have.

    Returns
    -------
    packed : dict or None
        ``level`` is the finest level; ``labels`` are the labels of all rows at this level; ``steps`` has an array for
        each later level: the label at that level of each cluster of the level before. None if no level fits.
    """
    if len(model.labels_) > MAX_ROWS:
        return None
    for level in levels:
        packed = _pack_from(model, range(level, levels.stop), max_characters)
        if packed is not None:
            return packed
    return None


def _pack_from(model: CoHiRF, levels: range, max_characters: int) -> dict[str, Any] | None:
    cut = make_cut(model, levels[0])
    labels = pack(cut.labels)
    room = max_characters - len(labels["data"])
    steps = []
    for level in levels[1:]:
        if room < 0:
            return None
        after = make_cut(model, level)
        steps.append(pack(after.labels[cut.medoid]))
        room -= len(steps[-1]["data"])
        cut = after
    return {"level": levels[0], "labels": labels, "steps": steps} if room >= 0 else None
