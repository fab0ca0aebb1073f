"""A table of the paper beside ours: mean and standard deviation over seeds, and how they compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.methods import ALONE
from experiments.paper import METRICS, published

HEADINGS = {"ari": "ARI", "calinski_harabasz": "Calinski-Harabasz", "silhouette": "silhouette"}
TIE = 0.0005  # half of the last digit that is printed


def write_results(name: str, results: list[dict[str, Any]], folder: Path, heading: str, command: str) -> None:
    """Write results as Parquet, and the table as Markdown."""
    frame = pd.DataFrame(results)
    frame["params"] = frame["params"].map(str)
    frame.to_parquet(folder / f"{name}.parquet", index=False)
    parts = [f"# {heading}", "", f"`{command}`", ""]
    for metric in [metric for metric in METRICS if metric in set(frame.metric)]:
        parts += [f"## {HEADINGS[metric]}", "", *metric_table(frame[frame.metric == metric], metric), ""]
    parts += ["## Our best beside the better of the base method and the paper", "", *moonshot(frame), ""]
    parts += [
        "## Time",
        "",
        "Processor seconds of one fit with the best parameters for the ARI.",
        "",
        *time_table(frame),
    ]
    (folder / f"{name}.md").write_text("\n".join([*parts, ""]))


def metric_table(frame: pd.DataFrame, metric: str) -> list[str]:
    """Return the lines of a table with the paper's figure, ours, and how ours compares."""
    lines = ["| data | base | variant | paper | ours | |", "| --- | --- | --- | --- | --- | --- |"]
    for (data, base, variant), group in frame.groupby(["data", "base", "variant"], sort=False):
        figure = published(data, base, variant, metric)
        paper = "" if figure is None else f"{figure[0]:.3f} ± {figure[1]:.3f}"
        mean, deviation = group.score.mean(), group.score.std(ddof=1)
        lines.append(f"| {data} | {base} | {variant} | {paper} | {mean:.3f} ± {deviation:.3f} | {mark(mean, figure)} |")
    return lines


def mark(mean: float, figure: tuple[float, float] | None) -> str:
    """Return how a mean compares with the paper's: within one standard deviation of it, better, or worse."""
    if figure is None:
        return ""
    if abs(mean - figure[0]) <= figure[1] + TIE * max(1.0, abs(figure[0])):
        return "within"
    return "better" if mean > figure[0] else "worse"


def time_table(frame: pd.DataFrame) -> list[str]:
    """Return the lines of a table of times."""
    tuned = frame[frame.metric == "ari"]
    lines = ["| data | base | variant | seconds | over the base alone |", "| --- | --- | --- | --- | --- |"]
    alone = {key: group.seconds.mean() for key, group in tuned[tuned.variant == ALONE].groupby(["data", "base"])}
    for (data, base, variant), group in tuned.groupby(["data", "base", "variant"], sort=False):
        seconds = group.seconds.mean()
        ratio = seconds / alone.get((data, base), np.nan)
        lines.append(f"| {data} | {base} | {variant} | {seconds:.3g} | {'' if np.isnan(ratio) else f'{ratio:.1f}'} |")
    return lines


def moonshot(frame: pd.DataFrame) -> list[str]:
    """Return the lines of a table that puts our best variant beside the better of base method and paper's best."""
    lines = [
        "| data | base | base alone | paper's best | our best | variant | |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    tuned = frame[frame.metric == "ari"]
    for (data, base), group in tuned.groupby(["data", "base"], sort=False):
        means = group.groupby("variant", sort=False).score.mean()
        alone = means.get(ALONE, np.nan)
        inside = means.drop(ALONE, errors="ignore")
        if inside.empty:
            continue
        figures = [published(data, base, variant, "ari") for variant in means.index]
        papers = max((figure[0] for figure in figures if figure is not None), default=np.nan)
        target = np.nanmax([alone, papers])
        best = inside.idxmax()
        verdict = "at least as good" if inside[best] >= target - TIE else f"below by {target - inside[best]:.3f}"
        cells = [f"{value:.3f}" if np.isfinite(value) else "" for value in (alone, papers, inside[best])]
        lines.append(f"| {data} | {base} | {' | '.join(cells)} | {best} | {verdict} |")
    return lines
