"""Give the clusters of an update the numbers that they had before, and say what has changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.summary.numbers import Changes, Overlap
from cohirf.summary.row_results import BY_ROW

if TYPE_CHECKING:
    from cohirf.updating.rerun import Transition

BY_CLUSTER = ("medoid_indices_", "medoids_", "exemplar_indices_", "exemplars_")


@dataclass(frozen=True, eq=False)
class Numbered:
    """The clusters of an update with numbers that last.

    Attributes
    ----------
    labels : array of int
        Number of the cluster of each leaf, or -1.
    next_number : int
        The next number for a new cluster.
    changes : Changes
        What has changed.
    """

    labels: IntArray
    next_number: int
    changes: Changes


def number_clusters(
    attributes: dict[str, Any], leaf_labels: IntArray, overlap: Overlap, transition: Transition
) -> Numbered:
    """Give each cluster its number, and sort the attributes that have an entry for each by it, in place.

    Parameters
    ----------
    attributes : dict
        Fitted attributes, in which clusters are numbered from 0 by their first row.
    leaf_labels : array of int
        The cluster of each leaf and pending row in these numbers, or -1.
    overlap : Overlap
        Rows from before by their old number and their cluster in these numbers.
    transition : Transition
        How the rows have changed.
    """
    sizes, next_number = transition.after.sizes, transition.after.next_number
    n_clusters = attributes["n_clusters_"]
    numbers = overlap.match(n_clusters, next_number)
    clustered = leaf_labels >= 0
    rows_in = np.bincount(leaf_labels[clustered], weights=sizes[clustered], minlength=n_clusters).astype(np.int64)
    update = len(transition.after.update_rows) - 1
    changes = overlap.describe(numbers, rows_in, update, transition.n_rows, transition.lost)
    changes = replace(changes, verb=transition.verb)
    named = np.append(numbers, -1)
    order = np.argsort(numbers)
    for name in BY_CLUSTER:
        attributes[name] = attributes[name][order]
    attributes["cluster_numbers_"] = numbers[order]
    attributes["_landmarks"] = attributes["_landmarks"].renamed(named)
    attributes["_rows"] = attributes["_rows"].renamed(named)
    for name in BY_ROW:
        attributes.pop(name, None)  # in former numbers
    return Numbered(named[leaf_labels], max(next_number, int(numbers.max(initial=-1)) + 1), changes)
