"""Make the picture of how the time of a fit grows: ``python docs/make_growth_picture.py``.

Its figures are those of ``docs/results/growth.csv``, which ``benchmarks.speed.growth`` writes.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

FOLDER = Path(__file__).parent
INK = "#4d4d4d"
LINE = "#1f77b4"
TITLES = {
    "rows": "rows\n(10 clusters, 20 features, 1 job)",
    "clusters": "clusters\n(200,000 rows, 20 features, 1 job)",
    "features": "features\n(200,000 rows, 10 clusters, 1 job)",
    "jobs": "jobs\n(2,000,000 rows, 10 clusters, 20 features)",
}


def read_series(path: Path) -> dict[str, list[dict[str, str]]]:
    """Return the rows of the table for each of the things that vary."""
    series: dict[str, list[dict[str, str]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            series.setdefault(row["varies"], []).append(row)
    return series


def draw(axes: Axes, name: str, rows: list[dict[str, str]]) -> None:
    """Draw the times of a series, with what linear growth, or as many cores, would give."""
    values = np.array([float(row[name].replace(",", "")) for row in rows])
    seconds = np.array([float(row["seconds"]) for row in rows])
    ideal = values / values[0]
    if name == "jobs":
        ideal = 1 / ideal
    last = seconds[0] if name == "jobs" else seconds[-1] / ideal[-1]
    axes.loglog(values, last * ideal, color=INK, linewidth=0.8, linestyle=":")
    axes.loglog(values, seconds, color=LINE, marker="o")
    for value, second in zip(values, seconds, strict=True):
        axes.annotate(
            f"{second:.2g} s" if second < 10 else f"{second:.0f} s",
            (value, second),
            xytext=(-5, 8),
            textcoords="offset points",
            ha="center",
            color=INK,
            fontsize=8,
        )
    axes.set_title(TITLES[name], color=INK, fontsize=8)
    axes.set_xticks(values, [f"{int(value):,}" for value in values], color=INK, fontsize=8)
    axes.minorticks_off()
    axes.tick_params(axis="y", labelsize=8, labelcolor=INK)
    axes.margins(0.12, 0.2)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Write the picture."""
    series = read_series(FOLDER / "results" / "growth.csv")
    figure, panels = plt.subplots(1, len(series), figsize=(12, 3.4), layout="constrained")
    for axes, (name, rows) in zip(panels, series.items(), strict=True):
        draw(axes, name, rows)
    panels[0].set_ylabel("seconds", color=INK, fontsize=9)
    figure.savefig(FOLDER / "images" / "growth.png", dpi=130)


if __name__ == "__main__":
    main()
