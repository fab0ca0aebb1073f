"""The section about updates: the sizes of clusters over time, and what has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cohirf import CoHiRF
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.results import say_events
from cohirf.app.explain.sections import Section
from cohirf.inspection import Step, Totals, call_cluster


def describe_history(model: CoHiRF) -> dict[str, Any] | None:
    """Return the content of the section about updates; None if the model had none."""
    history: tuple[Step, ...] = model.history_
    if len(history) < 2:
        return None
    names = model.names_
    events = ["; ".join(say_events(step, names)) for step in history]
    said = list(zip(history, events, strict=True))
    told = [
        (step, happened)
        for step, happened in said
        if happened or step.verb != "update" or step is history[-1]
    ]
    places = _places(len(history)).tolist()
    return {
        "width": PAGE.history_width,
        "height": PAGE.history_height,
        "shapes": draw_shapes(history, model.cluster_numbers_.tolist(), names),
        "marks": [
            {"x": round(x, 1), "text": f"Update {step.update}: {happened}"}
            for x, (step, happened) in zip(places, said, strict=True)
            if happened
        ],
        "first": history[0].update,
        "last": history[-1].update,
        "most_rows": max(step.n_rows for step in history),
        "changes": str(model.changes_).splitlines(),
        "totals": str(Totals.of(history)),
        "steps": [
            {
                "number": step.update,
                "n_added": step.n_added,
                "n_rows": step.n_rows,
                "n_clusters": step.n_clusters,
                "moved": step.n_moved / max(step.n_rows - step.n_added, 1),
                "events": "; ".join(filter(None, [_say_verb(step), happened])),
            }
            for step, happened in reversed(told[-PAGE.steps :])
        ],
        "n_untold": len(history) - min(len(told), PAGE.steps),
    }


def _say_verb(step: Step) -> str:
    """Return what the step was; nothing if it was an update with new rows."""
    said = {
        "forget": "rows forgotten",
        "merge": "models merged",
        "recluster": "clusters found anew",
    }
    return said.get(step.verb, "")


def draw_shapes(
    history: Sequence[Step], numbers: Sequence[int], called: Mapping[int, str] | None = None
) -> list[dict[str, Any]]:
    """Return a shape for each of the largest clusters, one upon the other.

    Grey if it is gone, or is no cluster.
    """
    largest: dict[int, int] = {}
    for step in history:
        for number, size in step.sizes.items():
            largest[number] = max(largest.get(number, 0), size)
    shown = sorted(sorted(largest, key=lambda number: -largest[number])[: PAGE.shapes])
    layers = [[step.sizes.get(number, 0) for step in history] for number in shown]
    rest = np.array([step.n_rows - step.n_noise for step in history]) - np.sum(
        layers, axis=0, dtype=np.int64
    )
    names = [f"cluster {call_cluster(number, called or {})}" for number in shown]
    classes = [f"c-{numbers.index(number)}" if number in numbers else "past" for number in shown]
    greys: dict[str, list[int]] = {
        "other clusters": rest.tolist(),
        "no cluster": [step.n_noise for step in history],
    }
    for name, rows in greys.items():
        if any(rows):
            names = [*names, name]
            classes = [*classes, "past"]
            layers = [*layers, rows]
    bounds = np.vstack([np.zeros(len(history)), np.cumsum(layers, axis=0)])
    y = PAGE.history_height - bounds * (
        (PAGE.history_height - PAGE.history_top) / max(float(bounds[-1].max()), 1.0)
    )
    x = _places(len(history))
    return [
        {
            "name": name,
            "class": kind,
            "points": _points(x, y[layer], y[layer + 1]),
            "rows": int(layers[layer][-1]),
        }
        for layer, (name, kind) in enumerate(zip(names, classes, strict=True))
    ]


def _places(n_steps: int) -> Any:
    return np.linspace(4, PAGE.history_width - 4, n_steps)


def _points(x: Any, low: Any, high: Any) -> str:
    corners = [*zip(x, low, strict=True), *zip(x[::-1], high[::-1], strict=True)]
    return " ".join(f"{one:.1f},{two:.1f}" for one, two in corners)


SECTION = Section(
    "history", "Changes", lambda made: describe_history(made.model), template="history.html"
)
