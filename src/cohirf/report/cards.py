"""Cards of the largest final clusters, which the page shows before a reader chooses another cut."""

from __future__ import annotations

from typing import Any

from cohirf.report.clusters import MAX_CARDS, Listing
from cohirf.report.cuts import Cut


def make_cards(cut: Cut, listing: Listing, place: int) -> dict[str, Any]:
    """Return a card for each of the largest clusters of a cut, and the numbers of clusters and rows without a card."""
    chosen = cut.largest(MAX_CARDS)
    cards = zip(chosen.tolist(), listing.places[place], strict=False)
    return {
        "clusters": [{"number": number} | listing.clusters[cluster] for number, cluster in cards],
        "n_more": cut.n_clusters - len(chosen),
        "rows_more": int(cut.size.sum() - cut.size[chosen].sum()),
    }
