"""cohirf fit: cluster a file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from inspect import signature
from math import ceil
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from cohirf import CoHiRF, write_labels
from cohirf.app.cli.console import Console, count_bytes
from cohirf.app.cli.errors import BadInputError, Interrupted, command_line, flag_of, read_count
from cohirf.app.cli.links import read_links
from cohirf.app.cli.options import (
    FitRequest,
    Targets,
    read_parameters,
    settle_parameters,
)
from cohirf.app.cli.outputs import (
    CLUSTER,
    LABEL_FILES,
    check_file,
    check_ids,
    check_kept,
    check_label_folder,
    check_model,
    check_report,
    holding,
    refuse_same,
    save_labels,
    say_written,
)
from cohirf.app.cli.policy import DEFAULT
from cohirf.app.cli.summary import (
    agreement,
    cluster_grid,
    column_grid,
    describe_columns,
    fact_grid,
    summarize_model,
)
from cohirf.app.explain import (
    Description,
    Topics,
    describe_clusters,
    make_headline,
    name_topics,
)
from cohirf.app.explain.describe import find_made, frees_others
from cohirf.app.explain.words import join_words
from cohirf.app.preparation import Classes, Data, Prepared, prepare
from cohirf.app.preparation.data import find_column, read_length
from cohirf.clusterers.names import NAMES, make_base_method
from cohirf.inspection import give_names, set_columns
from cohirf.optional import import_optional
from cohirf.planning import format_bytes, peak_bytes, read_memory_limit, reset_peak, resident_bytes
from cohirf.sources import locate, show
from cohirf.store import Origin, shown
from cohirf.wording import setting


def fit_file(
    request: FitRequest,
    *,
    vectors: str | None,
    text: str | None,
    images: str | None,
    places: tuple[str, str] | None,
    links: Path | None,
) -> None:
    """Cluster the rows of a file: cohirf fit."""
    data = request.data
    method = request.method
    about = request.about
    targets = request.targets
    eps = request.eps
    console = Console.on(request.screen)
    named = method.estimator or (None if places is None and eps is None else "dbscan")
    base = read_base_method(named, [*(method.param or []), *_read_globe(named, places, eps)])
    given, levels = _read_topic_levels(request.given)
    parameters = read_parameters(given)
    if vectors is not None:
        parameters.setdefault("metric", "cosine")
    check_files(targets, data, about.id_column, parameters.get("checkpoint"))
    scaling = about.scaling(named) if vectors is None else "none"
    asked = about.arguments(scaling) | {"vectors": vectors, "places": places}
    _refuse_low_limit(data, read_memory_limit(parameters.get("batch_size")))
    with console.reading(data):
        prepared = prepare(data, **asked)
    if targets.keep:
        check_kept(targets.out, prepared.data)
    if targets.files is not None:
        check_label_folder(targets.files, prepared.data, force=targets.force)
    texts = None if text is None else _read_texts(prepared.data, text)
    if images is not None and texts is None:
        raise BadInputError(
            "--images needs --text: give a column of texts, such as captions or names of files."
        )
    at = prepared.data
    if images is None:
        pictures = None
    else:
        pictures = find_column(at.name, at.columns, images, setting("images", images))
    linked = None if links is None else read_links(links, prepared, about.id_column)
    settled = settle_parameters(parameters, prepared.source.n_rows, prepared.n_bytes, base)
    chosen = {"--estimator": named} if named != method.estimator else {}
    chosen |= {} if base is not None or "n_clusters" in parameters else {"--clusters": "auto"}
    chosen |= (
        {}
        if about.scale != "auto" or vectors is not None or places is not None
        else {"--scale": scaling}
    )
    chosen |= {
        flag_of(name): value
        for name, value in settled.items()
        if name not in parameters and name in given
    }
    note_data(console, prepared, chosen)
    classes = prepared.classes()  # before the fit, so that an error does not waste it
    started = time.perf_counter()
    fitted = _fit_prepared(CoHiRF(base, **settled), prepared, console, linked)
    seconds = time.perf_counter() - started
    document = {"command": "fit", "data": str(data), **summarize_model(fitted)}
    document["columns"] = describe_columns(prepared.preparation)
    document |= agreement(fitted.labels_, classes)
    document |= {"seconds": seconds, "peak_bytes": peak_bytes(), "warnings": console.warned}
    # before clusters are described and judged, so that an error there does not waste the fit
    if texts is None:
        topics = None
    else:
        topics = name_topics(fitted, prepared.source, texts, levels=levels or None)
    if topics is not None and len(topics.topics[-1]) == fitted.n_clusters_:
        give_names(fitted, {number: topic.name for number, topic in enumerate(topics.topics[-1])})
    if pictures is None or topics is None:
        pictured = None
    else:
        pictured = _read_images(at, pictures, topics)
    pinned = at.table.pinned if at.table is not None else ""
    origin = find_origin(pinned or str(locate(data)), asked)
    written = _write_files(
        targets, fitted, prepared, classes, origin, console, levels, topics, pictured
    )
    description = describe_clusters(fitted, prepared)
    document |= _describe_fit(
        fitted,
        description,
        prepared,
        document["numbers"],
        judged=console.as_json or not console.quiet,
    )
    repeated = find_made(description, prepared) if description.repeated else []
    if repeated and frees_others(description, prepared, repeated):
        console.note(_offer_without(repeated))
    document["written"] = written
    table = [cluster_grid(document)] if document["clusters"] else []
    nothing = (
        "give --out labels.csv to keep the clusters, --model model.cohirf to predict and cut "
        "later, --report report.html to see a report."
    )
    console.show(
        document, *table, fact_grid(document), document["headline"], say_written(written, nothing)
    )


def _read_topic_levels(given: dict[str, str]) -> tuple[dict[str, str], list[int]]:
    """Return the options with the largest of several numbers of clusters, and these numbers, if
    there are several.
    """
    numbers = (given["n_clusters"] or "").split(",")
    if len(numbers) == 1:
        return given, []
    levels = sorted({read_count("--clusters", number.strip()) for number in numbers}, reverse=True)
    return {**given, "n_clusters": str(levels[0])}, levels


def _read_texts(data: Data, column: str) -> Any:
    """Return the texts of all rows, as an Arrow array."""
    name = find_column(data.name, data.columns, column, setting("text", column))
    arrow = import_optional("pyarrow", "arrow", "--text")
    return arrow.chunked_array([part.cast("large_string") for part in data.read(name)])


def _read_images(data: Data, column: Any, topics: Topics) -> list[Any]:
    """Return the images of the typical rows, which are shown, and None for other rows, which would
    take memory.
    """
    shown_rows = {row for level in topics.topics for topic in level for row in topic.rows}
    cells = enumerate(cell for part in data.read(column) for cell in part)
    return [cell.as_py() if row in shown_rows else None for row, cell in cells]


def _offer_without(repeated: Sequence[str]) -> str:
    """Return how to cluster without the columns whose levels are the clusters."""
    drops = " ".join(f"--drop {quote(name)}" for name in repeated)
    return (
        f"The clusters say little more than {join_words(repeated)}: give {drops} to cluster by the "
        "other columns."
    )


def _describe_fit(
    model: CoHiRF, description: Description, data: Prepared, numbers: list[int], *, judged: bool
) -> dict[str, Any]:
    """Return the names of the clusters, the headline and, if they are ``judged``, the verdict."""
    diagnosis = model.diagnose() if judged else None
    verdict = None
    if diagnosis is not None:
        verdict = {
            "recommendation": diagnosis.recommendation,
            "line": diagnosis.line,
        }
    headline = make_headline(description, diagnosis, data)
    return {
        "names": [description.name(number) for number in numbers],
        "headline": str(headline),
        "facts": [asdict(fact) for fact in headline.facts],
        "verdict": verdict,
    }


def read_base_method(name: str | None, parameters: list[str] | None) -> Any:
    """Return the base method that ``--estimator`` and ``--param`` describe.

    None if neither is given.
    """
    if name is None and not parameters:
        return None
    texts = read_assignments(parameters)
    try:
        return make_base_method(name or DEFAULT.base_method, **texts)
    except ValueError as error:
        flag = "--estimator" if name not in (*NAMES, None) else "--param"
        raise BadInputError(f"{flag}: {error}") from error


def _read_globe(name: str | None, places: tuple[str, str] | None, eps: str | None) -> list[str]:
    """Return parameters of the base method that follow from ``--places`` and ``--eps``."""
    if places is None:
        return [] if eps is None else [f"eps={eps}"]
    on_globe = ("dbscan", "hdbscan", "optics")  # they know the metric haversine
    if name not in on_globe:
        raise BadInputError(
            f"--places needs --estimator {', '.join(on_globe[:-1])} or {on_globe[-1]}."
        )
    if eps is None:
        if name == "dbscan":
            raise BadInputError(
                "--places needs a radius for DBSCAN: give --eps, such as --eps 2km."
            )
        return ["metric=haversine"]
    try:
        return ["metric=haversine", f"eps={read_length(eps)!r}"]
    except ValueError as error:
        raise BadInputError(f"--eps: {error}") from error


def read_assignments(parameters: list[str] | None) -> dict[str, str]:
    """Return the values of ``--param`` options by the name of the parameter."""
    texts = {}
    for given in parameters or []:
        key, equals, text = given.partition("=")
        if not equals:
            raise BadInputError(
                f"--param {given!r} is not valid: give KEY=VALUE, such as --param n_clusters=5."
            )
        texts[key] = text
    return texts


def note_data(console: Console, data: Prepared, chosen: dict[str, Any]) -> None:
    """Print what was done with the data, and the defaults that were chosen."""
    columns = column_grid(data.preparation)
    console.note(data.describe(), *([] if columns is None else [columns]))
    if chosen:
        console.note(f"chosen: {' '.join(f'{flag} {value}' for flag, value in chosen.items())}")


def find_origin(data: str, given: dict[str, Any]) -> Origin:
    """Return the file of a fit, the arguments of ``prepare`` that differ from their defaults, and
    the command.
    """
    wanted = (
        (name, given.get(name), one.default) for name, one in signature(prepare).parameters.items()
    )
    options = {
        name: value
        for name, value, default in wanted
        if (value and value != default) or value is False
    }
    return Origin(data, options, command_line())


def check_files(targets: Targets, data: Path, id_column: str | None, checkpoint: Any) -> None:
    """Refuse files that cannot be written, before the work begins."""
    force = targets.force
    model = targets.model
    check_file(targets.out, "--out", LABEL_FILES, force=force, data=data)
    check_model(model, "--model", force=force, data=data)
    check_report(targets.report, "--report", force=force, data=data)
    check_ids(targets.out, id_column)
    folder = None if checkpoint is None else Path(checkpoint)
    written = {"--out": targets.out, "--model": model, "--report": targets.report}
    refuse_same(written, {"--checkpoint": folder})
    for flag, path in written.items():
        if path is not None and folder is not None and folder.resolve() in path.resolve().parents:
            raise BadInputError(
                f"{flag} {shown(path.absolute())} is inside the checkpoint: give another path."
            )


def _refuse_low_limit(data: Path, limit: int | None) -> None:
    """Refuse a limit of memory that would be passed while the file is read."""
    taken = resident_bytes()
    needed = taken + DEFAULT.reading_bytes + min(DEFAULT.most_reading_bytes, 4 * count_bytes(data))
    if limit is not None and limit < needed:
        raise BadInputError(
            f"--batch-size: {format_bytes(limit)} of memory is too little: the program takes "
            f"{format_bytes(taken)} before it reads {shown(data)}. Give at least --batch-size "
            f"{ceil(needed / 1e6)}MB."
        )


def _fit_prepared(model: CoHiRF, data: Prepared, console: Console, links: Any = None) -> CoHiRF:
    """Fit the model; if the user stops it, say what was kept."""
    limit = read_memory_limit(model.batch_size)
    reset_peak()  # what reading took goes back
    if limit is None or resident_bytes() + DEFAULT.copies_in_memory * data.n_bytes <= limit:
        rows = data.rows()
    else:
        rows = data.source
    rows = rows if model.batch_size is not None else data.array()  # one batch needs all rows anyway
    try:
        with console.watching():
            model.set_params(verbose=0 if console.quiet else 1).fit(rows, links=links)
    except KeyboardInterrupt:
        said = (
            "Stopped. Nothing was written: with --checkpoint FOLDER, a fit that is stopped can go "
            "on."
        )
        if model.checkpoint is not None:
            folder = shown(Path(model.checkpoint).absolute())
            said = (
                f"Stopped. {folder} keeps what is done. To go on, run the same command: "
                f"{command_line()}"
            )
        raise Interrupted(said) from None
    model.set_params(verbose=0)
    set_columns(model, data.source.n_features, data.source.feature_names)
    return model


def _write_files(
    targets: Targets,
    model: CoHiRF,
    data: Prepared,
    classes: Classes | None,
    origin: Origin,
    console: Console,
    levels: Sequence[int] = (),
    topics: Topics | None = None,
    images: Any = None,
) -> dict[str, str]:
    """Write the files, each atomically, and return their paths."""
    if targets.out is not None:
        column = data.preparation.id_column
        if targets.out.suffix.lower() == ".npy" or column == CLUSTER:
            # it was found, not given: the user would know that it cannot be written
            column = None
        nested = [
            np.asarray(model.labels_),
            *(model.hierarchy_.levels(levels[1:]).T if len(levels) > 1 else ()),
        ]
        labels = np.stack(nested, axis=1) if len(levels) > 1 else model.labels_
        if targets.keep:
            kept = data.data.columns
        elif column is None:
            kept = []
        else:
            kept = [column]
        save_labels(targets.out, labels, console, data.data, kept, coarser=levels[1:])
    if targets.files is not None:
        assert data.data.table is not None  # checked before
        write_labels(model.labels_, data.data.table, targets.files, overwrite=targets.force)
    if targets.model is not None:
        preparation = data.preparation.to_json()
        # a command that is changing the old model would replace this one
        with holding(targets.model, console):
            model.save(
                targets.model,
                overwrite=targets.force,
                preparation=preparation,
                origin=origin,
            )
    if targets.report is not None:
        from cohirf.app.explain import write_report  # slow to import

        about: dict[str, Any] = {"data_name": Path(data.data.origin).name, "origin": origin}
        write_report(model, data, targets.report, y=classes, texts=topics, images=images, **about)
    written = {
        "labels": targets.out,
        "files of labels": None if targets.files is None else show(locate(targets.files)),
        "model": targets.model,
        "report": targets.report,
    }
    return {name: str(path) for name, path in written.items() if path is not None}
