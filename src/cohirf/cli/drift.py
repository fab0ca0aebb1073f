"""cohirf drift: whether new rows look like those of a saved model."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from cohirf.cli.console import Console
from cohirf.cli.data_options import NewDataOptions
from cohirf.cli.grids import Grid
from cohirf.cli.models import open_model
from cohirf.cli.new_rows import read_new_rows
from cohirf.cli.options import Screen
from cohirf.degrees.drift import Drift

MOST_SHOWN = 8  # clusters and features in a table


def drift(model: Path, data: Path, reading: NewDataOptions, screen: Screen) -> None:
    """Compare the rows of a file with those of a model."""
    console = Console.on(screen)
    fitted, preparation = open_model(model)
    rows = read_new_rows(data, preparation, reading, console)
    with console.watching():
        found = fitted.drift(rows.source)
    document = {"command": "drift", "model": str(model), "data": str(data), **describe_drift(found)}
    console.show(document, drift_grid(found), say_drift(found))


def describe_drift(drift: Drift) -> dict[str, Any]:
    """Return drift as what can be written as JSON."""
    features = [asdict(feature) for feature in drift.features]
    for feature in features:  # a feature that was constant before moves by infinitely many standard deviations
        feature["shift"] = feature["shift"] if isfinite(feature["shift"]) else None
    return {
        "new_rows": drift.n_rows,
        "has_drifted": drift.has_drifted,
        "verdict": drift.verdict,
        "share_outside": drift.share_outside,
        "is_outside": drift.is_outside,
        "shares": [asdict(cluster) for cluster in drift.clusters],
        "features": features,
    }


def drift_grid(drift: Drift) -> Grid:
    """Return a table of the new rows: those outside, the clusters and the features that differ most."""
    rows = [("new rows", f"{drift.n_rows:,}"), ("outside", f"{drift.share_outside:.1%} (usual is 1.0%)")]
    largest = sorted(drift.clusters, key=lambda part: -abs(part.now - part.before))[:MOST_SHOWN]
    rows += [(part.name, f"{part.before:.1%} before, {part.now:.1%} now") for part in largest]
    rows += [
        (feature.name, f"shift {feature.shift:+.2f} standard deviations, KS {feature.statistic:.2f}")
        for feature in drift.features[:MOST_SHOWN]
    ]
    return Grid(rows)


def say_drift(drift: Drift) -> str:
    """Return the verdict as a sentence."""
    return f"{drift.verdict[0].upper()}{drift.verdict[1:]}."
