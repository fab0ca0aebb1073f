"""Figures of the paper: a score and a time over a size, with bootstrap intervals over seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

mpl.use("Agg")

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
N_BOOTSTRAPS = 2000


def bootstrap_interval(values: Any) -> tuple[float, float]:
    """Return the 95% percentile interval of the mean over bootstrap samples."""
    values = np.asarray(values)
    draws = np.random.default_rng(0).choice(values, (N_BOOTSTRAPS, len(values)))
    low, high = np.percentile(draws.mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def draw_lines(frame: pd.DataFrame, x: str, label: str, path: Path, title: str) -> None:
    """Draw score and seconds of each method over ``x``."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for axis, (column, name) in zip(
        axes, (("score", "adjusted Rand index"), ("seconds", "CPU seconds")), strict=True
    ):
        for number, (method, group) in enumerate(frame.groupby("method", sort=False)):
            sizes = sorted(group[x].unique())
            found = [group[group[x] == size][column] for size in sizes]
            low, high = np.transpose([bootstrap_interval(values) for values in found])
            colour = COLOURS[number % len(COLOURS)]
            axis.plot(
                sizes, [values.mean() for values in found], color=colour, marker=MARKERS[number % len(MARKERS)],
                label=method, markersize=5,
            )  # fmt: skip
            axis.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
        axis.set(xscale="log", xlabel=label, ylabel=name)
        axis.grid(alpha=0.3)
    axes[0].set_ylim(-0.05, 1.05)
    axes[1].set_yscale("log")
    figure.suptitle(title)
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        fontsize=8,
        frameon=False,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def with_spread(mean: float, spread: float | None, digits: int = 3) -> str:
    """Return a mean and a standard deviation, if there is one, as text."""
    return f"{mean:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")


def figure_table(
    frame: pd.DataFrame, x: str, label: str, column: str = "score", digits: int = 3
) -> list[str]:
    """Return the lines of a table: a row for each size, mean and standard deviation of a column for
    each method.
    """
    methods = list(frame.method.unique())
    lines = [f"| {label} | " + " | ".join(methods) + " |", "| --- |" + " --- |" * len(methods)]
    for size, group in frame.groupby(x):
        cells = []
        for method in methods:
            values = group[group.method == method][column]
            spread = values.std(ddof=1) if len(values) > 1 else None
            cells.append("" if values.empty else with_spread(values.mean(), spread, digits))
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    return lines
