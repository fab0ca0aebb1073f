"""Where are we among the methods of the clustering benchmark suite of M. Gagolewski?

    python -m benchmarks.quality.clustbench [--data FOLDER] [--seeds 3] [--merge auto] [--write FOLDER]

The suite ("A framework for benchmarking clustering algorithms", SoftwareX 20, 2022) has data sets with one or several
reference labellings, and the partitions that other methods have found. FOLDER has a folder for each battery, with
``NAME.data.gz`` and ``NAME.labelsI.gz``, and perhaps ``published_ari.csv``: the adjusted Rand index (ARI) of published
partitions, a row for each method and a column for each data set.

The rules are those of the suite: columns without variance are dropped, the values are centred and divided by one
standard deviation of all of them, the method is given the number of clusters of a reference, the best of all references
counts, and rows of class 0, which are noise, are not scored. The default model is fitted with several seeds, and the
mean counts.

With ``--write``, the partitions of the first seed are written in the suite's own format, as
``BATTERY/NAME.resultK.gz``: a column of labels from 1.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import DATA_FOLDER, make_parser, parse, print_markdown
from cohirf import CoHiRF

OURS = "CoHiRF"


def read_sets(folder: Path) -> Iterator[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Yield name, values and reference labels of each data set."""
    for path in sorted(folder.glob("*/*.data.gz")):
        name = path.name.removesuffix(".data.gz")
        X = np.loadtxt(path, ndmin=2)
        X = X[:, X.var(axis=0) > 0]
        X = (X - X.mean(axis=0)) / X.std(ddof=1)
        references = [np.loadtxt(labels).astype(int) for labels in sorted(path.parent.glob(f"{name}.labels*.gz"))]
        yield f"{path.parent.name}/{name}", X, references


def find_partitions(X: np.ndarray, references: list[np.ndarray], merge: str, seed: int) -> dict[int, np.ndarray]:
    """Return the labels of the model for each number of clusters of the references."""
    numbers = sorted({len(np.unique(y[y > 0])) for y in references})
    return {k: CoHiRF(n_clusters=k, merge=merge, random_state=seed).fit_predict(X) for k in numbers}


def score(references: list[np.ndarray], found: dict[int, np.ndarray]) -> float:
    """Return the highest ARI of all references."""
    return max(adjusted_rand_score(y[y > 0], found[len(np.unique(y[y > 0]))][y > 0]) for y in references)


def write_partitions(folder: Path, name: str, found: dict[int, np.ndarray]) -> None:
    """Write labels from 1 in the format of the suite's results."""
    for k, labels in found.items():
        path = folder / f"{name}.result{k}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt") as file:
            file.writelines(f"{label}\n" for label in labels + 1)


def read_published(folder: Path) -> dict[str, dict[str, float]]:
    """Return the ARI of published partitions by method and data set; none if the file is not there."""
    path = folder / "published_ari.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            row.pop("method"): {name: float(ari) for name, ari in row.items() if ari} for row in csv.DictReader(file)
        }


def rank(ours: dict[str, float], published: dict[str, dict[str, float]]) -> list[tuple[str, float]]:
    """Return methods and their mean ARI over those of our data sets that they have partitions of; the best first."""
    means = {
        method: float(np.mean([of_sets[name] for name in ours if name in of_sets]))
        for method, of_sets in published.items()
        if any(name in of_sets for name in ours)
    }
    return sorted([*means.items(), (OURS, float(np.mean([*ours.values()])))], key=lambda pair: -pair[1])


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, default=DATA_FOLDER / "clustbench")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--merge", default="auto", choices=("auto", "compact", "connected"))
    parser.add_argument("--sets", type=int, default=None, help="only the first so many")
    parser.add_argument("--top", type=int, default=10, help="how many methods the ranking shows")
    parser.add_argument("--write", type=Path, default=None, metavar="FOLDER")
    arguments = parse(parser, argv, seeds=1, sets=3)
    published, ours = read_published(arguments.data), {}
    with threadpool_limits(1):
        for number, (name, X, references) in enumerate(read_sets(arguments.data)):
            if number == arguments.sets:
                break
            scores = []
            for seed in range(arguments.seeds):
                found = find_partitions(X, references, arguments.merge, seed)
                scores.append(score(references, found))
                if seed == 0 and arguments.write is not None:
                    write_partitions(arguments.write, name, found)
            ours[name] = float(np.mean(scores))
            best = max((of_sets.get(name, -1.0) for of_sets in published.values()), default=np.nan)
            print(f"{name:28} {len(X):6,} rows  {ours[name]:.3f}  best published {best:.3f}", flush=True)
    if not ours:
        raise SystemExit(f"{arguments.data} has no data sets: give a copy of the suite with --data.")
    ranking = rank(ours, published)
    place = next(number for number, (method, _) in enumerate(ranking, start=1) if method == OURS)
    shown = [
        (number, *pair) for number, pair in enumerate(ranking, start=1) if number <= arguments.top or pair[0] == OURS
    ]
    print_markdown(
        ["place", "method", "mean ARI"], [[str(number), name, f"{mean:.3f}"] for number, name, mean in shown]
    )
    print(f"\n{OURS} is number {place} of {len(ranking)} over {len(ours)} data sets.")


if __name__ == "__main__":
    main()
