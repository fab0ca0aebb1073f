"""cohirf report writes a report on a model as one HTML file; cohirf demo, one on handwritten digits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from cohirf.cli.console import Console, TextGrid
from cohirf.cli.new_rows import csv_format, open_model
from cohirf.cli.outputs import check_report
from cohirf.datasets import make_spheres
from cohirf.estimator import CoHiRF
from cohirf.report import write_report
from cohirf.store import load_origin

HEADINGS = ("data", "rows", "method", "levels", "clusters", "ARI", "time", "options")
ROWS = 100_000


def report(model: Path, data: Path, *, out: Path, label_column: str | None = None, force: bool = False) -> None:
    """Write a report on a model: one HTML file that needs no network.

    Parameters
    ----------
    out : file
        The file to write: .html.

    Examples
    --------
    cohirf report model.cohirf data.parquet --out report.html
    """
    check_report(out, "--out", force=force)
    fitted, preparation = open_model(model)
    console, origin = Console(), load_origin(model)
    kept = {str(column.name) for column in preparation.kept}
    wishes = {} if origin is None else origin.options.get("kinds", {})  # because of which the fit took cells as missing
    kinds = {name: kind for name, kind in wishes.items() if name in kept}
    with console.watching():
        prepared = preparation.apply(data, kinds=kinds, label_column=label_column, **csv_format(data, model))
        classes = prepared.classes()
        y = None if classes is None else classes.by_name()
        write_report(fitted, prepared, out, y=y, data_name=data.name, origin=origin)
    console.show({}, f"Written: {out} (report)")


@dataclass(frozen=True)
class Experiment:
    """Data with known classes, a base method, and the options of CoHiRF."""

    name: str
    X: Any
    y: Any
    base: Any
    options: dict[str, Any]


def demo(*, out: Path | None = None) -> None:
    """Cluster four data sets with CoHiRF and with the base method alone; write a report on the digits.

    Parameters
    ----------
    out : file, default=demo.html
        Write the report on the digits data to this file.

    Examples
    --------
    cohirf demo
    """
    console = Console()
    out = Path("demo.html") if out is None else out
    check_report(out, "--out", force=True)
    rows: list[dict[str, Any]] = []
    for experiment in experiments(ROWS):
        console.note(f"{experiment.name}: {len(experiment.X):,} rows")
        model = CoHiRF(experiment.base, random_state=0, **experiment.options)
        with console.watching():
            rows += [run(experiment, method) for method in (experiment.base, model)]
            if experiment.name == "digits":
                write_report(model, experiment.X, out, y=experiment.y, image_shape=(8, 8), title="Handwritten digits")
    table = TextGrid([_cells(row) for row in rows], HEADINGS)
    console.show({}, table, f"Written: {out} (report)")


def experiments(n_rows: int) -> Iterator[Experiment]:
    """Yield the experiments; synthetic data has ``n_rows`` rows."""
    X, y = load_iris(return_X_y=True)
    yield Experiment("iris", StandardScaler().fit_transform(X), y, KMeans(3, random_state=0), {})
    X, y = load_digits(return_X_y=True)
    yield Experiment("digits", X, y, KMeans(10, random_state=0), {})
    X, y = make_blobs(n_rows, 50, centers=10, random_state=0)
    yield Experiment("blobs", X, y, KMeans(10, random_state=0), {"max_features": 0.3})
    X, y = make_spheres(n_rows, random_state=0)
    yield Experiment("spheres", X, y, DBSCAN(eps=0.12, min_samples=5), {"batch_size": n_rows // 10})


def run(experiment: Experiment, method: Any) -> dict[str, Any]:
    """Fit a method and return a row of the result table."""
    started = time.perf_counter()
    labels = method.fit(experiment.X).labels_
    seconds = time.perf_counter() - started
    is_ours = isinstance(method, CoHiRF)
    options = ", ".join(f"{name}={value}" for name, value in experiment.options.items()) or "defaults"
    return {
        "data": experiment.name,
        "rows": len(labels),
        "method": type(method).__name__,
        "levels": method.hierarchy_.n_levels if is_ours else None,
        "clusters": len(set(labels.tolist()) - {-1}),
        "ari": float(adjusted_rand_score(experiment.y, labels)),
        "seconds": seconds,
        "options": options if is_ours else "base method alone",
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    levels = "-" if row["levels"] is None else str(row["levels"])
    figures = (f"{row['clusters']:,}", f"{row['ari']:.3f}", f"{row['seconds']:.2f} s")
    return (row["data"], f"{row['rows']:,}", row["method"], levels, *figures, row["options"])
