"""Summaries of data, fits and labels: a JSON document for programs and tables for people."""

from __future__ import annotations

from itertools import islice
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.cli.console import TextGrid
from cohirf.app.cli.policy import OUTPUT
from cohirf.app.preparation import Classes, Preparation
from cohirf.app.preparation.decide import AS_ASKED
from cohirf.inspection import cluster_positions
from cohirf.planning import format_bytes
from cohirf.rows import count_with_noise
from cohirf.wording import percent


def agreement(labels: NDArray[Any], classes: Classes | None) -> dict[str, Any]:
    """Return the adjusted Rand index with known classes, over rows that have one.

    An empty dict without classes.
    """
    if classes is None:
        return {}
    known = classes.codes >= 0
    if known.any():
        index = float(adjusted_rand_score(classes.codes[known], np.asarray(labels)[known]))
    else:
        index = None
    return {"ari": index, "rows_with_class": int(known.sum())}


def summarize_model(model: CoHiRF) -> dict[str, Any]:
    """Return a summary of a fitted model that can be written as JSON."""
    labels = cluster_positions(model)
    counts = count_with_noise(labels, model.n_clusters_)[1:]
    largest = np.argsort(-counts, kind="stable")[: OUTPUT.sizes_in_document]
    return {
        "rows": len(labels),
        "features": int(model.n_features_in_),
        "n_levels": model.hierarchy_.n_levels,
        "clusters": int(model.n_clusters_),
        "choice": None if model.choice_ is None else model.choice_.describe(),
        "rows_in_no_cluster": len(labels) - int(counts.sum()),
        "numbers": model.cluster_numbers_[largest].tolist(),
        "sizes": counts[largest].tolist(),
        "exemplars": model.exemplar_indices_[largest].tolist(),
        "levels": [
            {
                "level": record.level,
                "rows_in": record.rows_in,
                "rows_out": record.rows_out,
                "batches": record.n_batches,
                "kind": record.kind,
                "views_kept": record.views_kept,
                "agreement": None if isnan(record.agreement) else record.agreement,
                "seconds": record.base_seconds + record.consensus_seconds + record.medoid_seconds,
            }
            for record in model.diagnostics_
        ],
    }


def model_grid(document: dict[str, Any]) -> TextGrid:
    """Return a table with facts on a model that are not about single clusters."""
    names = {"rows": "rows", "features": "features", "levels": "n_levels", "clusters": "clusters"}
    return TextGrid(
        [*((name, f"{document[key]:,}") for name, key in names.items()), *_noise_rows(document)]
    )


def _noise_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    n_rows = document["rows_in_no_cluster"]
    return [("in no cluster", f"{n_rows:,} rows")] if n_rows else []


def fact_grid(document: dict[str, Any]) -> TextGrid:
    """Return a table with facts on a fit that are not about single clusters."""
    rows = [
        ("levels", str(document["n_levels"])),
        *agreement_rows(document),
        ("time", f"{document['seconds']:.1f} s"),
    ]
    return TextGrid([*rows, ("peak memory", format_bytes(document["peak_bytes"]))])


def agreement_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the table row with the adjusted Rand index, if there are known classes."""
    if "ari" not in document:
        return []
    if document["ari"] is None:
        return [("ARI", "no row has a class")]
    if document["rows_with_class"] == document["rows"]:
        part = ""
    else:
        part = f" over {document['rows_with_class']:,} rows"
    return [("ARI", f"{document['ari']:.3f}{part}")]


def cluster_grid(document: dict[str, Any]) -> TextGrid:
    """Return a table of the largest clusters: size, share, central row and name."""
    largest = zip(
        document["numbers"],
        document["sizes"],
        document["exemplars"],
        document["names"],
        strict=True,
    )
    rows = [
        (str(number), f"{size:,}", percent(size / document["rows"]), str(exemplar), name)
        for number, size, exemplar, name in islice(largest, OUTPUT.clusters)
    ]
    more = document["clusters"] - len(rows)
    rows += [("...", "", "", "", f"{more:,} more")] if more > 0 else []
    return TextGrid(rows, ("cluster", "rows", "share", "central row", "name"), text=True)


def describe_sizes(labels: NDArray[Any]) -> dict[str, Any]:
    """Return the numbers of rows and of clusters that have some, and the sizes of the largest,
    which come first.
    """
    # numbers of clusters can be large
    counts = np.unique(labels[labels >= 0], return_counts=True)[1]
    sizes = np.sort(counts)[::-1].tolist()
    n_noise = len(labels) - sum(sizes)
    return {
        "rows": len(labels),
        "clusters": len(sizes),
        "rows_in_no_cluster": n_noise,
        "sizes": sizes[: OUTPUT.sizes_in_document],
    }


def size_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the table rows of :func:`describe_sizes`."""
    sizes = document["sizes"]
    n_clusters = document["clusters"]
    text = ", ".join(f"{size:,}" for size in sizes[: OUTPUT.sizes])
    if n_clusters <= OUTPUT.sizes:
        more = ""
    else:
        more = f" and {n_clusters - OUTPUT.sizes:,} more"
    rows = [
        ("rows", f"{document['rows']:,}"),
        ("clusters", f"{n_clusters:,}"),
        ("sizes", f"{text}{more}"),
    ]
    return rows + _noise_rows(document)


def describe_columns(preparation: Preparation) -> list[dict[str, Any]]:
    """Return what was done with each column in a form that JSON can hold."""
    return [
        {
            "name": column.name,
            "kind": note.kind,
            "features": [feature.name for feature in column.features],
            "missing": column.n_missing,
            "note": note.note,
        }
        for column, note in zip(preparation.columns, preparation.describe(), strict=True)
    ]


def column_grid(preparation: Preparation) -> TextGrid | None:
    """Return a table with a row for each column, or group of columns.

    None if all was decided by the user.
    """
    notes = preparation.describe()
    is_told = [
        column.reason in ("", AS_ASKED) or note.kind == "label"
        for column, note in zip(preparation.columns, notes, strict=True)
    ]
    if all(is_told) and not any(note.note for note in notes if note.n_features):
        return None
    groups: dict[Any, list[str]] = {}
    for number, note in enumerate(notes):
        name = " ".join(str(note.column).split())
        if len(name) <= OUTPUT.name:
            name = name
        else:
            name = f"{name[: OUTPUT.name - 3]}..."
        groups.setdefault(
            (note.kind, note.note, number if len(notes) <= OUTPUT.columns else 0), []
        ).append(name)
    more = {
        key: f" and {len(names) - OUTPUT.names:,} more"
        for key, names in groups.items()
        if len(names) > OUTPUT.names
    }
    return TextGrid(
        [
            (", ".join(names[: OUTPUT.names]) + more.get(key, ""), *key[:2])
            for key, names in groups.items()
        ]
    )
