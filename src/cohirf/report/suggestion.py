"""The number of clusters that a report suggests: that of the fit or, if the user gave one, the highest silhouette."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cohirf.choice import Choice
from cohirf.report.cuts import MOST, Cut

CLOSE = 0.02  # silhouettes that differ by less are equally good
N_OTHERS = 3


def suggest_cut(
    cuts: Sequence[Cut], silhouettes: Sequence[float | None], choice: Choice | None
) -> dict[str, Any] | None:
    """Return the suggested cut and the reason; None if no cut has a silhouette.

    Returns
    -------
    suggestion : dict or None
        ``cut`` is the number of the cut, and ``text`` says why.
    """
    scored = {
        number: value
        for number, value in enumerate(silhouettes)
        if value is not None and 2 <= cuts[number].n_clusters <= MOST
    }
    if not scored:
        return None
    best = max(scored, key=lambda number: scored[number])
    if choice is not None and not choice.is_given:
        best = next((number for number in scored if cuts[number].n_clusters == choice.n_clusters), best)
    return {"cut": best, "text": _give_reason(cuts, scored, best)}


def _give_reason(cuts: Sequence[Cut], scored: dict[int, float], best: int) -> str:
    text = (
        f"{cuts[best].n_clusters} clusters are suggested: there, rows are closest to their own cluster compared with "
        f"the next one (silhouette {scored[best]:.2f}, where 1 is clearly apart and 0 is touching)."
    )
    near = [number for number in scored if number != best and scored[number] > scored[best] - CLOSE]
    numbers = [str(cuts[number].n_clusters) for number in near]
    if not numbers:
        return text
    if len(numbers) > N_OTHERS:
        return f"{text} Other numbers are about as good, such as {numbers[0]} or {numbers[-1]}."
    *first, last = numbers
    return f"{text} {' and '.join([', '.join(first), last] if first else [last])} clusters are about as good."
