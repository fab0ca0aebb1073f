"""Results of the library in words: how clusters were chosen, what an update has changed, levels,
plans of batches, radii.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial, singledispatch
from math import inf, isnan

import numpy as np

from cohirf import Changes, Choice, Drift, EpsSuggestion
from cohirf.app.explain.drift import show_drift
from cohirf.app.explain.policy import WORD
from cohirf.inspection import MERGES, Step, Totals, call_cluster
from cohirf.planning import BatchPlan, format_bytes
from cohirf.progress import ContractedLevel
from cohirf.wording import count_of, setting

WHY_NOT_LARGER = {
    "all rows": "all rows fit in one batch",
    "measuring": "larger batches would take too long to measure",
    "memory": "larger batches would not fit",
    "time": "larger batches would take more than twice as long as small ones",
}


@singledispatch
def say(result: object) -> str:
    """Return a result of the library in words, as ``print`` shows it.

    Parameters
    ----------
    result : Choice, Changes, Drift, EpsSuggestion, or a step of ``history_``
        Attributes of a fitted model, and what its methods return.

    Returns
    -------
    words : str
        A few sentences, or a line for each kind of change.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.app.explain import say
    >>> model = CoHiRF(n_clusters=3, merge="compact", random_state=0).fit(load_iris().data)
    >>> say(model.choice_)
    'The clusters are compact, as asked for.'
    """
    raise TypeError(f"A {type(result).__name__} has no words.")


say.register(Drift, show_drift)


# ---- how clusters were chosen


@say.register
def say_choice(choice: Choice) -> str:
    """Return how clusters were chosen, in a few sentences."""
    parts = (say_chosen_number(choice), say_aside(choice), say_merge(choice))
    said = " ".join(part for part in parts if part)
    if said:
        return said
    if choice.n_clusters == 1:
        return "There is one cluster."
    return f"{choice.n_clusters:,} clusters were asked for."


def say_chosen_number(choice: Choice) -> str:
    """Return why there is this number of clusters; nothing if the number was given."""
    if len(choice.candidates) == 0:
        if choice.is_given:
            return ""
        return "There is one cluster, and nothing to choose."
    said = [_say_best(choice)]
    if choice.is_largest:
        said.append(
            f"{choice.n_clusters} is the largest number that was tried, so there may be more: "
            "give n_clusters."
        )
    return " ".join(said)


def _say_best(choice: Choice) -> str:
    best = int(choice.figures.argmax())
    chosen = int(np.flatnonzero(choice.candidates == choice.n_clusters)[0])
    agree = (
        f"random halves agree by {choice.strength:.2f} (1: the same clusters, 0: by chance, less "
        "half the cut)"
    )
    if not choice.is_clear:
        return (
            f"There are no clear groups: the best number, {choice.candidates[best]}, has "
            f"{_say_figure(choice, best)}, and {agree}."
        )
    found = _say_figure(choice, chosen)
    if chosen > best:
        return (
            f"{choice.n_clusters} is the largest number of clusters on which halves of the rows "
            f"agree, with {found}; {agree}."
        )
    return f"{choice.n_clusters} clusters fit best, with {found}; {agree}."


def _say_figure(choice: Choice, place: int) -> str:
    """Return the silhouette of a candidate; nodes of a graph have none, but a figure."""
    if np.isnan(choice.silhouettes[place]):
        return f"a figure of {choice.figures[place]:.2f}"
    return f"a silhouette of {choice.silhouettes[place]:.2f}"


def say_aside(choice: Choice) -> str:
    """Return how many rows, and small clusters, are beside the chosen clusters, if there are
    any.
    """
    said = []
    if choice.n_aside:
        rows = _count_are(choice.n_aside, "row")
        said.append(f"{rows} apart from all clusters, too few to be one, and noise.")
    if choice.n_small:
        more = _count_are(choice.n_small, "more cluster")
        said.append(f"{more} small and apart, with less than {choice.min_share:.1%} of the rows.")
    return " ".join(said)


def _count_are(number: int, noun: str) -> str:
    return f"{count_of(number, noun)} {'is' if number == 1 else 'are'}"


def say_merge(choice: Choice) -> str:
    """Return how clusters were merged, and why.

    Nothing if merges were not compared and not asked for.
    """
    what = f"The clusters are {choice.kind}"
    if choice.is_merge_given:
        what += ", as asked for"
    if not choice.is_compared:
        return f"{what}." if choice.is_merge_given else ""
    if isnan(choice.cut):
        return f"{what}."
    others = [
        f"{merge} {cut:.1%}"
        for merge, cut in zip(MERGES, choice.cuts.tolist(), strict=True)
        if merge != choice.merge
    ]
    return (
        f"{what}: {choice.cut:.1%} of near neighbours are in another cluster ({', '.join(others)})."
    )


# ---- what updates have changed


@say.register
def say_changes(changes: Changes) -> str:
    """Return what an update did to the clusters, one line for each kind of change."""
    call = partial(call_cluster, names=changes.names)
    rows = count_of(abs(changes.n_rows), "row")
    said = {
        "forget": f"{rows} forgotten",
        "merge": f"models merged, {rows} added",
        "recluster": "clusters found anew",
    }
    what = said.get(changes.verb, f"{rows} added")
    moved = count_of(changes.n_moved, "older row")
    has = "has" if changes.n_moved == 1 else "have"
    lines = [f"Update {changes.update}: {what}, {moved} {has} another number"]
    counted = {
        "grown": changes.grown,
        "shrunk": changes.shrunk,
        "born": changes.born,
        "born out of noise": changes.from_noise,
    }
    for what, counts in counted.items():
        shown = (f"{call(number)} ({count_of(count, 'row')})" for number, count in counts.items())
        lines += _line(what, shown, len(counts))
    for what, arrow, joined in (("merged", "<-", changes.merged), ("split", "->", changes.split)):
        shown = (
            f"{call(number)} {arrow} {', '.join(map(call, others))}"
            for number, others in joined.items()
        )
        lines += _line(what, shown, len(joined))
    lines += _line("gone", map(call, changes.gone), len(changes.gone))
    shown = (f'{number} "{old}" -> "{new}"' for number, (old, new) in changes.renamed.items())
    return "\n".join([*lines, *_line("renamed", shown, len(changes.renamed))])


def _line(what: str, shown: Iterable[str], n_shown: int) -> list[str]:
    """Return the line of one kind of change; none if nothing changed in this way."""
    if n_shown == 0:
        return []
    if n_shown > WORD.changes:
        more = f"; and {n_shown - WORD.changes:,} more"
    else:
        more = ""
    return [f"  {what}: {'; '.join(list(shown)[: WORD.changes])}{more}"]


@say.register
def say_step(step: Step) -> str:
    """Return what happened to clusters in a step of ``history_``; nothing if all went on."""
    return "; ".join(say_events(step, {}))


def say_events(step: Step, names: Mapping[int, str]) -> list[str]:
    """Return what happened to clusters, each kind apart, with the ``names`` of some of them."""
    call = partial(call_cluster, names=names)
    from_others = {new for _, new in step.split}
    apart = [number for number in step.born if number not in from_others]
    events = {
        "new": list(map(call, apart)),
        "split": [f"{call(old)} → {call(new)}" for old, new in step.split],
        "merged": [f"{call(other)} → {call(number)}" for number, other in step.merged],
        "gone": list(map(call, step.gone)),
        "renamed": [f'{number} "{old}" → "{new}"' for number, old, new in step.renamed],
    }
    return [f"{what}: {', '.join(listed)}" for what, listed in events.items() if listed]


@say.register
def say_totals(totals: Totals) -> str:
    """Return the kinds of changes that there were since the fit."""
    added = f"{count_of(totals.n_updates, 'update')} added {count_of(totals.n_added, 'row')}"
    merged = f"{count_of(totals.n_merges, 'merge')} added {count_of(totals.n_merged, 'row')}"
    forgotten = (
        f"{count_of(totals.n_forgotten, 'row')} forgotten in {count_of(totals.n_forgets, 'call')}"
    )
    kinds = [
        (totals.n_updates, added),
        (totals.n_merges, merged),
        (totals.n_forgets, forgotten),
        (totals.n_reclusters, f"clusters found anew {count_of(totals.n_reclusters, 'time')}"),
    ]
    return "; ".join(words for n_steps, words in kinds if n_steps)


# ---- while a model is fitted


@say.register
def say_level(level: ContractedLevel) -> str:
    """Return the line that is printed after a level."""
    record = level.record
    seconds = record.base_seconds + record.consensus_seconds + record.medoid_seconds
    rows = f"level {record.level}: {record.rows_in:,} -> {record.rows_out:,} rows"
    if record.kind == "fused":
        return f"{rows}: clusters that reach over several batches fused, {seconds:.2f} s"
    local = "local " if record.kind in ("local", "exact", "spanning") else ""
    if record.n_batches == 1:
        batches = "1 batch"
    else:
        batches = f"{record.n_batches:,} {local}batches"
    # NaN for a single view
    if isnan(record.agreement):
        agreement = ""
    else:
        agreement = f"agreement {record.agreement:.2f}, "
    return (
        f"{rows} in {batches}, {record.views_kept:.3g} of {level.n_views} views kept, "
        f"{agreement}{seconds:.2f} s"
    )


@say.register
def say_plan(plan: BatchPlan) -> str:
    """Return the line that is printed when the size of batches was measured."""
    size = setting("batch_size", plan.batch_size)
    if plan.grows:
        return f"{size}: larger where the neighbours of a batch need more room"
    if plan.why == "few rows":
        why = f"{plan.batch_size} rows are too few to divide"
    else:
        why = WHY_NOT_LARGER[plan.why]
    if plan.n_batches == 1:
        batches = "one batch"
    else:
        batches = f"{plan.n_batches:,} batches"
    if plan.n_bytes is None:
        return f"{size}: {batches}; {why}"
    if plan.seconds == inf:
        outlook = "in which hardly any rows merge"
    else:
        outlook = f"about {plan.n_levels} levels and {_say_seconds(plan.seconds)}"
    memory = f"{format_bytes(plan.n_bytes)} of {format_bytes(plan.memory_limit)} memory"
    return f"{size}: {batches}, {outlook}, {memory}; {why}"


def _say_seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.2g} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


# ---- a radius


@say.register
def say_radius(suggestion: EpsSuggestion) -> str:
    """Return a suggested radius and what it does, in a sentence."""
    return (
        f"eps={suggestion.eps:.4g} is the knee of the curve: with min_samples="
        f"{suggestion.min_samples}, {suggestion.core_share:.0%} of the rows are core rows."
    )
