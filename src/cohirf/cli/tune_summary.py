"""Summaries of a search: a JSON document for programs and tables for people."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from cohirf.cli.grids import Grid
from cohirf.cli.search import Search
from cohirf.cli.summary import MOST_SIZES, agreement_rows, shown_sizes, sizes_of
from cohirf.planning.memory import format_bytes
from cohirf.tuning import Tuned

BEST_TRIALS = 5


def describe_tuned(found: Tuned) -> dict[str, Any]:
    """Return a summary of the trials that can be written as JSON."""
    table = found.table
    names = list(found.best_params)
    different = table.drop_duplicates(names)  # the first of each: the table has the best ones first
    errors = table["error"][table["error"] != ""]
    start = table.loc[table["trial"] == 0, "score"]
    return {
        "best_score": found.best_score,
        "first_score": None if start.empty else float(start.iloc[0]),
        "best_params": found.best_params,
        "trials": len(table),
        "different_trials": len(different),
        "failed_trials": len(errors),
        "most_frequent_error": None if errors.empty else errors.mode()[0],
        "best_trials": different[["trial", "score", *names, "seconds"]].head(BEST_TRIALS).to_dict("records"),
    }


def describe_labels(labels: NDArray[Any]) -> dict[str, Any]:
    """Return a summary of the clusters of the best trial that can be written as JSON."""
    n_clusters = int(labels.max()) + 1
    sizes = sizes_of(labels, n_clusters)
    return {
        "rows": len(labels),
        "clusters": n_clusters,
        "rows_in_no_cluster": len(labels) - sum(sizes),
        "sizes": sizes[:MOST_SIZES],
    }


def facts_grid(document: dict[str, Any], search: Search) -> Grid:
    """Return a table with the result of the search."""
    best = ", ".join(f"{search.called(name)} {_shown(value)}" for name, value in document["best_params"].items())
    trials = f"{document['trials']:,}"
    if document["different_trials"] < document["trials"]:
        trials += f", {document['different_trials']:,} of them different"
    rows = [(document["metric"], f"{document['best_score']:.4g}"), ("best", best), ("trials", trials)]
    if search.first and document["first_score"] is not None:
        rows.insert(1, ("without a search", f"{document['first_score']:.4g}"))
    if document["failed_trials"]:
        rows.append(("failed", f"{document['failed_trials']:,}, most often with {document['most_frequent_error']}"))
    rows += [
        ("clusters", f"{document['clusters']:,}"),
        ("sizes", shown_sizes(document["sizes"], document["clusters"])),
    ]
    if document["rows_in_no_cluster"]:
        rows.append(("in no cluster", f"{document['rows_in_no_cluster']:,} rows"))
    if document["metric"] != "ari":
        rows += agreement_rows(document)
    rows += [
        ("time", f"{document['seconds']:.1f} s"),
        ("peak memory", format_bytes(document["peak_bytes"])),
    ]
    return Grid(rows)


def trials_grid(document: dict[str, Any], search: Search) -> Grid:
    """Return a table of the best trials."""
    names = list(document["best_params"])
    rows = [
        (
            f"{trial['trial']:,}",
            f"{trial['score']:.4g}",
            *(_shown(trial[name]) for name in names),
            f"{trial['seconds']:.2f} s",
        )
        for trial in document["best_trials"]
    ]
    return Grid(rows, ("trial", document["metric"], *(search.called(name) for name in names), "time"))


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value).lower()
