"""cohirf report writes a report on a model as one HTML file; cohirf demo, one on handwritten digits."""

from __future__ import annotations

import time
from collections.abc import Iterator
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


def report(model: Path, data: Path, *, out: Path, force: bool = False) -> None:
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
    with console.reading(data):
        prepared = preparation.apply(data, kinds=kinds, **csv_format(data, model))
        classes = prepared.classes()
        y = None if classes is None else classes.by_name()
        write_report(fitted, prepared, out, y=y, data_name=data.name, origin=origin)
    console.show({}, f"Written: {out} (report)")


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
    rows = []
    for name, X, y, base, options in experiments(ROWS):
        console.note(f"{name}: {len(X):,} rows")
        model = CoHiRF(base, random_state=0, **options)
        with console.watching():
            rows += [run(name, X, y, base, "base method alone"), run(name, X, y, model, _say_options(options))]
            if name == "digits":
                write_report(model, X, out, y=y, image_shape=(8, 8), title="Handwritten digits")
    console.show({}, TextGrid(rows, HEADINGS), f"Written: {out} (report)")


def experiments(n_rows: int) -> Iterator[tuple[str, Any, Any, Any, dict[str, Any]]]:
    """Yield names, rows, known classes, base methods and options of CoHiRF; synthetic data has ``n_rows`` rows."""
    X, y = load_iris(return_X_y=True)
    yield "iris", StandardScaler().fit_transform(X), y, KMeans(3, random_state=0), {}
    X, y = load_digits(return_X_y=True)
    yield "digits", X, y, KMeans(10, random_state=0), {}
    X, y = make_blobs(n_rows, 50, centers=10, random_state=0)
    yield "blobs", X, y, KMeans(10, random_state=0), {"max_features": 0.3}
    X, y = make_spheres(n_rows, random_state=0)
    yield "spheres", X, y, DBSCAN(eps=0.12, min_samples=5), {"batch_size": n_rows // 10}


def run(name: str, X: Any, y: Any, method: Any, options: str) -> tuple[str, ...]:
    """Fit a method and return a row of the result table."""
    started = time.perf_counter()
    labels = method.fit(X).labels_
    seconds = time.perf_counter() - started
    levels = str(method.hierarchy_.n_levels) if isinstance(method, CoHiRF) else "-"
    clusters, index = len(set(labels.tolist()) - {-1}), adjusted_rand_score(y, labels)
    figures = (f"{clusters:,}", f"{index:.3f}", f"{seconds:.2f} s")
    return name, f"{len(labels):,}", type(method).__name__, levels, *figures, options


def _say_options(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "defaults"
