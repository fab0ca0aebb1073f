"""A table of the paper beside ours: mean and standard deviation over seeds, and how they
compare.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.circumstances import describe_run
from experiments.figures import with_spread
from experiments.methods import ALONE
from experiments.paper import METRICS, N_ROWS, Figure, best_published, published

HEADINGS = {"ari": "ARI", "calinski_harabasz": "Calinski-Harabasz", "silhouette": "silhouette"}
WEIGHTS = ", weights"  # ends the name of a variant that has the medoid weights of another
MOST_CLUSTERS = 0.5  # of the rows; the authors do not score partitions with more
TIE = 0.0005  # half of the last digit that is printed


def write_results(
    name: str,
    results: list[dict[str, Any]],
    peaks: dict[Any, float | None],
    folder: Path,
    heading: str,
    command: str,
) -> None:
    """Write results as Parquet, and the table as Markdown."""
    frame = pd.DataFrame(results)
    frame["params"] = frame["params"].map(str)
    frame.to_parquet(folder / f"{name}.parquet", index=False)
    parts = [f"# {heading}", "", *describe_run(command), ""]
    for metric in [metric for metric in METRICS if metric in set(frame.metric)]:
        parts += [
            f"## {heading}: {HEADINGS[metric]}",
            "",
            *metric_table(frame[frame.metric == metric], metric),
            "",
        ]
    parts += [
        f"## {heading}: our best beside the better of the base method and the paper",
        "",
        *moonshot(frame),
        "",
    ]
    parts += [
        f"## {heading}: time and memory",
        "",
        "One fit with the best parameters for the ARI.",
        "",
    ]
    parts += cost_table(frame, peaks)
    (folder / f"{name}.md").write_text("\n".join([*parts, ""]))


def metric_table(frame: pd.DataFrame, metric: str) -> list[str]:
    """Return the lines of a table with the paper's figures, ours, ours with medoid weights, and how
    they compare.
    """
    lines = [
        "| data | base | variant | paper | ours | | with medoid weights | |",
        "| --- " * 8 + "|",
    ]
    for (data, base), group in frame.groupby(["data", "base"], sort=False):
        for variant in dict.fromkeys(name.removesuffix(WEIGHTS) for name in group.variant):
            figure = published(data, base, variant, metric)
            cells = ["" if figure is None else with_spread(*figure)]
            for name in (variant, variant + WEIGHTS):
                cells += compare(group[group.variant == name], figure)
            lines.append(f"| {data} | {base} | {variant} | {' | '.join(cells)} |")
    return lines + say_efforts(frame) + say_unscored(frame)


def say_unscored(frame: pd.DataFrame) -> list[str]:
    """Return lines that name the rows that the authors would not score."""
    rows = frame.groupby(["data", "base", "variant"], sort=False)
    unscored = [", ".join(row) for row, group in rows if has_too_many_clusters(group).any()]
    if not unscored:
        return []
    return [
        "",
        f"Not comparable, since the authors do not score as many clusters: {'; '.join(unscored)}.",
    ]


def has_too_many_clusters(frame: pd.DataFrame) -> pd.Series:
    """Tell which results have more clusters than the authors score."""
    return frame.n_clusters > MOST_CLUSTERS * frame.data.map(N_ROWS)


def say_efforts(frame: pd.DataFrame) -> list[str]:
    """Return lines that name the rows with fewer trials or seeds than others have, if there are
    such rows.
    """
    rows = frame.groupby(["data", "base", "variant"], sort=False)
    efforts = rows.agg(trials=("n_trials", "max"), seeds=("seed", "nunique")).reset_index()
    usual = (efforts.trials.max(), efforts.seeds.max())
    parts = []
    for effort, fewer in efforts.groupby(["trials", "seeds"], sort=False):
        if effort != usual:
            names = []
            for (data, base), group in fewer.groupby(["data", "base"], sort=False):
                is_whole = len(group) == ((efforts.data == data) & (efforts.base == base)).sum()
                names.append(
                    f"{data}, {base}"
                    if is_whole
                    else f"{data}, {base} ({'; '.join(group.variant)})"
                )
            parts.append(f"{effort[0]} trials, {say_seeds(effort[1])}: {'; '.join(names)}")
    if not parts:
        return []
    return [
        "",
        f"Searches have {usual[0]} trials and {say_seeds(usual[1])}, but for these. "
        f"{'. '.join(parts)}.",
    ]


def say_seeds(n_seeds: int) -> str:
    """Return a number of seeds in words."""
    return "1 seed" if n_seeds == 1 else f"{n_seeds} seeds"


def compare(found: pd.DataFrame, figure: Figure | None) -> list[str]:
    """Return mean and standard deviation of what was found, and how they compare with the
    paper's.
    """
    if found.empty:
        return ["", ""]
    mean = found.score.mean()
    spread = found.score.std(ddof=1) if len(found) > 1 else None
    verdict = (
        "not comparable" if figure and has_too_many_clusters(found).any() else mark(mean, figure)
    )
    return [with_spread(mean, spread), verdict]


def mark(mean: float, figure: Figure | None) -> str:
    """Return how a mean compares with the paper's: within one standard deviation of it, better, or
    worse.
    """
    if figure is None:
        return ""
    if abs(mean - figure[0]) <= figure[1] + TIE * max(1.0, abs(figure[0])):
        return "within"
    return "better" if mean > figure[0] else "worse"


def cost_table(frame: pd.DataFrame, peaks: dict[Any, float | None]) -> list[str]:
    """Return the lines of a table of times, and of the peak memory of a process that fits."""
    tuned = frame[frame.metric == "ari"]
    lines = [
        "| data | base | variant | CPU seconds | over the base alone | peak MB |",
        "| --- " * 6 + "|",
    ]
    alone = {
        key: group.seconds.mean()
        for key, group in tuned[tuned.variant == ALONE].groupby(["data", "base"])
    }
    for (data, base, variant), group in tuned.groupby(["data", "base", "variant"], sort=False):
        seconds = group.seconds.mean()
        ratio = f"{seconds / alone[data, base]:.1f}" if (data, base) in alone else ""
        peak = peaks.get((data, base, variant))
        cells = [
            data,
            base,
            variant,
            f"{seconds:.3g}",
            ratio,
            "" if peak is None else f"{peak:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def moonshot(frame: pd.DataFrame) -> list[str]:
    """Return the lines of a table that puts our best variant beside the better of base method and
    paper's best.

    A base method alone that was searched in several ranges counts with the best of them.
    """
    lines = [
        "| data | base | base alone | paper's best | our best | seeds | variant | |",
        "| --- " * 8 + "|",
    ]
    tuned = frame[frame.metric == "ari"]
    for (data, base), group in tuned.groupby(["data", "base"], sort=False):
        means = group.groupby("variant", sort=False).score.mean()
        is_alone = means.index.str.startswith(ALONE)
        alone = means[is_alone].max()
        inside = means[~is_alone]
        if inside.empty:
            continue
        best_of_paper = best_published(data, base, "ari")
        papers = np.nan if best_of_paper is None else best_of_paper
        target = np.nanmax([alone, papers])
        best = inside.round(6).idxmax()  # of equals, the first one
        verdict = (
            "at least as good"
            if inside[best] >= target - TIE
            else f"below by {target - inside[best]:.3f}"
        )
        cells = [
            f"{value:.3f}" if np.isfinite(value) else "" for value in (alone, papers, inside[best])
        ]
        n_seeds = group[group.variant == best].seed.nunique()
        lines.append(f"| {data} | {base} | {' | '.join(cells)} | {n_seeds} | {best} | {verdict} |")
    return lines
