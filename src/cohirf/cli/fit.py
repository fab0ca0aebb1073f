"""cohirf fit: cluster a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from cohirf.cli.columns import column_lines, describe_columns
from cohirf.cli.console import Console
from cohirf.cli.data_options import DataOptions
from cohirf.cli.errors import Interrupted
from cohirf.cli.estimator_options import BASE_METHOD, FLAGS, EstimatorOptions
from cohirf.cli.estimators import read_base_method, read_parameters, say_chosen, settle_parameters
from cohirf.cli.explain import in_words_of_options
from cohirf.cli.invocation import command_line
from cohirf.cli.options import Screen, TargetOptions
from cohirf.cli.origin import find_origin
from cohirf.cli.summary import agreement, cluster_grid, describe_model, fact_grid
from cohirf.cli.targets import Targets, say_written
from cohirf.description import describe_clusters, make_headline
from cohirf.estimator import CoHiRF
from cohirf.planning.memory import peak_bytes
from cohirf.preparation import Preparation, Prepared
from cohirf.sources.files import shown
from cohirf.validation import set_columns

NOTHING = (
    "give --out labels.csv to keep the clusters, --model model.cohirf to predict and cut later, --report report.html "
    "to see a report."
)


def fit(
    data: Path,
    about: DataOptions,
    method: EstimatorOptions,
    options: TargetOptions,
    report: Path | None,
    screen: Screen,
    *,
    says_verdict: bool,
) -> None:
    """Cluster the rows of a file."""
    console = Console.on(screen)
    base = read_base_method(method.estimator, method.param)
    parameters = read_parameters(method.given())
    targets = Targets.of(options, report, console)
    targets.check(data, about.id_column, parameters.get("checkpoint"))
    scaling = about.scaling(method.estimator)
    with console.watching():
        prepared = about.prepare(data, scaling)
    settled = settle_parameters(parameters, prepared.source.n_rows)
    chosen = {} if base is not None or not method.as_published else {"--estimator": BASE_METHOD}
    chosen |= {} if base is not None or method.as_published or "n_clusters" in parameters else {"--clusters": "auto"}
    chosen |= {} if about.scale != "auto" else {"--scale": scaling}
    chosen |= {FLAGS[name]: value for name, value in settled.items() if name not in parameters}
    console.note(prepared.describe())
    console.note_lines(column_lines(prepared.preparation))
    if chosen:
        console.note(say_chosen(chosen))
    classes = prepared.classes()  # before the fit, so that an error does not waste it
    started = time.perf_counter()
    make = CoHiRF.as_published if method.as_published else CoHiRF
    fitted = _fit(make(base, **settled), prepared, console)
    seconds = time.perf_counter() - started
    document = {"command": "fit", "data": str(data), **describe_model(fitted)}
    document["columns"] = describe_columns(prepared.preparation)
    document |= agreement(fitted.labels_, classes)
    document |= {"seconds": seconds, "peak_bytes": peak_bytes(), "warnings": console.warned}
    # before clusters are described and judged, so that an error there does not waste the fit
    paths = targets.write(fitted, prepared, classes, find_origin(data, about, scaling))
    says_verdict = says_verdict and (console.as_json or not console.quiet)
    document |= _describe(fitted, prepared.preparation, document, says_verdict=says_verdict)
    document["written"] = paths
    table = [cluster_grid(document)] if document["clusters"] else []
    written = say_written(document["written"], NOTHING)
    console.show(document, *table, fact_grid(document), document["headline"], written)


def _describe(
    fitted: CoHiRF, preparation: Preparation, document: dict[str, Any], *, says_verdict: bool
) -> dict[str, Any]:
    """Return the names of the largest clusters, the headline and the verdict."""
    description = describe_clusters(fitted, preparation=preparation)
    diagnosis = fitted.diagnose() if says_verdict else None
    verdict = None
    if diagnosis is not None:
        verdict = {"recommendation": diagnosis.recommendation, "line": in_words_of_options(diagnosis.line)}
    return {
        "names": [description.name(number) for number in document["numbers"]],
        "headline": in_words_of_options(str(make_headline(description, diagnosis))),
        "verdict": verdict,
    }


def _fit(model: CoHiRF, data: Prepared, console: Console) -> CoHiRF:
    """Fit the model; if the user stops it, say what was kept."""
    try:
        with console.watching():
            model.set_params(verbose=0 if console.quiet else 1).fit(data.rows())
    except KeyboardInterrupt:
        raise Interrupted(_say_stopped(model)) from None
    model.set_params(verbose=0)
    set_columns(model, data.source.n_features, data.source.feature_names)
    return model


def _say_stopped(model: CoHiRF) -> str:
    if model.checkpoint is None:
        return "Stopped. Nothing was written: with --checkpoint FOLDER, a fit that is stopped can go on."
    return (
        f"Stopped. {shown(Path(model.checkpoint).absolute())} keeps what is done. To go on, run the same command: "
        f"{command_line()}"
    )
