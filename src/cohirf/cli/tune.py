"""cohirf tune: search for good parameters on a file."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from cohirf import tuning
from cohirf.cli import command_line
from cohirf.cli.console import Console, TextGrid
from cohirf.cli.errors import BadInputError, Interrupted, read_count, read_number
from cohirf.cli.fit import note_data
from cohirf.cli.options import DataOptions, MethodOptions, ScreenOptions
from cohirf.cli.outputs import check_file, check_parent, refuse_data, say_written
from cohirf.cli.parameters import FLAGS, SEARCH_DEFAULTS, SearchedParameters, SearchParameters
from cohirf.cli.search import Search, read_search
from cohirf.cli.summary import MOST_SIZES, agreement, agreement_rows, shown_sizes, sizes_of
from cohirf.planning.memory import (
    format_bytes,
    peak_bytes,
    read_memory_limit,
    resident_bytes,
    resolve_memory_limit,
)
from cohirf.preparation import Classes, Prepared, prepare
from cohirf.preparation.preparation import IN_MEMORY_BYTES
from cohirf.sources.files import shown
from cohirf.store.files import replacing
from cohirf.tuning.metrics import SILHOUETTE_ROWS, Metric

TRIAL_TABLES = (".csv", ".parquet")
BEST_TRIALS = 5
DISTANCE_BYTES = 12  # per pair of rows: computed as float64, kept as float32


def tune(
    data: Path,
    search: SearchParameters,
    method: MethodOptions,
    given: SearchedParameters,
    about: DataOptions,
    screen: ScreenOptions,
    *,
    space: str = "recommended",
    alone: bool = False,
    table: Path | None = None,
    force: bool = False,
) -> None:
    """Search for the parameters that cluster the rows of a file best.

    Parameters
    ----------
    space : {"recommended", "paper", "wide"}, default=recommended
        The search space: recommended has the ranges that we recommend, paper those of the paper, and wide adds the
        consensus. Parameters that are given as options are not searched.
    alone : bool
        Tune the base method without CoHiRF.
    table : file
        Write all trials to this .csv or .parquet file.

    Examples
    --------
    cohirf tune data.csv
    cohirf tune iris.csv --label-column species --metric ari --space wide --storage trials.db
    cohirf tune data.parquet --estimator dbscan --param min_samples=5 --views 1 --trials 100 --table trials.csv
    """
    console = Console.on(screen)
    metric, limits = _read_limits(search, about)
    sought = read_search(method, given, space=space, alone=alone)
    _check_targets(data, table, limits["storage"], force=force)
    scaling = about.scaling(method.estimator)
    with console.watching():
        prepared = prepare(data, **about.arguments(scaling))
    settled = sought.settle(prepared.source.n_rows, prepared.n_bytes)
    chosen = {} if method.estimator is not None or sought.base is None else {"--estimator": sought.method}
    chosen |= {} if about.scale != "auto" else {"--scale": scaling}
    chosen |= {FLAGS[name]: value for name, value in settled.items() if name not in sought.parameters}
    _refuse_too_large(prepared, metric, sought)
    classes = prepared.classes()
    started = time.perf_counter()
    X = prepared.array()
    sought = sought.fit_to(X)
    note_data(console, prepared, chosen)
    console.note(sought.describe())
    if sought.given:
        console.note(f"not searched, because it is given: {' '.join(sought.given)}")
    found = _tune(sought, settled, X, classes, metric, limits, console)
    best = found.best_estimator
    labels = np.asarray(best.labels_ if hasattr(best, "labels_") else best.predict(X))
    document = {"command": "tune", "data": str(data), "metric": metric, **_describe_tuned(found)}
    document |= {"features": prepared.source.n_features, **_describe_labels(labels), **agreement(labels, classes)}
    document |= {"seconds": time.perf_counter() - started, "peak_bytes": peak_bytes()}
    command = None if alone else _fit_command(data, about.to_arguments(scaling), sought, settled, found.best_params)
    document |= {"fit": command, "warnings": console.warned, "written": {}}
    if table is not None:
        _write_trials(found.table, table)
        document["written"] = {"trials": str(table)}
    console.show(
        document,
        _facts_grid(document, sought),
        *_say_how_to_fit(command, sought, best, prepared, settled),
        _trials_grid(document, sought),
        say_written(document["written"], "give --table trials.csv to keep the trials."),
    )


def _read_limits(search: Mapping[str, str], about: DataOptions) -> tuple[str, dict[str, Any]]:
    """Return the metric, and how many trials run, for how long and where they are stored."""
    metric, timeout = search.get("metric", "silhouette"), search.get("timeout", SEARCH_DEFAULTS["timeout"])
    limits = {
        "n_trials": read_count("--trials", search.get("n_trials", "60")),
        "timeout": None if timeout == "none" else read_number("--timeout", timeout),
        "n_jobs": _read_jobs(search.get("n_jobs", SEARCH_DEFAULTS["n_jobs"])),
        "storage": Path(search["storage"]) if "storage" in search else None,
    }
    if metric == "ari" and about.label_column is None:
        raise BadInputError("--metric ari compares with known classes: name their column with --label-column.")
    return metric, limits


def _check_targets(data: Path, table: Path | None, storage: Path | None, *, force: bool) -> None:
    """Refuse files that cannot be written, before the work begins."""
    check_file(table, "--table", TRIAL_TABLES, force=force, data=data)
    if storage is None:
        return
    name = shown(storage.absolute())
    refuse_data(storage, "--storage", data)
    if storage.is_dir():
        raise BadInputError(f"--storage {name} is a folder: give the name of a file.")
    if table is not None and table.resolve() == storage.resolve():
        raise BadInputError(f"--storage {name} is also --table: give another name.")
    check_parent(storage, "--storage")


def _tune(
    search: Search,
    settled: dict[str, Any],
    X: Any,
    classes: Classes | None,
    metric: str,
    limits: dict[str, Any],
    console: Console,
) -> tuning.Tuned:
    """Run the trials; if the user stops them, say what was kept."""
    y = classes.codes if metric == "ari" and classes is not None else None
    try:
        with console.watching():
            return tuning.tune(
                search.to_estimator(settled),
                X,
                y,
                metric=metric if y is None or (y >= 0).all() else _ari_of_known(y),
                search_space=search.space,
                first=search.first,
                seeds=(settled["random_state"],),
                random_state=settled["random_state"],
                verbose=0 if console.quiet else 1,
                **limits,
            )
    except KeyboardInterrupt:
        raise Interrupted(_say_search_stopped(limits["storage"])) from None


def _ari_of_known(y: Any) -> Metric:
    """Return the adjusted Rand index over the rows that have a class."""
    if not (y >= 0).any():
        raise BadInputError("--metric ari compares with known classes, and no row has one: give another --metric.")

    def score(_: Any, labels: Any, y: Any) -> float:
        return float(adjusted_rand_score(y[y >= 0], np.asarray(labels)[y >= 0]))

    return Metric(score, worst=-1.0, needs_classes=True)


def _refuse_too_large(data: Prepared, metric: str, search: Search) -> None:
    """Refuse data that does not fit into memory: scores need all rows in memory."""
    n_scored = min(data.source.n_rows, SILHOUETTE_ROWS) if metric == "silhouette" else 0
    needed = data.n_bytes + DISTANCE_BYTES * n_scored**2
    room = resolve_memory_limit(read_memory_limit(search.parameters.get("batch_size"))) - resident_bytes()
    if needed > room:
        raise BadInputError(
            f"{data.data.name}: a search holds all rows in memory, which takes {format_bytes(needed)}, and this "
            f"process may take another {format_bytes(max(0, room))}: tune on a file with a sample of the rows, and "
            f"fit this one with what it finds."
        )


def _fit_command(data: Path, about: list[str], search: Search, settled: dict[str, Any], found: dict[str, Any]) -> str:
    """Return the command that fits with the parameters that were found."""
    words = [*about, *search.to_arguments(settled, found)]
    path = str(data)
    return shlex.join(
        ["cohirf", "fit", *words, "--", path] if path.startswith("-") else ["cohirf", "fit", path, *words]
    )


def _say_how_to_fit(
    command: str | None, search: Search, best: Any, data: Prepared, settled: dict[str, Any]
) -> list[str]:
    """Return lines that say how to fit with the parameters that were found."""
    if command is None:
        return [f"In Python, {search.method} alone with these parameters:", repr(best), ""]
    lines = ["To fit with these parameters:", command]
    if not data.is_small:
        lines.append(
            f"It reads data above {IN_MEMORY_BYTES // 2**20} MiB batch by batch, in order: its clusters can be others "
            f"than those of the search."
        )
    elif isinstance(settled.get("batch_size"), str):
        lines.append("It measures the batch size anew, on which clusters depend: give --batch-size a number to fix it.")
    return [*lines, ""]


def _write_trials(trials: Any, path: Path) -> None:
    """Write the table of all trials; errors of trials, its only text, begin with the name of an exception."""
    with replacing(path) as file:
        if path.suffix.lower() == ".csv":
            trials.to_csv(file, index=False, lineterminator="\n")  # else it depends on the system
        else:
            trials.to_parquet(file, index=False)


def _read_jobs(text: str) -> int:
    try:
        jobs = int(text)
    except ValueError:
        jobs = 0
    if jobs != -1 and jobs < 1:
        raise BadInputError(f"--jobs {text!r} is not valid: give 1 or more, or -1 for all cores.")
    return jobs


def _say_search_stopped(storage: Path | None) -> str:
    if storage is None:
        return (
            "Stopped. The trials so far are lost: with --storage trials.db they are kept, and the same command goes on."
        )
    return (
        f"Stopped. {shown(storage.absolute())} keeps the trials that are done. To go on, run the same command: "
        f"{command_line()}"
    )


def _describe_tuned(found: tuning.Tuned) -> dict[str, Any]:
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


def _describe_labels(labels: NDArray[Any]) -> dict[str, Any]:
    """Return a summary of the clusters of the best trial that can be written as JSON."""
    n_clusters = int(labels.max()) + 1
    sizes = sizes_of(labels, n_clusters)
    return {
        "rows": len(labels),
        "clusters": n_clusters,
        "rows_in_no_cluster": len(labels) - sum(sizes),
        "sizes": sizes[:MOST_SIZES],
    }


def _facts_grid(document: dict[str, Any], search: Search) -> TextGrid:
    """Return a table with the result of the search."""
    best = ", ".join(f"{search.called(name)} {_shown_value(value)}" for name, value in document["best_params"].items())
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
    return TextGrid(rows)


def _trials_grid(document: dict[str, Any], search: Search) -> TextGrid:
    """Return a table of the best trials."""
    names = list(document["best_params"])
    rows = [
        (
            f"{trial['trial']:,}",
            f"{trial['score']:.4g}",
            *(_shown_value(trial[name]) for name in names),
            f"{trial['seconds']:.2f} s",
        )
        for trial in document["best_trials"]
    ]
    return TextGrid(rows, ("trial", document["metric"], *(search.called(name) for name in names), "time"))


def _shown_value(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value).lower()
