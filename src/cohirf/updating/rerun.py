"""Run the levels of a model again after its rows have changed: from a summary to fitted attributes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from cohirf import progress
from cohirf.algorithm.grouping import IntArray
from cohirf.summary.history import Step, continue_history
from cohirf.summary.model import Model
from cohirf.summary.numbers import Overlap
from cohirf.summary.summary import Summary
from cohirf.updating.climb import climb
from cohirf.updating.keep_rows import fit_pending
from cohirf.updating.numbering import number_clusters
from cohirf.updating.settings import Kind


@dataclass(frozen=True, eq=False)
class Transition:
    """The rows of a model after a change, and where those from before it are now.

    Attributes
    ----------
    after : Summary
        The summary after the change. Unless clusters go on, its labels are not known yet.
    before : array of int
        For each leaf and pending row from before, the number of its cluster before.
    now : array of int
        The position, after the change, of the leaf or pending row that it belongs to.
    sizes : array of int
        The number of its rows that are still there.
    n_rows : int
        Number of rows that have come, or gone if it is negative.
    lost : dict
        For each cluster number before, how many rows of it were forgotten.
    goes_on : bool
        Whether the clusters go on, so that those of all rows are known.
    verb : str
        What changes the rows, as in ``Changes``.
    """

    after: Summary
    before: IntArray
    now: IntArray
    sizes: IntArray
    n_rows: int
    lost: dict[int, int] = field(default_factory=dict)
    goes_on: bool = False
    verb: str = "update"


def rerun(model: Model, transition: Transition) -> dict[str, Any]:
    """Return the fitted attributes of a model after a change of its rows."""
    after = transition.after
    kind = Kind.of(model, after.batch_size)
    former = after.labels if transition.goes_on else None
    if after.leaves is None:
        attributes = fit_pending(model, after, former)
        labels = attributes["_rows"].look_up_labels()
    else:
        climbed = climb(model, after, kind.block_size, former)
        attributes, labels = climbed.attributes, climbed.labels
    overlap = Overlap.of(transition.before, labels[transition.now], transition.sizes)
    numbered = number_clusters(attributes, labels, overlap, transition)
    if model.verbose:
        progress.say(str(numbered.changes))
    summary = replace(after, labels=numbered.labels, next_number=numbered.next_number).settled()
    history = getattr(model, "history_", ())
    if not history and len(transition.before) and transition.verb != "merge":  # the model was fitted
        history = (Step.first(transition.before, transition.sizes),)
    history = continue_history(history, Step.of(numbered.changes, numbered.labels, summary.sizes))
    return {**attributes, "changes_": numbered.changes, "history_": history, "_summary": summary}
