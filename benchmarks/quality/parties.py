"""What do parties gain by clustering together, as their number and their noise columns grow?

    python -m benchmarks.quality.parties [--sets digits satimage pendigits usps] [--seeds 3]
    [--picture parties.png]

The columns of each data set are divided at random among 1 to 16 parties, each of which runs K-Means
three times. Then, with four parties, columns of noise are added to each: none to four times as many
as it has. For each, the mean adjusted Rand index of the parties together (labels vote), of one
party alone, and of K-Means and CoHiRF with all columns in one place. Data sets are sampled: at most
2,000 rows. ``--picture`` draws both curves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Results,
    add_results_option,
    all_sets,
    make_parser,
    parse,
    print_markdown,
)
from cohirf import CoHiRF
from cohirf.parties import Party, run

MAX_ROWS = 2000
N_PARTIES = (1, 2, 4, 8, 16)
N_NOISY = 4
NOISE = (0.0, 0.5, 1.0, 2.0, 4.0)


def score(
    X: np.ndarray, y: np.ndarray, n_parties: int, noise: float, seed: int
) -> dict[str, float]:
    """Return the adjusted Rand index of all ways."""
    rng = np.random.default_rng(seed)
    k = len(np.unique(y))
    parts = [
        np.hstack([X[:, part], rng.normal(size=(len(X), round(noise * len(part))))])
        for part in np.array_split(rng.permutation(X.shape[1]), min(n_parties, X.shape[1]))
    ]
    together = np.hstack(parts)

    def judge(labels: Any) -> float:
        return float(adjusted_rand_score(y, labels))

    parties = [
        Party(part, KMeans(k, n_init=1), name=f"p{number:02d}", views=3, random_state=seed)
        for number, part in enumerate(parts)
    ]
    return {
        "together": judge(run(parties, n_clusters=k).labels),
        "one alone": float(
            np.mean([judge(run([party], n_clusters=k).labels) for party in parties])
        ),
        "best alone": max(judge(run([party], n_clusters=k).labels) for party in parties),
        "K-Means, all columns": judge(
            KMeans(k, n_init=10, random_state=seed).fit_predict(together)
        ),
        "CoHiRF, all columns": judge(CoHiRF(n_clusters=k, random_state=seed).fit_predict(together)),
    }


def curve(
    axis: str,
    values: Sequence[float],
    settings: Callable[[Any], tuple[int, float]],
    arguments: Any,
    results: Results,
) -> dict[str, list[float]]:
    """Print the mean over data sets for each value of the axis, and return it."""
    lines: dict[str, list[float]] = {}
    for value in values:
        found = []
        for name, X, y in all_sets():
            if name in arguments.sets:
                some = np.sort(np.random.default_rng(0).permutation(len(X))[:MAX_ROWS])
                for seed in range(arguments.seeds):
                    key = (name, *settings(value), seed)
                    found.append(
                        results.of(key, partial(score, X[some], y[some], *settings(value), seed))
                    )
        for way in found[0]:
            lines.setdefault(way, []).append(float(np.mean([figures[way] for figures in found])))
    rows = [
        [str(value), *(f"{line[place]:.3f}" for line in lines.values())]
        for place, value in enumerate(values)
    ]
    print_markdown([axis, *lines], rows)
    return lines


def draw(path: Path, curves: dict[str, tuple[Sequence[float], dict[str, list[float]]]]) -> None:
    """Draw the curves side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels = figure.subplots(1, len(curves), sharey=True)
    for panel, (axis, (values, lines)) in zip(panels, curves.items(), strict=True):
        for number, (way, line) in enumerate(lines.items()):
            style = "-" if way == "together" else "--" if "alone" in way else ":"
            panel.plot(
                range(len(values)),
                line,
                style,
                marker="o",
                markersize=4,
                color=f"C{number}",
                label=way,
            )
        panel.set_xticks(range(len(values)), [f"{value:g}" for value in values])
        panel.set_xlabel(axis)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("adjusted Rand index")
    panels[0].set_ylim(bottom=0)
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=5,
        frameon=False,
        fontsize=8,
    )
    figure.savefig(path, dpi=120)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=["digits", "satimage", "pendigits", "usps"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--picture", type=Path, default=None)
    add_results_option(parser)
    arguments = parse(parser, argv, sets=["digits"], seeds=1)
    warnings.simplefilter("ignore")
    results = Results(arguments.results / "parties.jsonl")
    axes = {
        "parties": (N_PARTIES, lambda value: (int(value), 0.0)),
        "noise columns for each column of a party": (NOISE, lambda value: (N_NOISY, float(value))),
    }
    with threadpool_limits(1):
        curves = {
            axis: (values, curve(axis, values, of, arguments, results))
            for axis, (values, of) in axes.items()
        }
    if arguments.picture is not None:
        draw(arguments.picture, curves)


if __name__ == "__main__":
    main()
