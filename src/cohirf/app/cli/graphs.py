"""cohirf fit --graph: cluster the nodes of a graph in a file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cohirf import CoHiRF, open_source
from cohirf.app.cli.console import Console, TextGrid
from cohirf.app.cli.errors import BadInputError, command_line
from cohirf.app.cli.fit import check_files, read_base_method
from cohirf.app.cli.options import (
    DataOptions,
    FitRequest,
    Targets,
    read_parameters,
)
from cohirf.app.cli.outputs import holding, save_labels, say_written
from cohirf.app.cli.policy import DEFAULT, OUTPUT
from cohirf.app.cli.summary import fact_grid, summarize_model
from cohirf.planning import peak_bytes, reset_peak
from cohirf.sources import GraphSource, locate
from cohirf.store import Origin, load_about
from cohirf.wording import percent

# how a table of edges is written: options of open_source
WRITTEN = ("delimiter", "header", "sheet")


def is_of_graph(model: CoHiRF) -> bool:
    """Return whether a model was fitted on a graph."""
    return model.metric in ("precomputed", "affinity")


def open_graph_file(data: Path, *, similar: bool, **written: Any) -> GraphSource:
    """Open a graph; of AnnData, the distances or the connectivities.

    ``written`` says how a table of edges is written: delimiter, header, sheet.
    """
    return open_source(data, graph="connectivities" if similar else "distances", **written)


def open_new_nodes(data: Path, model: Path, *, similar: bool) -> GraphSource:
    """Open edges of new nodes, written as those of the fit; of another format, as usual."""
    origin = load_about(model).origin
    written = {}
    if origin is not None and Path(origin.data).suffix.lower() == data.suffix.lower():
        written = {name: origin.options.get(name) for name in WRITTEN}
    return open_graph_file(data, similar=similar, **written)


def fit_graph_file(request: FitRequest, *, similar: bool, refused: dict[str, Any]) -> None:
    """Cluster the nodes of a graph: cohirf fit --graph.

    ``refused`` are the options that only tables have, by their flags.
    """
    data = request.data
    method = request.method
    targets = request.targets
    eps = request.eps
    console = Console.on(request.screen)
    flags = [flag for flag, value in refused.items() if value]
    about = request.about
    written = {name: getattr(about, name) for name in WRITTEN}
    if about != DataOptions(**written):
        flags.append("options for columns")
    if flags:
        raise BadInputError(
            f"{flags[0]} does not work with --graph: a graph has edges, and no columns that "
            "describe its nodes. Leave it out."
        )
    named = method.estimator or (None if eps is None else "dbscan")
    radius = [] if eps is None else [f"eps={eps}"]
    base = read_base_method(named, [*(method.param or []), *radius])
    parameters = {"random_state": DEFAULT.seed, **read_parameters(request.given)}
    check_files(targets, data, None, None)
    source = open_graph_file(data, similar=similar, **written)
    names = source.read_names()
    reset_peak()
    started = time.perf_counter()
    model = CoHiRF(base, metric="affinity" if similar else "precomputed", **parameters)
    with console.watching():
        model.fit(source)
    seconds = time.perf_counter() - started
    document = {"command": "fit", "data": str(data), **summarize_model(model)}
    document |= {"seconds": seconds, "peak_bytes": peak_bytes(), "warnings": console.warned}
    document["written"] = _write_files(targets, model, names, data, written, console)
    nothing = (
        "give --out labels.csv to keep the clusters, --model model.cohirf to predict and cut later."
    )
    grids = [node_grid(document, names)] if document["clusters"] else []
    console.show(document, *grids, fact_grid(document), say_written(document["written"], nothing))


def node_grid(document: dict[str, Any], names: Sequence[str] | None) -> TextGrid:
    """Return a table of the largest clusters: size, share and central node."""
    largest = zip(document["numbers"], document["sizes"], document["exemplars"], strict=True)
    rows = [
        (
            str(number),
            f"{size:,}",
            percent(size / document["rows"]),
            str(node) if names is None else names[node],
        )
        for number, size, node in islice(largest, OUTPUT.clusters)
    ]
    more = document["clusters"] - len(rows)
    rows += [("...", "", "", f"{more:,} more")] if more > 0 else []
    return TextGrid(rows, ("cluster", "nodes", "share", "central node"), text=True)


def _write_files(
    targets: Targets,
    model: CoHiRF,
    names: Sequence[str] | None,
    data: Path,
    written: dict[str, Any],
    console: Console,
) -> dict[str, str]:
    """Write the files, each atomically, and return their paths."""
    if targets.out is not None:
        save_labels(targets.out, np.asarray(model.labels_), console, names=names)
    if targets.model is not None:
        options = {"graph": True, **written}
        origin = Origin(str(locate(data)), options, command_line())
        with holding(targets.model, console):
            model.save(targets.model, overwrite=targets.force, origin=origin)
    paths = {"labels": targets.out, "model": targets.model}
    return {name: str(path) for name, path in paths.items() if path is not None}
