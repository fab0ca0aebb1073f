"""cohirf tune: search for good parameters on a file."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from cohirf import tuning
from cohirf.app.cli import command_line
from cohirf.app.cli.console import Console, TextGrid
from cohirf.app.cli.errors import BadInputError, Interrupted, read_count, read_number
from cohirf.app.cli.fit import note_data, read_assignments, read_base_method
from cohirf.app.cli.options import (
    BASE_METHOD,
    FLAGS,
    SEARCH_DEFAULTS,
    DataOptions,
    MethodOptions,
    ScreenOptions,
    SearchedParameters,
    SearchParameters,
    read_parameters,
    settle_parameters,
    to_arguments,
    to_text,
)
from cohirf.app.cli.outputs import check_file
from cohirf.app.cli.summary import agreement, agreement_rows, describe_sizes, size_rows
from cohirf.app.preparation import Prepared, prepare
from cohirf.app.preparation.preparation import IN_MEMORY_BYTES
from cohirf.clusterers.names import NAMES
from cohirf.estimator import CoHiRF
from cohirf.planning.memory import (
    format_bytes,
    peak_bytes,
    read_memory_limit,
    resident_bytes,
    resolve_memory_limit,
)
from cohirf.store.files import shown
from cohirf.tuning.search_space import INNER, NUMBER_NAMES, RANGES, SILHOUETTE_ROWS, Metric

BEST_TRIALS = 5
DISTANCE_BYTES = 12  # per pair of rows: computed as float64, kept as float32


def tune(
    data: Path,
    search: SearchParameters,
    method: MethodOptions,
    given: SearchedParameters,
    about: DataOptions,
    screen: ScreenOptions,
) -> None:
    """Search for the parameters that cluster the rows of a file best.

    Those that are given are not searched.

    Examples
    --------
    cohirf tune data.csv
    cohirf tune iris.csv --label-column species --metric ari --storage trials.db
    cohirf tune data.parquet --estimator dbscan --param min_samples=5 --views 1 --trials 100
    """
    console = Console.on(screen)
    metric = search.get("metric", "silhouette")
    timeout = search.get("timeout", SEARCH_DEFAULTS["timeout"])
    storage = search.get("storage")
    n_trials = read_count("--trials", search.get("n_trials", "60"))
    seconds = None if timeout == "none" else read_number("--timeout", timeout)
    if metric == "ari" and about.label_column is None:
        raise BadInputError(
            "--metric ari compares with known classes: name their column with --label-column."
        )
    base = read_base_method(method.estimator, method.param)
    parameters = read_parameters(given)
    names = _choose_searched(method, base, parameters)
    if storage is not None:
        # a file that exists is continued
        check_file(Path(storage), "--storage", (), force=True, data=data)
    scaling = about.scaling(method.estimator)
    with console.reading(data):
        prepared = prepare(data, **about.arguments(scaling))
    settled = settle_parameters(parameters, prepared.source.n_rows, prepared.n_bytes, base)
    if method.estimator is not None or base is None:
        chosen = {}
    else:
        chosen = {"--estimator": BASE_METHOD}
    chosen |= {} if about.scale != "auto" else {"--scale": scaling}
    chosen |= {FLAGS[name]: value for name, value in settled.items() if name not in parameters}
    _refuse_too_large(prepared, metric, parameters.get("batch_size"))
    classes = prepared.classes()
    started = time.perf_counter()
    X = prepared.array()
    seed = settled["random_state"]
    ranges = tuning.recommended_space(CoHiRF(base), X)  # those of a radius depend on the data
    space = {name: ranges[name] for name in names}
    note_data(console, prepared, chosen)
    searched = [f"{_called(name)} {_range_in_words(ranges[name])}" for name in names]
    console.note(f"searched: {', '.join(searched)}")
    y, score = (
        (classes.codes, ARI_OF_KNOWN) if metric == "ari" and classes is not None else (None, metric)
    )
    if y is not None and not (y >= 0).any():
        raise BadInputError(
            "--metric ari compares with known classes, and no row has one: give another --metric."
        )
    options: dict[str, Any] = {
        "n_trials": n_trials,
        "timeout": seconds,
        "storage": storage,
        "seeds": (seed,),
    }
    options |= {
        "first": tuning.first_trials(CoHiRF(base), X, space, seed),
        "verbose": 0 if console.quiet else 1,
    }
    try:
        with console.watching():
            model = CoHiRF(base, **settled)
            found = tuning.tune(
                model, X, y, metric=score, search_space=space, random_state=seed, **options
            )
    except KeyboardInterrupt:
        said = (
            "The trials so far are lost: with --storage trials.db they are kept, and the same "
            "command goes on."
        )
        if storage is not None:
            kept = f"{shown(Path(storage).absolute())} keeps the trials that are done."
            said = f"{kept} To go on, run the same command: {command_line()}"
        raise Interrupted(f"Stopped. {said}") from None
    document = {"command": "tune", "data": str(data), "metric": metric, **_describe_tuned(found)}
    labels = np.asarray(found.best_estimator.labels_)
    document |= {
        "features": prepared.source.n_features,
        **describe_sizes(labels),
        **agreement(labels, classes),
    }
    document |= {"seconds": time.perf_counter() - started, "peak_bytes": peak_bytes()}
    if isinstance(settled.get("batch_size"), str):
        # another measurement could give other clusters
        settled["batch_size"] = found.best_estimator.batch_size_
    words = [*about.to_arguments(scaling), *_method_arguments(method, settled, found.best_params)]
    path = str(data)
    if path.startswith("-"):
        command = ["cohirf", "fit", *words, "--", path]
    else:
        command = ["cohirf", "fit", path, *words]
    document |= {"fit": shlex.join(command), "warnings": console.warned}
    lines = ["To fit with these parameters:", document["fit"]]
    if not prepared.is_small:
        where = f"data above {IN_MEMORY_BYTES // 2**20} MiB batch by batch, in order"
        lines.append(f"It reads {where}: its clusters can be others than those of the search.")
    console.show(document, _facts_grid(document), *lines, "", _trials_grid(document))


def _refuse_too_large(data: Prepared, metric: str, batch_size: Any) -> None:
    """Refuse data that does not fit into memory: scores need all rows in memory."""
    if metric == "silhouette":
        n_scored = min(data.source.n_rows, SILHOUETTE_ROWS)
    else:
        n_scored = 0
    needed = data.n_bytes + DISTANCE_BYTES * n_scored**2
    room = resolve_memory_limit(read_memory_limit(batch_size)) - resident_bytes()
    if needed > room:
        raise BadInputError(
            f"{data.data.name}: a search holds all rows in memory, which takes "
            f"{format_bytes(needed)}, and this process may take another "
            f"{format_bytes(max(0, room))}: tune on a file with a sample of the rows, and fit this "
            "one with what it finds."
        )


ARI_OF_KNOWN = Metric(  # over the rows that have a class
    lambda _, labels, y: adjusted_rand_score(y[y >= 0], labels[y >= 0]),
    worst=-1.0,
    needs_classes=True,
)


def _choose_searched(method: MethodOptions, base: Any, parameters: dict[str, Any]) -> list[str]:
    """Return the parameters that are searched: those that are not given."""
    if "random_state" in parameters and parameters["random_state"] is None:
        raise BadInputError(
            "--seed 'none' is not valid: give a number; all trials have the same seed."
        )
    known = [name for name, (_, cls) in NAMES.items() if cls in RANGES]
    if method.estimator not in (None, *known):
        raise BadInputError(
            f"--estimator {method.estimator} has no search space: give one of {', '.join(known)}; "
            "or tune it in Python, where cohirf.tuning.tune takes a search_space."
        )
    given = {*parameters, *(f"{INNER}{name}" for name in read_assignments(method.param))}
    # it overrules the number of the base method
    if parameters.get("n_clusters", "levels") != "levels":
        given |= {f"{INNER}{name}" for name in NUMBER_NAMES}
    names = [name for name in tuning.recommended_space(CoHiRF(base)) if name not in given]
    if not names:
        raise BadInputError("Nothing is left to search: give fewer parameters.")
    return names


def _method_arguments(
    method: MethodOptions, settled: dict[str, Any], found: dict[str, Any]
) -> list[str]:
    """Return the arguments of a fit command for the parameters that were given and found."""
    inner = read_assignments(method.param)
    inner |= {
        name.removeprefix(INNER): to_text(value)
        for name, value in found.items()
        if name.startswith(INNER)
    }
    outer = {name: value for name, value in found.items() if not name.startswith(INNER)}
    if method.estimator or inner:
        words = ["--estimator", method.estimator or BASE_METHOD]
    else:
        words = []
    for name, text in inner.items():
        words += ["--param", f"{name}={text}"]
    return words + to_arguments({**settled, **outer})


def _describe_tuned(found: tuning.Tuned) -> dict[str, Any]:
    """Return a summary of the trials that can be written as JSON."""
    table = found.table
    names = list(found.best_params)
    errors = table["error"][table["error"] != ""]
    start = table.loc[table["trial"] == 0, "score"]
    best = table.drop_duplicates(names)[["trial", "score", *names, "seconds"]].head(BEST_TRIALS)
    return {
        "best_score": found.best_score,
        "first_score": None if start.empty else float(start.iloc[0]),
        "best_params": found.best_params,
        "trials": len(table),
        "failed_trials": len(errors),
        "most_frequent_error": None if errors.empty else errors.mode()[0],
        "best_trials": best.to_dict("records"),
    }


def _facts_grid(document: dict[str, Any]) -> TextGrid:
    """Return a table with the result of the search."""
    best = ", ".join(
        f"{_called(name)} {_shown_value(value)}" for name, value in document["best_params"].items()
    )
    rows = [(document["metric"], f"{document['best_score']:.4g}")]
    if document["first_score"] is not None:
        rows.append(("without a search", f"{document['first_score']:.4g}"))
    rows += [("best", best), ("trials", f"{document['trials']:,}")]
    if n_failed := document["failed_trials"]:
        rows.append(("failed", f"{n_failed:,}, most often with {document['most_frequent_error']}"))
    rows += [
        *size_rows(document)[1:],
        *([] if document["metric"] == "ari" else agreement_rows(document)),
    ]
    rows += [
        ("time", f"{document['seconds']:.1f} s"),
        ("peak memory", format_bytes(document["peak_bytes"])),
    ]
    return TextGrid(rows)


def _trials_grid(document: dict[str, Any]) -> TextGrid:
    """Return a table of the best trials."""
    names = list(document["best_params"])
    rows = [
        (
            str(one["trial"]),
            f"{one['score']:.4g}",
            *(_shown_value(one[name]) for name in names),
            f"{one['seconds']:.2f} s",
        )
        for one in document["best_trials"]
    ]
    return TextGrid(rows, ("trial", document["metric"], *map(_called, names), "time"))


def _called(name: str) -> str:
    """Return the name of a searched parameter for output."""
    if name.startswith(INNER):
        return name.removeprefix(INNER)
    return FLAGS[name].removeprefix("--")


def _shown_value(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value).lower()


def _range_in_words(where: Any) -> str:
    """Return the range of an Optuna distribution as text."""
    if hasattr(where, "choices"):
        *some, last = (str(choice).lower() for choice in where.choices)
        return f"{', '.join(some)} or {last}"
    return f"{where.low:g} to {where.high:g}"
