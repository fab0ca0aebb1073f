"""The number of clusters that a report suggests: that of the fit or, if the user gave one, the highest silhouette."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cohirf.choice import Choice
from cohirf.report.cuts import MOST, Cut

CLOSE = 0.02  # silhouettes that differ by less are equally good
N_OTHERS = 3
STRENGTH = "the prediction strength, how well the clusters of one half of the rows predict those of the other half"
SILHOUETTE = "the silhouette, how clearly clusters are apart"


def suggest_cut(
    cuts: Sequence[Cut], silhouettes: Sequence[float | None], choice: Choice | None
) -> dict[str, Any] | None:
    """Return the suggested cut and the reason; None if nothing tells which cut is good.

    Returns
    -------
    suggestion : dict or None
        ``cut`` is the number of the cut, ``text`` says why, ``curve`` has a figure for each cut, or None, and
        ``measure`` says which figure.
    """
    scored = {
        number: value
        for number, value in enumerate(silhouettes)
        if value is not None and 2 <= cuts[number].n_clusters <= MOST
    }
    if not scored:
        return None
    if choice is not None and not choice.is_given:
        chosen = next((number for number in scored if cuts[number].n_clusters == choice.n_clusters), None)
        if chosen is not None:
            text = f"{choice.n_clusters} clusters are suggested. {choice.describe_number()}"
            measure = STRENGTH if choice.is_strong else SILHOUETTE
            return {"cut": chosen, "text": text, "curve": _list_figures(cuts, choice), "measure": measure}
    if choice is not None and choice.merge == "connected":
        return None  # the silhouette is low for clusters that are long or curved, however clear they are
    best = max(scored, key=lambda number: scored[number])
    text = _give_reason(cuts, scored, best)
    return {"cut": best, "text": text, "curve": list(silhouettes), "measure": SILHOUETTE}


def _list_figures(cuts: Sequence[Cut], choice: Choice) -> list[float | None]:
    figures = choice.strengths if choice.is_strong else choice.silhouettes
    of_number = dict(zip(choice.candidates.tolist(), figures.tolist(), strict=True))
    return [of_number.get(cut.n_clusters) for cut in cuts]


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
