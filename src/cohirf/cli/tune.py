"""cohirf tune: search for good parameters on a file."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from cohirf import tuning
from cohirf.cli.columns import column_lines
from cohirf.cli.console import Console
from cohirf.cli.data_options import DataOptions
from cohirf.cli.errors import BadInputError, Interrupted
from cohirf.cli.estimator_options import FLAGS, EstimatorOptions
from cohirf.cli.estimators import say_chosen
from cohirf.cli.formulas import escape_formula, is_formula, say_formulas
from cohirf.cli.invocation import command_line
from cohirf.cli.options import Screen, TargetOptions
from cohirf.cli.origin import find_origin
from cohirf.cli.search import Search, read_search
from cohirf.cli.search_options import METRICS, SPACES, SearchOptions
from cohirf.cli.summary import agreement
from cohirf.cli.targets import Targets, say_written
from cohirf.cli.tune_summary import describe_labels, describe_tuned, facts_grid, trials_grid
from cohirf.cli.values import read_count, read_number, refuse_unknown
from cohirf.cli.writing import check_file, check_parent, refuse_data
from cohirf.durable.temporary import replacing
from cohirf.estimator import CoHiRF
from cohirf.planning.memory import (
    format_bytes,
    peak_bytes,
    read_memory_limit,
    resident_bytes,
    resolve_memory_limit,
)
from cohirf.preparation import Classes, Prepared
from cohirf.preparation.preparation import IN_MEMORY_BYTES
from cohirf.saving import Origin
from cohirf.sources.files import shown
from cohirf.tuning.metrics import SILHOUETTE_ROWS, Metric
from cohirf.validation import set_columns

TRIAL_TABLES = (".csv", ".parquet")
DISTANCE_BYTES = 12  # per pair of rows: computed as float64, kept as float32
NOTHING = {
    False: "give --out labels.csv to keep the clusters, --model model/ to predict and cut later, --table trials.csv to "
    "keep the trials.",
    True: "give --out labels.csv to keep the clusters, --table trials.csv to keep the trials.",
}


def tune(
    data: Path,
    options: SearchOptions,
    about: DataOptions,
    method: EstimatorOptions,
    target_options: TargetOptions,
    table: Path | None,
    screen: Screen,
) -> None:
    """Search for the parameters that cluster the rows of a file best."""
    console = Console.on(screen)
    metric, alone = options.metric, options.alone
    refuse_unknown("--metric", metric, METRICS)
    refuse_unknown("--space", options.space, SPACES)
    limits = {
        "n_trials": read_count("--trials", options.trials),
        "timeout": None if options.timeout == "none" else read_number("--timeout", options.timeout),
        "n_jobs": _read_jobs(options.jobs),
        "storage": options.storage,
        "study_name": options.study,
    }
    if metric == "ari" and about.label_column is None:
        raise BadInputError("--metric ari compares with known classes: name their column with --label-column.")
    search = read_search(method, space=options.space, alone=alone)
    targets = Targets.of(target_options, None, console)
    _check_targets(targets, data, about, table, options.storage, search)
    scaling = about.scaling(method.estimator)
    with console.watching():
        prepared = about.prepare(data, scaling)
    settled = search.settle(prepared.source.n_rows)
    chosen = {} if method.estimator is not None or search.base is None else {"--estimator": search.method}
    chosen |= {} if about.scale != "auto" else {"--scale": scaling}
    chosen |= {FLAGS[name]: value for name, value in settled.items() if name not in search.parameters}
    _refuse_too_large(prepared, metric, search)
    classes = prepared.classes()
    started = time.perf_counter()
    X = prepared.array()
    search = search.fit_to(X)
    _note(console, prepared, search, chosen)
    found = _tune(search, settled, X, classes, metric, limits, console)
    best = found.best_estimator
    labels = np.asarray(best.labels_ if hasattr(best, "labels_") else best.predict(X))
    document = {"command": "tune", "data": str(data), "metric": metric, **describe_tuned(found)}
    document |= {"features": prepared.source.n_features, **describe_labels(labels), **agreement(labels, classes)}
    document |= {"seconds": time.perf_counter() - started, "peak_bytes": peak_bytes()}
    command = None if alone else _fit_command(data, about, scaling, search, settled, found.best_params)
    document |= {"fit": command, "warnings": console.warned}
    document["written"] = _write(targets, table, found, labels, prepared, find_origin(data, about, scaling))
    console.show(
        document,
        facts_grid(document, search),
        *_say_how_to_fit(command, search, best, prepared, settled),
        trials_grid(document, search),
        say_written(document["written"], NOTHING[alone]),
    )


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
        raise Interrupted(_say_stopped(limits["storage"])) from None


def _ari_of_known(y: Any) -> Metric:
    """Return the adjusted Rand index over the rows that have a class."""
    if not (y >= 0).any():
        raise BadInputError("--metric ari compares with known classes, and no row has one: give another --metric.")

    def score(_: Any, labels: Any, y: Any) -> float:
        return float(adjusted_rand_score(y[y >= 0], np.asarray(labels)[y >= 0]))

    return Metric(score, worst=-1.0, needs_classes=True)


def _note(console: Console, data: Prepared, search: Search, chosen: dict[str, Any]) -> None:
    """Print what is searched, and the defaults that were chosen."""
    console.note(data.describe())
    console.note_lines(column_lines(data.preparation))
    if chosen:
        console.note(say_chosen(chosen))
    console.note(search.describe())
    if search.given:
        console.note(f"not searched, because it is given: {' '.join(search.given)}")


def _refuse_too_large(data: Prepared, metric: str, search: Search) -> None:
    """Refuse data that does not fit into memory: scores need all rows in memory."""
    n_scored = min(data.source.n_rows, SILHOUETTE_ROWS) if metric == "silhouette" else 0
    needed = data.n_bytes + DISTANCE_BYTES * n_scored**2
    room = resolve_memory_limit(read_memory_limit(search.parameters.get("batch_size"))) - resident_bytes()
    if needed > room:
        raise BadInputError(
            f"{data.data.name}: a search holds all rows in memory, which takes {format_bytes(needed)}, and this "
            f"process may take another {format_bytes(max(0, room))}: tune on a file with a sample of the rows, and "
            f"fit this one with what it finds{'' if search.alone else '; or allow more with --batch-size, as 8GB'}."
        )


def _check_targets(
    targets: Targets, data: Path, about: DataOptions, table: Path | None, storage: Path | None, search: Search
) -> None:
    """Refuse files that cannot be written, before the work begins."""
    if search.alone and targets.model is not None:
        raise BadInputError(
            f"--model saves models of CoHiRF, but --alone tunes {search.method} without CoHiRF: leave one of them out, "
            f"or keep the clusters with --out."
        )
    targets.check(data, about.id_column)
    check_file(table, "--table", TRIAL_TABLES, force=targets.force, data=data)
    _refuse_twice({"--out": targets.labels, "--table": table, "--storage": storage})
    if storage is not None:
        refuse_data(storage, "--storage", data)
        if storage.is_dir():
            raise BadInputError(f"--storage {shown(storage.absolute())} is a folder: give the name of a file.")
        check_parent(storage, "--storage")


def _refuse_twice(files: dict[str, Path | None]) -> None:
    """Refuse a file that two options name: one would replace the other."""
    named: dict[Path, str] = {}
    for flag, path in files.items():
        if path is not None and (first := named.setdefault(path.resolve(), flag)) != flag:
            raise BadInputError(f"{flag} {shown(path.absolute())} is also {first}: give another name.")


def _fit_command(
    data: Path, about: DataOptions, scaling: str, search: Search, settled: dict[str, Any], found: dict[str, Any]
) -> str:
    """Return the command that fits with the parameters that were found."""
    words = [*about.to_arguments(scaling), *search.to_arguments(settled, found)]
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


def _write(
    targets: Targets, table: Path | None, found: tuning.Tuned, labels: Any, data: Prepared, origin: Origin
) -> dict[str, str]:
    """Write the files, each atomically, and return their paths."""
    model = found.best_estimator
    if isinstance(model, CoHiRF):
        set_columns(model, data.source.n_features, data.source.feature_names)
        written = targets.write(model, data, None, origin)
    else:
        written = targets.write_labels(labels, data)
    if table is not None:
        _write_trials(found.table, table, targets)
        written["trials"] = str(table)
    return written


def _write_trials(trials: Any, path: Path, targets: Targets) -> None:
    """Write the table of all trials."""
    with replacing(path) as file:
        if path.suffix.lower() != ".csv":
            trials.to_parquet(file, index=False)
            return
        if targets.escape_formulas:
            trials = trials.map(escape_formula)
        trials.to_csv(file, index=False, lineterminator="\n")  # else it depends on the system
    if n_formulas := int(trials.map(is_formula).to_numpy().sum()):
        targets.console.warn(say_formulas(path, n_formulas))


def _read_jobs(text: str) -> int:
    try:
        jobs = int(text)
    except ValueError:
        jobs = 0
    if jobs != -1 and jobs < 1:
        raise BadInputError(f"--jobs {text!r} is not valid: give 1 or more, or -1 for all cores.")
    return jobs


def _say_stopped(storage: Path | None) -> str:
    if storage is None:
        return (
            "Stopped. The trials so far are lost: with --storage trials.db they are kept, and the same command goes on."
        )
    return (
        f"Stopped. {shown(storage.absolute())} keeps the trials that are done. To go on, run the same command: "
        f"{command_line()}"
    )
