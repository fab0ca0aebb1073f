"""The picture of a model's updates: sizes of its clusters over time, as the shapes of a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cohirf.summary.history import Step

WIDTH, HEIGHT, TOP = 720, 220, 28  # of the drawing; marks are above the shapes
MAX_SHAPES = 12  # clusters with a shape of their own
MAX_TOLD = 20  # steps in the table


def describe_history(model: Any) -> dict[str, Any] | None:
    """Return the content of the section about updates; None if the model had none."""
    history: tuple[Step, ...] = model.history_
    if len(history) < 2:
        return None
    numbers = model.cluster_numbers_.tolist()
    told = [step for step in history if step.events or step is history[-1]]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "shapes": draw_shapes(history, numbers),
        "marks": draw_marks(history),
        "first": history[0].update,
        "last": history[-1].update,
        "most_rows": max(step.n_rows for step in history),
        "changes": str(model.changes_).splitlines(),
        "steps": [
            {
                "number": step.update,
                "n_added": step.n_added,
                "n_rows": step.n_rows,
                "n_clusters": step.n_clusters,
                "moved": step.n_moved / max(step.n_rows - step.n_added, 1),
                "events": "; ".join(step.events),
            }
            for step in reversed(told[-MAX_TOLD:])
        ],
        "n_untold": len(history) - min(len(told), MAX_TOLD),
    }


def draw_shapes(history: Sequence[Step], numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return a shape for each of the largest clusters, one upon the other: name, colour class, and points.

    Clusters that the model has now have their colours of the page; those that are gone, other clusters, and rows
    without a cluster are grey.
    """
    largest: dict[int, int] = {}
    for step in history:
        for number, size in step.sizes.items():
            largest[number] = max(largest.get(number, 0), size)
    shown = sorted(sorted(largest, key=lambda number: -largest[number])[:MAX_SHAPES])
    layers = [[step.sizes.get(number, 0) for step in history] for number in shown]
    rest = np.array([step.n_rows - step.n_noise for step in history]) - np.sum(layers, axis=0, dtype=np.int64)
    names = [f"cluster {number}" for number in shown]
    classes = [f"c-{numbers.index(number)}" if number in numbers else "past" for number in shown]
    greys: dict[str, list[int]] = {"other clusters": rest.tolist(), "no cluster": [step.n_noise for step in history]}
    for name, rows in greys.items():
        if any(rows):
            names, classes, layers = [*names, name], [*classes, "past"], [*layers, rows]
    bounds = np.vstack([np.zeros(len(history)), np.cumsum(layers, axis=0)])
    y = HEIGHT - bounds * ((HEIGHT - TOP) / max(float(bounds[-1].max()), 1.0))
    x = places(len(history))
    return [
        {"name": name, "class": kind, "points": _points(x, y[layer], y[layer + 1]), "rows": int(layers[layer][-1])}
        for layer, (name, kind) in enumerate(zip(names, classes, strict=True))
    ]


def draw_marks(history: Sequence[Step]) -> list[dict[str, Any]]:
    """Return a mark for each update after which clusters were born, merged, split or gone: place and words."""
    x = places(len(history))
    return [
        {"x": round(float(x[number]), 1), "text": f"Update {step.update}: {'; '.join(step.events)}"}
        for number, step in enumerate(history)
        if step.events
    ]


def places(n_steps: int) -> Any:
    """Return the horizontal place of each step."""
    return np.linspace(4, WIDTH - 4, n_steps)


def _points(x: Any, low: Any, high: Any) -> str:
    corners = [*zip(x, low, strict=True), *zip(x[::-1], high[::-1], strict=True)]
    return " ".join(f"{one:.1f},{two:.1f}" for one, two in corners)
