"""Figure: concentric spheres, from thousands to tens of millions of rows.

And three pictures of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from examples.synthetic import write_data
from matplotlib import pyplot as plt
from optuna.distributions import FloatDistribution, IntDistribution
from sklearn.cluster import DBSCAN, KMeans

from cohirf import CoHiRF, open_source
from cohirf.clusterers import GridDBSCAN
from cohirf.datasets import make_spheres
from experiments.budgets import BUDGETS
from experiments.circumstances import describe_run
from experiments.figures import COLOURS, draw_lines, figure_table
from experiments.fresh_process import measure_sizes, report_fit
from experiments.keeping import kept, look_up

mpl.use("Agg")

# rows: batch size and eps; with rows this dense both shells hold together in a batch and stay apart
# from each other
SETTINGS = {
    2_000: (2_000, 0.3),
    20_000: (2_000, 0.2),
    200_000: (20_000, 0.2),
    2_000_000: (20_000, 0.2),
    20_000_000: (20_000, 0.2),
}
ROWS = {"small": (2_000, 20_000), "full": tuple(SETTINGS)}
TUNED = ", tuned"
PARAMETERS = "parameters.json"  # beside the data
MOST_ROWS = {
    "K-Means": 200_000,
    "DBSCAN": 20_000,
    "DBSCAN" + TUNED: 20_000,
    "CoHiRF(DBSCAN), batches": 10**9,
    "CoHiRF(DBSCAN), batches" + TUNED: 10**9,
}
# eps and min_samples are searched as the authors do, up to this many rows; with more, batches are
# as large and as dense
MOST_SEARCHED = 200_000
RANGES = {"eps": FloatDistribution(0.1, 10.0), "min_samples": IntDistribution(2, 50)}


def run(budget: str, folder: Path, say: Callable[[str], None], *, only_kept: bool) -> None:
    """Fit all methods for all sizes, each fit in a process of its own, and draw the figure and the
    pictures.
    """
    sizes = [(n_rows, BUDGETS[budget].n_seeds) for n_rows in ROWS[budget]]
    cells = folder / "cells"
    tuned = {n_rows: tune_size(n_rows, budget, cells, only_kept=only_kept) for n_rows, _ in sizes}
    write_all = partial(write, tuned=tuned)
    frame = measure_sizes(
        "experiments.spheres", sizes, MOST_ROWS, write_all, cells, say, only_kept=only_kept
    )
    frame.to_parquet(folder / "spheres.parquet", index=False)
    draw_lines(frame, "n_rows", "rows", folder / "spheres.png", "Two concentric spheres")
    draw_pictures(folder / "spheres_3d.png")
    lines = [
        "# Two concentric spheres",
        "",
        *describe_run(f"python -m experiments spheres --budget {budget}"),
        "",
    ]
    lines += [
        "![Adjusted Rand index and time](spheres.png)",
        "",
        *figure_table(frame, "n_rows", "rows"),
        "",
    ]
    lines += [
        "Peak memory of a fit in MB:",
        "",
        *figure_table(frame, "n_rows", "rows", "peak_mb", 0),
        "",
    ]
    if any(tuned.values()):
        lines += ["Parameters of the tuned methods, by number of rows:", "", *say_tuned(tuned), ""]
    lines += ["![2,000 rows, clustered by three methods](spheres_3d.png)", ""]
    (folder / "spheres.md").write_text("\n".join(lines))


def tune_size(n_rows: int, budget: str, folder: Path, *, only_kept: bool) -> dict[str, Any]:
    """Return the parameters of DBSCAN, alone and in batches, with the best ARI of a search.

    None if it was not done.
    """
    n_rows = min(n_rows, MOST_SEARCHED)
    n_trials = BUDGETS[budget].n_trials
    about = {
        "figure": "spheres tuning",
        "n_rows": n_rows,
        "n_trials": n_trials,
        "sampler": "the authors'",
    }
    nothing: dict[str, Any] = {"params": {}}
    found = (
        look_up(folder, about)
        if only_kept
        else kept(folder, about, partial(tune_methods, n_rows, n_trials))
    )
    return (found or nothing)["params"]


def say_tuned(tuned: dict[int, dict[str, Any]]) -> list[str]:
    """Return the lines of a table of what searches found."""
    lines = ["| rows | method | eps | min_samples |", "| --- " * 4 + "|"]
    for n_rows, methods in tuned.items():
        for name, found in methods.items():
            lines.append(f"| {n_rows:,} | {name} | {found['eps']:.3f} | {found['min_samples']} |")
    return lines


def tune_methods(n_rows: int, n_trials: int) -> dict[str, Any]:
    """Search parameters of DBSCAN alone, as far as it goes, and in batches."""
    # not in processes that measure a fit
    from experiments.authors import (
        start_search,
        try_parameters,
    )
    from experiments.methods import first_trial

    X, y = make_spheres(n_rows, random_state=0)
    methods: dict[str, Any] = {
        "CoHiRF(DBSCAN), batches": in_batches(GridDBSCAN(), SETTINGS[n_rows][0], 0)
    }
    if n_rows <= MOST_ROWS["DBSCAN"]:
        methods["DBSCAN"] = GridDBSCAN()
    best = {}
    for name, model in methods.items():
        prefix = "estimator__" if isinstance(model, CoHiRF) else ""
        space = {prefix + parameter: values for parameter, values in RANGES.items()}
        study = start_search(first_trial("DBSCAN", space), seed=0)
        for _ in range(n_trials):
            asked = study.ask(space)
            study.tell(asked, try_parameters(model, asked.params, 0, X, y, "ari")["score"] or 0.0)
        best[name] = {
            parameter.removeprefix(prefix): value for parameter, value in study.best_params.items()
        }
    return {"params": best}


def write(path: Path, n_rows: int, seed: int, tuned: dict[int, dict[str, Any]]) -> None:
    """Write the data of a size, and the parameters that were found for it."""
    write_data("spheres", path, n_rows, random_state=seed)
    path.with_name(PARAMETERS).write_text(json.dumps(tuned[n_rows]))


def label_rows(path: Path, method: str, seed: int) -> Any:
    """Return the labels that a method gives to the rows of a file."""
    source = open_source(path)
    batch_size, eps = SETTINGS.get(source.n_rows, SETTINGS[2_000])
    name = method.removesuffix(TUNED)
    params = (
        {"eps": eps} if name == method else json.loads(path.with_name(PARAMETERS).read_text())[name]
    )
    if name == "K-Means":
        return KMeans(2, random_state=seed).fit_predict(np.load(path))
    if name == "DBSCAN":
        return DBSCAN(**params).fit_predict(np.load(path))
    return in_batches(GridDBSCAN(**params), batch_size, seed).fit(source).labels_


def in_batches(base: GridDBSCAN, batch_size: int, seed: int) -> CoHiRF:
    """Return the model of the paper: one view of all features, and random batches."""
    return CoHiRF.as_published(
        base, views=1, batch_size=batch_size, min_cluster_size=2, random_state=seed
    )


def draw_pictures(path: Path) -> None:
    """Draw 2,000 points in the colours of their clusters, for three methods.

    The front is cut open.
    """
    X, _ = make_spheres(2000, random_state=0)
    methods = {
        "K-Means": KMeans(2, random_state=0),
        "DBSCAN": DBSCAN(eps=0.3),
        "CoHiRF.as_published(DBSCAN)": CoHiRF.as_published(
            DBSCAN(eps=0.3), views=1, batch_size=1000, random_state=0
        ),
    }
    seen = X[:, 1] > -0.15  # so that the inner sphere shows
    figure = plt.figure(figsize=(12, 4.3), layout="constrained")
    for number, (name, model) in enumerate(methods.items(), 1):
        labels = model.fit_predict(X)
        axis = figure.add_subplot(1, 3, number, projection="3d")
        axis.scatter(
            *X[seen].T,
            c=np.take(COLOURS[:2], np.minimum(labels[seen], 1) % 2),
            s=5,
            alpha=0.8,
            linewidths=0,
        )
        axis.set_title(f"{name}: {len(np.unique(labels))} clusters")
        axis.view_init(elev=18, azim=-90)
        axis.set_box_aspect((1, 0.6, 1), zoom=1.5)
        axis.set_axis_off()
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    report_fit(label_rows)
