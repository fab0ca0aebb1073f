"""The number of clusters that a report suggests: that of the fit or, if the user gave one, the highest silhouette."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cohirf.choice import MAX_CHOICE, Choice
from cohirf.report.cuts import Cut

CLOSE = 0.02  # silhouettes that differ by less are equally good


def suggest_cut(cuts: Sequence[Cut], silhouettes: Sequence[float | None], choice: Choice | None) -> dict[str, Any] | None:
    """Return the suggested cut and the reason; None if no cut has a silhouette.

    Returns
    -------
    suggestion : dict or None
        ``cut`` is the number of the cut, ``text`` says why, and ``others`` are cuts that are about as good.
    """
    scored = {number: value for number, value in enumerate(silhouettes) if value is not None and _is_candidate(cuts[number])}
    if not scored:
        return None
    best = max(scored, key=lambda number: scored[number])
    if choice is not None:
        best = next((number for number in scored if cuts[number].n_clusters == choice.n_clusters), best)
    others = [number for number in scored if number != best and scored[number] > scored[best] - CLOSE]
    return {"cut": best, "text": _reason(cuts, scored, best, others), "others": others}


def _is_candidate(cut: Cut) -> bool:
    return 2 <= cut.n_clusters <= MAX_CHOICE


def _reason(cuts: Sequence[Cut], scored: dict[int, float], best: int, others: list[int]) -> str:
    text = (
        f"{cuts[best].n_clusters} groups are suggested: there, rows are closest to their own group compared with the next "
        f"one (silhouette {scored[best]:.2f}, where 1 is clearly apart and 0 is touching)."
    )
    near = sorted(others, key=lambda number: -scored[number])[:3]
    if near:
        numbers = " and ".join(str(cuts[number].n_clusters) for number in sorted(near))
        text += f" {numbers} groups are about as good." if len(near) < len(scored) else ""
    return text
