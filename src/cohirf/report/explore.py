"""What a reader sees at each cut: its figures, its clusters, and how it follows from a finer cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.report.classes import ClassCounts
from cohirf.report.clusters import MAX_LISTED, Listing
from cohirf.report.cuts import Cut
from cohirf.report.packing import pack
from cohirf.report.sample import Sample
from cohirf.report.study import Study
from cohirf.silhouette import silhouettes


def describe_cuts(
    study: Study, sample: Sample, cuts: Sequence[Cut], colours: Sequence[IntArray], listing: Listing
) -> list[dict[str, Any]]:
    """Return the figures of each cut, its clusters, and how it follows from a finer cut.

    Returns
    -------
    described : list of dict
        ``clusters`` are the places of the largest clusters in the listing, ``numbers`` their labels, ``names`` their
        names; ``colour`` has an entry for each label. ``finer`` is the number of a finer cut, and ``parts`` has the
        label here of each of its clusters; both are None for the finest cut.
    """
    finer = [find_finer(cuts, number) for number in range(len(cuts))]
    silhouette = measure_silhouettes(sample, cuts)
    class_counts = None if study.classes is None else ClassCounts.of(study.classes, cuts[0])
    return [
        {
            "n_clusters": cut.n_clusters,
            "n_noise": study.n_rows - int(cut.size.sum()),
            "is_final": cut.is_final,
            "levels": list(cut.levels),
            "silhouette": silhouette[number],
            "ari": None if class_counts is None else class_counts.agreement(cut),
            "clusters": listing.places[number],
            "names": listing.names[number],
            "numbers": cut.largest(MAX_LISTED).tolist(),
            "colour": pack(colours[number]),
            "finer": finer[number],
            "parts": None if (part := finer[number]) is None else pack(cut.parts_of(cuts[part])),
        }
        for number, cut in enumerate(cuts)
    ]


def find_finer(cuts: Sequence[Cut], number: int) -> int | None:
    """Return the coarsest cut of the whole tree that all clusters of a cut are made of; None for the finest cut."""
    cut = cuts[number]
    n_parts = cut.n_merged + is_whole(cut)
    return next((i for i, other in enumerate(cuts) if is_whole(other) and other.n_merged >= n_parts), None)


def is_whole(cut: Cut) -> bool:
    """Return whether a cut has all clusters, and hides none because it is small."""
    return cut.n_clusters == cut.n_merged


def measure_silhouettes(sample: Sample, cuts: Sequence[Cut]) -> list[float | None]:
    """Return the mean silhouette of each cut; None if it is undefined.

    Distances are summed once, by clusters of the finest cut. Those to other clusters are sums of these.
    """
    labels = cuts[-1].labels_of(sample.scored_rows)
    kept = np.flatnonzero(labels >= 0)
    present, part = np.unique(labels[kept], return_inverse=True)
    sums = _indicator(part, len(present)) @ sample.distances.distances[np.ix_(kept, kept)]
    found: list[float | None] = []
    for cut in cuts:
        if not is_whole(cut):
            found.append(sample.distances.silhouette(cut.labels_of(sample.scored_rows)))
            continue
        whole = cut.parts_of(cuts[-1])[present]
        clusters, whole = np.unique(whole, return_inverse=True)
        own = whole[part]
        is_defined = 1 < len(clusters) < len(kept)
        of_rows = silhouettes(_indicator(whole, len(clusters)) @ sums, np.bincount(own), own) if is_defined else None
        found.append(None if of_rows is None else float(of_rows.mean()))
    return found


def _indicator(labels: IntArray, n_labels: int) -> Any:
    """Return a sparse matrix that sums up rows by their label."""
    return sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(n_labels, len(labels)))
